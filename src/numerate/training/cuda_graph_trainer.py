"""CUDA-graph training, for training dominated by kernel-launch overhead."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate.processing.static_shapes import Counts, fixed_counts
from numerate.training.step_graphs import side_stream
from numerate.training.trainer import NumberTrainer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CudaGraphTrainer"]

_WARM_UP_STEPS = 3
"""Warm-up steps before the capture, in which libraries choose algorithms and code is compiled."""


class CudaGraphTrainer(NumberTrainer):
    """`NumberTrainer` that captures its first forward and backward pass as a CUDA graph and replays it.

    A step of a small model is hundreds of kernels of microseconds each, which take longer to launch than to run; a
    graph is launched at once. Gradient clipping is part of the graph; guard, optimizer and schedule are unchanged.

    Requirements: batches of tensors on the accelerator, all of one shape, with the same number of predictions; one
    accelerator, no gradient accumulation; a model whose control flow does not depend on the content of a batch.
    Embedders that read characters one after the other (`costly`, as `char-lstm`) cannot be captured: see `can_record`.

    Args:
        *positional: Arguments of `NumberTrainer`.
        counts: Numbers, and if constant tokens, that each batch predicts.
        **options: Options of `NumberTrainer`.
    """

    def __init__(self, *positional: Any, counts: Counts, **options: Any) -> None:
        super().__init__(*positional, **options)
        if self.args.gradient_accumulation_steps > 1 or self.args.world_size > 1:
            raise ValueError("a step of several batches or processes cannot be captured; use NumberTrainer")
        self.counts = counts
        self._recording: _Recording | None = None

    @staticmethod
    def can_record(model: Any) -> bool:
        """Whether a model can be captured: CUDA is available and its control flow does not depend on the batch."""
        return torch.cuda.is_available() and not getattr(model.embedder, "costly", False)

    def _forward_and_back(self, model: nn.Module, inputs: dict[str, Any], *positional: Any, **options: Any) -> Tensor:
        if self._recording is None:
            again = super()._forward_and_back

            def step(batch: dict[str, Any]) -> Tensor:
                return again(model, batch, *positional, **options)

            self._recording = _Recording(model, inputs, step, self.counts, self.args.max_grad_norm or math.inf)
        return self._recording.replay(inputs)

    def _clip_grad_norm(self, model: nn.Module) -> Any:
        return super()._clip_grad_norm(model) if self._recording is None else self._recording.norm

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        if grad_norm is None and self._recording is not None:
            grad_norm = self._recording.norm
        return super()._get_grad_norm(model, grad_norm)


class _Recording:
    """A training step as a CUDA graph: forward, backward, and gradient clipping to the norm `longest`.

    `step` computes the gradients of a batch and returns its loss; `norm` is the gradient norm before clipping: ().
    """

    def __init__(
        self,
        model: nn.Module,
        example: dict[str, Any],
        step: Callable[[dict[str, Any]], Tensor],
        counts: Counts,
        longest: float,
    ) -> None:
        self._batch = {key: value.clone() for key, value in example.items()}
        self._graph = torch.cuda.CUDAGraph()

        def whole() -> tuple[Tensor, Tensor]:
            loss = step(dict(self._batch))
            return loss, nn.utils.clip_grad_norm_(model.parameters(), longest)

        with fixed_counts(counts):
            with side_stream():
                for _ in range(_WARM_UP_STEPS):
                    model.zero_grad(set_to_none=True)
                    whole()
            model.zero_grad(set_to_none=True)
            with torch.cuda.graph(self._graph):
                self._loss, self.norm = whole()
        self._gradients = [(weight, weight.grad) for weight in model.parameters() if weight.grad is not None]

    def replay(self, inputs: dict[str, Any]) -> Tensor:
        """The loss of a batch, which is copied into the graph's input; sets the gradients of the weights."""
        for key, value in self._batch.items():
            value.copy_(inputs[key])
        self._graph.replay()
        for weight, gradient in self._gradients:  # an optimizer's zero_grad removes them
            weight.grad = gradient
        return self._loss.clone()
