"""Rows made in tensors are those that the processor gives for the records' texts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from numerate_lab.tasks.records.record_arrays import Records, Shape
from numerate_lab.tasks.records.record_task import RecordsTask, RecordsTrial, encode_records

ENCODINGS = ["p10", "p1000", "b1999", "fp15", "xval+scalar", "float+mixture", "in-place"]
TRIAL = RecordsTrial(width=16, layers=1, heads=2)
EDGES = [0.0, 0.0001, -0.0005, 0.0999, 0.9995, 9.995, 9.985, -9.9949, 99.95, 12.345, -100.05, 1.0, -0.01, 0.1235]


def some_records() -> Records:
    """Two shapes with all edges among their numbers."""
    rng = np.random.default_rng(0)
    shapes = (
        Shape.of("{'d':{'m':1,'a':2},'data':[[1,2],[3,4]]}", {"m": [0]}),
        Shape.of("{'d':{'m':1},'data':[[[1,2,3]]]}", {"m": [0]}),
    )
    numbers = [np.round(rng.normal(size=(n, m)) * 3, 4) + 0.0 for n, m in ((30, 6), (20, 4))]
    numbers[0].reshape(-1)[: len(EDGES)] = EDGES
    return Records(shapes, tuple(numbers), (np.arange(30), np.arange(30, 50)), 4)


def build(encoding: str, records: Records) -> Any:
    task = RecordsTask(dataclasses.replace(TRIAL, encoding=encoding))
    task.make_records = lambda split, count: records  # type: ignore[method-assign]
    return task.build()


def test_rows_are_the_processors() -> None:
    for encoding in ENCODINGS:
        records = some_records()
        model = build(encoding, records)
        parts = encode_records(model, records, torch.device("cpu"))
        batch = model.processor(records.texts())
        lengths = [len(row) for row in batch["input_ids"]]
        rows = [(part, row) for part in parts for row in range(len(part))]
        assert len(rows) == len(lengths) == 50
        for index, (part, row) in enumerate(rows):
            length = int(part.lengths[row])
            assert part.ids[row, :length].tolist() == list(batch["input_ids"][index])
            assert part.slots[row, :length].tolist() == list(batch["number_slots"][index])
            assert part.bits[row].tolist() == list(batch["number_bits"][index])
            assert (part.ids[row, length:] == model.processor.tokenizer.pad_token_id).all()
            assert not part.slots[row, length:].any()


def test_only_uneven_batches_have_a_mask() -> None:
    records = some_records()
    model = build("p10", records)
    part = encode_records(model, records, torch.device("cpu"))[0]
    zero = int(part.lengths.argmin())  # zero is one token of five
    others = (part.lengths == part.lengths.max()).nonzero()[:2, 0]
    assert "attention_mask" not in part.batch(others)
    both = part.batch(torch.tensor([zero, int(others[0])]))
    assert both["attention_mask"].sum(1).tolist() == [int(part.lengths[zero]), int(part.lengths[others[0]])]
    assert both["input_ids"].dtype == both["number_slots"].dtype == torch.int64
    alone = part.batch(torch.tensor([zero]))
    assert alone["input_ids"].shape[1] == int(part.lengths[zero]) < part.ids.shape[1]


def test_the_length_of_what_is_masked_tells_nothing() -> None:
    records = some_records()
    small = dataclasses.replace(records, numbers=tuple(np.round(part / 200, 4) + 0.0 for part in records.numbers))
    model = build("in-place", small)
    for part, numbers in zip(encode_records(model, small, torch.device("cpu")), small.numbers, strict=True):
        assert (numbers < 0).any() and (numbers > 0).any()
        counts = torch.stack([(part.slots == slot).sum(1) for slot in range(1, numbers.shape[1] + 1)])
        assert counts.unique().tolist() == [len("+1.0000")]


def test_what_cannot_be_written_is_an_error() -> None:
    records = some_records()
    model = build("in-place", records)
    large = dataclasses.replace(records, numbers=(records.numbers[0] + 1e5, records.numbers[1]))
    with pytest.raises(ValueError, match="numbers must be below 10000, got 100"):
        encode_records(model, large, torch.device("cpu"))
