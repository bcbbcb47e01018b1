"""Answers of the folds of an interrupted cross-validation: what is trained is not trained again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.files import json_hash
from numerate_lab.engine.trial import write_columns

if TYPE_CHECKING:
    from pathlib import Path

    from numerate_lab.engine.task import TrialConfig

__all__ = ["Answer", "fold_answers", "keep_fold"]

Answer = tuple[str, int, int]
"""Items as JSON, scale and operator."""


def keep_fold(file: Path, config: TrialConfig, answers: dict[str, list[Answer]], trained: dict[str, Any]) -> None:
    """Writes the answers of one fold by split, and what its training gave."""
    file.parent.mkdir(parents=True, exist_ok=True)
    columns: dict[str, np.ndarray] = {"settings": np.array(_settings(config)), "trained": np.array(json.dumps(trained))}
    for split, rows in answers.items():
        columns[f"{split}_answer"] = np.array([row[0] for row in rows], dtype=np.str_)
        columns[f"{split}_codes"] = np.array([row[1:] for row in rows], dtype=np.int8).reshape(len(rows), 2)
    write_columns(file, columns)


def fold_answers(file: Path | None, config: TrialConfig) -> tuple[dict[str, list[Answer]], dict[str, Any]] | None:
    """What `keep_fold` wrote for a trial of the same settings; None if there is nothing."""
    if file is None or not file.is_file():
        return None
    with np.load(file, allow_pickle=False) as arrays:
        if str(arrays["settings"]) != _settings(config):
            return None
        splits = [name.removesuffix("_answer") for name in arrays.files if name.endswith("_answer")]
        found = {
            split: [
                (text, int(scale), int(operator))
                for text, (scale, operator) in zip(
                    arrays[f"{split}_answer"].tolist(), arrays[f"{split}_codes"].tolist(), strict=True
                )
            ]
            for split in splits
        }
        return found, json.loads(str(arrays["trained"]))


def _settings(config: TrialConfig) -> str:
    return json_hash(config.settings())
