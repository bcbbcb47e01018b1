"""The base class `Reader` of all readers, which find numerals in text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["Reader", "ReaderError"]


class ReaderError(NumerateError, ValueError):
    """An option of a reader has an unknown value, or a text is not a number."""


class Reader(ABC):
    """Finds the numerals of a text.

    The contract, tested for every registered reader: the numerals are sorted and disjoint,
    `text[n.start:n.end] == n.text`, `render(n.style, n.value) == n.text`, the time is linear in the length of the text,
    and no string raises an error.
    """

    is_local: ClassVar[bool] = False
    """Whether a numeral depends only on the text near it, so that a very long text can be read in windows."""

    @abstractmethod
    def find(self, text: str) -> list[Numeral]:
        """All numerals of `text` in order."""

    def spans(self, text: str) -> Sequence[Sequence[Any]]:
        """The numerals of `text` as rows of start, end, value, kind and unit; may be faster than `find`.

        A row may end after the kind if the reader has no units, and may have more fields after the unit.
        """
        return [(n.start, n.end, n.value, n.kind, n.unit) for n in self.find(text)]
