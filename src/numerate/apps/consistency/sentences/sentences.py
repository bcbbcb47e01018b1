r"""Sentences as skeletons: each number with its unit becomes one slot, so that rules are patterns of words and slots.

`28 km (27 mi) long` is read as `U0 (U1) long`; see `numerate.apps.consistency.sentences.slots`.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

from numerate.apps.consistency.dates.calendar_words import NamedDate, dates_in, read_date
from numerate.apps.consistency.sentences.compact_times import compact_times
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.quantities import Quantity, is_extreme
from numerate.apps.consistency.sentences.slots import CLASSES, FIRST
from numerate.apps.consistency.sentences.tally import tally_of
from numerate.apps.consistency.sentences.traits import CLOCK, stems, traits_of_tally, traits_of_words
from numerate.numerals.unit_factors import dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.numerals.numeral import Numeral

__all__ = ["SMALLER", "TIMES", "Sentence"]

_Kept = TypeVar("_Kept")
MAX_QUANTITIES = 400
_HOURS = stems("h_")
_OF_KIND = {
    "percent": "percent", "money": "money", "year": "year", "date": "date", "time": "clock", "ordinal": "ordinal",
    "ratio": "ratio", "identifier": "other", "version": "other",
}  # fmt: skip
_BY_VALUE = frozenset(("date", "clock", "ratio", "year"))
"""Groups that a numeral has only with a fitting value and no unit."""
TIMES = frozenset(("year", "date", "clock", "ordinal"))
"""Groups of quantities that are no values."""
_CLAUSE = regex(r"\d{1,2}\.\d{1,2}\s+[A-Z][a-z]+ ")
"""The number of a clause: `4.1 The Tenant shall pay ...`."""
_TIME = regex(
    r"(?:(?<![\d:.,$€£–—-])|(?<=\d:\d\d[–—-]))(\d{1,2})(?::(\d{2})(?::(\d{2}))?(?![\d:])(?:\s?([ap])\.?m\b\.?)?|\s?([ap])\.?m\b\.?)",
    re.IGNORECASE,
)
_SPACE = regex(r"\s+")
_PRIVATE = regex("[\ue000-\uf8ff]")
_SPACED_MARKS = tuple(f" {mark}" for mark in ",;:.)]%")
_JOIN = regex(r"(?:,? and |, ?|[ -]?)$")
_SPAN = regex(r" (?:and|to|until|till|through) | ?[–—-] ?")
_BEFORE_DASH = regex(r"(?<![-−–\w.,])(\d{1,9}(?:\.\d{1,9})?)-$")
_LARGE = {"ft": 12, "stone": 14}
"""Units whose smaller unit may be left out, and how many of it they have."""
_ENDS_HEIGHT = regex(r"[.,;:)]| \(| (?:tall|in height|and|in (?:his|her)|he|she|who|with)\b|$")
_PRONOUN = regex(r"\b(?:(?:the|an?|another|his|her|its|their) [a-z]+|this|that|which|each|every|another|any|no) $")
_DASHES = ("-", "–", "—")
_REFERENCES = frozenset([
    "table", "tables", "figure", "figures", "fig", "fig.", "figs.", "section", "sections", "sec.", "chapter",
    "chapters", "step", "steps", "line", "lines", "equation", "eq.", "eqs.", "theorem", "lemma", "remark",
    "algorithm", "experiment", "experiments", "question", "item", "phase", "grade", "part", "volume", "vol.",
    "episode", "season", "route", "highway", "interstate", "exit", "gate", "platform", "room", "channel", "flight",
    "bus", "no.", "number", "nr.", "article", "rule", "appendix", "scenario", "version", "top", "big", "layer",
    "block", "zone", "tier", "district", "ward", "leg", "heat", "lane", "lap", "apollo", "boeing", "airbus",
    "windows", "problem", "task", "batch", "trial", "hole", "wave", "act", "scene", "verse", "psalm", "division",
])  # fmt: skip
"""Words before a number that names one of several things; `pages`, `rows` and `aged` begin ranges and are left out."""
_SMALL_REFERENCES = frozenset([
    "group", "cohort", "arm", "class", "sample", "run", "lot", "site", "case", "game", "row", "column", "page",
    "level", "type", "category", "stage", "round", "model", "day", "week", "study", "option", "stop", "hut", "pier",
    "bay", "dock", "desk", "booth", "stand", "hall", "court", "pitch", "lock", "berth", "track", "counter", "cabin",
    "box", "locker", "well", "plot", "station", "terminal", "shelf", "aisle", "building", "floor", "lift", "tower",
    "camp", "junction", "form", "paragraph", "clause", "sector", "unit", "flat", "apartment", "house", "tank", "pump",
    "oven", "kiln", "press", "machine", "server", "tram", "coach", "quay", "shaft", "reactor", "theatre", "studio",
    "warehouse", "depot", "checkpoint", "marker", "tent", "field", "lesson", "bedroom", "bathroom",
])  # fmt: skip
"""The same, for small numbers only: `the placebo group 80` counts."""
_PARTED = frozenset([
    "appendix", "chapter", "eq", "eq.", "equation", "fig", "fig.", "figure", "sec", "sec.", "section", "subsection",
    "table", "tab.", "theorem", "lemma",
])  # fmt: skip
"""What is named by numbers with a point, too."""
_MOST_OF_PARTS = 32
_MOST_OF_NAMES = {**dict.fromkeys(_SMALL_REFERENCES, 32), **dict.fromkeys(_REFERENCES, 1000)}
_ONE_AND = {"min": regex(r"(?<![a-z])an hour and $"), "month": regex(r"(?<![a-z])a year and $"),
            "s": regex(r"(?<![a-z])a minute and $")}  # fmt: skip
"""One of a larger unit before a number: `an hour and 45 minutes`."""
_AND_A_PART = regex(r" and a (half|quarter)(?![- ](?:hours?|an?|days?|years?|of an?|minutes?|miles?|million)\b|-)")
"""Behind a whole number with its unit."""
SMALLER = {"ft": "in", "lb": "oz", "stone": "lb", "h": "min", "min": "s", "year": "month", "d": "h", "yd": "ft"}
"""The unit that goes on behind another one, as in `6 ft 2 in`."""


class Sentence:
    r"""A sentence of a document with its quantities and its skeleton.

    Example:
        >>> from numerate.apps.consistency.sentences.slots import UNIT, slot
        >>> from numerate.reading import find
        >>> text = "The lake is 28 km (27 mi) long."
        >>> sentence = Sentence(text, 0, find(text))
        >>> [(each.text, each.value, each.unit) for each in sentence.quantities]
        [('28 km', 28.0, 'km'), ('27 mi', 27.0, 'mi')]
        >>> re.search(rf"{slot('one', UNIT)} \({slot('other', UNIT)}\)", sentence.skeleton) is not None
        True
    """

    __slots__ = ("_kept", "_quantities", "_skeleton", "_tally", "_traits", "_words", "numerals", "offset", "text")

    def __init__(self, text: str, offset: int, numerals: Sequence[Numeral], words: int | None = None) -> None:
        self.text = text
        self.offset = offset
        self.numerals = numerals if all(map(_is_usual, numerals)) else [each for each in numerals if _is_usual(each)]
        """With offsets in the document; without those that are too large or small for arithmetic."""
        self._quantities: list[Quantity] | None = None
        self._skeleton: str | None = None
        self._tally: Tally | None = None
        self._traits: int | None = None
        self._words = words
        self._kept: dict[str, Any] = {}

    def cached(self, name: str, made: Callable[[Sentence], _Kept]) -> _Kept:
        """What several rules need of a sentence, made once."""
        if name not in self._kept:
            self._kept[name] = made(self)
        return self._kept[name]

    @property
    def tally(self) -> Tally:
        """How many numbers of each kind it has, which is cheap to know."""
        if self._tally is None:
            self._tally = tally_of(self.numerals)
        return self._tally

    @property
    def words(self) -> int:
        """The cue words that it has, as bits."""
        if self._words is None:
            self._words = traits_of_words(self.text)
        return self._words

    @property
    def traits(self) -> int:
        """The cue words and kinds of numbers that it has, as bits."""
        if self._traits is None:
            self._traits = self.words | traits_of_tally(self.tally)
        return self._traits

    @property
    def quantities(self) -> list[Quantity]:
        """All quantities, in order."""
        if self._quantities is None:
            self._quantities = self._merged()
        return self._quantities

    @property
    def values(self) -> list[Quantity]:
        """The quantities that are no times and no ordinals."""
        return self.cached("values", _no_times)

    def values_alike(self, least: int, most: int) -> list[Quantity]:
        """The values of a sentence that has so many of them, all of one kind and unit; none otherwise."""
        values = self.cached("alike", _alike)
        return values if least <= len(values) <= most else []

    @property
    def skeleton(self) -> str:
        """The sentence in lower case with slots, without space around brackets and before marks."""
        if self._skeleton is None:
            self._skeleton = self._with_slots()
        return self._skeleton

    @property
    def dates(self) -> list[tuple[re.Match[str], NamedDate]]:
        """The dates with a month's name, with their matches in the text."""
        return self.cached("dates", _named_dates)

    def get(self, match: re.Match[str], name: str) -> Quantity:
        """The quantity of a named slot of a match."""
        return self.quantities[ord(match[name][-1]) - FIRST]

    def slots(self, match: re.Match[str], names: str) -> list[Quantity]:
        """The quantities of several slots of a match, whose names are single letters."""
        quantities = self.quantities
        return [quantities[ord(match[name][-1]) - FIRST] for name in names]

    def within(self, text: str) -> list[Quantity]:
        """The quantities whose slots stand in a part of the skeleton."""
        return [self.quantities[ord(char) - FIRST] for char in text if char >= "\ue100" and char <= "\uf8ff"]

    def beside(self, quantity: Quantity) -> tuple[str, str]:
        """The 40 characters before and behind a quantity, in lower case."""
        start, end = quantity.start - self.offset, quantity.end - self.offset
        return self.text[max(0, start - 40) : start].lower(), self.text[end : end + 40].lower()

    def between(self, one: Quantity, other: Quantity) -> str:
        """The text between two quantities, in lower case."""
        first, second = (one, other) if one.start <= other.start else (other, one)
        return self.text[first.end - self.offset : second.start - self.offset].lower()

    def _merged(self) -> list[Quantity]:
        merged: list[Quantity] = []
        for each in self._raw():
            last = merged[-1] if merged else None
            if last is not None and each.unit is None and last.unit in _LARGE and self._is_smaller(last, each):
                each.unit, each.group = SMALLER[last.unit], "unit"  # type: ignore[index]
            if last is not None and last.group == each.group == "unit" and self._is_continued(last, each):
                sizes = measure_of(last.unit or ""), measure_of(each.unit or "")
                ratio = sizes[1].factors[0] / sizes[0].factors[0]  # type: ignore[union-attr]
                sign = -1 if last.value < 0 else 1
                last.value += sign * each.value * ratio
                last.step = 2 * each.half * ratio
                last.end, last.numerals = each.end, last.numerals + each.numerals
                last.text = self.text[last.start - self.offset : last.end - self.offset]
            else:
                # `between 1520 and 1545`: what follows a year as the end of a span is one.
                if (
                    last is not None
                    and last.group == "year"
                    and each.group == "plain"
                    and each.unit is None
                    and len(each.text) == 4
                    and 1000 <= each.value <= 2100
                    and _SPAN.fullmatch(self.text, last.end - self.offset, each.start - self.offset)
                ):
                    each.group = "year"
                if each.unit is not None and self.text.startswith(" and a ", each.end - self.offset):
                    self._with_part(each)
                if each.unit in _ONE_AND and self.text[: each.start - self.offset].endswith("and "):
                    self._with_one(each)
                merged.append(each)
        return merged[:MAX_QUANTITIES]

    def _with_part(self, quantity: Quantity) -> None:
        """Adds what follows a unit: `three hours and a half`."""
        match = _AND_A_PART.match(self.text, quantity.end - self.offset)
        if match is not None and quantity.group == "unit" and quantity.value == int(quantity.value):
            quantity.value += 0.5 if match[1] == "half" else 0.25
            quantity.step = 0.5
            quantity.end += len(match[0])
            quantity.text += match[0]

    def _with_slots(self) -> str:
        parts, end = [], 0
        text = self.text.lower()
        if len(text) != len(self.text):  # some letters have a longer lower case
            text = "".join(char.lower() if len(char.lower()) == 1 else char for char in self.text)
        if not text.isascii():
            text = _PRIVATE.sub(" ", text)
        for index, each in enumerate(self.quantities):
            parts.append(text[end : each.start - self.offset])
            parts.append(CLASSES[each.group] + chr(FIRST + index))
            end = each.end - self.offset
        parts.append(text[end:])
        joined = "".join(parts)
        if "  " in joined or "\n" in joined or "\t" in joined or "\xa0" in joined:
            joined = _SPACE.sub(" ", joined)
        # Tokenised texts have spaces around their marks.
        for spaced in _SPACED_MARKS:
            if spaced in joined:
                joined = joined.replace(spaced, spaced[1])
        return joined.replace("( ", "(").replace("[ ", "[")

    def _raw(self) -> Iterable[Quantity]:
        """The quantities before those of mixed units are joined."""
        waiting = self._dates_and_times() if self.tally.dates or self.words & (CLOCK | _HOURS) else []
        if len(waiting) > 1:
            waiting.sort(key=lambda each: each.start)
        taken, source, offset, group_of = 0, self.text, self.offset, _OF_KIND.get
        for numeral in self.numerals:
            start, end, unit, value = numeral.start, numeral.end, numeral.unit, numeral.value
            if waiting:
                while waiting and waiting[0].end <= start:
                    taken = max(taken, waiting[0].end)
                    yield waiting.pop(0)
            span = numeral.unit_span
            if span is not None and not numeral.shared:
                start, end = min(start, span[0]), max(end, span[1])
            if start < taken or (waiting and waiting[0].start < end):
                continue
            if value == 1 and end - start == 3 and self._is_pronoun(start - offset):
                continue
            if unit is None:
                group = group_of(numeral.kind, "plain")
                if group in _BY_VALUE:
                    group = _group_by_value(group, numeral)
                elif (group == "plain" or group == "other") and self._is_name(numeral, group):
                    group = "ordinal"  # `Table 2`, `IL-2`: it names a thing and counts nothing
            else:
                group = group_of(numeral.kind, "unit")
                if group in _BY_VALUE:
                    group = "unit"  # `17 March, 24 days`
                if (
                    group == "unit"
                    and numeral.shared
                    and len(numeral.text) == 4
                    and 1500 <= value <= 2100
                    and numeral.text.isdecimal()
                    and source[: start - offset].endswith((" in ", " In "))
                ):
                    group, unit = "year", None  # `from 40 t in 1990 to 10 t`: the year has no unit
            taken = end
            first = start - offset
            text = source[first : end - offset]
            # Brackets of accounts are a sign in tables; in a sentence they are brackets: `defence ($54bn)`.
            if value < 0 and (text[0] == "(" or (text[0] == "-" and _is_typed_dash(source, first, value))):
                value = -value
            before = source[first - 26 if first > 26 else 0 : first]
            yield Quantity(text, start, end, value, unit, group, (numeral,), 0.0, before)
        yield from waiting

    def _is_pronoun(self, start: int) -> bool:
        """Whether `one` stands for a thing: `the upper one`, `this one`."""
        return (
            self.text[start : start + 3] == "one" and _PRONOUN.search(self.text, max(0, start - 24), start) is not None
        )

    def _is_name(self, numeral: Numeral, group: str) -> bool:
        """Whether a number without a unit is a name: of a table, a day of a trial, a model."""
        start, end = numeral.start - self.offset, numeral.end - self.offset
        if not start:
            return _CLAUSE.match(self.text) is not None
        mark = self.text[start - 1]
        if mark not in " \xa0":
            # Numbers joined by a dash may be a score or a range: `214-198` is read as a code.
            is_joined = mark in "-–—" or self.text[end : end + 1] in _DASHES
            return group == "other" and not is_joined and self.text[max(0, start - 2) : start] not in (" (", "(")
        word = self.text[max(0, start - 14) : start - 1].rpartition(" ")[2].lower().lstrip("(")
        if word in _PARTED and numeral.value < _MOST_OF_PARTS:
            return True  # `Chapter 5.4`
        return numeral.value < _MOST_OF_NAMES.get(word, -math.inf) and numeral.value == int(numeral.value)

    def _dates_and_times(self) -> list[Quantity]:
        """Dates with a month's name and times of the day, which the reader gives as several numerals."""
        found = [self._whole(match, "date", date.days, 1.0) for match, date in self.dates]
        if self.words & CLOCK:
            for match in _TIME.finditer(self.text):
                hours, minutes = int(match[1]), int(match[2] or 0)
                half = match[4] or match[5]
                if hours > (12 if match[5] else 24) or minutes > 59 or (match[5] and hours == 0):
                    continue
                if half is not None:
                    hours = hours % 12 + (12 if half.lower() == "p" else 0)
                seconds = int(match[3] or 0) if int(match[3] or 0) < 60 else 0
                step = 1 / 60 if match[3] else 1.0
                found.append(self._whole(match, "clock", 60.0 * hours + minutes + seconds / 60, step))
        if self.words & (CLOCK | _HOURS):
            for match, value, unit, step in compact_times(self.text):
                each = self._whole(match, "unit", value, step)
                each.unit = unit
                each.before = self.text[max(0, match.start() - 26) : match.start()]
                found.append(each)
        return found

    def _whole(self, match: re.Match[str], group: str, value: float, step: float) -> Quantity:
        start, end = match.start() + self.offset, match.end() + self.offset
        inside = tuple(each for each in self.numerals if start <= each.start and each.end <= end)
        return Quantity(match[0], start, end, value, None, group, inside, step)

    def _with_one(self, each: Quantity) -> None:
        """Adds the hour of `an hour and 45 minutes`, which the reader takes for no number."""
        start = each.start - self.offset
        found = _ONE_AND[each.unit or ""].search(self.text, max(0, start - 14), start)
        if found is not None:
            parts = 12 if each.unit == "month" else 60
            each.value, each.step = 1 + each.value / parts, 2 * each.half / parts
            each.unit = {"min": "h", "month": "year", "s": "min"}[each.unit or ""]
            each.start = found.start() + self.offset
            each.text = self.text[found.start() : each.end - self.offset]
            each.before = self.text[max(0, found.start() - 26) : found.start()]

    def _is_smaller(self, last: Quantity, each: Quantity) -> bool:
        """Whether a number goes on with the smaller unit that it leaves out: `six foot four`, `11 stone 4`."""
        between = self.text[last.end - self.offset : each.start - self.offset]
        return (
            between == " "
            and each.group == "plain"
            and each.value in range(1, _LARGE[last.unit or ""])
            and _ENDS_HEIGHT.match(self.text, each.end - self.offset) is not None
        )

    def _is_continued(self, last: Quantity, each: Quantity) -> bool:
        """Whether two neighbours are one quantity: `6 ft 2 in`, `2 hours and 45 minutes`."""
        if last.group != "unit" or each.group != "unit" or last.unit is None or each.unit is None:
            return False
        units = (
            {last.unit, last.numerals[-1].unit} if last.numerals else {last.unit}
        )  # `8 days, 18 hours and 30 minutes`
        if each.unit not in {SMALLER.get(unit or "") for unit in units} and not ("h" in units and each.unit == "s"):
            return False
        between = self.text[last.end - self.offset : each.start - self.offset]
        return _JOIN.fullmatch(between) is not None and dimension_name(each.unit) is not None


def _is_usual(numeral: Numeral) -> bool:
    return not is_extreme(numeral.value)


def _group_by_value(group: str, numeral: Numeral) -> str:
    """The group of a part of a date, a time or a ratio without a unit: a year, or a number."""
    is_year = 1000 <= numeral.value <= 2100
    if group == "date":
        return "year" if is_year else "plain"
    if group == "clock":
        return "plain"
    return "year" if group == "ratio" and is_year and len(numeral.text) == 4 else group


def _named_dates(sentence: Sentence) -> list[tuple[re.Match[str], NamedDate]]:
    for numeral in sentence.numerals:
        if numeral.kind == "date":
            found = ((match, read_date(match)) for match in dates_in(sentence.text))
            return [(match, date) for match, date in found if date is not None]
    return []


def _no_times(sentence: Sentence) -> list[Quantity]:
    return [each for each in sentence.quantities if each.group not in TIMES]


def _alike(sentence: Sentence) -> list[Quantity]:
    values = sentence.values
    is_alike = all(each.group == values[0].group and each.comparable(values[0]) for each in values)
    return values if is_alike else []


def _is_typed_dash(text: str, start: int, value: float) -> bool:
    """Whether the minus at `start` is the second hyphen of a dash: `34--87`, but not `-10--5` or `10--5`."""
    before = _BEFORE_DASH.search(text[max(0, start - 20) : start])
    return before is not None and float(before[1]) < -value
