"""`numerate generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.cli.prediction_commands import continuations, prompts_of
from numerate.errors import BadInput
from numerate.modeling.artefact import ArtefactError
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    model = numerate.attach(
        new_backbone("gpt2"), tokenizer_of("gpt2"), notation="marker", embedder="float", head="mixture"
    )
    assert model.own_logits is not None
    model.own_logits.bias.data.fill_(50.0)  # it generates numbers only
    target = tmp_path_factory.mktemp("model")
    model.save_pretrained(target, backbone=True)
    return target


def test_numbers_have_values_and_intervals(folder: Path) -> None:
    found = list(continuations(str(folder), ["The tower is ", "It cost"], 3))
    assert [row["prompt"] for row in found] == ["The tower is ", "It cost"]
    for row in found:
        assert len(row["numbers"]) == 2, "two numbers are never adjacent"
        for number in row["numbers"]:
            low, high = number["interval_90"]
            assert low <= number["value"] <= high and number["text"] in row["text"]


def test_intervals_are_in_the_units_of_the_text(folder: Path, tmp_path: Path) -> None:
    model = numerate.from_pretrained(folder)
    scaling = Scaling(by="none", scaler="range").fit(numerate.find("from 1000 to 1001"))
    config = model.processor.config() | {"scaling": scaling.to_dict()}
    first = model.processor.first_id
    model.processor = NumberProcessor.from_config(model.processor.tokenizer, config, first_id=first)
    model.save_pretrained(tmp_path, backbone=True)
    (row,) = continuations(str(tmp_path), ["It cost"], 3)
    said = model.generate(["It cost"], 3).numbers[0]
    assert len(said) == len(row["numbers"]) == 2
    for number, found in zip(said, row["numbers"], strict=True):
        assert number.distribution is not None
        assert found["interval_90"] == [float(end) for end in number.distribution.interval(0.9)]
        scaled = [float(end) for end in number.distribution.scaled.interval(0.9)]
        assert found["interval_90"] == pytest.approx([1000.5 + end / 10 for end in scaled])
        assert float(number.distribution.median()) == pytest.approx(number.value, abs=0.01)


def test_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("one\ntwo\n")
    assert list(prompts_of((), str(tmp_path / "prompts.txt"))) == ["one", "two"]
    assert prompts_of(("a",), None) == ("a",)
    for given in (((), None), (("a",), "file")):
        with pytest.raises(BadInput, match="give either prompts or a file"):
            prompts_of(*given)


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError):
        list(continuations(str(tmp_path), ["a"], 3))
