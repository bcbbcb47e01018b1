"""Where the answers of a comparison are wrong: by the size of the right answer, and digit by digit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate.metrics import right_digit_shares
from numerate.metrics.point_errors import order_of_magnitude
from numerate.report.tables import Table, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.task import Answers

    Given = Mapping[str, Sequence[Answers]]

__all__ = ["magnitude_table", "place_table", "right_places"]

_EXACT = 1e15
"""Whole numbers below it, and their neighbours, have all their digits in a float64."""


def magnitude_table(answers: Given) -> Table | None:
    """log-sMAPE of test answers by the power of ten of their first digit; None if there are not two powers.

    The answers of all encodings and seeds must be to the same examples.
    """
    if not answers:
        return None
    gold = torch.as_tensor(next(iter(answers.values()))[0].gold, dtype=torch.float64)
    powers = order_of_magnitude(gold)
    rows_of = {power: (powers == power) & (gold != 0) for power in sorted(set(powers[gold != 0].int().tolist()))}
    if len(rows_of) < 2:
        return None
    rows: dict[str, dict[str, float | None]] = {}
    for name, seeds in answers.items():
        shares = torch.stack([right_digit_shares(torch.from_numpy(one.predicted), gold) for one in seeds]).mean(0)
        means = {power: float(shares[chosen].nanmean()) for power, chosen in rows_of.items()}
        rows[name] = {f"1e{power}": None if mean != mean else 100 * mean for power, mean in means.items()}
    note = "Answers: " + ", ".join(f"{int(chosen.sum()):,} of 1e{power}" for power, chosen in rows_of.items()) + "."
    formats = {f"1e{power}": ".1f" for power in rows_of}
    title = "log-sMAPE % by magnitude of the answer"
    return table(rows, formats, best="max", corner="encoding", title=title, notes=[note])


def place_table(answers: Given) -> Table | None:
    """Which digits of test answers are right, the last one first; None if unknown, or if there is only one digit."""
    rows: dict[str, dict[str, float]] = {}
    for name, seeds in answers.items():
        shares = [right_places(one.predicted, one.gold, one.precision) for one in seeds if one.precision is not None]
        rows[name] = {str(place + 1): 100 * float(value) for place, value in enumerate(np.mean(shares or [[]], axis=0))}
    places = max(map(len, rows.values()), default=0)
    if places < 2:
        return None
    formats = {str(place + 1): ".1f" for place in range(places)}
    note = "From the last digit (1) to the first, of answers that have one there; signs do not count."
    return table(rows, formats, best="max", corner="encoding", title="right digits, %", notes=[note])


def right_places(predicted: np.ndarray, gold: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """How often each digit is right, the last written one first: (P,), of the answers that have a digit there.

    Answers of more than 15 digits are left out. A prediction that is no number is wrong. `precision` (N,) int64 is the
    power of ten of an answer's last digit.

    Example:
        >>> right_places(np.array([130.0, 7.0]), np.array([120.0, 7.0]), np.array([0, 0])).tolist()
        [1.0, 0.0, 1.0]
    """
    unit = 10.0 ** precision.astype(np.float64)
    with np.errstate(over="ignore"):  # a prediction too large for a float64 is wrong
        true, guess = (np.abs(np.rint(values / unit)) for values in (gold, predicted))
    kept = true < _EXACT
    true, guess = true[kept].astype(np.int64), guess[kept]
    sure = np.isfinite(guess) & (guess < 2 * _EXACT)
    guess = np.where(sure, guess, 0).astype(np.int64)
    found = []
    for place in range(16):
        has = true >= 10**place if place else np.ones(len(true), dtype=bool)
        if not has.any():
            break
        same = true // 10**place % 10 == guess // 10**place % 10
        found.append(float((same & sure)[has].mean()))
    return np.array(found)
