"""Notation `ieee`: sign, exponent and mantissa digits in any base, most significant first (as in RegressLM)."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, SPECIAL_TOKENS, NotationError, TokenNotation
from numerate.notation.decimal_form import decimal_form
from numerate.numerals.numeral import Numeral
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ieee", "IeeeConfig"]

_MAX_LOG2 = 33_000
"""Largest magnitude as a power of two: below 10^9999, the limit of decimal forms, so that powers stay cheap."""


@dataclass(frozen=True, kw_only=True)
class IeeeConfig(Config):
    """Options of `ieee`.

    Attributes:
        base: Base of all digits.
        exponent_digits: Number of digits of the exponent (n_e).
        mantissa_digits: Number of digits of the mantissa, one of them before the point (n_m).
    """

    kind: ClassVar[str] = "ieee"
    base: int = 10
    exponent_digits: int = 1
    mantissa_digits: int = 4

    def __post_init__(self) -> None:
        if not 2 <= self.base <= 1000:
            raise NotationError(f"base must be in 2..1000, got {self.base}")
        if self.exponent_digits < 1 or (self.base**self.exponent_digits) * math.log2(self.base) > _MAX_LOG2:
            raise NotationError(f"exponent_digits must be at least 1 and give powers below 10^9999, got {self!r}")
        if not 1 <= self.mantissa_digits <= 64:
            raise NotationError(f"mantissa_digits must be in 1..64, got {self.mantissa_digits}")


@notations.register("ieee")
class Ieee(TokenNotation):
    """Sign, sign of the exponent, exponent digits, mantissa digits: ±m.mmm times base to the ±e.

    Numbers are rounded half-even in exact arithmetic (the reference implementation truncates). Zero is all zeros with a
    positive exponent, and -0 keeps its sign. Numbers below the smallest magnitude are rounded to it or to zero; on
    overflow, a finite number becomes the largest one. Infinity and NaN are one token each.

    The vocabulary: `+ -`, the digits `0`..`base - 1` (in decimal), `[NAN] [INF] [-INF]`; base + 5 tokens, of which a
    number takes 2 + n_e + n_m.

    Example:
        >>> tiny = Numeral("1.23456789e-222", 0, 15, 1.23456789e-222)
        >>> [piece.text for piece in Ieee.build(exponent_digits=3).write(tiny)]
        ['+', '-', '2', '2', '2', '1', '2', '3', '5']
        >>> Ieee().read(["-", "+", "1", "6", "0", "2", "0"]).value
        -60.2
    """

    Config = IeeeConfig
    config: IeeeConfig
    exact = False

    def __init__(self, config: IeeeConfig | None = None) -> None:
        super().__init__(config)
        base = self.config.base
        self._digits = tuple(map(str, range(base)))
        self.vocabulary = ("+", "-", *self._digits, *SPECIAL_TOKENS.values())
        self._signs, self._any = frozenset("+-"), frozenset(self._digits)
        self._zero, self._nonzero = frozenset(self._digits[:1]), frozenset(self._digits[1:])
        self._top = base**self.config.exponent_digits - 1
        self._whole = base**self.config.mantissa_digits
        self._smallest = Fraction(1, base**self._top)
        self._largest = Fraction(self._whole - 1) * Fraction(base) ** (self._top - self.config.mantissa_digits + 1)

    @property
    def tokens_per_number(self) -> int:
        """Number of tokens of a finite number."""
        return 2 + self.config.exponent_digits + self.config.mantissa_digits

    def _tokens(self, numeral: Numeral) -> list[str]:
        exponent, mantissa = self._rounded(numeral)
        signs = ["-" if math.copysign(1.0, numeral.value) < 0 else "+", "-" if exponent < 0 else "+"]
        power = self._in_base(abs(exponent), self.config.exponent_digits)
        return signs + power + self._in_base(mantissa, self.config.mantissa_digits)

    def _numeral(self, pieces: Sequence[str]) -> Numeral:
        split = 2 + self.config.exponent_digits
        exponent = self._from_base(pieces[2:split])
        exponent = -exponent if pieces[1] == "-" else exponent
        mantissa = self._from_base(pieces[split:])
        size = Fraction(mantissa) * Fraction(self.config.base) ** (exponent - self.config.mantissa_digits + 1)
        text = ("-" if pieces[0] == "-" else "") + _text(size)
        return Numeral(text, 0, len(text), float(text))

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """The tokens of the next position: no exponent -0, and no mantissa with a leading zero except 0 itself."""
        if prefix and prefix[0] in SPECIAL_TOKENS.values():
            return frozenset((END,) if len(prefix) == 1 else ())
        mantissa_at = 2 + self.config.exponent_digits
        legal = self._signs | frozenset(SPECIAL_TOKENS.values())
        zero = True  # whether all digits so far are 0
        for index, token in enumerate(prefix):
            if token == END or token not in legal:
                return frozenset()
            following = index + 1
            zero = zero and (following <= 2 or token == "0")  # noqa: S105
            if following < 2:
                legal = self._signs
            elif following < mantissa_at:
                legal = self._nonzero if prefix[1] == "-" and zero and following == mantissa_at - 1 else self._any
            elif following == mantissa_at:
                legal = self._any if zero else self._nonzero
            elif following < self.tokens_per_number:
                legal = self._zero if prefix[mantissa_at] == "0" else self._any
            else:
                legal = frozenset((END,))
        return legal

    def tolerance(self, value: float) -> float:
        """Half a unit of the last mantissa digit plus one float64 step; out of range, the distance to the range."""
        if value == 0 or not math.isfinite(value):
            return 0.0
        size = Fraction(abs(value))
        if size < self._smallest:
            return float(self._smallest / 2) + math.ulp(value)
        if size > self._largest:
            return min(float(size - self._largest) + math.ulp(value), sys.float_info.max)
        unit = Fraction(self.config.base) ** (self._floor_log(size) - self.config.mantissa_digits + 1)
        # A number that is rounded up beyond float64 is read as an overflow.
        return float(unit / 2) + math.ulp(value) if size + unit / 2 <= sys.float_info.max else math.inf

    def _rounded(self, numeral: Numeral) -> tuple[int, int]:
        """Exponent and mantissa of the nearest number that has a notation."""
        digits, power = decimal_form(numeral).scientific()
        if digits == "0":
            return 0, 0
        size = Fraction(int(digits)) * Fraction(10) ** (power - len(digits) + 1)
        if size < self._smallest:
            return (-self._top, self._whole // self.config.base) if 2 * size > self._smallest else (0, 0)
        if size > self._largest:
            return self._top, self._whole - 1
        exponent = self._floor_log(size)
        mantissa = round(size * Fraction(self.config.base) ** (self.config.mantissa_digits - 1 - exponent))
        if mantissa == self._whole:
            return exponent + 1, self._whole // self.config.base
        return exponent, mantissa

    def _floor_log(self, size: Fraction) -> int:
        base = self.config.base
        bits = size.numerator.bit_length() - size.denominator.bit_length()
        exponent = math.floor(bits / math.log2(base))
        while Fraction(base) ** exponent > size:
            exponent -= 1
        while Fraction(base) ** (exponent + 1) <= size:
            exponent += 1
        return exponent

    def _in_base(self, number: int, width: int) -> list[str]:
        digits: list[str] = []
        for _ in range(width):
            number, digit = divmod(number, self.config.base)
            digits.append(str(digit))
        return digits[::-1]

    def _from_base(self, digits: Sequence[str]) -> int:
        return reduce(lambda number, digit: number * self.config.base + int(digit), digits, 0)


def _text(size: Fraction) -> str:
    """The shortest decimal of the float64 nearest to `size`; 17 digits if float64 overflows or underflows."""
    try:
        value = float(size)
    except OverflowError:
        value = math.inf
    if size == 0 or 0 < value < math.inf:
        text = repr(value)
        return text.removesuffix(".0")
    context = Context(prec=17, Emin=-999_999, Emax=999_999)
    return str(context.divide(Decimal(size.numerator), Decimal(size.denominator))).lower().replace("e+", "e")
