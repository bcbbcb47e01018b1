"""An embedder whose vectors start as large as they should be beside the words'."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.config import Config, ConfigError
from numerate.embedders.combined import Combined, build_member, check_members
from numerate.processing.number_table import NumberTable
from numerate.registry import embedders

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["LevelledConfig", "LevelledEmbedder"]

_MEASURED = 4096
"""Numbers that the size is measured on."""


@dataclass(frozen=True, kw_only=True)
class LevelledConfig(Config):
    """Options of `levelled`.

    Attributes:
        members: One embedder, `{"kind": name, option: value, ...}`.
        size: Root mean square that the coordinates shall have at first, their mean over numbers taken off.
    """

    kind: ClassVar[str] = "levelled"
    members: tuple[dict[str, Any], ...] = ({"kind": "log-fourier"},)
    size: float = 1.0

    def __post_init__(self) -> None:
        check_members(self.members)
        if len(self.members) != 1:
            raise ConfigError(f"members must be one embedder, got {len(self.members)}")
        if not 0 < self.size < math.inf:
            raise ConfigError(f"size must be positive, got {self.size}")


@embedders.register("levelled")
class LevelledEmbedder(Combined):
    """Another embedder's vectors, centred and brought to a size by `fit`; until then as they come.

    Where words are large and the part of a number's vector that differs from number to number is small, a model takes
    long to notice numbers at all: fresh weights give Fourier features a third of the size of words drawn from N(0, 1),
    log-Fourier features a tenth and an LSTM's a hundredth. With FoNE's brought to twice the words' size, 600 steps
    teach a small model 99 % of four-digit sums, and 0.1 % otherwise (docs/findings/arithmetic.md).

    What the member does with 0, -0, negatives, infinities, NaN and overflow, it does.

    **Shape**

    - Input: a flat number table of N numbers
    - Output: `(N, dim)`

    Example:
        >>> values = torch.linspace(1, 1000, 500, dtype=torch.float64)
        >>> embedder = LevelledEmbedder.build(dim=8, members=[{"kind": "fourier"}], size=2.0)
        >>> embedder.fit(values)
        >>> round(embedder(NumberTable.of_values(values.tolist())).square().mean().sqrt().item(), 3)
        2.0
    """

    Config = LevelledConfig
    config: LevelledConfig
    members: Any
    shift: Tensor
    gain: Tensor

    def __init__(self, dim: int, config: LevelledConfig) -> None:
        super().__init__(dim, config)
        self._adopt([build_member(config.members[0], dim)])
        self.register_buffer("shift", torch.zeros(dim))
        self.register_buffer("gain", torch.ones(()))

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Fits the member, and measures its vectors; those of an embedder that knows no numbers apart stay."""
        super().fit(values)
        evenly = torch.linspace(0, max(0, len(values) - 1), min(len(values), _MEASURED)).long().to(values.device)
        if not len(evenly):
            return
        table = NumberTable.of_values(values[evenly].tolist(), device=self.shift.device)
        vectors = self.members[0](table).double()
        apart = (vectors - vectors.mean(0)).square().mean().sqrt()
        if apart > 0:
            factor = self.config.size / float(apart)
            self.shift.copy_(vectors.mean(0) * factor)
            # A factor behind the weights would make every step of training as much larger.
            if not self.members[0].scale_(factor):
                self.gain.fill_(factor)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.members[0](numbers).to(self._dtype()) * self.gain - self.shift
