"""What the fields of records are, learnt from some; and records written alike by it, as text for a model.

Keys stand in the order in which they were first seen, whatever order a record has them in. A number is written bare, a
time as its seconds since 1970, a text in quotes. What is missing is `null` where that was seen often enough to learn
from it (that a value is missing may say something), and otherwise `[NUM]`, a number that is not known. Constants, and
texts that are names of their records, say nothing and are left out.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numerate.config import Config, ConfigError
from numerate.notation.base import NUM
from numerate.processing.scaling import EVERYTHING, field_of
from numerate.records.cells import read_cell
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numerate.records.input_counts import Counts

__all__ = ["MAX_TEXT", "Field", "FieldError", "Schema", "path_of"]

MAX_TEXT = 64
"""Characters of a text that a model sees; there is a token a byte, unless the text is a frequent one."""
MAX_PLACE = 10_000
"""Lists are filled up no further than this; no model reads so many numbers."""
LEARNT_MISSING = 0.01
"""From this share on, that a value is missing is something to learn from."""

_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')

Holds = Literal["number", "time", "text", "constant", "name", "empty"]


class FieldError(ValueError):
    """Records or a field that cannot be used; the message is one line that quotes it."""


def path_of(prefix: str, key: str) -> str:
    """The path of a key's value, as the reader `records` writes it.

    Example:
        >>> path_of("planet0", "m"), path_of("", "m"), path_of("", "body mass")
        ('planet0.m', 'm', '["body mass"]')
    """
    if not key.isidentifier():
        return f"{prefix}[{json.dumps(key, ensure_ascii=not key.isprintable())}]"
    return f"{prefix}.{key}" if prefix else key


@dataclass(frozen=True, kw_only=True)
class Field(Config):
    """One field: a key path without its list indices.

    Attributes:
        holds: `number`, `time` or `text`; `constant` for a single number or time, `name` for texts that are all
            different (or the same), `empty` where nothing was ever given.
        was: What a constant is: `number` or `time`.
        count: How many values were seen.
        missing: How many were missing.
        strays: How many were of another kind, as a text among numbers; they are written as texts.
        low: The least number seen,
        high: and the largest.
        heavy: Whether its scaler is logarithmic: some number lies far outside of all others.
        left_out: Whether the user wants it left out.
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

    @property
    def shown(self) -> bool:
        """Whether a model sees it."""
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
    """The fields of some records, and how a record is written.

    Attributes:
        fields: By path, `data[][]` for all of a list.
        keys: The keys of each object, in order; by its path, `""` for the record itself.
        words: Texts that are a token each.

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
            raise ConfigError(f"paths are strings, got {unknown!r}")

    def choose(self) -> dict[str, str]:
        """The scalers that `numerate.processing.scaling.Scaling` is to take for single fields."""
        return {path: "log" for path, each in self.fields.items() if each.heavy and each.shown}

    def numbers(self) -> list[str]:
        """The fields whose values a model predicts: numbers and times."""
        return [path for path, each in self.fields.items() if each.shown and each.holds != "text"]

    def path(self, name: str) -> str:
        """The path that a user means, who may also give a bare key such as `body mass`.

        Raises:
            FieldError: There is none such, or nothing to be predicted there.
        """
        if name == EVERYTHING or not name:
            raise FieldError(f"give one field to predict, got {name!r}")
        known = [path for path in (name, path_of("", name)) if field_of(path) in self.fields]
        if not known:
            askable = [path for path, each in self.fields.items() if each.shown or each.holds == "constant"]
            raise FieldError(f"unknown field {name!r}: {near_names(name, askable)}")
        what = self.fields[field_of(known[0])]
        if "[]" in _QUOTED.sub('"', known[0]):
            raise FieldError(f"field {name!r} is a list: say which place of it, as {name.replace('[]', '[0]')!r}")
        if what.left_out or what.holds in ("text", "name", "empty"):
            why = "was left out of the training" if what.left_out else {"empty": "was never given"}.get(what.holds)
            raise FieldError(f"field {name!r} {why or 'holds text'}: only numbers and times are predicted")
        return known[0]

    def write(self, record: Any, asked: str | None = None, counts: Counts | None = None) -> str:
        """A record as text.

        Args:
            record: A mapping of keys to values, mappings and lists of them.
            asked: The path of a number that is written `[NUM]`, whether the record has it or not.
            counts: Where what was odd about the record is counted.
        """
        return self.write_asking(record, asked, counts)[0]

    def write_asking(
        self, record: Any, asked: str | None = None, counts: Counts | None = None
    ) -> tuple[str, list[str]]:
        """The text, and the paths of its `[NUM]`, in order."""
        if not isinstance(record, dict):
            raise FieldError(f"a record has keys and values, got {str(record)[:60]!r}")
        open_paths: list[str] = []
        walk = _Walk(self, asked, counts, open_paths)
        return walk.value(record, "", ""), open_paths


class _Walk:
    """One record on its way to text."""

    def __init__(self, schema: Schema, asked: str | None, counts: Counts | None, open_paths: list[str]) -> None:
        self.schema, self.asked, self.counts, self.open_paths = schema, asked, counts, open_paths

    def value(self, value: Any, path: str, place: str) -> str:
        """Any value; `path` is its field, `place` its path with the indices."""
        if place == self.asked and path in self.schema.fields:
            return self._open(place)  # whatever a record has there
        keys = self.schema.keys.get(path)
        within = self.asked is not None and self.asked != place and _is_within(self.asked, place)
        if keys is not None and (isinstance(value, dict) or (within and not isinstance(value, list))):
            return self._object(value if isinstance(value, dict) else {}, path, place, keys)
        if isinstance(value, dict):
            self._count("unknown", path or "{}")
            return "null"
        if within and self.asked is not None and (index := _INDEX.match(self.asked, len(place))):
            # A list that ends before the place asked for, or is not there, is filled up to it.
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
                cell = read_cell(record[key])
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
        cell = read_cell(value)
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


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a record with their values, and its objects with their keys, from outside in."""
    stack = [(path, value)]
    while stack:
        path, value = stack.pop()
        yield path, value
        if isinstance(value, dict):
            stack.extend((path_of(path, str(key)), each) for key, each in reversed(value.items()))
        elif isinstance(value, list | tuple):
            stack.extend((f"{path}[]", each) for each in reversed(value))


def _is_within(asked: str, place: str) -> bool:
    return asked.startswith(place) and (not place or asked[len(place)] in ".[")


def _written(number: float) -> str:
    return repr(number).removesuffix(".0") if math.isfinite(number) else "null"


def _quoted(text: str) -> str:
    # A text that says [NUM] asks for nothing.
    return json.dumps(text, ensure_ascii=False).replace(NUM, "\\u005bNUM]")


def first_words(counted: Iterable[tuple[str, int]], most: int) -> tuple[str, ...]:
    """The most frequent texts, as they are written, that were seen more than once."""
    often = sorted((item for item in counted if item[1] > 1), key=lambda item: (-item[1], item[0]))
    return tuple(_quoted(text) for text, _ in often[:most])
