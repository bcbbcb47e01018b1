"""Counts times an amount: `24 biscuits of 15 g each from 360 g`, `$0.35 a share`, `2 tablets three times a day`.

The sentence has the amount of one, one or two counts, and an amount of all in a unit of the same kind.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo
from numerate.numerals.unit_factors import converted
from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["counted_products"]

_ONE_BEHIND = regex(
    r" ?(?:(?:[a-z'’-]+ ){0,2}?(?:each|apiece|a piece)\b|(?:[a-z'’-]+ )?(?:of [a-z]+ )?(?:per|an?|every"
    r"|for each(?: of (?:the|its|these))?|/) ?(?P<per>[a-z]{3,}|m²|m2|m³|m3|km|kg|ha|l\b))"
    r"|,? for each of (?:the|its|these|those) "
)
_GROUPS = regex(r"^ [a-z'’-]*(?:s|pieces|servings|doses|people|children)(?: [a-z'’-]+)? of (?:an? |the )?$")
_ALL_BEFORE = regex(
    r"\b(?:total\w*|add(?:s|ed|ing)? up|in all|altogether|comes? to|came to|makes?|making|made|giving|gives?|amount\w*"
    r"|cost\w*|is|was|are|were|or|so|thus|hence|i\.e\.,?|that is,?|for|paid|pays?|pay|earn\w*|earning|worth|uses?|used"
    r"|using|needs?|requires?|holds?|from|dose of|sum of|capacity of|length of|weigh\w*|spent|spends?|receiv\w+|raised?"
    r"|yield\w*|produc\w+|contain\w*|deliver\w*|supply|supplies|bill of|company|them|us|him|her|of)"
    r" (?:(?:an?|the|some|up|to|us|you|it|about|exactly|only|just|daily|total|[a-z]+ dose) ){0,3}(?:of )?$"
    r"|[:=(] ?$|, (?:an? )?$"
)
_OTHER = regex(
    r"\b(?:plus|includ\w+|shipping|tax|vat|discount|after (?![\ue000-\ue009])|before|of which|left over|(?:is"
    r"|are|was|were) left|more than|less than|averag\w*|between|rose"
    r"|fell|(?<!adds )(?<!add )(?<!added )up to|bonus|than|against|share of|while|but|won|beat|since|remain\w*"
    r"|minimum|maximum|at least|respectively|(?<!adds )(?<!add )(?<!added )up"
    r"|down|instead|compared|other|another|extra|additional|further|save|saves|saved|net|if|budget|compared|first|last"
    r"|over|about|nearly|almost|some|most|older|younger|record|sold for|loss|losses|profit|income|earned|quarter)\b|%"
)
_AND = regex(r"\band\b(?! (?:paid|cost|made|came|used|needed|earned|raised|received)\b)|\bwith\b")
_SHARED_OUT = regex(r"\b(?:equally|evenly|divided|shared|split|distributed)\b")
_SQUARES = {"m²": "m^2", "m2": "m^2", "m³": "m^3", "m3": "m^3"}
_HARD = regex(
    r"\b(?:plus|includ\w+|shipping|tax|vat|discount|of which|than|extra|additional|another|further|save[sd]?|net|bonus"
    r"|left|remain\w*|averag\w*|sold for|instead|before)\b|%"
)
_LEAST = 2


def counted_products(sentence: Sentence) -> Iterator[Finding]:
    """The last or first amount must be the product of the amount of one and all counts."""
    values = sentence.values
    if not 3 <= len(values) <= 4:
        return
    amounts = [each for each in values if each.unit is not None and each.group in ("unit", "money")]
    counts = [each for each in values if each.unit is None and each.group in ("plain", "other")]
    money = [each for each in amounts if each.group == "money"]
    if len(money) == 2 and len(amounts) > 2:
        # `80 m² at €12 per m²`, `€40 for each of the 25 days`
        counts += [each for each in amounts if each.group == "unit"]
        amounts = money
    elif len(amounts) == 3 and not counts:
        # `4 kg of seed per hectare; 15 hectares need 60 kg`
        kin = [each for each in amounts if sum(_in_unit(each, other) is not None for other in amounts) == 2]
        counts, amounts = [each for each in amounts if each not in kin], kin
    if len(amounts) != 2 or len(counts) != len(values) - 2 or any(each.hedge or each.value <= 0 for each in values):
        return
    if any((each.unit is None and each.value != int(each.value)) or each.value < _LEAST for each in counts):
        return
    for one, whole in itertools.permutations(amounts):
        size = _in_unit(one, whole)
        named = _is_named(sentence, one, counts)
        if (
            size is None
            or not (named or _is_one(sentence, one, counts))
            or not (named or _SHARED_OUT.search(sentence.skeleton) or _ALL_BEFORE.search(sentence.beside(whole)[0]))
        ):
            continue
        if "/" in (one.unit or "") and "/" in (whole.unit or ""):
            continue  # two rates, as 40 m/s and 144 km/h, of which none is the product of the other
        if _is_one_of(sentence, whole) or _AND.search(sentence.between(one, whole)):
            continue
        products = {
            size * each
            for some in range(1, len(counts) + 1)
            for each in map(_product, itertools.combinations(counts, some))
        }
        periods = _periods(sentence, one, counts)
        if periods:
            products = {size * periods}
        expected = size * (periods or _product(tuple(counts)))
        slack = 1.2 * whole.half + (one.half * expected / one.value if one.half < 0.4 else 0.0)
        ratio = whole.value / expected
        if any(abs(each - whole.value) <= slack for each in products) or not (
            0.45 < ratio < 2.2 or any(abs(ratio / each - 1) < 1e-6 for each in (0.01, 0.1, 10, 100))
        ):
            continue
        is_apart = _OTHER.search(sentence.skeleton) is not None
        if is_apart and (_HARD.search(sentence.skeleton) or not is_typo(whole, expected)):
            continue
        terms = " x ".join(plain(each.value) for each in counts)
        message = f"{terms} x {one.text} = {plain(expected)}, not {whole.text}."
        yield finding_at("product", whole, message, meant=expected, others=[one, *counts], probability=0.87)
        return


_EACH_IS = regex(
    r"\b(?:each|every|one|an?|per)(?: [a-z'’-]+)? (?P<noun>[a-z'’-]+) (?:is|was|are|costs?|weighs?|holds?|has"
    r"|measures?|takes?|contains?|covers?|seats?|needs?|of|at|lasts?|uses?)(?: (?:an?|about|only))? $"
)


def _periods(sentence: Sentence, one: Quantity, counts: list[Quantity]) -> float | None:
    """How many of its periods an amount is for: 24 of `a month` for two years."""
    match = _ONE_BEHIND.match(sentence.beside(one)[1])
    unit = UNITS.get(match["per"] or "") if match is not None else None
    if unit is None or len(counts) != 1 or counts[0].unit in (None, unit):
        return None
    found = converted(counts[0].value, counts[0].unit or "", unit)
    return float(round(found[0])) if len(found) == 1 and abs(found[0] - round(found[0])) < 0.02 * found[0] else None


def _is_named(sentence: Sentence, one: Quantity, counts: list[Quantity]) -> bool:
    """Whether the amount is that of one thing that is counted: `each lap is 400 m; after 25 laps ...`."""
    match = _EACH_IS.search(sentence.beside(one)[0])
    if match is None:
        return False
    nouns = [sentence.beside(each)[1].strip() for each in counts]
    return any(re.match(rf"(?:[a-z'’-]+ )?{re.escape(match['noun'][:5])}", noun) for noun in nouns)


def _product(some: tuple[Quantity, ...]) -> float:
    product = 1.0
    for each in some:
        product *= each.value
    return product


def _in_unit(one: Quantity, whole: Quantity) -> float | None:
    if one.unit == whole.unit or (one.unit or "").partition("/")[0] == whole.unit:
        return one.value
    if one.group == "money" or whole.group == "money":
        return None
    sizes = converted(one.value, one.unit or "", whole.unit or "")
    return sizes[0] if len(sizes) == 1 else None


def _is_one_of(sentence: Sentence, quantity: Quantity) -> bool:
    behind = sentence.beside(quantity)[1]
    match = _ONE_BEHIND.match(behind)
    return match is not None and match["per"] not in ("day", "year", "month", "week", "total")


def _is_one(sentence: Sentence, one: Quantity, counts: list[Quantity]) -> bool:
    """Whether the amount is that of one thing: `15 g each`, `$0.35 a share` of shares, `24 bags of 15 kg`."""
    behind = sentence.beside(one)[1]
    per_unit = (one.unit or "").partition("/")[2]
    if per_unit and any(each.unit == per_unit for each in counts):
        return True
    match = _ONE_BEHIND.match(behind)
    if match is not None:
        per = match["per"]
        if per is None or per in ("day", "hour", "week", "month", "year", "night"):
            return True
        if any(each.unit is not None and each.unit in (UNITS.get(per), _SQUARES.get(per)) for each in counts):
            return True
        nouns = [sentence.beside(each)[1].strip() for each in counts]
        return any(re.match(rf"(?:[a-z'’-]+ )?{re.escape(per[:5])}", noun) for noun in nouns)
    groups = [each for each in counts if each.start < one.start]
    return bool(groups) and _GROUPS.match(sentence.between(groups[-1], one)) is not None
