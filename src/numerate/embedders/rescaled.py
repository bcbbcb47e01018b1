"""Wrapper that centres another embedder's vectors and rescales them to a given root mean square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch

from numerate.config import Config, ConfigError
from numerate.embedders.combined import Combined, build_member, check_members
from numerate.processing.number_table import NumberTable
from numerate.registry import embedders

__all__ = ["RescaledConfig", "RescaledEmbedder"]

_MEASURED = 4096
"""Most numbers whose vectors `fit` measures."""
_OLD_KIND = "levelled"
"""The registered name up to version 0.1.0, still found in saved models."""


@dataclass(frozen=True, kw_only=True)
class RescaledConfig(Config):
    """Options of `rescaled`.

    Attributes:
        members: One embedder, `{"kind": name, option: value, ...}`.
        size: Root mean square of the centred coordinates after `fit`.
    """

    kind: ClassVar[str] = "rescaled"
    members: tuple[dict[str, Any], ...] = ({"kind": "log-fourier"},)
    size: float = 1.0

    def __post_init__(self) -> None:
        check_members(self.members)
        if len(self.members) != 1:
            raise ConfigError(f"members must be one embedder, got {len(self.members)}")
        if not 0 < self.size < math.inf:
            raise ConfigError(f"size must be positive, got {self.size}")

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Builds the config from `to_dict`'s form; the old kind "levelled" is accepted, too."""
        if isinstance(data, dict) and data.get("kind") == _OLD_KIND:
            data = {**data, "kind": cls.kind}
        return super().from_dict(data)


@embedders.register("rescaled", _OLD_KIND)
class RescaledEmbedder(Combined):
    """Another embedder's vectors, centred and scaled to a root mean square of `size` by `fit`; unchanged before.

    Untrained embedders often give vectors that are small beside those of words (Fourier features a third, an LSTM's
    states a hundredth), and a model then needs many steps before it uses them. With FoNE's vectors at twice the words'
    size, 600 steps teach a small model 99 % of four-digit sums, and 0.1 % without (docs/findings/arithmetic.md). 0, -0,
    negatives, infinities, NaN and overflow are treated as by the member.

    Example:
        >>> values = torch.linspace(1, 1000, 500, dtype=torch.float64)
        >>> embedder = RescaledEmbedder.build(dim=8, members=[{"kind": "fourier"}], size=2.0)
        >>> embedder.fit(values)
        >>> round(embedder(NumberTable.of_values(values.tolist())).square().mean().sqrt().item(), 3)
        2.0
    """

    Config = RescaledConfig
    config: RescaledConfig
    members: Any
    shift: torch.Tensor
    gain: torch.Tensor

    def __init__(self, dim: int, config: RescaledConfig) -> None:
        super().__init__(dim, config)
        self._adopt([build_member(config.members[0], dim)])
        self.register_buffer("shift", torch.zeros(dim))
        self.register_buffer("gain", torch.ones(()))

    @torch.no_grad()
    def fit(self, values: torch.Tensor) -> None:
        """Fits the member, then sets shift and scale from its vectors; a member with one constant vector is kept."""
        super().fit(values)
        evenly = torch.linspace(0, max(0, len(values) - 1), min(len(values), _MEASURED)).long().to(values.device)
        if not len(evenly):
            return
        table = NumberTable.of_values(values[evenly].tolist(), device=self.shift.device)
        vectors = self.members[0](table).double()
        deviation = (vectors - vectors.mean(0)).square().mean().sqrt()
        if deviation > 0:
            factor = self.config.size / float(deviation)
            self.shift.copy_(vectors.mean(0) * factor)
            # Scaling the weights keeps the effective learning rate; a factor on the output would multiply every step.
            if not self.members[0].scale_(factor):
                self.gain.fill_(factor)

    def forward(self, numbers: NumberTable) -> torch.Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return self.members[0](numbers).to(self._dtype()) * self.gain - self.shift
