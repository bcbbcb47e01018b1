"""One quantity with two values over a document, seen from the words around both and from how the values differ.

`We randomised 1,284 adults ... The 1,248 participants randomised`: the better the slip (many digits, two of them
exchanged), the fewer words have to be shared; a digit that is another one counts only against a headline.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.ranges.range_patterns import CODE
from numerate.apps.consistency.repeats.same_things import are_same, is_contrasted, told
from numerate.apps.consistency.repeats.told_doses import told_doses
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import SMALLER
from numerate.apps.consistency.sentences.traits import CLOCK, stems
from numerate.apps.consistency.slips import is_slip, sorted_digits
from numerate.apps.consistency.wrong import told_differently

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["told_twice"]

_HEADLINE = regex(r"^(?:subject|re|betreff|headline|title|summary|abstract)\b\s*[.:]", re.IGNORECASE)
_BEGUN = regex(
    r"\b(?:[Ff]ound(?:ed|ing|ation)|[Cc]omplet(?:ed|ion)|[Oo]pen(?:ed|ing)|[Ee]stablish(?:ed|ment)|[Bb]uilt|[Bb]orn|birth"
    r"|[Ii]naugurat(?:ed|ion)|[Ii]ncorporat(?:ed|ion)) in (?=\d{4}\b|$)"
)
"""Of all years, those in which a thing began are compared."""
_BEGUN_CUES = stems("found complet open establish built_ born_ birth_ inaugurat incorporat")
"""What a match of `_BEGUN` has in it."""
MOST_MINUTES, LEAST_DAYS = 1_500, 365_000
"""Values of times of the day and of dates."""
_NO_VALUES = frozenset(("year", "date", "ordinal"))
_ANOTHER = regex(
    r"\b(?:Another|A (?:second|new|smaller|larger|bigger|older|newer|neighbou?ring|sister)|The (?:second|new"
    r"|other)) [a-z]+"
    r" (?:is|was|lies|stands|stood|has|had|opened|followed|exists)\b"
)
"""A sentence that introduces another thing of the kind."""
_NAMED = regex(r"\b(?:of|in|for|at|from) (?!(?:about|only|over|under|nearly)\b)[a-z]{3,} $")
_IS_NAMED = regex(r" (?:is|was|has|had) ")
WINDOW = 12


AROUND = 4


def told_twice(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Pairs of quantities of a document that are one."""
    if len(sentences) < 2:
        return
    yield from told_doses(text, sentences)
    headline = _headline(text, sentences)
    groups: dict[tuple[str, str], list[tuple[int, Quantity]]] = {}
    first: list[Quantity] = []
    worth = [index for index, sentence in enumerate(sentences[:400]) if _has_values(sentence)]
    for index in _worth_reading(sentences, worth) if len(worth) > 1 else ():
        for key, quantity in _keys(sentences[index]):
            groups.setdefault(key, []).append((index, quantity))
    for values in groups.values():
        if len(values) < 2 or len({quantity.value for _, quantity in values}) < 2:
            continue
        for (i, a), (j, b) in itertools.combinations(values[:12], 2):
            if i == j or j - i > WINDOW or a.value == b.value or not is_slip(a.value, b.value):
                continue
            if a.group == b.group and a.unit == b.unit and not _side_by_side(sentences, a, b):
                if _is_name(sentences[i], a) or _is_name(sentences[j], b):
                    continue
                if _ANOTHER.search(text, a.end, sentences[j].offset):
                    continue  # `A second tank stands beside it.`
                one, other = told(sentences[i], i, a), told(sentences[j], j, b)
                if are_same(one, other, _values_near(sentences, i, j, a)):
                    yield told_differently(a, b, 0.86)
    if headline:
        first = [
            each for each in sentences[0].quantities if each.group in ("clock", "money", "unit", "plain", "percent")
        ]
        for a in first:
            yield from _against_headline(sentences, a)


def _is_name(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether a number is the name of a thing: `the weight of sample 45 was 985 g`."""
    start, end = quantity.start - sentence.offset, quantity.end - sentence.offset
    is_bare = quantity.group == "plain" and quantity.value > 1 and _IS_NAMED.match(sentence.text, end) is not None
    return is_bare and _NAMED.search(sentence.text[max(0, start - 30) : start]) is not None


def _has_values(sentence: Sentence) -> bool:
    if len(sentence.numerals) > 12:
        return False
    for each in sentence.numerals:
        if each.kind not in _NO_VALUES:
            return True
    return _has_begun(sentence)


def _has_begun(sentence: Sentence) -> bool:
    return sentence.tally.times > 0 and sentence.words & _BEGUN_CUES != 0 and _BEGUN.search(sentence.text) is not None


def _worth_reading(sentences: Sequence[Sentence], worth: Sequence[int]) -> list[int]:
    """Sentences with a number whose digits another one near it has in another order; most have none."""
    seen: dict[str, list[tuple[int, float]]] = {}
    repeated: set[str] = set()
    for index in worth:
        for digits, value in _digits_of(sentences[index]):
            earlier = seen.setdefault(digits, [])
            if digits not in repeated:
                for at, other in reversed(earlier):
                    if index - at > WINDOW:
                        break
                    if other != value and at != index:
                        repeated.add(digits)
                        break
            earlier.append((index, value))
    return sorted({index for digits in repeated for index, _ in seen[digits]})


def _digits_of(sentence: Sentence) -> Iterator[tuple[str, float]]:
    """Sorted digits and value of each number that may be one of `_keys`, which is cheaper to know."""
    last = None
    for numeral in sentence.numerals:
        if numeral.unit is not None and last is not None and last != numeral.unit and numeral.unit in SMALLER.values():
            # `6 ft 2 in` is one number of other digits.
            yield from ((key[1], quantity.value) for key, quantity in _keys(sentence))
            break
        last = numeral.unit
    for numeral in sentence.numerals:
        value = numeral.value
        if (value < 10 and value == int(value)) or (numeral.unit is None and numeral.kind == "ordinal"):
            continue
        if numeral.kind == "year" and numeral.unit is None and not _has_begun(sentence):
            continue
        digits = sorted_digits(value)
        if len(digits) > 1:
            yield digits, value


def _keys(sentence: Sentence) -> Iterator[tuple[tuple[str, str], Quantity]]:
    for quantity in sentence.quantities:
        if (
            quantity.group not in ("plain", "unit", "money", "percent", "year")
            or (quantity.group == "year" and not _BEGUN.search(quantity.before))
            or (quantity.value < 10 and quantity.group == "plain" and quantity.value == int(quantity.value))
            or quantity.value <= 0
            or (quantity.group == "plain" and CODE.search(quantity.before))  # another invoice, not the same one
        ):
            continue
        digits = sorted_digits(quantity.value)
        if len(digits) > 1:
            yield (quantity.unit or quantity.group, digits), quantity


def _headline(text: str, sentences: Sequence[Sentence]) -> bool:
    first = sentences[0]
    if first.offset > 12 or len(first.text) > 140:
        return False
    end = first.offset + len(first.text)
    is_one = _HEADLINE.match(first.text) is not None or (
        text[end : end + 1] == "\n" and not first.text.endswith((".", ":"))
    )
    return is_one and len(first.quantities) <= 5


def _values_near(sentences: Sequence[Sentence], first: int, last: int, like: Quantity) -> int:
    """How many values of a kind and unit the sentences from a few before the first to a few behind the last have."""
    near = sentences[max(0, first - AROUND) : last + AROUND + 1]
    return len({q.value for each in near for q in each.quantities if (q.group, q.unit) == (like.group, like.unit)})


def _side_by_side(sentences: Sequence[Sentence], a: Quantity, b: Quantity) -> bool:
    """Whether one sentence tells both values: then there are two quantities."""
    both = {a.value, b.value}
    return any(_may_tell(each, both) and both <= {quantity.value for quantity in each.quantities} for each in sentences)


def _may_tell(sentence: Sentence, values: set[float]) -> bool:
    """Whether a sentence may tell some values, by its numerals: only units, dates and times of the day change them."""
    missing = values - {abs(each.value) for each in sentence.numerals}
    if not missing or sentence.tally.units > 0:
        return True
    return all(
        (value <= MOST_MINUTES and sentence.words & CLOCK != 0) or (value >= LEAST_DAYS and sentence.tally.dates > 0)
        for value in missing
    )


def _against_headline(sentences: Sequence[Sentence], a: Quantity) -> Iterator[Finding]:
    if any(
        each.value == a.value and each.group == a.group for sentence in sentences[1:] for each in sentence.quantities
    ):
        return
    one, found = told(sentences[0], 0, a), []
    for index, sentence in enumerate(sentences[1:8], 1):
        for b in sentence.quantities:
            if b.group != a.group or not a.comparable(b) or b.hedge or a.hedge or not _is_near(a, b):
                continue
            other = told(sentence, index, b)
            shared = len(one.words & other.words)
            if shared > (1 if a.group in ("clock", "money", "unit") else 2) and not is_contrasted(other):
                found.append(other)
    if len(found) == 1 and not is_contrasted(one) and not _side_by_side(sentences, a, found[0].quantity):
        yield told_differently(one.quantity, found[0].quantity, 0.86)


def _is_near(a: Quantity, b: Quantity) -> bool:
    """Whether one digit is another one, or two are exchanged."""
    if a.group == "clock":
        return a.value != b.value and (
            abs(a.value - b.value) in (60, 600, 10, 20, 30, 720) or a.value % 60 == b.value % 60
        )
    one, other = (re.sub(r"[^\d]", "", each.numerals[0].text) for each in (a, b))
    if len(one) != len(other) or one == other or len(one) < 2:
        return False
    return sum(x != y for x, y in zip(one, other, strict=True)) == 1 or is_slip(a.value, b.value)
