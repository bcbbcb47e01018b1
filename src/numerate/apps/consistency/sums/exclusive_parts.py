"""Whether the parts of a sum exclude each other by their words: men and women, correct and incorrect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, ORDINAL, one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["are_proper", "exclusive", "is_one_noun"]

_WORD = rf"(?:[a-z$€£][a-z$€£'’.\-]*|{one(ORDINAL)})"
_Q = one(AMOUNT)
_OPPOSITES = [
    ("men", "women"), ("male", "female"), ("males", "females"), ("boys", "girls"), ("yes", "no"), ("alive", "dead"),
    ("survived", "died"), ("won", "lost"), ("passed", "failed"), ("drug", "placebo"), ("correct", "wrong"),
    ("treatment", "control"), ("positive", "negative"), ("for", "against"), ("completed", "dropped"), ("old", "new"),
]  # fmt: skip
_CLASSES = [
    frozenset(some.split())
    for some in (
        "red blue green yellow black white brown orange purple grey gray pink",
        "wins losses defeats draws ties", "won lost drew tied drawn",
        "adults children seniors teenagers pensioners infants adult child", "democrats republicans independents",
        "domestic foreign international", "public private", "urban rural", "single married divorced widowed",
        "bachelor master doctoral undergraduate postgraduate undergraduates graduates",
        "soldiers civilians", "killed survived", "home away", "gold silver bronze", "officers enlisted",
        "approved rejected", "accepted rejected declined", "present absent", "employed unemployed",
        "freshmen sophomores juniors seniors", "cars trucks buses motorcycles", "dogs cats birds horses",
        "petrol diesel electric hybrid", "fiction nonfiction", "open closed", "paperback hardcover", "win lose draw",
    )
]  # fmt: skip
"""Words of which a thing has one only."""
# Each is at one place: `140 work in Bern and 120 in Basel`. Who speaks, owns or likes one thing may do so with another.
_SAME_PLACE = regex(
    rf"^{_Q}(?: (?:{_WORD} )??(?:works?|worked|lives?|lived|resides?|stands?|stood|are|were|was|is|lies?|lay"
    rf"|came|comes?|went"
    rf"|located|based|employed|born|stationed|buried|sold|built|held|seated|housed|assigned|sent|died|shipped|voted"
    rf"|enrolled|stored|arrived|allocated|randomi[sz]ed))* (?P<how>in|at|from|for|to"
    rf"|on)(?: the)? {_WORD}(?: {_WORD})*?,? and {_Q}(?:"
    rf" (?:are|were"
    rf"|work|live|went|came|voted))? (?P=how) "
)
_SLOT = regex("[\ue000-\ue009][\ue100-\uf8ff]")
_PLACE = regex(r"(?: (?:are|were|came|come|live|lived|work|worked|is|was))? (from|in|at) ")
_NEGATED = regex(r"\b(?:in|un|im|non-?|dis|ir|not )([a-z]{4,})\b")
_ADJECTIVES = regex(
    rf"{_Q} [a-z-]+(?<!s)(?:, {_Q} [a-z-]+(?<!s))*,? and {_Q} [a-z-]+(?<!s)(?P<noun> [a-z]+s)?(?: (?:jets|members))?"
)
_PLURAL = regex(r"[a-z]{3,}s\b|\bpeople\b|\bmen\b|\bwomen\b|\bchildren\b")
_NOT_WHOLE = frozenset(("plus", "and", "with", "including", "or"))
_SEX = regex(r"\b(?:fe)?males?|\b(?:wo)?m[ae]n\b|\bboys?\b|\bgirls?\b")


def are_proper(sentence: Sentence, parts: Sequence[Quantity]) -> bool:
    """Whether each part has a name of its own: `52 Airbus and 43 Boeing jets`, `12 Germans and 9 Swedes`."""
    words = [sentence.text[part.end - sentence.offset :].split(None, 1)[:1] for part in parts]
    names = {word[0].strip(".,;") for word in words if word and word[0][0].isupper()}
    return len(names) == len(parts) > 1


def is_one_noun(parts: str) -> bool:
    """Whether the parts are kinds of one thing: `six executive and five independent directors`."""
    match = _ADJECTIVES.fullmatch(parts.strip(" ."))
    return match is not None and match["noun"] is not None


def _is_placed(parts: str) -> bool:
    """Whether three or more parts each are from, in or at something: a thing comes from one place only."""
    words = _SLOT.split(parts)[1:]
    places = [_PLACE.match(each) for each in words]
    return len(words) > 2 and all(places) and len({each[1] for each in places if each}) == 1


def exclusive(parts: str, whole: str | None = None) -> bool:
    """Whether the parts exclude each other by their words: men and women, correct and incorrect.

    Args:
        parts: The words of the parts.
        whole: The words of the total, where it must be the sum: in `46 gold, 35 silver and 23 bronze`, 46 is a part.
    """
    words = set(re.findall(r"[a-z]+", parts))
    if any(one_ in words and other in words for one_, other in _OPPOSITES):
        return True
    others = set(re.findall(r"[a-z]+", whole or ""))
    if any(len(words & some) > 1 and not others & some for some in _CLASSES):
        return True
    if whole is None and (_SAME_PLACE.search(parts) or _is_placed(parts)):
        return True
    # `30 questions, 18 multiple-choice and 14 open`: adjectives of the one noun.
    if whole and _ADJECTIVES.fullmatch(parts.strip(" .")) and _PLURAL.search(whole) and not others & _NOT_WHOLE:
        return True
    for match in _NEGATED.finditer(parts):
        if match[1] not in others and (match[1] in words or match[1].rstrip("d") in words):
            return True
    return parts.count(" of them") == 2 and not _SEX.search(parts)
