"""Notation `numerologic` (NumeroLogic): the number of digits before the digits, as in {2:42} and {1.2:3.14}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, SPECIAL_TOKENS, TokenNotation
from numerate.notation.decimal_form import EXPONENT_DIGITS, DecimalForm, check_max_digits, decimal_form, numeral_of
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["NumeroLogic", "NumeroLogicConfig"]

_DIGITS = "0123456789"


@dataclass(frozen=True, kw_only=True)
class NumeroLogicConfig(Config):
    """Options of `numerologic`.

    Attributes:
        max_digits: Maximum number of digits before the exponent; longer numerals get the digits of their float64.
    """

    kind: ClassVar[str] = "numerologic"
    max_digits: int = 32

    def __post_init__(self) -> None:
        check_max_digits(self.max_digits)


@notations.register("numerologic")
class NumeroLogic(TokenNotation):
    """The numbers of digits, then the digits, between brackets; exact for every float64.

    The paper counts the digits before and after the point. We also count those of a written exponent: `6.02e23` is
    `{1.2e2:6.02e23}`, so that no float64 needs hundreds of zeros. A minus sign comes before the bracket, and -0 keeps
    it. Infinity and NaN are one token each; a finite numeral beyond float64 is read as an overflow.

    The vocabulary: `0`..`9`, then `- . e { : } [NAN] [INF] [-INF]`.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> "".join(piece.text for piece in NumeroLogic().write(Numeral("-3.14", 0, 5, -3.14)))
        '-{1.2:3.14}'
        >>> NumeroLogic().read(list("{2:42}")).value
        42.0
    """

    Config = NumeroLogicConfig
    config: NumeroLogicConfig
    vocabulary = (*_DIGITS, "-", ".", "e", "{", ":", "}", *SPECIAL_TOKENS.values())

    def _tokens(self, numeral: Numeral) -> str:
        form = decimal_form(numeral, self.config.max_digits)
        counts = str(len(form.integer))
        counts += f".{len(form.fraction)}" if form.fraction else ""
        counts += f"e{len(str(abs(form.exponent)))}" if form.exponent is not None else ""
        return ("-" if form.negative else "") + f"{{{counts}:{form._replace(negative=False).text}}}"

    def _numeral(self, pieces: Sequence[str]) -> Numeral:
        body = "".join(pieces).partition(":")[2].removesuffix("}")
        mantissa, mark, exponent = body.partition("e")
        integer, _, fraction = mantissa.partition(".")
        return numeral_of(DecimalForm(pieces[0] == "-", integer, fraction, int(exponent) if mark else None))

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Counts within `max_digits`, then exactly that many digits."""
        tokens = list(prefix)
        if any(token not in self.vocabulary for token in tokens):
            return frozenset()
        if not tokens:
            return frozenset(("-", "{", *SPECIAL_TOKENS.values()))
        if tokens[0] in SPECIAL_TOKENS.values():
            return frozenset((END,) if len(tokens) == 1 else ())
        if tokens[0] == "-":
            tokens = tokens[1:]
        if not tokens:
            return frozenset("{")
        counts, colon, body = "".join(tokens[1:]).partition(":")
        if tokens[0] != "{":
            return frozenset()
        if not colon:
            return self._next_in_counts(counts)
        return self._next_in_body(counts, body)

    def _next_in_counts(self, counts: str) -> frozenset[str]:
        """The characters that may follow incomplete counts such as `1.2e`; none if `counts` is not legal."""
        limit, marks, current = self.config.max_digits, ".e:", ""
        legal = self._count(current, limit)
        for char in counts:
            if char not in legal:
                return frozenset()
            if char in _DIGITS:
                current += char
            else:
                limit, marks = (EXPONENT_DIGITS, ":") if char == "e" else (limit - int(current), "e:")
                current = ""
            legal = self._count(current, limit)
            if current:
                # A point must be followed by at least one digit within the limit.
                legal |= frozenset(marks.removeprefix(".") if int(current) >= limit else marks)
        return legal

    @staticmethod
    def _count(written: str, limit: int) -> frozenset[str]:
        """Digits that continue a count from 1 to `limit`."""
        return frozenset(digit for digit in _DIGITS if 1 <= int(written + digit) <= limit)

    def _next_in_body(self, counts: str, body: str) -> frozenset[str]:
        if ":" not in self._next_in_counts(counts):
            return frozenset()
        mantissa, mark, power = counts.partition("e")
        integer, _, fraction = mantissa.partition(".")
        slots = [_DIGITS] * int(integer) + ([".", *[_DIGITS] * int(fraction)] if fraction else [])
        if mark:
            # Exponents have no leading zeros and no -0.
            negative = body[len(slots) : len(slots) + 2] == "e-"
            first = _DIGITS if power == "1" and not negative else _DIGITS[1:]
            slots += ["e", *(["-", first] if negative else [first + "-"]), *[_DIGITS] * (int(power) - 1)]
        slots.append("}")
        if len(body) > len(slots) or any(char not in slot for char, slot in zip(body, slots, strict=False)):
            return frozenset()
        return frozenset((END,)) if len(body) == len(slots) else frozenset(slots[len(body)])
