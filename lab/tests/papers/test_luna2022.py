"""Tables of LUNA: grids, a run of seconds, and the paper's figures beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import number_data
import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.errors import NumerateError
from numerate_lab.engine.paper_tables import Options, reproduce
from numerate_lab.papers.luna2022.tables import _TABLES, ProbeTable
from numerate_lab.registry import tables, tasks

if TYPE_CHECKING:
    from pathlib import Path


def silent(line: str) -> None:
    """Prints nothing."""


def test_every_scale_has_grids_and_every_figure_a_column() -> None:
    assert tables["luna-table2"] is ProbeTable
    plan = _TABLES["luna-table2"]
    for scale in plan["scales"]:
        (grid,) = ProbeTable().grids("luna-table2", Options(scale=scale))
        columns = tasks["probes"](grid.trial).shown()
        assert all(len(row) == len(columns) for row in plan["paper"].values())
        assert set(plan["paper"]) <= set(grid.encodings) and "quantity-and-digits" in grid.encodings


def test_table2_with_a_pretrained_model(tmp_path: Path) -> None:
    number_data.write_model(tmp_path / "bert")
    options = Options(
        output=str(tmp_path), encoders=("dice-luna", "fourier"), models=(str(tmp_path / "bert"),),
        corpora=("tables", "words-99"), log=silent,
    )  # fmt: skip
    reproduce("luna-table2", options)
    text = (tmp_path / "luna-table2-tables.md").read_text("utf-8")
    assert "| dice-luna |" in text and "39.53" in text and "| bert |" in text and "always the mean" in text
    assert "39.53" not in (tmp_path / "luna-table2-words-99.md").read_text("utf-8"), "the paper has no such numbers"
    assert (tmp_path / "probes-tables" / "index.html").is_file()


def test_rows_by_commas(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "luna-table2", "--encoder", "num, dise", "-o", str(tmp_path)])
    assert done.exit_code == 2 and "unknown encoding 'dise' of probes" in " ".join(done.output.split())


def test_bad_options(tmp_path: Path) -> None:
    for more, message in (
        ({"scale": "smal"}, "unknown scale 'smal': did you mean 'small'?"),
        ({"encoders": ("dise",)}, "unknown encoding 'dise' of probes: did you mean 'dice'"),
        ({"data": str(tmp_path / "gone.jsonl"), "encoders": ("num",)}, r"gone\.jsonl: no such file of tables"),
    ):
        with pytest.raises(NumerateError, match=message):
            reproduce("luna-table2", Options(output=str(tmp_path / "o"), log=silent, **more))  # type: ignore[arg-type]
