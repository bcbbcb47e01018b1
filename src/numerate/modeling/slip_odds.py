"""Odds of a slip: how much more probable what stands there is as somebody's slip than as the right number.

A written number s is right with the probability P(s) of its rounding cell under the model's density, times that of its
last digit (`WrittenForms`). It is a slip with the sum of P(a) over all numbers a that were perhaps meant, times the
chance that a slip makes s of a. The odds are the ratio of the two, and a part of the plain surprise, which is more
robust where the density is wrong about sizes. In sentences, so is a part of how unusual size and last digit are for
numbers of their kind at large, which holds in texts that the model does not know.

Of a table's cell, the other cells of its column say more than the model can know from the row: both densities are then
multiplied, each raised to a power below 1, because they do not know of each other.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numerate.modeling.written_forms import FORM_GROUPS, form_group, last_places
from numerate.numerals.slips import slip_chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.column_mates import ColumnMates
    from numerate.modeling.written_forms import WrittenForms
    from numerate.numerals.numeral import Numeral
    from numerate.numerals.slips import SlipReading

__all__ = [
    "CELL_SURPRISE",
    "PLACE_SHARE",
    "SIZE_SHARES",
    "SLIP_WEIGHTS",
    "SURPRISE",
    "column_logs",
    "log_probabilities",
    "slip_odds",
    "with_columns",
]

SLIP_WEIGHTS = {
    "factor": 200.0, "separator": 33.0, "percent": 150.0, "exchanged": 400.0, "dropped": 120.0, "doubled": 240.0,
    "digit": 0.17, "sign": 0.3, "unit": 200.0,
}  # fmt: skip
"""Weight of each slip against that of any other number of the same form, which has weight 1 for each e-fold of sizes.
Fitted to slips that were planted in development texts (wiki, units, tatqa, market); they are no shares."""
SURPRISE, CELL_SURPRISE = 0.7, 1.0
"""How much of the surprise is added, in sentences and in cells of tables."""
SIZE_SHARES = {"other": 0.2, "unit": 0.4, "money": 0.4, "percent": 1.4, "ordinal": 0.2}
PLACE_SHARE = 0.4
"""How much is added in sentences of the surprise of the size, by kind, and of the last digit, by what is known of the
kind alone. Percentages are of one size everywhere; other kinds differ from subject to subject."""
MODEL_SHARE, COLUMN_SHARE = 0.5, 0.75
"""Powers of the model's density and of the column's, for a cell whose column is known. Chosen on development tables
(Wikipedia, annual reports)."""
_MOST_BITS, _LEAST_LOG = 100.0, -1000.0


def slip_odds(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], logs: np.ndarray, forms: WrittenForms, *,
    counted: bool = False, mates: Sequence[ColumnMates | None] = (), cells: bool | Sequence[bool] = False,
) -> np.ndarray:  # fmt: skip
    """Evidence for a slip in bits (N,): binary logarithms of the odds, and a part of the surprise.

    Args:
        numerals: N numbers as they are written.
        readings: What each may have been.
        logs: (N, 1 + W) log-densities of the signed logarithm, of the numbers and of their readings.
        forms: How numbers are written.
        counted: Whether `forms` counted these numbers themselves; each is then left out of the counts.
        mates: The other numbers of each one's column, None where there is none; by default there are no columns.
        cells: Whether the numbers stand in rows of tables, for all or for each.
    """
    if logs.shape[1] == 1:  # a head without densities, or numbers without readings
        readings = [()] * len(numerals)
    logs = np.maximum(logs, _LEAST_LOG)
    sizes, written = log_probabilities(numerals, readings, logs, forms, counted=counted)
    columns, known = column_logs(numerals, readings, logs.shape[1], mates), _known(numerals, mates)
    sizes = with_columns(sizes, columns, known)
    chances = np.zeros(logs.shape)
    for row, (numeral, each) in enumerate(zip(numerals, readings, strict=True)):
        if each:
            digits = len(str(int(min(abs(numeral.written), 1e15)))) + numeral.decimals
            chances[row, 1 : 1 + len(each)] = [SLIP_WEIGHTS[one.slip] * slip_chance(one, digits) for one in each]
    with np.errstate(divide="ignore"):
        meant = np.where(chances > 0, np.log(chances) + sizes + written, -np.inf)
    meant[:, 0] = written[:, 0]  # any other number that is written like this one
    odds = np.logaddexp.reduce(meant, axis=1) - sizes[:, 0] - written[:, 0]
    surprise = np.minimum(np.where(known, -sizes[:, 0], -logs[:, 0]), _MOST_BITS * math.log(2))
    at_large = _surprise_at_large(numerals, forms, counted)
    is_cell = np.broadcast_to(np.asarray(cells, dtype=bool), len(numerals)) | known
    return (odds + np.where(is_cell, CELL_SURPRISE * surprise, SURPRISE * surprise + at_large)) / math.log(2)


def _surprise_at_large(numerals: Sequence[Numeral], forms: WrittenForms, counted: bool) -> np.ndarray:
    """How unusual size and last digit are for numbers of the kind, weighed by the shares of each, in nats: (N,)."""
    names = [form_group(each) for each in numerals]
    groups = np.array([FORM_GROUPS.index(name) for name in names], dtype=int)
    values = np.array([each.written or 1.0 for each in numerals], dtype=np.float64)
    places = last_places(values, np.array([each.decimals for each in numerals], dtype=int))
    shares = np.array([SIZE_SHARES[name] for name in names], dtype=np.float64)
    sizes = forms.log_sizes(groups, values, float(counted))
    return -shares * sizes - PLACE_SHARE * forms.log_places(groups, values, places, float(counted))


def column_logs(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], width: int,
    mates: Sequence[ColumnMates | None],
) -> np.ndarray:  # fmt: skip
    """(N, width) log-densities of the numbers and of their readings in their columns; 0 without a column."""
    found = np.zeros((len(numerals), width))
    if any(each is not None for each in mates):
        values, decimals = _written(numerals, readings, width)
        for row, each in enumerate(mates):
            if each is not None:
                found[row] = each.log_density(values[row], decimals[row])
    return found


def with_columns(logs: np.ndarray, columns: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(N, W) log-densities of a model, with those of the columns where these are `known` (N,)."""
    return np.where(known[:, None], MODEL_SHARE * logs + COLUMN_SHARE * columns, logs)


def _known(numerals: Sequence[Numeral], mates: Sequence[ColumnMates | None]) -> np.ndarray:
    return np.array([each is not None for each in mates] if mates else [False] * len(numerals), dtype=bool)


def log_probabilities(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], logs: np.ndarray, forms: WrittenForms, *,
    counted: bool = False,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Logarithms of the two factors of P(s), for N numbers and their readings; the arguments are those of `slip_odds`.

    Returns:
        (N, 1 + W) log-densities of the signed logarithm, with the background of `forms`; and (N, 1 + W) logarithms of
        the probability of the last place times the width of the rounding cell.
    """
    groups = np.array([FORM_GROUPS.index(form_group(each)) for each in numerals], dtype=int)
    values, decimals = _written(numerals, readings, logs.shape[1])
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


def _written(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], width: int
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and their readings as they are written, and their decimals: (N, width) each."""
    shape = (len(numerals), width)
    values, decimals, powers = np.ones(shape), np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
    for row, (numeral, each) in enumerate(zip(numerals, readings, strict=True)):
        values[row], decimals[row] = numeral.written or 1.0, numeral.decimals
        # Another unit leaves the digits as they are.
        values[row, 1 : 1 + len(each)] = [numeral.written if one.unit is not None else one.written for one in each]
        powers[row, 1 : 1 + len(each)] = [one.power for one in each]
    own = last_places(values[:, :1], decimals[:, :1])
    return values, np.where(powers != 0, np.maximum(powers - own, 0), decimals)
