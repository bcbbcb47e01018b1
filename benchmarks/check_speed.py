"""Numbers per second of `numerate check` without a model, and its memory on a large table.

    python benchmarks/check_speed.py [--sentences 20000] [--rows 200000] [--json results/check_speed.json]

Texts are the passages of `texts.py`, the table is generated: sums, products and two measured columns, one cell in
50,000 wrong. Figures are of CPU time (`time.process_time`) for one process, because other programs may run at the same
time, and of wall time for all processes. Nothing is asserted; the aim is 50,000 numbers a second on two cores.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import harness
import numpy as np
from texts import passages

from numerate.apps.check import CheckOptions, check_file
from numerate.apps.check_processes import check_files

if TYPE_CHECKING:
    from collections.abc import Sequence

AIM = 50_000


def write_texts(path: Path, count: int) -> int:
    """Writes some passages, one a paragraph; returns how many there are."""
    texts, _ = passages(count)
    path.write_text("\n\n".join(texts), "utf-8")
    return len(texts)


def write_table(path: Path, rows: int) -> None:
    """Writes a table of six columns with one wrong cell in 50,000 rows."""
    rng = np.random.default_rng(0)
    count, price = rng.integers(1, 50, rows), np.round(rng.lognormal(3, 1, rows), 2)
    weight = np.round(rng.normal(70, 12, rows), 1)
    with path.open("w", encoding="utf-8") as file:
        file.write("id,count,price,amount,weight (kg),city\n")
        for at in range(rows):
            amount = count[at] * price[at] * (10 if at % 50_000 == 777 else 1)
            kilos = weight[at] * (10 if at % 50_000 == 999 else 1)
            file.write(f"{at},{count[at]},{price[at]:.2f},{amount:.2f},{kilos:.1f},Springfield {at % 97}\n")


def measured(path: Path, processes: int) -> dict[str, float]:
    """Numbers, findings, CPU seconds of one process, wall seconds of all, numbers per second."""
    begin = time.process_time()
    one = check_file(str(path), CheckOptions())
    cpu = time.process_time() - begin
    begin = time.perf_counter()
    check_files([str(path)], CheckOptions(), processes=processes)
    wall = time.perf_counter() - begin
    return {
        "numbers": one.numbers, "findings": len(one.findings), "cpu_s": cpu, "per_cpu_s": one.numbers / cpu,
        "processes": processes, "wall_s": wall, "per_wall_s": one.numbers / wall,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures a text file and a table."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--sentences", type=int, default=20_000, help="number of passages of the text")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the table; 1,200,000 are 50 MB")
    parser.add_argument("--processes", type=int, default=2, help="number of processes for the wall time")
    options = parser.parse_args(arguments)
    if min(options.sentences, options.rows, options.processes) < 1:
        parser.error("--sentences, --rows and --processes must be at least 1")
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        text, table = Path(folder) / "text.txt", Path(folder) / "table.csv"
        write_texts(text, options.sentences)
        write_table(table, options.rows)
        for name, path in (("text", text), ("table", table)):
            figures[name] = measured(path, options.processes) | {"megabytes": path.stat().st_size / 1e6}
    # Kilobytes on Linux, bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    for name, row in figures.items():
        print(
            f"{name:6} {row['megabytes']:8.1f} MB {row['numbers']:10,.0f} numbers"
            f"  {row['per_cpu_s']:10,.0f} a CPU second"
            f"  {row['per_wall_s']:10,.0f} a second with {row['processes']:.0f} processes (aim {AIM:,})"
        )
    print(f"peak memory {peak:.0f} MB")
    harness.write(options, figures | {"memory": {"peak_mb": peak}})


if __name__ == "__main__":
    main()
