"""Sign, power of ten, and what stands before it: a number as scientific notation has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.heads.base import Head, ValueDistribution
from numerate.heads.normal import log_interval, log_normal
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["ExponentMantissaConfig", "ExponentMantissaDistribution", "ExponentMantissaHead"]

_MINUS, _ZERO, _PLUS = 0, 1, 2
_LOG10 = math.log(10)
_WIDEST = 90.0
"""Spreads end here: over [1, 10) a wider normal distribution is flat."""
_SOFTPLUS_TWO = math.log(math.exp(2.0) - 1)
"""Where softplus is 2."""


@dataclass(frozen=True, eq=False)
class ExponentMantissaDistribution(ValueDistribution):
    """A sign or 0, an exponent e, and a mantissa in [1, 10) from a normal distribution cut off there.

    Shape:
        log_signs: (N, 3), float64, of minus, zero and plus.
        log_exponents, centers, spreads: (N, E), float64, of the exponents from `lowest` on.
    """

    log_signs: Tensor
    log_exponents: Tensor
    centers: Tensor
    spreads: Tensor
    lowest: int

    @property
    def is_density(self) -> bool:
        """A density, and a mass at 0."""
        return True

    def _powers(self) -> Tensor:
        count = self.centers.shape[1]
        ten = [float(f"1e{exponent}") for exponent in range(self.lowest, self.lowest + count)]
        return torch.tensor(ten, dtype=torch.float64, device=self.device)

    def _inside(self) -> Tensor:
        """How much of each normal distribution lies in [1, 10): (N, E). The centres do, so at least a 25th."""
        return self._below(torch.full_like(self.centers, 10.0), self.centers, self.spreads)

    @staticmethod
    def _below(mantissas: Tensor, centers: Tensor, spreads: Tensor) -> Tensor:
        end = torch.special.ndtr((mantissas.clamp(1.0, 10.0) - centers) / spreads)
        return end - torch.special.ndtr((1.0 - centers) / spreads)

    def _held(self, size: Tensor) -> tuple[Tensor, Tensor]:
        """Sizes above 0 as (mantissa, index of the exponent), the nearest where none fits."""
        powers = self._powers()
        index = (torch.searchsorted(powers, size.contiguous(), right=True) - 1).clamp_min(0)
        return (size / powers[index]).clamp(1.0, 10.0), index

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        zero = values == 0
        mantissa, index = self._held(values.abs().masked_fill(zero, 1.0))
        center, spread = self.centers.gather(1, index), self.spreads.gather(1, index)
        shape = log_normal((mantissa - center) / spread) - spread.log() - self._inside().log().gather(1, index)
        # The slope of x = m · 10^e; without it densities of different exponents cannot be compared.
        slope = (index + self.lowest) * _LOG10
        density = self._log_sign(values) + self.log_exponents.gather(1, index) + shape - slope
        return torch.where(zero, self.log_signs[:, _ZERO, None], density)

    def _log_sign(self, values: Tensor) -> Tensor:
        return torch.where(values < 0, self.log_signs[:, _MINUS, None], self.log_signs[:, _PLUS, None])

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """A sum of positive terms, one for every sign and exponent that the rounding interval reaches into."""
        powers, size = self._powers(), values.abs()
        mantissa, index = self._held(size.masked_fill(size == 0, 1.0))
        outside = (size != 0) & ((size < powers[0]) | (size >= 10 * powers[-1]))
        at = torch.where(outside, values.sign() * mantissa * powers[index], values)
        # What lies outside is scored as the nearest number inside, and not as all that its own rounding would cover.
        unit = torch.where(outside, precision.to(torch.float64).minimum(index + self.lowest), precision)
        log_half = ((unit * _LOG10 - math.log(2))[..., None] - powers.log()).clamp_max(690.0)
        half = log_half.clamp_min(-690.0).exp()
        terms = [torch.where(at.abs() <= half[..., 0] * powers[0], self.log_signs[:, _ZERO, None], -torch.inf)]
        for sign, log_sign in ((-1.0, self.log_signs[:, _MINUS]), (1.0, self.log_signs[:, _PLUS])):
            middle = sign * at[..., None] / powers  # (N, C, E)
            under, over = ((middle - 1) / half).clamp_max(1.0), ((10 - middle) / half).clamp_max(1.0)
            share = (under + over) / 2  # of the interval, in [1, 10)
            touched = share > 0
            share = torch.where(touched, share, 1.0)
            middle = torch.where(touched, middle + half * (over - under) / 2, 5.0)
            z = (middle - self.centers[:, None]) / self.spreads[:, None]
            part = log_interval(z, torch.where(touched, log_half + share.log(), 0.0) - self.spreads.log()[:, None])
            part = part - self._inside().log()[:, None] + self.log_exponents[:, None] + log_sign[:, None, None]
            # An interval that reaches into nothing is left out before the sum, so that it gets no gradient.
            terms.append(torch.where(touched, part, -1e300).logsumexp(-1))
        return torch.stack(terms).logsumexp(0).clamp_max(0.0)

    def _cdf(self, values: Tensor) -> Tensor:
        mantissas = values.abs()[..., None] / self._powers()
        parts = self._below(mantissas, self.centers[:, None], self.spreads[:, None]) / self._inside()[:, None]
        below = (self.log_exponents.exp()[:, None] * parts).sum(-1).clamp(0.0, 1.0)
        minus, zero, plus = self.log_signs.exp()[..., None].unbind(1)
        return torch.where(values < 0, minus * (1 - below), minus + zero + plus * below)

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        low, high = (1 - self.centers) / self.spreads, (10 - self.centers) / self.spreads
        mantissas = self.centers + self.spreads * (log_normal(low).exp() - log_normal(high).exp()) / self._inside()
        sizes = (self.log_exponents.exp() * self._powers() * mantissas.clamp(1.0, 10.0)).sum(-1)
        chances = self.log_signs.exp()
        return (chances[:, _PLUS] - chances[:, _MINUS]) * sizes

    def mode(self) -> Tensor:
        """The most probable sign, exponent and mantissa, one after the other: (N,)."""
        sign = self.log_signs.argmax(-1) - _ZERO
        best = self.log_exponents.argmax(-1, keepdim=True)
        return sign * (self.centers.gather(1, best)[:, 0] * self._powers()[best[:, 0]]) + 0.0

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""

        def draw(log_chances: Tensor) -> Tensor:
            if not len(log_chances):
                return torch.zeros(0, count, dtype=torch.int64, device=self.device)
            return torch.multinomial(log_chances.exp(), count, replacement=True, generator=generator)

        sign, index = draw(self.log_signs) - _ZERO, draw(self.log_exponents)
        center, spread = self.centers.gather(1, index), self.spreads.gather(1, index)
        chance = torch.rand(index.shape, generator=generator, dtype=torch.float64, device=self.device)
        start = torch.special.ndtr((1 - center) / spread)
        mantissa = center + spread * torch.special.ndtri(start + chance * self._inside().gather(1, index))
        return (sign * mantissa.clamp(1.0, 10.0) * self._powers()[index]).T + 0.0


@dataclass(frozen=True, kw_only=True)
class ExponentMantissaConfig(Config):
    """Options of `exponent-mantissa`.

    Attributes:
        lowest: The least power of ten; smaller numbers but 0 count as it.
        highest: The greatest power of ten; larger numbers count as ten times it.
        spread: Spread of every mantissa, before it is cut off; predicted where None. (The paper fixes 10 · e^-1.5.)
        hidden: Size of the hidden layer; the backbone's width where None.
    """

    kind: ClassVar[str] = "exponent-mantissa"
    lowest: int = -9
    highest: int = 15
    spread: float | None = None
    hidden: int | None = None

    def __post_init__(self) -> None:
        if not -300 <= self.lowest <= self.highest <= 300:
            raise ValueError(
                f"lowest and highest must be in order, in -300 to 300, got {self.lowest=}, {self.highest=}"
            )
        if self.spread is not None and not 1e-3 <= self.spread <= _WIDEST:
            raise ValueError(f"spread must lie in 0.001 to {_WIDEST:g}, got {self.spread=}")
        if self.hidden is not None and self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")


@heads.register("exponent-mantissa", "dexp")
class ExponentMantissaHead(Head):
    """p(sign or zero) · p(exponent) · p(mantissa | exponent) (DExp of Berg-Kirkpatrick & Spokoyny, 2020, made whole).

    Exponents are classes; the mantissa's distribution, one for each of them, is normal and cut off to [1, 10). It is
    divided by what is left of it, and by 10^e, as a density of x is; the released code does neither. There, numbers are
    above 0: sign and zero are ours. Numbers outside the exponents are learnt from, and scored, as the nearest inside
    (see `clamped`). NaN and the infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions of E exponents

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> head = ExponentMantissaHead.build(dim=8, lowest=0, highest=2)
        >>> head.clamped(NumberTable.of_values([0, 0.5, 999, 1000])).tolist()
        [False, True, False, True]
        >>> head(torch.zeros(2, 8)).log_exponents.shape
        torch.Size([2, 3])
    """

    Config = ExponentMantissaConfig
    config: ExponentMantissaConfig

    def __init__(self, dim: int, config: ExponentMantissaConfig) -> None:
        super().__init__(dim, config)
        self.exponents, hidden = config.highest - config.lowest + 1, config.hidden or dim
        outputs = 3 + self.exponents * (2 if config.spread is not None else 3)
        self.layers = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, outputs))

    def forward(self, hidden: Tensor) -> ExponentMantissaDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        count = self.exponents
        signs, exponents, centers, widths = self._run(self.layers, hidden).tensor_split(
            [3, 3 + count, 3 + 2 * count], dim=-1
        )
        centers = 1 + 9 * centers.sigmoid()
        if self.config.spread is None:
            spreads = (1e-3 + functional.softplus(widths + _SOFTPLUS_TWO)).clamp_max(_WIDEST)
        else:
            spreads = torch.full_like(centers, self.config.spread)
        return ExponentMantissaDistribution(
            signs.log_softmax(-1), exponents.log_softmax(-1), centers, spreads, self.config.lowest
        )

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Numbers smaller than the least power of ten, but for 0, or of more than the greatest: (N,) bool."""
        size = numbers.values().abs()
        low, high = float(f"1e{self.config.lowest}"), float(f"1e{self.config.highest + 1}")
        return self.valid(numbers) & (size != 0) & ((size < low) | (size >= high))
