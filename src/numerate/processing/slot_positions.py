"""Positions of a batch's numbers: their first and last tokens, and the tokens that predict them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.static_shapes import numbers_where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

__all__ = [
    "NumberPlaces",
    "TokenOwners",
    "first_tokens",
    "last_tokens",
    "number_positions",
    "predicting_tokens",
    "table_of",
]


def table_of(fields: Mapping[str, Any]) -> NumberTable | None:
    """The number table in a batch's fields; None without `number_bits`, the only field it needs."""
    bits = fields.get("number_bits")
    if bits is None:
        return None
    given, precision, characters = (fields.get(f"number_{name}") for name in ("given", "precision", "chars"))
    return NumberTable(
        bits,
        characters if characters is not None else bits.new_zeros((*bits.shape, 0), dtype=torch.uint8),
        precision if precision is not None else bits.new_zeros(bits.shape, dtype=torch.int16),
        given if given is not None else torch.full_like(bits, GIVEN, dtype=torch.uint8),
    )


def first_tokens(slots: Tensor, numbers: int, written: bool = False) -> Tensor:
    """The first token of each of a row's numbers in slots (B, T); T for a number without tokens: (B, numbers) int64.

    With `written`, all tokens that write a number count, not only its slot.

    Example:
        >>> first_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3).tolist()
        [[1, 5, 4]]
        >>> first_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3, written=True).tolist()
        [[1, 5, 3]]
    """
    return TokenOwners(slots.abs() if written else slots.clamp_min(0), numbers).first()[:, 1:]


def last_tokens(slots: Tensor, numbers: int) -> Tensor:
    """The last token that writes each of a row's numbers; -1 for a number without tokens: (B, numbers) int64.

    Example:
        >>> last_tokens(torch.tensor([[0, 1, 1, -3, 3]]), 3).tolist()
        [[2, -1, 4]]
    """
    return TokenOwners(slots.abs(), numbers).last()[:, 1:]


class TokenOwners:
    """Finds the first and last token of each number from `owner` (B, T): a token's number from 1, 0 for none.

    Both are found in a table with a column for each number. Each token without a number has a column of its own behind
    the numbers: in one column, an accelerator's threads would wait for each other.
    """

    def __init__(self, owner: Tensor, numbers: int) -> None:
        self.numbers, (batch, length) = numbers, owner.shape
        self._tokens = torch.arange(length, device=owner.device).expand(batch, -1)
        self._column = torch.where(owner == 0, numbers + 1 + self._tokens, owner)

    def first(self) -> Tensor:
        """The first token of each number, T for a number without tokens: (B, 1 + numbers), from column 1 on."""
        return self._extreme(self._tokens.shape[1], "amin")

    def last(self) -> Tensor:
        """The last token of each number, -1 for a number without tokens: (B, 1 + numbers), from column 1 on."""
        return self._extreme(-1, "amax")

    def _extreme(self, none: int, which: str) -> Tensor:
        batch, length = self._tokens.shape
        found = torch.full((batch, self.numbers + 1 + length), none, device=self._tokens.device)
        return found.scatter_reduce_(1, self._column, self._tokens, which)[:, : self.numbers + 1]


class NumberPlaces:
    """Where the numbers of a batch are: tensors that several parts of a model read, each computed once.

    `functools.cached_property` holds a lock in Python 3.11, at which `torch.compile` splits its graph.

    Args:
        slots: (B, T) slots.
        table: The (B, M) number table.
    """

    def __init__(self, slots: Tensor, table: NumberTable) -> None:
        self.slots, self.table, self.count = slots, table, table.bits.shape[1]
        self._owners: TokenOwners | None = None
        self._slot: Tensor | None = None
        self._first: Tensor | None = None
        self._last: Tensor | None = None
        self._given: Tensor | None = None
        self._known: Tensor | None = None

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> NumberPlaces | None:
        """The places in a batch's fields; None without a number table or slots."""
        table, slots = table_of(fields), fields.get("number_slots")
        return None if table is None or slots is None else cls(slots, table)

    def filled(self, slot: Tensor, first: Tensor, last: Tensor, known: Tensor) -> NumberPlaces:
        """The same places with all (B, M) tensors given, which were computed elsewhere."""
        result = NumberPlaces(self.slots, self.table)
        result._slot, result._first, result._last, result._known = slot, first, last, known
        return result

    @property
    def slot(self) -> Tensor:
        """The first token with a number's vector: (B, M), see `first_tokens`."""
        if self._slot is None:
            self._slot = first_tokens(self.slots, self.count)
        return self._slot

    @property
    def first(self) -> Tensor:
        """The first token that writes a number: (B, M)."""
        if self._first is None:
            self._first = self._writers().first()[:, 1:]
        return self._first

    @property
    def last(self) -> Tensor:
        """The last token that writes a number: (B, M), see `last_tokens`."""
        if self._last is None:
            self._last = self._writers().last()[:, 1:]
        return self._last

    def _writers(self) -> TokenOwners:
        if self._owners is None:
            self._owners = TokenOwners(self.slots.abs(), self.count)
        return self._owners

    @property
    def given(self) -> Tensor:
        """Which numbers are given: (B, M) bool."""
        if self._given is None:
            self._given = self.table.given == GIVEN
        return self._given

    @property
    def known(self) -> Tensor:
        """Which numbers are given and finite: (B, M) bool."""
        if self._known is None:
            self._known = self.given & self.table.finite()
        return self._known


def number_positions(
    slots: Tensor, wanted: Tensor, *, before: Tensor | None = None, stay: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The positions where numbers are predicted.

    Args:
        slots: (B, T) slots.
        wanted: (B, M) which numbers are predicted.
        before: For causal models, (B, T) which tokens are not padding: a number is predicted by the token before its
            first one.
        stay: Predict a number without a real token before it at its own token, instead of leaving it out.

    Returns:
        Row, token and number index of each number that has tokens: three (N,) tensors.
    """
    first = first_tokens(slots, wanted.shape[1], written=before is not None)
    wanted, position = predicting_tokens(first, wanted, slots.shape[1], before=before, stay=stay)
    rows, numbers = numbers_where(wanted)
    return rows, position[rows, numbers], numbers


def predicting_tokens(
    first: Tensor, wanted: Tensor, length: int, *, before: Tensor | None = None, stay: bool = False
) -> tuple[Tensor, Tensor]:
    """The token that predicts each number of a batch; the arguments are those of `number_positions`, except for two.

    Args:
        first: (B, M) first token of each number: its slot, for causal models the first token that writes it.
        wanted: (B, M) which numbers are predicted.
        length: Number of tokens of a row.
        before: For causal models, (B, T) which tokens are not padding.
        stay: Predict a number without a real token before it at its own token.

    Returns:
        (B, M) which numbers are wanted and can be predicted, and (B, M) the token that predicts each; arbitrary for
        other numbers.
    """
    wanted = wanted & (first < length)
    if before is None:
        return wanted, first
    previous = first - 1
    seen = (previous >= 0) & before.bool().gather(1, previous.clamp(0, length - 1))
    return wanted if stay else wanted & seen, torch.where(seen, previous, first)
