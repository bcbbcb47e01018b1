"""Results as a repository keeps them: one JSON file for each table, and its predictions in one `.npz` beside it.

`pack` reads a folder that `run_grids` wrote; `unpack` writes that folder again, so that a packed table can be rendered,
resumed and recomputed: `numerate reproduce xval-table5 --recompute --output results/xval-table5.json`.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.files import check_writable, write_atomically
from numerate_lab.engine.task import Workspace
from numerate_lab.engine.trial import prediction_files, read_columns, read_trial, same_figures, write_columns
from numerate_lab.registry import tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.task import Figures

__all__ = ["pack", "read_packed", "recompute_packed", "unpack"]

_RENDERED = ("compare", "table")
"""Files that are rendered from trials; the grid's settings are taken from them."""


def pack(
    folder: str | Path, target: str | Path, *, command: str,
    predictions: Sequence[str] = ("*",), digits: int | None = None,
) -> Path:  # fmt: skip
    """Packs all results below a folder into one file.

    Args:
        folder: The output folder of a run, or the folder of one grid.
        target: The JSON file; predictions are written beside it, as `.npz`.
        command: The command that makes these results.
        predictions: Names of the trials whose predictions are kept, with `*` for any characters; empty for none.
        digits: Significant digits of the figures of all other trials; None for all digits. Figures that are recomputed
            from predictions keep all of theirs.

    Returns:
        The JSON file: `command`; `machine` (commit, device, versions); `grids`, settings by folder; `shared`, settings
        that all trials have; `trials`, settings and figures by relative path; `others`, such as baselines and timings;
        and `predictions`: the name and hash of the `.npz`, and `same`, the column in it that holds each column left out
        because another trial has the same one, such as the true values of a split.
    """
    root, file = Path(folder), Path(target)
    if not root.is_dir():
        raise ValueError(f"{folder}: no such folder; give the output folder of `numerate compare`")
    if file.is_dir():
        raise ValueError(f"{target} is a folder; give the JSON file to write")
    check_writable(file.parent)
    found: dict[str, Figures] = {}
    for path in sorted(root.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.keys() >= {"config", "figures"}:
            found[path.relative_to(root).with_suffix("").as_posix()] = content
    grids = {name: found.pop(name)["config"] for name in list(found) if name.rsplit("/", 1)[-1] in _RENDERED}
    trials = {name: content for name, content in found.items() if {"training", "results"} & content["figures"].keys()}
    if not trials:
        raise ValueError(f"{folder}: no trials; give the output folder of `numerate compare` or `numerate reproduce`")
    machine = next(iter(trials.values())).get("machine", {})
    shared = _shared([trial["config"] for trial in trials.values()])
    whole: Figures = {"command": command, "machine": machine, "grids": grids, "shared": shared}
    wanted = {name: one for name, one in trials.items() if any(fnmatchcase(name, each) for each in predictions)}
    columns = _columns(root, wanted)
    if columns:
        same = _equal_columns(columns)
        content = _small_npz({key: values for key, values in columns.items() if key not in same})
        write_atomically(file.with_suffix(".npz"), content)
        digest = hashlib.sha256(content).hexdigest()
        whole["predictions"] = {"file": file.with_suffix(".npz").name, "sha256": digest, "same": same}
    exact = {key.rpartition("/")[0] for key in columns}
    for name, one in found.items():
        one["figures"] = one["figures"] if name in exact else _rounded(one["figures"], digits)
    whole["trials"] = {name: _less(trial, shared, machine) for name, trial in trials.items()}
    whole["others"] = {name: _less(one, {}, machine) for name, one in found.items() if name not in trials}
    return write_atomically(file, _lines(whole).encode())


def read_packed(file: str | Path) -> Figures:
    """A packed table, with the whole settings of each trial.

    Raises:
        ValueError: The file is no packed table, or its predictions are not those that it was packed with.
    """
    try:
        whole = json.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError:
        whole = None
    if not isinstance(whole, dict) or not whole.keys() >= {"command", "trials", "shared"}:
        raise ValueError(f"{file}: not a packed table; see numerate_lab.engine.packed")
    try:
        for of, shared in ((whole["trials"], whole["shared"]), (whole["others"], {})):
            for one in of.values():
                one["config"] = shared | one["config"]
                one.setdefault("machine", whole["machine"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{file}: a damaged packed table ({error}); restore it, or pack again") from None
    kept = whole.get("predictions") or {"file": "-"}
    beside = Path(file).with_name(kept["file"])
    if beside.is_file() and hashlib.sha256(beside.read_bytes()).hexdigest() != kept["sha256"]:
        raise ValueError(f"{beside}: its predictions are not those of {Path(file).name}; restore it, or pack again")
    return whole


def unpack(file: str | Path, folder: str | Path) -> None:
    """Writes the results of a packed table into a folder, with predictions where they were kept."""
    whole, root = read_packed(file), Path(folder)
    for name, one in (whole["trials"] | whole["others"]).items():
        one["figures"].pop("predictions", None)  # of results that had a file for each split
        write_atomically(root / f"{name}.json", (json.dumps(one, indent=2) + "\n").encode())
    predictions = whole.get("predictions", {})
    beside = Path(file).with_name(predictions.get("file", "-"))
    if not beside.is_file():
        return
    columns = read_columns({"": beside})
    columns |= {key: columns[other] for key, other in predictions.get("same", {}).items()}
    by_trial: dict[str, dict[str, np.ndarray]] = {}
    for key, values in columns.items():
        trial, _, column = key.rpartition("/")
        by_trial.setdefault(trial, {})[column] = values
    for name, columns in by_trial.items():
        write_columns(root / f"{name}.npz", columns)


def recompute_packed(file: str | Path, **options: Any) -> dict[str, bool]:
    """Whether the figures of each trial with stored predictions come out again, by the trial's name.

    `options` are settings that replace the stored ones, such as the path of a data set on this machine.
    """
    by_kind = {tasks[name].Trial.kind: tasks[name] for name in tasks.names()}
    found: dict[str, bool] = {}
    with tempfile.TemporaryDirectory(prefix="numerate-") as folder:
        unpack(file, folder)
        for name, one in read_packed(file)["trials"].items():
            place = Path(folder) / name
            if place.with_name(f"{place.name}.npz").is_file():
                task = by_kind[one["config"]["kind"]]
                config = task.Trial.from_dict(one["config"] | options)
                result = read_trial(config, place.parent)
                same = None if result is None else same_figures(task(config, Workspace(place.parent)), result)
                found[name] = same is True
    return found


def _columns(root: Path, trials: dict[str, Figures]) -> dict[str, np.ndarray]:
    found = {}
    for name, trial in trials.items():
        files = prediction_files((root / name).parent, (root / name).name, trial["figures"])
        there = {split: file for split, file in files.items() if file.is_file()}
        found |= {f"{name}/{column}": values for column, values in read_columns(there).items()}
    return found


def _equal_columns(columns: dict[str, np.ndarray]) -> dict[str, str]:
    """The first column with the same type, shape and bytes, for every column that has one before it."""
    first: dict[tuple[Any, ...], str] = {}
    of = {key: first.setdefault((values.dtype, values.shape, values.tobytes()), key) for key, values in columns.items()}
    return {key: other for key, other in of.items() if key != other}


def _small_npz(columns: dict[str, np.ndarray]) -> bytes:
    """The columns as an `.npz` that `numpy.load` reads: LZMA takes a tenth less than `savez_compressed`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for key, values in columns.items():
            member = zipfile.ZipInfo(f"{key}.npy")  # of 1980: equal columns give equal files
            member.compress_type = zipfile.ZIP_LZMA
            with archive.open(member, "w") as file:
                np.lib.format.write_array(file, values, allow_pickle=False)
    return content.getvalue()


def _rounded(figures: Any, digits: int | None) -> Any:
    """Nested figures with so many significant digits."""
    if isinstance(figures, dict):
        return {key: _rounded(value, digits) for key, value in figures.items()}
    if isinstance(figures, list):
        return [_rounded(value, digits) for value in figures]
    return float(f"{figures:.{digits}g}") if isinstance(figures, float) and digits is not None else figures


def _shared(configs: list[Figures]) -> Figures:
    first = configs[0]
    return {key: value for key, value in first.items() if all(key in one and one[key] == value for one in configs)}


def _less(one: Figures, shared: Figures, machine: Figures) -> Figures:
    """A result without what all have in common."""
    found: Figures = {"config": {key: value for key, value in one["config"].items() if key not in shared}}
    found |= {} if one.get("machine", machine) == machine else {"machine": one["machine"]}
    return found | {"figures": one["figures"]}


def _lines(whole: dict[str, Any]) -> str:
    """JSON with one line for each trial: small, and changes can be read."""
    parts = []
    for key, value in whole.items():
        if key in ("trials", "others", "grids") and value:
            inner = ",\n".join(f"  {_dumps(name)}: {_dumps(one)}" for name, one in value.items())
            parts.append(f"{_dumps(key)}: {{\n{inner}\n}}")
        else:
            parts.append(f"{_dumps(key)}: {_dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
