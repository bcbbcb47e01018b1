"""The common style of all figures, their files, and the only place that imports matplotlib.

No figure uses pyplot: each is a `matplotlib.figure.Figure` that is made and drawn with the same settings, whatever the
user's are, so that the same data give the same file.
"""

from __future__ import annotations

import importlib
import io
import math
import re
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import read_yaml, write_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "BAND", "GREY", "INK", "PALETTE", "drawable", "drawing", "figure_and_axes", "load", "number_label", "power_ticks",
    "rendered", "save", "signed_ticks", "stroke",
]  # fmt: skip

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
"""Colours of Okabe and Ito, which people with any kind of colour vision can tell apart; without yellow."""
INK, GREY, BAND = "#222222", "#8A8A8A", "#D9D9D9"
_MOST_TICKS = 6
_DASHES = ("-", "--", ":", "-.")
_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Metadata without date and version, which would make the files of equal figures differ.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "numerate"},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def load(module: str = "matplotlib") -> Any:
    """Imports a module of matplotlib, or raises an error that says how to install it.

    Example:
        >>> load("matplotlib.figure").Figure.__name__
        'Figure'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError('figures need matplotlib: pip install "numerate[plots]"') from None


@cache
def _settings() -> dict[str, Any]:
    name = "figure_settings.yaml"
    return read_yaml(resources.files("numerate").joinpath("data", name).read_text("utf-8"), name)


@contextmanager
def drawing() -> Iterator[None]:
    """Context in which matplotlib has its default settings and the common style."""
    matplotlib = load()
    with matplotlib.rc_context():
        # Backends and toolbars are not part of the style, and setting them would start a backend.
        kept = {key: value for key, value in matplotlib.rcParamsDefault.items() if "backend" not in key}
        matplotlib.rcParams.update({key: value for key, value in kept.items() if key != "toolbar"} | _settings())
        yield


@contextmanager
def figure_and_axes(title: str = "", width: float = 6.4, height: float = 3.8) -> Iterator[tuple[Figure, Axes]]:
    """Context with a new figure (size in inches) and its axes, in the common style.

    Example:
        >>> with figure_and_axes("Costs $5, not $7") as (figure, axes):
        ...     line = axes.plot([1, 2], [3, 4])
        >>> axes.get_title(loc="left")
        'Costs $5, not $7'
    """
    with drawing():
        figure = load("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        axes.set_title(title)
        yield figure, axes


def drawable(text: str) -> str:
    r"""A text for figures and pages: each control character, lone surrogate and noncharacter becomes U+FFFD.

    XML has no way to write them, so that a NUL in a label would make a broken SVG.

    Example:
        >>> drawable("a\x1bb\nc")
        'a\ufffdb\nc'
    """
    return _NOT_XML.sub("\ufffd", text)


def rendered(figure: Figure, kind: str = "svg") -> bytes:
    """The figure as `svg`, `png` or `pdf`: the same bytes for the same data.

    Example:
        >>> from numerate.report import learning_curves
        >>> rendered(learning_curves({"loss": ([0, 1], [2.0, 1.0])}))[:5]
        b'<?xml'
    """
    if kind not in _METADATA:
        raise ValueError(f"kind must be svg, png or pdf, got {kind!r}")
    buffer = io.BytesIO()
    for text in figure.findobj(load("matplotlib.text").Text):
        if text.get_text() != (clean := drawable(text.get_text())):  # type: ignore[attr-defined]
            text.set_text(clean)  # type: ignore[attr-defined]
    with drawing():
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Writes a figure atomically to a file named `.svg`, `.png` or `.pdf`; makes folders, replaces an older file."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise ValueError(f"a figure's file must end in .svg, .png or .pdf, got {str(path)!r}")
    return write_atomically(path, rendered(figure, kind))


def stroke(index: int) -> dict[str, Any]:
    """Colour and dashes of the series with this index; the first 28 differ.

    Example:
        >>> stroke(0)["color"] == stroke(7)["color"], stroke(0)["linestyle"] == stroke(7)["linestyle"]
        (True, False)
    """
    row, column = divmod(index, len(PALETTE))
    return {"color": PALETTE[column], "linestyle": _DASHES[row % len(_DASHES)]}


def number_label(value: float) -> str:
    """Label of a tick of a logarithmic axis: a plain number if that is short, else a power of ten.

    Example:
        >>> [number_label(value) for value in (0.0, -100.0, 0.01, 1e6, -2e-9)]
        ['0', '−100', '0.01', '10⁶', '−2·10⁻⁹']
    """
    size = abs(value)
    if not math.isfinite(value) or size == 0 or 1e-3 <= size < 1e4:
        return f"{value:g}".replace("-", "−") if value else "0"
    digits, _, exponent = f"{size:.3e}".partition("e")
    digits, sign = f"{float(digits):g}", "−" if value < 0 else ""
    power = "10" + str(int(exponent)).translate(_RAISED)
    return sign + (power if digits == "1" else f"{digits}·{power}")


def power_ticks(axis: Axis) -> None:
    """Labels the ticks of a logarithmic axis with `number_label`; on a short axis also those at 2 and 5."""
    ticker = load("matplotlib.ticker")

    def between(value: float, _: int | None) -> str:
        low, high = axis.get_view_interval()
        narrow = 0 < low < high < 50 * low
        return number_label(value) if narrow and f"{value:.0e}"[0] in "25" else ""

    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_label(value)))
    axis.set_minor_formatter(ticker.FuncFormatter(between))


def signed_ticks(axis: Axis, threshold: float) -> None:
    """Sets ticks of a symlog axis, whose scale and limits are set: 0 and a readable number of powers of ten.

    The axis is linear up to `threshold`, with 0 as the only tick in the linear part.
    """
    ticker = load("matplotlib.ticker")
    low, high = axis.get_view_interval()
    first = math.ceil(math.log10(threshold) - 1e-9)
    tops = {sign: math.floor(math.log10(end)) for sign, end in ((-1, -low), (1, high)) if end > threshold}
    step = max(1, math.ceil(sum(top - first + 1 for top in tops.values()) / _MOST_TICKS))
    last = first + max(0, math.ceil(0.6 * step - 1.1))  # the linear part is 1.1 decades wide and has the label of 0
    ticks = [sign * float(f"1e{power}") for sign, top in tops.items() for power in range(top, last - 1, -step)]
    axis.set_major_locator(ticker.FixedLocator(sorted([0.0, *ticks])))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_label(value)))
