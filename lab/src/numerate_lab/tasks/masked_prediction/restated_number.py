"""Numbers that a sentence repeats in another unit, such as `28 km (17 mi)`, and their conversion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from numerate.reading import find_batch
from numerate_lab.tasks.masked_prediction.word_positions import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["restated_numbers"]

LEAST = 20
"""Minimum number of training sentences with the same two units."""
SPREAD = 0.03
"""Maximum median deviation of their log10 ratios: 7 %, which covers rounding."""


def restated_numbers(train: Sequence[NumberSentence], test: Sequence[NumberSentence]) -> np.ndarray:
    """Converts other numbers of each sentence to the annotated one, by ratios of units learned in training.

    Args:
        train: Sentences from which ratios are estimated, such as 1.61 between `km` and `mi`.
        test: Sentences whose numbers are predicted.

    Returns:
        (N,) float64, NaN if no other number has a unit with a known ratio.

    Example:
        >>> from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
        >>> def made(km):
        ...     text = f"{km} km ({km / 1.6:g} mi) away"
        ...     row = {"text": text, "offset": 0, "length": len(str(km)), "number": km, "unit": "km"}
        ...     return sentence_of_row(row)
        >>> restated_numbers([made(km) for km in range(16, 48)], [made(8)]).round(3).tolist()
        [8.0]
    """
    ratios: dict[tuple[str | None, str | None], list[float]] = {}
    for _, units, own, other in _pairs(train):
        ratios.setdefault(units, []).append(math.log10(own / other))
    known: dict[tuple[str | None, str | None], tuple[float, float]] = {}
    for units, some in ratios.items():
        middle = float(np.median(some))
        spread = float(np.median(np.abs(np.array(some) - middle)))
        if len(some) >= LEAST and spread <= SPREAD:
            known[units] = (spread, middle)
    found, sure = np.full(len(test), np.nan), np.full(len(test), np.inf)
    for index, units, _, other in _pairs(test):
        if units in known and known[units][0] < sure[index]:
            sure[index], middle = known[units]
            found[index] = other * 10.0**middle
    return found


def _pairs(
    sentences: Sequence[NumberSentence],
) -> Iterator[tuple[int, tuple[str | None, str | None], float, float]]:
    """Yields sentence index, both units and both values for each pair of positive numbers."""
    for index, (sentence, row) in enumerate(zip(sentences, find_batch([one.text for one in sentences]), strict=True)):
        own = sentence.numeral
        if own is None or not own.value > 0:
            continue
        unit = unit_of(sentence)
        for numeral in row:
            if numeral.value > 0 and (numeral.end <= own.start or numeral.start >= own.end):
                yield index, (unit, unit_of(replace(sentence, numeral=numeral, unit=None))), own.value, numeral.value
