"""`numerate generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.commands.generate import continuations, prompts_of
from numerate.commands.source import BadInput

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    model = numerate.attach(
        new_backbone("gpt2"), tokenizer_of("gpt2"), notation="marker", embedder="float", head="mixture"
    )
    assert model.own_logits is not None
    model.own_logits.bias.data.fill_(50.0)  # it speaks in numbers alone
    target = tmp_path_factory.mktemp("model")
    model.save_pretrained(target, backbone=True)
    return target


def test_numbers_have_values_and_intervals(folder: Path) -> None:
    found = list(continuations(str(folder), ["The tower is ", "It cost"], 3))
    assert [row["prompt"] for row in found] == ["The tower is ", "It cost"]
    for row in found:
        assert len(row["numbers"]) == 2, "two numbers never run together"
        for number in row["numbers"]:
            low, high = number["interval_90"]
            assert low <= number["value"] <= high and number["text"] in row["text"]


def test_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("one\ntwo\n")
    assert list(prompts_of((), str(tmp_path / "prompts.txt"))) == ["one", "two"]
    assert prompts_of(("a",), None) == ("a",)
    for given in (((), None), (("a",), "file")):
        with pytest.raises(BadInput, match="one of the two"):
            prompts_of(*given)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        list(continuations(str(tmp_path), ["a"], 3))
