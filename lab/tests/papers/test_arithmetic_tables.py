"""xVal's tables: the first exactly, the others end to end at tiny scale, and one real step of the paper's sizes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate_lab.engine.trial import build, train
from numerate_lab.papers.xval2023.arithmetic_tables import PAPER_TABLE1, TABLES, config_for, paper_of, table1
from numerate_lab.tasks.asked_number.asking import encode
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from pathlib import Path


def test_table_1_is_exact() -> None:
    assert table1() == PAPER_TABLE1


@pytest.mark.parametrize("table", TABLES)
def test_the_papers_rows_are_among_ours(table: str) -> None:
    columns, paper = paper_of(table)
    config = config_for(table, "small")
    assert set(paper) <= set(config.encodings) and len(config.encodings) >= 10
    assert list(columns) == config.cell.task.split(",") and len(config.rates) == 3
    with pytest.raises(ValueError, match="unknown scale 'smal': did you mean 'small'"):
        config_for(table, "smal")


def test_the_command_renders_a_table(tmp_path: Path) -> None:
    command = ["reproduce", "xval-table3", "-o", str(tmp_path), "--model", "xval+scalar", "--model", "p10"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    text = (tmp_path / "xval-table3.md").read_text("utf-8")
    assert "| xval+scalar |" in text and "0.99998" in text and "2 operands (paper)" in text
    first = CliRunner().invoke(app, ["reproduce", "xval-table1", "-o", str(tmp_path)])
    assert first.exit_code == 0 and "28,800 | 28,800" in (tmp_path / "xval-table1.md").read_text("utf-8")


def test_bad_names_are_one_line(tmp_path: Path) -> None:
    bad = CliRunner().invoke(app, ["reproduce", "xval-table2", "-o", str(tmp_path), "--model", "p100"])
    assert bad.exit_code != 0 and "unknown encoding 'p100'" in bad.output and "Traceback" not in bad.output
    bad = CliRunner().invoke(app, ["compare", "--task", "multiply-33", "--encodings", "p10", "-o", str(tmp_path)])
    assert bad.exit_code != 0 and "multiply-33" in bad.output and "Traceback" not in bad.output
    bad = CliRunner().invoke(app, ["compare", "--task", "add-6", "--encodings", "p10", "--rates", "fast"])
    assert bad.exit_code != 0 and "--rates 'fast'" in bad.output


@pytest.mark.parametrize(("table", "encoding"), [("xval-table2", "xval+scalar"), ("xval-table3", "fp15")])
def test_one_real_step_of_the_papers_sizes(table: str, encoding: str) -> None:
    shared = config_for(table, "paper").cell
    cell = dataclasses.replace(shared, encoding=encoding, examples=8, amount=4, batch=4)
    task = task_of(cell.task)
    model = build(cell, task)
    asked = encode(model, task.texts("train", 8), task.truth("train", 8), -1, causal=False)
    trained = train(model, cell, asked)
    assert trained["steps"] == 1 and trained["losses"][0]["loss"] > 0
    assert sum(p.numel() for p in model.backbone.parameters()) > 40e6
