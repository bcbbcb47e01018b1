"""Objective `column`: minimum, maximum, mean and order of the numbers of a table column or series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from numerate.embedders.option_checks import check_positive
from numerate.objectives.cross_entropy import mean_over
from numerate.objectives.masked import Masked, MaskedConfig
from numerate.processing.number_table import PADDING
from numerate.processing.slot_positions import first_tokens
from numerate.registry import objectives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.objectives.base import Pass, Task

__all__ = ["Column", "ColumnConfig", "ColumnParts", "column_targets", "same_column", "soft_ranks", "spearman_loss"]


@dataclass(frozen=True, kw_only=True)
class ColumnConfig(MaskedConfig):
    """Options of `column`, beside those of `masked`.

    Attributes:
        column_weight: Weight of the squared errors of minimum, maximum and mean; 0.2 as in LUNA's code.
        rank_weight: Weight of the rank loss.
        sharpness: Factor of score differences in soft ranks; the larger, the closer soft ranks are to ranks.
        eps: Added to absolute values before the logarithm.
    """

    kind: ClassVar[str] = "column"
    column_weight: float = 0.2
    rank_weight: float = 0.2
    sharpness: float = 1.0
    eps: float = 1e-7

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "sharpness", "eps")


class ColumnParts(nn.Module):
    """Layers of `column`: six outputs for the mean state of a column, and one score for each number's state.

    **Shape**

    - Input: `(..., dim)`
    - Output: `(..., 6)` of `summary`, `(...)` of `score`

    Example:
        >>> parts = ColumnParts(8)
        >>> parts.summary(torch.zeros(3, 8)).shape, parts.score(torch.zeros(3, 5, 8)).shape
        (torch.Size([3, 6]), torch.Size([3, 5]))
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim), nn.Linear(dim, 6))
        self.order = nn.Linear(dim, 1)

    def summary(self, pooled: Tensor) -> Tensor:
        """Log of the absolute value, and sign, of minimum, maximum and mean."""
        return self.layers(pooled)

    def score(self, states: Tensor) -> Tensor:
        """Scores whose order is compared with the order of the numbers."""
        return self.order(states)[..., 0]


class _Columns(NamedTuple):
    """Columns of a batch: each number's first token, value and column members, and the first number of each column."""

    place: Tensor
    values: Tensor
    same: Tensor
    wanted: Tensor

    @classmethod
    def of(cls, task: Task) -> _Columns | None:
        slots, table = task.inputs.get("number_slots"), task.numbers or task.targets
        if slots is None or table is None or not table.bits.shape[1]:
            return None
        place = first_tokens(slots, table.bits.shape[1])
        values = table.values()
        valid = (place < slots.shape[1]) & (table.given != PADDING) & values.isfinite()
        same = same_column(valid, task.inputs.get("number_column"))
        # Count each column once, at its first number.
        first = valid & (same.long().argmax(-1) == torch.arange(valid.shape[1], device=valid.device))
        return cls(place, values.masked_fill(~valid, 0.0), same, first & (same.sum(-1) > 1))


@objectives.register("column")
class Column(Masked):
    """`masked`, plus the range, the mean and the order of each column of at least two numbers (LUNA's future work).

    A column is all numbers of a row of the batch (a series), or those with the same value of `number_column` (B, M)
    (a table; negative values are in no column). A small network of the objective predicts ln(1e-7 + |x|) and sgn x of
    the minimum, maximum and mean from the mean of the states of the column's numbers, including masked ones; its loss
    is the mean of the six squared errors. It also predicts a score from each state: the rank loss is 1 - Spearman's
    correlation of the soft ranks of the scores with the ranks of the numbers, for columns whose numbers are not all
    equal. Both losses are means over columns, added with their weights.
    """

    Config = ColumnConfig
    config: ColumnConfig

    def parts(self, hidden_dim: int) -> ColumnParts:
        """Builds the layers, which the model trains and saves."""
        return ColumnParts(hidden_dim)

    def total(self, tokens: Tensor | None, numbers: Tensor | None, seen: Pass) -> Tensor | None:
        """The loss of `masked` plus the two column losses."""
        loss = self.combine(tokens, numbers, seen.model.training)
        parts, columns = seen.model.objective_parts, _Columns.of(seen.task)
        if columns is None or seen.hidden is None:
            return loss
        if not isinstance(parts, ColumnParts):
            raise ValueError("the model has no layers for the objective 'column': build it with objective='column'")
        place, values, same, wanted = columns
        # In float32, because sums over long columns lose precision in half precision.
        hidden = seen.hidden.to(parts.order.weight.device)
        states = hidden.gather(1, place.clamp_max(hidden.shape[1] - 1)[..., None].expand(-1, -1, hidden.shape[-1]))
        shares = same.to(torch.float32) / same.sum(-1, keepdim=True).clamp_min(1)
        pooled = torch.bmm(shares, states.float())
        own = parts.order.weight.dtype
        errors = parts.summary(pooled.to(own)).float() - column_targets(values, same, self.config.eps).float()
        regression = _mean(errors.square().mean(-1), wanted, seen.shares, "columns")
        order, varied = spearman_loss(parts.score(states.to(own)).float(), values, same, self.config.sharpness)
        ranking = _mean(order, wanted & varied, seen.shares, "orders")
        extra = self.config.column_weight * regression + self.config.rank_weight * ranking
        return extra if loss is None else loss + extra

    def counts(self, task: Task, shift: bool) -> dict[str, Tensor]:
        """Adds the number of columns, and of columns whose numbers differ."""
        found, columns = super().counts(task, shift), _Columns.of(task)
        if columns is None:
            return found | dict.fromkeys(("columns", "orders"), torch.zeros_like(found["tokens"]))
        varied = spearman_loss(torch.zeros_like(columns.values), columns.values, columns.same)[1]
        return found | {"columns": columns.wanted.sum(), "orders": (columns.wanted & varied).sum()}


def same_column(valid: Tensor, column: Tensor | None = None) -> Tensor:
    """Pairs of numbers of a row that are in the same column: (B, M, M) bool.

    `valid` (B, M) is False for padding and values that are not finite; `column` (B, M) is the column of each number,
    negative for none, or None if each row is one column.

    Example:
        >>> same_column(torch.tensor([[True, True, False]]), torch.tensor([[4, 4, 4]])).int().tolist()
        [[[1, 1, 0], [1, 1, 0], [0, 0, 0]]]
    """
    if column is not None:
        valid = valid & (column >= 0)
    both = valid[:, :, None] & valid[:, None, :]
    return both if column is None else both & (column[:, :, None] == column[:, None, :])


def column_targets(values: Tensor, same: Tensor, eps: float = 1e-7) -> Tensor:
    """ln(eps + |x|) and sgn x of the minimum, maximum and mean of each number's column: (B, M, 6), float64.

    Values are (B, M) float64; `same` (B, M, M) is the output of `same_column`.

    Example:
        >>> every = torch.ones(1, 2, 2, dtype=torch.bool)
        >>> column_targets(torch.tensor([[-1.0, 3.0]]).double(), every)[0, 0].round(decimals=3).tolist()
        [0.0, -1.0, 1.099, 1.0, 0.0, 1.0]
    """
    each = values[:, None, :].expand(same.shape)
    least = each.masked_fill(~same, torch.inf).amin(-1)
    most = each.masked_fill(~same, -torch.inf).amax(-1)
    # Divided before they are added: the sum of very large numbers would overflow.
    mean = (each / same.sum(-1, keepdim=True).clamp_min(1)).masked_fill(~same, 0.0).sum(-1)
    facts = torch.stack([least, most, mean], dim=-1)
    facts = facts.masked_fill(~facts.isfinite(), 0.0)
    return torch.stack([torch.log(eps + facts.abs()), facts.sign()], dim=-1).flatten(-2)


def soft_ranks(scores: Tensor, same: Tensor, sharpness: float = 1.0) -> Tensor:
    """Differentiable ranks from 1 within each column, 1/2 + Σ σ(sharpness · (s_i - s_j)): (B, M).

    Example:
        >>> soft_ranks(torch.tensor([[1.0, 9.0, 5.0]]), torch.ones(1, 3, 3, dtype=torch.bool), sharpness=50.0)
        tensor([[1., 3., 2.]])
    """
    wins = torch.sigmoid(sharpness * (scores[:, :, None] - scores[:, None, :]))
    return 0.5 + wins.masked_fill(~same, 0.0).sum(-1)


def spearman_loss(scores: Tensor, values: Tensor, same: Tensor, sharpness: float = 1.0) -> tuple[Tensor, Tensor]:
    """1 - correlation of the soft ranks of scores with the ranks of values; equal values share their mean rank.

    Scores and values are (B, M); `same` (B, M, M) is the output of `same_column`, `sharpness` that of `soft_ranks`.

    Returns:
        (B, M) loss of each number's column, and (B, M) bool, whether the column's numbers differ.
    """
    one, other = values[:, :, None], values[:, None, :]
    above = (one > other).double() + 0.5 * (one == other).double()
    true = 0.5 + above.masked_fill(~same, 0.0).sum(-1)
    soft = soft_ranks(scores, same, sharpness)
    count = same.sum(-1).clamp_min(1)

    def centred(ranks: Tensor) -> Tensor:
        """Ranks of each number's column minus their mean: (B, M, M)."""
        each = ranks[:, None, :].expand(same.shape).masked_fill(~same, 0.0)
        return (each - (each.sum(-1) / count)[..., None]).masked_fill(~same, 0.0)

    hard, smooth = centred(true.to(soft)), centred(soft)
    size = hard.square().sum(-1)
    varied = size > 0
    # 1e-6 avoids the infinite gradient of the root at 0; scores that are all equal have the correlation 0.
    scale = (size.clamp_min(1e-6) * (smooth.square().sum(-1) + 1e-6)).sqrt()
    return 1 - (hard * smooth).sum(-1) / scale, varied


def _mean(terms: Tensor, wanted: Tensor, shares: Mapping[str, Tensor] | None, name: str) -> Tensor:
    return mean_over(torch.where(wanted, terms, 0.0).sum(), wanted.sum(), shares, name)
