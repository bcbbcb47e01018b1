"""Parts that are larger than the whole before them: `fat 4.5 g, of which saturates 5.4 g`, `36 ha, 63 ha of which`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["larger_parts"]

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
