"""Distribution of first significant digits, of data and of predictions."""

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
    """Shares of the first significant digits 1 ... 9: (9,) float64 with sum 1.

    - Numbers: the first digit other than 0 of each, as Python writes it. 0, NaN and the infinities are left out.
    - The digit-RNN: the probability of each digit as the first symbol, or the first after "-"; summed over all rows and
      normalised without 0 as in the 2018 paper, so that numbers below 1 are left out.
    - Other distributions: the digits of samples.

    Args:
        source: Numbers, or N distributions.
        samples: Number of samples from each distribution.
        seed: Seed of the samples.

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
        raise ValueError("source must have a number other than 0, NaN and infinity, got none")
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
    # From the shortest decimal of the float64: 0.3 starts with 3, although the float64 is below 0.3.
    known = values[values.isfinite() & (values != 0)].abs()
    distinct, counts = known.cpu().unique(return_counts=True)
    digits = [int(repr(value).lstrip("0.")[0]) - 1 for value in distinct.tolist()]
    result = torch.zeros(9, dtype=torch.float64)
    return result.index_add_(0, torch.tensor(digits, dtype=torch.int64), counts.to(torch.float64))


def first_digits(shares: Mapping[str, Tensor | Sequence[float]], title: str = "") -> Figure:
    """Plots distributions of the first significant digit beside Benford's law (2018 paper, Fig. 6).

    Args:
        shares: Shares (9,) of the digits 1 ... 9 by name, as `first_digit_shares` returns them.
        title: Title of the figure.

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
                raise ValueError(f"shares of {name!r} must be 9 values with sum 1, got {values.tolist()}")
            axes.plot(places, values.tolist(), marker="o", markersize=4, label=name, **stroke(index))
        axes.set_xticks(places)
        axes.set(xlabel="first significant digit", ylabel="share")
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure
