"""Time is linear in the text, for every registered reader and for texts that make careless patterns quadratic.

No time is asserted, only a ratio: four times the text may take twelve times as long. Linear work takes four times,
quadratic work sixteen. How many seconds it takes is told by `benchmarks/reading.py`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from numerate import readers
from numerate.reading import make_reader
from numerate.reading.base import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = ["1", "1,", "1.", "1e", "1e+", "+-1", "-", ".1", "1,111", "1 ", "(1", "1%"]
"""The twelve families of the benchmark, at 64 KB here; the others are read at 20 KB."""
SHORT = [
    *("1,234", ",000", ".", "%", "+1-", " ", "1 000 ", "1-2,3", "2019-12-31", "[1,", "((1", "{'a':", '"', '\\"', '"\\'),
    *(
        "u'",
        "[nan,",
        "inf:",
        "\u0301",
        "1/",
        "½",
        "1 1/2 ",
        "e1",
        "0x",
        "10^",
        "×10",
        "-$",
        "a1",
        "twenty ",
        "one and ",
    ),
    *(
        "IX",
        "1 billion ",
        "1:",
        "1'",
        "1\u00a0",
        "٣",
        "1–",
        "v1.",
        "$1",
        "1km/",
        "1e5",
        "(1)%",
        "−",
        "±1",
        "#1",
        "1st ",
    ),
]
TRIES = 3
SOON = {64_000: 0.05, 20_000: 0.03}
"""CPU seconds within which the longer text may always be read: too short to be measured against anything."""


def seconds(read: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    read(text)
    return time.process_time() - start


def growth(read: Callable[[str], Any], piece: str, size: int) -> float:
    """By what factor the time grows when the text grows to `size`, four times its length; 0 where that is soon done.

    The best of three, as other programs run beside us; a first try that looks linear is believed.
    """
    long, short = (piece * (n // len(piece)) for n in (size, size // 4))
    best_long = best_short = float("inf")
    for _ in range(TRIES):
        best_long = min(best_long, seconds(read, long))
        if best_long < SOON[size]:
            return 0.0
        best_short = min(best_short, seconds(read, short))
        if best_long <= 8 * best_short:
            break
    return best_long / best_short


@pytest.mark.parametrize("piece", LONG + SHORT)
@pytest.mark.parametrize("name", readers.names())
def test_time_is_linear(name: str, piece: str) -> None:
    reader = make_reader(name)
    ways = [reader.find] + [reader.spans] * (type(reader).spans is not Reader.spans)  # by itself, `spans` is `find`
    size = 64_000 if piece in LONG else 20_000
    assert max(growth(way, piece, size) for way in ways) <= 12


def test_quadratic_work_is_seen() -> None:
    """The measure itself: a pattern that starts over at every digit is found out, one that does not is let through."""
    assert growth(lambda text: [text.count("2", i) for i in range(0, len(text), 4)], "1", 20_000) > 12
    assert (
        growth(lambda text: [text.find("1", i, i + 9) for i in range(len(text)) for _ in range(9)], "1", 20_000) <= 12
    )
