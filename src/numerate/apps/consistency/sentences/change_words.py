"""Words that say that a number is a change, and words that name another base for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["MOVED", "OTHER_BASE", "OTHER_TARGET", "are_changes", "is_change"]

_RISE = r"increases?|rises?|growth|gains?|jumps?|improvement|advance|surge|climb|uptick|hike|raise|boost|premium"
_DROP = (
    r"declines?|drops?|decreases?|falls?|reduction|loss|cuts?|discount|dip|slump|savings?|contraction|plunge"
    r"|slide|markdown"
)
MOVED = (
    r"rose|risen|rising|grew|grown|climbed|increased|jumped|soared|surged|gained|improved|advanced|expanded|went up|up"
    r"|raised|lifted|overran|exceeded|added|fell|fallen|falling|dropped|declined|decreased|shrank|slid|plunged|tumbled"
    r"|sank|reduced|cut|went down|down|lost|dipped|slipped|lowered|eased|narrowed|shed|contracted|slashed|trimmed"
    r"|shortened|widened|deepened|increasing|reducing|cutting|raising|growing|dropping|losing|gaining|climbing"
    r"|shrinking|declining|jumping|rising"
)
_MORE = (
    r"more|higher|greater|larger|above|better|bigger|longer|heavier|taller|faster|older|wider|deeper|less|lower|fewer"
    r"|smaller|below|over (?:the|its|their|last)|under (?:the|its|their)|shorter|lighter|cheaper|younger|slower"
    r"|narrower|up|down|ahead|behind|clear|adrift|short"
)
_HEDGE = r"(?:(?:by|about|around|approximately|roughly|some|only|just|a|an|the|another|exactly) )*"
_BEFORE = regex(
    rf"\b(?:(?:{MOVED}) {_HEDGE}|(?:{_RISE}|{_DROP}|change|difference|gap|margin) of {_HEDGE}"
    rf"|(?:{MOVED}) (?:[^.;]|\.(?=\d)){{1,30}}(?:, or| \() ?{_HEDGE})[+−-]?$"
)
_BEHIND = regex(
    rf"(?:[ -](?:percentage[ -])?points?)?[ -](?:(?!points?\b)[a-z]+ )?(?:{_RISE}|{_DROP}|difference|gap|{_MORE})\b"
)
_MOVED_BY = regex(rf"\b(?:{MOVED}) by (?:about |around |some |only |just |another |a further )?$")
OTHER_BASE = regex(
    r"\b(?:while|whereas|but|although|respectively|per|same-store|comparable-store|comparable|organic|like-for-like"
    r"|basis|excluding|adjusted|each|year-to-date|annual|annually|forecast|expected|highest|lowest|record|rates|yield"
    r"|interest|another|further|both|including|of which|of whom|of them|normal|usual|for every|every|off an?|as the"
    r"|because|session|opening|compound\w*)\b|;"
)


OTHER_TARGET = regex(
    r" (?:above|below|over|under|higher|lower|more|less|off|short of)(?: than)? (?:the |an? |its "
    r"|their )?(?:national|average"
    r"|mean|usual|normal|county|industry|regional|global|eu|world|state|long-term|target|market|asking|list"
    r"|guide|reserve"
    r"|estimate[ds]?|forecast|budget\w*|plan\w*|limit|recommended|retail|threshold)\b(?!(?: [a-z]+)? of)"
)
"""Behind a percentage: it is told of something that has no number: `12 % below the asking price`."""


def is_change(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether the words beside a quantity say that it is a change or a difference."""
    before, behind = sentence.beside(quantity)
    if OTHER_TARGET.match(behind):
        return False
    return _BEFORE.search(before) is not None or _BEHIND.match(behind) is not None


def are_changes(sentence: Sentence, quantities: Iterable[Quantity]) -> bool:
    """Whether each value is how far something moved: `bicycles rose by 757 (53.7 %), cars fell by 442`.

    Then none of them is what came of another.
    """
    return all(_MOVED_BY.search(sentence.beside(each)[0]) for each in quantities)
