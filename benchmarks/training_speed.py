"""Whole trainings on one accelerator, against the stock Trainer with a bare model: texts per second and peak memory.

    python benchmarks/training_speed.py --device cuda --minutes 6 --json results/training-speed-gpu.json
    python benchmarks/training_speed.py --device cuda --minutes 2.5 --only eager,profile --model DIR
    python benchmarks/training_speed.py --tiny --seconds 1 --only eager,rich       # on a laptop

Sections, in order of importance; what does not fit into --minutes is left out and named:

- `eager`: the default recipe, all logits on both sides, and logits only where a token is masked on ours
- `profile`: kernel launches, operations and host time of a step on both sides, and every place where the host waits
- `graphs`: the default recipe with `cuda_graphs`, and number-rich text; first, the losses with and without graphs
- `rich`: number-rich text, where a number is one token on our side and its subwords on the other
- `parts`: `float`, `log-fourier`, `bits` and `char-lstm` 1M, each with the head `mixture`, all logits
- `characters`: `char-lstm` 1M with `cuda_graphs`
- `compiled`: the default recipe with torch.compile on both sides; on ours, --compile names what is compiled: `backbone`
  (what a user gets), `recorded` (with `cuda_graphs` beside it), `whole` (the whole model in one graph)
- `feed`: tokens per second of pre-encoded shards, against what BERT-base (random weights) takes at 128 tokens
- `encode`: encoding over 1, 2, 4, 8 processes
- `compiled-parts`: the embedders of `parts` with torch.compile, all logits
- `workers`: the default recipe with 4 loader processes on both sides, so that nobody waits for the collator

Without --model, a BERT of MiniLM's size with random weights is trained, which is as fast, on the tokens of the shipped
model's tokenizer (BERT's). The texts are generated. Both sides train in turn; figures are medians of the rounds, ratios
are taken within one run. The JSON file is written after every measurement; what was left out or failed is listed in it
and at the end of the output, and a failure sets the exit status 1. A measurement of more than --limit seconds ends with
the error `TooSlow`; while it compiles, a line is printed every 10 s.
"""

from __future__ import annotations

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import dataclasses
import statistics
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import torch
import transformers
from training_contest import MODELS, RICH, TINY, NumberSide, Setting, Side, StockSide, sentences
from training_profile import profile

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("float", "log-fourier", "bits", "char-lstm 1M")
SECTIONS = (
    "eager",
    "profile",
    "graphs",
    "rich",
    "parts",
    "characters",
    "compiled",
    "feed",
    "encode",
    "compiled-parts",
    "workers",
)
ALL, LABELLED, LOADER = "all logits", "masked only", "masked only, masks drawn by the collator"
RECORDED, WHOLE = ", recorded", ", whole model"
COMPILE = {
    "backbone": (ALL, LABELLED),
    "recorded": (ALL + RECORDED, LABELLED + RECORDED),
    "whole": (ALL + WHOLE, LABELLED + WHOLE),
}
"""What is compiled on our side, and the names of its measurements."""
_ALL_BARS = {
    "eager": 0.93,
    "graphs": 0.93,
    "rich-graphs": 1.15,
    "workers": 0.93,
    "parts": 0.93,
    "characters": 0.9,
    "compiled": 0.98,
    "compiled-parts": 0.98,
    "rich": 1.15,
}
BARS = {(section, ALL): bar for section, bar in _ALL_BARS.items()}
BARS |= {("compiled", kind): 0.98 for kinds in COMPILE.values() for kind in kinds if kind.startswith(ALL)}
BARS |= {("compiled", kind): 1.2 for kinds in COMPILE.values() for kind in kinds if kind.startswith(LABELLED)}
BARS |= {(section, kind): 1.15 if "rich" in section else 1.2 for section in _ALL_BARS for kind in (LABELLED, LOADER)}
CHARACTERS_BAR, MEMORY_BAR = 0.9, 1.05
WORKERS = 4
TOKENIZER = Path(__file__).resolve().parents[1] / "models" / "numerate-mini" / "backbone"
COMPILING = 45
"""Seconds that compiling one side may take at first."""


class Contest:
    """All measurements of a run: keeps the time, prints, and writes the JSON file after each one."""

    def __init__(self, options: Any, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.end = time.monotonic() + 60 * options.minutes
        self.figures: dict[str, Any] = {"skipped": [], "errors": [], "versions": _versions()}
        self.texts = sentences(options.texts)
        self.setting = Setting(folder, options.model, options.device, options.batch, options.tokenizer)
        if options.tiny:
            vocabulary = max(2048, len(self.setting.tokenizer(self.texts)))
            self.setting = dataclasses.replace(self.setting, sizes=TINY | {"vocab_size": vocabulary})
        self.figures["setting"] = {"sizes": self.setting.sizes, "training": self.setting.arguments()}
        self._sides: dict[tuple[str, str], Side] = {}

    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()

    def fits(self, what: str, seconds: float) -> bool:
        """Whether there is time for something; otherwise it is noted as skipped."""
        if self.left() >= seconds:
            return True
        self.figures["skipped"].append(what)
        print(f"skipped: {what} (about {seconds:.0f} s, {self.left():.0f} s left)", flush=True)
        self.write()
        return False

    def write(self) -> None:
        """Writes what is known so far."""
        harness.write(self.options, self.figures)

    def side(self, name: str, texts: str = "ordinary") -> Side:
        """A side by its name, prepared once for each kind of texts."""
        if (name, texts) not in self._sides:
            given = self.texts if texts == "ordinary" else sentences(self.options.texts // 2, RICH)
            setting = dataclasses.replace(self.setting, folder=self.folder / texts)
            made: Side = StockSide(name, setting, given)
            if name != "stock":
                made = NumberSide(name, setting, given, MODELS[name])
            self._sides[name, texts] = made
        return self._sides[name, texts]

    def race(
        self, section: str, names: Sequence[str], *, texts: str = "ordinary", compiled: bool = False, workers: int = 0,
        graphs: bool = False, which: tuple[str, ...] = (ALL, LABELLED),
    ) -> None:  # fmt: skip
        """Measures the stock side and the named ones in turn, with all logits and with those of masked tokens."""
        options, begin = self.options, time.monotonic()
        runs: list[tuple[str, str]] = [("stock", ALL)]
        runs += [(name, logits) for name in names for logits in which]
        runs = runs[1:] + runs[:1] if options.first == "ours" else runs
        found: dict[tuple[str, str], list[dict[str, float]]] = {run: [] for run in runs}
        warm, seconds = (options.compiled_warm, options.seconds) if compiled else (options.warm, options.seconds)
        rounds = 1 if compiled else options.rounds
        longest = 2 * seconds + COMPILING * compiled
        for turn in range(rounds):
            for run in runs if turn % 2 == 0 else runs[::-1]:
                name, logits = run
                if not self.fits(f"{section}: {name}, {logits}, round {turn + 1}", longest):
                    continue
                began = time.monotonic()
                try:
                    side = self.side(name, texts)
                    side.compiled, side.workers = compiled, workers
                    if isinstance(side, NumberSide):
                        side.labelled, side.graphs = not logits.startswith(ALL), graphs or RECORDED in logits
                        side.in_loader, side.whole = True if logits == LOADER else None, WHOLE in logits
                    began = time.monotonic()
                    limit = min(options.limit, self.left())
                    measured = side.measure(seconds, warm, options.steps, limit)
                except Exception:  # one side that fails must not end the others
                    self.failed(f"{section}: {name}, {logits}")
                    continue
                found[run].append(measured)
                taken = time.monotonic() - began
                longest = max(longest, taken + 2) if compiled else taken + 2
                self.report(section, found, texts)
                rate = f"{measured['texts_per_s']:,.0f} texts/s, {measured['step_ms']:.1f} ms a step"
                print(f"{section}: {name}, {logits}: {rate} ({taken:.0f} s)", flush=True)
        print(f"--- {section}: {time.monotonic() - begin:.0f} s, {self.left():.0f} s left")
        print("\n".join(harness.aligned(list(_cells(self.figures.get(section, {}))), range(1, 9))), flush=True)

    def failed(self, what: str) -> None:
        """Notes the error that is being handled, with its traceback."""
        self.figures["errors"].append(f"{what}: {traceback.format_exc()[-1500:]}")
        print(f"error: {self.figures['errors'][-1]}", flush=True)
        self.write()

    def report(self, section: str, found: dict[Any, list[dict[str, float]]], texts: str) -> None:
        """Writes medians, ratios to the stock side and verdicts of a section."""
        rows: dict[str, Any] = {}
        stock = _median(found["stock", ALL])
        for (name, logits), measured in found.items():
            if not (figure := _median(measured)):
                continue
            label = name if name == "stock" else f"{name}, {logits}"
            row: dict[str, Any] = {**figure, "rounds": len(measured), "tokens_per_text": self.side(name, texts).tokens}
            rows[label] = row
            if stock and name != "stock":
                bar = BARS[section, logits] if "char" not in name else CHARACTERS_BAR
                row["ratio"] = row["texts_per_s"] / stock["texts_per_s"]
                row |= {"bar": bar, "verdict": harness.verdict(row["ratio"], bar)}
                # Memory of recorded steps belongs to their graphs, and is not among what is allocated later.
                memory = "reserved_mb" if "recorded_graphs" in row else "peak_mb"
                if stock[memory]:
                    row["memory_ratio"] = row[memory] / stock[memory]
                    row["memory_verdict"] = harness.verdict(row["memory_ratio"], MEMORY_BAR, "<=")
        self.figures[section] = rows
        self.write()

    # Sections.

    def eager(self) -> None:
        """The default recipe, not compiled."""
        self.race("eager", ["in-place"], which=(ALL, LABELLED, LOADER))

    def graphs(self) -> None:
        """The default recipe and number-rich text, with recorded steps."""
        side = self.side("in-place")
        if isinstance(side, NumberSide):
            side.compiled, side.workers, side.labelled, steps = False, 0, True, self.options.steps or 40
            usual, recorded = side.losses(False, steps), side.losses(True, steps)
            apart = max(abs(one - other) / abs(one) for one, other in zip(usual, recorded, strict=True))
            self.figures["graph_losses"] = {"usual": usual, "recorded": recorded, "largest_difference": apart}
            count = 0 if side.recorded is None else side.recorded.count
            print(f"--- graphs: {steps} losses differ by at most {apart:.2e} of them; {count} graphs", flush=True)
            print(f"usual {usual[::8]}\nrecorded {recorded[::8]}")
        self.race("graphs", ["in-place"], graphs=True)
        self.race("rich-graphs", ["one token"], texts="rich", graphs=True, which=(LABELLED,))

    def rich(self) -> None:
        """Number-rich text."""
        self.race("rich", ["one token"], texts="rich")

    def parts(self) -> None:
        """Single embedders."""
        self.race("parts", PARTS, which=(ALL,))

    def characters(self) -> None:
        """The embedder that reads characters, with recorded steps."""
        self.race("characters", PARTS[-1:], graphs=True)

    def workers(self) -> None:
        """The default recipe, with loader processes."""
        self.race("workers", ["in-place"], workers=WORKERS)

    def compiled(self) -> None:
        """The default recipe, compiled."""
        which = [logits for name in self.options.compile.split(",") for logits in COMPILE[name]]
        self.race("compiled", ["in-place"], compiled=True, which=tuple(which))

    def compiled_parts(self) -> None:
        """Single embedders, compiled; characters are read one after the other, which is not worth compiling."""
        self.race("compiled-parts", [name for name in PARTS if "char" not in name], compiled=True, which=(ALL,))

    def profile(self) -> None:
        """Operations and waits of the default step, and of the stock one."""
        for name, logits in (("stock", ALL), ("in-place", LABELLED), ("in-place", LOADER), ("in-place", ALL)):
            if not self.fits(f"profile: {name}, {logits}", 15):
                return
            side = self.side(name)
            side.compiled, side.workers = False, 0
            if isinstance(side, NumberSide):
                side.labelled, side.graphs = logits != ALL, False
                side.in_loader = True if logits == LOADER else None
            found = profile(side, self.options.warm, min(5, self.options.steps or 5))
            self.figures.setdefault("profile", {})[name if name == "stock" else f"{name}, {logits}"] = found
            print(f"--- profile of {name}, {logits}: {_sizes(found)}\n{found['table']}")
            print("the host waits:", *(f"\n  {count:g} a step: {stack}" for stack, count in found["waits"].items()))
            self.write()

    def feed(self) -> None:
        """Shards to batches, against BERT-base."""
        from training_feed import feed_figures

        if self.fits("feed", 60):
            feed_figures(self)

    def encode(self) -> None:
        """Encoding over processes."""
        from training_feed import encode_figures

        if self.fits("encode", 60):
            encode_figures(self)


def _median(measured: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(each[key] for each in measured) for key in measured[0]} if measured else {}


def _sizes(found: dict[str, Any]) -> str:
    """The main figures of a profile on one line."""
    names = {
        "step_ms": "ms", "main_thread_cpu_ms": "ms CPU of the main thread", "process_cpu_ms": "ms CPU of all threads",
        "device_ms_per_step": "ms of the device", "launches_per_step": "launches", "operations_per_step": "operations",
        "copies_per_step": "copies", "synchronisations_per_step": "synchronisations",
    }  # fmt: skip
    return ", ".join(f"{found[key]:,.1f} {name}" for key, name in names.items())


def _versions() -> dict[str, Any]:
    import accelerate

    versions: dict[str, Any] = {
        "torch": torch.__version__, "transformers": transformers.__version__, "accelerate": accelerate.__version__,
        "cuda": torch.version.cuda,
    }  # fmt: skip
    if torch.cuda.is_available():
        versions |= {"device": torch.cuda.get_device_name(0), "memory_mb": torch.cuda.mem_get_info()[1] // 2**20}
    return versions


def _summary(contest: Contest) -> None:
    """Prints every ratio with its bar, and what was left out or failed: the last lines of the output."""
    print(f"=== {', '.join(f'{key} {value}' for key, value in contest.figures['versions'].items())}")
    for section in (*_ALL_BARS, "profile"):
        for name, row in contest.figures.get(section, {}).items():
            if section == "profile":
                print(f"profile {name}: {_sizes(row)}, {row['waits_per_step']:g} waits")
            elif "ratio" in row:
                memory = f", memory {row['memory_ratio']:.3f} {row['memory_verdict']}" if "memory_ratio" in row else ""
                graphs = f", {row['graphs']:.0f} graphs, {row['graph_breaks']:.0f} breaks" if "graphs" in row else ""
                print(f"{section}, {name}: {row['ratio']:.3f} >= {row['bar']} {row['verdict']}{memory}{graphs}")
    for section, bar in (("feed", "of BERT-base >= 1.2"), ("encode", "of one process")):
        for name, row in contest.figures.get(section, {}).items():
            if isinstance(row, dict):
                rate = f"{row['tokens_per_s']:,.0f} tokens/s, {row['ratio']:.2f}"
                print(f"{section}, {name}: {rate} {bar} {row['verdict']}")
    print(f"skipped: {contest.figures['skipped']}\nerrors: {contest.figures['errors']}", flush=True)


def _cells(rows: dict[str, Any]) -> Any:
    yield ["side", "texts/s", "ratio", "bar", "", "step ms", "host: data ms", "host: passes ms", "peak MB"]
    for name, row in rows.items():
        ratio = f"{row['ratio']:.3f}" if "ratio" in row else ""
        bar = f">= {row['bar']:g}" if "bar" in row else ""
        times = [f"{row[key]:.2f}" for key in ("step_ms", "data_ms", "forward_backward_host_ms")]
        yield [name, f"{row['texts_per_s']:,.0f}", ratio, bar, row.get("verdict", ""), *times, f"{row['peak_mb']:,.0f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the sections."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the models")
    parser.add_argument("--minutes", type=float, default=6.0, help="time limit; what does not fit is left out")
    parser.add_argument("--model", help="folder of a masked language model; else random weights of MiniLM's size")
    parser.add_argument(
        "--tokenizer", default=str(TOKENIZER), help="folder of the tokenizer of a model without --model"
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas between")
    parser.add_argument("--batch", type=int, default=256, help="texts per step")
    parser.add_argument("--texts", type=int, default=10_240, help="different texts")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a measurement after the warm-up")
    parser.add_argument("--steps", type=int, help="most steps of a measurement")
    parser.add_argument("--warm", type=int, default=15, help="steps of the warm-up")
    parser.add_argument("--compiled-warm", type=int, default=40, help="steps of the warm-up with torch.compile")
    parser.add_argument("--compile", default="backbone", help="what is compiled: backbone, recorded, whole")
    parser.add_argument("--limit", type=float, default=80.0, help="most seconds of one measurement, with compiling")
    parser.add_argument("--first", default="stock", choices=("stock", "ours"), help="the side that is measured first")
    parser.add_argument("--rounds", type=int, default=2, help="measurements of each side")
    parser.add_argument("--tiny", action="store_true", help="a BERT of 2 layers x 32 instead of MiniLM's size")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in SECTIONS]:
        parser.error(f"unknown section {unknown[0]!r}: use {', '.join(SECTIONS)}")
    if unknown := [name for name in options.compile.split(",") if name not in COMPILE]:
        parser.error(f"unknown --compile {unknown[0]!r}: use {', '.join(COMPILE)}")
    if options.texts < options.batch:
        parser.error(f"--texts must be at least --batch, got {options.texts} and {options.batch}")
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(options, Path(folder))
        for name in chosen:
            try:
                getattr(contest, name.replace("-", "_"))()
            except Exception:  # the other sections go on
                contest.failed(name)
        contest.figures["seconds_left"] = contest.left()
        contest.write()
    _summary(contest)
    if contest.figures["errors"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
