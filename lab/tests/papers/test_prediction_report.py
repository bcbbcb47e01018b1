"""What a table of encoders says of the aim: unit words, all words, and texts without numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from numerate_lab.papers.literacy2021 import prediction_report as literacy
from numerate_lab.papers.literacy2021 import report_parts as literacy_parts
from numerate_lab.papers.literacy2021.prediction_grid import LiteracyGrid
from numerate_lab.papers.literacy2021.prediction_report import against_base, word_table
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig

if TYPE_CHECKING:
    from pathlib import Path


def group(change: float, high: float, difference: float = 0.0) -> dict[str, Any]:
    share = {"estimate": change, "low": 2 * change - high, "high": high}
    test = {"estimate": difference, "low": difference - 0.001, "high": difference + 0.001}
    p = {"p": 0.5}
    return {
        "count": 9, "ratio": 1 + change, "nats_change": share, "nats_difference": test,
        "hit": {"estimate": 0.5, "low": 0.4, "high": 0.6}, "t_test": p, "binomial": p, "mcnemar": p,
    }  # fmt: skip


ENCODERS = {
    "far": (group(-0.1, -0.085), 0.004, -0.01),
    "wide": (group(-0.1, -0.01), 0.0, 0.0),
    "chance": (group(-0.1, 0.01), 0.0, 0.0),
    "middle": (group(-0.06, -0.055), 0.0, 0.0),
    "words": (group(-0.1, -0.09), 0.006, 0.0),
    "texts": (group(-0.1, -0.09), 0.0, 0.006),
}


@pytest.mark.parametrize(
    ("train", "met", "sure"),
    [("head", "far, wide", "far"), ("all", "far, wide, middle", "far, middle")],
)
def test_who_comes_as_far_as_the_aim(train: str, met: str, sure: str, tmp_path: Path) -> None:
    cell = LiteracyConfig(source="x", model="x", train=train)  # type: ignore[arg-type]
    encoders = {"default": {}, **{name: {} for name in ENCODERS}, "unknown": {}}
    grid = LiteracyGrid(encoders=encoders, rates=(1e-3,), cell=cell)
    (tmp_path / grid.name).mkdir()
    for name, (unit, words, texts) in ENCODERS.items():
        figures = {"unit": unit, "all": group(0.0, 0.1, words), "plain": group(0.0, 0.1, texts)}
        file = tmp_path / grid.name / f"{name}-against-default.json"
        file.write_text(json.dumps({"figures": figures}), "utf-8")
    shown = against_base(grid, tmp_path)
    aim = "-8" if train == "head" else "-5"
    note = next(line for line in shown.notes if line.startswith(f"Aim: unit words {aim} %"))
    assert f"Met by: {met}." in note and note.endswith(f"beyond {aim} %: {sure}.")
    row = dict(zip(shown.head, next(row for row in shown.body if row[0].text == "far"), strict=True))
    assert row["unit, %"].text == "-10.00 [-11.50, -8.50]" and row["all, nats"].text.startswith("+0.0040 [")
    assert not any("on dev" in line for line in shown.notes)  # nothing was tried


def test_what_units_mean_has_a_column_where_it_is_known(tmp_path: Path) -> None:
    grid = LiteracyGrid(encoders={"default": {}, "num": {}}, cell=LiteracyConfig(source="x", model="x"))
    file = tmp_path / grid.name / "num-against-default.json"
    file.parent.mkdir()
    for known in (False, True):
        unit = group(-0.1, -0.05)
        unit |= {"meaning_change": {"estimate": -0.25, "low": -0.3, "high": -0.2}} if known else {}
        file.write_text(json.dumps({"figures": {"unit": unit}}), "utf-8")
        shown = against_base(grid, tmp_path)
        assert ("unit meant, %" in shown.head) == known == any("any spelling" in line for line in shown.notes)
    row = dict(zip(shown.head, shown.body[0], strict=True))
    assert row["unit meant, %"].text == "-25.00 [-30.00, -20.00]"


def test_words_that_an_encoder_lacks_and_seeds_are_counted_below(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grid = LiteracyGrid(encoders={"default": {}, "num": {}}, cell=LiteracyConfig(source="x", model="x"))

    def finals(grid: LiteracyGrid, encoder: str, output: Path) -> list[dict[str, Any]]:
        row = {"nats": 1.0, "ppl": 2.7, "ppl_2nats": 2.0, "missing": 0 if encoder == "default" else 7}
        return [{"results": {"test": {"all": row}}, "config": {"rate": 1e-3}}] * (3 if encoder == "default" else 2)

    for module in (literacy, literacy_parts):
        monkeypatch.setattr(module, "finals_of", finals)
    *_, lacking, seeds = word_table("literacy-table3", grid, tmp_path, "all").notes
    assert lacking.endswith("(comparisons leave both out): num 7.") and seeds == "Fewer seeds: num 2."
