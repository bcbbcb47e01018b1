"""Base classes of notations: they convert a numeral to pieces of the token sequence and back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from numerate.errors import NumerateError
from numerate.numerals.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.config import Config

__all__ = [
    "END", "NUM", "SPECIAL_TOKENS", "TEXT", "Notation", "NotationError", "Piece", "TokenNotation", "ValuelessNotation",
    "special_numeral", "special_of",
]  # fmt: skip

NUM = "[NUM]"
"""The token that represents a number."""
END = ""
"""In a set of legal next pieces: the number may end here."""
TEXT = "[TEXT]"
"""In a set of legal next pieces: any text in the model's own tokens may follow, unconstrained."""
SPECIAL_TOKENS = {"nan": "[NAN]", "inf": "[INF]", "-inf": "[-INF]"}
"""The token of each special value, in all notations that write values with tokens of their own."""
_SPECIAL_OF = {token: special for special, token in SPECIAL_TOKENS.items()}


class NotationError(NumerateError, ValueError):
    """Pieces that are not a number in a notation, or an option out of range."""


class Piece(NamedTuple):
    """One piece of a written number.

    Attributes:
        text: A token of the notation's `vocabulary`, or plain text for the model's tokenizer.
        own: Whether the text is a token of the notation's `vocabulary`.
        slot: Whether the number's vector is placed on this piece.
    """

    text: str
    own: bool = True
    slot: bool = False


class Notation(ABC):
    """Writes numerals as pieces and reads them back.

    The contract tests check two laws for every registered notation. *Round trip*: `read(texts of write(n)).value` is
    within `tolerance(n.value)` of `n.value`, and equal if `exact`. *Legal pieces*: every result of `write` is a path
    through `legal_next`, and every path through `legal_next` to an `END` can be read.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        vocabulary: The notation's own tokens in the order of their ids; empty if it uses only the model's tokens.
        exact: Whether `read(write(n)).value == n.value` for every finite value.
    """

    Config: ClassVar[type[Config]]
    vocabulary: tuple[str, ...] = ()
    exact: bool = True

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config

    @classmethod
    def build(cls, **options: Any) -> Self:
        """Builds the notation from the options of its config."""
        return cls(cls.Config.from_dict(options))

    @abstractmethod
    def write(self, numeral: Numeral) -> list[Piece]:
        """The pieces that represent `numeral`."""

    @abstractmethod
    def read(self, pieces: Sequence[str]) -> Numeral | None:
        """The numeral that the texts of pieces represent; None if they carry no value (a bare [NUM]).

        Raises:
            NotationError: The pieces are not a number in this notation; the message quotes them.
        """

    @abstractmethod
    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """The pieces that may follow `prefix`; includes `END` if the number may end here.

        The set contains tokens of `vocabulary`. For text in the model's own tokens, it contains the possible next
        *characters* (a subword is legal if its characters are, one after the other), or `TEXT` if any text is legal.
        It is empty if no number begins with `prefix`.
        """

    def tolerance(self, value: float) -> float:
        """Largest error of `read(write(n)).value`: 0 if exact, infinity if the value is not written."""
        del value
        return 0.0

    def error(self, pieces: Sequence[str], why: str) -> NotationError:
        """The error for pieces that are not a number; it quotes them."""
        quoted = repr(list(pieces[:40]))
        quoted = quoted if len(quoted) <= 300 else quoted[:297] + "..."
        return NotationError(f"{self.Config.kind}: {quoted} is not a number: {why}")

    def check(self, pieces: Sequence[str], quote: Sequence[str] | None = None) -> None:
        """Raises a `NotationError` (quoting `quote`, if given) unless `pieces` is a complete path of `legal_next`."""
        if END not in pieces and END in self.legal_next(pieces):
            return
        for index, piece in enumerate(pieces):
            if piece == END or piece not in self.legal_next(pieces[:index]):
                raise self.error(quote or pieces, f"{piece!r} is not allowed at position {index}")
        raise self.error(quote or pieces, "it is not complete")


class TokenNotation(Notation):
    """A notation that writes values with its own tokens only; NaN and infinity are one token each."""

    def write(self, numeral: Numeral) -> list[Piece]:
        """The tokens of the number."""
        special = special_of(numeral)
        slot = getattr(self.config, "slot", False)
        return [Piece(token, slot=slot) for token in (self._tokens(numeral) if special is None else [special])]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The number that the tokens write."""
        self.check(pieces)
        return special_numeral(pieces[0]) if pieces[0] in _SPECIAL_OF else self._numeral(pieces)

    @abstractmethod
    def _tokens(self, numeral: Numeral) -> Iterable[str]:
        """The tokens of a numeral that is not special."""

    @abstractmethod
    def _numeral(self, pieces: Sequence[str]) -> Numeral:
        """The numeral of legal tokens that are not special."""


class ValuelessNotation(Notation):
    """A notation whose pieces do not carry the value."""

    exact = False

    def read(self, pieces: Sequence[str]) -> None:
        """None: the pieces carry no value."""
        self.check(pieces)

    def tolerance(self, value: float) -> float:
        """Infinity: the value is not written."""
        del value
        return math.inf


def special_of(numeral: Numeral) -> str | None:
    """The token of a NaN or written infinity; None for other numerals.

    Example:
        >>> special_of(special_numeral("[-INF]"))
        '[-INF]'
    """
    special = numeral.special
    if special is None and math.isnan(numeral.value):
        special = "nan"
    return None if special is None else SPECIAL_TOKENS[special]


def special_numeral(token: str) -> Numeral:
    """The numeral of one of the `SPECIAL_TOKENS`."""
    special = _SPECIAL_OF[token]
    return Numeral(special, 0, len(special), float(special), special=special)
