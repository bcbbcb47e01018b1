"""The command `check`: options and output."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from numerate.cli.source import process_count
from numerate.cli.terminal import console, progress, write_json
from numerate.errors import BadInput

__all__ = ["COMMANDS", "check"]


def check(
    files: Annotated[list[str], typer.Argument(help="Files of any format below; *.gz is decompressed; - is stdin.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object with all findings.")] = False,
    html: Annotated[str | None, typer.Option(help="Write an HTML report to this file.")] = None,
    sarif: Annotated[str | None, typer.Option(help="Write a SARIF 2.1.0 report to this file; - is stdout.")] = None,
    kind: Annotated[
        str | None,
        typer.Option("--format", help="text, markdown, html, csv, tsv, json, jsonl, xlsx or docx; else by name."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="A model that judges plausibility: folder or Hub id.")] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Use rules and distributions only.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Let the model skip numbers that are certain.")] = False,
    false_alarms: Annotated[
        float | None, typer.Option(help="Share of right numbers that may be reported as improbable.")
    ] = None,
    calibrate: Annotated[
        list[str] | None, typer.Option(help="A file whose numbers are right, to fit the model's alarms to; repeatable.")
    ] = None,
    fail_above: Annotated[float, typer.Option(help="Exit with 1 only for findings of a higher probability.")] = 0.0,
    ignore: Annotated[list[str] | None, typer.Option(help="Leave out this rule; may be repeated.")] = None,
    top: Annotated[int, typer.Option(help="Number of findings shown in the terminal.")] = 50,
    processes: Annotated[str, typer.Option(metavar="N", help="Number of processes.")] = "1",
    engine: Annotated[str, typer.Option("--engine", help="local, or ray for more than one machine.")] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="Ray cluster, HOST:PORT or auto; else a local one is started.")
    ] = None,
) -> None:
    """Find numbers that contradict each other or look wrong: a spell-checker for numbers.

    Reads text, Markdown, HTML, CSV, TSV, JSON, JSON lines, XLSX and DOCX. Exit code 0: nothing found, 1: findings,
    2: an error. A line with `numerate: ignore` is left out.
    """
    if not 0 <= fail_above <= 1:
        raise BadInput(f"--fail-above must lie between 0 and 1, got {fail_above}")
    if false_alarms is not None and not 0 < false_alarms < 1:
        raise BadInput(f"--false-alarms must lie between 0 and 1, got {false_alarms}")
    if model is not None and no_model:
        raise BadInput("--model and --no-model exclude each other: give one of them")
    if calibrate and model is None:
        raise BadInput("--calibrate fits the alarms of a model: give --model, too")
    if top < 0:
        raise BadInput(f"--top must not be negative, got {top}")
    from numerate.apps.check import CheckOptions, check_ignored, model_checker
    from numerate.apps.check_page import KEPT_TEXT, check_page
    from numerate.apps.check_processes import check_files
    from numerate.apps.formats.opening import check_format

    names = tuple(name for each in ignore or () for name in each.replace(",", " ").split())
    check_ignored(names)
    check_format(kind)
    count = process_count(processes)
    options = CheckOptions(ignore=names, false_alarms=false_alarms, kind=kind)
    judge = None
    if model is not None:
        judge = model_checker(model, false_alarms=false_alarms, fast=fast, calibrate=calibrate or ())
        if getattr(getattr(judge, "model", None), "calibration", None) is None:
            said = "is not calibrated, so that the share of false alarms is unknown: give --calibrate FILE"
            typer.echo(f"numerate: {model} {said}", err=True)
    from numerate.apps.check_engine import check_on_engine, expanded

    files = expanded(files)
    kept = KEPT_TEXT if html else 0
    if engine == "local" and ray_address is None:
        with progress(files) as on_position:
            outcome = check_files(
                files, options, model=judge, processes=count, on_position=on_position, keep_texts=kept
            )
    else:
        if judge is not None:
            raise BadInput("--model runs in one process: leave out --engine, or check without a model")
        outcome = check_on_engine(files, options, engine, count, ray_address, keep_texts=kept)
    for problem in outcome.problems:
        where = f"{problem.source}:{problem.line}" if problem.line is not None else problem.source
        sys.stderr.write(f"numerate: {where}: {problem.message}\n")
    from numerate.apps.check_reports import json_report, sarif_report, terminal_report
    from numerate.files import write_atomically

    if html is not None:
        write_atomically(html, check_page(outcome))
    if sarif is not None:
        report = json.dumps(sarif_report(outcome), ensure_ascii=False, indent=1)
        if sarif == "-":
            sys.stdout.buffer.write(report.encode("utf-8", "backslashreplace") + b"\n")
        else:
            write_atomically(sarif, report.encode("utf-8", "backslashreplace"))
    if as_json:
        write_json(json_report(outcome))
    elif sarif != "-":
        out = console()
        for line in terminal_report(outcome, top):
            out.print(line, soft_wrap=True)
    if any(problem.fatal and not problem.is_harmless for problem in outcome.problems):
        raise typer.Exit(2)
    if any(finding.probability > fail_above for finding in outcome.findings):
        raise typer.Exit(1)


COMMANDS = (check,)
