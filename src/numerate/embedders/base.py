"""What every embedder is: a number table in, one vector per number out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from numerate.config import Config
    from numerate.processing.number_table import NumberTable

__all__ = [
    "INITIAL_STD",
    "LARGEST",
    "Embedder",
    "as_bits",
    "finite_values",
    "full_precision",
    "quantiles",
    "signed_log",
    "size_bits",
]

INITIAL_STD = 0.02
"""Spread of freshly drawn lookup vectors: that of BERT's and GPT-2's word vectors."""
LARGEST = 1.7976931348623157e308
"""The largest float64."""


class Embedder(nn.Module):
    """Turns N numbers into N vectors.

    The contract, tested for every registered embedder: `forward` gives (N, width) in the module's own floating type
    (under autocast it may be the autocast type); each row depends on its own number alone; features are computed in
    float64 or integers; 0, -0, negatives, infinities, NaN and overflow are treated as the class's docstring says and
    never give a non-finite vector.

    What must not be rounded by `module.to(torch.bfloat16)` (bin edges, known values) is kept as a buffer of float64 bit
    patterns in int64: see `as_bits`.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        continuous: Whether near numbers, 0 apart, are claimed to have near vectors.
        through_zero: Whether that is claimed at 0, too.
        signed: Whether x and -x are claimed to differ.
        costly: Whether a number costs so much that finding the repeated ones of a batch pays.
        width: Columns of the output: `dim`, or 1 for an embedder made to scale the [NUM] row.
        outermost: Names of the weights, or of layers, that multiply every vector if they are multiplied.
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
        if dim < 1:
            raise ValueError(f"dim must be positive, got {dim=}")
        self.dim = dim
        self.config = config
        self.width = dim
        # Follows `.to(...)` in the embedders that have no weights.
        self.register_buffer("_anchor", torch.empty(0), persistent=False)

    @classmethod
    def build(cls, dim: int, **options: Any) -> Embedder:
        """Builds the embedder for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    def fit(self, values: Tensor) -> None:
        """Fits what is fitted to data (bins, scales) on float64 `values`; most embedders have nothing to fit."""
        del values

    @torch.no_grad()
    def scale_(self, factor: float) -> bool:
        """Multiplies every vector by a factor, by way of the `outermost` weights; False if there are none."""
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
        """The floating type of the module's weights, or the one it was moved to where it has none."""
        return next((p.dtype for p in self.parameters() if p.is_floating_point()), self._anchor.dtype)

    def _cast(self, features: Tensor) -> Tensor:
        """Finished features in the floating type of the module."""
        return features.to(self._dtype())

    def _bounded(self, values: Tensor) -> Tensor:
        """Values held where the module's type can still multiply them: 2e19 in float32, 256 in float16."""
        limit = torch.finfo(self._dtype()).max ** 0.5
        return values.clamp(-limit, limit)


def finite_values(numbers: NumberTable, limit: float = LARGEST) -> tuple[Tensor, Tensor]:
    """The values with NaN as 0 and infinities clamped to ±limit, and (N, 3) flags: NaN, +inf, -inf.

    Shape:
        Output: float64 (N,), float64 (N, 3).
    """
    values = numbers.values()
    flags = torch.stack([values.isnan(), values == torch.inf, values == -torch.inf], dim=-1).to(torch.float64)
    return torch.nan_to_num(values, nan=0.0, posinf=limit, neginf=-limit).clamp(-limit, limit), flags


def signed_log(values: Tensor, unit: float = 1.0) -> Tensor:
    """sign(x) · log10(1 + |x| / unit): linear around 0, logarithmic far from it, odd, monotone, smooth.

    Example:
        >>> signed_log(torch.tensor([-99.0, 0.0, 9.0], dtype=torch.float64)).tolist()
        [-2.0, 0.0, 1.0]
    """
    ratio = (values.abs() / unit).clamp_max(LARGEST)
    return values.sign() * torch.log1p(ratio) / 2.302585092994046


def as_bits(values: Tensor) -> Tensor:
    """Values as float64 bit patterns, for buffers that `.to(dtype)` must not round; back: `.view(torch.float64)`."""
    return values.to(torch.float64).view(torch.int64)


def size_bits(bits: Tensor) -> Tensor:
    """Bit patterns of |x| from those of x; they order as the sizes do, so bins are found by comparing integers.

    (On CUDA, `torch.compile` of PyTorch 2.11 misreads a float view of integer edges in `bucketize`.)
    """
    return bits & 0x7FFFFFFFFFFFFFFF


def quantiles(values: Tensor, count: int) -> Tensor:
    """`count` evenly spaced quantiles of any number of float64 values, lowest and highest included, interpolated."""
    ordered = values.sort().values
    position = torch.linspace(0, len(ordered) - 1, count, dtype=torch.float64, device=values.device)
    low = position.floor().to(torch.int64)
    high = (low + 1).clamp_max(len(ordered) - 1)
    return torch.lerp(ordered[low], ordered[high], position - low)


def full_precision(tensor: Tensor) -> torch.autocast:
    """A context in which autocast does not touch the layers, for those that low precision would ruin."""
    return torch.autocast(tensor.device.type, enabled=False)
