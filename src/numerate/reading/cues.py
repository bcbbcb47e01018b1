"""The word before a number, and what it says of the number at first sight."""

from __future__ import annotations

from numerate.numerals.units import CURRENCY_CUES
from numerate.reading.context import BARRIERS, LABELS, MONTHS, VERSION_WORDS

__all__ = ["CUE_KINDS", "DOUBTFUL_LABELS", "key_of", "word_before", "wrapped_kind"]


def _forms(words: frozenset[str]) -> frozenset[str]:
    """A cue as it may stand in a text: `fig`, `Fig`, `(Fig.`, `FIG:`."""
    cases = {case for word in words for case in (word, word.capitalize(), word.upper())}
    return frozenset(lead + case + tail for case in cases for lead in ("", "(", "[") for tail in ("", ".", ",", ":"))


DOUBTFUL_LABELS = frozenset(["case", "area", "unit", "under", "no", "p", "example", "examples"])
_DOUBT = "?"
CUE_KINDS: dict[str, str] = (
    dict.fromkeys(_forms(VERSION_WORDS | DOUBTFUL_LABELS), _DOUBT)
    | {lead + cue: _DOUBT for cue in CURRENCY_CUES for lead in ("", *"([{\"'“‘-–−+/=<>≤≥~≈:")}
    | {form: _DOUBT if form[-1] == ":" else "identifier" for form in _forms(LABELS - DOUBTFUL_LABELS - VERSION_WORDS)}
    | {form + tail: "date" for form in MONTHS for tail in ("", ".", ",")}
    | {"to": "to", "±": _DOUBT, "+/-": _DOUBT, "-": _DOUBT, "–": _DOUBT, "=": _DOUBT}
)
"""What the word before a number says of it at first sight; "?" where a closer look is needed."""


def word_before(text: str, begin: int) -> str:
    """The word before `begin`, at most 20 characters back and no more than one space away."""
    if begin and text[begin - 1] in BARRIERS:
        return ""
    if begin and text[begin - 1].isspace():
        begin -= 1
        if begin and text[begin - 1].isspace():
            return ""  # another cell or paragraph
    words = text[begin - 20 if begin > 20 else 0 : begin].split()
    return words[-1] if words else ""


def key_of(cue: str) -> str:
    """The bare word of a cue: `fig` of `(Fig.`."""
    key = cue[1:] if cue[:1] in ("(", "[") else cue
    key = key[:-1] if key[-1:] in (".", ",", ":") else key
    return key.lower() if key != "=" else cue


def wrapped_kind(cue: str) -> str | None:
    """What the last word says where the word before the number has a line end or a special space in it."""
    if cue == "" or cue[-1].isspace():
        return None
    kind = CUE_KINDS.get(cue.split()[-1])
    return _DOUBT if kind == "to" else kind
