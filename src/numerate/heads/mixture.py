"""Mixture density head over the signed logarithm: weights, means and widths are predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.option_checks import check_dropout, check_option, check_positive, check_within
from numerate.heads.base import LARGEST, Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.normal import log_interval, log_normal, normal_samples, rounding_interval
from numerate.heads.pointer import PointerContext, RatioPredictor, zero_term
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.processing.number_table import float_values
from numerate.registry import heads

__all__ = ["MixtureConfig", "MixtureDistribution", "MixtureHead", "from_signed_log", "signed_log", "signed_log_slope"]

_MEAN_RATE, _WIDTH_RATE, _WEIGHT_RATE = 0.05, 0.1, 0.3
"""Factors on the last layer's outputs: early in training, means must move more slowly than widths."""
_RATIO_RATE = 0.2
"""Factor on the output for the logarithm of a ratio."""
_RATIO_LEAST = 0.01
"""Least width of a ratio component in the signed logarithm (at first, the width is 1 more): 1 % of the number, about as
people round. (With 1e-4, components diverged at the first large gradient.)"""
_SHIFTS = 30
"""Mean-shift steps from each component's mean to a local maximum of the mixture."""


def signed_log(values: Tensor, unit: float) -> Tensor:
    """asinh(x / unit): odd and smooth, x / unit near 0, ln(2·|x| / unit) far from it; for every finite float64.

    Example:
        >>> signed_log(torch.tensor([0.0, 1e-3, -1e308], dtype=torch.float64), unit=1e-3).tolist()
        [0.0, 0.8813..., -716.79...]
    """
    size = values.abs()
    ratio, far = size / unit, size.log() + math.log(2 / unit)  # the quotient of a large number overflows
    result = torch.where(size < unit * 1e12, _asinh(ratio), far)
    if torch.compiler.is_exporting():  # ONNX has no `copysign`
        return torch.where(values < 0, -result, result)
    return result.copysign(values)


def _asinh(values: Tensor) -> Tensor:
    if torch.compiler.is_exporting():  # the runtime of ONNX has no `asinh` of float64
        return torch.log(values + torch.sqrt(values * values + 1))
    return torch.asinh(values)


def signed_log_slope(values: Tensor, unit: float) -> Tensor:
    """Log-derivative of `signed_log`, -ln √(x² + unit²): turns a density of the logarithm into one of the value."""
    return -torch.log(torch.hypot(values, torch.full_like(values, unit)))


def from_signed_log(logarithms: Tensor, unit: float) -> Tensor:
    """Inverse of `signed_log`: unit · sinh(u), clamped to the range of float64.

    Example:
        >>> from_signed_log(torch.tensor([0.0, 1e4, -1e4], dtype=torch.float64), unit=1e-3).tolist()
        [0.0, 1.7976...e+308, -1.7976...e+308]
    """
    halved = torch.exp((logarithms.abs() + math.log(unit / 2)).clamp_max(math.log(LARGEST)))
    small = unit * torch.sinh(logarithms.clamp(-20.0, 20.0))
    return torch.where(logarithms.abs() < 20.0, small, logarithms.sign() * halved)


@dataclass(frozen=True, eq=False, repr=False)
class MixtureDistribution(ValueDistribution):
    """Mixtures of normal distributions of asinh(x / unit).

    Shape:
        log_weights, means, widths: (N, K), float64.
    """

    log_weights: Tensor
    means: Tensor
    widths: Tensor
    unit: float
    mass: bool

    @property
    def is_density(self) -> bool:
        """True, unless the config says that `log_prob` is a mass."""
        return not self.mass

    def _mixed(self, terms: Tensor) -> Tensor:
        return torch.logsumexp(self.log_weights[:, None] + terms, dim=-1)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        if self.mass:
            return self._log_mass(values, precision)
        return self._terms(signed_log(values, self.unit)).logsumexp(-1) + signed_log_slope(values, self.unit)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        slope = signed_log_slope(values, self.unit)
        middle, half = rounding_interval(values, precision, lambda x: signed_log(x, self.unit), slope)
        z = (middle[..., None] - self.means[:, None]) / self.widths[:, None]
        return self._mixed(log_interval(z, half[..., None] - self.widths.log()[:, None]))

    def _cdf(self, values: Tensor) -> Tensor:
        z = (signed_log(values, self.unit)[..., None] - self.means[:, None]) / self.widths[:, None]
        return (self.log_weights.exp()[:, None] * torch.special.ndtr(z)).sum(-1)

    def mean(self) -> Tensor:
        """Expected value, Σ w · unit · sinh(mean) · exp(width² / 2): (N,)."""
        stretch = self.log_weights + self.widths.square() / 2 + math.log(self.unit / 2)
        limit = math.log(LARGEST / self.means.shape[1])  # so that the sum is finite
        up, down = (stretch + self.means).clamp_max(limit), (stretch - self.means).clamp_max(limit)
        return (up.exp() - down.exp()).sum(-1)

    @torch.no_grad()
    def mode(self) -> Tensor:
        """Maximum of the density of the *signed logarithm*, as the density of x itself peaks near 0: (N,)."""
        at = self.means
        precise = self.widths[:, None] ** -2
        for _ in range(_SHIFTS):
            share = self._terms(at).softmax(-1) * precise
            at = (share * self.means[:, None]).sum(-1) / share.sum(-1)
        best = self._terms(at).logsumexp(-1).argmax(-1, keepdim=True)
        return from_signed_log(at.gather(-1, best)[:, 0], self.unit)

    def _terms(self, at: Tensor) -> Tensor:
        """Log-density of each weighted component at signed logarithms (N, C): (N, C, K)."""
        z = (at[..., None] - self.means[:, None]) / self.widths[:, None]
        return log_normal(z, (self.log_weights - self.widths.log())[:, None])

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        weights = self.log_weights.exp()
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator)
        means, widths = self.means.gather(1, chosen), self.widths.gather(1, chosen)
        logarithms = means.T + widths.T * normal_samples(means[:, 0], count, generator)
        return from_signed_log(logarithms, self.unit)


@dataclass(frozen=True, kw_only=True)
class MixtureConfig(Config):
    """Options of `mixture`.

    Attributes:
        components: Number of components.
        atom: Add a component at 0 of the least width.
        unit: Scale of the signed logarithm: linear well below it, logarithmic well above.
        largest: Components start evenly spaced in the signed logarithm from -largest to largest.
        min_width: Least width of a component in the signed logarithm; far from 0, relative to the number.
        mass: `log_prob` and the loss use the probability of all values that round to the number, not the density.
        written: `log_prob` and the loss use the probability of the number as it is written: that mass times the
            probability of its number of decimals (`DecimalsRNN`), as in `mog`.
        ratios: Add a component for each visible number of the text, that number times a predicted ratio, if `forward`
            gets a `PointerContext`.
        hidden: Size of the hidden layer; the backbone's width by default.
        dropout: Dropout on the hidden layers.
    """

    kind: ClassVar[str] = "mixture"
    components: int = 8
    atom: bool = True
    unit: float = 1e-3
    largest: float = 1e9
    min_width: float = 1e-4
    mass: bool = False
    written: bool = False
    ratios: bool = False
    hidden: int | None = None
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_positive(self, "components", "hidden")
        ordered = 1e-100 <= self.unit < self.largest <= 1e100
        check_option(ordered, self, "unit must be below largest, both in 1e-100 to 1e100", "unit", "largest")
        check_within(self, "min_width", 1e-12, 1)
        check_dropout(self)


@heads.register("mixture")
class MixtureHead(Head):
    """Mixture density network: weights, means and widths of normal distributions of asinh(x / unit).

    Our design. Components start at anchors that are evenly spaced over all magnitudes and both signs, as wide as the
    gaps between them; `fit` moves the anchors to quantiles of data. With `ratios`, other numbers of the text have
    components of their own: `28 km (17 mi)` states one quantity twice. The density is that of the value, Jacobian
    included. Every finite float64, 0 included, can be scored; NaN and the infinities are not targets.

    Shape: `(N, dim)` to N mixtures of K components, plus 1 with the atom, plus M with ratios to M other numbers.

    Example:
        >>> head = MixtureHead.build(dim=8, components=4)
        >>> distribution = head(torch.zeros(2, 8))
        >>> distribution.means.shape, bool(distribution.log_prob(NumberTable.of_values([0.0, -1e308])).isfinite().all())
        (torch.Size([2, 5]), True)
    """

    Config = MixtureConfig
    reads_queries = False
    config: MixtureConfig
    anchors: Tensor
    gaps: Tensor

    def __init__(self, dim: int, config: MixtureConfig) -> None:
        super().__init__(dim, config)
        count, hidden = config.components, config.hidden or dim
        self.layers = nn.Sequential(
            nn.LayerNorm(dim),
            nn.Linear(dim, hidden),
            nn.GELU(),
            nn.Dropout(config.dropout),
            nn.Linear(hidden, 3 * count + config.atom),
        )
        self.ratios = RatioPredictor(dim, hidden, config.dropout) if config.ratios else None
        self.decimals = DecimalsRNN(dim) if config.written else None
        farthest = math.asinh(config.largest / config.unit)
        middles = (2 * torch.arange(count, dtype=torch.float64) + 1) / count - 1
        # float64 as int64 bit patterns, which `.to(dtype)` does not round.
        self.register_buffer("anchors", (farthest * middles).view(torch.int64))
        self.register_buffer("gaps", torch.full((count,), 2 * farthest / count, dtype=torch.float64).view(torch.int64))

    def fit(self, numbers: NumberTable) -> None:
        """Moves the anchors to evenly spaced quantiles of the numbers; each component is as wide as its gap."""
        logarithms = signed_log(numbers.values()[self.valid(numbers)], self.config.unit).sort().values
        if not len(logarithms):
            return
        ranks = torch.linspace(0, len(logarithms) - 1, 2 * self.config.components + 1).round().to(torch.int64)
        edges = logarithms[ranks.to(logarithms.device)]
        self.anchors.copy_(edges[1::2].contiguous().view(torch.int64))
        self.gaps.copy_((edges[2::2] - edges[:-2:2]).clamp_min(0.1).view(torch.int64))

    @property
    def looks_back(self) -> bool:
        """Whether it has components for other numbers of the text."""
        return self.config.ratios

    def forward(
        self, hidden: Tensor, earlier: PointerContext | None = None
    ) -> MixtureDistribution | WrittenDistribution:
        """Distributions for (N, dim) hidden states; `earlier` holds the numbers that ratios refer to."""
        config = self.config
        outputs = run_wide(self.layers, hidden)
        count = config.components
        shifts, stretches, scores = outputs.split([count, count, count + config.atom], dim=-1)
        related: list[Tensor] = []
        if self.ratios is not None and earlier is not None:
            # The bits times truth values: a float that is NaN or infinite would stay NaN.
            others = float_values(earlier.table.bits[earlier.rows] * earlier.visible)
            logarithm, certainty, more = self.ratios(hidden, earlier)
            # Ratios are positive: the sign stays.
            own_logs = signed_log(others, config.unit)
            related = [torch.addcmul(own_logs, others.sign(), logarithm, value=_RATIO_RATE)]
            stretches = torch.cat([stretches, certainty], dim=-1)
            scores = torch.cat([scores, more.where(earlier.visible, -torch.inf)], dim=-1)
        gaps, stretched = float_values(self.gaps), _stretched(stretches)
        own, further = stretched.split([count, stretched.shape[-1] - count], dim=-1)
        least = own.new_full((len(own), 1), config.min_width)
        means = [torch.addcmul(float_values(self.anchors), gaps, shifts, value=_MEAN_RATE)]
        widths = [torch.addcmul(least, gaps, own, value=0.5)]
        if config.atom:
            means.append(torch.zeros_like(least))
            widths.append(least)
        if related:
            widths.append(further + max(config.min_width, _RATIO_LEAST))
        mixture = MixtureDistribution(
            (_WEIGHT_RATE * scores).log_softmax(-1), torch.cat(means + related, dim=-1), torch.cat(widths, dim=-1),
            config.unit, config.mass,
        )  # fmt: skip
        return mixture if self.decimals is None else WrittenDistribution(mixture, hidden, self.decimals)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        terms = super()._loss(hidden, numbers)
        return terms if self.ratios is None else terms + zero_term(self.ratios)


def _stretched(outputs: Tensor) -> Tensor:
    """Width factor for an output s of the last layer: 1 at s = 0, falling like 1 / s² for negative s.

    An exponential falls so fast that components become too narrow before their means have settled, and training
    diverges (observed with batches of a few numbers).
    """
    return torch.exp(2 * _asinh(_WIDTH_RATE / 2 * outputs))
