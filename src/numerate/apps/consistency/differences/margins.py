"""Margins, leads, gaps and clearances that are not the difference of the two values told before them.

`12,418 votes to Brandt's 11,962, a margin of 546`; `the shaft is 24.98 mm, the bore 25.03 mm: a clearance of 0.5 mm`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, written_like
from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import windows_of
from numerate.apps.consistency.sentences.slots import COUNT, VALUE, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.apps.consistency.wrong import wrong_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["margins"]

_D = slot("d", VALUE)
_NOUN = (
    r"(?:margin|majority|lead|gap|difference|clearance|spread|shortfall|surplus|deficit|advantage|head start|overspend"
    r"|underspend|excess|discrepancy|play|allowance|overlap|saving|savings|profit|loss|height gain|vertical drop|drop"
    r"|ascent|height difference|rise in height|vertical rise|winning margin|victory margin)"
)
_IS = r"(?: (?:is|was|of|being|equals|amounts to|amounted to|comes to|came to|works out at|stood at|stands at)|:)"
_JUST = r"(?: (?:just|only|exactly|a mere|a|an|the|precisely|thus|therefore|then|now))*"
_CLAIMS = (
    regex(
        rf"\b{_NOUN}(?: (?:between|of|in) (?:the two|them|these|votes|both|victory|points|height|altitude|elevation"
        rf"|level|length|weight|size|price|cost|temperature|age|width|depth|value|area|capacity"
        rf"|output))?{_IS}{_JUST} {_D}"
    ),
    regex(
        rf"{_D}[ -](?:points?|votes?|goals?|runs?|seats?|shots?|strokes?)?[ -]?(?:winning )?(?:margin"
        r"|majority|lead|gap|difference"
        rf"|clearance|spread|shortfall|surplus|deficit|advantage|discrepancy|head start)\b"
    ),
    regex(
        r"\b(?:won|win|wins|winning|lost|losing|prevail\w*|victory|victorious|beaten|leads?|led|ahead"
        r"|behind|short|trailing"
        rf"|trails|shy|over budget|under budget|wins it)"
        rf"(?: [a-z]+){{0,3}}? by{_JUST} {_D}(?: (?:votes|points|goals|runs|seats|strokes|shots|seconds|minutes))?"
    ),
    regex(
        rf"(?<!the ){_D}(?: (?:votes|points|goals|runs|seats|strokes|shots))? (?:ahead|behind|clear|short"
        r"|adrift|shy|apart)\b"
    ),
)
_RESULT = r"(?:win|victory|defeat|loss|triumph|success|result|thriller|rout|decision|upset|over)"
_SCORE = regex(
    rf"(?<![–—-]){slot('a', COUNT)} ?[–—-] ?{slot('b', COUNT)}(?! ?[–—-])(?=(?: [a-z-]+){{0,2}}? {_RESULT}\b)"
    r"|\b(?:won|beat|beats|beating|defeat(?:s|ed|ing)?|lost|final score|edged|downed|thrashed"
    r"|overcame|finished|ended)\b[^.;\ue000-\uf8ff]{0,50}?"
    rf"{slot('c', COUNT)} ?[–—-] ?{slot('f', COUNT)}(?! ?[–—-])"
)
_OTHER_GAME = regex(
    r"\b(?:after|since|than|previous\w*|following|aveng\w*|earlier|unlike|another|year|years|month"
    r"|week|ago|repeat)\b[^.]{0,30}$"
)
_IN_GAME = regex(
    r"\b(?:lead|led|leading|trail\w*|half-?time|half|quarter|closed|start|record|season|period"
    r"|innings|set|aggregate|ahead|series)\b"
)
_LAST_DAY = regex(r"\blast (?:night|week(?:end)?|month|[a-z]+day)\b")
_FINAL = regex(
    rf"{slot('d', COUNT)}[ -](?:point|goal|run)[ -](?P<what>margin|win|victory|defeat|loss|triumph|winning margin)\b"
    r"|\b(?:margin|winning margin|margin of victory)(?: (?:of|was"
    rf"|is))+{_JUST} {slot('e', COUNT)}(?: (?:points|goals|runs))?(?=[.,;]|$| )"
)
_CUES = (
    "margin", "majorit", " lead", " led ", " gap", "ifference", "clearance", "spread", "shortfall", "surplus",
    "deficit", "dvantage", " by ", "ahead", "behind", "clear", "short", "excess", "ascent", "saving", "profit", "loss",
    " play", "-point ", "-goal ", "-run ", "drop", "gain",
)  # fmt: skip
_CLAIM_CUES = stems(
    "margin majority lead gap difference clearance spread shortfall surplus deficit advantage head overspend "
    "underspend excess discrepancy play allowance overlap saving profit loss gain drop ascent rise won_ win_ wins_ "
    "winning lost_ losing prevail victor beaten led_ ahead behind short trail shy over_ under_ clear adrift apart"
)
"""What a match of one of the claims has in it."""
_OPEN = regex(
    r"\b(?:per cent of|each|per|averag\w*|half-time|halftime|quarter|previous\w*|last year|year earlier|earlier|record"
    r"|on average|odds|interval|respectively|as many as|as much as|at least|up to (?=[\ue000-\ue009])|more than"
    r"|total of \S+ (?:and|plus)|plus|rose|fell|increas\w*|decreas\w*|declin\w*|grew|gross|operating|net|tax|ebitda"
    r"|share|minutes? (?:to go|left)|remaining)\b"
)
_IF = regex(r"\b(?:when|if|once|until|unless|should|must|may|might|would|could|can|whenever|where|allow\w*|need\w*)\b")
_METAL = regex(r"[\ue000-\uf8ff] lead$")
_ARTICLE = regex(r"\b(?:an?|the|his|her|its|their|our|this|that|[a-z]+['’]s?) (?:[a-z]+ ){0,2}$")
_BETWEEN_TWO = regex(
    r"^(?:[^.]{0,45}?)(?:;|\bto\b|\bagainst\b|\bversus\b|\bvs\b|,|\band\b|\bwhile\b|\bwith\b|\bbut\b|\bfrom\b"
    r"|\bfor\b)"
)


@group_gate(_CLAIM_CUES | stems("point goal run"), VALUES[3])
def margins(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Claims of a difference with exactly two values of its kind before them, in one or two sentences."""
    if sum(len(each.numerals) for each in sentences) < 3:
        return
    for window in windows_of(text, sentences, _CUES, 2):
        if sum(part.tally.values for part in window) < 3:
            continue
        values = sum(each.kind not in ("year", "date", "time", "ordinal") for part in window for each in part.numerals)
        if values < 3:
            continue
        if any(word in window[-1].text for word in ("-point", "-goal", "-run", "margin")):
            yield from _score(window)
        if not any(word in window[-1].text for word in _CUES):
            continue
        if window[-1].traits & _CLAIM_CUES:
            yield from _margin(window[-1:]) if _count(window[-1]) >= 3 else _margin(window)


def _count(sentence: Sentence) -> int:
    return sum(each.group in ("plain", "unit", "money", "percent") for each in sentence.quantities)


def _margin(window: list[Sentence]) -> Iterator[Finding]:
    sentence = window[-1]
    words = sentence.skeleton
    found = {}
    for pattern in _CLAIMS:
        for match in pattern.finditer(words):
            found[sentence.get(match, "d").start] = (sentence.get(match, "d"), match)
    if len(found) != 1:
        return
    d, match = next(iter(found.values()))
    if (
        d.hedge
        or d.value <= 0
        or re.match(r" ?(?:to|[–—-]) ?[\ue000-\ue009]", words[match.end("d") :])
        or _OPEN.search(words[: match.end() + 12])
    ):
        return
    if _METAL.search(match[0]) and not _ARTICLE.search(words[: match.start()]):
        return  # `32.0% zinc and 3.0% lead`
    if _IF.search(words[max(0, match.start() - 40) : match.start()]) or re.match(
        r" (?:[a-z]+ )?or (?:more|less)", words[match.end("d") :]
    ):
        return
    if len(window) > 1 and not re.search(r"\b(?:margin|majority|lead|gap|difference|clearance)\b", match[0]):
        return  # a deficit or a profit may be that of another time
    if len(window) > 1 and (_OPEN.search(window[0].skeleton) or re.match(r"(?:with|including|without|after) ", words)):
        return
    pool = [each for part in window for each in part.quantities if each.start < d.start]
    alike = [each for each in pool if _alike(each, d)]
    if len(alike) != 2 or any(each.hedge or each.value <= 0 for each in alike):
        return
    a, b = alike
    if _between(window, a, b).strip() in ("and", "or", "-", "–") or any(each.shared for each in a.numerals):
        return
    if not _BETWEEN_TWO.match(_between(window, a, b)) or _gap_too_far(window, b, d):
        return
    scale = 100.0 if a.group == "percent" and d.group != "percent" else 1.0
    real = abs(a.value - b.value) * scale
    slack = (0.0 if _is_whole(a, b, d) else a.half * scale + b.half * scale) + (0.0 if _is_whole(a, b, d) else d.half)
    ratio = d.value / real if real else 0.0
    if a.group != "percent" and not min(a.value, b.value) / max(a.value, b.value) > 0.2:
        return  # two values of one kind
    if a.group == "plain" and min(a.value, b.value) < 10:
        return  # too many small numbers stand near each other
    if _is_far(window, b, d) and not 0.5 < ratio < 2:
        return
    if abs(real - d.value) <= slack * 1.01 + 1e-9 or not 1 / 11 < ratio < 11:
        return
    message = f"The difference of {a.text} and {b.text} is {written_like(d, real)}, not {d.text}."
    yield finding_at("difference", d, message, meant=real, others=alike, probability=0.88)


def _score(window: list[Sentence]) -> Iterator[Finding]:
    """A final score in the sentence or the one before, and the margin of the win."""
    sentence = window[-1]
    claims = [*_FINAL.finditer(sentence.skeleton)]
    scores = [(part, match) for part in window for match in _SCORE.finditer(part.skeleton)]
    if len(claims) != 1 or len(scores) != 1 or any(part.skeleton.count("-") > 6 for part in window):
        return
    part, match = scores[0]
    a, b = (part.get(match, name) for name in ("ab" if match["a"] else "cf"))
    if part is not sentence and _IN_GAME.search(part.skeleton.replace("led by as many", "")):
        return
    d = sentence.get(claims[0], "d" if claims[0]["d"] else "e")
    real = abs(a.value - b.value)
    if _OTHER_GAME.search(sentence.skeleton[: claims[0].start() + 1]):
        return
    if d.value == real or not real or a.value > 250 or d.hedge or d.start in (a.start, b.start):
        return
    near = sentence.skeleton
    if part is sentence and claims[0]["what"] in ("win", "victory", "defeat", "loss", "triumph"):
        ends = sorted((match.span(), claims[0].span()))
        near = _LAST_DAY.sub(
            "", near[max(0, ends[0][0] - 8) : ends[1][1] + 12]
        )  # what else the sentence tells of the game is no matter
    if re.search(r"\b(?:half|quarter|record|previous|last|first|second|aggregate|average|season|career)\b", near):
        return
    yield wrong_difference(d, a, b, real, 0.9)


def _alike(each: Quantity, d: Quantity) -> bool:
    if d.group == "plain" and each.group == "percent":
        return True
    if each.group == "ratio" or d.group == "ratio":
        return False
    return each.group == d.group and each.comparable(d)


def _is_whole(*values: Quantity) -> bool:
    return all(each.half == 0.5 and each.unit is None for each in values)


def _between(window: list[Sentence], a: Quantity, b: Quantity) -> str:
    for part in window:
        if part.offset <= a.start and b.end <= part.offset + len(part.text):
            return part.between(a, b)
    return ", " if b.start - a.end < 90 else ""


def _is_far(window: list[Sentence], b: Quantity, d: Quantity) -> bool:
    """Whether another clause or sentence lies between the values and the claim."""
    last = window[-1]
    return b.start < last.offset or ";" in last.between(b, d)


def _gap_too_far(window: list[Sentence], b: Quantity, d: Quantity) -> bool:
    return d.start - b.end > (160 if len(window) == 1 else 200)
