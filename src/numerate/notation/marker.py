"""One [NUM] token that carries the number's vector: in the numeral's place, behind it, or before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, NUM, TEXT, Notation, Piece
from numerate.notation.decimal_form import parse_numeral
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["AddBack", "AddBackConfig", "Marker", "MarkerConfig", "Prefix", "PrefixConfig"]

_SLOT = Piece(NUM, slot=True)


@dataclass(frozen=True, kw_only=True)
class MarkerConfig(Config):
    """`marker` has no options."""

    kind: ClassVar[str] = "marker"


@notations.register("marker")
class Marker(Notation):
    """[NUM] in the numeral's place (xVal; LUNA's Replace): the value travels in the number table alone.

    Every number is the same token, 0, -0, infinity, NaN and overflow included; what the vector on it makes of them is
    the embedder's business.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> Marker().write(Numeral("42", 0, 2, 42.0))
        [Piece(text='[NUM]', own=True, slot=True)]
    """

    Config = MarkerConfig
    vocabulary = (NUM,)
    exact = False

    def write(self, numeral: Numeral) -> list[Piece]:
        """The one token."""
        del numeral
        return [_SLOT]

    def read(self, pieces: Sequence[str]) -> None:
        """No value: the token alone does not say it."""
        self.check(pieces)

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """[NUM], then the end."""
        return _after(prefix, {(): {NUM}, (NUM,): {END}})

    def tolerance(self, value: float) -> float:
        """Infinity: the value is not written."""
        del value
        return math.inf


@dataclass(frozen=True, kw_only=True)
class AddBackConfig(Config):
    """`addback` has no options."""

    kind: ClassVar[str] = "addback"


@notations.register("addback")
class AddBack(Notation):
    """The numeral as it stands, then [NUM] (LUNA's AddBack): `2,082[NUM]`.

    0, -0, infinity, NaN and overflow are written as they stand in the text.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in AddBack().write(Numeral("2,082", 0, 5, 2082.0))]
        ['2,082', '[NUM]']
    """

    Config = AddBackConfig
    vocabulary = (NUM,)

    def write(self, numeral: Numeral) -> list[Piece]:
        """Text, then the token with the slot."""
        return [Piece(numeral.text, own=False), _SLOT]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The one numeral before the [NUM]."""
        if not pieces or pieces[-1] != NUM:
            raise self.refusal(pieces, f"{NUM} is missing at its end")
        return _numeral_in(self, pieces, pieces[:-1])

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Any text, then [NUM], then the end."""
        return _after(_folded(prefix), {(): {TEXT}, (TEXT,): {TEXT, NUM}, (TEXT, NUM): {END}})


@dataclass(frozen=True, kw_only=True)
class PrefixConfig(Config):
    """`prefix` has no options."""

    kind: ClassVar[str] = "prefix"


@notations.register("prefix")
class Prefix(Notation):
    """[NUM], then the numeral as it stands (value-aware prefix tokens): a causal model sees the value first.

    0, -0, infinity, NaN and overflow are written as they stand in the text.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> [piece.text for piece in Prefix().write(Numeral("2,082", 0, 5, 2082.0))]
        ['[NUM]', '2,082']
    """

    Config = PrefixConfig
    vocabulary = (NUM,)

    def write(self, numeral: Numeral) -> list[Piece]:
        """The token with the slot, then text."""
        return [_SLOT, Piece(numeral.text, own=False)]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The one numeral behind the [NUM]."""
        if not pieces or pieces[0] != NUM:
            raise self.refusal(pieces, f"{NUM} is missing at its beginning")
        return _numeral_in(self, pieces, pieces[1:])

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """[NUM], then any text, then the end."""
        return _after(_folded(prefix), {(): {NUM}, (NUM,): {TEXT}, (NUM, TEXT): {TEXT, END}})


def _numeral_in(notation: Notation, pieces: Sequence[str], texts: Sequence[str]) -> Numeral:
    numeral = None if NUM in texts else parse_numeral("".join(texts))
    if numeral is None:
        raise notation.refusal(pieces, "the text is not one number from end to end")
    return numeral


def _after(prefix: Sequence[str], table: dict[tuple[str, ...], set[str]]) -> frozenset[str]:
    return frozenset(table.get(tuple(prefix), ()))


def _folded(prefix: Sequence[str]) -> list[str]:
    """The prefix with every run of text as one `TEXT`."""
    folded: list[str] = []
    for piece in prefix:
        kind = NUM if piece == NUM else TEXT
        if kind == NUM or folded[-1:] != [TEXT]:
            folded.append(kind)
    return folded
