"""Fourier features of a number's digits (FoNE) and of its magnitude (log-Fourier, the default)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, finite_values
from numerate.embedders.digit_grid import beyond_grid, check_digits, grid_units
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["FourierConfig", "FourierEmbedder", "LogFourierConfig", "LogFourierEmbedder", "waves"]


@dataclass(frozen=True, kw_only=True)
class FourierConfig(Config):
    """Options of `fourier`.

    Attributes:
        integer_digits: Digits before the point; from 10^integer_digits on, a number overflows.
        fraction_digits: Digits after the point; finer ones are rounded away.
        map: "linear", a learned matrix; or "pad", the features themselves and zeros in the rest, no weights.
    """

    kind: ClassVar[str] = "fourier"
    integer_digits: int = 10
    fraction_digits: int = 5
    map: Literal["linear", "pad"] = "linear"

    def __post_init__(self) -> None:
        check_digits(self.integer_digits, self.fraction_digits)


@embedders.register("fourier", "fone")
class FourierEmbedder(Embedder):
    """(cos, sin) of 2π|x| / 10^i for every digit place, sign, overflow and NaN coordinates (FoNE, Zhou et al. 2025).

    Angles come from the scaled integer round(|x| · 10^n) modulo 10^i, so each digit is exact. 0 and -0 have all
    cosines 1, unlike padding and unlike the released code's zero vector. Ours: the sign, 1 or -1; overflow (|x| ≥
    10^m, infinities), which shows all digits as 9 and sets a flag; NaN, which shows no digits, no sign, and a flag.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`; with `map="pad"` dim must be at least 2 · (m + n) + 3

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        if config.map == "pad" and dim < columns:
            raise ValueError(f"dim must be at least {columns} to hold the digits, got {dim=}")
        self.project = nn.Linear(columns, dim) if config.map == "linear" else None

    def scaled_integers(self, numbers: NumberTable) -> Tensor:
        """round(|x| · 10^n), at most 10^(m+n) - 1, int64 (N,)."""
        return grid_units(finite_values(numbers)[0].abs(), self.n_digits, self.fraction_digits)

    def features(self, numbers: NumberTable) -> Tensor:
        """float64 (N, 2 · (m + n) + 3): a pair for each place from the last digit up, then sign, overflow, NaN."""
        values = numbers.values()
        nan = values.isnan()
        # Whole numbers below 2^53 in float64, of which fmod is exact. (With `%` on integers, what PyTorch 2.13 compiles
        # for a CPU raises a ZeroDivisionError.)
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
    """Cosines, then sines, of periods from the longest to the shortest, each as much shorter than the one before.

    Shape:
        logarithm: (...) float64. Output: (..., 2 · count).
    """
    steps = torch.linspace(0, 1, count, dtype=torch.float64, device=logarithm.device)
    periods = longest * (shortest / longest) ** steps
    angles = 2 * math.pi * (logarithm[..., None] / periods)
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


@dataclass(frozen=True, kw_only=True)
class LogFourierConfig(Config):
    """Options of `log-fourier`.

    Attributes:
        n_frequencies: How many frequencies of log10|x|.
        longest: Longest period, in decades.
        shortest: Shortest period, in decades.
        integer_flag: Whether whole numbers carry a flag.
        floor: Decimal exponent at and below which a number is as 0.
        fade: Decades above the floor over which numbers fade into 0.
        hidden: Size of the hidden layer; `dim` where None.
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
        if self.n_frequencies < 1:
            raise ValueError(f"n_frequencies must be positive, got {self.n_frequencies=}")
        if not 0 < self.shortest <= self.longest:
            raise ValueError(f"periods must be positive and in order, got {self.shortest=}, {self.longest=}")
        if not self.fade > 0:
            raise ValueError(f"fade must be positive, got {self.fade=}")
        if self.hidden is not None and self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")


@embedders.register("log-fourier")
class LogFourierEmbedder(Embedder):
    """Cosines and sines of log10|x| from coarse to fine, with sign and flags, through a two-layer network: our default.

    Near numbers have near vectors at every scale. The features of |x| and the sign fade linearly (in log10|x|) to 0
    between 10^-90 and 10^-100, where a flag for zero fades in: so it is continuous through 0, and all below 10^-100
    is 0, as is -0. At whole numbers it jumps by the integer flag (off: `integer_flag=False`), which is not set at 0.
    Infinities are the largest float64 with a flag each; NaN shows nothing but its flag. Nothing overflows. xVal names
    it as future work; the numbers are ours.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        is_number = 1 - specials[:, 0]
        logarithm = values.abs().clamp_min(5e-324).log10()
        seen = ((logarithm - self.floor) / self.fade).clamp(0, 1)
        seen_waves = waves(logarithm, self.n_frequencies, self.longest, self.shortest) * seen[:, None]
        whole = (values == values.round()) * seen if self.integer_flag else torch.zeros_like(seen)
        flags = torch.stack([values.sign() * seen, whole, (1 - seen) * is_number], dim=-1)
        return torch.cat([seen_waves, flags, specials], dim=-1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.network(self._cast(self.features(numbers)))
