"""Finds Roman numerals of two or more letters in capitals: "Louis XIV", "Table III", "MCMLXXXIV"."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from numerate.numerals.numeral import Numeral
from numerate.reading.context import word_set

__all__ = ["find_roman", "merged_numerals"]

_WORTH = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN = re.compile(
    r"(?<!\w)(?=[IVXLCDM]{2,15}(?!\w))M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)(?!['’]\w)"
)
_LONGEST_NAME = 32


_REFERENCES = word_set("roman_references")
"""Words before the number of a numbered thing, with their abbreviations: `Table III`."""
_NAMES = word_set("roman_names")
"""Names that are often followed by a Roman numeral; they decide about letters that usually mean something else."""
_FUNCTION_WORDS = word_set("roman_function_words")
_OTHER_WORDS = word_set("roman_other_words")
"""Roman numerals that usually are words, states, units or titles."""


def find_roman(text: str) -> list[Numeral]:
    """Finds canonical Roman numerals (no IIII) that are whole words.

    Returns:
        Numerals of kind `identifier` after a word such as Table, `ordinal` after other capitalised words (Louis XIV),
        else `quantity`.

    Example:
        >>> [(n.text, n.value, n.kind) for n in find_roman("Table IV of Louis XIV in CD format")]
        [('IV', 4.0, 'identifier'), ('XIV', 14.0, 'ordinal')]
    """
    numerals = []
    for match in _ROMAN.finditer(text):
        letters, start = match.group(), match.start()
        before, stop = _word_before(text, start)
        is_reference = before.lower() in _REFERENCES
        if letters in _OTHER_WORDS and not is_reference and before.lower() not in _NAMES:
            continue
        is_name = before[:1].isupper() and not stop and before.lower() not in _FUNCTION_WORDS
        is_name = is_name and before.strip("IVXLCDM") != ""  # in "II-III" the word before is a number
        kind = "identifier" if is_reference else "ordinal" if is_name else "quantity"
        numerals.append(Numeral(letters, start, match.end(), float(_value(letters)), kind=kind))
    return numerals


def _word_before(text: str, start: int) -> tuple[str, str]:
    """The word before `start` and its full stop; empty if the word is too long for a name."""
    end = start - 1
    if end < 0 or text[end] not in " \u00a0\n-":
        return "", ""
    stop = "." if text[end - 1 : end] == "." else ""
    end -= len(stop)
    begin = end
    while begin > 0 and text[begin - 1].isalpha():
        begin -= 1
        if end - begin > _LONGEST_NAME:
            return "", ""
    return text[begin:end], stop


@lru_cache(maxsize=4000)
def _value(letters: str) -> int:
    worths = [_WORTH[letter] for letter in letters]
    return sum(-one if one < after else one for one, after in zip(worths, [*worths[1:], 0], strict=True))


def merged_numerals(numerals: list[Numeral], extra: list[Numeral]) -> list[Numeral]:
    """Both lists in order; of overlapping numerals, the one in digits stays, then the one that begins first."""
    starts, kept = [n.start for n in numerals], []
    for numeral in sorted(extra, key=lambda n: (n.start, -n.end)):
        earlier = bisect_left(starts, numeral.end)
        overlaps = earlier and numerals[earlier - 1].end > numeral.start
        if not overlaps and (not kept or kept[-1].end <= numeral.start):
            kept.append(numeral)
    return sorted(numerals + kept, key=lambda n: n.start)
