"""A value that is told again with `the`, `this`, `its` or `all`, and is not the one told before.

`injuring 37 people ... most of the 73 injured`; `a floor area of 3,200 m² ... with its floor area of 2,300 m²`. As with
paragraphs, evidence is counted in bits: words that point back, a noun that both share, and how the two values differ.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.repeats.told_words import ALL_OF_IT, APART, STOP
from numerate.apps.consistency.sentences.paragraphs import is_explained
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import rounded_slip_bits
from numerate.apps.consistency.wrong import told_differently

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["told_again", "told_scores"]

NEEDED = 11.0
MOST_SENTENCES, WINDOW = 40, 10
_BACK = regex(
    r"\b(?:the|this|that|these|those|its|his|her|their|our|your|all|same|all of the)"
    r"(?: (?:same|whole|entire|full|total|said|agreed|very|[a-z]+ed))? [$€£]?$"
    r"|\b(?:the|this|that|its|his|her|their|our|your|same)(?: [a-z'’-]+){1,2} of [$€£]?$"
)
_AGAIN = regex(r"\b(?:same|unchanged|as before|still|again|said|agreed|above|aforementioned|continue\w*)\b")
_OTHER = regex(
    r"\b(?:an?other|others?|second|third|next|former|latter|sister|new|newer|old|older|younger|rest|remaining|first|last"
    r"|more|fewer|less|than|instead|compared|versus|vs|extra|further|additional|previous\w*|earlier|later|half|each|per"
    r"|rose|fell|risen|fallen|increas\w*|reduc\w*|rais\w*|cut|up|down|revised|corrected|not|average|mean|median|only"
    r"|alone|includ\w*|between|from|group|arm|control|placebo|against|respectively|while|whereas|minus|plus|after"
    r"|planned|expected|forecast|budget\w*|estimate\w*|target\w*|maximum|minimum|least|most|remain\w*|top)\b"
)
_SOME = regex(
    r" [a-z]+ (?:[a-z]+ing|with|without|that|which|over|under|aged|who (?=finish"
    r"|complet|remain|stay|surviv|answer|repli|return|continu|left)\w+)[ ,]"
)
"""Behind a noun: these are some of those told before."""
_PART = regex(r"\b(?:of (?:them|these|those|whom|which)|out of|among|half of|percent of|per cent of|% of)\b")
_WORD = regex(r"[a-zà-ÿ]{4,}")
_NAME = regex(r"(?<=[a-z,;–-] )[A-ZÀ-Ý][a-zà-ÿ]{2,}")
_UNIT_WORD = regex(r"^[-\s]?(?:metres?|meters?|year-old|old|years?|kilos?|tonnes?|litres?|people|persons?)\b[- ]?")
_SMALL = frozenset(["for", "the", "and", "was", "are", "had", "has", "who", "she", "his", "her", "its", "our", "all"])
_VALUES = frozenset(["value", "figure", "amount", "level", "reading", "size", "price", "cost"])
_KINDS = ("plain", "unit", "money", "percent", "clock")
_TIMES = frozenset(["year", "month", "week", "d", "h", "min", "s"])


class _Told:
    """A quantity with the words of its clause."""

    __slots__ = ("attribute", "before", "behind", "names", "near", "place", "quantity", "stems")

    def __init__(self, sentence: Sentence, place: int, quantity: Quantity) -> None:
        at, end, text = quantity.start - sentence.offset, quantity.end - sentence.offset, sentence.text
        before, behind = text[max(0, at - 80) : at], text[end : end + 80]
        self.quantity, self.place = quantity, place
        self.before, self.behind = before.lower(), behind.lower()
        self.names = frozenset(name[:6] for name in _NAME.findall(f"{before} | {behind}"))
        self.stems = _stems(self.before) | _stems(self.behind)
        attribute = re.search(
            r"\b([a-z'’-]{4,})(?: (?:of|is|was|at|to|equals|by|for|totall?ed|came to))+ [$€£]?$", self.before
        )
        tail = re.split(r"[,;:.()]", _UNIT_WORD.sub("", self.behind.lstrip(" -")))[0].split()[:3]
        self.attribute = _stem(attribute[1]) if attribute and attribute[1] not in STOP | _VALUES else ""
        words = [attribute[1]] if attribute else []
        words += [word for word in tail if word not in STOP and word not in _SMALL and len(word) > 2][:2]
        self.near = frozenset(_stem(word) for word in words if word not in STOP)


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text) if word not in STOP)


def _stem(word: str) -> str:
    return word.removesuffix("s")[:5]


def told_again(sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Values that point back to another one of their kind and differ from it by a slip."""
    if not 2 <= len(sentences) <= MOST_SENTENCES and not _is_long(sentences):
        return
    seen: dict[tuple[str, str | None], list[tuple[Sentence, int, Quantity]]] = {}
    for place, sentence in enumerate(sentences):
        if len(sentence.numerals) > 14:
            continue
        for b in sentence.quantities:
            if b.group not in _KINDS or b.value < 3 or _is_year(b):
                continue
            every = seen.setdefault((b.group, b.unit), [])
            earlier = [each for each in every if place - each[1] <= WINDOW]
            every.append((sentence, place, b))
            if not any(_slip(a, b) for *_, a in earlier) or any(a.value == b.value for *_, a in earlier) or b.hedge:
                continue  # numbers are compared before words
            start = b.start - sentence.offset
            if _BACK.search(sentence.text[max(0, start - 60) : start].lower()):
                yield from _compared(_Told(sentence, place, b), [_Told(*each) for each in earlier])


def _is_year(quantity: Quantity) -> bool:
    return quantity.unit is None and 1900 <= quantity.value <= 2100 and quantity.numerals[0].text.isdecimal()


def _is_long(sentences: Sequence[Sentence]) -> bool:
    return len(sentences) == 1 and len(sentences[0].numerals) > 2


def _compared(told: _Told, earlier: list[_Told]) -> Iterator[Finding]:
    b = told.quantity
    lead = re.split(r"[,;:]|\b(?:most|some|all|many|each|one) of\b", told.before[-34:])[-1]
    if _OTHER.search(lead) or _OTHER.match(_UNIT_WORD.sub("", told.behind[:24]).lstrip(" -,")) or _PART.search(lead):
        return
    if re.search(r"\b(?:beside|next to|behind|now|opposite|other|second|third|neighbou?ring)\b", told.behind[:40]):
        return
    if b.group == "plain" and _SOME.match(told.behind):
        return
    if b.group == "clock" and re.match(r" [a-z]+ (?:of|for|with|to) ", told.behind):
        return  # `the 10:30 meeting of the board` is another one
    values = {each.quantity.value for each in earlier}
    scored = [(_bits(each, told) - math.log2(len(values)), each) for each in earlier]
    bits, first = max(scored, key=lambda each: each[0])
    if len(values) == 1 and b.group == "unit":
        bits += 2.0
    if bits < NEEDED or is_explained(b, [each.quantity for each in earlier]):
        return
    a = first.quantity
    yield told_differently(a, b, 0.86)


def _bits(first: _Told, told: _Told) -> float:
    a, b = first.quantity, told.quantity
    slip = _slip(a, b)
    if (
        not slip
        or a.hedge
        or _OTHER.search(first.before[-14:].replace("laid down", "").replace("e included", ""))
        or _OTHER.match(_UNIT_WORD.sub("", first.behind[:16]).lstrip(" -,"))
    ):
        return 0.0
    if first.names - told.names and told.names - first.names:
        return 0.0
    whole = ALL_OF_IT.match(told.behind) if told.before.endswith(("all ", "the ")) else None
    if whole is not None and not _stems(whole["whole"]) & first.stems:
        return 0.0  # `12 rooms for you. All 21 rooms of the hotel`
    parts = [set(APART.findall(each.before + each.behind)) for each in (first, told)]
    if parts[0] and parts[1] and not parts[0] & parts[1]:
        return 0.0
    if first.attribute and told.attribute and told.attribute not in first.stems:
        return 0.0  # `the deposit is €178. The rent of €718`
    years = [set(re.findall(r"\b[12]\d{3}\b", each.before + each.behind)) for each in (first, told)]
    if years[0] and years[1] and years[0] != years[1]:
        return 0.0
    near = 3.0 if told.near & first.near else 2.5 if told.near & first.stems or first.near & told.stems else 0.0
    if not near and (b.group == "plain" or (b.unit in _TIMES and slip < 6)):
        return 0.0
    shared = min(3, len((told.stems & first.stems) - (told.near & first.near)))
    if first.place == told.place and not _is_parted(first, told):
        return 0.0  # one sentence has two of them
    return 3.0 + slip + near + shared + (1.0 if _AGAIN.search(told.before[-40:]) else 0.0)


_SCORE = regex(r"(?<![\d–/.-])(\d{1,3})(?: ?[–-] ?| to )(\d{1,3})(?![\d–/-])(?: (?P<noun>[a-z]{3,}))?")
_PAIR = regex(r"\d(?: ?[–-] ?| to )\d")
"""What a match of `_SCORE` has, which is faster to look for."""
_RESULT = regex(r"(?:victory|win|wins|defeat|loss|vote|draw|result|triumph|success|score|decision|ruling|verdict)$")
_RESULT_VERB = regex(r"\b(?:won|beat|lost|vot\w+|defeat\w*|drew|victory|win|loss|score|ruled|decided|result)\b")


def told_scores(sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """`the 2–1 victory over Norway ... this 3–1 victory over Norway`: one result with two scores."""
    found: list[tuple[Sentence, re.Match[str]]] = []
    for part in sentences:
        text = part.text
        if ("-" in text or "–" in text or " to " in text) and _PAIR.search(text):
            found += [(part, match) for match in _SCORE.finditer(text)]
            if len(found) > 2:
                return
    if len(found) != 2:
        return
    (one, first), (other, again) = found
    ends = [(int(match[1]), int(match[2])) for match in (first, again)]
    if ends[0] == ends[1] or (ends[0][0] == ends[1][0]) == (ends[0][1] == ends[1][1]):
        return
    before = other.text[max(0, again.start() - 12) : again.start()].lower()
    around = one.text[max(0, first.start() - 50) : first.end() + 30].lower()
    noun = again["noun"] or ""
    if not _RESULT.match(noun) or not re.search(r"\b(?:the|this|that|their|her|his|its) $", before):
        return
    if one is other and "after the " in before:
        return  # `the 2-0 victory on Sunday, after the 2-1 victory in Lund`
    lead = other.text[max(0, again.start() - 50) : again.start()].lower()
    if (
        _OTHER.search(re.sub(r"^.*[,;]|\bafter (?:the|this|that) $", "", lead))
        or not _RESULT_VERB.search(around)
        or _OTHER.search(around)
    ):
        return
    b = next((each for each in other.quantities if each.start >= again.start() + other.offset), None)
    if b is not None:
        message = f"The result is {again[1]}–{again[2]} here and {first[1]}–{first[2]} before."
        yield finding_at("repeated", b, message, probability=0.85)


def _is_parted(first: _Told, told: _Told) -> bool:
    """Whether what was read as one sentence has an end between both: `are now in. The cheapest ...`."""
    stop = told.before.rfind(". ")
    return stop >= 0 and told.quantity.start - first.quantity.end > len(told.before) - stop


def _slip(a: Quantity, b: Quantity) -> float:
    if a.group == "clock":
        return 5.0 if a.value % 60 == b.value % 60 or a.value // 60 == b.value // 60 else 0.0
    if not 0.1 < b.value / a.value < 10:
        return 0.0
    return rounded_slip_bits(b, a.value)
