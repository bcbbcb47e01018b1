"""`numerate eval`: a trained model, or a run's before training, measured on texts."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

from numerate.cli.train import RUN_FILE, checked_run
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
        name: A folder that `numerate train` or `save_pretrained` wrote, a Hub id of one, or a run, whose model is then
            measured as it is before training.
        data: The texts, all of them; by default the run's `test` or `dev`, or what its `split` says is `dev`.
        scale: One of the run's scales.
        changes: `key.sub=value` each; with `data.split=FIELD`, only the `dev` rows of `data` are measured.
    """
    from numerate.modeling.artefact import ArtefactError
    from numerate.modeling.attaching import from_pretrained
    from numerate.training.build import build_trainer, prepare, training_arguments
    from numerate.training.run import run_names

    quiet_unless_terminal()
    is_run = name.endswith((".yaml", ".yml")) or (name in run_names() and not Path(name).is_dir())
    run = checked_run(name, scale, changes) if is_run else _run_of(name, scale, changes)
    if run.data.records:
        raise BadInput(f"{name}: is of records; give them with `numerate predict {name} FILE --field FIELD`")
    split = run.data.split if data is None or any(each.startswith("data.split=") for each in changes) else None
    chosen = data or run.data.test or run.data.dev or (run.data.train if split else None)
    if chosen is None:
        raise BadInput("there are no texts: give them with --data")
    with tempfile.TemporaryDirectory() as folder:
        try:
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
        except (ArtefactError, ValueError) as error:
            raise BadInput(" ".join(str(error).split())[:1000]) from None
    rows = ready.data["dev"].meta
    measured = {key.removeprefix("eval_"): value for key, value in found.items()}
    return {"model": name, "data": _title(chosen), "texts": rows["rows"], "tokens": rows["tokens"]} | {
        key: measured[key] for key in measured if key in _NAMES
    }


def metrics_table(result: dict[str, Any]) -> Any:
    """The metrics as a table for people."""
    from rich.table import Table

    table = Table(title=f"{result['model']} on {result['data']}", title_justify="left", show_header=False)
    for key, title in _NAMES.items():
        if key in result:
            value = result[key]
            table.add_row(title, f"{value:,}" if isinstance(value, int) else f"{value:.4g}")
    return table


def _run_of(folder: str, scale: str | None, changes: tuple[str, ...]) -> Any:
    """The run that a folder's model was trained by, or a bare one; only its data and training matter."""
    from numerate.training.run import RunError, resolved

    if scale is not None:
        raise BadInput(f"--scale {scale!r}: {folder} is a trained model, not a run")
    path = Path(folder) / RUN_FILE
    plan: dict[str, Any] = {"model": {"checkpoint": folder}}
    if path.is_file():
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))["config"]["resolved"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{path}: cannot be read: {error}") from None
    try:
        return resolved(plan, changes, str(path))
    except RunError as error:
        raise BadInput(str(error)) from None


def _title(paths: str | tuple[str, ...]) -> str:
    return paths if isinstance(paths, str) else ", ".join(paths)
