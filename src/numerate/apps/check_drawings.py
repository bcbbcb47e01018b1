"""Small drawings of what a number was compared with, as SVG inside of the HTML report."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["density_drawing"]

WIDTH, HEIGHT, MARGIN = 420, 64, 12
LOG_FROM = 20
"""Ratio of the largest to the smallest value from which the number line is logarithmic."""


def density_drawing(evidence: Mapping[str, Any]) -> str:
    """The density that a number was compared with, with the number and what was probably meant; empty without one.

    Example:
        >>> evidence = {"density": {"edges": [1.0, 2.0, 3.0], "shares": [0.5, 0.5]}, "value": 30.0, "expected": 3.0}
        >>> density_drawing(evidence).count("<line")
        3
        >>> density_drawing({})
        ''
    """
    density, value = evidence.get("density"), _number(evidence.get("value"))
    if not isinstance(density, dict) or value is None:
        return ""
    edges = [_number(edge) for edge in density.get("edges", ())]
    shares = [_number(share) for share in density.get("shares", ())]
    if len(edges) != len(shares) + 1 or len(shares) < 2 or None in edges or None in shares:
        return ""
    return _drawn([edge for edge in edges if edge is not None], [share for share in shares if share is not None], value,
                  _number(evidence.get("expected")))  # fmt: skip


def _drawn(edges: list[float], shares: list[float], value: float, meant: float | None) -> str:
    points = [*edges, value, *([meant] if meant is not None else [])]
    use_log = min(points) > 0 and max(points) > LOG_FROM * min(points)
    moved = [math.log(point) if use_log else point for point in points]
    low, high = min(moved), max(moved)
    if not math.isfinite(high - low) or high <= low:
        return ""
    at = [MARGIN + (WIDTH - 2 * MARGIN) * (point - low) / (high - low) for point in moved]
    base, top = HEIGHT - 16, 6
    # Density and not share: bins may differ in width on this line.
    widths = [max(at[index + 1] - at[index], 1e-9) for index in range(len(shares))]
    heights = [share / width for share, width in zip(shares, widths, strict=True)]
    most = max(heights) or 1.0
    path = [f"M{at[0]:.1f} {base}"]
    for index, height in enumerate(heights):
        level = base - (base - top) * height / most
        path.append(f"L{at[index]:.1f} {level:.1f}L{at[index + 1]:.1f} {level:.1f}")
    path.append(f"L{at[len(shares)]:.1f} {base}Z")
    count = len(edges)
    label = f"usual: {edges[0]:g} to {edges[-1]:g}; this number: {value:g}"
    label += f"; probably meant: {meant:g}" if meant is not None else ""
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{html.escape(label)}"><title>{html.escape(label)}</title>',
        f'<path class="area" d="{"".join(path)}"/>',
        f'<line class="axis" x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{base}" y2="{base}"/>',
        _line("value", at[count], top, base),
    ]
    if meant is not None:
        parts.append(_line("meant", at[count + 1], top, base))
    parts += _labels([(at[0], f"{edges[0]:.4g}"), (at[count - 1], f"{edges[-1]:.4g}"), (at[count], f"{value:.6g}")])
    return "".join(parts) + "</svg>"


def _line(name: str, place: float, top: float, base: float) -> str:
    return f'<line class="{name}" x1="{place:.1f}" x2="{place:.1f}" y1="{top - 4}" y2="{base + 3}"/>'


def _labels(labels: Sequence[tuple[float, str]]) -> list[str]:
    """Labels below the line that do not touch each other: the last one, then the others where there is room."""
    kept: list[tuple[float, float, str]] = []
    for place, text in reversed(labels):
        half = 3.5 * len(text)
        middle = min(max(place, half), WIDTH - half)
        if all(abs(middle - other) > half + room for other, room, _ in kept):
            kept.append((middle, half, f'<text x="{middle:.1f}" y="{HEIGHT - 2}" text-anchor="middle">{text}</text>'))
    return [text for _, _, text in kept]


def _number(value: Any) -> float | None:
    """A finite number, None for anything else."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
