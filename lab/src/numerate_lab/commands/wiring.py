"""Wiring of the commands `compare`, `reproduce` and `extract`; their work is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_commands"]

Output = Annotated[str, typer.Option("--output", "-o", help="Folder for results and tables.")]
Processes = Annotated[str, typer.Option(metavar="N", help="Train this many models at a time.")]


def add_commands(app: typer.Typer) -> None:
    """Adds the laboratory's commands to the command line of `numerate`."""
    from numerate.cli.app import process_count, write_json

    _add_extract(app, write_json)

    @app.command()
    def compare(
        task: Annotated[str, typer.Option(help="multiply-3, add-6, ...; several by commas; or a file of texts.")],
        encodings: Annotated[str, typer.Option(help="By commas: p10,xval+scalar,fourier,bits,digits.")],
        heads: Annotated[str, typer.Option(help="By commas, for encodings that name none.")] = "",
        budget: Annotated[str, typer.Option(help="What is equal: samples, tokens or seconds.")] = "samples",
        amount: Annotated[float | None, typer.Option(help="How much of it, for each training.")] = None,
        rates: Annotated[str, typer.Option(help="Learning rates to choose from on dev texts.")] = "3e-4,1e-3,3e-3",
        rate_share: Annotated[float, typer.Option(help="Share of the amount that a try of a rate gets.")] = 0.25,
        seeds: Annotated[int, typer.Option(help="Trainings of each encoding.")] = 3,
        scale: Annotated[str, typer.Option(help="tiny or small.")] = "small",
        option: Annotated[list[str] | None, typer.Option(help="Of every training, as width=128; repeatable.")] = None,
        processes: Processes = "1",
        output: Output = "results/compare",
    ) -> None:
        """Compare ways to write numbers on one task: same texts, same order, same budget, best learning rate each.

        Cells that have a result in the folder already are not trained again. A file of texts is JSONL with `text`, or
        plain text; the last number of each is asked for.
        """
        from numerate_lab.commands.compare import compare_encodings, parsed_options, parsed_rates

        compare_encodings(
            output, task=task, encodings=_names(encodings), heads=_names(heads), budget=budget, amount=amount,
            rates=parsed_rates(rates), rate_share=rate_share, seeds=seeds, scale=scale,
            options=parsed_options(option or []), processes=process_count(processes), say=typer.echo,
        )  # fmt: skip

    @app.command()
    def reproduce(
        run: Annotated[
            str,
            typer.Argument(
                help="Which tables: numerals-2018; xval-table1 to -table5; literacy-table3 to -table6, literacy-bins, "
                "literacy-protocols, float-table1, float-table2, masked-numbers."
            ),
        ],
        output: Output = "results",
        corpus: Annotated[
            list[str] | None,
            typer.Option(help="Only this corpus; of literacy tables also a file or a Hub name; repeatable."),
        ] = None,
        model: Annotated[
            list[str] | None,
            typer.Option(help="Only this model or encoding; of literacy tables, the model to start from; repeatable."),
        ] = None,
        scale: Annotated[
            str, typer.Option(help="tiny (minutes on a laptop), small, paper, or of words small-by-unit.")
        ] = "tiny",
        data: Annotated[
            str | None, typer.Option(help="Folder with corpora, or for xval-table4 a file; without, made up.")
        ] = None,
        seconds: Annotated[float | None, typer.Option(help="Time limit for each training of numerals-2018.")] = None,
        seeds: Annotated[
            int | None, typer.Option(help="Trainings of each encoding of xval- and literacy tables.")
        ] = None,
        processes: Processes = "1",
        save: Annotated[
            bool,
            typer.Option(
                "--save", help="Keep the 2018 models (and draw their figures), or literacy tables' first seeds."
            ),
        ] = False,
        recompute: Annotated[
            bool,
            typer.Option(
                "--recompute", help="Of numerals-2018 and literacy tables: all figures again from the predictions."
            ),
        ] = False,
        encoder: Annotated[list[str] | None, typer.Option(help="Of literacy tables, only this; repeatable.")] = None,
        train: Annotated[str, typer.Option(help="In literacy tables: head (frozen encoder), all, or both.")] = "head",
        plain: Annotated[
            str | None, typer.Option(help="Of literacy tables: a file of texts, of which those without numbers count.")
        ] = None,
    ) -> None:
        """Train a paper's models again and render its tables, the paper's figures beside ours.

        A model that has a result in the folder already is not trained again, so a run that was stopped goes on.
        """
        from numerate.errors import BadInput
        from numerate.registry import near_names
        from numerate_lab.commands.reproduce import (
            RUNS,
            recompute_numerals_2018,
            reproduce_nature,
            reproduce_numerals_2018,
            reproduce_xval,
        )
        from numerate_lab.commands.reproduce_literacy import RUNS as LITERACY
        from numerate_lab.commands.reproduce_literacy import reproduce_literacy

        if run not in RUNS + LITERACY:
            raise BadInput(f"unknown run {run!r}: {near_names(run, [*RUNS, *LITERACY])}")
        if recompute and run not in ("numerals-2018", *LITERACY):
            raise BadInput(f"--recompute is of numerals-2018 and literacy tables, got {run!r}")
        count = process_count(processes)
        if run in LITERACY:
            reproduce_literacy(
                run, output, models=tuple(model or ()), data=data, corpora=tuple(corpus or ()), scale=scale,
                encoders=tuple(encoder or ()), train=train, seeds=seeds, processes=count, save=save,
                recompute=recompute, plain=plain, say=typer.echo,
            )  # fmt: skip
            return
        chosen = tuple(model or ())
        if run in ("xval-table4", "xval-table5"):
            reproduce_nature(
                run, output, encodings=chosen, scale=scale, seeds=seeds, data=data, processes=count, say=typer.echo
            )
            return
        if run != "numerals-2018":
            reproduce_xval(run, output, encodings=chosen, scale=scale, seeds=seeds, processes=count, say=typer.echo)
            return
        if recompute:
            recompute_numerals_2018(
                output, corpora=tuple(corpus or ()), models=chosen, scale=scale, data=data, say=typer.echo
            )
            return
        reproduce_numerals_2018(
            output, corpora=tuple(corpus or ()), models=chosen, scale=scale, data=data, seconds=seconds,
            save=save, processes=count, say=typer.echo,
        )  # fmt: skip


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _add_extract(app: typer.Typer, write_json: Callable[[dict[str, Any]], None]) -> None:
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
        from numerate_lab.commands.extract import extract_wiki_convert, left_out_line

        names = tuple(name or ())
        found = extract_wiki_convert(
            dump, output, names=names, most_units=most_units, every=every, units=units, decimal=decimal
        )
        write_json(found)
        typer.echo(left_out_line(found["left_out"]), err=True)
