"""Perplexity, and perplexity adjusted for the unknown tokens of a closed vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import MetricError, as_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Perplexity", "perplexities", "perplexity"]


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Perplexity of a set of tokens.

    Attributes:
        nats: Mean negative log-likelihood H in nats; NaN without tokens or if one token's is NaN.
        adjustment: Cost of spelling out the unknown tokens, in nats per token: log APP - log PP.
        count: Number of tokens.
        unknown: Number of tokens that were predicted as an unknown token.
        non_finite: Number of tokens with a NaN or infinite log-likelihood (infinite: probability 0).

    Example:
        >>> both = Perplexity(math.log(8), math.log(2), count=10, unknown=3)
        >>> round(both.pp, 9), round(both.app, 9), both.pp_2nats
        (8.0, 16.0, 4.2...)
    """

    nats: float
    adjustment: float
    count: int
    unknown: int = 0
    non_finite: int = 0

    @property
    def pp(self) -> float:
        """Perplexity e^H."""
        return _power(math.e, self.nats)

    @property
    def app(self) -> float:
        """Adjusted perplexity (Ueberla 1994)."""
        return _power(math.e, self.nats + self.adjustment)

    @property
    def pp_2nats(self) -> float:
        """2^H with H in nats, which Thawani et al. 2021 report as perplexity; their 3.11 is a perplexity of 5.14."""
        return _power(2.0, self.nats)

    def to_dict(self) -> dict[str, float | int | None]:
        """The result as JSON types; NaN and infinity become None."""
        figures = {"pp": self.pp, "app": self.app, "nats": self.nats, "adjustment": self.adjustment}
        counts = {"count": self.count, "unknown": self.unknown, "non_finite": self.non_finite}
        return {**{name: value if math.isfinite(value) else None for name, value in figures.items()}, **counts}


def perplexity(
    nll: Tensor | Sequence[float], unknown: Tensor | Sequence[bool] | None = None, unknown_types: int = 1
) -> Perplexity:
    """Perplexity of tokens of one class.

    The adjusted perplexity spreads the probability of the unknown token evenly over `unknown_types` types:
    log APP = H + (unknown tokens / N) log(unknown types). Without this, a model that predicts only the unknown token
    would get the best perplexity.

    Args:
        nll: (N,) negative log-likelihoods in nats, including the term of the token's class if the model has one.
        unknown: (N,) whether a token was predicted as the unknown token; none by default (open vocabulary).
        unknown_types: Number of distinct *training* types outside the vocabulary.

    Example:
        >>> result = perplexity([math.log(2), math.log(8)], unknown=[False, True], unknown_types=16)
        >>> round(result.pp, 9), round(result.app, 9)
        (4.0, 16.0)
    """
    terms = as_floats(nll, "negative log-likelihoods")
    classes = torch.zeros(len(terms), dtype=torch.int64, device=terms.device)
    return perplexities(terms, classes, unknown, (unknown_types,), names=("all",))["all"]


def perplexities(
    nll: Tensor | Sequence[float],
    classes: Tensor | Sequence[int],
    unknown: Tensor | Sequence[bool] | None = None,
    unknown_types: Sequence[int] = (1, 1),
    names: Sequence[str] = ("words", "numerals"),
) -> dict[str, Perplexity]:
    """Perplexity of each class of tokens, and of all tokens.

    Every token counts in its own class and in "all" only, so that for one vocabulary and one text log APP - log PP is
    the same for every model, flat or hierarchical. (The published tables of 2018 adjust the words of flat models by
    their unknown numerals and vice versa, and all tokens twice.)

    Args:
        nll: (N,) negative log-likelihoods in nats, including the term of the token's class.
        classes: (N,) index of each token's class.
        unknown: (N,) whether a token was predicted as the unknown token of its class; none by default. A model that
            spells out numerals has no unknown numerals.
        unknown_types: Number of types behind the unknown token of each class; values below 1 count as 1.
        names: Names of the classes, in the order of their indices.

    Example:
        >>> table = perplexities([0.0, math.log(4), math.log(2)], [0, 1, 1], [False, True, False], (7, 9))
        >>> {name: (round(row.pp, 4), round(row.app, 4)) for name, row in table.items()}
        {'words': (1.0, 1.0), 'numerals': (2.8284, 8.4853), 'all': (2.0, 4.1602)}
    """
    terms = as_floats(nll, "negative log-likelihoods")
    kinds = torch.as_tensor(classes, device=terms.device).to(torch.int64)
    hidden = torch.zeros_like(kinds, dtype=torch.bool)
    if unknown is not None:
        hidden = torch.as_tensor(unknown, device=terms.device).bool()
    if kinds.shape != terms.shape or hidden.shape != terms.shape:
        shapes = f"{tuple(terms.shape)}, {tuple(kinds.shape)}, {tuple(hidden.shape)}"
        raise MetricError(f"nll, classes and unknown must have the same shape, got {shapes}")
    if len(unknown_types) != len(names):
        raise MetricError(f"unknown_types must have one entry per class, got {unknown_types=} for {names=}")
    if len(kinds) and not 0 <= int(kinds.min()) <= int(kinds.max()) < len(names):
        raise MetricError(f"classes must be from 0 to {len(names) - 1}, got {int(kinds.min())}..{int(kinds.max())}")
    costs = torch.tensor([math.log(max(1, n)) for n in unknown_types], dtype=torch.float64, device=terms.device)
    extra = torch.where(hidden, costs[kinds], 0.0)
    masks: dict[str, Any] = {name: kinds == index for index, name in enumerate(names)}
    masks.setdefault("all", torch.ones_like(hidden))
    return {name: _perplexity(terms[mask], extra[mask], hidden[mask]) for name, mask in masks.items()}


def _perplexity(terms: Tensor, extra: Tensor, hidden: Tensor) -> Perplexity:
    count = len(terms)
    if not count:
        return Perplexity(math.nan, math.nan, 0)
    bad = int((~terms.isfinite()).sum())
    return Perplexity(float(terms.mean()), float(extra.mean()), count, int(hidden.sum()), bad)


def _power(base: float, exponent: float) -> float:
    try:
        return base**exponent
    except OverflowError:
        return math.inf
