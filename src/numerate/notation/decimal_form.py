"""The decimal form of a numeral as strings: digits before and after the point, and power of ten.

Notations that write digits use it. Decimals keep their digits as written (`0.50` keeps its zero, 30 digits stay 30);
scale words and percent signs are applied to the digits, because a notation writes the *meaning* of a number:
`1.5 billion` becomes 1500000000, `3.2%` becomes 0.032.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_UP, Context
from typing import NamedTuple

from numerate.notation.base import SPECIAL_TOKENS, NotationError, special_numeral
from numerate.numerals.numeral import Numeral
from numerate.numerals.style import Exponent, render

__all__ = [
    "EXPONENT_DIGITS", "MAX_EXPONENT", "MIN_DIGITS", "DecimalForm", "check_max_digits", "decimal_form", "numeral_of",
    "parse_numeral",
]  # fmt: skip

EXPONENT_DIGITS = 4
"""Maximum number of digits of a written exponent."""
MAX_EXPONENT = 9_999
"""Larger exponents are written as this one: float64 overflows or underflows long before."""
MIN_DIGITS = 17
"""Number of digits that distinguish any two float64 values."""

# Possessive quantifiers: one pass over the text, no backtracking.
_DECIMAL = re.compile(r"[-+]?+([0-9]*+)(?>\.([0-9]*+))?+(?>[eE]([-+]?+[0-9]++))?+")


class DecimalForm(NamedTuple):
    """A finite decimal: `integer.fraction` times ten to the `exponent`.

    Attributes:
        negative: Whether it has a minus sign (-0 has one).
        integer: Digits before the point, at least one.
        fraction: Digits after the point.
        exponent: The written power of ten; None without one.

    Example:
        >>> form = DecimalForm(True, "6", "02", 23)
        >>> form.text, form.scientific()
        ('-6.02e23', ('602', 23))
    """

    negative: bool
    integer: str
    fraction: str = ""
    exponent: int | None = None

    @classmethod
    def of_scientific(cls, negative: bool, digits: str, power: int) -> DecimalForm:
        """Builds the form from significant digits and the power of ten of the first digit; short without exponent.

        Example:
            >>> DecimalForm.of_scientific(False, "3141", 2).text, DecimalForm.of_scientific(False, "3", 40).text
            ('314.1', '3e40')
        """
        if digits.strip("0") == "":
            return cls(negative, "0")
        if 0 <= power < 16:
            digits = digits.ljust(power + 1, "0")
            return cls(negative, digits[: power + 1], digits[power + 1 :])
        if -5 < power < 0:
            return cls(negative, "0", "0" * (-power - 1) + digits)
        return cls(negative, digits[0], digits[1:], power)

    @property
    def text(self) -> str:
        """The number as text that Python's `float` reads."""
        fraction = f".{self.fraction}" if self.fraction else ""
        exponent = "" if self.exponent is None else f"e{self.exponent}"
        return f"{'-' if self.negative else ''}{self.integer}{fraction}{exponent}"

    def scientific(self) -> tuple[str, int]:
        """Significant digits without leading zeros ("0" for zero), and the power of ten of the first digit."""
        digits = self.integer + self.fraction
        significant = digits.lstrip("0")
        if not significant:
            return "0", 0
        power = (self.exponent or 0) + len(self.integer) - 1 - (len(digits) - len(significant))
        return significant, max(-MAX_EXPONENT, min(MAX_EXPONENT, power))


def decimal_form(numeral: Numeral, max_digits: int = 400) -> DecimalForm:
    """The decimal form of a finite numeral with at most `max_digits` digits before the exponent.

    A numeral with more digits gets the shortest digits that keep its float64; a numeral that is not a decimal (`1/3`,
    `XIV`, `0xff`) gets the digits of its value.

    Args:
        numeral: A numeral that is not special.
        max_digits: Maximum number of digits, at least `MIN_DIGITS`.

    Example:
        >>> decimal_form(Numeral("1,234.50", 0, 8, 1234.5)).text
        '1234.50'
        >>> decimal_form(Numeral("3.2%", 0, 4, 0.032, power=-2)).text
        '0.032'
    """
    value = abs(numeral.value)
    negative = math.copysign(1.0, numeral.value) < 0
    text = numeral.text.replace(",", "") if numeral.point == "." else numeral.text
    form = _parsed(text, negative) if numeral.power == 0 else None
    if form is None or float(form.text.lstrip("-")) != value:
        form = _from_style(numeral, negative)
    if form is None or float(form.text.lstrip("-")) != value:
        form = _overflowing(numeral, negative) if math.isinf(value) else _from_value(value, negative)
    if len(form.integer) + len(form.fraction) > max_digits:
        form = _shortened(form, value, max_digits)
    if form.exponent is not None and abs(form.exponent) > MAX_EXPONENT:
        form = form._replace(exponent=MAX_EXPONENT if form.exponent > 0 else -MAX_EXPONENT)
    return form


def numeral_of(form: DecimalForm) -> Numeral:
    """The numeral of a decimal form."""
    text = form.text
    return Numeral(text, 0, len(text), float(text))


def parse_numeral(text: str) -> Numeral | None:
    """The numeral that makes up the whole `text`; None if it is anything else.

    Example:
        >>> parse_numeral("-1e-05").value
        -1e-05
    """
    text = text.strip()
    form = _parsed(text, text.startswith("-"))
    if form is not None:
        return Numeral(text, 0, len(text), float(form.text))
    if text in SPECIAL_TOKENS:
        return special_numeral(SPECIAL_TOKENS[text])
    from numerate.reading import find  # a lazy import: plain decimals do not need the reader's tables

    found = find(text, words=True, roman=True)
    return found[0] if len(found) == 1 and found[0].text == text else None


def check_max_digits(max_digits: int) -> None:
    """Raises a `NotationError` if the option `max_digits` of a notation is out of range."""
    if not MIN_DIGITS <= max_digits <= 400:
        raise NotationError(f"max_digits must be in {MIN_DIGITS}..400, got {max_digits}")


def _parsed(text: str, negative: bool) -> DecimalForm | None:
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        return None
    exponent = None
    if match[3] is not None:
        digits = match[3].lstrip("+-").lstrip("0") or "0"
        power = int(digits) if len(digits) <= 5 else 10 * MAX_EXPONENT
        exponent = -power if match[3].startswith("-") else power
    return DecimalForm(negative, match[1] or "0", match[2] or "", exponent)


def _from_style(numeral: Numeral, negative: bool) -> DecimalForm | None:
    """The digits of a decimal style without marks, words and other scripts."""
    style = numeral.style
    if style.family != "decimal" or (style.exponent is not None and style.exponent.bare):
        return None
    exponent = None if style.exponent is None else Exponent("e", lead=style.exponent.lead)
    plain = replace(
        style, plus="", inner="", outer="", zero="0", group="", point=".", suffix="", ordinal=False, exponent=exponent
    )
    form = _parsed(render(plain, abs(numeral.value)), negative)
    if form is None or numeral.power == 0:
        return form
    if form.exponent is not None:
        return form._replace(exponent=form.exponent + numeral.power)
    return _shifted(form, numeral.power)


def _shifted(form: DecimalForm, power: int) -> DecimalForm:
    """Multiplies by a power of ten by moving the point: in float64, 7 * 0.01 is not 0.07."""
    integer, fraction = form.integer, form.fraction
    if power > 0:
        fraction = fraction.ljust(power, "0")
        integer, fraction = (integer + fraction[:power]).lstrip("0") or "0", fraction[power:]
    else:
        integer = integer.rjust(1 - power, "0")
        integer, fraction = integer[:power].lstrip("0") or "0", integer[power:] + fraction
    return form._replace(integer=integer, fraction=fraction)


def _from_value(value: float, negative: bool) -> DecimalForm:
    form = _parsed(repr(value), negative)
    assert form is not None, "the repr of a finite float always parses"  # noqa: S101
    return form._replace(fraction="") if form.fraction == "0" else form


def _overflowing(numeral: Numeral, negative: bool) -> DecimalForm:
    """The digits of a finite number beyond float64 that is written without a mantissa (`10^400`) or in another base."""
    style, exact = numeral.style, numeral.exact
    if style.family != "radix" or exact is None:  # `exact` of a radix number has at most 1,205 decimal digits
        power = numeral.precision if style.exponent is not None and style.exponent.bare else MAX_EXPONENT
        return DecimalForm(negative, "1", "", min(power, MAX_EXPONENT))
    digits = str(abs(exact.numerator))
    significant = digits.rstrip("0")
    return DecimalForm(negative, significant[0], significant[1:], len(digits) - 1)


def _shortened(form: DecimalForm, value: float, max_digits: int) -> DecimalForm:
    if 0 < value < math.inf:
        form = _from_value(value, form.negative)
        if len(form.integer) + len(form.fraction) <= max_digits:
            return form
        digits, exponent = form.scientific()
    else:
        digits, exponent = form.scientific()
        if digits == "0":
            return DecimalForm(form.negative, "0")
        # Round away from the range of float64: truncating 1.79769313486231581e308 would make it finite.
        rounding = ROUND_UP if value else ROUND_DOWN
        rounded = Context(prec=MIN_DIGITS, rounding=rounding).create_decimal(f"{digits[0]}.{digits[1:]}")
        exponent += rounded.adjusted()
        digits = "".join(map(str, rounded.as_tuple().digits))
    digits = digits.rstrip("0")
    return DecimalForm(form.negative, digits[0], digits[1:], exponent)
