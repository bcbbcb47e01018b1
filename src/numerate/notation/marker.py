"""Notations with one [NUM] token that carries the number's vector: instead of, after or before the numeral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, NUM, TEXT, Notation, Piece, ValuelessNotation
from numerate.notation.decimal_form import parse_numeral
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["AddBack", "AddBackConfig", "Marker", "MarkerConfig", "Prefix", "PrefixConfig"]

_SLOT = Piece(NUM, slot=True)


@dataclass(frozen=True, kw_only=True)
class MarkerConfig(Config):
    """`marker` has no options."""

    kind: ClassVar[str] = "marker"


@notations.register("marker")
class Marker(ValuelessNotation):
    """[NUM] instead of the numeral (xVal; LUNA's Replace): only the number table carries the value.

    Every number is the same token, including 0, -0, infinity, NaN and overflow; the embedder decides how its vector
    represents them.

    Example:
        >>> Marker().write(parse_numeral("42"))
        [Piece(text='[NUM]', own=True, slot=True)]
    """

    Config = MarkerConfig
    vocabulary = (NUM,)

    def write(self, numeral: Numeral) -> list[Piece]:
        """The [NUM] token."""
        del numeral
        return [_SLOT]

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """[NUM], then the end."""
        return frozenset({(): (NUM,), (NUM,): (END,)}.get(tuple(prefix), ()))


class _MarkedText(Notation):
    """The numeral as written, with [NUM] next to it."""

    vocabulary = (NUM,)
    _num_first: ClassVar[bool]
    _next: ClassVar[Mapping[tuple[str, ...], tuple[str, ...]]]
    """Legal next pieces after each prefix, in which every run of text counts as one `TEXT`."""

    def write(self, numeral: Numeral) -> list[Piece]:
        """The text, and the token with the slot."""
        text = Piece(numeral.text, own=False)
        return [_SLOT, text] if self._num_first else [text, _SLOT]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The numeral next to the [NUM]."""
        if not pieces or pieces[0 if self._num_first else -1] != NUM:
            raise self.error(pieces, f"{NUM} is missing at its {'beginning' if self._num_first else 'end'}")
        texts = pieces[1:] if self._num_first else pieces[:-1]
        numeral = None if NUM in texts else parse_numeral("".join(texts))
        if numeral is None:
            raise self.error(pieces, "the text is not exactly one number")
        return numeral

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Any text on one side of [NUM], then the end."""
        folded: list[str] = []
        for piece in prefix:
            if piece == NUM or folded[-1:] != [TEXT]:
                folded.append(NUM if piece == NUM else TEXT)
        return frozenset(self._next.get(tuple(folded), ()))


@dataclass(frozen=True, kw_only=True)
class AddBackConfig(Config):
    """`addback` has no options."""

    kind: ClassVar[str] = "addback"


@notations.register("addback")
class AddBack(_MarkedText):
    """The numeral as written, then [NUM] (LUNA's AddBack): `2,082[NUM]`.

    0, -0, infinity, NaN and overflow are written as in the text.

    Example:
        >>> [piece.text for piece in AddBack().write(parse_numeral("2,082"))]
        ['2,082', '[NUM]']
    """

    Config = AddBackConfig
    _num_first = False
    _next: ClassVar = {(): (TEXT,), (TEXT,): (TEXT, NUM), (TEXT, NUM): (END,)}


@dataclass(frozen=True, kw_only=True)
class PrefixConfig(Config):
    """`prefix` has no options."""

    kind: ClassVar[str] = "prefix"


@notations.register("prefix")
class Prefix(_MarkedText):
    """[NUM], then the numeral as written (value-aware prefix tokens): a causal model sees the value first.

    0, -0, infinity, NaN and overflow are written as in the text.

    Example:
        >>> [piece.text for piece in Prefix().write(parse_numeral("2,082"))]
        ['[NUM]', '2,082']
    """

    Config = PrefixConfig
    _num_first = True
    _next: ClassVar = {(): (NUM,), (NUM,): (TEXT,), (NUM, TEXT): (TEXT, END)}
