"""The time of every registered reader is linear in the length of the text, also for adversarial texts.

The test compares CPU times: a text eight times as long may take 24 times as long. Linear work takes 8 times as long,
quadratic work 64 times. The number grammar has a test without times in test_words.py.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from numerate import readers
from numerate.reading import make_reader
from numerate.reading.base import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

PIECES = [
    *("1", "1,", "1.", "1e", "1e+", "+-1", "-", ".1", "1,111", "1 ", "(1", "1%", "1,234", ",000", ".", "%", "+1-", " "),
    *("1 000 ", "1-2,3", "2019-12-31", "[1,", "((1", "{'a':", '"', '\\"', '"\\', "u'", "[nan,", "inf:", "\u0301", "1/"),
    *("½", "1 1/2 ", "e1", "0x", "10^", "×10", "-$", "a1", "twenty ", "one and ", "IX", "1 billion ", "1:", "1'"),
    *(
        "1_000",
        "1(1)",
        "1.1(1)",
        "10−5",
        "1×10",
        "1 x 10 1",
        "1^1",
        "minus 1",
        "–1",
        "1--",
        "1K ",
        "1m people ",
        "1e1-",
        "1:a",
    ),
    *(
        "://1/",
        "10.1000/1",
        "1. Okt",
        "1 de mayo ",
        "1年",
        "1h1",
        "1.15pm ",
        "1 lakh crore ",
        "John 1:1 ",
        "1 to 2 ",
        "a-1-",
    ),
    *("1\u00a0", "٣", "1–", "v1.", "$1", "1km/", "1e5", "(1)%", "−", "±1", "#1", "1st "),
    *("1 W/(m·", "1 kg·", "1 m s-1 ", "1 C ", "1 um ", "1 in x ", "1 M ", "1/km", "1 stone ", "1 square ", "1 kr "),
    *("temperature 1 C ", "kg·m·", "1 mL/100", "1 m per s ", "/(m", "1 wt%", "1 cells/", "1 W/m²", "1元"),
    *("1 to ", "1, ", "1 and ", "1× ", "$1-", "1 km to ", "1% and ", "1 ± ", "between 1 and "),
    *("1 m, ", "1,5 % ", "1,5 "),
]
SIZE, FACTOR, LIMIT, TRIES = 2_000, 8, 24, 3
TOO_SHORT = 0.02
"""CPU seconds that are too short to be compared; shorter times count as linear."""


def seconds(read: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def growth(read: Callable[[str], Any], piece: str, size: int = SIZE) -> float:
    """Ratio of the times for a long and a short text, best of three tries; 0 if the time is too short."""
    short, long = (piece * (length // len(piece)) for length in (size, FACTOR * size))
    best_long = best_short = float("inf")
    for _ in range(TRIES):
        best_long = min(best_long, seconds(read, long))
        if best_long < TOO_SHORT:
            return 0.0
        best_short = min(best_short, seconds(read, short))
        if best_long <= LIMIT / 2 * best_short:
            break
    return best_long / best_short


@pytest.mark.parametrize("name", readers.names())
def test_time_is_linear(name: str) -> None:
    reader = make_reader(name)
    methods = [reader.find] + [reader.spans] * (type(reader).spans is not Reader.spans)  # the default calls `find`
    slow = {piece: ratio for piece in PIECES if (ratio := max(growth(read, piece) for read in methods)) > LIMIT}
    assert slow == {}


def test_time_of_cells_and_decimal_commas_is_linear() -> None:
    cell, european = make_reader("standard", cell=True), make_reader("standard", locale="eu")
    pieces = ["(", " ", "-", "$", "1", "(1)", "- 1", "1-", "1,", "1.", "a", ")"]
    for read in (cell.find, european.find, lambda text: cell.find(f"({text}"), lambda text: cell.find(f"1,5 %{text}")):
        assert {piece: ratio for piece in pieces if (ratio := growth(read, piece)) > LIMIT} == {}


WORD_PIECES = {
    "en": [
        "one ",
        "a ",
        "and a half ",
        "one hundred and ",
        "point ",
        "one point ",
        "minus ",
        "of ",
        "a couple of ",
        "nineteen ",
        "one thousand, ",
        "1 and a half ",
        "one of ",
        "oh ",
        "twenty-",
        "half a ",
        "million ",
        "a fifth ",
    ],
    "de": ["ein", "und", "einund", "hundert", "tausend ", "dreizehn", "eine Million ", "Komma null ", "zweieinhalb "],
    "fr": ["un ", "vingt et ", "quatre-vingt-", "mille ", "virgule zéro ", "un million et demi "],
    "es": ["mil ", "millones ", "centésimo ", "treinta y ", "unomilésimo", "un "],
    "it": ["cento", "mila", "cent", "tre", "un milione e ", "virgola "],
    "pt": ["mil e ", "milésimo ", "cento e ", "um ", "vírgula zero "],
}


@pytest.mark.parametrize("language", WORD_PIECES)
def test_time_with_words_and_roman_numerals_is_linear(language: str) -> None:
    reader = make_reader("standard", words=True, roman=True, language=language)
    pieces = WORD_PIECES[language] + PIECES * (language == "en")
    assert {piece: ratio for piece in pieces if (ratio := growth(reader.find, piece)) > LIMIT} == {}


def test_quadratic_time_is_detected() -> None:
    backtracking = re.compile(r"\d+(\.\d+)?%").search  # starts again at every digit
    assert growth(backtracking, "1", 500) > LIMIT
    assert growth(lambda text: [text.find("1", i, i + 9) for i in range(len(text)) for _ in range(9)], "1") <= LIMIT
