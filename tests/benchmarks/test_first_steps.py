"""The README's path on real data: attach, a short training on a CPU, and plausible answers to everyday questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

NEEDED = ("models/minilm-mlm", "data/units/train.jsonl.gz", "data/wiki/passages.jsonl.gz")


@pytest.mark.slow
@pytest.mark.shared(*NEEDED)
def test_answers_are_plausible_after_a_short_training(shared: Path, tmp_path: Path) -> None:
    import json

    import first_steps

    first_steps.main([f"--model={shared / NEEDED[0]}", f"--json={tmp_path / 'answers.json'}"])
    found = json.loads((tmp_path / "answers.json").read_text("utf-8"))["figures"]["answers"]
    answers = {row["question"]: row["median"] for row in found}
    assert answers.keys() == first_steps.QUESTIONS.keys()
    for question in first_steps.QUESTIONS.keys() - first_steps.UNANSWERED:
        least, most = first_steps.QUESTIONS[question]
        assert least <= answers[question] <= most, (question, answers[question])
    assert all(row["low"] < row["median"] < row["high"] for row in found)
