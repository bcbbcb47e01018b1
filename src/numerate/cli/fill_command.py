"""Wiring of the command `fill`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_fill"]


def add_fill(app: typer.Typer, console: Callable[[], Any], write_json: Callable[[dict[str, Any]], None]) -> None:
    """Adds the commands to the command line, which lends its console and its way of writing JSON."""

    @app.command()
    def fill(
        text: Annotated[str, typer.Argument(help='With one gap: "The [MASK] weighs 100 lbs."')],
        model: Annotated[list[str], typer.Option(help="A saved model or any masked language model; more to compare.")],
        swap: Annotated[list[str] | None, typer.Option(help="Another number in place of the text's first.")] = None,
        top: Annotated[int, typer.Option(help="How many words.")] = 5,
        as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    ) -> None:
        """Fill the gap of a text with words, and see how they move when only the number does."""
        from numerate.apps.fill import fill as work
        from numerate.apps.fill import fill_tables

        results = work(text, model, swap=tuple(swap or ()), top=top)
        if as_json:
            for result in results:
                write_json(result)
        else:
            for table in fill_tables(results):
                console().print(table)
