"""The usual spelling of units and scale words that newswires and tables shorten: `percent` for `pct`.

Encyclopaedias, which models are pretrained on, hardly know `3.2 mln dlrs`; a model that never saw `pct` expects 0.5
before it as well as 50. A processor with `spelled_units` hands the tokenizer the usual words in their place.
"""

from __future__ import annotations

import re

__all__ = ["USUAL_SPELLINGS", "spelled_out", "unit_spellings"]

_ANYWHERE = {
    "pct": "percent", "mln": "million", "mlns": "million", "bln": "billion", "blns": "billion", "trln": "trillion",
    "dlr": "dollar", "dlrs": "dollars", "cts": "cents", "kms": "km", "kgs": "kg", "mths": "months",
    "bpd": "barrels per day",
}  # fmt: skip
_BEHIND_DIGITS = {
    "mn": "million", "mio": "million", "bn": "billion", "tn": "trillion", "trn": "trillion", "stg": "sterling",
    "hrs": "hours", "mins": "minutes", "secs": "seconds", "yrs": "years", "wks": "weeks", "bbl": "barrels",
    "bbls": "barrels", "gms": "grams", "ltrs": "litres", "mtrs": "metres",
}  # fmt: skip
"""Words that mean something else elsewhere, as the codes TN and MN in small letters do."""
USUAL_SPELLINGS = _ANYWHERE | _BEHIND_DIGITS
"""What each short word is written as; each occurs less than once in 5,000 passages of Wikipedia with numbers."""
_SCALES = ("million", "billion", "trillion", "mln", "bln")
_BEHIND = "|".join(
    f"(?<={before})" for before in (r"\d", r"\d[ \u00a0-]", r"\][ -]", *(f"{scale}[ -]" for scale in _SCALES))
)
_ENDS = r"(?![\w@/&'])"
_FIND = re.compile(
    rf"(?:(?<![\w.@#/&'-])|{_BEHIND})(?:{'|'.join(_ANYWHERE)}){_ENDS}|(?:{_BEHIND})(?:{'|'.join(_BEHIND_DIGITS)}){_ENDS}"
)
_MAY_HAVE = re.compile("|".join(sorted({word[:2] for word in USUAL_SPELLINGS})))


def unit_spellings(text: str) -> list[tuple[int, int, str]]:
    """Start, end and usual spelling of every short word in a text.

    A word that touches a digit gets a space before it. Nothing else is changed: neither words that are usual
    (`lbs`), nor capital letters, which may be a name (`PCT`).

    Example:
        >>> unit_spellings("Net rose 55 pct to 3.2 mln dlrs.")
        [(12, 15, 'percent'), (23, 26, 'million'), (27, 31, 'dollars')]
        >>> unit_spellings("He ran 5km in 25mins in tn and mn")
        [(16, 20, ' minutes')]
    """
    if not _MAY_HAVE.search(text):
        return []
    found = []
    for match in _FIND.finditer(text):
        start, end = match.span()
        touches = start > 0 and text[start - 1].isdigit()
        found.append((start, end, " " * touches + USUAL_SPELLINGS[match.group()]))
    return found


def spelled_out(text: str) -> str:
    """The text with every short word in its usual spelling.

    Example:
        >>> spelled_out("55 pct")
        '55 percent'
    """
    for start, end, word in reversed(unit_spellings(text)):
        text = text[:start] + word + text[end:]
    return text
