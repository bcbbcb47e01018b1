"""The commands `prepare`, `train`, `eval` and `predict` of the command line; as in `numerate.cli`, only wiring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_training"]

RunName = Annotated[
    str, typer.Argument(help="A run: luna, luna-scratch, xval, exponent, float, masked-lm, records, or a .yaml file.")
]
Changes = Annotated[list[str] | None, typer.Argument(help="Changes to the run, as training.learning_rate=1e-4.")]
Data = Annotated[
    str | None,
    typer.Option(
        help="The texts: .jsonl, .json, .txt, .csv, .tsv, .parquet (or .gz), a Hub data set, a prepared folder."
    ),
]
Dev = Annotated[str | None, typer.Option(help="The same, for evaluation on the way.")]
Scale = Annotated[str | None, typer.Option(help="One of the run's scales, as tiny.")]


def add_training(app: typer.Typer, console: Callable[[], Any], write_json: Callable[[dict[str, Any]], None]) -> None:
    """Adds the commands to the command line, which lends its console and its way of writing JSON."""

    @app.command()
    def prepare(
        run: RunName,
        changes: Changes = None,
        output: Annotated[str, typer.Option("--output", "-o", help="Folder for the encoded texts.")] = "prepared",
        data: Data = None,
        dev: Dev = None,
        test: Annotated[str | None, typer.Option(help="The same, for the end.")] = None,
        scale: Scale = None,
    ) -> None:
        """Encode a run's texts once, for many trainings and for corpora larger than memory.

        `numerate train RUN --data FOLDER` takes what is written.
        """
        from numerate.cli.prepare import prepare as work

        work(run, output, data=data, dev=dev, test=test, scale=scale, changes=tuple(changes or ()), say=typer.echo)

    @app.command()
    def train(
        run: RunName,
        changes: Changes = None,
        data: Data = None,
        dev: Dev = None,
        output_dir: Annotated[str | None, typer.Option(help="For checkpoints and model; by default out/RUN.")] = None,
        scale: Scale = None,
        resume: Annotated[bool, typer.Option("--resume", help="Go on from the newest whole checkpoint.")] = False,
    ) -> None:
        """Train a run's model on texts, and save it with run.json beside it.

        On several devices or machines: accelerate launch -m numerate train RUN ...
        """
        from numerate.cli.train import train as work

        work(
            run, output_dir, data=data, dev=dev, scale=scale, resume=resume, changes=tuple(changes or ()),
            say=typer.echo,
        )  # fmt: skip

    @app.command("eval")
    def evaluate(
        model: Annotated[str, typer.Argument(help="A trained model's folder or Hub id; or a run, before training.")],
        changes: Changes = None,
        data: Data = None,
        scale: Scale = None,
        as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    ) -> None:
        """Measure a model on texts: its loss, and how near its numbers are."""
        from numerate.cli.evaluate import evaluate as work
        from numerate.cli.evaluate import metrics_table

        result = work(model, data, scale=scale, changes=tuple(changes or ()))
        if as_json:
            write_json(result)
        else:
            console().print(metrics_table(result))

    @app.command()
    def predict(
        model: Annotated[str, typer.Argument(help="A folder that `numerate train records` wrote.")],
        file: Annotated[str, typer.Argument(help="Records: .jsonl, .json, .csv, .tsv, .parquet (or .gz).")],
        field: Annotated[str, typer.Option(help="What to predict, by its path, as description.planet0.m.")],
        level: Annotated[float, typer.Option(help="What share the interval is to hold.")] = 0.9,
        samples: Annotated[int, typer.Option(help="Draw so many samples for each record.")] = 0,
        seed: Annotated[int, typer.Option(help="Of the samples.")] = 0,
        as_json: Annotated[bool, typer.Option("--json", help="Write JSON, one object a record.")] = False,
    ) -> None:
        """Predict a field of each record, whether or not the record has it: median, interval, samples."""
        from numerate.cli.predict import Predictions, prediction_table

        found = Predictions(model, file, field, level=level, samples=samples, seed=seed)
        if as_json:
            for each in found:
                write_json(each)
        else:
            console().print(prediction_table(found, found.path, level))
        if odd := found.odd():
            typer.echo(f"treated as docs/records.md says: {odd}", err=True)
