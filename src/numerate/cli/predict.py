"""`numerate predict`: one field of each record of a file, as median, interval and samples."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from numerate.cli.source import one_line_errors
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

__all__ = ["Predictions", "prediction_table"]

BATCH = 256


class Predictions:
    """Iterable of a saved model's predictions, one per record of a file.

    Args:
        folder: A folder written by `numerate train records` or `RecordModel.save`.
        file: Records, in any format of the training data.
        field: Path of the predicted field.
        level: Probability of the interval.
        samples: Number of samples per record.
        seed: Random seed of the samples.

    Raises:
        NumerateError: There is no such model, file or field; or, during iteration, a record cannot be read.
    """

    def __init__(
        self, folder: str, file: str, field: str, *, level: float = 0.9, samples: int = 0, seed: int = 0
    ) -> None:
        from numerate.records import RecordModel
        from numerate.training.sources import rows_of

        if not 0 < level < 1:
            raise BadInput(f"--level must lie between 0 and 1, got {level}")
        if samples < 0:
            raise BadInput(f"--samples must not be negative, got {samples}")
        quiet_unless_terminal()
        self.field, self.level, self.samples, self.seed = field, level, samples, seed
        self.model = RecordModel.load(folder)
        # A second one for the samples, so that unusual input of a record is counted once.
        self._drawing = RecordModel(self.model.model, self.model.schema, self.model.calibration)
        self.path = self.model.schema.path(field)
        self._rows = rows_of(file)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Dicts with `record` (index from 0), `field`, `median`, `low`, `high`, and `samples` if requested."""
        ends = ((1 - self.level) / 2, 0.5, (1 + self.level) / 2)
        rows = (row for _, row in self._rows)
        first = 0
        with one_line_errors():
            while some := list(islice(rows, BATCH)):
                found = _plain(self.model.predict(some, self.path, ends))
                drawn = [()] * len(some)
                if self.samples:
                    drawn = _plain(self._drawing.sample(some, self.path, self.samples, self.seed + first))
                for at, ((low, median, high), samples) in enumerate(zip(found, drawn, strict=True)):
                    line = {"record": first + at, "field": self.path, "median": median, "low": low, "high": high}
                    yield line | ({"samples": list(samples)} if self.samples else {})
                first += len(some)

    def unusual_input(self) -> str:
        """Unusual values of the records in one line, e.g. numbers outside of the training range; may be empty."""
        counts = self.model.counts
        parts = [
            f"{sum(counts[kind].values()):,} {kind} ({', '.join(sorted(counts[kind])[:5])})"
            for kind in counts.KINDS
            if counts[kind] and kind != "missing"
        ]
        return "; ".join(parts)


def prediction_table(predictions: Iterable[dict[str, Any]], field: str, level: float) -> Table:
    """The predictions as a table for a terminal."""
    from rich.table import Table

    table = Table(title=f"{field}, with {100 * level:g} % intervals", title_justify="left")
    lines = list(predictions)
    drawn = ["samples"] if any("samples" in each for each in lines) else []
    for name in ("record", "median", "low", "high", *drawn):
        table.add_column(name, justify="left" if name == "samples" else "right")
    for each in lines:
        cells = [_shown(each[name]) for name in ("median", "low", "high")]
        table.add_row(str(each["record"]), *cells, *(" ".join(map(_shown, each[name])) for name in drawn))
    return table


def _shown(value: float | str) -> str:
    # Times without fractions of seconds, which would make the table wider than a screen.
    return re.sub(r"\.[0-9]+Z$", "Z", value) if isinstance(value, str) else f"{value:.6g}"


def _plain(values: Any) -> list[Any]:
    """An array as lists of numbers, or of times in ISO format."""
    if values.dtype.kind != "M":
        return values.tolist()
    return [[str(value) + "Z" for value in row] for row in values]
