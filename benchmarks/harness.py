"""Code that the benchmarks share: arguments, JSON output, interleaved timing and text tables."""

from __future__ import annotations

import argparse
import gc
import math
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def parser_of(doc: str | None, json: str | None = None) -> argparse.ArgumentParser:
    """A parser that shows a script's docstring and all defaults, with the option `--json` (by default `json`)."""

    class Formatter(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
        pass

    parser = argparse.ArgumentParser(description=doc, formatter_class=Formatter)
    parser.add_argument("--json", default=json, help="file to write the settings, the machine and the figures to")
    return parser


def write(options: argparse.Namespace, figures: Any, **more: Any) -> None:
    """Writes the settings (options and `more`), the machine and the figures to `options.json`, if it is given.

    Of paths, only the last part is written: a result must not depend on where data lie.
    """
    if options.json:
        from numerate.training.results import Result

        settings = {key: Path(value).name if _is_path(value) else value for key, value in vars(options).items()}
        Result(settings | more, figures).write(options.json)


def _is_path(value: Any) -> bool:
    return isinstance(value, Path) or (isinstance(value, str) and Path(value).exists())


def wilson_interval(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` cases."""
    centre, spread = share + z * z / (2 * count), z * math.sqrt(share * (1 - share) / count + z * z / (4 * count**2))
    return (centre - spread) / (1 + z * z / count), min(1.0, (centre + spread) / (1 + z * z / count))


class Timing(NamedTuple):
    """Median CPU time and wall time over the rounds, in seconds."""

    cpu: float
    wall: float


def interleaved(contestants: Mapping[str, Callable[[int], Any]], rounds: int, warm: int = 1) -> dict[str, Timing]:
    """Times functions in turn, so that a change of the machine's load affects all of them.

    Each round calls every function once with the index of the round and starts with another one. The first `warm`
    rounds are not counted.
    """
    names = list(contestants)
    taken: dict[str, list[Timing]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()  # the garbage collector need not traverse what is loaded already
    for turn in range(warm + rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()  # so that no function pays for the garbage of another; the collector stays on
            wall, cpu = time.perf_counter(), time.process_time()
            result = contestants[name](turn)
            timing = Timing(time.process_time() - cpu, time.perf_counter() - wall)
            del result
            if turn >= warm:
                taken[name].append(timing)
    return {name: Timing(*map(median, zip(*timings, strict=True))) for name, timings in taken.items()}


def verdict(figure: float, bar: float | None, relation: str = ">=") -> str:
    """`pass` or `miss`; "" if there is no bar."""
    if bar is None:
        return ""
    held = {">=": figure >= bar, "<=": figure <= bar, "<": figure < bar}[relation]
    return "pass" if held else "miss"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Lines of a table with aligned columns; the columns `right` are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
