"""Counts the operations of a training step by the part of the model that runs them, on any device.

A step of a small model is often bound by kernel launches. Each counted operation launches at least one kernel on an
accelerator; views and allocations launch none and are not counted. Some operations (`nonzero`, `logsumexp`) launch
several kernels, so the count is a lower bound.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from numerate.modeling import number_model, outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REST = "backbone and rest"
SYNCHRONISING = "nonzero", "_local_scalar_dense", "masked_select", "_unique2", "unique_dim", "is_nonzero", "equal"
"""Operations whose result the host has to wait for."""
_FREE = {
    "_reshape_alias", "_unsafe_view", "alias", "as_strided", "chunk", "detach", "diagonal", "empty", "empty_like",
    "empty_strided", "expand", "lift_fresh", "narrow", "new_empty", "new_empty_strided", "permute", "promote_types",
    "reshape", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold",
    "unsqueeze", "view", "view_as_real",
}  # fmt: skip


class OperationCounter(TorchDispatchMode):
    """Counts operations by part, within `with counter:`; operations of the backward pass count for their forward part.

    Attributes:
        forward: Operations of the forward pass by (part, name).
        backward: Operations of the backward pass by (part, name).
        waits: Operations in order that make the host wait, as (part, name).
    """

    def __init__(self) -> None:
        super().__init__()
        self.forward: Counter[tuple[str, str]] = Counter()
        self.backward: Counter[tuple[str, str]] = Counter()
        self.waits: list[tuple[str, str]] = []
        self.part = REST

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        if name not in _FREE:
            node = torch._C._current_autograd_node()
            part = self.part if node is None else node.metadata.get("part", REST)
            (self.forward if node is None else self.backward)[part, name] += 1
            if name in SYNCHRONISING:
                self.waits.append((part, name))
        return function(*args, **kwargs or {})

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its operations counted for a part."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            outer = self.part
            self._mark((args, kwargs))
            self.part = part
            try:
                result = function(*args, **kwargs)
                self._mark(result)
            finally:
                self.part = outer
            return result

        return counted

    def _mark(self, tensors: Any) -> None:
        """Assigns all nodes of the autograd graph that have no part yet to the current part."""
        nodes = [leaf.grad_fn for leaf in tree_leaves(tensors) if isinstance(leaf, torch.Tensor)]
        while nodes:
            node = nodes.pop()
            if node is not None and "part" not in node.metadata:
                node.metadata["part"] = self.part
                nodes += [before for before, _ in node.next_functions]


@contextmanager
def counted_parts(model: Any, counter: OperationCounter) -> Iterator[None]:
    """A context in which the operations of a `NumberModel`'s parts are counted separately; `model` may be bare."""
    places: dict[str, tuple[Any, str]] = {}
    if hasattr(model, "processor"):
        places = {
            "objective": (model.objective, "prepare"), "embed": (number_model, "embed"),
            "late reach": (model.late_reach, "forward"), "relations": (model.relations, "forward"),
            "embedder": (model.embedder, "forward"), "own logits": (model.own_logits, "forward"),
            "token loss": (outputs, "token_loss"), "number loss": (outputs, "_number_loss"),
            "earlier numbers": (outputs, "earlier_numbers"), "head": (model.head, "loss"),
            "predicted numbers": (outputs, "_predicted_numbers"),
        }  # fmt: skip
    with ExitStack() as stack:
        for part, (owner, name) in places.items():
            if owner is not None:
                stack.enter_context(patch.object(owner, name, counter.wrap(part, getattr(owner, name))))
        yield


def count_step(model: Any, batch: dict[str, Any], autocast: Any) -> OperationCounter:
    """The operations of the forward and backward pass of one training step."""
    counter = OperationCounter()
    with counter, counted_parts(model, counter):
        with autocast:
            loss = model(**batch).loss
        loss.backward()
    return counter


def table(counter: OperationCounter, bare: OperationCounter) -> list[dict[str, Any]]:
    """A row for each part with its operations in both passes, less those of the bare model, and a row for all."""
    counts = {"forward": counter.forward, "backward": counter.backward}
    rows = []
    for part in {part: None for counted in counts.values() for part, _ in counted}:
        row: dict[str, Any] = {"part": part}
        for name, counted in counts.items():
            row[name] = sum(count for (owner, _), count in counted.items() if owner == part)
            row[name] -= getattr(bare, name).total() if part == REST else 0
        rows.append(row | {"both": row["forward"] + row["backward"]})
    rows.sort(key=lambda row: -row["both"])
    return [*rows, {"part": "all"} | {name: sum(row[name] for row in rows) for name in (*counts, "both")}]
