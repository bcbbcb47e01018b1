"""`numerate doctor`: checks the installation."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from packaging.requirements import Requirement

__all__ = ["SELF_CHECK", "Finding", "examine"]

Health = Literal["ok", "missing", "bad"]

SELF_CHECK = (
    ("Revenue rose 3.2% to $1.5 billion in 2023.", [0.032, 1.5e9, 2023.0]),
    ("Blood pressure 120/80 at 12:30, −4.5 °C outside", [120.0, 80.0, 12.0, 30.0, -4.5]),
    ("a loss of (1,234) against 6.02e23", [-1234.0, 6.02e23]),
    ("a density of 15.4/sq mi, 1,015/sq mi later", [15.4, 1015.0]),
)
"""Texts with known values, to check that reading works on this machine."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    what: str
    state: str
    health: Health = "ok"
    advice: str = ""


def examine() -> list[Finding]:
    """Checks the interpreter, the packages, the devices, and reading.

    The health `missing` is an extra that is not installed, which is no fault; `bad` is a fault.
    """
    python = Finding("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    return [python, *_packages(), _device(), _reading()]


def _packages() -> list[Finding]:
    """The requirements of the installed package, from its metadata, so that no list here gets out of date."""
    from numerate import __version__

    findings = [Finding("numerate", __version__)]
    try:
        from packaging.requirements import Requirement

        wanted = [Requirement(line) for line in metadata.requires("numerate") or []]
    except ImportError as error:  # also what metadata raises for a package that is not installed
        return [Finding("numerate", f"{__version__} ({error})", "bad", "install it from its folder: pip install .")]
    extras: dict[str, list[Requirement]] = {}
    for requirement in wanted:
        extra = _extra_of(str(requirement.marker)) if requirement.marker else ""
        if extra:
            extras.setdefault(extra, []).append(requirement)
        elif requirement.marker is None or requirement.marker.evaluate():
            fault = _fault(requirement)
            state = f"{_version(requirement.name) or 'not installed'}{f' ({fault})' if fault else ''}"
            advice = f'pip install "{requirement.name}{requirement.specifier}"' if fault else ""
            findings.append(Finding(requirement.name, state, "bad" if fault else "ok", advice))
    findings.insert(4, Finding("tokenizers", _version("tokenizers") or "not installed"))
    for extra, requirements in extras.items():
        lacking = [requirement.name for requirement in requirements if _fault(requirement)]
        state = f"lacks {', '.join(lacking)}" if lacking else "present"
        advice = f'pip install "numerate[{extra}]"' if lacking else ""
        findings.append(Finding(f"extra {extra}", state, "missing" if lacking else "ok", advice))
    return findings


def _extra_of(marker: str) -> str:
    """The extra in a marker as `extra == "units"`; empty without one."""
    _, found, rest = marker.partition("extra == ")
    return rest[1:].partition(rest[0])[0] if found else ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _fault(requirement: Requirement) -> str:
    """The problem of the installed version; empty if there is none."""
    if requirement.name == "numerate":  # the extra `all` lists the other extras, which are checked themselves
        return ""
    version = _version(requirement.name)
    if version is None:
        return "not installed"
    return "" if requirement.specifier.contains(version, prereleases=True) else f"needs {requirement.specifier}"


def _device() -> Finding:
    """The accelerator; torch takes seconds to import, so it is only imported if there is a driver."""
    if not (Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists() or sys.platform in ("darwin", "win32")):
        return Finding("device", "no GPU, computing on the CPU")
    try:
        import torch
    except ImportError:
        return Finding("device", "unknown without torch")
    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return Finding("device", names)
    if torch.backends.mps.is_available():
        return Finding("device", "Apple GPU (mps)")
    return Finding("device", f"torch {torch.__version__} uses no GPU, computing on the CPU")


def _reading() -> Finding:
    """Reads texts with known values."""
    from numerate.reading import find
    from numerate.registry import readers

    try:
        names = ", ".join(readers.names())
        for text, expected in SELF_CHECK:
            values = [numeral.value for numeral in find(text)]
            if values != expected:
                return Finding("reading", f"{text!r} gives {values}, not {expected}", "bad", "reinstall numerate")
    except Exception as error:  # a broken installation may raise anything
        return Finding("reading", f"{type(error).__name__}: {error}", "bad", "reinstall numerate")
    return Finding("reading", f"{len(SELF_CHECK)} texts read correctly; readers: {names}")
