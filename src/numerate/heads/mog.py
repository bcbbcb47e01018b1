"""Mixture of Gaussians head: fixed components weighted by the context, and the number of decimals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.option_checks import check_positive, check_within
from numerate.heads.base import LARGEST, GatedHead, NumberTable, ValueDistribution, run_wide
from numerate.heads.gaussians import evenly_spread, pooled_gaussians
from numerate.heads.normal import log_interval, log_normal, normal_samples
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.heads.values import where_finite
from numerate.registry import heads

__all__ = ["Components", "MogConfig", "MogDistribution", "MogHead", "log_product"]

_CHUNK = 1 << 22
"""Number of (row, candidate, component) triples that are summed at once without a matrix product."""
_TINY = 1e-250
"""Sums below this may have lost terms to underflow."""
_LEAST_WEIGHT = 1e-6
"""Least initial weight, so that every component gets a gradient."""
_SHIFTS = 30
"""Mean-shift steps from the best component's mean to a local maximum of the mixture."""


class Components(NamedTuple):
    """The components, shared by all rows (the tensor fields of a distribution have an entry for each row).

    Shape:
        means, spreads: (K,), float64.
    """

    means: Tensor
    spreads: Tensor

    def log_masses(self, values: Tensor, precision: Tensor) -> Tensor:
        """Log-probability of all that rounds to each value, under each component: (..., K)."""
        log_half = precision.to(torch.float64)[..., None] * math.log(10) - math.log(2) - self.spreads.log()
        return log_interval(*torch.broadcast_tensors((values[..., None] - self.means) / self.spreads, log_half))

    def log_densities(self, values: Tensor) -> Tensor:
        """Log-density at each value, under each component: (..., K)."""
        return log_normal((values[..., None] - self.means) / self.spreads) - self.spreads.log()


def log_product(log_weights: Tensor, log_table: Tensor) -> Tensor:
    """Log Σ_k exp(log_weights[n, k] + log_table[c, k]), by one matrix product: (N, C).

    Rows are shifted by their maximum. Entries whose product underflows in float64 are computed again by logsumexp.

    Example:
        >>> log_product(torch.tensor([[0.0, -1e4]]).double(), torch.tensor([[-2e4, -1.0]]).double()).tolist()
        [[-10001.0]]
    """
    top, peak = log_weights.amax(-1, keepdim=True), log_table.amax(-1, keepdim=True)
    product = (log_weights - top).exp() @ (log_table - peak).exp().T
    lost = product < _TINY
    result = torch.where(lost, 1.0, product).log() + top + peak.T
    if not bool(lost.any()):
        return result
    row, column = lost.nonzero(as_tuple=True)
    step = max(1, _CHUNK // log_weights.shape[1])
    sums = [
        torch.logsumexp(log_weights[some] + log_table[others], dim=-1)
        for some, others in zip(row.split(step), column.split(step), strict=True)
    ]
    return result.index_put((row, column), torch.cat(sums))


@dataclass(frozen=True, eq=False, repr=False)
class MogDistribution(ValueDistribution):
    """Mixtures of normal distributions; the components are the same for all rows.

    Shape:
        log_weights: (N, K), float64.
    """

    _density = True
    log_weights: Tensor
    components: Components

    def _mixed(self, terms: Tensor) -> Tensor:
        return torch.logsumexp(self.log_weights[:, None] + terms, dim=-1)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        return self._mixed(self.components.log_densities(values))

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        return self._mixed(self.components.log_masses(values, precision))

    def _cdf(self, values: Tensor) -> Tensor:
        weights, (means, spreads) = self.log_weights.exp()[:, None], self.components
        step = max(1, _CHUNK // max(1, self.log_weights.numel()))
        parts = values.split(step, dim=1) if values.shape[1] else [values]
        return torch.cat(
            [(weights * torch.special.ndtr((some[..., None] - means) / spreads)).sum(-1) for some in parts], dim=1
        )

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row, by one table and a matrix product: (N, C)."""
        values, precision, table = candidates.values(), candidates.precision, self.components.log_densities
        return where_finite(lambda v, _: log_product(self.log_weights, table(v)), values, precision)

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row, by one table and a matrix product: (N, C)."""
        values, precision, table = candidates.values(), candidates.precision, self.components.log_masses
        return where_finite(lambda v, p: log_product(self.log_weights, table(v, p)), values, precision)

    def mean(self) -> Tensor:
        """Expected value, Σ w · mean: (N,)."""
        return self.log_weights.exp() @ self.components.means

    @torch.no_grad()
    def mode(self) -> Tensor:
        """Local maximum of the density, found by mean shift from the component mean with the highest density: (N,).

        Narrow components win even with little weight: as an estimate of the number, prefer the median or the best
        candidate (`rank`).
        """
        means, spreads = self.components
        at = means[log_product(self.log_weights, self.components.log_densities(means)).argmax(-1)]
        precise = spreads**-2
        for _ in range(_SHIFTS):
            share = (self.log_weights + self.components.log_densities(at)).softmax(-1) * precise
            at = (share * means).sum(-1) / share.sum(-1)
        return at

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        weights, (means, spreads) = self.log_weights.exp(), self.components
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator).T
        noise = normal_samples(weights[:, 0], count, generator)
        return (means[chosen] + spreads[chosen] * noise).clamp(-LARGEST, LARGEST)


@dataclass(frozen=True, kw_only=True)
class MogConfig(Config):
    """Options of `mog`.

    Attributes:
        granularities: Mixtures of 1, 2, 4 ... 2^(granularities - 1) components are pooled: 255 by default.
        decimals_width: Width of the LSTM for the number of decimals; the backbone's width by default.
        gate: How the model chooses between a word and a number, see `GatedHead`.
    """

    kind: ClassVar[str] = "mog"
    granularities: int = 8
    decimals_width: int | None = None
    gate: Literal["class", "logit"] = "class"

    def __post_init__(self) -> None:
        check_within(self, "granularities", 1, 12)
        check_positive(self, "decimals_width")


@heads.register("mog", "gaussians")
class MogHead(GatedHead):
    """Predicted weights of fixed normal distributions, and p(decimals) (Spithourakis & Riedel, 2018).

    `log_prob` is that of the number as it is written: log p(r) + log Σ w_k (Φ_k(v + ε) - Φ_k(v - ε)), ε = 0.5 · 10^-r;
    for numbers rounded to tens or more, ε is half of the last written digit. `log_mass` omits p(r). Call `fit` with the
    numbers of the training text before training; without it, the components cover all magnitudes and both signs. Every
    finite float64 has a probability; NaN and the infinities are not targets.

    Shape: `(N, dim)` to N mixtures of 2^granularities - 1 components, as written.

    Example:
        >>> head = MogHead.build(dim=8)
        >>> head.fit(NumberTable.of_values(range(1900, 2020)))
        >>> distribution = head(torch.zeros(2, 8))
        >>> bool((distribution.median() > 1800).all()), distribution.log_prob(NumberTable.of_values([7, 1e300])).shape
        (True, torch.Size([2]))
    """

    Config = MogConfig
    config: MogConfig
    _written = True
    means: Tensor
    spreads: Tensor

    def __init__(self, dim: int, config: MogConfig) -> None:
        super().__init__(dim, config)
        start = evenly_spread(2**config.granularities - 1)
        self.layers = nn.Linear(dim, len(start.means))
        self.decimals = DecimalsRNN(dim, config.decimals_width)
        # float64 as int64 bit patterns, which `.to(dtype)` does not round.
        self.register_buffer("means", start.means.view(torch.int64))
        self.register_buffer("spreads", start.spreads.view(torch.int64))

    @torch.no_grad()
    def fit(self, numbers: NumberTable) -> None:
        """Fits the components to numbers, repetitions included (`pooled_gaussians`).

        The biases become the logarithms of the fitted weights, so that the head starts with the frequencies of the
        numbers. (The paper drops these weights.)
        """
        fitted = pooled_gaussians(numbers.values()[self.valid(numbers)].cpu(), self.config.granularities)
        self.means.copy_(fitted.means.view(torch.int64))
        self.spreads.copy_(fitted.spreads.view(torch.int64))
        self.layers.bias.copy_(fitted.weights.clamp_min(_LEAST_WEIGHT).log())

    def forward(self, hidden: Tensor) -> WrittenDistribution:
        """Distributions for (N, dim) hidden states."""
        components = Components(self.means.view(torch.float64), self.spreads.view(torch.float64))
        values = MogDistribution(run_wide(self.layers, hidden).log_softmax(-1), components)
        return WrittenDistribution(values, hidden, self.decimals)
