"""Whole trainings on one accelerator, against the stock Trainer with a bare model: texts per second and peak memory.

    python benchmarks/training_speed.py --device cuda --minutes 7 --json results/training-speed-gpu.json
    python benchmarks/training_speed.py --device cuda --minutes 7 --only eager,profile --model DIR
    python benchmarks/training_speed.py --tiny --seconds 1 --only eager,rich       # on a laptop

Sections, in order of importance; what does not fit into --minutes is left out and named:

- `eager`: the default recipe, all logits on both sides, and logits only where a token is masked on ours
- `rich`: number-rich text, where a number is one token on our side and its subwords on the other
- `profile`: operations of the default step, and every place where the host waits for the accelerator
- `workers`: the default recipe with 4 loader processes on both sides, so that nobody waits for the collator
- `compiled`: the default recipe with torch.compile on both sides
- `parts`: `float`, `log-fourier`, `bits` and `char-lstm` 1M, each with the head `mixture`
- `feed`: tokens per second of pre-encoded shards, against what BERT-base (random weights) takes at 128 tokens
- `encode`: encoding over 1, 2, 4, 8 processes
- `compiled-parts`: the embedders of `parts` with torch.compile

Without --model, a BERT of MiniLM's size with random weights is trained, which is as fast. The texts are generated. Both
sides train in turn; figures are medians of the rounds, ratios are taken within one run. The JSON file is written after
every measurement.
"""

from __future__ import annotations

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import dataclasses
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from training_contest import MODELS, RICH, TINY, NumberSide, Setting, Side, StockSide, sentences
from training_profile import profile

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTS = ("float", "log-fourier", "bits", "char-lstm 1M")
SECTIONS = ("eager", "rich", "profile", "workers", "compiled", "parts", "feed", "encode", "compiled-parts")
ALL, LABELLED = "all logits", "masked only"
_ALL_BARS = {"eager": 0.93, "workers": 0.93, "parts": 0.93, "compiled": 0.98, "compiled-parts": 0.98, "rich": 1.15}
BARS = {(section, ALL): bar for section, bar in _ALL_BARS.items()}
BARS |= {(section, LABELLED): 1.15 if section == "rich" else 1.2 for section in _ALL_BARS}
CHARACTERS_BAR, MEMORY_BAR = 0.9, 1.05
WORKERS = 4


class Contest:
    """All measurements of a run: keeps the time, prints, and writes the JSON file after each one."""

    def __init__(self, options: Any, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.end = time.monotonic() + 60 * options.minutes
        self.figures: dict[str, Any] = {"skipped": []}
        self.texts = sentences(options.texts)
        self.setting = Setting(folder, options.model, options.device, options.batch)
        if options.tiny:
            vocabulary = max(2048, len(self.setting.tokenizer(self.texts)))
            self.setting = dataclasses.replace(self.setting, sizes=TINY | {"vocab_size": vocabulary})
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
        self, section: str, names: Sequence[str], *, texts: str = "ordinary", compiled: bool = False, workers: int = 0
    ) -> None:
        """Measures the stock side and the named ones in turn, each with all logits and with those of masked tokens."""
        options, begin = self.options, time.monotonic()
        runs: list[tuple[str, str]] = [("stock", ALL)]
        runs += [(name, logits) for name in names for logits in (ALL, LABELLED)]
        found: dict[tuple[str, str], list[dict[str, float]]] = {run: [] for run in runs}
        warm, seconds = (options.compiled_warm, options.seconds) if compiled else (options.warm, options.seconds)
        rounds = 1 if compiled else options.rounds
        longest = 2 * seconds + 90 * compiled
        for turn in range(rounds):
            for run in runs if turn % 2 == 0 else runs[::-1]:
                name, logits = run
                if not self.fits(f"{section}: {name}, {logits}, round {turn + 1}", longest):
                    continue
                side = self.side(name, texts)
                side.compiled, side.workers = compiled, workers
                if isinstance(side, NumberSide):
                    side.labelled = logits == LABELLED
                began = time.monotonic()
                try:
                    measured = side.measure(seconds, warm, options.steps)
                except Exception as error:  # one side that fails must not end the others
                    self.figures.setdefault("errors", []).append(f"{section}: {name}, {logits}: {error!r}"[:600])
                    print(f"error: {section}: {name}, {logits}: {error!r}"[:600], flush=True)
                    continue
                found[run].append(measured)
                longest = time.monotonic() - began + 2
                self.report(section, found, texts)
                print(f"{section}: {name}, {logits}: {measured['texts_per_s']:,.0f} texts/s", flush=True)
        print(f"--- {section}: {time.monotonic() - begin:.0f} s, {self.left():.0f} s left")
        print("\n".join(harness.aligned(list(_cells(self.figures.get(section, {}))), range(1, 9))), flush=True)

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
                if stock["peak_mb"]:
                    row["memory_ratio"] = row["peak_mb"] / stock["peak_mb"]
                    row["memory_verdict"] = harness.verdict(row["memory_ratio"], MEMORY_BAR, "<=")
        self.figures[section] = rows
        self.write()

    # Sections.

    def eager(self) -> None:
        """The default recipe, not compiled."""
        self.race("eager", ["in-place"])

    def rich(self) -> None:
        """Number-rich text."""
        self.race("rich", ["one token"], texts="rich")

    def parts(self) -> None:
        """Single embedders."""
        self.race("parts", PARTS)

    def workers(self) -> None:
        """The default recipe, with loader processes."""
        self.race("workers", ["in-place"], workers=WORKERS)

    def compiled(self) -> None:
        """The default recipe, compiled."""
        self.race("compiled", ["in-place"], compiled=True)

    def compiled_parts(self) -> None:
        """Single embedders, compiled; characters are read one after the other, which is not worth compiling."""
        self.race("compiled-parts", [name for name in PARTS if "char" not in name], compiled=True)

    def profile(self) -> None:
        """Operations and waits of the default step, and of the stock one."""
        for name, logits in (("stock", ALL), ("in-place", LABELLED), ("in-place", ALL)):
            if not self.fits(f"profile: {name}, {logits}", 15):
                return
            side = self.side(name)
            side.compiled, side.workers = False, 0
            if isinstance(side, NumberSide):
                side.labelled = logits == LABELLED
            found = profile(side, self.options.warm, min(10, self.options.steps or 10))
            self.figures.setdefault("profile", {})[name if name == "stock" else f"{name}, {logits}"] = found
            print(f"--- profile of {name}, {logits}: {found['launches_per_step']:.0f} launches a step")
            print(found["table"], flush=True)
            print("the host waits:", *(f"\n  {place}: {count:g} a step" for place, count in found["waits"].items()))
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
    parser.add_argument("--minutes", type=float, default=7.0, help="time limit; what does not fit is left out")
    parser.add_argument("--model", help="folder of a masked language model; else random weights of MiniLM's size")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas between")
    parser.add_argument("--batch", type=int, default=256, help="texts per step")
    parser.add_argument("--texts", type=int, default=20_480, help="different texts")
    parser.add_argument("--seconds", type=float, default=8.0, help="length of a measurement after the warm-up")
    parser.add_argument("--steps", type=int, help="most steps of a measurement")
    parser.add_argument("--warm", type=int, default=15, help="steps of the warm-up")
    parser.add_argument("--compiled-warm", type=int, default=60, help="steps of the warm-up with torch.compile")
    parser.add_argument("--rounds", type=int, default=2, help="measurements of each side")
    parser.add_argument("--tiny", action="store_true", help="a BERT of 2 layers x 32 instead of MiniLM's size")
    options = parser.parse_args(arguments)
    chosen = options.only.split(",")
    if unknown := [name for name in chosen if name not in SECTIONS]:
        parser.error(f"unknown section {unknown[0]!r}: use {', '.join(SECTIONS)}")
    if options.texts < options.batch:
        parser.error(f"--texts must be at least --batch, got {options.texts} and {options.batch}")
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(options, Path(folder))
        for name in chosen:
            getattr(contest, name.replace("-", "_"))()
        contest.figures["seconds_left"] = contest.left()
        contest.write()
    if options.json is None:
        print(json.dumps(contest.figures["skipped"]))


if __name__ == "__main__":
    main()
