"""Tables out of JSON files, and the texts that a language model learns from them.

A table is a JSON object with `rows` (lists of cells) and, where known, `header`, `id` (or `table_id`), `caption` (or
`title` and `section_title`) and `intro`; or a context of TAT-QA, with `table`, `paragraphs` and `questions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numerate.config import Config, ConfigError, check_names
from numerate.registry import readers
from numerate.training.text_files import SourceError, text_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.reading.base import Reader

__all__ = ["TABLE_FILES", "Table", "TableIds", "TableTexts", "is_table", "statements_of", "table_of"]

TABLE_FILES = ("statements", "leave_out")
"""Fields of `TableTexts` that name files."""
_NOT_CONTENT = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Table:
    """One table and the texts that stand with it.

    Attributes:
        where: File and record, for messages.
        name: Its id in the data; empty if it has none.
        header: Column titles; empty if the titles are not told apart from the rows.
        rows: Cells, row by row; rows may have different lengths.
        caption: Its caption or title; empty if it has none.
        texts: Paragraphs, questions or statements about it.
    """

    where: str
    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    texts: tuple[str, ...] = ()

    def columns(self) -> list[list[str]]:
        """Cells column by column, without the header; a short row has no cell in the last columns.

        Example:
            >>> Table("my.jsonl:1", "", ("year", "wins"), (("1999", "7"), ("2000",))).columns()
            [['1999', '2000'], ['7']]
        """
        width = max(map(len, self.rows), default=0)
        return [[row[place] for row in self.rows if place < len(row)] for place in range(width)]

    def content(self) -> str:
        """Letters and digits of all cells of the body, lowercased: the same for two spellings of one table.

        Example:
            >>> Table("", "", (), (("R-22", "Helicopter"),)).content()
            'r22helicopter'
        """
        return _letters(self.rows)

    def contents(self) -> set[str]:
        """`content`, and that with the header before it: one file tells a header apart that another has as a row.

        Example:
            >>> sorted(Table("", "", ("Type",), (("R-22",),)).contents())
            ['r22', 'typer22']
        """
        return {self.content(), _letters([self.header]) + self.content()}


def _letters(rows: Iterable[Sequence[str]]) -> str:
    return "".join(_NOT_CONTENT.sub("", cell.lower()) for row in rows for cell in row)


def is_table(row: Any) -> bool:
    """Whether a JSON object is meant as a table: it has lists `rows` or `header`, or an object `table`."""
    kinds = {"rows": list, "header": list, "table": dict}
    return isinstance(row, dict) and any(isinstance(row.get(key), kind) for key, kind in kinds.items())


def table_of(row: Any, where: str) -> Table:
    """The table of a JSON object.

    Raises:
        SourceError: It has no rows, or cells that are no texts or numbers; the message names file and record.

    Example:
        >>> table_of({"id": "t1", "header": ["year"], "rows": [[1999]], "title": "Cups"}, "my.jsonl:1").rows
        (('1999',),)
        >>> table_of({"id": "t1", "header": ["year"], "rows": []}, "my.jsonl:1")
        Traceback (most recent call last):
        numerate.training.text_files.SourceError: my.jsonl:1: table 't1' has no rows; add some or remove the record
    """
    if not is_table(row):
        raise SourceError(f"{where}: no table: an object with 'rows', or with 'table' as in TAT-QA, is expected")
    nested = row.get("table")
    if isinstance(nested, dict):
        asked = [text_field(each, "question", where) for each in _list(row, "questions", where)]
        paragraphs = [text_field(each, "text", where) for each in _list(row, "paragraphs", where)]
        name = str(nested.get("uid") or "")
        return Table(where, name, (), _rows(nested.get("table"), name, where), texts=(*asked, *paragraphs))
    name = str(row.get("id") or row.get("table_id") or "")
    caption = row.get("caption") or ". ".join(str(row[key]) for key in ("title", "section_title") if row.get(key))
    texts = (str(row["intro"]),) if row.get("intro") else ()
    rows = _rows(row.get("rows"), name, where)
    header = _cells(row.get("header") or [], name, where)
    return Table(where, name, header, rows, str(caption), texts)


def _list(row: dict[str, Any], name: str, where: str) -> list[Any]:
    found = row.get(name) or []
    if not isinstance(found, list):
        raise SourceError(f"{where}: field {name!r} must be a list, got {str(found)[:40]!r}")
    return found


def _rows(rows: Any, name: str, where: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(rows, list) or not rows:
        raise SourceError(f"{where}: table {name!r} has no rows; add some or remove the record")
    return tuple(_cells(row, name, where) for row in rows)


def _cells(row: Any, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(row, list):
        raise SourceError(f"{where}: table {name!r} has the row {str(row)[:40]!r}, which is no list of cells")
    wrong = next((cell for cell in row if not isinstance(cell, (str, int, float, type(None)))), None)
    if wrong is not None:
        raise SourceError(f"{where}: table {name!r} has the cell {str(wrong)[:40]!r}, which is neither text nor number")
    return tuple("" if cell is None else str(cell) for cell in row)


def statements_of(rows: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Statements about tables by the table's name, from rows as in TabFact: `table_id`, `statement` and `label`.

    Statements with a `label` of 0 (false) are left out: what is learnt from should be true.

    Example:
        >>> row = {"table_id": "t1", "statement": "they won 7 cups", "label": 1}
        >>> statements_of([("my.jsonl:1", row), ("my.jsonl:2", row | {"label": 0})])
        {'t1': ['they won 7 cups']}
    """
    found: dict[str, list[str]] = {}
    for where, row in rows:
        name, text = text_field(row, "table_id", where), text_field(row, "statement", where)
        label = row.get("label", 1)
        if label not in (0, 1):
            raise SourceError(f"{where}: field 'label' is {str(label)[:40]!r}, expected 1 (true) or 0 (false)")
        if label:
            found.setdefault(name, []).append(text)
    return found


class TableIds:
    """Tables that must not be learnt from, by name and by content.

    Example:
        >>> test = Table("test.jsonl:1", "t9", (), (("R - 22", "Helicopter"),))
        >>> Table("my.jsonl:1", "mine", (), (("r-22", "helicopter"),)) in TableIds([test])
        True
    """

    def __init__(self, tables: Iterable[Table] = (), names: Iterable[str] = ()) -> None:
        self.names, self.contents = set(names), set[int]()
        for table in tables:
            self.names |= {table.name} if table.name else set()
            self.contents |= set(map(hash, table.contents()))

    def __contains__(self, table: Table) -> bool:
        return table.name in self.names or not self.contents.isdisjoint(
            map(hash, table.contents() if self.contents else ())
        )


@dataclass(frozen=True, kw_only=True)
class TableTexts(Config):
    """How a table and each text about it become one text: the text, then the cells.

    Limits are None for no limit. A text or cell with more numbers than its limit ends before the first one too many.

    Attributes:
        order: Cells row by row (headers first), or column by column (each header before its column).
        between: Stands between text and table, such as the separator token of the tokenizer.
        cells: Stands between two cells.
        empty: Written for an empty cell; an empty string leaves the cell out.
        rows: Maximum number of rows.
        text_chars: Maximum number of characters of the text,
        text_numbers: and of numbers in it.
        cell_chars: Maximum number of characters of a cell,
        cell_numbers: and of numbers in it.
        reader: The reader that counts numbers.
        statements: Files of statements about the tables, see `statements_of`: more texts.
        leave_out: Files of tables that must not be learnt from: those with the same name or content are left out.
    """

    kind: ClassVar[str] = "table-texts"
    order: Literal["rows", "columns"] = "rows"
    between: str = " | "
    cells: str = " "
    empty: str = ""
    rows: int | None = None
    text_chars: int | None = None
    text_numbers: int | None = None
    cell_chars: int | None = None
    cell_numbers: int | None = None
    reader: str = "luna"
    statements: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_names(self)
        for name in ("rows", "text_chars", "text_numbers", "cell_chars", "cell_numbers"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ConfigError(f"{self.kind} config: {name} must be at least 1 or null, got {value}")

    def texts(self, table: Table, more: Sequence[str] = ()) -> Iterator[str]:
        """One text for each text about the table and each of `more`; a table without texts stands alone.

        Example:
            >>> table = Table("my.jsonl:1", "", ("year", "wins"), (("1999", "7"), ("2000", "11")), "Cups")
            >>> list(TableTexts(between=" [SEP] ").texts(table, ["They won 7."]))
            ['Cups . They won 7. [SEP] year wins 1999 7 2000 11']
            >>> list(TableTexts(order="columns", rows=1).texts(table))
            ['Cups | year 1999 wins 7']
        """
        reader = readers[self.reader]()
        cells = self._serialised(table, reader)
        prefix = f"{table.caption} . " if table.caption else ""
        for text in [prefix + one for one in (*table.texts, *more)] or [table.caption]:
            short = _shortened(text, self.text_chars, self.text_numbers, reader)
            yield self.between.join(part for part in (short, cells) if part)

    def _serialised(self, table: Table, reader: Reader) -> str:
        rows = [*([table.header] if table.header else []), *table.rows[: self.rows]]
        if self.order == "columns":
            width = max(map(len, rows))
            rows = [tuple(row[place] for row in rows if place < len(row)) for place in range(width)]
        short = (_shortened(cell, self.cell_chars, self.cell_numbers, reader) for row in rows for cell in row)
        return self.cells.join(cell or self.empty for cell in short if cell or self.empty)


def _shortened(text: str, chars: int | None, numbers: int | None, reader: Reader) -> str:
    """A text on one line, cut at so many characters and before the first number too many."""
    text = " ".join(text.split())[:chars]
    if numbers is not None and sum(map(str.isdigit, text)) > numbers:
        found = reader.find(text)
        text = text[: found[numbers].start] if len(found) > numbers else text
    return text.strip()
