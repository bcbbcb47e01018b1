"""Number-token losses: beside the cross-entropy, they say that 8 for 9 is less wrong than 1 for 9.

`was` and `mse` are NTL (Zausinger et al. 2025), `number` its number-level form made right, `del` the digit entropy loss
(2026). Each is a function of tensors (number_losses.py); `NumberTokenLoss` applies one to the logits and labels of any
model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor

from numerate.config import Config, ConfigError
from numerate.objectives.cross_entropy import mean_over
from numerate.objectives.number_losses import (
    corrected_for_mass,
    digit_entropy,
    expectation,
    number_error,
    place_weights,
    wasserstein,
)
from numerate.objectives.number_vocabulary import NumberVocabulary, find_spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.objectives.number_vocabulary import NumberSpans

__all__ = [
    "NumberTokenLoss", "NumberTokenLossConfig", "corrected_for_mass", "digit_entropy", "expectation", "number_error",
    "place_weights", "wasserstein",
]  # fmt: skip

_LOWEST = -1e30
"""Logits of -inf are held here: a position where no number token is allowed has no gradient, and not NaN."""
_EPS = 1e-12


@dataclass(frozen=True, kw_only=True)
class NumberTokenLossConfig(Config):
    """Options of `NumberTokenLoss`.

    Attributes:
        loss: `was` (Wasserstein), `mse`, `mae`, `number` (one term a number) or `del` (digit entropy).
        weight: Factor of the loss beside the cross-entropy; by default 0.3, and 0.01 for `del`.
        multi_digit: Whether tokens of several digits are number tokens too.
        squash: For `was`: the farthest token is so many times worse than the nearest wrong one. For vocabularies of
            tokens from 0 to 999, whose largest would otherwise outweigh all.
        correct_mass: Whether probability outside the number tokens costs more than the worst of them; not for `del`.
        ignore_index: The label of what is not predicted.
    """

    kind: ClassVar[str] = "number-tokens"
    loss: Literal["was", "mse", "mae", "number", "del"] = "was"
    weight: float | None = None
    multi_digit: bool = False
    squash: float | None = None
    correct_mass: bool = False
    ignore_index: int = -100

    def __post_init__(self) -> None:
        if self.loss not in ("was", "mse", "mae", "number", "del"):
            raise ConfigError(f"loss must be 'was', 'mse', 'mae', 'number' or 'del', got {self.loss!r}")
        if self.weight is not None and not self.weight >= 0:
            raise ConfigError(f"weight must not be negative, got {self.weight}")
        if self.squash is not None and (not self.squash > 1 or self.loss != "was"):
            raise ConfigError(f"squash must be more than 1 and goes with 'was', got {self.squash}, {self.loss!r}")
        if self.correct_mass and self.loss == "del":
            raise ConfigError("correct_mass does not go with 'del', which has no worst term")


class NumberTokenLoss:
    """A number-token loss, ready to be added to a model's loss; 0, with a graph, where there is no number token.

    It looks at the logits of number tokens alone, at positions whose label is one. The tokenizer is not changed, the
    logits may be wider than the vocabulary (or narrower), and are computed with in float32 at least.

    Args:
        vocabulary: The number tokens, or a tokenizer to take them from.
        loss: See `NumberTokenLossConfig`, as for the other options.
        **options: The config's other fields.

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
            raise ValueError("the tokenizer has no number tokens; if it has none of one digit, set multi_digit=True")
        self.vocabulary = vocabulary
        self.weight = {"del": 0.01}.get(loss, 0.3) if self.config.weight is None else self.config.weight
        self._tables: dict[tuple[torch.device, int], NumberVocabulary] = {}

    def __call__(
        self, logits: Tensor, labels: Tensor, shift: bool = False, shares: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """The weighted mean over the number tokens (with `number`, over the numbers) of a batch.

        Args:
            logits: (B, T, V).
            labels: (B, T).
            shift: Whether the logits at t predict the label at t + 1, as in causal models.
            shares: See `mean_over`; the mean is over `number_tokens`.
        """
        terms = self.terms(logits, labels, shift)
        return mean_over(self.weight * terms.sum(), len(terms), shares, "number_tokens")

    def count(self, labels: Tensor, shift: bool = False) -> Tensor:
        """How many terms there will be, from the labels alone; of logits at least as wide as the vocabulary."""
        labels = labels[:, 1:] if shift else labels
        labels = labels.masked_fill(labels == self.config.ignore_index, -1)
        table = self.vocabulary.to(labels.device)
        if self.config.loss == "number":
            return (~find_spans(labels, table).is_exponent[1:]).sum()
        return (table.column[table.rows(labels)] >= 0).sum()

    def terms(self, logits: Tensor, labels: Tensor, shift: bool = False) -> Tensor:
        """One term a number token (with `number`, a number), in reading order, without weight: (N,)."""
        if logits.dim() != 3 or logits.shape[:2] != labels.shape:
            raise ValueError(f"logits must be (B, T, V) for labels (B, T), got {_shapes(logits, labels)}")
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
            return digit_entropy(_pooled(scores, group, len(worth)), group[column], place_weights(place))
        values = table.values.to(scores.dtype)
        if self.config.loss == "was":
            terms = wasserstein(scores, self._squashed((values - values[column][:, None]).abs(), values))
        else:
            gap = expectation(scores, values) - values[column]
            terms = gap.square() if self.config.loss == "mse" else gap.abs()
        if not self.config.correct_mass:
            return terms
        return corrected_for_mass(terms, self._mass(logits, at, scores), self._worst(values))

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
        """Probability of the number tokens among all."""
        every = logits[at[:, 0], at[:, 1]].to(scores.dtype).clamp_min(_LOWEST)
        return (scores.logsumexp(-1) - every.logsumexp(-1)).exp()

    def _numbers(self, logits: Tensor, spans: NumberSpans, table: NumberVocabulary, labels: Tensor) -> Tensor:
        """One term a number: the relative error of the number that the expected digits make, at their true places.

        Digits count from the number's first one on, so that no number is too long. A token of several digits is laid
        where it begins: what a model writes there stands at that place, however much it writes.
        """
        at, runs, count = spans.digits.nonzero(), spans.run[spans.digits], len(spans.top)
        scores = _scores(logits, at, table.ids)
        leading = table.values * 10.0 ** (1 - table.widths.clamp_min(1)).to(torch.float64)  # 123 as 1.23
        scale = 10.0 ** (spans.place - spans.top[spans.run])[spans.digits].clamp_min(-300).to(torch.float64)
        nothing = torch.zeros(count, dtype=torch.float64, device=logits.device)
        own = leading[table.column[table.rows(labels[spans.digits])]]
        gold = nothing.index_add(0, runs, own * scale)
        size = nothing.index_add(0, runs, expectation(scores.to(torch.float64), leading) * scale)
        wrong = self._wrong_sign(logits, spans, table)
        # The exponent: 10^(predicted - true), for both signs that it may have.
        exponent = spans.exponent
        unit = 10.0 ** spans.top.clamp(-9, 9).to(torch.float64) * torch.where(spans.negative, -1.0, 1.0)
        true, away = (gold * unit)[exponent], (size * unit)[exponent]
        flipped = torch.where(exponent > 0, wrong[exponent], 0.0)
        same, other = (number_error(_scaled(size, power - true, exponent), gold, wrong) for power in (away, -away))
        terms = (1 - flipped) * same + flipped * other
        if self.config.correct_mass:
            tokens = torch.ones_like(scale)
            mass = nothing.index_add(0, runs, self._mass(logits, at, scores).to(torch.float64))
            terms = corrected_for_mass(terms, mass / nothing.index_add(0, runs, tokens).clamp_min(1), 1.0)
        return terms[1:][~spans.is_exponent[1:]].to(scores.dtype)

    def _wrong_sign(self, logits: Tensor, spans: NumberSpans, table: NumberVocabulary) -> Tensor:
        """How probable the other sign is where each run's sign is decided, among number tokens and minus signs."""
        width = logits.shape[1]
        at = torch.stack([spans.sign_at // max(1, width), spans.sign_at % max(1, width)], dim=1)
        if not len(table.minus) or not logits.numel():
            return torch.zeros(len(at), dtype=torch.float64, device=logits.device)
        minus = _scores(logits, at, table.minus).to(torch.float64).logsumexp(-1)
        number = _scores(logits, at, table.ids).to(torch.float64).logsumexp(-1)
        return torch.where(spans.negative, number - minus, minus - number).sigmoid()


def _scores(logits: Tensor, at: Tensor, ids: Tensor) -> Tensor:
    """Logits of some tokens at some positions, (N, K), in float32 at least; nothing as wide as the logits is copied."""
    picked = logits[at[:, :1], at[:, 1:], ids[None]]
    return picked.to(torch.promote_types(picked.dtype, torch.float32)).clamp_min(_LOWEST)


def _pooled(scores: Tensor, group: Tensor, count: int) -> Tensor:
    """One logit a value: tokens of one value (`5` and ` 5`) are one class, as probable as both together."""
    if count == len(group):
        return scores[:, group.argsort()]
    index = group.expand_as(scores)
    top = scores.detach().amax(-1, keepdim=True)
    total = torch.zeros(len(scores), count, dtype=scores.dtype, device=scores.device)
    total = total.scatter_add(1, index, (scores - top).exp())
    return total.clamp_min(1e-38).log() + top


def _scaled(size: Tensor, power: Tensor, exponent: Tensor) -> Tensor:
    # Thirty orders off is as wrong as can be; beyond, there is nothing but overflow.
    return size * 10.0 ** torch.where(exponent > 0, power, 0.0).clamp(-30, 30)


def _shapes(logits: Tensor, labels: Tensor) -> str:
    return f"{tuple(logits.shape)} and {tuple(labels.shape)}"
