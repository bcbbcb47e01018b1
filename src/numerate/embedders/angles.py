"""Trigonometric embedders of the value or its logarithm: DICE, periodic (PLR), Time2Vec."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, finite_values, signed_log
from numerate.embedders.option_checks import check_option, check_positive
from numerate.registry import embedders

__all__ = ["DiceConfig", "DiceEmbedder", "PeriodicConfig", "PeriodicEmbedder", "Time2VecConfig", "Time2VecEmbedder"]

_LARGEST_RAW = 1e15
"""Clamp for unscaled values: above it a float64 has no fractional digits, so its angle is arbitrary."""


@dataclass(frozen=True, kw_only=True)
class DiceConfig(Config):
    """Options of `dice`.

    Attributes:
        size: Components before the linear map (10 in LUNA).
        mode: "log", angles of ln|x|; "value", angles of x.
        sign: Add a coordinate for the sign in mode "log"; LUNA drops the sign.
        unit: Points of length 1 (last component sin^(D-1)); False uses sin^D, as the paper prints it.
        seed: Random seed of the fixed rotation Q.
    """

    kind: ClassVar[str] = "dice"
    size: int = 10
    mode: Literal["log", "value"] = "log"
    sign: bool = True
    unit: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_option(self.size >= 2, self, "size must be at least 2", "size")


@embedders.register("dice")
class DiceEmbedder(Embedder):
    """Point on a sphere whose angle grows with the number, rotated and mapped linearly (DICE 2020, as in LUNA).

    Mode "log": angle π · x / 85 with x = ln(1e-7 + |v|) clamped to [-5, 80]: all |v| below 0.0067 are embedded like 0,
    all above 5e34 like infinity. v and -v differ in the sign coordinate alone (0 for 0 and -0), a jump at 0. Mode
    "value": angle π · v / 200000 with v clamped to ±100000, sign included. NaN is 0; infinities clamp.

    Example:
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
        # A positive diagonal of R makes Q unique, so that all platforms have the same rotation.
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
        n_frequencies: Number of learned frequencies.
        sigma: Standard deviation of the initial frequencies, the most important hyper-parameter.
        activation: ReLU on the output.
        scale: Input of the sines: "log", sign(x) · log10(1 + |x|); "none", x itself, which should be standardised.
    """

    kind: ClassVar[str] = "periodic"
    n_frequencies: int = 48
    sigma: float = 0.1
    activation: bool = True

    def __post_init__(self) -> None:
        check_positive(self, "n_frequencies", "sigma")


@embedders.register("periodic", "plr")
class PeriodicEmbedder(Embedder):
    """Cosines and sines of learned frequencies, a linear map and a ReLU (PLR, Gorishniy et al. 2022).

    Continuous through 0; -0 and NaN are 0. Infinities are the largest float64 on the logarithmic scale; on the plain
    scale values are clamped to ±10^15. Angles are computed in float64.

    Example:
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
        scale: Input of the sines: "log", sign(x) · log10(1 + |x|); "none", x itself.
    """

    kind: ClassVar[str] = "time2vec"


@embedders.register("time2vec")
class Time2VecEmbedder(Embedder):
    """One linear coordinate and sines of learned frequencies and phases (Time2Vec, Kazemi et al. 2019).

    Continuous through 0; -0 and NaN are 0. Infinities are the largest float64 on the logarithmic scale; on the plain
    scale values are clamped to ±10^15. The linear coordinate is clamped to the square root of the type's maximum.

    Example:
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
        angles = _scaled(numbers, self.scale)[:, None] * self.frequencies.double() + self.phases.double()
        return self._cast(torch.cat([self._bounded(angles[:, :1]), angles[:, 1:].sin()], dim=-1))
