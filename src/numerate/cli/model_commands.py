"""The commands `prepare`, `train`, `eval`, `predict`, `generate` and `fill`: options and output."""

from __future__ import annotations

from typing import Annotated

import typer

from numerate.cli.output import console, write_json

__all__ = ["COMMANDS", "Plugins", "load_plugins"]

RunName = Annotated[
    str, typer.Argument(help="A run: luna, luna-scratch, xval, exponent, float, masked-lm, records, or a .yaml file.")
]
Changes = Annotated[list[str] | None, typer.Argument(help="Changes to the run, as training.learning_rate=1e-4.")]
Data = Annotated[
    str | None,
    typer.Option(
        help="Training texts: .jsonl, .json, .txt, .csv, .tsv, .parquet (or .gz), a Hub data set, a prepared folder."
    ),
]
Dev = Annotated[str | None, typer.Option(help="Texts for evaluation during training, in the formats of --data.")]
Scale = Annotated[str | None, typer.Option(help="One of the run's scales, as tiny.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python file with own parts (@embedders.register(...)); it is run; repeatable."),
]


def load_plugins(files: list[str] | None) -> None:
    """Imports the files of `--plugin`."""
    if files:
        from numerate.registry import load_plugin

        for file in files:
            load_plugin(file)


def prepare(
    run: RunName,
    changes: Changes = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the encoded texts.")] = "prepared",
    data: Data = None,
    dev: Dev = None,
    test: Annotated[str | None, typer.Option(help="Texts for the final test, in the formats of --data.")] = None,
    scale: Scale = None,
) -> None:
    """Encode a run's texts once, for several trainings and for corpora larger than memory.

    `numerate train RUN --data FOLDER` reads the output.
    """
    from numerate.cli.prepare import prepare as work

    work(run, output, data=data, dev=dev, test=test, scale=scale, changes=tuple(changes or ()), say=typer.echo)


def train(
    run: RunName,
    changes: Changes = None,
    data: Data = None,
    dev: Dev = None,
    output_dir: Annotated[str | None, typer.Option(help="Folder for checkpoints and model; default out/RUN.")] = None,
    scale: Scale = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the newest complete checkpoint.")] = False,
    plugin: Plugins = None,
) -> None:
    """Train a run's model on texts, and save it together with run.json.

    On several devices or machines: accelerate launch -m numerate train RUN ...
    """
    from numerate.cli.train import train as work

    load_plugins(plugin)
    options = {"data": data, "dev": dev, "scale": scale}
    work(run, output_dir, resume=resume, changes=tuple(changes or ()), say=typer.echo, **options)


def eval_command(
    model: Annotated[str, typer.Argument(help="A trained model's folder or Hub id; or a run, before training.")],
    changes: Changes = None,
    data: Data = None,
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model on texts: its loss, and the errors of its predicted numbers."""
    from numerate.cli.evaluate import evaluate, metrics_table

    result = evaluate(model, data, scale=scale, changes=tuple(changes or ()))
    if as_json:
        write_json(result)
    else:
        console().print(metrics_table(result))


def predict(
    model: Annotated[str, typer.Argument(help="A folder written by `numerate train records`.")],
    file: Annotated[str, typer.Argument(help="Records: .jsonl, .json, .csv, .tsv, .parquet (or .gz).")],
    field: Annotated[str, typer.Option(help="Path of the field to predict, as description.planet0.m.")],
    level: Annotated[float, typer.Option(help="Probability of the interval.")] = 0.9,
    samples: Annotated[int, typer.Option(help="Number of samples per record.")] = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per record.")] = False,
) -> None:
    """Predict a field of each record, whether or not the record has it: median, interval, samples."""
    from numerate.cli.predict import Predictions, prediction_table

    found = Predictions(model, file, field, level=level, samples=samples, seed=seed)
    if as_json:
        for each in found:
            write_json(each)
    else:
        console().print(prediction_table(found, found.path, level))
    if odd := found.unusual_input():
        typer.echo(f"unusual input, see docs/records.md: {odd}", err=True)


def generate(
    model: Annotated[str, typer.Argument(help="A saved model's folder or Hub id.")],
    prompt: Annotated[list[str] | None, typer.Argument(help="Prompts to continue.")] = None,
    file: Annotated[str | None, typer.Option(help="A file of prompts, one per line; - is standard input.")] = None,
    max_new_tokens: Annotated[int, typer.Option(help="Maximum number of new tokens.")] = 64,
    sample: Annotated[bool, typer.Option("--sample", help="Sample instead of taking the most probable.")] = False,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 1.0,
    beams: Annotated[int, typer.Option(help="Number of beams.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Continue prompts with words and numbers.

    With --json one object per prompt, with the value and 90 % interval of each number.
    """
    from numerate.cli.generate import continuations, prompts_of

    options = {"do_sample": sample, "temperature": temperature, "num_beams": beams}
    for found in continuations(model, prompts_of(tuple(prompt or ()), file), max_new_tokens, **options):
        if as_json:
            write_json(found)
        else:
            typer.echo(found["prompt"] + found["text"])


def fill(
    text: Annotated[str, typer.Argument(help='A text with one gap: "The [MASK] weighs 100 lbs."')],
    model: Annotated[list[str], typer.Option(help="A saved model or masked language model; repeat to compare.")],
    swap: Annotated[list[str] | None, typer.Option(help="Replace the text's first number by this one.")] = None,
    top: Annotated[int, typer.Option(help="Number of words.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Fill the gap of a text with words, and see how they change when only the number changes."""
    from numerate.apps.fill import fill as work
    from numerate.apps.fill import fill_tables

    results = work(text, model, swap=tuple(swap or ()), top=top)
    if as_json:
        for result in results:
            write_json(result)
    else:
        console().print(*fill_tables(results), sep="\n")


COMMANDS = (prepare, train, eval_command, predict, generate, fill)
