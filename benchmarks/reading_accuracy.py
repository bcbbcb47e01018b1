"""Accuracy and speed of our reader, quantulum3 and Microsoft's recogniser on the annotated numerals of five registers.

    python benchmarks/reading_accuracy.py [--part held] [--json results/reading-accuracy.json]
        [--table results/reading-accuracy.md]

Prints totals only, so that the held-out half stays unseen. Libraries that are not installed are left out. See `NOTES`
for what is counted.
"""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
from harness import wilson_interval
from other_readers import (
    MICROSOFT_UNITS,
    QUANTULUM_UNITS,
    Found,
    cell_options,
    microsoft_finder,
    numerate_finder,
    quantulum_finder,
)
from texts import SHARED

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from annotated_texts import REGISTERS, load_stretches

import numerate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from other_readers import Finder

AMOUNTS = frozenset({"quantity", "money", "percent", "range", "ratio"})
NOTES = """\
Every library reads the same stretches of text and the same table cells. For each annotated numeral, the found number
that overlaps it most counts. *Values*: its value is right; `all` counts every numeral (also the parts of dates and
identifiers, which others may leave out on purpose), `amounts` those of the kinds quantity, money, percent, range and
ratio. Percentages are divided by 100. Where quantulum3 gives one number with an uncertainty for a range or `±`, either
end counts as right. *Units*: the unit is right, among the annotated numerals with a unit that the library has a name
for (tables in `benchmarks/other_readers.py`); `Dollar` counts as USD, `Ton` as tonne. *Exact*: our reader on whole
documents, with exact spans; units are compared for all numerals, those without a unit included. Brackets are 95 %
intervals: the wider of the bootstrap over documents and Wilson's. Numbers per second: each library's own count, CPU
time."""
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """A share of right numerals with its bootstrap interval."""

    share: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.share:.3f} [{self.low:.3f}, {self.high:.3f}] of {self.count}"


def share_of(cases: Sequence[tuple[int, bool]], seed: int = 0) -> Share:
    """The share of right cases (document, right) with its interval; documents are resampled."""
    documents, index = np.unique([document for document, _ in cases], return_inverse=True)
    size = np.bincount(index).astype(float)
    right = np.bincount(index, weights=[correct for _, correct in cases])
    drawn = np.random.default_rng(seed).integers(0, len(documents), (RESAMPLES, len(documents)))
    low, high = np.quantile(right[drawn].sum(1) / size[drawn].sum(1), [0.025, 0.975])
    share = float(right.sum() / size.sum())
    wilson = wilson_interval(share, len(cases))  # a bootstrap of nothing but right cases has no width
    return Share(share, min(float(low), wilson[0]), max(float(high), wilson[1]), len(cases))


def nearest(found: Sequence[Found], start: int, end: int) -> Found | None:
    """The found number that overlaps the span most, or None."""
    overlap = [min(end, f.end) - max(start, f.start) for f in found]
    return found[int(np.argmax(overlap))] if overlap and max(overlap) > 0 else None


def same(value: float, gold: float) -> bool:
    return math.isclose(value, gold, rel_tol=1e-9, abs_tol=0)


def stretches(part: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Number of the document, its text, and the annotation of each stretch."""
    documents: dict[tuple[str, int], int] = {}
    for text, stretch in load_stretches(SHARED, REGISTERS):
        if stretch["part"] == part:
            key = stretch["file"], stretch["row"]  # the cells of a table are one document
            yield documents.setdefault(key, len(documents)), text, stretch


def accuracy(find: Finder, units: frozenset[str] | None, part: str) -> dict[str, Share]:
    """Shares of right values and units by overlap; `units` are those that the library knows, None for all."""
    cases: dict[str, list[tuple[int, bool]]] = {}
    for document, text, stretch in stretches(part):
        begin = stretch["begin"]
        found = find(text[begin : stretch["end"]], bool(stretch.get("cell")))
        for gold in stretch["numerals"]:
            hit = nearest(found, gold["start"] - begin, gold["end"] - begin)
            right = hit is not None and any(same(value, gold["value"]) for value in hit.values)
            cases.setdefault("values, all", []).append((document, right))
            if gold["kind"] in AMOUNTS:
                cases.setdefault("values, amounts", []).append((document, right))
            if stretch.get("cell") and gold["value"] < 0:
                cases.setdefault("values, negative cells", []).append((document, right))
            if gold["unit"] is not None and (units is None or gold["unit"] in units):
                known = hit is not None and hit.unit == gold["unit"]
                cases.setdefault("units, known to it", []).append((document, known))
    return {name: share_of(those) for name, those in cases.items()}


def exact(part: str) -> dict[str, Share]:
    """Our reader on whole documents, with exact spans."""
    cases: dict[str, list[tuple[int, bool]]] = {}
    cells = cell_options()
    for document, text, stretch in stretches(part):
        found = {(n.start, n.end): n for n in numerate.find(text, **(cells if stretch.get("cell") else {}))}
        for gold in stretch["numerals"]:
            n = found.get((gold["start"], gold["end"]))
            cases.setdefault("spans", []).append((document, n is not None))
            cases.setdefault("values", []).append((document, n is not None and same(n.value, gold["value"])))
            for name in ("kind", "unit"):
                cases.setdefault(f"{name}s", []).append((document, n is not None and getattr(n, name) == gold[name]))
    return {f"exact {name}": share_of(those) for name, those in cases.items()}


def speeds(finders: dict[str, Finder], part: str, rounds: int) -> dict[str, float]:
    """Numbers per second of CPU time on the stretches of the part, in interleaved rounds."""
    texts = [(text[s["begin"] : s["end"]], bool(s.get("cell"))) for _, text, s in stretches(part)]

    counts: dict[str, int] = {}

    def all_of(name: str, find: Finder) -> Callable[[int], Any]:
        return lambda _: counts.update({name: sum(len(find(text, cell)) for text, cell in texts)})

    took = harness.interleaved({name: all_of(name, find) for name, find in finders.items()}, rounds, warm=0)
    return {name: counts[name] / max(took[name].cpu, 1e-9) for name in finders}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--part", choices=["tune", "held"], default="held", help="half of the annotation")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the speeds")
    parser.add_argument("--table", help="Markdown file to write the table to")
    parser.add_argument("--alone", action="store_true", help="leave out the other libraries")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {options.rounds}")
    makers: dict[str, tuple[Callable[[], Finder], frozenset[str] | None]] = {"numerate": (numerate_finder, None)}
    if not options.alone:
        makers["quantulum3"] = (quantulum_finder, frozenset(QUANTULUM_UNITS.values()))
        makers["recognizers-text"] = (microsoft_finder, frozenset(MICROSOFT_UNITS.values()))
    finders, shares = {}, {}
    for name, (make, units) in makers.items():
        try:
            finders[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        shares[name] = accuracy(finders[name], units, options.part)
    shares["numerate"] |= exact(options.part)
    fast = speeds(finders, options.part, options.rounds)

    names = sorted(shares["numerate"], key=lambda name: (name.startswith("exact"), name.startswith("units")))
    rows = [["", *finders], ["---"] * (len(finders) + 1)]
    rows += [[name, *(str(shares[library].get(name, "–")) for library in finders)] for name in names]
    rows.append(["numbers/s", *(f"{fast[library]:,.0f}" for library in finders)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    table = f"# Reading accuracy, part `{options.part}`\n\n{table}\n\n{NOTES}\n"
    print(table)
    if options.table:
        Path(options.table).write_text(table, "utf-8")
    figures = [
        {"library": library, "figure": name, **asdict(share)}
        for library, those in shares.items()
        for name, share in those.items()
    ]
    figures += [{"library": library, "figure": "numbers/s", "share": speed} for library, speed in fast.items()]
    harness.write(options, figures, resamples=RESAMPLES)


if __name__ == "__main__":
    main()
