"""`numerate train`: a run from its file to a saved model."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.training.run import Run

__all__ = ["RUN_FILE", "checked_run", "train"]

RUN_FILE = "run.json"
"""What a finished run leaves beside its model: the run as it was resolved, where it ran, and its metrics."""


def checked_run(
    name: str,
    scale: str | None = None,
    changes: tuple[str, ...] = (),
    **paths: str | None,
) -> Run:
    """A run with its data, or one clear line about what is wrong with it.

    Args:
        name: A shipped run's name, or a YAML file.
        scale: One of its scales.
        changes: `key.sub=value` each.
        **paths: `train`, `dev`, `test`.
    """
    from numerate.training.run import RunError, load_run

    try:
        return load_run(name, scale=scale, changes=changes).with_data(**paths)
    except RunError as error:
        raise BadInput(str(error)) from None


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
    """Trains a run, saves its model and `run.json`, and gives the metrics.

    Args:
        name: A shipped run's name, or a YAML file.
        output: The folder for checkpoints and the model; by default `out/<name>`.
        data: The training texts, in place of the run's.
        dev: The same for evaluation.
        scale: One of the run's scales.
        resume: Go on from the newest whole checkpoint in the folder.
        changes: `key.sub=value` each.
        say: Prints a line; only the main process does.
    """
    run = checked_run(name, scale, changes, train=data, dev=dev)
    folder = Path(output or Path("out") / Path(name).stem)
    from numerate.training.build import build
    from numerate.training.checkpoints import CheckpointError
    from numerate.training.guard import NonFiniteError
    from numerate.training.progress import quiet_unless_terminal

    quiet_unless_terminal()
    _check_folder(folder, resume)
    records = None
    try:
        if run.data.records:
            from numerate.records.running import RecordRun

            records = RecordRun.of_files(run, folder)
        trainer = build(run, folder) if records is None else records.trainer(folder)
        is_main = trainer.is_world_process_zero()
        if is_main:
            trained, total = trainer._numbers.trainable_parameters()  # type: ignore[union-attr]
            rows = trainer.train_dataset.meta  # type: ignore[union-attr]
            say(f"{rows['rows']:,} texts, {rows['tokens']:,} tokens, {rows['numbers']:,} numbers; "
                f"{trained:,} of {total:,} parameters learn")  # fmt: skip
        result = trainer.train(resume_from_checkpoint=True if resume else None)
        metrics = dict(result.metrics)
        if trainer.eval_dataset is not None:
            metrics |= trainer.evaluate()
    except (CheckpointError, NonFiniteError, ValueError) as error:
        raise BadInput(" ".join(str(error).split())[:1000]) from None
    trainer.save_pretrained(folder, backbone=True)  # all take part, where weights are spread over them
    if is_main:
        if records is not None:
            from numerate.records import RecordModel

            records.finished(RecordModel, trainer._numbers).save_records(folder)  # type: ignore[arg-type]
        _write(trainer, run, name, folder, metrics)
        say(str(folder))
    trainer.accelerator.end_training()
    return metrics


def _check_folder(folder: Path, resume: bool) -> None:
    """Refuses to write over a run that is there; the first process alone looks, before anything is written."""
    if os.environ.get("RANK", "0") != "0" or resume or not folder.exists():
        return
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file; give a folder with --output-dir")
    if (folder / RUN_FILE).exists() or any(folder.glob("checkpoint-*")):
        raise BadInput(f"{folder} holds a run already; go on with --resume, or give another --output-dir")


def _write(trainer: Any, run: Run, name: str, folder: Path, metrics: dict[str, Any]) -> None:
    from numerate.training.results import write

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
    write(folder / RUN_FILE, config={"run": name, "seed": trainer.args.seed, "resolved": resolved}, figures=figures)
