"""`numerate demo --train`: trains a small model without and one with number values on the same texts, and compares."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import defaultdict
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from numerate.apps.numeral_view import COLOURS, format_value, highlighted, meaning
from numerate.errors import BadInput
from numerate.numerals.numeral import KINDS
from numerate.reading import find, find_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from numerate.apps.with_and_without import ComparisonConfig
    from numerate.numerals.numeral import Numeral

__all__ = ["run_demo", "sample_report", "show_sample"]

EXAMPLES = 4
"""Number of numerals of each kind in the sample's table, and of sentences that the demo prints."""
TEXTS = (12_000, 1_000)
"""Numbers of training texts and of held-out texts."""
WORLD: dict[str, Any] = {"groups": ("animal", "good"), "kinds": ("conversion", "comparison", "bill")}
"""Groups and kinds of `fact_texts`: few enough to be learnt in a minute."""
TRAINING: dict[str, Any] = {
    "backbone": "modernbert", "head": {"kind": "mixture", "components": 32, "ratios": True}, "steps": 1000,
    "number_rate": 0.01, "number_ratio": 0.2, "word_ratio": 0.3,
}  # fmt: skip
"""Options of `ComparisonConfig`: the default recipe; without its dropout, because no text is seen often."""
ASKED = {
    "The wolf by the river weighs 42 kg (92.6 lbs).": 1,
    "12 times a coat of 120 dollars make 1,440 dollars in all.": 2,
}
"""Sentences for the last part of the demo, with the index of the number that is hidden."""
COMPARED = {
    "A wolf of 42 kg is [MASK] than one of 58 kg.": "lighter",
    "A wolf of 42 kg is [MASK] than one of 31 kg.": "heavier",
}
"""Sentences whose word follows from their numbers alone, with that word."""


def sample_report() -> list[str]:
    """Lines of `data/sample_report.txt`."""
    return resources.files("numerate").joinpath("data", "sample_report.txt").read_text("utf-8").splitlines()


def show_sample(console: Console, reader: str = "standard") -> None:
    """Prints the sample report with its numerals in colour, a table of kinds, and a summary."""
    lines = sample_report()
    found = find_batch(lines, reader=reader)
    for line, numerals in zip(lines, found, strict=True):
        console.print(highlighted(line, numerals))
    console.print()
    by_kind: dict[str, list[Numeral]] = defaultdict(list)
    for numerals in found:
        for numeral in numerals:
            by_kind[numeral.kind].append(numeral)
    table = Table("kind", "count", "as written = meaning", title="Numbers by kind", title_justify="left")
    for kind in filter(by_kind.__contains__, KINDS):
        table.add_row(Text(kind, style=COLOURS[kind]), str(len(by_kind[kind])), _examples(by_kind[kind]))
    console.print(table)
    units = sorted({n.unit for numerals in found for n in numerals if n.unit})
    counts = f"{sum(map(len, found))} numbers in {len(lines)} lines, {len(by_kind)} kinds"
    console.print(f"{counts}, {len(units)} units: {', '.join(units)}")
    console.print("Try your own text: echo 'Revenue rose 3.2% to $1.5 billion' | numerate find -", style="dim")


def _examples(numerals: list[Numeral]) -> Text:
    """Some numerals from all over the report, each with its value and unit."""
    distinct = list({n.text: n for n in numerals}.values())
    chosen = distinct[:: max(1, len(distinct) // EXAMPLES)][:EXAMPLES]
    parts = [Text.assemble((n.text, COLOURS[n.kind]), f" = {meaning(n)}") for n in chosen]
    return Text(",  ").join(parts)


def _sentences(split: str, count: int, seed: int) -> list[str]:
    """Sentences with at least two numbers, so that a hidden one can be computed from the others."""
    from numerate.apps.synthetic_facts import fact_texts

    found = (one.text for one in fact_texts(split, 10 * count, seed, **WORLD) if len(one.numbers) > 1)
    return list(itertools.islice(found, count))


def run_demo(console: Console, output: str = "numerate-demo", quick: bool = False, seed: int = 0) -> Path:
    """Trains both models on synthetic texts, prints their metrics, and writes a page of plots; returns its path.

    The page and the model with number values are written into the folder `output`. With `quick`, a tiny model is
    trained for a few steps, which checks the installation and learns nothing. `seed` is that of texts, weights and
    masks.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise BadInput('the demo needs matplotlib: pip install "numerate[plots]"') from None
    from numerate.apps.demo_page import demo_page, demo_table
    from numerate.apps.fill import fill
    from numerate.apps.synthetic_facts import UNIT_WORDS
    from numerate.apps.with_and_without import (
        SENSE,
        ComparisonConfig,
        WithAndWithout,
        ask_model,
        measure_model,
        train_model,
    )

    start = time.perf_counter()
    config, (many, few) = ComparisonConfig(seed=seed, **TRAINING), TEXTS
    if quick:
        config, many, few = replace(config, steps=6, width=32, layers=1, evaluations=2), 300, 60
    train = _sentences("train", many, seed)
    pair = WithAndWithout(train, _sentences("test", few, seed), config, UNIT_WORDS)
    sentences = Text(f"{many:,} synthetic sentences", style="bold")
    console.print(sentences.append(f" with {len(pair.units):,} numbers. Examples:", style="not bold"))
    for text in train[:EXAMPLES]:
        console.print("  ", highlighted(text, find(text)))
    weights = [sum(weight.numel() for weight in model.parameters()) for model in pair.models.values()]
    console.print(
        f"\nTwo ModernBERTs (layers: {config.layers}, width: {config.width}) are trained from random weights: a "
        f"number-blind one, which reads numbers as sub-words ({weights[0]:,} weights), and one with the recipe "
        f"{config.recipe}, which also gets the numbers' values ({weights[1]:,} weights). Initial weights, texts, "
        "order, masks and steps are the same."
    )
    logs: dict[str, Any] = {}
    with _progress(console, config) as bars:
        for name in pair.models:
            logs[name] = train_model(pair, name, callbacks=[bars(name)])
    outcomes = {name: measure_model(pair, name) for name in pair.models}
    one = next(iter(outcomes.values()))
    figures = pair.baselines(one.gold, one.unit) | {name: found.figures() for name, found in outcomes.items()}
    words, units = int((~one.is_unit).sum()), int(one.is_unit.sum())
    title = f"Held-out texts: {len(one.gold):,} numbers, {words:,} masked words, {units:,} masked units"
    console.print(replace(demo_table(figures).transposed(), title=title, notes=()).rich())
    asked: dict[str, dict[str, Any]] = {}
    for text, place in ASKED.items():
        hidden = find(text)[place]
        sentence = f"{text[: hidden.start]}___{text[hidden.end :]}"
        asked[sentence] = {name: ask_model(pair, name, text, place) for name in pair.models}
        console.print(Text(f"\n{sentence}", style="bold"), Text(f"  ({hidden.text})", style="dim"), sep="")
        for name, (seen, _) in asked[sentence].items():
            low, high = (format_value(float(end), digits=3) for end in seen.interval(0.9))
            guess = format_value(float(seen.median()), digits=3)
            console.print(f"  {name:14}{guess}, 90 % interval {low} to {high}")
    for sentence, word in COMPARED.items():
        console.print(Text(f"\n{sentence}", style="bold"), Text(f"  ({word})", style="dim"), sep="")
        for name, model in pair.models.items():
            best = fill(sentence, model, top=2)[0]["words"]
            console.print(f"  {name:14}" + ", ".join(f"{each['word']} {each['probability']:.0%}" for each in best))
    folder = Path(output) / "model"
    pair.models[SENSE].save_pretrained(folder)
    path = demo_page(Path(output) / "index.html", figures, logs, outcomes, asked)
    console.print(f"\nPlots: {path}    ({time.perf_counter() - start:.0f} s in total)", soft_wrap=True)
    said = f'Ask it more: numerate fill "The fox weighs 6.5 kg ([NUM] lbs)." --model {folder}'
    console.print(said, soft_wrap=True)
    return path


@contextlib.contextmanager
def _progress(console: Console, config: ComparisonConfig) -> Iterator[Any]:
    """Yields a Trainer callback class that shows a progress bar in a terminal, and elsewhere one line at the end."""
    from rich import progress
    from transformers import TrainerCallback

    bars = progress.Progress(
        progress.TextColumn("{task.description:12}"), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(), progress.TextColumn("{task.fields[latest]}"),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip

    class ShowProgress(TrainerCallback):
        def __init__(self, name: str) -> None:
            self.name, self.latest = name, dict[str, str]()
            self.task = bars.add_task(name, total=config.steps, latest="")

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            bars.update(self.task, completed=state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            shown = {"loss": "loss {:.2f}", "eval_log_mae": "log-MAE {:.2f}", "texts_per_second": "texts/s {:.0f}"}
            self.latest |= {key: form.format(float(logs[key])) for key, form in shown.items() if key in (logs or {})}
            bars.update(self.task, latest=self._latest())

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if not console.is_terminal:
                console.print(f"{self.name:14}{state.global_step} steps  {self._latest()}")

        def _latest(self) -> str:
            return "  ".join(sorted(self.latest.values()))

    with bars:
        yield ShowProgress
