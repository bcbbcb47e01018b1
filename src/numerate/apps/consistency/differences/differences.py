"""Differences and durations: `from 1990 to 2005, 25 years`, `from 3.2 m to 4.9 m, an increase of 2.7 m`."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, rules, written_like
from numerate.apps.consistency.dates.calendar_words import YEAR_DAYS
from numerate.apps.consistency.differences.closed_differences import closed_difference
from numerate.apps.consistency.differences.closed_spans import FLIGHT, closed_span, repeated_terms
from numerate.apps.consistency.differences.difference_patterns import (
    CLOCKS,
    LIVES,
    SCORES,
)
from numerate.apps.consistency.differences.earlier_values import earlier_values
from numerate.apps.consistency.differences.instead_of import instead_of
from numerate.apps.consistency.differences.lives import lives
from numerate.apps.consistency.differences.margins import margins
from numerate.apps.consistency.differences.paragraph_gaps import paragraph_gaps
from numerate.apps.consistency.differences.race_times import race_margins, race_parts, race_times
from numerate.apps.consistency.differences.schedules import schedules
from numerate.apps.consistency.differences.spans import Span, ages_of, spans_of
from numerate.apps.consistency.differences.thing_ages import ages_apart, thing_ages
from numerate.apps.consistency.differences.told_spans import days_of_month, told_spans
from numerate.apps.consistency.percents.changes import change_findings
from numerate.apps.consistency.percents.closed_changes import closed_ages, closed_margin, closed_way
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import CLOCK, DATED, YEAR
from numerate.apps.consistency.sentences.traits import TIMES, VALUES
from numerate.apps.consistency.wrong import wrong_difference
from numerate.numerals.unit_factors import dimension_name, measure_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Differences"]

_MARGINS = ("point", "margin", "lead", "majority", " by ", "goal", "run", "vote", "difference", "advantage", "deficit")
_OTHER_TIME = regex(
    r"\b(?:break|lunch|pause|stop|delay|interval|late|early|before|ago|within|first|every|notice|per|local|flight|flew"
    r"|walk|extra|additional|more|another|only|each)\b"
)
_SPAN_WORD = regex(
    r"open|last|tak|hour|after|total|journey|trip|shift|day|duration|long|for|or\b|ride|drive|run|period|spen"
    r"|work|giv|mak|elapsed|wall|length|took|real|travel|crossing|voyage|procedure|operat|session|interval"
)
_HALF_DAY = regex(r"[ap]\.?m", re.IGNORECASE)
_SPANS = (
    " year", " month", " day", " week", " hour", " min", " h ", " h.", " h,", " h)", " h:", " decade", " centur",
    "-year", "-day", "-week", "-month", "-hour", "aged", "age ", "born", "died", "turn", "founded", "established",
)  # fmt: skip
_NEXT_DAY = regex(r" (?:on )?(?:the )?(?:next|following|same) (?:morning|day|afternoon|evening|night)\b")
_SAME_ZONE = regex(
    r"\b(?:no|without an?|without|same)(?: change of| change in)? time[ -](?:zones?|change|difference)\b"
)
_OTHER_CLOCK = regex(
    r"\bhours? (?:ahead|behind|forward|back)\b|\blocal time\b|\bclocks? (?:go|went|are|is|change[sd]?|were)\b"
    r"|\btime difference\b|\b[a-z]+(?:ian|ish|ese|eek|ern) time\b"
)


@rules.register("difference")
class Differences(Rule):
    """A difference or duration must fit the two values or dates beside it."""

    title = "difference"
    help = "A difference or duration does not fit the two values or dates beside it."
    needs = (VALUES[2] | TIMES[2],)

    def wants(self, tally: Tally, text: str) -> bool:
        """Three values, or two times and a value."""
        return (
            tally.values > 2
            or (tally.times + tally.values > 2 and tally.values > 0 and any(map(text.__contains__, _SPANS)))
            or (tally.times > 3 and tally.values > 0 and text.count(":") > 1)
            or (tally.times > 1 and ("anniversary" in text or "birthday" in text))
        )

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for spans of years, dates and times of the day, for ages, and for changes with both values."""
        if len(sentence.quantities) < 3:
            return
        skeleton = sentence.skeleton
        has_time = any(each.unit is not None and dimension_name(each.unit) == "time" for each in sentence.quantities)
        if skeleton.count(YEAR) + skeleton.count(DATED) > 1:
            if has_time:
                yield from self._spans(sentence)
            for age in ages_of(sentence):
                yield from self._age(sentence, *age)
            for match in matches(skeleton, LIVES):
                yield from self._age(sentence, *(sentence.get(match, name) for name in "abd"))
        elif has_time and skeleton.count(CLOCK) > 1:
            yield from self._spans(sentence)
        if skeleton.count(CLOCK) > 1:
            for pattern in CLOCKS:
                for match in pattern.finditer(skeleton):
                    yield from self._clock(sentence, match)
        found = list(change_findings(sentence, "difference")) or list(closed_difference(sentence))
        found = found or list(earlier_values(sentence))
        yield from found or closed_way(sentence)
        yield from instead_of(sentence) if (not found and "instead of" in skeleton) or "rather than" in skeleton else ()
        if any(map(skeleton.__contains__, _MARGINS)):
            for pattern in SCORES:
                for match in pattern.finditer(skeleton):
                    yield from self._score(sentence, match)
            yield from closed_margin(sentence)
        yield from closed_ages(sentence)

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks for ages, durations and margins over the sentences of a paragraph."""
        yield from lives(document.text, sentences)
        yield from margins(document.text, sentences)
        yield from race_times(document.text, sentences)
        yield from race_parts(document.text, sentences)
        yield from race_margins(document.text, sentences)
        yield from schedules(document.text, sentences)
        yield from thing_ages(document.text, sentences)
        yield from ages_apart(document.text, sentences)

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Looks for differences and durations whose two values stand anywhere near them."""
        yield from paragraph_gaps(paragraph)
        yield from told_spans(paragraph)
        yield from days_of_month(paragraph)

    def _spans(self, sentence: Sentence) -> Iterable[Finding]:
        if terms := list(repeated_terms(sentence)):
            yield from terms
            return
        told = list(spans_of(sentence))
        for span in told:
            yield from self._duration(sentence, span)
        if not told:
            for a, b, d in closed_span(sentence):
                yield from self._duration(sentence, Span(a, b, d, ""))

    def _duration(self, sentence: Sentence, span: Span) -> Iterable[Finding]:
        a, b, d = span.a, span.b, span.d
        if a.group != b.group and ("year" not in (a.group, b.group) or "clock" in (a.group, b.group)):
            return
        measure = measure_of(d.unit or "")
        if measure is None or dimension_name(d.unit or "") != "time":
            return
        if d.hedge in ("over", "under") and not (span.is_due and d.hedge == "under"):
            return
        unit_days = measure.factors[0] / 86400
        days, blur = _days_between(a, b)
        if days <= 0:
            return
        expected = days / unit_days
        # Both ends may count, and the first may be left out: one unit on either side, and the blur of bare years.
        # Dates leave no more than the rounding of months and years.
        least = 0.6 if a.group == b.group == "date" and unit_days > 20 else 1.0
        if a.group == b.group == "date" and 6 < unit_days < 8 and _has_day(a) and _has_day(b):
            least = 0.45  # a week of five days, or three days too many
        if a.group == b.group == "year" and unit_days < 300:
            blur = YEAR_DAYS
        if a.group == "clock":
            least = (2.0 if _is_coarse(a, b, d) else 0.02) / 1440 / unit_days
        if span.is_due and a.group != b.group:
            return
        if unit_days > 3000:
            least = 0.35  # decades and centuries are round
        slack = max(least, 0.1 * d.value if d.hedge else 0.0, d.half) + blur / unit_days
        if (unit_days < 20 and blur > 40) or not d.value / 4 <= expected <= d.value * 4:
            return
        if span.may_be_part and d.value < expected:
            return
        if abs(expected - d.value) <= slack + 0.02 * expected or _fits_others(sentence, d, unit_days, slack):
            return
        meant = expected if a.group == "clock" else round(expected)
        message = f"From {a.text} to {b.text} are {written_like(d, meant)}, not {d.text}."
        yield finding_at("difference", d, message, meant=meant, others=[a, b])

    def _age(self, sentence: Sentence, a: Quantity, b: Quantity, d: Quantity) -> Iterable[Finding]:
        days, blur = _days_between(a, b)
        years = days / YEAR_DAYS
        if (
            not 0 < years < 2000
            or d.hedge
            or abs(years - d.value) <= (1.01 if a.group == b.group else 1.3) + blur / YEAR_DAYS / 400
        ):
            return
        meant = int(years + 1e-6) if blur < 40 else round(years)
        message = f"From {a.text} to {b.text} are {meant} years, not {d.text}."
        yield finding_at("difference", d, message, meant=float(meant), others=[a, b])

    def _clock(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, d = sentence.slots(match, "abd")
        measure = measure_of(d.unit or "")
        if measure is None or dimension_name(d.unit or "") != "time" or measure.factors[0] > 3600:
            return
        gap = _NEXT_DAY.sub("", match["gap"])
        if _OTHER_CLOCK.search(sentence.skeleton):
            return
        if (
            FLIGHT.search(_SAME_ZONE.sub("", sentence.skeleton))
            or _OTHER_TIME.search(gap)
            or _OTHER_TIME.search(match["between"])
        ):
            return
        if gap.strip(" ,(–-") not in ("", "a", "an", "is", "are", "was") and not _SPAN_WORD.search(gap):
            return
        minutes = (b.value - a.value) % (24 * 60)
        said = d.value * measure.factors[0] / 60
        around = {minutes}
        if not (_HALF_DAY.search(a.text) and _HALF_DAY.search(b.text)):
            around |= {minutes % 720, minutes % 720 + 720}
        if not any(each / 3 <= said <= each * 3 for each in around):
            return  # it is about something else
        slack = max(2.0 if _is_coarse(a, b, d) else 0.02, d.slack * measure.factors[0] / 60)
        if any(abs(each - said) <= slack for each in around) or abs(_of_pairs(sentence) - said) <= slack:
            return
        hours, rest = divmod(round(minutes), 60)
        message = f"From {a.text} to {b.text} are {hours} h {rest:02} min, not {d.text}."
        yield finding_at("difference", d, message, meant=minutes * 60 / measure.factors[0], others=[a, b])

    def _score(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        a, b, d = sentence.slots(match, "abd")
        real = abs(b.value - a.value)
        if d.value in (0, real) or real == 0 or d.value > 3 * real or real > 12 * d.value:
            return  # the last ones are about something else
        yield wrong_difference(d, a, b, real)


def _of_pairs(sentence: Sentence) -> float:
    """Minutes of several spans together: `08:00-12:00 and 13:00-17:30, 8 h 30 min in total`."""
    clocks = [each.value for each in sentence.quantities if each.group == "clock"]
    return sum((b - a) % 1440 for a, b in zip(clocks[::2], clocks[1::2], strict=False)) if len(clocks) > 3 else 0.0


def _is_coarse(a: Quantity, b: Quantity, d: Quantity) -> bool:
    """Whether a time or the duration is told without seconds."""
    return max(a.half, b.half) > 0.1 or (d.unit != "s" and len(d.numerals) < 2)


def _fits_others(sentence: Sentence, d: Quantity, unit_days: float, slack: float) -> bool:
    """Whether the duration fits two other times of the sentence: `begun in 1902, moved in 1950, 85 years later`."""
    times = [each for each in sentence.quantities if each.group in ("year", "date")]
    if len(times) < 3:
        return False
    if len(times) > 12:
        return True
    for index, one in enumerate(times):
        for other in times[index + 1 :]:
            days, blur = _days_between(one, other)
            if abs(abs(days) / unit_days - d.value) <= slack + blur / unit_days:
                return True
    return False


def _days_between(a: Quantity, b: Quantity) -> tuple[float, float]:
    """Days from a to b, and how much bare years blur that."""
    if a.group == b.group == "clock":
        return (b.value - a.value) % 1440 / 1440, 0.0
    days = []
    blur = 0.0
    for each in (a, b):
        if each.group == "year":
            days.append(each.value * YEAR_DAYS)
            blur = 0.0 if a.group == b.group else YEAR_DAYS
        else:
            days.append(each.value)
    if a.group == b.group == "date":
        if _has_year(b) and not _has_year(a) and _has_day(a) and _has_day(b):
            return _within_year(a, b), 0.0
        if _has_year(b) != _has_year(a):
            return 0.0, 0.0
        if not _has_year(a) and days[1] < days[0]:
            days[1] += 365  # from November to January
    if a.group == b.group == "year":
        return days[1] - days[0], 0.0
    return days[1] - days[0], blur + (31.0 if not (_has_day(a) and _has_day(b)) and blur == 0 else 0.0)


def _within_year(a: Quantity, b: Quantity) -> float:
    """Days from a date without a year to one with a year: `from 3 March to 5 May 1990`."""
    first, second = (datetime.date.fromordinal(int(each.value)) for each in (a, b))
    try:
        return float((second - first.replace(year=second.year)).days)
    except ValueError:
        return 0.0  # 29 February


def _has_year(each: Quantity) -> bool:
    return re.search(r"[12]\d{3}", each.text) is not None


def _has_day(each: Quantity) -> bool:
    return re.search(r"\b\d{1,2}(?:st|nd|rd|th)?\b", each.text) is not None
