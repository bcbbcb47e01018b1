"""Embedders that see a number as one real number: its value, its logarithm, or itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.base import Embedder, finite_values, full_precision
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

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
        if self.hidden < 1:
            raise ValueError(f"hidden must be positive, got {self.hidden=}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout=}")


class _Projection(Embedder):
    """One real number through one hidden layer, with learned marks of our own for what the paper leaves out."""

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
        """The real number (N,) and the marks (N, n_marks), float64."""
        raise NotImplementedError

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        scalar, marks = self._scalar(numbers)
        # float16 ends at 65504, where these numbers only begin.
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
        limit: Up to here the value enters as it is; beyond, it grows with its logarithm.
    """

    kind: ClassVar[str] = "value"
    limit: float = 1e6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.limit > 0:
            raise ValueError(f"limit must be positive, got {self.limit=}")


@embedders.register("value")
class ValueEmbedder(_Projection):
    """The value itself through a network with one hidden layer (`Value` of Thawani et al. 2021).

    Up to `limit` (the end of the paper's range) the value enters unscaled, so vectors grow with it; beyond, L·(1 +
    ln(x / L)) enters, which is smooth and monotone and stays below 10^9. -0 is 0; negatives enter as they are;
    infinities are the largest float64 with a learned mark each; NaN is 0 with a learned mark. Layers are left out of
    autocast, since float16 ends at 65504; in a module that is float16 itself, values saturate at 256.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
    """Options of `log-value`: as for `value`, without the limit."""

    kind: ClassVar[str] = "log-value"


@embedders.register("log-value")
class LogValueEmbedder(_Projection):
    """The decimal logarithm of |x| through a network with one hidden layer (`LogValue` of Thawani et al. 2021).

    For positive numbers it is the paper's. Ours: a learned mark for negatives, one for zero (whose logarithm is set
    to 0; -0 is 0), one for NaN (0 as well), one for each infinity (the logarithm of the largest float64). Nothing
    overflows. Continuous on either side of 0, with a jump at 0.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        if self.limit is not None and not self.limit > 0:
            raise ValueError(f"limit must be positive, got {self.limit=}")


@embedders.register("scaled-value", "xval")
class ScaledValueEmbedder(Embedder):
    """The number itself, to multiply the [NUM] row by (xVal, Golkar et al. 2023).

    Values are expected scaled already, into about [-5, 5]; it has no weights. 0 and -0 give 0, which wipes out the
    [NUM] row: inherent to the method. NaN gives 0, too. Infinities and overflow give the largest number that the
    module's type can still multiply (the root of its maximum: 2e19 in float32), or ±limit.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, 1)`, for placement `scale`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
