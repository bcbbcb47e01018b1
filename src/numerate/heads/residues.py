"""The remainders of a number by some small moduli, each predicted by itself."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.heads.base import Head, ValueDistribution
from numerate.heads.enumerated import EnumeratedDistribution, Support
from numerate.registry import heads
from numerate.residues import from_residues, grid_units, moduli_for, residues_of

if TYPE_CHECKING:
    from numerate.batch import NumberTable

__all__ = ["ResiduesDistribution", "ResiduesHead", "ResiduesHeadConfig"]


@dataclass(frozen=True, eq=False)
class ResiduesDistribution(EnumeratedDistribution, ValueDistribution):
    """Independent remainders: masses on all whole multiples of 10^-n that the moduli tell apart.

    `log_prob` is that of the nearest multiple (ties to even), and past the highest number of the highest. Numbers next
    to each other have all remainders different, so that what is not sure is spread far: `support` has the most probable
    numbers, found exactly, and speaks for all.

    Shape:
        log_residues: (N, sum of the moduli), float64, log-probabilities, modulus after modulus.
    """

    log_residues: Tensor
    moduli: tuple[int, ...]
    digits: int
    fraction_digits: int
    candidates: int

    def _tables(self) -> tuple[Tensor, ...]:
        return self.log_residues.split(self.moduli, dim=1)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        residues = residues_of(grid_units(values, self.digits, self.fraction_digits), self.moduli)
        return torch.stack([t.gather(1, residues[..., k]) for k, t in enumerate(self._tables())]).sum(0)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """That of the nearest multiple, with those of the support that round to the number, too."""
        half = 0.5 * torch.pow(10.0, precision.to(torch.float64).clamp(-330, 308))[..., None]
        own = grid_units(values, self.digits, self.fraction_digits)[..., None]
        support = self.support()
        others = grid_units(support.values, 15, self.fraction_digits)[:, None]
        near = ((support.values[:, None] - values[..., None]).abs() <= half) & (others != own)
        apart = support.log_masses[:, None].masked_fill(~near, -torch.inf)
        return torch.cat([self._log_prob(values, precision)[..., None], apart], dim=-1).logsumexp(-1).clamp_max(0.0)

    @functools.cached_property
    def _support(self) -> Support:
        # The best so many of the first moduli are all that can be among the best of one modulus more.
        tables = self._tables()
        best = tables[0].new_zeros(len(self), 1)
        chosen = torch.zeros(len(self), 1, 0, dtype=torch.int64, device=self.device)
        for table in tables:
            scores = (best[:, :, None] + table[:, None, :]).flatten(1)
            best, place = scores.topk(min(self.candidates, scores.shape[1]), dim=1)
            before = place // table.shape[1]
            kept = chosen.gather(1, before[..., None].expand(-1, -1, chosen.shape[2]))
            chosen = torch.cat([kept, (place % table.shape[1])[..., None]], dim=-1)
        units, order = from_residues(chosen, self.moduli).sort(dim=1)
        log_masses = best.gather(1, order)
        unseen = (1 - log_masses.exp().sum(-1)).clamp_min(0.0)
        return Support(units.to(torch.float64) / 10.0**self.fraction_digits, log_masses, unseen)

    def support(self) -> Support:
        """The most probable numbers of each row: `candidates` of them."""
        return self._support


@dataclass(frozen=True, kw_only=True)
class ResiduesHeadConfig(Config):
    """Options of `residues`.

    Attributes:
        integer_digits: Digits before the point.
        fraction_digits: Digits after the point; finer ones are rounded away.
        candidates: How many numbers the distribution enumerates.
    """

    kind: ClassVar[str] = "residues"
    integer_digits: int = 10
    fraction_digits: int = 5
    candidates: int = 64

    def __post_init__(self) -> None:
        if self.integer_digits < 0 or self.fraction_digits < 0:
            raise ValueError(f"digits must not be negative, however: {self.integer_digits=}, {self.fraction_digits=}")
        if self.candidates < 1:
            raise ValueError(f"candidates must be positive, however: {self.candidates=}")
        moduli_for(self.integer_digits + self.fraction_digits)


@heads.register("residues")
class ResiduesHead(Head):
    """Scores for the remainders of round(x · 10^n) by some small moduli, as `ResiduesEmbedder` has them; ours.

    After a layer norm, a linear layer scores the remainders of each modulus. The loss is their cross-entropy, averaged
    over the moduli. Remainders of sums, differences and products need no carries: made for exact arithmetic. Where
    nothing is sure, so is nothing about the size: take `mixture` for that. Numbers beyond the digits are learnt from as
    the highest one and reported by `clamped`; NaN and the infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over the whole multiples of 10^-n

    Example:
        >>> from numerate.batch import NumberTable
        >>> head = ResiduesHead.build(dim=8, integer_digits=3, fraction_digits=1)
        >>> head.moduli, head.clamped(NumberTable.of_values([-999.9, 1000.0])).tolist()
        ((5, 7, 8, 9, 11), [False, True])
    """

    Config = ResiduesHeadConfig
    config: ResiduesHeadConfig

    def __init__(self, dim: int, config: ResiduesHeadConfig) -> None:
        super().__init__(dim, config)
        self.digits = config.integer_digits + config.fraction_digits
        self.moduli = moduli_for(self.digits)
        self.layers = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, sum(self.moduli)))

    def forward(self, hidden: Tensor) -> ResiduesDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        scores = self._run(self.layers, hidden).split(self.moduli, dim=1)
        log_residues = torch.cat([one.log_softmax(-1) for one in scores], dim=1)
        config = self.config
        return ResiduesDistribution(log_residues, self.moduli, self.digits, config.fraction_digits, config.candidates)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Numbers with more digits before the point than there are: (N,) bool."""
        size = numbers.values().abs() * 10.0**self.config.fraction_digits
        return self.valid(numbers) & (size.round() >= 10.0**self.digits)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        return -self.forward(hidden).log_prob(numbers) / len(self.moduli)
