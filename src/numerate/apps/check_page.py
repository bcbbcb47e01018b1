"""HTML report of `numerate check`: one file without scripts; numbers of texts and tables are marked and linked."""

from __future__ import annotations

import html
from collections import defaultdict
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any

from numerate.apps.check_drawings import density_drawing
from numerate.apps.check_reports import place_of, rule_table
from numerate.apps.findings import ranked
from numerate.apps.numeral_view import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.check_outcome import Excerpt, Outcome
    from numerate.apps.findings import Finding

__all__ = ["check_page"]

MAX_FINDINGS = 2000
"""Findings that the page shows; a browser is slow with more."""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
.finding { border-left: .3rem solid var(--line); margin: 1rem 0; padding: .2rem 1rem; }
.finding.error { border-color: #d33; } .finding.warning { border-color: #d90; } .finding.note { border-color: #37c; }
.finding p { margin: .2rem 0; } .place { font-weight: 600; } .rule { color: var(--soft); font-size: .9rem; }
.finding.note { color: inherit; font-size: inherit; }
mark { padding: 0 .1em; border-radius: .2em; color: inherit; } mark.error, td.error { background: #d336; }
mark.warning, td.warning { background: #d905; } mark.note, td.note { background: #37c4; color: inherit; }
ins { color: #2a2; text-decoration: none; white-space: nowrap; } mark a, td a { color: inherit; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
mark:target, td:target, .finding:target { outline: 3px solid #37c; }
.passage { overflow-wrap: anywhere; } svg { display: block; max-width: 100%; height: auto; }
svg .axis { stroke: var(--soft); } svg .area { fill: #37c4; stroke: #37c; } svg .box { fill: #37c4; }
svg .value { stroke: #d33; stroke-width: 2; } svg .meant { stroke: #2a2; stroke-width: 2; stroke-dasharray: 4 2; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; }
.sheet { font-size: .85rem; } .sheet td { max-width: 20rem; overflow-wrap: anywhere; }
.sheet th:first-child { color: var(--soft); font-weight: normal; text-align: right; }
.sheet .gap td { text-align: center; color: var(--soft); }
"""


def check_page(outcome: Outcome) -> bytes:
    """The page; all texts are escaped, so that markup in them has no effect."""
    findings = ranked(outcome.findings)
    shown = findings[:MAX_FINDINGS]
    marks = _Marks(shown, outcome.excerpts)
    css = resources.files("numerate").joinpath("data", "page.css").read_text("utf-8")
    many = f"{len(findings):,} finding{'s' * (len(findings) != 1)}" if findings else "No findings"
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>numerate check</title>\n<style>\n{css}{_STYLE}</style>\n</head>\n<body>",
        f"<h1>numerate check</h1>\n<p>{many} in {outcome.numbers:,} numbers.</p>",
    ]
    if len(shown) < len(findings):
        parts.append(f"<p>The {MAX_FINDINGS:,} most probable ones are shown; --json writes all.</p>")
    if len(marks.placed) < len(shown):
        parts.append("<p>Places without a link are in parts of the files that are not shown here.</p>")
    table = rule_table()
    parts += [_finding(finding, at, table, at in marks.placed) for at, finding in enumerate(shown, 1)]
    if outcome.problems:
        parts.append("<h2>Not read, or read otherwise</h2>\n<ul>")
        for each in outcome.problems:
            line = f", line {each.line}" if each.line is not None else ""
            parts.append(f"<li>{_escaped(f'{each.source}{line}: {each.message}')}</li>")
        parts.append("</ul>")
    for source, excerpts in groupby(outcome.excerpts, key=lambda each: each.source):
        parts.append(f"<h2>{_escaped(source or 'text')}</h2>")
        for excerpt in sorted(excerpts, key=lambda each: each.line or 0):  # a table inside of a text comes before it
            parts += _table(excerpt, marks) if excerpt.header else _text(excerpt, marks)
    return ("\n".join(parts) + "\n</body>\n</html>\n").encode("utf-8", "replace")


class _Marks:
    """Which findings stand at which places of the excerpts.

    Attributes:
        placed: Numbers of the findings that an excerpt shows.
    """

    def __init__(self, findings: Sequence[Finding], excerpts: Sequence[Excerpt]) -> None:
        self._texts: dict[Any, list[tuple[int, Finding]]] = defaultdict(list)
        self._cells: dict[Any, list[tuple[int, Finding]]] = defaultdict(list)
        for number, finding in enumerate(findings, 1):
            if finding.cell is not None:
                self._cells[finding.source, finding.piece, *finding.cell].append((number, finding))
            else:
                self._texts[finding.source, finding.piece].append((number, finding))
        self.placed: set[int] = set()
        self._is_taken: set[int] = set()
        for excerpt in excerpts:
            for row, _, _ in excerpt.rows:
                for column in excerpt.columns:
                    self.placed |= {number for number, _ in self.in_cell(excerpt, row, column)}
            self.placed |= {number for number, _ in self.in_text(excerpt)}

    def in_cell(self, excerpt: Excerpt, row: int, column: int) -> list[tuple[int, Finding]]:
        """Number and finding of each finding in a cell."""
        return self._cells.get((excerpt.source, excerpt.piece, row, column), [])

    def in_text(self, excerpt: Excerpt) -> list[tuple[int, Finding]]:
        """Number and finding of each finding in a text, in order; of those that overlap, the first."""
        kept, end = [], 0
        for number, finding in sorted(self._texts[excerpt.source, excerpt.piece], key=lambda each: each[1].span or ()):
            start, stop = finding.span or (0, 0)
            if start >= end and excerpt.text:
                kept.append((number, finding))
                end = stop
        return kept

    def anchor(self, number: int) -> str:
        """The id of a mark; a file that is given twice has it only once."""
        if number in self._is_taken:
            return ""
        self._is_taken.add(number)
        return f' id="n{number}"'


def _escaped(text: str) -> str:
    return html.escape("\n".join(visible(line) for line in text.split("\n")))


def _finding(finding: Finding, number: int, table: dict[str, tuple[str, str]], is_placed: bool) -> str:
    place = _escaped(place_of(finding))
    name = f'<a href="#n{number}">{place}</a>' if is_placed else place
    start, end = finding.marked or (0, 0)
    meant = f" <ins>→ {_escaped(finding.meant)}</ins>" if finding.meant is not None else ""
    passage = (
        f'{_escaped(finding.passage[:start])}<mark class="{finding.severity}">'
        f"{_escaped(finding.passage[start:end])}</mark>"
        f"{meant}{_escaped(finding.passage[end:])}"
    )
    title = table.get(finding.rule, (finding.rule, ""))[0]
    names = finding.rule if title == finding.rule else f"{title} · {finding.rule}"
    lines = [
        f'<div class="finding {finding.severity}" id="f{number}">',
        f'<p><span class="place">{name}</span> <span class="rule">{_escaped(names)} · '
        f"{finding.probability:.2f}</span></p>",
        f"<p>{_escaped(finding.message)}</p>",
        f'<p class="passage">{passage}</p>',
        density_drawing(finding.evidence),
        "</div>",
    ]
    return "\n".join(line for line in lines if line)


def _text(excerpt: Excerpt, marks: _Marks) -> Iterator[str]:
    """The text with its numbers marked; a mark links back to its finding."""
    parts, end = [], 0
    for number, finding in marks.in_text(excerpt):
        start, stop = finding.span or (0, 0)
        parts.append(_escaped(excerpt.text[end:start]))
        parts.append(
            f'<mark class="{finding.severity}"{marks.anchor(number)} title="{_escaped(finding.message)}">'
            f'<a href="#f{number}">{_escaped(excerpt.text[start:stop])}</a></mark>'
        )
        end = stop
    yield f'<div class="text">{"".join(parts)}{_escaped(excerpt.text[end:])}</div>'


def _table(excerpt: Excerpt, marks: _Marks) -> Iterator[str]:
    """The rows of a table with its wrong cells marked; a line for each gap."""
    yield '<div class="scroll"><table class="sheet">'
    if excerpt.title:
        yield f"<caption>{_escaped(excerpt.title)}</caption>"
    names = "".join(f"<th>{_escaped(name)}</th>" for name in excerpt.header)
    yield f"<thead><tr><th>row</th>{names}</tr></thead><tbody>"
    last = excerpt.rows[0][0] - 1 if excerpt.rows else 0
    for row, line, cells in excerpt.rows:
        if row > last + 1:
            said = f"{row - last - 1:,} row{'s' * (row - last > 2)} without findings"
            yield f'<tr class="gap"><td colspan="{len(cells) + 1}">{said}</td></tr>'
        last = row
        shown = "".join(
            _cell(cell, marks.in_cell(excerpt, row, column), marks)
            for column, cell in zip(excerpt.columns, cells, strict=True)
        )
        title = f' title="line {line}"' if line is not None else ""
        yield f"<tr><th{title}>{row + 1}</th>{shown}</tr>"
    yield "</tbody></table></div>"
    if len(excerpt.rows) < excerpt.count:
        yield f'<p class="note">{len(excerpt.rows):,} of {excerpt.count:,} rows are shown.</p>'


def _cell(cell: str, findings: Sequence[tuple[int, Finding]], marks: _Marks) -> str:
    if not findings:
        return f"<td>{_escaped(cell)}</td>"
    number, finding = findings[0]
    meant = f" <ins>→ {_escaped(finding.meant)}</ins>" if finding.meant is not None else ""
    others = "".join(f'<span{marks.anchor(other)}> <a href="#f{other}">also</a></span>' for other, _ in findings[1:])
    return (
        f'<td class="{finding.severity}"{marks.anchor(number)} title="{_escaped(finding.message)}">'
        f'<a href="#f{number}">{_escaped(cell)}</a>{meant}{others}</td>'
    )
