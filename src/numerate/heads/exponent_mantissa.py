"""Head over sign, decimal exponent and mantissa, as in scientific notation (DExp)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_option, check_positive, check_within
from numerate.heads.base import Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.normal import log_interval, log_normal
from numerate.registry import heads

__all__ = ["ExponentMantissaConfig", "ExponentMantissaDistribution", "ExponentMantissaHead"]

_MINUS, _ZERO, _PLUS = 0, 1, 2
_LOG10 = math.log(10)
_WIDEST = 90.0
"""Largest spread: over [1, 10) a wider normal distribution is practically uniform."""
_SOFTPLUS_TWO = math.log(math.exp(2.0) - 1)
"""softplus(x) = 2."""


@dataclass(frozen=True, eq=False, repr=False)
class ExponentMantissaDistribution(ValueDistribution):
    """Class of minus, zero or plus; exponent class; mantissa from a normal distribution truncated to [1, 10).

    A density, with a point mass at 0.

    Shape:
        log_signs: (N, 3), float64, log-probabilities of minus, zero and plus.
        log_exponents, centers, spreads: (N, E), float64, for the exponents from `lowest` on.
    """

    _density = True

    log_signs: Tensor
    log_exponents: Tensor
    centers: Tensor
    spreads: Tensor
    lowest: int

    def _powers(self) -> Tensor:
        count = self.centers.shape[1]
        ten = [float(f"1e{exponent}") for exponent in range(self.lowest, self.lowest + count)]
        return torch.tensor(ten, dtype=torch.float64, device=self.device)

    def _inside(self) -> Tensor:
        """Probability of [1, 10) under each normal distribution before truncation: (N, E); at least 1/25."""
        return self._below(torch.full_like(self.centers, 10.0), self.centers, self.spreads)

    @staticmethod
    def _below(mantissas: Tensor, centers: Tensor, spreads: Tensor) -> Tensor:
        end = torch.special.ndtr((mantissas.clamp(1.0, 10.0) - centers) / spreads)
        return end - torch.special.ndtr((1.0 - centers) / spreads)

    def _split(self, size: Tensor) -> tuple[Tensor, Tensor]:
        """Positive sizes as (mantissa, index of the exponent), clamped to the range of the exponents."""
        powers = self._powers()
        index = (torch.searchsorted(powers, size.contiguous(), right=True) - 1).clamp_min(0)
        return (size / powers[index]).clamp(1.0, 10.0), index

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        zero = values == 0
        mantissa, index = self._split(values.abs().masked_fill(zero, 1.0))
        center, spread = self.centers.gather(1, index), self.spreads.gather(1, index)
        shape = log_normal((mantissa - center) / spread) - spread.log() - self._inside().log().gather(1, index)
        # The slope of x = m · 10^e; without it densities of different exponents cannot be compared.
        slope = (index + self.lowest) * _LOG10
        density = self._log_sign(values) + self.log_exponents.gather(1, index) + shape - slope
        return torch.where(zero, self.log_signs[:, _ZERO, None], density)

    def _log_sign(self, values: Tensor) -> Tensor:
        return torch.where(values < 0, self.log_signs[:, _MINUS, None], self.log_signs[:, _PLUS, None])

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """Sum over every sign and exponent that the rounding interval overlaps; all terms are positive."""
        powers, size = self._powers(), values.abs()
        mantissa, index = self._split(size.masked_fill(size == 0, 1.0))
        outside = (size != 0) & ((size < powers[0]) | (size >= 10 * powers[-1]))
        at = torch.where(outside, values.sign() * mantissa * powers[index], values)
        # A number outside the range is scored as the nearest one inside, with that number's rounding interval.
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
            # Intervals without overlap are masked before the sum, so that they get no gradient.
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
        """Most probable sign, then exponent, then mantissa: (N,)."""
        sign = self.log_signs.argmax(-1) - _ZERO
        best = self.log_exponents.argmax(-1, keepdim=True)
        return sign * (self.centers.gather(1, best)[:, 0] * self._powers()[best[:, 0]]) + 0.0

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        classes = (self.log_signs.exp(), self.log_exponents.exp())
        sign, index = (torch.multinomial(c, count, replacement=True, generator=generator) for c in classes)
        sign = sign - _ZERO
        center, spread = self.centers.gather(1, index), self.spreads.gather(1, index)
        chance = torch.rand(index.shape, generator=generator, dtype=torch.float64, device=self.device)
        start = torch.special.ndtr((1 - center) / spread)
        mantissa = center + spread * torch.special.ndtri(start + chance * self._inside().gather(1, index))
        return (sign * mantissa.clamp(1.0, 10.0) * self._powers()[index]).T + 0.0


@dataclass(frozen=True, kw_only=True)
class ExponentMantissaConfig(Config):
    """Options of `exponent-mantissa`.

    Attributes:
        lowest: Lowest exponent; smaller numbers except 0 are clamped to 10^lowest.
        highest: Highest exponent; larger numbers are clamped to 10 · 10^highest.
        spread: Spread of all mantissas before truncation; predicted by default. (The paper fixes 10 · e^-1.5.)
        hidden: Size of the hidden layer; the backbone's width by default.
    """

    kind: ClassVar[str] = "exponent-mantissa"
    lowest: int = -9
    highest: int = 15
    spread: float | None = None
    hidden: int | None = None

    def __post_init__(self) -> None:
        ordered = -300 <= self.lowest <= self.highest <= 300
        check_option(ordered, self, "lowest must not exceed highest, both in -300 to 300", "lowest", "highest")
        check_within(self, "spread", 1e-3, _WIDEST)
        check_positive(self, "hidden")


@heads.register("exponent-mantissa", "dexp")
class ExponentMantissaHead(Head):
    """p(sign or zero) · p(exponent) · p(mantissa | exponent) (DExp of Berg-Kirkpatrick & Spokoyny, 2020).

    Exponents are classes; each has a normal distribution of the mantissa, truncated to [1, 10). Unlike the released
    code, the density is normalised over [1, 10) and divided by 10^e, which makes it a density of x, and there are
    classes for the sign and zero. Numbers outside the exponents are trained on and scored as the nearest number inside
    (`clamped`). NaN and the infinities are not targets.

    Shape: `(N, dim)` to N distributions of E exponents.

    Example:
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
        """Distributions for (N, dim) hidden states."""
        count = self.exponents
        signs, exponents, centers, widths = run_wide(self.layers, hidden).tensor_split(
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
        """Numbers other than 0 whose exponent lies outside of lowest to highest: (N,) bool."""
        size = numbers.values().abs()
        low, high = float(f"1e{self.config.lowest}"), float(f"1e{self.config.highest + 1}")
        return self.valid(numbers) & (size != 0) & ((size < low) | (size >= high))
