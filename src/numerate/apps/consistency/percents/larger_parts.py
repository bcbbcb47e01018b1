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
"""Parts that are larger than the whole before them: `fat 4.5 g, of which saturates 5.4 g`, `36 ha, 63 ha of which`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["larger_parts"]

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
def larger_parts(paragraph: Paragraph) -> Iterator[Finding]:
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


_OF = (
    r"(?:of which|of whom|(?<=[,;:(–—-] )of (?:these|those|them)|thereof|davon|darunter|dont|de los cuales"
    r"|de las cuales|de lo cual|di cui"
    r"|waarvan|among (?:them|whom|these)|including|includes?|incl\.)"
)
_NOUN = (
    r"(?:[ -](?!with\b|in\b|at\b|and\b|from\b|for\b|by\b|on\b|that\b|where\b|per\b|each\b|to\b)[^\W\d_][\w'’/-]*){0,4}?"
)
_BEFORE = regex(
    rf"{_NOUN}(?: in (?:total|all))?\)?[ ,;:(\n–—-]*\b{_OF}:?(?: (?!and\b|or\b)[^\W\d_][\w'’-]*){{0,4}}?[ :(]*[$€£]?"
)
"""Between a whole and its part."""
_OPEN = regex(rf"{_NOUN}(?: in (?:total|all))?[,(–—-]+ ?(?:and |but |with )?(?:about |some |only )?[$€£]?")
_BEHIND = regex(r"(?: [a-z'’-]+){0,2} of (?:which|whom|it|them|these|those)\b(?! (?:the|these|those)\b)")
"""Between a whole and its part, and behind the part: `36 hectares of land, 12 hectares of which`."""
_OF_IT = regex(r"\b(?:deep|high|wide|tall|long|per|each|every)\b|\bof (?:it|them|which|whom|these|those)\b")
_NET = regex(
    r"\b(?:net|profit\w*|loss(?:es)?|gain\w*|income|earnings|charges?|rise|rose|increas\w*|chang\w*|grew|fell"
    r"|deficit|surplus"
    r"|balance|result|cash flow|margin|average|mean|at least|minimum|more|another|difference|up|down|score|points?"
    r"|temperature|lost|shrank|saldo|gewinn|verlust)\b"
)
_CLASSES = regex(
    r" (?:of|in)\b|(?: [a-z-]+){0,2} (?:class(?:es)?|groups?|types?|categor(?:y|ies)|sets?|teams?|kinds?|lots?"
    r"|batch(?:es)?|packs?|box(?:es)?"
    r"|famil(?:y|ies)|floors?|rooms?|sites?|days?|rounds?|parts?|collections?|samples?|clinics?|schools?|cent(?:er"
    r"|re)s?)\b"
)
"""What has things of its own: `three classes, 59 of which are A`; or what is a part itself: `5 of whom ..., and 7`."""
_INCLUDES = regex(r"\bincl")
_PEOPLE = regex(
    r"(?: [a-z-]+)? (?:people|persons|passengers|staff|employees|workers|members|pupils|students|guests|applicants"
    r"|children|patients"
    r"|victims|dead|killed|injured|participants|residents|inhabitants|visitors|volunteers|players|species|countries"
    r"|cases)\b"
)
"""What no kit or pack holds: `12 people, including 15 children`, but `a set of 4, including 8 screws`."""
_GROUPS = frozenset(("plain", "unit", "money"))
MOST = 25.0


@paragraph_gate(
    stems("which whom these those them it_ thereof davon darunter dont_ cuales cual lo_ cui_ waarvan among incl"),
    VALUES[2],
)
def larger_parts(paragraph: Paragraph) -> Iterator[Finding]:
    """Neighbours of which the second is said to be a part of the first."""
    for whole, part in itertools.pairwise(paragraph.values):
        if whole.group != part.group or whole.group not in _GROUPS or part.place - whole.place > 1 or whole.value <= 0:
            continue
        size = _in_unit_of(whole, part)
        if size is None or part.value <= size * (1 + 1e-9) + whole.half * size / whole.value * (whole.group == "unit"):
            continue
        if part.value > MOST * size or whole.hedge in ("over", "about") or part.hedge == "under":
            continue
        gap, tail = paragraph.between(whole, part), paragraph.tail(part)
        if "." in gap.replace("incl.", "") or not (
            _BEFORE.fullmatch(gap) or (_OPEN.fullmatch(gap) and _BEHIND.match(tail) and not _OF_IT.search(gap))
        ):
            continue
        if (
            _NET.search(gap)
            or _NET.search(paragraph.upto(whole))
            or (whole.group == "plain" and not _are_counts(whole, part))
        ):
            continue
        if whole.group == "plain" and (_CLASSES.match(gap) or (part.value > 3 * size and not slip_bits(part, size))):
            continue
        if whole.group == "plain" and _INCLUDES.search(gap) and not _PEOPLE.match(gap):
            continue
        message = f"{part.text} is more than {whole.text}, of which it is a part."
        yield finding_at("percent", part, message, others=[whole], probability=0.88)


def _in_unit_of(whole: Quantity, part: Quantity) -> float | None:
    """The whole in the unit of the part."""
    if whole.unit == part.unit:
        return whole.value
    sizes = converted(whole.value, whole.unit, part.unit) if whole.unit and part.unit else ()
    return sizes[0] if len(sizes) == 1 else None


def _are_counts(whole: Quantity, part: Quantity) -> bool:
    return whole.value > 1 and whole.value == int(whole.value) and part.value == int(part.value)
