"""The speed of every stage at three sizes, against what people use without numerate: `make bench`.

    python benchmarks/suite.py [--json results/bench-cpu.json]
    python benchmarks/suite.py --only train,step --rounds 5

Stages: reading, processing, collating, one training step, a whole `numerate train`, generation and `check`. Each runs
at sizes x1, x4 and x16, in turn with its baseline, in one process and one thread. The ratio is the baseline's time
divided by ours (above 1: we are faster) at the largest size; the slope is that of log(time) over log(size), so that 1
means that twice the text takes twice the time. Figures are medians of CPU time. A Markdown table is written beside the
JSON file. Texts and tokenizer are generated: no data are needed. Nothing is asserted.

Trainings on an accelerator are measured by `training_speed.py`.
"""

from __future__ import annotations

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["NUMERATE_SHARED"] = "none"  # the same texts and tokenizer on every machine

import math
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import torch
from suite_stages import STAGES, Stage

from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FACTORS = (1, 4, 16)
SLOPE_BAR = 1.05


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The slope of a straight line through log(time) over log(size).

    >>> round(slope([1, 4, 16], [3.0, 12.0, 48.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(times, 1e-9)), 1)[0])


def measured(stage: Stage, rounds: int, quick: bool, folder: Path) -> dict[str, Any]:
    """Times of a stage and its baseline at all sizes, their ratios and slopes."""
    sizes = [factor * (stage.quick if quick else stage.size) for factor in FACTORS]
    contestants: dict[str, Any] = {}
    for size in sizes:
        contestants[f"ours {size}"], contestants[f"baseline {size}"] = stage.make(size, rounds + 1, folder)
    took = harness.interleaved(contestants, rounds)
    ours, baseline = ([took[f"{side} {size}"].cpu for size in sizes] for side in ("ours", "baseline"))
    ratios = [theirs / max(own, 1e-9) for own, theirs in zip(ours, baseline, strict=True)]
    steepness = slope(sizes, ours)
    return {
        "unit": stage.unit, "baseline": stage.baseline, "sizes": sizes, "ours_s": ours, "baseline_s": baseline,
        "ratios": ratios, "ratio": ratios[-1], "bar": stage.bar, "verdict": harness.verdict(ratios[-1], stage.bar),
        "per_s": sizes[-1] / max(ours[-1], 1e-9), "slope": steepness, "baseline_slope": slope(sizes, baseline),
        "slope_verdict": harness.verdict(steepness, SLOPE_BAR, "<="),
    }  # fmt: skip


def table(figures: dict[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The rows of the table, head first."""
    yield "stage", "against", "sizes", "ratio x1", "x4", "x16", "bar", "", "per CPU s", "slope", ""
    for name, row in figures.items():
        sizes = " / ".join(f"{size:,}" for size in row["sizes"])
        bar = "" if row["bar"] is None else f">= {row['bar']:g}"
        ratios = [f"{ratio:.2f}" for ratio in row["ratios"]]
        rate = f"{row['per_s']:,.{max(0, 2 - int(math.log10(max(row['per_s'], 1))))}f} {row['unit']}"
        yield (
            name, row["baseline"], sizes, *ratios, bar, row["verdict"], rate, f"{row['slope']:.2f}",
            row["slope_verdict"],
        )  # fmt: skip


def markdown(figures: dict[str, dict[str, Any]]) -> str:
    """The table in Markdown."""
    head, *rows = table(figures)
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the stages."""
    parser = harness.parser_of(__doc__)
    names = [stage.name for stage in STAGES]
    parser.add_argument("--only", default=",".join(names), help="stages, with commas between")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the medians, after one that does not count")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: a smoke test, whose figures mean nothing")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"unknown stage {unknown[0]!r}: use {', '.join(names)}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {options.rounds}")
    quiet_unless_terminal()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    figures: dict[str, dict[str, Any]] = {}
    try:
        for stage in STAGES:
            if stage.name not in chosen:
                continue
            begin = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                figures[stage.name] = measured(stage, options.rounds, options.quick, Path(folder))
            figures[stage.name]["seconds"] = time.perf_counter() - begin
            row = figures[stage.name]
            print(f"{stage.name}: {row['ratio']:.2f} x {stage.baseline}, slope {row['slope']:.2f}", flush=True)
            harness.write(options, figures, cores=os.cpu_count())
    finally:
        torch.set_num_threads(threads)
    print("\n".join(harness.aligned(list(table(figures)), range(3, 6))))
    if options.json:
        about = f"`make bench`; settings, machine and all figures: `{Path(options.json).name}`."
        text = f"# Speed of every stage\n\n{about}\n\n{markdown(figures)}"
        Path(options.json).with_suffix(".md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
