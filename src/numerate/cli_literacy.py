"""The commands `fill` and `extract` of the command line; as in `numerate.cli`, only wiring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_literacy"]


def add_literacy(app: typer.Typer, console: Callable[[], Any], write_json: Callable[[dict[str, Any]], None]) -> None:
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
        from numerate.commands.fill import fill as work
        from numerate.commands.fill import fill_tables

        results = work(text, model, swap=tuple(swap or ()), top=top)
        if as_json:
            for result in results:
                write_json(result)
        else:
            for table in fill_tables(results):
                console().print(table)

    extract = typer.Typer(help="Make data sets out of what anybody can download.", no_args_is_help=True)
    app.add_typer(extract, name="extract")

    @extract.callback()
    def extracts() -> None:
        """Make data sets out of what anybody can download."""

    @extract.command("wiki-convert")
    def wiki_convert(
        dump: Annotated[str, typer.Argument(help="A MediaWiki XML dump; *.bz2 and *.gz are unpacked.")],
        output: Annotated[str, typer.Option("--output", "-o", help="Folder for the three splits.")] = "wiki-convert",
        name: Annotated[list[str] | None, typer.Option(help="Another name of the template.")] = None,
        most_units: Annotated[int, typer.Option(help="Only so many most frequent units; 0 for all.")] = 30,
        every: Annotated[bool, typer.Option("--every", help="Sentences with other numbers, too.")] = False,
        units: Annotated[str | None, typer.Option(help="name (English) or code; by the dump's language.")] = None,
        decimal: Annotated[str | None, typer.Option(help="point or comma; by the dump's language.")] = None,
    ) -> None:
        """Find the sentences in which {{convert}} names a number and its unit, as Wiki-Convert was made."""
        from numerate.commands.extract import extract_wiki_convert, told_left_out

        names = tuple(name or ())
        found = extract_wiki_convert(
            dump, output, names=names, most_units=most_units, every=every, units=units, decimal=decimal
        )
        write_json(found)
        typer.echo(told_left_out(found["left_out"]), err=True)
