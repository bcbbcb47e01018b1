"""Spans of time: two years, dates or times of the day, and how long it is said to have been between them.

As with changes, the pair (`from 1990 to 2005`, `opened in 1990 and closed in 2005`) and the claim (`25 years in all`,
`lasted 25 years`, `25 years later`) are found on their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentence_windows import RELATIVE
from numerate.apps.consistency.sentences.slots import CLOCK, COUNT, TIME, UNIT, slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["Age", "Span", "ages_of", "spans_of"]

_A, _B, _D = slot("a", TIME), slot("b", TIME), slot("d", UNIT)
_GAP = r"[^.;:()\ue000-\uf8ff]"
_BEGIN = (
    r"(?:began|begun|begins|start(?:ed|s)?|open(?:ed|s)?|founded|found|joined|established|launched|built|appointed"
    r"|elected|admitted|hospitalised|hospitalized|commenced|introduced|formed|created|enlisted|entered|arrived"
    r"|inaugurated|incorporated|installed|released"
    r"|issued|planted|moved in|born|left)"
)
_END = (
    r"(?:ended|ends|end|finished|complet(?:ed|ion)|clos(?:ed|es|ing)|dissolved|demolished|concluded|abolished"
    r"|discontinued|retired|left|resigned|stepped down|expired|expires|ceased|returned|disbanded|replaced|died|lasted"
    r"|continued|discharged|released|ran|stayed|served|finally|broken up|scrapped|sold|merged)"
)
_PAIRS = [
    regex(
        rf"\b(?:from|between) (?:[a-z]+ ){{0,3}}?{_A}(?P<gap>{_GAP}{{0,30}}?)(?:\b(?:to|until|till|through"
        rf"|and)\b|–|—|-) ?(?:[a-z]+ ){{0,3}}?{_B}"),
    regex(rf"\({_A}(?P<gap>) ?(?:[–—-]|(?<= )(?:to|until|till|through) ) ?{_B}\)"),
    regex(
        rf"\b{_BEGIN}\b{_GAP}{{0,30}}?\b(?:in|on|since|from) (?:[a-z]+ )?{_A}(?P<gap>{_GAP}{{0,40}}?\b{_END}\b"
        rf"{_GAP}{{0,25}}?)\b(?:in|on|until|till|to|at|by) (?:[a-z]+ )?{_B}"),
]  # fmt: skip
_LEAD = (
    r"(?:(?:or|for|an?|the|lasting|lasted|lasts|taking|took|takes|after|which|it|i\.e\.,?|that is,?|in all|period|span"
    r"|reign|career|tenure|term|of|spanning|covering|just|only|exactly|about|total|full|having|and|ran|long|stretch|run"
    r"|altogether|making|a total of|whole|is|was) )*"
)
_TAIL = (
    r"(?=[.,;)]|$| (?:(?:later|afterwards|in all|in total|altogether|long|overall|in office|to [a-z]+|in power)\b"
    r"|in which|during which|when|of (?!age|experience|his|her|their|its|the))"
    r"| (?:[a-z]+ )?(?:reign|period|span|career|tenure|stretch|spell|run|term|war|journey)\b)"
)
_AFTER = regex(rf"(?P<far>{_GAP}{{0,30}}?)(?:,|;| \(| –| —| -)? ?{_LEAD}{_D}{_TAIL}")
_SPENT = regex(rf",? (?:he|she|they|we|i) (?:spent|stayed|worked|lived|served) (?:(?:there|here|for|exactly) )*{_D}")
"""`From 3 to 17 May, we spent 21 days in Spain`: a part of a time may be told, but not more than all of it."""
_STAY = (
    r"(?:stay|trip|journey|absence|duration|length|reign|tenure|term|holiday|leave|closure|strike|voyage|visit|crossing"
    r"|siege|run|season|course|project|construction|period|rental|mandate|imprisonment|admission|festival|tour"
    r"|campaign)"
)
_BEFORE = regex(
    rf"\b(?:{_STAY}(?: was| is| were|:| \(total\):)"
    r"|(?:postponed|delayed|extended|prolonged|put back|deferred|moved back|pushed back) by|for|lasted|lasting|lasts"
    r"|took|takes|after|spent|serv(?:ed|ing)|ruled|reigned|ran|runs|worked"
    r"|lived|spanned|spanning|(?:[a-z]+) of|an?) (?:an? |the |exactly |a total of |just |only )?"
    rf"{_D}(?P<far>{_GAP}{{0,45}}?),? ?$"
)
_LATER = regex(
    rf"\b(?:in|on) {_A}(?P<far>{_GAP}{{0,70}}?)(?<!\balmost)(?<!\bsome)(?:,| –|\(| and)? ?(?:just |only "
    rf"|exactly )?{_D} (?:later|afterwards)(?:,| –|\)|\(| \()? ?(?:in|on|until)? ?{_B}"
)
_LATER_BEHIND = regex(
    rf"\b(?:in|on) {_A}(?P<far>{_GAP}{{0,70}}?)\b(?:in|on|until) {_B}(?:,| –| \(| -)? ?(?:just |only "
    rf"|exactly |a full )?{_D} (?:later|afterwards)\b"
)
_SINCE = regex(
    rf"{slot('b', TIME + CLOCK)}(?:,| –| \(|,? or|,? that is,?| -)? ?(?:just |only "
    rf"|exactly )?{_D} (?P<way>after|before)(?P<far>{_GAP}{{1,45}}?)\b(?:in|on|of|at"
    rf"|from) (?:the )?{slot('a', TIME + CLOCK)}(?=[ ,.;)]|$)"
)
_RENEWED = regex(r"\b(?:renew\w*|extend\w*|prolonged)\b")
_THERE = regex(rf"\bthere (?:are|were|lie|lay) (?:only |just |exactly )?{_D} $")
_DUE = regex(
    rf"{_D} (?:after|from|following|of) (?:the )?(?:[a-z]+ (?:of|on) )?{_A}"
    r"(?P<far>(?:,| \(| –| is| was| falls on| ends?"
    r"| ended| expires?| so| or| until| till| that is,?| i\.e\.,?| namely| by| on| in| due| it is|:)+) "
    rf"(?:[a-z]+day,? )?{_B}(?=[ ,.;)]|$)"
)
"""`The deadline is 14 days after 3 March, i.e. 24 March.`"""
_BREAK = regex(
    r"\b(?:and(?! (?:so|thus|lasted|took|ran)\b)|while|whereas|but|although|which|who|whose|when|again|first|second"
    r"|then|ago|every|each|per|or|experience|pause|interruption|last|next|another|previous|more than|with|since|where"
    r"|late|early|earlier|before|old|aged|age|his wife|her husband|sentence\w*|prison|contract|including|warranty"
    r"|covered|follow|older|younger)\b"
)


class Span(NamedTuple):
    """Two times of a sentence and the duration that is claimed between them, or that of a part of it."""

    a: Quantity
    b: Quantity
    d: Quantity
    gap: str
    may_be_part: bool = False
    is_due: bool = False
    """Whether it is a deadline, which `within` makes no less exact."""


_DUE_CUES = (" after ", " from ", " following ", " of ")


class Age(NamedTuple):
    """The year or date of a birth, an age, and when that age was reached."""

    born: Quantity
    when: Quantity
    age: Quantity


def spans_of(sentence: Sentence) -> Iterator[Span]:
    """All spans of years and dates with a claimed duration.

    Example:
        >>> from numerate.apps.consistency.sentences.sentences import Sentence
        >>> from numerate.reading import find
        >>> text = "The factory opened in 1880 and closed in 1960 after 70 years."
        >>> [(each.a.value, each.b.value, each.d.value) for each in spans_of(Sentence(text, 0, find(text)))]
        [(1880.0, 1960.0, 70.0)]
    """
    skeleton = sentence.skeleton
    for pattern in _PAIRS:
        for pair in pattern.finditer(skeleton):
            a, b = sentence.slots(pair, "ab")
            if _RENEWED.search(pair["gap"]):
                continue
            after = _AFTER.match(skeleton, pair.end())
            if after is not None and not _BREAK.search(after["far"]):
                yield Span(a, b, sentence.get(after, "d"), pair["gap"])
            lying = _THERE.search(skeleton[max(0, pair.start() - 60) : pair.start()])
            if lying is not None and pair[0].startswith("between"):
                yield Span(a, b, sentence.get(lying, "d"), "")
            spent = _SPENT.match(skeleton, pair.end())
            if spent is not None:
                yield Span(a, b, sentence.get(spent, "d"), "", True)
            before = _BEFORE.search(skeleton[max(0, pair.start() - 90) : pair.start()])
            if before is not None and not _BREAK.search(before["far"]):
                yield Span(a, b, sentence.get(before, "d"), "")
    if " later" in skeleton or " afterwards" in skeleton:
        for pattern in (_LATER, _LATER_BEHIND):
            for match in pattern.finditer(skeleton):
                if not _BREAK.search(_ELDERS.sub(" ", match["far"]) if pattern is _LATER else match["far"]):
                    yield Span(
                        sentence.get(match, "a"), sentence.get(match, "b"), sentence.get(match, "d"), match["far"]
                    )
    for match in _ELDER.finditer(skeleton) if skeleton.count("born") > 1 else ():
        a, b, d = sentence.slots(match, "abd")
        yield Span(*((a, b) if a.value < b.value else (b, a)), d, "")
    for match in _DUE.finditer(skeleton) if any(map(skeleton.__contains__, _DUE_CUES)) else ():
        a, b, d = sentence.slots(match, "abd")
        yield Span(a, b, d, "", is_due=True)
    if " after" in skeleton or " before" in skeleton:
        for match in _SINCE.finditer(skeleton):
            if not _BREAK.search(match["far"]):
                a, b, d = sentence.slots(match, "abd")
                if match["way"] == "before":
                    a, b = b, a
                yield Span(a, b, d, match["far"])


_ELDERS = regex(r"\b(?:the|his|her|their|its) (?:younger|older|elder|second|next|other|last)\b(?: one\b)?")
_ELDER = regex(
    rf"\bborn(?: [a-z]+)? (?:in|on) {slot('a', TIME)}(?P<far>{_GAP}{{0,60}}?){_D} (?:older"
    rf"|younger)\b(?P<far2>{_GAP}{{0,60}}?)"
    rf"\bborn(?: [a-z]+)? (?:in|on) {slot('b', TIME)}"
)
_BORN = regex(rf"\b(?:born|birth|founded|established|incorporated)(?: [a-z]+){{0,4}}?(?: on| in)? {slot('a', TIME)}")
_OF_AGE = regex(
    r"\b(?:aged|age|at the age of|age of|turned|turns|at age|at just|is now|was just|was only|was|died at"
    rf"|at) (?:now |then |just |only |about )?{slot('d', COUNT + UNIT)}"
    rf"(?:[ -]years?[ -](?:old|of age)| old| of age)?(?=[.,;)]|$| (?:in|on|when|at|as|after|by|years|and|she|he)\b)"
)
_OTHER_EVENT = regex(r"\b(?:which|that|whose|while|until|before|then|later|after|moved|where|since)\b|[;:]")


def ages_of(sentence: Sentence) -> Iterator[Age]:
    """The birth, the age and the time of a sentence that has one of each."""
    skeleton = sentence.skeleton
    if "born" not in skeleton and "birth" not in skeleton:
        return
    times = [each for each in sentence.quantities if each.group in ("year", "date")]
    born, aged = list(_BORN.finditer(skeleton)), list(_OF_AGE.finditer(skeleton))
    if len(born) != 1 or len(aged) != 1 or len(times) != 2:
        return
    birth, age = sentence.get(born[0], "a"), sentence.get(aged[0], "d")
    if "born" not in born[0][0] and "birth" not in born[0][0]:
        return
    if age.unit not in (None, "year") or not 0 < age.value < 125:
        return
    when = next(each for each in times if each is not birth) if birth in times else None
    if when is None:
        return
    between = sentence.between(age, when)
    if RELATIVE.search(sentence.between(birth, age)):
        return  # the age of somebody else
    if not _OTHER_EVENT.search(between) and len(between) < 60:
        yield Age(birth, when, age)
