"""How fast and how frugal the readers are: one run, medians of interleaved rounds, against a pattern pinned here.

    python benchmarks/reading.py [--quick] [--json results/reading/reading.json]

Ratios are of CPU time (`time.process_time`), because other programs may run beside us; limits in seconds are of wall
time (`time.perf_counter`), because that is what a person waits for. Both are printed, and nothing is asserted.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import hashlib
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import psutil

import numerate
from numerate.cli.find import WAITING_PER_PROCESS
from numerate.reading import make_reader
from numerate.training.text_files import BATCH_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("NUMERATE_SHARED", ROOT.parent / "shared"))
PASSAGES = SHARED / "data" / "wiki" / "passages.jsonl.gz"

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

MB = 1_000_000
QUANTULUM_SHARE = 60
"""quantulum3 reads every 60th text: at some 700 numbers a second, all of them would take a minute a round."""


def pinned(text: str) -> list[float]:
    """What everybody writes first, and the measure of all speeds here."""
    return [float(match.group().replace(",", "")) for match in PINNED.finditer(text)]


# Figures against bars


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    name: str
    figure: float
    unit: str
    relation: Literal[">=", "<=", "<", ""] = ""
    bar: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """`pass` or `miss`; empty where there is no bar."""
        if self.bar is None:
            return ""
        held = {">=": self.figure >= self.bar, "<=": self.figure <= self.bar, "<": self.figure < self.bar}
        return "pass" if held[self.relation] else "miss"


def table_of(figures: Sequence[Figure]) -> Iterator[str]:
    rows = [("figure", "measured", "bar", "", "note")]
    for f in figures:
        measured = f"{f.figure:,.0f}" if abs(f.figure) >= 1000 else f"{f.figure:.3g}"
        bar = "" if f.bar is None else f"{f.relation} {f.bar:g}"
        rows.append((f.name, f"{measured} {f.unit}".strip(), bar, f.verdict, f.note))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for name, measured, bar, verdict, note in rows:
        cells = (name.ljust(widths[0]), measured.rjust(widths[1]), bar.ljust(widths[2]), verdict.ljust(widths[3]), note)
        yield "  ".join(cells).rstrip()


# Interleaved medians


class Timing(NamedTuple):
    """Medians over the rounds."""

    cpu: float
    wall: float


def interleaved(contestants: dict[str, Callable[[], Any]], rounds: int, warm: int = 1) -> dict[str, Timing]:
    """Each round runs every contestant once and begins with another one each time; `warm` rounds are not counted."""
    names = list(contestants)
    taken: dict[str, list[Timing]] = {name: [] for name in names}
    gc.collect()
    gc.freeze()  # what is loaded by now, quantulum3's tables above all, is not to be looked through again and again
    for turn in range(-warm, rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()  # nobody pays for what the one before left behind; the collector itself stays on
            wall, cpu = time.perf_counter(), time.process_time()
            result = contestants[name]()
            timing = Timing(time.process_time() - cpu, time.perf_counter() - wall)
            del result
            if turn >= 0:
                taken[name].append(timing)
    return {name: Timing(*map(median, zip(*timings, strict=True))) for name, timings in taken.items()}


# Texts

WORDS = (
    *("the", "of", "and", "in", "to", "a", "was", "is", "for", "as", "on", "with", "by", "at", "from", "that", "it"),
    *("his", "an", "were", "which", "are", "this", "be", "also", "had", "has", "their", "its", "new", "after", "who"),
    *("city", "film", "school", "team", "season", "national", "world", "state", "university", "album", "music", "war"),
    *("league", "game", "American", "series", "county", "member", "family", "company", "population", "district", ","),
    *("released", "station", "river", "club", "."),
)


def generated_texts(count: int, seed: int = 0) -> Iterator[str]:
    """Texts like the passages: some 640 characters each with 5 or 6 numerals, mostly years, dates and counts."""
    rng = random.Random(seed)
    draw, digits = rng.choice, rng.randrange
    forms: list[Callable[[], str]] = [
        *[lambda: f"in {digits(1750, 2024)}"] * 8,
        *[lambda: f"on {digits(1, 29)} {draw(('May', 'June', 'October'))} {digits(1750, 2024)}"] * 3,
        *[lambda: f"{digits(1, 200)}"] * 4,
        lambda: f"{digits(1, 1000)},{digits(1000):03}",
        lambda: f"{digits(1, 100)}.{digits(10)} {draw(('km', 'm', 'kg', '%'))}",
        lambda: f"the {digits(4, 20)}th",
        lambda: f"$ {digits(1, 100)} {draw(('million', 'billion'))}",
        lambda: f"{digits(5)}-{digits(5)}",
    ]
    for _ in range(count):
        pieces = [draw(forms)() if rng.random() < 0.038 else draw(WORDS) for _ in range(digits(40, 190))]
        yield " ".join(pieces)


def passages(count: int) -> tuple[list[str], str]:
    """Texts from all over the shared passages, or generated ones, and which of both they are."""
    if not PASSAGES.is_file():
        return list(generated_texts(count)), "generated"
    with gzip.open(PASSAGES) as stream:
        lines = stream.readlines()
    return [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // count)][:count]], "shared/data/wiki"


# The parts of the run


def quantulum_finder() -> Callable[[str], list[Any]] | None:
    try:
        from quantulum3 import classifier, parser
    except ImportError:
        return None
    classifier.USE_CLF = False
    parser.parse("5 km")  # loads its units
    return parser.parse


def speed(texts: list[str], rounds: int, alone: bool = False) -> Iterator[Figure]:
    """All readers over the same texts, in numerals that each finds itself, a second."""
    finders: dict[str, Callable[[str], Sequence[Any]]] = {"pinned": pinned}
    finders |= {name: make_reader(name).find for name in numerate.readers.names()}

    def all_of(find: Callable[[str], Sequence[Any]], those: list[str]) -> Callable[[], Any]:
        return lambda: [find(text) for text in those]

    contestants = {name: all_of(find, texts) for name, find in finders.items()}
    contestants["find_columns"] = lambda: numerate.find_columns(texts)
    few = texts[:: min(QUANTULUM_SHARE, max(1, len(texts) // 2))]
    quantulum = None if alone else quantulum_finder()
    if quantulum is not None:
        contestants |= {"standard, few": all_of(finders["standard"], few), "quantulum3, few": all_of(quantulum, few)}
    counts = {name: sum(map(len, run())) for name, run in contestants.items() if name != "find_columns"}
    counts["find_columns"] = len(numerate.find_columns(texts).value)
    took = interleaved(contestants, rounds)

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
    """One piece over and over, as a single text: what makes careless patterns quadratic."""
    find = make_reader("standard").find
    for piece in FAMILIES:
        text, longer = (piece * (n // len(piece)) for n in (size, 4 * size))
        took = interleaved(
            {
                "pinned": lambda text=text: pinned(text),
                "find": lambda text=text: find(text),
                "columns": lambda text=text: numerate.find_columns([text]),
            },
            rounds,
            warm=0,  # a megabyte is warm soon enough
        )
        took |= interleaved(
            {
                "find 4x": lambda text=longer: find(text),
                "columns 4x": lambda text=longer: numerate.find_columns([text]),
            },
            1,
            warm=0,
        )
        name = f"family {piece!r}"
        columns, found, base = took["columns"], took["find"], took["pinned"]
        yield Figure(f"{name}: find_columns", columns.wall, "s", "<=", 1, f"{columns.cpu:.3f} s CPU")
        note = f"{found.cpu:.3f} s against {base.cpu:.3f} s CPU, {found.wall:.3f} s wall"
        yield Figure(f"{name}: find / pinned", found.cpu / max(base.cpu, 1e-9), "x", "<=", 8, note)
        for what in ("find", "columns"):
            growth = took[f"{what} 4x"].cpu / max(took[what].cpu, 1e-9)
            yield Figure(f"{name}: {what}, 4x the text", growth, "x", "<=", 8, f"{took[f'{what} 4x'].cpu:.3f} s CPU")


def extremes(rounds: int) -> Iterator[Figure]:
    """Numbers beyond float64: `find`, and all that a numeral can be asked for."""
    find = make_reader("standard").find

    def read(text: str) -> list[Any]:
        return [(n.written, n.precision, n.exact, n.to_dict(), numerate.render(n.style, n.value)) for n in find(text)]

    took = interleaved({name: lambda text=text: read(text) for name, text in EXTREMES.items()}, rounds)
    for name, text in EXTREMES.items():
        gc.collect()
        tracemalloc.start()
        found = len(read(text))
        peak = tracemalloc.get_traced_memory()[1] / MB
        tracemalloc.stop()
        note = f"{found} numerals, {took[name].cpu:.4f} s CPU"
        yield Figure(f"extreme {name}: time", took[name].wall, "s", "<=", 0.1, note)
        yield Figure(f"extreme {name}: memory", peak, "MB", "<=", 50)


class Streamed(NamedTuple):
    """One run of the command line."""

    sha256: str
    bytes_out: int
    peak: float
    seconds: float


def stream(path: Path, processes: int) -> Streamed:
    """Runs `numerate find --json`; `peak` is the resident memory in MB of it and its children, seen every 20 ms."""
    command = [sys.executable, "-m", "numerate", "find", str(path), "--json", "--processes", str(processes)]
    digest, size, peak, over = hashlib.sha256(), 0, 0.0, threading.Event()
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        watched = psutil.Process(process.pid)

        def watch() -> None:
            nonlocal peak
            while not over.wait(0.02):
                try:
                    peak = max(peak, sum(map(_resident, [watched, *watched.children(recursive=True)])) / MB)
                except psutil.NoSuchProcess:
                    return

        watcher = threading.Thread(target=watch)
        watcher.start()
        for piece in iter(lambda: process.stdout.read1(1 << 20), b""):  # type: ignore[union-attr]
            digest.update(piece)
            size += len(piece)
        code = process.wait()
        over.set()
        watcher.join()
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {code}")
    return Streamed(digest.hexdigest(), size, peak, time.perf_counter() - start)


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def streaming(size: int, processes: int) -> Iterator[Figure]:
    """A large file through the command line.

    Memory is counted above that of the same command on a file so small that it only sets every process to work.
    """
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.txt"), Path(folder, "large.txt")
        batch = "5 km" + "\n" * BATCH_LINES
        small.write_text(batch * WAITING_PER_PROCESS * processes, encoding="utf-8")
        block = ("\n".join(generated_texts(1 + size // 100_000)) + "\n").encode()
        with large.open("wb") as out:
            while out.tell() < size:
                out.write(block)
        runs = {count: stream(large, count) for count in (1, processes)}
        for count, run in runs.items():
            start = stream(small, count).peak
            note = f"{run.peak:.0f} MB in all, {run.seconds:.1f} s, {size / MB / run.seconds:.2f} MB/s in"
            name = f"stream of {size / MB:g} MB, {count} process{'es' * (count > 1)}"
            yield Figure(f"{name}: memory above start", run.peak - start, "MB", "<", 200, note)
    one, many = runs.values()
    same = one[:2] == many[:2]
    note = f"{one.bytes_out:,} bytes, sha256 {one.sha256[:16]}, {many.sha256[:16]}"
    yield Figure(f"same output from {processes} processes", float(same), "", ">=", 1, note)
    yield Figure(f"speed-up by {processes} processes", one.seconds / many.seconds, "x", note=f"{os.cpu_count()} cores")


# The whole run


def surroundings() -> dict[str, Any]:
    """What has to be known to run it again."""

    def git(*arguments: str) -> str | None:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    versions = {}
    for name in ("numerate", "numpy", "quantulum3", "psutil"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    changed = git("status", "--porcelain")
    machine = {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()}
    machine["load_at_start"] = [round(load, 2) for load in os.getloadavg()]
    return {
        "commit": git("rev-parse", "HEAD"),
        "changed_files": changed.splitlines() if changed is not None else None,
        "python": platform.python_version(),
        "packages": versions,
        "machine": machine,
    }


def main(arguments: Sequence[str] | None = None) -> list[Figure]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=6000, help="how many passages")
    parser.add_argument(
        "--rounds", type=int, default=9, help="over which medians are taken; a third for families, one for 4x the text"
    )
    parser.add_argument("--family-bytes", type=int, default=MB, help="length of the adversarial texts")
    parser.add_argument("--stream-bytes", type=int, default=100 * MB, help="length of the streamed file")
    parser.add_argument("--processes", type=int, default=8, help="of the second streamed run")
    parser.add_argument("--quick", action="store_true", help="leave out the streamed file")
    parser.add_argument("--alone", action="store_true", help="leave out quantulum3, which takes long to load")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args(arguments)
    if (
        min(options.texts, options.rounds, options.processes) < 1
        or min(options.family_bytes, options.stream_bytes) < 10
    ):
        parser.error("--texts, --rounds and --processes are at least 1, and lengths at least 10")

    around = surroundings()
    texts, origin = passages(options.texts)
    around["texts"] = {"origin": origin, "count": len(texts), "characters": sum(map(len, texts))}
    few_rounds = max(1, options.rounds // 3)
    figures = [*speed(texts, options.rounds, options.alone)]
    figures += [*families(options.family_bytes, few_rounds), *extremes(options.rounds)]
    if not options.quick:
        figures += streaming(options.stream_bytes, options.processes)

    commit, changes = around["commit"], len(around["changed_files"] or ())
    print(f"numerate {around['packages']['numerate']} at {str(commit)[:12]} with {changes} changed files,", end=" ")
    print(
        f"Python {around['python']}, {os.cpu_count()} cores, load {around['machine']['load_at_start'][0]} at the start"
    )
    print(f"{len(texts):,} texts ({origin}), {around['texts']['characters']:,} characters; medians of {options.rounds}")
    print(*table_of(figures), sep="\n")
    if options.json is not None:
        config = {name: value for name, value in vars(options).items() if name != "json"}
        rows = [asdict(figure) | {"verdict": figure.verdict} for figure in figures]
        options.json.parent.mkdir(parents=True, exist_ok=True)
        report = {"benchmark": "reading", "version": 1, "config": config, **around, "figures": rows}
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return figures


if __name__ == "__main__":
    main()
