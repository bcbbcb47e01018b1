"""Files that are either whole or not there, and the same every time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import write_atomically
from numerate.report.figure_style import drawing

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

__all__ = ["rendered", "save"]

# Neither the hour nor the version of the program that drew it is part of a figure.
_WITHOUT: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "numerate"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def rendered(figure: Figure, kind: str = "svg") -> bytes:
    """The figure as `svg`, `png` or `pdf`: the same bytes for the same data.

    Example:
        >>> from numerate.report import learning_curves
        >>> rendered(learning_curves({"loss": ([0, 1], [2.0, 1.0])}))[:5]
        b'<?xml'
    """
    if kind not in _WITHOUT:
        raise ValueError(f"a figure is written as svg, png or pdf, got {kind!r}")
    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format=kind, metadata=_WITHOUT[kind])
    return buffer.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure to a file named `.svg`, `.png` or `.pdf`, whole or not at all.

    Args:
        figure: What one of this package's functions gave.
        path: Where to; folders are made, an older file is replaced.

    Returns:
        The path.
    """
    suffix = Path(path).suffix
    if suffix.lower() not in {f".{kind}" for kind in _WITHOUT}:
        raise ValueError(f"a figure's file must end in .svg, .png or .pdf, got {str(path)!r}")
    return write_atomically(path, rendered(figure, suffix[1:].lower()))
