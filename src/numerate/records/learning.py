"""Infers the schema of records in one pass and constant memory."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from numerate.processing.scaling import field_of
from numerate.records.cells import read_cell
from numerate.records.quantities import LOCALES, Quantity, read_quantity
from numerate.records.schema import MAX_TEXT, Field, FieldError, Schema, first_words, leaves, path_of
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.records.cells import Cell
    from numerate.records.quantities import Locale

__all__ = ["learn"]

MAX_WORDS = 5_000
MAX_DISTINCT = 50_000
"""Maximum number of different texts that are counted per field."""
NAMES_FROM = 20
"""Minimum number of texts, all different and without spaces, that make a field a name."""
FAR = 8.0
"""Standard deviations from the mean beyond which a number means a heavy tail."""
MAX_FIELDS = 10_000


def learn(
    records: Iterable[Any], *, leave_out: Iterable[str] = (), limit: int | None = None, needs_numbers: bool = True
) -> Schema:
    """The schema of records.

    The kind of a field is that of most of its values: number, time, or text; texts win a tie. A field whose strings are
    all numbers with the same unit (`$59,696`, `12 %`) holds numbers in that unit.

    At most `limit` records are used; a model neither sees nor predicts the fields of `leave_out`. With
    `needs_numbers=False`, records may have texts only, where no field of them is to be predicted.

    Raises:
        FieldError: There are no records, none of the numbers varies, or an item is no record.

    Example:
        >>> schema = learn([{"id": 7, "d": {"m": 1.5}}, {"id": 8, "d": {"m": None}}, {"id": 9, "d": {"m": 2}}])
        >>> {path: each.holds for path, each in schema.fields.items()}, schema.fields["d.m"].missing
        ({'id': 'number', 'd.m': 'number'}, 1)
    """
    leave_out = (leave_out,) if isinstance(leave_out, str) else leave_out
    tallies: dict[str, _Tally] = {}
    keys: dict[str, dict[str, None]] = {}
    objects: Counter[str] = Counter()
    present: Counter[str] = Counter()
    for record in islice(records, limit):
        if not isinstance(record, dict):
            raise FieldError(f"a record must be a dict, got {str(record)[:60]!r}")
        for path, value in leaves(record):
            if isinstance(value, dict):
                objects[path] += 1
                here = keys.setdefault(path, {})
                for key in value:
                    here.setdefault(str(key))
                    present[path_of(path, str(key))] += 1
            elif not isinstance(value, list | tuple):
                if path not in tallies and len(tallies) >= MAX_FIELDS:
                    raise FieldError(f"more than {MAX_FIELDS:,} different fields; the last is {path[:60]!r}")
                tallies.setdefault(path, _Tally()).add(read_cell(value), value)
    if not objects[""]:
        raise FieldError("there are no records")
    for path, here in keys.items():
        for key in here:
            below = path_of(path, key)
            if below in tallies:
                tallies[below].missing += objects[path] - present[below]
    # An object that is null in some record is not a field.
    tallies = {path: tally for path, tally in tallies.items() if tally.count or path not in keys}
    out = {path if path in tallies else path_of("", path): path for path in map(field_of, leave_out)}
    if unknown := sorted(path for key, path in out.items() if key not in tallies):
        raise FieldError(f"unknown field {unknown[0]!r} to leave out: {near_names(unknown[0], list(tallies))}")
    fields = {path: tally.field(path in out) for path, tally in tallies.items()}
    schema = Schema(fields=fields, keys={path: tuple(here) for path, here in keys.items()})
    if needs_numbers and not schema.numbers():
        raise FieldError(f"no field has numbers that vary; the fields are {', '.join(list(fields)[:12]) or 'none'}")
    texts: Counter[str] = Counter()
    for path, tally in tallies.items():
        if fields[path].holds == "text" and fields[path].shown:
            texts.update(tally.texts)
    return Schema(fields=schema.fields, keys=schema.keys, words=first_words(texts.items(), MAX_WORDS))


class _Tally:
    """Statistics of one field."""

    def __init__(self) -> None:
        self.missing = 0
        self.kinds: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()
        self._moments = {"number": _Moments(), "time": _Moments()}
        self._columns = {locale: _Column(locale) for locale in LOCALES}

    @property
    def count(self) -> int:
        return self.kinds.total()

    def add(self, cell: Cell, value: Any) -> None:
        if cell.kind == "missing":
            self.missing += 1
            return
        self.kinds[cell.kind] += 1
        for column in self._columns.values():
            column.add(cell, value)
        if cell.kind == "text":
            if len(self.texts) < MAX_DISTINCT or cell.text in self.texts:
                self.texts[cell.text[:MAX_TEXT]] += 1
        else:
            self._moments[cell.kind].add(cell.number)

    def field(self, left_out: bool) -> Field:
        if not self.count:
            return Field(holds="empty", missing=self.missing, left_out=left_out)
        holds: Any = max(("text", "number", "time"), key=lambda kind: self.kinds[kind])
        same = {"count": self.count, "missing": self.missing, "left_out": left_out}
        column = next((each for each in self._columns.values() if self.kinds["text"] and each.is_number), None)
        if column is not None:
            seen = column.seen
            same |= {"low": seen.low, "high": seen.high, "unit": column.unit, "locale": column.locale}
            return Field(holds="constant" if seen.is_constant else "number", heavy=seen.is_heavy(), **same)
        if holds == "text":
            different = len(self.texts) == self.kinds["text"] >= NAMES_FROM
            named = different and not any(" " in text for text in self.texts)
            same_text = len(self.texts) == 1 and self.kinds["text"] == self.count and not self.missing
            return Field(holds="name" if named or same_text else "text", **same)
        seen, strays = self._moments[holds], self.count - self.kinds[holds]
        if seen.is_constant and not strays:
            return Field(holds="constant", was=holds, low=seen.low, high=seen.high, **same)
        return Field(holds=holds, strays=strays, low=seen.low, high=seen.high, heavy=seen.is_heavy(), **same)


class _Column:
    """Statistics of a field as numbers with one unit, read in one locale; given up at the first other value."""

    def __init__(self, locale: Locale) -> None:
        self.locale: Locale = locale
        self.seen = _Moments()
        self.unit, self._fits, self._comma = "", True, False

    @property
    def is_number(self) -> bool:
        # 1.234.567 alone may be an address: European numbers need a unit, or a decimal comma in one of them.
        return self._fits and (self.locale == "auto" or bool(self.unit) or self._comma)

    def add(self, cell: Cell, value: Any) -> None:
        if not self._fits:
            return
        found = Quantity(cell.number) if cell.kind == "number" else None
        if isinstance(value, str) and (found is None or (self.locale == "eu" and "." in value)):
            found = read_quantity(value, self.locale)
        if found is None or (self.seen.count and found.unit != self.unit):
            self._fits = False
            return
        self.unit, self._comma = found.unit, self._comma or found.comma
        self.seen.add(found.number)


class _Moments:
    """Mean, spread and range of numbers in one pass, by Welford's algorithm."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.low, self.high = math.inf, -math.inf

    def add(self, number: float) -> None:
        self.count += 1
        step = number - self.mean
        self.mean += step / self.count
        self.squares += step * (number - self.mean)
        self.low, self.high = min(self.low, number), max(self.high, number)

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    def is_heavy(self) -> bool:
        spread = math.sqrt(self.squares / self.count) if math.isfinite(self.squares) else math.inf
        # If squares overflow float64, the numbers span hundreds of orders of magnitude.
        return math.isinf(spread) or max(self.high - self.mean, self.mean - self.low) > FAR * spread
