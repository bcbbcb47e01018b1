"""Numbers that a sentence tells again in another unit: `28 km (17 mi)`. Who reads the other one needs no words."""

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
"""So many training sentences have to tell the same two units."""
SPREAD = 0.03
"""How far, in orders of magnitude, half of their ratios may lie from the median one: 7 %, as rounding makes them."""


def restated_numbers(train: Sequence[NumberSentence], test: Sequence[NumberSentence]) -> np.ndarray:
    """What the other numbers of each sentence say of the annotated one, by the ratios of two units in training.

    Args:
        train: Sentences with numbers, from which ratios are taken: 1.61 between `km` and `mi`.
        test: Sentences whose numbers are asked for.

    Returns:
        (N,) float64, NaN where no other number has a unit that goes with this one.

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
    """For each other number that is positive, as the annotated one: which sentence, both units, both values."""
    for index, (sentence, row) in enumerate(zip(sentences, find_batch([one.text for one in sentences]), strict=True)):
        own = sentence.numeral
        if own is None or not own.value > 0:
            continue
        unit = unit_of(sentence)
        for numeral in row:
            if numeral.value > 0 and (numeral.end <= own.start or numeral.start >= own.end):
                yield index, (unit, unit_of(replace(sentence, numeral=numeral, unit=None))), own.value, numeral.value
