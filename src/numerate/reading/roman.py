"""Roman numerals of two letters or more, in capitals: "Louis XIV", "Table III", "MCMLXXXIV"."""

from __future__ import annotations

import re
from functools import lru_cache

from numerate.numerals.numeral import Numeral

__all__ = ["find_roman"]

_WORTH = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ROMAN = re.compile(
    r"(?<!\w)(?=[IVXLCDM]{2,15}(?!\w))M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)(?!['’]\w)"
)
_LONGEST_NAME = 32


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Thing and number: "Table III" points at a table. With the usual short forms, which carry a full stop.
_REFERENCES = _set(
    "act annex app appendix article art book canto case category chapter chap ch class column division eq equation "
    "exhibit experiment factor fig figure figs game grade group item lemma level line mark mk model no number page "
    "part parts phase plate proposition pt quadrant rule scene schedule sec section stage step study tab table tables "
    "theorem tier title type unit vol volume zone"
)
# Names that numbers follow; only needed for letters that are mostly something else.
_NAMES = _set(
    "alexander benedict bowl catherine charles clement edward elizabeth francis frederick george gregory henry "
    "innocent james john king leo louis napoleon olympiad paul philip pius pope queen ramesses richard war wars "
    "wilhelm william"
)
_FUNCTION_WORDS = _set("a an and as at but by for from if in is it no nor of on or than that the this to was with")
# Words, states, units and titles first, numbers hardly ever.
_OTHER_WORDS = _set("CC CD CI CIV CL CM CV DC DCI DI DIV DL DM LI MC MCI MD MDI MI MIX ML MM MMC MV XL XXX")


def find_roman(text: str) -> list[Numeral]:
    """Finds Roman numerals: canonical ones only (no IIII), as whole words.

    Returns:
        Numerals of kind `identifier` after a word such as Table, `ordinal` after another capitalised word
        (Louis XIV), else `quantity`.

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
        is_name = is_name and before.strip("IVXLCDM") != ""  # "II-III": a number is nobody's name
        kind = "identifier" if is_reference else "ordinal" if is_name else "quantity"
        numerals.append(Numeral(letters, start, match.end(), float(_value(letters)), kind=kind))
    return numerals


def _word_before(text: str, start: int) -> tuple[str, str]:
    """The word before `start` and its full stop; none if it is too long to be a name."""
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
