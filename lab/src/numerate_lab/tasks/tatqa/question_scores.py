"""Scores of predicted answers question by question, and the answers that the derived labels give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate_lab.engine.trial import columns_of_split
from numerate_lab.tasks.tatqa.official_scores import exact_match_and_f1
from numerate_lab.tasks.tatqa.operators import decoded
from numerate_lab.tasks.tatqa.report_file import SCALES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.engine.task import Columns
    from numerate_lab.tasks.tatqa.question_rows import Example

__all__ = ["MEASURES", "gold_answer", "mean_scores", "question_scores", "share_of"]

MEASURES = ("em", "f1")


def question_scores(examples: Sequence[Example], columns: Columns) -> dict[str, np.ndarray] | None:
    """`em`, `f1`, `scale` (whether it is right) and `answered` (whether at all) of each question; None without gold."""
    if any(one.question.answers is None for one in examples):
        return None
    found: dict[str, list[float]] = {"em": [], "f1": [], "scale": [], "answered": []}
    for one, text, code in zip(examples, columns["answer"].tolist(), columns["scale"].tolist(), strict=True):
        question, items, scale = one.question, json.loads(text), SCALES[code]
        exact, f1 = exact_match_and_f1(items, scale, question.answers or (), question.scale, question.answer_type)
        for name, value in (("em", exact), ("f1", f1), ("scale", scale == question.scale), ("answered", bool(items))):
            found[name].append(float(value))
    return {name: np.array(values) for name, values in found.items()}


def gold_answer(example: Example) -> list[str]:
    """What the decoder makes of the derived labels: the upper bound of the method; nothing without labels."""
    if example.labels is None:
        return []
    scores = [0.0] * len(example.units)
    for index in example.tagged:
        scores[index] = 1.0
    numeric = [index for index in example.tagged if example.units[index].number is not None]
    labels, question = example.labels, example.question
    return decoded(
        labels.operator, example.segments, example.units, scores, numeric[:2], example.turned, question.scale
    )


def mean_scores(examples: Sequence[Example], runs: Sequence[Columns]) -> dict[str, np.ndarray]:
    """Scores of each question, means over seeds."""
    each = [question_scores(examples, columns_of_split(columns, "test")) for columns in runs]
    return {key: np.mean([one[key] for one in each if one is not None], axis=0) for key in MEASURES}


def share_of(values: np.ndarray) -> dict[str, Any]:
    """The mean of scores and their number, as figures."""
    return {"value": float(values.mean()) if len(values) else None, "count": len(values)}
