"""Notations `keep` (the numeral's own text), `words` (English number words) and `drop` (nothing)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config
from numerate.notation.base import END, TEXT, Notation, Piece, ValuelessNotation
from numerate.notation.decimal_form import decimal_form, parse_numeral
from numerate.numerals.number_words import render_words
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Drop", "DropConfig", "Keep", "KeepConfig", "Words", "WordsConfig"]


class _TextNotation(Notation):
    """Writes a number as one piece of text for the model's own tokenizer."""

    config: Any

    def write(self, numeral: Numeral) -> list[Piece]:
        """The text as one piece."""
        return [Piece(self._text(numeral), own=False, slot=self.config.slot)]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The number that the joined text is."""
        numeral = parse_numeral("".join(pieces))
        if numeral is None:
            raise self.error(pieces, "the text is not exactly one number")
        return numeral

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Any text; the number may end after the first character."""
        return frozenset((TEXT, END)) if "".join(prefix) else frozenset((TEXT,))

    @abstractmethod
    def _text(self, numeral: Numeral) -> str: ...


@dataclass(frozen=True, kw_only=True)
class KeepConfig(Config):
    """Options of `keep`.

    Attributes:
        slot: Whether the number's vector is placed on its own subwords (in place).
    """

    kind: ClassVar[str] = "keep"
    slot: bool = False


@notations.register("keep")
class Keep(_TextNotation):
    """The numeral as written, for the model's own tokenizer.

    0, -0, infinity, NaN and overflow are written as in the text.

    Example:
        >>> Keep.build(slot=True).write(parse_numeral("3.20"))
        [Piece(text='3.20', own=False, slot=True)]
    """

    Config = KeepConfig

    def _text(self, numeral: Numeral) -> str:
        return numeral.text


@dataclass(frozen=True, kw_only=True)
class WordsConfig(Config):
    """Options of `words`.

    Attributes:
        hyphens: `forty-two` instead of `forty two`.
        ands: `one hundred and five` instead of `one hundred five`.
        fractions: `two and a half` instead of `two point five`.
        slot: Whether the number's vector is placed on the words.
    """

    kind: ClassVar[str] = "words"
    hyphens: bool = True
    ands: bool = True
    fractions: bool = False
    slot: bool = False


@notations.register("words")
class Words(_TextNotation):
    """The value in English words, as one piece of text; exact for every float64.

    Magnitudes from 1e66 and below 1e-15 are written in digits. Zero is `zero`, -0 is `minus zero`, infinity and NaN are
    `inf`, `-inf` and `nan`; on overflow, a finite numeral keeps its digits.

    Example:
        >>> Words().write(parse_numeral("1,205.5"))[0].text
        'one thousand two hundred and five point five'
        >>> Words().read(["minus ", "forty", "-two"]).value
        -42.0
    """

    Config = WordsConfig

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The number that the words say."""
        from numerate.reading.words import find_words  # a lazy import: only reading needs the grammar

        text = "".join(pieces).strip()
        found = find_words(text)
        return found[0] if len(found) == 1 and found[0].text == text else super().read(pieces)

    def _text(self, numeral: Numeral) -> str:
        options = self.config
        joints = ("-" if options.hyphens else " ") + "&" * options.ands + "." * (not options.fractions)
        return decimal_form(numeral).text if numeral.overflow else render_words(numeral.value, f"lower{joints}")


@dataclass(frozen=True, kw_only=True)
class DropConfig(Config):
    """`drop` has no options."""

    kind: ClassVar[str] = "drop"


@notations.register("drop")
class Drop(ValuelessNotation):
    """Writes nothing for any number (0, -0, infinity, NaN and overflow included): a baseline without numbers.

    Example:
        >>> Drop().write(parse_numeral("42"))
        []
    """

    Config = DropConfig

    def write(self, numeral: Numeral) -> list[Piece]:
        """No pieces."""
        del numeral
        return []

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Only `END`."""
        return frozenset() if prefix else frozenset((END,))
