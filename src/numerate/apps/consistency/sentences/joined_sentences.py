"""Sentences in other cuts: two as one where the second goes on with numbers of the first, and clauses on their own.

`We asked 210 firms. Of these, 95 ...` is read as one; `..., six from Mill Lane; it ended at half past nine` as two, and
without numbers of a kind that occurs once, which tell something else: `€347,250 over 30 months`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import Sentence
from numerate.apps.consistency.sentences.tally import tally_of

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

__all__ = [
    "JOINED_RULES", "clauses_of", "joined_sentences", "of_one_kind", "without_adjuncts",
    "without_held_shares",
]  # fmt: skip

JOINED_RULES = ("sum", "percent", "difference", "product", "average", "ratio")
MOST_VALUES = 8
MOST_GAP = 3
_GOES_ON = regex(
    r"(?:(?P<of>(?:Of|Among) (?:these|them|those|whom|this number),? )"
    r"|(?:These|They|It|This|That|Thus|So|Hence|Therefore|Both|Total|Totals|Subtotal|Sum|Overall|Together|Combined"
    r"|Altogether|In total|In all|Previously|Before that|Last year|A year (?:earlier|ago|before)|The year before"
    r"|The (?:other|rest|remaining|others|remainder|total|sum|difference|increase|decrease|rise|drop|gain|decline"
    r"|average|mean|combined|overall|figure|margin|gap|change|reduction|share))\b"
    r"|(?:At|With|For) (?:[^,.;:]|[.,]\d){1,40}?,? (?:this|that|it|these|they) (?:is|are|will|would|makes?|gives?"
    r"|takes?|costs?|comes?|yields?|contains?|needs?)\b)"
)
_CAUSES = regex(r"\b(?:due to|driven by|attribut\w+|primarily|mainly|because|result\w* (?:from|of)|reflect\w*)\b")
"""What a change came from: the numbers behind are parts of it."""
_TAIL = regex(
    r", (?:to|for|on|in|at|by|from|the last|the first|good|all|just|before|after|when|as|although|though|told|said|says"
    r"|according|which|who|where)\b(?P<words>[^,;:()]*)[.!?]?$"
)
"""A last clause that tells something else: `..., £928.00 in total, to the side door before 10 a.m.`"""
_QUALIFIES = regex(
    r"\b(?:includ\w*|exclud\w*|with|without|plus|minus|less|more|tax\w*|vat|discount\w*|fees?|delivery|shipping|net"
    r"|gross|each|per|every|left|remain\w*|rest|total|average|additional|extra|another|other|others|some|most|half|both"
    r"|only|part|of which|of them|(?<=[a-z] )of these|of whom|but"
    r"|except|not|clocks?|ahead|behind|breaks?|deduct\w*|cost\w*|tips?|service|rounded|%)\b"
)
"""Words by which a last clause may say what a number has in it."""
_SEMICOLON = regex("; ")
_TURN = regex(r"; |,? (?:while|whereas)\b|, (?:and|but|although|though|yet)\b")
_ENDS = frozenset(".:;")
_TIMES = frozenset(("year", "date", "time", "ordinal"))
_ADJUNCTS = regex(
    r"(?:, (?:in|on|at|over|across|during|within|an average of|on average)(?: [a-z'’-]+)? \d[^,;:()]*)+[.!?]?$"
)
_PER_SHARE = regex(
    r"(?:,? (?:or|equal to|i\.e\.,?) | ?\()(?:a (?:profit|loss) of )?(?:[$€£¥]|[A-Z]{3} )?-?\d[\d.,]*\d"
    r"(?: ?[a-zA-Z€$¢]{1,6})? (?:per|a|an) (?:diluted |basic |common |ordinary |adjusted )*(?:share|unit|ADS)\b\)?,?"
)
"""The same amount again, by share: `$3.4 million, or $0.41 per share,`."""
_HELD_SHARE = regex(r"(?<=\d) ?\([^()%]{0,12}\d[\d.,]* ?(?:%|per ?cent)\)")
_DURATIONS = frozenset(("year", "month", "week", "d", "h", "min", "s"))


def joined_sentences(sentences: Sequence[Sentence]) -> Iterator[Sentence]:
    """Neighbours with few numbers, of which the second begins with a word that points back.

    Example:
        >>> from numerate.apps.consistency.checker import sentences_of
        >>> from numerate.apps.documents import Document
        >>> text = "We asked 210 firms. Of these, 95 export and 115 do not."
        >>> [each.text for each in joined_sentences(list(sentences_of(Document(kind="text", text=text))))]
        ['We asked 210 firms, of which  95 export and 115 do not.']
    """
    for sentence in sentences:
        yield from _clauses(sentence)
    for index in range(1, len(sentences)):
        second = sentences[index]
        start = _GOES_ON.match(second.text)
        if start is None or _CAUSES.search(second.text):
            continue
        first = sentences[index - 1]
        gap = second.offset - first.offset - len(first.text)
        if not 0 <= gap <= MOST_GAP:
            continue
        numerals = [*first.numerals, *second.numerals]
        if not 2 < tally_of(numerals).values <= MOST_VALUES:
            continue
        end = len(first.text.rstrip())
        if not end or first.text[end - 1] not in _ENDS:
            continue
        behind = second.text
        if start["of"]:
            behind = "of which".ljust(len(start["of"])) + behind[start.end() :]
        text = first.text[: end - 1] + "," + " " * (len(first.text) - end + gap) + behind
        joined = Sentence(text, first.offset, numerals)
        joined.cached("joined", lambda _: True)
        yield joined


def _clauses(sentence: Sentence) -> Iterator[Sentence]:
    """The clauses between semicolons, where some have no part of the numbers; a sentence without its last clause."""
    text = sentence.text
    tail = _TAIL.search(text) if len(sentence.numerals) > 2 else None
    if tail is not None and not _QUALIFIES.search(tail["words"]):
        end = sentence.offset + tail.start()
        kept = [each for each in sentence.numerals if each.end <= end]
        if sum(each.kind not in _TIMES for each in kept) > 2 and len(sentence.numerals) - len(kept) < 2:
            cut = Sentence(text[: tail.start()] + ".", sentence.offset, kept)
            cut.cached("whole", lambda _: sentence)
            yield cut
    if " share" in text and len(sentence.numerals) > 3 and (cut := _without(sentence, _PER_SHARE)) is not None:
        yield cut
    if "; " in text and len(sentence.numerals) > 3:
        yield from clauses_of(sentence, _SEMICOLON)


def clauses_of(sentence: Sentence, between: re.Pattern[str] | None = None) -> Iterator[Sentence]:
    """The clauses with three numbers or more of a sentence that has others: those between `, while` and the like.

    Args:
        sentence: The sentence.
        between: What stands between the clauses; by default semicolons and conjunctions.

    Example:
        >>> from numerate.reading import find
        >>> text = "Sales rose 5% to 21 from 20, while costs fell 10% to 9 from 10."
        >>> [each.text for each in clauses_of(Sentence(text, 0, find(text)))]
        ['Sales rose 5% to 21 from 20', ' costs fell 10% to 9 from 10.']
    """
    text, start = sentence.text, 0
    breaks = [*(match.span() for match in (between or _TURN).finditer(text)), (len(text), len(text))]
    for end, behind in breaks if len(breaks) > 1 else ():
        inside = [
            each for each in sentence.numerals
            if sentence.offset + start <= each.start and each.end <= sentence.offset + end
        ]  # fmt: skip
        if len(inside) > 2:
            cut = Sentence(text[start:end], sentence.offset + start, inside)
            cut.cached("whole", lambda _: sentence)
            yield cut
        start = behind


def of_one_kind(sentence: Sentence) -> Sentence | None:
    """The sentence without numbers of kinds that occur once, where most are of one kind; None if there are none.

    Example:
        >>> from numerate.reading import find
        >>> text = "Over 30 months we ask for $5,000, $3,000 for staff and $2,000 for tools."
        >>> [each.text for each in of_one_kind(Sentence(text, 0, find(text))).quantities]
        ['$5,000', '$3,000', '$2,000']
    """
    numerals = sentence.numerals
    if len(numerals) < 4:
        return None
    kinds = Counter((each.kind, each.unit) for each in numerals if each.kind not in _TIMES)
    (most, count), *others = kinds.most_common(2) or [(("", None), 0)]
    if not 2 < count < len(numerals) or any(number > 1 for _, number in others):
        return None
    if most[1] is None and any(unit not in _DURATIONS for _, unit in kinds if (_, unit) != most):
        return None  # `of every 100 euros, 40 go to rent`
    cut = Sentence(sentence.text, sentence.offset, [each for each in numerals if (each.kind, each.unit) == most])
    cut.cached("whole", lambda _: sentence)
    return cut


def without_adjuncts(sentence: Sentence) -> Sentence | None:
    """The sentence without last clauses that tell something else of the whole; None if there are none.

    Example:
        >>> from numerate.reading import find
        >>> text = "It has 642 pupils, 331 girls and 311 boys, in 24 classes, an average of 26.75 per class."
        >>> without_adjuncts(Sentence(text, 0, find(text))).text
        'It has 642 pupils, 331 girls and 311 boys.'
    """
    match = _ADJUNCTS.search(sentence.text)
    if match is None or not any(map(str.isdecimal, match[0])):
        return None
    kept = [each for each in sentence.numerals if each.end <= sentence.offset + match.start()]
    if len(kept) < 3:
        return None
    cut = Sentence(sentence.text[: match.start()] + ".", sentence.offset, kept)
    cut.cached("whole", lambda _: sentence)
    return cut


def without_held_shares(sentence: Sentence) -> Sentence | None:
    """The sentence without percentages in brackets behind a count: `84 (87.5 %) passed and 12 failed`; None without.

    Example:
        >>> from numerate.reading import find
        >>> text = "Of 96 pupils, 84 (87.5%) passed and 12 failed."
        >>> without_held_shares(Sentence(text, 0, find(text))).text
        'Of 96 pupils, 84         passed and 12 failed.'
    """
    if "%)" not in sentence.text and "cent)" not in sentence.text:
        return None
    return _without(sentence, _HELD_SHARE, "percent")


def _without(sentence: Sentence, pattern: re.Pattern[str], kind: str | None = None) -> Sentence | None:
    """The sentence with spaces for each match that has one numeral, of a kind if one is given; None if none has."""
    text, left_out = sentence.text, []
    for match in pattern.finditer(text):
        inside = [each for each in sentence.numerals
                  if sentence.offset + match.start() <= each.start < sentence.offset + match.end()]  # fmt: skip
        if len(inside) == 1 and kind in (None, inside[0].kind):
            left_out += inside
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    if not left_out:
        return None
    cut = Sentence(text, sentence.offset, [each for each in sentence.numerals if each not in left_out])
    cut.cached("whole", lambda _: sentence)
    return cut
