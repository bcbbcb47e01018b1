"""Base class of all heads (hidden states to distributions over numbers)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from numerate.embedders.option_checks import check_dim
from numerate.heads.distribution import LARGEST, NumberDistribution
from numerate.heads.values import ValueDistribution
from numerate.processing.number_table import PADDING, NumberTable

if TYPE_CHECKING:
    from numerate.config import Config
    from numerate.heads.pointer import PointerContext

__all__ = ["LARGEST", "GatedHead", "Head", "NumberDistribution", "NumberTable", "ValueDistribution", "run_wide"]


class Head(nn.Module):
    """Base class: turns N hidden states into N distributions over numbers.

    The contract, tested for every registered head: layers run in float32 at least, also under autocast and in modules
    of half precision, and distributions in float64; `loss` is finite for every number, with finite gradients; numbers
    that are not `valid` have loss 0.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
        reads_queries: Whether a head that `looks_back` reads the `query_states` of a `PointerContext`.
    """

    Config: ClassVar[type[Config]]
    reads_queries: ClassVar[bool] = True
    _written: ClassVar[bool] = False

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        check_dim(dim)
        self.dim = dim
        self.config = config

    @classmethod
    def build(cls, dim: int, **options: Any) -> Self:
        """Builds the head for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    @property
    def is_written(self) -> bool:
        """Whether its distributions are over numbers as they are written (`NumberDistribution.is_written`)."""
        return self._written or bool(getattr(self.config, "written", False))

    @property
    def is_open(self) -> bool:
        """Whether the vocabulary is open: every number has a probability of its own."""
        return True

    @property
    def looks_back(self) -> bool:
        """Whether `forward` and `loss` accept a `PointerContext`, the other numbers of the text."""
        return False

    def fit(self, numbers: NumberTable) -> None:
        """Fits components or vocabularies to data before training; most heads have nothing to fit."""
        del numbers

    def forward(self, hidden: Tensor) -> NumberDistribution:
        """Distributions for (N, dim) hidden states."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    @property
    def gates(self) -> bool:
        """Whether the head computes the choice between a word and a number itself (`number_logit`)."""
        return type(self).number_logit is not Head.number_logit

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """Logit of [NUM] in the softmax over words, by which the model chooses between a word and a number: (...).

        Args:
            hidden: (..., dim).
            own: (...), the model's own [NUM] logit; most heads return it unchanged.
            words: (...), logsumexp of the word logits. Returning `words + own` makes sigmoid(own) the probability of a
                number; returning the logsumexp of numeral scores makes one flat softmax over words and numerals.
        """
        del hidden, words
        return own

    def valid(self, numbers: NumberTable) -> Tensor:
        """Which numbers are targets: (N,) bool; NaN, the infinities and padding are not."""
        return numbers.finite() & (numbers.given != PADDING)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Which valid numbers lie outside the head's range and are trained on as its nearest number: (N,) bool."""
        return torch.zeros_like(numbers.bits, dtype=torch.bool)

    def loss(self, hidden: Tensor, numbers: NumberTable, earlier: PointerContext | None = None) -> Tensor:
        """Training loss of each number: (N,), float32 (float64 for float64 states), 0 where not `valid`.

        Args:
            hidden: (N, dim).
            numbers: N targets.
            earlier: For a head that looks back; the loss is then the negative log-probability.
        """
        invalid = ~self.valid(numbers)
        safe = dataclasses.replace(numbers, bits=numbers.bits.masked_fill(invalid, 0))
        terms = self._loss(hidden, safe) if earlier is None else -self(hidden, earlier).log_prob(safe)
        terms = terms.masked_fill(invalid, 0.0)
        return terms.to(torch.promote_types(hidden.dtype, torch.float32))

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        """Loss of each number, by default the negative log-probability; invalid numbers are 0 here and masked later."""
        return -self.forward(hidden).log_prob(numbers)


class GatedHead(Head):
    """Base class of heads with an option `gate`, the way in which the model chooses between a word and a number.

    `class`: the probability of a number is the sigmoid of the model's [NUM] logit; `logit`: [NUM] is one word among
    the others.
    """

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """`words + own` for the gate `class`, `own` for the gate `logit`: (...)."""
        del hidden
        return words + own if getattr(self.config, "gate", "class") == "class" else own


def run_wide(layers: nn.Module, hidden: Tensor, *, double: bool = True) -> Tensor:
    """Output of layers that run outside autocast and in float32 at least, as float64 unless `double` is False."""
    own = next(layers.parameters()).dtype
    wide = torch.promote_types(own, torch.float32)
    with torch.autocast(hidden.device.type, enabled=False):
        if own == wide:
            output = layers(hidden.to(wide))
        else:
            weights = {name: weight.to(wide) for name, weight in layers.named_parameters()}
            output = torch.func.functional_call(layers, weights, (hidden.to(wide),))
        return output.to(torch.float64) if double else output
