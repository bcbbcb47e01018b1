"""The `numerate` command. Commands are light modules: the work of each is imported when the command runs."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from numerate.cli import prediction_commands, run_commands, text_commands
from numerate.cli.source import process_count
from numerate.cli.terminal import write_json

__all__ = ["add_plugins", "app", "process_count", "write_json"]

BAD_INPUT = 2
_UsageError: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
"""The command-line parser's own error; typer exports only its subclasses under public names."""


class _OneLineErrors(TyperGroup):
    """Prints errors of the user's input as one line instead of a panel or a traceback."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        from numerate.errors import NumerateError

        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except NumerateError as error:
            _fail(str(error))
        except _UsageError as error:
            context = getattr(error, "ctx", None)
            message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
            _fail(f"{message}; see {context.command_path if context else 'numerate'} --help")
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader (as `head`) closed the pipe. Buffered output must not be written to it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        return result


def _fail(message: str) -> NoReturn:
    sys.stderr.write(f"numerate: {' '.join(message.split())}\n")
    sys.exit(BAD_INPUT)


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
) -> None:
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


for command in (*text_commands.COMMANDS, *run_commands.COMMANDS, *prediction_commands.COMMANDS):
    app.command(command.__name__.removesuffix("_command"))(command)
add_plugins()
