"""Training steps of fixed shapes as CUDA graphs: small networks are dominated by kernel-launch overhead."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from numerate.training.step_graphs import side_stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["WARMUP", "GraphedStep"]

WARMUP = 3
"""Steps that are run as they are first, in which libraries choose kernels and the optimizer makes its state."""


class GraphedStep:
    """A whole training step (losses, gradients, optimizer) that is recorded once and then replayed.

    The step may not wait for the device nor depend on anything but its inputs and tensors that stay in place: the
    optimizer must be `capturable`, with its learning rates as tensors. On a CPU, or with `enabled=False`, the step is
    simply called.

    Args:
        step: From tensors of fixed shapes to a tensor, such as the loss.
        enabled: Whether to record at all.
        pool: Memory that it shares with other recorded steps (`torch.cuda.graph_pool_handle()`); None for its own.
            Steps that share it overwrite each other's outputs.
        warmup: Steps that are run as they are first.

    Example:
        >>> double = GraphedStep(lambda numbers: numbers * 2)
        >>> double(torch.tensor([1, 2]))
        tensor([2, 4])
    """

    def __init__(
        self, step: Callable[..., Tensor], *, enabled: bool = True, pool: Any = None, warmup: int = WARMUP
    ) -> None:
        self.step, self.enabled, self.pool, self.warmup = step, enabled, pool, warmup
        self.calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: list[Tensor] = []
        self._output: Tensor | None = None

    def __call__(self, *inputs: Tensor) -> Tensor:
        """The step's output; a recorded step overwrites the one before."""
        self.calls += 1
        if not self.enabled or not inputs[0].is_cuda:
            return self.step(*inputs)
        if self.calls <= self.warmup:  # on another stream, as recording needs it
            with side_stream():
                return self.step(*inputs)
        if self._graph is None:
            self._inputs, graph = [each.clone() for each in inputs], torch.cuda.CUDAGraph()
            try:
                with torch.cuda.graph(graph, pool=self.pool):
                    self._output = self.step(*self._inputs)
            except RuntimeError as error:  # nothing was computed yet: go on without recording
                warnings.warn(f"the step cannot be recorded and stays slow: {str(error)[:200]}", stacklevel=2)
                torch.cuda.synchronize()
                self.enabled = False
                return self.step(*inputs)
            self._graph = graph
        for kept, given in zip(self._inputs, inputs, strict=True):
            kept.copy_(given)
        self._graph.replay()
        assert self._output is not None  # noqa: S101
        return self._output
