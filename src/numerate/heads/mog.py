"""A mixture of fixed normal distributions over numbers, weighted by the context, and the number of decimals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.heads.base import LARGEST, Head, ValueDistribution
from numerate.heads.gaussians import evenly_spread, pooled_gaussians
from numerate.heads.normal import log_interval, log_normal, normal_samples
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.processing.number_table import PADDING
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["Components", "MogConfig", "MogDistribution", "MogHead", "log_product"]

_CHUNK = 1 << 22
"""How many (row, candidate, component) triples are summed at once where no matrix product can."""
_TINY = 1e-250
"""Sums below it may have lost terms to underflow."""
_LEAST_WEIGHT = 1e-6
"""Fitted weights are at least this at first, so that every component can be learnt from."""
_SHIFTS = 30
"""Steps from the best component's mean up to the top of the hill that it stands on."""


class Components(NamedTuple):
    """What all rows share (and so no field of a distribution, whose tensors have a row each).

    Shape:
        means, spreads: (K,), float64.
    """

    means: Tensor
    spreads: Tensor

    def log_masses(self, values: Tensor, precision: Tensor) -> Tensor:
        """Log-probability of all that rounds to each value, by each component: (..., K)."""
        log_half = precision.to(torch.float64)[..., None] * math.log(10) - math.log(2) - self.spreads.log()
        return log_interval(*torch.broadcast_tensors((values[..., None] - self.means) / self.spreads, log_half))

    def log_densities(self, values: Tensor) -> Tensor:
        """Log-density at each value, by each component: (..., K)."""
        return log_normal((values[..., None] - self.means) / self.spreads) - self.spreads.log()


def log_product(log_weights: Tensor, log_table: Tensor) -> Tensor:
    """Log Σ_k exp(log_weights[n, k] + log_table[c, k]), by one matrix product: (N, C).

    Each row is taken relative to its maximum. Where weights and table nowhere meet within the range of float64, the sum
    is taken again the long way, so that it is right everywhere.

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


@dataclass(frozen=True, eq=False)
class MogDistribution(ValueDistribution):
    """Mixtures of normal distributions that are the same for all rows.

    Shape:
        log_weights: (N, K), float64.
    """

    log_weights: Tensor
    components: Components

    @property
    def is_density(self) -> bool:
        """A density."""
        return True

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
        values = candidates.values()
        safe = values.masked_fill(~values.isfinite(), 0.0)
        scores = log_product(self.log_weights, self.components.log_densities(safe))
        return scores.masked_fill(~values.isfinite(), -torch.inf)

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row, by one table and a matrix product: (N, C)."""
        values = candidates.values()
        safe = values.masked_fill(~values.isfinite(), 0.0)
        scores = log_product(self.log_weights, self.components.log_masses(safe, candidates.precision))
        return scores.masked_fill(~values.isfinite(), -torch.inf)

    def mean(self) -> Tensor:
        """Expected value, Σ w · mean: (N,)."""
        return self.log_weights.exp() @ self.components.means

    @torch.no_grad()
    def mode(self) -> Tensor:
        """The top of the hill below which the component lies whose mean has the highest density of all means: (N,).

        A narrow component is a high one, whatever its neighbours weigh together: for an estimate of the number, the
        median or the best of some candidates (`rank`) serves better.
        """
        means, spreads = self.components
        at = means[log_product(self.log_weights, self.components.log_densities(means)).argmax(-1)]
        precise = spreads**-2
        for _ in range(_SHIFTS):
            share = (self.log_weights + self.components.log_densities(at)).softmax(-1) * precise
            at = (share * means).sum(-1) / share.sum(-1)
        return at

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""
        weights, (means, spreads) = self.log_weights.exp(), self.components
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator).T
        noise = normal_samples(weights[:, 0], count, generator)
        return (means[chosen] + spreads[chosen] * noise).clamp(-LARGEST, LARGEST)


@dataclass(frozen=True, kw_only=True)
class MogConfig(Config):
    """Options of `mog`.

    Attributes:
        granularities: Components of mixtures of 1, 2, 4 ... 2^(granularities - 1) are pooled: 255 by default.
        decimals_width: Width of the LSTM that counts decimals; the backbone's width where None.
        gate: `class`: the probability of a number is the sigmoid of the model's [NUM] logit; `logit`: [NUM] is one
            word among the others.
    """

    kind: ClassVar[str] = "mog"
    granularities: int = 8
    decimals_width: int | None = None
    gate: Literal["class", "logit"] = "class"

    def __post_init__(self) -> None:
        if not 1 <= self.granularities <= 12:
            raise ValueError(f"granularities must lie in 1 to 12, got {self.granularities=}")
        if self.decimals_width is not None and self.decimals_width < 1:
            raise ValueError(f"decimals_width must be positive, got {self.decimals_width=}")


@heads.register("mog", "gaussians")
class MogHead(Head):
    """Weights of fixed normal distributions, and p(decimals) (the mixture of Gaussians of Spithourakis & Riedel, 2018).

    `log_prob` is that of the number as it is written: log p(r) + log Σ w_k (Φ_k(v + ε) - Φ_k(v - ε)), ε = 0.5 · 10^-r;
    for numbers written in tens or more, ε is half of the last written digit. `log_mass` leaves p(r) out. Call `fit`
    with the numbers of the training text before training; without it, the components lie over all magnitudes and both
    signs. Every finite float64 has a probability; NaN and the infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N mixtures of 2^granularities - 1 components, as written

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> head = MogHead.build(dim=8)
        >>> head.fit(NumberTable.of_values(range(1900, 2020)))
        >>> distribution = head(torch.zeros(2, 8))
        >>> bool((distribution.median() > 1800).all()), distribution.log_prob(NumberTable.of_values([7, 1e300])).shape
        (True, torch.Size([2]))
    """

    Config = MogConfig
    config: MogConfig
    means: Tensor
    spreads: Tensor

    def __init__(self, dim: int, config: MogConfig) -> None:
        super().__init__(dim, config)
        start = evenly_spread(2**config.granularities - 1)
        self.layers = nn.Linear(dim, len(start.means))
        self.decimals = DecimalsRNN(dim, config.decimals_width)
        # float64 as bit patterns, so that no `.to(dtype)` rounds them.
        self.register_buffer("means", start.means.view(torch.int64))
        self.register_buffer("spreads", start.spreads.view(torch.int64))

    @property
    def is_written(self) -> bool:
        """Of numbers as they are written."""
        return True

    @torch.no_grad()
    def fit(self, numbers: NumberTable) -> None:
        """Fits the components to some numbers, with all their repetitions; see `pooled_gaussians`.

        The biases become the logarithms of the fitted weights: before it has learnt anything from a context, the head
        knows how often which numbers occur. (The paper leaves these weights out.)
        """
        values = numbers.values()[numbers.given != PADDING]
        fitted = pooled_gaussians(values.cpu(), self.config.granularities)
        self.means.copy_(fitted.means.view(torch.int64))
        self.spreads.copy_(fitted.spreads.view(torch.int64))
        self.layers.bias.copy_(fitted.weights.clamp_min(_LEAST_WEIGHT).log())

    def forward(self, hidden: Tensor) -> WrittenDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        components = Components(self.means.view(torch.float64), self.spreads.view(torch.float64))
        values = MogDistribution(self._run(self.layers, hidden).log_softmax(-1), components)
        return WrittenDistribution(values, hidden, self.decimals)

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """`own`, as the log-odds of a number against all words together, unless `gate` is `logit`: (...)."""
        del hidden
        return words + own if self.config.gate == "class" else own
