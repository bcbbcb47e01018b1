"""Where a figure was measured: written beside every result."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Commit, device, cores, Python and package versions."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    commit = asked.stdout.strip() if asked.returncode == 0 else None
    versions = {}
    for package in ("numerate", "torch", "transformers", "tokenizers", "numpy"):
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


def write(path: str, *, config: dict[str, Any], figures: Any) -> None:
    """Writes a result: configuration, machine and figures."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    config = {key: value for key, value in config.items() if key != "json"}  # where it is written is no part of it
    target.write_text(json.dumps({"config": config, "machine": describe(), "figures": figures}, indent=2) + "\n")
