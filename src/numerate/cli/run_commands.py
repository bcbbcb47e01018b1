"""The commands `prepare`, `train` and `eval`, which take a run (see docs/runs.md)."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numerate.cli.options import AsJson, EngineName, Processes, RayAddress
from numerate.cli.source import one_line_errors, process_count
from numerate.cli.terminal import console, write_json
from numerate.errors import BadInput, NumerateError

if TYPE_CHECKING:
    from numerate.training.run import Run

__all__ = ["COMMANDS", "RUN_FILE", "Plugins", "eval_command", "evaluate", "load_plugins", "prepare", "train"]

RUN_FILE = "run.json"
"""File beside a trained model: the resolved run, the machine and the metrics."""
RunName = Annotated[
    str, typer.Argument(help="A run: luna, luna-scratch, xval, exponent, float, masked-lm, records, or a .yaml file.")
]
Changes = Annotated[list[str] | None, typer.Argument(help="Changes to the run, as training.learning_rate=1e-4.")]
Data = Annotated[
    str | None,
    typer.Option(help="Texts: .jsonl, .json, .txt, .csv, .tsv, .parquet (or .gz), a Hub data set, a prepared folder."),
]
Dev = Annotated[str | None, typer.Option(help="Texts for evaluation during training, in the formats of --data.")]
Scale = Annotated[str | None, typer.Option(help="One of the run's scales, as tiny.")]
Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", help="Python file that registers parts of your own; its code is run; repeatable."),
]
_FROM_FOLDER = {
    "data": ("text", "records", "leave_out", "tables", "format", "max_tokens", "dev_limit", "group_by_length"),
    "training": (
        "per_device_eval_batch_size", "seed", "eval_seed", "number_metrics", "use_cpu", "bf16", "fp16",
        "bf16_full_eval", "fp16_full_eval",
    ),
}  # fmt: skip
"""All that `eval` takes from the `run.json` of a model's folder."""
_FIELD = "; is data.text the right field?"
_NAMES = {
    "loss": "loss", "numbers": "numbers predicted",
    "log_mae": "mean error in orders of magnitude", "mdape": "median error in percent",
    "within_2": "share within a factor of 2",
    "coverage_90": "share inside 90 % intervals", "texts": "texts", "tokens": "tokens",
}  # fmt: skip


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
    processes: Processes = "1",
    engine: EngineName = "local",
    ray_address: RayAddress = None,
) -> None:
    """Encode a run's texts once, for several trainings and for corpora larger than memory.

    `numerate train RUN --data FOLDER` reads the output. --data and --output may be addresses (s3://bucket/folder/), and
    --data a folder. Finished parts are not encoded again when the command is started again.
    """
    from numerate.training import build
    from numerate.training.data import is_prepared, is_unfinished
    from numerate.training.engines.local import engine_of
    from numerate.training.engines.outputs import check_output
    from numerate.training.engines.places import is_remote
    from numerate.training.output_folder import holds_files, output_folder

    plan = _run(run, scale, changes, train=data, dev=dev, test=test)
    if plan.data.records:
        raise BadInput(f"{run}: records cannot be prepared; train on them: `numerate train {run} --data FILE`")
    folder = Path(output)
    if isinstance(plan.data.train, str) and is_prepared(plan.data.train):
        raise BadInput(f"{plan.data.train} is already prepared; give texts")
    is_ours = is_remote(output) or is_prepared(folder) or is_unfinished(folder)
    if folder.exists() and not is_ours and (not folder.is_dir() or holds_files(folder)):
        raise BadInput(f"{folder} contains other files; give a new folder")
    with engine_of(engine, process_count(processes), ray_address) as runner:
        check_output(output, [plan.data.train] if isinstance(plan.data.train, str) else [], runner)
        if is_remote(output):
            ready = _prepared_at(output, plan, runner)
        else:
            with output_folder(folder), one_line_errors():
                ready = build.prepare(plan, folder, engine=runner)
    if not ready.data:
        raise BadInput("the run has no texts: give --data, or data.train in the run")
    for split, shards in ready.data.items():
        meta = shards.meta
        empty = f"; {meta['empty']} empty texts skipped" if meta["empty"] else ""
        slots = ready.model.processor.has_slots
        typer.echo(f"{shards.folder}: {_counts(meta, slots)}, {len(meta['shards'])} shards{empty}")
        if split == "train" and slots and meta["numbers"] == 0:
            typer.echo(f"{shards.folder}: no number found{_FIELD}")


def _prepared_at(address: str, plan: Run, runner: Any) -> Any:
    """Encodes a run's texts at an address; what was fitted to them is copied there."""
    import tempfile

    from numerate.training import build
    from numerate.training.engines.places import files_below, inside, write_place

    with tempfile.TemporaryDirectory() as near, one_line_errors():
        ready = build.prepare(plan, near, engine=runner, output=address)
        if (start := Path(near) / "start").is_dir():
            for file in files_below(str(start)):
                write_place(inside(address, Path(file).relative_to(near).as_posix()), Path(file).read_bytes())
    return ready


def train(
    run: RunName,
    changes: Changes = None,
    data: Data = None,
    dev: Dev = None,
    output_dir: Annotated[str | None, typer.Option(help="Folder for checkpoints and model; default out/RUN.")] = None,
    scale: Scale = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume from the newest complete checkpoint.")] = False,
    plugin: Plugins = None,
) -> dict[str, Any]:
    """Train a run's model on texts, and save it together with run.json.

    On several devices or machines: accelerate launch -m numerate train RUN ...
    """
    load_plugins(plugin)
    plan = _run(run, scale, changes, train=data, dev=dev)
    folder = Path(output_dir or Path("out") / Path(run).stem)
    is_first = os.environ.get("RANK", "0") == "0"
    # The first process alone checks and holds the folder, before anything is written.
    if is_first and not resume:
        if folder.is_file():
            raise BadInput(f"{folder} is a file; give a folder with --output-dir")
        if (folder / RUN_FILE).exists() or any(folder.glob("checkpoint-*")):
            raise BadInput(f"{folder} already contains a run; use --resume, or give another --output-dir")
    from numerate.training.output_folder import output_folder

    with output_folder(folder, holds=is_first):
        return _trained(plan, run, folder, resume)


def _trained(plan: Run, name: str, folder: Path, resume: bool) -> dict[str, Any]:
    """Trains, saves and measures; the metrics."""
    from numerate.training.build import build, training_arguments

    records = None
    with one_line_errors():
        if plan.data.records:
            from numerate.records.running import RecordRun

            training_arguments(plan, folder)  # refuses wrong settings before all records are read
            records = RecordRun.of_files(plan, folder)
        trainer = build(plan, folder) if records is None else records.trainer(folder)
        is_main, model = trainer.is_world_process_zero(), trainer._numbers
        if is_main and model is not None:
            trained, total = model.trainable_parameters()
            meta = trainer.train_dataset.meta  # type: ignore[union-attr]
            slots = model.processor.has_slots
            typer.echo(f"{_counts(meta, slots)}; {trained:,} of {total:,} parameters are trained")
            if slots and meta["numbers"] == 0:
                typer.echo(f"no number found in the training texts{_FIELD}")
        metrics = dict(trainer.train(resume_from_checkpoint=True if resume else None).metrics)
    # On all processes, which may each hold a part of the weights; and before anything else can fail.
    trainer.save_pretrained(folder, backbone=True)
    if trainer.eval_dataset is not None:
        with one_line_errors():
            metrics |= trainer.evaluate()
    if is_main:
        if records is not None:
            from numerate.records import RecordModel

            records.finished(RecordModel, model).save_records(folder)  # type: ignore[arg-type]
        _write_run(trainer, plan, name, folder, metrics)
        typer.echo(str(folder))
    trainer.accelerator.end_training()
    return metrics


def eval_command(
    model: Annotated[str, typer.Argument(help="A trained model's folder or Hub id; or a run, before training.")],
    changes: Changes = None,
    data: Data = None,
    scale: Scale = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model on texts: its loss, and the errors of its predicted numbers."""
    result = evaluate(model, data, scale=scale, changes=changes)
    if as_json:
        return write_json(result)
    from rich.table import Table

    table = Table(title=f"{result['model']} on {result['data']}", title_justify="left", show_header=False)
    for key, title in _NAMES.items():
        if key in result:
            value = result[key]
            table.add_row(title, f"{value:,}" if isinstance(value, int) else f"{value:.4g}")
    return console().print(table)


def evaluate(
    name: str, data: str | None, *, scale: str | None = None, changes: list[str] | None = None
) -> dict[str, Any]:
    """Metrics of a model on texts.

    Args:
        name: A folder written by `numerate train` or `save_pretrained`, a Hub id, or a run (measured untrained).
        data: The texts; of a run by default its `test` or `dev`, or the rows whose `split` field is `dev`. A model's
            folder needs them: it may be anybody's, and no path that it names is read.
        scale: One of the run's scales.
        changes: Changes to the run, each `key.sub=value`; with `data.split=FIELD`, only the `dev` rows of `data`.
    """
    import tempfile

    from numerate.modeling.attaching import from_pretrained
    from numerate.training.build import build_trainer, prepare, training_arguments
    from numerate.training.progress import quiet_unless_terminal
    from numerate.training.run import run_names

    is_run = name.endswith((".yaml", ".yml")) or (name in run_names() and not Path(name).is_dir())
    run = _run(name, scale, changes) if is_run else _run_of(name, scale, changes)
    if run.data.records:
        raise BadInput(f"{name} is a model of records; use `numerate predict {name} FILE --field FIELD`")
    split = run.data.split if data is None or any(each.startswith("data.split=") for each in changes or ()) else None
    chosen = data or run.data.test or run.data.dev or (run.data.train if split else None)
    if chosen is None:
        raise BadInput("no texts to measure: give --data")
    title = chosen if isinstance(chosen, str) else ", ".join(chosen)
    with tempfile.TemporaryDirectory() as folder, one_line_errors():
        model = None
        if not is_run:
            quiet_unless_terminal()
            model = from_pretrained(name)
            run = dataclasses.replace(run, data=dataclasses.replace(run.data, train=None, split=split))
        plan = dataclasses.replace(run, data=dataclasses.replace(run.data, dev=chosen, test=None, limit=None))
        arguments, own = training_arguments(plan, folder)
        ready = prepare(plan, Path(folder) / "prepared", seed=arguments.seed, model=model)
        if "dev" not in ready.data:
            raise BadInput(f"{title}: has no encoded texts of the split 'dev'")
        found = build_trainer(ready, arguments, **own).evaluate()
    meta = ready.data["dev"].meta
    measured = {key.removeprefix("eval_"): value for key, value in found.items()}
    return {"model": name, "data": title, "texts": meta["rows"], "tokens": meta["tokens"]} | {
        key: measured[key] for key in measured if key in _NAMES
    }


def _run(name: str, scale: str | None, changes: list[str] | None, **paths: str | None) -> Run:
    """A run by its name, with the texts of the command line."""
    from numerate.training.run import load_run

    run = load_run(name, scale=scale, changes=changes or ()).with_data(**paths)
    from numerate.training.progress import quiet_unless_terminal  # after the checks: it imports torch

    quiet_unless_terminal()
    return run


def _run_of(folder: str, scale: str | None, changes: list[str] | None) -> Run:
    """A run with the settings of `_FROM_FOLDER` of a trained model, which may come from anyone."""
    from numerate.training.run import resolved
    from numerate.training.tables import TABLE_FILES

    if scale is not None:
        raise BadInput(f"--scale {scale!r}: {folder} is a trained model, not a run")
    path = Path(folder) / RUN_FILE
    plan: dict[str, Any] = {"model": {"checkpoint": folder}}
    if path.is_file():
        from numerate.modeling.folder_checks import read_json

        try:
            found = read_json(path, Path(folder))["config"]["resolved"]
            # The folder may be anybody's: nothing in it may name files or data sets, choose code, or reach the network.
            for section, allowed in _FROM_FOLDER.items():
                plan[section] = {key: value for key, value in dict(found[section]).items() if key in allowed}
        except (ValueError, KeyError, TypeError) as error:
            said = str(error) if isinstance(error, NumerateError) else f"{path}: cannot be read: {error}"
            raise BadInput(said[:400]) from None
        if plan["data"].get("format") == "hub":
            del plan["data"]["format"]
        if isinstance(tables := plan["data"].get("tables"), dict):
            plan["data"]["tables"] = {key: tables[key] for key in tables if key not in TABLE_FILES}
    return resolved(plan, changes or (), str(path))


def _counts(meta: dict[str, Any], slots: bool) -> str:
    """Sizes of encoded texts; only numbers with a slot are counted in them, which a notation as subwords has not."""
    numbers = f", {meta['numbers']:,} numbers" if slots else ", numbers as tokens"
    return f"{meta['rows']:,} texts, {meta['tokens']:,} tokens{numbers}"


def _write_run(trainer: Any, run: Run, name: str, folder: Path, metrics: dict[str, Any]) -> None:
    from numerate.training.results import Result

    config = {"run": name, "seed": trainer.args.seed, "resolved": dataclasses.replace(run, scales={}).to_dict()}
    splits = {"train": trainer.train_dataset, "dev": trainer.eval_dataset}
    metas = {split: rows.meta for split, rows in splits.items() if rows is not None}
    keys = ("rows", "tokens", "numbers", "fingerprint")
    figures = {
        "metrics": metrics, "steps": trainer.state.global_step, "epochs": trainer.state.epoch,
        "processes": trainer.args.world_size,
        "data": {split: {key: meta[key] for key in keys} for split, meta in metas.items()},
        "log": trainer.state.log_history,
    }  # fmt: skip
    Result(config, figures).write(folder / RUN_FILE)


COMMANDS = (prepare, train, eval_command)
