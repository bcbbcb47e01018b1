"""False alarms of `numerate-mini`: the share of right numbers that are reported, over all numbers of held-out texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from slips import CORPORA, RATES, held_out

from numerate.apps.calibrating import calibrate
from numerate.apps.plausible import scores_of
from numerate.errors import BadInput
from numerate.modeling.number_calibration import group_of
from numerate.modeling.plausibility import hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MEASURE = "bits"


def false_alarms(model: Any, data: Path, most: int) -> dict[str, Any]:
    """By corpus and rate: as the model is calibrated, and calibrated to dev texts of the corpus; `numbers` counts them.

    Each corpus gives at most `most` texts of a split, so that those of different sizes weigh alike.
    """
    shipped, found = model.calibration, {}
    for name in CORPORA:
        dev, test = ([each for each in held_out(data, name, split, most) if _fits(each)][:most] for split in _SPLITS)
        kinds, scores = _scores(model, test)
        figures: dict[str, Any] = {"numbers": len(kinds)}
        figures["as shipped"] = _shares(shipped, kinds, scores)
        sentences, rows = ([text for text, is_row in dev if is_row is wanted] for wanted in (False, True))
        try:
            figures["after --calibrate"] = _shares(calibrate(model, sentences, rows=rows), kinds, scores)
            figures["calibrated on"] = len(dev)
        except BadInput:  # too few numbers, in a trial
            figures["after --calibrate"] = None
        found[name] = figures
        model.calibration = shipped
    return found


_SPLITS = ("dev", "test")


def _fits(each: tuple[str, bool]) -> bool:
    return len(each[0]) <= 500 and any(char.isdigit() for char in each[0])


def _scores(model: Any, texts: Sequence[tuple[str, bool]]) -> tuple[list[str], np.ndarray]:
    kinds: list[str] = []
    scores: list[np.ndarray] = []
    for hidden in hidden_numbers(model, [text for text, _ in texts]):
        kinds += [group_of(each, cell=texts[row][1]) for row, each in zip(hidden.rows, hidden.numerals, strict=True)]
        scores.append(scores_of(hidden)[0][MEASURE])
    return kinds, np.concatenate(scores)


def _shares(calibration: Any, kinds: list[str], scores: np.ndarray) -> dict[str, float]:
    p = calibration.p_values(MEASURE, kinds, scores)
    return {f"{rate:g}": float((p <= rate).mean()) for rate in RATES}
