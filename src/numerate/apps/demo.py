"""`numerate demo`: a number-blind model and its twin with number sense learn the same texts, side by side."""

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
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from numerate.apps.with_and_without import ComparisonConfig
    from numerate.numerals.numeral import Numeral

__all__ = ["run_demo", "sample_report", "show_sample"]

EXAMPLES = 4
"""How many numerals of each kind the sample's table shows, and how many sentences the demo does."""
TEXTS = (16_000, 2_000)
"""How many to learn from, and how many to be measured on."""
WORLD: dict[str, Any] = {"groups": ("animal", "good"), "kinds": ("fact", "total", "sale")}
"""What the sentences are about: few enough things for a minute's learning."""
ASKED = {
    "The wolf by the river weighs 42 kg (92.6 lbs).": 1,
    "If one coat costs 120 dollars, then 12 of them cost 1,440 dollars.": 2,
}
"""Sentences, and which of their numbers is hidden at the end."""


def sample_report() -> list[str]:
    """The lines of the sample report."""
    return resources.files("numerate").joinpath("data", "sample_report.txt").read_text("utf-8").splitlines()


def show_sample(console: Console, reader: str = "standard") -> None:
    """Shows the sample report, its numerals by kind, and a summary."""
    lines = sample_report()
    found = find_batch(lines, reader=reader)
    for line, numerals in zip(lines, found, strict=True):
        console.print(highlighted(line, numerals))
    console.print()
    by_kind: dict[str, list[Numeral]] = defaultdict(list)
    for numerals in found:
        for numeral in numerals:
            by_kind[numeral.kind].append(numeral)
    table = Table("kind", "count", "as written, and what it means", title="Numbers by kind", title_justify="left")
    for kind in filter(by_kind.__contains__, KINDS):
        table.add_row(Text(kind, style=COLOURS[kind]), str(len(by_kind[kind])), _examples(by_kind[kind]))
    console.print(table)
    units = sorted({n.unit for numerals in found for n in numerals if n.unit})
    total = sum(map(len, found))
    console.print(
        f"{total} numbers in {len(lines)} lines, {len(by_kind)} kinds, {len(units)} units: {', '.join(units)}"
    )
    console.print("Try your own text: echo 'Revenue rose 3.2% to $1.5 billion' | numerate find -", style="dim")


def _examples(numerals: list[Numeral]) -> Text:
    """A few numerals, spread over the report, each with its value and unit."""
    distinct = list({n.text: n for n in numerals}.values())
    chosen = distinct[:: max(1, len(distinct) // EXAMPLES)][:EXAMPLES]
    parts = [Text.assemble((n.text, COLOURS[n.kind]), f" = {meaning(n)}") for n in chosen]
    return Text(",  ").join(parts)


def _sentences(split: str, count: int, seed: int) -> list[str]:
    """Sentences with two numbers or more: one is hidden, and what the others say of it is there to be read."""
    from numerate.apps.synthetic_facts import fact_texts

    found = (one.text for one in fact_texts(split, 10 * count, seed, **WORLD) if len(one.numbers) > 1)
    return list(itertools.islice(found, count))


def run_demo(console: Console, output: str = "numerate-demo", quick: bool = False, seed: int = 0) -> Path:
    """Trains both twins on made-up texts, prints how well each predicts, and writes a page of plots.

    Args:
        console: Where to print.
        output: A folder for the page.
        quick: A few steps of a tiny model, which learns nothing: to see that all runs.
        seed: Of texts, weights and masks.

    Returns:
        The page.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise BadInput('the demo draws plots: pip install "numerate[plots]"') from None
    from numerate.apps.demo_page import demo_page
    from numerate.apps.synthetic_facts import UNIT_WORDS
    from numerate.apps.with_and_without import ComparisonConfig, WithAndWithout, ask_model, measure_model, train_model

    start = time.perf_counter()
    config, (many, few) = ComparisonConfig(seed=seed), TEXTS
    if quick:
        config, many, few = replace(config, steps=6, width=32, layers=1, evaluations=2), 300, 60
    train = _sentences("train", many, seed)
    pair = WithAndWithout(train, _sentences("test", few, seed), config, UNIT_WORDS)
    console.print(f"[bold]{many:,} made-up sentences[/], {len(pair.units):,} numbers with a slot of their own. Some:")
    for text in train[:EXAMPLES]:
        console.print("  ", highlighted(text, find(text)))
    weights = [sum(weight.numel() for weight in model.parameters()) for model in pair.models.values()]
    console.print(
        f"\nTwo BERTs ({config.layers} x {config.width}) are trained from nothing: a number-blind one, which "
        f"reads numbers as sub-words ({weights[0]:,} weights), and the same one with the numbers' values added to "
        f"them ({weights[1]:,}). First weights, head, texts, order, masks and steps are the same."
    )
    logs: dict[str, Any] = {}
    with _progress(console, config) as bars:
        for name in pair.models:
            logs[name] = train_model(pair, name, callbacks=[bars(name)])
    outcomes = {name: measure_model(pair, name) for name in pair.models}
    one = next(iter(outcomes.values()))
    figures = pair.baselines(one.gold, one.unit) | {name: found.figures() for name, found in outcomes.items()}
    console.print(_figures(figures, len(one.gold), int((~one.is_unit).sum()), int(one.is_unit.sum())))
    asked: dict[str, dict[str, Any]] = {}
    for text, place in ASKED.items():
        hidden = find(text)[place]
        sentence = f"{text[: hidden.start]}___{text[hidden.end :]}"
        asked[sentence] = {name: ask_model(pair, name, text, place) for name in pair.models}
        console.print(Text(f"\n{sentence}", style="bold"), Text(f"  ({hidden.text})", style="dim"), sep="")
        for name, (seen, _) in asked[sentence].items():
            low, high = (format_value(float(f"{float(end):.3g}")) for end in seen.interval(0.9))
            guess = format_value(float(f"{float(seen.median()):.3g}"))
            console.print(f"  {name:14}{guess}, with 90 % between {low} and {high}")
    path = demo_page(Path(output) / "index.html", figures, logs, outcomes, asked)
    console.print(f"\nPlots: {path}    ({time.perf_counter() - start:.0f} s in all)")
    console.print("How numbers are found and read: numerate demo --sample", style="dim")
    return path


def _figures(figures: Mapping[str, Mapping[str, float]], numbers: int, words: int, units: int) -> Table:
    """The figures for the terminal, a line each: the best of each is bold."""
    from numerate.apps.demo_page import COLUMNS

    table = Table(
        title=f"Held-out texts: {numbers:,} masked numbers, {words:,} masked words, {units:,} masked units",
        title_justify="left",
    )
    table.add_column()
    for name in figures:
        table.add_column(name, justify="right")
    for key, (heading, form, best) in COLUMNS.items():
        known = [one[key] for one in figures.values() if key in one]
        bold = None if best is None else (min if best == "min" else max)(known)
        cells = [
            Text(format(one[key], form), style="bold" if one[key] == bold else "") if key in one else Text("–")
            for one in figures.values()
        ]
        table.add_row(heading, *cells)
    return table


@contextlib.contextmanager
def _progress(console: Console, config: ComparisonConfig) -> Iterator[Any]:
    """Bars with loss, error, throughput and time left; gives what makes a callback of the Trainer for one model."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from transformers import TrainerCallback

    bar = Progress(
        TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[said]}"), console=console,
    )  # fmt: skip

    class Shows(TrainerCallback):
        def __init__(self, name: str) -> None:
            self.task = bar.add_task(name, total=config.steps, said="")
            self.said: dict[str, str] = {}

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            bar.update(self.task, completed=state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            for key, name, form in (
                ("loss", "loss", ".2f"), ("eval_log_mae", "log-MAE", ".2f"), ("texts_per_second", "texts/s", ".0f"),
            ):  # fmt: skip
                if key in (logs or {}):
                    self.said[name] = format(float(logs[key]), form)
            bar.update(self.task, said="  ".join(f"{name} {said}" for name, said in self.said.items()))

    with bar:
        yield Shows
