"""What every notation is: a numeral in, the pieces that stand for it in the token sequence out, and back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from numerate.numerals.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.config import Config

__all__ = ["END", "NUM", "SPECIAL_TOKENS", "TEXT", "Notation", "Piece", "special_numeral", "special_of"]

NUM = "[NUM]"
"""The token that stands for a number."""
END = ""
"""In a set of legal next pieces: the number may end here."""
TEXT = "[TEXT]"
"""In a set of legal next pieces: any text of the model's own tokens may stand here, unconstrained."""
SPECIAL_TOKENS = {"nan": "[NAN]", "inf": "[INF]", "-inf": "[-INF]"}
"""The token that stands alone for each special value, in every notation with tokens of its own for values."""
_SPECIAL_OF = {token: special for special, token in SPECIAL_TOKENS.items()}


class Piece(NamedTuple):
    """One piece of a written number.

    Attributes:
        text: A token of the notation's own `vocabulary`, or plain text for the model's tokenizer.
        own: Whether it is a token of the notation's own.
        slot: Whether the number's vector belongs on this piece.
    """

    text: str
    own: bool = True
    slot: bool = False


class Notation(ABC):
    """Writes numerals as pieces and reads them back.

    Two laws hold for every notation, and the contract tests try them on every registered one. *Round trip*:
    `read(texts of write(n)).value` lies within `tolerance(n.value)` of `n.value`, and equals it where `exact`.
    *Legal pieces*: whatever `write` gives can be reached through `legal_next`, and whatever is reached through
    `legal_next` up to an `END` is read without an error.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        vocabulary: The tokens of its own, in the order of their ids; empty where the model's tokens suffice.
        exact: Whether `read(write(n)).value == n.value` for every finite value.
    """

    Config: ClassVar[type[Config]]
    vocabulary: tuple[str, ...] = ()
    exact: bool = True

    def __init__(self, config: Any = None) -> None:
        self.config = self.Config() if config is None else config

    @classmethod
    def build(cls, **options: Any) -> Self:
        """Builds the notation from its config's options."""
        return cls(cls.Config.from_dict(options))

    @abstractmethod
    def write(self, numeral: Numeral) -> list[Piece]:
        """The pieces that stand for `numeral`."""

    @abstractmethod
    def read(self, pieces: Sequence[str]) -> Numeral | None:
        """The numeral that the pieces' texts stand for; None where the pieces carry no value (a bare [NUM]).

        Raises:
            ValueError: The pieces are no number in this notation; the message quotes them.
        """

    @abstractmethod
    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Which pieces may follow `prefix`; `END` is among them where the number may end.

        The set holds tokens of `vocabulary`. Where text of the model's own may stand, it holds that text's possible
        next *characters* (so a subword is legal if its characters are, one after the other), or `TEXT` where any
        text will do. It is empty where `prefix` begins no number.
        """

    def tolerance(self, value: float) -> float:
        """How far `read(write(n)).value` may lie from `value`: 0 if exact, infinity if the value is not written."""
        del value
        return 0.0

    def refusal(self, pieces: Sequence[str], why: str) -> ValueError:
        """The error for pieces that are no number; it quotes them."""
        quoted = repr(list(pieces[:40]))
        quoted = quoted if len(quoted) <= 300 else quoted[:297] + "..."
        return ValueError(f"{self.Config.kind}: {quoted} is no number: {why}")

    def check(self, pieces: Sequence[str], quote: Sequence[str] | None = None) -> None:
        """Raises the `refusal` (of `quote`, if given) unless `legal_next` leads along all `pieces` to an end."""
        if END not in pieces and END in self.legal_next(pieces):
            return
        for index, piece in enumerate(pieces):
            if piece == END or piece not in self.legal_next(pieces[:index]):
                raise self.refusal(quote or pieces, f"{piece!r} may not stand at position {index}")
        raise self.refusal(quote or pieces, "it is not complete")


def special_of(numeral: Numeral) -> str | None:
    """The token for a numeral that is no finite number, or None.

    Example:
        >>> special_of(special_numeral("[-INF]"))
        '[-INF]'
    """
    special = numeral.special
    if special is None and math.isnan(numeral.value):
        special = "nan"
    return None if special is None else SPECIAL_TOKENS[special]


def special_numeral(token: str) -> Numeral:
    """The numeral behind one of `SPECIAL_TOKENS`."""
    special = _SPECIAL_OF[token]
    return Numeral(special, 0, len(special), float(special), special=special)
