"""Batches, processors and models survive pickle, torch.save and the workers of a data loader."""

from __future__ import annotations

import copy
import io
import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import ASKING, NUMBERS, new_backbone, number_batch, tokenizer_of
from torch.utils.data import DataLoader

import numerate

if TYPE_CHECKING:
    from collections.abc import Callable


def saved(thing: Any) -> Any:
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "torch.save": saved,
    "deepcopy": copy.deepcopy,
}


def processor_of(notation: str = "marker") -> Any:
    return numerate.NumberProcessor(tokenizer_of("bert"), notation=notation)


@pytest.mark.parametrize("way", WAYS)
def test_batches_and_processors_can_be_pickled(way: str) -> None:
    processor = processor_of()
    called = processor(NUMBERS, padding=True, return_tensors="pt")
    padded = processor.pad([processor(text) for text in NUMBERS])
    plain = processor.pad([dict(processor(text)) for text in NUMBERS])
    again = WAYS[way](processor)(NUMBERS, padding=True, return_tensors="pt")
    for batch in (called, padded, plain):
        copied = WAYS[way](batch)
        assert type(copied) is type(batch) and copied.keys() == batch.keys()
        assert all(torch.equal(copied[key], called[key]) for key in called)
    assert all(torch.equal(again[key], called[key]) for key in called)
    assert WAYS[way](padded).numerals == called.numerals, "pad keeps the numerals of its examples"
    with pytest.raises(ValueError, match="does not know its numerals"):
        _ = plain.numerals


def test_a_data_loader_with_workers_gives_padded_batches() -> None:
    processor = processor_of()
    rows = [processor(text) for text in NUMBERS]
    loader = DataLoader(rows, batch_size=3, collate_fn=processor.pad, num_workers=1, timeout=60)
    (batch,) = list(loader)
    assert torch.equal(batch["input_ids"], processor.pad(rows)["input_ids"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_model_can_be_pickled(name: str, way: str) -> None:
    model = numerate.attach(new_backbone(name), tokenizer_of(name), "in-place").eval()
    again = WAYS[way](model)
    batch = number_batch(model, name, NUMBERS + ASKING)
    with torch.no_grad():
        left, right = model(**batch), again(**batch)
    assert torch.equal(left.logits, right.logits) and torch.equal(left.numbers.median(), right.numbers.median())
    state = again.state_dict()
    assert state.keys() == model.state_dict().keys(), "tied weights are listed once"
    assert not again.load_state_dict(state).missing_keys
