"""Traits of a text: which cue words and which kinds of numbers it has, as the bits of one integer.

Most rules find nothing in most texts, because a word or a number that they need is not there. Each rule would have to
look for its own words; here, all words of all rules are looked for at once. A word of a text is looked at the first
time that it is met, and its bits are kept, so that a text costs one look-up for each of its words.

`cues(...)` gives the bits of words, `VALUES[2]` is the bit of texts with two values or more. Bits of one integer are
alternatives; `numerate.apps.consistency.sentences.gates` takes several of them, all of which a text must have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.tally import Tally

__all__ = [
    "CLOCK", "DATES", "MEASURES", "MONEY", "NUMERIC_DATE", "ORDINALS", "PERCENTS", "TIMES", "UNITS", "VALUES", "cues",
    "stems", "traits_of_numbers", "traits_of_words",
]  # fmt: skip

MOST_WORDS = 60_000
"""Words that are kept; then all are forgotten."""
_PIECE = regex(r"[^\s,;:.)\]%(\[\ue000-\uf8ff]+")
_CLOCK = regex(r"\d:\d\d|(?<![a-z])[ap]\.?m(?![a-z])")
_NUMERIC_DATE = regex(r"\d-\d\d?-\d|\d[/.]\d\d?[/.]\d")
_WITHIN = regex(r"[^a-z](?=.)", re.DOTALL)
"""Behind what is no letter, another word may begin: `three-point`."""
_PRIVATE = regex("[\ue000-\uf8ff]")
_MARKS = ",;:.)]%"
_MOST = 4


def _steps(first: int) -> tuple[int, ...]:
    """Bits of `at least 1`, `at least 2`, ... of something; index 0 is no bit."""
    return (0, *(1 << (first + count) for count in range(_MOST)))


VALUES, TIMES, UNITS, PERCENTS, MONEY, ORDINALS, DATES, MEASURES = (_steps(_MOST * index) for index in range(8))
"""At least so many numbers of a kind, as `VALUES[2]`, up to 4; `MEASURES` have a unit or a currency."""
CLOCK, NUMERIC_DATE = (1 << (8 * _MOST + index) for index in range(2))
"""A time of the day in digits or with `am` or `pm`, and a date in digits."""
_EVERY = tuple(
    tuple(sum(kind[1 : count + 1]) for count in range(_MOST + 1))
    for kind in (VALUES, TIMES, UNITS, PERCENTS, MONEY, ORDINALS, DATES, MEASURES)
)
_FIRST_CUE = 8 * _MOST + 2


_Cue = tuple[str, bool, bool]


class _Words(dict[str, int]):
    """The bits of each word that was met. `known` are the cues and their bits."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[_Cue, int] = {}
        self._starts: dict[str, list[tuple[str, bool, int]]] = {}
        """Cues that begin a word, by their first three letters or, if they are shorter, by all."""
        self._short: set[str] = set()
        """First letters of the cues of one or two letters."""
        self._parts: list[tuple[str, bool, int]] = []
        """Those that may stand within a word, of which there should be few."""

    def bit(self, cue: str) -> int:
        """The bit of a cue; what is longer than a word is looked for by its longest word."""
        found = max(_PIECE.finditer(cue), key=lambda each: len(each[0]), default=None)
        if found is None:
            key = cue.strip()[0], False, False
        else:
            key = found[0], cue[: found.start()][-1:] == " ", cue[found.end() :][:1] == " "
        if key not in self.known:
            self.known[key] = 1 << (_FIRST_CUE + len(self.known))
            those = self._starts.setdefault(key[0][:3], []) if key[1] else self._parts
            those.append((key[0], key[2], self.known[key]))
            if len(key[0]) < 3:
                self._short.add(key[0][0])
            self.clear()
        return self.known[key]

    def __missing__(self, word: str) -> int:
        if len(self) >= MOST_WORDS:
            self.clear()
        core = word.rstrip(_MARKS)
        if core != word and core.isalpha() and core.isascii():
            bits = self[word] = self[core]  # no cue has a mark
            return bits
        bits = self._beginning(word, 0) if word[:3] in self._starts or word[0] in self._short else 0
        for cue, ends, bit in self._parts:
            at = word.find(cue)
            while at >= 0:
                bits |= bit if _is_whole(word, at + len(cue), ends) else 0
                at = word.find(cue, at + 1)
        if not (word.isalpha() and word.isascii()):
            for match in _WITHIN.finditer(word):
                bits |= self._beginning(word, match.end())
            bits |= CLOCK if _CLOCK.search(word) else 0
            bits |= NUMERIC_DATE if _NUMERIC_DATE.search(word) else 0
            if _PRIVATE.search(word):
                bits = ~0  # a skeleton has a space there
        elif word in ("am", "pm"):
            bits |= CLOCK
        self[word] = bits
        return bits

    def _beginning(self, word: str, at: int) -> int:
        """The bits of the cues that a word has at a place."""
        bits = 0
        starts = self._starts
        lengths = (3, 2, 1) if word[at : at + 1] in self._short else (3,)
        for length in lengths:
            for cue, ends, bit in starts.get(word[at : at + length], ()):
                if word.startswith(cue, at) and _is_whole(word, at + len(cue), ends):
                    bits |= bit
        return bits


def _is_whole(word: str, end: int, ends: bool) -> bool:
    """Whether no letter stands behind a cue that ends a word."""
    return not (ends and end < len(word) and "a" <= word[end] <= "z")


_words = _Words()


def cues(*words: str) -> int:
    """Bits of texts that have one of the words, in whatever case.

    A cue is a part of a word; a space before or behind it says that no letter stands there, and one with a space before
    it is found faster. Of several words, the longest is looked for: a text with the bits may have a cue, and a text
    without them has none.

    Example:
        >>> bits = cues(" increas", " set ")
        >>> [bool(traits_of_words(text) & bits) for text in ("An increase.", "(Set up)", "The sunset was settled.")]
        [True, True, False]
    """
    bits = 0
    for word in words:
        bits |= _words.bit(word.lower())
    return bits


def stems(words: str) -> int:
    """Bits of texts with a word that begins with one of the stems; `_` behind a stem says that the word ends there.

    Example:
        >>> [bool(traits_of_words(text) & stems("increas set_")) for text in ("An increase.", "A set-up", "Settled")]
        [True, True, False]
    """
    return cues(*(f" {each.replace('_', ' ')}" for each in words.split()))


def traits_of_words(text: str) -> int:
    """The bits of the words of a text."""
    bits = 0
    for each in set(map(_words.__getitem__, text.lower().split())):
        bits |= each
    return bits


def traits_of_numbers(tallies: Iterable[Tally]) -> int:
    """The bits of the numbers of some sentences, all of them together."""
    values = times = units = percents = money = ordinals = dates = 0
    for each in tallies:
        values += each.values
        times += each.times
        units += each.units
        percents += each.percents
        money += each.money
        ordinals += each.ordinals
        dates += each.dates
    bits = 0
    for count, steps in zip(
        (values, times, units, percents, money, ordinals, dates, units + money), _EVERY, strict=True
    ):
        if count:
            bits |= steps[count if count < _MOST else _MOST]
    return bits
