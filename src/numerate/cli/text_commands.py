"""The commands `find`, `audit`, `stats`, `doctor` and `demo`: options and output."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from numerate.cli.options import AsJson, EngineName, Processes, RayAddress
from numerate.cli.source import check_seed, checked_reader, process_count
from numerate.cli.terminal import console, on_terminal, progress, write_json
from numerate.errors import BadInput

__all__ = ["COMMANDS"]

ReaderName = Annotated[str, typer.Option("--reader", help="Name of the reader: standard, luna, plain, records.")]
FieldName = Annotated[str | None, typer.Option("--field", help="Read this field of JSON lines.")]


def find(
    files: Annotated[
        list[str],
        typer.Argument(help="A text file, one text per line, or with --output many, folders and addresses (s3://...); "
                       "*.gz is decompressed; - is stdin."),
    ],
    reader: ReaderName = "standard",
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per number.")] = False,
    words: Annotated[bool, typer.Option("--words", help="Also read number words.")] = False,
    roman: Annotated[bool, typer.Option("--roman", help="Also read Roman numerals.")] = False,
    locale: Annotated[str | None, typer.Option(help="Decimal and grouping marks: auto, en, eu, in or ch.")] = None,
    cell: Annotated[bool, typer.Option("--cell", help="Each line is a table cell: (317) and 5- are negative.")] = False,
    field: FieldName = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Folder or address: one output file for each file.")
    ] = None,
    processes: Processes = "1",
    engine: EngineName = "local",
    ray_address: RayAddress = None,
) -> None:  # fmt: skip
    """Find the numbers of a text file.

    On a terminal the text is coloured. A file or pipe gets tab-separated columns (line index, start, end, value, kind,
    unit, text), or JSON lines with --json. The file is streamed and the order is kept. With --output, files that are
    finished are not read again when the command is started again.
    """
    from numerate.cli.find import FindJob, find_in_file

    given = {"words": words or None, "roman": roman or None, "cell": cell or None, "locale": locale}
    options = {key: value for key, value in given.items() if value is not None}
    checked_reader(reader, options)
    coloured = on_terminal() and not as_json and output is None
    form = "json" if as_json else "view" if coloured else "columns"
    width = console().width if coloured else 100
    from numerate.training.engines.local import engine_of
    from numerate.training.engines.places import is_folder

    if output is None and (len(files) > 1 or is_folder(files[0])):
        raise BadInput(f"{', '.join(map(repr, files))[:200]}: several files need --output FOLDER, or give one file")
    with engine_of(engine, process_count(processes), ray_address) as runner:
        from numerate.cli.find_parts import find_in_files, find_to_stream

        job = FindJob(reader, tuple(sorted(options.items())), field, form, width)
        if output is not None:
            if "-" in files:
                raise BadInput("-: standard input has no name for --output; leave --output out, or give a file")
            found = find_in_files(
                files, output, job, runner, on_fault=lambda said: typer.echo(f"numerate: {said}", err=True)
            )
            size = sum(part["bytes"] for part in found["parts"])
            typer.echo(f"{output}: {len(found['parts']):,} files, {size:,} bytes")
        elif engine == "ray":
            find_to_stream(files[0], sys.stdout.buffer, job, runner)
        else:
            find_in_file(
                files[0], sys.stdout.buffer, reader=reader, field=field, options=options, form=form, width=width,
                engine=runner,
            )  # fmt: skip


def audit(
    tokenizer_dir: Annotated[str, typer.Argument(help="A folder with a Hugging Face tokenizer.")],
    text: Annotated[str | None, typer.Option(help="Audit the numbers of this file instead of generated ones.")] = None,
    reader: ReaderName = "standard",
    field: FieldName = None,
    as_json: AsJson = False,
) -> None:
    """Show how a tokenizer splits numbers.

    Tokens per number by length; single digits, or groups of three from the left or right; numbers that are split
    differently in different contexts; unknown tokens; and whether decoding restores the number. Nothing is downloaded,
    and no code of the folder runs.
    """
    from numerate.cli.audit import Audit, load_tokenizer, made_up_numbers, numbers_of_file

    with progress([text] if text else []) as on_position:
        # The reader is checked first: the tokenizer takes seconds to load.
        chosen = checked_reader(reader, {}) if text else None
        found = Audit(load_tokenizer(tokenizer_dir))
        source = numbers_of_file(text, chosen, field, on_position) if text and chosen else made_up_numbers()
        for line, spans in source:
            found.add(line, spans)
    result = found.result()
    if as_json:
        return write_json(result)
    from numerate.cli.corpus_tables import audit_tables

    return console().print(*audit_tables(result), sep="\n")


def stats(
    files: Annotated[
        list[str],
        typer.Argument(help="Text files, one text per line, folders, addresses (s3://...); *.gz is decompressed."),
    ],
    reader: ReaderName = "standard",
    field: FieldName = None,
    as_json: AsJson = False,
    tables: Annotated[bool, typer.Option("--tables", help="The files hold tables: JSON objects with rows.")] = False,
    parts: Annotated[
        str | None, typer.Option(help="Folder or address for finished parts, so that a restarted command continues.")
    ] = None,
    processes: Processes = "1",
    engine: EngineName = "local",
    ray_address: RayAddress = None,
) -> None:
    """Describe the numbers of a corpus.

    Counts, lengths, magnitudes, kinds, frequencies, and how many numbers a vocabulary of 1,000 or 5,000 tokens leaves
    out. One column per file. Memory is bounded: with more than 200,000 different tokens or values, figures marked ≈
    are approximate. With --tables: counts of tables, rows, columns, cells and texts, and the shares that have numbers.
    """
    from numerate.cli.stats import StatsPart, stats_of_file, stats_of_files
    from numerate.training.engines.local import engine_of
    from numerate.training.engines.places import is_folder

    count = process_count(processes)
    if tables:
        from numerate.cli.table_stats import stats_of_tables

        if count > 1 or engine != "local" or parts is not None:
            raise BadInput("--tables counts in one process: leave out --processes, --engine and --parts")
        results = [stats_of_tables(file, reader) for file in files]
    elif count == 1 and engine == "local" and parts is None and not any(map(is_folder, files)):
        with progress(files) as on_position:
            results = [stats_of_file(file, reader, field, on_position) for file in files]
    else:
        checked_reader(reader, {})
        with engine_of(engine, count, ray_address) as runner:
            results = stats_of_files(files, StatsPart(reader, field), runner, folder=parts)
    if as_json:
        for result in results:
            write_json(result)
        return
    from numerate.cli.corpus_tables import stats_table

    console().print(stats_table(results))


def doctor() -> None:
    """Check the installation: packages, extras, devices, reading."""
    from rich.text import Text

    from numerate.cli.doctor import examine

    findings = examine()
    colours = {"ok": "green", "missing": "yellow", "bad": "bold red"}
    for finding in findings:
        line = Text.assemble((f"{finding.health:8}", colours[finding.health]), f"{finding.what:16} {finding.state}")
        console().print(line.append(f"   {finding.advice}", style="dim") if finding.advice else line, soft_wrap=True)
    if any(finding.health == "bad" for finding in findings):
        raise typer.Exit(1)


def demo(
    train: Annotated[bool, typer.Option("--train", help="Train two small models and compare them instead.")] = False,
    model: Annotated[str | None, typer.Option(help="A saved model for the tour: folder or Hub id.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for pages and models.")] = "numerate-demo",
    quick: Annotated[bool, typer.Option("--quick", help="--train with only a few steps, as a test.")] = False,
    seed: Annotated[int, typer.Option(help="With --train: random seed of texts, weights and masks.")] = 0,
    sample: Annotated[bool, typer.Option("--sample", help="Only show the numbers of a sample text.")] = False,
    reader: ReaderName = "standard",
) -> None:
    """Take a tour: check a report with slips in it, fill gaps with numbers, and see where the page is.

    The model that comes with numerate is used if it is there; without one, the report is checked by rules. With
    --train, two small BERTs are trained in about 90 s on two cores, one without and one with a sense of numbers.
    """
    from numerate.files import check_writable

    checked_reader(reader, {})
    check_seed(seed)
    if model is not None and (train or quick or sample):
        raise BadInput("--model is for the tour: leave out --train, --quick and --sample")
    if sample:
        from numerate.apps.demo import show_sample

        show_sample(console(), reader)
        return
    check_writable(output)
    if train or quick:
        from numerate.apps.demo import run_demo

        run_demo(console(), output, quick, seed)
    else:
        from numerate.apps.tour import run_tour

        run_tour(console(), output, model)


COMMANDS = (find, audit, stats, doctor, demo)
