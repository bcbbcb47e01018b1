"""Training with the Hugging Face Trainer: number metrics, non-finite guard, atomic checkpoints; see docs/training.md.

Example:
    >>> from numerate.training import newest_whole
    >>> newest_whole("no such folder") is None
    True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerate.training.checkpoints import CheckpointError, newest_whole
    from numerate.training.cuda_graph_trainer import CudaGraphTrainer
    from numerate.training.guard import NonFinite, NonFiniteError, NonFiniteGuard
    from numerate.training.learning_rates import parameter_groups
    from numerate.training.objective import ObjectiveCallback
    from numerate.training.trainer import NumberTrainer

__all__ = [
    "CheckpointError", "CudaGraphTrainer", "NonFinite", "NonFiniteError", "NonFiniteGuard", "NumberTrainer",
    "ObjectiveCallback", "newest_whole", "parameter_groups",
]  # fmt: skip

# The Trainer takes seconds to import, so each module is imported at the first use of its names.
_LAZY = {
    "CheckpointError": "checkpoints", "CudaGraphTrainer": "cuda_graph_trainer", "NonFinite": "guard",
    "NonFiniteError": "guard", "NonFiniteGuard": "guard", "NumberTrainer": "trainer", "ObjectiveCallback": "objective",
    "newest_whole": "checkpoints", "parameter_groups": "learning_rates",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
