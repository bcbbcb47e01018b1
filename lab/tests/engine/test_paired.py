"""Intervals over the test examples of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.training.results import write_predictions
from numerate_lab.engine.grid import CompareConfig
from numerate_lab.engine.paired import example_figures, paired_table, said_by_encoding
from numerate_lab.engine.trial import CellConfig
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = CompareConfig(encodings=("p10", "digits"), rates=(1e-3,), seeds=2, cell=CellConfig(task="multiply-3", test=40))


def predicted(folder: Path, cell: CellConfig, wrong: int, off: float = 7.0) -> dict[str, Any]:
    """Predictions of which the first so many are wrong."""
    gold = torch.from_numpy(task_of("multiply-3").truth("test", 40).values)
    said = gold.clone()
    said[:wrong] += off
    write_predictions(
        folder / f"{cell.name}.npz", {"test_predicted": said, "test_gold": gold}, exact=("test_predicted",)
    )
    return {"cell": cell, "test": {"exact_match": {"value": 1 - wrong / 40}}}


def test_means_over_seeds(tmp_path: Path) -> None:
    first, second = (cell for cell in CONFIG.finals({"p10": 1e-3, "digits": 1e-3}) if cell.encoding == "p10")
    cells = {"p10": [predicted(tmp_path, first, 10), predicted(tmp_path, second, 20)], "digits": [{"cell": first}][:0]}
    figures = example_figures(*said_by_encoding(CONFIG, tmp_path, cells), cells)
    assert list(figures) == ["p10"]
    assert figures["p10"]["exact"].tolist() == [0.0] * 10 + [0.5] * 10 + [1.0] * 20
    assert bool((figures["p10"]["digits"][20:] == 1).all()) and bool((figures["p10"]["digits"][:10] < 0.5).all())
    assert paired_table(figures, "one alone") is None


def test_how_far_behind_the_best() -> None:
    good = {"exact": torch.ones(400), "digits": torch.ones(400)}
    poor = {"exact": (torch.arange(400) % 4 > 0).double(), "digits": torch.full((400,), 0.5)}
    shown = paired_table({"poor": poor, "good": good}, "both")
    assert shown is not None
    assert [cell.text for cell in shown.body[1]] == [
        "good", "100.00 (100.00 to 100.00)", "the best", "100.00 (100.00 to 100.00)", "the best",
    ]  # fmt: skip
    _, exact, behind, digits, behind_digits = (cell.text for cell in shown.body[0])
    assert exact.startswith("75.00 (7") and behind.startswith("25.00 (2")
    assert digits == behind_digits == "50.00 (50.00 to 50.00)"
    assert "95 %" in shown.notes[0]


def test_predictions_of_other_examples_are_left_out(tmp_path: Path) -> None:
    cell = CONFIG.finals({"p10": 1e-3, "digits": 1e-3})[0]
    other = torch.arange(40.0, dtype=torch.float64)
    write_predictions(tmp_path / f"{cell.name}.npz", {"test_predicted": other, "test_gold": other})
    cells = {"p10": [{"cell": cell}]}
    assert example_figures(*said_by_encoding(CONFIG, tmp_path, cells), cells) == {}


def test_exact_is_left_out_where_floats_cannot_tell(tmp_path: Path) -> None:
    cell = CONFIG.finals({"p10": 1e-3, "digits": 1e-3})[0]
    run = predicted(tmp_path, cell, 10)
    run["test"]["exact_match"]["value"] = 0.9  # as strings were compared
    cells = {"p10": [run]}
    figures = example_figures(*said_by_encoding(CONFIG, tmp_path, cells), cells)
    assert list(figures["p10"]) == ["digits"]
    shown = paired_table({"p10": figures["p10"], "other": figures["p10"]}, "both")
    assert shown is not None and shown.head == ("encoding", "log-sMAPE %", "log-sMAPE %, behind the best")
