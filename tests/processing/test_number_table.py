"""The number table: bits, characters, precision, padding; and collation."""

from __future__ import annotations

import math
import pickle
import struct
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import (
    ASKED,
    GIVEN,
    PADDING,
    NumberTable,
    Written,
    bit_patterns,
    character_rows,
    encode_characters,
    padded_table,
    precisions,
)
from numerate.processing.record_tokenizer import record_tokenizer
from numerate.reading import make_reader


@given(st.lists(st.floats(), max_size=8))
def test_bits_equal_those_of_struct(values: list[float]) -> None:
    bits = bit_patterns(np.array(values, dtype=np.float64)).tolist()
    for value, pattern in zip(values, bits, strict=True):
        expected = struct.unpack("<q", struct.pack("<d", math.nan if math.isnan(value) else value))[0]
        assert pattern == expected
    table = NumberTable.of_values(values)
    assert torch.equal(table.values(), torch.tensor(values, dtype=torch.float64)) or any(map(math.isnan, values))


@given(st.lists(st.text(alphabet="0123456789.,-+eE%−½x⁄😀 ", max_size=40), max_size=6))
def test_characters_equal_a_lookup(texts: list[str]) -> None:
    rows = character_rows(texts)
    known = {c: i for i, c in enumerate("0123456789", 1)} | {
        "-": 12, "−": 12, "e": 13, "E": 13, ".": 14, "%": 15, ",": 16, "+": 17
    }  # fmt: skip
    for text, row in zip(texts, rows.tolist(), strict=True):
        expected = [known.get(char, 18) for char in text[:32]]
        assert row[: len(expected)] == expected and not any(row[len(expected) :])
    assert rows.dtype == np.uint8 and rows.shape == (len(texts), min(32, max(map(len, texts), default=0)))
    assert encode_characters("-1.5") == [12, 2, 14, 6]


FORMS = [
    "5",
    "3.20",
    "1,234.5",
    "-0.001",
    "3.2%",
    "1.5 billion",
    "6.02e23",
    "½",
    "(1,234.50)",
    "7th",
    "9" * 40,
    "1.",
    "٣",
]


@given(st.lists(st.sampled_from(FORMS), max_size=8))
def test_precisions_equal_the_numerals(forms: list[str]) -> None:
    numerals = [n for form in forms for n in make_reader("standard").find(form)]
    assert precisions(numerals).tolist() == [n.precision for n in numerals]
    european = make_reader("standard", locale="eu").find("1.234 und 2,50")
    assert precisions(european).tolist() == [n.precision for n in european]


def test_the_shapes_of_a_table_with_and_without_numbers() -> None:
    empty = np.zeros(0)
    table = padded_table([0, 0], Written.of([]), empty, empty, empty)
    assert [a.shape for a in table.values()] == [(2, 0), (2, 0, 1), (2, 0), (2, 0)]
    assert [str(a.dtype) for a in table.values()] == ["int64", "uint8", "int16", "uint8"]
    given = np.array([GIVEN, ASKED, GIVEN])
    table = padded_table([2, 0, 1], Written.of(["1.5", "", "20"]), np.array([1.5, 0, 20]), np.array([-1, 0, 0]), given)
    assert table["number_given"].tolist() == [[GIVEN, ASKED], [PADDING, PADDING], [GIVEN, PADDING]]
    assert table["number_chars"][0].tolist() == [[2, 14, 6], [0, 0, 0]]
    assert table["number_bits"].view(np.float64).tolist() == [[1.5, 0], [0, 0], [20, 0]]
    assert [str(a.dtype) for a in table.values()] == ["int64", "uint8", "int16", "uint8"]
    fields = ("number_bits", "number_chars", "number_precision", "number_given")
    assert NumberTable(*(torch.from_numpy(table[key]) for key in fields)).flat().characters.shape == (6, 3)


@pytest.mark.parametrize(("side", "form"), [("left", "lists"), ("right", "np"), ("left", "pt")])
def test_collated_examples_equal_the_padded_batch(side: str, form: str) -> None:
    from numerate.processing.processor import NumberProcessor

    tokenizer = record_tokenizer(["{'m': 1}"])
    tokenizer.padding_side = side
    processor = NumberProcessor(tokenizer, "records", implied_commas=True)
    texts = ["{'m': [1, 2.50]}", "x", "[NUM]", "[-1e-5, nan, 3, 4]"]
    if form == "lists":
        examples: list[Any] = [dict(processor(text)) for text in texts]
    else:
        single = [processor([text], return_tensors=form) for text in texts]
        examples = [{key: value[0] for key, value in one.items()} for one in single]
    batch = pickle.loads(pickle.dumps(NumberCollator(tokenizer)))(examples)
    expected = processor(texts, padding=True, return_tensors="pt")
    assert batch.keys() == expected.keys()
    for key, value in expected.items():
        assert batch[key].dtype == value.dtype and torch.equal(batch[key], value), key
    assert processor.pad(examples)["input_ids"].shape == expected["input_ids"].shape


def test_collation_of_labels_and_other_fields() -> None:
    collate = NumberCollator(SimpleNamespace(pad_token_id=9, padding_side="left", pad_token_type_id=0), 4)
    rows = [
        {
            "input_ids": [1, 2, 3],
            "labels": [1, 2, 3],
            "decoder_number_slots": [1],
            "decoder_number_given": [1],
            "y": 0.5,
        },
        {"input_ids": [4], "labels": [4], "decoder_number_slots": [0], "decoder_number_given": [], "y": 1.5},
    ]
    batch = collate(rows)
    assert batch["input_ids"].tolist() == [[9, 1, 2, 3], [9, 9, 9, 4]]
    assert batch["labels"].tolist() == [[-100, 1, 2, 3], [-100, -100, -100, 4]]
    assert batch["attention_mask"].tolist() == [[0, 1, 1, 1], [0, 0, 0, 1]]
    assert batch["decoder_number_given"].tolist() == [[1], [PADDING]] and batch["y"].tolist() == [0.5, 1.5]
    assert collate([{"input_ids": [1], "labels": 2}, {"input_ids": [1], "labels": 3}])["labels"].tolist() == [2, 3]
    with pytest.raises(ValueError, match="differ in their fields"):
        collate([{"input_ids": [1], "labels": [1]}, {"input_ids": [1]}])
    with pytest.raises(ValueError, match="padding token"):
        NumberCollator(SimpleNamespace(pad_token_id=None))
    assert collate([]) == {}


@pytest.mark.parametrize("side", ["left", "right"])
def test_collation_of_the_labels_of_classifiers(side: str) -> None:
    """Labels are called as in data sets; several for one text are no tokens, and are not padded as these are."""
    collate = NumberCollator(SimpleNamespace(pad_token_id=9, padding_side=side, pad_token_type_id=0), 4, least=8)
    for name in ("label", "label_ids", "labels"):
        batch = collate([{"input_ids": [1, 2], name: label} for label in (2, 0)])
        assert batch["labels"].tolist() == [2, 0] and name not in batch.keys() - {"labels"}
        for labels in ([[1, 0, 1], [0, 0, 1]], [[1.0, 0.5, 0.0], [0.0, 0.25, 1.0]]):
            rows = [{"input_ids": ids, name: row} for ids, row in zip(([1, 2], [4]), labels, strict=True)]
            batch = collate(rows)
            assert batch["input_ids"].shape == (2, 8) and batch["labels"].tolist() == labels
    assert collate([{"input_ids": [1], "labels": 1, "label": 3}])["label"].tolist() == [3]


def test_what_a_collator_cannot_stack_is_named() -> None:
    with pytest.raises(TypeError, match=r"NumberCollator takes model.processor or a tokenizer, got 'bert'"):
        NumberCollator("bert")
    collate = NumberCollator(SimpleNamespace(pad_token_id=9, padding_side="right", pad_token_type_id=0))
    for cell in ("flat 7", None, ["a", "b"], {"a": 1}):
        with pytest.raises(
            TypeError, match=r"column 'text' must have numbers, got .* dataset.remove_columns\('text'\)"
        ):
            collate([{"input_ids": [1], "text": cell}])
    fixed = np.array([[5, 6]])
    fixed.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert collate([{"input_ids": [1], "boxes": fixed[0].astype(float)}, {"input_ids": [1], "boxes": fixed[0]}])


def test_collation_in_a_data_loaders_workers() -> None:
    from torch.utils.data import DataLoader

    from numerate.processing.processor import NumberProcessor

    processor = NumberProcessor(record_tokenizer(["{'m': 1}"]), "records")
    examples = [dict(processor(f"[{i}, {i}.5]")) for i in range(4)]
    loader = DataLoader(examples, batch_size=2, collate_fn=NumberCollator(processor.tokenizer), num_workers=1)  # type: ignore[arg-type]
    values = [batch["number_bits"].view(torch.float64).tolist() for batch in loader]
    assert values == [[[0, 0.5], [1, 1.5]], [[2, 2.5], [3, 3.5]]]
