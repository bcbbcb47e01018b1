"""Folds of TAT-QA that are trained so far, against another row on the same questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = {"scale": "", "derivation": "", "answer_from": "table", "answer_type": "span", "rel_paragraphs": []}


def contexts(folder: Path, count: int) -> Path:
    """A file of contexts with one question each, whose answer is the only cell of the second row."""
    rows = [
        {
            "table": {"uid": f"t{index}", "table": [["", "2019"], ["Sales", str(100 + index)]]}, "paragraphs": [],
            "questions": [
                QUESTION | {"uid": f"q{index}", "order": 1, "question": "Sales?", "answer": [str(100 + index)]}
            ],
        }
        for index in range(count)
    ]  # fmt: skip
    file = folder / "dev.json"
    file.write_text(json.dumps(rows))
    return file


def test_only_common_folds_and_seeds_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import tatqa_folds

    from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial, parts_of

    source, folds = contexts(tmp_path, 6), tmp_path / "grid" / "folds"
    folds.mkdir(parents=True)
    asked = parts_of(TatqaTrial(encoding="bare", seed=0, source=str(source), model="-", folds=3)).asked["test"]
    for fold in (0, 1):
        right = np.array([json.dumps([str(100 + index)]) for index in asked[fold].tolist()])
        codes = np.zeros((len(right), 2), dtype=np.int8)
        np.savez(folds / f"a@b-rate0.0002-seed1-epochs2-fold{fold}.npz", test_answer=right, test_codes=codes)
    none = {"test_answer": np.array(["[]"] * 6), "test_scale": np.zeros(6, np.int8)}
    for seed in (0, 1):
        np.savez(tmp_path / "grid" / f"bare-rate0.0002-seed{seed}-epochs2.npz", **none)
    given = ["--source", str(source), "--folder", str(tmp_path / "grid"), "--number", "3"]
    answers = tmp_path / "answers.npz"
    tatqa_folds.main([*given, "--rows", "a@b:2e-4", "--json", str(tmp_path / "found.json"), "--store", str(answers)])
    assert "trainings of folds [0, 1]: [1, 1], 4 questions" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text())["figures"]["a@b:2e-4"]
    assert (found["EM"]["row"], found["EM"]["base"], found["EM"]["paired"]["estimate"]) == (1, 0, 1)
    kept = ["--source", str(source), "--answers", str(answers), "--number", "3", "--json", str(tmp_path / "again.json")]
    tatqa_folds.main([*kept, "--rows", "a@b:2e-4"])
    assert json.loads((tmp_path / "again.json").read_text())["figures"]["a@b:2e-4"] == found
    with pytest.raises(SystemExit, match="no fold that both rows have"):
        tatqa_folds.main([*given, "--rows", "c:1e-4"])
