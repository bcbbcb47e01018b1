"""How far a model's doubts hold for a document: where most of its numbers look odd, the model does not know such texts.

A calibration holds for texts like those that it was fitted to. In a text of another kind, all p-values are too small:
reports of a stock market have 11 % of right numbers below 0.05. The other numbers of the document tell how far, and no
labels are needed, as few of them are wrong.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.plausible import Judgement

__all__ = ["as_familiar", "familiarity", "largest_before"]

_OTHERS = 20.0
"""Numbers of familiar texts that the numbers of a document are weighed against."""
_MOST_EVIDENCE = 3.0
"""The most that one number counts, as -ln p: a slip does not excuse the numbers beside it."""
_MOST = 1.5
"""How much better than usual a model may be said to know a document."""


def familiarity(p: np.ndarray) -> np.ndarray:
    """Exponents (N,) for the p-values (N,) of a document's numbers; each is told by the other numbers.

    p-values of right numbers are spread evenly if the calibration holds, so that -ln p is 1 on average. Where it is
    larger, p ** exponent is spread evenly again (the exponent of a Beta distribution whose prior is 1).

    Example:
        >>> familiarity(np.array([0.01, 0.5])).round(2).tolist()  # two numbers tell next to nothing
        [1.01, 0.91]
        >>> familiarity(np.full(60, 0.1)).round(2).tolist()[0]
        0.48
    """
    evidence = np.minimum(-np.log(np.maximum(p, 1e-300)), _MOST_EVIDENCE) / -np.expm1(-_MOST_EVIDENCE)
    others = evidence.sum() - evidence
    return np.minimum((_OTHERS + len(p) - 1) / (_OTHERS + others), _MOST)


def as_familiar(judged: Sequence[Judgement]) -> list[Judgement]:
    """The judgements of a document's numbers, with p-values and ratios as far as the model knows such documents."""
    exponents = familiarity(np.array([each.p for each in judged])).tolist()
    return [
        dataclasses.replace(
            each, p=each.p**exponent, slips=tuple((reading, ratio**exponent) for reading, ratio in each.slips)
        )
        for each, exponent in zip(judged, exponents, strict=True)
    ]


def largest_before(p: float) -> float:
    """The largest p-value that a familiarity may make as small as `p`.

    Example:
        >>> largest_before(0.05).__round__(2)
        0.14
    """
    return float(p ** (1 / _MOST))
