"""A guard against NaN and infinity in training: such a step is skipped and logged; three in a row end the run.

Without it, a single bad batch turns every weight into NaN on all processes, and the stock Trainer logs a loss of 0.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed
from torch.nn.utils import get_total_norm
from transformers import TrainerCallback

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch import nn

__all__ = ["NonFinite", "NonFiniteError", "NonFiniteGuard"]

SAMPLE_ID = "sample_id"
"""The column of a batch with the ids of its texts, for the log."""
_log = logging.getLogger(__name__)


class NonFiniteError(NumerateError, ArithmeticError):
    """Loss or gradient were not finite in too many consecutive steps."""


@dataclass(frozen=True)
class NonFinite:
    """A skipped step, as seen by one process.

    `step` counts optimizer steps from 1, `losses` are those of its micro-batches, `gradient` is the norm of the
    gradient. `samples` are the `sample_id`s of the micro-batches with a non-finite loss, or of all if only the gradient
    is not finite; without that column, micro-batch and row.
    """

    step: int
    rank: int
    losses: tuple[float, ...]
    gradient: float
    samples: tuple[Any, ...]

    @property
    def is_cause(self) -> bool:
        """Whether a loss of this process is not finite."""
        return not all(math.isfinite(loss) for loss in self.losses)

    def __str__(self) -> str:
        losses = ", ".join(f"{loss:g}" for loss in self.losses) or "unknown"
        shown = ", ".join(map(str, self.samples[:32])) + (", ..." if len(self.samples) > 32 else "")
        return f"step {self.step}, process {self.rank}: loss {losses}; gradient {self.gradient:g}; samples [{shown}]"


class NonFiniteGuard(TrainerCallback):
    """A callback that skips optimizer steps with a non-finite loss or gradient, the same ones on all processes.

    Weights and optimizer state stay bit-identical: the gradients are removed, and an optimizer ignores parameters
    without a gradient. The step still counts, and the learning-rate schedule goes on.

    It also works with the stock Trainer, where it sees only gradients; from `NumberTrainer` it also gets losses and
    texts. With float16, where the gradient scaler itself skips steps until it has found its scale, only losses are
    checked. DeepSpeed and LOMO change weights in the backward pass, where no step can be skipped.

    Args:
        limit: Number of consecutive bad steps that raises `NonFiniteError`.

    Attributes:
        found: The skipped steps, one entry per step and process.
        skipped: Number of skipped steps.
        last_skipped: Whether the last step was skipped.

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
        """Whether a micro-batch of the current step has been seen."""
        return bool(self._batches)

    def see(self, loss: Tensor, batch: Mapping[str, Any]) -> None:
        """Records the loss and the texts of a micro-batch."""
        rows = len(batch["input_ids"]) if "input_ids" in batch else 0
        self._batches.append((loss.detach(), batch.get(SAMPLE_ID), rows))

    def see_norm(self, norm: Tensor | float | None) -> None:
        """Records the gradient norm before clipping, so that the guard need not compute it."""
        self._norm = norm

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forgets the batches of an interrupted step."""
        del args, state, control, kwargs
        self._batches.clear()

    def on_pre_optimizer_step(
        self, args: Any, state: Any, control: Any, model: nn.Module | None = None, **kwargs: Any
    ) -> None:
        """Decides, together with the other processes, whether to skip the step."""
        del args, control, kwargs
        if model is None:
            raise ValueError("the guard needs the model, which a Trainer passes to its callbacks")
        norm = self._norm
        if norm is None:
            norm = _norm(weight.grad for weight in model.parameters() if weight.grad is not None)
        norm = _local(torch.as_tensor(norm)).detach()
        losses = [loss.reshape(()).to(norm.device, norm.dtype) for loss, _, _ in self._batches]
        looked_at = torch.stack(losses if self.scales_gradients else [norm, *losses]) if losses else norm
        bad = (looked_at - looked_at).any()  # NaN, which is true, for NaN and infinity; few operations
        if self.scales_gradients and not losses:  # nothing to look at
            bad = torch.zeros_like(bad)
        self.last_skipped = _on_any_process(bad)
        if self.last_skipped:
            self._skip(model, state.global_step + 1, norm)
        else:
            self.in_a_row = 0
        self._batches.clear()
        self._norm = None

    def _skip(self, model: nn.Module, step: int, norm: Tensor) -> None:
        model.zero_grad(set_to_none=True)
        self.skipped += 1
        self.in_a_row += 1
        losses = tuple(float(loss) for loss, _, _ in self._batches)
        rank = distributed.get_rank() if _shared() else 0
        entries = _from_all(NonFinite(step, rank, losses, float(norm), self._samples(losses)))
        entries = [entry for entry in entries if entry.is_cause] or entries
        self.found += entries
        for entry in entries if rank == 0 else ():
            _log.warning("%s: skipped (%d in a row)", entry, self.in_a_row)
        if self.in_a_row >= self.limit:
            causes = "; ".join(map(str, entries))
            raise NonFiniteError(
                f"loss or gradient not finite in {self.in_a_row} consecutive steps; the weights are those before "
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
    """This process's part of a tensor that may be sharded."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _norm(gradients: Iterable[Tensor]) -> Tensor:
    """Norm of this process's gradients, 0 without any; of sharded gradients the norm of the local part."""
    local = [_local(gradient) for gradient in gradients]
    local = [part.coalesce().values() if part.is_sparse else part for part in local]
    return get_total_norm(local) if local else torch.zeros(())


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
    """The entries of all processes; sent as plain tuples, which is slow, but rare."""
    if not _shared():
        return [entry]
    entries: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(entries, dataclasses.astuple(entry))
    return [NonFinite(*fields) for fields in entries]
