"""How sure a reading is: the confidence and the uncertainty of a record.

Most records have eight fields. One that has an uncertainty, or a confidence other than `certain`, has thirteen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.reading.context import YEAR_CUES, word_before

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = [
    "DEFAULTS",
    "LIKELY_FIELDS",
    "SURE_YEAR_CUES",
    "YEAR_FIELDS",
    "YEAR_LEVELS",
    "extended",
    "year_confidence",
]

DEFAULTS = (None, "", False, None, "certain")
"""Defaults of the fields after the first eight: special, path, shared, uncertainty, confidence."""
LIKELY_FIELDS = (None, None, 0, ".", *DEFAULTS[:-1], "likely")
"""The fields after the kind of a number without unit whose kind is likely."""
SURE_YEAR_CUES = frozenset(
    form
    for word in YEAR_CUES - {"of", "by", "between", "b", "d", "c", "ca", "ad", "christmas", "annual", "fall"}
    for form in (word, word.capitalize(), "(" + word)
) | {"("}
"""Words after which four digits are certainly a year."""
YEAR_LEVELS = {str(year): "likely" if 1900 < year <= 2035 and year != 2000 else "guess" for year in range(1000, 2200)}
"""Four digits -> confidence of a year without evidence around it."""
YEAR_FIELDS = {
    digits: (float(digits), "year", None, None, 0, ".", *DEFAULTS[:-1], level) for digits, level in YEAR_LEVELS.items()
}
"""Four digits -> the fields after the end of the record of such a year."""
_AFTER_CITATION = frozenset(["", ")", ",", ";", "-", "–", ":"])


def extended(record: Record, confidence: str, uncertainty: float | None = None) -> Record:
    """The record with a confidence, and with an uncertainty if one is given.

    Example:
        >>> extended((0, 2, 5.0, "quantity", "m", (1, 2), 0, "."), "guess")
        (0, 2, 5.0, 'quantity', 'm', (1, 2), 0, '.', None, '', False, None, 'guess')
    """
    special, path, shared, known, _ = (*record, *DEFAULTS[len(record) - 8 :])[8:]
    return (*record[:8], special, path, shared, known if uncertainty is None else uncertainty, confidence)


def year_confidence(text: str, start: int, end: int) -> str:
    """How sure the four digits text[start:end] are a year and not a count.

    `certain` after a word such as `in`, in brackets, and at the end of a citation; else `likely` from 1900 to 2035 if
    it is no round number; else `guess`.
    """
    before, after = text[start - 1 : start], text[end : end + 1]
    if before == "(":
        if after in _AFTER_CITATION:
            return "certain"
    elif (after == ")" and text[start - 2 : start] == ", ") or word_before(text, start) in SURE_YEAR_CUES:
        return "certain"
    return "guess" if before == "=" else YEAR_LEVELS[text[start:end]]
