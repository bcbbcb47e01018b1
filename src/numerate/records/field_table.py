"""What a model of records knows of its fields, as a table of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.records.cells import time_text
from numerate.records.conformal import LEVELS

if TYPE_CHECKING:
    from numerate.processing.scaling import Scaling
    from numerate.records.conformal import Calibration
    from numerate.records.input_counts import Counts
    from numerate.records.schema import Schema

__all__ = ["table"]

_HEAD = ("field", "holds", "values", "missing", "strays", "from", "to", "scaler", "stretch", "held out")


def table(schema: Schema, scaling: Scaling, calibration: Calibration, counts: Counts) -> str:
    """The fields of training, a line each; then what was odd about the records asked about since."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for path, field in schema.fields.items():
        shown = field.shown and field.holds != "text"
        ends = ("", "")
        if shown or field.holds == "constant":
            ends = tuple(time_text(end) if field.is_time else f"{end:.6g}" for end in (field.low, field.high))
        factors = calibration.stretch.get(path)
        scaler = scaling.fields[path].scaler if shown and path in scaling.fields else ""
        rows.append((
            path, "left out" if field.left_out else field.holds, f"{field.count:,}", f"{field.missing:,}",
            f"{field.strays:,}", *ends, scaler, "" if factors is None else f"{factors[LEVELS.index(0.9)]:.2f}",
            f"{calibration.held_out[path]:,}" if path in calibration.held_out else "",
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.append(f"asked about: {counts.records:,} records")
    for kind in counts.KINDS:
        lines += [f"  {kind:<8}  {path}: {times:,}" for path, times in sorted(counts[kind].items())]
    return "\n".join(lines)
