"""Points and runs of sport, against what they were scored with.

`70 points from 21 wins and 6 draws`; `28 points: 9 two-pointers and 4 three-pointers`; `five tries, four conversions
and two penalties, 41 points`; `102 runs with 12 fours and 14 sixes`. A finding needs that no system of points fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["match_points"]


class _Sport(NamedTuple):
    """A way to score: what is counted, by the words behind a number, and what each may be worth."""

    counted: dict[str, re.Pattern[str]]
    needed: tuple[str, ...]
    systems: tuple[dict[str, float], ...]
    has_all: bool
    """Whether these things are all that one scores with, so that less than the total is wrong, too."""


_SPORTS = (
    _Sport(
        {
            "wins": regex(r" (?:[a-z]+ )?(?:wins|victories|triumphs)\b"),
            "draws": regex(r" (?:[a-z]+ )?(?:draws?|ties)\b"),
        },
        ("wins", "draws"),
        ({"wins": 3, "draws": 1}, {"wins": 2, "draws": 1}, {"wins": 1, "draws": 0.5}),
        True,
    ),
    _Sport(
        {
            "twos": regex(r"[ -](?:two|2)-point(?:ers?| (?:baskets|shots|field goals))"),
            "threes": regex(r"[ -](?:(?:three|3)-point(?:ers?| (?:baskets|shots|field goals))|threes\b|treys\b)"),
            "free": regex(r"[ -](?:free[ -]throws?|foul shots?)\b"),
            "field": regex(r"[ -](?:field goals|baskets)\b"),
        },
        ("threes",),
        (
            {"twos": 2, "threes": 3, "free": 1, "field": 2},
            {"twos": 2, "threes": 1, "free": 1, "field": 2},
            {"twos": 2, "threes": 3, "free": 1, "field": 0},
        ),
        False,
    ),
    _Sport(
        {
            "tries": regex(r" (?:[a-z]+ )?tries\b"),
            "conversions": regex(r" conversions\b"),
            "penalties": regex(r" (?:penalties|penalty goals|penalty kicks)\b"),
            "drops": regex(r" (?:drop goals?|dropped goals?)\b"),
        },
        ("tries", "conversions"),
        (
            {"tries": 5, "conversions": 2, "penalties": 3, "drops": 3},
            {"tries": 4, "conversions": 2, "penalties": 3, "drops": 3},
            {"tries": 3, "conversions": 2, "penalties": 3, "drops": 3},
            {"tries": 4, "conversions": 2, "penalties": 2, "drops": 1},
        ),
        True,
    ),
    _Sport(
        {
            "fours": regex(r" fours\b"),
            "sixes": regex(r" sixes\b"),
            "singles": regex(r" singles\b"),
            "twos": regex(r" twos\b"),
        },
        ("fours", "sixes"),
        ({"fours": 4, "sixes": 6, "singles": 1, "twos": 2},),
        False,
    ),
)
_POINTS = regex(
    r"(?:[ -](?:league |championship )?(?:points?|pts)\b)(?! (?:behind|ahead|clear|lead|adrift|above|below|per))"
)
_RUNS_TAIL = regex(r"\*? (?:runs\b|not out\b|off (?:just |only )?\d+ (?:balls|deliveries))|\*")
_RUNS_LEAD = regex(
    r"\b(?:made|scored|hit|struck|smashed|blasted|compiled|knock of|innings of|unbeaten|century of|in his|in her)"
    r"(?: (?:an?|unbeaten|brisk|quick|superb|his|her|just|only))* $"
)
_OTHER = regex(
    r"\b(?:includ\w+|deduct\w*|docked|bonus|penalised|carried|overtime|shoot-?outs?|per|average\w*|attempt\w*|missed"
    r"|each|respectively|extras?|season|career|team|technical|if|would|needs?|first half|partly|another)\b"
    r"|\bof (?:his|her|their|its|them|those|which)\b|\d ?(?:of|/|-) ?\d"
)
_LESS = regex(r"\b(?:deduct\w*|docked|sanction\w*|points? penalty)\b")
_OTHER_POINTS = regex(r"\b(?:rugby|hockey|chess|tries|six nations|speedway|over-?time|extra time|shoot-?out)\b")
"""Sports with other points for a win."""
_LISTED = regex(
    r"(?: points)?(?: in all)?: ?$|\b(?:all from|made up of|consisting of|made of|on|from|with|thanks to) $"
)
MOST = 1.34
"""How many times the real number of points may be the one that is told, or the other way round."""


@paragraph_gate(
    stems("point pts_ runs_ sixes_"), stems("wins_ victor triumph three 3 threes_ treys_ tries_ fours_"), VALUES[3]
)
def match_points(paragraph: Paragraph) -> Iterator[Finding]:
    """A number of points or runs in the sentence that counts wins and draws, baskets, tries or boundaries."""
    # A value may stand in what it counts: `9 two-pointers`.
    tails = [
        (each, paragraph._cut(each.end, each.end + 40))
        for each in paragraph.values
        if each.value == int(each.value) >= 0
    ]
    for sport in _SPORTS:
        found: dict[int, dict[str, list[Quantity]]] = {}
        for each, tail in tails:
            for name, pattern in sport.counted.items():
                if pattern.match(tail) and each.group in ("plain", "other"):
                    found.setdefault(paragraph.place(each), {}).setdefault(name, []).append(each)
        for place, told in found.items():
            if any(len(some) > 1 for some in told.values()) or not all(name in told for name in sport.needed):
                continue
            counted = {name: some[0] for name, some in told.items()}
            if len(counted) > 1:
                yield from _compared(paragraph, place, sport, counted)


def _compared(paragraph: Paragraph, place: int, sport: _Sport, counted: Mapping[str, Quantity]) -> Iterator[Finding]:
    parts = sorted(counted.values(), key=lambda each: each.start)
    is_cricket = "fours" in counted
    totals = [
        each
        for each in paragraph.values
        if paragraph.place(each) == place and each not in parts and _is_total(paragraph, each, is_cricket)
    ]
    if len(totals) != 1 or any(each.hedge for each in (*parts, *totals)):
        return
    (z,) = totals
    begin, end = min(z.start, parts[0].start), max(z.end, parts[-1].end)
    between = paragraph._cut(begin, end)
    words = between + paragraph.tail(parts[-1]) + paragraph.upto(parts[0])
    if (
        _LESS.search(paragraph.lower)
        or _OTHER.search(words)
        or ("wins" in counted and _OTHER_POINTS.search(paragraph.sentences[place][1]))
    ):
        return
    reals = [sum(system[name] * each.value for name, each in counted.items()) for system in sport.systems]
    if any(real == z.value for real in reals):
        return
    real = min(reals, key=lambda each: abs(each - z.value))
    is_list = z.start < parts[0].start and _LISTED.search(paragraph._cut(z.end, parts[0].start)) is not None
    is_full = sport.has_all or "free" in counted or (is_list and ":" in paragraph._cut(z.end, parts[0].start))
    if is_cricket and not ("singles" in counted and is_list):
        is_full = False
    if (min(reals) < z.value and not is_full) or not 1 / MOST < z.value / max(real, 1) < MOST:
        return
    terms = " + ".join(
        f"{plain(sport.systems[reals.index(real)][name])} x {each.text}" for name, each in counted.items()
    )
    message = f"{terms} = {plain(real)}, not {z.text}."
    yield finding_at("sum", z, message, meant=real, others=parts, probability=0.88)


def _is_total(paragraph: Paragraph, each: Quantity, is_cricket: bool) -> bool:
    if each.group not in ("plain", "other", "unit") or each.value < 4 or each.value != int(each.value):
        return False
    tail = paragraph.tail(each)
    if is_cricket:
        return _RUNS_TAIL.match(tail) is not None or _RUNS_LEAD.search(paragraph.lead(each)) is not None
    return _POINTS.match(tail) is not None
