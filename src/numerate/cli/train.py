"""`numerate train`: trains the model of a run and saves it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.cli.source import one_line_errors
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.training.run import Run

__all__ = ["RUN_FILE", "train"]

RUN_FILE = "run.json"
"""File beside a trained model: the resolved run, the machine and the metrics."""


def train(
    name: str,
    output: str | None,
    *,
    data: str | None = None,
    dev: str | None = None,
    scale: str | None = None,
    resume: bool = False,
    changes: tuple[str, ...] = (),
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Trains a run, saves its model and `run.json`, and returns the metrics.

    Args:
        name: Name of a shipped run, or a YAML file.
        output: Folder for checkpoints and the model; by default `out/<name>`.
        data: Training texts instead of the run's.
        dev: Evaluation texts instead of the run's.
        scale: One of the run's scales.
        resume: Resume from the newest complete checkpoint in the folder.
        changes: Changes to the run, each `key.sub=value`.
        say: Prints a line, in the main process only.
    """
    from numerate.training.run import load_run

    run = load_run(name, scale=scale, changes=changes).with_data(train=data, dev=dev)
    folder = Path(output or Path("out") / Path(name).stem)
    from numerate.training.build import build
    from numerate.training.progress import quiet_unless_terminal

    quiet_unless_terminal()
    _check_folder(folder, resume)
    records = None
    with one_line_errors():
        if run.data.records:
            from numerate.records.running import RecordRun

            records = RecordRun.of_files(run, folder)
        trainer = build(run, folder) if records is None else records.trainer(folder)
        is_main = trainer.is_world_process_zero()
        if is_main:
            trained, total = trainer._numbers.trainable_parameters()  # type: ignore[union-attr]
            rows = trainer.train_dataset.meta  # type: ignore[union-attr]
            say(f"{rows['rows']:,} texts, {rows['tokens']:,} tokens, {rows['numbers']:,} numbers; "
                f"{trained:,} of {total:,} parameters are trained")  # fmt: skip
        result = trainer.train(resume_from_checkpoint=True if resume else None)
        metrics = dict(result.metrics)
        if trainer.eval_dataset is not None:
            metrics |= trainer.evaluate()
    trainer.save_pretrained(folder, backbone=True)  # on all processes, which may each hold a part of the weights
    if is_main:
        if records is not None:
            from numerate.records import RecordModel

            records.finished(RecordModel, trainer._numbers).save_records(folder)  # type: ignore[arg-type]
        _write(trainer, run, name, folder, metrics)
        say(str(folder))
    trainer.accelerator.end_training()
    return metrics


def _check_folder(folder: Path, resume: bool) -> None:
    """Refuses to overwrite an existing run; checked by the first process only, before anything is written."""
    if os.environ.get("RANK", "0") != "0" or resume or not folder.exists():
        return
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder with --output-dir")
    if (folder / RUN_FILE).exists() or any(folder.glob("checkpoint-*")):
        raise BadInput(f"{folder} already contains a run; use --resume, or give another --output-dir")


def _write(trainer: Any, run: Run, name: str, folder: Path, metrics: dict[str, Any]) -> None:
    from numerate.training.results import Result

    resolved = dataclasses.replace(run, scales={}).to_dict()
    figures = {
        "metrics": metrics,
        "steps": trainer.state.global_step,
        "epochs": trainer.state.epoch,
        "processes": trainer.args.world_size,
        "data": {
            split: {key: rows.meta[key] for key in ("rows", "tokens", "numbers", "fingerprint")}
            for split, rows in (("train", trainer.train_dataset), ("dev", trainer.eval_dataset))
            if rows is not None
        },
        "log": trainer.state.log_history,
    }
    Result({"run": name, "seed": trainer.args.seed, "resolved": resolved}, figures).write(folder / RUN_FILE)
