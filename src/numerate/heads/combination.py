"""Mixture of heads: a softmax over the context weights several heads, and optionally copying."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from torch import Tensor, nn

from numerate.config import Config, ConfigError
from numerate.embedders.option_checks import check_option, check_positive
from numerate.heads.base import GatedHead, Head, NumberDistribution, run_wide
from numerate.heads.pointer import CopiedDistribution, Pointer, PointerContext, log_sum, zero_term
from numerate.heads.precision import DecimalsRNN, WrittenDistribution
from numerate.processing.number_table import NumberTable
from numerate.registry import UnknownNameError, heads

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CombinationConfig", "CombinationDistribution", "CombinationHead"]

_CHUNK = 1 << 22
"""Number of (row, candidate, member) triples that are ranked at once."""


@dataclass(frozen=True, eq=False, repr=False)
class CombinationDistribution(NumberDistribution):
    """Mixtures of other distributions: Σ weight · p(number | member).

    Shape:
        log_weights: (N, m), float64.
        members: m times N distributions, all over numbers as they are written; or a single one of any kind.
    """

    log_weights: Tensor
    members: tuple[NumberDistribution, ...]

    @property
    def is_density(self) -> bool:
        """Whether `log_prob` is a density, which only that of a single member may be."""
        return len(self.members) == 1 and self.members[0].is_density

    @property
    def is_written(self) -> bool:
        """Whether all members are over numbers as they are written."""
        return all(member.is_written for member in self.members)

    @property
    def is_empty(self) -> Tensor:
        """Rows in which every number has probability 0: (N,) bool."""
        return torch.stack([member.is_empty for member in self.members]).all(0)

    @property
    def unseen(self) -> Tensor:
        """Weighted mean of the members' unseen probability: (N,)."""
        return self._weighted(lambda member: member.unseen)

    def without_unknown(self) -> Self:
        """The mixture given that the number is not in a member's entry for unknown numbers."""
        known = tuple(member.without_unknown() for member in self.members)
        # A member with such an entry loses the entry's share of its weight.
        shares = [
            torch.ones_like(weights) if own is member else 1 - member.unseen
            for weights, own, member in zip(self.log_weights.T, known, self.members, strict=True)
        ]
        log_weights = self.log_weights + torch.stack(shares, dim=-1).clamp_min(0.0).log()
        never = (log_weights == -torch.inf).all(-1, keepdim=True)
        return dataclasses.replace(self, log_weights=log_weights.masked_fill(never, 0.0).log_softmax(-1), members=known)

    def _weighted(self, part: Callable[[NumberDistribution], Tensor]) -> Tensor:
        """Σ weight · part, for parts of shape (N,) or (N, C)."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for weights, member in zip(self.log_weights.exp().T, self.members, strict=True):
            values = part(member)
            total = total + (weights if values.dim() == 1 else weights[:, None]) * values
        return total

    def _mixed(self, part: Callable[[NumberDistribution], Tensor]) -> Tensor:
        """Log Σ weight · exp(part), for parts of shape (N,) or (N, C)."""
        terms = torch.stack([part(member) for member in self.members], dim=-1)
        weights = self.log_weights if terms.dim() == 2 else self.log_weights[:, None]
        return log_sum(weights + terms)

    def _log_prob_of(self, numbers: NumberTable) -> Tensor:
        return self._mixed(lambda member: member.log_prob(numbers))

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, with the probability of "unknown" split among all unknown types (Ueberla): (N,)."""
        return self._mixed(lambda member: member.log_prob_adjusted(numbers))

    def _log_mass_of(self, numbers: NumberTable) -> Tensor:
        return self._mixed(lambda member: member.log_mass(numbers))

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        return self._mixed(lambda member: member.scores(candidates))

    def mass_scores(self, candidates: NumberTable) -> Tensor:
        """`log_mass` of each of C candidates for each row: (N, C)."""
        return self._mixed(lambda member: member.mass_scores(candidates))

    def _rank(self, candidates: NumberTable, k: int) -> tuple[Tensor, Tensor]:
        # All candidates at once and a few rows at a time, because members share work between candidates.
        step = max(1, _CHUNK // max(1, len(candidates) * len(self.members)))
        parts = [self[start : start + step] for start in range(0, len(self), step)] or [self]
        best = [part.scores(candidates).topk(min(k, len(candidates)), dim=1) for part in parts]
        return torch.cat([part.values for part in best]), torch.cat([part.indices for part in best])

    def chosen(self, numbers: NumberTable) -> Tensor:
        """Posterior probability of each member given the number: (N, m), summing to 1 (0 if no member has it)."""
        terms = self.log_weights + torch.stack([member.log_prob(numbers) for member in self.members], dim=-1)
        never = (terms == -torch.inf).all(-1, keepdim=True)
        return terms.masked_fill(never, 0.0).softmax(-1).masked_fill(never, 0.0)

    def _cdf_at(self, values: Tensor) -> Tensor:
        below = self._weighted(lambda member: member.cdf(values)).clamp(0.0, 1.0)
        return below.masked_fill(values == torch.inf, 1.0)

    def mean(self) -> Tensor:
        """Expected value, the weighted mean of the members': (N,)."""
        return self._weighted(lambda member: member.mean())

    @torch.no_grad()
    def mode(self) -> Tensor:
        """The members' mode that is most probable under the mixture: (N,).

        Modes of value distributions are first rounded to their most probable number of decimals.
        """
        if len(self.members) == 1:
            return self.members[0].mode()
        modes = [m.written_mode() if isinstance(m, WrittenDistribution) else m.mode() for m in self.members]
        scores = [self.log_prob(NumberTable.of_values(mode.tolist(), self.device)) for mode in modes]
        best = torch.stack(scores, dim=-1).argmax(-1, keepdim=True)
        return torch.stack(modes, dim=-1).gather(1, best)[:, 0]

    def _likely_values(self) -> Tensor:
        return torch.cat([member._likely_values() for member in self.members], dim=1)

    @property
    def _lists_values(self) -> bool:
        return all(member._lists_values for member in self.members)

    def _sample(self, count: int, generator: torch.Generator | None) -> Tensor:
        weights = self.log_weights.detach().exp()
        chosen = torch.multinomial(weights, count, replacement=True, generator=generator).T[None]
        samples = torch.stack([member.sample(count, generator) for member in self.members])
        return samples.gather(0, chosen)[0]


@dataclass(frozen=True, kw_only=True)
class CombinationConfig(Config):
    """Options of `combination`.

    Attributes:
        members: The heads to combine, each as a dict of its `kind` and its options.
        copies: Add a pointer that copies a number of the text, if `forward` gets a `PointerContext`.
        decimals_width: Width of the LSTM for the number of decimals, shared by members that predict values; the
            backbone's width by default.
        gate: How the model chooses between a word and a number, see `GatedHead`.
    """

    kind: ClassVar[str] = "combination"
    members: tuple[dict[str, Any], ...] = ({"kind": "h-softmax-rnn"}, {"kind": "digit-rnn"}, {"kind": "mog"})
    copies: bool = False
    decimals_width: int | None = None
    gate: Literal["class", "logit"] = "class"

    def __post_init__(self) -> None:
        check_option(bool(self.members), self, "members must name at least one head", "members")
        check_positive(self, "decimals_width")
        # All options are written out, so that a saved config does not change with the defaults.
        object.__setattr__(self, "members", tuple(_written_out(member) for member in self.members))


def _written_out(member: dict[str, Any]) -> dict[str, Any]:
    if "kind" not in member:
        raise ConfigError(f"a member needs the kind of its head, got {member!r}")
    try:
        kind = heads.name_of(member["kind"])
    except UnknownNameError as error:
        raise ConfigError(f"member: {error}") from None
    return heads[kind].Config.from_dict({**member, "kind": kind}).to_dict()


@heads.register("combination")
class CombinationHead(GatedHead):
    """Mixture of heads, Σ weight · p(number | member), with weights from a softmax (Spithourakis & Riedel, 2018).

    All members predict numbers as they are written: the mass of a member that predicts values is multiplied by
    p(decimals) of a shared LSTM. If one member is open (has a probability for every number), members with a vocabulary
    lose their entry for unknown numbers, and unfitted ones are left out. A single member without copying is left
    unchanged, `loss` included. The default members are those of the released code. With `copies`, the softmax runs over
    the members and every visible number of the text, as in pointer sentinel models (Merity et al., 2016).

    Shape: `(N, dim)` to N distributions of m members, and of copied numbers as the last member.

    Example:
        >>> head = CombinationHead.build(dim=8, members=({"kind": "mog", "granularities": 3}, {"kind": "digit-rnn"}))
        >>> distribution = head(torch.zeros(2, 8))
        >>> distribution.chosen(NumberTable.of_values([7, 0.25])).shape
        torch.Size([2, 2])
    """

    Config = CombinationConfig
    config: CombinationConfig

    def __init__(self, dim: int, config: CombinationConfig) -> None:
        super().__init__(dim, config)
        built = [heads[member["kind"]].build(dim, **member) for member in config.members]
        self.members = nn.ModuleList(built)
        self.choice = nn.Linear(dim, len(built) + config.copies)
        self.pointer = Pointer(dim) if config.copies else None
        values = self._several and not all(member.is_written for member in built)
        self.decimals = DecimalsRNN(dim, config.decimals_width) if values else None

    @property
    def _several(self) -> bool:
        """Whether there is more than one choice."""
        return len(self.members) > 1 or self.config.copies

    @property
    def looks_back(self) -> bool:
        """Whether it may copy numbers of the text."""
        return self.config.copies

    @property
    def is_written(self) -> bool:
        """True, unless a single member predicts values."""
        return self._several or self._heads()[0].is_written

    @property
    def is_open(self) -> bool:
        """Whether any member has a probability for every number."""
        return any(member.is_open for member in self._heads())

    def fit(self, numbers: NumberTable) -> None:
        """Fits every member."""
        for member in self._heads():
            member.fit(numbers)

    def _heads(self) -> list[Head]:
        return [member for member in self.members if isinstance(member, Head)]

    def forward(self, hidden: Tensor, earlier: PointerContext | None = None) -> CombinationDistribution:
        """Distributions for (N, dim) hidden states; `earlier` holds the numbers that may be copied."""
        members: list[NumberDistribution] = [member(hidden) for member in self.members]
        if self._several and self.is_open:
            members = [member.without_unknown() for member in members]
        if self.decimals is not None:
            members = [
                member if member.is_written else WrittenDistribution(member, hidden, self.decimals)
                for member in members
            ]
        scores = run_wide(self.choice, hidden)
        if self.pointer is not None:
            scores, copying = scores.split([len(members), 1], dim=-1)
            if earlier is not None:
                pointed = self.pointer(hidden, earlier)
                scores = torch.cat([scores, copying + log_sum(pointed)[:, None]], dim=-1)
                members.append(CopiedDistribution.of(pointed, earlier))
        if self._several and self.is_open:
            scores = scores.masked_fill(torch.stack([member.is_empty for member in members], dim=-1), -torch.inf)
        return CombinationDistribution(scores.log_softmax(-1), tuple(members))

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Numbers outside the range of all members: (N,) bool."""
        return torch.stack([member.clamped(numbers) for member in self._heads()]).all(0)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        if not self._several:
            return self._heads()[0]._loss(hidden, numbers) + 0.0 * run_wide(self.choice, hidden)[:, 0]
        terms = super()._loss(hidden, numbers)
        return terms if self.pointer is None else terms + zero_term(self.pointer)
