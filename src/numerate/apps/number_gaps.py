"""Numbers for the gaps `[NUM]` of texts: best numerals, median, calibrated intervals, and a small density."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.apps.calibrating import kind_at
from numerate.apps.gap_passages import passages_of
from numerate.apps.gap_places import places_of, spelled_out
from numerate.errors import BadInput
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.modeling.asking import in_turn
from numerate.modeling.plausibility import UNIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.gap_places import Place
    from numerate.heads.arguments import NumberContext
    from numerate.heads.base import NumberDistribution

__all__ = ["NUM", "number_gaps", "number_gaps_of_texts", "spark_line"]

NUM = "[NUM]"
BINS = 48
_BARS = " ▁▂▃▄▅▆▇█"
_INTERVALS = {"interval_50": (0.25, 0.75), "interval_90": (0.05, 0.95)}
_SHOWN = (0.005, 0.995)
"""Quantiles between which a density is drawn."""
_WHOLE = frozenset(("year", "date", "time", "ordinal", "version", "identifier"))
"""Kinds of numeral without decimals."""
TRIED = 8
"""Times as many numerals are looked at where a gap does not take all of them."""
_SCORES = frozenset(("ratio", "range"))
"""Kinds whose numbers are alike: whole unless another one has decimals."""


def number_gaps(model: Any, name: str, text: str, top: int = 5) -> list[dict[str, Any]]:
    """What belongs into each `[NUM]` of a text; see `numerate.apps.fill.fill`.

    Raises:
        BadInput: The model has no number head, or cannot be asked.
    """
    return number_gaps_of_texts(model, name, [text], top)[0]


@in_turn
def number_gaps_of_texts(model: Any, name: str, texts: Sequence[str], top: int = 5) -> list[list[dict[str, Any]]]:
    """`number_gaps` of several texts with one pass of the model, and one search for all quantiles.

    Raises:
        BadInput: The model has no number head, or cannot be asked about one of the texts.
    """
    if model.head is None:
        raise BadInput(f"{name} has no number head: {NUM} needs a model with a sense of numbers")
    passages = [passages_of(model, text, (NUM,)) for text in texts]
    found = iter(_of_passages(model, name, [each for some in passages for each in some], top))
    return [[gap for _ in some for gap in next(found)] for some in passages]


def _of_passages(model: Any, name: str, texts: Sequence[str], top: int) -> list[list[dict[str, Any]]]:
    """`number_gaps_of_texts` of texts that the model can read."""
    try:
        distributions: NumberDistribution = model.predict([spelled_out(model.processor.reader, each) for each in texts])
    except (ValueError, IndexError, RuntimeError) as error:  # too long, not trained for numbers
        raise BadInput(f"{name}: {' '.join(str(error).split())[:200]}") from None
    p = [0.5, *(each for pair in _INTERVALS.values() for each in pair), *_SHOWN]
    ends = distributions.quantile([p] * len(distributions))
    logs = signed_log(ends, UNIT).cpu().numpy()
    medians = ends[:, 0].tolist()
    counts = [text.count(NUM) for text in texts]
    starts = [sum(counts[:row]) for row in range(len(counts) + 1)]
    kinds = [
        kind for row, text in enumerate(texts) for kind in _kinds(model, text, medians[starts[row] : starts[row + 1]])
    ]
    places = [place for text in texts for place in places_of(text)]
    # `at 9:6` is read as no time, but minutes are asked for: their median may have one digit.
    kinds = ["time" if place.is_clock and kind == "ratio" else kind for kind, place in zip(kinds, places, strict=True)]
    if distributions.contexts is not None:
        rows = [text for text, count in zip(texts, counts, strict=True) for _ in range(count)]
        contexts = map(_context, [model] * len(rows), distributions.contexts, kinds, rows, places)
        distributions = dataclasses.replace(distributions, contexts=tuple(contexts))
    best = distributions.best(top if all(each.is_free for each in places) else TRIED * top)
    calibration = getattr(model, "calibration", None)
    if calibration is not None:
        logs[:, 1:5] = calibration.stretched(kinds, p[1:5], logs[:, 1:5], logs[:, 0])
    plain = from_signed_log(torch.from_numpy(logs), UNIT).tolist()
    drawn = densities(distributions, [row[5] for row in plain], [row[6] for row in plain])
    found = []
    for at, row in enumerate(plain):
        place = places[at]
        width = 2 if kinds[at] == "time" and place.is_minutes else 0  # 9:05
        fitting = [each for each in best[at] if place.fits(each.value)] or best[at]
        numbers = [
            {
                "text": place.written(each.text).zfill(width), "value": each.value,
                "probability": float(np.exp(each.log_prob)),
            }
            for each in fitting[:top]
        ]  # fmt: skip
        found.append({
            "numbers": numbers, "median": row[0], "interval_50": row[1:3], "interval_90": row[3:5], "kind": kinds[at],
            "calibrated": calibration is not None, "density": drawn[at],
        })  # fmt: skip
    return [found[starts[row] : starts[row + 1]] for row in range(len(texts))]


@torch.no_grad()
def densities(
    distributions: NumberDistribution, lows: Sequence[float], highs: Sequence[float], bins: int = BINS
) -> list[dict[str, list[float]]]:
    """Probabilities of bins between two values that are evenly spaced on a logarithmic number line, for each row.

    Returns:
        For each distribution `edges` (bins + 1) and `shares` (bins); a bin's share is its probability.
    """
    ends = signed_log(torch.tensor([lows, highs], dtype=torch.float64), UNIT)
    ends += torch.where(ends[1] - ends[0] < 1e-6, 0.5, 0.0) * torch.tensor([[-1.0], [1.0]])  # all in one point
    steps = torch.linspace(0, 1, bins + 1, dtype=torch.float64)
    edges = from_signed_log(torch.lerp(ends[0, :, None], ends[1, :, None], steps), UNIT)
    shares = distributions.cdf(edges.to(distributions.device)).cpu().diff().clamp_min(0)
    return [{"edges": row, "shares": each} for row, each in zip(edges.tolist(), shares.tolist(), strict=True)]


def spark_line(shares: Sequence[float]) -> str:
    """A small density for the terminal, one character for each bin.

    Example:
        >>> spark_line([0.0, 0.1, 0.4, 0.2])
        ' ▂█▄'
    """
    most = max(shares, default=0.0) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, round(share / most * (len(_BARS) - 1)))] for share in shares)


def _context(model: Any, context: NumberContext, kind: str, text: str, place: Place) -> NumberContext:
    """What a text says of the last digit of a number: `[NUM]th` and `[NUM]:30` are whole, prices beside `€4.50` not."""
    others = model.processor.reader.find(text.replace(NUM, "0"))
    alike = [each for each in others if each.kind == kind and each.style.family == "decimal"]
    if place.is_decade:
        return context._replace(finest=1, coarsest=1)
    if place.is_century:
        return context._replace(finest=0)
    if kind in _WHOLE or (kind in _SCORES and not any(each.decimals for each in alike)):
        return context._replace(finest=0, coarsest=0 if kind == "year" else None)
    if kind == "money" and not context.power:
        prices = [each.decimals for each in alike if each.written and not each.power]
        return context._replace(decimals=2 if prices and min(prices) == max(prices) == 2 else 0)
    return context


def _kinds(model: Any, text: str, medians: Sequence[float]) -> list[str]:
    """The kind of each asked number as it would be read with its median in the gap."""
    kinds, place = [], 0
    for value in medians:
        place = text.index(NUM, place)
        before, after = text[:place].replace(NUM, "0"), text[place + len(NUM) :].replace(NUM, "0")
        kinds.append(kind_at(model, before, value, after))
        place += len(NUM)
    return kinds
