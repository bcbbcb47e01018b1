"""Reading in windows: the same numerals as in one piece, in bounded memory."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from numerate.reading import make_reader, windows
from numerate.reading.base import ReaderError
from numerate.reading.windows import find_in_windows, moved
from numerate.registry import readers

if TYPE_CHECKING:
    from numerate.reading.base import Reader

PARTS = [
    "Revenue rose 3.2% to $1.5 billion in 2023. ", "BP 120/80 at 12:30, ", "1,234,567.89 ", "1,2,3,4,5,6,7,8,9,",
    "(1,234) ", "6.02×10²³ ", "−4.5 °C ", "٣٤ ½ ", "v1.2.3-4 ", "5", "word ", "\t", "1e400 ", "10^6 ",
    "no number here at all ", "12 ", "Table 3 and 4, ", "5 to 7 km ", "3 1/2 inches ", "0x1F ", "±", "999 999 999 ",
    "[NUM] ", "May 5, 2024 ", "$43-65 million ", "between 10 and 20 °C ", "4 × 4 × 5 mm ", "3, 4 and 5 kg ",
    "8.0± 0.2 ", "50-60% ", "1.5 million–2 million ", "$5 to 7 people ",
]  # fmt: skip


def in_windows(text: str, reader: Reader, piece: int) -> list[object]:
    pieces = [text[at : at + piece] for at in range(0, len(text), piece)]
    segments = list(find_in_windows(pieces, reader))
    assert "".join(segment.text for segment in segments) == text
    assert len(segments) > 1
    return [moved(n, segment.offset) for segment in segments for n in segment.numerals]


@pytest.mark.parametrize("name", [name for name in readers.names() if readers.create(name).is_local])
@pytest.mark.parametrize("seed", range(12))
def test_windows_give_the_numerals_of_the_whole_text(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 900)
    monkeypatch.setattr(windows, "CONTEXT", 128)
    draws = random.Random(seed)
    text = "".join(draws.choices(PARTS, k=1_000))
    reader = make_reader(name)
    assert in_windows(text, reader, draws.randint(1, 700)) == reader.find(text)


@pytest.mark.parametrize("separator", [",", ", ", " ", "\t", ";", " and "])
def test_lists_of_numbers_are_not_cut(separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 900)
    monkeypatch.setattr(windows, "CONTEXT", 128)
    draws = random.Random(0)
    text = separator.join(str(draws.randint(0, 99_999)) for _ in range(3_000))
    reader = make_reader("standard")
    assert in_windows(text, reader, 100) == reader.find(text)


def test_a_numeral_longer_than_a_window_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 500)
    monkeypatch.setattr(windows, "CONTEXT", 50)
    text = "a 5 " * 100 + "7" * 20_000 + " b 6" * 100
    found = in_windows(text, make_reader("standard"), 64)
    assert found == make_reader("standard").find(text)


def test_an_endless_numeral_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "WINDOW", 500)
    monkeypatch.setattr(windows, "CONTEXT", 50)
    monkeypatch.setattr(windows, "LONGEST", 5_000)
    with pytest.raises(ReaderError, match="a numeral has more than"):
        list(find_in_windows(["7" * 100] * 1_000, make_reader("standard")))
