"""Fourier features of the decimal digits (FoNE) and of the logarithm (log-Fourier, the default)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, finite_values
from numerate.embedders.digit_grid import DigitsConfig, beyond_grid, grid_units
from numerate.embedders.option_checks import check_dim, check_option, check_positive
from numerate.registry import embedders

__all__ = ["FourierConfig", "FourierEmbedder", "LogFourierConfig", "LogFourierEmbedder", "waves"]


@dataclass(frozen=True, kw_only=True)
class FourierConfig(DigitsConfig):
    """Options of `fourier`: those of `DigitsConfig`, and `map`.

    Attributes:
        map: "linear", a learned matrix; "pad", the features padded with zeros, without weights.
    """

    kind: ClassVar[str] = "fourier"
    map: Literal["linear", "pad"] = "linear"


@embedders.register("fourier", "fone")
class FourierEmbedder(Embedder):
    """(cos, sin) of 2π|x| / 10^i for every digit place, plus sign, overflow and NaN flags (FoNE, Zhou et al. 2025).

    Angles come from the scaled integer round(|x| · 10^n) modulo 10^i, so each digit is exact. 0 and -0 have all
    cosines 1, unlike padding and unlike the released code's zero vector. Our additions: the sign, 1 or -1; a flag for
    overflow (|x| ≥ 10^m, infinities), whose digits are all 9; a flag for NaN, whose other features are 0.

    Shape: N numbers to `(N, dim)`; with `map="pad"` dim must be at least 2 · (m + n) + 3.

    Example:
        >>> embedder = FourierEmbedder.build(dim=8, integer_digits=2, fraction_digits=1)
        >>> embedder.scaled_integers(NumberTable.of_values([-12.34, 0.06, 1e9])).tolist()
        [123, 1, 999]
    """

    Config = FourierConfig
    outermost = ("project",)
    periods: Tensor

    def __init__(self, dim: int, config: FourierConfig) -> None:
        super().__init__(dim, config)
        self.n_digits, self.fraction_digits = config.integer_digits + config.fraction_digits, config.fraction_digits
        powers = [10**k for k in range(1, self.n_digits + 1)]
        self.register_buffer("periods", torch.tensor(powers), persistent=False)
        columns = 2 * self.n_digits + 3
        check_dim(dim, columns if config.map == "pad" else 1)
        self.project = nn.Linear(columns, dim) if config.map == "linear" else None

    def scaled_integers(self, numbers: NumberTable) -> Tensor:
        """round(|x| · 10^n), at most 10^(m+n) - 1, int64 (N,)."""
        return grid_units(finite_values(numbers)[0].abs(), self.n_digits, self.fraction_digits)

    def features(self, numbers: NumberTable) -> Tensor:
        """float64 (N, 2 · (m + n) + 3): a pair for each place from the last digit up, then sign, overflow, NaN."""
        values = numbers.values()
        nan = values.isnan()
        # fmod is exact for integers below 2^53 in float64. (Integer `%`, compiled for CPU by PyTorch 2.13, raises a
        # ZeroDivisionError.)
        periods = self.periods.to(torch.float64)
        turns = torch.fmod(self.scaled_integers(numbers)[:, None].to(torch.float64), periods) / periods
        pairs = torch.stack([(2 * math.pi * turns).cos(), (2 * math.pi * turns).sin()], dim=-1).flatten(1)
        sign = torch.where(values < 0, -1.0, 1.0).to(torch.float64)
        shown = torch.cat([pairs, sign[:, None]], dim=-1).masked_fill(nan[:, None], 0.0)
        overflow = beyond_grid(values, self.n_digits, self.fraction_digits)
        return torch.cat([shown, torch.stack([overflow, nan], dim=-1).to(torch.float64)], dim=-1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        features = self._cast(self.features(numbers))
        if self.project is None:
            return nn.functional.pad(features, (0, self.dim - features.shape[-1]))
        return self.project(features)


def waves(logarithm: Tensor, count: int, longest: float, shortest: float) -> Tensor:
    """Cosines, then sines, for `count` periods in a geometric sequence from the longest to the shortest.

    Shape:
        logarithm: (...) float64. Output: (..., 2 · count).
    """
    make = _oscillators if torch.compiler.is_compiling() else _cached_oscillators
    frequencies, phases = make(count, longest, shortest, logarithm.device)
    return torch.addcmul(phases, logarithm[..., None], frequencies).sin()


def _oscillators(count: int, longest: float, shortest: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """Angular frequencies and phases of `waves` as sines: (2 · count,) each."""
    steps = torch.linspace(0, 1, count, dtype=torch.float64, device=device)
    frequencies = 2 * math.pi / (longest * (shortest / longest) ** steps)
    phases = torch.zeros(2, count, dtype=torch.float64, device=device)
    phases[0] = math.pi / 2  # the cosines
    return frequencies.repeat(2), phases.flatten()


_cached_oscillators = functools.cache(_oscillators)
"""The same tensors in every step, without the operations that compute them."""


@dataclass(frozen=True, kw_only=True)
class LogFourierConfig(Config):
    """Options of `log-fourier`.

    Attributes:
        n_frequencies: Number of frequencies of log10|x|.
        longest: Longest period, in decades.
        shortest: Shortest period, in decades.
        integer_flag: Add a flag for integers.
        floor: Decimal exponent at and below which a number is embedded like 0.
        fade: Decades above the floor over which the features fade to those of 0.
        hidden: Size of the hidden layer; `dim` by default.
    """

    kind: ClassVar[str] = "log-fourier"
    n_frequencies: int = 32
    longest: float = 128.0
    shortest: float = 0.03125
    integer_flag: bool = True
    floor: float = -100.0
    fade: float = 10.0
    hidden: int | None = None

    def __post_init__(self) -> None:
        check_positive(self, "n_frequencies", "shortest", "fade", "hidden")
        check_option(self.shortest <= self.longest, self, "shortest must not exceed longest", "shortest", "longest")


@embedders.register("log-fourier")
class LogFourierEmbedder(Embedder):
    """Multi-scale cosines and sines of log10|x|, sign and flags through a two-layer network: our default embedder.

    Numbers that are relatively close have similar vectors at every magnitude. The features of |x| and the sign fade
    linearly (in log10|x|) to 0 between 10^-90 and 10^-100, where a flag for zero fades in: so the embedding is
    continuous through 0, and -0 and everything below 10^-100 is 0. The integer flag, not set at 0, makes a jump at
    integers. Infinities are the largest float64 with a flag each; NaN has its flag alone. Nothing overflows.

    Example:
        >>> LogFourierEmbedder.build(dim=8)(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = LogFourierConfig
    outermost = ("network.2",)
    continuous = True
    through_zero = True

    def __init__(self, dim: int, config: LogFourierConfig) -> None:
        super().__init__(dim, config)
        self.n_frequencies, self.longest, self.shortest = config.n_frequencies, config.longest, config.shortest
        self.integer_flag, self.floor, self.fade = config.integer_flag, config.floor, config.fade
        hidden = config.hidden or dim
        self.network = nn.Sequential(nn.Linear(2 * self.n_frequencies + 6, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def features(self, numbers: NumberTable) -> Tensor:
        """float64 (N, 2 · n_frequencies + 6): cosines, sines, sign, whole, zero, NaN, inf, -inf."""
        values, specials = finite_values(numbers)
        logarithm = _log_size(values)
        seen = ((logarithm - self.floor) / self.fade).clamp(0, 1)
        seen_waves = waves(logarithm, self.n_frequencies, self.longest, self.shortest) * seen[:, None]
        whole = (values == values.round()) * seen if self.integer_flag else torch.zeros_like(seen)
        zero = 1 - (seen + specials[:, 0])
        flags = torch.stack([values.sign() * seen, whole, zero], dim=-1)
        return torch.cat([seen_waves, flags, specials], dim=-1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.network(self._cast(self.features(numbers)))


def _log_size(values: Tensor) -> Tensor:
    """log10|x|, and that of the smallest float64 for 0."""
    size = values.abs()
    if torch.compiler.is_exporting():  # constants of ONNX are rounded to float32, where 5e-324 is 0
        is_zero = size == 0
        return torch.where(is_zero, -323.3062153431158, torch.where(is_zero, 1.0, size).log10())
    return size.clamp_min(5e-324).log10()
