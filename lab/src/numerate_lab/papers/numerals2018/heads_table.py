"""`numerals-heads`: one transformer under every head of 2018 and ours, without and with copies of earlier numbers.

The tables of the paper change head and backbone together; this one tells what the head is worth, and what copies are.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.files import write_atomically
from numerate.report.tables import Cell, Table, table
from numerate.training.results import Result
from numerate_lab.engine.grid import Grid, best_rate, read_results
from numerate_lab.engine.page import figure_cell
from numerate_lab.engine.paper_tables import Paper, check_name, load_yaml, paper
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.papers.numerals2018.tables import corpus_source, corpus_table
from numerate_lab.tasks.next_numeral.numeral_trial import NextNumeralTrial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.paper_tables import Options
    from numerate_lab.engine.trial import TrialResult

__all__ = ["COPIES", "NumeralHeads", "head_encodings", "head_table", "numeral_nats"]

_RUN = load_yaml("numerate_lab.papers.numerals2018")
COPIES = "+copies"
"""Ending of the rows that may copy an earlier number of the text."""
_FLAT = ("softmax", "softmax-rnn")
"""Heads that differ from the hierarchical ones by their gate alone, which a combination does not have: with copies both
are the same model."""
_BASE = "softmax"
_RESAMPLES = 2000
_FIGURES: dict[str, tuple[tuple[str, ...], str]] = {
    "APP numerals": (("perplexity", "numerals", "app"), ".2f"),
    "PP numerals": (("perplexity", "numerals", "pp"), ".2f"),
    "APP words": (("perplexity", "words", "app"), ".2f"),
    "MdAPE": (("number_line", "candidate", "MdAPE", "value"), ".2f"),
    "MdAPE by the median": (("number_line", "median", "MdAPE", "value"), ".2f"),
}


def head_encodings(names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Trial fields of each row: a head of `tables.yaml`, or one with `+copies`; all by default, those without first.

    Example:
        >>> head_encodings(["mog+copies"])["mog+copies"]["head"]
        {'kind': 'combination', 'members': [{'kind': 'mog'}], 'copies': True}
    """
    known = _RUN["heads"]
    every = [*known, *(f"{name}{COPIES}" for name in known if name not in _FLAT)]
    found = {}
    for name in names or every:
        check_name("head", name, every)
        head = known[name.removesuffix(COPIES)]
        if name.endswith(COPIES):
            whole = head if head["kind"] == "combination" else {"kind": "combination", "members": [head]}
            head = whole | {"copies": True}
        found[name] = {"head": head}
    return found


@paper("numerals-heads")
class NumeralHeads(Paper):
    """One transformer with every head."""

    def grids(self, table: str, options: Options) -> list[Grid]:
        """One grid for each corpus: `scientific`, or the synthetic reports without data."""
        check_name("scale", options.scale, list(_RUN["head_scales"]))
        scale = _RUN["head_scales"][options.scale]
        found = []
        for corpus in options.corpora or ("clinical" if options.data is None else "scientific",):
            check_name("corpus", corpus, list(_RUN["corpora"]))
            fields = _RUN["corpora"][corpus] | _RUN["head_trial"] | scale["trial"] | {"seconds": options.seconds}
            fields["source"] = corpus_source(corpus, options.data)
            found.append(
                Grid(
                    task="next-numeral", encodings=head_encodings(options.models), rates=tuple(scale["rates"]),
                    rate_share=0.5, seeds=scale["seeds"] if options.seeds is None else options.seeds,
                    name=f"{corpus}-heads", save=options.save, trial=NextNumeralTrial.from_dict(fields),
                )
            )  # fmt: skip
        return found

    def write(self, table: str, grids: Sequence[Grid], options: Options) -> list[Path]:
        """Writes `numerals-heads-<corpus>.md` and `.json`, with all rows that have results."""
        files, output = [], Path(options.output)
        for grid in grids:
            whole = dataclasses.replace(grid, encodings=head_encodings() | grid.encodings)
            shown = [corpus_table(output / grid.name), head_table(whole, output)]
            stem = f"{table}-{grid.name.removesuffix('-heads')}"
            text = "\n".join(each.markdown() for each in shown if each is not None)
            files.append(write_atomically(output / f"{stem}.md", text.encode()))
            Result(whole.settings(), _figures(whole, output)).write(output / f"{stem}.json")
            files.append(output / f"{stem}.json")
        return files


def numeral_nats(columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Adjusted nats of each numeral, whose mean is the logarithm of APP: (N,) float64."""
    if "adjusted" in columns:
        own = columns["adjusted"]
    else:
        types = max(1, int(columns["unknown_types"][1]))
        own = columns["nll"] + np.where(columns["unknown"], math.log(types), 0.0)
    return columns["class_nll"].astype(np.float64) + own


def head_table(grid: Grid, output: str | Path) -> Table:
    """Perplexities and errors of every row, its APP as a share of others' with intervals, rate and weights."""
    results = read_results(grid, output)
    nats = {name: _mean_nats(runs) for name, runs in results.items() if all(run.has_columns for run in runs)}
    rows: dict[str, dict[str, Any]] = {}
    for name, runs in results.items():
        row = {label: figure_cell([_at(run, keys) for run in runs], form) for label, (keys, form) in _FIGURES.items()}
        for label, other in ((f"of {_BASE}", _BASE), ("of the same without copies", name.removesuffix(COPIES))):
            if name in nats and other in nats and other != name:
                row[label] = _share(nats[name], nats[other])
        weights = runs[0].figures["parameters"] / 1e6
        rows[name] = row | {"rate": f"{runs[0].config.rate:g}", "weights, M": weights, "seeds": len(runs)}
    shares = {f"of {_BASE}": ".3f", "of the same without copies": ".3f"}
    forms = {"APP numerals": ".2f"} | shares | {label: form for label, (_, form) in _FIGURES.items()}
    forms |= {"rate": "", "weights, M": ".2f", "seeds": ".0f"}
    best: Any = dict.fromkeys(_FIGURES, "min")
    notes, trial = _RUN["head_notes"], grid.trial
    rates = f"each row has its best of {len(grid.rates)} rates on dev, tried on {grid.rate_share:.0%} of the epochs"
    lines = [notes["backbone"].format(trial=trial, rates=rates), notes["copies"], notes["adjusted"]]
    return table(rows, forms, best=best, corner="head", title=f"One transformer, {grid.name}", notes=lines)


def _figures(grid: Grid, output: Path) -> dict[str, Any]:
    found = {}
    for name, runs in read_results(grid, output).items():
        seeds = {run.config.name: {label: _at(run, keys) for label, (keys, _) in _FIGURES.items()} for run in runs}
        found[name] = {"rate": best_rate(grid, output, name), "seeds": seeds}
    return found


def _at(run: TrialResult, keys: Sequence[str]) -> Any:
    found: Any = run.figures
    for key in keys:
        found = found[key]
    return found


def _mean_nats(runs: Sequence[TrialResult]) -> tuple[np.ndarray, np.ndarray]:
    """Nats of each numeral, mean over seeds, and its text: (N,) each."""
    columns = [columns_of_split(run.columns(), "test") for run in runs]
    return np.mean([numeral_nats(each) for each in columns], axis=0), columns[0]["text"]


def _share(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> Cell:
    """Quotient of two adjusted perplexities, with a paired 95 % interval over texts."""
    pair = (torch.from_numpy(nats) for nats, _ in (one, other))
    found = metrics.bootstrap(*pair, clusters=torch.from_numpy(one[1]), resamples=_RESAMPLES)
    low, high = math.exp(found.low), math.exp(found.high)
    return Cell(math.exp(found.estimate), f" ({low:.3f} to {high:.3f})")
