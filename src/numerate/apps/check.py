"""`check`: numbers of a text, of records or of files that contradict each other or look improbable."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document, Problem
from numerate.apps.findings import Checker, Finding, ranked
from numerate.apps.formats.json_records import record_document
from numerate.apps.formats.opening import read_documents
from numerate.apps.formats.source_lines import ignore_mark
from numerate.errors import BadInput
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CheckOptions", "Outcome", "check", "check_document", "check_file", "check_ignored", "count_numbers",
    "fitted_documents", "located", "make_checkers", "model_checker",
]  # fmt: skip

EXTRA_RULES = {
    "column-outlier": ("improbable in its column", "A cell is improbable in its column."),
    "column-slip": ("slip in a column", "A cell is improbable in its column, and a typical slip explains it."),
    "pair-outlier": ("improbable beside another column", "A cell is improbable beside another column of its row."),
    "pair-slip": ("slip beside another column", "A cell is improbable beside another column, and a slip explains it."),
    "implausible": ("implausible", "A language model finds the number improbable in its sentence or row."),
    "plausible-slip": ("slip", "A language model finds the number improbable, and a typical slip explains it."),
}
"""Rules outside of `consistency`: id -> title and help."""
MAX_PASSAGE = 400
MAX_NAME = 256
"""Longer texts are not looked up as names of files."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """What is checked; small and picklable, for worker processes.

    Attributes:
        ignore: Ids of rules that are left out.
        false_alarms: Share of the right numbers of tables that may be reported as improbable; None: about one in a
            table.
        distributions: Whether columns of tables are compared with their distribution.
        kind: Format of all files; None decides for each.
        least: Findings of a smaller probability are left out.
    """

    ignore: tuple[str, ...] = ()
    false_alarms: float | None = None
    distributions: bool = True
    kind: str | None = None
    least: float = 0.0


@dataclass
class Outcome:
    """What came out of a check.

    Attributes:
        findings: All findings.
        problems: What could not be read.
        documents: Number of pieces that were checked.
        numbers: Number of numerals and numeric cells in them.
        texts: Source -> some of its texts, for reports that show whole texts.
    """

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    documents: int = 0
    numbers: int = 0
    texts: dict[str, list[Document]] = field(default_factory=dict)

    def add(self, other: Outcome) -> None:
        """Appends another outcome."""
        self.findings += other.findings
        self.problems += other.problems
        self.documents += other.documents
        self.numbers += other.numbers


def check(
    what: str | Path | Sequence[Mapping[str, Any]] | Document,
    *,
    model: Checker | None = None,
    ignore: Iterable[str] = (),
    false_alarms: float | None = None,
) -> list[Finding]:
    """Finds numbers that contradict each other, or that look wrong.

    Args:
        what: A text, a path (`pathlib.Path`), a list of records (dictionaries), or a `Document`.
        model: A checker of plausibility with a language model; without one, only rules and distributions of columns
            are used.
        ignore: Ids of rules that are left out.
        false_alarms: Share of the right numbers of tables that may be reported as improbable; by default about one in a
            table.

    Returns:
        The findings, most probable first.

    Raises:
        BadInput: A rule is unknown, the file does not exist, or the text is the name of a file.

    Example:
        >>> for found in check("The lake is 28 km (27 mi) long. It has 12 men and 15 women, 28 people in all."):
        ...     print(found.rule, found.written, "->", found.meant)
        conversion 27 mi -> 17 mi
        sum 28 -> 27
    """
    options = CheckOptions(ignore=tuple(ignore), false_alarms=_checked(false_alarms))
    check_ignored(options.ignore)
    if isinstance(what, Path):
        return ranked(check_file(str(what), options, model=model).findings)
    if isinstance(what, str):
        if len(what) < MAX_NAME and not any(mark in what for mark in " \n") and Path(what).is_file():
            raise BadInput(f"check({what!r}) would check the name of a file: give pathlib.Path({what!r})")
        document = Document(kind="text", text=what)
    elif isinstance(what, Document):
        document = what
    elif isinstance(what, Sequence) and all(isinstance(each, Mapping) for each in what):
        document = record_document(list(what))
    else:
        raise BadInput(f"check() takes a text, a Path, records or a Document, got {type(what).__name__}")
    return ranked(check_document(document, make_checkers(options, model), options))


def make_checkers(options: CheckOptions, model: Checker | None = None) -> list[Checker]:
    """The checkers that the options ask for."""
    checkers: list[Checker] = [ConsistencyChecker(options.ignore)]
    if options.distributions:
        from numerate.apps.distributions import ColumnDistributions

        checkers.append(ColumnDistributions(options.false_alarms))
    return [*checkers, model] if model is not None else checkers


def check_document(document: Document, checkers: Iterable[Checker], options: CheckOptions) -> list[Finding]:
    """The findings of one document, located in its file, without those that are ignored."""
    found = []
    for checker in checkers:
        for finding in checker.check(document):
            if finding.rule in options.ignore or finding.probability < options.least:
                continue
            placed = located(finding, document)
            marks = _marks(placed, document)
            if marks is None or (marks and finding.rule not in marks):
                found.append(placed)
    return _one_for_a_place(found)


def check_file(
    path: str,
    options: CheckOptions,
    *,
    model: Checker | None = None,
    on_position: Callable[[int], None] | None = None,
    keep_texts: int = 0,
) -> Outcome:
    """Checks a file piece by piece; a large table is read twice, first for the distributions of its columns.

    Args:
        path: The file; `-` is standard input.
        options: What is checked.
        model: A checker of plausibility.
        on_position: Called with the number of bytes read so far.
        keep_texts: Characters of text documents that are kept in the outcome, for reports.

    Raises:
        BadInput: The file does not exist.
    """
    outcome = Outcome()
    checkers = make_checkers(options, model)
    kept = 0
    for document in fitted_documents(path, options, checkers, on_position):
        if isinstance(document, Problem):
            outcome.problems.append(document)
            continue
        outcome.documents += 1
        outcome.findings += check_document(document, checkers, options)
        outcome.numbers += count_numbers(document)
        if document.kind == "text" and kept < keep_texts:
            kept += len(document.text)
            outcome.texts.setdefault(document.source, []).append(document)
    return outcome


def check_ignored(ignore: Iterable[str]) -> None:
    """Checks names of rules.

    Raises:
        BadInput: A name is unknown.
    """
    known = [*rules.names(), *EXTRA_RULES]
    for name in ignore:
        if name not in known:
            raise BadInput(f"unknown rule {name!r}: {near_names(name, known)}")


def model_checker(
    name: str, *, false_alarms: float | None = None, fast: bool = False, calibrate: Sequence[str] = ()
) -> Checker:
    """The checker of plausibility with the model in a folder or of a Hub id.

    Args:
        name: Folder or Hub id.
        false_alarms: Share of right numbers that may be reported.
        fast: Skip numbers that are certain.
        calibrate: Files whose numbers are right: the share holds for documents like these.

    Raises:
        BadInput: This installation has no checker with a model, or the model cannot be loaded.
    """
    try:
        module = importlib.import_module("numerate.apps.plausible")
    except ModuleNotFoundError:
        raise BadInput(f"--model {name!r}: checking with a model is not part of this version") from None
    from numerate.modeling.attaching import from_pretrained

    model = from_pretrained(name).eval()
    if calibrate:
        importlib.import_module("numerate.apps.calibrating").calibrate_files(model, calibrate)
    options = {} if false_alarms is None else {"false_alarms": false_alarms}
    return module.PlausibilityChecker(model, fast=fast, **options)


def located(finding: Finding, document: Document) -> Finding:
    """The finding with source, line, column and passage."""
    if finding.cell is not None:
        row, column = finding.cell
        cells = document.rows[row - document.first_row]
        if finding.span is not None:
            text = cells[column]
            start = max(0, min(finding.span[0] - MAX_PASSAGE // 2, len(text) - MAX_PASSAGE))
            passage, shift = text[start : start + MAX_PASSAGE], start
            marked = finding.span[0] - shift, finding.span[1] - shift
        else:
            passage, marked = _row_passage(document.header, cells, column)
        key = finding.key if finding.key is not None or column >= len(document.header) else document.header[column]
        return replace(
            finding, source=document.source, line=document.row_line(row), passage=passage, marked=marked, key=key
        )
    start, end = finding.span or (0, 0)
    left, right = next((span for span in document.sentences if span[0] <= start and end <= span[1]), (start, end))
    if right - left > MAX_PASSAGE:
        left, right = max(left, start - MAX_PASSAGE // 2), min(right, end + MAX_PASSAGE // 2)
    line, column = document.position(start)
    passage = document.text[left:right]
    return replace(
        finding, source=document.source, line=line, column=column, passage=passage, marked=(start - left, end - left)
    )


def _row_passage(header: Sequence[str], cells: Sequence[str], column: int) -> tuple[str, tuple[int, int]]:
    """Cells around a cell with their names, and where the cell stands in that text."""
    parts, start, end = [], 0, 0
    size = 0
    for index in range(max(0, column - 4), min(len(cells), column + 4)):
        name = header[index] if index < len(header) else f"column {index + 1}"
        before = f"{' | ' if parts else ''}{name[:40]}: "
        cell = cells[index] if index == column else cells[index][:60]
        cell = cell[:MAX_PASSAGE].strip()
        if index == column:
            start = size + len(before)
            end = start + len(cell)
        parts.append(before + cell)
        size += len(parts[-1])
    return "".join(parts), (start, end)


def _marks(finding: Finding, document: Document) -> frozenset[str] | None:
    """The rules that a mark at the finding's line or row switches off; None without a mark."""
    if finding.line is not None and finding.line in document.ignored:
        return document.ignored[finding.line]
    if finding.cell is not None:
        for cell in document.rows[finding.cell[0] - document.first_row]:
            if "numerate:" in cell:
                return ignore_mark(cell)
        return None
    if document.ignored or "numerate:" not in document.text or finding.span is None:
        return None
    first = document.text.rfind("\n", 0, finding.span[0]) + 1
    last = document.text.find("\n", finding.span[1])
    return ignore_mark(document.text[first : last if last >= 0 else None])


def fitted_documents(
    path: str, options: CheckOptions, checkers: Sequence[Checker], on_position: Callable[[int], None] | None
) -> Iterator[Document | Problem]:
    """The documents of a file; before the first piece of a large table, its distributions are fitted."""
    documents = read_documents(path, options.kind, on_position)
    for document in documents:
        is_piece = isinstance(document, Document) and document.kind != "text" and not document.is_last
        if is_piece and isinstance(document, Document) and document.first_row == 0:
            pieces: Iterable[Any] = read_documents(path, options.kind) if path != "-" else [document]
            for checker in checkers:
                if hasattr(checker, "fit"):
                    checker.fit(each for each in pieces if isinstance(each, Document))  # type: ignore[attr-defined]
        yield document


def _one_for_a_place(findings: list[Finding]) -> list[Finding]:
    """At most one finding for a cell or span: a rule knows what was meant, a distribution guesses; then the surest."""
    best: dict[Any, Finding] = {}
    for finding in findings:
        key = (finding.cell, finding.span)
        known = best.get(key)
        if known is None or (finding.rule in rules, finding.probability) > (known.rule in rules, known.probability):
            best[key] = finding
    return list(best.values())


def count_numbers(document: Document) -> int:
    """Numerals of a text, or cells with a digit."""
    if document.kind == "text":
        return len(document.numerals)
    return sum(any(map(str.isdecimal, cell)) for cell in itertools.chain.from_iterable(document.rows))


def _checked(false_alarms: float | None) -> float | None:
    if false_alarms is not None and not 0 < false_alarms < 1:
        raise BadInput(f"false_alarms must lie between 0 and 1, got {false_alarms}")
    return false_alarms
