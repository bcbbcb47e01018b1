"""A guard against NaN and infinity in training: such a step is left out and logged; the third in a row ends the run.

Without it, a single bad batch turns every weight into NaN, on all processes, and the stock Trainer logs a loss of 0.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed
from torch.nn.utils import get_total_norm
from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import nn

__all__ = ["NonFinite", "NonFiniteError", "NonFiniteGuard"]

SAMPLE_ID = "sample_id"
"""The column of a batch that names its texts, for the log."""
_log = logging.getLogger(__name__)


class NonFiniteError(ArithmeticError):
    """Loss or gradient were not finite in too many steps in a row."""


@dataclass(frozen=True)
class NonFinite:
    """One process's share of a step that was left out.

    Attributes:
        step: The optimizer step, counted from 1.
        rank: The process.
        losses: Of its micro-batches.
        gradient: The norm of the gradient.
        samples: The `sample_id`s of the micro-batches whose loss is not finite, or of all if the gradient alone is not;
            without that column, micro-batch and row.
    """

    step: int
    rank: int
    losses: tuple[float, ...]
    gradient: float
    samples: tuple[Any, ...]

    @property
    def is_cause(self) -> bool:
        """Whether anything was wrong in this process before gradients were shared."""
        return not all(math.isfinite(loss) for loss in self.losses)

    def __str__(self) -> str:
        losses = ", ".join(f"{loss:g}" for loss in self.losses) or "not known"
        shown = ", ".join(map(str, self.samples[:32])) + (", ..." if len(self.samples) > 32 else "")
        return f"step {self.step}, process {self.rank}: loss {losses}; gradient {self.gradient:g}; samples [{shown}]"


class NonFiniteGuard(TrainerCallback):
    """Leaves out optimizer steps whose loss or gradient is not finite, the same ones on all processes.

    Weights and optimizer state stay as they were, bit for bit: the gradients are taken away, and an optimizer passes
    over parameters without any. The step still counts, and the schedule of the learning rate goes on.

    It works with the stock Trainer, too, which shows it the gradients; `NumberTrainer` also shows it losses and texts.
    With float16, where the gradient scaler leaves out steps of its own accord until it has found its scale, only
    losses are looked at. DeepSpeed and LOMO change weights in the backward pass, where nothing can be held back.

    Args:
        limit: So many bad steps in a row raise `NonFiniteError`.

    Attributes:
        found: What was left out: one entry a step and process.
        skipped: How many steps were left out.
        last_skipped: Whether the last step was.

    Example:
        >>> NonFiniteGuard(limit=0)
        Traceback (most recent call last):
        ValueError: limit must be positive, got limit=0
    """

    def __init__(self, limit: int = 3) -> None:
        if limit < 1:
            raise ValueError(f"limit must be positive, got {limit=}")
        self.limit = limit
        self.found: list[NonFinite] = []
        self.skipped = self.in_a_row = 0
        self.last_skipped = False
        self.scales_gradients = False
        self._batches: list[tuple[Tensor, Any, int]] = []
        self._norm: Tensor | float | None = None

    @property
    def has_seen(self) -> bool:
        """Whether a micro-batch of the step under way has been seen."""
        return bool(self._batches)

    def see(self, loss: Tensor, batch: Mapping[str, Any]) -> None:
        """Takes note of a micro-batch's loss and of its texts."""
        rows = len(batch["input_ids"]) if "input_ids" in batch else 0
        self._batches.append((loss.detach(), batch.get(SAMPLE_ID), rows))

    def see_norm(self, norm: Tensor | float | None) -> None:
        """Takes note of the gradient's norm before clipping, which spares the guard computing it."""
        self._norm = norm

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forgets what an interrupted step left."""
        del args, state, control, kwargs
        self._batches.clear()

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: nn.Module | None = None, **kwargs: Any
    ) -> None:
        """Decides, together with the other processes, whether the step is taken."""
        del args, control, kwargs
        if model is None:
            raise ValueError("the guard needs the model, which a Trainer hands to its callbacks")
        norm = self._norm
        if norm is None:
            norm = _norm(weight.grad for weight in model.parameters() if weight.grad is not None)
        norm = _local(torch.as_tensor(norm)).detach()
        losses = [loss.reshape(()).to(norm.device, norm.dtype) for loss, _, _ in self._batches]
        looked_at = torch.stack(losses if self.scales_gradients else [norm, *losses]) if losses else norm
        bad = ~looked_at.isfinite().all() & torch.tensor(bool(losses) or not self.scales_gradients, device=norm.device)
        self.last_skipped = _on_any_process(bad)
        if self.last_skipped:
            self._leave_out(model, state.global_step + 1, norm)
        else:
            self.in_a_row = 0
        self._batches.clear()
        self._norm = None

    def _leave_out(self, model: nn.Module, step: int, norm: Tensor) -> None:
        model.zero_grad(set_to_none=True)
        self.skipped += 1
        self.in_a_row += 1
        losses = tuple(float(loss) for loss, _, _ in self._batches)
        rank = distributed.get_rank() if _shared() else 0
        entries = _from_all(NonFinite(step, rank, losses, float(norm), self._samples(losses)))
        entries = [entry for entry in entries if entry.is_cause] or entries
        self.found += entries
        for entry in entries if rank == 0 else ():
            _log.warning("%s: left out (%d in a row)", entry, self.in_a_row)
        if self.in_a_row >= self.limit:
            causes = "; ".join(map(str, entries))
            raise NonFiniteError(
                f"loss or gradient not finite in {self.in_a_row} steps in a row; the weights are those before "
                f"step {step - self.in_a_row + 1}. {causes}"
            )

    def _samples(self, losses: tuple[float, ...]) -> tuple[Any, ...]:
        bad = [not math.isfinite(loss) for loss in losses]
        chosen = [index for index, is_bad in enumerate(bad) if is_bad or not any(bad)]
        result: list[Any] = []
        for index in chosen:
            _, ids, rows = self._batches[index]
            if ids is None:
                result += [f"batch {index} row {row}" for row in range(rows)]
            else:
                result += ids.reshape(-1).tolist() if isinstance(ids, Tensor) else list(ids)
        return tuple(result)


def _local(tensor: Any) -> Tensor:
    """This process's share of a tensor that may be spread over several."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _norm(gradients: Iterable[Tensor]) -> Tensor:
    """The norm of this process's gradients: 0 of none. Of sharded ones it is the local share's."""
    local = [_local(gradient) for gradient in gradients]
    local = [part.coalesce().values() if part.is_sparse else part for part in local]
    if not local:
        return torch.zeros(())
    return get_total_norm(local)


def _shared() -> bool:
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _on_any_process(flag: Tensor) -> bool:
    if not _shared():
        return bool(flag)
    number = flag.to(torch.int32)
    if distributed.get_backend() == "nccl" and not number.is_cuda:
        number = number.cuda()
    distributed.all_reduce(number, op=distributed.ReduceOp.MAX)
    return bool(number)


def _from_all(entry: NonFinite) -> list[NonFinite]:
    """What all processes have to say; as plain tuples, since that is rare enough for the slow way."""
    if not _shared():
        return [entry]
    entries: list[Any] = [None] * distributed.get_world_size()
    plain = (entry.step, entry.rank, entry.losses, entry.gradient, entry.samples)
    distributed.all_gather_object(entries, plain)
    return [NonFinite(*fields) for fields in entries]
