"""Numbers of spreadsheet cells as their number format shows them."""

from __future__ import annotations

import re

__all__ = ["shown_number"]

_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].')
"""Text, currencies and colours, escaped characters, and padding: `[$€-407]` has digits that are no places."""
_PLACES = re.compile(r"[0#?][0#?,]*(?:\.([0#?]+))?")
_OTHER = re.compile(r"[eE][-+]|/|[0#?],+(?![0#?,])|,(?=\.)")
"""Scientific and fractional formats, and those in thousands, which show another number than the others of the file."""


def shown_number(value: float, number_format: str | None) -> str:
    """A number with the decimals and the percent sign that its format shows; in full where it shows something else.

    Example:
        >>> shown_number(72.3, "[$€-407] #,##0.00"), shown_number(0.125, "0.0%"), shown_number(2.5, "0.##")
        ('72.30', '12.5%', '2.5')
        >>> shown_number(1234567.0, "0.0,,"), shown_number(2.5, "General"), shown_number(-3.0, "0;(0)")
        ('1234567', '2.5', '-3')
    """
    places = _LITERAL.sub("", number_format or "").partition(";")[0]
    found = _PLACES.search(places)
    if found is None or _OTHER.search(places):
        return f"{value:.15g}"
    decimals = found[1] or ""
    percent = "%" in places
    text = f"{100 * value if percent else value:.{len(decimals)}f}"
    least = len(decimals.rstrip("#?"))  # `0.0#` has one decimal or two
    for _ in range(len(decimals) - least):
        text = text.removesuffix("0")
    return f"{text.removesuffix('.')}%" if percent else text.removesuffix(".")
