"""`numerate demo`: the shipped sample report with its numbers in colour."""

from __future__ import annotations

from collections import defaultdict
from importlib import resources
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from numerate.commands.view import COLOURS, highlighted, meaning
from numerate.numeral import KINDS
from numerate.reading import find_batch

if TYPE_CHECKING:
    from rich.console import Console

    from numerate.numeral import Numeral

__all__ = ["sample_report", "show_demo"]

EXAMPLES = 4
"""How many numerals of each kind the table shows."""


def sample_report() -> list[str]:
    """The lines of the sample report."""
    return resources.files("numerate").joinpath("data", "sample_report.txt").read_text("utf-8").splitlines()


def show_demo(console: Console, reader: str = "standard") -> None:
    """Shows the report, its numerals by kind, and a summary."""
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
