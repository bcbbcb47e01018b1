"""Pages, chapters, laps and the like that run backwards, are more than there are, or are counted wrongly.

`runs from page 88 to page 79`; `page 412 of the 380-page book`; `pages 112 to 131, 25 pages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import group_gate
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["page_claims"]

_PAGE = r"(?:pages?|pp?\.|chapters?|lines?|verses?|slides?|rows?|laps?|questions?|sections?|paragraphs?)"
_TO = r"(?: (?:up )?(?:to|until|till|through) | ?[–-] ?)"
_NUMBER = r"[1-9]\d{0,3}(?![\d\w–:/-]|[.,]\d)"
_ORDER = regex(
    rf"\bfrom (?P<w>{_PAGE}) ?(?P<a>[1-9]\d{{0,3}}){_TO}(?:(?P<v>{_PAGE}) ?)?(?P<b>{_NUMBER})"
    rf"|\b(?:begins?|starts?|began|started|beginning|starting) on (?P<x>page|p\.) ?(?P<c>[1-9]\d{{0,3}})(?:,? and)?"
    rf" (?:ends?|ended|finish\w*|ending) on (?:page|p\.) ?(?P<d>{_NUMBER})"
)
_MOVED = regex(
    r"\b(?:mov\w+|shift\w*|jump\w*|back|backwards?|turn\w*|flip\w*|skip\w*|dropp?\w*|relocat\w+|slip\w*|renumber\w*"
    r"|fell|falls|went|go|reverse|down|demot\w+|chang\w+|countdown|correct\w*)\b"
)
_RUN = r"(?:pages?|pp?\.) ?(?P<a>[1-9]\d{0,3})(?: to (?:page |p\. ?)?| ?[–-] ?)(?P<b>[1-9]\d{0,3})"
_COUNT_BEHIND = regex(
    rf"\b{_RUN}(?:,| \(| –|,? so| it| they| has| have| is| are| covers| and|,? which| that is,?|,? i\.e\.,?| makes?"
    rf"| a total"
    r" of| in all| exactly)+ (?P<n>[1-9]\d{0,2}) pages\b(?! (?:of|in|on|with|a|per|later|earlier|further|more))"
)
_COUNT_BEFORE = regex(
    rf"\b(?P<n>[1-9]\d{{0,2}})(?:-page (?:[a-z]+ )?[a-z]+| pages(?: long)?)(?:,| \(|:| on| \(on| in|, from"
    rf"| from)+ ?{_RUN}(?![\d–-])"
)
_OF_FEWER = regex(
    r"\b(?P<w>page|chapter|lap|question|slide|round|stage|episode|hole|volume) (?P<a>[1-9]\d{0,3}),? (?:out )?of"
    r" (?:(?:the|this|that|a|an|her|his|its|their|only|just|all) )*(?P<b>[1-9]\d{0,3})"
    r"(?:-(?:page|chapter|lap|question|slide|round|stage|episode|hole|volume)\b(?! [a-z]+['’]s)| (?:pages|chapters|laps"
    r"|questions"
    r"|slides"
    r"|rounds|stages|episodes|holes|volumes)\b|(?=[.,;)]|$))"
)
_HAS = regex(
    r"\b(?:has|had|comprises|compris\w+|consists? of|contains?|runs to|book of|novel of|(?<=pages )in|play in|novel in"
    r"|race of|race over|scheduled for|tour of)"
    r" (?:only |just |exactly )?(?P<b>[1-9]\d{0,3}) (?P<w>page|chapter|lap|question|slide|stage"
    r"|episode)s\b(?P<gap>[^.]*?)"
)
_OTHER = regex(
    r"\b(?:each|every|per|another|other|second|next|previous\w*|first|sequel|volume|edition|more|left|later)\b"
)


@group_gate(
    stems(
        "page p_ pp_ chapter line verse slide row_ rows_ lap question section paragraph round stage episode hole volume"
    )
)
def page_claims(text: str, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Findings of the sentences with two numbers or more."""
    del text
    for sentence in sentences:
        words = sentence.text.lower()
        if len(sentence.numerals) < 2 or len(words) != len(sentence.text):
            continue
        for match in _ORDER.finditer(words) if not _MOVED.search(words) else ():
            first, last, noun = ("a", "b", "w") if match["a"] else ("c", "d", "x")
            if int(match[first]) > int(match[last]) and len(match[first]) == len(match[last]):
                message = f"This begins with {match[noun]} {match[first]}, which is behind its end {match[last]}."
                yield _finding(sentence, match.span(first), message)
        for pattern in (_COUNT_BEHIND, _COUNT_BEFORE) if "page" in words else ():
            for match in pattern.finditer(words):
                a, b, n = (int(match[name]) for name in "abn")
                if a < b and n not in (b - a, b - a + 1) and 0.4 < n / (b - a + 1) < 2.5:
                    message = f"From page {a} to page {b} are {b - a + 1} pages, not {n}."
                    yield _finding(sentence, match.span("n"), message)
        for match in _OF_FEWER.finditer(words):
            a, b = int(match["a"]), int(match["b"])
            if b < a < 3 * b and b > 3:
                yield _finding(sentence, match.span("a"), f"There is no {match['w']} {a} of {b}.")
        for match in _HAS.finditer(words):
            yield from _beyond(sentence, words, match)


def _beyond(sentence: Sentence, words: str, match: re.Match[str]) -> Iterator[Finding]:
    """What a sentence names behind the number of all of them: `has 12 chapters; chapter 14`."""
    most = int(match["b"])
    told = [*regex(rf"\b{match['w']} (?P<a>[1-9]\d{{0,3}})(?![\d–-]|[.,]\d)").finditer(words, match.end())]
    if len(told) == 1 and 4 < most < int(told[0]["a"]) < 2 * most and not _OTHER.search(words):
        message = f"There is no {match['w']} {told[0]['a']} of {most}."
        yield _finding(sentence, told[0].span("a"), message)


def _finding(sentence: Sentence, span: tuple[int, int], message: str) -> Finding:
    where = span[0] + sentence.offset, span[1] + sentence.offset
    return Finding(rule="range", message=message, written=sentence.text[slice(*span)], span=where, probability=0.88)
