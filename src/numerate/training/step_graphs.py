"""CUDA graphs of training steps: a step of a small model takes longer to launch than to run, and a graph is one launch.

A graph replays one sequence of kernels on tensors of one shape. So batches are padded to few shapes (`padded_to`), and
the first batch of each shape runs as usual; the second one is recorded, and all later ones are replayed.
"""

from __future__ import annotations

import functools
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.objectives.masked import Masked
from numerate.processing.number_table import PADDING
from numerate.processing.static_shapes import no_waits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.modeling.number_model import NumberModel

__all__ = ["StepGraphs", "padded_to", "side_stream", "why_not"]

_log = logging.getLogger(__name__)
TOKENS, NUMBERS, CHARACTERS = 16, 8, 16
"""Tokens and numbers of a row, and characters of a number, are padded to multiples of these."""
_MOST = 24
"""Most graphs of a training; batches of further shapes run as usual."""
_WARM_UP_STEPS = 2
_OF_TOKENS = ("number_slots", "number_scale")


def padded_to(batch: dict[str, Any], numbers: int = NUMBERS, characters: int = CHARACTERS) -> dict[str, Any]:
    """A batch whose number table has a multiple of `numbers` columns, and of `characters` characters.

    Example:
        >>> batch = {"number_given": torch.ones(2, 3, dtype=torch.uint8), "input_ids": torch.ones(2, 5)}
        >>> {name: tuple(value.shape) for name, value in padded_to(batch).items()}
        {'number_given': (2, 8), 'input_ids': (2, 5)}
    """
    result = dict(batch)
    for name, value in batch.items():
        if not name.startswith("number_") or name in _OF_TOKENS or not isinstance(value, Tensor):
            continue
        more = [0, max(-value.shape[1] % numbers, 0 if value.shape[1] else numbers)]
        if value.dim() == 3:
            more = [0, -value.shape[2] % characters, *more]
        result[name] = functional.pad(value, more, value=PADDING if name == "number_given" else 0)
    return result


def why_not(model: NumberModel | None, args: Any, scaled: bool = False, compiles_part: bool = False) -> str | None:
    """Why the steps of a training cannot be recorded; None if they can.

    Args:
        model: The model of the training.
        args: Its `TrainingArguments`.
        scaled: Whether it has a gradient scaler.
        compiles_part: Whether `torch_compile` compiles the backbone only, which can be recorded.
    """
    objective: Any = None if model is None else model.objective
    reasons = {
        "the device is not CUDA": args.device.type != "cuda",
        "the model is none of numerate": model is None,
        "a step is several batches or processes": args.gradient_accumulation_steps > 1
        or args.world_size > 1
        or args.n_gpu > 1,
        "torch_compile compiles the whole model": args.torch_compile and not compiles_part,
        "float16 needs a gradient scaler": scaled,
        "only the objective `masked` without number_warmup can be recorded": type(objective) is not Masked
        or bool(objective.config.number_warmup),
        "ratio or number_ratio is 1": isinstance(objective, Masked)
        and max(objective.config.ratio, objective.config.number_ratio) >= 1,
        "the backbone is no masked language model": model is not None and model.info.task != "masked-lm",
        "an LSTM of the embedder has dropout": bool(
            model is not None
            and model.embedder is not None
            and any(isinstance(each, nn.LSTM) and each.dropout for each in model.embedder.modules())
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class StepGraphs:
    """The recorded steps of a training, by the shapes of their batches.

    Args:
        model: The `NumberModel`.
        longest: Largest norm of the gradient; clipping is part of a graph.

    Attributes:
        norm: Norm of the gradient of the last step before clipping; None if that step was not replayed.
    """

    def __init__(self, model: NumberModel, longest: float) -> None:
        self.model, self.longest = model, longest
        self.norm: Tensor | None = None
        self._seen: dict[Any, _Recording | None] = {}
        self._pool: Any = None
        self._gradients: list[tuple[nn.Parameter, Tensor]] = []
        self._epoch = torch.zeros((), dtype=torch.int64, device=model.device)
        self._shown = 0
        self.failed = False

    @property
    def count(self) -> int:
        """Number of graphs."""
        return sum(recording is not None for recording in self._seen.values())

    def step(self, inputs: dict[str, Any], run: Callable[[dict[str, Any]], Tensor]) -> Tensor:
        """The loss of a batch, whose gradients are set; `run` computes both for a batch without a graph."""
        self.norm = None
        tensors = all(isinstance(value, Tensor) for value in inputs.values()) and "number_wanted" not in inputs
        key = tuple((name, value.shape, value.dtype) for name, value in inputs.items()) if tensors else None
        if self.failed or key not in self._seen or (self._seen[key] is None and self.count >= _MOST):
            if key is not None:
                self._seen.setdefault(key, None)
            return run(inputs)
        recording = self._seen[key]
        if recording is None:
            try:
                recording = self._seen[key] = self._recorded(inputs, run)
            except RuntimeError as error:
                self.failed = True
                torch.cuda.synchronize()
                _log.warning("a training step could not be recorded and runs without a CUDA graph: %s", error)
                self.model.zero_grad(set_to_none=True)
                return run(inputs)
        loss, self.norm = self._replayed(recording, inputs)
        return loss

    def _recorded(self, inputs: dict[str, Any], run: Callable[[dict[str, Any]], Tensor]) -> _Recording:
        batch = {name: value.clone() for name, value in inputs.items()}
        objective: Any = self.model.objective
        self._set_epoch()
        epoch, objective.epoch = objective.epoch, self._epoch  # a plain number would be recorded as a constant
        weights = list(self.model.parameters())

        def whole() -> tuple[Tensor, ...]:
            torch._foreach_zero_([gradient for _, gradient in self._gradients])  # type: ignore[attr-defined]
            self.model.number_loss = None
            loss = run(dict(batch))
            results = loss, nn.utils.clip_grad_norm_(weights, self.longest)
            return results if self.model.number_loss is None else (*results, self.model.number_loss)

        try:
            with side_stream(), no_waits():
                self.model.zero_grad(set_to_none=True)
                if not self._gradients:  # finds the weights that have a gradient
                    run(dict(batch))
                    found = [weight for weight in weights if weight.grad is not None]
                    self._gradients = [(weight, torch.zeros_like(weight)) for weight in found]
                self._set_gradients()
                for _ in range(_WARM_UP_STEPS):
                    whole()
            self._pool = self._pool or _new_pool()
            with no_waits():
                return _Recording(batch, *_capture(whole, self._pool))
        finally:
            objective.epoch = epoch

    def _replayed(self, recording: _Recording, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        names = list(recording.batch)
        static = [recording.batch[name] for name in names]
        torch._foreach_copy_(static, [inputs[name] for name in names])  # type: ignore[attr-defined]
        self._set_epoch()
        self._set_gradients()
        recording.replay()
        loss, norm, *rest = (result.clone() for result in recording.results)  # the next graph uses the same memory
        self.model.number_loss = rest[0] if rest else None
        return loss, norm

    def _set_gradients(self) -> None:
        """Gives the weights their gradients again, which an optimizer's `zero_grad` takes away."""
        for weight, gradient in self._gradients:
            weight.grad = gradient

    def _set_epoch(self) -> None:
        epoch = int(getattr(self.model.objective, "epoch", 0))
        if epoch != self._shown:
            self._epoch.fill_(epoch)
            self._shown = epoch


@dataclass(frozen=True, eq=False)
class _Recording:
    """A recorded step: its inputs, the function that runs it, and its results: loss, norm, perhaps number loss."""

    batch: dict[str, Tensor]
    replay: Callable[[], None]
    results: tuple[Tensor, ...]


def _new_pool() -> Any:
    return torch.cuda.graph_pool_handle()


@functools.cache
def _warm_up_stream(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


@contextmanager
def side_stream() -> Iterator[None]:
    """A context for the steps before a capture, in which libraries choose algorithms; on a stream of their own.

    All of them run on one stream: memory is cached for each stream, and a new one would take as much again.
    """
    side = _warm_up_stream(torch.cuda.current_device())
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        yield
    torch.cuda.current_stream().wait_stream(side)


def _capture(step: Callable[[], tuple[Tensor, ...]], pool: Any) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
    """Records a step, which is not run; returns the function that runs it, and its results.

    Graphs share their memory (`pool`): they never run at the same time, and their results are copied at once.
    """
    torch.cuda.empty_cache()  # of steps that ran as usual
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        results = step()
    return graph.replay, results
