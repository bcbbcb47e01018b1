"""Notations with three significant digits and an exponent, in five, three, two or one token (Charton; xVal, Table 1).

A number is ±ddd·10^e with an *integer* mantissa from 100 to 999 and 16 exponents from E-10 to E+5, so that
1e-8 <= |x| < 1e8. xVal counts only the tokens of these numbers (`core_vocabulary`). Six more tokens
(`extra_vocabulary`) represent all other numbers, one token each: zero, overflow and infinity of either sign, NaN.

| notation | tokens | -60.2 is | core | extra |
|---|---|---|---|---|
| p10 | sign, digits, exponent | - 6 0 2 E-1 | 2 + 10 + 16 = 28 | 6 |
| p1000 | sign, mantissa, exponent | - 602 E-1 | 2 + 900 + 16 = 918 | 6 |
| b1999 | signed mantissa, exponent | -602 E-1 | 1800 + 16 = 1816 | 6 |
| fp15 | all in one | -602E-1 | 1800 * 16 = 28800 | 6 |
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config
from numerate.notation.base import END, SPECIAL_TOKENS, NotationError, TokenNotation
from numerate.notation.decimal_form import DecimalForm, decimal_form, numeral_of
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["B1999", "FP15", "OVER", "P10", "P1000", "ZERO", "B1999Config", "FP15Config", "P10Config", "P1000Config"]

ZERO = "[ZERO]"
OVER = ("[OVER]", "[-OVER]")


@dataclass(frozen=True, kw_only=True)
class _RangeConfig(Config):
    """Options of all notations of this file.

    Attributes:
        lowest: Smallest exponent of the integer mantissa.
        highest: Largest exponent of the integer mantissa.
        slot: Whether the tokens are the number's slot, so that it is masked as a whole and can be predicted.
    """

    lowest: int = -10
    highest: int = 5
    slot: bool = False

    def __post_init__(self) -> None:
        if not -400 <= self.lowest <= self.highest <= 400:
            raise NotationError(f"-400 <= lowest <= highest <= 400 must hold, got {self.lowest=}, {self.highest=}")


class _Significant(TokenNotation):
    """Base class: rounding, range and special values; a subclass defines how a number is split into tokens.

    Numbers are rounded half-even *as decimals* to the digits of the mantissa (9.995 becomes 1.00e1). Numbers below the
    smallest magnitude (1e-8) are rounded to it or to zero; zero has no sign. Numbers that are rounded to 1e8 or more
    become [OVER] or [-OVER], which is read as ±1e8. Infinity and NaN have tokens of their own.
    """

    config: Any
    exact = False

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.digits = getattr(self.config, "digits", 3)
        exponents = range(self.config.lowest, self.config.highest + 1)
        self._exponents = tuple(f"E{exponent:+d}" for exponent in exponents)
        self._steps = tuple(map(frozenset, self._positions()))
        self._extra = frozenset(self.extra_vocabulary)
        self._first = self._steps[0] | self._extra
        self._bound = Decimal(10) ** (self.digits + self.config.highest)
        self._smallest = Decimal(10) ** (self.digits - 1 + self.config.lowest)
        self._context = Context(prec=self.digits, rounding=ROUND_HALF_EVEN, Emin=-99_999, Emax=99_999)
        self.vocabulary = self.core_vocabulary + self.extra_vocabulary

    @property
    def core_vocabulary(self) -> tuple[str, ...]:
        """The tokens that xVal's Table 1 counts."""
        return tuple(chain.from_iterable(self._positions()))

    @property
    def extra_vocabulary(self) -> tuple[str, ...]:
        """The tokens of numbers without mantissa: zero, overflow, infinity, NaN."""
        return (ZERO, *OVER, *SPECIAL_TOKENS.values())

    @property
    def tokens_per_number(self) -> int:
        """Number of tokens of a number in range."""
        return len(self._steps)

    def _tokens(self, numeral: Numeral) -> Sequence[str]:
        negative = math.copysign(1.0, numeral.value) < 0
        number = abs(Decimal(decimal_form(numeral).text))
        rounded = self._context.plus(number)
        if rounded < self._smallest:
            if 2 * number <= self._smallest:
                return [ZERO]
            rounded = self._smallest
        exponent = rounded.adjusted() - self.digits + 1
        if exponent > self.config.highest:
            return [OVER[negative]]
        mantissa = "".join(map(str, rounded.as_tuple().digits)).ljust(self.digits, "0")[: self.digits]
        return self._cut("-" if negative else "+", mantissa, f"E{exponent:+d}")

    def _numeral(self, pieces: Sequence[str]) -> Numeral:
        first = pieces[0]
        if first == ZERO:
            return numeral_of(DecimalForm(False, "0"))
        if first in OVER:
            return numeral_of(DecimalForm.of_scientific(first == OVER[1], "1", self.digits + self.config.highest))
        mantissa, _, exponent = "".join(pieces).partition("E")
        power = int(exponent) + self.digits - 1
        return numeral_of(DecimalForm.of_scientific(mantissa[0] == "-", mantissa[1:], power))

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """The tokens of the next position; at the first position also the extra tokens."""
        if not prefix:
            return self._first
        if prefix[0] in self._extra:
            return frozenset((END,) if len(prefix) == 1 else ())
        steps, length = self._steps, len(prefix)
        if length > len(steps) or any(token not in step for token, step in zip(prefix, steps, strict=False)):
            return frozenset()
        return steps[length] if length < len(steps) else frozenset((END,))

    def tolerance(self, value: float) -> float:
        """Half a unit of the last mantissa digit plus one float64 step; out of range, the distance to the range."""
        size = abs(value)
        if not 0 < size < math.inf:
            return 0.0
        if size < self._smallest:
            return float(self._smallest / 2) + math.ulp(size)
        if size > self._bound:
            return min(float(Decimal(size) - self._bound) + math.ulp(size), sys.float_info.max)
        half = float(Decimal(5).scaleb(Decimal(repr(size)).adjusted() - self.digits))
        # A number that is rounded up beyond float64 is read as an overflow.
        return half + math.ulp(size) if size + half <= sys.float_info.max else math.inf

    @abstractmethod
    def _positions(self) -> Sequence[Sequence[str]]:
        """The legal tokens of each position, in vocabulary order."""

    @abstractmethod
    def _cut(self, sign: str, mantissa: str, exponent: str) -> Sequence[str]:
        """Splits a number into tokens."""

    def _mantissas(self) -> list[str]:
        return [str(number) for number in range(10 ** (self.digits - 1), 10**self.digits)]


def _both_signs(sizes: list[str]) -> list[str]:
    """Signed tokens in the order of their values."""
    return [f"-{size}" for size in reversed(sizes)] + [f"+{size}" for size in sizes]


@dataclass(frozen=True, kw_only=True)
class P10Config(_RangeConfig):
    """Options of `p10`.

    Attributes:
        digits: Number of significant digits: 3 in xVal, 4 in RegressLM.
    """

    kind: ClassVar[str] = "p10"
    digits: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.digits <= 17:
            raise NotationError(f"digits must be in 1..17, got {self.digits}")


@notations.register("p10")
class P10(_Significant):
    """Sign, three digits, exponent: five tokens; 28 in the vocabulary, and 6 extra ones.

    0 and -0 are [ZERO]; overflow, infinity and NaN are one token each. The vocabulary: `+ -`, `0`..`9`,
    `E-10`..`E+5`, then the extra ones.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in P10().write(Numeral("-6.02e1", 0, 7, -60.2))]
        ['-', '6', '0', '2', 'E-1']
        >>> P10().read(["-", "6", "0", "2", "E-1"]).text
        '-60.2'
    """

    Config = P10Config

    @property
    def core_vocabulary(self) -> tuple[str, ...]:
        """Signs, digits, exponents."""
        return ("+", "-", *"0123456789", *self._exponents)

    def _positions(self) -> Sequence[Sequence[str]]:
        return ["+-", "123456789", *["0123456789"] * (self.digits - 1), self._exponents]

    def _cut(self, sign: str, mantissa: str, exponent: str) -> Sequence[str]:
        return [sign, *mantissa, exponent]


@dataclass(frozen=True, kw_only=True)
class P1000Config(_RangeConfig):
    """Options of `p1000`: `lowest` and `highest` exponent of the integer mantissa."""

    kind: ClassVar[str] = "p1000"


@notations.register("p1000")
class P1000(_Significant):
    """Sign, mantissa, exponent: three tokens; 918 in the vocabulary, and 6 extra ones.

    0 and -0 are [ZERO]; overflow, infinity and NaN are one token each. The vocabulary: `+ -`, `100`..`999`,
    `E-10`..`E+5`, then the extra ones.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in P1000().write(Numeral("9.995", 0, 5, 9.995))]
        ['+', '100', 'E-1']
    """

    Config = P1000Config

    def _positions(self) -> Sequence[Sequence[str]]:
        return [["+", "-"], self._mantissas(), self._exponents]

    def _cut(self, sign: str, mantissa: str, exponent: str) -> Sequence[str]:
        return [sign, mantissa, exponent]


@dataclass(frozen=True, kw_only=True)
class B1999Config(_RangeConfig):
    """Options of `b1999`: `lowest` and `highest` exponent of the integer mantissa."""

    kind: ClassVar[str] = "b1999"


@notations.register("b1999")
class B1999(_Significant):
    """Signed mantissa, exponent: two tokens; 1816 in the vocabulary, and 6 extra ones.

    0 and -0 are [ZERO]; overflow, infinity and NaN are one token each. The vocabulary: `-999`..`-100`,
    `+100`..`+999`, `E-10`..`E+5`, then the extra ones.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in B1999().write(Numeral("0.5", 0, 3, 0.5))]
        ['+500', 'E-3']
    """

    Config = B1999Config

    def _positions(self) -> Sequence[Sequence[str]]:
        return [_both_signs(self._mantissas()), self._exponents]

    def _cut(self, sign: str, mantissa: str, exponent: str) -> Sequence[str]:
        return [sign + mantissa, exponent]


@dataclass(frozen=True, kw_only=True)
class FP15Config(_RangeConfig):
    """Options of `fp15`: `lowest` and `highest` exponent of the integer mantissa."""

    kind: ClassVar[str] = "fp15"


@notations.register("fp15")
class FP15(_Significant):
    """The whole number in one token; 28800 in the vocabulary, and 6 extra ones.

    0 and -0 are [ZERO]; overflow, infinity and NaN are one token each. The vocabulary is in order of value, from
    `-999E+5` over `-100E-10` and `+100E-10` to `+999E+5`; then the extra ones.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in FP15().write(Numeral("-60.2", 0, 5, -60.2))]
        ['-602E-1']
    """

    Config = FP15Config

    def _positions(self) -> Sequence[Sequence[str]]:
        return [_both_signs([mantissa + exponent for exponent in self._exponents for mantissa in self._mantissas()])]

    def _cut(self, sign: str, mantissa: str, exponent: str) -> Sequence[str]:
        return [sign + mantissa + exponent]
