"""Residue number system head: the remainders by several moduli, each predicted independently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from numerate.embedders.digit_grid import DigitsConfig, beyond_grid, grid_units
from numerate.embedders.option_checks import check_positive
from numerate.embedders.residues import from_residues, moduli_for, residues_of
from numerate.heads.base import Head, NumberTable, ValueDistribution, run_wide
from numerate.heads.enumerated import EnumeratedDistribution, Support
from numerate.heads.values import half_unit
from numerate.registry import heads

__all__ = ["ResiduesDistribution", "ResiduesHead", "ResiduesHeadConfig"]


@dataclass(frozen=True, eq=False, repr=False)
class ResiduesDistribution(EnumeratedDistribution, ValueDistribution):
    """Independent remainders: probability masses on all integer multiples of 10^-n that the moduli distinguish.

    `log_prob` is that of the nearest multiple (ties to even), at most the highest one. Neighbouring numbers differ in
    all remainders, so uncertainty is spread over the whole range: `support` enumerates the most probable numbers.

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
        """Mass of the nearest multiple and of the numbers of the support that round to the same number."""
        half = half_unit(precision)
        support = self.support()
        others, own = (grid_units(v, self.digits, self.fraction_digits) for v in (support.values, values))
        low, high = (values - half)[..., None], (values + half)[..., None]
        near = (support.values[:, None] > low) & (support.values[:, None] <= high) & (others[:, None] != own[..., None])
        apart = support.log_masses[:, None].masked_fill(~near, -torch.inf)
        return torch.cat([self._log_prob(values, precision)[..., None], apart], dim=-1).logsumexp(-1).clamp_max(0.0)

    def _support(self) -> Support:
        """The `candidates` most probable numbers of each row."""
        # The best prefixes suffice: any prefix of one of the K best sets of remainders is among the K best prefixes.
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
                # Numbers with too many digits are never targets.
                scores = scores.masked_fill(units.abs() >= 10**self.digits, -torch.inf)
            best, place = scores.topk(min(self.candidates, scores.shape[1]), dim=1)
            chosen = longer.gather(1, place[..., None].expand(-1, -1, known))
            units = units.gather(1, place) if known == len(self.moduli) else units
        units, order = units.sort(dim=1)
        log_masses = best.gather(1, order)
        unseen = (1 - log_masses.exp().sum(-1)).clamp_min(0.0)
        return Support(units.to(torch.float64) / 10.0**self.fraction_digits, log_masses, unseen)


@dataclass(frozen=True, kw_only=True)
class ResiduesHeadConfig(DigitsConfig):
    """Options of `residues`: those of `DigitsConfig`, and `candidates`.

    Attributes:
        candidates: Number of numbers that the distribution enumerates.
    """

    kind: ClassVar[str] = "residues"
    candidates: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "candidates")


@heads.register("residues")
class ResiduesHead(Head):
    """Classifies the remainders of round(x · 10^n) by the moduli of `ResiduesEmbedder`; our design.

    Layer norm and a linear layer score the remainders of each modulus; the loss is the mean of their cross-entropies.
    Sums, and products of integers, need no carries: made for exact arithmetic. Uncertain remainders say nothing about
    the magnitude; use `mixture` where it matters. Numbers with too many digits are trained on as the highest number
    (`clamped`). NaN and the infinities are not targets.

    Shape: `(N, dim)` to N distributions over the integer multiples of 10^-n.

    Example:
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
        """Distributions for (N, dim) hidden states."""
        scores = run_wide(self.layers, hidden).split(self.moduli, dim=1)
        log_residues = torch.cat([one.log_softmax(-1) for one in scores], dim=1)
        config = self.config
        return ResiduesDistribution(log_residues, self.moduli, self.digits, config.fraction_digits, config.candidates)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Numbers with too many digits before the point: (N,) bool."""
        return self.valid(numbers) & beyond_grid(numbers.values(), self.digits, self.config.fraction_digits)

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        return -self.forward(hidden).log_prob(numbers) / len(self.moduli)
