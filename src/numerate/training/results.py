"""Result files: settings, machine and figures as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numerate.errors import NumerateError
from numerate.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["OtherSettingsError", "Result", "describe"]

_PACKAGES = ("numerate", "torch", "transformers", "tokenizers", "numpy")


class OtherSettingsError(NumerateError, ValueError):
    """A result file exists already and was made with other settings."""


def describe() -> dict[str, Any]:
    """The machine of a measurement: commit, device, cores, Python and package versions."""
    commit = _commit()
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
        "commit": os.environ.get("NUMERATE_COMMIT") or commit, "device": device, "cores": os.cpu_count(),
        "python": platform.python_version(), "packages": versions,
    }  # fmt: skip


def _commit() -> str | None:
    """The commit of the working folder; None outside of a repository, or where git is missing or cannot be run."""
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    except (OSError, ValueError):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None


@dataclass(frozen=True)
class Result:
    """A result file: JSON with the settings of a measurement, the machine, and the figures.

    Attributes:
        config: Settings by name.
        figures: Measured figures, as plain JSON types.
        machine: See `describe`.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "one.json"
        >>> _ = Result({"width": 32}, {"r2": 0.5}).write(file)
        >>> Result.read(file).figures, Result.exists_with(file, {"width": 32})
        ({'r2': 0.5}, True)
        >>> Result.exists_with(file, {"width": 16})
        Traceback (most recent call last):
        numerate.training.results.OtherSettingsError: one.json exists with width=32 (requested 16): choose another \
--output or delete it
    """

    config: Mapping[str, Any]
    figures: Any
    machine: Mapping[str, Any] = field(default_factory=lambda: describe())

    def write(self, path: str | Path) -> Path:
        """Writes the file atomically."""
        config = {key: value for key, value in self.config.items() if key != "json"}  # the output path is no setting
        whole = {"config": config, "machine": self.machine, "figures": self.figures}
        return write_atomically(path, (json.dumps(whole, indent=2) + "\n").encode())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Reads a file of `write`."""
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(found["config"], found["figures"], found.get("machine", {}))

    def differences(self, settings: Mapping[str, Any], ignore: Collection[str] = ()) -> str | None:
        """The settings that differ, as `width=32 (requested 16)`; None if there are none.

        A setting that the file lacks was added to the program later, and counts as equal.
        """
        requested = json.loads(json.dumps(dict(settings)))  # JSON has no tuples
        odd = [key for key in requested if key in self.config and key not in ignore]
        odd = [key for key in odd if self.config[key] != requested[key]]
        return ", ".join(f"{key}={self.config[key]!r} (requested {requested[key]!r})" for key in odd) or None

    @classmethod
    def exists_with(cls, path: str | Path, settings: Mapping[str, Any], ignore: Collection[str] = ()) -> bool:
        """Whether the file exists, with these settings.

        Raises:
            OtherSettingsError: It exists with other settings, and would go unnoticed into a table.
        """
        if not Path(path).is_file():
            return False
        if (other := cls.read(path).differences(settings, ignore)) is not None:
            raise OtherSettingsError(f"{Path(path).name} exists with {other}: choose another --output or delete it")
        return True
