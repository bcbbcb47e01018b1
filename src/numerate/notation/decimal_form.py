"""The decimal that a numeral writes, as strings from end to end: digits before and after the point, power of ten.

Notations that spell digits start here. What was written stays as it was (`0.50` keeps its zero, 30 digits stay 30)
wherever the text is a decimal; scale words and percent signs are worked into the digits, since a notation writes what
the number *means*: `1.5 billion` becomes 1500000000, `3.2%` becomes 0.032.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import ROUND_DOWN, ROUND_UP, Context
from typing import NamedTuple

from numerate.notation.base import SPECIAL_TOKENS, special_numeral
from numerate.numerals.numeral import Numeral
from numerate.numerals.style import Exponent, render

__all__ = ["MAX_EXPONENT", "MIN_DIGITS", "DecimalForm", "decimal_form", "numeral_of", "parse_numeral"]

MAX_EXPONENT = 9_999
"""Larger written powers of ten are written as this one: float64 is at infinity or zero long before."""
MIN_DIGITS = 17
"""As many digits as tell any two float64 apart."""

# Possessive quantifiers: one pass over the text, no backtracking.
_DECIMAL = re.compile(r"[-+]?+([0-9]*+)(?:\.([0-9]*+))?+(?:[eE]([-+]?+[0-9]++))?+")


class DecimalForm(NamedTuple):
    """A finite decimal: `integer.fraction` times ten to the `exponent`.

    Attributes:
        negative: Whether it has a minus sign (-0 has one).
        integer: Digits before the point, at least one.
        fraction: Digits after the point.
        exponent: The written power of ten, None where none is written.

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
        """From significant digits and the power of ten of the first of them; written without exponent where short.

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
        """The number as Python would read it."""
        fraction = f".{self.fraction}" if self.fraction else ""
        exponent = "" if self.exponent is None else f"e{self.exponent}"
        return f"{'-' if self.negative else ''}{self.integer}{fraction}{exponent}"

    def scientific(self) -> tuple[str, int]:
        """Significant digits without leading zeros ("0" for zero), and the power of ten of the first of them."""
        digits = self.integer + self.fraction
        significant = digits.lstrip("0")
        if not significant:
            return "0", 0
        return significant, (self.exponent or 0) + len(self.integer) - 1 - (len(digits) - len(significant))


def decimal_form(numeral: Numeral, max_digits: int = 400) -> DecimalForm:
    """The decimal that a finite numeral writes, with at most `max_digits` digits beside the exponent.

    A numeral with more digits is written with the shortest ones that keep its float64; a numeral that is no decimal
    (`1/3`, `XIV`, `0xff`) with those of its value.

    Args:
        numeral: A numeral that is not special.
        max_digits: At least `MIN_DIGITS`.

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
        if math.isinf(value):
            raise ValueError(f"{numeral.text[:60]!r} is infinite, but neither special nor a decimal")
        form = _from_value(value, negative)
    if len(form.integer) + len(form.fraction) > max_digits:
        form = _shortened(form, value, max_digits)
    if form.exponent is not None and abs(form.exponent) > MAX_EXPONENT:
        form = form._replace(exponent=MAX_EXPONENT if form.exponent > 0 else -MAX_EXPONENT)
    return form


def numeral_of(form: DecimalForm) -> Numeral:
    """The numeral that a decimal stands for, written plainly."""
    text = form.text
    return Numeral(text, 0, len(text), float(text))


def parse_numeral(text: str) -> Numeral | None:
    """The numeral that `text` is from end to end, or None.

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
    from numerate.reading import find  # the reader's tables are not needed for plain decimals

    found = find(text, words=True, roman=True)
    return found[0] if len(found) == 1 and found[0].text == text else None


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
    """What a decimal style writes once its marks, words and other scripts are taken away."""
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
    """Moves the point instead of multiplying: 0.07 is not 7 * 0.01 in float64."""
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
    if form is None:  # repr of a finite float always parses
        raise ValueError(f"not finite: {value!r}")
    return form._replace(fraction="") if form.fraction == "0" else form


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
        # Away from float64's range, never back into it: truncating 1.79769313486231581e308 would make it finite.
        rounding = ROUND_UP if value else ROUND_DOWN
        rounded = Context(prec=MIN_DIGITS, rounding=rounding).create_decimal(f"{digits[0]}.{digits[1:]}")
        exponent += rounded.adjusted()
        digits = "".join(map(str, rounded.as_tuple().digits))
    digits = digits.rstrip("0")
    return DecimalForm(form.negative, digits[0], digits[1:], exponent)
