"""Counts of unusual input, and a text table of the fields of a `RecordModel`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from numerate.records.cells import time_text
from numerate.records.conformal import LEVELS

if TYPE_CHECKING:
    from numerate.processing.scaling import Scaling
    from numerate.records.conformal import Calibration
    from numerate.records.schema import Schema

__all__ = ["Counts", "table"]

_HEAD = ("field", "holds", "values", "missing", "strays", "from", "to", "scaler", "stretch", "held out")


class Counts:
    """Counts of unusual input in the records given to a model, by kind and field.

    | kind | input |
    |---|---|
    | `missing` | a missing value |
    | `infinite` | an infinite number, treated as missing |
    | `outside` | a number outside of the training range; it is used as it is |
    | `strays` | a value of another kind than its field, used as text |
    | `unknown` | a key that the training records did not have; it is ignored |

    Example:
        >>> counts = Counts()
        >>> counts.add("outside", "x"); counts.add("outside", "x")
        >>> counts["outside"]
        {'x': 2}
    """

    KINDS = ("missing", "infinite", "outside", "strays", "unknown")

    def __init__(self) -> None:
        self.records = 0
        self._found: dict[str, Counter[str]] = {kind: Counter() for kind in self.KINDS}

    def add(self, kind: str, path: str) -> None:
        """Counts one value."""
        self._found[kind][path] += 1

    def __getitem__(self, kind: str) -> dict[str, int]:
        return dict(self._found[kind])


def table(schema: Schema, scaling: Scaling, calibration: Calibration, counts: Counts) -> str:
    """One line per field of the training records, then the counts of unusual input since the training."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for path, field in schema.fields.items():
        shown = field.shown and field.holds != "text"
        ends = ("", "")
        if shown or field.holds == "constant":
            ends = tuple(time_text(end) if field.is_time else f"{end:.6g}" for end in (field.low, field.high))
        holds = f"{field.holds} ({field.unit})" if field.unit else field.holds
        factors = calibration.stretch.get(path)
        scaler = scaling.fields[path].scaler if shown and path in scaling.fields else ""
        rows.append((
            path, "left out" if field.left_out else holds, f"{field.count:,}", f"{field.missing:,}",
            f"{field.strays:,}", *ends, scaler, "" if factors is None else f"{factors[LEVELS.index(0.9)]:.2f}",
            f"{calibration.held_out[path]:,}" if path in calibration.held_out else "",
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.append(f"predicted since: {counts.records:,} records")
    for kind in counts.KINDS:
        lines += [f"  {kind:<8}  {path}: {times:,}" for path, times in sorted(counts[kind].items())]
    return "\n".join(lines)
