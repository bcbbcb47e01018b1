"""Numbers left to the model's own subwords (`keep`), or left out (`drop`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, TEXT, Notation, Piece
from numerate.notation.decimal_form import parse_numeral
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Drop", "DropConfig", "Keep", "KeepConfig"]


@dataclass(frozen=True, kw_only=True)
class KeepConfig(Config):
    """Options of `keep`.

    Attributes:
        slot: Whether the number's vector goes on its own subwords (in place).
    """

    kind: ClassVar[str] = "keep"
    slot: bool = False


@notations.register("keep")
class Keep(Notation):
    """The numeral as it stands, for the model's own tokenizer.

    0, -0, infinity, NaN and overflow are written as they stand in the text.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> Keep.build(slot=True).write(Numeral("3.20", 0, 4, 3.2))
        [Piece(text='3.20', own=False, slot=True)]
    """

    Config = KeepConfig
    config: KeepConfig

    def write(self, numeral: Numeral) -> list[Piece]:
        """The numeral's text as one piece."""
        return [Piece(numeral.text, own=False, slot=self.config.slot)]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The one numeral that the joined text is."""
        numeral = parse_numeral("".join(pieces))
        if numeral is None:
            raise self.refusal(pieces, "the text is not one number from end to end")
        return numeral

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Any text; it may end once there is some."""
        return frozenset((TEXT, END)) if "".join(prefix) else frozenset((TEXT,))


@dataclass(frozen=True, kw_only=True)
class DropConfig(Config):
    """`drop` has no options."""

    kind: ClassVar[str] = "drop"


@notations.register("drop")
class Drop(Notation):
    """Writes nothing at all, whatever the number (0, -0, infinity, NaN and overflow too): the floor to compare with.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> Drop().write(Numeral("42", 0, 2, 42.0))
        []
    """

    Config = DropConfig
    exact = False

    def write(self, numeral: Numeral) -> list[Piece]:
        """No pieces."""
        del numeral
        return []

    def read(self, pieces: Sequence[str]) -> None:
        """No value."""
        self.check(pieces)

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """The end."""
        return frozenset() if prefix else frozenset((END,))

    def tolerance(self, value: float) -> float:
        """Infinity: the value is not written."""
        del value
        return math.inf
