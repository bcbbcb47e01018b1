"""Training steps of few sizes that are recorded as CUDA graphs, and an optimizer that can be part of them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from numerate.processing.static_shapes import Counts, fixed_counts
from numerate_lab.engine.graphed_step import WARMUP, GraphedStep

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from torch import Tensor

__all__ = ["RecordedSteps", "learn", "rated_optimizer"]


class RecordedSteps:
    """A step that is recorded once for each size of its inputs, and then replayed.

    Args:
        step: From a size and tensors of that size to the loss; it changes the weights.
        enabled: Whether to record at all; on a CPU nothing is.

    Example:
        >>> steps = RecordedSteps(lambda size, numbers: numbers[:size].sum())
        >>> [int(steps(size, torch.arange(4))) for size in (2, 4)]
        [1, 6]
    """

    def __init__(self, step: Callable[..., Tensor], *, enabled: bool = True) -> None:
        self.step, self.enabled = step, enabled
        self.graphs: dict[Hashable, GraphedStep] = {}
        self._pool: Any = None

    def __call__(self, size: Hashable, *inputs: Tensor) -> Tensor:
        """The loss of one step."""
        if not self.enabled:
            return self.step(size, *inputs)
        if size not in self.graphs:
            if self._pool is None and inputs[0].is_cuda:  # one step runs at a time: all use the same memory
                self._pool = torch.cuda.graph_pool_handle()
            # The first size has made the optimizer's state and chosen most kernels for the others.
            warmup = 1 if self.graphs else WARMUP
            self.graphs[size] = GraphedStep(lambda *given: self.step(size, *given), pool=self._pool, warmup=warmup)
        graph = self.graphs[size]
        # No number is predicted by a head here. What cannot be recorded looks for equal numbers again.
        with fixed_counts(Counts(numbers=0, tokens=0)) if graph.enabled else contextlib.nullcontext():
            return graph(*inputs)


def learn(loss: Callable[[], Tensor], optimizer: torch.optim.Optimizer, clip: float, bf16: bool, device: Any) -> Tensor:
    """One step: the loss in mixed precision, its gradients, their norm at most `clip`, the optimizer; the loss."""
    optimizer.zero_grad(set_to_none=True)
    # Casts of weights are not kept from one recorded step to the next.
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16, cache_enabled=not _records(optimizer)):
        value = loss()
    value.backward()
    nn.utils.clip_grad_norm_([weight for group in optimizer.param_groups for weight in group["params"]], clip)
    optimizer.step()
    return value.detach()


def _records(optimizer: torch.optim.Optimizer) -> bool:
    return bool(optimizer.param_groups[0].get("capturable"))


def rated_optimizer(
    weights: Iterable[tuple[str, nn.Parameter]], *, backbone: str, rate: float, new_rate: float, weight_decay: float,
    warmup: float, steps: int, recorded: bool = False,
) -> tuple[torch.optim.Optimizer, Any]:  # fmt: skip
    """AdamW with a schedule: the rate rises over a share `warmup` of the steps and falls linearly to 0.

    Args:
        weights: Named weights.
        backbone: Prefix of the names of the backbone's weights, which have `rate`; all others have `new_rate`.
        rate: Learning rate of the backbone.
        new_rate: Learning rate of all other weights.
        weight_decay: Of matrices; biases and norms have none.
        warmup: Share of the steps with a rising rate.
        steps: Number of steps.
        recorded: Whether the optimizer is part of CUDA graphs: its rates are then tensors.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, weight in weights:
        if weight.requires_grad:
            own = rate if name.startswith(backbone) else new_rate
            groups.setdefault((own, weight_decay if weight.dim() > 1 else 0.0), []).append(weight)
    device = next(iter(groups.values()))[0].device
    described = [
        {"params": params, "lr": torch.tensor(own, device=device) if recorded else own, "weight_decay": decay}
        for (own, decay), params in groups.items()
    ]
    optimizer = torch.optim.AdamW(described, fused=device.type == "cuda", capturable=recorded)
    warm = max(1, round(warmup * steps))

    def share(step: int) -> float:
        return min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)
