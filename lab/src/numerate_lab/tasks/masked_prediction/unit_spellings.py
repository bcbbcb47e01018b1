"""Tokens that spell the same unit, to score the predicted unit separately from its spelling."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from numerate.numerals.unit_tables import UNITS

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["UnitSpellings"]

_WORD_BEGINS = "Ġ▁"
"""Prefixes of tokens that begin a word."""


@dataclass(frozen=True)
class UnitSpellings:
    """Tokens of a vocabulary that are units, grouped by meaning.

    Attributes:
        unit: (V,) int64, index of the token's unit; -1 for other tokens.
        tokens: (U, K) int64, tokens of each unit, padded with -1.

    Example:
        >>> spellings = UnitSpellings.of({"[MASK]": 0, "km": 1, "kilometres": 2, "miles": 3})
        >>> spellings.unit.tolist()
        [-1, 0, 0, 1]
        >>> evenly = torch.zeros(3, 4, dtype=torch.float64)
        >>> (4 * spellings.nats(evenly, torch.tensor([1, 3, 0])).neg().exp()).tolist()
        [2.0, 1.0, 1.0]
    """

    unit: Tensor
    tokens: Tensor

    @classmethod
    def of(cls, vocabulary: dict[str, int], device: Any = "cpu") -> UnitSpellings:
        """Finds the units of `tokenizer.get_vocab()`, ignoring case where it is clear (`kw`, but not `a` or `mw`)."""
        folded: dict[str, set[str]] = defaultdict(set)
        for spelling, meant in UNITS.items():
            folded[spelling.casefold()].add(meant)
        marked = any(token.startswith(tuple(_WORD_BEGINS)) for token in vocabulary)
        found: dict[str, list[int]] = defaultdict(list)
        for token, index in sorted(vocabulary.items(), key=lambda pair: pair[1]):
            word = token.lstrip(_WORD_BEGINS)
            if marked and word == token:  # a piece of a word
                continue
            meant = {UNITS[word]} if word in UNITS else folded.get(word.casefold(), set()) if len(word) > 1 else set()
            if len(meant) == 1:  # `mw` may be a milliwatt
                found[next(iter(meant))].append(index)
        unit = torch.full((max(vocabulary.values(), default=-1) + 1,), -1)
        for number, some in enumerate(found.values()):
            unit[some] = number
        most = max(map(len, found.values()), default=0)
        tokens = [some + [-1] * (most - len(some)) for some in found.values()]
        return cls(unit.to(device), torch.tensor(tokens, dtype=torch.int64, device=device).view(len(found), most))

    def nats(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Negative log-probability of all spellings of the target's unit, or of the target if it is no unit.

        Shape:
            logits (n, V) with V of the vocabulary or larger, targets (n,), result (n,).
        """
        known = targets < len(self.unit)
        unit = torch.where(known, self.unit[torch.where(known, targets, 0)], -1)
        tokens = self.tokens[unit.clamp_min(0)] if len(self.tokens) else targets[:, None]
        tokens = torch.where((unit >= 0)[:, None], tokens, -1)
        tokens = torch.cat([torch.where(unit >= 0, -1, targets)[:, None], tokens], dim=1)
        chosen = logits.gather(1, tokens.clamp_min(0)).masked_fill(tokens < 0, -torch.inf)
        return logits.logsumexp(-1) - chosen.logsumexp(-1)
