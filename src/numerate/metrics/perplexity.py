"""Perplexity, and perplexity adjusted for what a closed vocabulary does not spell out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.metrics.score import as_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Perplexity", "perplexities", "perplexity"]


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How surprised a model is by some tokens.

    Attributes:
        nats: Mean negative log-likelihood H, in nats; NaN of no token at all, or if one token's is NaN.
        adjustment: What spelling out the unknown tokens would cost, in nats a token: log APP - log PP.
        count: How many tokens.
        unknown: How many of them were predicted as an unknown token.
        non_finite: How many have a NaN or infinite log-likelihood. (Infinite: the model holds them for impossible.)

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
        """2^H with H in nats: what Thawani et al. 2021 printed as perplexity; 3.11 there is a perplexity of 5.14."""
        return _power(2.0, self.nats)

    def to_dict(self) -> dict[str, float | int | None]:
        """JSON types: figures that are not finite become None."""
        figures = {"pp": self.pp, "app": self.app, "nats": self.nats, "adjustment": self.adjustment}
        counts = {"count": self.count, "unknown": self.unknown, "non_finite": self.non_finite}
        return {**{name: value if math.isfinite(value) else None for name, value in figures.items()}, **counts}


def perplexity(
    nll: Tensor | Sequence[float], unknown: Tensor | Sequence[bool] | None = None, unknown_types: int = 1
) -> Perplexity:
    """Perplexity of tokens of one class.

    Adjusted, an unknown token stands for `unknown_types` types, each as probable as the others:
    log APP = H + (unknown tokens / N) log(unknown types). Without it, a model that calls everything unknown looks best.

    Args:
        nll: (N,) negative log-likelihoods in nats, with the term of the token's class in them, if the model has one.
        unknown: (N,) which tokens were predicted as the unknown token; none by default (open vocabulary).
        unknown_types: How many types the unknown token stands for: distinct *training* types outside the vocabulary.

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
    """Perplexity of each class of tokens, and of all.

    Every token counts in its own class and in "all", and in no other: the published tables of 2018 adjusted the flat
    models' words by their unknown numerals and the other way round, and all tokens twice. So for one vocabulary and one
    text, log APP - log PP is the same for every model, flat or hierarchical.

    Args:
        nll: (N,) negative log-likelihoods in nats, with the term of the token's class in them: both kinds of model then
            give the probability of the token itself.
        classes: (N,) index of each token's class.
        unknown: (N,) which tokens were predicted as their class's unknown token; none by default. A model that spells
            numerals out has no unknown numerals.
        unknown_types: How many types the unknown token of each class stands for; less than 1 counts as 1.
        names: The classes' names, in the order of their indices.

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
        raise ValueError(f"nll, classes and unknown must be of one shape, got {shapes}")
    if len(unknown_types) != len(names):
        raise ValueError(f"unknown_types must be one a class, got {unknown_types=} for {names=}")
    if len(kinds) and not 0 <= int(kinds.min()) <= int(kinds.max()) < len(names):
        raise ValueError(f"classes must lie from 0 to {len(names) - 1}, got {int(kinds.min())}..{int(kinds.max())}")
    costs = torch.tensor([math.log(max(1, n)) for n in unknown_types], dtype=torch.float64, device=terms.device)
    extra = torch.where(hidden, costs[kinds], 0.0)
    masks: dict[str, Any] = {name: kinds == index for index, name in enumerate(names)}
    masks.setdefault("all", torch.ones_like(hidden))
    return {name: _one(terms[mask], extra[mask], hidden[mask]) for name, mask in masks.items()}


def _one(terms: Tensor, extra: Tensor, hidden: Tensor) -> Perplexity:
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
