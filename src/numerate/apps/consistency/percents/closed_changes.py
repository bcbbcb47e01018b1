"""Further sentences with just the numbers of one change: growth and its result, margins, ages, and stocks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.change_words import is_change
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, UNIT, slot
from numerate.apps.consistency.wrong import wrong_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = [
    "closed_ages", "closed_fraction", "closed_growth", "closed_margin", "closed_stock",
    "closed_taken", "closed_times", "closed_way",
]  # fmt: skip

_SEVERAL = regex(
    r"\b(?:while|whereas|but|although|respectively|per|each|every|both|including|of which|of whom|forecast|expected"
    r"|basis|annual\w*|compound\w*|same-store|organic|excluding|record|twice|another|further|interest|since)\b"
)


_LATER = regex(r"\band (?:by|in|then)\b")


def closed_growth(sentence: Sentence) -> Iterator[Finding]:
    """`grew by 3,000 to 33,000, an increase of 10 %`: a change in units and in percent, and where it led."""
    values = sentence.values
    if len(values) != 3 or _SEVERAL.search(sentence.skeleton) or _LATER.search(sentence.skeleton):
        return
    percents = [each for each in values if each.group == "percent"]
    others = [each for each in values if each.group != "percent"]
    if (
        len(percents) != 1
        or not others[0].comparable(others[1])
        or any(each.hedge or each.value <= 0 for each in values)
    ):
        return
    p, d, end = percents[0], *sorted(others, key=lambda each: each.value)
    if (
        not is_change(sentence, p)
        or not is_change(sentence, d)
        or is_change(sentence, end)
        or d.value * 3 > end.value * 2
    ):
        return
    bases = (end.value - d.value, end.value + d.value, end.value)
    near = d.value / bases[0]
    blur = p.half + 0.002 + near * (d.blur / d.value + end.blur / end.value)
    if any(abs(d.value / base - p.value) <= blur for base in bases) or not 0.3 < p.value / near < 3:
        return
    message = f"{d.text} of {plain(bases[0])} are {written_like(p, near)}, not {p.text}."
    yield finding_at("percent", p, message, meant=near, others=[d, end], probability=0.87)


_UNITS = r"(?:points?|goals?|runs?|votes?|seats?|strokes?|games?|frames?|tries)"
_SCORE = regex(rf"(?<![–—-]){slot('a', COUNT)} ?(?:[–—-]|to) ?{slot('b', COUNT)}(?! ?[–—-])")
_MARGIN = regex(
    rf"\b(?:by|of|with|to) (?:an? |the )?(?:margin of )?{slot('d', COUNT)} {_UNITS}\b(?! (?:per|each|in|from|to))"
    rf"|{slot('d2', COUNT)}[ -](?:point|goal|run|vote|seat|stroke|shot|game)[ -](?:win|victory|loss|defeat"
    rf"|lead|margin"
    r"|majority|advantage|triumph|deficit|gap|difference|cushion)\b"
)
_NOT_MARGIN = regex(
    r"\b(?:half-time|halftime|interval|break|trail\w*|came from|at one (?:point|stage)|once|aggregate|earlier"
    r"|previous\w*|season|record|series|quarter|period|set|leg|penalt\w*|overtime|extra time|up to|as many as|averag\w*"
    r"|followed|after the|since the|ago)\b"
)


_OTHER_GAME = regex(
    r"\b(?:after|following|since|before|avenging|despite) (?:an?|their|its|his|her|the|last)(?: [a-z]+)? $"
)


def closed_margin(sentence: Sentence) -> Iterator[Finding]:
    """`beat Spain 31-27, their widest victory, by six goals`: one score and one margin."""
    skeleton = sentence.skeleton
    scores, margins = list(_SCORE.finditer(skeleton)), list(_MARGIN.finditer(skeleton))
    if len(scores) != 1 or len(margins) != 1 or _NOT_MARGIN.search(skeleton) or len(sentence.values) != 3:
        return
    a, b = sentence.get(scores[0], "a"), sentence.get(scores[0], "b")
    d = sentence.get(margins[0], "d" if margins[0]["d"] else "d2")
    if _OTHER_GAME.search(sentence.beside(d)[0]):
        return
    real = abs(a.value - b.value)
    if d in (a, b) or d.hedge or d.value in (0, real) or real == 0 or d.value > 3 * real or real > 5 * d.value:
        return
    yield wrong_difference(d, a, b, real, 0.87)


_APART = regex(r"\b(?:apart|older|younger|senior|junior|age (?:difference|gap)|difference in age|between them)\b")
_AGED = regex(
    r"\b(?:is|was|aged|age|at|and|the (?:[a-z]+ )?(?:older|younger|elder|other|first|second|sister|brother|one)|then"
    r"|now|,) $|\($"
)


def closed_ages(sentence: Sentence) -> Iterator[Finding]:
    """`the older is 17 and the younger 12, so they are five years apart`: two ages and their difference."""
    values = sentence.values
    if len(values) != 3 or not _APART.search(sentence.skeleton):
        return
    spans = [each for each in values if each.unit == "year"]
    ages = [each for each in values if each.unit is None and each.group == "plain" and 0 < each.value < 120]
    if len(spans) > len(values) - 2 and len(spans) == 3:
        ages, spans = spans[:2], spans[2:]  # `17 years old`
    if len(values) != 3 or len(spans) != 1 or len(ages) != 2 or any(each.hedge for each in values):
        return
    d, (a, b) = spans[0], ages
    if not all(_AGED.search(sentence.beside(each)[0]) for each in ages) or _SEVERAL.search(sentence.skeleton):
        return
    real = abs(a.value - b.value)
    if abs(real - d.value) <= 1e-9 or real == 0 or not 0.3 < d.value / real < 3 or a.value + d.value == b.value:
        return
    message = f"The difference of {a.text} and {b.text} is {plain(real)} years, not {d.text}."
    yield finding_at("difference", d, message, meant=real, others=[a, b], probability=0.87)


_CAME = regex(
    r"\b(?:inflows?|receipts|received|deposit\w*|arriv\w+|join\w*|births|hired|bought|purchas\w+"
    r"|add(?:ed|ing|s)?|gained|earned"
    r"|got on|boarded|returned|delivered|income|admitted|admissions|new|revenues?|signed|born|enrolled|produced)\b"
)
_WENT = regex(
    r"\b(?:outflows?|payments|paid|withdr[ae]w\w*|depart\w*|left(?! with)|deaths|resign\w*|retir\w*|sold|sell\w*"
    r"|remov\w+|lost|spent|gave|got off|alighted|lent|shipped|used|expens\w+|spending|costs|discharg\w+|discharges|died"
    r"|dropped out|closed|repaid|repayments?|consumed|cancelled)\b"
)
_BEGUN = regex(
    r"\b(?:beginning|opening|start\w*|began|begins|initial\w*|originally|had|has|with|was|were|of|from|on)\b"
)
_ENDED = regex(
    r"\b(?:stood at|stands at|end\w*|closing|closed|clos\w+|finish\w*|now|left|leaving|remain\w*|leaves|final|had|has"
    r"|bringing [a-z ]+ to|balance|total|then|amount\w* to|came to|was|are|were|is|of|to|with|at|there were|to give)"
    r"(?: [a-z]+){0,3} $"
)
_RATES = regex(
    r"\b(?:than|compared|versus|per|each|every|averag\w*|between|of which|of whom|of them|respectively|while"
    r"|such as|offset)\b|%"
)


def closed_stock(sentence: Sentence) -> Iterator[Finding]:
    """`$18 million at first; after inflows of 9 and outflows of 6 it was 21`: a stock, and what came and went."""
    values = sentence.values_alike(4, 5)
    skeleton = sentence.skeleton
    if not values or values[0].group == "percent" or any(each.hedge or each.value <= 0 for each in values):
        return
    start, end, moves = values[0], values[-1], values[1:-1]
    if not _CAME.search(skeleton) or not _WENT.search(skeleton):
        return
    if _RATES.search(skeleton) or not _ENDED.search(sentence.beside(end)[0]):
        return
    if max(each.value for each in moves) >= start.value and start.unit is None:
        return
    if not _BEGUN.search(skeleton[: skeleton.find("\ue100") + 40]):
        return
    slack = sum(each.blur for each in values)
    slack = min(slack, 0.6 * max(2 * each.half for each in values)) if values[0].unit is not None else slack
    results = [
        start.value + sum(sign * each.value for sign, each in zip(signs, moves, strict=True))
        for signs in itertools.product((1, -1, 0), repeat=len(moves))
    ]
    if any(abs(each - end.value) <= slack for each in (*results, sum(each.value for each in moves))):
        return
    mixed = [
        start.value + sum(sign * each.value for sign, each in zip(signs, moves, strict=True))
        for signs in itertools.product((1, -1), repeat=len(moves))
        if len(set(signs)) == 2
    ]
    near = min(mixed, key=lambda each: abs(each - end.value))
    if near <= 0 or not 0.75 < end.value / near < 1.33:
        return
    message = f"{plain(start.value)} with what came and went is {plain(near)}, not {end.text}."
    yield finding_at("sum", end, message, meant=near, others=values[:-1], probability=0.85)


_AS = (
    r"(?P<as>as (?!well |soon )[a-z]+ as|the (?:[a-z]+ of (?=[\ue000-\ue009])|(?=[\ue000-\ue009])|(?:size|number|price"
    r"|amount|height|length|weight|area|population|cost|rate|figure|total|capacity|distance|value|speed|mass|volume)\b)"
    r"|larger|higher|bigger|more|heavier|longer|taller|(?:that|those) (?:of|in))(?<=[ a-z])"
)
_TIMES = regex(rf"(?:{slot('n', COUNT)} times|\b(?P<word>twice|double|triple)) {_AS}")
_WORDS = {"twice": 2.0, "double": 2.0, "triple": 3.0}
_LOOSE = regex(
    r"\b(?:about|around|nearly|almost|roughly|over|more than|less than|at least|up to|some|approximately|only|would"
    r"|could|may|might|if|expected|plan(?:s|ned)?|since|won|each|every|per|respectively|season|career|week|day|year)\b"
)


def closed_times(sentence: Sentence) -> Iterator[Finding]:
    """`a population of 8,400, three times the size of Hale, which has 4,200`: two values and their factor."""
    skeleton = sentence.skeleton
    values = sentence.values
    is_told = 2 <= len(values) <= 3 and any(map(skeleton.__contains__, (" times ", "twice ", "double ", "triple ")))
    found = list(_TIMES.finditer(skeleton)) if is_told else []
    if len(found) != 1 or _LOOSE.search(skeleton):
        return
    word = found[0]["word"]
    n = None if word else sentence.get(found[0], "n")
    rest = [each for each in values if each is not n]
    # `twice as many as the 300` is no bound of the 300.
    hedges = {each.hedge for each in values} - ({"under"} if found[0]["as"].startswith("as ") else set())
    if len(rest) != 2 or any(hedges) or any(each.value <= 0 for each in values):
        return
    a, b = rest
    if not a.comparable(b) or a.group != b.group:
        return
    factor = _WORDS[word] if n is None else n.value
    ratio = max(a.value, b.value) / min(a.value, b.value)
    blur = 0.1 + sum(each.blur / each.value for each in (a, b))
    fits = (factor, factor + 1) if found[0]["as"] in ("larger", "higher", "bigger", "more", "heavier") else (factor,)
    if factor < 2 or any(abs(ratio / each - 1) <= blur for each in fits) or not 0.35 < ratio / factor < 2.9:
        return
    told = word if n is None else n.text
    message = f"{a.text} and {b.text} differ by a factor of {plain(ratio)}, not {told}."
    meant = ratio if n is not None else None
    yield finding_at("percent", n or a, message, meant=meant, others=[a, b] if n is not None else [b], probability=0.87)


_BY_PART = regex(
    r"\b(?:(?P<down>fell|fallen|dropp?(?:ed|ing)?|cut|reduced|reducing|declined|decreased|shrank"
    r"|shrunk|down|lowered|lost|slashed)"
    r"|(?P<up>rose|risen|grew|grown|up|increased|raised|climbed|gained|jumped|expanded)) (?:by )?(?:an?|one)[ -]"
    r"(?P<part>half|third|quarter|fifth|sixth|eighth|tenth)\b"
    r"|\b(?:an?|one)[ -](?P<part2>third|quarter|fifth|sixth|eighth|tenth) (?P<how>more|less|fewer|higher|lower"
    r"|larger|smaller|cheaper|longer|shorter)\b"
)
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_HEDGED = regex(
    r"\b(?:about|around|nearly|almost|roughly|over|more than|less than|at least|some|approximately|only) (?:an?"
    r"|one|by)\b"
)


def closed_fraction(sentence: Sentence) -> Iterator[Finding]:
    """`up by a third on last year: 400 members, compared with 300 then`: two values and a fraction in words."""
    text = sentence.text.lower()
    if not any(part in text for part in _PARTS):
        return
    found = list(_BY_PART.finditer(text))
    if len(found) != 1 or _HEDGED.search(text) or _SEVERAL.search(text):
        return
    match = found[0]
    values = [
        each
        for each in sentence.values
        if not (each.start - sentence.offset < match.end() and each.end - sentence.offset > match.start())
    ]
    if len(values) != 2 or not values[0].comparable(values[1]) or values[0].group != values[1].group:
        return
    low, high = sorted(values, key=lambda each: each.value)
    if low.value <= 0 or any(each.hedge for each in values) or (high.unit is None and high.value < 10):
        return
    share = 1 / _PARTS[match["part"] or match["part2"]]
    is_down = match["down"] is not None or match["how"] in ("less", "fewer", "lower", "smaller", "cheaper", "shorter")
    real = 1 - low.value / high.value if is_down else high.value / low.value - 1
    blur = 0.12 * share + (low.blur + high.blur) / low.value
    if abs(real - share) <= blur or not 0.3 < real / share < 3:
        return
    message = f"{low.text} and {high.text} differ by {real:.0%}, not by {match['part'] or match['part2']}."
    yield finding_at("percent", high, message, others=[low], probability=0.87)


_WAY = regex(
    rf"\bfrom (?:[a-z]+ ){{0,3}}?{slot('a', COUNT + UNIT + MONEY)}(?: [a-z]+){{0,5}}? to "
    rf"(?:[a-z]+ ){{0,3}}?{slot('b', COUNT + UNIT + MONEY)}"
)
_EXTRA = regex(r"\b(?:so|thus|therefore|hence),? (?:an?other|(?:a )?further)\b")
_MEANS = regex(
    r"(?:,|;|:|\(| –| —)? ?(?:so|thus|therefore|hence|i\.e\.,?|that is,?|or|which (?:is|means|makes)|meaning"
    r"|making|giving|equal to"
    r"|it|this)?(?: [a-z'’-]+){0,5}? (?:another|further|additional|extra|whole|full|difference of|gap of|way of"
    r"|path of|by|total of|distance of) $|\b(?:i\.e\.,?|that is,?|equals|makes|so) (?:by )?(?:an? )?$"
)


def closed_way(sentence: Sentence) -> Iterator[Finding]:
    """`deepened from 35 m to 52 m, so another 17 m had to be drilled`: two ends and the way between them."""
    values = sentence.values
    match = _WAY.search(sentence.skeleton) if len(values) == 3 and "from " in sentence.skeleton else None
    if match is None or _SEVERAL.search(_EXTRA.sub(" ", sentence.skeleton)):
        return
    a, b = sentence.slots(match, "ab")
    rest = [each for each in values if each not in (a, b)]
    if len(rest) != 1 or rest[0].start < b.start or any(each.hedge for each in (a, b, *rest)):
        return
    d = rest[0]
    if not (d.comparable(b) and (a.comparable(b) or a.unit is None)) or not _MEANS.search(sentence.between(b, d)):
        return
    real = abs(a.value - b.value)
    slack = 2.02 * max(each.half for each in (a, b, d)) if d.unit is not None and d.group != "money" else 0.0
    slack = slack if max(each.half for each in (a, b, d)) < 0.4 or d.value > 40 else min(slack, 1.01)
    if real == 0 or abs(real - d.value) <= slack or not 0.3 < d.value / real < 3 or d.value in (a.value, b.value):
        return
    yield wrong_difference(d, a, b, real, 0.86)


_TAKEN = regex(
    r"\b(?P<part>half|one half|a third|one third|two thirds|a quarter|one quarter|three quarters|a fifth|a tenth)"
    r" (?:of )?(?:the|its|all|their|his|her) (?P<q>\S)"
)
_SHARES = {
    "half": 1 / 2, "one half": 1 / 2, "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3, "a quarter": 1 / 4,
    "one quarter": 1 / 4, "three quarters": 3 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10,
}  # fmt: skip
_LEAVING = regex(r"\b(?:leav(?:es?|ing)|left|remain(?:s|ing|ed)?|rest)(?: [a-z'’-]+){0,3} ?$")


def closed_taken(sentence: Sentence) -> Iterator[Finding]:
    """`a third of the 90 litres has been used, leaving 60 litres`: a whole, a fraction in words, and what is left."""
    text = sentence.text.lower()
    if "lea" not in text and "left" not in text and "rem" not in text and "rest" not in text:
        return
    match = _TAKEN.search(text)
    if match is None or len(_TAKEN.findall(text)) != 1:
        return
    values = [each for each in sentence.values if each.start - sentence.offset >= match.end() - 1]
    if len(values) != 2 or not values[0].comparable(values[1]) or any(each.hedge or each.value <= 0 for each in values):
        return
    whole, z = values
    if whole.start - sentence.offset - match.end() > 1 or not _LEAVING.search(sentence.beside(z)[0]):
        return
    real = whole.value * (1 - _SHARES[match["part"]])
    if (
        any(abs(each - z.value) <= 0.03 * each + z.half for each in (real, whole.value - real))
        or not 0.4 < z.value / real < 2.5
    ):
        return
    message = f"{whole.text} less {match['part']} is {plain(real)}, not {z.text}."
    yield finding_at("percent", z, message, meant=real, others=[whole], probability=0.86)
