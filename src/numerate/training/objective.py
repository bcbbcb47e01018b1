"""What an objective must be told of a training: epochs, steps, and what a checkpoint keeps of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import safetensors.torch
from transformers import TrainerCallback

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.training.guard import NonFiniteGuard

__all__ = ["OBJECTIVE_STATE", "TellsObjective", "load_objective", "save_objective"]

OBJECTIVE_STATE = "objective.safetensors"


class TellsObjective(TrainerCallback):
    """Tells a model's objective of each epoch and of each step of the optimiser; for the stock Trainer, too.

    Args:
        model: The `NumberModel` in training.
        guard: If given, steps that it left out are not told: nothing was learnt in them.
    """

    def __init__(self, model: NumberModel, guard: NonFiniteGuard | None = None) -> None:
        self.model, self.guard = model, guard

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Masks may depend on the epoch."""
        del args, control, kwargs
        if self.model.objective is not None:
            self.model.objective.epoch = int(state.epoch or 0)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Teachers follow their students."""
        del args, state, control, kwargs
        left_out = self.guard is not None and self.guard.last_skipped
        if self.model.objective is not None and not left_out:
            self.model.objective.step(self.model)


def save_objective(model: NumberModel, folder: str | Path) -> None:
    """Writes what a checkpoint must keep of the objective, if anything."""
    state = {} if model.objective is None else model.objective.state()
    if state:
        plain = {key: value.detach().cpu().contiguous() for key, value in state.items()}
        safetensors.torch.save_file(plain, Path(folder) / OBJECTIVE_STATE)


def load_objective(model: NumberModel, folder: str | Path) -> None:
    """Takes it up again."""
    file = Path(folder) / OBJECTIVE_STATE
    if model.objective is not None and file.is_file():
        model.objective.load_state(safetensors.torch.load_file(file, device=str(model.device)), model)
