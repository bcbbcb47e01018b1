"""Distributions of scaled numbers, in the units of their fields."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor

from numerate.heads.distribution import LARGEST, NumberDistribution
from numerate.heads.values import ValueDistribution
from numerate.processing.number_table import GIVEN, NumberTable, bit_patterns

if TYPE_CHECKING:
    from numerate.processing.scaling import Scaling

__all__ = ["RescaledDistribution"]

_LEVELS = 1000
"""Number of quantiles whose mean is the mean under a logarithmic scaler."""


@dataclass(frozen=True, eq=False, repr=False)
class RescaledDistribution(ValueDistribution):
    """Distributions in the units of their fields, of a head that predicts scaled numbers.

    `scaled` is the head's own distribution. Under a logarithmic scaler, `mean` is that of 1,000 quantiles, because
    there is no closed form; `mode` is that of the scaled number.

    Shape:
        scaled: N distributions of scaled numbers.
        keys: N paths or units, which name the scaler of each row.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> from numerate.processing.scaling import Scaling
        >>> from numerate.registry import heads
        >>> scaling = Scaling(by="none").fit([Numeral("", 0, 0, value) for value in (900.0, 1000.0, 1100.0)])
        >>> head = heads["scalar"].build(dim=8)
        >>> scaled = head(torch.zeros(1, 8))
        >>> distribution = RescaledDistribution(scaled, scaling, ("",))
        >>> bool(torch.isclose(distribution.median(), 1000 + 81.65 * scaled.median(), rtol=1e-4))
        True
    """

    _row_tuples = ("contexts", "keys")

    scaled: NumberDistribution
    scaling: Scaling
    keys: tuple[str, ...]

    @property
    def is_density(self) -> bool:
        """Whether `log_prob` is a density: that of the head's distribution, divided by the scaler's spread."""
        return self.scaled.is_density

    @property
    def is_written(self) -> bool:
        """Whether the head predicts numbers as they are written."""
        return self.scaled.is_written

    @property
    def unseen(self) -> Tensor:
        """Probability of the numbers that the head's distribution leaves out: (N,)."""
        return self.scaled.unseen

    @property
    def is_empty(self) -> Tensor:
        """Rows in which every number has probability 0: (N,) bool."""
        return self.scaled.is_empty

    def without_unknown(self) -> Self:
        """The distribution given that the number is in the vocabulary."""
        return dataclasses.replace(self, scaled=self.scaled.without_unknown())

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        if not self.is_written:
            return super()._log_prob_of(numbers)
        # As in training: the scaled value with the characters and the precision of the number.
        bits = self._in(numbers.values()[:, None])[:, 0].view(torch.int64)
        return self.scaled.log_prob(dataclasses.replace(numbers, bits=bits))

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        return NumberDistribution.scores(self, candidates) if self.is_written else super().scores(candidates)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        bits = self._in(values).view(torch.int64)
        letters = torch.zeros(*bits.shape, 1, dtype=torch.uint8, device=bits.device)
        given = torch.full_like(bits, GIVEN, dtype=torch.uint8)
        inner = self.scaled.log_prob(NumberTable(bits, letters, precision.expand_as(bits), given))
        return inner + self._log_slope(values) if self.is_density else inner

    def _cdf(self, values: Tensor) -> Tensor:
        return self.scaled.cdf(self._in(values))

    def _quantile_at(self, p: Tensor) -> Tensor:
        return self._out(self.scaled.quantile(p))

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        return self._out(self.scaled.sample(count, generator).T).T

    def _likely_values(self) -> Tensor:
        return self._out(self.scaled._likely_values())

    def mean(self) -> Tensor:
        """Expected value: (N,)."""
        centre, spread, _, bent = (torch.from_numpy(part.copy()).to(self.device) for part in self._parameters())
        straight = (centre + spread * self.scaled.mean()).clamp(-LARGEST, LARGEST)
        if not bool(bent.any()):
            return straight
        levels = (torch.arange(_LEVELS, dtype=torch.float64, device=self.device) + 0.5) / _LEVELS
        return torch.where(bent, self.quantile(levels.expand(len(self), -1)).mean(1), straight)

    def mode(self) -> Tensor:
        """The mode of the scaled number, in the field's units: (N,)."""
        return self._out(self.scaled.mode()[:, None])[:, 0]

    def _parameters(self) -> tuple[np.ndarray, ...]:
        return self.scaling.parameters(self.keys)

    def _log_slope(self, values: Tensor) -> Tensor:
        """Log-derivative of the scaled value with respect to the value: (N, C)."""
        _, spread, unit, bent = (torch.from_numpy(part.copy()).to(self.device)[:, None] for part in self._parameters())
        return torch.where(bent, -torch.log(unit + values.abs()), 0.0) - spread.log()

    def _in(self, values: Tensor) -> Tensor:
        """Scaled values of (N, C) values."""
        keys, flat = self._flat(values)
        return self._like(self.scaling.apply(keys, flat, count=False), values)

    def _out(self, values: Tensor) -> Tensor:
        """Values of (N, C) scaled values; finite ones stay finite."""
        keys, flat = self._flat(values)
        found = self.scaling.invert(keys, flat)
        return self._like(np.where(np.isfinite(flat), found.clip(-LARGEST, LARGEST), found), values)

    def _flat(self, values: Tensor) -> tuple[list[str], np.ndarray]:
        keys = [key for key in self.keys for _ in range(values.shape[1])]
        return keys, values.detach().reshape(-1).cpu().numpy()

    @staticmethod
    def _like(found: np.ndarray, values: Tensor) -> Tensor:
        return torch.from_numpy(bit_patterns(found)).view(torch.float64).reshape(values.shape).to(values.device)
