"""Derives the `Style` of a numeral from its text."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import Any

from numerate.numerals.number_words import render_roman, render_words
from numerate.numerals.style import FROM_SUPERSCRIPT, MINUS_SIGNS, SUPERSCRIPTS, VULGAR, Exponent, Style, render
from numerate.numerals.word_tables import LANGUAGES, english_words, word_table

__all__ = ["style_of"]

SEPARATORS = ".,'’٫٬\u00a0\u2009\u202f ．，_"
# The fast path for plain numbers, about nine of ten: one regex match and one cached lookup.
_PLAIN = re.compile(
    r"([-−+]?)(?:([1-9][0-9]{0,2}(?>,[0-9]{3})++)|([0-9]++))(?:\.([0-9]++))?([ -]?(?:%|[A-Za-z]++))?"
).fullmatch
_MANTISSA = re.compile(rf"(?>\d|[{SEPARATORS}](?=\d))++")
_EXPONENT = re.compile(
    r"(?P<mark>(?:\([0-9]{1,4}\))?(?:[eE]|[ ]?[×xX·*][ ]?10(?:\^[{(]?|[ ])?)|\^[{(]?|(?=[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺])|(?=[-−][0-9]))"
    r"(?P<sign>[-+−–⁻⁺]?)(?P<digits>[0-9]++|[⁰¹²³⁴⁵⁶⁷⁸⁹]++)(?P<close>[})]?)"
)
_FRACTION = re.compile(
    r"(?:(?P<whole>\d++)(?P<joint>[ -]?))?(?:(?P<num>\d++)(?P<slash>[/⁄])(?P<den>\d++)|(?P<vulgar>[¼½¾⅐-⅞↉]))"
)
_PERCENT_WORD = re.compile(rf"[ -](?:{'|'.join(word_table(language)['percent'] for language in LANGUAGES)})$")
_MINUS_WORD = re.compile(r"(?:minus|negative) ", re.IGNORECASE).match
# A power of another base than ten: its digits are kept for this value, others are written in digits.
_BASE_POWER = re.compile(r"([0-9.,]++)\^[{(]?[-+−]?[0-9]++[})]?$").match
_ENGLISH = english_words()
_WORDS = re.compile(r"[^\W\d_]++")
# Digits with words that `render` does not write for other values: "3 and a half million", "2 dozen".
_WORD_TAIL = re.compile(r"\d[ \-\n\u00a0\u2010\u2011][^\W\d_]++(?:[ \-\n\u00a0\u2010\u2011]|$)")
# As the readers read it: `0b` of `0basis points` begins a word, and `0x10^9` is a multiplication.
_RADIX = re.compile(
    r"0(?=[xX][0-9a-fA-F]|[oO][0-7]++(?!\w)|[bB][01]++(?!\w))([xXoObB])([0-9a-fA-F]++)(?![0-9A-Za-z_^⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺])"
)


def style_of(text: str, value: float, *, point: str = ".", power: int = 0, ordinal: bool = False) -> Style:
    """Finds the style in which `text` writes `value`.

    Args:
        text: The numeral's own text.
        value: Its value.
        point: The decimal mark.
        power: Power of ten of the scale word or percent sign (9 for `billion`, -2 for `%`).
        ordinal: Whether the suffix follows the value (`1st`, `2nd`).
    """
    if point == "." and (plain := _PLAIN(text)):
        sign, grouped, digits, fraction, suffix = plain.groups("")
        # float64 holds 15 digits; a zero followed by letters may be 0xff.
        # A word with power 0 is not a scale: "2 dozen".
        counted = suffix != "" and power == 0 and suffix[0] in " -"
        if len(digits or grouped) + len(fraction) <= 15 and digits != "0" and not counted:
            width = len(digits) if digits[:1] == "0" else 0
            return _plain_style(sign, grouped != "", width, len(fraction), suffix, power, ordinal)
    begin = next((i for i, char in enumerate(text) if char.isdecimal() or char in VULGAR), None)
    if begin is None:
        return _describe_letters(text, value, power)
    if text[begin - 1 : begin] == point and begin > 0:
        begin -= 1
    form: dict[str, Any] = {"power": power, "point": point, "ordinal": ordinal, **_describe_prefix(text[:begin])}
    rest = text[begin:]
    if math.copysign(1.0, value) < 0 and rest[-1] in MINUS_SIGNS and text[0] not in MINUS_SIGNS:
        rest, form["negative"] = rest[:-1], "0" + rest[-1]
    if text.startswith("(") and ")" in rest:
        rest, _, form["outer"] = rest.rpartition(")")
    if (base := _BASE_POWER(rest)) and base[1] != "10":
        return Style(family="words", suffix="digits", anchor=(value, text, "", ""))
    if radix := _RADIX.match(rest):
        form |= _describe_radix(radix, rest, value)
    elif fraction := _FRACTION.match(rest):
        form |= _describe_fraction(fraction, rest, value)
    else:
        form |= _describe_decimal(rest, value, point)
    style = Style(**form)
    return _digits_with_words(text, value, power) if _WORD_TAIL.search(text) and render(style, value) != text else style


@lru_cache(maxsize=4096)
def _plain_style(sign: str, grouped: bool, width: int, decimals: int, suffix: str, power: int, ordinal: bool) -> Style:
    return Style(
        negative=sign if sign and sign in MINUS_SIGNS else "-",
        plus="+" if sign == "+" else "",
        width=width,
        group="," if grouped else "",
        decimals=decimals,
        power=power,
        suffix=suffix,
        ordinal=ordinal,
    )


def _describe_letters(text: str, value: float, power: int) -> Style:
    """The style of number words, Roman numerals and special values such as NaN."""
    if not math.isfinite(value):
        return Style(family="special", suffix=text)
    if not text.strip("IVXLCDM" if text.isupper() else "ivxlcdm") and render_roman(value, text.isupper()) == text:
        return Style(family="roman", upper=text.isupper())  # unlike French "dix", which has Roman letters, too
    if power == -2 and (percent := _PERCENT_WORD.search(text)):
        number = float(Decimal(repr(value)).scaleb(2))
        plain = _describe_letters(text[: percent.start()], number, 0)
        anchor = None if plain.anchor is None else (value, plain.anchor[1], "", "")
        return Style(family="words", suffix=plain.suffix, power=-2, outer=percent.group(), anchor=anchor)
    for form in ("lower", "capital", "upper"):
        for joints in (joint + mark for mark in ("", ".", "#") for joint in ("-&", "-", " &", " ")):
            if render_words(value, f"{form}{joints}", power) == text:
                return Style(family="words", suffix=f"{form}{joints}", power=power)
    form = "upper" if text.isupper() else "capital" if text[:1].isupper() else "lower"
    # Some words follow no convention ("fifteen hundred"): keep them for this value. Only English words are written for
    # other values; after words of another language, these are written in digits.
    english = _ENGLISH.issuperset(_WORDS.findall(text.lower()))
    return Style(family="words", suffix=f"{form}-&" if english else "digits", power=power, anchor=(value, text, "", ""))


def _digits_with_words(text: str, value: float, power: int) -> Style:
    """The style of "3 and a half million" or "2 dozen": the words are kept for this value, others are in digits."""
    percent = _PERCENT_WORD.search(text) if power == -2 else None
    kept, outer = (text[: percent.start()], percent.group()) if percent else (text, "")
    return Style(family="words", suffix="digits", power=power, outer=outer, anchor=(value, kept, "", ""))


def _describe_prefix(prefix: str) -> dict[str, Any]:
    negative, plus = "-", ""
    if prefix.startswith("("):
        negative, prefix = "()", prefix[1:]
    if prefix[:1] == "+":
        plus, prefix = "+", prefix[1:]
    elif prefix[:1] and prefix[0] in MINUS_SIGNS:
        negative, prefix = prefix[0], prefix[1:]
    elif word := _MINUS_WORD(prefix):
        negative, prefix = word.group(), prefix[word.end() :]
    return {"negative": negative, "plus": plus, "inner": prefix}


def _describe_radix(match: re.Match[str], rest: str, value: float) -> dict[str, Any]:
    letter, digits = match.groups()
    upper = digits != digits.lower()
    anchor = (abs(value), digits, "", "") if abs(value) >= 2**53 or (upper and digits != digits.upper()) else None
    return {
        "family": "radix",
        "slash": letter,
        "width": len(digits) if digits.startswith("0") else 0,
        "upper": upper,
        "suffix": rest[match.end() :],
        "anchor": anchor,
    }


def _describe_fraction(match: re.Match[str], rest: str, value: float) -> dict[str, Any]:
    vulgar, whole = match["vulgar"], match["whole"]
    return {
        "family": "fraction",
        "denominator": VULGAR[vulgar][1] if vulgar else int(match["den"]),
        "joint": (match["joint"] or "") + ("+" if whole else ""),
        "slash": match["slash"] or "",
        "zero": _zero_of(whole or match["num"] or "0"),
        "width": len(whole) if whole and int(whole[0]) == 0 else 0,
        "suffix": rest[match.end() :],
        # Zero thirds: rendering never produces this character from a value.
        "anchor": (abs(value), match.group(), "", "") if vulgar == "↉" else None,
    }


def _describe_decimal(rest: str, value: float, decimal_point: str) -> dict[str, Any]:
    match = _MANTISSA.match(rest)
    mantissa = match.group() if match else ""
    tail = rest[len(mantissa) :]
    integer, point, fraction = mantissa.partition(decimal_point) if decimal_point else (mantissa, "", "")
    trailing = not point and bool(decimal_point) and tail.startswith(decimal_point)
    if trailing:
        tail = tail[1:]
    groups = re.findall(r"\d++", integer)
    separators = re.findall(r"\D", integer)
    digits = "".join(groups)
    zero = _zero_of(digits or fraction)
    plain = _to_ascii(digits), _to_ascii(fraction)
    significant = len("".join(plain).strip("0"))
    exponent, exponent_digits, suffix = _describe_exponent(mantissa, tail, zero, plain if significant else None)
    lost = significant > 15 or (significant > 0 and not 2.3e-308 < abs(value) < math.inf)
    # The value tells neither the exponent of a zero nor the sign of a zero exponent (`1e-0`).
    kept = lost or (exponent is not None and (value == 0 or not exponent_digits.strip("-0")))
    return {
        "zero": zero,
        "width": len(digits) if plain[0].startswith("0") and len(digits) > 1 else 0,
        "group": separators[0] if separators else "",
        "indian": any(len(group) == 2 for group in groups[1:-1]),
        "decimals": len(fraction),
        "bare_point": bool(point) and not integer,
        "trailing_point": trailing,
        "exponent": exponent,
        "suffix": suffix,
        "anchor": (abs(value), *plain, exponent_digits) if kept else None,
    }


def _describe_exponent(
    mantissa: str, tail: str, zero: str, plain_mantissa: tuple[str, str] | None
) -> tuple[Exponent | None, str, str]:
    """The exponent after a mantissa, its digits as written (ASCII, with sign), and the rest of the text."""
    match = _EXPONENT.match(tail)
    if match is None or (zero != "0" and not match["mark"]):
        return None, "", tail
    bare = match["mark"][:1] in ("", "^")
    digits, sign = match["digits"], match["sign"]
    superscript = digits[0] in SUPERSCRIPTS
    plain = _to_ascii(digits.translate(FROM_SUPERSCRIPT))
    minus = sign if sign and sign in "-−⁻" else "⁻" if superscript else "-"
    exponent = Exponent(
        mark=mantissa + match["mark"] if bare else match["mark"],
        minus=minus,
        plus=sign if sign and sign in "+⁺" else "",
        close=match["close"],
        width=len(plain) if plain.startswith("0") and len(plain) > 1 else 0,
        superscript=superscript,
        lead=_leading_power(*plain_mantissa) if plain_mantissa and not bare else 0,
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
