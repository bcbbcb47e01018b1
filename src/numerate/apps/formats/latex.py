"""LaTeX as documents: the text as a reader sees it, and the rows of `tabular` as tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.documents import Document
from numerate.apps.formats.latex_lines import plain_latex
from numerate.apps.formats.source_lines import Lines
from numerate.apps.formats.table_shape import column_names
from numerate.apps.formats.text import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.documents import Problem
    from numerate.apps.formats.source_lines import Source

__all__ = ["read_latex"]

_HIDDEN = re.compile(
    r"\\begin\{(verbatim\*?|lstlisting|minted|comment|tikzpicture|filecontents\*?|thebibliography|equation\*?|align\*?"
    r"|gather\*?|multline\*?|eqnarray\*?|algorithmic)\}"
)
_TABLE = re.compile(r"\\begin\{(tabular[*xy]?|longtable|array|tblr)\}")
_CELL = re.compile(r"(?<!\\)&")
_RULE = re.compile(r"\\(?:[hc]line|(?:top|mid|bottom)rule|cmidrule|addlinespace)(?:\([^)]*\)|\[[^\]]*\]|\{[^{}]*\})*")
_COMMENT = re.compile(r"(?<!\\)%.*")
_BEGIN, _END = "\\begin{document}", "\\end{document}"
MAX_TABLE = 20_000
"""Rows after which a table is ended."""


def read_latex(source: Source) -> Iterator[Document | Problem]:
    r"""A LaTeX file; what stands above `\begin{document}`, displayed formulas and listings are left out."""
    lines = Lines(source)
    block = Block(source, lines, plain_latex)
    table: _Tabular | None = None
    until = ""
    for line in lines:
        if lines.is_cut or lines.offset:
            yield from block.add(line, line)
            continue
        written = _COMMENT.sub("", line)
        is_first = not until and table is None and line.lstrip().startswith("\\documentclass")
        if is_first or until == _BEGIN:
            until = "" if _BEGIN in written else _BEGIN  # the text may begin in the same line
        if until:
            until = "" if until in line and until != _BEGIN else until
        elif table is not None:
            table.add(line, lines.number)
            if f"\\end{{{table.name}}}" in line or len(table.rows) >= MAX_TABLE:
                yield from table.ended()
                table = None
        elif _END in written:  # what stands behind it is no part of the document
            yield from block.add(line.partition(_END)[0], line, marked=True)
            break
        elif (begun := _TABLE.search(line)) is not None:
            table = _Tabular(source, begun[1])
        elif (hidden := _HIDDEN.search(line)) is not None:
            until = f"\\end{{{hidden[1]}}}"
            until = "" if until in line else until
        else:
            yield from block.add(line, line, marked=True)
            continue
        yield from block.add("", "")
    if table is not None:
        yield from table.ended()
    yield from block.ended()
    yield from source.named_problems()


class _Tabular:
    r"""The rows of a `tabular`, each up to its `\\`; the first one is the header."""

    def __init__(self, source: Source, name: str) -> None:
        self.source, self.name = source, name
        self.rows: list[tuple[int, list[str]]] = []
        self.kept = ""

    def add(self, line: str, number: int) -> None:
        """Adds a line, which may end rows."""
        *ended, rest = _RULE.sub("", _COMMENT.sub("", line)).split("\\\\")
        for text in ended:
            cells = [plain_latex(cell)[0].strip() for cell in _CELL.split(f"{self.kept} {text}")]
            self.kept = ""
            if len(cells) > 1 and any(cells):
                self.rows.append((number, cells))
        self.kept += f" {rest}"

    def ended(self) -> Iterator[Document]:
        """The table, if it has rows below its header."""
        if len(self.rows) < 2:
            return
        header = column_names(self.rows[0][1])
        width = len(header)
        yield Document(
            kind="table", source=self.source.name, header=header,
            rows=[(cells + [""] * width)[:width] for _, cells in self.rows[1:]],
            lines=[number for number, _ in self.rows[1:]], ignored=self.source.ignored,
        )  # fmt: skip
