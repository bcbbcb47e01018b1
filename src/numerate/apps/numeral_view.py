"""Coloured views of texts and their numerals, for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["COLOURS", "format_value", "highlighted", "meaning", "meanings", "visible"]

COLOURS = {
    "quantity": "bold cyan", "percent": "bold magenta", "money": "bold green", "year": "bold yellow", "date": "yellow",
    "time": "bright_yellow", "ordinal": "bold blue", "ratio": "bright_magenta", "range": "bright_cyan",
    "version": "bright_blue", "identifier": "bright_black",
}  # fmt: skip
"""Colour of each kind of numeral."""

# Control characters become symbols, one for one, so that a file cannot control the terminal and offsets stay valid.
_PICTURES = {code: 0x2400 + code for code in range(32) if code != 9} | {0x7F: 0x2421, 9: 0x20}
_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD) | dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)


def visible(text: str) -> str:
    r"""Replaces control characters and lone surrogates by visible symbols; the length stays the same.

    Example:
        >>> visible("a\x1bb")
        'a␛b'
    """
    return text.translate(_PICTURES)


def highlighted(text: str, numerals: Sequence[Numeral]) -> Text:
    """The text with each numeral in the colour of its kind and each unit underlined."""
    shown = Text(visible(text), style="" if numerals else "dim")
    for numeral in numerals:
        shown.stylize(COLOURS.get(numeral.kind, "bold"), numeral.start, numeral.end)
        if numeral.unit_span is not None:
            shown.stylize("underline", *numeral.unit_span)
    return shown


def meanings(numerals: Sequence[Numeral]) -> Text:
    """Values of the numerals on one line: `3.2% = 0.032 percent`."""
    parts: list[Text] = []
    for numeral in numerals:
        part = Text(visible(numeral.text), style=COLOURS.get(numeral.kind, "bold"))
        part.append(f" = {meaning(numeral)}", style="default not bold")
        part.append(f" {numeral.path or numeral.kind}", style="dim not bold default")
        parts.append(part)
    return Text("  ", style="dim") + Text(" · ", style="dim").join(parts)


def meaning(numeral: Numeral) -> str:
    """Value and unit of a numeral; years, dates and codes have no thousands separators."""
    grouped = numeral.kind in ("quantity", "money", "percent", "range", "ratio", "ordinal")
    return f"{format_value(numeral.value, grouped=grouped)} {numeral.unit or ''}".rstrip()


def format_value(value: float, *, grouped: bool = True, digits: int | None = None) -> str:
    """Formats a value: a whole number with thousands separators, any other as Python does.

    Args:
        value: The value.
        grouped: Whether whole numbers have thousands separators.
        digits: Significant digits that it is rounded to; None for all.

    Example:
        >>> format_value(1.5e9), format_value(0.032), format_value(6.02e23), format_value(float("nan"))
        ('1,500,000,000', '0.032', '6.02e+23', 'nan')
        >>> format_value(49567.8, digits=4), format_value(1957.7, digits=4, grouped=False)
        ('49,570', '1958')
    """
    if digits is not None:
        value = float(f"{value:.{digits}g}")
    if value == value and abs(value) < 1e16 and value == int(value):
        return f"{value:,.0f}" if grouped else f"{value:.0f}"
    return repr(value)
