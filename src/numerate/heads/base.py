"""What every head is: hidden states in, a `NumberDistribution` out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn

from numerate.heads.distribution import LARGEST, NumberDistribution, ValueDistribution, from_order, to_order
from numerate.processing.number_table import PADDING

if TYPE_CHECKING:
    from numerate.config import Config
    from numerate.heads.pointer import PointerContext
    from numerate.processing.number_table import NumberTable

__all__ = ["LARGEST", "Head", "NumberDistribution", "ValueDistribution", "from_order", "to_order"]


class Head(nn.Module):
    """Turns N hidden states into N distributions over numbers.

    The contract, tested for every registered head: layers run in float32 at least, under autocast and in a module of
    half precision too, and distributions in float64; `loss` is finite for every number, with finite gradients; numbers
    that are no target at all (`valid`) cost nothing.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
    """

    Config: ClassVar[type[Config]]

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        if dim < 1:
            raise ValueError(f"dim must be positive, got {dim=}")
        self.dim = dim
        self.config = config

    @classmethod
    def build(cls, dim: int, **options: Any) -> Self:
        """Builds the head for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    @property
    def is_written(self) -> bool:
        """Whether its distributions are of numbers as they are written; by default, what an option `written` says."""
        return bool(getattr(self.config, "written", False))

    @property
    def is_open(self) -> bool:
        """Whether every number has a probability of its own, and not those of a vocabulary alone."""
        return True

    @property
    def looks_back(self) -> bool:
        """Whether `forward` and `loss` take what stands earlier in the text, `numerate.heads.pointer.PointerContext`, too."""
        return False

    def fit(self, numbers: NumberTable) -> None:
        """Fits what is fitted to data before training (components, vocabularies); most heads have nothing to fit."""
        del numbers

    def forward(self, hidden: Tensor) -> NumberDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    @property
    def gates(self) -> bool:
        """Whether the head has its own way to choose between a word and a number."""
        return type(self).number_logit is not Head.number_logit

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """The logit of [NUM] beside those of the words, by which the model chooses between a word and a number: (...).

        Args:
            hidden: (..., dim).
            own: (...), the model's own [NUM] logit, as most heads leave it.
            words: (...), the logsumexp of the words' logits. `words + own` makes sigmoid(own) the probability of a
                number, however many words there are; the logsumexp of a head's own scores makes one flat softmax of
                words and numerals.
        """
        del hidden, words
        return own

    def valid(self, numbers: NumberTable) -> Tensor:
        """Which numbers can be learnt from: (N,) bool. Not NaN, the infinities and padding."""
        return numbers.values().isfinite() & (numbers.given != PADDING)

    def clamped(self, numbers: NumberTable) -> Tensor:
        """Which valid numbers are beyond what the head can say, and learnt from as the nearest it can: (N,) bool."""
        return torch.zeros_like(numbers.bits, dtype=torch.bool)

    def loss(self, hidden: Tensor, numbers: NumberTable, earlier: PointerContext | None = None) -> Tensor:
        """What training lowers, one term a number: (N,), float32 (float64 for float64 states), 0 where not `valid`.

        Args:
            hidden: (N, dim).
            numbers: N targets.
            earlier: For a head that looks back; the loss is then the negative log-probability.
        """
        valid = self.valid(numbers)
        safe = dataclasses.replace(numbers, bits=numbers.bits.masked_fill(~valid, 0))
        terms = self._loss(hidden, safe) if earlier is None else -self(hidden, earlier).log_prob(safe)
        terms = terms.masked_fill(~valid, 0.0)
        return terms.to(torch.promote_types(hidden.dtype, torch.float32))

    def _loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        """The terms of valid numbers, by default the negative log-probability; the rest are 0 here and ignored."""
        return -self.forward(hidden).log_prob(numbers)

    def _run(self, layers: nn.Module, hidden: Tensor) -> Tensor:
        """float64 output of some layers, computed outside autocast and in float32 at least."""
        own = next(layers.parameters()).dtype
        wide = torch.promote_types(own, torch.float32)
        with torch.autocast(hidden.device.type, enabled=False):
            if own == wide:
                return layers(hidden.to(wide)).to(torch.float64)
            weights = {name: weight.to(wide) for name, weight in layers.named_parameters()}
            return torch.func.functional_call(layers, weights, (hidden.to(wide),)).to(torch.float64)
