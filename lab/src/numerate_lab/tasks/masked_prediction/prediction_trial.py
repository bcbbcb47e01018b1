"""One cell of a grid of encoders, seeds and learning rates: trained, measured, written down."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate_lab.tasks.masked_prediction import prediction_setup as literacy
from numerate_lab.tasks.masked_prediction.masked_number import MaskedNumber
from numerate_lab.tasks.masked_prediction.masked_word import MaskedWord
from numerate_lab.tasks.masked_prediction.number_guesses import NumberGuesses, baselines_and
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, LiteracyConfig
from numerate_lab.tasks.masked_prediction.spelled_number import SpelledNumber
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, compare, summaries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MOVES", "compare_cells", "figures_of", "run_cell"]

MOVES = 0.1
"""From this total variation on, a word's prediction moves with the number."""


def run_cell(config: LiteracyConfig) -> dict[str, Any]:
    """Trains one model and measures it; what a process pool over a grid calls.

    Args:
        config: The cell. With `output`, the predictions of each split are written there, from which every figure can be
            computed again.

    Returns:
        JSON types: `config`, `trained` and all `weights`, `steps`, `train_loss`, `seconds` for `train` and each
        split, `results` by split and group of words (or, for numbers, by system), and `predictions`, the files.
    """
    begin = time.perf_counter()
    words = config.predict == "words"
    measured = (*config.splits, *([PLAIN] if config.plain and words else []))
    for split in ("train", *measured):  # one that is not there or empty is told now, and not after hours of training
        literacy.load_split(config, split)
    task = {"words": MaskedWord, "numbers": MaskedNumber, "spelled": SpelledNumber}[config.predict](config)
    model = task.build()
    trained, weights = model.trainable_parameters()
    done = task.train(model)
    if config.save is not None:
        model.save_pretrained(config.save, backbone=True)
    seconds, results, files = {"train": time.perf_counter() - begin}, {}, {}
    told = dataclasses.replace(config, output=None, save=None)  # where things go makes no other cell of it
    name = hashlib.sha256(told.to_json().encode()).hexdigest()[:16]
    for split in measured:
        start = time.perf_counter()
        if isinstance(task, MaskedWord):
            scores = task.evaluate(model, split)
            # As precise as the file has them, so that its figures are these to the last digit.
            columns = {"nll": scores.nll.astype(np.float32), "meaning": scores.meaning.astype(np.float32)}
            columns |= {"better": scores.better.astype(np.int32), "equal": scores.equal.astype(np.int32)}
            if config.shift is not None and split != PLAIN:
                columns["shift"] = task.shift(model, split, config.shift).astype(np.float32)
        else:
            columns = task.guess(model, split).columns()
        results[split] = figures_of(config, split, columns)
        if config.output is not None:
            file = Path(config.output) / f"{name}-{split}.npz"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(file, **columns)  # type: ignore[arg-type]
            files[split] = str(file)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds[split] = time.perf_counter() - start
    counts = {"trained": trained, "weights": weights, "version": task.version}
    return {"config": config.to_dict(), **counts, **done, "seconds": seconds, "results": results, "predictions": files}


def figures_of(config: LiteracyConfig, split: str, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The figures of a split by group of words or by system, from what was predicted and nothing else.

    Args:
        config: The cell.
        split: Which.
        columns: As `run_cell` writes them.
    """
    if config.predict != "words":
        return baselines_and(NumberGuesses.of(columns), config, split)
    groups = literacy.load_split(config, split)[1].strata()
    if "shift" in columns:
        groups |= {"moves": columns["shift"] >= MOVES, "stays": columns["shift"] < MOVES}
    return summaries(WordScores.of(columns), groups)


def compare_cells(
    one: Sequence[dict[str, Any]],
    other: Sequence[dict[str, Any]],
    split: str = "test",
    groups: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, dict[str, Any]]:
    """Two encoders on every group of words, see `compare`; those that move with the number are by `other`'s seeds.

    Args:
        one: What `run_cell` gave for the seeds of one encoder, with predictions.
        other: The same for another on the same data, such as `default`.
        split: Which.
        groups: Which groups of words; all by default.
        **options: `level` and `resamples`.
    """
    positions = literacy.load_split(LiteracyConfig.from_dict(one[0]["config"]), split)[1]
    sides = [[WordScores.load(cell["predictions"][split]) for cell in cells] for cells in (one, other)]
    known, shifts = positions.strata(), []
    for cell in other:
        with np.load(cell["predictions"][split], allow_pickle=False) as file:
            shifts += [file["shift"]] if "shift" in file else []
    if shifts:
        shift = np.mean(shifts, axis=0)
        known |= {"moves": shift >= MOVES, "stays": shift < MOVES}
    wanted = known if groups is None else {name: known[name] for name in groups if name in known}
    return {name: compare(sides[0], sides[1], positions, chosen, **options) for name, chosen in wanted.items()}
