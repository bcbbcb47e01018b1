"""Questions with a number as their answer: rows of the three data sets, right answers, bad input, a short training."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest

from numerate.errors import NumerateError
from numerate_lab.engine.grid import Grid, finals, recompute, run_grids
from numerate_lab.tasks.masked_prediction.number_sentences import read_number_sentences
from numerate_lab.tasks.reasoning.reasoning_task import Reasoning, exact_matches

if TYPE_CHECKING:
    from pathlib import Path


def write(file: Path, rows: list[Any]) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


@pytest.mark.parametrize(
    ("row", "text", "value"),
    [
        ({"text": "A cat has <mask> legs.", "answer": "Four"}, "A cat has 4 legs.", 4),
        ({"text": "There is <mask> doubt.", "answer": "no"}, "There is 0 doubt.", 0),
        ({"question": "How much?", "answer": "3+4 = <<3+4=7>>7\n#### 1,207"}, "The answer is 1207. How much?", 1207),
        ({"id": "s1", "question": "6 halves ?", "answer": 3.0}, "The answer is 3. 6 halves ?", 3),
        ({"question": "A part?", "answer": -0.50}, "The answer is -0.5. A part?", -0.5),
        ({"ID": "c", "Body": "4 now.", "Question": "Many?", "Answer": 40.0}, "The answer is 40. 4 now. Many?", 40),
    ],
)  # fmt: skip
def test_rows_of_the_data_sets(tmp_path: Path, row: dict[str, Any], text: str, value: float) -> None:
    file = write(tmp_path / "r.jsonl", [row | {"split": "train"} if "Body" not in row else row])
    found = [one for split in ("train", "dev", "test") for one in read_number_sentences(file, split)]
    assert [(one.text, one.numeral.value) for one in found if one.numeral] == [(text, value)]


def test_bad_answers_are_named(tmp_path: Path) -> None:
    for answer, shown in (("maybe", "'maybe'"), ("#### ", "''"), ([1], r"'\[1\]'"), ("nan", "'nan'")):
        file = write(
            tmp_path / "r.jsonl", [{"question": "How many?", "answer": 3}, {"question": "?", "answer": answer}]
        )
        with pytest.raises(NumerateError, match=rf"r\.jsonl:2: field 'answer' is {shown}, expected a number"):
            [list(read_number_sentences(file, split)) for split in ("train", "dev", "test")]


def test_exact_matches() -> None:
    given, right = np.array([11.6, 12.5, 0.249, 40.0, np.nan, -3.2]), np.array([12.0, 12.0, 0.25, 400.0, 3.0, -3.0])
    assert exact_matches(given, right).tolist() == [True, False, True, False, False, True]


def test_a_model_with_and_without_a_number_head(tmp_path: Path) -> None:
    number_data.write_model(tmp_path / "bert")
    draws = np.random.default_rng(0).integers(1, 20, (160, 2)).tolist()
    rows = [{"question": f"Tom has {a} cups and gets {b}. How many ?", "answer": a + b} for a, b in draws]
    options = {"source": write(tmp_path / "q.jsonl", rows), "model": str(tmp_path / "bert"), "epochs": 1, "batch": 16}
    names = {name: Reasoning.encoding(name) for name in ("spelled", "in-place")}
    trial = Reasoning.trial("reasoning", options | {"most_eval": 8})
    grid = Grid(task="reasoning", encodings=names, rates=(1e-3,), seeds=1, name="r", trial=trial)
    run_grids([grid], tmp_path, log=lambda line: None)
    assert all(recompute(grid, tmp_path).values())
    for name in names:
        figures = finals(grid, tmp_path, name)[0].figures
        assert 0 <= figures["test"]["exact_match"] <= 1 and figures["test"]["count"] == 8
    simple = json.loads((tmp_path / "r" / "baselines.json").read_text())["figures"]["most frequent"]["test"]
    assert simple["exact_match"] < 1


@pytest.mark.shared("data/numeracy")
def test_shared_questions(shared: Path) -> None:
    for name, count in (("numersense", 10_444), ("gsm8k", 7_473), ("svamp", 3_138)):
        file = shared / "data" / "numeracy" / f"{name}_train.jsonl.gz"
        assert sum(1 for split in ("train", "dev", "test") for _ in read_number_sentences(file, split)) == count
