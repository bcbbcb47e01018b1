"""What records teach: y = x, y = x², a constant, a missing and a heavy-tailed column, learnt from 2,000 records.

    python benchmarks/records.py --json results/records/records.json

Errors are shares of the true value, on new records; minutes on one core of a CPU.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import machine
import numpy as np

from numerate.records import RecordModel


def made_rows(draws: np.random.Generator, count: int) -> list[dict[str, float | None]]:
    """y = x, z = x², a constant, a column that is missing half of the time, and a heavy-tailed one."""
    x = draws.uniform(1, 10, count)
    m = 10 + 3 * np.sin(x) + 0.5 * draws.normal(size=count)
    h = np.exp(0.2 * x + 1.2 * draws.normal(size=count))
    missing = draws.random(count) < 0.5
    columns = zip(x.tolist(), m.tolist(), h.tolist(), missing.tolist(), strict=True)
    return [{"x": a, "y": a, "z": a * a, "c": 42.5, "m": None if no else b, "h": c} for a, b, c, no in columns]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--new", type=int, default=3000)
    parser.add_argument("--scale", default=None, help="scale of the run `records`, as tiny")
    parser.add_argument("--steps", type=int, default=None, help="training steps; by default those of the run `records`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("results/records/records.json"))
    options = parser.parse_args()
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
    told = {key: value for key, value in vars(options).items() if key != "json"}
    machine.write(options.json, config=told, figures=figures)


if __name__ == "__main__":
    main()
