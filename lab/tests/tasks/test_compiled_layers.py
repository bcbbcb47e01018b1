"""Compiled layers give the losses and gradients of layers that are not compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from tiny_models import new_backbone
from torch import nn

from numerate_lab.tasks.finetuning.compiled_layers import compile_layers

if TYPE_CHECKING:
    import pytest


def test_compiled_layers_are_equal_and_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    backbone: Any = new_backbone("bert").eval()
    names = list(backbone.state_dict())
    ids = torch.arange(12).view(2, 6) + 5
    plain = backbone(input_ids=ids).logits
    calls: list[bool] = []

    def compiled(function: Any, *, dynamic: bool) -> Any:  # the real compiler takes minutes on a CPU
        calls.append(dynamic)
        return function

    monkeypatch.setattr(torch, "compile", compiled)
    assert compile_layers(backbone) == backbone.config.num_hidden_layers == len(calls)
    assert all(calls) and list(backbone.state_dict()) == names
    assert torch.equal(backbone(input_ids=ids).logits, plain)


def test_the_longest_stack_of_equal_layers_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    model = nn.ModuleDict(
        {
            "mixed": nn.ModuleList([nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1), nn.ReLU()]),
            "short": nn.ModuleList([nn.ReLU(), nn.ReLU()]),
            "long": nn.ModuleList([nn.Linear(1, 1) for _ in range(3)]),
        }
    )
    assert compile_layers(model) == 3
