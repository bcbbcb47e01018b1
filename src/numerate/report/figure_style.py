"""The one look that all figures share, and the only place that loads matplotlib.

No figure touches pyplot: each is a `matplotlib.figure.Figure` of its own, made and drawn under the same settings
whatever the user's are, so that it is the same file every time.
"""

from __future__ import annotations

import importlib
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

__all__ = [
    "BAND",
    "GREY",
    "INK",
    "PALETTE",
    "drawing",
    "figure_and_axes",
    "load",
    "number_label",
    "power_ticks",
    "stroke",
]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
"""Okabe and Ito's colours, which all kinds of colour vision tell apart; without yellow, which white swallows."""
INK, GREY, BAND = "#222222", "#8A8A8A", "#D9D9D9"
_MOST_TICKS = 6
_DASHES = ("-", "--", ":", "-.")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "font.size": 9.5,
    "grid.color": "#EBEBEB",
    "grid.linewidth": 0.8,
    "image.cmap": "PuOr_r",  # two hues that all kinds of colour vision tell apart, white at 0
    "image.interpolation": "none",  # a cell of a map is one pixel of the file
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.dpi": 150,
    "svg.fonttype": "none",  # text stays text: small, searched, read aloud
    "svg.hashsalt": "numerate",  # ids are random without it
    "text.color": INK,
    "text.parse_math": False,  # a label that speaks of $5 and $7 is no formula
    "xtick.color": INK,
    "ytick.color": INK,
}


def load(module: str = "matplotlib") -> Any:
    """A module of matplotlib, or one line that says how to get it.

    Example:
        >>> load("matplotlib.figure").Figure.__name__
        'Figure'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError('figures need matplotlib: pip install "numerate[plots]"') from None


@contextmanager
def drawing() -> Iterator[None]:
    """Within it, matplotlib's settings are ours: its own defaults, and the house style on top."""
    matplotlib = load()
    with matplotlib.rc_context():
        # Those that name a backend or its toolbars are not a matter of looks, and loading them would start one.
        kept = {key: value for key, value in matplotlib.rcParamsDefault.items() if "backend" not in key}
        matplotlib.rcParams.update({key: value for key, value in kept.items() if key != "toolbar"} | _SETTINGS)
        yield


@contextmanager
def figure_and_axes(title: str = "", width: float = 6.4, height: float = 3.8) -> Iterator[tuple[Figure, Axes]]:
    """A new figure of some inches with one pair of axes, to be drawn into under the house style.

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


def stroke(index: int) -> dict[str, Any]:
    """Colour and dashes of the index-th series: 28 that differ.

    Example:
        >>> stroke(0)["color"] == stroke(7)["color"], stroke(0)["linestyle"] == stroke(7)["linestyle"]
        (True, False)
    """
    row, column = divmod(index, len(PALETTE))
    return {"color": PALETTE[column], "linestyle": _DASHES[row % len(_DASHES)]}


def number_label(value: float) -> str:
    """A tick of a logarithmic axis: plain where that is short, a power of ten where it is not.

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
    """Labels the ticks of a logarithmic axis by `number_label`; 2 and 5 as well where it shows hardly a decade."""
    ticker = load("matplotlib.ticker")

    def between(value: float, _: int | None) -> str:
        low, high = axis.get_view_interval()
        narrow = 0 < low < high < 50 * low
        return number_label(value) if narrow and f"{value:.0e}"[0] in "25" else ""

    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_label(value)))
    axis.set_minor_formatter(ticker.FuncFormatter(between))


def signed_ticks(axis: Axis, threshold: float) -> None:
    """Ticks for an axis that is logarithmic on both sides of 0: 0 and few enough powers of ten to be read.

    `axis` has its scale and limits; up to `threshold` it is straight, with 0 as the only tick inside.
    """
    ticker = load("matplotlib.ticker")
    low, high = axis.get_view_interval()
    first = math.ceil(math.log10(threshold) - 1e-9)
    tops = {sign: math.floor(math.log10(end)) for sign, end in ((-1, -low), (1, high)) if end > threshold}
    step = max(1, math.ceil(sum(top - first + 1 for top in tops.values()) / _MOST_TICKS))
    last = first + max(0, math.ceil(0.6 * step - 1.1))  # the straight part is 1.1 decades wide; 0 has its label there
    ticks = [sign * float(f"1e{power}") for sign, top in tops.items() for power in range(top, last - 1, -step)]
    axis.set_major_locator(ticker.FixedLocator(sorted([0.0, *ticks])))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number_label(value)))
