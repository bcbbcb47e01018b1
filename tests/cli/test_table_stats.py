"""`numerate stats --tables`: figures by hand, and what `eval` takes of a run's tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.cli.run_commands import _run_of

if TYPE_CHECKING:
    from pathlib import Path

TABLES = [
    {"id": "a", "caption": "Cups of 1999", "header": ["year", "team"], "rows": [["1999", "Ajax"], ["-2,000", ""]]},
    {"table": {"uid": "b", "table": [["no", "numbers"]]}, "paragraphs": [{"text": "Up 3.5% today"}], "questions": []},
    {"id": "c", "rows": [["1.5 to 2%", "7"], ["8"]]},
]


def test_figures_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(table) + "\n" for table in TABLES))
    shown = CliRunner().invoke(app, ["stats", "--tables", str(file), "--reader", "luna", "--json"])
    found = json.loads(shown.stdout)
    counts = {
        "tables": 3,
        "rows": 6,
        "columns": 6,
        "cells": 10,
        "numbers": 6,
        "texts": 2,
        "words": 6,
        "numbers_in_texts": 2,
    }
    assert {key: found[key] for key in counts} == counts
    shares = {"tables": 2 / 3, "rows": 4 / 6, "columns": 3 / 6, "cells": 5 / 10, "cells_with_several": 1 / 10}
    shares |= {"negative": 1 / 6, "integers": 5 / 6, "percent": 1 / 6, "comma": 1 / 6}
    assert {key: found[f"share_{key}"] for key in shares} == pytest.approx(shares)
    assert found["rows_per_table"] == 2 and found["words_per_text"] == 3
    table = CliRunner().invoke(app, ["stats", "--tables", str(file), str(file)]).stdout
    assert "cells per table" in table and table.count("66.67 %") >= 2


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "x", "rows": [["1"]]}\n{"id": "y", "rows": []}\n')
    for path, message in (("t.jsonl", "t.jsonl:2: table 'y' has no rows"), ("gone.jsonl", "no such file")):
        found = CliRunner().invoke(app, ["stats", "--tables", str(tmp_path / path)])
        assert found.exit_code != 0 and message in found.output + found.stderr


def test_a_trained_folder_names_no_files_of_tables(tmp_path: Path) -> None:
    tables = {"order": "columns", "rows": 5, "leave_out": ["/etc/passwd"], "statements": ["/etc/hosts"]}
    resolved = {"data": {"text": "body", "tables": tables}, "training": {}}
    (tmp_path / "run.json").write_text(json.dumps({"config": {"resolved": resolved}}))
    found = _run_of(str(tmp_path), None, None).data.tables
    assert found is not None and (found.order, found.rows) == ("columns", 5)
    assert found.leave_out == found.statements == ()
