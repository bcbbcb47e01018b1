"""Base class of all embedders (number table to vectors), and the numeric helpers that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from numerate.embedders.option_checks import check_dim
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from numerate.config import Config

__all__ = [
    "INITIAL_STD",
    "LARGEST",
    "Embedder",
    "NumberTable",
    "as_bits",
    "finite_values",
    "full_precision",
    "quantiles",
    "signed_log",
    "size_bits",
]

INITIAL_STD = 0.02
"""Standard deviation of initial lookup vectors, as for the word vectors of BERT and GPT-2."""
LARGEST = 1.7976931348623157e308
"""The largest float64."""


class Embedder(nn.Module):
    """Base class: turns a table of N numbers into N vectors.

    The contract, tested for every registered embedder: `forward` returns (N, width) in the module's own floating type
    (or the autocast type); each row depends on its own number alone; features are computed in float64 or integers; 0,
    -0, negatives, infinities, NaN and overflow are treated as the class's docstring says and never give a non-finite
    vector.

    Values that `module.to(torch.bfloat16)` must not round (bin edges, known values) are buffers of float64 bit patterns
    in int64, see `as_bits`.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        continuous: Whether vectors are a continuous function of the number, except at 0.
        through_zero: Whether they are continuous at 0, too.
        signed: Whether x and -x have different vectors.
        costly: Whether embedding is slow enough that repeated numbers of a batch should be embedded once.
        width: Columns of the output: `dim`, or 1 for an embedder that scales the [NUM] row.
        outermost: Names of the weights or layers that scale the output linearly.
    """

    Config: ClassVar[type[Config]]
    continuous: bool = False
    through_zero: bool = False
    signed: bool = True
    costly: bool = False
    outermost: ClassVar[tuple[str, ...]] = ()
    _anchor: Tensor

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        check_dim(dim)
        self.dim = dim
        self.config = config
        self.width = dim
        # Its dtype and device follow `.to(...)`, for embedders without weights.
        self.register_buffer("_anchor", torch.empty(0), persistent=False)

    @classmethod
    def build(cls, dim: int, **options: Any) -> Embedder:
        """Builds the embedder for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    def fit(self, values: Tensor) -> None:
        """Fits bins, scales or vocabularies to float64 `values` (N,); most embedders have nothing to fit."""
        del values

    @torch.no_grad()
    def scale_(self, factor: float) -> bool:
        """Multiplies all vectors by a factor through the `outermost` weights; returns False if there are none."""
        own = [
            weight
            for name, weight in self.named_parameters()
            if any(name == outer or name.startswith(f"{outer}.") for outer in self.outermost)
        ]
        for weight in own:
            weight.mul_(factor)
        return bool(own)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, width)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    def _dtype(self) -> torch.dtype:
        """The floating type of the module's weights; without weights, the type that it was moved to."""
        return next((p.dtype for p in self.parameters() if p.is_floating_point()), self._anchor.dtype)

    def _cast(self, features: Tensor) -> Tensor:
        """Features cast to the floating type of the module."""
        return features.to(self._dtype())

    def _bounded(self, values: Tensor) -> Tensor:
        """Values clamped so that their products stay finite in the module's type: 2e19 in float32, 256 in float16."""
        limit = torch.finfo(self._dtype()).max ** 0.5
        return values.clamp(-limit, limit)


def finite_values(numbers: NumberTable, limit: float = LARGEST) -> tuple[Tensor, Tensor]:
    """The values with NaN as 0 and infinities clamped to ±limit, and (N, 3) flags: NaN, +inf, -inf.

    Shape:
        Output: float64 (N,), float64 (N, 3).
    """
    values = numbers.values()
    flags = torch.stack([values.isnan(), values == torch.inf, values == -torch.inf], dim=-1).to(torch.float64)
    finite = torch.nan_to_num(values, nan=0.0, posinf=limit, neginf=-limit)
    return finite.clamp(-limit, limit) if limit < LARGEST else finite, flags


def signed_log(values: Tensor, unit: float = 1.0) -> Tensor:
    """sign(x) · log10(1 + |x| / unit): linear around 0, logarithmic far from it, odd, monotone, smooth.

    Example:
        >>> signed_log(torch.tensor([-99.0, 0.0, 9.0], dtype=torch.float64)).tolist()
        [-2.0, 0.0, 1.0]
    """
    ratio = (values.abs() / unit).clamp_max(LARGEST)
    return values.sign() * torch.log1p(ratio) / 2.302585092994046


def as_bits(values: Tensor) -> Tensor:
    """Float64 bit patterns as int64, for buffers that `.to(dtype)` must not round; inverse: `.view(torch.float64)`."""
    return values.to(torch.float64).view(torch.int64)


def size_bits(bits: Tensor) -> Tensor:
    """Bit patterns of |x| from those of x; they are ordered like |x|, so `bucketize` can compare integers.

    (On CUDA, `torch.compile` of PyTorch 2.11 misreads a float view of integer edges in `bucketize`.)
    """
    return bits & 0x7FFFFFFFFFFFFFFF


def quantiles(values: Tensor, count: int) -> Tensor:
    """`count` evenly spaced, interpolated quantiles of float64 values, minimum and maximum included."""
    ordered = values.sort().values
    position = torch.linspace(0, len(ordered) - 1, count, dtype=torch.float64, device=values.device)
    low = position.floor().to(torch.int64)
    high = (low + 1).clamp_max(len(ordered) - 1)
    return torch.lerp(ordered[low], ordered[high], position - low)


def full_precision(tensor: Tensor) -> torch.autocast:
    """Context manager that switches autocast off on the tensor's device."""
    return torch.autocast(tensor.device.type, enabled=False)
