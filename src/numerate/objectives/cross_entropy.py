"""Cross-entropy of tokens whose logits come in two parts, with few passes over the logits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from numerate.processing.static_shapes import is_recorded, tokens_where

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["aligned", "mean_over", "sum_and_pick", "token_loss"]

_CHUNK = 1 << 24
"""Number of logits that are processed at once, to keep temporary tensors small."""


class _SumAndPick(torch.autograd.Function):
    """`sum_and_pick` in at least float32 that stores only the logits for the backward pass."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        wide = torch.promote_types(logits.dtype, torch.float32)
        whole = torch.cat([part.to(wide).logsumexp(dim=-1) for part in logits.split(_rows(logits))])
        picked = logits.gather(-1, labels[:, None])[:, 0].to(wide)
        ctx.save_for_backward(logits, labels, whole)
        return whole, picked

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:  # type: ignore[override]
        whole_gradient, picked_gradient = grad_outputs
        logits, labels, whole = ctx.saved_tensors
        gradient = torch.empty_like(logits)
        for start in range(0, len(logits), _rows(logits)):
            part = slice(start, start + _rows(logits))
            shares = (logits[part].to(whole.dtype) - whole[part, None]).exp_().mul_(whole_gradient[part, None])
            gradient[part] = shares.scatter_add_(1, labels[part, None], picked_gradient[part, None])
        return gradient, None


def _rows(logits: Tensor) -> int:
    return max(1, _CHUNK // max(1, logits.shape[-1]))


def sum_and_pick(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Logsumexp of all logits (..., V) at each position, and the logit of the label (...).

    For an id that is not below V, the picked logit has no meaning.

    Example:
        >>> whole, picked = sum_and_pick(torch.zeros(1, 2, 4), torch.tensor([[3, -100]]))
        >>> (whole - picked).exp()
        tensor([[4., 4.]])
    """
    size = logits.shape[-1]
    known = labels.clamp(0, size - 1)
    if torch.compiler.is_compiling():  # one fused pass; a gather would need a scatter in the backward pass
        scores = logits.float()
        chosen = torch.arange(size, device=labels.device) == known[..., None]
        return scores.logsumexp(dim=-1), torch.where(chosen, scores, 0.0).sum(dim=-1)
    whole, picked = _SumAndPick.apply(logits.reshape(-1, size), known.reshape(-1))  # type: ignore[misc]
    return whole.reshape(labels.shape), picked.reshape(labels.shape)


def aligned(labels: Tensor, shift: bool) -> Tensor:
    """Labels at the positions that predict them: (B, T), -100 where nothing is predicted."""
    return torch.nn.functional.pad(labels[:, 1:], (0, 1), value=-100) if shift else labels


def mean_over(total: Tensor, count: Tensor | int, shares: Mapping[str, Tensor] | None = None, name: str = "") -> Tensor:
    """Divides a sum of terms by their count; 0 if there are none.

    An optimizer step may consist of several batches (gradient accumulation, several processes) with different numbers
    of terms, so the mean of their means is not the mean of all terms. Each batch therefore divides by its even share of
    the count of the whole step (total count / number of batches); the mean over the batches is then the mean of all.

    Args:
        total: Sum of the batch's terms.
        count: Number of these terms.
        shares: Even shares of the counts of the whole step, by name; without an entry for `name`, `count` is used.
        name: Name of the counted terms.

    Example:
        >>> mean_over(torch.tensor(6.0), 3), mean_over(torch.tensor(6.0), 3, {"tokens": torch.tensor(2.0)}, "tokens")
        (tensor(2.), tensor(3.))
    """
    share = None if shares is None else shares.get(name)
    if share is not None:  # 0 only if the whole step has no terms, and then all sums are 0
        return total / share.clamp_min(1e-9)
    return total / (count.clamp_min(1) if isinstance(count, Tensor) else max(count, 1))


def token_loss(
    logits: Tensor, labels: Tensor, own: Tensor | None = None, first_id: int = 0, shift: bool = False,
    known: tuple[Tensor, Tensor] | None = None, shares: Mapping[str, Tensor] | None = None,
    where: Tensor | None = None, exact: bool = True, few: bool = False,
) -> Tensor:  # fmt: skip
    """Mean cross-entropy over the labelled tokens; 0 if there are none.

    The logits of the backbone and of the tokens that numerate added are normalised together but never concatenated: a
    copy of the largest tensor of a step would cost more than everything else that numerate adds.

    Args:
        logits: (B, T, V) of the backbone.
        labels: (B, T), -100 where nothing is predicted.
        own: (B, T, K) logits of the added tokens, whose ids start at `first_id`.
        first_id: Id of the first added token.
        shift: Whether the logits at t predict the token at t + 1.
        known: Result of `sum_and_pick` for these logits and the aligned labels, if it is known already.
        shares: Denominator under the name `tokens`; see `mean_over`.
        where: Places of the labelled tokens among all tokens, if they are known already.
        exact: Whether each of these places has a label.
        few: Whether (nearly) all tokens have a label, so that none need be picked.
    """
    labels = aligned(labels.to(logits.device), shift)
    if few and known is None:
        parts = [part.flatten(0, 1) for part in (logits, own) if part is not None]
        total = _rows_loss(parts, labels.flatten(), first_id)
        return mean_over(total, (labels != -100).sum(), shares, "tokens")
    if where is None and known is None and not shift:
        where, exact = tokens_where(labels != -100), True
    if where is not None and is_recorded() and not len(where):
        return logits.new_zeros(())  # a backward pass through no rows costs as much as through all
    if where is not None:  # in a masked batch few tokens have a label
        chosen = where.to(logits.device)
        parts = [part.flatten(0, 1).index_select(0, chosen) for part in (logits, own) if part is not None]
        labels = labels.flatten().index_select(0, chosen)
        count = len(where) if exact else (labels != -100).sum()
        return mean_over(_rows_loss(parts, labels, first_id), count, shares, "tokens")
    wanted = labels != -100
    whole, picked = sum_and_pick(logits, labels) if known is None else known
    if own is not None:
        ours = own.to(whole)
        whole = torch.logaddexp(whole, ours.logsumexp(dim=-1))
        mine = ours.gather(-1, (labels - first_id).clamp(0, ours.shape[-1] - 1)[..., None])[..., 0]
        picked = torch.where(labels >= first_id, mine, picked)
    return mean_over(torch.where(wanted, whole - picked, 0.0).sum(), wanted.sum(), shares, "tokens")


def _rows_loss(parts: list[Tensor], labels: Tensor, first_id: int) -> Tensor:
    """Sum of the cross-entropy over tokens (N,) with the logits (N, V), and perhaps ours (N, K); 0 for a label -100."""
    rows, size = torch.cat(parts, dim=-1), parts[0].shape[-1]
    if len(parts) > 1 and size != first_id:  # the ids between the backbone's logits and ours have no logits
        labels = labels - (labels >= first_id) * (first_id - size)
    return functional.cross_entropy(rows.to(torch.promote_types(rows.dtype, torch.float32)), labels, reduction="sum")
