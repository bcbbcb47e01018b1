"""Probabilities of all spellings of a unit are added."""

from __future__ import annotations

import pytest
import torch

from numerate_lab.tasks.masked_prediction.word_scores import UnitSpellings

VOCABULARY = {"[MASK]": 0, "km": 1, "kilometres": 2, "kilometers": 3, "miles": 4, "##km": 5, "mw": 6, "KW": 7, "a": 8}


def test_spellings_of_a_unit_are_grouped() -> None:
    found = UnitSpellings.of(VOCABULARY)
    units = found.unit.tolist()
    assert units[1] == units[2] == units[3] >= 0 and units[4] >= 0 and units[4] != units[1]
    assert units[0] == units[5] == -1, "no word, and a piece of a word"
    assert units[6] == -1, "a milliwatt or a megawatt"
    assert units[7] >= 0 and units[8] == -1, "a word, but not an ampere"
    assert sorted(found.tokens[units[1]].tolist()) == [1, 2, 3]
    assert found.tokens[units[4]].tolist() == [4, -1, -1]


def test_pieces_of_marked_words_are_no_units() -> None:
    found = UnitSpellings.of({"Ġkm": 0, "km": 1, "Ġkilometres": 2, "m": 3})
    assert found.unit.tolist() == [0, -1, 0, -1]


def test_nats_of_all_spellings() -> None:
    found = UnitSpellings.of(VOCABULARY)
    logits = torch.randn(5, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    targets = torch.tensor([2, 4, 0, 11, 6])
    shares = logits.softmax(-1)
    same = [[1, 2, 3], [4], [0], [11], [6]]
    expected = [-float(shares[row, some].sum().log()) for row, some in enumerate(same)]
    assert found.nats(logits, targets).tolist() == pytest.approx(expected, rel=1e-12)


def test_a_vocabulary_without_units() -> None:
    found = UnitSpellings.of({"a-b": 0, "[MASK]": 1})
    logits = torch.zeros(2, 2, dtype=torch.float64)
    assert found.nats(logits, torch.tensor([0, 1])).exp().tolist() == pytest.approx([2.0, 2.0])
