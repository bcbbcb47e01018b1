"""The command `check`: options and output."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numerate.cli.options import EngineName, Processes, RayAddress
from numerate.cli.source import process_count
from numerate.cli.terminal import console, progress, write_json
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.check import CheckOptions, Outcome
    from numerate.apps.check_state import CheckState
    from numerate.apps.documents import Problem

__all__ = ["COMMANDS", "check"]

NAMED = 3
"""Files of other formats that are named."""


def check(
    files: Annotated[
        list[str], typer.Argument(help="Files of any format below, or folders; *.gz is decompressed; - is stdin.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object with all findings.")] = False,
    html: Annotated[str | None, typer.Option(help="Write an HTML report to this file.")] = None,
    sarif: Annotated[str | None, typer.Option(help="Write a SARIF 2.1.0 report to this file; - is stdout.")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--format", help="text, markdown, latex, html, csv, tsv, json, jsonl, xlsx, docx; else by name."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that judges plausibility: folder or Hub id; else NUMERATE_MODEL or the shipped one."
        ),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Use rules and distributions only.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Let the model skip numbers that are certain.")] = False,
    false_alarms: Annotated[
        float | None, typer.Option(help="Share of right numbers that may be reported as improbable.")
    ] = None,
    calibrate: Annotated[
        list[str] | None, typer.Option(help="Fit the model's alarms to this file, whose numbers are right; repeatable.")
    ] = None,
    fail_above: Annotated[float, typer.Option(help="Exit with 1 only for findings of a higher probability.")] = 0.0,
    ignore: Annotated[list[str] | None, typer.Option(help="Leave out this rule; may be repeated.")] = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Do not exit with 2 for empty and binary files and for broken rows.")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="STATE", help="Keep finished files here, and check only the others again.")
    ] = None,
    top: Annotated[int, typer.Option(help="Number of findings shown in the terminal.")] = 50,
    processes: Processes = "1",
    engine: EngineName = "local",
    ray_address: RayAddress = None,
) -> None:
    """Find numbers that contradict each other or look wrong: a spell-checker for numbers.

    Reads text, Markdown, LaTeX, HTML, CSV, TSV, JSON (lines), XLSX and DOCX. Exit code 0: nothing found, 1: findings,
    2: an error, or something could not be read; it is named, and the rest is checked. A line with `numerate: ignore` is
    left out.
    """
    if not 0 <= fail_above <= 1:
        raise BadInput(f"--fail-above must lie between 0 and 1, got {fail_above}")
    if false_alarms is not None and not 0 < false_alarms < 1:
        raise BadInput(f"--false-alarms must lie between 0 and 1, got {false_alarms}")
    if model is not None and no_model:
        raise BadInput("--model and --no-model exclude each other: give one of them")
    if top < 0:
        raise BadInput(f"--top must not be negative, got {top}")
    if as_json and sarif == "-":
        raise BadInput("--json and --sarif - both write to standard output: give --sarif the name of a file")
    from numerate.apps.check import CheckOptions, check_ignored
    from numerate.apps.check_inputs import check_outputs, files_of, may_be_read, written_reports
    from numerate.apps.check_processes import check_files
    from numerate.apps.formats.opening import check_format

    names = tuple(name for each in ignore or () for name in each.replace(",", " ").split())
    check_ignored(names)
    check_format(kind)
    count = process_count(processes)
    options = CheckOptions(ignore=names, false_alarms=false_alarms, kind=kind)
    paths, others = files_of(files, without=written_reports(html=html, sarif=sarif, resume=resume))
    if not paths:
        raise BadInput(
            f"no file to check in {files[0]!r}: name files, or a folder that has files of a format that is read"
        )
    check_outputs(paths, html=html, sarif=sarif, resume=resume)
    if others:
        named = ", ".join(map(repr, others[:NAMED])) + (", ..." if len(others) > NAMED else "")
        many = f"{len(others)} file{'s' * (len(others) > 1)}"
        _say(f"{many} left out, whose name tells no format that is read: {named}; name a file itself to check it")
    if engine != "local" or ray_address is not None:
        if model is not None or resume is not None:
            raise BadInput("--model and --resume run in one process: leave out --engine, or check without them")
        from numerate.apps.check_engine import check_on_engine

        outcome = check_on_engine(paths, options, engine, count, ray_address, excerpts=bool(html))
        _finish(outcome, lenient, fail_above, as_json=as_json, html=html, sarif=sarif, top=top)
        return
    name = judge = None
    if any(map(may_be_read, paths)):  # a mistyped name is said at once, before a model is loaded for nothing
        name, judge = _judge(model, no_model, false_alarms, fast=fast, calibrate=calibrate or ())
    more = {"model": name, "fast": fast, "calibrate": calibrate or [], "html": bool(html)}
    with _state(resume, options, more) as state, progress(paths) as on_position:
        outcome = check_files(
            paths, options, model=judge, processes=count, on_position=on_position, excerpts=bool(html), state=state
        )
    _finish(outcome, lenient, fail_above, as_json=as_json, html=html, sarif=sarif, top=top)


def _finish(outcome: Outcome, lenient: bool, fail_above: float, **reports: Any) -> None:
    """Names what could not be read, writes the reports, and ends with the exit code."""
    for problem in outcome.problems:
        _say(_named(problem, lenient=lenient))
    _report(outcome, **reports)
    if any(_is_error(problem, lenient=lenient) for problem in outcome.problems):
        raise typer.Exit(2)
    if any(finding.probability > fail_above for finding in outcome.findings):
        raise typer.Exit(1)


def _judge(
    model: str | None, no_model: bool, false_alarms: float | None, *, fast: bool, calibrate: Sequence[str]
) -> tuple[str | None, Any]:
    """Name and checker of the model that is asked for, or of the default model; says where there is none."""
    from numerate.apps.check_models import WITHOUT_MODEL, is_uncalibrated, model_checker, said_of_silence
    from numerate.apps.default_model import VARIABLE, found_model

    name = None if no_model else found_model() if model is None else model
    if name is None:
        if calibrate:
            raise BadInput("--calibrate fits the alarms of a model: give --model, too")
        if not no_model:
            _say(f"{WITHOUT_MODEL} --model FOLDER or {VARIABLE}, or give --no-model")
        return None, None
    judge = model_checker(name, false_alarms=false_alarms, fast=fast, calibrate=calibrate)
    if is_uncalibrated(judge):
        _say(f"{name} is not calibrated, so that the share of false alarms is unknown: give --calibrate FILE")
    if calibrate and (said := said_of_silence(judge)):
        _say(said)
    return name, judge


def _state(
    resume: str | None, options: CheckOptions, more: dict[str, Any]
) -> contextlib.AbstractContextManager[CheckState | None]:
    if resume is None:
        return contextlib.nullcontext()
    from pathlib import Path

    from numerate.apps.check_state import CheckState
    from numerate.files import content_hash

    content = [content_hash(Path(name)) for name in (more["model"], *more["calibrate"]) if name is not None]
    return CheckState(resume, options, more | {"content": content})


def _report(outcome: Outcome, *, as_json: bool, html: str | None, sarif: str | None, top: int) -> None:
    from numerate.apps.check_page import check_page
    from numerate.apps.check_reports import json_report, sarif_report, terminal_report
    from numerate.files import write_atomically

    if html is not None:
        write_atomically(html, check_page(outcome))
    if sarif is not None:
        # Half a surrogate pair becomes a question mark: strict JSON readers refuse a file that has its escape.
        report = json.dumps(sarif_report(outcome), ensure_ascii=False, indent=1).encode("utf-8", "replace")
        if sarif == "-":
            sys.stdout.buffer.write(report + b"\n")
        else:
            write_atomically(sarif, report)
    if as_json:
        write_json(json_report(outcome))
    elif sarif != "-":
        out = console()
        for line in terminal_report(outcome, top):
            out.print(line, soft_wrap=True)


def _named(problem: Problem, *, lenient: bool) -> str:
    """A problem in one line, with the name of its file in quotes."""
    line = f", line {problem.line}" if problem.line is not None else ""
    hint = "; leave it out, or give --lenient" if problem.is_harmless and not lenient else ""
    return f"{problem.source!r}{line}: {problem.message}{hint}"


def _is_error(problem: Problem, *, lenient: bool) -> bool:
    """Whether a problem makes the exit code 2."""
    if problem.is_note:
        return False
    return problem.fatal and not problem.is_harmless if lenient else True


def _say(line: str) -> None:
    from numerate.apps.numeral_view import visible

    sys.stderr.write(f"numerate: {visible(line)}\n")


COMMANDS = (check,)
