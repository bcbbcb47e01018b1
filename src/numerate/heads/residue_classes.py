"""The remainders of a number by some small moduli, each predicted by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from numerate.config import Config
from numerate.embedders.digit_grid import beyond_grid, check_digits, grid_units
from numerate.embedders.residue_codes import from_residues, moduli_for, residues_of
from numerate.heads.base import Head, ValueDistribution
from numerate.heads.enumerated import EnumeratedDistribution, Support
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["ResiduesDistribution", "ResiduesHead", "ResiduesHeadConfig"]


@dataclass(frozen=True, eq=False)
class ResiduesDistribution(EnumeratedDistribution, ValueDistribution):
    """Independent remainders: masses on all whole multiples of 10^-n that the moduli tell apart.

    `log_prob` is that of the nearest multiple (ties to even), and past the highest number of the highest. Numbers next
    to each other have all remainders different, so that what is not sure is spread far: `support` has the most probable
    numbers and speaks for all.

    Shape:
        log_residues: (N, sum of the moduli), float64, log-probabilities, modulus after modulus.
    """

    log_residues: Tensor
    moduli: tuple[int, ...]
    digits: int
    fraction_digits: int
    candidates: int
    _supports: dict[bool, Support] = field(init=False, default_factory=dict, repr=False)

    def _tables(self) -> tuple[Tensor, ...]:
        return self.log_residues.split(self.moduli, dim=1)

    def _log_prob(self, values: Tensor, precision: Tensor) -> Tensor:
        del precision
        residues = residues_of(grid_units(values, self.digits, self.fraction_digits), self.moduli)
        return torch.stack([t.gather(1, residues[..., k]) for k, t in enumerate(self._tables())]).sum(0)

    def _log_mass(self, values: Tensor, precision: Tensor) -> Tensor:
        """That of the nearest multiple, with those of the support that round to the number, too."""
        half = 0.5 * torch.pow(10.0, precision.to(torch.float64).clamp(-330, 308))
        support = self.support()
        others, own = (grid_units(v, self.digits, self.fraction_digits) for v in (support.values, values))
        low, high = (values - half)[..., None], (values + half)[..., None]
        near = (support.values[:, None] > low) & (support.values[:, None] <= high) & (others[:, None] != own[..., None])
        apart = support.log_masses[:, None].masked_fill(~near, -torch.inf)
        return torch.cat([self._log_prob(values, precision)[..., None], apart], dim=-1).logsumexp(-1).clamp_max(0.0)

    def support(self) -> Support:
        """`candidates` numbers of each row, the most probable: surely those among so many sets of remainders."""
        wanted = torch.is_grad_enabled()
        if wanted not in self._supports:
            self._supports[wanted] = self._enumerated()
        return self._supports[wanted]

    def _enumerated(self) -> Support:
        # The best so many of the first moduli are all that can be among the best of one modulus more.
        best = self.log_residues.new_zeros(len(self), 1)
        chosen = torch.zeros(len(self), 1, 0, dtype=torch.int64, device=self.device)
        units = chosen.sum(-1)
        for known, table in enumerate(self._tables(), start=1):
            scores = (best[:, :, None] + table[:, None, :]).flatten(1)
            next_ones = torch.arange(table.shape[1], device=self.device).repeat(chosen.shape[1])
            longer = chosen.repeat_interleave(table.shape[1], dim=1)
            longer = torch.cat([longer, next_ones.expand(len(self), -1)[..., None]], dim=-1)
            if known == len(self.moduli):
                units = from_residues(longer, self.moduli)
                # Past the digits lies what nothing was ever learnt from.
                scores = scores.masked_fill(units.abs() >= 10**self.digits, -torch.inf)
            best, place = scores.topk(min(self.candidates, scores.shape[1]), dim=1)
            chosen = longer.gather(1, place[..., None].expand(-1, -1, known))
            units = units.gather(1, place) if known == len(self.moduli) else units
        units, order = units.sort(dim=1)
        log_masses = best.gather(1, order)
        unseen = (1 - log_masses.exp().sum(-1)).clamp_min(0.0)
        return Support(units.to(torch.float64) / 10.0**self.fraction_digits, log_masses, unseen)


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
        if self.candidates < 1:
            raise ValueError(f"candidates must be positive, got {self.candidates=}")
        check_digits(self.integer_digits, self.fraction_digits)


@heads.register("residues")
class ResiduesHead(Head):
    """Scores for the remainders of round(x · 10^n) by some small moduli, as `ResiduesEmbedder` has them; ours.

    After a layer norm, a linear layer scores the remainders of each modulus. The loss is their cross-entropy, averaged
    over the moduli. Remainders of sums, and of products of whole numbers, need no carries: made for exact arithmetic.
    Where nothing is sure, so is nothing about the size: take `mixture` for that. Numbers beyond the digits are learnt
    from as the highest one and reported by `clamped`; NaN and the infinities are no targets.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over the whole multiples of 10^-n

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
        return self.valid(numbers) & beyond_grid(numbers.values(), self.digits, self.config.fraction_digits)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        return -self.forward(hidden).log_prob(numbers) / len(self.moduli)
