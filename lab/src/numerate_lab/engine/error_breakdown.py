"""Where the answers of a comparison go wrong: by how large the right one is, and digit by digit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate.metrics import right_digit_shares
from numerate.metrics.errors import order_of_magnitude
from numerate.report.tables import Table, table

if TYPE_CHECKING:
    from numerate_lab.engine.paired import Said
    from numerate_lab.tasks.asked_number.asked_number import Truth

__all__ = ["magnitude_table", "place_table", "right_places"]

_EXACT = 1e15
"""Whole numbers below it have all their digits in a float64, and so have their neighbours."""


def magnitude_table(truth: Truth, said: Said) -> Table | None:
    """log-sMAPE of test answers by the power of ten that they begin at; None if there are not two of them.

    Args:
        truth: The right answers,
        said: and what each encoding says: see `said_by_encoding`.
    """
    gold = torch.as_tensor(truth.values, dtype=torch.float64)
    powers = order_of_magnitude(gold)
    known = sorted({int(power) for power in powers[gold != 0].tolist()})
    if len(known) < 2 or not said:
        return None
    rows: dict[str, dict[str, float | None]] = {}
    for name, runs in said.items():
        shares = torch.stack([right_digit_shares(one, gold) for one in runs]).mean(0)
        rows[name] = {}
        for power in known:
            chosen = shares[(powers == power) & (gold != 0)]
            value = float(chosen.nanmean())
            rows[name][f"1e{power}"] = None if value != value else 100 * value
    counts = [int(((powers == power) & (gold != 0)).sum()) for power in known]
    note = "Answers: " + ", ".join(f"{count:,} of 1e{power}" for power, count in zip(known, counts, strict=True)) + "."
    formats = {f"1e{power}": ".1f" for power in known}
    return table(
        rows, formats, best="max", corner="encoding", title="log-sMAPE % by magnitude of the answer", notes=[note]
    )


def place_table(truth: Truth, said: Said) -> Table | None:
    """Which digits of test answers are right, from the last one on; None if none can be told, or there is only one."""
    rows: dict[str, dict[str, float]] = {}
    for name, runs in said.items():
        shares = [right_places(one.numpy(), truth.values, truth.precision) for one in runs]
        rows[name] = {str(place + 1): 100 * float(value) for place, value in enumerate(np.mean(shares, axis=0))}
    places = max(map(len, rows.values()), default=0)
    if places < 2:
        return None
    formats = {str(place + 1): ".1f" for place in range(places)}
    note = "From the last digit (1) to the first, of answers that have one there; signs aside."
    return table(rows, formats, best="max", corner="encoding", title="right digits, %", notes=[note])


def right_places(predicted: np.ndarray, gold: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """How often each digit is right, from the last written one on: (P,), of the answers that have a digit there.

    Answers of more than 15 digits are left out. What is no number is wrong.

    Args:
        predicted: (N,) float64.
        gold: (N,) float64.
        precision: (N,) int64, the power of ten of an answer's last digit.

    Example:
        >>> right_places(np.array([130.0, 7.0]), np.array([120.0, 7.0]), np.array([0, 0])).tolist()
        [1.0, 0.0, 1.0]
    """
    unit = 10.0 ** precision.astype(np.float64)
    with np.errstate(over="ignore"):  # what is too large for a float64 is wrong
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
