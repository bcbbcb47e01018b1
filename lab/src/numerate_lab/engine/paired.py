"""How sure a comparison is of its order: intervals over the test examples, which all encodings share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics import right_digit_shares
from numerate.metrics.significance import bootstrap
from numerate.report.tables import Table, table
from numerate.training.results import read_predictions
from numerate_lab.tasks.asked_number.asked_number import compared
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.metrics.significance import Interval
    from numerate_lab.engine.grid import CompareConfig
    from numerate_lab.tasks.asked_number.asked_number import Truth

__all__ = ["Said", "example_figures", "paired_table", "said_by_encoding"]

Said = Mapping[str, Sequence[Tensor]]
"""By encoding, what each seed answers to all test examples: (N,) float64 each."""

_RESAMPLES = 2000
_NOTE = (
    "95 % intervals by bootstrap over the test examples, of means over seeds; behind the best: its figure less this "
    "one's, example by example. They say how sure the order of these models is, not how another training would end. "
    "Where all N examples are alike the interval has no width, though as many as 3 in N may be otherwise."
)


def said_by_encoding(
    config: CompareConfig, folder: Path, cells: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[Truth, Said]:
    """The right answers of all test examples, and what each encoding says.

    An encoding is left out where its predictions are not there, or are of other examples.
    """
    truth = task_of(config.cell.task, config.cell.task_options).truth("test", config.cell.test)
    gold = torch.as_tensor(truth.values, dtype=torch.float64)
    found: dict[str, list[Tensor]] = {}
    for name, runs in cells.items():
        files = [folder / f"{run['cell'].name}.npz" for run in runs]
        known = [read_predictions(file) for file in files if file.is_file()]
        if known and len(known) == len(runs) and all(torch.equal(columns["test_gold"], gold) for columns in known):
            found[name] = [columns["test_predicted"].to(torch.float64) for columns in known]
    return truth, found


def example_figures(
    truth: Truth, said_by: Said, cells: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, dict[str, Tensor]]:
    """For each encoding whose predictions are there, `exact` and `digits` of every test example: (N,), seeds' means.

    `exact` is left out where a float64 cannot tell, as of answers with more than 15 digits: strings were compared then.
    """
    gold = torch.as_tensor(truth.values, dtype=torch.float64)
    found: dict[str, dict[str, Tensor]] = {}
    for name, said in said_by.items():
        found[name] = {"digits": torch.stack([right_digit_shares(one, gold) for one in said]).mean(0)}
        exact = [torch.from_numpy(compared(one.numpy(), truth)[1]).to(torch.float64) for one in said]
        shares = [run["test"]["exact_match"]["value"] for run in cells[name]]
        if all(abs(float(one.mean()) - share) < 1e-9 for one, share in zip(exact, shares, strict=True)):
            found[name]["exact"] = torch.stack(exact).mean(0)
    return found


def paired_table(figures: Mapping[str, Mapping[str, Tensor]], title: str) -> Table | None:
    """Each encoding's figures with intervals, and how far behind the best it is; None if there are fewer than two."""
    if len(figures) < 2:
        return None
    rows: dict[str, dict[str, str]] = {name: {} for name in figures}
    for key, label in (("exact", "exact %"), ("digits", "log-sMAPE %")):
        if any(key not in one for one in figures.values()):
            continue
        best = max(figures, key=lambda name: float(figures[name][key].nanmean()))
        for name, one in figures.items():
            rows[name][label] = _told(bootstrap(one[key], resamples=_RESAMPLES))
            rows[name][f"{label}, behind the best"] = (
                "the best" if name == best else _told(bootstrap(figures[best][key], one[key], resamples=_RESAMPLES))
            )
    columns = dict.fromkeys(next(iter(rows.values())), "")
    return table(rows, columns, corner="encoding", title=title, notes=[_NOTE])


def _told(found: Interval) -> str:
    estimate, low, high = (round(100 * value, 2) + 0.0 for value in (found.estimate, found.low, found.high))
    return f"{estimate:.2f} ({low:.2f} to {high:.2f})"
