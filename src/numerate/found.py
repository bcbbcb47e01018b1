"""What was found in a text and has a slot: numerals, or bare spans where nobody needs more; and batches with both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from transformers import BatchEncoding

from numerate.batch import ASKED, GIVEN, byte_rows, clipped_precision, plain_precisions, precisions, table_of
from numerate.numeral import Numeral
from numerate.reading.luna import LunaReader
from numerate.reading.plain import PlainReader
from numerate.reading.records import RecordsReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.reading.base import Reader
    from numerate.scaling import Scaling

__all__ = ["BareSpans", "Found", "NumberBatch", "number_table", "reads_bare_spans"]

_PLAIN_POINT = (RecordsReader, LunaReader, PlainReader)


def reads_bare_spans(reader: Reader) -> bool:
    """Whether a reader's spans say all that a number table needs: its decimal mark is always the point."""
    return type(reader) in _PLAIN_POINT


@dataclass(slots=True)
class BareSpans:
    """Numbers of one text by their spans; the numerals themselves are read when they are asked for.

    Attributes:
        source: The text.
        columns: Starts, ends, values and kinds.
        read: Gives the numerals of a text, one for each span.
        first: How many numerals of the text come before these.
    """

    source: str
    columns: tuple[Sequence[Any], ...]
    read: Callable[[str], list[Numeral]]
    first: int = 0

    @classmethod
    def of(cls, source: str, rows: Sequence[Sequence[Any]], read: Callable[[str], list[Numeral]]) -> BareSpans:
        """From what a reader's `spans` gives."""
        return cls(source, tuple(zip(*rows, strict=True)) if rows else ((), (), (), ()), read)

    def __len__(self) -> int:
        return len(self.columns[0])

    def part(self, begin: int, end: int) -> BareSpans:
        """The numbers from `begin` to `end`."""
        columns = tuple(column[begin:end] for column in self.columns)
        return BareSpans(self.source, columns, self.read, self.first + begin)

    def numerals(self) -> list[Numeral | None]:
        """The numerals, read now."""
        return list(self.read(self.source)[self.first : self.first + len(self)])

    def texts(self) -> list[str]:
        """The numbers as they are written."""
        source = self.source
        return [source[start:end] for start, end in zip(self.columns[0], self.columns[1], strict=True)]


Found = BareSpans | list[Numeral | None]
"""The numbers of one row; None stands for a number asked for."""


class NumberBatch(BatchEncoding):
    """A tokenizer's batch with the number table beside it."""

    found: list[Found]

    @classmethod
    def of(cls, data: dict[str, Any], found: list[Found]) -> Self:
        """A batch of these fields, with what was found in each row."""
        batch = cls(data)
        batch.found = found
        return batch

    @property
    def numerals(self) -> list[list[Numeral | None]]:
        """For each row the numerals in its table, in order; None stands for a number asked for."""
        self.found = [row.numerals() if isinstance(row, BareSpans) else row for row in self.found]
        return self.found  # type: ignore[return-value]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "found": self.numerals}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.found = state["found"]


def number_table(rows: Sequence[Found], written: bool, scaling: Scaling | None) -> dict[str, np.ndarray]:
    """The number table of a batch, see `numerate.batch.table_of`."""
    counts = [len(row) for row in rows]
    if all(isinstance(row, BareSpans) for row in rows) and not written:
        texts = list(chain.from_iterable(row.texts() for row in rows))  # type: ignore[union-attr]
        values = meant = np.fromiter(chain.from_iterable(row.columns[2] for row in rows), float, len(texts))  # type: ignore[union-attr]
        if scaling is not None:
            values = scaling.apply([""] * len(texts), meant)  # type: ignore[arg-type]
        written_forms = byte_rows(texts)
        precision, unsettled = plain_precisions(written_forms)
        if unsettled.any():
            kinds = list(chain.from_iterable(row.columns[3] for row in rows))  # type: ignore[union-attr]
            for index in np.flatnonzero(unsettled).tolist():
                precision[index] = clipped_precision(_numeral_of(texts[index], float(meant[index]), kinds[index]))
        return table_of(counts, written_forms, values, precision, np.full(len(texts), GIVEN, dtype=np.uint8))
    lists = [row.numerals() if isinstance(row, BareSpans) else row for row in rows]
    given = np.array([ASKED if n is None else GIVEN for row in lists for n in row], dtype=np.uint8)
    flat = [n for row in lists for n in row if n is not None]
    numbers = np.array([n.written if written else n.value for n in flat], dtype=np.float64)
    if scaling is not None:
        numbers = scaling.apply(flat, numbers)  # type: ignore[arg-type]
    present = given == GIVEN
    values, precision = np.zeros(len(given)), np.zeros(len(given), dtype=np.int16)
    values[present], precision[present] = numbers, precisions(flat)
    texts = [n.text if n is not None else "" for row in lists for n in row]
    return table_of(counts, byte_rows(texts), values, precision, given)


def _numeral_of(text: str, value: float, kind: str) -> Numeral:
    """The numeral behind a span, as far as its precision goes."""
    special = None
    if not math.isfinite(value) and not any(char.isdigit() for char in text):
        special = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return Numeral(text, 0, len(text), value, kind, power=-2 if kind == "percent" else 0, special=special)
