"""Values outside of what they can be: a mean outside of its range, a p-value of 1.3, a diastolic above the systolic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, PERCENT, UNIT, VALUE, slot
from numerate.apps.consistency.wrong import wrong_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["BOUND_WORDS", "centre_outside", "descending", "impossible_values"]

_A, _B, _X = slot("a", VALUE), slot("b", VALUE), slot("x", VALUE)
BOUND_WORDS = (
    "p-value", "P-value", "robability", "orrelation", "ensitivity", "pecificity", "ccuracy", "urnout", "umidity",
    "urity",    " rate ", "aturation", "lood pressure", " BP ", " pH ", "arket share", "R²", "AUC",
)  # fmt: skip
_IS = r"(?: (?:of|is|was|were|are|reached|at|=)|:| ?=)+ (?:only |just |about |a |an )?"
_UNIT_INTERVAL = regex(
    r"(?:(?<!log-)(?<!log )\b(?:p-values?|probability|correlation(?: coefficient)?|auc|area under the curve)|\br²)"
    rf"(?: \([a-zρ]+\))?{_IS}"
    rf"{slot('q', COUNT + PERCENT)}(?![a-z%/×]| ?(?:to|in|out of) )"
)
_WHOLE = regex(
    r"\b(?:sensitivity|specificity|accuracy|turnout|humidity|purity|(?:success|survival|response|pass|literacy|vaccination"
    r"|mortality|completion|detection|approval|graduation|retention|dropout|fatality) rate|(?:oxygen )?saturation"
    rf"|market share)(?: (?:in|for|of|at) [a-z ]{{1,24}}?)?{_IS}{slot('q', PERCENT)}"
)
_PRESSURE = regex(
    rf"\b(?:blood pressure|bp)(?: [a-z]+){{0,3}}?{_IS}{slot('a', COUNT + UNIT)} ?/ ?{slot('b', COUNT + UNIT)}"
)
_ACID = regex(rf"\bph(?: value)?(?: (?:of|is|was)|:| ?=)? {slot('q', COUNT)}(?= ?[.,;)]|$| (?:and|at|for|with|in)\b)")
_RANGE = rf"{_A}(?: ?(?:–|—|-) ?| to | and ){_B}"
_MEAN = r"\b(?:mean|median|averag(?:e|es|ed|ing)|mode)(?: [a-z]+){0,3}?(?: (?:of|was|is|at|being)|:| ?=)? "
_CENTRES = (
    regex(
        rf"(?:\bfrom |\bbetween |\baged |\bages |\b[a-z]+ of |\(|: "
        rf"|\b[a-z]+ ){_RANGE}[^.;\ue000-\uf8ff]{{0,30}}?{_MEAN}{_X}"
    ),
    regex(rf"{_MEAN}{_X}(?: [a-z]+){{0,3}}? ?(?:\(|,|;|with|and)[^.;\ue000-\uf8ff]{{0,25}}?{_RANGE}"),
)
_NOT_CENTRE = regex(
    r"\b(?:than|compared|versus|vs|national|annual|increase\w*|decrease\w*|rose|fell|respectively|while|but|per|previous\w*"
    r"|season|career|total|each|ratio|difference|difference between|ci|confidence|sd|change|score of|won|lost)\b|±"
)
_PLURALS = (
    r"(?:humidit(?:y|ies)|temperatures?|voltages?|speeds|pressures?|frequenc(?:y|ies)|wavelengths?|concentrations?|levels"
    r"|depths|altitudes|heights|weights|lengths|distances|sizes|ages|prices|doses|currents|powers|capacities|diameters|widths|volumes|angles|durations|sizes|weights)"
)
_DESCENDING = regex(rf"\b{_PLURALS} (?:of|from|between|in the range of) {_A}(?: to | and | ?[–—-] ?){_B}")
_FALLING = regex(
    r"\b(?:reverse|descend\w*|down|fell|falls?|falling|drop\w*|cool\w*|declin\w*|decreas\w*|reduc\w*|low\w*|cut|respectively"
    r"|versus|vs|sank|slow\w*|shr[aiu]nk\w*|lost|loss|chang\w*|went|brought|between the)\b"
)


def impossible_values(sentence: Sentence) -> Iterator[Finding]:
    """Probabilities above 1, shares above 100 %, a pH above 14, a diastolic pressure above the systolic."""
    skeleton = sentence.skeleton
    for match in _UNIT_INTERVAL.finditer(skeleton):
        q = sentence.get(match, "q")
        if q.hedge or not 1 < abs(q.value) < 10 or (q.group != "percent" and q.value == int(q.value)):
            continue
        yield finding_at("range", q, f"{q.text} is more than 1, which it cannot be.", probability=0.9)
    for match in _WHOLE.finditer(skeleton):
        q = sentence.get(match, "q")
        if not q.hedge and 1.0001 < q.value < 10:
            yield finding_at("range", q, f"{q.text} is more than 100 %, which it cannot be.", probability=0.88)
    for match in _ACID.finditer(skeleton):
        q = sentence.get(match, "q")
        if not q.hedge and 15 <= q.value < 150:
            yield finding_at("range", q, f"A pH of {q.text} is outside of 0 to 14.", probability=0.88)
    for match in _PRESSURE.finditer(skeleton):
        a, b = sentence.slots(match, "ab")
        if 30 <= a.value < b.value <= 260:
            message = f"The systolic pressure {a.text} is less than the diastolic, {b.text}."
            yield finding_at("range", a, message, others=[b], probability=0.9)


def centre_outside(sentence: Sentence) -> Iterator[Finding]:
    """`aged 18 to 65 years (mean 71.2 years)`: a mean or median outside of the range beside it."""
    skeleton = sentence.skeleton
    if _NOT_CENTRE.search(skeleton):
        return
    for pattern in _CENTRES:
        for match in pattern.finditer(skeleton):
            a, b, x = sentence.slots(match, "abx")
            if not (_alike(a, x) and _alike(b, x)) or a.value >= b.value or x.hedge in ("over", "under"):
                continue
            if " and " in match[0] and "between" not in match[0] and "from" not in match[0] and _is_and(sentence, a, b):
                continue
            if _GOES_ON.match(skeleton, match.end("x")) or " from " in skeleton[match.end("b") : match.start("x")]:
                continue
            if skeleton[match.end("x") : match.start("a")] == ", ":
                continue  # `the means were between 2.00, 2.24 and 2.59`
            if a.value - a.half - x.half <= x.value <= b.value + b.half + x.half or a.value < 0:
                continue
            if not a.value / 5 <= x.value <= b.value * 5 or "year" in (a.group, b.group):
                continue
            message = f"{x.text} lies outside of the range from {a.text} to {b.text}."
            yield finding_at("range", x, message, others=[a, b], probability=0.87)
            return


_GOES_ON = regex(r" ?(?:to|–|—|-|and) ?[\ue000-\ue009]")


def _is_and(sentence: Sentence, a: Quantity, b: Quantity) -> bool:
    return sentence.between(a, b).strip() == "and"


def _alike(one: Quantity, other: Quantity) -> bool:
    """Whether both may have one unit; the first end of a range often leaves it out."""
    if (one.group == "percent") != (other.group == "percent") or (one.group == "money") != (other.group == "money"):
        return False
    return one.comparable(other) or one.unit is None or other.unit is None


def descending(sentence: Sentence) -> Iterator[Finding]:
    """`humidities of 90 % to 20 %`: a range of a quantity with its ends exchanged."""
    skeleton = sentence.skeleton
    for match in _DESCENDING.finditer(skeleton):
        a, b = sentence.slots(match, "ab")
        if not _alike(a, b) or not a.value > 1.2 * b.value > 0 or _FALLING.search(skeleton) or a.hedge or b.hedge:
            continue
        yield wrong_order(a, b, 0.87)
