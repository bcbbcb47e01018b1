"""Conversions told in free words, and amounts in words and figures.

`120 N·m, which on your old wrench is 98.5 lb-ft`; `Forty-Eight Thousand Dollars ($46,800)`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import UNITS, stems
from numerate.numerals.unit_factors import converted, dimension_name, system_of
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = [
    "article_conversions",
    "clock_conversions",
    "loose_conversions",
    "same_amounts",
    "told_conversions",
    "words_and_figures",
]

MOST_WORDS = 70
MOST_LISTED = 4
"""Quantities of a list that is converted as a whole."""
_EQUAL = regex(
    r"\b(?:is|are|was|were|or|equals?|that's|i\.e|corresponds?|corresponding|converts?|converted"
    r"|comes? to|works? out|equivalent|meaning|say|so|namely|roughly|about|around|approximately|some"
    r"|in (?:metric|imperial|american|old|us|english)\b.*)\b|=|≈|/"
)
_APART = regex(
    r"\b(?:than|and|from|per|each|every|plus|minus|by|between|above|below|after|before|for|with|while"
    r"|but|until|wide|long|high|deep|tall|apart|away|then|later|at|times|when|if|weigh\w*)\b|[;+×]"
)
_SAME = regex(
    r"\b(?:that is|that['’]s|i\.e\.|in other words|which (?:is|equals|makes|comes to|works out at|corresponds to|means)"
    r"|or (?:about|roughly|around|some|nearly)|equivalent to|equals|namely"
    r"|which [a-z '’-]{0,30}?(?:gives?|gave|shows?|lists?|marks?|reads?|quotes?|puts?)(?: [a-z]+){0,2} as"
    r"),? ?(?:(?:about|roughly|around|some|nearly"
    r"|just|over|under|almost|only|well|a little) )*$"
)
"""Words right before the second quantity that leave no other reading."""
_CLOCK = regex(
    r"(?<![\d:.,–-])(?P<time>\d{1,3}(?::\d{2}){1,2})(?: ?(?:h|hours|min|minutes))?(?: ?\(|,? (?:or|i\.e\.,?|that is,?"
    r"|which (?:is|makes|equals)|in other words,?|equal to|equivalent to)| =) ?(?:exactly |about |some |roughly "
    r"|just )*$"
)
_ENDED = regex(r" ?[).,;]|$")
_CLOCK_UNITS = {"s": 1, "min": 60, "h": 3600}
_OTHER_SYSTEM = {"cal", "kcal", "nmi", "kn", "hp", "atm", "mmHg", "stone"}
_THAT = regex(
    r"(?:that|this|which|in (?:miles|metric|imperial|american) (?:terms|units|measures?),? (?:that|this|it))"
    r"(?:['’]s| is| equals| comes to| makes| corresponds to| means| works out at)(?: (?:about|roughly|some|just|nearly"
    r"|around|approximately|equal to|equivalent to|over|under))* "
)
_CLOSED = regex(r"(?: [A-Za-z]+){0,3}\)")
_NOT_CHECKED = ("time", "data", "angle")


def loose_conversions(sentence: Sentence) -> Iterator[Finding]:
    """Neighbours of one dimension in two systems of units, where words say that they are one amount."""
    values = sentence.quantities
    for place, (one, other) in enumerate(itertools.pairwise(values), 1):
        words = sentence.between(one, other)
        if _are_two_systems(one, other) and len(words) <= MOST_WORDS and not _are_lists(values, place):
            yield from _compared(one, other, words)


_SAME_AMOUNT = regex(
    r"\b(?:the|this|that|its|which is the) (?:very )?same (?:pressure|temperature|speed|distance|length|height|weight"
    r"|mass|volume|amount|value|area|power|energy|force|depth|width|size|quantity|reading|dose|altitude|torque"
    r"|thing|level)\b"
)
_NOT_SAME = regex(r"\b(?:not|than|as|about|almost|nearly|at|per|every|from|until|twice|half|more|less|before|after)\b")


@paragraph_gate(stems("same_"), UNITS[2])
def same_amounts(paragraph: Paragraph) -> Iterator[Finding]:
    """Two units beside `the same pressure` or `which is the same value`: `6.0 bar ... the same pressure is 187 psi`."""
    for one, other in itertools.pairwise(paragraph.values):
        if not one.group == other.group == "unit" or one.unit == other.unit or one.hedge or other.hedge:
            continue
        words = f"{paragraph.between(one, other)} | {paragraph.tail(other, 40)}"
        told = _SAME_AMOUNT.search(words)
        if told is None or paragraph.place(other) - paragraph.place(one) > 1 or len(words) > MOST_WORDS + 60:
            continue
        kind = dimension_name(one.unit or "")
        if kind is None or kind in _NOT_CHECKED or kind != dimension_name(other.unit or "") or other.value <= 0:
            continue
        reals = _reals(one, other)
        if _NOT_SAME.search(words[: told.start()].replace("given as", "")) or not reals or _agree(one, other, reals):
            continue
        if 0.09 < other.value / reals[0] < 11:
            message = f"{one.text} are {written_like(other, reals[0])}, not {other.text}."
            yield finding_at("conversion", other, message, meant=reals[0], others=[one], probability=0.88)


@paragraph_gate(stems("that this_ which_ it"), UNITS[2])
def told_conversions(paragraph: Paragraph) -> Iterator[Finding]:
    """The same with the second in the next sentence: `The trail is 42 km long. That is about 26 miles`."""
    if len({each.unit for each in paragraph.whole.numerals} - {None}) < 2:
        return
    for one, other in itertools.pairwise(paragraph.values):
        is_next = one.group == other.group == "unit" and paragraph.place(other) - paragraph.place(one) == 1
        if is_next and _THAT.fullmatch(paragraph.upto(other)) and _are_two_systems(one, other):
            yield from _compared(one, other, " is ", 6.0)


_ONE_OF = regex(
    r"(?<!quarter of )(?<!third of )(?<!eighth of )(?<!quarters of )\b(?P<half>half )?(?:a|an|per|each)"
    r" (?P<unit>cup|pint|quart|gallon|pound|ounce|tablespoon|teaspoon|foot|inch|yard|mile|acre)"
    r"(?: of [a-z]+(?: [a-z]+)?)? \($"
)
_MOST_OFF = 0.08
"""A cup has 237, 240 or 250 ml."""


def article_conversions(sentence: Sentence) -> Iterator[Finding]:
    """One of a unit, told by an article, with another unit in brackets: `a cup of milk (240 ml)`."""
    for other in sentence.quantities:
        match = _ONE_OF.search(sentence.beside(other)[0]) if other.group == "unit" else None
        if match is None or other.hedge or not sentence.beside(other)[1].startswith(")"):
            continue
        (one,) = find(f"1 {match['unit']}")
        reals = converted(0.5 if match["half"] else 1.0, one.unit or "", other.unit or "")
        if reals and all(abs(each - other.value) > other.half + _MOST_OFF * each for each in reals):
            real = float(f"{reals[0]:.2g}")
            message = f"{match[0].partition(' of ')[0].rstrip(' (')} is {written_like(other, real)}, not {other.text}."
            yield finding_at("conversion", other, message, meant=real, probability=0.88)


def _are_two_systems(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities measure the same in two systems of units, and are no limits."""
    if one.group != "unit" or other.group != "unit" or one.unit is None or other.unit is None:
        return False
    dimension = dimension_name(one.unit)
    if one.unit == other.unit or dimension in _NOT_CHECKED or dimension != dimension_name(other.unit):
        return False
    if system_of(one.unit) == system_of(other.unit) and not {one.unit, other.unit} & _OTHER_SYSTEM:
        return False
    return not {one.hedge, other.hedge} & {"over", "under"}


def _are_lists(values: Sequence[Quantity], place: int) -> bool:
    """Whether two lists of equal length meet at a place and agree: `46 to 57 ha (114 to 141 acres)`.

    The last of the first list and the first of the second are neighbours, but no conversion of each other.
    """
    for size in range(2, min(MOST_LISTED, place, len(values) - place) + 1):
        pairs = list(zip(values[place - size : place], values[place : place + size], strict=True))
        if all(_are_two_systems(*pair) and _agree(*pair, _reals(*pair)) for pair in pairs):
            return True
    return False


def _reals(one: Quantity, other: Quantity) -> tuple[float, ...]:
    """The first quantity in the unit of the second."""
    reals = converted(one.value, one.unit or "", other.unit or "")
    if dimension_name(one.unit or "") == "temperature":
        reals += converted(one.value, one.unit or "", other.unit or "", difference=True)
    if "cal" in (one.unit, other.unit):  # those of food are kilocalories
        reals = tuple(each * 1000 if one.unit == "cal" else each / 1000 for each in reals)
    return reals


def _agree(one: Quantity, other: Quantity, reals: Sequence[float]) -> bool:
    """Whether the second quantity is one of the values that the first has in its unit, as both are rounded."""
    return any(
        abs(each - other.value)
        <= 0.03 * abs(each)
        + max(other.half, min(other.last_place, 0.1 * other.value))
        + max(one.half, min(0.5 * one.last_place, 0.05 * one.value)) * abs(each / one.value)
        for each in reals
        if one.value
    )


def _compared(one: Quantity, other: Quantity, words: str, told: float = 4.0) -> Iterator[Finding]:
    is_same = _SAME.search(words) is not None
    is_told = _EQUAL.search(words) is not None or words.strip(" ") in ("(", ",", "–", "—", "-")
    if not is_same and (not is_told or _APART.search(words)):
        return
    reals = _reals(one, other)
    if not reals or one.value <= 0 or other.value <= 0 or _agree(one, other, reals):
        return
    bits = told + max(slip_bits(other, round(each / (2 * other.half)) * 2 * other.half) for each in reals)
    bits += 3.0 if 0.8 < other.value / reals[0] < 1.25 else 0.0
    bits += 4.0 if 0.4 < other.value / reals[0] < 2.5 and is_same else 0.0
    bits = max(
        bits, *(9.0 for each in reals if abs(other.value / each - 10) < 0.3 or abs(each / other.value - 10) < 0.3), 0.0
    )
    if bits >= NEEDED:
        meant = written_like(other, reals[0])
        message = f"{one.text} are {meant}, not {other.text}."
        yield finding_at("conversion", other, message, meant=reals[0], others=[one], probability=0.88)


def clock_conversions(sentence: Sentence) -> Iterator[Finding]:
    """Times such as `2:09:41` with the same in seconds, minutes or hours right behind: `27:50, or 1,760 seconds`."""
    for quantity in sentence.quantities:
        size = _CLOCK_UNITS.get(quantity.unit or "")
        before = sentence.text[: quantity.start - sentence.offset]
        match = _CLOCK.search(before) if len(quantity.numerals) == 1 else None
        if size is None or match is None:
            continue
        parts = [float(each) for each in match["time"].split(":")]
        if len(parts) == 2 and not _ENDED.match(sentence.text, quantity.end - sentence.offset):
            continue  # `at 14:30, or 25 minutes before noon`
        # Two parts are minutes and seconds, or hours and minutes.
        scales = ((3600, 60, 1),) if len(parts) == 3 else ((60, 1), (3600, 60))
        reals = [sum(a * b for a, b in zip(parts, scale, strict=True)) / size for scale in scales]
        slack = 2 * quantity.half + (0.03 * quantity.value if quantity.hedge else 0.0)
        real = min(reals, key=lambda each: abs(each - quantity.value))
        if abs(real - quantity.value) > slack and 0.5 < quantity.value / real < 2 and max(parts[1:]) < 60:
            message = f"{match['time']} are {plain(real)} {quantity.unit}, not {quantity.text.strip('()')}."
            yield finding_at("conversion", quantity, message, meant=real, probability=0.88)


def words_and_figures(sentence: Sentence) -> Iterator[Finding]:
    """A number in words and the same in figures in brackets right behind it, or the reverse, as contracts have it."""
    values = sentence.quantities
    for one, other in itertools.pairwise(values):
        if not one.numerals or not other.numerals:
            continue
        if one.numerals[0].text[:1].isdecimal() and other.numerals[0].text[:1].isalpha():
            yield from _figures_and_words(sentence, one, other)
        if not one.text[:1].isalpha():
            continue
        if one.value == other.value or one.value < 2 or not one.numerals[0].text[:1].isalpha():
            continue
        if (
            other.group not in ("plain", "money", "other", "unit")
            or not any(char.isdecimal() for char in other.text)
            or one.unit != other.unit
        ):
            continue
        between = sentence.between(one, other)
        is_held = between.strip() == "(" or (other.text.startswith("(") and not between.strip())
        behind = sentence.text[other.end - sentence.offset :].lstrip()
        if not is_held or not (other.text.endswith(")") or behind.startswith(")")):
            continue
        if one.value != int(one.value) or any(char.isalpha() for char in other.numerals[0].text):
            continue
        is_near = slip_bits(other, one.value) > 0
        is_money = one.group == "money"
        if is_money or (is_near and one.value >= 10):
            if not is_near and not 0.2 < other.value / one.value < 5:
                continue
            message = f"{one.text} are {plain(one.value)}, not {other.text.strip('()')}."
            yield finding_at("conversion", other, message, meant=one.value, others=[one], probability=0.9)


def _figures_and_words(sentence: Sentence, one: Quantity, other: Quantity) -> Iterator[Finding]:
    """`USD 2,450,000 (two million five hundred forty thousand United States dollars)`."""
    number = other.numerals[0]
    gap = sentence.text[one.numerals[0].end - sentence.offset : number.start - sentence.offset]
    if gap.strip() != "(" or not _CLOSED.match(sentence.text, number.end - sentence.offset):
        return
    if (
        number.value == one.value
        or min(one.value, number.value) < 10
        or (one.group != "money" and one.unit != other.unit)
    ):
        return
    if slip_bits(one, number.value) > 0 or (one.group == "money" and 0.2 < number.value / one.value < 5):
        message = f"{one.text} are not {number.text}, which is {plain(number.value)}."
        yield finding_at("conversion", other, message, meant=one.value, others=[one], probability=0.9)
