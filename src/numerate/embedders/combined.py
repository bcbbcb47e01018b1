"""Composite embedders: the sum, or the concatenation, of several embedders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config, ConfigError
from numerate.embedders.base import Embedder, NumberTable
from numerate.embedders.option_checks import check_option
from numerate.registry import embedders

__all__ = ["Combined", "ConcatConfig", "ConcatEmbedder", "SumConfig", "SumEmbedder", "build_member", "check_members"]

_DEEPEST = 4
_QUANTITY_AND_FORM: tuple[dict[str, Any], ...] = ({"kind": "log-fourier"}, {"kind": "char-lstm", "size": "0.1M"})


def check_members(members: Any, depth: int = 1) -> None:
    """Raises a ConfigError unless every member is `{"kind": ..., options}` of a registered embedder."""
    if depth > _DEEPEST:
        raise ConfigError(f"members may be nested {_DEEPEST} deep at most")
    if not isinstance(members, (tuple, list)) or not members:
        raise ConfigError(f"members must be a list of at least one embedder, got {members!r:.60}")
    for member in members:
        kind = member.get("kind") if isinstance(member, dict) else None
        if not isinstance(kind, str):
            raise ConfigError(f"a member must be an object with a kind, got {member!r:.60}")
        if kind not in embedders:
            raise ConfigError(f"a member has the unknown kind {kind!r:.60}")
        if "members" in member:
            check_members(member["members"], depth + 1)
        embedders[kind].Config.from_dict({**member, "kind": embedders.name_of(kind)})


def build_member(member: dict[str, Any], dim: int) -> Embedder:
    """Builds an embedder of width `dim` from `{"kind": ..., options}`."""
    built = embedders[member["kind"]].build(dim, **{**member, "kind": embedders.name_of(member["kind"])})
    if built.width != dim:
        raise ConfigError(f"{member['kind']!r} gives {built.width} columns where {dim} are needed")
    return built


@dataclass(frozen=True, kw_only=True)
class SumConfig(Config):
    """Options of `sum`.

    Attributes:
        members: The embedders, each `{"kind": name, option: value, ...}`.
    """

    kind: ClassVar[str] = "sum"
    members: tuple[dict[str, Any], ...] = _QUANTITY_AND_FORM

    def __post_init__(self) -> None:
        check_members(self.members)


class Combined(Embedder):
    """Base class of embedders made of other embedders, whose claims follow from those of the members."""

    members: nn.ModuleList

    def _adopt(self, members: list[Embedder]) -> None:
        self.members = nn.ModuleList(members)
        self.continuous = all(member.continuous for member in members)
        self.through_zero = all(member.through_zero for member in members)
        self.signed = any(member.signed for member in members)
        self.costly = any(member.costly for member in members)

    def fit(self, values: Tensor) -> None:
        """Fits every member."""
        for member in self.members:
            member.fit(values)  # type: ignore[operator]


@embedders.register("sum")
class SumEmbedder(Combined):
    """Sum of several embedders of width `dim`; by default of quantity (`log-fourier`) and written form (`char-lstm`).

    0, -0, negatives, infinities, NaN and overflow are treated by each member in its own way.

    Example:
        >>> embedder = SumEmbedder.build(dim=8, members=[{"kind": "num"}, {"kind": "float", "bits": 64}])
        >>> embedder(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = SumConfig

    def __init__(self, dim: int, config: SumConfig) -> None:
        super().__init__(dim, config)
        self._adopt([build_member(member, dim) for member in config.members])

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return torch.stack([member(numbers).to(self._dtype()) for member in self.members]).sum(0)


@dataclass(frozen=True, kw_only=True)
class ConcatConfig(Config):
    """Options of `concat`.

    Attributes:
        members: The embedders, each `{"kind": name, option: value, ...}`.
        widths: Columns of each member, in sum `dim`; None splits them evenly, the first members get the remainder.
    """

    kind: ClassVar[str] = "concat"
    members: tuple[dict[str, Any], ...] = _QUANTITY_AND_FORM
    widths: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_members(self.members)
        matching = self.widths is None or len(self.widths) == len(self.members)
        check_option(matching, self, f"widths must have one entry for each of {len(self.members)} members", "widths")


@embedders.register("concat")
class ConcatEmbedder(Combined):
    """Concatenation of several embedders, each with its share of the columns.

    0, -0, negatives, infinities, NaN and overflow are treated by each member in its own way. `scaled-value` can be a
    member of width 1, which gives a network the plain number beside other features.

    Example:
        >>> embedder = ConcatEmbedder.build(dim=9, members=[{"kind": "num"}, {"kind": "float"}])
        >>> [member.width for member in embedder.members]
        [5, 4]
    """

    Config = ConcatConfig

    def __init__(self, dim: int, config: ConcatConfig) -> None:
        super().__init__(dim, config)
        share, over = divmod(dim, len(config.members))
        widths = config.widths or tuple(share + (k < over) for k in range(len(config.members)))
        if sum(widths) != dim or min(widths) < 1:
            raise ConfigError(f"widths must be positive and sum to dim, got {widths=}, {dim=}")
        self._adopt([build_member(member, width) for member, width in zip(config.members, widths, strict=True)])

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        return torch.cat([member(numbers).to(self._dtype()) for member in self.members], dim=-1)
