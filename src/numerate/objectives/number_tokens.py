"""Number-token losses, added to the cross-entropy: predicting 8 instead of 9 costs less than predicting 1.

`was` and `mse` are NTL (Zausinger et al. 2025), `number` is its number-level form with signs, points and exponents,
`del` is the digit entropy loss (2026). `NumberTokenLoss` applies one of them to the logits and labels of any model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor

from numerate.config import Config, ConfigError, check_names
from numerate.embedders.option_checks import check_option
from numerate.objectives import number_losses
from numerate.objectives.cross_entropy import mean_over
from numerate.objectives.number_vocabulary import NumberSpans, NumberVocabulary, find_spans

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NumberTokenLoss", "NumberTokenLossConfig"]

_LOWEST = -1e30
"""Lower limit of logits: without it, a position whose number tokens are all at -inf has the gradient NaN."""
_EPS = 1e-12


@dataclass(frozen=True, kw_only=True)
class NumberTokenLossConfig(Config):
    """Options of `NumberTokenLoss`.

    Attributes:
        loss: `was` (Wasserstein), `mse`, `mae`, `number` (one term for each number) or `del` (digit entropy).
        weight: Weight of the loss relative to the cross-entropy; by default 0.3, and 0.01 for `del`.
        multi_digit: Whether tokens of several digits are number tokens, too.
        squash: For `was`: ratio of the largest to the smallest distance after compression. For vocabularies with tokens
            from 0 to 999, whose largest distances would otherwise dominate.
        correct_mass: Whether probability outside the number tokens costs more than the worst number token, as in
            ntloss; for `number`, at the number's first digit. Not for `del`.
        ignore_index: Label of positions that are not predicted.
    """

    kind: ClassVar[str] = "number-tokens"
    loss: Literal["was", "mse", "mae", "number", "del"] = "was"
    weight: float | None = None
    multi_digit: bool = False
    squash: float | None = None
    correct_mass: bool = False
    ignore_index: int = -100

    def __post_init__(self) -> None:
        check_names(self)
        check_option(self.weight is None or self.weight >= 0, self, "weight must not be negative", "weight")
        squashes = self.squash is None or (self.squash > 1 and self.loss == "was")
        check_option(squashes, self, "squash must be more than 1 and needs loss='was'", "squash", "loss")
        if self.correct_mass and self.loss == "del":
            raise ConfigError("correct_mass cannot be used with loss='del', which has no worst term")


class NumberTokenLoss:
    """A number-token loss that can be added to a model's loss; 0 (with a gradient graph) if there are no number tokens.

    It uses the logits of number tokens at positions whose label is a number token. The tokenizer is not changed. The
    logits may be wider or narrower than the vocabulary; computations are in at least float32.

    Args:
        vocabulary: The number tokens, or a tokenizer to take them from.
        loss: Kind of loss, one of those of `NumberTokenLossConfig`.
        **options: Other fields of `NumberTokenLossConfig`.

    Shape:
        Logits (B, T, V), labels (B, T). Output: a scalar, weighted.

    Example:
        >>> letters = {char: index for index, char in enumerate("0123456789.-e ")}
        >>> loss = NumberTokenLoss(NumberVocabulary.of_vocabulary(letters), "was", weight=1.0)
        >>> labels, logits = torch.tensor([[9, 13]]), torch.zeros(1, 2, 14)
        >>> loss(logits, labels)  # the mean of 9, 8 ... 0
        tensor(4.5000)
    """

    def __init__(self, vocabulary: NumberVocabulary | Any, loss: str = "was", **options: Any) -> None:
        self.config = NumberTokenLossConfig.from_dict({"loss": loss, **options})
        if not isinstance(vocabulary, NumberVocabulary):
            vocabulary = NumberVocabulary.of(vocabulary, self.config.multi_digit)
        if not len(vocabulary.ids):
            raise ValueError("the tokenizer has no number tokens of one digit: set multi_digit=True")
        self.vocabulary = vocabulary
        self.weight = {"del": 0.01}.get(loss, 0.3) if self.config.weight is None else self.config.weight
        self._tables: dict[tuple[torch.device, int], NumberVocabulary] = {}

    @property
    def reads_neighbours(self) -> bool:
        """Whether a term depends on the labels beside a token: the digits of a number, or a digit's place."""
        return self.config.loss in ("number", "del")

    def __call__(
        self, logits: Tensor, labels: Tensor, shift: bool = False, shares: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Weighted mean over the number tokens (for `number`, over the numbers) of logits (B, T, V), labels (B, T).

        With `shift`, the logits at t predict the label at t + 1, as in causal models. `shares` has the denominator
        under the name `number_tokens`; see `mean_over`.
        """
        terms = self.terms(logits, labels, shift)
        return mean_over(self.weight * terms.sum(), len(terms), shares, "number_tokens")

    def count(self, labels: Tensor, shift: bool = False) -> Tensor:
        """Number of terms, from the labels alone, if the logits are at least as wide as the vocabulary."""
        labels = labels[:, 1:] if shift else labels
        labels = labels.masked_fill(labels == self.config.ignore_index, -1)
        table = self.vocabulary.to(labels.device)
        if self.config.loss == "number":
            return (~find_spans(labels, table).is_exponent[1:]).sum()
        return (table.column[table.rows(labels)] >= 0).sum()

    def terms(self, logits: Tensor, labels: Tensor, shift: bool = False) -> Tensor:
        """Unweighted terms, one for each number token (for `number`, each number) in reading order: (N,)."""
        if logits.dim() != 3 or logits.shape[:2] != labels.shape:
            raise ValueError(
                f"logits must be (B, T, V) for labels (B, T), got {tuple(logits.shape)} and {tuple(labels.shape)}"
            )
        labels = labels.to(logits.device)
        if shift:
            logits, labels = logits[:, :-1], labels[:, 1:]
        table = self._table(logits)
        labels = labels.masked_fill(labels == self.config.ignore_index, -1)
        if self.config.loss == "number":
            return self._numbers(logits, find_spans(labels, table), table, labels)
        columns = table.column[table.rows(labels)]
        where = columns >= 0
        at, column = where.nonzero(), columns[where]
        scores = _scores(logits, at, table.ids)
        if self.config.loss == "del":
            place = find_spans(labels, table).place[where]
            worth, group = table.values.unique(return_inverse=True)
            return number_losses.digit_entropy(
                _pooled(scores, group, len(worth)), group[column], number_losses.place_weights(place)
            )
        values = table.values.to(scores.dtype)
        if self.config.loss == "was":
            distances = self._squashed((values - values[column][:, None]).abs(), values)
            terms = (scores.softmax(-1) * distances).sum(-1)  # the Wasserstein-1 distance to the label
        else:
            gap = scores.softmax(-1) @ values - values[column]
            terms = gap.square() if self.config.loss == "mse" else gap.abs()
        if not self.config.correct_mass:
            return terms
        return number_losses.corrected_for_mass(terms, self._mass(logits, at, scores), self._worst(values))

    def _table(self, logits: Tensor) -> NumberVocabulary:
        key = logits.device, logits.shape[-1]
        if key not in self._tables:
            self._tables[key] = self.vocabulary.to(logits.device).within(logits.shape[-1])
        return self._tables[key]

    def _squashed(self, distances: Tensor, values: Tensor) -> Tensor:
        if self.config.squash is None or len(values) < 2:
            return distances
        gaps = values.sort().values.diff()
        nearest, farthest = gaps[gaps > 0].min(), values.max() - values.min()
        slope = (self.config.squash - 1) / (farthest - nearest).clamp_min(_EPS)
        return torch.where(distances > 0, 1 + (distances - nearest) * slope, 0.0)

    def _worst(self, values: Tensor) -> float:
        farthest = float(values.max() - values.min()) if len(values) else 0.0
        if self.config.loss == "mse":
            return farthest**2
        return farthest if self.config.squash is None else self.config.squash

    def _mass(self, logits: Tensor, at: Tensor, scores: Tensor) -> Tensor:
        """Total probability of the number tokens."""
        every = logits[at[:, 0], at[:, 1]].to(scores.dtype).clamp_min(_LOWEST)
        return (scores.logsumexp(-1) - every.logsumexp(-1)).exp()

    def _numbers(self, logits: Tensor, spans: NumberSpans, table: NumberVocabulary, labels: Tensor) -> Tensor:
        """Relative error of each number, computed from the expected digits at their true places.

        Digits are scaled relative to the number's first digit, so that no number is too long. A token of several digits
        is placed where it starts, whatever the length of the predicted token.
        """
        at, runs, count = spans.digits.nonzero(), spans.run[spans.digits], len(spans.top)
        scores = _scores(logits, at, table.ids)
        leading = table.values * 10.0 ** (1 - table.widths.clamp_min(1)).to(torch.float64)  # 1.23 for the token 123
        scale = 10.0 ** (spans.place - spans.top[spans.run])[spans.digits].clamp_min(-300).to(torch.float64)
        nothing = torch.zeros(count, dtype=torch.float64, device=logits.device)
        own = leading[table.column[table.rows(labels[spans.digits])]]
        gold = nothing.index_add(0, runs, own * scale)
        size = nothing.index_add(0, runs, (scores.to(torch.float64).softmax(-1) @ leading) * scale)
        wrong = self._wrong_sign(logits, spans, table)
        # The exponent contributes 10^(predicted - true), for both of its possible signs.
        exponent = spans.exponent
        unit = 10.0 ** spans.top.clamp(-9, 9).to(torch.float64) * torch.where(spans.negative, -1.0, 1.0)
        true, away = (gold * unit)[exponent], (size * unit)[exponent]
        flipped = torch.where(exponent > 0, wrong[exponent], 0.0)
        same, other = (
            number_losses.number_error(_scaled(size, power - true, exponent), gold, wrong) for power in (away, -away)
        )
        terms = (1 - flipped) * same + flipped * other
        if self.config.correct_mass:
            # The mass where the number begins, as in ntloss: it decides between a number and text.
            first = torch.cat([runs.new_ones(1), runs[1:] != runs[:-1]]).bool()[: len(runs)]
            mass = nothing.index_add(0, runs[first], self._mass(logits, at[first], scores[first]).to(torch.float64))
            terms = number_losses.corrected_for_mass(terms, mass, 1.0)
        return terms[1:][~spans.is_exponent[1:]].to(scores.dtype)

    def _wrong_sign(self, logits: Tensor, spans: NumberSpans, table: NumberVocabulary) -> Tensor:
        """Probability of the other sign at the position that decides it, among number tokens and minus signs."""
        width = logits.shape[1]
        at = torch.stack([spans.sign_at // max(1, width), spans.sign_at % max(1, width)], dim=1)
        if not len(table.minus) or not logits.numel():
            return torch.zeros(len(at), dtype=torch.float64, device=logits.device)
        minus = _scores(logits, at, table.minus).to(torch.float64).logsumexp(-1)
        number = _scores(logits, at, table.ids).to(torch.float64).logsumexp(-1)
        return torch.where(spans.negative, number - minus, minus - number).sigmoid()


def _scores(logits: Tensor, at: Tensor, ids: Tensor) -> Tensor:
    """Logits of the tokens `ids` at the positions `at`: (N, K), at least float32, without a copy of all logits."""
    picked = logits[at[:, :1], at[:, 1:], ids[None]]
    return picked.to(torch.promote_types(picked.dtype, torch.float32)).clamp_min(_LOWEST)


def _pooled(scores: Tensor, group: Tensor, count: int) -> Tensor:
    """One logit for each value: tokens of the same value (`5` and ` 5`) are one class with their joint probability."""
    if count == len(group):
        return scores[:, group.argsort()]
    index = group.expand_as(scores)
    top = scores.detach().amax(-1, keepdim=True)
    total = torch.zeros(len(scores), count, dtype=scores.dtype, device=scores.device)
    total = total.scatter_add(1, index, (scores - top).exp())
    return total.clamp_min(1e-38).log() + top


def _scaled(size: Tensor, power: Tensor, exponent: Tensor) -> Tensor:
    # Limited to 30 orders of magnitude, where the error has reached its maximum, to avoid overflow.
    return size * 10.0 ** torch.where(exponent > 0, power, 0.0).clamp(-30, 30)
