"""Writing styles of numbers: `Style` describes how a number is written, `render` writes any value in a style.

A style holds conventions only (sign form, grouping, decimals, scale word ...), not the text, so that the number in
`$1,234.50` can be replaced by another value *written in the same way*. The one exception is `anchor`: if float64 cannot
hold the written digits (more than 15 significant digits, overflow, underflow), the style keeps the value together with
its digits and uses them when the same value is rendered again.
"""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from numerate.numerals.number_words import render_roman, render_special, render_words

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Exponent", "Style", "ordinal_suffix", "render", "shared_style"]

MINUS_SIGNS = "-−–"
VULGAR: dict[str, tuple[int, int]] = {
    char: (int(parts[0]), int(parts[1]))
    for char in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉"
    for parts in [unicodedata.normalize("NFKC", char).split("⁄")]
}
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
FROM_SUPERSCRIPT = {ord(char): plain for char, plain in SUPERSCRIPTS.items()}
_VULGAR_OF = {pair: char for char, pair in VULGAR.items()}
_TO_SUPERSCRIPT = {ord(plain): char for char, plain in SUPERSCRIPTS.items()}


@dataclass(frozen=True, slots=True)
class Exponent:
    """The exponent part of a number in scientific form: `e-09`, `×10^6`, `×10⁶`."""

    mark: str
    minus: str = "-"
    plus: str = ""
    close: str = ""
    width: int = 0
    superscript: bool = False
    lead: int = 0
    """Power of ten of the mantissa's first significant digit: 0 in 1.5e3, 1 in 15e2, -1 in 0.15e4."""
    bare: bool = False
    """Whether there is no mantissa, as in 10^6."""


@dataclass(frozen=True, slots=True)
class Style:
    """All conventions that `render` needs to write a value; `style_of` derives them from a numeral's text.

    Attributes:
        family: `decimal`, `fraction`, `radix`, `words`, `roman` or `special`.
        negative: The minus sign, `()` for accounting parentheses, or `0-` for a minus after the digits (`5-`).
        inner: Text between sign and digits, such as a currency sign.
        zero: The digit zero of the script.
        width: Minimum number of integer digits.
        indian: Whether all groups but the last have two digits.
        bare_point: Whether a zero before the point is left out.
        trailing_point: Whether the point is written without decimals.
        suffix: Text after the digits; for words, their form; for specials, their spelling.
        outer: Text after a closing parenthesis or after words.
        joint: Text between whole number and fraction, followed by `+` if there is a whole number.
        slash: Fraction slash, or the letter of a radix prefix (`0x`).
        anchor: A value with its integer, fraction and exponent digits as written; see the module docstring.
    """

    family: str = "decimal"
    negative: str = "-"
    plus: str = ""
    inner: str = ""
    zero: str = "0"
    width: int = 0
    group: str = ""
    indian: bool = False
    point: str = "."
    decimals: int = 0
    bare_point: bool = False
    trailing_point: bool = False
    power: int = 0
    exponent: Exponent | None = None
    suffix: str = ""
    outer: str = ""
    ordinal: bool = False
    denominator: int = 0
    joint: str = ""
    slash: str = ""
    upper: bool = False
    anchor: tuple[float, str, str, str] | None = None


def render(style: Style, value: float) -> str:
    """Writes `value` in `style`.

    Example:
        >>> render(Style(group=",", decimals=2, negative="()"), -1234.5)
        '(1,234.50)'
    """
    if not isinstance(style, Style):
        raise TypeError(f"render takes a numeral's style and a value, got {repr(style)[:60]}: pass numeral.style")
    value = float(value)
    # An infinity has digits only as the value of an overflowing numeral, such as 1e400.
    known = style.anchor is not None and math.isinf(style.anchor[0])
    if style.family == "special" or math.isnan(value) or (math.isinf(value) and not known):
        return render_special(style.suffix if style.family == "special" else "", value)
    negative = math.copysign(1.0, value) < 0
    if style.family == "words":
        return _words_text(style, value)
    if style.family == "roman":
        return render_roman(value, style.upper)
    body = {"decimal": _decimal_body, "fraction": _fraction_body, "radix": _radix_body}[style.family](style, abs(value))
    if negative and style.negative == "()" and not _is_a_note(style, body):
        return f"({style.inner}{body}){style.outer}"
    if style.negative[0] == "0":
        return f"{style.inner}{body}{style.outer}{style.negative[1:] if negative else ''}"
    sign = style.negative if negative else style.plus
    return f"{'-' if sign == '()' else sign}{style.inner}{body}{style.outer}"


def _is_a_note(style: Style, body: str) -> bool:
    """Whether parentheses around a body without its grouping marks would be read as a note: `(1)` is not -1."""
    return bool(style.group) and style.group not in body and not style.inner and "%" not in body + style.outer


def shared_style(styles: Iterable[Style]) -> Style:
    """The conventions of a text for a number that it does not have yet: separators, digits and minus sign.

    The first style that shows a convention decides it, so pass the nearest number first. A text that shows none gives
    the plain style `1234.5`.

    Example:
        >>> from numerate import find
        >>> render(shared_style(n.style for n in find("costs 1.350,50 EUR")), -2000.0)
        '-2.000'
    """
    found: dict[str, Any] = {}
    for style in styles:
        if style.family != "decimal":
            continue
        found.setdefault("zero", style.zero)
        if style.group:
            found.setdefault("group", (style.group, style.indian))
        if style.decimals and style.point:
            found.setdefault("point", style.point)
        if style.negative != "-":
            found.setdefault("negative", style.negative)
    group, indian = found.pop("group", ("", False))
    point = found.pop("point", "")
    if not point or point == group:
        point = "," if group == "." else "."
    if group == point:
        group, indian = "", False
    return Style(group=group, indian=indian, point=point, **found)


def _words_text(style: Style, value: float) -> str:
    if style.anchor is not None and style.anchor[0] == value:
        return style.anchor[1] + style.outer
    if style.outer:  # percent
        return render_words(float(Decimal(repr(value)).scaleb(-style.power)), style.suffix) + style.outer
    return render_words(value, style.suffix, style.power)


def _decimal_body(style: Style, value: float) -> str:
    anchor = style.anchor
    if anchor is not None and anchor[0] == value:
        integer, fraction, exponent_digits = anchor[1:]
        exponent = "" if style.exponent is None else _exponent_text(style.exponent, exponent_digits)
        bare = style.exponent is not None and style.exponent.bare
        return exponent + style.suffix if bare else _assemble(style, integer, fraction, exponent)
    number = Decimal(repr(value)).scaleb(-style.power)
    if style.exponent is None:
        integer, _, fraction = format(number, f".{style.decimals}f").partition(".")
        return _assemble(style, integer, fraction, "")
    if style.exponent.bare:
        return _bare_power(style, number)
    power = number.adjusted() - style.exponent.lead if number else 0
    written = format(number.scaleb(-power), f".{style.decimals}f")
    if number and Decimal(written).adjusted() > style.exponent.lead:
        power += 1  # rounding added a digit: 9.99 with one decimal is 1.0e1
        written = format(number.scaleb(-power), f".{style.decimals}f")
    integer, _, fraction = written.partition(".")
    return _assemble(style, integer, fraction, _exponent_text(style.exponent, str(power)))


def _assemble(style: Style, integer: str, fraction: str, exponent: str) -> str:
    integer = integer.zfill(style.width) if style.width else integer
    suffix = style.suffix
    if style.ordinal:
        suffix = ordinal_suffix(integer).upper() if suffix.isupper() else ordinal_suffix(integer)
    if style.bare_point and integer.strip("0") == "":
        integer = ""
    if style.group:
        integer = _grouped(integer, style.group, style.indian)
    if fraction or style.trailing_point:
        integer = f"{integer}{style.point}{fraction}"
    return _to_script(integer, style.zero) + exponent + suffix


def _bare_power(style: Style, number: Decimal) -> str:
    form = style.exponent
    if form is None or not number:
        return "0" + style.suffix
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    # A value that is not a power of ten needs a mantissa.
    mantissa = "" if digits == "1" else f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}×"
    return mantissa + _exponent_text(form, str(number.adjusted())) + style.suffix


def _exponent_text(form: Exponent, digits: str) -> str:
    negative, digits = digits.startswith("-"), digits.lstrip("-")
    digits = digits.zfill(form.width)
    if form.superscript:
        digits = digits.translate(_TO_SUPERSCRIPT)
    return f"{form.mark}{form.minus if negative else form.plus}{digits}{form.close}"


def _fraction_body(style: Style, value: float) -> str:
    if style.anchor is not None and style.anchor[0] == value:
        return style.anchor[1] + style.suffix
    exact = Fraction(repr(value)) / Fraction(10) ** style.power
    total = round(exact * style.denominator)
    whole, numerator = divmod(total, style.denominator) if style.joint else (0, total)
    if numerator == 0:
        return _to_script(str(whole).zfill(style.width), style.zero) + style.suffix
    char = _VULGAR_OF.get((numerator, style.denominator)) if not style.slash else None
    part = char or f"{numerator}{style.slash or '⁄'}{style.denominator}"
    # `0½` keeps its zero; `½` gets a whole part only if the value has one.
    head = f"{str(whole).zfill(style.width)}{style.joint[:-1]}" if whole or style.width else ""
    return _to_script(head + part, style.zero) + style.suffix


def _radix_body(style: Style, value: float) -> str:
    letter = style.slash
    if style.anchor is not None and style.anchor[0] == value:
        digits = style.anchor[1]
    else:
        digits = format(round(value), letter.lower()).zfill(style.width)
        digits = digits.upper() if style.upper else digits
    return f"0{letter}{digits}{style.suffix}"


def ordinal_suffix(digits: str) -> str:
    """The ordinal suffix of ASCII `digits`: 1st, 2nd, 3rd, 11th."""
    return "th" if digits[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")


def _grouped(integer: str, separator: str, indian: bool) -> str:
    head, tail = integer[:-3], integer[-3:]
    step = 2 if indian else 3
    cut = len(head) % step
    parts = [head[:cut], *(head[i : i + step] for i in range(cut, len(head), step)), tail]
    return separator.join(part for part in parts if part)


def _to_script(text: str, zero: str) -> str:
    return text if zero == "0" else "".join(chr(ord(zero) + int(c)) if c in "0123456789" else c for c in text)
