"""One quantity told twice with two values: `revenue of $1.5 billion ... revenue of $1.5 million`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, rules
from numerate.apps.consistency.quantities import COUNT, MONEY, PERCENT, PLAIN, UNIT, YEAR, one, slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.quantities import Quantity, Sentence
    from numerate.apps.findings import Finding

__all__ = ["Repeats", "is_slip"]

_HEDGE = r"(?:(?:about|around|approximately|roughly|nearly|almost|over|some|only|just) )?"
_OF = re.compile(rf"\b(?P<noun>(?:[a-z]+ )?[a-z]{{3,}}) of {_HEDGE}{slot('q', COUNT + MONEY + UNIT + PERCENT)}")
_WAS = re.compile(
    rf"\b(?P<noun>(?:[a-z]+ )?[a-z]{{4,}}) (?:is|was|were|totall?ed|reached) {_HEDGE}{slot('q', MONEY + UNIT + PLAIN)}"
)
_ADJECTIVE = re.compile(
    rf"\b(?:is|was|stands|the|this|at|standing|measuring) {_HEDGE}{slot('q', UNIT)} (?P<noun>tall|long|wide"
    r"|deep|high)\b"
)
_ADJECTIVE_BEFORE = re.compile(
    rf"\b(?:the|this|its) {slot('q', UNIT)}[ -](?P<noun>tall|long|wide|deep|high)[ -](?P<thing>[a-z]{{4,}})\b"
)
_DONE = re.compile(
    rf"\b(?P<noun>completed|founded|established|built|opened|incorporated|born|(?:its|the|his|her|their) (?:founding"
    rf"|completion|opening|establishment|incorporation|birth)) in {slot('q', YEAR)}"
)
_WORTH = re.compile(
    r"\b(?P<noun>[a-z]{3,}) (?:(?:is|was|were|are|worth|valued|priced|estimated|cost|costs|costing"
    r"|fetched|raised|sold for|will cost|would cost) )+(?:at |for"
    rf" )?{_HEDGE}{slot('q', MONEY)}"
)
# Verbs and things that name an attribute: `weighs 450 kg`, `its 540 employees`, `the 2,100-seat hall`.
_VERBS = re.compile(
    r"\b(?P<noun>weigh(?:s|ed)|employ(?:s|ed)|seats|seated|holds|accommodates|can seat|lasts|lasted|covers"
    r"|covered|(?:is|was) home to)"
    rf" {_HEDGE}{slot('q', UNIT + COUNT)}"
)
_OWNED = re.compile(
    rf"\b(?:the|its|their|his|her|all|these|this|[a-z]+['’]s) {_HEDGE}{slot('q', UNIT + COUNT)}[ -](?P<noun>employees|workers|staff"
    rf"|residents|inhabitants|people|seats?|spectators|members|crew|students|pupils)\b"
)
_LIVING = re.compile(rf"{slot('q', COUNT)} (?P<noun>people|inhabitants|residents|persons) (?:live|lived|living|reside)\b")
_COUNTED = re.compile(
    rf"(?<![–—-]){slot('q', PLAIN)} (?P<noun>[a-z]{{3,}}s|people|men|women|children)\b(?! of {one(PLAIN)})"
)
_SIZED = re.compile(rf"\b(?:the|its|this) {slot('q', MONEY)} (?P<noun>[a-z]{{3,}})\b")
_NOUNS = {
    "covers": "area",
    "covered": "area",
    "weighs": "weight",
    "weighed": "weight",
    "employs": "workforce",
    "employed": "workforce",
    "employees": "workforce",
    "workers": "workforce",
    "staff": "workforce",
    "residents": "population",
    "inhabitants": "population",
    "is home to": "population",
    "was home to": "population",
    "people": "population",
    "seats": "capacity",
    "holds": "capacity",
    "accommodates": "capacity",
    "can seat": "capacity",
    "seated": "capacity",
    "seat": "capacity",
    "spectators": "capacity",
    "lasts": "duration",
    "lasted": "duration",
    "founding": "founded",
    "completion": "completed",
    "opening": "opened",
    "establishment": "established",
    "incorporation": "incorporated",
    "birth": "born",
    "tall": "height",
    "high": "height",
    "long": "length",
    "wide": "width",
    "deep": "depth",
}
_ARTICLES = re.compile(
    r"^(?:the|an?|its|his|her|their|with|at|over|this|that|and|has|had|for|of|in|by|to|from|was|is|were) "
)
_CONTRAST = re.compile(
    r"^for |\bincluding\b|\b(?:second|another|others?|sister|former|formerly|previous|previously|earlier|later|before"
    r"|originally|initial|initially|"
    r"increas\w*|grew|rose|fell|drop\w*|each|every|per|respectively|part|of these(?! [\ue000-\ue009])|of them|of whom"
    r"|of which|additional|compared|instead|while|whereas|predecessor|successor|maximum|minimum|averages?|up to|third"
    r"|fourth|types?|version|remaining|rest|fewer|then|until|since|estimated|planned|both|versus|vs|against|ago|prior)\b"
)
_WEAK_CONTRAST = re.compile(r"\b(?:new|next|last|first|model|now|today|record|(?<!a )(?<!in )total|only)\b")
"""Words that tell two things apart only right before the quantity: `the new length of 120 m`."""
_PLACES = re.compile(r"\b(?:north\w*|south\w*|east\w*|west\w*|county|district|township|urban|metropolitan|rural)\b")
_STRICTLY = re.compile(r"\b(?:the|its|this|all|with an?|at an?) $")
_DEFINITE = re.compile(r"\b(?:the|its|this|all|these|those|with an?|at an?)(?: [a-z]+){0,2}? $")
_MODIFIERS = frozenset(
    [
        "sample",
        "net",
        "operating",
        "gross",
        "annual",
        "quarterly",
        "pretax",
        "taxable",
        "seating",
        "land",
        "water",
        "total",
        "main",
        "core",
        "adjusted",
        "consolidated",
        "domestic",
        "foreign",
        "organic",
        "recurring",
        "standing",
        "burning",
        "melting",
    ]
)
_BOUND = frozenset(
    [
        "population",
        "capacity",
        "height",
        "length",
        "area",
        "crew",
        "elevation",
        "altitude",
        "weight",
        "width",
        "depth",
        "budget",
    ]
)
"""Attributes that one thing has once."""
_VAGUE = frozenset(
    [
        "total",
        "number",
        "average",
        "rate",
        "amount",
        "series",
        "list",
        "range",
        "score",
        "value",
        "period",
        "distance",
        "age",
        "level",
        "top",
        "end",
        "out",
        "one",
        "any",
        "most",
        "all",
        "sum",
        "maximum",
        "minimum",
        "size",
        "loss",
        "gain",
        "cost",
        "group",
        "set",
        "record",
        "result",
        "pair",
        "team",
        "part",
        "lot",
        "time",
        "times",
        "years",
        "months",
        "days",
        "points",
        "games",
        "matches",
        "goals",
        "minutes",
        "hours",
        "seconds",
        "episodes",
        "people",
        "tracks",
        "copies",
        "runs",
    ]
)
_ATTRIBUTE = (*sorted(_BOUND), "tall", "high", "long", "wide", "deep", "seat", "employees", "residents", "inhabitants")
_BEGUN = (
    "completed",
    "Completed",
    "founded",
    "Founded",
    "established",
    "Established",
    "built",
    "Built",
    "opened",
    "Opened",
    "incorporated",
    "born",
    "Born",
    "founding",
    "completion",
    "opening",
    "establishment",
    "birth",
)
_RATES = frozenset(["rate", "size", "level", "value", "score", "cost", "distance", "price", "speed", "time", "limit"])
"""Words that need another one: a flow rate and a heart rate."""
_PLAIN_WORDS = frozenset(
    "the a an its his her their this that same new high higher low lower total average mean maximum minimum overall final"
    " first second last current at with of and for to in on has had is was best record initial large small annual top".split()
)
WINDOW = 8
"""Sentences back that a second mention is compared with."""


@dataclass(slots=True)
class _Mention:
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


@rules.register("repeated")
class Repeats(Rule):
    """A quantity that a text tells twice has one value."""

    title = "two values"
    help = "The text gives one quantity two values that differ by a typical slip."

    def passage(self, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Compares each mention with the earlier ones of the same name."""
        if len(sentences) < 2:
            return
        seen: dict[str, list[_Mention]] = {}
        worth = _worth_comparing(sentences)
        for index, sentence in enumerate(sentences):
            if index not in worth:
                continue
            for mention in _mentions(sentence, index):
                for earlier in seen.get(mention.key, ()):
                    if index - earlier.index <= WINDOW and _contradict(earlier, mention):
                        first, second = earlier.quantity, mention.quantity
                        message = f"The {mention.key} is {second.text} here and {first.text} before."
                        yield finding_at(
                            "repeated", second, message, meant=first.value, others=[first], probability=0.9
                        )
                        break
                seen.setdefault(mention.key, []).append(mention)


_NO_VALUES = frozenset(("date", "time", "ordinal"))
_TIMES = _NO_VALUES | {"year"}


def _worth_comparing(sentences: Sequence[Sentence]) -> set[int]:
    """Sentences near each other with numbers of the same digits, or with the same attribute."""
    seen: dict[str, list[tuple[int, float]]] = {}
    found: set[int] = set()
    for index, sentence in enumerate(sentences):
        is_begun = None
        for numeral in sentence.numerals:
            kind, value = numeral.kind, numeral.value
            if kind in _NO_VALUES or (value < 10 and not numeral.power and value == int(value)):
                continue  # one digit is never exchanged
            if kind == "year":
                if is_begun is None:
                    is_begun = any(word in sentence.text for word in _BEGUN)
                if not is_begun:
                    continue
            digits = f"{abs(value):.10g}".partition("e")[0].replace(".", "").replace("0", "")
            if len(digits) < 2 and not numeral.power:
                continue
            earlier = seen.setdefault("".join(sorted(digits)), [])
            for at, other in earlier:
                if other != value and index - at <= WINDOW:
                    found |= {at, index}
            earlier.append((index, value))
    last: dict[str, list[int]] = {}
    for index, sentence in enumerate(sentences):
        for numeral in sentence.numerals:
            if numeral.kind not in _TIMES:
                break
        else:
            continue
        text = sentence.text
        for word in _ATTRIBUTE:
            if word not in text:
                continue
            places = last.setdefault(_NOUNS.get(word, word), [])
            for at in places[-3:]:
                if at != index and index - at <= WINDOW:
                    found |= {at, index}
            places.append(index)
    return found


def is_slip(one_: float, other: float) -> bool:
    """Whether two values differ as slips do: a factor of ten, or two neighbouring digits exchanged.

    Example:
        >>> is_slip(1.5e9, 1.5e6), is_slip(324, 342), is_slip(324, 325), is_slip(10, 100)
        (True, True, False, False)
    """
    if one_ == other or one_ <= 0 or other <= 0:
        return False
    first, second = (f"{value:.12e}".split("e") for value in (one_, other))
    digits = [part[0].replace(".", "").rstrip("0") for part in (first, second)]
    if digits[0] == digits[1]:
        # 10 and 100 differ by a factor of ten by chance: round numbers prove nothing, unless it is a scale word.
        return len(digits[0]) > 1 and abs(int(first[1]) - int(second[1])) in (1, 2, 3, 6)
    if first[1] != second[1] or len(digits[0]) < 2:
        return False
    width = max(map(len, digits))
    left, right = (each.ljust(width, "0") for each in digits)
    differing = [index for index in range(width) if left[index] != right[index]]
    return (
        len(differing) == 2
        and differing[1] == differing[0] + 1
        and left[differing[0]] == right[differing[1]]
        and left[differing[1]] == right[differing[0]]
    )


def _mentions(sentence: Sentence, index: int) -> Iterator[_Mention]:
    skeleton = sentence.skeleton
    quantities = sentence.quantities
    when = frozenset(each.value for each in quantities if each.group in ("year", "date", "ordinal"))
    contrasts = [match.start() for match in _CONTRAST.finditer(skeleton)]
    weak = [match.start() for match in _WEAK_CONTRAST.finditer(skeleton)]
    places = [match.start() for match in _PLACES.finditer(skeleton)]
    for pattern in (_OF, _WAS, _ADJECTIVE, _ADJECTIVE_BEFORE, _DONE, _COUNTED, _SIZED, _WORTH, _VERBS, _OWNED, _LIVING):
        for match in pattern.finditer(skeleton):
            noun = match["noun"]
            if pattern is _WORTH and noun in _RATES:
                continue  # `_WAS` has the word before it
            elsewhere = any(match.start() - 80 <= at <= match.end() + 12 for at in places)
            # A word far away speaks of something else.
            contrast = any(match.start() - 45 <= at <= match.end() + 12 for at in contrasts) or any(
                match.start() - 30 <= at <= match.end() for at in weak
            )
            key = _key(noun) if pattern is _COUNTED else _NOUNS.get(noun) or _NOUNS.get(_key(noun)) or _key(noun)
            quantity = sentence.get(match, "q")
            definite = _DEFINITE.search(skeleton[: match.start()] + noun[: -len(key) or None])
            if pattern is _DONE:
                # `since its founding in 1878` is about the same thing.
                is_same = noun[: -len(_key(noun))] in ("its ", "his ", "her ", "their ") and skeleton.startswith(
                    "since "
                )
                contrast_ = contrast and not (is_same and _CONTRAST.search(skeleton, 6) is None)
                yield _Mention(key, quantity, index, frozenset(), contrast_, True, False, elsewhere)
            elif (key not in _VAGUE) and not (
                pattern is _WAS and quantity.group == "plain" and quantity.value < 10
            ):
                # Counted things may be others: `86 patients`, `68 patients`; `all 68 patients` are the same.
                other = pattern is _COUNTED and definite is None
                strict = (
                    pattern in (_SIZED, _OWNED, _ADJECTIVE_BEFORE)
                    or _STRICTLY.search(skeleton[: match.start()] + noun[: -len(key) or None]) is not None
                )
                thing = match["thing"] if pattern is _ADJECTIVE_BEFORE else None
                yield _Mention(key, quantity, index, when, contrast, strict, other, elsewhere, thing, skeleton, pattern in _PREDICATES)


_PREDICATES = (_WAS, _ADJECTIVE, _WORTH, _VERBS)


def _other_scale(a: Quantity, b: Quantity) -> bool:
    """Whether only the scale word differs: `$5 million` and `$5 billion`."""
    one_, other = a.numerals[0], b.numerals[0]
    return one_.power != other.power and min(one_.power, other.power) > 0 and one_.written == other.written


def _key(noun: str) -> str:
    """The last word of a name, with a word before it that changes what it means: `net loss`, `operating profit`."""
    first, _, last = noun.rpartition(" ")
    return f"{first} {last}" if first in _MODIFIERS or (first and last in _RATES and first not in _PLAIN_WORDS) else last


_SUBJECT = re.compile(r"(?:the|an?|this|another) ([a-z-]+)(?: ([a-z-]+))?(?= |,)")


def _another_thing(earlier: _Mention, later: _Mention) -> bool:
    """Whether the later sentence begins with a thing that the earlier one does not name: `the tunnel beside it`."""
    subject = _SUBJECT.match(later.words)
    if subject is None or not earlier.words:
        return False
    names = [each for each in subject.groups() if each]
    return later.key not in names and not any(re.search(rf"\b{each}", earlier.words) for each in names)


def _contradict(earlier: _Mention, later: _Mention) -> bool:
    a, b = earlier.quantity, later.quantity
    if a.value == b.value or a.group != b.group or not a.comparable(b) or later.index == earlier.index:
        return False
    if earlier.has_contrast or later.has_contrast or (earlier.when and later.when and earlier.when != later.when):
        return False
    if later.is_predicate and _another_thing(earlier, later):
        return False
    same = later.thing is not None and re.search(rf"\b(?:the|its|this) {later.thing}\b", earlier.words) is not None
    if not same and (earlier.is_elsewhere or later.is_elsewhere):
        return False
    if (later.when or earlier.when) and earlier.when != later.when and not later.is_definite:
        return False
    if abs(a.value - b.value) <= a.slack + b.slack:
        return False
    if later.is_other:
        return False
    if is_slip(a.value, b.value) or _other_scale(a, b):
        return True
    return (
        later.key in _BOUND
        and later.is_definite
        and not (a.hedge or b.hedge)
        and a.value <= 10 * b.value <= 100 * a.value
    )
