"""Accuracy of a record model on synthetic records: y = x, z = x², a constant, a missing and a heavy-tailed column.

    python benchmarks/records.py --json results/records.json

The model is trained on 2,000 records; errors are relative, on new records. Takes some minutes on one CPU core.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import harness
import numpy as np

from numerate.records import RecordModel

if TYPE_CHECKING:
    from collections.abc import Sequence


def made_rows(draws: np.random.Generator, count: int) -> list[dict[str, float | None]]:
    """Records with y = x, z = x², a constant, a column that is missing in half of them, and a heavy-tailed one."""
    x = draws.uniform(1, 10, count)
    m = 10 + 3 * np.sin(x) + 0.5 * draws.normal(size=count)
    h = np.exp(0.2 * x + 1.2 * draws.normal(size=count))
    missing = draws.random(count) < 0.5
    columns = zip(x.tolist(), m.tolist(), h.tolist(), missing.tolist(), strict=True)
    return [{"x": a, "y": a, "z": a * a, "c": 42.5, "m": None if no else b, "h": c} for a, b, c, no in columns]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__, json="results/records.json")
    parser.add_argument("--records", type=int, default=2000, help="number of training records")
    parser.add_argument("--new", type=int, default=3000, help="number of new records")
    parser.add_argument("--scale", default=None, help="scale of the run `records`, as tiny")
    parser.add_argument("--steps", type=int, default=None, help="training steps; by default those of the run `records`")
    parser.add_argument("--seed", type=int, default=1, help="seed of records and weights")
    options = parser.parse_args(arguments)
    draws = np.random.default_rng(options.seed)
    start = time.perf_counter()
    changes = [] if options.steps is None else [f"training.max_steps={options.steps}"]
    model = RecordModel.fit(made_rows(draws, options.records), seed=options.seed, scale=options.scale, changes=changes)
    figures: dict[str, Any] = {"seconds_to_fit": time.perf_counter() - start}
    new = made_rows(draws, options.new)
    for field in "xyzcmh":
        having = [row for row in new if row[field] is not None]
        truth = np.array([row[field] for row in having])
        low, median, high = model.predict(having, field).T
        off = np.abs(median - truth) / np.abs(truth)
        figures[field] = {
            "median_error": float(np.median(off)),
            "error_of_95": float(np.quantile(off, 0.95)),
            "inside": float(np.mean((low <= truth) & (truth <= high))),
            "records": len(having),
        }
        one = figures[field]
        print(
            f"{field}: median error {one['median_error']:.4%}, 95 of 100 below {one['error_of_95']:.2%}, "
            f"{one['inside']:.1%} inside",
            flush=True,
        )
    harness.write(options, figures)


if __name__ == "__main__":
    main()
