"""Reader `plain` and the tokenizer of the 2018 models."""

from __future__ import annotations

import pytest

from numerate import find, render
from numerate.reading.base import ReaderError
from numerate.reading.plain import normalise_numeral, tokenize

NUMBERS = [
    ("-1", ["1"]),
    ("3/4", ["3", "4"]),
    ("1e5", ["1", "5"]),
    ("1,234", ["1,234"]),
    ("1,234,567.80", ["1,234,567.80"]),
    ("1,23", ["1", "23"]),
    ("1,2345", ["1", "2345"]),
    ("1,234,5678", ["1,234", "5678"]),
    ("1234,567", ["1234", "567"]),
    ("007", ["007"]),
    ("0.5", ["0.5"]),
    (".5", ["5"]),
    ("5.", ["5"]),
    ("1.2.3", ["1.2", "3"]),
    ("ab12cd", ["12"]),
    ("0,000", ["0,000"]),
    ("50%", ["50"]),
    ("٣ １２ ½ ²", []),
    ("", []),
]
TOKENS = [
    ("-1", ["-", "1"]),
    ("3/4", ["3", "/", "4"]),
    ("1e5", ["1", "e", "5"]),
    ("The LVEF was 35.0%.", ["the", "lvef", "was", "35.0", "%", "."]),
    ("see _cite_ and _s_math_", ["see", "_cite_", "and", "_s_math_"]),
    ("1,000,000 cells", ["1000000", "cells"]),
    ("007 000 0.50", ["7", "0", "0.50"]),
    ("x2", ["x", "2"]),
    ("Größe É", ["größe", "é"]),
    ("٣x", ["٣", "x"]),
    (" \t\n\u00a0", []),
    ("a\x00b", ["a", "\x00", "b"]),
]


@pytest.mark.parametrize(("text", "expected"), NUMBERS, ids=[repr(row[0]) for row in NUMBERS])
def test_finds_numbers(text, expected):
    numerals = find(text, reader="plain")
    assert [n.text for n in numerals] == expected
    for n in numerals:
        assert text[n.start : n.end] == n.text == render(n.style, n.value)
        assert n.value == float(n.text.replace(",", ""))
        assert n.kind == "quantity"


def test_tokenize():
    for text, expected in TOKENS:
        assert tokenize(text) == expected, text


def test_tokenizer_and_reader_agree():
    text = "Between 1,250.50 and 007 of 1e5 (1,2345; 12,34) -- 0.5%"
    numerals = [normalise_numeral(n.text) for n in find(text, reader="numerals-2018")]
    assert numerals == [token for token in tokenize(text) if token[0].isdigit()]


def test_normalise_numeral():
    texts = {"007": "7", "000": "0", "0.5": "0.5", "00.50": "0.50", "1,000": "1000", "1.500": "1.500", "0": "0"}
    assert {text: normalise_numeral(text) for text in texts} == texts
    for text in ("", "x", "-1", "1e5", "1,00", "٣", "5."):
        with pytest.raises(ReaderError, match="text="):
            normalise_numeral(text)
