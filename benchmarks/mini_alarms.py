"""False alarms of `numerate-mini`: the share of right numbers that are reported, over all numbers of held-out texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from slips import CORPORA, RATES, held_out

from numerate.apps.calibrating import calibrate
from numerate.apps.plausible import scores_of
from numerate.errors import BadInput
from numerate.modeling.number_calibration import alarm_measure, group_of
from numerate.modeling.plausibility import hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate.modeling.plausibility import HiddenNumbers


def false_alarms(model: Any, data: Path, most: int) -> dict[str, Any]:
    """By corpus and rate: as the model is calibrated, and calibrated to dev texts of the corpus; `numbers` counts them.

    Each corpus gives at most `most` texts of a split, so that those of different sizes weigh alike. Passages of wiki
    are drawn from the whole split: the first ones are of few subjects, and their rates differ from those of others.
    """
    shipped, found = model.calibration, {}
    for name in CORPORA:
        dev, test = (
            [each for each in held_out(data, name, split, most, drawn=True) if _fits(each)][:most] for split in _SPLITS
        )
        hidden = list(hidden_numbers(model, [text for text, _ in test]))
        figures: dict[str, Any] = {"numbers": sum(map(len, hidden))}
        figures["as shipped"] = _shares(shipped, test, hidden)
        sentences, rows = ([text for text, is_row in dev if is_row is wanted] for wanted in (False, True))
        try:
            figures["after --calibrate"] = _shares(calibrate(model, sentences, rows=rows), test, hidden)
            figures["calibrated on"] = len(dev)
        except BadInput:  # too few numbers, in a trial
            figures["after --calibrate"] = None
        found[name] = figures
        model.calibration = shipped
    return found


_SPLITS = ("dev", "test")


def _fits(each: tuple[str, bool]) -> bool:
    return len(each[0]) <= 500 and any(char.isdigit() for char in each[0])


def _shares(calibration: Any, texts: Sequence[tuple[str, bool]], found: Sequence[HiddenNumbers]) -> dict[str, float]:
    """The share of numbers that are reported at each rate."""
    measure, p = alarm_measure(calibration), []
    for hidden in found:
        kinds = [group_of(each, cell=texts[row][1]) for row, each in zip(hidden.rows, hidden.numerals, strict=True)]
        p.append(calibration.p_values(measure, kinds, scores_of(hidden, calibration.forms)[0][measure]))
    return {f"{rate:g}": float((np.concatenate(p) <= rate).mean()) for rate in RATES}
