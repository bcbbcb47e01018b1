"""Speed and memory of the readers, against a regular expression pinned in this script.

    python benchmarks/reading.py [--quick] [--json results/reading.json]

All figures are medians of interleaved rounds in one run. Ratios are of CPU time (`time.process_time`), because other
programs may run at the same time; limits in seconds are of wall time (`time.perf_counter`), because that is how long a
person waits. Both are printed with their bars; nothing is asserted. Accuracy is compared by `reading_accuracy.py`.
"""

from __future__ import annotations

import gc
import os
import re
import tracemalloc
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import harness
from reading_stream import MB, streamed_runs
from texts import passages

import numerate
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PINNED = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?")
FAMILIES = ("1", "1,", "1.", "1e", "1e+", "+-1", "-", ".1", "1,111", "1 ", "(1", "1%")
EXTREMES = {
    "400 digits": "9" * 400,
    "4,301 digits": "9" * 4301,
    "1e309": "1e309",
    "1e-330": "1e-330",
    "100 x 1e1000000": " ".join(f"{sign}1e{exponent}{1_000_000 + i}" for i, (sign, exponent) in enumerate(
        [("", ""), ("-", ""), ("", "-"), ("+", "+")] * 25)),
}  # fmt: skip
QUANTULUM_SHARE = 60
"""quantulum3 reads every 60th text: at about 700 numbers a second, all texts would take a minute per round."""


def pinned(text: str) -> list[float]:
    """The baseline of all speeds: a simple pattern and `float`."""
    return [float(match.group().replace(",", "")) for match in PINNED.finditer(text)]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: a measured figure, and the bar it is compared with."""

    name: str
    figure: float
    unit: str
    relation: str = ""
    bar: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        return harness.verdict(self.figure, self.bar, self.relation)

    def cells(self) -> tuple[str, ...]:
        measured = f"{self.figure:,.0f}" if abs(self.figure) >= 1000 else f"{self.figure:.3g}"
        bar = "" if self.bar is None else f"{self.relation} {self.bar:g}"
        return self.name, f"{measured} {self.unit}".strip(), bar, self.verdict, self.note


def quantulum_finder() -> Callable[[str], list[Any]] | None:
    try:
        from quantulum3 import classifier, parser
    except ImportError:
        return None
    classifier.USE_CLF = False
    parser.parse("5 km")  # loads its units
    return parser.parse


def speed(texts: list[str], rounds: int, alone: bool = False) -> Iterator[Figure]:
    """All readers on the same texts, in numerals per second (each reader's own count)."""
    finders: dict[str, Callable[[str], Sequence[Any]]] = {"pinned": pinned}
    finders |= {name: make_reader(name).find for name in numerate.readers.names()}

    def all_of(find: Callable[[str], Sequence[Any]], those: list[str]) -> Callable[[int], Any]:
        return lambda _: [find(text) for text in those]

    contestants = {name: all_of(find, texts) for name, find in finders.items()}
    contestants["find_columns"] = lambda _: numerate.find_columns(texts)
    few = texts[:: min(QUANTULUM_SHARE, max(1, len(texts) // 2))]
    quantulum = None if alone else quantulum_finder()
    if quantulum is not None:
        contestants |= {"standard, few": all_of(finders["standard"], few), "quantulum3, few": all_of(quantulum, few)}
    counts = {name: sum(map(len, run(0))) for name, run in contestants.items() if name != "find_columns"}
    counts["find_columns"] = len(numerate.find_columns(texts).value)
    took = harness.interleaved(contestants, rounds)

    per_second = {name: counts[name] / max(took[name].cpu, 1e-9) for name in contestants}
    for name in contestants:
        note = f"{counts[name]:,} numerals, {took[name].cpu:.4f} s CPU, {took[name].wall:.4f} s wall"
        yield Figure(f"{name}: speed", per_second[name], "numerals/s", note=note)
    for name, bar in (("standard", 0.4), ("find_columns", 1.0)):
        by_wall = took["pinned"].wall / took[name].wall * counts[name] / max(1, counts["pinned"])
        ratio = per_second[name] / max(per_second["pinned"], 1e-9)
        yield Figure(f"{name} / pinned", ratio, "x", ">=", bar, f"by wall time {by_wall:.3g}")
    if quantulum is not None:
        ratio = per_second["standard, few"] / max(per_second["quantulum3, few"], 1e-9)
        yield Figure("standard / quantulum3", ratio, "x", ">=", 150, f"{len(few)} texts, its classifier off")


def families(size: int, rounds: int) -> Iterator[Figure]:
    """One piece repeated to a single long text, on which careless patterns take quadratic time."""
    find = make_reader("standard").find

    def runs(text: str, suffix: str = "") -> dict[str, Callable[[int], Any]]:
        return {f"find{suffix}": lambda _: find(text), f"columns{suffix}": lambda _: numerate.find_columns([text])}

    for piece in FAMILIES:
        text, longer = (piece * (n // len(piece)) for n in (size, 4 * size))
        # No warm-up: a megabyte is long enough.
        took = harness.interleaved({"pinned": lambda _, text=text: pinned(text)} | runs(text), rounds, warm=0)
        took |= harness.interleaved(runs(longer, " 4x"), 1, warm=0)
        name = f"family {piece!r}"
        columns, found, base = took["columns"], took["find"], took["pinned"]
        yield Figure(f"{name}: find_columns", columns.wall, "s", "<=", 1, f"{columns.cpu:.3f} s CPU")
        note = f"{found.cpu:.3f} s against {base.cpu:.3f} s CPU, {found.wall:.3f} s wall"
        yield Figure(f"{name}: find / pinned", found.cpu / max(base.cpu, 1e-9), "x", "<=", 8, note)
        for what in ("find", "columns"):
            growth = took[f"{what} 4x"].cpu / max(took[what].cpu, 1e-9)
            yield Figure(f"{name}: {what}, 4x the text", growth, "x", "<=", 8, f"{took[f'{what} 4x'].cpu:.3f} s CPU")


def extremes(rounds: int) -> Iterator[Figure]:
    """Numbers beyond float64: `find`, and all attributes of the numerals."""
    find = make_reader("standard").find

    def read(text: str) -> list[Any]:
        return [(n.written, n.precision, n.exact, n.to_dict(), numerate.render(n.style, n.value)) for n in find(text)]

    took = harness.interleaved({name: lambda _, text=text: read(text) for name, text in EXTREMES.items()}, rounds)
    for name, text in EXTREMES.items():
        gc.collect()
        tracemalloc.start()
        found = len(read(text))
        peak = tracemalloc.get_traced_memory()[1] / MB
        tracemalloc.stop()
        note = f"{found} numerals, {took[name].cpu:.4f} s CPU"
        yield Figure(f"extreme {name}: time", took[name].wall, "s", "<=", 0.1, note)
        yield Figure(f"extreme {name}: memory", peak, "MB", "<=", 50)


def streaming(size: int, processes: int) -> Iterator[Figure]:
    """A large file through the command line; memory is counted above that of a start of the same command."""
    runs = streamed_runs(size, processes)
    for count, (run, start) in runs.items():
        note = f"{run.peak:.0f} MB in all, {run.seconds:.1f} s, {size / MB / run.seconds:.2f} MB/s in"
        name = f"stream of {size / MB:g} MB, {count} process{'es' * (count > 1)}"
        yield Figure(f"{name}: memory above start", run.peak - start, "MB", "<", 200, note)
    one, many = (run for run, _ in runs.values())
    note = f"{one.bytes_out:,} bytes, sha256 {one.sha256[:16]}, {many.sha256[:16]}"
    yield Figure(f"same output from {processes} processes", float(one[:2] == many[:2]), "", ">=", 1, note)
    yield Figure(f"speed-up by {processes} processes", one.seconds / many.seconds, "x", note=f"{os.cpu_count()} cores")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--texts", type=int, default=6000, help="number of passages")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the medians; families take a third of them")
    parser.add_argument("--family-bytes", type=int, default=MB, help="length of the repetitive texts")
    parser.add_argument("--stream-bytes", type=int, default=100 * MB, help="length of the streamed file")
    parser.add_argument("--processes", type=int, default=8, help="processes of the second streamed run")
    parser.add_argument("--quick", action="store_true", help="leave out the streamed file")
    parser.add_argument("--alone", action="store_true", help="leave out quantulum3, which takes long to load")
    options = parser.parse_args(arguments)
    if min(options.texts, options.rounds, options.processes) < 1:
        parser.error("--texts, --rounds and --processes must be at least 1")
    if min(options.family_bytes, options.stream_bytes) < 10:
        parser.error("--family-bytes and --stream-bytes must be at least 10")
    load = round(os.getloadavg()[0], 2)
    texts, origin = passages(options.texts)
    figures = [
        *speed(texts, options.rounds, options.alone),
        *families(options.family_bytes, max(1, options.rounds // 3)),
    ]
    figures += extremes(options.rounds)
    if not options.quick:
        figures += streaming(options.stream_bytes, options.processes)
    characters = sum(map(len, texts))
    print(f"{len(texts):,} texts ({origin}), {characters:,} characters; medians of {options.rounds} rounds;", end=" ")
    print(f"{os.cpu_count()} cores, load {load} at the start")
    rows = [("figure", "measured", "bar", "", "note"), *(figure.cells() for figure in figures)]
    print(*harness.aligned(rows, right=[1]), sep="\n")
    about = {"origin": origin, "characters": characters, "load_at_start": load}
    harness.write(options, [asdict(figure) | {"verdict": figure.verdict} for figure in figures], **about)


if __name__ == "__main__":
    main()
