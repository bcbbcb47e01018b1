"""The shape of tables: names of columns, titles above the header, and cells that span columns or rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from numerate.apps.consistency.tables.cell_numbers import cell_number
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LEADING", "Cell", "column_names", "grid_of", "header_document", "is_data", "table_of_grid", "title_rows"]

LEADING = 20
"""Rows from which title and header are told."""
_YEAR = re.compile(r"\d{4}|(?:19|20)\d{2} [A-Za-z]{3,12}")
"""Names of columns that are read as numbers: `2022`, `2023 budget`."""
_QUANTITIES = re.compile(r"\d\D*[^\W\d_]\D*\d")
"""Two numbers and a word between them, which one name of a column seldom has."""
MAX_SPAN = 1000
MAX_WIDTH = 400
"""Columns of a table with spans; what lies beyond is left out."""


def column_names(cells: Sequence[str], width: int = 0) -> list[str]:
    """Names of columns: each is one line, none is empty, and none is there twice.

    Example:
        >>> column_names(["year", "sales", "", "sales"], 5)
        ['year', 'sales', 'column 3', 'sales (2)', 'column 5']
    """
    names: list[str] = []
    seen: Counter[str] = Counter()
    taken = {" ".join(cell.split()) for cell in cells}
    for index in range(max(len(cells), width)):
        name = " ".join(cells[index].split()) if index < len(cells) else ""
        name = name or f"column {index + 1}"
        seen[name] += 1
        if seen[name] > 1:
            count = seen[name]
            while f"{name} ({count})" in taken:
                count += 1
            seen[name] = count
            name = f"{name} ({count})"
            taken.add(name)
        names.append(name)
    return names


def title_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are a title or notes above the header: they have much fewer cells than the rows below.

    Example:
        >>> title_rows([["Sales of 2020", "", ""], ["year", "region", "sales"], ["2020", "north", "5"]])
        1
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows[:LEADING]]
    for index in range(len(filled) - 1):
        usual = median_low(filled[index + 1 :])
        if usual < 2 or (filled[index] > 1 and filled[index] >= 0.5 * usual):
            return index
    return 0


def is_data(row: Sequence[str]) -> bool:
    """Whether a first row has data already and names no columns: more than half of its cells are numbers, not years.

    Running numbers are names, as the hours of a day.

    Example:
        >>> is_data(["a", "5", "7.5"]), is_data(["region", "2022", "2023"]), is_data(["", "1", "2", "3", "4"])
        (True, False, False)
    """
    filled = [cell for cell in row if cell.strip()]
    numbers = [found[0] for cell in filled if (found := cell_number(cell)) is not None]
    years = sum(_YEAR.fullmatch(cell.strip()) is not None and cell_number(cell) is not None for cell in filled)
    is_running = len(numbers) > 3 and all(number == numbers[0] + at for at, number in enumerate(numbers))
    return len(numbers) - years > 0.5 * len(filled) and not is_running


def header_document(
    cells: Sequence[str], *, source: str, line: int, caption: str = "", is_alone: bool = False,
    ignored: Mapping[int, frozenset[str]] | None = None,
) -> Document | None:  # fmt: skip
    """The cells of a header that have two quantities, as a text; None without one.

    A table of names and values has no header, so that its first row must be checked, too.

    Args:
        cells: The first row.
        source: Name of the file.
        line: Line in the file.
        caption: Title of the table.
        is_alone: Whether no row follows, so that all cells are text.
        ignored: Lines with a mark `numerate: ignore`.

    Example:
        >>> header_document(["length", "28 km (27 mi)"], source="a.csv", line=3).text
        '28 km (27 mi)'
    """
    found = [cell.strip() for cell in cells if is_alone or _QUANTITIES.search(cell)]
    text = "\n\n".join(filter(None, found))
    if not any(map(str.isdecimal, text)):
        return None
    return Document(kind="text", source=source, text=text, lines=[line], caption=caption, ignored=ignored or {})


@dataclass
class Cell:
    """A cell as it is written: its text, and how many columns and rows it spans."""

    text: str
    columns: int = 1
    rows: int = 1
    is_head: bool = False


def grid_of(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Rows of equal length. The text of a cell that spans several places stands in the first; heads repeat it.

    A number that spans two rows must not count twice; a head holds for all columns below.

    Example:
        >>> grid_of([[Cell("sales", columns=2, is_head=True)], [Cell("4", rows=2), Cell("5")], [Cell("6")]])
        [['sales', 'sales'], ['4', '5'], ['', '6']]
    """
    grid: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}  # column -> rows that are still covered, and what stands there
    for row in rows:
        line: list[str] = []
        cells = iter(row)
        cell = next(cells, None)
        while cell is not None or len(line) in below:
            covered = below.pop(len(line), None)
            if covered is not None:
                if covered[0] > 1:
                    below[len(line)] = (covered[0] - 1, covered[1])
                line.append(covered[1])
                continue
            if cell is None or len(line) >= MAX_WIDTH:
                break
            for index in range(min(max(cell.columns, 1), MAX_SPAN)):
                repeated = cell.text if cell.is_head else ""
                if cell.rows > 1:
                    below[len(line)] = (min(cell.rows, MAX_SPAN) - 1, "")
                line.append(cell.text if index == 0 else repeated)
            cell = next(cells, None)
        grid.append(line[:MAX_WIDTH])
    width = max(map(len, grid), default=0)
    return [line + [""] * (width - len(line)) for line in grid]


def table_of_grid(
    grid: Sequence[Sequence[str]], *, heads: int = 1, source: str = "", caption: str = "", lines: Sequence[int] = (),
    ignored: dict[int, frozenset[str]] | None = None,
) -> Document | None:  # fmt: skip
    """A table whose first `heads` rows name the columns; None without two rows and two columns.

    Args:
        grid: All rows, of equal length.
        heads: Rows of the header; their names are joined.
        source: Name of the file.
        caption: Title of the table.
        lines: Line in the file of each row of the grid; may be empty.
        ignored: Lines with a mark `numerate: ignore`.
    """
    kept = [index for index, row in enumerate(grid) if any(row)]
    if len(kept) < 2 or len(grid[kept[0]]) < 2:
        return None
    if heads <= 1:
        first = title_rows([grid[index] for index in kept])
        title = " ".join(cell for index in kept[:first] for cell in grid[index] if cell)
        caption, kept, heads = " ".join(filter(None, (caption, title))), kept[first:], 1
    heads = min(heads, len(kept) - 1)
    columns = zip(*(grid[index] for index in kept[:heads]), strict=True)
    header = column_names([" ".join(dict.fromkeys(filter(None, column))) for column in columns])
    rows = kept[heads:]
    return Document(
        kind="table", source=source, header=header, rows=[list(grid[index]) for index in rows], caption=caption,
        lines=[lines[index] for index in rows] if lines else (), ignored=ignored or {},
    )  # fmt: skip
