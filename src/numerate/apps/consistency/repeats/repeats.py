"""One quantity told twice with two values: `revenue of $1.5 billion ... revenue of $1.5 million`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, rules
from numerate.apps.consistency.repeats.mentions import BOUND, NOUNS, Mention, mentions_of
from numerate.apps.consistency.repeats.named_again import named_again
from numerate.apps.consistency.repeats.told_again import told_again, told_scores
from numerate.apps.consistency.repeats.told_twice import told_twice
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_slip, sorted_digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Repeats"]

_ATTRIBUTE = (*sorted(BOUND), "tall", "high", "long", "wide", "deep", "seat", "employees", "residents", "inhabitants")
_BEGUN = (
    "completed", "Completed", "founded", "Founded", "established", "Established", "built", "Built", "opened", "Opened",
    "incorporated", "born", "Born", "founding", "foundation", "inauguration", "completion", "opening", "establishment",
    "birth",
)  # fmt: skip
WINDOW = 8
"""Sentences back that a second mention is compared with."""


@rules.register("repeated")
class Repeats(Rule):
    """A quantity that a text tells twice has one value."""

    title = "two values"
    help = "The text gives one quantity two values that differ by a typical slip."

    def passage(self, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares each mention with the earlier ones of the same name."""
        if len(sentences) < 2:
            return
        seen: dict[str, list[Mention]] = {}
        worth = _worth_comparing(sentences)
        for index, sentence in enumerate(sentences):
            if index not in worth:
                continue
            for mention in mentions_of(sentence, index):
                for earlier in seen.get(mention.key, ()):
                    if index - earlier.index <= WINDOW and _contradict(earlier, mention):
                        first, second = earlier.quantity, mention.quantity
                        message = f"The {mention.key} is {second.text} here and {first.text} before."
                        yield finding_at(
                            "repeated", second, message, meant=first.value, others=[first], probability=0.9
                        )
                        break
                seen.setdefault(mention.key, []).append(mention)

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares numbers of the same digits whose neighbouring words are the same."""
        yield from told_twice(document.text, sentences)
        yield from named_again(document.text, sentences)
        yield from told_again(sentences)
        yield from told_scores(sentences)


_NO_VALUES = frozenset(("date", "time", "ordinal"))
_TIMES = _NO_VALUES | {"year"}


def _has_begun(sentence: Sentence) -> bool:
    return any(map(sentence.text.__contains__, _BEGUN))


def _worth_comparing(sentences: Sequence[Sentence]) -> set[int]:
    """Sentences near each other with numbers of the same digits, or with the same attribute."""
    seen: dict[str, list[tuple[int, float, bool]]] = {}
    found: set[int] = set()
    for index, sentence in enumerate(sentences):
        for numeral in sentence.numerals:
            kind, value = numeral.kind, numeral.value
            if kind in _NO_VALUES or (value < 10 and not numeral.power and value == int(value)):
                continue  # one digit is never exchanged
            digits = sorted_digits(value)
            if len(digits) < 2 and not numeral.power:
                continue
            earlier = seen.setdefault(digits, [])
            is_year = kind == "year"
            for at, other, was_year in reversed(earlier):
                if index - at > WINDOW:
                    break
                if other != value:
                    # Years are compared where something began in them; most years have no other of their digits.
                    if (is_year and not _has_begun(sentence)) or (was_year and not _has_begun(sentences[at])):
                        continue
                    found |= {at, index}
            earlier.append((index, value, is_year))
    last: dict[str, list[int]] = {}
    for index, sentence in enumerate(sentences):
        if not sentence.tally.values or all(numeral.kind in _TIMES for numeral in sentence.numerals):
            continue
        for word in filter(sentence.text.__contains__, _ATTRIBUTE):
            places = last.setdefault(NOUNS.get(word, word), [])
            for at in places[-3:]:
                if at != index and index - at <= WINDOW:
                    found |= {at, index}
            places.append(index)
    return found


def _other_scale(a: Quantity, b: Quantity) -> bool:
    """Whether only the scale word differs: `$5 million` and `$5 billion`."""
    one_, other = a.numerals[0], b.numerals[0]
    return one_.power != other.power and min(one_.power, other.power) > 0 and one_.written == other.written


_SUBJECT = regex(r"(?:the|an?|this|another) ([a-z-]+)(?: ([a-z-]+))?(?= |,)")


def _another_thing(earlier: Mention, later: Mention) -> bool:
    """Whether the later sentence begins with a thing that the earlier one does not name: `the tunnel beside it`."""
    subject = _SUBJECT.match(later.words)
    if subject is None or not earlier.words:
        return False
    names = [each for each in subject.groups() if each]
    return later.key not in names and not any(re.search(rf"\b{each}", earlier.words) for each in names)


_SAME_THING = frozenset(["the", "an", "a", "its", "this", "that", "his", "her", "their", "of", "and", "total", "with"])


def _contradict(earlier: Mention, later: Mention) -> bool:
    a, b = earlier.quantity, later.quantity
    if a.value == b.value or a.group != b.group or not a.comparable(b) or later.index == earlier.index:
        return False
    if earlier.has_contrast or later.has_contrast or (earlier.when and later.when and earlier.when != later.when):
        return False
    if later.is_predicate and _another_thing(earlier, later):
        return False
    same = later.thing is not None and re.search(rf"\b(?:the|its|this) {later.thing}\b", earlier.words) is not None
    if not same and (earlier.is_elsewhere or later.is_elsewhere):
        return False
    kinds = [re.search(rf"([a-z-]+) {re.escape(later.key)}\b", each.words) for each in (earlier, later)]
    if kinds[0] and kinds[1] and kinds[0][1] != kinds[1][1] and not _SAME_THING & {kinds[0][1], kinds[1][1]}:
        return False  # `the upstairs flat`, `the downstairs flat`
    if (later.when or earlier.when) and earlier.when != later.when and not later.is_definite:
        return False
    if abs(a.value - b.value) <= a.slack + b.slack:
        return False
    if later.is_other:
        return False
    if is_slip(a.value, b.value) or _other_scale(a, b):
        return True
    return (
        later.key in BOUND
        and later.is_definite
        and not (a.hedge or b.hedge)
        and a.value <= 10 * b.value <= 100 * a.value
    )
