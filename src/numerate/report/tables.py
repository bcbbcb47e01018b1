"""Tables of results as Markdown, rich text and HTML, from the same data."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import rich.table

    from numerate.metrics.score import Score

    Best = Literal["min", "max"] | None

__all__ = ["Cell", "Table", "table"]

DASH = "–"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#])")


class Cell(NamedTuple):
    """A value followed by a mark that a note explains.

    Attributes:
        value: A number, a `Score`, a text, or None if it is not known.
        mark: Mark such as "*" or "†".
    """

    value: float | Score | str | None
    mark: str = ""


class _Shown(NamedTuple):
    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table of formatted cells; `table` makes it.

    Attributes:
        head: Names of the columns, starting with that of the row names.
        body: Rows of formatted cells, starting with the row's name.
        title: Title above the table.
        notes: Lines below the table.
    """

    head: tuple[str, ...]
    body: tuple[tuple[_Shown, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The table as GitHub Markdown with a final line break; names and cells are escaped."""
        lines = [f"**{_escaped(self.title)}**", ""] if self.title else []
        lines.append("| " + " | ".join(map(_escaped, self.head)) + " |")
        lines.append("|---|" + "---:|" * (len(self.head) - 1))
        for row in self.body:
            cells = (f"**{_escaped(cell.text)}**" if cell.bold else _escaped(cell.text) for cell in row)
            lines.append("| " + " | ".join(cells) + " |")
        for note in self.notes:
            lines += ["", _escaped(note)]
        return "\n".join(lines) + "\n"

    def transposed(self) -> Table:
        """The table with rows and columns exchanged."""
        names, *columns = zip(*self.body, strict=True)
        body = tuple((_Shown(name), *column) for name, column in zip(self.head[1:], columns, strict=True))
        return replace(self, head=(self.head[0], *(name.text for name in names)), body=body)

    def rich(self) -> rich.table.Table:
        """The table for a terminal, as a rich table."""
        from rich.table import Table as RichTable
        from rich.text import Text

        title, caption = Text(self.title) if self.title else None, Text("\n".join(self.notes)) if self.notes else None
        shown = RichTable(title=title, caption=caption, title_justify="left", caption_justify="left")
        for index, name in enumerate(self.head):
            shown.add_column(Text(name), justify="right" if index else "left", overflow="fold")
        for row in self.body:
            shown.add_row(*(Text(cell.text, style="bold" if cell.bold else "") for cell in row))
        return shown

    def html(self) -> str:
        """The table as an HTML `<table>` followed by the notes; everything is escaped."""
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.head)
        lines = [f"<table>{caption}", f"<thead><tr>{head}</tr></thead>", "<tbody>"]
        for name, *cells in self.body:
            texts = (f"<b>{html.escape(cell.text)}</b>" if cell.bold else html.escape(cell.text) for cell in cells)
            parts = (f"<td>{text}</td>" for text in texts)
            lines.append(f'<tr><th scope="row">{html.escape(name.text)}</th>{"".join(parts)}</tr>')
        lines += ["</tbody></table>", *(f'<p class="note">{html.escape(note)}</p>' for note in self.notes)]
        return "\n".join(lines) + "\n"


def table(
    rows: Mapping[str, Mapping[str, Any] | Sequence[Any]],
    columns: Sequence[str] | Mapping[str, str],
    *,
    best: Best | Mapping[str, Best] = None,
    paper: Mapping[str, Mapping[str, Any] | Sequence[Any]] | None = None,
    corner: str = "",
    title: str = "",
    notes: Sequence[str] = (),
) -> Table:
    """Makes a table of results, for example with one row for each model and one column for each metric.

    A missing cell or None is a dash (not known); NaN is "nan" (measured, but undefined). The best value of each column
    is bold, together with all that are equal to it as formatted. The values of a paper are in columns of their own
    beside ours and are never bold.

    Args:
        rows: Cells of each row, by column or in the order of the columns. A cell is a number, a `metrics.Score`, a
            `Cell` (with a mark), a text or None.
        columns: Names of the columns, or a mapping of names to formats such as ".3f" (default ".2f").
        best: Whether the smallest or the largest value is best, for all columns or by column.
        paper: Values of a paper, in the form of `rows`. Rows that only the paper has come last.
        corner: Heading of the row names.
        title: Title above the table.
        notes: Lines below the table.

    Example:
        >>> rows = {"mog": {"APP": 683.2, "MdAPE": 90.0}, "d-RNN": {"APP": 519.8, "MdAPE": None}}
        >>> print(table(rows, {"APP": ".1f", "MdAPE": ".0f"}, best="min", paper={"mog": {"APP": 683.16}}).markdown())
        |  | APP | APP (paper) | MdAPE |
        |---|---:|---:|---:|
        | mog | 683.2 | 683.2 | **90** |
        | d-RNN | **519.8** | – | – |
        <BLANKLINE>
    """
    formats = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns, ".2f")
    if not formats:
        raise ValueError(f"columns must have at least one name, got {columns!r}")
    wanted = dict.fromkeys(formats, best) if best is None or isinstance(best, str) else dict(best)
    for name, choice in wanted.items():
        if name not in formats or choice not in ("min", "max", None):
            raise ValueError(f'best must be "min", "max" or None for one of the columns, got {name!r}: {choice!r}')
    ours = {name: _by_column(name, cells, formats) for name, cells in rows.items()}
    theirs = {name: _by_column(name, cells, formats) for name, cells in (paper or {}).items()}
    beside = [column for column in formats if any(column in cells for cells in theirs.values())]
    names = list(dict.fromkeys([*ours, *theirs]))
    shown: list[list[_Shown]] = [[_Shown(name)] for name in names]
    head = [corner]
    for column, form in formats.items():
        cells = [ours.get(name, {}).get(column) for name in names]
        values = [_plain(cell) for cell in cells]
        winner = _best(values, wanted.get(column))
        top = None if winner is None else _text(winner, form)
        head.append(column)
        for line, cell, value in zip(shown, cells, values, strict=True):
            line.append(_Shown(_text(cell, form), value is not None and _text(value, form) == top))
        if column in beside:
            head.append(f"{column} (paper)")
            for line, name in zip(shown, names, strict=True):
                line.append(_Shown(_text(theirs.get(name, {}).get(column), form)))
    return Table(tuple(head), tuple(map(tuple, shown)), title, tuple(notes))


def _by_column(name: str, cells: Any, formats: Mapping[str, str]) -> dict[str, Any]:
    if isinstance(cells, Mapping):
        unknown = [column for column in cells if column not in formats]
        if unknown:
            raise ValueError(f"row {name!r} has a cell for an unknown column, got {unknown[0]!r}")
        return dict(cells)
    if isinstance(cells, str) or len(cells) != len(formats):
        raise ValueError(f"row {name!r} must have {len(formats)} cells, got {cells!r}")
    return dict(zip(formats, cells, strict=True))


def _plain(cell: Any) -> float | None:
    """Number of a cell, None for texts and unknown values; integers stay integers, so that large ones are exact."""
    value = cell.value if isinstance(cell, Cell) else cell
    return None if value is None or isinstance(value, str) else value if isinstance(value, int) else float(value)


def _best(values: Sequence[float | None], choice: str | None) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return None if choice is None or not known else min(known) if choice == "min" else max(known)


def _text(cell: Any, form: str) -> str:
    value, mark = cell if isinstance(cell, Cell) else (cell, "")
    number = _plain(value)
    if number is None:
        return (DASH if value is None else str(value)) + mark
    if isinstance(number, float) and not math.isfinite(number):
        return f"{number}{mark}"
    if form.endswith("d") and isinstance(number, float) and number.is_integer():
        number = int(number)
    try:
        return format(number, form) + mark
    except ValueError:
        raise ValueError(f"the column's format {form!r} does not fit the number {number}") from None


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
