"""Texts to train on, streamed from files or from the Hub: no file is ever held whole, but a `.json` array.

A message about a line names it as editors and compilers do: `my.jsonl:17: field 'text' is missing; it has 'body'`.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FORMATS", "SPLITS", "SourceError", "Texts", "format_of", "numbered_lines", "rows_of"]

FORMATS = ("jsonl", "json", "txt", "csv", "tsv", "parquet")
SPLITS = {"train": ("train",), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}
"""What a split may be called in the data."""
MAX_FIELD = 1 << 28
"""Characters of a field of CSV; Python's own limit is below many a text."""
_ENDINGS = {name: name for name in FORMATS} | {"ndjson": "jsonl", "text": "txt"}
_HUB_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)?(?::[\w.-]+)?", re.ASCII)
_EXTRA = "pip install 'numerate[train]'"


class SourceError(ValueError):
    """Data that cannot be read; the message is one line that names file, line and field."""


@dataclass(frozen=True)
class Texts:
    r"""The texts of some files or Hub data sets, each time from the beginning.

    Attributes:
        paths: Files, one after the other; or names of Hub data sets, `owner/name` or `owner/name:config`.
        field: The field that holds the text, by its dotted path; None for the whole line.
        format: One of `FORMATS`, or `hub`; None for what each name ends in (a `.gz` behind it means packed).
        split: A field and one of `SPLITS`: only rows whose field says so. A Hub data set has splits of its own.
        limit: At most so many texts.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "my.jsonl"
        >>> _ = file.write_text('{"text": "7 of 12"}\n\n{"body": "none"}\n')
        >>> next(iter(Texts((str(file),))))
        '7 of 12'
        >>> list(Texts((str(file),), field="txet"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        numerate.training.sources.SourceError: ...my.jsonl:1: field 'txet' is missing; it has 'text'
    """

    paths: tuple[str, ...]
    field: str | None = "text"
    format: str | None = None
    split: tuple[str | None, str] = (None, "train")
    limit: int | None = None

    def __iter__(self) -> Iterator[str]:
        """All texts that are more than blank."""
        texts = chain.from_iterable(map(self._of_path, self.paths))
        return islice((text for text in texts if text.strip()), self.limit)

    def check(self) -> None:
        """Looks whether all files are there and the first text can be read, before anything heavy is done.

        Raises:
            SourceError: They are not, or there is no text at all.
        """
        for path in self.paths:
            if (self.format or format_of(path)) != "hub" and not Path(path).is_file():
                raise SourceError(f"{path}: no such file")
        if next(iter(self), None) is None:
            what = f" of the split {self.split[1]!r}" if self.split[0] is not None else ""
            raise SourceError(f"{', '.join(self.paths)}: there is no text{what} in it")

    def _of_path(self, path: str) -> Iterator[str]:
        kind = self.format or format_of(path)
        if kind == "txt" or (kind == "jsonl" and self.field is None):
            if self.split[0] is not None:
                raise SourceError(f"{path}: a file of lines has no field {self.split[0]!r} to say its split")
            return (line for _, line in numbered_lines(path))
        rows = rows_of(path, kind, self.split[1])
        return self._chosen(rows, None if kind == "hub" else self.split[0])

    def _chosen(self, rows: Iterable[tuple[str, Any]], column: str | None) -> Iterator[str]:
        known = SPLITS[self.split[1]]
        for where, row in rows:
            if column is not None:
                says = _value(row, column, where)
                if says not in {name for names in SPLITS.values() for name in names}:
                    raise SourceError(f"{where}: field {column!r} is {says!r}, expected one of {', '.join(SPLITS)}")
                if says not in known:
                    continue
            text = json.dumps(row, ensure_ascii=False) if self.field is None else _value(row, self.field, where)
            if not isinstance(text, str):
                raise SourceError(f"{where}: field {self.field!r} holds {type(text).__name__}, not a text")
            yield text


def rows_of(path: str, format: str | None = None, split: str = "train") -> Iterator[tuple[str, Any]]:
    r"""The rows of a file of records or of a Hub data set, each behind what messages call its place.

    Args:
        path: As in `Texts`.
        format: One of `FORMATS` but `txt`, or `hub`; None for what the name ends in.
        split: Of a Hub data set; a file is read whole.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "my.csv"
        >>> _ = file.write_text("id,number\n1,7.5\n")
        >>> [row for _, row in rows_of(str(file))]
        [{'id': '1', 'number': '7.5'}]
    """
    kind = format or format_of(path)
    if kind == "hub":
        return _hub_rows(path, split)
    rows = {"jsonl": _json_lines, "json": _json_rows, "csv": _csv_rows, "tsv": _tab_rows, "parquet": _parquet_rows}
    if kind not in rows:
        raise SourceError(f"{path}: a file of lines has no fields; give one of {', '.join(rows)}")
    return rows[kind](path)


def format_of(path: str) -> str:
    """The format that a name ends in, or `hub` for what is no file and looks like a data set's name.

    Example:
        >>> format_of("my.jsonl.gz"), format_of("owner/name"), format_of("a.csv")
        ('jsonl', 'hub', 'csv')
    """
    ending = Path(path.removesuffix(".gz")).suffix.removeprefix(".").lower()
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if Path(path).is_dir():
        raise SourceError(f"{path}: a folder that `numerate prepare` did not write; give files, or prepare them")
    if Path(path).is_file():
        raise SourceError(f"{path}: no format known for the ending {ending!r}; say data.format={'|'.join(FORMATS)}")
    if not _HUB_NAME.fullmatch(path):
        raise SourceError(f"{path}: no such file")
    return "hub"


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file, packed if it ends in `.gz`, with their numbers from 1, without their ends."""
    number = 0
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                yield number, text.removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}:{number}: not UTF-8 at byte {error.start} of the line") from None
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}:{number}: cannot be read from here on: {error}") from None


def _opened(path: str | Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path) if str(path).endswith(".gz") else Path(path).open("rb"))


def _value(row: Any, field: str, where: str) -> Any:
    """A field of a row, by its name or its dotted path."""
    if isinstance(row, dict) and field in row:
        return row[field]
    found = row
    for part in field.split("."):
        if not isinstance(found, dict) or part not in found:
            has = ", ".join(repr(str(key)) for key in list(found)[:12]) if isinstance(found, dict) else "no fields"
            raise SourceError(f"{where}: field {field!r} is missing; it has {has[:200]}")
        found = found[part]
    return found


def _json_lines(path: str) -> Iterator[tuple[str, Any]]:
    for number, line in numbered_lines(path):
        if line.strip():
            yield f"{path}:{number}", _parsed(line, f"{path}:{number}")


def _json_rows(path: str) -> Iterator[tuple[str, Any]]:
    """A `.json` file: one array of objects, which is read whole, or an object a line."""
    first = next((line.lstrip() for _, line in numbered_lines(path) if line.strip()), "")
    if not first.startswith("["):
        yield from _json_lines(path)
        return
    rows = _parsed("\n".join(line for _, line in numbered_lines(path)), path)
    for index, row in enumerate(rows):
        yield f"{path}, entry {index}", row


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{where}:{error.lineno}" if "\n" in text else where
        raise SourceError(f"{place}: not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON: {error}") from None


def _tab_rows(path: str) -> Iterator[tuple[str, Any]]:
    return _csv_rows(path, delimiter="\t")


def _csv_rows(path: str, delimiter: str = ",") -> Iterator[tuple[str, Any]]:
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for number, line in numbered_lines(path):
            last = number
            yield f"{line}\n"  # a quoted field may go on over several

    csv.field_size_limit(max(csv.field_size_limit(), MAX_FIELD))
    reader = csv.DictReader(lines(), delimiter=delimiter, strict=True)
    try:
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


def _parquet_rows(path: str) -> Iterator[tuple[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore[import-not-found]
    except ImportError:
        raise SourceError(f"{path}: Parquet needs pyarrow: {_EXTRA}") from None
    if not Path(path).is_file():
        raise SourceError(f"{path}: no such file")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
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
        raise SourceError(f"{path}: no such file; and data sets of the Hub need `datasets`: {_EXTRA}") from None
    name, _, config = path.partition(":")
    try:
        found = load_dataset(name, config or None, streaming=True)
    except Exception as error:  # it raises errors of many kinds, for a name that does not exist and for no network
        raise SourceError(
            f"{path}: no such file, and no data set of the Hub: {' '.join(str(error).split())[:200]}"
        ) from None
    own = next((each for each in SPLITS[split] if each in found), None)
    if own is None:
        raise SourceError(f"{path}: has no split {split!r}: {near_names(split, [str(each) for each in found])}")
    for number, row in enumerate(found[own]):
        yield f"{path}, {own} row {number}", dict(row)
