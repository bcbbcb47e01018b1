"""Rows as flat arrays: the same rows and the same batches as dicts give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tiny_models import ASKING, NUMBERS, PLAIN, tokenizer_of

from numerate.notation.plain_text import Keep
from numerate.processing.encoding import NumberCollator
from numerate.processing.flat_rows import FlatRows
from numerate.processing.processor import NumberProcessor
from numerate.training.shards import write_shards

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.training.shards import Shards

TEXTS = [*NUMBERS, *PLAIN, *ASKING, "no", "-1.5e300 and 1,234,567.25%"]
ORDERS = ([3], [2, 0, 5, 1], [-1, 4, 4, 0], list(range(len(TEXTS))))


@pytest.fixture(params=["bert", "gpt2"])
def shards(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Shards, NumberProcessor]:
    processor = NumberProcessor(tokenizer_of(request.param), "standard", Keep.build(slot=True))
    return write_shards(tmp_path / "shards", TEXTS, processor, shard_tokens=40), processor


@pytest.mark.parametrize("side", ["left", "right"])
def test_batches_equal_those_of_dicts(shards: tuple[Shards, NumberProcessor], side: str) -> None:
    rows, processor = shards
    assert len(rows.meta["shards"]) > 2, "rows of several shards are brought into their order"
    for multiple, least in ((None, 0), (8, 0), (None, 40)):
        collate = NumberCollator(processor.tokenizer, multiple, least=least)
        collate.side = side
        for order in ORDERS:
            flat = rows.__getitems__(order)
            assert isinstance(flat, FlatRows) and len(flat) == len(order)
            found, wanted = collate(flat), collate(flat[:])
            assert found.keys() == wanted.keys()
            for name, value in wanted.items():
                assert torch.equal(found[name], value) and found[name].dtype == value.dtype, (name, order)


def test_rows_are_those_of_the_data_set(shards: tuple[Shards, NumberProcessor]) -> None:
    rows, processor = shards
    flat = rows.__getitems__([5, 1, 1])
    for row, index in zip(flat, (5, 1, 1), strict=True):
        encoded = dict(processor(TEXTS[index]))
        assert row["sample_id"] == index and row.keys() == encoded.keys() | {"sample_id"}
        for name, value in encoded.items():
            assert np.array_equal(row[name], np.asarray(value)), name
    with pytest.raises(IndexError, match=f"row 99 of {len(TEXTS)}"):
        rows.__getitems__([0, 99])


def test_labels_for_the_stock_trainer(shards: tuple[Shards, NumberProcessor]) -> None:
    rows, processor = shards
    collate = NumberCollator(processor)
    collate.empty_labels = True
    assert collate(rows.__getitems__([0, 1]))["labels"].shape == (2, 0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_lists_arrays_and_tensors_are_padded_alike(side: str) -> None:
    collate = NumberCollator(tokenizer_of("bert"), 4)
    collate.side = side
    rows = [[5, 6, 7], [], [8]]
    batches = [
        collate([{"input_ids": kind(row), "number_slots": kind(row), "labels": kind(row)} for row in rows])
        for kind in (list, lambda row: np.array(row, dtype=np.int32), lambda row: torch.tensor(row, dtype=torch.int64))
    ]
    for batch in batches[:2]:
        assert all(torch.equal(value, batches[2][name]) for name, value in batch.items())
        assert all(value.dtype == torch.int64 for value in batch.values())
    assert batches[0]["labels"].tolist()[2] == ([-100, -100, -100, 8] if side == "left" else [8, -100, -100, -100])
    scores = collate([{"input_ids": [1], "labels": [0.5]}, {"input_ids": [1], "labels": [1.5]}])["labels"]
    assert scores.is_floating_point() and scores[:, 0 if side == "right" else -1].tolist() == [0.5, 1.5]
    one = [{"input_ids": np.array([1]), "labels": np.array(3)}, {"input_ids": np.array([1]), "labels": np.array(4)}]
    assert collate(one)["labels"].tolist() == [3, 4]
