"""What every head is: hidden states in, a `NumberDistribution` out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from numerate.batch import NumberTable
    from numerate.config import Config

__all__ = ["Head", "NumberDistribution"]


class NumberDistribution(ABC):
    """N distributions over numbers, one a row, in float64.

    Shape:
        values given and results: (N,) unless stated; `samples` adds a leading dimension.
    """

    @abstractmethod
    def __len__(self) -> int:
        """How many distributions there are."""

    @abstractmethod
    def __getitem__(self, index: Tensor | slice | int) -> NumberDistribution:
        """Some of the rows."""

    @abstractmethod
    def log_prob(self, numbers: NumberTable) -> Tensor:
        """Log-density (or log-mass) of each row's number: (N,), differentiable."""

    @abstractmethod
    def cdf(self, values: Tensor) -> Tensor:
        """P(X <= value) of each row: (N,), or (N, K) for values of that shape."""

    @abstractmethod
    def quantile(self, p: float | Tensor) -> Tensor:
        """Generalised inverse of `cdf`: the smallest value whose cdf is at least p."""

    @abstractmethod
    def mean(self) -> Tensor:
        """Expected value of each row."""

    @abstractmethod
    def mode(self) -> Tensor:
        """Most probable value of each row."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """(count, N) samples."""

    def median(self) -> Tensor:
        """The value that as many numbers lie below as above."""
        return self.quantile(0.5)

    def interval(self, level: float = 0.9) -> tuple[Tensor, Tensor]:
        """The central interval that holds `level` of the probability: lower and upper ends."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, however: {level=}")
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def rank(self, candidates: NumberTable, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable of C candidates for each row: (N, k) log-probabilities and (N, k) indices."""
        rows = len(self)
        columns = []
        for index in range(len(candidates)):
            one = candidates[slice(index, index + 1)]
            columns.append(self.log_prob(one.expand(rows)))
        scores = torch.stack(columns, dim=-1)
        best = scores.topk(min(k, len(candidates)), dim=-1)
        return best.values, best.indices


class Head(nn.Module):
    """Turns N hidden states into N distributions over numbers.

    Attributes:
        Config: The frozen dataclass of its options; its `kind` is the registered name.
    """

    Config: ClassVar[type[Config]]

    def __init__(self, dim: int, config: Config) -> None:
        super().__init__()
        if dim < 1:
            raise ValueError(f"dim must be positive, however: {dim=}")
        self.dim = dim
        self.config = config

    @classmethod
    def build(cls, dim: int, **options: Any) -> Head:
        """Builds the head for a backbone of width `dim` from its config's options."""
        return cls(dim, cls.Config.from_dict(options))

    def forward(self, hidden: Tensor) -> NumberDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    def loss(self, hidden: Tensor, numbers: NumberTable) -> Tensor:
        """What training lowers, one term a number: (N,). By default the negative log-probability."""
        return -self.forward(hidden).log_prob(numbers)
