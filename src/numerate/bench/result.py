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

__all__ = ["describe", "read_figures", "read_predictions", "write", "write_predictions"]

_PACKAGES = ("numerate", "torch", "transformers", "tokenizers", "numpy")


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
