"""Notation `digits`: one token per digit, or per group of three digits aligned at the decimal point.

Groups are cut by index from the point outwards. The pre-split pattern of a tokenizer cannot do that: such patterns scan
from the left, and grouping from the right needs a look-ahead that backtracks or is silently ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from numerate.config import Config
from numerate.notation.base import END, SPECIAL_TOKENS, NotationError, TokenNotation
from numerate.notation.decimal_form import EXPONENT_DIGITS, DecimalForm, check_max_digits, decimal_form, numeral_of
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Digits", "DigitsConfig"]


@dataclass(frozen=True, kw_only=True)
class DigitsConfig(Config):
    """Options of `digits`.

    Attributes:
        group: Digits per token: 1 or 3.
        reverse: Whether the least significant digits come first (fraction, point, integer, then the exponent as usual).
        explicit_plus: Whether positive numbers start with `+`.
        max_digits: Maximum number of digits before the exponent; longer numerals get the digits of their float64.
        slot: Whether the tokens are the number's slot, so that it is masked as a whole and can be predicted.
    """

    kind: ClassVar[str] = "digits"
    group: Literal[1, 3] = 1
    reverse: bool = False
    explicit_plus: bool = False
    max_digits: int = 32
    slot: bool = False

    def __post_init__(self) -> None:
        if self.group not in (1, 3):
            raise NotationError(f"group must be 1 or 3, got {self.group}")
        check_max_digits(self.max_digits)


class _State(NamedTuple):
    """State of a partly written number.

    Attributes:
        phase: `start`, `first` (digits before the point in writing order), `second` (digits after it), `e`, `e-`,
            `power` (digits of the exponent) or `special`.
        used: Number of digits so far.
        begun: Whether the current run of digits has any group.
        leads: Whether only the first group of the run may be short, as in integers (`1 234 567`).
        ends: Whether only the last group of the run may be short, as in fractions (`.123 45`).
        full: Whether the last group is full; in exponents, whether digits may follow.
    """

    phase: str = "start"
    used: int = 0
    begun: bool = False
    leads: bool = True
    ends: bool = True
    full: bool = True


@notations.register("digits")
class Digits(TokenNotation):
    """Digits, sign, point and exponent as tokens; exact for every float64.

    Grammar: `[-] digits [. digits] [e [-] digits]`. Digits stay as written (`0.50` keeps its zero, `6.02e23` its
    exponent); percent signs and scale words are applied to the digits. -0 keeps its sign; infinity and NaN are one
    token each; a finite numeral beyond float64 (`1e400`) keeps its digits and is read as an overflow.

    The vocabulary: `0`..`9`; with groups of three also `00`..`99` and `000`..`999`; then
    `+ - . e [NAN] [INF] [-INF]`. Only the outermost group may have fewer than three digits.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> number = Numeral("-1,234,567.8901", 0, 15, -1234567.8901)
        >>> [piece.text for piece in Digits.build(group=3).write(number)]
        ['-', '1', '234', '567', '.', '890', '1']
        >>> [piece.text for piece in Digits.build(group=3, reverse=True).write(number)]
        ['-', '1', '890', '.', '567', '234', '1']
        >>> Digits().read(["-", "0", ".", "5", "0"]).text
        '-0.50'
    """

    Config = DigitsConfig
    config: DigitsConfig

    def __init__(self, config: DigitsConfig | None = None) -> None:
        super().__init__(config)
        sizes = range(1, self.config.group + 1)
        self._groups = {size: tuple(f"{n:0{size}d}" for n in range(10**size)) for size in sizes}
        groups = tuple(token for size in sizes for token in self._groups[size])
        self.vocabulary = (*groups, "+", "-", ".", "e", *SPECIAL_TOKENS.values())
        self._legal: dict[_State, frozenset[str]] = {}

    def _tokens(self, numeral: Numeral) -> list[str]:
        form = decimal_form(numeral, self.config.max_digits)
        sign = ["-"] if form.negative else ["+"] if self.config.explicit_plus else []
        integer, fraction = self._grouped(form.integer, from_right=True), self._grouped(form.fraction)
        if self.config.reverse:
            mantissa = fraction[::-1] + (["."] if fraction else []) + integer[::-1]
        else:
            mantissa = integer + (["."] if fraction else []) + fraction
        return [*sign, *mantissa, *self._exponent(form.exponent)]

    def _numeral(self, pieces: Sequence[str]) -> Numeral:
        tokens = list(pieces[1:] if pieces[0] in ("+", "-") else pieces)
        exponent = None
        if "e" in tokens:
            mark = tokens.index("e")
            tokens, exponent = tokens[:mark], int("".join(tokens[mark + 1 :]))
        if self.config.reverse:
            tokens.reverse()
        integer, _, fraction = "".join(tokens).partition(".")
        return numeral_of(DecimalForm(pieces[0] == "-", integer, fraction, exponent))

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """The tokens after which the number can still be completed within `max_digits`."""
        state = _State()
        for token in prefix:
            if token == END or token not in self._legal_in(state):
                return frozenset()
            state = self._advance(state, token)
        return self._legal_in(state)

    def _grouped(self, digits: str, from_right: bool = False) -> list[str]:
        size = self.config.group
        cut = len(digits) % size if from_right else 0
        head = [digits[:cut]] if cut else []
        return head + [digits[i : i + size] for i in range(cut, len(digits), size)]

    def _exponent(self, exponent: int | None) -> list[str]:
        if exponent is None:
            return []
        return ["e", *(["-"] if exponent < 0 else []), *self._grouped(str(abs(exponent)), from_right=True)]

    def _legal_in(self, state: _State) -> frozenset[str]:
        if state not in self._legal:
            self._legal[state] = frozenset(self._next_tokens(state))
        return self._legal[state]

    def _next_tokens(self, state: _State) -> set[str]:
        phase = state.phase
        if phase == "special":
            return {END}
        if phase in ("e", "e-", "power"):
            return self._next_in_exponent(state)
        legal: set[str] = set()
        if phase == "start":
            legal = {"-", *SPECIAL_TOKENS.values()} | ({"+"} if self.config.explicit_plus else set())
            if self.config.explicit_plus:
                return legal
        for size, tokens in self._groups.items():
            if self._fits(state, size):
                legal.update(tokens)
        if state.begun:
            whole = phase == "second" or (state.ends if self.config.reverse else state.leads)
            legal |= {END, "e"} if whole else set()
            room = state.used < self.config.max_digits
            legal |= {"."} if phase == "first" and state.leads and room else set()
        return legal

    def _fits(self, state: _State, size: int) -> bool:
        """Whether the number can still be completed after a group of `size` digits."""
        room = self.config.max_digits - state.used - size
        if room < 0:
            return False
        after = self._grown(state, size)
        if state.phase == "second":
            return after.ends
        if not self.config.reverse:
            return after.leads
        # A reversed first run with a short first group must be a fraction: keep room for a digit before the point.
        return after.ends or (after.leads and room > 0)

    def _grown(self, state: _State, size: int) -> _State:
        full = size == self.config.group
        return state._replace(
            used=state.used + size,
            begun=True,
            leads=not state.begun or (state.leads and full),
            ends=not state.begun or (state.ends and state.full),
            full=full,
        )

    def _next_in_exponent(self, state: _State) -> set[str]:
        """Tokens of the exponent: no leading zeros, no -0, and at most four digits."""
        legal = {END} if state.phase == "power" else {"-"} if state.phase == "e" else set()
        for size, tokens in self._groups.items():
            if state.used + size > EXPONENT_DIGITS:
                continue
            if state.phase == "power":
                legal.update(tokens if state.full and size == self.config.group else ())
            else:
                legal.update(token for token in tokens if token[0] != "0")
                legal |= {"0"} if state.phase == "e" else set()
        return legal

    def _advance(self, state: _State, piece: str) -> _State:
        if piece in SPECIAL_TOKENS.values():
            return _State("special")
        if piece == "e":
            return _State("e")
        if state.phase in ("e", "e-", "power"):
            more = state.phase == "power" or piece != "0"
            return _State("e-") if piece == "-" else _State("power", used=state.used + len(piece), full=more)
        if piece in ("+", "-"):
            return _State("first")
        if piece == ".":
            return _State("second", used=state.used)
        return self._grown(state._replace(phase="first" if state.phase == "start" else state.phase), len(piece))
