"""What every notation is: a numeral in, the pieces that stand for it in the token sequence out, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.config import Config
    from numerate.numeral import Numeral

__all__ = ["END", "NUM", "Notation", "Piece"]

NUM = "[NUM]"
"""The token that stands for a number."""
END = ""
"""In a set of legal next pieces: the number may end here."""


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

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        vocabulary: The tokens of its own, in the order of their ids; empty where the model's tokens suffice.
        exact: Whether `read(write(n)).value == n.value` for every finite value.
    """

    Config: ClassVar[type[Config]]
    vocabulary: tuple[str, ...] = ()
    exact: bool = True

    def __init__(self, config: Config) -> None:
        self.config = config

    @classmethod
    def build(cls, **options: Any) -> Notation:
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
        """Which pieces of `vocabulary` may follow `prefix`; `END` is among them where the number may end.

        Empty for notations that write with the model's own subwords only.
        """

    def tolerance(self, value: float) -> float:
        """How far `read(write(n)).value` may lie from `value`: 0 for exact notations."""
        del value
        return 0.0
