"""Training steps that are recorded once and replayed: for small models, whose steps cost more to tell than to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.fixed_shapes import Counts, fixed_counts
from numerate.training.trainer import NumberTrainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

__all__ = ["RecordedTrainer"]

_REHEARSALS = 3
"""Steps before the recording, in which libraries make their plans and compiled code is compiled."""


class RecordedTrainer(NumberTrainer):
    """`NumberTrainer` that records its first forward and backward pass as a CUDA graph, and replays it for all others.

    A step of a small model is hundreds of kernels of microseconds each, which take longer to launch than to run; a
    recording is launched at once. Clipping, guard, optimizer and schedule are as ever.

    What can be recorded: batches of tensors, all of one shape, on the accelerator already, with as much to be predicted
    in each; one accelerator, no gradient accumulation; a model whose passes do not depend on what a batch
    says. Embedders that read characters one after the other (`costly`, as `char-lstm`) are not: see `can_record`.

    Args:
        *positional: As `NumberTrainer` takes them.
        counts: How many numbers, and if it is always as many, tokens each batch predicts.
        **options: As `NumberTrainer` takes them.
    """

    def __init__(self, *positional: Any, counts: Counts, **options: Any) -> None:
        super().__init__(*positional, **options)
        if self.args.gradient_accumulation_steps > 1 or self.args.world_size > 1:
            raise ValueError("a step of several batches or processes cannot be recorded; use NumberTrainer")
        self.counts = counts
        self._replay: Callable[[dict[str, Any]], Tensor] | None = None

    @staticmethod
    def can_record(model: Any) -> bool:
        """Whether a model's passes do not depend on what a batch says, and whether there is a device to record them."""
        return torch.cuda.is_available() and not getattr(model.embedder, "costly", False)

    def _forward_and_back(self, model: nn.Module, inputs: dict[str, Any], *positional: Any, **options: Any) -> Tensor:
        if self._replay is None:
            again = super()._forward_and_back
            self._replay = _record(
                model, inputs, lambda batch: again(model, batch, *positional, **options), self.counts
            )
        return self._replay(inputs)


def _record(
    model: nn.Module, example: dict[str, Any], step: Callable[[dict[str, Any]], Tensor], counts: Counts
) -> Callable[[dict[str, Any]], Tensor]:
    """A function that replays a step: what it is given is copied to where the recording reads, and gradients back."""
    batch = {key: value.clone() for key, value in example.items()}
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    with fixed_counts(counts):
        with torch.cuda.stream(side):
            for _ in range(_REHEARSALS):
                model.zero_grad(set_to_none=True)
                step(dict(batch))
        torch.cuda.current_stream().wait_stream(side)
        model.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = step(dict(batch))
    gradients = [(weight, weight.grad) for weight in model.parameters() if weight.grad is not None]

    def replay(inputs: dict[str, Any]) -> Tensor:
        for key, value in batch.items():
            value.copy_(inputs[key])
        graph.replay()
        for weight, gradient in gradients:  # an optimizer's zero_grad takes them away
            weight.grad = gradient
        return loss.clone()

    return replay
