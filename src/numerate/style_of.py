"""Finds the `Style` in which a numeral's text is written."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import replace

from numerate.spelling import render_words
from numerate.style import MINUS_SIGNS, SUPERSCRIPTS, VULGAR, Exponent, Style

__all__ = ["style_of"]

SEPARATORS = ".,'’·٫٬\u00a0\u2009\u202f ．，"
_FROM_SUPERSCRIPT = {ord(char): plain for char, plain in SUPERSCRIPTS.items()}

_MANTISSA = re.compile(rf"(?:\d|[{SEPARATORS}](?=\d))++")
_EXPONENT = re.compile(
    r"(?P<mark>[eE]|[ ]?[×xX·*][ ]?10(?:\^[{(]?)?|\^[{(]?|(?=[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]))"
    r"(?P<sign>[-+−⁻⁺]?)(?P<digits>\d++|[⁰¹²³⁴⁵⁶⁷⁸⁹]++)(?P<close>[})]?)"
)
_FRACTION = re.compile(
    r"(?:(?P<whole>\d++)(?P<joint>[ -]?))?(?:(?P<num>\d++)(?P<slash>[/⁄])(?P<den>\d++)|(?P<vulgar>[¼½¾⅐-⅞↉]))"
)
_RADIX = re.compile(r"0([xXoObB])([0-9a-fA-F]++)")


def style_of(text: str, value: float, *, point: str = ".", power: int = 0, ordinal: bool = False) -> Style:
    """Finds the style in which `text` writes `value`.

    Args:
        text: A numeral's own text, as a reader cut it out.
        value: What it means.
        point: The decimal mark in use.
        power: Power of ten of the scale word or percent sign (9 for `billion`, -2 for `%`).
        ordinal: Whether the suffix follows the value (`1st`, `2nd`).
    """
    begin = next((i for i, char in enumerate(text) if char.isdecimal() or char in VULGAR), None)
    if begin is None:
        return _describe_letters(text, value, power)
    if text[begin - 1 : begin] == point and begin > 0:
        begin -= 1
    style = _describe_prefix(text[:begin], Style(power=power, point=point, ordinal=ordinal))
    rest = text[begin:]
    closed = text.startswith("(") and ")" in rest
    if closed:
        rest, _, outer = rest.rpartition(")")
        style = replace(style, outer=outer)
    if radix := _RADIX.match(rest):
        return _describe_radix(radix, rest, value, style)
    if (fraction := _FRACTION.match(rest)) and "exponent" not in rest:
        return _describe_fraction(fraction, rest, style)
    return _describe_decimal(rest, value, style)


def _describe_letters(text: str, value: float, power: int) -> Style:
    """Styles of number words, Roman numerals and specials such as NaN."""
    if not math.isfinite(value):
        return Style(family="special", suffix=text)
    if text.strip("IVXLCDM") == "" or text.strip("ivxlcdm") == "":
        return Style(family="roman", upper=text.isupper())
    for form in ("lower", "capital", "upper"):
        for joints in (joint + mark for mark in ("", ".", "#") for joint in ("-&", "-", " &", " ")):
            if render_words(value, f"{form}{joints}", power) == text:
                return Style(family="words", suffix=f"{form}{joints}", power=power)
    form = "upper" if text.isupper() else "capital" if text[:1].isupper() else "lower"
    # Words leave a choice ("fifteen hundred") that no convention captures: the value keeps its words.
    return Style(family="words", suffix=f"{form}-&", power=power, anchor=(value, text, "", ""))


def _describe_prefix(prefix: str, style: Style) -> Style:
    negative, plus = style.negative, style.plus
    if prefix.startswith("("):
        negative, prefix = "()", prefix[1:]
    if prefix[:1] == "+":
        plus, prefix = "+", prefix[1:]
    elif prefix[:1] and prefix[0] in MINUS_SIGNS:
        negative, prefix = prefix[0], prefix[1:]
    return replace(style, negative=negative, plus=plus, inner=prefix)


def _describe_radix(match: re.Match[str], rest: str, value: float, style: Style) -> Style:
    letter, digits = match.groups()
    upper = digits != digits.lower()
    anchor = (abs(value), digits, "", "") if abs(value) >= 2**53 or (upper and digits != digits.upper()) else None
    return replace(
        style,
        family="radix",
        slash=letter,
        width=len(digits) if digits.startswith("0") else 0,
        upper=upper,
        suffix=rest[match.end() :],
        anchor=anchor,
    )


def _describe_fraction(match: re.Match[str], rest: str, style: Style) -> Style:
    vulgar = match["vulgar"]
    denominator = VULGAR[vulgar][1] if vulgar else int(match["den"])
    zero = _zero_of(match["whole"] or match["num"] or "0")
    return replace(
        style,
        family="fraction",
        denominator=denominator,
        joint=(match["joint"] or "") + ("+" if match["whole"] else ""),
        slash=match["slash"] or "",
        zero=zero,
        suffix=rest[match.end() :],
    )


def _describe_decimal(rest: str, value: float, style: Style) -> Style:
    match = _MANTISSA.match(rest)
    mantissa = match.group() if match else ""
    tail = rest[len(mantissa) :]
    integer, point, fraction = mantissa.partition(style.point) if style.point else (mantissa, "", "")
    trailing = not point and bool(style.point) and tail.startswith(style.point)
    if trailing:
        tail = tail[1:]
    groups = re.findall(r"\d++", integer)
    separators = re.findall(r"\D", integer)
    digits = "".join(groups)
    zero = _zero_of(digits or fraction)
    exponent, exponent_digits, suffix = _describe_exponent(mantissa, tail, zero)
    plain = _to_ascii(digits), _to_ascii(fraction)
    significant = len("".join(plain).strip("0"))
    lost = significant > 15 or (significant > 0 and not 2.3e-308 < abs(value) < math.inf)
    # Neither the exponent of a zero nor the sign of a zero exponent (`1e-0`) can be told from the value.
    if lost or (exponent is not None and (value == 0 or not exponent_digits.strip("-0"))):
        style = replace(style, anchor=(abs(value), *plain, exponent_digits))
    if exponent is not None and not exponent.bare and significant:
        exponent = replace(exponent, lead=_leading_power(*plain))
    return replace(
        style,
        zero=zero,
        width=len(digits) if plain[0].startswith("0") and len(digits) > 1 else 0,
        group=separators[0] if separators else "",
        indian=any(len(group) == 2 for group in groups[1:-1]),
        decimals=len(fraction),
        bare_point=bool(point) and not integer,
        trailing_point=trailing,
        exponent=exponent,
        suffix=suffix,
    )


def _describe_exponent(mantissa: str, tail: str, zero: str) -> tuple[Exponent | None, str, str]:
    """The exponent that follows a mantissa, its digits as written (ASCII, with sign), and what comes after."""
    match = _EXPONENT.match(tail)
    if match is None or (zero != "0" and not match["mark"]):
        return None, "", tail
    bare = match["mark"][:1] in ("", "^")
    digits, sign = match["digits"], match["sign"]
    superscript = digits[0] in SUPERSCRIPTS
    plain = _to_ascii(digits.translate(_FROM_SUPERSCRIPT))
    minus = sign if sign and sign in "-−⁻" else "⁻" if superscript else "-"
    exponent = Exponent(
        mark=mantissa + match["mark"] if bare else match["mark"],
        minus=minus,
        plus=sign if sign and sign in "+⁺" else "",
        close=match["close"],
        width=len(plain) if plain.startswith("0") and len(plain) > 1 else 0,
        superscript=superscript,
        bare=bare,
    )
    return exponent, ("-" if sign and sign in "-−⁻" else "") + plain, tail[match.end() :]


def _leading_power(integer: str, fraction: str) -> int:
    stripped = integer.lstrip("0")
    return len(stripped) - 1 if stripped else -(len(fraction) - len(fraction.lstrip("0")) + 1)


def _zero_of(digits: str) -> str:
    return chr(ord(digits[0]) - unicodedata.decimal(digits[0])) if digits else "0"


def _to_ascii(digits: str) -> str:
    return digits if digits.isascii() else "".join(str(unicodedata.decimal(char)) for char in digits)
