"""Reports of `numerate check`: ranked in the terminal, as JSON, and as SARIF 2.1.0 for code hosts and editors."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from numerate.apps.check import EXTRA_RULES
from numerate.apps.consistency.base import rules
from numerate.apps.findings import ranked
from numerate.apps.formats.opening import suffix_format
from numerate.apps.numeral_view import visible
from numerate.training.engines.places import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from numerate.apps.check_outcome import Outcome
    from numerate.apps.documents import Problem
    from numerate.apps.findings import Finding

__all__ = ["json_report", "place_of", "rule_table", "sarif_report", "terminal_report"]

COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold blue"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_TITLE = 60
CONTEXT = 90
"""Characters around a number that the terminal shows."""


def rule_table() -> dict[str, tuple[str, str]]:
    """All rules: id -> title and one sentence."""
    return {name: (rules[name].title, rules[name].help) for name in rules} | EXTRA_RULES


def terminal_report(outcome: Outcome, top: int = 50) -> Iterator[Text]:
    """The findings as coloured lines, most probable first, and one line that counts them."""
    from rich.text import Text

    findings = ranked(outcome.findings)
    for finding in findings[:top]:
        colour = COLOURS[finding.severity]
        head = Text.assemble(
            (visible(place_of(finding)), "bold"), "  ", (f"{finding.severity} {finding.probability:.2f}", colour)
        )
        head.append(f"  {finding.rule}", style="dim")
        yield head
        yield Text("  ").append(visible(finding.message))
        if finding.passage:
            yield Text("    ").append_text(_marked(finding, colour))
        yield Text("")
    if len(findings) > top:
        yield Text(f"... and {len(findings) - top} more; --top {len(findings)} or --json shows all.\n")
    counts = Counter(finding.rule for finding in findings)
    said = ", ".join(f"{count} {rule}" for rule, count in counts.most_common())
    what = f"{len(findings)} finding{'s' * (len(findings) != 1)}" if findings else "no findings"
    unread = any(not (problem.is_note or problem.is_harmless) for problem in outcome.problems)
    rest = "; not everything could be read" if unread else ""
    yield Text(f"{what} in {outcome.numbers:,} numbers{f' ({said})' if said else ''}{rest}")


def json_report(outcome: Outcome) -> dict[str, Any]:
    """Everything as JSON types."""
    from numerate import __version__

    return {
        "version": __version__,
        "numbers": outcome.numbers,
        "findings": [finding.to_dict() for finding in ranked(outcome.findings)],
        "problems": [_problem(each) for each in outcome.problems],
        "complete": outcome.is_complete,
    }


def sarif_report(outcome: Outcome) -> dict[str, Any]:
    """The findings in the format that GitHub, GitLab and editors read.

    Rule ids are stable. Fingerprints stay the same when lines are added above; a repeated passage counts its copies.
    """
    from numerate import __version__

    table = rule_table()
    findings = ranked(outcome.findings)
    used = [name for name in table if any(finding.rule == name for finding in findings)]
    used += sorted({finding.rule for finding in findings} - set(used))
    copies: Counter[str] = Counter()
    results = []
    for finding in findings:
        finding = replace(finding, source=_relative(finding.source))
        copies[finding.fingerprint] += 1
        results.append(_result(finding, used.index(finding.rule), copies[finding.fingerprint]))
    driver = {
        "name": "numerate",
        "version": __version__,
        "semanticVersion": __version__.replace(".dev", "-dev"),
        "rules": [_descriptor(name, *table.get(name, (name, name))) for name in used],
    }
    invocation = {
        "executionSuccessful": outcome.is_complete,
        "toolExecutionNotifications": [_notification(each) for each in outcome.problems],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _relative(source: str) -> str:
    """The name of a file as code hosts want it: relative to the working directory, with slashes."""
    if not source or source == "standard input":
        return "stdin"
    if is_remote(source):
        return source
    path = os.path.relpath(source) if Path(source).is_absolute() else os.path.normpath(source)
    if path.startswith(".."):  # outside: as it was named, but without the `..` that a URI should not have in its middle
        path = os.path.normpath(source)
    return path.replace(os.sep, "/")


def _uri(source: str) -> str:
    if Path(source).is_absolute():
        return Path(source).as_uri()
    if source.startswith(("http://", "https://")):  # written as it has to be, with escapes and a query
        return quote(source, safe="%/:?#[]@!$&'*+,;=()")
    # Undecodable bytes of a name stay these bytes, as in `Path.as_uri`.
    return quote(os.fsencode(source), safe=":/" if is_remote(source) else "/")


def _descriptor(name: str, title: str, text: str) -> dict[str, Any]:
    # A `name` beside the id is left out: it would only repeat it, and validators report that (SARIF1001).
    return {
        "id": name,
        "shortDescription": {"text": title},
        "fullDescription": {"text": text},
        "help": {"text": text},  # demanded by GitHub's code scanning
        "defaultConfiguration": {"level": "warning"},
    }


def _notification(problem: Problem) -> dict[str, Any]:
    level = "note" if problem.is_note else "error" if problem.fatal else "warning"
    if not problem.source:  # an empty name is no place
        return {"level": level, "message": {"text": problem.message}}
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(_relative(problem.source))}}
    if problem.line is not None:
        place["region"] = {"startLine": max(1, problem.line)}
    return {
        "level": level,
        "message": {"text": f"{problem.source}: {problem.message}"},
        "locations": [{"physicalLocation": place}],
    }


def _result(finding: Finding, index: int, copy: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.source)}}
    if finding.line is not None:
        region: dict[str, Any] = {"startLine": max(1, finding.line)}
        if finding.column is not None:
            region["startColumn"] = max(1, finding.column)
            behind = region["startColumn"] + len(finding.written.split("\n")[0])
            region["endColumn"] = finding.end_column or behind
            # A snippet is what the region holds: not a number written with markup, or over the end of its line.
            if region["endColumn"] - region["startColumn"] == len(finding.written):
                region["snippet"] = {"text": finding.written}
        place["region"] = region
    location: dict[str, Any] = {"physicalLocation": place}
    if finding.cell is not None:
        name = f"row {finding.cell[0] + 1}, {finding.key or f'column {finding.cell[1] + 1}'}"
        whole = f"{finding.table}: {name}" if finding.table else name
        location["logicalLocations"] = [{"name": name, "fullyQualifiedName": whole, "kind": "element"}]
    elif finding.table:
        location["logicalLocations"] = [{"name": finding.table, "kind": "element"}]
    meant = f" Probably meant: {finding.meant}." if finding.meant is not None else ""
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": finding.message + meant},
        "locations": [location],
        "rank": round(100 * finding.probability, 2),
        "partialFingerprints": {"numerate/v1": f"{finding.fingerprint}:{copy}"},
        "properties": {"written": finding.written, "meant": finding.meant, "passage": finding.passage},
    }


def place_of(finding: Finding) -> str:
    """File, line and column as editors understand them, and the cell."""
    place = finding.source or "text"
    if finding.line is not None:
        place += f":{finding.line}" + (f":{finding.column}" if finding.column is not None else "")
    place += f" {_short(finding.table)!r}" if finding.table else ""
    if finding.cell is not None:
        row, column = finding.cell
        is_book = suffix_format(finding.source) == "xlsx" and finding.line is not None
        place += f" cell {_letters(column)}{finding.line}" if is_book else f" row {row + 1}"
        place += f", {finding.key}" if finding.key else ""
    return place


def _short(title: str) -> str:
    """The beginning of a long title, up to a word."""
    return title if len(title) <= MOST_TITLE else f"{title[:MOST_TITLE].rpartition(' ')[0] or title[:MOST_TITLE]}…"


def _letters(column: int) -> str:
    """The name of a column in a spreadsheet: 0 is A, 26 is AA."""
    name = ""
    while column >= 0:
        name = chr(ord("A") + column % 26) + name
        column = column // 26 - 1
    return name


def _marked(finding: Finding, colour: str) -> Text:
    """The passage around the number, with the number in colour."""
    from rich.text import Text

    start, end = finding.marked or (0, 0)
    left = max(0, start - CONTEXT)
    right = min(len(finding.passage), end + CONTEXT)
    passage = finding.passage.replace("\n", " ")
    shown = Text("…" if left else "")
    shown.append(visible(passage[left:start]))
    shown.append(visible(passage[start:end]), style=f"{colour} underline")
    if finding.meant is not None:
        shown.append(f" → {visible(finding.meant)}", style="green")
    return shown.append(visible(passage[end:right])).append("…" if right < len(passage) else "")


def _problem(problem: Problem) -> dict[str, Any]:
    row = {"source": problem.source, "message": problem.message, "fatal": problem.fatal}
    return row | ({"line": problem.line} if problem.line is not None else {})
