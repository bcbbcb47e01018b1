"""Head over independent decimal digits and a sign, each digit scored by its angle on a circle (FoNE)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.embedders.digit_grid import DigitsConfig, beyond_grid
from numerate.embedders.option_checks import check_positive
from numerate.heads.base import Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.places import below, log_between, log_equal
from numerate.heads.values import half_unit
from numerate.registry import heads

__all__ = ["ComplementDistribution", "DigitsDistribution", "FourierDigitsConfig", "FourierDigitsHead"]


def _powers(places: int, device: torch.device) -> Tensor:
    """int64 (P,): 10^(P-1) ... 1."""
    return torch.pow(10, torch.arange(places - 1, -1, -1, device=device))


@dataclass(frozen=True, eq=False, repr=False)
class DigitsDistribution(ValueDistribution):
    """Independent decimal digits and a sign: probability masses on the integer multiples of 10^-n.

    0 has one mass, summed over both signs. `log_prob` is that of the nearest multiple (ties to even), at most the
    highest one.

    Shape:
        log_digits: (N, P, 10), float64, log-probabilities, the highest place first.
        plus_logit: (N,), float64, log-odds of the plus sign.
    """

    log_digits: Tensor
    plus_logit: Tensor
    fraction_digits: int

    @property
    def places(self) -> int:
        """Number of digits."""
        return self.log_digits.shape[1]

    def _nearest(self, size: Tensor) -> Tensor:
        """round(|x| · 10^n), clamped to 10^P: int64."""
        return (size.clamp_max(1e300) * 10.0**self.fraction_digits).round().clamp_max(10.0**self.places).to(torch.int64)

    def _value(self, integers: Tensor) -> Tensor:
        """The number that an integer stands for, correctly rounded because both operands are exact."""
        return integers.to(torch.float64) / 10.0**self.fraction_digits

    def _first(self, size: Tensor, past: bool) -> Tensor:
        """The first multiple at or above a size, or, with `past`, strictly above it: int64, up to 10^P + 1."""
        # Values are compared as float64, so that 0.29 equals 29 hundredths.
        nearest = self._nearest(size)
        reached = self._value(nearest) > size if past else self._value(nearest) >= size
        return torch.where(reached, nearest, nearest + 1)

    def _digits(self, integers: Tensor) -> Tensor:
        """Decimal digits, the highest first, of integers clamped to the number of places: int64 (N, C, P)."""
        return integers.clamp(0, 10**self.places - 1)[..., None] // _powers(self.places, integers.device) % 10

    def _log_sign(self, values: Tensor) -> Tensor:
        logit = torch.where(values < 0, -self.plus_logit[:, None], self.plus_logit[:, None])
        return functional.logsigmoid(logit).masked_fill(self._nearest(values.abs()) == 0, 0.0)

    def _target_digits(self, values: Tensor) -> Tensor:
        """The digits that a number is trained on: int64 (N, C, P)."""
        return self._digits(self._nearest(values.abs()))

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        return log_equal(self.log_digits, self._target_digits(values)) + self._log_sign(values)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        size, half = values.abs(), half_unit(precision)
        with_zero = self._nearest(size - half) <= 0
        plus, nearest = values > 0, self._nearest(size)
        low, high = (size - half).clamp_min(0.0), (size + half).clamp_max(1e300)
        first = torch.where(plus, self._first(low, past=True), self._first(low, past=False)).minimum(nearest)
        last = torch.where(plus, self._first(high, past=True), self._first(high, past=False)).sub(1).maximum(nearest)
        away = log_between(self.log_digits, self._digits(first), self._digits(last)) + self._log_sign(values)
        return torch.where(with_zero, super()._log_mass(values, precision), away)

    def _below(self, integers: Tensor) -> Tensor:
        """P(size < integer): (N, C)."""
        chance = below(self.log_digits, self._digits(integers))
        return chance.masked_fill(integers >= 10**self.places, 1.0)

    def _cdf(self, values: Tensor) -> Tensor:
        size = values.abs()
        minus, plus = (-self.plus_logit).sigmoid()[:, None], self.plus_logit.sigmoid()[:, None]
        below_zero = minus * (1 - self._below(self._first(size, past=False)))
        return torch.where(values < 0, below_zero, 1 - plus * (1 - self._below(self._first(size, past=True))))

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        digits = (self.log_digits.exp() * torch.arange(10, device=self.device)).sum(-1)
        size = (digits * _powers(self.places, self.device)).sum(-1) / 10.0**self.fraction_digits
        return (2 * self.plus_logit.sigmoid() - 1) * size

    def mode(self) -> Tensor:
        """Most probable value: (N,); the mass of 0 includes both signs."""
        best, digits = self.log_digits.max(-1)
        size = self._value((digits * _powers(self.places, self.device)).sum(-1))
        zero = self.log_digits[:, :, 0].sum(-1) > best.sum(-1) + functional.logsigmoid(self.plus_logit.abs())
        return torch.where(self.plus_logit < 0, -size, size).masked_fill(zero, 0.0) + 0.0

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        integers, plus = self._drawn(count, generator)
        return torch.where(plus, 1.0, -1.0) * self._value(integers) + 0.0

    def _drawn(self, count: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Integers of drawn digits, and whether the sign is plus: (count, N) each."""
        chances = self.log_digits.exp().reshape(-1, 10)
        digits = torch.multinomial(chances, count, replacement=True, generator=generator).T
        integers = (digits.reshape(count, -1, self.places) * _powers(self.places, self.device)).sum(-1)
        chance = torch.rand(integers.shape, generator=generator, dtype=torch.float64, device=self.device)
        return integers, chance < self.plus_logit.sigmoid()


@dataclass(frozen=True, eq=False, repr=False)
class ComplementDistribution(DigitsDistribution):
    """Independent digits of x mod 10^P and a sign: a negative number has the digits of its ten's complement.

    In units of 10^-n, the digits are those of x where x >= 0, and of 10^P + x where x < 0. So the digits of a
    difference a - b do not depend on which of the two is larger. The range is -10^P to 10^P - 1; 0 is positive, and has
    one mass.
    """

    def _units(self, values: Tensor) -> Tensor:
        """The nearest multiple within the range: int64."""
        scaled = (values.clamp(-1e300, 1e300) * 10.0**self.fraction_digits).round()
        return scaled.clamp(-(10.0**self.places), 10.0**self.places - 1).to(torch.int64)

    def _target_digits(self, values: Tensor) -> Tensor:
        return self._digits(self._units(values) % 10**self.places)

    def _log_sign(self, values: Tensor) -> Tensor:
        logit = self.plus_logit[:, None]
        return functional.logsigmoid(torch.where(self._units(values) < 0, -logit, logit))

    def _last(self, values: Tensor) -> Tensor:
        """The last multiple at or below a value: int64, from -10^P - 1, which is below the range."""
        units = self._units(values)
        return torch.where(self._value(units) <= values, units, units - 1)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        half, nearest = half_unit(precision), self._units(values)
        first = (self._last((values - half).clamp_min(-1e300)) + 1).minimum(nearest)
        last = self._last((values + half).clamp_max(1e300)).maximum(nearest)
        ends = (self._digits(end % 10**self.places) for end in (first, last))
        one_sign = log_between(self.log_digits, *ends) + self._log_sign(values)
        both_signs = ValueDistribution._log_mass(self, values, precision)
        return torch.where((first < 0) == (last < 0), one_sign, both_signs)

    def _cdf(self, values: Tensor) -> Tensor:
        after = self._last(values.clamp(-1e300, 1e300)) + 1
        minus, plus = (-self.plus_logit).sigmoid()[:, None], self.plus_logit.sigmoid()[:, None]
        below_zero = minus * self._below(after + 10**self.places)
        return torch.where(after <= 0, below_zero, minus + plus * self._below(after))

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        digits = (self.log_digits.exp() * torch.arange(10, device=self.device)).sum(-1)
        units = (digits * _powers(self.places, self.device)).sum(-1) - (-self.plus_logit).sigmoid() * 10.0**self.places
        return units / 10.0**self.fraction_digits

    def mode(self) -> Tensor:
        """Most probable value: (N,)."""
        integers = (self.log_digits.argmax(-1) * _powers(self.places, self.device)).sum(-1)
        return self._value(torch.where(self.plus_logit < 0, integers - 10**self.places, integers))

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        integers, plus = self._drawn(count, generator)
        return self._value(torch.where(plus, integers, integers - 10**self.places))


@dataclass(frozen=True, kw_only=True)
class FourierDigitsConfig(DigitsConfig):
    """Options of `fourier-digits`: those of `DigitsConfig`, and two for numbers that may be negative.

    Attributes:
        complement: Digits of x mod 10^P instead of those of |x|: -1 is a minus sign and 9...99. The last digits of a
            difference are then the same whichever operand is larger.
        sign_weight: Weight of the sign in the loss, that of all digits together being 1; None for 1/P, one more place.
    """

    kind: ClassVar[str] = "fourier-digits"
    complement: bool = False
    sign_weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "sign_weight")


@heads.register("fourier-digits", "fone")
class FourierDigitsHead(Head):
    """Two coordinates for each decimal place, which score the ten digits by their angles (FoNE, Zhou et al. 2025).

    Layer norm and a linear layer give (a, b) for each place; digit j scores a · cos(2πj/10) + b · sin(2πj/10). The loss
    is the mean cross-entropy of the digits and the sign. Our additions: a logit for the sign, which counts as one more
    place (unless all digits are 0, where there is no sign to learn) or as `sign_weight` says; the digits of the ten's
    complement (`complement`); numbers with too many digits are trained on as the highest number (`clamped`). NaN and
    the infinities are not targets.

    Shape: `(N, dim)` to N distributions over ±(m + n) digits.

    Example:
        >>> head = FourierDigitsHead.build(dim=8, integer_digits=3, fraction_digits=1)
        >>> head.clamped(NumberTable.of_values([-999.9, 1000.0])).tolist()
        [False, True]
    """

    Config = FourierDigitsConfig
    config: FourierDigitsConfig

    def __init__(self, dim: int, config: FourierDigitsConfig) -> None:
        super().__init__(dim, config)
        self.places = config.integer_digits + config.fraction_digits
        self.layers = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * self.places + 1))

    def forward(self, hidden: Tensor) -> DigitsDistribution:
        """Distributions for (N, dim) hidden states."""
        outputs = run_wide(self.layers, hidden)
        angles = 2 * math.pi / 10 * torch.arange(10, dtype=torch.float64, device=outputs.device)
        circle = torch.stack([angles.cos(), angles.sin()])
        scores = outputs[:, :-1].reshape(-1, self.places, 2) @ circle
        made = ComplementDistribution if self.config.complement else DigitsDistribution
        return made(scores.log_softmax(-1), outputs[:, -1], self.config.fraction_digits)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Numbers with too many digits before the point: (N,) bool."""
        return self.valid(numbers) & beyond_grid(numbers.values(), self.places, self.config.fraction_digits)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        distribution = self.forward(hidden)
        values = numbers.values()[:, None]
        digits = log_equal(distribution.log_digits, distribution._target_digits(values))
        # A sign that weighed as much as all digits together would be learnt first, and the digits hardly at all.
        weight = 1.0 if self.config.sign_weight is None else self.places * self.config.sign_weight
        return -(digits + weight * distribution._log_sign(values))[:, 0] / (self.places + weight)
