"""Results as files: configuration, machine and figures as JSON, predictions beside them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from torch import Tensor

__all__ = [
    "OtherSettingsError",
    "describe",
    "differences",
    "is_there",
    "read_figures",
    "read_predictions",
    "write",
    "write_predictions",
]

_PACKAGES = ("numerate", "torch", "transformers", "tokenizers", "numpy")


class OtherSettingsError(ValueError):
    """A result is there already that was made with other settings."""


def describe() -> dict[str, Any]:
    """Where a figure is measured: commit, device, cores, Python and package versions."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    commit = asked.stdout.strip() if asked.returncode == 0 else None
    versions: dict[str, str | None] = {}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    device = "cpu"
    if versions["torch"]:
        import torch

        device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "cpu"
    return {
        "commit": os.environ.get("NUMERATE_COMMIT") or commit,
        "device": device,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": versions,
    }


def write(path: str | Path, *, config: dict[str, Any], figures: Any) -> None:
    """Writes a result, whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    config = {key: value for key, value in config.items() if key != "json"}  # where it is written is no part of it
    part = target.with_name(target.name + ".part")
    part.write_text(json.dumps({"config": config, "machine": describe(), "figures": figures}, indent=2) + "\n")
    part.replace(target)


def differences(path: str | Path, wanted: Mapping[str, Any], apart: Collection[str] = ()) -> str | None:
    """How a result was made otherwise than wanted now; None if it was not, or is not there.

    A setting that the file does not tell is younger than it, and had no other value then.

    Args:
        path: The result.
        wanted: Settings by name, as `write` would be given them.
        apart: Settings that do not count.
    """
    if not Path(path).is_file():
        return None
    there = json.loads(Path(path).read_text(encoding="utf-8"))["config"]
    told = json.loads(json.dumps(dict(wanted)))
    odd = [key for key in told if key in there and key not in apart and there[key] != told[key]]
    return ", ".join(f"{key} {there[key]!r} and not {told[key]!r}" for key in odd) or None


def is_there(path: str | Path, wanted: Mapping[str, Any], apart: Collection[str] = ()) -> bool:
    """Whether a result is there; one of other settings is an error, for nobody would see it in a table."""
    if (otherwise := differences(path, wanted, apart)) is not None:
        raise OtherSettingsError(f"{Path(path).name} is there with {otherwise}: give another folder, or delete it")
    return Path(path).is_file()


def read_figures(path: str | Path) -> Any:
    """The figures of a result that `write` wrote."""
    return json.loads(Path(path).read_text(encoding="utf-8"))["figures"]


def write_predictions(path: str | Path, columns: Mapping[str, Tensor], exact: Collection[str] = ("gold",)) -> None:
    """Writes columns as a packed `.npz`; what a model says needs no more than float32, but for the `exact` ones."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    arrays = {name: column.numpy() for name, column in columns.items()}
    most = float(np.finfo(np.float32).max)
    small = {
        name: np.clip(array, -most, most).astype(np.float32)
        if array.dtype == np.float64 and name not in exact
        else array
        for name, array in arrays.items()
    }
    with target.open("wb") as file:
        np.savez_compressed(file, **small)  # type: ignore[arg-type]


def read_predictions(path: str | Path) -> dict[str, Tensor]:
    """The columns of `write_predictions`."""
    import torch

    with np.load(path, allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files}
