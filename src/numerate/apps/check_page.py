"""HTML report of `numerate check`: one file without scripts; texts with marked numbers, findings that link to them."""

from __future__ import annotations

import html
import math
from importlib import resources
from typing import TYPE_CHECKING

from numerate.apps.check_reports import rule_table
from numerate.apps.findings import ranked
from numerate.apps.numeral_view import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.check import Outcome
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["KEPT_TEXT", "check_page"]

KEPT_TEXT = 400_000
"""Characters of the texts that the page shows in full; findings beyond show their sentence."""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
.finding { border-left: .3rem solid var(--line); margin: 1rem 0; padding: .2rem 1rem; }
.finding.error { border-color: #d33; } .finding.warning { border-color: #d90; } .finding.note { border-color: #37c; }
.finding p { margin: .2rem 0; } .place { font-weight: 600; } .rule { color: var(--soft); font-size: .9rem; }
mark { padding: 0 .1em; border-radius: .2em; color: inherit; } mark.error { background: #d336; }
mark.warning { background: #d905; } mark.note { background: #37c4; } ins { color: #2a2; text-decoration: none; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; } mark:target, .finding:target { outline: 2px solid #37c; }
.passage { overflow-wrap: anywhere; } svg { display: block; } .line { stroke: var(--soft); } .box { fill: #37c4; }
.value { stroke: #d33; stroke-width: 2; }
"""


def check_page(outcome: Outcome) -> bytes:
    """The page; all texts are escaped, so that markup in them has no effect."""
    findings = ranked(outcome.findings)
    numbers = {id(finding): index for index, finding in enumerate(findings, 1)}
    css = resources.files("numerate").joinpath("data", "page.css").read_text("utf-8")
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>numerate check</title>\n<style>\n{css}{_STYLE}</style>\n</head>\n<body>",
        f"<h1>numerate check</h1>\n<p>{len(findings)} findings in {outcome.numbers:,} numbers.</p>",
    ]
    shown = {document.source for texts in outcome.texts.values() for document in texts}
    table = rule_table()
    parts += [_finding(finding, numbers[id(finding)], table, finding.source in shown) for finding in findings]
    if outcome.problems:
        parts.append("<h2>Not read</h2>\n<ul>")
        parts += [f"<li>{_escaped(f'{each.source}: {each.message}')}</li>" for each in outcome.problems]
        parts.append("</ul>")
    for source, texts in outcome.texts.items():
        parts.append(f"<h2>{_escaped(source or 'text')}</h2>")
        for document in texts:
            here = [each for each in findings if each.source == source and each.cell is None]
            parts.append(f'<div class="text">{"".join(_text(document, here, numbers))}</div>')
    return ("\n".join(parts) + "\n</body>\n</html>\n").encode("utf-8", "replace")


def _escaped(text: str) -> str:
    return html.escape("\n".join(visible(line) for line in text.split("\n")))


def _finding(finding: Finding, number: int, table: dict[str, tuple[str, str]], has_text: bool) -> str:
    place = finding.source or "text"
    place += f":{finding.line}" if finding.line is not None else ""
    place += f", row {finding.cell[0] + 1}, {finding.key or finding.cell[1] + 1}" if finding.cell is not None else ""
    linked = has_text and finding.cell is None
    name = f'<a href="#n{number}">{_escaped(place)}</a>' if linked else _escaped(place)
    start, end = finding.marked or (0, 0)
    meant = f" <ins>→ {_escaped(finding.meant)}</ins>" if finding.meant is not None else ""
    passage = (
        f'{_escaped(finding.passage[:start])}<mark class="{finding.severity}">'
        f"{_escaped(finding.passage[start:end])}</mark>"
        f"{meant}{_escaped(finding.passage[end:])}"
    )
    title = table.get(finding.rule, (finding.rule, ""))[0]
    lines = [
        f'<div class="finding {finding.severity}" id="f{number}">',
        f'<p><span class="place">{name}</span> <span class="rule">{_escaped(title)} · {_escaped(finding.rule)} · '
        f"{finding.probability:.2f}</span></p>",
        f"<p>{_escaped(finding.message)}</p>",
        f'<p class="passage">{passage}</p>',
        _number_line(finding),
        "</div>",
    ]
    return "\n".join(line for line in lines if line)


def _text(document: Document, findings: Sequence[Finding], numbers: dict[int, int]) -> Iterator[str]:
    """The text with its numbers marked; a mark links back to its finding."""
    end = 0
    inside = [each for each in findings if each.span is not None and _is_here(each, document)]
    for finding in sorted(inside, key=lambda each: each.span or (0, 0)):
        start, stop = finding.span or (0, 0)
        if start < end:
            continue
        number = numbers[id(finding)]
        yield _escaped(document.text[end:start])
        yield (
            f'<mark class="{finding.severity}" id="n{number}" title="{_escaped(finding.message)}">'
            f'<a href="#f{number}">{_escaped(document.text[start:stop])}</a></mark>'
        )
        end = stop
    yield _escaped(document.text[end:])


def _is_here(finding: Finding, document: Document) -> bool:
    start, end = finding.span or (0, 0)
    return document.text[start:end] == finding.written and document.position(start) == (finding.line, finding.column)


def _number_line(finding: Finding) -> str:
    """The quantiles of a column as a small box plot with the number on it."""
    points, value = finding.evidence.get("quantiles"), finding.evidence.get("value")
    if not isinstance(points, list) or len(points) != 7 or not isinstance(value, float):
        return ""
    use_log = min(*points, value) > 0 and max(*points, value) > 20 * min(*points, value)
    moved = [math.log(each) if use_log else each for each in (*points, value)]
    low, high = min(moved), max(moved)
    if not math.isfinite(high - low) or high == low:
        return ""
    at = [10 + 380 * (each - low) / (high - low) for each in moved]
    label = f"1 %: {points[0]:g}, median: {points[3]:g}, 99 %: {points[6]:g}, this number: {value:g}"
    return (
        f'<svg width="400" height="24" role="img" aria-label="{_escaped(label)}"><title>{_escaped(label)}</title>'
        f'<line class="line" x1="{at[0]:.1f}" x2="{at[6]:.1f}" y1="12" y2="12"/>'
        f'<rect class="box" x="{at[1]:.1f}" y="6" width="{max(at[5] - at[1], 1):.1f}" height="12"/>'
        f'<rect class="box" x="{at[2]:.1f}" y="6" width="{max(at[4] - at[2], 1):.1f}" height="12"/>'
        f'<line class="value" x1="{at[7]:.1f}" x2="{at[7]:.1f}" y1="2" y2="22"/></svg>'
    )
