"""Wrapper that puts a small network's view of another embedder's vectors beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config, ConfigError
from numerate.embedders.combined import Combined, build_member, check_members
from numerate.embedders.option_checks import check_option
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["DeepenedConfig", "DeepenedEmbedder"]


@dataclass(frozen=True, kw_only=True)
class DeepenedConfig(Config):
    """Options of `deepened`.

    Attributes:
        members: One embedder, `{"kind": name, option: value, ...}`.
        kept: Columns of the member's own vectors; 0 for half of `dim`.
        hidden: Hidden units of the network.
    """

    kind: ClassVar[str] = "deepened"
    members: tuple[dict[str, Any], ...] = ({"kind": "log-fourier"},)
    kept: int = 0
    hidden: int = 256

    def __post_init__(self) -> None:
        check_members(self.members)
        if len(self.members) != 1:
            raise ConfigError(f"members must be one embedder, got {len(self.members)}")
        check_option(self.kept >= 0, self, "kept must not be negative", "kept")
        check_option(self.hidden >= 1, self, "hidden must be at least 1", "hidden")


@embedders.register("deepened")
class DeepenedEmbedder(Combined):
    """Another embedder's vectors, and beside them what a network with one hidden layer (GELU) makes of them.

    A network that reads two numbers through one hidden layer cannot multiply a feature of one by another; here products
    such as mantissa times exponent are made before. Our design, for sums of numbers of unlike size. 0, -0, negatives,
    infinities, NaN and overflow are treated as by the member.

    Shape: N numbers to `(N, dim)`, dim at least 2.

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> embedder = DeepenedEmbedder.build(dim=8, members=[{"kind": "decades"}], kept=6, hidden=16)
        >>> embedder(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = DeepenedConfig
    config: DeepenedConfig

    def __init__(self, dim: int, config: DeepenedConfig) -> None:
        super().__init__(dim, config)
        kept = config.kept or dim // 2
        if not 0 < kept < dim:
            raise ConfigError(f"deepened with {kept} kept columns needs more than that, got dim={dim}")
        self._adopt([build_member(config.members[0], kept)])
        self.network = nn.Sequential(nn.Linear(kept, config.hidden), nn.GELU(), nn.Linear(config.hidden, dim - kept))

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        vectors = self.members[0](numbers).to(self._dtype())
        return torch.cat([vectors, self.network(vectors)], dim=-1)
