"""What is taken in a day: `two 500 mg tablets three times a day, 3 g in all`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import UNITS, stems
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.findings import Finding

__all__ = ["daily_doses"]

_FORM = r"(?:tablets?|capsules?|caplets?|pills?|drops?|sachets?|puffs?|vials?|ampoules?|doses?|spoonfuls?)"
_DAY = r"(?:daily|a day|per day|every day|each day)"
_DOSE = regex(
    rf"(?:{slot('k', COUNT)} (?:[x×] )?)?(?:{_FORM} (?:of |at |with )?)?{slot('x', UNIT)}(?: {_FORM})?"
    rf"(?P<how>{NO_NUMBER}{{0,40}}?) (?:(?P<often>once|twice)|{slot('f', COUNT)} times) {_DAY}\b"
    rf"(?P<gap>[^;\ue000-\uf8ff]{{0,60}}?){slot('z', UNIT)}(?P<end>{NO_NUMBER}{{0,30}})"
)
_TOLD = regex(
    r"\b(?:daily (?:dose|total|amount|intake)|dose (?:per|a) day|total(?: daily)?(?: dose)?|in all|altogether|i\.e|so"
    r"|that is|that makes|which (?:is|makes|gives)|giving|making|equal to|or)\b|[=(] ?$|, $"
)
_BEHIND = regex(rf"(?: of [a-z]+| of the [a-z]+)? (?:{_DAY}|in all|in total|altogether|over the day)\b")
_OTHER = regex(
    r"\b(?:max\w*|minimum|up to|not more|no more|at most|limit|then|reduc\w+|increas\w+|instead|rather|from|if|kg|less"
    r"|more|exceed\w*|recommended|usual|safe|highest|previous|old|new|target|before|after|later|and|plus|also|switch\w*"
    r"|child\w*|alternat\w+|as needed|than|first|at night|morning|now|weeks?)\b"
)


@paragraph_gate(stems("dail day"), stems("once twice time"), UNITS[2])
def daily_doses(paragraph: Paragraph) -> Iterator[Finding]:
    """The dose of a day must be that of one time, as often as it is taken."""
    whole = paragraph.whole
    for match in _DOSE.finditer(whole.skeleton):
        x, z = whole.slots(match, "xz")
        if dimension_name(x.unit or "") not in ("mass", "volume") or "/" in (x.unit or ""):
            continue
        unit, _, per = (z.unit or "").partition("/")
        if not (per == "d" or (not per and (_TOLD.search(match["gap"]) or _BEHIND.match(match["end"])))):
            continue
        if any(_OTHER.search(match[name]) for name in ("how", "gap")) or _OTHER.search(match["end"][:14]):
            continue
        found = converted(x.value, x.unit or "", unit)
        if len(found) != 1 or x.hedge or z.hedge:
            continue
        times = {"once": 1.0, "twice": 2.0}[match["often"]] if match["often"] else whole.get(match, "f").value
        count = whole.get(match, "k").value if match["k"] else 1.0
        real = found[0] * times * count
        if count > 1 and any(abs(found[0] * each - z.value) <= 0.005 * z.value for each in (times, count)):
            continue  # the dose of one tablet, or that of one time
        if times * count > 1 and 0.2 < z.value / real < 5 and abs(z.value - real) > 0.005 * real:
            message = f"{plain(count * times)} x {x.text} a day are {written_like(z, real)}, not {z.text}."
            yield finding_at("product", z, message, meant=real, others=[x], probability=0.88)
