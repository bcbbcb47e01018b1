"""`numerate eval`: measures a trained model, or the untrained model of a run, on texts."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

from numerate.cli.source import one_line_errors
from numerate.cli.train import RUN_FILE
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

__all__ = ["evaluate", "metrics_table"]

_NAMES = {
    "loss": "loss", "numbers": "numbers predicted",
    "log_mae": "mean error in orders of magnitude", "mdape": "median error in percent",
    "coverage_90": "share inside 90 % intervals", "texts": "texts", "tokens": "tokens",
}  # fmt: skip


def evaluate(
    name: str,
    data: str | None,
    *,
    scale: str | None = None,
    changes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Metrics of a model on texts.

    Args:
        name: A folder written by `numerate train` or `save_pretrained`, a Hub id, or a run, whose untrained model is
            measured.
        data: The texts; by default the run's `test` or `dev`, or the rows whose `split` field is `dev`.
        scale: One of the run's scales.
        changes: Changes to the run, each `key.sub=value`; with `data.split=FIELD`, only the `dev` rows of `data`.
    """
    from numerate.modeling.attaching import from_pretrained
    from numerate.training.build import build_trainer, prepare, training_arguments
    from numerate.training.run import load_run, run_names

    quiet_unless_terminal()
    is_run = name.endswith((".yaml", ".yml")) or (name in run_names() and not Path(name).is_dir())
    run = load_run(name, scale=scale, changes=changes) if is_run else _run_of(name, scale, changes)
    if run.data.records:
        raise BadInput(f"{name} is a model of records; use `numerate predict {name} FILE --field FIELD`")
    split = run.data.split if data is None or any(each.startswith("data.split=") for each in changes) else None
    chosen = data or run.data.test or run.data.dev or (run.data.train if split else None)
    if chosen is None:
        raise BadInput("no texts to measure: give --data")
    with tempfile.TemporaryDirectory() as folder, one_line_errors():
        model = None
        if not is_run:
            model = from_pretrained(name)
            run = dataclasses.replace(run, data=dataclasses.replace(run.data, train=None, split=split))
        plan = dataclasses.replace(run, data=dataclasses.replace(run.data, dev=chosen, test=None, limit=None))
        arguments, own = training_arguments(plan, folder)
        ready = prepare(plan, Path(folder) / "prepared", seed=arguments.seed, model=model)
        if "dev" not in ready.data:
            raise BadInput(f"{_title(chosen)}: has no encoded texts of the split 'dev'")
        trainer = build_trainer(ready, arguments, **own)
        found = trainer.evaluate()
    rows = ready.data["dev"].meta
    measured = {key.removeprefix("eval_"): value for key, value in found.items()}
    return {"model": name, "data": _title(chosen), "texts": rows["rows"], "tokens": rows["tokens"]} | {
        key: measured[key] for key in measured if key in _NAMES
    }


def metrics_table(result: dict[str, Any]) -> Any:
    """The metrics as a table for a terminal."""
    from rich.table import Table

    table = Table(title=f"{result['model']} on {result['data']}", title_justify="left", show_header=False)
    for key, title in _NAMES.items():
        if key in result:
            value = result[key]
            table.add_row(title, f"{value:,}" if isinstance(value, int) else f"{value:.4g}")
    return table


def _run_of(folder: str, scale: str | None, changes: tuple[str, ...]) -> Any:
    """The run of a trained model, or a default one; only its data and training sections are used."""
    from numerate.training.run import resolved

    if scale is not None:
        raise BadInput(f"--scale {scale!r}: {folder} is a trained model, not a run")
    path = Path(folder) / RUN_FILE
    plan: dict[str, Any] = {"model": {"checkpoint": folder}}
    if path.is_file():
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))["config"]["resolved"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path}: cannot be read: {error}") from None
    return resolved(plan, changes, str(path))


def _title(paths: str | tuple[str, ...]) -> str:
    return paths if isinstance(paths, str) else ", ".join(paths)
