"""Notation `scientific` (NumBERT): significant digits, [EXP], exponent; the digits are in the model's own subwords."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, SPECIAL_TOKENS, Notation, Piece, special_numeral, special_of
from numerate.notation.decimal_form import EXPONENT_DIGITS, DecimalForm, check_max_digits, decimal_form, numeral_of
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["EXP", "Scientific", "ScientificConfig"]

EXP = "[EXP]"
"""The token between significand and exponent."""

_DIGITS = "0123456789"


@dataclass(frozen=True, kw_only=True)
class ScientificConfig(Config):
    """Options of `scientific`.

    Attributes:
        trailing_zeros: Whether trailing zeros stay: 1500 is `1500 [EXP] 3` instead of `15 [EXP] 3`.
        max_digits: Maximum number of significant digits; longer numerals get the digits of their float64.
    """

    kind: ClassVar[str] = "scientific"
    trailing_zeros: bool = False
    max_digits: int = 32

    def __post_init__(self) -> None:
        check_max_digits(self.max_digits)


@notations.register("scientific")
class Scientific(Notation):
    """`3141 [EXP] 2` for 314.1 (NumBERT): 3.141 times ten to the 2; exact for every float64.

    The significand (with its sign) and the exponent are text for the model's own tokenizer; [EXP] is our own token.
    Zero is `0 [EXP] 0`, and -0 is `-0 [EXP] 0`. Infinity and NaN are one token each; a finite numeral beyond float64
    keeps its digits and is read as an overflow (exponents over 9999 are written as 9999).

    The vocabulary: `[EXP] [NAN] [INF] [-INF]`.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in Scientific().write(Numeral("-314.1", 0, 6, -314.1))]
        ['-3141', '[EXP]', '2']
        >>> Scientific().read(["314", "1", "[EXP]", "2"]).value
        314.1
    """

    Config = ScientificConfig
    config: ScientificConfig
    vocabulary = (EXP, *SPECIAL_TOKENS.values())

    def write(self, numeral: Numeral) -> list[Piece]:
        """Significand, [EXP], exponent."""
        special = special_of(numeral)
        if special is not None:
            return [Piece(special)]
        form = decimal_form(numeral, self.config.max_digits)
        digits, exponent = form.scientific()
        if not self.config.trailing_zeros:
            digits = digits.rstrip("0") or "0"
        sign = "-" if form.negative else ""
        return [Piece(sign + digits, own=False), Piece(EXP), Piece(str(exponent), own=False)]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The number that the pieces write; the text may be split into subwords and contain spaces."""
        units = self._units(pieces)
        self.check(units, quote=pieces)
        if units[0] in SPECIAL_TOKENS.values():
            return special_numeral(units[0])
        mark = units.index(EXP)
        text, power = "".join(units[:mark]), int("".join(units[mark + 1 :]))
        digits = text.removeprefix("-")
        return numeral_of(DecimalForm.of_scientific(text.startswith("-"), digits, power))

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Characters of significand and exponent, and own tokens; no leading zeros, no exponent -0."""
        units = self._units(prefix)
        if not units:
            return frozenset((*_DIGITS, "-", *SPECIAL_TOKENS.values()))
        if units[0] in SPECIAL_TOKENS.values():
            return frozenset((END,) if len(units) == 1 else ())
        if EXP not in units:
            return frozenset(EXP if unit == END else unit for unit in _continue(units, self.config.max_digits, "0"))
        mark = units.index(EXP)
        if END not in _continue(units[:mark], self.config.max_digits, "0"):
            return frozenset()
        return _continue(units[mark + 1 :], EXPONENT_DIGITS, "")

    def _units(self, pieces: Sequence[str]) -> list[str]:
        """The pieces, with text split into characters without white space."""
        units: list[str] = []
        for piece in pieces:
            units.extend([piece] if piece in self.vocabulary else "".join(piece.split()))
        return units


def _continue(written: Sequence[str], limit: int, minus_zero: str) -> frozenset[str]:
    """The characters that may follow in an integer of at most `limit` digits; `minus_zero` is "0" if -0 is legal."""
    if not written:
        return frozenset((*_DIGITS, "-"))
    digits = written[1:] if written[0] == "-" else written
    first = _DIGITS[1:] + ("0" if written[0] != "-" else minus_zero)
    if not digits:
        return frozenset(first)
    zero_led = digits[0] == "0" and len(digits) > 1
    if digits[0] not in first or zero_led or len(digits) > limit or any(digit not in _DIGITS for digit in digits):
        return frozenset()
    return frozenset((END, *(_DIGITS if digits[0] != "0" and len(digits) < limit else "")))
