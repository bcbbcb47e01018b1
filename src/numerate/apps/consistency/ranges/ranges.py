"""Ranges and intervals in the wrong order, and values outside of their interval."""

from __future__ import annotations

import datetime
import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, matches, rules
from numerate.apps.consistency.ranges.estimates import estimates, may_have_estimate, tolerance
from numerate.apps.consistency.ranges.page_claims import page_claims
from numerate.apps.consistency.ranges.paragraph_ranges import paragraph_ranges
from numerate.apps.consistency.ranges.range_bounds import (
    BOUND_WORDS,
    centre_outside,
    descending,
    impossible_values,
)
from numerate.apps.consistency.ranges.range_claims import range_claims
from numerate.apps.consistency.ranges.range_patterns import (
    AGED,
    BC,
    BETWEEN,
    BETWEEN_YEARS,
    BORN,
    CENTRE,
    CENTRES,
    CI,
    CODE,
    CUES,
    DASHED,
    DASHED_DAYS,
    DATES,
    DAYS,
    ENDED,
    FROM_YEARS,
    GUESSED,
    IN_UNITS,
    LASTING,
    LEAST,
    LIMITS,
    MEAN,
    MOST,
    NORMAL,
    OF_MONEY,
    OTHER_END,
    REVERSED,
    SCALED,
    SHARED,
    SHORTENED,
    TIME_OF_DAY,
    TWO_THINGS,
    YEARS,
)
from numerate.apps.consistency.ranges.table_ranges import table_ranges
from numerate.apps.consistency.sentences.slots import DATED, MONEY, UNIT, YEAR
from numerate.apps.consistency.sentences.traits import TIMES, VALUES, stems
from numerate.apps.consistency.wrong import wrong_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Ranges"]


_LOW_CUES, _HIGH_CUES = stems("minimum_ low_"), stems("maximum_ high_")
"""What the patterns of `LIMITS` have in them, one of each."""
_NORMAL_CUES = stems("normal_ reference_ range_ limit interval_ norm_ target_ iqr_")
_AGED_CUES = stems("aged_ age_ ages_ page pp_")


@rules.register("range")
class Ranges(Rule):
    """The lower end of a range comes first, and an estimate lies inside of its interval."""

    title = "range"
    help = "A range begins above its end, or a value lies outside of its interval."
    needs = (VALUES[1] | TIMES[1],)

    def wants(self, tally: Tally, text: str) -> bool:
        """A number before a smaller one and a word or dash of a range, or a value and its range."""
        return (
            (tally.falls and any(map(text.__contains__, CUES)))
            or (tally.times > 2 and "from " in text)
            or (tally.values and any(map(text.__contains__, BOUND_WORDS)))
            or (
                tally.values > 2
                and (
                    "ange" in text
                    or "CI" in text
                    or "nterval" in text
                    or "IQR" in text
                    or "iqr" in text
                    or "verage" in text
                    or "ean" in text
                    or "edian" in text
                )
            )
        )

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks at limits, `between`, ages, pages, life dates, confidence intervals and ranges of means."""
        if any(map(sentence.text.__contains__, BOUND_WORDS)):
            yield from impossible_values(sentence)
        if len(sentence.quantities) < 2:
            return
        skeleton = sentence.skeleton
        yield from descending(sentence)
        words = sentence.words
        for match in matches(skeleton, LIMITS) if words & _LOW_CUES and words & _HIGH_CUES else ():
            yield from self._order(sentence, match)
        if "between" in skeleton or "rang" in skeleton or " from " in skeleton:
            for match in BETWEEN.finditer(skeleton):
                a, b = sentence.slots(match, "ab")
                if TIME_OF_DAY.match(skeleton, match.end("b")) or TIME_OF_DAY.match(skeleton, match.end("a")):
                    continue
                if (
                    a.unit is None
                    and max(a.value, b.value) <= 12
                    and b.value < 8 <= a.value
                    and not IN_UNITS.match(skeleton, match.end("b"))
                ):
                    continue  # hours: `between 9 and 5`
                if TWO_THINGS.search(skeleton[: match.start()]):
                    continue
                if BC.search(skeleton) or SCALED.match(skeleton, match.end("b")):
                    continue
                if not (a.value < 0 or b.value < 0 or REVERSED.search(skeleton) or a.group == "percent"):
                    is_guess = a.group == "money" and GUESSED.search(skeleton[: match.start()]) is not None
                    yield from self._order(sentence, match, least=1.0 if is_guess else 1.2)
        for match in LASTING.finditer(skeleton) if " from " in skeleton else ():
            if not (REVERSED.search(skeleton) or SHORTENED.search(skeleton)):
                yield from self._order(sentence, match, least=1.2)
        for match in DASHED.finditer(skeleton) if skeleton.count(UNIT) > 1 and not REVERSED.search(skeleton) else ():
            a = sentence.get(match, "a")
            if _is_year(a) or a.unit == "s" or BC.search(skeleton):
                continue  # `the 1970-90s`, `15,000-12,000 years ago`
            if a.numerals[0].shared and a.value > 0:
                yield from self._order(sentence, match, least=1.2)
        for match in OF_MONEY.finditer(skeleton) if skeleton.count(MONEY) > 1 else ():
            if not REVERSED.search(skeleton):
                yield from self._order(sentence, match, least=1.2)
        for match in (
            SHARED.finditer(skeleton)
            if skeleton.count(UNIT) > 1 and " to " in skeleton and not REVERSED.search(skeleton)
            else ()
        ):
            a = sentence.get(match, "a")
            if a.numerals[0].shared and a.value > 0 and not a.hedge and not _is_year(a):
                yield from self._order(sentence, match, least=1.2)
        for match in NORMAL.finditer(skeleton) if words & _NORMAL_CUES else ():
            if sentence.get(match, "a").value > 0 and not REVERSED.search(skeleton):
                yield from self._order(sentence, match)
        for match in AGED.finditer(skeleton) if words & _AGED_CUES else ():
            a, b = sentence.slots(match, "ab")
            is_short = len(b.text) < len(a.text)  # `pages 1182–84` is short for 1184
            if a.value < 10_000 and not (is_short and match[0][0] == "p"):
                yield from self._order(sentence, match)
        if skeleton.count(YEAR) > 1 and not BC.search(skeleton):
            for match in (*YEARS.finditer(skeleton), *FROM_YEARS.finditer(skeleton)):
                if (
                    " back " not in skeleton
                    and len(sentence.get(match, "b").text) == len(sentence.get(match, "a").text)
                    and not CODE.search(sentence.text[: sentence.get(match, "a").start - sentence.offset])
                ):  # no `1998–99`
                    yield from self._order(sentence, match)
            for match in matches(
                skeleton, (((" and ", " but "), ENDED), (("between ",), BETWEEN_YEARS), ((",",), BORN))
            ):
                yield from self._order(sentence, match)
        if " ci" in skeleton or "confidence interval" in skeleton or "(ci" in skeleton:
            for match in CI.finditer(skeleton):
                yield from self._interval(sentence, match, "the confidence interval")
        if ("low" in skeleton or "min" in skeleton) and ("high" in skeleton or "max" in skeleton):
            low, high = (
                [sentence.get(match, "q") for match in pattern.finditer(skeleton)] for pattern in (LEAST, MOST)
            )
            if (
                len(low) == len(high) == 1
                and (_same(low[0], high[0]) or _shares(low[0], high[0]))
                and low[0].value > high[0].value > 0
            ):
                message = f"The lowest value {low[0].text} is more than the highest, {high[0].text}."
                yield finding_at("range", low[0], message, others=high, probability=0.9)
        for match in DATES.finditer(skeleton) if skeleton.count(DATED) > 1 else ():
            a, b = sentence.slots(match, "ab")
            years = [re.search(r"[12]\d{3}", each.text) is not None for each in (a, b)]
            if a.value > b.value and all(years):
                yield from self._order(sentence, match)
            elif years == [False, True] and _is_early(a, b):
                yield wrong_order(a, b, 0.9, "after")
        if "aver" in skeleton or "mean" in skeleton or "median" in skeleton or "avg" in skeleton:
            yield from list(self._extremes(sentence)) or centre_outside(sentence)
        for match in (*DAYS.finditer(skeleton), *DASHED_DAYS.finditer(skeleton)) if DATED in skeleton else ():
            yield from self._days(sentence, match)
        if "rang" in skeleton or "iqr" in skeleton:
            for pattern in (CENTRE, *CENTRES):
                for match in pattern.finditer(skeleton):
                    yield from self._interval(sentence, match, "its range")

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks at estimates and their intervals, pages, reference ranges and tolerances."""
        text = document.text
        for sentence in sentences:
            if may_have_estimate(sentence):
                yield from estimates(sentence)
        for sentence, behind in itertools.pairwise(sentences) if "±" in text or "+/-" in text else ():
            if "±" in sentence.text or "+/-" in sentence.text:
                yield from tolerance(sentence, behind)
        yield from range_claims(document.text, sentences)
        yield from page_claims(document.text, sentences)

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Looks at limits, extremes and ranges with their values in the same or the next sentence."""
        return paragraph_ranges(paragraph)

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Compares a column with the range that the text above its table sets."""
        return table_ranges(document, table)

    def _order(self, sentence: Sentence, match: re.Match[str], least: float = 1.0) -> Iterable[Finding]:
        a, b = sentence.slots(match, "ab")
        # A unit at the end holds for both: `a minimum of 60 and a maximum of 45 km/h`.
        is_shared = a.unit is None and a.group == "plain" and b.group == "unit"
        if not (_same(a, b) or is_shared) or a.value <= b.value * least or a.value == b.value:
            return
        yield wrong_order(a, b, 0.92)

    def _days(self, sentence: Sentence, match: re.Match[str]) -> Iterable[Finding]:
        """`from 18 to 14 October`: two days of one month."""
        a, b = sentence.slots(match, "ab")
        day = re.match(r"\d{1,2}(?!\d)", b.text)
        if day is None or not 1 <= a.value <= 31 or a.value <= int(day[0]) or a.half != 0.5:
            return
        yield wrong_order(a, b, 0.9, "after")

    def _extremes(self, sentence: Sentence) -> Iterable[Finding]:
        """A mean below the minimum, or above the maximum."""
        named = [
            [sentence.get(match, "q") for match in pattern.finditer(sentence.skeleton)]
            for pattern in (LEAST, MEAN, MOST)
        ]
        if any(len(each) > 1 for each in named) or len(named[1]) != 1 or not (named[0] or named[2]):
            return
        if not (named[0] and named[2]):
            yield from self._extreme(sentence, named[1][0], (named[0] or named[2])[0], bool(named[0]))
            return
        low, mean, high = (each[0] for each in named)
        if not (_same(low, mean) and _same(mean, high)) or any(
            each.hedge in ("over", "under") for each in (low, mean, high)
        ):
            return
        if low.value - low.half - mean.half <= mean.value <= high.value + high.half + mean.half:
            return
        message = f"The average {mean.text} does not lie between {low.text} and {high.text}."
        yield finding_at("range", mean, message, others=[low, high], probability=0.9)

    def _extreme(self, sentence: Sentence, mean: Quantity, end: Quantity, is_low: bool) -> Iterable[Finding]:
        """An average beyond the one end that is told: `the average of 6.2 exceeds the maximum of 5.8`."""
        words = sentence.skeleton
        if mean is end or not _same(mean, end) or mean.hedge in ("over", "under") or OTHER_END.search(words):
            return
        if len(sentence.quantities) > 3 or ("maximum" not in words and "minimum" not in words):
            return
        if mean.value >= end.value if is_low else mean.value <= end.value:
            return
        message = f"The average {mean.text} lies beyond the {'lowest' if is_low else 'highest'} value {end.text}."
        yield finding_at("range", mean, message, others=[end], probability=0.9)

    def _interval(self, sentence: Sentence, match: re.Match[str], what: str) -> Iterable[Finding]:
        a, b = sentence.slots(match, "ab")
        if a.value > b.value and _same(a, b):
            if a.value < 0 < -b.value or (b.value == -a.value):
                return
            yield from self._order(sentence, match)
            return
        if match["x"] is None:
            return
        x = sentence.get(match, "x")
        if x.group == "percent" and a.group != "percent":
            return
        if not _same(a, x) and a.unit is not None:
            return
        if a.value - a.half - x.half <= x.value <= b.value + b.half + x.half or x.hedge:
            return
        width = b.value - a.value
        if width <= 0 or not a.value - 4 * width <= x.value <= b.value + 4 * width:
            return  # another quantity
        message = f"{x.text} lies outside of {what} from {a.text} to {b.text}."
        yield finding_at("range", x, message, others=[a, b], probability=0.9)


def _shares(low: Quantity, high: Quantity) -> bool:
    """Whether a unit behind the second holds for both: `the minimum at 80 and the maximum at 65 beats per minute`."""
    return low.unit is None and low.group == "plain" and high.group == "unit" and low.start < high.start < low.end + 30


def _is_early(a: Quantity, b: Quantity) -> bool:
    """Whether the end comes some months before the begin in the one year that is told; winters go over two years."""
    begin, end = (datetime.date.fromordinal(int(each.value)) for each in (a, b))
    return 0 < (begin.month * 31 + begin.day) - (end.month * 31 + end.day) < 124 and begin.month < 11


def _is_year(quantity: Quantity) -> bool:
    return len(quantity.numerals[0].text) == 4 and 1500 <= quantity.value <= 2100


def _same(a: Quantity, b: Quantity) -> bool:
    groups = {a.group, b.group}
    return a.comparable(b) and (len(groups) == 1 or groups <= {"plain", "ratio", "other"})
