"""The `Finding` class: one number, or one pair of numbers, that looks wrong, and why."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from numerate.errors import NumerateError

__all__ = ["Checker", "Finding", "FindingError", "Severity", "ranked"]

Severity = Literal["error", "warning", "note"]
"""Levels of a finding, with the names that SARIF uses."""

ERROR_FROM = 0.9
WARNING_FROM = 0.5


class FindingError(NumerateError, ValueError):
    """A finding without a place, or with a probability outside of 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that looks wrong in a document.

    The place is a `span` of the document's text, a `cell` of its table, or both: a span inside the text of a cell.

    Attributes:
        rule: Stable id of the rule, in lower case with hyphens: `conversion`, `sum`, `plausible-slip`.
        message: One plain sentence that says what is wrong.
        written: What stands there: `text[start:end]`.
        meant: What was probably meant, in the same style; None if nothing stands out.
        probability: How sure the rule is that something is wrong, from 0 to 1. Findings are ranked by it.
        span: Start and end in the text of the document, or of the cell.
        cell: Row and column of a table or of records, both from 0; rows are counted in the whole file.
        key: Name of the column, or path of the key.
        evidence: What the rule computed, as JSON types: the other numbers, the expected value, the surprise in bits.
        source: Name of the file, filled in by `numerate.apps.check`.
        table: Title of the table, such as the name of a sheet.
        piece: Which document of the file it is in, from 0: a file may have several texts and tables.
        line: Line in the file, from 1; None where the format has no lines.
        column: Character in that line, from 1.
        end_column: The character behind it, or behind its part in that line.
        passage: The sentence or row around it, for reports.
        marked: Start and end of the number in `passage`.

    Example:
        >>> found = Finding(rule="conversion", message="28 km are 17 mi.", written="27", meant="17", span=(7, 9))
        >>> found.severity, found.cell
        ('error', None)
    """

    rule: str
    message: str
    written: str
    meant: str | None = None
    probability: float = 0.95
    span: tuple[int, int] | None = None
    cell: tuple[int, int] | None = None
    key: str | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    table: str = ""
    piece: int = 0
    line: int | None = None
    column: int | None = None
    end_column: int | None = None
    passage: str = ""
    marked: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.span is None and self.cell is None:
            raise FindingError(f"a finding needs a span or a cell, got neither for rule {self.rule!r}")
        if not (0.0 <= self.probability <= 1.0):
            raise FindingError(f"the probability of a finding must lie between 0 and 1, got {self.probability}")

    @property
    def severity(self) -> Severity:
        """`error` from a probability of 0.9, `warning` from 0.5, else `note`."""
        if self.probability >= ERROR_FROM:
            return "error"
        return "warning" if self.probability >= WARNING_FROM else "note"

    @property
    def fingerprint(self) -> str:
        """A hash that stays the same when lines are added above: rule, file, passage and written number count."""
        parts = (self.rule, self.source, self.key or "", " ".join(self.passage.split()), self.written)
        parts += (self.table,) if self.table else ()
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON types; keys without a value are left out."""
        names = (
            "rule", "message", "written", "meant", "span", "cell", "key", "source", "table", "line", "column", "passage"
        )  # fmt: skip
        row: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) not in (None, "")}
        row |= {"severity": self.severity, "probability": round(self.probability, 6), "fingerprint": self.fingerprint}
        if self.marked is not None:
            row["marked"] = list(self.marked)
        if self.evidence:
            row["evidence"] = {key: _plain(value) for key, value in self.evidence.items()}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in row.items()}


class Checker(Protocol):
    """Whatever looks for findings in a document: the rules, distributions of columns, a language model."""

    def check(self, document: Any) -> list[Finding]:
        """The findings of one `numerate.apps.documents.Document`."""
        ...


def ranked(findings: list[Finding]) -> list[Finding]:
    """The findings, most probable first; equal ones in order of their place."""

    def order(finding: Finding) -> tuple[Any, ...]:
        place = finding.cell or (finding.line or 0, finding.column or 0)
        return (-finding.probability, finding.source, finding.piece, place, finding.span or (0, 0), finding.rule)

    return sorted(findings, key=order)


def _plain(value: Any) -> Any:
    """The value as JSON types: NaN and infinity as strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value
