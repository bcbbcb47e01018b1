"""Numbers spelt out in English words, for the model's own subwords: it has read "forty-two" often enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from numerate.config import Config
from numerate.notation.base import END, TEXT, Notation, Piece
from numerate.notation.decimal_form import decimal_form, parse_numeral
from numerate.numerals.number_words import render_words
from numerate.registry import notations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Words", "WordsConfig"]


@dataclass(frozen=True, kw_only=True)
class WordsConfig(Config):
    """Options of `words`.

    Attributes:
        hyphens: `forty-two`, or `forty two`.
        ands: `one hundred and five`, or `one hundred five`.
        fractions: `two and a half`, or `two point five`.
        slot: Whether the number's vector goes on the words.
    """

    kind: ClassVar[str] = "words"
    hyphens: bool = True
    ands: bool = True
    fractions: bool = False
    slot: bool = False


@notations.register("words")
class Words(Notation):
    """The value in English words, as one piece of text; exact for every float64.

    What words would only obscure is written in digits: magnitudes from 1e66, and those below 1e-15. Zero is `zero`,
    -0 is `minus zero`, infinity and NaN are `inf`, `-inf`, `nan`; on overflow a finite numeral keeps its digits.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> Words().write(Numeral("1,205.5", 0, 7, 1205.5))[0].text
        'one thousand two hundred and five point five'
        >>> Words().read(["minus ", "forty", "-two"]).value
        -42.0
    """

    Config = WordsConfig
    config: WordsConfig

    def write(self, numeral: Numeral) -> list[Piece]:
        """The words as one piece."""
        options = self.config
        joints = ("-" if options.hyphens else " ") + "&" * options.ands + "." * (not options.fractions)
        text = decimal_form(numeral).text if numeral.overflow else render_words(numeral.value, f"lower{joints}")
        return [Piece(text, own=False, slot=options.slot)]

    def read(self, pieces: Sequence[str]) -> Numeral:
        """The one number that the words say."""
        from numerate.reading.words import find_words  # the grammar is needed by those who read words only

        text = "".join(pieces).strip()
        found = find_words(text)
        numeral = found[0] if len(found) == 1 and found[0].text == text else parse_numeral(text)
        if numeral is None:
            raise self.refusal(pieces, "the text is not one number from end to end")
        return numeral

    def legal_next(self, prefix: Sequence[str]) -> frozenset[str]:
        """Any text; it may end once there is some."""
        return frozenset((TEXT, END)) if "".join(prefix) else frozenset((TEXT,))
