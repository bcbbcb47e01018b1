"""Scalar embedders: the value or its logarithm through a small network, or the value itself (xVal)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, finite_values, full_precision
from numerate.embedders.option_checks import check_dropout, check_positive
from numerate.registry import embedders

__all__ = [
    "LogValueConfig",
    "LogValueEmbedder",
    "ScaledValueConfig",
    "ScaledValueEmbedder",
    "ValueConfig",
    "ValueEmbedder",
]


@dataclass(frozen=True, kw_only=True)
class _ProjectionConfig(Config):
    hidden: int = 200
    dropout: float = 0.2
    final_relu: bool = False

    def __post_init__(self) -> None:
        check_positive(self, "hidden")
        check_dropout(self)


class _Projection(Embedder):
    """One scalar through one hidden layer; flags (our addition) for signs and values that the papers leave out."""

    continuous = True
    n_marks: int

    def __init__(self, dim: int, config: _ProjectionConfig) -> None:
        super().__init__(dim, config)
        self.inner = nn.Linear(1, config.hidden)
        self.marks = nn.Linear(self.n_marks, config.hidden, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.outer = nn.Linear(config.hidden, dim)
        self.final = nn.ReLU() if config.final_relu else nn.Identity()

    def _scalar(self, numbers: NumberTable) -> tuple[Tensor, Tensor]:
        """The scalar (N,) and the flags (N, n_marks), float64."""
        raise NotImplementedError

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        scalar, marks = self._scalar(numbers)
        # Autocast off: the scalars exceed the range of float16, 65504.
        with full_precision(numbers.bits):
            hidden = self.inner(self._cast(scalar)[:, None]) + self.marks(self._cast(marks))
            return self.final(self.outer(self.dropout(hidden).relu()))


@dataclass(frozen=True, kw_only=True)
class ValueConfig(_ProjectionConfig):
    """Options of `value`.

    Attributes:
        hidden: Size of the hidden layer.
        dropout: Dropout before the hidden layer's ReLU.
        final_relu: Put a ReLU on the output, as the released code does and the paper does not.
        limit: Values beyond ±limit are compressed logarithmically.
    """

    kind: ClassVar[str] = "value"
    limit: float = 1e6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "limit")


@embedders.register("value")
class ValueEmbedder(_Projection):
    """The value through a network with one hidden layer (`Value` of Thawani et al. 2021).

    Values up to `limit` (L, the end of the paper's range) are not scaled, so vectors grow with them; larger ones are
    replaced by L·(1 + ln(x / L)), which is smooth, monotone and below 10^9. -0 is 0; negatives keep their sign;
    infinities are the largest float64 with a learned flag each; NaN is 0 with a learned flag. The layers run outside of
    autocast; in a float16 module, values saturate at 256.

    Example:
        >>> ValueEmbedder.build(dim=8, hidden=16)(NumberTable.of_values([0.5, 1e300])).shape
        torch.Size([2, 8])
    """

    Config = ValueConfig
    outermost = ("outer",)
    through_zero = True
    n_marks = 3

    def __init__(self, dim: int, config: ValueConfig) -> None:
        super().__init__(dim, config)
        self.limit = config.limit

    def _scalar(self, numbers: NumberTable) -> tuple[Tensor, Tensor]:
        values, flags = finite_values(numbers)
        size = values.abs().clamp_min(self.limit)
        beyond = values.sign() * self.limit * (1 + torch.log(size / self.limit))
        return self._bounded(torch.where(values.abs() <= self.limit, values, beyond)), flags


@dataclass(frozen=True, kw_only=True)
class LogValueConfig(_ProjectionConfig):
    """Options of `log-value`: those of `value` without the limit."""

    kind: ClassVar[str] = "log-value"


@embedders.register("log-value")
class LogValueEmbedder(_Projection):
    """The decimal logarithm of |x| through a network with one hidden layer (`LogValue` of Thawani et al. 2021).

    Positive numbers are embedded as in the paper. Our additions are learned flags for negatives, for 0 and -0 (whose
    logarithm is set to 0), for NaN (likewise) and for each infinity (the logarithm of the largest float64). Nothing
    overflows. Continuous except at 0.

    Example:
        >>> LogValueEmbedder.build(dim=8)(NumberTable.of_values([0.0, -5e-324])).shape
        torch.Size([2, 8])
    """

    Config = LogValueConfig
    outermost = ("outer",)
    n_marks = 5

    def _scalar(self, numbers: NumberTable) -> tuple[Tensor, Tensor]:
        values, flags = finite_values(numbers)
        zero = values == 0
        logarithm = values.abs().masked_fill(zero, 1.0).log10()
        own = torch.stack([values < 0, zero & (flags[:, 0] == 0)], dim=-1)
        return logarithm, torch.cat([own.to(torch.float64), flags], dim=-1)


@dataclass(frozen=True, kw_only=True)
class ScaledValueConfig(Config):
    """Options of `scaled-value`.

    Attributes:
        limit: Clamp to ±limit (5 is the end of xVal's range); None, as in xVal, does not clamp.
    """

    kind: ClassVar[str] = "scaled-value"
    limit: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "limit")


@embedders.register("scaled-value", "xval")
class ScaledValueEmbedder(Embedder):
    """The value itself, a factor for the [NUM] row (xVal, Golkar et al. 2023); without weights.

    Values should be scaled into about [-5, 5] beforehand. 0, -0 and NaN give 0, which erases the [NUM] row: inherent to
    the method. Infinities and overflow are clamped to ±limit, or to the square root of the type's maximum (2e19 in
    float32).

    Shape: N numbers to `(N, 1)`, for placement `scale`.

    Example:
        >>> ScaledValueEmbedder.build(dim=8)(NumberTable.of_values([1.5, -2.0])).tolist()
        [[1.5], [-2.0]]
    """

    Config = ScaledValueConfig
    continuous = True
    through_zero = True

    def __init__(self, dim: int, config: ScaledValueConfig) -> None:
        super().__init__(dim, config)
        self.width = 1
        self.limit = config.limit

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, 1)."""
        values, _ = finite_values(numbers)
        if self.limit is not None:
            values = values.clamp(-self.limit, self.limit)
        return self._cast(self._bounded(values))[:, None]
