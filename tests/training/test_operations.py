"""The operations of a training step: on an accelerator each launches a kernel, and a small model waits for it."""

from __future__ import annotations

from typing import Any

import torch
from tiny_models import NUMBERS, PLAIN, new_backbone, tokenizer_of
from torch.utils._python_dispatch import TorchDispatchMode

import numerate
from numerate.processing.static_shapes import capacities

FREE = {
    "alias", "as_strided", "detach", "empty", "empty_like", "empty_strided", "expand", "new_empty", "permute", "select",
    "slice", "split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view",
    "_unsafe_view", "lift_fresh",
}  # fmt: skip
"""Views and allocations, which launch nothing."""
MOST = 550
"""Most operations that the default recipe may add to the forward and backward pass of its backbone; version 0.2 adds
fewer than 525, and added 586 before operations were combined."""


class Counter(TorchDispatchMode):
    """Counts operations other than `FREE` ones."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += function.overloadpacket.__name__ not in FREE
        return function(*args, **kwargs or {})


def operations(model: Any, batch: dict[str, Any]) -> int:
    """The operations of the second step: the first one fills caches."""
    for _ in range(2):
        model.zero_grad(set_to_none=True)
        with capacities(), Counter() as counter:
            model(**batch).loss.backward()
    return counter.count


def test_the_default_recipe_adds_few_operations_to_a_step() -> None:
    tokenizer, texts = tokenizer_of("bert"), [*NUMBERS, *PLAIN] * 3
    torch.manual_seed(0)
    model = numerate.attach(new_backbone("bert"), tokenizer, "in-place").train()
    model.labelled_logits = True
    batch = dict(model.processor(texts, return_tensors="pt", padding=True)) | {"sample_id": torch.arange(len(texts))}
    ours = operations(model, batch)
    bare = new_backbone("bert").train()
    plain = {name: batch[name] for name in ("input_ids", "attention_mask")}
    theirs = operations(bare, plain | {"labels": batch["input_ids"].clone()})
    assert 0 < ours - theirs <= MOST, f"{ours} operations, {theirs} of them in the backbone"
