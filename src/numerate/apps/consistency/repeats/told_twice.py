"""One quantity with two values over a document, seen from the words around both and from how the values differ.

`We randomised 1,284 adults ... The 1,248 participants randomised`: the better the slip (many digits, two of them
exchanged), the fewer words have to be shared; a digit that is another one counts only against a headline.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.repeats.told_doses import told_doses
from numerate.apps.consistency.repeats.told_words import APART, CHANGED, CONTRASTED, MARKET, STOP
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import SMALLER
from numerate.apps.consistency.slips import is_slip, sorted_digits
from numerate.apps.consistency.wrong import told_differently

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["told_twice"]

_WORD = regex(r"[^\W\d_]{4,}(?:['’-][^\W\d_]+)*")
_HEADLINE = regex(r"^(?:subject|re|betreff|headline|title|summary|abstract)\b\s*[.:]", re.IGNORECASE)
_ADJECTIVES = frozenset(["tall", "long", "high", "wide", "deep", "were", "with", "said", "says"])
_BEHIND = regex(r"\b(?:than|compared|instead|other|others|more|fewer|less|another|versus|vs)\b")
_OTHER_THING = regex(
    r"\b(?:an?other|other|old|comparison|contrast|second|third|next|older|newer|former|latter|sister"
    r"|neighbou?ring|nearby)\b"
)
WINDOW = 12


class _Told(NamedTuple):
    quantity: Quantity
    place: int
    stems: frozenset[str]
    names: frozenset[str]
    near: frozenset[str]
    context: str
    is_contrasted: bool
    is_headline: bool
    frames: frozenset[tuple[str, ...]]


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
    told: dict[int, _Told] = {}
    for values in groups.values():
        if len(values) < 2 or len({quantity.value for _, quantity in values}) < 2:
            continue
        for (i, a), (j, b) in itertools.combinations(values[:12], 2):
            if i == j or j - i > WINDOW or a.value == b.value or not is_slip(a.value, b.value):
                continue
            one, other = (_told(sentences, at, quantity, headline, told) for at, quantity in ((i, a), (j, b)))
            if _are_one(one, other) and not _side_by_side(sentences, a, b):
                yield told_differently(one.quantity, other.quantity, 0.86)
    if headline:
        first = [
            each for each in sentences[0].quantities if each.group in ("clock", "money", "unit", "plain", "percent")
        ]
        for a in first:
            yield from _against_headline(sentences, a, headline, told)


def _has_values(sentence: Sentence) -> bool:
    if len(sentence.numerals) > 12:
        return False
    return any(each.kind not in ("year", "date", "ordinal") for each in sentence.numerals)


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
        if (value < 10 and value == int(value)) or (numeral.unit is None and numeral.kind in ("year", "ordinal")):
            continue
        digits = sorted_digits(value)
        if len(digits) > 1:
            yield digits, value


def _keys(sentence: Sentence) -> Iterator[tuple[tuple[str, str], Quantity]]:
    for quantity in sentence.quantities:
        if (
            quantity.group not in ("plain", "unit", "money", "percent")
            or (quantity.value < 10 and quantity.group == "plain")
            or quantity.value <= 0
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


def _told(
    sentences: Sequence[Sentence], index: int, quantity: Quantity, headline: bool, seen: dict[int, _Told]
) -> _Told:
    if quantity.start in seen:
        return seen[quantity.start]
    sentence = sentences[index]
    at, end = quantity.start - sentence.offset, quantity.end - sentence.offset
    left, right = max(0, at - 90), min(len(sentence.text), end + 90)
    before, behind = sentence.text[left:at], sentence.text[end:right]
    words = [word for part in (before, behind) for word in _WORD.findall(part)]
    is_headline = headline and index == 0
    stems = frozenset(_stem(word) for word in words if word.lower() not in STOP)
    names = (
        frozenset()
        if is_headline
        else frozenset(
            _stem(word)
            for word in words
            if word[0].isupper() and not re.search(rf"(?:^|[.:!?] ){re.escape(word)}", sentence.text)
        )
    )
    nouns = [
        each
        for each in (
            _noun(behind.split(",")[0].split("(")[0].split(), True),
            _noun(re.split(r"[.;:(]", before)[-1].split(), False),
        )
        if each
    ]
    seen[quantity.start] = _Told(
        quantity,
        index,
        stems,
        names,
        frozenset(nouns),
        f"{before.lower()} {behind.lower()}",
        CONTRASTED.search(before[-30:].lower()) is not None
        or _OTHER_THING.search(before.lower()) is not None
        or _BEHIND.search(behind[:24].lower()) is not None,
        is_headline,
        _frames(before, behind),
    )
    return seen[quantity.start]


def _stem(word: str) -> str:
    low = word.lower().split("'")[0].split("’")[0]
    return (low[:-1] if low.endswith("s") and len(low) > 4 else low)[:6]


def _noun(words: list[str], is_behind: bool) -> str | None:
    """The content word nearest to the number on one side, of the three nearest."""
    for word in words[:4] if is_behind else words[::-1][:4]:
        found = _WORD.fullmatch(word.strip("-–,.;:)\"'"))
        if found is None and len(word) > 3:
            return None
        if found and found[0].lower() not in STOP and found[0].lower() not in _ADJECTIVES:
            return _stem(found[0])
    return None


def _are_one(one: _Told, other: _Told) -> bool:
    a, b = one.quantity, other.quantity
    if a.hedge or b.hedge or (one.names - other.names and other.names - one.names):
        return False
    shared, near = len(one.stems & other.stems), _are_near(one, other)
    parts = [set(APART.findall(each.context)) for each in (one, other)]
    if parts[0] - parts[1] and parts[1] - parts[0]:
        return False
    is_sure = (
        (near and shared > 1 and a.group in ("unit", "money"))
        or (_digits(a) > 3 and (a.group != "plain" or a.value == int(a.value)))
        or one.is_headline
        or (a.group == "unit" and near and _digits(a) > 2)
    )
    if any(each.is_contrasted or (not is_sure and CHANGED.search(each.context)) for each in (one, other)):
        return False
    if (
        a.group in ("unit", "money")
        and not one.is_headline
        and any(MARKET.search(each.context) for each in (one, other))
    ):
        return False
    years = [set(re.findall(r"\b[12]\d{3}\b", each.context)) for each in (one, other)]
    if years[0] and years[1] and years[0] != years[1]:
        return False
    digits = _digits(a)
    if one.frames & other.frames and not _is_time(a) and a.group != "percent" and not _is_round(a, b):
        return True
    is_scaled = _mantissa(a.value) == _mantissa(b.value)
    if is_scaled:
        return digits > 1 and (shared > 2 or (near and shared > 1)) and (a.group != "plain" or digits > 2)
    if digits > 3:
        return shared > 1 or near or (shared == 1 and a.value >= 1000)
    if digits == 3:
        return shared > 2 or (near and (shared > 1 or a.group in ("unit", "money")) and not _is_time(a))
    is_named = "-" in a.text + b.text or (a.group == "money" and one.is_headline)
    return (near and is_named and a.group in ("unit", "money") and not _is_time(a)) or (
        one.is_headline and (shared > 1 or near)
    )


def _are_near(one: _Told, other: _Told) -> bool:
    """Whether the same noun stands beside both, or that of `the 69-metre tower` in the words around the other."""
    if one.near & other.near:
        return True
    return any("-" in mine.quantity.text and mine.near & yours.stems for mine, yours in ((one, other), (other, one)))


def _is_round(a: Quantity, b: Quantity) -> bool:
    """Whether one may be the other but for zeros: then a factor of ten is no slip."""
    return _mantissa(a.value) == _mantissa(b.value)


def _frames(before: str, behind: str) -> frozenset[tuple[str, ...]]:
    """The two words behind, and the two before with one behind: `room for N people`, `N dark chocolate`."""
    left, right = before.lower().split()[-2:], [word.strip(",.;:)") for word in behind.lower().split()[:2]]
    found = set()
    if len(right) == 2 and all(len(word) > 3 and word.isalpha() and word not in STOP for word in right):
        found.add(tuple(right))
    if (
        len(left) == 2
        and right
        and len(left[0]) > 3
        and left[0].isalpha()
        and left[0] not in STOP
        and len(right[0]) > 3
    ):
        found.add((*left, right[0]))
    return frozenset(found)


def _digits(quantity: Quantity) -> int:
    """Digits that tell: 4 of 1,260 and 2 of 1,200."""
    if quantity.value >= 1000 and quantity.value % 100 and quantity.group == "plain":
        return len(str(int(quantity.value)))
    return len(f"{quantity.value:.10g}".partition("e")[0].replace(".", "").strip("0"))


def _is_time(quantity: Quantity) -> bool:
    return quantity.unit in ("year", "month", "d", "week", "h", "min", "s")


def _mantissa(value: float) -> str:
    return f"{value:.9e}".partition("e")[0].rstrip("0")


def _side_by_side(sentences: Sequence[Sentence], a: Quantity, b: Quantity) -> bool:
    """Whether one sentence tells both values: then there are two quantities."""
    return any({a.value, b.value} <= {each.value for each in sentence.quantities} for sentence in sentences)


def _against_headline(
    sentences: Sequence[Sentence], a: Quantity, headline: bool, told: dict[int, _Told]
) -> Iterator[Finding]:
    if any(
        each.value == a.value and each.group == a.group for sentence in sentences[1:] for each in sentence.quantities
    ):
        return
    one, found = _told(sentences, 0, a, headline, told), []
    for index, sentence in enumerate(sentences[1:8], 1):
        for b in sentence.quantities:
            if b.group != a.group or not a.comparable(b) or b.hedge or a.hedge or not _is_near(a, b):
                continue
            other = _told(sentences, index, b, headline, told)
            if (
                len(one.stems & other.stems) > (1 if a.group in ("clock", "money", "unit") else 2)
                and not other.is_contrasted
            ):
                found.append(other)
    if len(found) == 1 and not one.is_contrasted and not _side_by_side(sentences, a, found[0].quantity):
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
