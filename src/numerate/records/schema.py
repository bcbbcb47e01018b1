"""The schema of records: kinds of fields, and the normalised text of a record for a model.

Keys are written in the order in which they were first seen. A number is written bare, a time as its seconds since 1970,
a text in quotes. A missing value is `null` if the field was missing often enough in the training to learn from it, and
otherwise `[NUM]`, an unknown number. Constants and names of records carry no information and are left out.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numerate.config import Config, ConfigError
from numerate.errors import NumerateError
from numerate.notation.base import NUM
from numerate.processing.scaling import EVERYTHING, field_of
from numerate.records.cells import Cell, read_cell
from numerate.records.quantities import read_quantity
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numerate.records.field_table import Counts

__all__ = ["MAX_TEXT", "Field", "FieldError", "Schema", "bare_key", "path_of", "read_field"]

MAX_TEXT = 64
"""Maximum number of characters of a text; rare texts cost one token per byte."""
MAX_PLACE = 10_000
"""Maximum length to which lists are extended for a requested place."""
LEARNT_MISSING = 0.01
"""Share of missing values from which a missing value is written as `null`."""

_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')

Holds = Literal["number", "time", "text", "constant", "name", "empty"]


class FieldError(NumerateError, ValueError):
    """Records or a field that cannot be used; the message is one line that quotes the value."""


def path_of(prefix: str, key: str) -> str:
    """The path of a key, as the reader `records` writes it.

    Example:
        >>> path_of("planet0", "m"), path_of("", "m"), path_of("", "body mass")
        ('planet0.m', 'm', '["body mass"]')
    """
    if not key.isidentifier():
        return f"{prefix}[{json.dumps(key, ensure_ascii=not key.isprintable())}]"
    return f"{prefix}.{key}" if prefix else key


@dataclass(frozen=True, kw_only=True)
class Field(Config):
    """One field: a key path without list indices.

    Attributes:
        holds: `number`, `time` or `text`; `constant` for a single number or time, `name` for texts that are all
            different (or all equal), `empty` for a field without values.
        was: Kind of a constant: `number` or `time`.
        count: Number of values in the training records.
        missing: Number of missing values.
        strays: Number of values of another kind, as a text among numbers; they are written as texts.
        low: Smallest number.
        high: Largest number.
        heavy: Whether the numbers have a heavy tail, and a logarithmic scaler.
        left_out: Whether the user left it out.
        unit: Unit of the numbers, if they are strings with one: `USD` for `$59,696`, `%` for `12 %`.
        locale: How strings that are numbers are read: `auto` (`1,234.5`) or `eu` (`1.234,5`); empty if only plain
            numbers (`1234.5`) are, as in schemas of earlier versions.
    """

    kind: ClassVar[str] = "record-field"
    holds: Holds = "number"
    was: Literal["number", "time"] = "number"
    count: int = 0
    missing: int = 0
    strays: int = 0
    low: float = 0.0
    high: float = 0.0
    heavy: bool = False
    left_out: bool = False
    unit: str = ""
    locale: Literal["", "auto", "eu"] = ""

    @property
    def shown(self) -> bool:
        """Whether a model sees the field."""
        return self.holds in ("number", "time", "text") and not self.left_out

    @property
    def is_time(self) -> bool:
        """Whether its numbers are seconds since 1970."""
        return self.holds == "time" or (self.holds == "constant" and self.was == "time")

    @property
    def learnt_missing(self) -> bool:
        """Whether `null` is written for a missing value."""
        return self.missing >= LEARNT_MISSING * (self.count + self.missing)


@dataclass(frozen=True, kw_only=True)
class Schema(Config):
    """The fields of records, and the normalised text of a record.

    Attributes:
        fields: Fields by path, `data[][]` for all items of a list.
        keys: Ordered keys of each object by its path, `""` for the record itself.
        words: Frequent texts, each one token.

    Example:
        >>> from numerate.records.learning import learn
        >>> schema = learn([{"x": 1, "t": "2024-01-01", "c": 5}, {"t": "2024-01-02", "x": "2.5", "c": 5, "new": None}])
        >>> schema.write({"c": 5, "t": "2024-01-02", "x": 7})
        '{"x":7,"t":1704153600}'
        >>> schema.write({"t": "2024-01-02"}, asked="x")
        '{"x":[NUM],"t":1704153600}'
    """

    kind: ClassVar[str] = "record-schema"
    fields: dict[str, Field] = field(default_factory=dict)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := next((path for path in self.keys if not isinstance(path, str)), None):
            raise ConfigError(f"paths must be strings, got {unknown!r}")

    def choose(self) -> dict[str, str]:
        """Scalers of single fields for `numerate.processing.scaling.Scaling`."""
        return {path: "log" for path, each in self.fields.items() if each.heavy and each.shown}

    def numbers(self) -> list[str]:
        """The fields that a model predicts: numbers and times."""
        return [path for path, each in self.fields.items() if each.shown and each.holds != "text"]

    def path(self, name: str) -> str:
        """The path of a field by its path or bare key, as `body mass`.

        Raises:
            FieldError: There is no such field, or it cannot be predicted.
        """
        if not isinstance(name, str) or name == EVERYTHING or not name:
            raise FieldError(f"give one field to predict, got {name!r}")
        known = [path for path in (name, path_of("", name)) if field_of(path) in self.fields]
        if not known:
            askable = [bare_key(path) for path, each in self.fields.items() if each.shown or each.holds == "constant"]
            raise FieldError(f"unknown field {name!r}: {near_names(name, askable)}")
        what = self.fields[field_of(known[0])]
        if "[]" in _QUOTED.sub('"', known[0]):
            raise FieldError(f"field {name!r} is a list: give an index, as {name.replace('[]', '[0]')!r}")
        if what.left_out or what.holds in ("text", "name", "empty"):
            why = "was left out of the training" if what.left_out else {"empty": "has no values"}.get(what.holds)
            hint = "" if why else "; strings such as '$5' are numbers if all of them have the same unit"
            raise FieldError(f"field {name!r} {why or 'has texts'}: only numbers and times can be predicted{hint}")
        return known[0]

    def write(self, record: Any, asked: str | None = None, counts: Counts | None = None) -> str:
        """A record as text; the number with the path `asked` is written as `[NUM]`, whether or not the record has it.

        `counts` counts unusual input of the record.
        """
        return self.write_asking(record, asked, counts)[0]

    def write_asking(
        self, record: Any, asked: str | None = None, counts: Counts | None = None
    ) -> tuple[str, list[str]]:
        """The text of a record, and the paths of its `[NUM]` tokens in order."""
        if not isinstance(record, dict):
            raise FieldError(f"a record must be a dict, got {str(record)[:60]!r}")
        open_paths: list[str] = []
        walk = _Walk(self, asked, counts, open_paths)
        return walk.value(record, "", ""), open_paths


class _Walk:
    """Writes one record as text."""

    def __init__(self, schema: Schema, asked: str | None, counts: Counts | None, open_paths: list[str]) -> None:
        self.schema, self.asked, self.counts, self.open_paths = schema, asked, counts, open_paths

    def value(self, value: Any, path: str, place: str) -> str:
        """The text of a value; `path` is its field, `place` its path with list indices."""
        if place == self.asked and path in self.schema.fields:
            return self._open(place)  # whether or not the record has a value there
        keys = self.schema.keys.get(path)
        asked = self.asked or ""
        within = asked != place and asked.startswith(place) and (not place or asked[len(place)] in ".[")
        if keys is not None and (isinstance(value, dict) or (within and not isinstance(value, list))):
            return self._object(value if isinstance(value, dict) else {}, path, place, keys)
        if isinstance(value, dict):
            self._count("unknown", path or "{}")
            return "null"
        if within and (index := _INDEX.match(asked, len(place))):
            # A list that is missing or too short is extended to the requested place.
            items = list(value) if isinstance(value, list | tuple) else []
            value = items + [None] * (min(int(index[1]), MAX_PLACE) + 1 - len(items))
        if isinstance(value, list | tuple):
            inner = ",".join(self.value(each, f"{path}[]", f"{place}[{at}]") for at, each in enumerate(value))
            return f"[{inner}]"
        return self._leaf(value, path, place)

    def _object(self, record: Mapping[Any, Any], path: str, place: str, keys: tuple[str, ...]) -> str:
        record = {str(key): each for key, each in record.items()}
        parts = []
        for key in keys:
            below = path_of(path, key)
            plan = self.schema.fields.get(below)
            if plan is None or plan.shown:
                parts.append(f"{_quoted(key)}:{self.value(record.get(key), below, path_of(place, key))}")
            elif self.counts is not None and plan.holds == "constant" and key in record:
                cell = read_field(record[key], plan)
                if cell.kind in ("number", "time") and cell.number != plan.low:
                    self._count("outside", below)
        for key in record:
            if key not in keys:
                self._count("unknown", path_of(path, key))
        return "{" + ",".join(parts) + "}"

    def _leaf(self, value: Any, path: str, place: str) -> str:
        plan = self.schema.fields.get(path)
        if plan is None:
            if value is not None:
                self._count("unknown", path)
            return "null"
        cell = read_field(value, plan)
        if cell.kind == "missing":
            self._count("infinite" if cell.infinite else "missing", path)
            return "null" if plan.holds == "text" or plan.learnt_missing else self._open(place)
        if cell.kind == "text" or plan.holds == "text":
            if plan.holds != "text":
                self._count("strays", path)
            elif cell.kind == "number":
                return _quoted(_written(cell.number))
            return _quoted(cell.text[:MAX_TEXT] if cell.kind == "text" else str(value)[:MAX_TEXT])
        if cell.kind != plan.holds:
            self._count("strays", path)
            return _quoted(str(value)[:MAX_TEXT])
        if not plan.low <= cell.number <= plan.high:
            self._count("outside", path)
        return _written(cell.number)

    def _open(self, place: str) -> str:
        self.open_paths.append(place)
        return NUM

    def _count(self, what: str, path: str) -> None:
        if self.counts is not None:
            self.counts.add(what, path)


def read_field(value: Any, plan: Field) -> Cell:
    """Parses a value of a field; a string in the field's unit, or without a unit, is a number."""
    if plan.locale and isinstance(value, str):
        found = read_quantity(value, plan.locale)
        if found is not None and found.unit in ("", plan.unit):
            return Cell("number", found.number)
    return read_cell(value)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values of a record, its objects and its fields, outer ones first."""
    stack = [(path, value)]
    while stack:
        path, value = stack.pop()
        yield path, value
        if isinstance(value, dict):
            stack.extend((path_of(path, str(key)), each) for key, each in reversed(value.items()))
        elif isinstance(value, list | tuple):
            stack.extend((f"{path}[]", each) for each in reversed(value))


def _written(number: float) -> str:
    return repr(number).removesuffix(".0") if math.isfinite(number) else "null"


def _quoted(text: str) -> str:
    # A literal [NUM] in a text must not become a requested number.
    return json.dumps(text, ensure_ascii=False).replace(NUM, "\\u005bNUM]")


def first_words(counted: Iterable[tuple[str, int]], most: int) -> tuple[str, ...]:
    """The most frequent texts, quoted, that occur more than once."""
    often = sorted((item for item in counted if item[1] > 1), key=lambda item: (-item[1], item[0]))
    return tuple(_quoted(text) for text, _ in often[:most])


def bare_key(path: str) -> str:
    """The key of a path that is one key in brackets, as people name it: `["mass (kg)"]` is `mass (kg)`."""
    return str(json.loads(path)[0]) if path[0] == "[" and _QUOTED.fullmatch(path[1:-1]) else path
