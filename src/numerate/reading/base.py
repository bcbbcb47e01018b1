"""What every reader is: text in, numerals out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Reader"]


class Reader(ABC):
    """Finds the numerals of a text.

    The contract, tested for every registered reader: the numerals are sorted and disjoint,
    `text[n.start:n.end] == n.text`, `render(n.style, n.value) == n.text`, the time is linear in the text, and no string
    whatever makes it raise.
    """

    @abstractmethod
    def find(self, text: str) -> list[Numeral]:
        """All numerals of `text`, in order."""

    def spans(self, text: str) -> Sequence[Sequence[Any]]:
        """The numerals of `text` as rows that begin with start, end, value and kind.

        A reader may have a quicker way than `find`, and longer rows.
        """
        return [(n.start, n.end, n.value, n.kind) for n in self.find(text)]
