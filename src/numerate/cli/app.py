"""The `numerate` command. Commands are light modules: the work of each is imported when the command runs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from numerate.cli import (
    check_commands,
    play_commands,
    prediction_commands,
    run_commands,
    serve_commands,
    text_commands,
    view_commands,
)
from numerate.cli.boundary import exit_code, outlive_the_reader, parser_safe, without_debug
from numerate.cli.source import process_count
from numerate.cli.terminal import write_json

__all__ = ["add_plugins", "app", "process_count", "write_json"]

FILE_COMMANDS = frozenset(["compare", "demo", "extract", "pack", "prepare", "reproduce", "see", "train"])
"""Commands whose result are files: they go on when the reader of their output (as `head`) closes the pipe."""


class _OneLineErrors(TyperGroup):
    """Runs every command inside the boundary for errors, see `numerate.cli.boundary`."""

    def main(self, args: Any = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(args, *rest, standalone_mode=False, **extra)
        words, debug = without_debug(list(sys.argv[1:] if args is None else args))
        run = super().main
        sys.exit(exit_code(lambda: run(words if debug else args, *rest, standalone_mode=False, **extra), debug))

    def invoke(self, ctx: Any) -> Any:
        # Inside of the parser, which turns a closed pipe into exit code 1 and a file's unexpected end into Ctrl-C.
        with parser_safe():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: boxes would double the time of `--help`
    help="A sense of numbers for any language model.",
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    plugin: run_commands.Plugins = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")] = False,
) -> None:
    del debug  # taken out of the arguments before they are parsed
    if context.invoked_subcommand in FILE_COMMANDS:
        outlive_the_reader()
    run_commands.load_plugins(plugin)
    if version:
        from numerate import __version__

        typer.echo(__version__)
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def add_plugins() -> None:
    """Adds the commands of other packages: each entry point of the group `numerate.commands` is called with the app.

    A package that cannot be imported gives one line on standard error; all other commands still work.
    """
    from importlib import metadata

    for entry in metadata.entry_points(group="numerate.commands"):
        try:
            entry.load()(app)
        except Exception as error:  # a broken package may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            sys.stderr.write(f"numerate: the commands of {entry.value} are missing: {reason}\n")


for command in (
    *text_commands.COMMANDS,
    *check_commands.COMMANDS,
    *run_commands.COMMANDS,
    *prediction_commands.COMMANDS,
    *view_commands.COMMANDS,
    *play_commands.COMMANDS,
    *serve_commands.COMMANDS,
):
    app.command(command.__name__.removesuffix("_command"))(command)
add_plugins()
