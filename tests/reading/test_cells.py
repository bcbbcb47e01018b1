"""Accounting negatives of table cells; the cases are in cases/cells.txt."""

from __future__ import annotations

import gzip
import json
import math
import re
from typing import TYPE_CHECKING

import pytest

from numerate import find, find_columns, render

if TYPE_CHECKING:
    from pathlib import Path

# An independent rule: a cell that is only a currency, parentheses or a minus, digits, a percent sign or `bps`.
_DIGITS = r"[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+"
NEGATIVE = re.compile(
    rf"[$£€]?\s*\(\s*[$£€]?\s*({_DIGITS})\s*(%?)\s*\)\s*(%|bps|)|[$£€]?\s*[-−–]\s*[$£€]?\s*({_DIGITS})\s*(%?)"
)


def negative_value(cell: str) -> float | None:
    """The value of a cell that is an accounting negative, by the pattern alone."""
    match = NEGATIVE.fullmatch(cell.strip())
    if match is None:
        return None
    power = {"%": -2, "bps": -4}.get(match[2] or match[3] or match[5] or "", 0)
    return -float(f"{(match[1] or match[4]).replace(',', '')}e{power}")


def tatqa_cells(folder: Path) -> list[str]:
    contexts = json.loads(gzip.decompress((folder / "tatqa" / "dev.json.gz").read_bytes()))
    return [cell for context in contexts for row in context["table"]["table"] for cell in row]


@pytest.mark.shared("data/tatqa")
def test_negative_cells_of_financial_reports(shared):
    cells = tatqa_cells(shared / "data")
    expected = {cell: value for cell in cells if (value := negative_value(cell)) is not None}
    count = sum(cell in expected for cell in cells)
    right = sum(cell in expected and [n.value for n in find(cell, cell=True)] == [expected[cell]] for cell in cells)
    assert count >= 700
    assert right / count >= 0.99


@pytest.mark.shared("data/tatqa")
def test_other_cells_are_read_as_texts(shared):
    for cell in tatqa_cells(shared / "data"):
        if negative_value(cell) is None and not re.match(r"\s*[$£€]\s\s|.*[-−–]\s*$", cell):
            assert [n.value for n in find(cell, cell=True)] == [n.value for n in find(cell)], cell


@pytest.mark.parametrize(
    "text", ["(317)", "5-", "- 5", "(0.4%)", "(9,999 )", "$ (62)", "–5", "1,234.50-", "5%-", "(12 €)"]
)
def test_other_values_in_the_style_of_a_cell(text: str) -> None:
    (numeral,) = find(text, cell=True)
    for value in (numeral.value * 3, -numeral.value, numeral.value):
        written = render(numeral.style, value)
        (again,) = find(text.replace(numeral.text, written), cell=True)
        assert math.isclose(again.value, value, rel_tol=1e-9)


def test_columns_read_cells() -> None:
    cells = ["(317)", "5-", "n/a", "(0.4%)", "12"]
    assert find_columns(cells, cell=True).value.tolist() == [-317, -5, -0.004, 12]
