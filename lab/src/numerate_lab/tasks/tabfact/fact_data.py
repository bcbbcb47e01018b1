"""TabFact's tables and statements, from the official repository's folder or from a folder of JSON lines.

The official repository has its tables in `data/all_csv` (columns divided by `#`), statements in
`tokenized_data/<split>_examples.json` or, untokenised, in `collected_data/r1_training_all.json` (simple) and
`r2_training_all.json` (complex; a table in both has the complex ones), and the splits as lists of table ids in
`data/<split>_id.json`.

The other layout has `tables.jsonl.gz` and a file for each split with a statement in each line:
`{"table_id": ..., "statement": ..., "label": 0 or 1, "channel": "simple" or "complex"}`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import content_hash, json_hash
from numerate.training.sources import SourceError, rows_of
from numerate.training.text_files import field_value, numbered_lines, parsed_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "CHANNELS", "OFFICIAL", "FactTable", "Statement", "half_of", "official_hash", "read_statements", "read_table_files",
    "shared_tables",
]  # fmt: skip

CHANNELS = ("simple", "complex")
OFFICIAL = ("train", "val", "test")
"""The official splits."""
_NAMES = {"train": ("train", "train_partial"), "val": ("val", "dev"), "test": ("test",)}
_ENDINGS = (".jsonl.gz", ".jsonl")
_ROUNDS = {"simple": "r1_training_all.json", "complex": "r2_training_all.json"}
LEAST = 25
"""Letters and digits of a row that may identify its table."""
_LINK = re.compile(r"#([^#;]*);-?[0-9]+,-?[0-9]+#")
"""The mark of a linked entity in a tokenised statement: `#nokia;3,1#`."""


@dataclass(frozen=True, slots=True)
class FactTable:
    """A table of texts.

    Attributes:
        id: The name of its CSV file.
        caption: Its title; empty if there is none.
        header: Names of its columns.
        rows: Its cells, as many in each row as the header has.
    """

    id: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement about a table.

    Attributes:
        text: The statement.
        table: Id of the table.
        label: 1 if the table entails it, 0 if it refutes it.
        channel: How it was collected, `simple` or `complex`; empty if the files do not say.
    """

    text: str
    table: str
    label: int
    channel: str = ""


def half_of(table: str) -> str:
    """`dev` or `test`: the half of the official `val` split that a table and all of its statements belong to.

    Example:
        >>> [half_of(f"2-{number}-1.html.csv") for number in range(6)]
        ['dev', 'test', 'dev', 'test', 'test', 'dev']
    """
    return ("dev", "test")[hashlib.blake2b(table.encode(), digest_size=1).digest()[0] & 1]


def read_statements(source: str | Path, split: str) -> tuple[list[Statement], dict[str, FactTable]]:
    """The statements of an official split and the tables that they are about, by id.

    Args:
        source: Folder in one of the two layouts.
        split: One of `OFFICIAL`.

    Raises:
        SourceError: A file is missing or broken, a statement has an unknown label, or its table is missing or has no
            rows; the message names file and record.
    """
    folder = Path(source)
    if split not in OFFICIAL:
        raise SourceError(f"split must be one of {', '.join(OFFICIAL)}, got {split!r}")
    if not folder.is_dir():
        raise SourceError(f"{folder}: no such folder; give TabFact's repository, or a folder with tables.jsonl.gz")
    statements, table_of = _in_lines(folder, split) if _table_file(folder) else _official(folder, split)
    if not statements:
        raise SourceError(f"{folder}: there is no statement in the split {split!r}")
    tables: dict[str, FactTable] = {}
    for statement, where in statements:
        if statement.table not in tables:
            tables[statement.table] = table_of(statement.table, where)
    return [statement for statement, _ in statements], tables


def read_table_files(source: str | Path) -> list[Path]:
    """The files that hold a folder's tables, to tell whether another model was trained on them."""
    file = _table_file(Path(source))
    return [file] if file is not None else [Path(source) / "data" / "all_csv"]


def official_hash(source: str | Path) -> str | None:
    """Content hash of the official repository's tables and statements, which lie in folders; None for JSON lines."""
    folder = Path(source)
    if _table_file(folder) is not None or not (folder / "data" / "all_csv").is_dir():
        return None
    places = [folder / name for name in ("data", "data/all_csv", "tokenized_data", "collected_data")]
    files = [entry.stat() for place in places if place.is_dir() for entry in os.scandir(place)]
    changed = len(files), sum(file.st_size for file in files), max(file.st_mtime_ns for file in files)
    return _hash_of_places(tuple(map(str, places)), changed)


@functools.lru_cache(maxsize=8)
def _hash_of_places(places: tuple[str, ...], changed: tuple[int, ...]) -> str:
    """Hash of the files in some folders, cached by their count, size and latest change: there are 16,573 tables."""
    del changed
    return json_hash([content_hash(place) for place in places])[:12]


def shared_tables(tables: Mapping[str, FactTable], files: Sequence[str]) -> set[str]:
    """Ids of tables that have a row in common with other tables, such as those that a model was pre-trained on.

    Letters and digits of a row are compared, in lower case; rows with fewer than `LEAST` of them are too common to tell
    anything.

    Args:
        tables: The tables, by id.
        files: JSON lines with `rows`, a list of lists of texts, for each table.
    """
    places: dict[str | None, list[str]] = {}
    for name, table in tables.items():
        for row in table.rows:
            places.setdefault(_compared(row), []).append(name)
    places.pop(None, None)
    found: set[str] = set()
    for file in files:
        for where, record in rows_of(file):
            rows = field_value(record, "rows", where)
            if not isinstance(rows, list):
                raise SourceError(f"{where}: field 'rows' must be a list, got {str(rows)[:40]!r}")
            for row in rows:
                found.update(places.get(_compared(row), ()) if isinstance(row, list) else ())
    return found


def _compared(row: Sequence[Any]) -> str | None:
    """A row as it is compared; None if it is too short."""
    text = "|".join("".join(filter(str.isalnum, str(cell).lower())) for cell in row)
    return text if len(text) - text.count("|") >= LEAST else None


def _table_file(folder: Path) -> Path | None:
    return next((folder / f"tables{end}" for end in _ENDINGS if (folder / f"tables{end}").is_file()), None)


Found = tuple[list[tuple[Statement, str]], Any]
"""Statements, each with its place for messages, and a function from a table's id and such a place to the table."""


def _in_lines(folder: Path, split: str) -> Found:
    named = [folder / f"{name}{end}" for name in _NAMES[split] for end in _ENDINGS]
    file = next((one for one in named if one.is_file()), None)
    if file is None:
        raise SourceError(f"{folder}: a folder without {_NAMES[split][0]}.jsonl.gz or {_NAMES[split][0]}.jsonl")
    places, path = _tables_in(str(_table_file(folder)))
    found = []
    for where, row in rows_of(str(file)):
        text, table = (_text(row, name, where) for name in ("statement", "table_id"))
        channel = row.get("channel") or ""
        if channel not in ("", *CHANNELS):
            raise SourceError(f"{where}: field 'channel' must be simple or complex, got {str(channel)[:40]!r}")
        found.append((Statement(text, table, _label(field_value(row, "label", where), where), channel), where))
    if not found:
        raise SourceError(f"{file}: there is no statement in it; give one in each line")

    def table_of(name: str, where: str) -> FactTable:
        if name not in places:
            raise SourceError(f"{where}: table {name!r} is not in {path}")
        return _table(name, places[name][1], places[name][0])

    return found, table_of


def _tables_in(path: str) -> tuple[dict[str, tuple[str, Any]], str]:
    """Where each table of a file of JSON lines is, and its record; tables are checked when they are used."""
    found: dict[str, tuple[str, Any]] = {}
    for where, row in rows_of(path):
        name = _text(row, "table_id", where)
        if name in found:  # a statement would be judged by the other one
            raise SourceError(f"{where}: table {name!r} is also in {found[name][0]}; give each its own table_id")
        found[name] = where, row
    return found, path


def _table(name: str, row: Mapping[str, Any], where: str) -> FactTable:
    header, rows = (field_value(row, field, where) for field in ("header", "rows"))
    for field, value in (("header", header), ("rows", rows)):
        if not isinstance(value, list) or not value:
            empty = "is empty" if value == [] else f"must be a list, got {str(value)[:40]!r}"
            raise SourceError(f"{where}: table {name!r}: field {field!r} {empty}")
    return _checked(name, str(row.get("caption") or ""), header, rows, where)  # type: ignore[arg-type]


def _checked(name: str, caption: str, header: list[Any], rows: list[Any], where: str) -> FactTable:
    """A table whose rows all have as many texts as its header."""
    for number, row in enumerate([header, *rows]):
        if not isinstance(row, list) or len(row) != len(header) or not all(isinstance(cell, str) for cell in row):
            got = f"{len(row)} cells" if isinstance(row, list) else repr(row)[:40]
            if isinstance(row, list) and len(row) == len(header):
                got = repr(next(cell for cell in row if not isinstance(cell, str)))[:40] + " among them"
            raise SourceError(f"{where}: table {name!r}: row {number} must have {len(header)} texts, got {got}")
    return FactTable(name, caption, tuple(header), tuple(map(tuple, rows)))


def _official(folder: Path, split: str) -> Found:
    csv = folder / "data" / "all_csv"
    if not csv.is_dir():
        raise SourceError(f"{folder}: neither tables.jsonl.gz nor data/all_csv is there; give TabFact's folder")
    rounds = {channel: _examples(folder / "collected_data" / file) for channel, file in _ROUNDS.items()}
    channels = {table: channel for channel, some in rounds.items() for table in some}
    for channel in CHANNELS:  # of the official test tables only
        channels |= dict.fromkeys(_ids(folder / "data" / f"{channel}_test_id.json", missing=True), channel)
    tokenised = folder / "tokenized_data" / f"{split}_examples.json"
    if tokenised.is_file():
        file, examples, wanted = str(tokenised), _examples(tokenised), None
    elif any(rounds.values()):
        file = str(folder / "collected_data")
        examples, wanted = {**rounds["simple"], **rounds["complex"]}, _ids(folder / "data" / f"{split}_id.json")
    else:
        raise SourceError(f"{folder}: neither tokenized_data/{split}_examples.json nor collected_data is there")
    captions: dict[str, str] = {}
    found = []
    for table in examples if wanted is None else wanted:
        if table not in examples:
            raise SourceError(f"{file}: table {table!r} of data/{split}_id.json has no statements")
        where = f"{file}, table {table!r}"
        entry = examples[table]
        if not (isinstance(entry, list) and len(entry) == 3 and all(isinstance(part, list) for part in entry[:2])):
            raise SourceError(f"{where}: expected [statements, labels, caption], got {str(entry)[:60]!r}")
        texts, labels, caption = entry
        if len(texts) != len(labels):
            raise SourceError(f"{where}: {len(texts)} statements, but {len(labels)} labels")
        captions[table] = str(caption or "")
        for number, (text, label) in enumerate(zip(texts, labels, strict=True), 1):
            place = f"{where}, statement {number}"
            if not isinstance(text, str) or not text.strip():
                raise SourceError(f"{place}: must be a text, got {str(text)[:40]!r}")
            clean = _LINK.sub(r"\1", text)
            found.append((Statement(clean, table, _label(label, place), channels.get(table, "")), place))

    def table_of(name: str, where: str) -> FactTable:
        path = csv / name
        if Path(name).name != name or not path.is_file():
            raise SourceError(f"{where}: table {name!r} is not in {csv}")
        lines = [line.split("#") for _, line in numbered_lines(str(path)) if line.strip()]
        if len(lines) < 2:
            raise SourceError(f"{path}: table {name!r} has no rows")
        return _checked(name, captions[name], lines[0], lines[1:], str(path))

    return found, table_of


def _examples(file: Path) -> dict[str, Any]:
    """The content of an official file of statements by table; empty if there is no such file."""
    if not file.is_file():
        return {}
    found = parsed_json("\n".join(line for _, line in numbered_lines(str(file))), str(file))
    if not isinstance(found, dict):
        raise SourceError(f"{file}: expected an object with a table's id for each key, got {str(found)[:40]!r}")
    return found


def _ids(file: Path, missing: bool = False) -> Iterator[str]:
    if missing and not file.is_file():
        return iter(())
    found: Any = parsed_json("\n".join(line for _, line in numbered_lines(str(file))), str(file))
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise SourceError(f"{file}: expected a list of table ids, got {str(found)[:40]!r}")
    return iter(found)


def _text(row: Any, field: str, where: str) -> str:
    value = field_value(row, field, where)
    if not isinstance(value, str) or not value.strip():
        raise SourceError(f"{where}: field {field!r} must be a text, got {str(value)[:40]!r}")
    return value


def _label(value: Any, where: str) -> int:
    if isinstance(value, bool) or value not in (0, 1):
        raise SourceError(f"{where}: label must be 0 (refuted) or 1 (entailed), got {str(value)[:40]!r}")
    return int(value)
