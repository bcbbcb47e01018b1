"""Sentences that have just the numbers of one relation: two values and a change, two times and a duration, a product.

Where a sentence names a change and holds no more than two values that could have changed, the order of its words does
not matter: the three numbers belong together. So these tests look at the words beside one number, and at the numbers.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.patterns import regex
from numerate.apps.consistency.slots import AMOUNT, PERCENT, one, slot
from numerate.numerals.unit_factors import converted, dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.quantities import Quantity
    from numerate.apps.consistency.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = [
    "FLIGHT",
    "blur_of",
    "closed_difference",
    "closed_factor",
    "closed_percent",
    "closed_result",
    "closed_span",
    "context_of",
    "is_change",
    "is_typo",
    "values_alike",
    "values_of",
]

_RISE = r"increases?|rises?|growth|gains?|jumps?|improvement|advance|surge|climb|uptick|hike|raise|boost|premium"
_DROP = (
    r"declines?|drops?|decreases?|falls?|reduction|loss|cuts?|discount|dip|slump|savings?|contraction|plunge"
    r"|slide|markdown"
)
_MOVED = (
    r"rose|risen|rising|grew|grown|climbed|increased|jumped|soared|surged|gained|improved|advanced|expanded"
    r"|went up|up|raised|lifted|overran|exceeded"
    r"|added|fell|fallen|falling|dropped|declined|decreased|shrank|slid|plunged|tumbled|sank|reduced|cut"
    r"|went down|down|lost|dipped"
    r"|slipped|lowered|eased|narrowed|shed|contracted|slashed|trimmed|shortened|widened|deepened|increasing"
    r"|reducing|cutting|raising|growing|dropping|losing|gaining|climbing|shrinking|declining|jumping|rising"
)
_MORE = (
    r"more|higher|greater|larger|above|better|bigger|longer|heavier|taller|faster|older|wider|deeper|less"
    r"|lower|fewer|smaller|below"
    r"|over (?:the|its|their|last)|under (?:the|its|their)|shorter|lighter|cheaper|younger|slower|narrower|up"
    r"|down|ahead|behind|clear|adrift|short"
)
_HEDGE = r"(?:(?:by|about|around|approximately|roughly|some|only|just|a|an|the|another|exactly) )*"
_BEFORE = regex(
    rf"\b(?:(?:{_MOVED}) {_HEDGE}|(?:{_RISE}|{_DROP}|change|difference|gap|margin) of {_HEDGE}"
    rf"|(?:{_MOVED}) (?:[^.;]|\.(?=\d)){{1,30}}(?:, or| \() ?{_HEDGE})[+−-]?$"
)
_BEHIND = regex(
    rf"(?:[ -](?:percentage[ -])?points?)?[ -](?:(?!points?\b)[a-z]+ )?(?:{_RISE}|{_DROP}|difference|gap|{_MORE})\b"
)
_OTHER = regex(
    r"\b(?:while|whereas|but|although|respectively|per|same-store|comparable-store|comparable|organic"
    r"|like-for-like|basis|excluding|adjusted|each|year-to-date"
    r"|annual|annually|forecast|expected"
    r"|highest|lowest|record|rates|yield|interest|another|further|both|including|of which|of whom|of them"
    r"|normal|usual|for every|every|off an?|as the|because|session|opening|compound\w*)\b|;"
)
_TIMES = frozenset(("year", "date", "clock", "ordinal"))


def context_of(sentence: Sentence, quantity: Quantity) -> tuple[str, str]:
    """The words before and behind a quantity, up to the next quantity or mark."""
    text = sentence.text
    start, end = quantity.start - sentence.offset, quantity.end - sentence.offset
    return text[max(0, start - 40) : start].lower(), text[end : end + 40].lower()


def _has_range(sentence: Sentence, values: list[Quantity]) -> bool:
    """Whether two of the values are a range: `may buy 140 to 190 more`."""
    for first, second in itertools.pairwise(values):
        if sentence.between(first, second).strip() in ("to", "-", "–", "—", "or") and "from" not in first.before:
            return True
    return False


def is_change(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether the words beside a quantity say that it is a change or a difference."""
    before, behind = context_of(sentence, quantity)
    return _BEFORE.search(before) is not None or _BEHIND.match(behind) is not None


def values_of(sentence: Sentence) -> list[Quantity]:
    """The quantities of a sentence that are no times and no ordinals."""
    return sentence.cached("values", _no_times)


def _no_times(sentence: Sentence) -> list[Quantity]:
    return [each for each in sentence.quantities if each.group not in _TIMES]


def values_alike(sentence: Sentence, least: int, most: int) -> list[Quantity]:
    """The values of a sentence that has so many of them, all of one kind and unit; none otherwise."""
    values = sentence.cached("alike", _alike)
    return values if least <= len(values) <= most else []


def _alike(sentence: Sentence) -> list[Quantity]:
    values = values_of(sentence)
    first = values[0] if values else None
    is_alike = all(each.group == first.group and each.comparable(first) for each in values)  # type: ignore[union-attr]
    return values if is_alike else []


def closed_percent(sentence: Sentence) -> Iterator[Finding]:
    """One change in percent, two values, and maybe their difference."""
    values = values_of(sentence)
    if not 3 <= len(values) <= 4:
        return
    # The words of a tax or an interest name no other base.
    words = _RATE_WORDS.sub(" ", sentence.skeleton) if _CHARGE.search(sentence.skeleton) else sentence.skeleton
    if _OTHER.search(words) or _TWO_BASES.search(words):
        return
    percents = [each for each in values if each.group == "percent"]
    others = [each for each in values if each.group != "percent"]
    if len(percents) == 2 and len(others) == 1:
        yield from _closed_points(sentence, percents, others[0])
    if len(others) == 3 and sum(each.unit is None for each in others) == 1:
        # `sales of its 12 shops rose 5 % from $40 million to $44 million`
        others = [each for each in others if each.unit is not None or each.value >= 1000]
    if len(percents) != 1 or any(not _is_kin(each, others[0]) for each in others):
        return
    p = percents[0]
    others = [_unhedged(each) if _is_compared(sentence, p, each) else each for each in others]
    is_rate = len(others) == 2 and others[0].group == "money" and _CHARGE.search(sentence.skeleton) is not None
    if (
        not (is_rate or is_change(sentence, p))
        or min(each.value for each in others) <= 0
        or p.value == 0
        or p.hedge in ("over", "under")
    ):
        return
    if any(each.hedge in ("over", "under") for each in others) or (
        others[0].unit is None and max(each.value for each in others) < 10
    ):
        return
    if len(others) == 3:
        # `by 0.4 L, or 12.5 %, from 3.2 L to 3.6 L`: the first is the difference of the others.
        low, middle, high = sorted(others, key=lambda each: each.value)
        differences = [low, middle] if abs(high.value - middle.value - low.value) <= 2 * high.half else []
        others = [each for each in others if each not in differences or not is_change(sentence, each)]
    share = abs(p.value)
    near: list[tuple[Quantity, Quantity, float]] = []
    for a in others:
        for b in others:
            if a is b:
                continue
            blur = blur_of(a) / a.value + blur_of(b) / b.value
            real = b.value / a.value - 1
            # A tax may be told with what it is added to: `19 percent, €437, which makes €2,737`.
            held = b.value / (a.value - b.value) if is_rate and a.value > b.value else real
            for each in (real, real + 1, *((1 - real, held) if is_rate else ())):
                if abs(abs(each) - share) <= p.slack + 0.003 + blur * b.value / a.value:
                    return
            if a.start < b.start and 0.25 < abs(real) / share < 4 and 1 / 4.1 < b.value / a.value < 4.1:
                near.append((a, b, real))
            elif is_rate and a.value > b.value and 0.4 < b.value / a.value / share < 2.5:
                near.append((a, b, b.value / a.value))
    if len(near) != 1:
        return
    a, b, real = near[0]
    message = f"From {a.text} to {b.text} is {'+' if real >= 0 else '-'}{written_like(p, abs(real))}, not {p.text}."
    if is_rate:
        message = f"{b.text} are {written_like(p, abs(real))} of {a.text}, not {p.text}."
    yield finding_at("percent", p, message, meant=abs(real), others=[a, b], probability=0.9)


_COMPARED = regex(r" (?:above|below|over|under|beyond|past|more than|less than|fewer than)\b")


def _is_compared(sentence: Sentence, p: Quantity, value: Quantity) -> bool:
    """Whether a word such as `above` compares the value with another one: `14 % above the $400 million of 2020`."""
    return value.start > p.start and _COMPARED.match(sentence.between(p, value)) is not None


def _unhedged(quantity: Quantity) -> Quantity:
    return dataclasses.replace(quantity, before="", _hedge="")


_CHARGES = r"(?:deposit|tax|tip|commission|interest|fee|vat|duty|levy|surcharge|royalty|down payment|gratuity)"
_CHARGE = regex(
    rf"\b{_CHARGES} (?:of|at|rate of) {one(PERCENT)}|{one(PERCENT)} (?:(?!in )[a-z]+ )?{_CHARGES}\b|\b{_CHARGES} on\b"
)
_RATE_WORDS = regex(r"\b(?:including|interest|annual|rates?|excluding|per (?:year|annum)|each year)\b")
_TWO_BASES = regex(r"\btwice\b|\bcompared\b.*\bfrom\b|\bfrom\b.*\bcompared\b")
"""`compared with 15 in December and fell 18 % from 17 in January`"""


_TIMES_WORD = regex(
    r"\b(?P<hedge>more than |nearly |almost |about |roughly |over |at least |approximately |not |some "
    r"|around |less than |only |up to )*"
    r"(?P<word>twice|doubl(?:ed|ing|e)|tripl(?:ed|ing|e)|trebled|quadrupled|halved|halving"
    r"|half)\b(?P<as> as (?:much|many|[a-z]+)| the (?:size|number|price|amount|height|length|weight))?"
)
_AS_MANY = ("as many as ", "as much as ", "as many as the ", "as much as the ")
_TIMES_VALUE = {"twice": 2.0, "doubl": 2.0, "tripl": 3.0, "trebl": 3.0, "quadr": 4.0, "halve": 0.5, "halvi": 0.5}


def closed_factor(sentence: Sentence) -> Iterator[Finding]:
    """Two values, of which one is said to be twice, three times or half of the other."""
    values = values_of(sentence)
    if len(values) != 2 or not values[0].comparable(values[1]) or values[0].group != values[1].group:
        return
    found = list(_TIMES_WORD.finditer(sentence.skeleton))
    a, b = (_unhedged(each) if each.before.lower().endswith(_AS_MANY) else each for each in values)
    if len(found) != 1 or found[0]["hedge"] or min(a.value, b.value) <= 0 or a.hedge or b.hedge:
        return
    word = found[0]["word"]
    factor = _TIMES_VALUE.get(word[:5])
    verb = word.endswith(("ed", "ing"))
    if (
        factor is None
        or not (verb or (word == "twice" and found[0]["as"]) or found[0]["as"])
        or _OTHER.search(sentence.skeleton.replace("many as the", "").replace("much as the", ""))
    ):
        return
    if (a.unit is None and not verb and (found[0]["as"] is None or min(a.value, b.value) < 10)) or _NOT_TIMES.search(
        sentence.skeleton
    ):
        return
    ratio = max(a.value, b.value) / min(a.value, b.value)
    factor = max(factor, 1 / factor)
    blur = (blur_of(a) / a.value + blur_of(b) / b.value) * ratio
    if abs(ratio - factor) <= 0.12 * factor + blur or not factor / 2.5 < ratio < factor * 2.5:
        return
    message = f"{a.text} and {b.text} differ by a factor of {plain(ratio)}, which is not {word!r}."
    yield finding_at("percent", b, message, others=[a], probability=0.9)


_NOT_TIMES = regex(
    r"\b(?:since|again|doubles|single|both|bed\w*|room\w*|album|then|would|could|(?<!in )may|might|if|plan\w*"
    r"|aim\w*|target|expected|won|game|time)\b"
)


_LOST_OR = regex(
    rf"\b(?P<w>{_MOVED}) (?:by )?(?:{slot('d', AMOUNT)}(?: [a-z]+)?(?:, or| \("
    rf"|, ) ?{slot('p', PERCENT)}"
    rf"|{slot('p2', PERCENT)}(?:, or| \(|, ) ?{slot('d2', AMOUNT)}(?: [a-z]+)?)(?:,|\))? (?:to|at)"
    rf" (?:(?:close|end|finish|stand|settle|trade|a|the|an|[a-z]+ed) )*(?:at |on )?{slot('b', AMOUNT)}"
)
"""`lost 120 points, or 1 %, to close at 11,880`"""
_FELL = regex(
    r"fell|fall|drop|declin|decreas|shrank|slid|plung|tumbl|sank|reduc|cut|down|lost|dip|slip|low|eas"
    r"|shed|contract|slash|trim"
)


def closed_result(sentence: Sentence) -> Iterator[Finding]:
    """A change in units and in percent, and the value that it led to."""
    for match in (
        _LOST_OR.finditer(sentence.skeleton) if " or " in sentence.skeleton or "(" in sentence.skeleton else ()
    ):
        d, p = (sentence.get(match, name if match[name] else name + "2") for name in "dp")
        b = sentence.get(match, "b")
        if not (d.comparable(b) or d.unit is None or b.unit is None) or any(each.hedge for each in (d, p, b)):
            continue
        before = b.value + d.value if _FELL.match(match["w"]) else b.value - d.value
        if before <= 0 or d.value <= 0 or not 0.1 < p.value * before / d.value < 10:
            continue
        real = d.value / before
        slack = p.half + 0.001 + real * (d.half / d.value + b.half / before)
        if abs(real - p.value) <= slack:
            continue
        message = f"{d.text} of {plain(before)} are {written_like(p, real)}, not {p.text}."
        yield finding_at("percent", p, message, meant=real, others=[d, b], probability=0.9)


def _closed_points(sentence: Sentence, percents: list[Quantity], points: Quantity) -> Iterator[Finding]:
    """Two percentages and how many points lie between them."""
    _, behind = context_of(sentence, points)
    if points.unit is not None or not _POINTS.match(behind) or not is_change(sentence, points):
        return
    real = 100 * abs(percents[0].value - percents[1].value)
    slack = points.slack + 100 * (percents[0].half + percents[1].half)
    if abs(real - points.value) <= slack + 1e-9 or not 0.2 < points.value / max(real, 1e-9) < 5:
        return
    message = (
        f"From {percents[0].text} to {percents[1].text} are {written_like(points, real)} points, not {points.text}."
    )
    yield finding_at("percent", points, message, meant=real, others=percents, probability=0.9)


_POINTS = regex(r"[ -](?:percentage[ -])?points?\b")


def _is_kin(one: Quantity, other: Quantity) -> bool:
    """Whether two values may be of one thing: the same unit, or a unit that is left out once."""
    return one.comparable(other) or (
        (one.unit is None) != (other.unit is None) and min(one.value, other.value) >= 10_000
    )


def blur_of(quantity: Quantity) -> float:
    """How far a value may be off by rounding; counts are exact, whole amounts of money nearly so."""
    if quantity.half == 0.5 and not quantity.hedge:
        if quantity.unit is None:
            return 0.0
        if quantity.group == "money":
            return min(0.5, 0.01 * abs(quantity.value))
    return quantity.slack


def is_typo(said: Quantity, real: float) -> bool:
    """Whether a value is written as the real one but for one digit or two exchanged ones; small numbers prove nothing.

    So near a miss of a relation that all numbers of a sentence take part in is hardly chance, whatever its words are.
    """
    step = 2 * said.half
    if step <= 0 or real <= 0 or not math.isfinite(real):
        return False
    if said.unit is not None or said.value >= 1000:
        step = max(step, said.last_place / 10)  # `$2,300` against `$2,200`
    one, other = (f"{round(value / step)}" for value in (said.value, real))
    if len(one) != len(other) or abs(round(real / step) * step - real) > 0.02 * real:
        return False
    differing = [index for index in range(len(one)) if one[index] != other[index]]
    if len(differing) == 1:
        return len(one) > 2 or (len(one) == 2 and abs(int(one) - int(other)) == 10)
    return (
        len(differing) == 2
        and differing[1] == differing[0] + 1
        and one[differing[0]] == other[differing[1]]
        and one[differing[1]] == other[differing[0]]
    )


_ALL_CLIMBS = regex(r"\b(?:total|cumulative|overall|accumulated|combined) (?:climb\w*|ascent|descent|gain|drop)\b")
_THAN_NOW = regex(r"\bthan (?:now|today|then|at present|currently)\b")


def _is_joined(sentence: Sentence, each: Quantity) -> bool:
    """Whether a number belongs to an adjective: `the three-vote margin`."""
    at = each.end - sentence.offset
    return sentence.text[at : at + 1] == "-" and sentence.text[at + 1 : at + 2].isalpha()


def closed_difference(sentence: Sentence) -> Iterator[Finding]:
    """One change in units and two values; the largest of three values less the other is the third."""
    values = values_of(sentence)
    if len(values) != 3 or values[0].group == "percent" or len({each.group for each in values}) != 1:
        return
    if _has_range(sentence, values) or _SIZES.search(sentence.skeleton) or _ALL_CLIMBS.search(sentence.skeleton):
        return
    if values[0].unit is None and (
        _THAN_NOW.search(sentence.skeleton) or len({_is_joined(sentence, each) for each in values}) > 1
    ):
        return
    sizes = _in_one_unit(values)
    is_plain = values[0].unit is None and not _GAP_BETWEEN.search(sentence.skeleton)
    if sizes is None or (is_plain and not _THAN.search(sentence.skeleton)):
        return
    if any(each.hedge in ("over", "under") for each in values) or min(sizes) <= 0:
        return
    changes = [each for each in values if is_change(sentence, each)]
    if not changes and _GAP_BETWEEN.search(sentence.skeleton):
        changes = values[-1:]
    if len(changes) != 1 or _FURTHER.match(context_of(sentence, changes[0])[1]):
        return
    d = changes[0]
    at = values.index(d)
    (a, x), (b, y) = [(each, size) for each, size in zip(values, sizes, strict=True) if each is not d]
    slack = sum(each.slack * size / each.value for each, size in zip(values, sizes, strict=True))
    real, said = abs(x - y), sizes[at]
    fits = (
        abs(real - said) <= slack
        or abs(x + y - said) <= slack
        or abs(x + said - y) <= slack
        or abs(y + said - x) <= slack
    )
    if fits or real == 0 or not 0.3 < said / real < 3 or said > max(x, y):
        return
    meant = real * d.value / said
    if _OTHER.search(sentence.skeleton) and not is_typo(d, meant):
        return
    message = f"The difference of {a.text} and {b.text} is {written_like(d, meant)}, not {d.text}."
    yield finding_at("difference", d, message, meant=meant, others=[a, b], probability=0.9)


_GAP_BETWEEN = regex(
    r"\b(?:gap|difference|margin|lead|distance) between\b.*\b(?:is|was|comes to|came to"
    r"|amounts to) (?:an? )?[^ ]+(?: [a-z]+)?\.?$"
)
_FURTHER = regex(r"(?: [a-z]+)? more(?! than\b)")
"""`and 60 more after an interview`"""
_SIZES = regex(r"\b(?:wide|long|length|width|perimeter|higher up|lower down)\b")
_THAN = regex(r"\b(?:than|from|compared|against|on the|over the|above|below|ahead of|behind|clear of)\b")


def _in_one_unit(values: list[Quantity]) -> list[float] | None:
    """The values in the unit of the first; None if they cannot be compared."""
    first, sizes = values[0], []
    for each in values:
        if each.comparable(first):
            sizes.append(each.value)
            continue
        if each.unit is None or first.unit is None:
            return None
        degrees = "°C" if each.unit == "°" else each.unit
        some = converted(each.value, degrees, "°C" if first.unit == "°" else first.unit, difference=True)
        if len(some) != 1 or dimension_name(first.unit) == "time":
            return None
        sizes.append(some[0])
    return sizes


_SPAN_CUE = regex(
    r"\b(?:took|takes|taking|last(?:ed|s|ing)?(?: for)?|spann(?:ed|ing)|(?:period|term|total|span|journey"
    r"|trip|stretch|duration|ride|reign|tenure|career|gap|interval) of"
    r"|(?:after|for|following|over) an? [a-z]+ of|open for|after|i\.e\.,?|that is,?|or"
    r"|(?:ran|runs|been [a-z]+ing|operated|served|reigned|ruled|existed|continued|lasting|in (?:use|office"
    r"|service|operation"
    r"|power)) for|so [a-z ]{0,24}) (?:an? |the |a full |exactly |in )?$"
)
_SPAN_END = regex(r"\s*(?:[.,;)]|$|(?:later|afterwards|apart|long|in all|in total|altogether|to [a-z]+)\b)")
_SPAN_BEHIND = regex(
    r" (?:after (?:the|its|his|her|their|an?)|later|afterwards|apart|in all|in total|altogether|long)\b"
)
_NOT_SPAN = regex(
    r"\b(?:born|died|which|who|ago|per|every|each|experience|first|last|next|another|previous|more than"
    r"|aged?|old|older|younger|sentence\w*|prison|contract|before|earlier|delay|late|early|within"
    r"|break|pause|interruption|notice|again|while|whereas|but|follow|warranty|minimum|maximum|least"
    r"|extension|extended|record"
    r"|since|additional|extra|since|remaining|average|around|some|about|months? of|weeks? of|days? of"
    r"|hours? of"
    r"|years? of (?!age|service|war|work))\b|;"
)


FLIGHT = regex(
    r"\b(?:flights?|flew|fly|flies|lands?|landed|takes off|took off|plane|local time|time zones?"
    r"|in the air|touche[sd] down|airborne)\b"
)
"""Local times differ."""


def closed_span(sentence: Sentence) -> Iterator[tuple[Quantity, Quantity, Quantity]]:
    """Two times and one duration: begin, end and what is said to lie between them."""
    times = [each for each in sentence.quantities if each.group in ("year", "date", "clock")]
    spans = [each for each in sentence.quantities if each.unit is not None and dimension_name(each.unit) == "time"]
    if len(times) != 2 or len(spans) != 1 or len(sentence.quantities) > 4:
        return
    d, (a, b) = spans[0], times
    before, behind = context_of(sentence, d)
    is_told = (_SPAN_CUE.search(before) or _SPAN_BEHIND.match(behind)) and not _NOT_SPAN.search(sentence.skeleton)
    if not is_told:
        is_years = a.group == b.group == "year" and d.unit == "year" and len(values_of(sentence)) == 1
        is_years = is_years and not _NOT_SPAN.search(sentence.skeleton) and " than " not in sentence.skeleton
        if is_years and d.value > 9 and not d.hedge and is_typo(d, abs(a.value - b.value)):
            yield (a, b, d) if a.value < b.value else (b, a, d)
        return
    if (
        (a.group == "clock") != (b.group == "clock")
        or d.hedge
        or (a.group == "clock" and FLIGHT.search(sentence.skeleton))
        or sentence.text[: a.start - sentence.offset].rstrip().endswith("(")
    ):
        return
    if (
        a.start < d.start < b.start
        and behind.startswith(" later")
        and not re.match(r" later,? (?:in|on|at)? ?$", sentence.between(d, b))
    ):
        return  # `operated on two days later and discharged on 10 March`
    if behind.startswith(" after") and not behind.startswith(" afterwards") and not a.start < d.start < b.start:
        return
    if behind.startswith((" later", " afterwards")) and (d.start < a.start or d.start - b.end > 45):
        return  # later than something else
    if d.start > max(a.start, b.start) and re.match(r" (?:later|afterwards),? [a-z]", behind):
        return  # `dissolved in 1951 and, 40 years later, refounded`
    if a.group == b.group and a.value > b.value and a.group != "clock":
        a, b = b, a  # `closed in 2009 after 30 years, having opened in 1969`
    yield a, b, d
