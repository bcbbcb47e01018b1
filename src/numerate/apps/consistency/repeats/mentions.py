"""Mentions of quantities by name: `revenue of $1.5 billion`, `the 521 m long bridge`, `its 540 employees`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import ANY, COUNT, MONEY, PLAIN, UNIT, VALUE, YEAR, one, slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["BOUND", "NOUNS", "Mention", "mentions_of"]

_HEDGE = r"(?:(?:about|around|approximately|roughly|nearly|almost|over|some|only|just) )?"
_OF = regex(rf"\b(?P<noun>(?:[a-z]+ )?[a-z]{{3,}}) of {_HEDGE}{slot('q', VALUE)}")
_WAS = regex(
    rf"\b(?P<noun>(?:[a-z]+ )?[a-z]{{4,}}) (?:is|was|were|totall?ed|reached) {_HEDGE}{slot('q', MONEY + UNIT + PLAIN)}"
)
_SUBJECT_WAS = regex(
    rf"\b(?P<noun>(?:[a-z]+ )?[a-z]{{4,}}) (?:for|in|during|over) (?:the |its |this "
    rf"|that )?(?:[a-z]+ )?(?:quarter|year|half|month|period|season|week|day|months|group) "
    rf"(?:is|was|were|totall?ed|reached|came to|stood at|amounted to) {_HEDGE}{slot('q', MONEY + UNIT + PLAIN)}"
)
"""`revenue for the quarter was $84.2 million`"""
_AT = regex(
    rf"\bat {_HEDGE}{slot('q', UNIT)}(?: tall| high| long| wide| deep)?, (?:the|this|it) (?:[a-z]+ )?(?:is|was"
    rf"|remains|became)\b"
    r"[^.;\ue000-\uf8ff]{0,24}?\b(?P<noun>tallest|highest|longest|deepest|widest|heaviest)\b"
)
_ADJECTIVE = regex(
    rf"\b(?:is|was|stands|the|this|at|standing|measuring) {_HEDGE}{slot('q', UNIT)} (?P<noun>tall|long|wide"
    r"|deep|high|across)\b"
)
_ADJECTIVE_BEFORE = regex(
    rf"\b(?:the|this|its) {slot('q', UNIT)}[ -](?P<noun>tall|long|wide|deep|high)[ -](?P<thing>[a-z]{{4,}})\b"
)
_DONE = regex(
    rf"\b(?P<noun>completed|founded|established|built|opened|incorporated|born|(?:its|the|his|her"
    rf"|their) (?:founding|foundation|creation|inauguration"
    rf"|completion|opening|establishment|incorporation|birth)) in {slot('q', YEAR)}"
)
_WORTH = regex(
    r"\b(?P<noun>[a-z]{3,}) (?:(?:is|was|were|are|worth|valued|priced|estimated|cost|costs|costing"
    r"|fetched|raised|sold for|will cost|would cost) )+(?:at |for"
    rf" )?{_HEDGE}{slot('q', MONEY)}"
)
# Verbs and things that name an attribute: `weighs 450 kg`, `its 540 employees`, `the 2,100-seat hall`.
_VERBS = regex(
    r"\b(?P<noun>weigh(?:s|ed)|employ(?:s|ed)|seats|seated|holds(?: back)?|accommodates|can seat|lasts|lasted|covers"
    r"|covered|(?:is|was) home to)"
    rf" {_HEDGE}{slot('q', UNIT + COUNT)}"
)
_OWNED = regex(
    rf"\b(?:the|its|their|his|her|all|these|this"
    rf"|[a-z]+['’]s) {_HEDGE}{slot('q', UNIT + COUNT)}[ -](?P<noun>employees|workers|staff"
    rf"|residents|inhabitants|people|seats?|spectators|members|crew|students|pupils)\b"
)
_LIVING = regex(rf"{slot('q', COUNT)} (?P<noun>people|inhabitants|residents|persons) (?:live|lived|living|reside)\b")
_COUNTED = regex(
    rf"(?<![–—-]){slot('q', PLAIN)} (?P<noun>[a-z]{{3,}}s|people|men|women|children)\b(?! of {one(PLAIN)})"
)
_SIZED = regex(rf"\b(?:the|its|this) {slot('q', MONEY)} (?P<noun>[a-z]{{3,}})\b")
NOUNS = {
    "covers": "area", "covered": "area", "weighs": "weight", "weighed": "weight", "employs": "workforce",
    "employed": "workforce", "employees": "workforce", "workers": "workforce", "staff": "workforce",
    "residents": "population", "inhabitants": "population", "is home to": "population", "was home to": "population",
    "people": "population", "seats": "capacity", "holds": "capacity", "holds back": "capacity",
    "accommodates": "capacity", "can seat": "capacity", "seated": "capacity", "seat": "capacity",
    "spectators": "capacity", "lasts": "duration", "lasted": "duration", "founding": "founded", "foundation": "founded",
    "inauguration": "opened", "completion": "completed", "opening": "opened", "establishment": "established",
    "incorporation": "incorporated", "birth": "born", "across": "diameter", "tallest": "height", "highest": "height",
    "longest": "length", "deepest": "depth", "widest": "width", "heaviest": "weight", "tall": "height",
    "high": "height", "long": "length", "wide": "width", "deep": "depth",
}  # fmt: skip
_ARTICLES = regex(
    r"^(?:the|an?|its|his|her|their|with|at|over|this|that|and|has|had|for|of|in|by|to|from|was|is|were) "
)
_CONTRAST = regex(
    r"^for |\bincluding\b|\b(?:second|another|others?|sister|former|formerly|previous|previously|earlier|later|before"
    r"|originally|initial|initially|"
    r"increas\w*|grew|rose|fell|drop\w*|each|every|per|respectively|part|of these(?! [\ue000-\ue009])|of them|of whom"
    r"|of which|additional|compared|instead|while|whereas|predecessor|successor|maximum|minimum|averages?|up to|third"
    r"|fourth|types?|version|remaining|rest|fewer|then|until|since|estimated|planned|both|versus|vs|against|ago|prior|group|arm|cohort|facing)\b"
)
_WEAK_CONTRAST = regex(r"\b(?:new|next|last|first|model|now|today|record|(?<!a )(?<!in )total|only)\b")
"""Words that tell two things apart only right before the quantity: `the new length of 120 m`."""
_PLACES = regex(r"\b(?:north\w*|south\w*|east\w*|west\w*|county|district|township|urban|metropolitan|rural)\b")
_STRICTLY = regex(r"\b(?:the|its|this|all|with an?|at an?) $")
_DEFINITE = regex(r"\b(?:the|its|this|all|these|those|with an?|at an?)(?: [a-z]+){0,2}? $")
_MODIFIERS = frozenset([
    "sample", "net", "operating", "gross", "annual", "quarterly", "pretax", "taxable", "seating", "land", "water",
    "total", "main", "core", "adjusted", "consolidated", "domestic", "foreign", "organic", "recurring", "standing",
    "burning", "melting",
])  # fmt: skip
BOUND = frozenset([
    "population", "capacity", "height", "length", "area", "crew", "elevation", "altitude", "weight", "width",
    "depth", "budget",
])  # fmt: skip
"""Attributes that one thing has once."""
_VAGUE = frozenset([
    "total", "number", "average", "rate", "amount", "series", "list", "range", "score", "value", "period",
    "distance", "age", "level", "top", "end", "out", "one", "any", "most", "all", "sum", "maximum", "minimum",
    "size", "loss", "gain", "cost", "group", "set", "record", "result", "pair", "team", "part", "lot", "time",
    "times", "years", "months", "days", "points", "games", "matches", "goals", "minutes", "hours", "seconds",
    "episodes", "people", "tracks", "copies", "runs",
])  # fmt: skip
_RATES = frozenset([
    "rate", "size", "level", "value", "score", "cost", "distance", "price", "speed", "time", "limit",
])  # fmt: skip
"""Words that need another one: a flow rate and a heart rate."""
_PLAIN_WORDS = frozenset([
    "the", "a", "an", "its", "his", "her", "their", "this", "that", "same", "new", "high", "higher", "low",
    "lower", "total", "average", "mean", "maximum", "minimum", "overall", "final", "first", "second", "last",
    "current", "at", "with", "of", "and", "for", "to", "in", "on", "has", "had", "is", "was", "best", "record",
    "initial", "large", "small", "annual", "top",
])  # fmt: skip


@dataclass(slots=True)
class Mention:
    """A quantity with the name that a sentence gives it, and what sets it apart from others of that name."""

    key: str
    quantity: Quantity
    index: int
    when: frozenset[float]
    has_contrast: bool
    is_definite: bool
    is_other: bool = False
    is_elsewhere: bool = False
    thing: str | None = None
    """The thing that has the quantity, where it stands behind it: `the 521 m long bridge`."""
    words: str = ""
    is_predicate: bool = False
    """Whether the subject of the sentence has the quantity: `the tunnel is 9 km long`."""


_SIZES = ("tall", "long", "wide", "deep", "high", "across")
_PATTERNS = (
    (_OF, ANY, (" of ",)),
    (_WAS, ANY, (" is ", " was ", " were ", " total", " reached ")),
    (_SUBJECT_WAS, ANY, (" is ", " was ", " were ", " total", " reached ", " came to ", " stood at ", " amounted to ")),
    (_AT, UNIT, ("est ",)),
    (_ADJECTIVE, UNIT, _SIZES),
    (_ADJECTIVE_BEFORE, UNIT, _SIZES),
    (_DONE, YEAR, (" in ",)),
    (_COUNTED, PLAIN, (" ",)),
    (_SIZED, MONEY, ("the ", "its ", "this ")),
    (_WORTH, MONEY, (" ",)),
    (_VERBS, UNIT + COUNT, ("weigh", "employ", "seat", "holds", "accommodates", "last", "cover", " home to")),
    (_OWNED, UNIT + COUNT, (
        "employee", "worker", "staff", "resident", "inhabitant", "people", "seat", "spectator", "member", "crew",
        "student", "pupil",
    )),
    (_LIVING, COUNT, ("live", "living", "reside")),
)  # fmt: skip
"""Patterns of mentions; one of the classes of slots and one of the words must be there."""
_PREDICATES = (_WAS, _ADJECTIVE, _WORTH, _VERBS)


_VERB_STEM = regex(r" (?:who )?(?:were |was |are |is |had |have )?([a-z]{4,5})[a-z]*\b")


def mentions_of(sentence: Sentence, index: int) -> Iterator[Mention]:
    """All mentions of a sentence, which is the one number `index` of its text."""
    skeleton = sentence.skeleton
    quantities = sentence.quantities
    when: frozenset[float] | None = None
    contrasts, weak, places = [], [], []
    for pattern, classes, cues in _PATTERNS:
        if not any(map(skeleton.__contains__, classes)) or not any(map(skeleton.__contains__, cues)):
            continue
        for match in pattern.finditer(skeleton):
            if when is None:  # most sentences have no mention
                when = frozenset(each.value for each in quantities if each.group in ("year", "date", "ordinal"))
                contrasts, weak, places = (
                    [found.start() for found in words.finditer(skeleton)]
                    for words in (_CONTRAST, _WEAK_CONTRAST, _PLACES)
                )
            noun = match["noun"]
            if pattern is _WORTH and noun in _RATES:
                continue  # `_WAS` has the word before it
            elsewhere = any(match.start() - 80 <= at <= match.end() + 12 for at in places)
            # A word far away speaks of something else.
            contrast = any(match.start() - 45 <= at <= match.end() + 12 for at in contrasts) or any(
                match.start() - 30 <= at <= match.end() for at in weak
            )
            key = _key(noun) if pattern is _COUNTED else NOUNS.get(noun) or NOUNS.get(_key(noun)) or _key(noun)
            quantity = sentence.get(match, "q")
            if pattern is _COUNTED and key == "people":
                verb = _VERB_STEM.match(skeleton, match.end())
                key = f"people who {verb[1]}" if verb else key  # `412 people attended`, `the 412 people attending`
            definite = _DEFINITE.search(skeleton[: match.start()] + noun[: -len(key) or None])
            if pattern is _DONE:
                # `since its founding in 1878` is about the same thing.
                is_same = noun[: -len(_key(noun))] in ("its ", "his ", "her ", "their ") and skeleton.startswith(
                    "since "
                )
                contrast_ = contrast and not (is_same and _CONTRAST.search(skeleton, 6) is None)
                yield Mention(key, quantity, index, frozenset(), contrast_, True, False, elsewhere)
            elif (key not in _VAGUE) and not (pattern is _WAS and quantity.group == "plain" and quantity.value < 10):
                # Counted things may be others: `86 patients`, `68 patients`; `all 68 patients` are the same.
                other = pattern is _COUNTED and definite is None
                strict = (
                    pattern in (_SIZED, _OWNED, _ADJECTIVE_BEFORE)
                    or _STRICTLY.search(skeleton[: match.start()] + noun[: -len(key) or None]) is not None
                )
                thing = match["thing"] if pattern is _ADJECTIVE_BEFORE else None
                yield Mention(
                    key, quantity, index, when, contrast, strict, other, elsewhere, thing, skeleton,
                    pattern in _PREDICATES,
                )  # fmt: skip


def _key(noun: str) -> str:
    """The last word of a name, with a word before it that changes what it means: `net loss`, `operating profit`."""
    first, _, last = noun.rpartition(" ")
    return (
        f"{first} {last}" if first in _MODIFIERS or (first and last in _RATES and first not in _PLAIN_WORDS) else last
    )
