"""What comes out of a check: findings, problems, and excerpts of the files for the HTML report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from numerate.apps.documents import Problem
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.apps.documents import Document

__all__ = ["KEPT", "Excerpt", "Outcome", "excerpt_of"]

KEPT = 400_000
"""Characters of excerpts that are kept of a file, and of all files together."""
WHOLE_TABLE = 100
"""Rows up to which a table is shown in full; of a longer one, the rows around findings are."""
AROUND = 2
MAX_COLUMNS = 30
MAX_CELL = 200


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """A part of a file that a report shows.

    Attributes:
        source: Name of the file.
        piece: Which document of the file it is, from 0.
        line: Where it begins in the file, if that is known.
        text: The text of a text.
        title: Title of a table.
        header: Names of the shown columns of a table.
        columns: Their indices.
        rows: Shown rows: index in the table, line in the file, cells.
        count: Rows of the whole piece.
    """

    source: str
    piece: int = 0
    line: int | None = None
    text: str = ""
    title: str = ""
    header: Sequence[str] = ()
    columns: Sequence[int] = ()
    rows: Sequence[tuple[int, int | None, Sequence[str]]] = ()
    count: int = 0

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.text) + sum(len(cell) + 1 for _, _, cells in self.rows for cell in cells)


@dataclass
class Outcome:
    """What came out of a check.

    Attributes:
        findings: All findings.
        problems: What could not be read.
        documents: Number of pieces that were checked.
        numbers: Number of numerals and numeric cells in them.
        excerpts: Parts of the files for reports that show them; as many as `KEPT` allows.
    """

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    documents: int = 0
    numbers: int = 0
    excerpts: list[Excerpt] = field(default_factory=list)
    _kept: int = field(default=0, repr=False, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether all was read."""
        return all(problem.is_note for problem in self.problems)

    def add(self, other: Outcome) -> None:
        """Appends another outcome."""
        self.findings += other.findings
        self.problems += other.problems
        self.documents += other.documents
        self.numbers += other.numbers
        for excerpt in other.excerpts:
            self.show(excerpt)

    def show(self, excerpt: Excerpt) -> None:
        """Keeps an excerpt while there is room."""
        if self._kept < KEPT:
            self._kept += excerpt.size
            self.excerpts.append(excerpt)

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON types; `of_json` gives it back exactly."""
        return {
            "findings": [asdict(each) for each in self.findings],
            "problems": [asdict(each) for each in self.problems],
            "documents": self.documents,
            "numbers": self.numbers,
            "excerpts": [asdict(each) for each in self.excerpts],
        }

    @classmethod
    def of_json(cls, row: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_json` wrote.

        Raises:
            KeyError: A part is missing.
            TypeError: A part is something else.
        """
        found = cls(documents=row["documents"], numbers=row["numbers"])
        found.findings = [_finding(each) for each in row["findings"]]
        found.problems = [Problem(**each) for each in row["problems"]]
        for each in row["excerpts"]:
            rows = [(index, line, tuple(cells)) for index, line, cells in each["rows"]]
            found.show(Excerpt(**each | {"rows": rows}))
        return found


def excerpt_of(document: Document, piece: int, findings: Sequence[Finding]) -> Excerpt | None:
    """What a report shows of a document; None for a long table without findings."""
    line = document.lines[0] if document.lines else None
    if document.kind == "text":
        return Excerpt(source=document.source, piece=piece, line=line, text=document.text)
    first, count = document.first_row, len(document.rows)
    cells = [finding.cell for finding in findings if finding.cell is not None]
    is_whole = count <= WHOLE_TABLE and first == 0 and document.is_last
    if not cells and not is_whole:
        return None
    near = {row - first + step for row, _ in cells for step in range(-AROUND, AROUND + 1)}
    wanted = range(count) if is_whole else sorted(index for index in near if 0 <= index < count)
    columns = sorted({column for _, column in cells})[:MAX_COLUMNS]
    others = [index for index in range(len(document.header)) if index not in columns]
    columns = sorted((*columns, *others[: MAX_COLUMNS - len(columns)]))
    rows = []
    for index in wanted:
        row = document.rows[index]
        shown = tuple(row[column][:MAX_CELL] if column < len(row) else "" for column in columns)
        rows.append((first + index, document.row_line(first + index), shown))
    return Excerpt(
        source=document.source, piece=piece, line=line, title=document.caption, columns=columns, rows=rows,
        count=count, header=[document.header[column] for column in columns],
    )  # fmt: skip


def _finding(row: Mapping[str, Any]) -> Finding:
    pairs = {name: tuple(row[name]) for name in ("span", "cell", "marked") if row[name] is not None}
    return Finding(**{**row, **pairs})
