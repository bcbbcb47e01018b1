"""Words and marks beside a gap that not every number fits."""

from __future__ import annotations

import pytest

from numerate.apps.gap_places import places_of, spelled_out
from numerate.reading import make_reader


@pytest.mark.parametrize(
    ("text", "fitting", "others"),
    [
        ("her [NUM]th win", [0, 4, 11, 12, 13, 20, 111], [1, 2, 3, 21, 22, 4.5]),
        ("her [NUM]st win", [1, 21, 101], [2, 11, 111]),
        ("1/[NUM] of the votes", [1, 2, 0.5], [0, -3]),
        ("[NUM]/[NUM]", [3], []),
        ("at 9:[NUM]", [0, 5, 59], [60, -1]),
        ("It was -[NUM] °C.", [0, 4.5], [-4]),
        ("between 5-[NUM] m", [4.5], []),
        ("the [NUM] century", [1, 18], [0, -2]),
        ("the tower is [NUM] m", [-1, 0, 2.5], []),
    ],
)
def test_what_fits(text: str, fitting: list[float], others: list[float]) -> None:
    place = places_of(text)[-1 if text.startswith("1/") else 0]
    assert [each for each in fitting if not place.fits(each)] == []
    assert [each for each in others if place.fits(each)] == []


def test_free_places() -> None:
    assert [each.is_free for each in places_of("[NUM] m by [NUM] m, her [NUM]rd")] == [True, True, False]
    assert places_of("no gap") == []


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the [NUM] century", "18th"), ("the [NUM] and 20th centuries", "18th"), ("the [NUM]-century church", "18th"),
        ("the [NUM]th century", "18"), ("[NUM] centimetres", "18"),
    ],
)  # fmt: skip
def test_centuries_get_their_ending(text: str, written: str) -> None:
    assert places_of(text)[0].written("18") == written


def test_decades_are_behind_the() -> None:
    places = places_of("the [NUM]s, in the late [NUM]s, the '[NUM]s, it took [NUM]s")
    assert [each.is_decade for each in places] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("$[NUM]bn and €[NUM] bn", "$[NUM] billion and €[NUM] billion"),
        ("[NUM]k users, £[NUM]m, [NUM]m tall", "[NUM] thousand users, £[NUM] million, [NUM]m tall"),
        (
            "$[NUM] billion, [NUM] millions, [NUM]% of [NUM] crore",
            "$[NUM] billion, [NUM] millions, [NUM]% of [NUM] crore",
        ),
        ("[NUM] mln dlrs; [NUM]", "[NUM] million dlrs; [NUM]"),
        ("no gap of 3bn", "no gap of 3bn"),
    ],
)
def test_scale_words_are_spelled_out(text: str, shown: str) -> None:
    assert spelled_out(make_reader("standard"), text) == shown
