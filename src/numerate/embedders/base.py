"""What every embedder is: a number table in, one vector per number out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config

if TYPE_CHECKING:
    from numerate.batch import NumberTable

__all__ = ["Embedder", "finite_values"]


class Embedder(nn.Module):
    """Turns N numbers into N vectors.

    The contract, tested for every registered embedder: `forward` gives (N, width) in the module's own floating type;
    each row depends on its own number alone; features are computed in float64 or integers; 0, -0, negatives, infinities,
    NaN and overflow are treated as the class's docstring says and never give a non-finite vector.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        continuous: Whether near numbers are claimed to have near vectors.
        signed: Whether x and -x are claimed to differ.
        width: Columns of the output: `dim`, or 1 for an embedder made to scale the [NUM] row.
    """

    Config: ClassVar[type[Config]]
    continuous: ClassVar[bool] = False
    signed: ClassVar[bool] = True

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        if dim < 1:
            raise ValueError(f"dim must be positive, however: {dim=}")
        self.dim = dim
        self.config = config
        self.width = dim

    @classmethod
    def build(cls, dim: int, **options: Any) -> Embedder:
        """Builds the embedder for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    def fit(self, values: Tensor) -> None:
        """Fits what is fitted to data (bins, scales) on float64 `values`; most embedders have nothing to fit."""
        del values

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, width)."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    def _dtype(self) -> torch.dtype:
        """The floating type of the module's weights (float32 where it has none)."""
        return next((p.dtype for p in self.parameters() if p.is_floating_point()), torch.float32)


def finite_values(numbers: NumberTable, limit: float = 1.7976931348623157e308) -> tuple[Tensor, Tensor]:
    """The values with NaN as 0 and infinities clamped to ±limit, and (N, 3) flags: NaN, +inf, -inf.

    Shape:
        Output: float64 (N,), float64 (N, 3).
    """
    values = numbers.values()
    flags = torch.stack([values.isnan(), values == torch.inf, values == -torch.inf], dim=-1).to(torch.float64)
    return torch.nan_to_num(values, nan=0.0, posinf=limit, neginf=-limit).clamp(-limit, limit), flags
