"""Odds of a slip: how much more probable what stands there is as somebody's slip than as the right number.

A written number s is right with the probability P(s) of its rounding cell under the model's density, times that of its
last digit (`WrittenForms`). It is a slip with the sum of P(a) over all numbers a that were perhaps meant, times the
chance that a slip makes s of a. The odds are the ratio of the two, and a part of the plain surprise, which is more
robust where the density is wrong about sizes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numerate.modeling.written_forms import FORM_GROUPS, form_group, last_places
from numerate.numerals.slips import slip_chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.written_forms import WrittenForms
    from numerate.numerals.numeral import Numeral
    from numerate.numerals.slips import SlipReading

__all__ = ["SLIP_WEIGHTS", "SURPRISE", "log_probabilities", "slip_odds"]

SLIP_WEIGHTS = {
    "factor": 150.0, "separator": 33.0, "percent": 150.0, "exchanged": 150.0, "dropped": 80.0, "doubled": 240.0,
    "digit": 0.17, "sign": 0.3, "unit": 90.0,
}  # fmt: skip
"""Weight of each slip against that of any other number of the same form, which has weight 1 for each e-fold of sizes.
Fitted to slips that were planted in development texts (wiki, units, tatqa, market); they are no shares."""
SURPRISE = 1.0
"""How much of the surprise is added."""
_MOST_BITS, _LEAST_LOG = 100.0, -1000.0


def slip_odds(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], logs: np.ndarray, forms: WrittenForms, *,
    counted: bool = False,
) -> np.ndarray:  # fmt: skip
    """Evidence for a slip in bits (N,): binary logarithms of the odds, and a part of the surprise.

    Args:
        numerals: N numbers as they are written.
        readings: What each may have been.
        logs: (N, 1 + W) log-densities of the signed logarithm, of the numbers and of their readings.
        forms: How numbers are written.
        counted: Whether `forms` counted these numbers themselves; each is then left out of the counts.
    """
    if logs.shape[1] == 1:  # a head without densities, or numbers without readings
        readings = [()] * len(numerals)
    logs = np.maximum(logs, _LEAST_LOG)
    sizes, written = log_probabilities(numerals, readings, logs, forms, counted=counted)
    chances = np.zeros(logs.shape)
    for row, (numeral, each) in enumerate(zip(numerals, readings, strict=True)):
        if each:
            digits = len(str(int(min(abs(numeral.written), 1e15)))) + numeral.decimals
            chances[row, 1 : 1 + len(each)] = [SLIP_WEIGHTS[one.slip] * slip_chance(one, digits) for one in each]
    with np.errstate(divide="ignore"):
        meant = np.where(chances > 0, np.log(chances) + sizes + written, -np.inf)
    meant[:, 0] = written[:, 0]  # any other number that is written like this one
    odds = np.logaddexp.reduce(meant, axis=1) - sizes[:, 0] - written[:, 0]
    return odds / math.log(2) + SURPRISE * np.minimum(-logs[:, 0] / math.log(2), _MOST_BITS)


def log_probabilities(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], logs: np.ndarray, forms: WrittenForms, *,
    counted: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Logarithms of the two factors of P(s), for N numbers and their readings; the arguments are those of `slip_odds`.

    Returns:
        (N, 1 + W) log-densities of the signed logarithm, with the background of `forms`; and (N, 1 + W) logarithms of
        the probability of the last place times the width of the rounding cell.
    """
    values, decimals = np.ones(logs.shape), np.zeros(logs.shape, dtype=int)
    groups = np.array([FORM_GROUPS.index(form_group(each)) for each in numerals], dtype=int)
    powers = np.zeros(logs.shape, dtype=int)
    for row, (numeral, each) in enumerate(zip(numerals, readings, strict=True)):
        values[row], decimals[row] = numeral.written or 1.0, numeral.decimals
        # Another unit leaves the digits as they are.
        values[row, 1 : 1 + len(each)] = [numeral.written if one.unit is not None else one.written for one in each]
        powers[row, 1 : 1 + len(each)] = [one.power for one in each]
    own = last_places(values[:, :1], decimals[:, :1])
    decimals = np.where(powers != 0, np.maximum(powers - own, 0), decimals)
    places, group = last_places(values, decimals), np.broadcast_to(groups[:, None], logs.shape)
    left_out = np.zeros(logs.shape)
    left_out[:, 0] = float(counted)
    sizes = forms.log_sizes(group, values, left_out)
    share = forms.background
    if share > 0:
        sizes = np.logaddexp(math.log1p(-share) + logs, math.log(share) + sizes)
    else:
        sizes = logs
    cells = places * math.log(10) - np.log(np.maximum(np.abs(values), 1e-9))
    return sizes, forms.log_places(group, values, places, left_out) + cells
