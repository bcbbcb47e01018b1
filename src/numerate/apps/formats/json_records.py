"""JSON and JSON lines as records: nested objects become columns named by their path."""

from __future__ import annotations

import io
import itertools
import json
import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numerate.apps.documents import Document, Problem
from numerate.apps.formats.json_arrays import DECODER, JsonValue, array_values
from numerate.apps.formats.json_places import list_at, object_lines, uneven_lists
from numerate.apps.formats.source_lines import Lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numerate.apps.formats.source_lines import Source

__all__ = ["frame_document", "is_frame", "read_json", "read_json_lines", "record_document"]

ROWS = 10_000
MAX_VALUES = 250_000
"""Values after which a piece of a file ends, however few rows it has; one record has at most as many."""
MAX_JSON = 64 << 20
MAX_KEYS = 400
"""Keys of a table of records, and values of a list inside of one record; what lies beyond is counted and named."""
MAX_DEPTH = 20
SAMPLE = 200
"""Records of a long file from which its uneven lists are told."""
NAMED_LINES = 10


def read_json_lines(source: Source) -> Iterator[Document | Problem]:
    """One JSON value a line; a line that is not JSON is named and left out."""
    yield from _in_pieces(source, _line_values(source))
    yield from source.named_problems()


def read_json(source: Source) -> Iterator[Document | Problem]:
    """A JSON file: each list of objects is a table of records, what stands outside of lists is one record.

    A file that is one list is read in pieces, as JSON lines are; so is a file with one object a line. Where a list is
    broken, the values before are checked.
    """
    stream = source.stream
    if isinstance(stream, io.BufferedReader) and stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"[":
        yield from _in_pieces(source, array_values(source))
        yield from source.named_problems()
        return
    raw = stream.read(MAX_JSON + 1)
    source.on_position(len(raw))
    yield from source.named_problems()
    if len(raw) > MAX_JSON:
        yield Problem(source.name, f"larger than {MAX_JSON >> 20} MB: write it as JSON lines (*.jsonl)", fatal=True)
        return
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
        source.problems.append(Problem(source.name, "not UTF-8, read as Windows-1252", is_note=True))
    try:
        yield from _of_value(source, text)
    except (ValueError, RecursionError) as error:
        first, _, rest = text.lstrip().partition("\n")
        if rest.strip() and _is_json(first):
            yield from read_json_lines(type(source)(source.name, io.BytesIO(raw), ignored=source.ignored))
            return
        said = f"not JSON: {_said(error, with_line=True)}; mend it, or give its --format"
        yield Problem(source.name, said, getattr(error, "lineno", None), fatal=True)
    yield from source.named_problems()


def _line_values(source: Source) -> Iterator[JsonValue | Problem]:
    """The value of each line, and lines that are not JSON."""
    lines = Lines(source, records=True)
    broken = 0
    for line in lines:
        yield from source.named_problems()
        if not line.strip():
            continue
        try:
            yield JsonValue(lines.number, _parsed(line))
        except (ValueError, RecursionError) as error:
            broken += 1
            if broken <= NAMED_LINES:
                yield Problem(source.name, f"line left out, not JSON: {_said(error)}", lines.number)
    if broken > NAMED_LINES:
        yield Problem(source.name, f"{broken - NAMED_LINES} more lines are not JSON")


def _in_pieces(source: Source, values: Iterable[JsonValue | Problem]) -> Iterator[Document | Problem]:
    """Records as documents of some thousand rows, and the uneven lists of objects in them as tables of their own."""
    values = iter(values)
    first = list(itertools.islice(values, SAMPLE))
    left_out = _LeftOut()
    whole = _Table(source, "", [each.value for each in first if not isinstance(each, Problem)], left_out)
    for each in itertools.chain(first, values):
        if isinstance(each, Problem):
            yield each
            continue
        lines = object_lines(each.text, each.value) if whole.inner and each.text else {}
        yield from whole.add(each.value, {key: line + each.line - 1 for key, line in lines.items()}, each.line)
    yield from whole.rest()
    yield from left_out.named(source)


class _Table:
    """The records of one list of a file, given as pieces of a table, with the uneven lists of objects inside of them.

    A list that has a different number of objects in each record would make columns such as `items[3].price` with few
    cells, whose numbers have nothing to be compared with; its objects are the rows of a table.

    Args:
        source: The file.
        path: Where the list stands; empty for the whole file.
        sample: Some of the records, of which the uneven lists are told.
        left_out: Counts the values that are not read.
    """

    def __init__(self, source: Source, path: str, sample: Sequence[Any], left_out: _LeftOut) -> None:
        self.source, self.path, self.left_out = source, path, left_out
        self.inner = {
            key: _Table(source, f"{path}.{key}".strip("."), some, left_out) for key, some in uneven_lists(sample)
        }
        self.keys: dict[str, None] = {}
        self.records: list[dict[str, str]] = []
        self.lines: list[int] = []
        self.start = self.size = 0

    def add(self, value: Any, lines: Mapping[int, int], line: int) -> Iterator[Document]:
        """Adds a record; gives the piece that it does not fit into any more.

        Args:
            value: The record.
            lines: Lines of the objects, by their `id`; may be empty.
            line: Line of the record, where `lines` has none.
        """
        if len(self.records) == ROWS or self.size > MAX_VALUES:
            yield self._document(is_last=False)
            self.start += len(self.records)
            self.records, self.lines, self.size = [], [], 0
        record = dict(_flat(value, self.left_out, without=self.inner))
        for key in record:
            if key in self.keys or len(self.keys) < MAX_KEYS:
                self.keys[key] = None
            else:
                self.left_out.count += 1
        self.records.append(record)
        self.lines.append(lines.get(id(value), line))
        self.size += len(record)
        for key, table in self.inner.items():
            for each in list_at(value, key):
                yield from table.add(each, lines, self.lines[-1])

    def rest(self) -> Iterator[Document]:
        """The last pieces."""
        if self.records:
            yield self._document(is_last=True)
        for table in self.inner.values():
            yield from table.rest()

    def _document(self, *, is_last: bool) -> Document:
        header = list(self.keys)
        return Document(
            kind="records", source=self.source.name, header=header, caption=self.path,
            rows=[[each.get(key, "") for key in header] for each in self.records],
            lines=self.lines if any(self.lines) else (), first_row=self.start, is_last=is_last,
            ignored=self.source.ignored,
        )  # fmt: skip


def record_document(records: Sequence[Mapping[str, Any]], source: str = "") -> Document:
    """A document of records from Python objects.

    Example:
        >>> record_document([{"a": 1, "b": {"c": 2.5}}, {"a": 3}]).rows
        [['1', '2.5'], ['3', '']]
    """
    left_out = _LeftOut()
    document = _table_of_records(records, source, left_out)
    if left_out.count:
        logging.getLogger("numerate").warning("%s", left_out.said)
    return document


def _table_of_records(
    records: Sequence[Mapping[str, Any]], source: str, left_out: _LeftOut, **more: Any
) -> Document:  # fmt: skip
    flat = [dict(_flat(record, left_out)) for record in records]
    counts = Counter(key for record in flat for key in record)
    keys = list(counts)[:MAX_KEYS]
    left_out.count += counts.total() - sum(counts[key] for key in keys)
    rows = [[record.get(key, "") for key in keys] for record in flat]
    return Document(kind="records", source=source, header=keys, rows=rows, **more)


def is_frame(what: Any) -> bool:
    """Whether something is a DataFrame of pandas or polars, or behaves like one."""
    return hasattr(what, "columns") and (hasattr(what, "itertuples") or hasattr(what, "iter_rows"))


def frame_document(frame: Any, source: str = "") -> Document:
    """A document of a DataFrame: its columns by name, a missing value as an empty cell.

    Rows are counted from 0, whatever their index says.
    """
    from numerate.apps.formats.table_shape import column_names

    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    rows = frame.itertuples(index=False, name=None) if hasattr(frame, "itertuples") else frame.iter_rows()
    cells = [["" if _is_missing(value) else _written(value) for value in row] for row in rows]
    return Document(kind="records", source=source, header=column_names(names), rows=cells)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA; they differ from themselves, or cannot be compared."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _written(value: Any) -> str:
    """A value as one would write it: no digits that only binary arithmetic brings, no midnight of a date."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(float(value))
        return f"{value:.15g}" if len(text) > 17 else text
    return str(value).removesuffix(" 00:00:00")


def _of_value(source: Source, text: str) -> Iterator[Document | Problem]:
    value = _parsed(text)
    tables = list(_tables(value, "", 0))
    lines = object_lines(text, value) if tables else {}
    left_out = _LeftOut()
    for path, records in tables:
        table = _Table(source, path, records, left_out)
        for record in records:
            yield from table.add(record, lines, 0)
        yield from table.rest()
    if not isinstance(value, list) or not tables:
        paths = {path for path, _ in tables}
        rest = dict(_flat(value, left_out, most=MAX_VALUES, without=paths))
        if rest:
            yield Document(
                kind="records", source=source.name, header=list(rest), rows=[list(rest.values())],
                ignored=source.ignored,
            )  # fmt: skip
    yield from left_out.named(source)


def _tables(value: Any, path: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Lists of objects, with their paths."""
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        yield path, value
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        for key, each in value.items():
            yield from _tables(each, f"{path}.{key}".strip("."), depth + 1)


@dataclass
class _LeftOut:
    """Counts the values of records that have too many."""

    count: int = 0

    @property
    def said(self) -> str:
        """One line that says how many."""
        many = f"{self.count:,} value{'s' * (self.count > 1)}"
        return f"{many} left out: {MAX_KEYS} keys of records are read, and {MAX_KEYS} values of each list"

    def named(self, source: Source) -> Iterator[Problem]:
        """The problem, if there is one."""
        if self.count:
            yield Problem(source.name, self.said)


def _flat(
    value: Any, left_out: _LeftOut, path: str = "", depth: int = 0, *, most: int = MAX_KEYS,
    without: Collection[str] = (),
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Key paths and values of a record as strings; a value without a key is called `value`.

    Args:
        value: The record, or a part of it.
        left_out: Counts the values of long lists.
        path: Path of the part.
        depth: Its depth.
        most: Values that are read of a list.
        without: Paths that are left out, as they are tables of their own.
    """
    if path and path in without:
        return
    if isinstance(value, dict) and depth < MAX_DEPTH:
        for key, each in value.items():
            yield from _flat(
                each, left_out, f"{path}.{key}" if path else str(key), depth + 1, most=most, without=without
            )
    elif isinstance(value, list) and depth < MAX_DEPTH:
        left_out.count += max(0, len(value) - most)
        for index, each in enumerate(value[:most]):
            yield from _flat(each, left_out, f"{path}[{index}]", depth + 1, most=most, without=without)
    elif value is not None:
        yield path or "value", _written(value)


def _parsed(text: str) -> Any:
    """The value of a JSON text, with numbers as they are written."""
    return DECODER.decode(text)


def _is_json(line: str) -> bool:
    try:
        _parsed(line)
    except (ValueError, RecursionError):
        return False
    return True


def _said(error: ValueError | RecursionError, *, with_line: bool = False) -> str:
    """What is wrong with a line: of the decoder's `line 1 column 5 (char 4)` only the column says something."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError) and not with_line:
        return f"{error.msg}, column {error.colno}"
    return str(error)[: 100 if with_line else 80]
