"""Products and quotients: price times count, groups of a size, areas, and rates (`240 km in 3 hours, 80 km/h`)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, plain, rules
from numerate.apps.consistency.products.body_mass import body_mass
from numerate.apps.consistency.products.counted_doses import counted_doses
from numerate.apps.consistency.products.counted_products import counted_products
from numerate.apps.consistency.products.daily_doses import daily_doses
from numerate.apps.consistency.products.densities import densities
from numerate.apps.consistency.products.each_gets import each_gets
from numerate.apps.consistency.products.frequencies import frequencies, game_parts, repetitions, round_robins
from numerate.apps.consistency.products.game_rates import game_rates
from numerate.apps.consistency.products.near_products import near_products
from numerate.apps.consistency.products.paragraph_rates import paragraph_rates
from numerate.apps.consistency.products.sized_products import found, sized
from numerate.apps.consistency.products.unit_prices import unit_prices
from numerate.apps.consistency.products.unit_products import (
    rate_conversions,
    told_areas,
    told_volumes,
    unit_products,
)
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, COUNT, MONEY, UNIT, one, slot
from numerate.apps.consistency.sentences.traits import VALUES
from numerate.apps.consistency.sums.closed_counts import closed_product
from numerate.apps.consistency.sums.equations import wrong_equations
from numerate.numerals.unit_factors import converted, measure_of
from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Products"]

_GAP = r"(?:[^.;\ue000-\uf8ff]|(?<=i)\.(?=e)|(?<=\.e)\.)"
_WORDS = r"(?: [a-z'’-]+){0,4}?"
_TIMES = r"(?: each| apiece| per [a-z]+| a piece| an? [a-z]+|/[a-z]+)"
_EACH = regex(
    rf"{slot('n', COUNT)}(?P<thing>{_WORDS}),? (?:at|for|@|priced at|costing|worth|each costing|sold at"
    rf"|bought at|of) (?:only |just )?{slot('x', MONEY)}{_TIMES}"
    rf"(?P<gap>{_GAP}{{0,50}}?){slot('t', MONEY)}(?!{_TIMES})"
)
_SUM_CUE = regex(
    r"\b(?:total\w*|in all|altogether|makes?|making|comes? to|came to|cost|costs|is|was|paid|pays?|=|earn\w*|spend\w*"
    r"|amount\w*|or|i\.e\b|that is|giving|gives|for|sum|bill|spent|spends?|received?|course|logged|worked|covered"
    r"|covers|produced?|produces|saved|saves|used?|uses|consumed?|made|complet\w+|walk\w*|drove|ran|cycled|read)\b|="
    r"|^, $|^: $|^ \($"
)
_MORE = regex(
    r"\b(?:including|includes|plus|shipping|tax|vat|discount|after|before|delivery|fee|and|tip|with|left"
    r"|of which|than|bonus|already|against|budget|having|per|each|net|first|last|sold)\b"
)
_PER = regex(
    rf"{slot('x', AMOUNT)}(?P<thing>(?: [a-z'’-]+){{0,2}}?)(?: (?:per|an?|each|every) "
    r"|/)(?P<per>[a-z]+)(?: [a-z]+){0,2}? (?:for|over|during|times|x|×"
    rf"|in) {slot('n', UNIT + COUNT)}(?P<noun>(?: [a-z]+)?)"
    rf"(?P<gap>{_GAP}{{0,45}}?){slot('t', AMOUNT)}"
)
_GROUPS = regex(
    rf"{slot('n', COUNT)}(?: equal| full| whole| monthly| weekly| annual| daily| yearly"
    rf"| quarterly)* (?P<thing>[a-z-]+s) of {slot('m', AMOUNT)}(?P<item> (?!ma"
    r"k|giv|hold|contain|or |that )[a-z]+"
    rf")?(?: each)?(?P<gap>{_GAP}{{0,30}}?){slot('t', AMOUNT)}(?P<noun> (?!in |al)[a-z]+)?"
    r"(?P<tail>(?: [a-z]+)?(?: in all| in total| altogether| all told))?"
)
_PLURAL_OF = regex(rf"s of {one(AMOUNT)}")
"""What all groups have; a look for it is cheap."""
_INTO = regex(
    rf"{slot('t', COUNT)}(?P<thing>{_WORDS})(?P<gap>{_GAP}{{0,60}}?)\b(?:into|in"
    rf"|as) {slot('n', COUNT)}(?: equal| different)? (?P<what>groups|teams|classes|batches|boxes|packs|rows"
    r"|sets|bags|lots|crates|packets|sections|parts|piles|arms|bundles|cages|squads|teams"
    rf"|tables) of {slot('m', COUNT)}(?! ?(?:to|or|-|–))"
)
_BY = regex(
    rf"{slot('a', UNIT)} ?(?:by|x|×|wide by|long by|long and) ?{slot('b', UNIT)}(?: ?(?:by|x"
    rf"|×) ?{slot('c', UNIT)})?(?P<gap>{_GAP}{{0,50}}?){slot('t', UNIT)}"
)
_BOX = regex(
    rf"{slot('a', UNIT)} (?:long|wide|broad|in length|in width),? (?:by |and )?{slot('b', UNIT)} (?:wide|broad"
    rf"|long|deep"
    rf"|high|in width|in length)(?:,? (?:by |and )?{slot('c', UNIT)} (?:deep|high|tall|thick|in (?:height"
    rf"|depth)))?(?P<gap>{_GAP}{{0,50}}?){slot('t', UNIT)}"
)
_IN = (
    rf"{slot('x', AMOUNT)}(?P<thing>{_WORDS}) (?:in|for|over|during|across|within|on) (?:only |just |the |his "
    rf"|her |its |their |a total of |all |an? )*{slot('y', UNIT + COUNT)}(?P<noun>(?: [a-z]+)?)(?P<rest>(?: [a-"
    r"z]+){0,2}?)"
)
_Z = slot("z", AMOUNT)
_UNIT_OF_Z = regex(r"(?: [a-z]+){0,2}?(?: per | an? |/| each )([a-z]+)")
_RATE = regex(rf"{_IN}(?P<gap>,? ?{_GAP}{{0,45}}?){_Z}")
_RATE_BEFORE = regex(
    rf"(?P<gap>\b(?:averag\w+|speed|rate|pace|mean)(?: [a-z]+){{0,2}} (?:of )?){_Z}(?P<far>{_GAP}{{0,40}}?){_IN}"
)
_RATE_WORDS = (" per ", " a ", " an ", "/", " each ", "averag", "speed", "that is")
_RATE_CUE = regex(
    r"\b(?:averag\w*|mean|or|i\.e\b|that is|rate of|speed of|pace of|which is|equal to|equivalent to|that’s"
    r"|that's|giving|working out at)\b|\($|=|^(?: [a-z]+)? (?:are|is|makes?|equals?) $"
)
_PEAK = regex(
    r"\b(?:top|max\w*|peak|min\w*|record|limit|up to|high|low|fastest|best|above|below|than|against"
    r"|previous|over|while|but|and then|rested|tips?)\b"
)


_PERIODS = (" second", " minute", " hour", " day", " week", " month", " quarter", " year", " annual", " daily")


@rules.register("product")
class Products(Rule):
    """A product or quotient must fit its factors."""

    title = "product"
    help = "A total, area or rate does not fit the numbers that it is the product or quotient of."
    needs = (VALUES[2],)
    least_of_paragraph = 2

    def wants(self, tally: Tally, text: str) -> bool:
        """Three values, or two with a period each."""
        if tally.values == 2:
            return sum(word in text for word in _PERIODS) > 1 or (tally.units > 1 and tally.times > 1 and ":" in text)
        return tally.values > 2

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares totals with rates and counts in other sentences."""
        yield from paragraph_rates(paragraph)
        yield from near_products(paragraph)
        if paragraph.tally.units > 2 and any(map(paragraph.lower.__contains__, ("²", "m2", "square", "sq"))):
            yield from told_areas(paragraph)
        yield from told_volumes(paragraph)
        yield from daily_doses(paragraph)
        yield from counted_doses(paragraph)
        yield from body_mass(paragraph)
        yield from densities(paragraph)

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks for timetables, parts of games and rounds of leagues."""
        yield from frequencies(document.text, sentences)
        yield from repetitions(document.text, sentences)
        yield from game_parts(document.text, sentences)
        yield from round_robins(document.text, sentences)
        yield from game_rates(document.text, sentences)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for prices, groups, areas and rates."""
        quantities = sentence.quantities
        if len(quantities) < 2:
            return
        skeleton = sentence.skeleton
        if sum(word in skeleton for word in _PERIODS) > 1:
            yield from rate_conversions(sentence)
        if len(quantities) < 3:
            return
        if written_out := list(wrong_equations(sentence, is_product=True)):
            yield from written_out
            return
        yield from closed_product(sentence)
        yield from unit_products(sentence)
        yield from list(counted_products(sentence)) or each_gets(sentence)
        yield from unit_prices(sentence)
        if MONEY in skeleton:
            for match in _EACH.finditer(skeleton):
                yield from _priced(sentence, match)
        if _PLURAL_OF.search(skeleton):
            for match in _GROUPS.finditer(skeleton):
                yield from _grouped(sentence, match)
            for match in _INTO.finditer(skeleton):
                yield from _divided(sentence, match)
        if UNIT in skeleton and skeleton.count(UNIT) > 2:
            for pattern in (_BY, _BOX):
                for match in pattern.finditer(skeleton):
                    yield from sized(sentence, match)
        if any(map(skeleton.__contains__, _RATE_WORDS)) or any("/" in (each.unit or "") for each in quantities):
            for match in _PER.finditer(skeleton):
                yield from _per(sentence, match)
            for pattern in (_RATE, _RATE_BEFORE):
                for match in pattern.finditer(skeleton):
                    yield from _rated(sentence, match)


def _priced(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    n, x, t = sentence.slots(match, "nxt")
    tail = sentence.skeleton[match.end() : match.end() + 40]
    if (
        not x.comparable(t)
        or n.before.endswith(("of the ", "of its "))
        or n.hedge
        or x.hedge
        or not _SUM_CUE.search(match["gap"])
        or _MORE.search(match["gap"] + tail)
    ):
        return
    yield from found(
        t, n.value * x.value, n.value * (x.half if x.half < 0.4 else 0.0), f"{plain(n.value)} x {x.text}", [n, x]
    )


def _stem(word: str | None) -> str:
    word = (word or "").strip()
    if word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 3 else word


def _is_per(per: str, quantity: Quantity, noun: str) -> bool:
    """Whether `per hour` fits a number of hours, `per game` a number of games."""
    if quantity.unit is not None:
        return UNITS.get(per) == quantity.unit or UNITS.get(per + "s") == quantity.unit
    return bool(per) and _stem(noun) == _stem(per)


def _per(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    x, n, t = sentence.slots(match, "xnt")
    if not _is_per(match["per"], n, match["noun"]) or not (x.comparable(t) and x.group == t.group):
        return
    tail = sentence.skeleton[match.end() : match.end() + 40]
    if not _SUM_CUE.search(match["gap"]) or _MORE.search(match["gap"] + tail) or x.hedge or n.hedge:
        return
    yield from found(t, x.value * n.value, n.value * (x.half if x.half < 0.4 else 0.0), f"{x.text} x {n.text}", [x, n])


def _grouped(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    n, m, t = sentence.slots(match, "nmt")
    sizes = converted(1.0, m.unit, t.unit) if m.unit and t.unit and m.unit != t.unit else ()
    scale = 1.0 if m.comparable(t) else sizes[0] if len(sizes) == 1 else None
    cue = match["tail"] is not None or re.search(
        r"\b(?:make|makes|making|hold|holds|give|gives|giving|contain\w*|total\w*|or|i\.e\b|that is|weigh\w*|costs?"
        r"|seats?)\b|=|\($",
        match["gap"],
    )
    same = match["item"] is None or match["noun"] is None or _stem(match["item"]) == _stem(match["noun"])
    if (
        not cue
        or not same
        or _MORE.search(match["gap"])
        or n.value < 2
        or (m.unit is None and m.value < 2)
        or scale is None
        or n.hedge
        or m.hedge
        or t.value < (m.value * scale if m.unit is not None else max(n.value, m.value))
    ):
        return
    yield from found(t, n.value * m.value * scale, 0.0, f"{plain(n.value)} x {m.text}", [n, m])


def _divided(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    n, m, t = sentence.slots(match, "nmt")
    if not re.search(
        r"\b(?:divid|split|separat|sort|pack|group|assign|arrang|distribut|randomi|allocat|organi)",
        match["thing"] + match["gap"],
    ):
        return
    if (
        n.value < 2
        or m.value < 2
        or any(each.hedge for each in (n, m, t))
        or re.search(r"\b(?:each|to|or|up)\b", match["gap"])
    ):
        return
    yield from found(t, n.value * m.value, 0.0, f"{plain(n.value)} x {plain(m.value)}", [n, m])


def _rated(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    x, y, z = sentence.slots(match, "xyz")
    gap = match["gap"]
    if (
        y.value <= 0
        or not _RATE_CUE.search(gap)
        or _PEAK.search(gap)
        or x.hedge in ("over", "under")
        or y.hedge in ("over", "under")
    ):
        return
    expected = _quotient(x, y, z, match)
    if expected is None:
        return
    slack = expected * (_share(x) + _share(y) + 0.005) + (z.last_place / 2 if z.hedge else 0.0)
    yield from found(z, expected, slack, f"{x.text} / {y.text}", [x, y])


def _share(quantity: Quantity) -> float:
    """How far a value may be off, as a share of it; counts are exact."""
    if quantity.half == 0.5 and not quantity.hedge:
        return 0.0 if quantity.unit is None else 0.1 / abs(quantity.value or 1.0)
    return quantity.slack / abs(quantity.value or 1.0)


def _quotient(x: Quantity, y: Quantity, z: Quantity, match: re.Match[str]) -> float | None:
    """The quotient in the unit of the rate; None if the rate is not one of these two."""
    units = [measure_of(each.unit) if each.unit else None for each in (x, y, z)]
    if all(units):
        a, b, c = units
        powers = dict(a.powers)  # type: ignore[union-attr]
        for name, power in b.powers:  # type: ignore[union-attr]
            powers[name] = powers.get(name, 0) - power
        if {key: power for key, power in powers.items() if power} == dict(c.powers) and c.powers:  # type: ignore[union-attr]
            return x.value * a.factors[0] / (y.value * b.factors[0]) / c.factors[0]  # type: ignore[union-attr]
        return None
    if z.unit and z.unit.endswith("/(100*km)") and y.unit == "km" and x.unit == z.unit.split("/")[0]:
        return 100 * x.value / y.value
    whole, _, part = ("", "", "min") if z.unit == "wpm" else (z.unit or "").partition("/")
    if part and y.unit == part and (x.unit or "") == whole:
        return x.value / y.value
    per = _UNIT_OF_Z.match(match.string, match.end("z"))
    if per is None or not (x.comparable(z) and x.group == z.group) or not _is_per(per[1], y, match["noun"]):
        return None
    return x.value / y.value
