"""Parts that are more than their whole: `The scheme has 86 flats. Of these flats, 104 have a balcony`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.products.told_rates import nouns_of, stem_of
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["larger_counts"]

_THEM = r"(?:these|those|them|which|whom|diesen|denen|davon|eux|elles|ellos|ellas)"
_ONLY = r"(?:,? (?:only|just|exactly|fully|altogether|a full|haben|hatten|sind|waren))?,? "
_BEGIN = regex(
    rf"(?:\w+, )?(?:out of|of|among|from|von|parmi|sur|de) (?:{_THEM}|(?:these|those|the|all the|all|diesen|den"
    rf"|ces|les|estas"
    rf"|estos|las|los) (?P<noun>[^\W\d_][\w-]{{2,}})){_ONLY}$"
)
_WHICH = regex(rf"(?: [a-z'’-]+){{1,3}}[,;]? \(?(?:out )?of {_THEM}{_ONLY}$")
_OF_THEM = regex(
    r"(?: [a-z'’-]+){0,2} of (?P<them>them|these|those)\b|(?: [a-z'’-]+ly)? of (?:the|these"
    r"|those) (?P<noun>[a-z-]{3,})\b"
)
_OUT_OF = regex(r"(?:^|[;:] ?)(?:out )?of (?:the |all |these |those )?$")
_VERB = regex(
    r"(?: [a-z]+ly)? (?:are|is|were|was|have|had|has|will|must|would|could|can|did|do|came|come|went|remain\w*"
    r"|need\w*|fac(?:e|ed)"
    r"|belong\w*|belonged|live[ds]?|work(?:ed|s)?|show(?:ed)?|tested|failed|passed|died|survived|voted|said"
    r"|answered|responded"
    r"|sold|arrived|left|got|haben|hatten|sind|waren|wurden|ont|sont|étaient|tienen|son)\b|[.,;)]"
)
_VERB_BEFORE = regex(r"\b(?:haben|hatten|sind|waren|wurden) $")
_MORE = regex(
    r"\b(?:times|visits|visitors|copies|per|each|every|another|additional|further|more|also|new|rose|grew|now"
    r"|since|then|later"
    r"|joined|followed|average|between)\b"
)
MOST_RATIO = 12


@paragraph_gate(stems("of_ out_ among von_ davon parmi sur_ de_"), VALUES[2])
def larger_counts(paragraph: Paragraph) -> Iterator[Finding]:
    """A part of what was counted right before must not be more than all of it."""
    counts = [each for each in paragraph.values if _is_count(each)]
    for index, each in enumerate(counts[1:], 1):
        if each.hedge == "under":
            continue
        near = [one for one in counts[:index] if one.place >= each.place - 1]
        if not near or each.value <= near[-1].value:
            continue
        whole = _whole(paragraph, each, near)
        if whole and sum(one.value for one in whole) < each.value <= MOST_RATIO * whole[-1].value:
            z = whole[-1]
            if _MORE.search(paragraph.between(z, each)) or each.hedge == "over" or any(one.hedge for one in whole):
                continue
            of = plain(sum(one.value for one in whole))
            message = f"{each.text} is more than the {of} that it is a part of."
            yield finding_at("percent", each, message, others=whole, probability=0.87)


def _is_count(each: Quantity) -> bool:
    return each.group == "plain" and each.unit is None and each.value > 1 and each.value == int(each.value)


def _whole(paragraph: Paragraph, each: Quantity, near: list[Quantity]) -> list[Quantity]:
    """The counts of what a number is said to be a part of: those with its noun, or the one right before `of these`."""
    last, upto, tail = near[-1], paragraph.upto(each), paragraph.tail(each)
    gap = paragraph.between(last, each)
    begin = _BEGIN.fullmatch(upto)
    if begin is not None and last.place == each.place - 1 and (_VERB.match(tail) or _VERB_BEFORE.search(upto)):
        return _named(paragraph, begin, near) if begin["noun"] else _lone(paragraph, each, near)
    behind = _OF_THEM.match(tail)
    if behind is not None and behind["noun"]:
        return _named(paragraph, behind, near)
    if behind is not None and last.place == each.place and len(gap) < 40 and "." not in gap and gap.endswith(" and "):
        return [last] if nouns_of(paragraph, last) else []
    if _WHICH.fullmatch(gap) and _VERB.match(tail) and nouns_of(paragraph, last):
        return [last]
    if _OUT_OF.search(paragraph.upto(last)) and _VERB.match(tail) and gap.startswith(" ") and gap.count(" ") < 4:
        return [last] if gap.endswith(", ") else []
    return []


def _named(paragraph: Paragraph, match: re.Match[str], near: list[Quantity]) -> list[Quantity]:
    """The counts of a noun; those of a sum are all of them."""
    noun = stem_of(match["noun"])
    return [one for one in near if noun in nouns_of(paragraph, one)[:3]]


def _lone(paragraph: Paragraph, each: Quantity, near: list[Quantity]) -> list[Quantity]:
    """All counts of the sentence before, which ends with what the last one counts."""
    before = [one for one in near if one.place == each.place - 1]
    tail = paragraph.tail(before[-1], 60)
    return before if nouns_of(paragraph, before[-1]) and tail.count(" ") < 5 else []
