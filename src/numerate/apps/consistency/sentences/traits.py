"""Traits of a text: which cue words and which kinds of numbers it has, as the bits of one integer.

Most rules find nothing in most texts, because a word or a number that they need is not there. Each rule would have to
look for its own words; here, all words of all rules are looked for at once. A word of a text is looked at the first
time that it is met, and its bits are kept, so that a text costs one look-up for each of its words.

`cues(...)` gives the bits of words, `VALUES[2]` is the bit of texts with two values or more. Bits of one integer are
alternatives; `numerate.apps.consistency.sentences.gates` takes several of them, all of which a text must have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.sentences.tally import Tally

__all__ = [
    "CLOCK", "DATES", "MEASURES", "MONEY", "NUMERIC_DATE", "ORDINALS", "ORDINAL_DIGITS", "PERCENTS", "TIMES", "UNITS",
    "VALUES", "cues", "stems", "traits_of_numbers", "traits_of_tally", "traits_of_words",
]  # fmt: skip

MOST_WORDS = 100_000
"""Words that are kept; then all are forgotten."""
_PIECE = regex(r"[^\s,;:.)\]%(\[\ue000-\uf8ff]+")
_CLOCK = regex(r"\d:\d\d|(?<![a-z])[ap]\.?m(?![a-z])|\d(?:h|m|min)\d|^\d{1,3}[hm]$")
_ORDINAL_DIGITS = regex(r"\d(?:st|nd|rd|th)")
_NUMERIC_DATE = regex(r"\d-\d\d?-\d|\d[/.]\d\d?[/.]\d")
_RUN = regex(r"[a-z]+")
_PRIVATE = regex("[\ue000-\uf8ffſı\u0307]")
"""Slots of other texts, and letters that patterns without case take for `s` and `i`."""
_MOST = 4


def _steps(first: int) -> tuple[int, ...]:
    """Bits of `at least 1`, `at least 2`, ... of something; index 0 is no bit."""
    return (0, *(1 << (first + count) for count in range(_MOST)))


VALUES, TIMES, UNITS, PERCENTS, MONEY, ORDINALS, DATES, MEASURES = (_steps(_MOST * index) for index in range(8))
"""At least so many numbers of a kind, as `VALUES[2]`, up to 4; `MEASURES` have a unit or a currency."""
CLOCK, NUMERIC_DATE, ORDINAL_DIGITS = (1 << (8 * _MOST + index) for index in range(3))
"""A time of the day in digits or with `am` or `pm`, a date in digits, and an ordinal in digits."""
_EVERY = tuple(
    tuple(sum(kind[1 : count + 1]) for count in range(_MOST + 1))
    for kind in (VALUES, TIMES, UNITS, PERCENTS, MONEY, ORDINALS, DATES, MEASURES)
)
_FIRST_CUE = 8 * _MOST + 3


_Cue = tuple[str, bool, bool]


class _Words(dict[str, int]):
    """The bits of each word that was met. `known` are the cues and their bits."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[_Cue, int] = {}
        self._starts: dict[str, list[tuple[str, bool, int]]] = {}
        """Cues that begin a word, by their first three letters."""
        self._short: dict[str, int] = {}
        """Cues of one or two letters that are whole words."""
        self._parts: list[tuple[str, bool, bool, int]] = []
        """Those that may stand within a word or are not letters only, of which there should be few."""

    def bit(self, cue: str) -> int:
        """The bit of a cue; what is longer than a word is looked for by its longest word."""
        found = max(_PIECE.finditer(cue), key=lambda each: len(each[0]), default=None)
        if found is None:
            key = cue.strip()[0], False, False
        else:
            key = found[0], cue[: found.start()][-1:] == " ", cue[found.end() :][:1] == " "
        if key not in self.known:
            bit = self.known[key] = 1 << (_FIRST_CUE + len(self.known))
            word, begins, ends = key
            if not (begins and word.isalpha() and word.isascii()) or (len(word) < 3 and not ends):
                self._parts.append((word, begins, ends, bit))
            elif len(word) < 3:
                self._short[word] = bit
            else:
                self._starts.setdefault(word[:3], []).append((word, ends, bit))
            self.clear()
        return self.known[key]

    def __missing__(self, word: str) -> int:
        if len(self) >= MOST_WORDS:
            self.clear()
        bits = 0
        if word.isalpha() and word.isascii():
            if word[:3] in self._starts:
                for cue, ends, bit in self._starts[word[:3]]:
                    if word.startswith(cue) and (not ends or len(word) == len(cue)):
                        bits |= bit
            elif len(word) < 3:
                bits = self._short.get(word, 0) | (CLOCK if word in ("am", "pm") else 0)
        else:
            for run in _RUN.findall(word):  # behind what is no letter, another word may begin: `three-point`
                bits |= self[run]
            bits |= CLOCK if _CLOCK.search(word) else 0
            bits |= NUMERIC_DATE if _NUMERIC_DATE.search(word) else 0
            bits |= ORDINAL_DIGITS if _ORDINAL_DIGITS.search(word) else 0
            if not word.isascii() and _PRIVATE.search(word):
                bits = ~0  # a skeleton has a space there
        for cue, begins, ends, bit in self._parts:
            at = word.find(cue)
            while at >= 0:
                if (not begins or not _is_letter(word, at - 1)) and (not ends or not _is_letter(word, at + len(cue))):
                    bits |= bit
                at = word.find(cue, at + 1)
        self[word] = bits
        return bits


def _is_letter(word: str, at: int) -> bool:
    return 0 <= at < len(word) and "a" <= word[at] <= "z"


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
    for each in filter(None, map(_words.__getitem__, text.lower().split())):  # most words have none
        bits |= each
    return bits


@lru_cache(maxsize=4_000)
def traits_of_tally(tally: Tally) -> int:
    """The bits of the numbers of one sentence."""
    return traits_of_numbers((tally,))


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
