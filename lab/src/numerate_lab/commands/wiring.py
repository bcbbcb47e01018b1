"""Wiring of the commands `compare`, `reproduce`, `extract` and `export`; their work is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from numerate.cli.run_commands import Plugins, load_plugins

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_commands"]

_TASKS = (
    "add-6, multiply-3, planets, temperature, next-numeral, masked-words, masked-numbers, probes, transactions, tatqa, "
    "tabfact, pretraining, svamp, gsm8k, numersense, a task of a plugin, several arithmetic tasks by commas, or a file "
    "of texts."
)
_TABLES = (
    "numerals-2018, numerals-heads; xval-table1 to -table5; literacy-table3 to -table6, literacy-bins, "
    "literacy-protocols, literacy-rates, float-table1, float-table2, masked-numbers, masked-numbers-rates, "
    "luna-table2 to -table5, luna-grid."
)
Output = Annotated[str, typer.Option("--output", "-o", help="Folder for results and tables.")]
Processes = Annotated[str, typer.Option(metavar="N", help="How many encodings are trained at a time.")]
Names = list[str] | None


def _help(text: str) -> Any:
    return typer.Option(help=text)


def _by_commas(given: list[str] | None) -> tuple[str, ...]:
    """Names of an option that is repeated, or has them by commas as `--encodings` of `compare`."""
    return tuple(name.strip() for one in given or () for name in one.split(",") if name.strip())


def add_commands(app: typer.Typer) -> None:
    """Adds the laboratory's commands to the command line of `numerate`."""
    from numerate.cli.app import process_count, write_json

    _add_extract(app, write_json)
    _add_export(app)

    @app.command()
    def compare(
        task: Annotated[str, _help(_TASKS)],
        encodings: Annotated[str, _help("Separated by commas, as p10,xval+scalar,fourier,bits,digits.")],
        heads: Annotated[str, _help("Heads of encodings that name none, separated by commas.")] = "",
        budget: Annotated[str | None, _help("Unit of the equal budget: samples, tokens or seconds.")] = None,
        amount: Annotated[float | None, _help("Budget of each training, in units of --budget.")] = None,
        rates: Annotated[str, _help("Learning rates to choose from on dev.")] = "3e-4,1e-3,3e-3",
        rate_share: Annotated[float, _help("Share of the budget that a try of a rate gets.")] = 0.5,
        seeds: Annotated[int, _help("Trainings of each encoding.")] = 3,
        scale: Annotated[str, _help("Size of trunk, data and budget: tiny or small.")] = "small",
        base: Annotated[str | None, _help("The encoding that all others are compared with, with intervals.")] = None,
        option: Annotated[Names, _help("A setting of every training, as width=128; repeatable.")] = None,
        plugin: Plugins = None,
        processes: Processes = "1",
        output: Output = "out/compare",
    ) -> None:
        """Compare encodings of numbers on one task: same data, order and budget, best learning rate each.

        Trainings that have a result in the folder are not run again. A file of texts is JSONL with `text`, or plain
        text; the last number of each text is asked for.
        """
        from numerate_lab.commands.compare import compare_encodings, parsed_options, parsed_rates

        load_plugins(plugin)
        compare_encodings(
            output, task=task, encodings=_names(encodings), heads=_names(heads), budget=budget, amount=amount,
            rates=parsed_rates(rates), rate_share=rate_share, seeds=seeds, scale=scale, base=base,
            options=parsed_options(option or []), processes=process_count(processes), log=typer.echo,
        )  # fmt: skip

    @app.command()
    def reproduce(
        table: Annotated[str, typer.Argument(help=_TABLES)],
        output: Output = "results",
        corpus: Annotated[
            Names, _help("Only this corpus; masked prediction: also a file or Hub name; repeatable.")
        ] = None,
        model: Annotated[
            Names, _help("Only this encoding; masked prediction: the pretrained model; repeatable.")
        ] = None,
        scale: Annotated[str, _help("tiny (minutes on a laptop), small, paper, or another of the table's.")] = "tiny",
        data: Annotated[str | None, _help("Folder of corpora, or file of xval-table4; default: synthetic.")] = None,
        seconds: Annotated[float | None, _help("Time limit for each training of numerals-2018.")] = None,
        seeds: Annotated[int | None, _help("Trainings of each encoding.")] = None,
        processes: Processes = "1",
        save: Annotated[bool, typer.Option("--save", help="Save the model of each encoding's first seed.")] = False,
        recompute: Annotated[
            bool, typer.Option("--recompute", help="Train nothing; compute all figures again from predictions.")
        ] = False,
        encoder: Annotated[
            Names, _help("Masked prediction and luna tables: only these rows, by commas or repeated.")
        ] = None,
        train: Annotated[str, _help("For masked prediction: head (frozen encoder), all, or both.")] = "head",
        plain: Annotated[
            str | None, _help("Masked prediction: a file of texts; those without numbers are measured.")
        ] = None,
        start: Annotated[
            Names, _help("A model for rows such as luna@pretrained, as pretrained=FOLDER; repeatable.")
        ] = None,
        option: Annotated[Names, _help("luna-table3 to -table5: a setting of every training; repeatable.")] = None,
        plugin: Plugins = None,
    ) -> None:
        """Train a paper's models again and render its tables, the paper's figures beside ours.

        Trainings that have a result in the folder are not run again, so an interrupted run is resumed.
        """
        from numerate_lab.commands.compare import parsed_options, parsed_starts
        from numerate_lab.engine.paper_tables import Options
        from numerate_lab.engine.paper_tables import reproduce as run

        load_plugins(plugin)
        options = Options(
            output=output, scale=scale, models=tuple(model or ()), encoders=_by_commas(encoder),
            corpora=tuple(corpus or ()), data=data, seeds=seeds, seconds=seconds, processes=process_count(processes),
            save=save, recompute=recompute, train=train, plain=plain, starts=parsed_starts(start or []),
            settings=parsed_options(option or []), log=typer.echo,
        )  # fmt: skip
        run(table, options)

    @app.command()
    def pack(
        folder: Annotated[str, typer.Argument(help="The output folder of `compare` or `reproduce`.")],
        target: Annotated[str, typer.Argument(help="The file to write, as results/xval-table5.json.")],
        command: Annotated[str, _help("The command that makes these results.")],
        predictions: Annotated[
            Names, _help("Trials whose predictions are kept: a name with *, or none; repeatable.")
        ] = None,
        digits: Annotated[int | None, _help("Significant digits of figures without predictions.")] = None,
    ) -> None:
        """Pack a folder of results into one JSON file, and predictions into one .npz, as a repository keeps them."""
        from numerate.errors import BadInput
        from numerate_lab.engine.packed import pack as packed

        try:
            kept = ("*",) if predictions is None else tuple(name for name in predictions if name != "none")
            typer.echo(str(packed(folder, target, command=command, predictions=kept, digits=digits)))
        except ValueError as error:
            raise BadInput(str(error)) from None

    @app.command()
    def recompute(
        file: Annotated[str, typer.Argument(help="A packed table, as results/xval-table5.json.")],
        option: Annotated[
            list[str] | None, typer.Option(help="A setting to replace, as source=DIR; repeatable.")
        ] = None,
    ) -> None:
        """Compute the figures of a packed table again from its stored predictions."""
        from numerate.errors import BadInput
        from numerate_lab.commands.compare import parsed_options
        from numerate_lab.engine.packed import recompute_packed

        try:
            found = recompute_packed(file, **parsed_options(option or []))
        except (ValueError, LookupError, OSError) as error:
            raise BadInput(str(error)) from None
        for name, same in found.items():
            typer.echo(f"{name}: {'same' if same else 'DIFFERENT'}")
        if not found or not all(found.values()):
            raise BadInput(f"{file}: {'no predictions to compute from' if not found else 'some figures differ'}")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _add_extract(app: typer.Typer, write_json: Callable[[dict[str, Any]], None]) -> None:
    extract = typer.Typer(help="Make data sets out of what anybody can download.", no_args_is_help=True)
    app.add_typer(extract, name="extract")

    @extract.command("wiki-convert")
    def wiki_convert(
        dump: Annotated[str, typer.Argument(help="A MediaWiki XML dump; *.bz2 and *.gz are unpacked.")],
        output: Annotated[str, typer.Option("--output", "-o", help="Folder for the three splits.")] = "wiki-convert",
        name: Annotated[Names, _help("Another name of the template; repeatable.")] = None,
        most_units: Annotated[int, _help("Keep only so many of the most frequent units; 0 for all.")] = 30,
        every: Annotated[bool, typer.Option("--every", help="Keep sentences with other numbers as well.")] = False,
        units: Annotated[str | None, _help("Spelling of units: name (English) or code; default: as the dump.")] = None,
        decimal: Annotated[str | None, _help("Decimal mark: point or comma; default: as the dump.")] = None,
    ) -> None:
        """Find the sentences in which {{convert}} names a number and its unit, as Wiki-Convert was made."""
        from numerate_lab.commands.extract import extract_wiki_convert, left_out_line

        found = extract_wiki_convert(
            dump, output, names=tuple(name or ()), most_units=most_units, every=every, units=units, decimal=decimal
        )
        write_json(found)
        typer.echo(left_out_line(found["left_out"]), err=True)


def _add_export(app: typer.Typer) -> None:
    export = typer.Typer(help="Write predictions in the format of a data set's own evaluation.", no_args_is_help=True)
    app.add_typer(export, name="export")

    @export.callback()
    def group() -> None:  # with one command alone, its name would be left out
        pass

    @export.command("tatqa")
    def tatqa(
        result: Annotated[str, typer.Argument(help="JSON of one training, in the folder of compare or reproduce.")],
        data: Annotated[str, _help("The file of the questions: the test file, or all data of a cross-validation.")],
        output: Annotated[str, typer.Option("--output", "-o", help="The file to write.")] = "predictions.json",
    ) -> None:
        """Write TAT-QA's predictions as {question uid: [answer, scale]}."""
        from numerate_lab.tasks.tatqa.prediction_file import export_predictions

        typer.echo(str(export_predictions(result, data, output)))
