"""What each of a number of people gets, and all of them together: `Each of the 2,300 gets €600, which costs ...`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import sentence_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, NO_NUMBER, UNIT, slot
from numerate.apps.consistency.sentences.traits import MEASURES, VALUES, stems
from numerate.apps.consistency.slips import is_typo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["each_gets"]

_GETS = (
    r"(?:gets?|got|receiv(?:es?|ed)|(?:be|is|are|was|were) (?:paid|given|granted|promised|awarded)|pays?|paid|costs?"
    r"|earns?|earned|gives?|gave|needs?|needed|uses?|used|brings?|brought|weighs?|holds?|yields?|yielded|produces?)"
)
_EACH = regex(
    rf"\b(?:each(?: one)? of|every one of|every|all(?: of)?)(?: the| its| our| their| these| those| his| her)? "
    rf"{slot('n', COUNT)}(?P<who>(?: (?!and\b|or\b)[a-z'’-]+){{1,5}}?) {_GETS}\b(?P<gap>{NO_NUMBER}{{0,40}}?) ?"
    rf"{slot('x', MONEY + UNIT)}(?P<mid>{NO_NUMBER}{{0,50}}?\b(?:cost(?:s|ing)?|total\w*|com(?:es?|ing) to|amount\w* to"
    rf"|bill|sum|pays?|paying|paid|spends?|adds? up to|together|altogether|in all|makes?|making)\b{NO_NUMBER}{{0,40}}?)"
    rf"{slot('z', MONEY + UNIT)}(?P<end>[^.;\ue000-\uf8ff]{{0,24}})"
)
_TOTAL = regex(
    r"\bwhich (?:will )?(?:costs?|totals?|makes?|comes? to|amounts? to|adds? up to)\b|\b(?:total\w*|together"
    r"|altogether|in all"
    r"|cost(?:s|ing)? of|costing|making|coming to|amounting to|bill|sum)\b"
)
_FOR_THEM = regex(r"^ (?:for|on) (?:them|it|this|that|all|these)\b")
_OTHER = regex(
    r"\b(?:plus|includ\w*|besides|more|extra|additional\w*|further|of which|another|others?|minus|less|than"
    r"|up to|at least"
    r"|average\w*|instead|only|some|per|an? (?:day|week|month|year|night|hour|head)|each (?:day|week|month|year)|daily"
    r"|weekly|monthly|yearly|annual\w*|every|first|rest|tax|vat|discount\w*|half|saves?|saving)\b|%"
)


@sentence_gate(stems("each every all_"), VALUES[3], MEASURES[2])
def each_gets(sentence: Sentence) -> Iterator[Finding]:
    """The amount of all must be that of each times how many they are."""
    for match in _EACH.finditer(sentence.skeleton):
        n, x, z = sentence.slots(match, "nxz")
        if x.group != z.group or not x.comparable(z) or any(each.hedge for each in (n, x, z)):
            continue
        if n.value != int(n.value) or n.value < 2 or min(x.value, z.value) <= 0:
            continue
        if any(_OTHER.search(match[name]) for name in ("who", "gap", "mid", "end")):
            continue
        real = n.value * x.value
        slack = 1.05 * (z.half + n.value * (x.half if x.half < 0.4 or x.group == "unit" else 0.0)) + 0.005 * real
        ratio = z.value / real
        is_power = abs(math.log10(ratio) - round(math.log10(ratio))) < 0.003
        if abs(real - z.value) <= slack or not (0.4 < ratio < 2.5 or is_power):
            continue
        if not _TOTAL.search(match["mid"]) and not (_FOR_THEM.match(match["end"]) and (is_power or is_typo(z, real))):
            continue  # `All 40 members pay £30, and the club spends £900 on the hall`
        message = f"{n.text} x {x.text} = {plain(real)}, not {z.text}."
        yield finding_at("product", z, message, meant=real, others=[n, x], probability=0.88)
