"""Sentences of one paragraph, and windows of neighbouring ones, for rules that look over several sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.kept import kept
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import traits_of_numbers, traits_of_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["EMPTY_LINE", "RELATIVE", "SentenceGroup", "sentence_groups", "windows_of"]

EMPTY_LINE = regex(r"\n[ \t]*\n")
RELATIVE = regex(
    r"\b(?:father|mother|son|daughter|brother|sister|wife|husband|uncle|aunt|grandfather|grandmother|grandson|cousin"
    r"|twin|nephew|niece|parents?|children|child|widow|widower|spouse|partner|siblings?|predecessor|successor|teacher"
    r"|friend)s?\b"
)
"""Words for another person than the one that a paragraph is about."""


class SentenceGroup(list["Sentence"]):
    """The sentences of one paragraph that have a number.

    Attributes:
        text: The text from the first to the last of them.
    """

    def __init__(self, sentences: Sequence[Sentence], text: str) -> None:
        super().__init__(sentences)
        self.text = text[self[0].offset : self[-1].offset + len(self[-1].text)]

    @kept
    def words(self) -> int:
        """The cue words, as bits."""
        bits, offset, end = 0, self[0].offset, 0
        for sentence in self:
            begin = sentence.offset - offset
            if begin > end + 1:  # sentences without a number stand between
                bits |= traits_of_words(self.text[end:begin])
            bits |= sentence.words
            end = begin + len(sentence.text)
        return bits

    @kept
    def traits(self) -> int:
        """The cue words and kinds of numbers, as bits."""
        return self.words | traits_of_numbers([each.tally for each in self])


_last: tuple[str, Sequence[Sentence], list[SentenceGroup]] = ("", (), [])


def sentence_groups(text: str, sentences: Sequence[Sentence]) -> list[SentenceGroup]:
    r"""The sentences of each paragraph; an empty line ends one.

    Example:
        >>> from numerate.apps.consistency.checker import sentences_of
        >>> from numerate.apps.documents import Document
        >>> document = Document(kind="text", text="It has 5. It had 7.\n\nIn 1990 it closed.")
        >>> [len(each) for each in sentence_groups(document.text, list(sentences_of(document)))]
        [2, 1]
    """
    global _last
    if isinstance(sentences, SentenceGroup):
        return [sentences]
    known, those, groups = _last
    if known is not text or those is not sentences:
        groups = [SentenceGroup(each, text) for each in _groups(text, sentences)]
        _last = (text, sentences, groups)
    return groups


def _groups(text: str, sentences: Sequence[Sentence]) -> Iterator[Sequence[Sentence]]:
    if "\n" not in text:
        yield from (sentences,) if sentences else ()
        return
    group: list[Sentence] = []
    for sentence in sentences:
        if group:
            end = group[-1].offset + len(group[-1].text)
            if text.find("\n", end, sentence.offset) >= 0 and EMPTY_LINE.search(text, end, sentence.offset):
                yield group
                group = []
        group.append(sentence)
    if group:
        yield group


def windows_of(
    text: str, sentences: Sequence[Sentence], cues: Sequence[str], width: int = 3
) -> Iterator[list[Sentence]]:
    """A sentence with one of the cues, and up to `width - 1` sentences with numbers before it in its paragraph."""
    for group in sentence_groups(text, sentences):
        there = [cue for cue in cues if cue in group.text]
        for index, sentence in enumerate(group if there else ()):
            if any(map(sentence.text.__contains__, there)):
                yield group[max(0, index - width + 1) : index + 1]
