"""Embedders that turn a number into angles: DICE, periodic, Time2Vec."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, finite_values, signed_log
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["DiceConfig", "DiceEmbedder", "PeriodicConfig", "PeriodicEmbedder", "Time2VecConfig", "Time2VecEmbedder"]

_LARGEST_RAW = 1e15
"""Beyond this, a float64 has no digits left after the point, and an angle made of it no meaning."""


@dataclass(frozen=True, kw_only=True)
class DiceConfig(Config):
    """Options of `dice`.

    Attributes:
        size: Components before the linear map (10 in LUNA).
        mode: "log", angles of ln|x|; "value", angles of x.
        sign: Add a coordinate for the sign in mode "log"; LUNA loses the sign.
        unit: Unit length (the last component is sin^(D-1)); False is sin^D, as printed.
        seed: Of the fixed rotation Q.
    """

    kind: ClassVar[str] = "dice"
    size: int = 10
    mode: Literal["log", "value"] = "log"
    sign: bool = True
    unit: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ValueError(f"size must be at least 2, got {self.size=}")


@embedders.register("dice")
class DiceEmbedder(Embedder):
    """A point on a sphere whose angle grows with the number, rotated, then a linear map (DICE 2020, as in LUNA).

    Mode "log": angle π · x / 85 with x = ln(1e-7 + |v|) clamped to [-5, 80], so all |v| below 0.0067 are as 0, and
    all above 5e34 as infinity; x and -x differ by the sign coordinate alone (0 for 0 and -0), so it jumps at 0. Mode
    "value": angle π · v / 200000 with v clamped to ±100000, sign included. NaN is 0; infinities clamp.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> DiceEmbedder.build(dim=8, size=2, mode="value").point(NumberTable.of_values([0])).tolist()
        [[1.0, 0.0]]
    """

    Config = DiceConfig
    outermost = ("project",)
    continuous = True
    rotation: Tensor

    def __init__(self, dim: int, config: DiceConfig) -> None:
        super().__init__(dim, config)
        self.size, self.mode, self.unit = config.size, config.mode, config.unit
        self.sign = config.sign and config.mode == "log"
        self.signed = config.sign or config.mode == "value"
        self.through_zero = not self.sign
        normal = torch.randn(
            config.size, config.size, dtype=torch.float64, generator=torch.Generator().manual_seed(config.seed)
        )
        q, r = torch.linalg.qr(normal)
        # One Q for all platforms: the diagonal of R is made positive.
        self.register_buffer("rotation", (q * r.diagonal().sign()).to(torch.get_default_dtype()).contiguous())
        self.project = nn.Linear(config.size + self.sign, dim)

    def point(self, numbers: NumberTable) -> Tensor:
        """The point on the sphere before the rotation, float64 (N, size)."""
        values, _ = finite_values(numbers)
        if self.mode == "log":
            angle = math.pi / 85 * torch.log(1e-7 + values.abs()).clamp(-5, 80)
        else:
            angle = math.pi / 2e5 * values.clamp(-1e5, 1e5)
        sine, cosine = angle.sin()[:, None], angle.cos()[:, None]
        powers = torch.cat([torch.ones_like(sine), sine.expand(-1, self.size - 1)], dim=-1).cumprod(-1)
        last = powers[:, -1:] if self.unit else powers[:, -1:] * sine
        return torch.cat([powers[:, :-1] * cosine, last], dim=-1)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        point = self._cast(self.point(numbers)) @ self.rotation.T
        if self.sign:
            point = torch.cat([point, finite_values(numbers)[0].sign()[:, None].to(point.dtype)], dim=-1)
        return self.project(point)


@dataclass(frozen=True, kw_only=True)
class _ScaleConfig(Config):
    scale: Literal["log", "none"] = "log"


def _scaled(numbers: NumberTable, scale: str) -> Tensor:
    values, _ = finite_values(numbers)
    return signed_log(values) if scale == "log" else values.clamp(-_LARGEST_RAW, _LARGEST_RAW)


@dataclass(frozen=True, kw_only=True)
class PeriodicConfig(_ScaleConfig):
    """Options of `periodic`.

    Attributes:
        n_frequencies: How many learned frequencies.
        sigma: Spread of the first frequencies, the hyper-parameter that matters most.
        activation: ReLU on the output.
        scale: "log", frequencies of sign(x) · log10(1 + |x|); "none", of x itself, which should then be standardised.
    """

    kind: ClassVar[str] = "periodic"
    n_frequencies: int = 48
    sigma: float = 0.1
    activation: bool = True

    def __post_init__(self) -> None:
        if self.n_frequencies < 1:
            raise ValueError(f"n_frequencies must be positive, got {self.n_frequencies=}")
        if not self.sigma > 0:
            raise ValueError(f"sigma must be positive, got {self.sigma=}")


@embedders.register("periodic", "plr")
class PeriodicEmbedder(Embedder):
    """Cosines and sines of learned frequencies, a linear map, a ReLU (PLR, Gorishniy et al. 2022).

    Continuous through 0; -0 is 0; NaN is 0. Infinities are the largest float64 on the logarithmic scale; on the plain
    scale they and whatever exceeds 10^15 are ±10^15. Angles are computed in float64.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> PeriodicEmbedder.build(dim=8)(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = PeriodicConfig
    outermost = ("linear",)
    continuous = True
    through_zero = True

    def __init__(self, dim: int, config: PeriodicConfig) -> None:
        super().__init__(dim, config)
        self.scale = config.scale
        bound = 3 * config.sigma
        self.frequencies = nn.Parameter(torch.empty(config.n_frequencies))
        nn.init.trunc_normal_(self.frequencies, 0.0, config.sigma, a=-bound, b=bound)
        self.linear = nn.Linear(2 * config.n_frequencies, dim)
        self.activation = nn.ReLU() if config.activation else nn.Identity()

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        angles = 2 * math.pi * _scaled(numbers, self.scale)[:, None] * self.frequencies.to(torch.float64)
        return self.activation(self.linear(self._cast(torch.cat([angles.cos(), angles.sin()], dim=-1))))


@dataclass(frozen=True, kw_only=True)
class Time2VecConfig(_ScaleConfig):
    """Options of `time2vec`.

    Attributes:
        scale: "log", of sign(x) · log10(1 + |x|); "none", of x itself.
    """

    kind: ClassVar[str] = "time2vec"


@embedders.register("time2vec")
class Time2VecEmbedder(Embedder):
    """One linear coordinate, all others sines of learned frequencies and phases (Time2Vec, Kazemi et al. 2019).

    Continuous through 0; -0 is 0; NaN is 0. Infinities are the largest float64 on the logarithmic scale; on the plain
    scale they and whatever exceeds 10^15 are ±10^15, and the linear coordinate stays where the module's type can
    multiply it.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> Time2VecEmbedder.build(dim=8)(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = Time2VecConfig
    continuous = True
    through_zero = True

    def __init__(self, dim: int, config: Time2VecConfig) -> None:
        super().__init__(dim, config)
        self.scale = config.scale
        self.frequencies = nn.Parameter(torch.randn(dim))
        self.phases = nn.Parameter(2 * math.pi * torch.rand(dim))

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        angles = _scaled(numbers, self.scale)[:, None] * self.frequencies.to(torch.float64) + self.phases.to(
            torch.float64
        )
        return self._cast(torch.cat([self._bounded(angles[:, :1]), angles[:, 1:].sin()], dim=-1))
