"""The command line. Only wiring: each command's work is in `numerate.cli`, imported when the command runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from numerate.cli.fill_command import add_fill
from numerate.cli.training_commands import add_training

__all__ = ["app", "main", "process_count", "write_json"]

BAD_INPUT = 2
MAX_PROCESSES = 256
_UsageFault: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
"""The command-line parser's own error; typer exports only its subclasses under public names."""


class _OneLine(TyperGroup):
    """Ends with one clear line instead of a panel or a traceback when the user's input is at fault."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        from numerate.errors import BadInput

        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except BadInput as error:
            _fail(str(error))
        except _UsageFault as error:
            context = getattr(error, "ctx", None)
            message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
            _fail(f"{message}; see {context.command_path if context else 'numerate'} --help")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # `| head` has seen enough. What is still buffered must not meet the closed pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        return result


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"numerate: {' '.join(message.split())}\n")
    sys.exit(BAD_INPUT)


app = typer.Typer(
    cls=_OneLine,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the boxes would double the time that `--help` takes
    help="A sense of numbers for any language model.",
)

ReaderName = Annotated[str, typer.Option("--reader", help="Which reader: standard, luna, plain, records.")]
FieldName = Annotated[str | None, typer.Option("--field", help="Read this field of JSON lines.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    if version:
        from numerate import __version__

        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def find(
    file: Annotated[str, typer.Argument(help="A text file, one text a line; *.gz is unpacked; - is standard input.")],
    reader: ReaderName = "standard",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a numeral.")] = False,
    words: Annotated[bool, typer.Option("--words", help="Read number words, too.")] = False,
    roman: Annotated[bool, typer.Option("--roman", help="Read Roman numerals, too.")] = False,
    locale: Annotated[str | None, typer.Option(help="auto, en, eu, in or ch.")] = None,
    field: FieldName = None,
    processes: Annotated[str, typer.Option(metavar="N", help="Read with this many processes.")] = "1",
) -> None:
    """Find the numbers of a text file.

    A person gets coloured text. A file or a pipe gets tab-separated columns (index of the line, start, end, value,
    kind, unit, text), or JSON lines with --json. The file is streamed and the order is kept.
    """
    from numerate.cli.find import find_in_file

    options = {"words": words or None, "roman": roman or None, "locale": locale}
    person = sys.stdout.isatty() and not as_json
    find_in_file(
        file,
        sys.stdout.buffer,
        reader=reader,
        options={key: value for key, value in options.items() if value is not None},
        field=field,
        form="json" if as_json else "view" if person else "columns",
        processes=process_count(processes),
        width=_console().width if person else 100,
    )


@app.command()
def audit(
    tokenizer_dir: Annotated[str, typer.Argument(help="A folder with a Hugging Face tokenizer.")],
    text: Annotated[str | None, typer.Option(help="Audit the numbers of this file instead of made-up ones.")] = None,
    reader: ReaderName = "standard",
    field: FieldName = None,
    as_json: AsJson = False,
) -> None:
    """Show how a tokenizer splits numbers.

    Tokens per number by length, single digits or threes from the left or right, numbers that are split differently in
    different places, unknown tokens, and what decoding gives back. Nothing is fetched, and no code of the folder runs.
    """
    from numerate.cli.audit import Audit, load_tokenizer, made_up_numbers, numbers_of_file
    from numerate.cli.source import checked_reader, progress

    with progress([text] if text else []) as on_position:
        # The reader is checked first: the tokenizer takes seconds to load.
        chosen = checked_reader(reader, {}) if text else None
        judge = Audit(load_tokenizer(tokenizer_dir))
        source = numbers_of_file(text, chosen, field, on_position) if text and chosen else made_up_numbers()
        for line, spans in source:
            judge.add(line, spans)
    result = judge.result()
    if as_json:
        return write_json(result)
    from numerate.cli.corpus_tables import audit_tables

    for table in audit_tables(result):
        _console().print(table)
    return None


@app.command()
def stats(
    files: Annotated[list[str], typer.Argument(help="Text files, one text a line; *.gz is unpacked.")],
    reader: ReaderName = "standard",
    field: FieldName = None,
    as_json: AsJson = False,
) -> None:
    """Describe the numbers of a corpus.

    How many, how long, how large, of which kinds, how frequent, and how many a vocabulary of 1,000 or 5,000 leaves out.
    One column for each file. The memory is bounded: beyond 200,000 different tokens or values, figures marked ≈ are
    approximate.
    """
    from numerate.cli.source import progress
    from numerate.cli.stats import stats_of_file

    with progress(files) as on_position:
        results = [stats_of_file(file, reader, field, on_position) for file in files]
    if as_json:
        for result in results:
            write_json(result)
        return
    from numerate.cli.corpus_tables import stats_table

    _console().print(stats_table(results))


@app.command()
def doctor() -> None:
    """Check the installation: packages, extras, devices, reading."""
    from rich.text import Text

    from numerate.cli.doctor import examine

    findings = examine()
    console = _console()
    colours = {"ok": "green", "missing": "yellow", "bad": "bold red"}
    for finding in findings:
        line = Text.assemble((f"{finding.health:8}", colours[finding.health]), f"{finding.what:16} {finding.state}")
        console.print(line.append(f"   {finding.advice}", style="dim") if finding.advice else line, soft_wrap=True)
    if any(finding.health == "bad" for finding in findings):
        raise typer.Exit(1)


@app.command()
def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the page of plots.")] = "numerate-demo",
    quick: Annotated[bool, typer.Option("--quick", help="A few steps, only to see that all runs.")] = False,
    seed: Annotated[int, typer.Option(help="Of texts, weights and masks.")] = 0,
    sample: Annotated[bool, typer.Option("--sample", help="Only show the numbers of a sample report.")] = False,
    reader: ReaderName = "standard",
) -> None:
    """Train a small BERT without and with a sense of numbers, and compare what they predict.

    A few minutes on two cores. Prints how well each predicts masked numbers and words, and draws plots.
    """
    from numerate.apps.demo import run_demo, show_sample
    from numerate.cli.source import checked_reader

    checked_reader(reader, {})
    if sample:
        show_sample(_console(), reader)
    else:
        run_demo(_console(), output, quick, seed)


@app.command()
def generate(
    model: Annotated[str, typer.Argument(help="A saved model's folder or Hub id.")],
    prompt: Annotated[list[str] | None, typer.Argument(help="Texts to go on from.")] = None,
    file: Annotated[str | None, typer.Option(help="A file of prompts, one a line; - is standard input.")] = None,
    max_new_tokens: Annotated[int, typer.Option(help="How many tokens at most.")] = 64,
    sample: Annotated[bool, typer.Option("--sample", help="Draw, instead of taking the most probable.")] = False,
    temperature: Annotated[float, typer.Option(help="Of what is drawn.")] = 1.0,
    beams: Annotated[int, typer.Option(help="Search with this many beams.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Go on from prompts in words and numbers.

    With --json one object a prompt, with each number's value and its 90 % interval.
    """
    from numerate.cli.generate import continuations, prompts_of

    options = {"do_sample": sample, "temperature": temperature, "num_beams": beams}
    for found in continuations(model, prompts_of(tuple(prompt or ()), file), max_new_tokens, **options):
        if as_json:
            write_json(found)
        else:
            typer.echo(found["prompt"] + found["text"])


def process_count(text: str) -> int:
    """Parsed here and not by typer, whose message does not quote what was given."""
    from numerate.errors import BadInput

    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_PROCESSES):
        raise BadInput(f"--processes {text!r}: give a whole number from 1 to {MAX_PROCESSES}")
    return int(text)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def write_json(result: dict[str, Any]) -> None:
    """Writes one line of JSON to standard output."""
    import json

    line = json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n"
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


add_training(app, _console, write_json)
add_fill(app, _console, write_json)


def add_plugins() -> None:
    """Adds the commands of other packages: entry points of the group `numerate.commands`, functions of the app."""
    from importlib import metadata

    for entry in metadata.entry_points(group="numerate.commands"):
        entry.load()(app)


add_plugins()


def main() -> None:
    """The `numerate` command."""
    app(prog_name="numerate")
