"""Whether numbers of a paragraph are a list of parts, and parts that leave nothing: passengers and crew."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.products.told_rates import nouns_of
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity

__all__ = ["MOST_PARTS", "are_listed", "complements", "is_one_noun", "may_be_sum", "may_slip", "of_one_unit"]

MOST_PARTS = 8

_OPEN = regex(
    r"\b(?:includ\w*|among them|among others?|such as|notably|especially|mainly|mostly|for example"
    r"|e\.g|per|each|every|than|from"
    r"|(?<!-)(?<!came )(?<!went )(?<!picked )(?<!broke )(?<!set )(?<!signed )(?<!turned )(?<!held )(?:up|down)"
    r"|rose|fell|grew|averag\w*|mean|median|respectively|versus|vs|against|compared|both|also"
    r"|or(?! (?:on|by|in) )|at least|up to|more|fewer"
    r"|less|further|additional|twice|half|double|times|ago|since|aged|between|ranking|ranked|record|previous\w*"
    r"|last (?:year|month|season|week)|earlier|year before|target|limit|capacity|worth|price|rate|score|planned"
    r"|expected|forecast|budgeted|if|would|could|overlap\w*)\b|%|[×±/]"
)
_OPEN_LEAD = regex(
    r"\b(?:includ\w*|among(?: them| others?)?|such as|notably|especially|mainly|mostly|e\.g|per|than"
    r"|from|averag\w*|at least|up to|against|compared)\b"
)
_TRIPLES = [
    tuple(each.split())
    for each in (
        "gold silver bronze",
        "won drawn lost",
        "wins draws losses",
        "infants juniors seniors",
        "small medium large",
    )
]
_SETS = [
    tuple(each.split())
    for each in (
        "passengers crew", "passenger crew", "men women", "men woman", "boys girls", "adults children",
        "males females", "male female",
        "before after", "first second", "home away", "morning afternoon", "goals assists", "yes no", "favour against",
        "for against", "wins losses", "won lost", "killed injured", "drivers passengers", "teachers pupils",
        "students staff",
        "full-time part-time", "dogs cats", "singles doubles", "upstairs downstairs", "gold silver", "online shop",
        "domestic foreign", "domestic international", "import export", "day night", "weekdays weekends",
        "summer winter",
        "cash card", "labour parts", "labor parts", "labour materials", "labor materials", "hall catering",
        "treatment control",
        "drug placebo", "intervention control", "passed failed", "there back", "outward return", "uphill downhill",
    )
]  # fmt: skip
_BARE = regex(r" (?:of|in|on|for|at|from|to) (?!them\b|these\b|those\b|the\b)|[,;.]|$")
_ITEM = regex(r"(?:,|\band) $")
_BRACKETS = regex(r"\([^()]*\)")
_LIST = regex(r",|\band\b|;|:|–|—|\bplus\b|\bwith\b|\+|\bwhile\b|\.|\bthen\b|\bfollowed by\b")


def of_one_unit(paragraph: Paragraph, z: Quantity) -> list[Quantity]:
    """Other values of its kind; those of a list may leave out the unit: `14,200 litres of red, 9,650 of white`."""
    if z.unit is None:
        return paragraph.alike(z)
    found: list[Quantity] = []
    for each in paragraph.values:
        is_bare = each.group == "plain" and bool(found) and paragraph.place(found[-1]) == paragraph.place(each)
        if each is not z and (
            (each.group, each.unit) == (z.group, z.unit)
            or (is_bare and _BARE.match(paragraph.tail(each)) and _ITEM.search(paragraph.between(found[-1], each)))
        ):
            found.append(each)
    return found


def is_one_noun(paragraph: Paragraph, z: Quantity, parts: list[Quantity]) -> bool:
    """Whether the total counts what its first part does: `11 points before and 17 after it, and his 27 points`."""
    nouns = nouns_of(paragraph, z)[:1]
    return z.unit is None and bool(nouns) and nouns == nouns_of(paragraph, parts[0])[:1]


def are_listed(paragraph: Paragraph, parts: list[Quantity]) -> bool:
    """Whether the parts follow each other as a list does, without words that set one apart."""
    if any(each.hedge in ("over", "under") for each in parts):
        return False
    for one, other in itertools.pairwise(parts):
        words = _BRACKETS.sub("", paragraph.between(one, other))
        if len(words) > 140 or not _LIST.search(words) or _OPEN.search(words):
            return False
    return not _OPEN_LEAD.search(paragraph.lead(parts[0], 30))


def complements(paragraph: Paragraph, parts: list[Quantity]) -> float:
    """Bits for parts that exclude each other and leave nothing: passengers and crew, before and after."""
    if len(parts) == 3:
        tails = [paragraph.tail(each, 24) for each in parts]
        words = " ".join(tails)
        if any(all(name in tail for name, tail in zip(names, tails, strict=True)) for names in _TRIPLES):
            return 7.0
        return (
            7.0
            if re.search(r"\b(?:for|favour|favor|yes|aye)\b", words) and "against" in words and "absten" in words
            else 0.0
        )
    if len(parts) != 2:
        return 0.0
    texts = [set(re.findall(r"[a-z-]+", paragraph.tail(each, 40))) for each in parts]
    texts[0] |= set(re.findall(r"[a-z-]+", paragraph.lead(parts[0], 24)))
    for one, other in _SETS:
        if (one in texts[0] and other in texts[1]) or (other in texts[0] and one in texts[1]):
            return 6.0
    return 0.0


def may_be_sum(z: Quantity, parts: list[Quantity]) -> bool:
    """Whether a number is near the sum of the first parts, which is cheap to know; most are not."""
    whole = most = 0.0
    for index, each in enumerate(parts[:MOST_PARTS]):
        whole += each.value
        most = max(most, each.value)
        if z.value <= most:
            return False
        if index and 0.599 < z.value / whole < 1.671:
            return True
    return False


def may_slip(z: Quantity, alike: list[Quantity]) -> bool:
    """Whether a run of the others adds up to the value but for a slip, which is cheaper to know than their words."""
    values = [each.value for each in alike]
    for at in range(len(values) - 1):
        whole = values[at]
        for value in values[at + 1 :]:
            whole += value
            if whole > 1.67 * z.value:
                break
            if whole != z.value and whole > 0.6 * z.value and slip_bits(z, whole):
                return True
    return False
