"""What a model makes of hidden numbers: scores, named slips, what would be usual, and densities for reports."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate.heads.mixture import from_signed_log, signed_log
from numerate.modeling.plausibility import UNIT, bits_of, reading_logs, slip_scores, tail_of
from numerate.modeling.slip_odds import slip_odds
from numerate.modeling.word_sizes import quantiles_with_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.number_calibration import NumberCalibration
    from numerate.modeling.plausibility import HiddenNumbers
    from numerate.modeling.word_sizes import WordSizes
    from numerate.modeling.written_forms import WrittenForms
    from numerate.numerals.slips import SlipReading

__all__ = ["gains_with_sizes", "named_slips", "scores_of", "shown_densities", "usual_values"]

_SENSIBLE, _SENSIBLE_BITS = 0.1, 4.0
"""A reading is named only if this share of right numbers is more surprising, or up to these bits if uncalibrated."""
_SAID = (0.5, 0.05, 0.95)
"""Quantiles that are told: median and 90 % interval."""
_SHOWN, _BINS = (0.005, 0.995), 32
"""Quantiles between which a density is drawn, and its bins."""


def scores_of(
    hidden: HiddenNumbers, forms: WrittenForms | None = None, *, sizes: WordSizes | None = None, counted: bool = False
) -> tuple[dict[str, np.ndarray], list[list[SlipReading]], list[np.ndarray]]:
    """Scores that grow with how odd a number is, and its readings with their gains.

    Args:
        hidden: Numbers and what the model expected in their places.
        forms: How right numbers are written, for the score `odds`, which is left out without it.
        sizes: How large right numbers are by their word, which is added to that score.
        counted: Whether `forms` and `sizes` counted these numbers themselves.
    """
    found = reading_logs(hidden)
    evidence, readings, gains = slip_scores(hidden, found)
    with np.errstate(divide="ignore"):
        tails = -np.log2(np.maximum(tail_of(hidden.numbers, hidden.targets), 1e-300))
    bits = np.clip(bits_of(hidden.numbers, hidden.targets), -1000.0, 1000.0)
    scores = {"tail": tails, "bits": bits, "slip": evidence}
    if forms is not None:
        scores["odds"] = slip_odds(hidden.numerals, readings, found[1], forms, counted=counted)
        if sizes is not None:
            written = np.array([numeral.written for numeral in hidden.numerals])
            scores["odds"] += sizes.bits(hidden.words, written, counted=counted)
    return scores, readings, gains


def named_slips(
    readings: Sequence[SlipReading], gains: np.ndarray, bits: float, least: float, kind: str,
    calibration: NumberCalibration | None,
) -> tuple[tuple[SlipReading, float], ...]:  # fmt: skip
    """The best readings that are much more probable than what stands there, and not surprising themselves."""
    better = [k for k, gain in enumerate(gains) if gain >= least]
    if not better:
        return ()
    own = bits - gains[better]
    if calibration is None:
        sensible = own <= _SENSIBLE_BITS
    else:
        sensible = calibration.p_values("bits", [kind] * len(better), own) >= _SENSIBLE
    kept = [k for k, is_sensible in zip(better, sensible, strict=True) if is_sensible]
    kept.sort(key=lambda k: gains[k] + math.log2(readings[k].share), reverse=True)
    return tuple((readings[k], float(2.0 ** min(gains[k], 60.0))) for k in kept[:3])


def usual_values(
    hidden: HiddenNumbers, kinds: Sequence[str], wanted: np.ndarray, calibration: NumberCalibration | None
) -> np.ndarray:
    """Median and calibrated 90 % interval (N, 3) of the `wanted` numbers, NaN for others: a search for each is slow."""
    found = np.full((len(hidden), 3), math.nan)
    rows: list[int] = np.flatnonzero(wanted).tolist()
    if rows:
        at = torch.tensor(rows, device=hidden.numbers.device)
        some = hidden.numbers[at]
        scales = _written_scales(hidden, rows)
        if calibration is not None and calibration.sizes is not None:
            words = [hidden.words[row] for row in rows]
            found[rows] = quantiles_with_sizes(some, calibration.sizes, words, scales, _SAID)
            return found
        logs = signed_log(some.quantile([list(_SAID)] * len(rows)), UNIT).cpu().numpy()
        if calibration is not None:
            names = [kinds[row] for row in rows]
            logs[:, 1:] = calibration.stretched(names, _SAID[1:], logs[:, 1:], logs[:, 0])
        found[rows] = from_signed_log(torch.from_numpy(logs), UNIT).numpy() * scales[:, None]
    return found


def gains_with_sizes(
    hidden: HiddenNumbers, readings: Sequence[Sequence[SlipReading]], gains: Sequence[np.ndarray], sizes: WordSizes
) -> list[np.ndarray]:
    """Gains of the readings, in bits, with what the sizes by word say of them and of what stands there."""
    found = []
    for numeral, word, each, gain in zip(hidden.numerals, hidden.words, readings, gains, strict=True):
        values = np.array([numeral.written, *(one.written for one in each)])
        bits = sizes.bits([word] * len(values), values)
        same = np.array([one.unit is None for one in each], dtype=bool)  # another unit has other sizes
        found.append(gain + np.where(same, bits[0] - bits[1:], 0.0))
    return found


def _written_scales(hidden: HiddenNumbers, rows: Sequence[int]) -> np.ndarray:
    """(N,) what turns a number that the model is asked for into one as it is written: 1e-6 for `10M`, else mostly 1.

    A percent sign or scale word that is one token with the digits, or stands behind a bracket, was hidden with them.
    """
    asked = hidden.targets.values().detach().double().cpu().numpy()[rows]
    written = np.array([hidden.numerals[row].written for row in rows])
    return np.divide(written, asked, out=np.ones(len(rows)), where=asked != 0)


def shown_densities(hidden: HiddenNumbers, rows: Sequence[int]) -> dict[int, dict[str, list[float]]]:
    """The middle 99 % of the distributions of some numbers, for reports, on the scales on which they are written."""
    from numerate.apps.number_gaps import densities

    if not rows:
        return {}
    some = hidden.numbers[torch.tensor(rows, device=hidden.numbers.device)]
    lows, highs = some.quantile([list(_SHOWN)] * len(rows)).T.tolist()  # one search for all is much faster
    found: dict[int, dict[str, list[float]]] = {}
    for row, scale, each in zip(
        rows, _written_scales(hidden, rows), densities(some, lows, highs, bins=_BINS), strict=True
    ):
        values = {"edges": np.array(each["edges"]) * scale, "shares": np.array(each["shares"])}
        found[row] = {name: [float(f"{value:.6g}") for value in column] for name, column in values.items()}
    return found
