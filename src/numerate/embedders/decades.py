"""Mantissa and exponent of ten as plain coordinates, triangle waves at decimal places, circles of the mantissa."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, finite_values
from numerate.embedders.option_checks import check_dim, check_option, check_positive
from numerate.embedders.prototype import mantissas_and_exponents, power_bits
from numerate.registry import embedders

__all__ = ["DecadesConfig", "DecadesEmbedder"]

_LARGEST = 1e15
"""Larger numbers are clamped for the waves: a float64 has no fraction above, and its phase would be arbitrary."""
_PERIODS = (10.0, 30.0)
"""Of the waves, in units of their place. Within half a period differences are differences of coordinates."""


@dataclass(frozen=True, kw_only=True)
class DecadesConfig(Config):
    """Options of `decades`.

    Attributes:
        low: Smallest exponent with a column of its own; smaller ones count as this one.
        high: Largest exponent with a column of its own; larger ones count as this one.
        wave_low: Exponent of the lowest decimal place with waves.
        wave_high: Exponent of the highest decimal place with waves.
        gain: Size of mantissa and exponent. A large one makes thresholds of a network steep, as sums near powers of ten
            need, without large weights.
        mantissa_periods: Periods of cosines and sines of the mantissa, of twice the size `gain`. With them a network
            learns sharp thresholds of sums of mantissas, which it learns slowly from the plain coordinate.
        map: "linear", a learned matrix; "pad", the features padded with zeros, without weights.
    """

    kind: ClassVar[str] = "decades"
    low: int = -5
    high: int = 12
    wave_low: int = -2
    wave_high: int = 6
    gain: float = 5.0
    mantissa_periods: tuple[float, ...] = ()
    map: Literal["linear", "pad"] = "linear"

    def __post_init__(self) -> None:
        check_option(-300 <= self.low <= self.high <= 300, self, "low to high must lie in -300 to 300", "low", "high")
        ordered = -15 <= self.wave_low <= self.wave_high <= 15
        check_option(ordered, self, "wave_low to wave_high must lie in -15 to 15", "wave_low", "wave_high")
        check_positive(self, "gain")
        positive = all(0 < period < math.inf for period in self.mantissa_periods)
        check_option(positive, self, "mantissa_periods must be positive", "mantissa_periods")


@embedders.register("decades")
class DecadesEmbedder(Embedder):
    """Mantissa and exponent of ten as coordinates, the exponent one-hot, and triangle waves at every decimal place.

    x = m · 10^e. A sum of two numbers with the same exponent passes a power of ten where their mantissas pass 10: one
    threshold for all sizes. Triangle waves are the piecewise linear form of sines: differences of close numbers are
    differences of coordinates at every size. Our design. 0 and -0 are m = 0, e = 0; negatives have a negative mantissa
    and mirrored waves. Infinities are m = ±10 with the upper exponent; NaN is 0 with a flag.

    Shape: N numbers to `(N, dim)`; with `map="pad"` dim must be at least `columns`, 58 with the default options.

    Example:
        >>> embedder = DecadesEmbedder.build(dim=8, low=0, high=2, wave_low=0, wave_high=0, gain=1.0)
        >>> features = embedder.features(NumberTable.of_values([250.0, 99.0]))
        >>> features[:, :7].tolist()  # m - 5, 2 · (e - 2), one-hot e, 2, NaN
        [[-2.5, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0], [4.9, -2.0, 0.0, 1.0, 0.0, 2.0, 0.0]]
    """

    Config = DecadesConfig
    config: DecadesConfig
    outermost = ("project",)
    power_bits: Tensor

    def __init__(self, dim: int, config: DecadesConfig) -> None:
        super().__init__(dim, config)
        waves = 4 * (config.wave_high - config.wave_low + 1) + 2 * len(config.mantissa_periods)
        self.columns = 4 + config.high - config.low + 1 + waves
        check_dim(dim, self.columns if config.map == "pad" else 1)
        self.register_buffer("power_bits", power_bits(), persistent=False)
        self.project = nn.Linear(self.columns, dim) if config.map == "linear" else None

    def features(self, numbers: NumberTable) -> Tensor:
        """float64 (N, columns): mantissa, exponent, one-hot exponent, a constant, NaN flag, waves, circles."""
        config, (values, flags) = self.config, finite_values(numbers)
        mantissas, exponents = mantissas_and_exponents(numbers, self.power_bits)
        nan = flags[:, :1]
        exponents = exponents.masked_fill(nan[:, 0] > 0, 0).clamp(config.low, config.high)[:, None]
        ones = torch.arange(config.low, config.high + 1, device=values.device) == exponents
        # Two mantissas less 5 each are 0 together where their sum reaches the next power of ten.
        size = [
            config.gain * (mantissas[:, None] - 5),
            2 * config.gain * (exponents - 2),
            config.gain * ones * (1 - nan),
            torch.full_like(nan, 2 * config.gain),
            config.gain * nan,
        ]
        turns = [2 * math.pi * mantissas[:, None] / period for period in config.mantissa_periods]
        circles = [2 * config.gain * wave * (1 - nan) for turn in turns for wave in (turn.cos(), turn.sin())]
        return torch.cat([*size, *self._waves(values), *circles], dim=-1)

    def _waves(self, values: Tensor) -> list[Tensor]:
        """Triangle waves between -1 and 1, two phases of two periods for each place: (N, 1) each."""
        near = values.clamp(-_LARGEST, _LARGEST)[:, None]
        places = range(self.config.wave_low, self.config.wave_high + 1)
        turns = [
            near / (period * 10.0**place) + phase for place in places for period in _PERIODS for phase in (0, 0.25)
        ]
        return [4 * (turn - turn.floor() - 0.5).abs() - 1 for turn in turns]

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        features = self._cast(self.features(numbers))
        if self.project is None:
            return nn.functional.pad(features, (0, self.dim - features.shape[-1]))
        return self.project(features)
