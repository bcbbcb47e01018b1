"""Which digits numbers begin with, in data and in what models predict."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.heads.digit_rnn import DigitDistribution
from numerate.heads.distribution import NumberDistribution
from numerate.heads.spelling_lstm import SYMBOLS
from numerate.metrics.score import as_floats
from numerate.processing.number_table import NumberTable
from numerate.report.figure_style import INK, figure_and_axes, stroke

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = ["benford", "first_digit_shares", "first_digits"]


def benford() -> Tensor:
    """Benford's law: log10(1 + 1/d) of the digits d = 1 ... 9, (9,) float64.

    Example:
        >>> [round(share, 3) for share in benford().tolist()]
        [0.301, 0.176, 0.125, 0.097, 0.079, 0.067, 0.058, 0.051, 0.046]
    """
    return torch.tensor([math.log10(1 + 1 / digit) for digit in range(1, 10)], dtype=torch.float64)


@torch.no_grad()
def first_digit_shares(
    source: NumberDistribution | NumberTable | Tensor | Sequence[Any], samples: int = 256, seed: int = 0
) -> Tensor:
    """How often numbers begin with 1 ... 9, leading zeros and signs aside: (9,) float64, with the sum 1.

    - Numbers: the first digit other than 0 of each, as Python writes it. 0, NaN and the infinities have none.
    - The digit-RNN: the probability that each is the first symbol, or the first behind "-"; summed over all rows and
      renormalised without 0, as in the 2018 paper, so that numbers below 1 have no part in it.
    - Other distributions: the digits of samples.

    Args:
        source: Numbers, or N distributions.
        samples: How many are drawn from each distribution.
        seed: Of the samples.

    Example:
        >>> first_digit_shares([0.03, -314.0, 0.0, 2e9, 1.0]).tolist()
        [0.25, 0.25, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if isinstance(source, DigitDistribution):
        weights = _first_symbols(source)
    else:
        if isinstance(source, NumberDistribution):
            if samples < 1:
                raise ValueError(f"samples must be positive, got {samples=}")
            generator = torch.Generator(source.device).manual_seed(seed)
            source = source.sample(samples, generator).flatten()
        elif isinstance(source, NumberTable):
            source = source.values().flatten()
        weights = _counted(as_floats(source))
    if not float(weights.sum()) > 0:
        raise ValueError("no number has a first digit: all are 0 or not finite, or there are none")
    return weights / weights.sum()


def _first_symbols(distribution: DigitDistribution) -> Tensor:
    first, minus = SYMBOLS.index("1"), SYMBOLS.index("-")
    state, cell = distribution.decoder.start(distribution.hidden)
    one = distribution.decoder.log_next(state).exp()
    symbols = torch.full((len(state),), minus, device=state.device)
    behind = distribution.decoder.log_next(distribution.decoder.step(symbols, state, cell)[0]).exp()
    digits = slice(first, first + 9)
    return (one[:, digits] + one[:, minus, None] * behind[:, digits]).sum(0).cpu()


def _counted(values: Tensor) -> Tensor:
    # By the shortest decimal that means the float64: 0.3 begins with 3, though it lies below it. Each value once.
    known = values[values.isfinite() & (values != 0)].abs()
    distinct, counts = known.cpu().unique(return_counts=True)
    digits = [int(repr(value).lstrip("0.")[0]) - 1 for value in distinct.tolist()]
    result = torch.zeros(9, dtype=torch.float64)
    return result.index_add_(0, torch.tensor(digits, dtype=torch.int64), counts.to(torch.float64))


def first_digits(shares: Mapping[str, Tensor | Sequence[float]], title: str = "") -> Figure:
    """Distributions of the first significant digit, beside Benford's law (2018 paper, Fig. 6).

    Args:
        shares: Names of models and data to (9,) shares of the digits 1 ... 9, as `first_digit_shares` gives them.
        title: Above the figure.

    Example:
        >>> figure = first_digits({"data": first_digit_shares([1.0, 15.0, 2.0, 0.7])})
        >>> [line.get_label() for line in figure.axes[0].lines]
        ['Benford', 'data']
    """
    with figure_and_axes(title) as (figure, axes):
        places = list(range(1, 10))
        axes.plot(places, benford().tolist(), color=INK, linewidth=1, linestyle="--", label="Benford")
        for index, (name, given) in enumerate(shares.items()):
            values = as_floats(given, f"shares of {name!r}").cpu()
            if len(values) != 9 or not bool((values >= 0).all()) or abs(float(values.sum()) - 1) > 1e-4:
                raise ValueError(f"shares of {name!r} must be 9 that sum to 1, got {values.tolist()}")
            axes.plot(places, values.tolist(), marker="o", markersize=4, label=name, **stroke(index))
        axes.set_xticks(places)
        axes.set(xlabel="first significant digit", ylabel="share")
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
