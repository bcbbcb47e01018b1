"""Differences and durations: `from 1990 to 2005, 25 years`, `from 3.2 m to 4.9 m, an increase of 2.7 m`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, rules, written_like
from numerate.apps.consistency.quantities import CLOCK, COUNT, DATED, MONEY, ORDINAL, UNIT, YEAR, slot
from numerate.numerals.unit_factors import dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["Differences"]

_TIME = YEAR + DATED
_A, _B, _D = slot("a", _TIME), slot("b", _TIME), slot("d", UNIT)
_UNTIL = r"(?:to|until|till|through|–|-|—)"
_SPAN = rf"(?:from|between) (?:the )?{_A} (?:{_UNTIL}|and) (?:the )?{_B}"
_DURATIONS = [
    (("(",), re.compile(rf"\({_A} ?[–—-] ?{_B}\) (?:lasted|ran|took|reigned|ruled)(?: for)? {_D}")),
    # `from 1990 to 2005, 25 years in all`: the words behind the number say that it is the whole span.
    (('from ', 'between '), re.compile(
        rf"{_SPAN},? (?:or |a total of |a period of |a span of |a reign of "
        rf"|for a total of ){{0,2}}{_D}(?P<tail> in all| in total| altogether|(?=[.;)]|$))")),
    (('from ', 'between '), re.compile(
        rf"{_SPAN}(?:,| [a-z ]{{0,30}}?) (?:a period of|a total of|a span of|for a total of) {_D}")),
    (('from ',), re.compile(
        rf"\b(?:lasted|lasting|ruled|reigned|ran|runs|served|serving|period of|spanned|spanning|after"
        rf"|term of)(?: for)? {_D},? from {_A} {_UNTIL} {_B}")),
    (('(',), re.compile(rf"\b(?:for|lasted|reigned|ruled|spent|served) {_D},? \({_A} ?[–—-] ?{_B}\)")),
    ((' later',), re.compile(rf"\b(?:in|on) {_A}(?P<between>[^{YEAR}{DATED}.;]{{0,60}}?) {_D} later,? (?:in|on) {_B}")),
]  # fmt: skip
_LIVES = [
    (("turned",), re.compile(
        rf"\bborn in {_A}(?P<between>[^{YEAR}{DATED}.;]{{0,40}}?)\bturned {slot('d', COUNT)} in {_B}")),
    (("dying", "died", "dies"), re.compile(
        rf"\bfrom {_A} to {_B},? (?:and |when [a-z]+ )?(?:dying|died|dies) (?:at the age of|aged|at age"
        rf"|at) {slot('d', COUNT)}")),
    (("founded", "established"), re.compile(
        rf"\b(?:founded|established) in {_A}(?P<between>[^{YEAR}{DATED}.;]{{0,40}}?)\bfor {_D} (?:as of|in"
        rf"|by|until) {_B}")),
    (('died',), re.compile(
        rf"\bborn(?: on| in| [a-z]+){{1,4}} {_A}(?P<between>[^{YEAR}{DATED}.;]{{0,60}}?)\bdied(?: on| in"
        rf"| [a-z]+){{1,4}} {_B}(?:,| [a-z ]{{0,20}})? ?(?:at the age of|aged|at age"
        rf"|at) {slot('d', COUNT)}(?! [a-z]*\.?m\b)")),
    (('died',), re.compile(
        rf"\({_A} ?[–—-] ?{_B}\)[a-z ]{{0,12}}died (?:at the age of|aged|at age) {slot('d', COUNT)}")),
    (('anniversary', 'birthday'), re.compile(
        rf"\b(?:founded|established|opened|born|formed|incorporated|launched) (?:in"
        rf"|on) {_A}(?P<between>[^{YEAR}{DATED}.;]{{0,50}}?)\b(?:its|the|their|his"
        rf"|her) {slot('d', ORDINAL)} (?:anniversary|birthday)(?: [a-z]+){{0,2}} in {_B}")),
]  # fmt: skip
_CLOCKS = re.compile(
    rf"{slot('a', CLOCK)}(?P<between>[a-z ,]{{0,40}}?){slot('b', CLOCK)},? (?:an? )?(?:(?:total|journey|trip"
    rf"|ride|period|drive|flight|duration) of |after |taking |lasting |which is |or )?{_D}"
)
_VALUE = COUNT + MONEY + UNIT
_X, _Y, _C = slot("a", _VALUE), slot("b", _VALUE), slot("d", _VALUE)
_WORDS = r"(?: [a-z/]+){0,3}?"
_KIND = (
    r"(?:increase|rise|gain|jump|improvement|growth|decline|drop|decrease|fall|reduction|loss|cut|difference"
    r"|swing|widening)"
)
_CHANGE = [
    (('from ',), re.compile(
        rf"\bfrom {_X}{_WORDS} to {_Y}{_WORDS}, (?:an? )?{_KIND} of {_C}(?! (?:%|per ?cent|percent))")),
    (('from ',), re.compile(rf"\b(?:by|{_KIND} of) {_C},? from {_X}{_WORDS} to {_Y}(?=[ ,.;)]|$)")),
    ((' from ',), re.compile(
        rf"\b(?:fell|dropped|declined|rose|grew|increased|climbed"
        rf"|decreased)(?: by)? {_C} to {_Y}{_WORDS} from {_X}")),
]  # fmt: skip
_SCORE = re.compile(
    rf"{slot('a', COUNT)} ?[–—-] ?{slot('b', COUNT)}, an? {slot('d', COUNT)}[ -]points? (?:win|victory|loss"
    rf"|defeat|lead|margin)"
)
_FALSE_START = re.compile(r"\b(?:again|first|second|then|ago|every|each|per|or)\b")
_YEAR_DAYS = 365.2425


@rules.register("difference")
class Differences(Rule):
    """A difference or duration must fit the two values or dates beside it."""

    least = 3
    title = "difference"
    help = "A difference or duration does not fit the two values or dates beside it."

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for spans of years, dates and times of the day, for ages, and for changes with both values."""
        if len(sentence.quantities) < 3:
            return
        skeleton = sentence.skeleton
        if skeleton.count(YEAR) + skeleton.count(DATED) > 1:
            if UNIT in skeleton:
                for match in matches(skeleton, _DURATIONS):
                    yield from self._duration(sentence, match)
            for match in matches(skeleton, _LIVES):
                yield from self._age(sentence, match)
        if skeleton.count(CLOCK) > 1:
            for match in _CLOCKS.finditer(skeleton):
                yield from self._clock(sentence, match)
        if "from " in skeleton:
            for match in matches(skeleton, _CHANGE):
                yield from self._change(sentence, match)
        if "point" in skeleton:
            for match in _SCORE.finditer(skeleton):
                yield from self._change(sentence, match, exact=True)

    def _duration(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, d = (sentence.get(match, name) for name in "abd")
        if a.group != b.group and "year" not in (a.group, b.group):
            return
        measure = measure_of(d.unit or "")
        if measure is None or dimension_name(d.unit or "") != "time" or d.hedge in ("over", "under"):
            return
        if _FALSE_START.search(match.groupdict().get("between") or ""):
            return
        unit_days = measure.factors[0] / 86400
        days, blur = _days_between(a, b)
        if days <= 0:
            return
        expected = days / unit_days
        # Both ends may count, and the first may be left out: one unit on either side, and the blur of bare years.
        slack = max(1.0, 0.1 * d.value if d.hedge else 0.0, d.half) + blur / unit_days
        if unit_days < 20 and blur > 40:
            return
        if abs(expected - d.value) <= slack + 0.02 * expected:
            return
        meant = round(expected)
        message = f"From {a.text} to {b.text} are {written_like(d, meant)}, not {d.text}."
        yield finding_at("difference", d, message, meant=meant, others=[a, b])

    def _age(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, d = (sentence.get(match, name) for name in "abd")
        days, blur = _days_between(a, b)
        years = days / _YEAR_DAYS
        if not 0 < years < 2000 or d.hedge or abs(years - d.value) <= 1.01 + blur / _YEAR_DAYS / 400:
            return
        meant = int(years) if blur < 40 else round(years)
        message = f"From {a.text} to {b.text} are {meant} years, not {d.text}."
        yield finding_at("difference", d, message, meant=float(meant), others=[a, b])

    def _clock(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, d = (sentence.get(match, name) for name in "abd")
        measure = measure_of(d.unit or "")
        if measure is None or dimension_name(d.unit or "") != "time" or measure.factors[0] > 3600:
            return
        minutes = (b.value - a.value) % (24 * 60)
        said = d.value * measure.factors[0] / 60
        around = {minutes, minutes % 720, minutes % 720 + 720}
        slack = max(2.0, d.slack * measure.factors[0] / 60)
        if any(abs(each - said) <= slack for each in around):
            return
        hours, rest = divmod(round(minutes), 60)
        message = f"From {a.text} to {b.text} are {hours} h {rest:02} min, not {d.text}."
        yield finding_at("difference", d, message, meant=minutes * 60 / measure.factors[0], others=[a, b])

    def _change(self, sentence: Sentence, match: re.Match[str], exact: bool = False) -> Iterable[Finding]:
        a, b, d = (sentence.get(match, name) for name in "abd")
        if not a.comparable(b) or not _same_money(b, d) or d.value <= 0:
            return
        real = abs(b.value - a.value)
        slack = 0.0 if exact else a.slack + b.slack + d.slack
        if not exact and all(each.unit is None and each.half == 0.5 and not each.hedge for each in (a, b, d)):
            slack = max(each.last_place for each in (a, b, d)) / 2 if min(a.value, b.value) >= 1000 else 0.0
            slack = 0.0 if slack < 50 else slack / 1.01
        if abs(real - d.value) <= slack * 1.0001 or real == 0:
            return
        message = f"The difference of {a.text} and {b.text} is {written_like(d, real)}, not {d.text}."
        if d.value > 3 * real or real > 12 * d.value:
            return  # it is about something else
        yield finding_at("difference", d, message, meant=real, others=[a, b])


def _same_money(b: Quantity, d: Quantity) -> bool:
    """Whether the difference has the unit of the values; a plain `points` has none."""
    return b.comparable(d) and b.group != "percent"


def _days_between(a: Quantity, b: Quantity) -> tuple[float, float]:
    """Days from a to b, and how much bare years blur that."""
    days = []
    blur = 0.0
    for each in (a, b):
        if each.group == "year":
            days.append(each.value * _YEAR_DAYS)
            blur = 0.0 if a.group == b.group else _YEAR_DAYS
        else:
            days.append(each.value)
    if a.group == b.group == "date" and _has_year(b) != _has_year(a):
        return 0.0, 0.0
    if a.group == b.group == "year":
        return days[1] - days[0], 0.0
    return days[1] - days[0], blur + (31.0 if not (_has_day(a) and _has_day(b)) and blur == 0 else 0.0)


def _has_year(each: Quantity) -> bool:
    return re.search(r"[12]\d{3}", each.text) is not None


def _has_day(each: Quantity) -> bool:
    return re.search(r"\b\d{1,2}(?:st|nd|rd|th)?\b", each.text) is not None
