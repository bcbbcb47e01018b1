"""Other people's programs: TRL, lm-evaluation-harness, `torch.export` and ONNX; see docs/stacks.md."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = {"ExportableModel": "exporting", "NumberLM": "harness", "NumberSFTTrainer": "sft"}

__all__ = ["ExportableModel", "NumberLM", "NumberSFTTrainer"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
