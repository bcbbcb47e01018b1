"""Finding numerals in text: `find`, `find_batch` and `find_columns`, with any registered reader."""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from numerate.errors import NumerateError
from numerate.numerals.numeral import KINDS, Numeral
from numerate.registry import readers

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from numerate.reading.base import Reader

__all__ = ["Columns", "ReaderTypeError", "find", "find_batch", "find_columns", "make_reader"]


class ReaderTypeError(NumerateError, TypeError):
    """A text of the wrong type, or an option that the reader does not have."""


class Columns(NamedTuple):
    """Numerals of many texts as arrays of equal length, without one object per numeral.

    Example:
        >>> columns = find_columns(["5 km in 2 h", "$7"])
        >>> [columns.units[code] for code in columns.unit]
        ['km', 'h', 'USD']
    """

    text_index: np.ndarray
    start: np.ndarray
    end: np.ndarray
    value: np.ndarray
    kind: np.ndarray
    """Positions in `numerate.KINDS`."""
    unit: np.ndarray
    """Positions in `units`; -1 for a numeral without a unit."""
    units: tuple[str, ...]
    """Normal spellings of the units in the texts, in order of their first numeral."""


class _UnitCodes(dict[str | None, int]):
    """Unit -> its code; a new unit gets the next code."""

    def __missing__(self, unit: str | None) -> int:
        self[unit] = code = len(self) - 1  # None has the code -1
        return code


def find(text: str, reader: str | Reader = "standard", **options: Any) -> list[Numeral]:
    """Finds all numerals of `text`.

    Args:
        text: Any string.
        reader: The name of a registered reader (`numerate.readers.names()`), or a reader object.
        **options: Options of the reader; those of `standard` are `words`, `roman`, `language`, `locale` ("auto": all
            numbers of the text decide about decimal commas) and `cell` (the text is a table cell: `(317)` is negative).

    Example:
        >>> [(n.text, n.value, n.kind) for n in find("Revenue rose 3.2% to $1.5 billion in 2023.")]
        [('3.2%', 0.032, 'percent'), ('1.5 billion', 1500000000.0, 'money'), ('2023', 2023.0, 'year')]
        >>> [(n.text, n.value, n.shared) for n in find("$43-65 million, or 50-60%")]
        [('43', 43000000.0, True), ('65 million', 65000000.0, True), ('50', 0.5, True), ('60%', 0.6, False)]
        >>> [find(cell, cell=True)[0].value for cell in ("(317)", "5-", "12")]
        [-317.0, -5.0, 12.0]
    """
    if not isinstance(text, str):
        raise ReaderTypeError(f"find() takes a string, got {type(text).__name__}; for many texts use find_batch()")
    return make_reader(reader, **options).find(text)


def find_batch(texts: Iterable[str], reader: str | Reader = "standard", **options: Any) -> list[list[Numeral]]:
    """Finds the numerals of each text; see `find`."""
    if isinstance(texts, str):
        raise ReaderTypeError("find_batch() takes an iterable of strings, got one string; for one text use find()")
    return list(map(make_reader(reader, **options).find, texts))


def find_columns(texts: Iterable[str], reader: str | Reader = "standard", **options: Any) -> Columns:
    """Finds the numerals of many texts as arrays.

    Returns:
        `Columns` of int64 text indices, starts and ends, float64 values, uint8 kinds and int32 units, in order of the
        text, and the tuple of units that the codes refer to.

    Example:
        >>> columns = find_columns(["7 of 12 km", "none", "3.5%"])
        >>> columns.text_index.tolist(), columns.value.tolist()
        ([0, 0, 2], [7.0, 12.0, 0.035])
        >>> columns.unit.tolist(), columns.units
        ([-1, 0, -1], ('km',))
    """
    import numpy as np

    if isinstance(texts, str):
        raise ReaderTypeError("find_columns() takes an iterable of strings, got one string; for one text use find()")
    spans = make_reader(reader, **options).spans
    codes = {kind: code for code, kind in enumerate(KINDS)}.__getitem__
    unit_codes = _UnitCodes({None: -1})
    types = (np.int64, np.int64, np.float64, np.uint8, np.int32)
    counts, rows, done = array("q"), [], []

    def convert(some: list[Any]) -> None:
        # At most five columns, and as many as the shortest row has.
        columns: list[Any] = list(islice(zip(*some, strict=False), 5)) or [()] * 5
        if len(columns) == 4:  # the rows of some readers end with the kind
            columns.append([row[4] if len(row) > 4 else None for row in some])
        columns[3:5] = map(codes, columns[3]), map(unit_codes.__getitem__, columns[4])
        done.append([np.fromiter(column, kind, len(some)) for column, kind in zip(columns, types, strict=False)])

    for text in texts:
        found = spans(text)
        counts.append(len(found))
        rows += found
        if len(rows) > 2_000:  # convert rows to arrays early to save memory
            for begin in range(0, len(rows), 4_000):
                convert(rows[begin : begin + 4_000])
            rows.clear()
    convert(rows)
    index = np.repeat(np.arange(len(counts), dtype=np.int64), np.frombuffer(counts, np.int64))
    units = tuple(filter(None, unit_codes))
    return Columns(index, *(np.concatenate(parts) for parts in zip(*done, strict=True)), units=units)


def make_reader(reader: str | Reader, **options: Any) -> Reader:
    """The reader with a registered name, built with `options`; a reader object is returned as it is."""
    if isinstance(reader, str):
        try:
            return _cached_reader(reader, tuple(sorted(options.items())))
        except TypeError as error:
            raise ReaderTypeError(f"reader {reader!r}: {error}") from None
    if options:
        raise ReaderTypeError(f"options {sorted(options)} need the name of a reader, got a reader object")
    return reader


@lru_cache(maxsize=64)
def _cached_reader(name: str, options: tuple[tuple[str, Any], ...]) -> Reader:
    return readers.create(name, **dict(options))
