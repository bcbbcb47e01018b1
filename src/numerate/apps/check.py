"""`check`: numbers of a text, of records or of files that contradict each other or look improbable."""

from __future__ import annotations

import itertools
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.check_outcome import Outcome, excerpt_of
from numerate.apps.check_places import located, marks_at
from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document, Problem
from numerate.apps.findings import Checker, Finding, ranked
from numerate.apps.formats.json_records import frame_document, is_frame, record_document
from numerate.apps.formats.opening import read_documents, text_documents
from numerate.apps.formats.streams import can_be_read_again
from numerate.errors import BadInput
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CheckOptions", "Outcome", "check", "check_document", "check_file", "check_ignored", "count_numbers",
    "fitted_documents", "make_checkers", "one_for_a_place", "placed_findings",
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
MAX_NAME = 256
"""Longer texts are not looked up as names of files."""
MAX_SPAN = 1 << 60
_log = logging.getLogger("numerate")


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


def check(
    what: Any, *, model: Any = None, ignore: str | Iterable[str] = (), false_alarms: float | None = None,
    kind: str | None = None,
) -> list[Finding]:  # fmt: skip
    """Finds numbers that contradict each other, or that look wrong.

    Args:
        what: A text, a path (`pathlib.Path`), a list of records (dictionaries), a DataFrame, or a `Document`. Tables of
            a text in Markdown are read as tables, and so is a text that is CSV as a whole.
        model: What judges whether numbers are plausible: a `NumberModel`, its folder or Hub id, or a checker. By
            default the model of the environment variable NUMERATE_MODEL, or `models/numerate-mini` of the repository;
            where there is none, the logger `numerate` says so once, and only rules and distributions of columns are
            used. False asks for no model.
        ignore: Ids of rules that are left out; or one.
        false_alarms: Share of the right numbers that may be reported as improbable; by default 1 % of those that a
            model judges, and about one in a table by the distributions of its columns.
        kind: Format of a text or path, as `markdown`; by default decided by the text, or by the name of the file.

    Returns:
        The findings, most probable first.

    Raises:
        BadInput: A rule is unknown, the file does not exist or cannot be read, the text is the name of a file, or the
            model cannot be loaded.

    Example:
        >>> text = "The lake is 28 km (27 mi) long. It has 12 men and 15 women, 28 people in all."
        >>> for found in check(text, model=False):
        ...     print(found.rule, found.written, "->", found.meant)
        conversion 27 mi -> 17 mi
        sum 28 -> 27
    """
    from numerate.apps.check_models import checker_of

    ignored = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    options = CheckOptions(ignore=ignored, false_alarms=_checked(false_alarms), kind=kind)
    check_ignored(options.ignore)
    if isinstance(what, Path):
        outcome = check_file(str(what), options, model=checker_of(model, false_alarms))
        _tell(outcome.problems)
        return ranked(outcome.findings)
    documents = _documents(what, kind)
    checkers = make_checkers(options, checker_of(model, false_alarms))
    _tell(each for each in documents if isinstance(each, Problem))
    documents = [each for each in documents if isinstance(each, Document)]
    found = (check_document(each, checkers, options, piece) for piece, each in enumerate(documents))
    return ranked(list(itertools.chain.from_iterable(found)))


def make_checkers(options: CheckOptions, model: Checker | None = None) -> list[Checker]:
    """The checkers that the options ask for."""
    checkers: list[Checker] = [ConsistencyChecker(options.ignore)]
    if options.distributions:
        from numerate.apps.distributions import ColumnDistributions

        checkers.append(ColumnDistributions(options.false_alarms))
    return [*checkers, model] if model is not None else checkers


def check_document(
    document: Document, checkers: Iterable[Checker], options: CheckOptions, piece: int = 0
) -> list[Finding]:
    """The findings of one document, located in its file, without those that are ignored; at most one for a place."""
    return one_for_a_place(placed_findings(document, checkers, options, piece))


def placed_findings(
    document: Document, checkers: Iterable[Checker], options: CheckOptions, piece: int = 0
) -> list[Finding]:
    """The findings of each checker, located in their file, without those that are ignored."""
    found = []
    for checker in checkers:
        for finding in checker.check(document):
            if finding.rule in options.ignore or finding.probability < options.least:
                continue
            placed = located(finding, document)
            marks = marks_at(placed, document)
            if marks is None or (marks and finding.rule not in marks):
                found.append(replace(placed, piece=piece) if piece else placed)
    document.forget_table()
    return found


def check_file(
    path: str,
    options: CheckOptions,
    *,
    model: Checker | None = None,
    on_position: Callable[[int], None] | None = None,
    excerpts: bool = False,
) -> Outcome:
    """Checks a file piece by piece; a large table is read twice, first for the distributions of its columns.

    Args:
        path: The file; `-` is standard input.
        options: What is checked.
        model: A checker of plausibility.
        on_position: Called with the number of bytes read so far.
        excerpts: Whether the outcome has parts of the file, for reports.

    Raises:
        BadInput: The file does not exist.
    """
    outcome = Outcome()
    checkers = make_checkers(options, model)
    for document in fitted_documents(path, options, checkers, on_position):
        if isinstance(document, Problem):
            outcome.problems.append(document)
            continue
        piece = outcome.documents
        found = check_document(document, checkers, options, piece)
        outcome.documents += 1
        outcome.findings += found
        outcome.numbers += count_numbers(document)
        if excerpts and (excerpt := excerpt_of(document, piece, found)) is not None:
            outcome.show(excerpt)
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


def fitted_documents(
    path: str, options: CheckOptions, checkers: Sequence[Checker], on_position: Callable[[int], None] | None
) -> Iterator[Document | Problem]:
    """The documents of a file; before the first piece of a large table, its distributions are fitted."""
    documents = read_documents(path, options.kind, on_position)
    is_fitted = False
    for document in documents:
        is_piece = isinstance(document, Document) and document.kind != "text" and not document.is_last
        if is_piece and not is_fitted:
            is_fitted = True
            pieces: Iterable[Any] = read_documents(path, options.kind) if can_be_read_again(path) else [document]
            for checker in checkers:
                if hasattr(checker, "fit"):
                    checker.fit(each for each in pieces if isinstance(each, Document))  # type: ignore[attr-defined]
        yield document


def one_for_a_place(findings: Iterable[Finding]) -> list[Finding]:
    """At most one finding for a number: a rule knows what was meant, a distribution guesses; then the surest."""
    best: dict[Any, Finding] = {}
    for finding in findings:
        key = (finding.cell, finding.span)
        known = best.get(key)
        if known is None or (finding.rule in rules, finding.probability) > (known.rule in rules, known.probability):
            best[key] = finding
    # A rule marks `27 mi`, a model `27`, a distribution the whole cell: the same number must not be reported twice.
    # The numbers that a rule compares with (`28 km`) are taken too: a model finds them odd only beside the wrong one.
    taken: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    kept: set[int] = set()
    for finding in sorted(best.values(), key=lambda each: (each.rule not in rules, -each.probability)):
        start, end = finding.span or (0, MAX_SPAN)
        is_sure = finding.rule in rules
        if is_sure or not any(start < other and begin < end for begin, other in taken[finding.cell]):
            taken[finding.cell].append((start, end))
            if is_sure:
                taken[finding.cell] += _compared_with(finding)
            kept.add(id(finding))
    return [finding for finding in best.values() if id(finding) in kept]


def _compared_with(finding: Finding) -> list[tuple[int, int]]:
    """Spans of the numbers that a rule compared the wrong one with; rules of plugins may have other evidence."""
    others = [each for each in finding.evidence.get("others", ()) if isinstance(each, Mapping)]
    return [(each["start"], each["end"]) for each in others if "start" in each and "end" in each]


def count_numbers(document: Document) -> int:
    """Numerals of a text, or cells with a digit."""
    if document.kind == "text":
        return len(document.numerals)
    return sum(any(map(str.isdecimal, cell)) for cell in itertools.chain.from_iterable(document.rows))


def _documents(what: Any, kind: str | None) -> list[Document | Problem]:
    """What `check` was given, as documents."""
    if isinstance(what, str):
        if len(what) < MAX_NAME and not any(mark in what for mark in " \n\0") and Path(what).is_file():
            raise BadInput(f"check({what!r}) would check the name of a file: give pathlib.Path({what!r})")
        return list(text_documents(what, kind))
    if kind is not None:
        raise BadInput(f"kind={kind!r} is for texts and paths, got {type(what).__name__}")
    if isinstance(what, Document):
        return [what]
    if is_frame(what):
        return [frame_document(what)]
    if isinstance(what, Sequence) and all(isinstance(each, Mapping) for each in what):
        return [record_document(list(what))]
    said = type(what).__name__
    if isinstance(what, Sequence) and not isinstance(what, bytes):
        said += f" with a {next(type(each).__name__ for each in what if not isinstance(each, Mapping))}"
    raise BadInput(f"check() takes a text, a Path, a list of dictionaries, a DataFrame or a Document, got {said}")


def _tell(problems: Iterable[Problem]) -> None:
    """Raises for a file that cannot be read; what is missing of another one is logged."""
    for problem in problems:
        where = f"{problem.source!r}" + (f", line {problem.line}" if problem.line is not None else "")
        if problem.fatal and not problem.message.startswith("empty"):
            raise BadInput(f"{where}: {problem.message}")
        _log.warning("%s: %s", where, problem.message)


def _checked(false_alarms: float | None) -> float | None:
    if false_alarms is not None and not (isinstance(false_alarms, Real) and 0 < false_alarms < 1):
        raise BadInput(f"false_alarms must lie between 0 and 1, got {false_alarms!r}")
    return false_alarms
