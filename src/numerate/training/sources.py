"""Training texts, streamed from files or from the Hub; only a `.json` array is held in memory as a whole.

CSV and JSON are read here and not by `datasets`, which guesses types ("007" becomes 7) and names no line in errors.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.registry import near_names
from numerate.training.engines.places import files_below, is_remote, open_place, state_of
from numerate.training.tables import Table, TableIds, TableTexts, is_table, statements_of, table_of
from numerate.training.text_files import SourceError, field_value, numbered_lines, parsed_json, text_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.training.engines.parts import FilePart

__all__ = [
    "FORMATS",
    "SPLITS",
    "SourceError",
    "Texts",
    "files_of",
    "format_of",
    "numbered_lines",
    "rows_of",
    "tables_of",
]

FORMATS = ("jsonl", "json", "txt", "csv", "tsv", "parquet")
SPLITS = {"train": ("train",), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}
"""Names of each split in the data."""
MAX_FIELD = 1 << 28
"""Maximum length of a CSV field; Python's default limit is too short for long texts."""
_ENDINGS = {name: name for name in FORMATS} | {"ndjson": "jsonl", "text": "txt"}
_HUB_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)?(?::[\w.-]+)?", re.ASCII)
_EXTRA = "pip install 'numerate[train]'"


@dataclass(frozen=True)
class Texts:
    r"""The texts of files or Hub data sets; every iteration starts at the first text.

    Attributes:
        paths: Files, read one after the other; or names of Hub data sets, `owner/name` or `owner/name:config`.
        field: Name or dotted path of the field that holds the text; None for the whole line.
        format: One of `FORMATS`, or `hub`; None for the format of each file's ending (`.gz` is decompressed).
        split: A field and one of `SPLITS`: only rows with this split in the field. A Hub data set has its own splits.
        limit: Maximum number of texts.
        tables: How rows that are tables become texts, beside rows with a text; None if no row is a table.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "my.jsonl"
        >>> _ = file.write_text('{"text": "7 of 12"}\n\n{"body": "none"}\n')
        >>> next(iter(Texts((str(file),))))
        '7 of 12'
        >>> list(Texts((str(file),), field="txet"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        numerate.training.text_files.SourceError: ...my.jsonl:1: field 'txet' is missing; it has 'text'
    """

    paths: tuple[str | FilePart, ...]
    field: str | None = "text"
    format: str | None = None
    split: tuple[str | None, str] = (None, "train")
    limit: int | None = None
    tables: TableTexts | None = None

    def __iter__(self) -> Iterator[str]:
        """All texts that are not blank."""
        texts = chain.from_iterable(map(self._of_path, self.paths))
        return islice((text for text in texts if text.strip()), self.limit)

    def check(self) -> None:
        """Checks that all files exist and that the first text can be read, before any expensive work.

        Raises:
            SourceError: A file is missing or cannot be read, or there is no text.
        """
        for path in map(str, self.paths):
            if (self.format or format_of(path)) == "hub":
                continue
            if is_remote(path):
                state_of(path)
            elif not Path(path).is_file():
                raise SourceError(f"{path}: no such file")
        if next(iter(self), None) is None:
            what = f" of the split {self.split[1]!r}" if self.split[0] is not None else ""
            raise SourceError(f"{', '.join(map(str, self.paths))}: no text{what} found")

    def _of_path(self, path: str | FilePart) -> Iterator[str]:
        kind = self.format or format_of(str(path))
        if kind == "txt" or (kind == "jsonl" and self.field is None):
            if self.split[0] is not None:
                raise SourceError(f"{path}: a text file has no field {self.split[0]!r} for the split")
            return (line for _, line in numbered_lines(path))
        rows = rows_of(path, kind, self.split[1])
        return self._chosen(rows, None if kind == "hub" else self.split[0])

    def _chosen(self, rows: Iterable[tuple[str, Any]], column: str | None) -> Iterator[str]:
        known = SPLITS[self.split[1]]
        left_out, statements = _about_tables(self.tables)
        for where, row in rows:
            if column is not None:
                says = field_value(row, column, where)
                if says not in {name for names in SPLITS.values() for name in names}:
                    raise SourceError(f"{where}: field {column!r} is {says!r}, expected one of {', '.join(SPLITS)}")
                if says not in known:
                    continue
            if self.tables is not None and is_table(row):
                table = table_of(row, where)
                if table not in left_out:
                    yield from self.tables.texts(table, statements.get(table.name, ()))
            else:
                yield json.dumps(row, ensure_ascii=False) if self.field is None else text_field(row, self.field, where)

    def files(self) -> tuple[str, ...]:
        """All files that the texts depend on."""
        paths = tuple(map(str, self.paths))
        return paths if self.tables is None else paths + self.tables.statements + self.tables.leave_out


def files_of(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths, with the files of a known format instead of each folder and each address that ends with `/`.

    Raises:
        SourceError: A folder has no file of a known format.
    """
    found: list[str] = []
    for path in paths:
        if not (path.endswith("/") if is_remote(path) else Path(path).is_dir()):
            found.append(path)
            continue
        below = [file for file in files_below(path) if _ending(file) in _ENDINGS]
        if not below:
            raise SourceError(f"{path}: the folder has no file that ends with .{', .'.join(FORMATS)} (or .gz)")
        found += below
    return tuple(found)


def tables_of(path: str, format: str | None = None) -> Iterator[Table]:
    """The tables of a file, one after the other; a row that is no table is an error.

    Raises:
        SourceError: The file cannot be read, or a table has no rows; the message names file and record.
    """
    return (table_of(row, where) for where, row in rows_of(path, format))


def _about_tables(options: TableTexts | None) -> tuple[TableIds, dict[str, list[str]]]:
    """Tables to leave out, and statements by table."""
    if options is None:
        return TableIds(), {}
    left_out = TableIds(chain.from_iterable(map(tables_of, options.leave_out)))
    return left_out, statements_of(chain.from_iterable(map(rows_of, options.statements)))


def rows_of(path: str | FilePart, format: str | None = None, split: str = "train") -> Iterator[tuple[str, Any]]:
    r"""The rows of a file or Hub data set, each with its place for error messages.

    `path` and `format` are as in `Texts`, without `txt`; `split` is that of a Hub data set.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "my.csv"
        >>> _ = file.write_text("id,number\n1,7.5\n")
        >>> [row for _, row in rows_of(str(file))]
        [{'id': '1', 'number': '7.5'}]
    """
    kind = format or format_of(str(path))
    if kind == "hub":
        return _hub_rows(str(path), split)
    rows = {"jsonl": _json_lines, "json": _json_rows, "csv": _csv_rows, "tsv": _tab_rows, "parquet": _parquet_rows}
    if kind not in rows:
        raise SourceError(f"{path}: a text file has no fields; give one of {', '.join(rows)}")
    return rows[kind](path)


def format_of(path: str) -> str:
    """The format of a file's ending, or `hub` for a name that is no file and looks like a data set.

    Example:
        >>> format_of("my.jsonl.gz"), format_of("owner/name"), format_of("a.csv")
        ('jsonl', 'hub', 'csv')
    """
    ending = _ending(path)
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if is_remote(path):
        raise SourceError(f"{path}: unknown format for the ending {ending!r}; end a folder with /, or set data.format")
    if Path(path).is_dir():
        raise SourceError(f"{path}: a folder that `numerate prepare` did not write; give files, or prepare them")
    if Path(path).is_file():
        raise SourceError(f"{path}: unknown format for the ending {ending!r}; set data.format={'|'.join(FORMATS)}")
    if not _HUB_NAME.fullmatch(path):
        raise SourceError(f"{path}: no such file")
    return "hub"


def _ending(path: str) -> str:
    return Path(path.removesuffix(".gz")).suffix.removeprefix(".").lower()


def _json_lines(path: str | FilePart) -> Iterator[tuple[str, Any]]:
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", parsed_json(line, f"{path}:{number}")


def _json_rows(path: str | FilePart) -> Iterator[tuple[str, Any]]:
    """Rows of a `.json` file: one array of objects, which is loaded as a whole, or one object per line."""
    first = next((line.lstrip() for _, line in numbered_lines(path) if line.strip()), "")
    if not first.startswith("["):
        yield from _json_lines(path)
        return
    rows = parsed_json("\n".join(line for _, line in numbered_lines(path)), str(path))
    for number, row in enumerate(rows, 1):
        yield f"{path}, entry {number}", row


def _tab_rows(path: str | FilePart) -> Iterator[tuple[str, Any]]:
    return _csv_rows(path, delimiter="\t")


def _csv_rows(path: str | FilePart, delimiter: str = ",") -> Iterator[tuple[str, Any]]:
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in numbered_lines(path):
            last = number
            yield f"{line}\n"  # a quoted field may span several lines

    csv.field_size_limit(max(csv.field_size_limit(), MAX_FIELD))
    reader = csv.DictReader(lines(), delimiter=delimiter, strict=True)
    try:
        names = Counter(reader.fieldnames or ())
        if names and names.most_common(1)[0][1] > 1:
            name, times = names.most_common(1)[0]
            raise SourceError(f"{path}:{last}: {times} columns are named {name[:60]!r}; rename them")
        for row in reader:
            where = f"{path}:{last}"
            if None in row or None in row.values():
                columns = len(reader.fieldnames or ())
                found = sum(value is not None for key, value in row.items() if key is not None)
                found += len(row.get(None, ()))  # type: ignore[call-overload]
                raise SourceError(f"{where}: {found} fields, but the first line names {columns}")
            yield where, row
    except csv.Error as error:
        raise SourceError(f"{path}:{last}: not CSV: {error}") from None


def _parquet_rows(path: str | FilePart) -> Iterator[tuple[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore[import-not-found]
    except ImportError:
        raise SourceError(f"{path}: Parquet needs pyarrow: {_EXTRA}") from None
    if not is_remote(str(path)) and not Path(str(path)).is_file():
        raise SourceError(f"{path}: no such file")
    number = 1
    try:
        with open_place(str(path)) as raw, parquet.ParquetFile(raw) as file:
            for batch in file.iter_batches(batch_size=1024):
                for row in batch.to_pylist():
                    yield f"{path}, row {number}", row
                    number += 1
    except (OSError, ArrowException) as error:
        raise SourceError(f"{path}, row {number}: not Parquet: {' '.join(str(error).split())[:200]}") from None


def _hub_rows(path: str, split: str) -> Iterator[tuple[str, Any]]:
    try:
        from datasets import load_dataset  # type: ignore[import-not-found]
    except ImportError:
        raise SourceError(f"{path}: no such file; Hub data sets need `datasets`: {_EXTRA}") from None
    name, _, config = path.partition(":")
    try:
        found = load_dataset(name, config or None, streaming=True)
    except Exception as error:  # the library raises many classes, e.g. for an unknown name and without a network
        raise SourceError(f"{path}: no such file or Hub data set: {' '.join(str(error).split())[:200]}") from None
    own = next((each for each in SPLITS[split] if each in found), None)
    if own is None:
        raise SourceError(f"{path}: has no split {split!r}: {near_names(split, [str(each) for each in found])}")
    for number, row in enumerate(found[own], 1):
        yield f"{path}, {own} row {number}", dict(row)
