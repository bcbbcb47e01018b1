"""Connects an objective to a training: epochs, optimizer steps, and its state in checkpoints."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors.torch
import torch
from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate.training.guard import NonFiniteGuard

__all__ = ["OBJECTIVE_STATE", "ObjectiveCallback", "load_objective", "save_objective"]

OBJECTIVE_STATE = "objective.safetensors"


class ObjectiveCallback(TrainerCallback):
    """A callback that informs a model's objective of each epoch and optimizer step; also for the stock Trainer.

    Args:
        model: The `NumberModel` in training.
        guard: If given, steps that it skipped are not reported: they changed no weight.
    """

    def __init__(self, model: NumberModel, guard: NonFiniteGuard | None = None) -> None:
        self.model, self.guard = model, guard
        self.shared: Tensor | None = None
        """The epoch () in shared memory, for the workers of a data loader; None if there are none."""
        self._tensor: Tensor | None = None

    @contextmanager
    def as_tensor(self, device: torch.device) -> Iterator[None]:
        """A context in which the objective's epoch is a tensor (), so that no code is compiled again for each epoch."""
        self._tensor = torch.zeros((), dtype=torch.int64, device=device)
        try:
            yield
        finally:
            self._tensor = None
            if self.model.objective is not None:
                self.model.objective.epoch = int(self.model.objective.epoch)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Sets the epoch, on which masks may depend."""
        del args, control, kwargs
        objective: Any = self.model.objective
        if objective is not None:
            epoch = int(state.epoch or 0)
            objective.epoch = epoch if self._tensor is None else self._tensor.fill_(epoch)
            if self.shared is not None:
                self.shared.fill_(epoch)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports the step; a teacher then follows its student."""
        del args, state, control, kwargs
        skipped = self.guard is not None and self.guard.last_skipped
        if self.model.objective is not None and not skipped:
            self.model.objective.step(self.model)


def save_objective(model: NumberModel, folder: str | Path) -> None:
    """Writes the state of the objective into a checkpoint, if it has any."""
    state = {} if model.objective is None else model.objective.state()
    if state:
        plain = {key: value.detach().cpu().contiguous() for key, value in state.items()}
        safetensors.torch.save_file(plain, Path(folder) / OBJECTIVE_STATE)


def load_objective(model: NumberModel, folder: str | Path) -> None:
    """Restores the state of `save_objective`."""
    file = Path(folder) / OBJECTIVE_STATE
    if model.objective is not None and file.is_file():
        model.objective.load_state(safetensors.torch.load_file(file, device=str(model.device)), model)
