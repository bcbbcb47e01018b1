"""A percentage that nearly fits the two other numbers of its sentence, with hardly a look at the words.

In real texts, two values of one kind beside one percentage are its base and its result, or its part and its whole, in
five of six sentences with just these numbers. So a percentage that fits no such reading, but one of them nearly, is
suspect whatever the words between are. Words that set the percentage apart, such as `and costs by 25 %`, silence it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.change_words import OTHER_TARGET, are_changes, is_change
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["loose_percent"]

LEAST_PLAIN = 8
_CHANGED = regex(
    r"\b(?:increas|decreas|ris[ei]|rose|grew|grow|fell|fall|drop|declin|up\b|down\b|more\b|less\b|fewer|higher|lower"
    r"|above|below|cut\b|cutting|rais|gain|lost\b|los[se]|reduc|discount|jump|climb|slip|slid|surg|soar|plung"
    r"|shr[aiu]nk|expand|improv|cheap|than\b|sav(?:e|ed|ing)|dearer|mark|lower|over the|exceed|swell|doubl|widen"
    r"|shorten|slow|fast|trim|slash|went|compar|from\b.*\bto\b|to\b.*\bfrom\b|vat\b|tax\b|tip\b|fee\b|commission"
    r"|interest\b|surcharge|deposit|off\b|instead\b|used to)"
)
_NOT_PERCENT = regex(
    r"\b(?:but|while|whereas|although|points?|stake|owned|split|tariff|respectively|per|each|every|annual\w*|average"
    r"|compound\w*|another|further|twice|since|first|second|previous record|record|wages?|pct bid|bid|offered|extra"
    r"|additional|both|forecast|target|confidence|ci|threshold|level|significan\w*|accuracy|top-\w*|alcohol|aged?"
    r"|versus|vs|excluding|same-store|organic|comparable|year-to-date|majority|winning|rival|at least|accuracy|yields?"
    r"|coupon|bonds?|notes|maturity|poll|error|seats?|interest in|holding|diluted|because|after which|then|if|would"
    r"|could|ago)\b|;|\ue004.*/"
)
_TWO_THINGS = regex(r"\band (?:[a-z]+ )?(?:cut|raised?|increased?|reduced?|will|invest|has|have|had|is|was|plans?)\b")


_APART_BEFORE = regex(r"\b(?:and|with|plus|as well as)(?: [a-z'’-]+){0,4} $")
"""`9 of 12 penalties and 85 % of her tackles`"""
_APART_BEHIND = regex(
    r" of (?!(?:them|these|those|all|the total|the whole|the (?:[a-z]+ )?(?:vote|group|sample|total|population|budget"
    r"|sum|price))\b)(?!(?:the |its |all |their )?[\d$€£])|, with\b| (?:of|from) (?:his|her|their|its|other)\b"
)


_COMPARED = regex(
    r" (?:(?P<up>up on|higher than|above|more than|over|larger than|greater than|better than)|down on|lower than"
    r"|below|less than|fewer than|smaller than|under|short of)\b"
)
_FEWER = regex(r" (?:fewer|less|lower|cheaper|smaller|shorter|lighter|more|higher|larger|longer|heavier|dearer)\b")

_WAY = regex(r"(?: [a-z]+){0,3}? to ")
_LARGER_WHOLE = regex(r" of (?:the |all )?(?:national|world|global|country|state|county)\b")
"""A whole that the sentence does not count: `3,300 pairs, or 41 % of the national total`."""


_JOINED = regex(r" ?[-–/] ?")
_HELD = regex(r"(?: [a-z'’-]+){0,3} ?[(\[]")
_AND_THEN = regex(r"\band (?:his|her|their|its|the|one|another) [a-z]")


def loose_percent(sentence: Sentence) -> Iterator[Finding]:
    """One percentage and two values of one kind that it fits in no way."""
    values = sentence.values
    if sentence.cached("joined", lambda _: False):
        return  # the percentage of one sentence and the values of the other
    if not 3 <= len(values) <= 4 or _NOT_PERCENT.search(sentence.skeleton) or _TWO_THINGS.search(sentence.skeleton):
        return
    percents = [each for each in values if each.group == "percent"]
    others = [each for each in values if each.group != "percent"]
    if len(others) == 3:
        measured = [each for each in others if each.unit is not None]
        others = (
            measured if len(measured) == 2 and all(each.value < 1000 for each in others if not each.unit) else others
        )
    if len(percents) != 1 or len(others) != 2 or any(each.hedge or each.value <= 0 for each in (*percents, *others)):
        return
    (p,), (a, b) = percents, others
    if sentence.beside(a)[0].endswith("between ") or are_changes(sentence, others):
        return  # a range, or two changes
    before, behind = sentence.beside(p)
    if (
        _APART_BEFORE.search(before)
        or _APART_BEHIND.match(behind)
        or _LARGER_WHOLE.match(behind)
        or OTHER_TARGET.match(behind)
    ):
        return
    if not a.comparable(b) or a.group != b.group or a.group in ("ratio", "other") or a.value == b.value:
        return
    if a.unit is None and any(1900 <= each.value < 2100 for each in (a, b)):
        return  # a year
    if a.unit is None and (min(a.value, b.value) < LEAST_PLAIN or a.text[:1].isalpha() or b.text[:1].isalpha()):
        return
    if "time" in (a.group, b.group) or a.unit in ("year", "month", "d", "h", "min", "week"):
        return
    low, high = sorted((a, b), key=lambda each: each.value)
    blur = min(low.blur / low.value, 0.015) + min(high.blur / high.value, 0.015)
    readings = {
        "up": high.value / low.value - 1,
        "down": 1 - low.value / high.value,
        "share": low.value / high.value,
        "part": low.value / (low.value + high.value),
        "other": high.value / (low.value + high.value),
        "ratio": high.value / low.value,
        "difference": low.value / max(high.value - low.value, 1e-9),
        "sum": low.value / (high.value + low.value),
    }
    if p.end <= min(a.start, b.start) or a.end <= p.start < p.end <= b.start:
        other = min((each for each in (a, b) if each.start >= p.end), key=lambda each: each.start)
        if _AND_THEN.search(sentence.between(p, other)):
            return  # `of the 200 cookies, his wife took 30 %, and his daughter took 40`
    compared = _COMPARED.match(behind)
    if compared is not None and a.start < p.start < b.start:
        # `$2.1 billion, 5 % up on $2.2 billion`: the last value is the base.
        real = a.value / b.value - 1
        asked = p.value if compared["up"] else -p.value
        if abs(real - asked) > 1.1 * p.half + 0.003 + blur * (1 + abs(real)) and 0.55 < abs(real / asked) < 1.8:
            message = f"{a.text} is {real:+.0%} of {b.text}, not {asked:+.0%}."
            yield finding_at("percent", p, message, others=[a, b], probability=0.82)
        return
    if _FEWER.match(behind):
        readings = {"down": readings["down"], "up": readings["up"]}
    for real in readings.values():
        if abs(real - abs(p.value)) <= 1.1 * p.half + 0.003 + blur * (1 + real):
            return
    is_signed = (before + p.text[:1]).endswith(("+", "-", "−"))
    changed = is_signed or _CHANGED.search(sentence.skeleton) is not None or is_change(sentence, p)
    named = ("up", "down") if changed or "share" not in readings else ("share",)
    of: dict[str, str] = dict.fromkeys(named, f"{low.text} of {high.text} are")
    is_pair = _JOINED.fullmatch(sentence.between(low, high)) is not None  # `28-71 (39.4 %)`
    if not changed and not is_pair and high.end <= p.start and _HELD.fullmatch(sentence.between(high, p)):
        # `66 boxes (55 %) were used, 54 were empty`: the share of the larger one can only be that of both.
        named, of = ("other",), {"other": f"{high.text} of {plain(low.value + high.value)} are"}
    name = min(named, key=lambda each: abs(math.log(max(readings[each], 1e-9) / abs(p.value))))
    near = readings[name]
    is_way = changed and _WAY.fullmatch(sentence.between(a, b)) and sentence.beside(a)[0].endswith("from ")
    most = 5.0 if is_way else 1.8
    if not 1 / most < abs(p.value) / max(near, 1e-9) < most or p.value > 1.5:
        return
    message = (
        f"From {a.text} to {b.text} is {written_like(p, near)}, not {p.text}."
        if changed
        else f"{of[name]} {written_like(p, near)}, not {p.text}."
    )
    yield finding_at("percent", p, message, meant=near, others=[a, b], probability=0.8)
