"""A mixture of normal distributions over a number's signed logarithm, all of it predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.heads.base import LARGEST, Head, ValueDistribution
from numerate.heads.normal import log_interval, log_normal, normal_samples, rounding_interval
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.heads.ratios import Ratios
from numerate.processing.number_table import PADDING
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.heads.pointer import PointerContext
    from numerate.processing.number_table import NumberTable

__all__ = ["MixtureConfig", "MixtureDistribution", "MixtureHead", "from_signed_log", "signed_log", "signed_log_slope"]

_PACES = (0.05, 0.1, 0.3)
"""How far means, widths and weights go for what the last layer says: a mean must not outrun its width at the start."""
_RATIO_PACE = 0.2
"""The same for the logarithm of a ratio, which is more often near 1 than near 10."""
_RATIO_WIDTH, _RATIO_LEAST = 1.0, 0.01
"""How wide a component beside another number starts, in the signed logarithm, and how narrow it may become: 1 % of the
number, about as people round. A narrower one leaves at the first step that leads it astray (seen at 1e-4)."""
_SHIFTS = 30
"""Steps from each component's mean up to the mixture's hill that it stands on."""


def signed_log(values: Tensor, unit: float) -> Tensor:
    """asinh(x / unit): odd, smooth, x / unit around 0 and ln(2·|x| / unit) far from it; for every finite float64.

    Example:
        >>> signed_log(torch.tensor([0.0, 1e-3, -1e308], dtype=torch.float64), unit=1e-3).tolist()
        [0.0, 0.8813..., -716.79...]
    """
    size = values.abs()
    near = torch.asinh(size.clamp_max(unit * 1e12) / unit)
    far = size.clamp_min(unit * 1e12).log() + math.log(2 / unit)
    return values.sign() * torch.where(size < unit * 1e12, near, far)


def signed_log_slope(values: Tensor, unit: float) -> Tensor:
    """The logarithm of its slope, -ln √(x² + unit²): what makes a density of the value of one of the logarithm."""
    return -torch.log(torch.hypot(values, torch.full_like(values, unit)))


def from_signed_log(logarithms: Tensor, unit: float) -> Tensor:
    """The values unit · sinh(u), within the range of float64.

    Example:
        >>> from_signed_log(torch.tensor([0.0, 1e4, -1e4], dtype=torch.float64), unit=1e-3).tolist()
        [0.0, 1.7976...e+308, -1.7976...e+308]
    """
    halved = torch.exp((logarithms.abs() + math.log(unit / 2)).clamp_max(math.log(LARGEST)))
    small = unit * torch.sinh(logarithms.clamp(-20.0, 20.0))
    return torch.where(logarithms.abs() < 20.0, small, logarithms.sign() * halved)


@dataclass(frozen=True, eq=False)
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
        """A density, unless the mass of what rounds to a number is asked for."""
        return not self.mass

    def _mixed(self, terms: Tensor) -> Tensor:
        return torch.logsumexp(self.log_weights[:, None] + terms, dim=-1)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        if self.mass:
            return self._log_mass(values, precision)
        z = (signed_log(values, self.unit)[..., None] - self.means[:, None]) / self.widths[:, None]
        return self._mixed(log_normal(z) - self.widths.log()[:, None]) + signed_log_slope(values, self.unit)

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
        limit = math.log(LARGEST / self.means.shape[1])  # so that their sum is finite, too
        up, down = (stretch + self.means).clamp_max(limit), (stretch - self.means).clamp_max(limit)
        return (up.exp() - down.exp()).sum(-1)

    @torch.no_grad()
    def mode(self) -> Tensor:
        """Where the density of the *signed logarithm* is highest: (N,); that of x itself favours whatever is near 0."""
        at = self.means
        precise = self.widths[:, None] ** -2
        for _ in range(_SHIFTS):
            share = self._terms(at).softmax(-1) * precise
            at = (share * self.means[:, None]).sum(-1) / share.sum(-1)
        best = self._terms(at).logsumexp(-1).argmax(-1, keepdim=True)
        return from_signed_log(at.gather(-1, best)[:, 0], self.unit)

    def _terms(self, at: Tensor) -> Tensor:
        z = (at[..., None] - self.means[:, None]) / self.widths[:, None]
        return self.log_weights[:, None] + log_normal(z) - self.widths.log()[:, None]

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""
        weights = self.log_weights.exp()
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator)
        means, widths = self.means.gather(1, chosen), self.widths.gather(1, chosen)
        logarithms = means.T + widths.T * normal_samples(means[:, 0], count, generator)
        return from_signed_log(logarithms, self.unit)


@dataclass(frozen=True, kw_only=True)
class MixtureConfig(Config):
    """Options of `mixture`.

    Attributes:
        components: How many normal distributions are mixed.
        atom: One more, at 0, of the least width.
        unit: Numbers well below it are seen as they are, numbers well above by their logarithm.
        largest: The components start spread over -largest to largest, evenly in the signed logarithm.
        min_width: Least width of a component, in the signed logarithm: far from 0 a share of the number.
        mass: Learn and give, as `log_prob`, the probability of all that rounds to a number at its written precision,
            in place of the density.
        written: Learn and give, as `log_prob`, the probability of a number as it is written: that mass times the
            probability of its number of decimals (`DecimalsRNN`), as `mog` does.
        ratios: One more component for each other number that the text tells: that number times a predicted ratio. It
            needs a context, see `forward`; without one the others are all.
        hidden: Size of the hidden layer; the backbone's width where None.
        dropout: Dropout on the hidden layer.
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
        if self.components < 1:
            raise ValueError(f"components must be positive, got {self.components=}")
        if not 1e-100 <= self.unit < self.largest <= 1e100:
            raise ValueError(f"unit and largest must be in order, in 1e-100 to 1e100: {self.unit=}, {self.largest=}")
        if not 1e-12 <= self.min_width <= 1:
            raise ValueError(f"min_width must lie in 1e-12 to 1, got {self.min_width=}")
        if self.hidden is not None and self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout=}")


@heads.register("mixture")
class MixtureHead(Head):
    """Weights, means and widths of normal distributions over asinh(x / unit), all from the hidden state.

    Ours; xVal names it as the next step after its scalar. Components start at anchors, evenly over all magnitudes and
    both signs and as wide as the gaps between them; `fit` puts the anchors at the quantiles of some numbers instead.
    With `ratios`, other numbers of the text have components of their own: `28 km (17 mi)` tells one number twice.
    The density is that of the value, Jacobian included. Every finite float64 can be scored, 0 among them; NaN and the
    infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N mixtures of K components, one more with the atom, and M more with ratios to M other numbers

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> head = MixtureHead.build(dim=8, components=4)
        >>> distribution = head(torch.zeros(2, 8))
        >>> distribution.means.shape, bool(distribution.log_prob(NumberTable.of_values([0.0, -1e308])).isfinite().all())
        (torch.Size([2, 5]), True)
    """

    Config = MixtureConfig
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
        self.ratios = Ratios(dim, hidden) if config.ratios else None
        self.decimals = DecimalsRNN(dim) if config.written else None
        farthest = math.asinh(config.largest / config.unit)
        middles = (2 * torch.arange(count, dtype=torch.float64) + 1) / count - 1
        # float64 as bit patterns, so that no `.to(dtype)` rounds them.
        self.register_buffer("anchors", (farthest * middles).view(torch.int64))
        self.register_buffer("gaps", torch.full((count,), 2 * farthest / count, dtype=torch.float64).view(torch.int64))

    def fit(self, numbers: NumberTable) -> None:
        """Puts the components' anchors at evenly spaced quantiles of the numbers, each as wide as the gap around it."""
        values = numbers.values()
        values = values[values.isfinite() & (numbers.given != PADDING)]
        logarithms = signed_log(values, self.config.unit).sort().values
        if not len(logarithms):
            return
        ranks = torch.linspace(0, len(logarithms) - 1, 2 * self.config.components + 1).round().to(torch.int64)
        edges = logarithms[ranks.to(logarithms.device)]
        self.anchors.copy_(edges[1::2].contiguous().view(torch.int64))
        self.gaps.copy_((edges[2::2] - edges[:-2:2]).clamp_min(0.1).view(torch.int64))

    @property
    def looks_back(self) -> bool:
        """Whether other numbers of the text are hints."""
        return self.config.ratios

    def forward(
        self, hidden: Tensor, earlier: PointerContext | None = None
    ) -> MixtureDistribution | WrittenDistribution:
        """The distributions that (N, dim) hidden states stand for; `earlier` is what `ratios` are to."""
        config = self.config
        outputs = self._run(self.layers, hidden)
        shifts, stretches, scores = outputs.tensor_split([config.components, 2 * config.components], dim=-1)
        gaps = self.gaps.view(torch.float64)
        means = self.anchors.view(torch.float64) + gaps * (_PACES[0] * shifts)
        widths = config.min_width + gaps / 2 * _stretched(stretches)
        if config.atom:
            means, widths = functional.pad(means, (0, 1)), functional.pad(widths, (0, 1), value=config.min_width)
        if self.ratios is not None and earlier is not None:
            shifts, stretches, more = self.ratios(hidden, earlier, self._run)
            others = earlier.table.values()[earlier.rows].masked_fill(~earlier.seen, 0.0)
            # A ratio leaves the sign as it is.
            related = signed_log(others, config.unit) + others.sign() * _RATIO_PACE * shifts
            means = torch.cat([means, related], dim=-1)
            widths = torch.cat(
                [widths, max(config.min_width, _RATIO_LEAST) + _RATIO_WIDTH * _stretched(stretches)], dim=-1
            )
            scores = torch.cat([scores, more.masked_fill(~earlier.seen, -torch.inf)], dim=-1)
        mixture = MixtureDistribution((_PACES[2] * scores).log_softmax(-1), means, widths, config.unit, config.mass)
        return mixture if self.decimals is None else WrittenDistribution(mixture, hidden, self.decimals)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        terms = super()._loss(hidden, numbers)
        return terms if self.ratios is None else terms + self.ratios.nothing()


def _stretched(outputs: Tensor) -> Tensor:
    """How wide a component is for what the last layer says: 1 at 0, and towards 0 like 1 / s².

    An exponential falls so fast that a component is needle-thin before its mean has settled, and then every step is a
    leap (seen on batches of a few numbers).
    """
    slow = _PACES[1] * outputs
    return ((slow + torch.sqrt(slow.square() + 4)) / 2).square()
