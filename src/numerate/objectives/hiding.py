"""Hides numbers of a batch: each becomes one token, and the other tokens that wrote it leave the sequence.

A hidden number looks the same whatever its value, its digits and its length. It is the input that a text with a literal
`[NUM]` gives, so that training, evaluation and `predict` ask in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.processing.number_table import ASKED, NumberTable
from numerate.processing.slot_positions import TokenOwners, table_of
from numerate.processing.static_shapes import has_fixed_shapes

if TYPE_CHECKING:
    from numerate.objectives.base import Vocabulary

__all__ = ["Hidden", "gather_rows", "hide_numbers"]

_FILL = {"labels": -100, "special_tokens_mask": 1}
"""What vacated places of a (B, T) field get instead of 0; `input_ids` get the padding's id."""


@dataclass(frozen=True)
class Hidden:
    """A batch with hidden numbers.

    Attributes:
        inputs: The fields that the model sees.
        targets: The number table before hiding; a number whose percent sign or scale word stays in sight is its
            written value (3.2 of `3.2%`).
        source: (B, T) the place in the original batch of each token, -1 for padding at a vacated place.
    """

    inputs: dict[str, Any]
    targets: NumberTable
    source: Tensor


def gather_rows(values: Tensor, source: Tensor, fill: int = 0) -> Tensor:
    """Tokens of a field (B, T, ...) at their new places; `fill` where `source` (B, T) is -1.

    Example:
        >>> gather_rows(torch.tensor([[5, 6, 7]]), torch.tensor([[0, 2, -1]])).tolist()
        [[5, 7, 0]]
    """
    trailing = [1] * (values.dim() - 2)
    index = source.clamp_min(0).reshape(*source.shape, *trailing).expand(*source.shape, *values.shape[2:])
    there = (source >= 0).reshape(*source.shape, *trailing)
    return torch.where(there, values.gather(1, index), torch.full_like(values[:1, :1], fill))


def hide_numbers(
    batch: dict[str, Any], hidden: Tensor, vocabulary: Vocabulary,
    *, token: Tensor | int | None = None, in_sight: Tensor | None = None,
) -> Hidden:  # fmt: skip
    """Hides numbers of a batch, with static shapes and without a synchronisation.

    Vacated places go to the padded side of a row. Bits, characters and precision of hidden numbers are blanked.

    Args:
        batch: A processor's batch, with its number table, and perhaps `labels`.
        hidden: (B, M) which numbers are hidden.
        vocabulary: Of the model.
        token: Id that takes the place of a hidden number, or (B, T) ids by place; by default [NUM].
        in_sight: (B, M) numbers whose percent sign or scale word stays; by default none.

    Raises:
        ValueError: The batch has an attention mask that is not (B, T), or several texts in one row.
    """
    ids, slots, table = batch["input_ids"], batch["number_slots"], table_of(batch)
    attention, scale = batch.get("attention_mask"), batch.get("number_scale")
    if table is None:
        raise ValueError(f"the batch has no number table; it has {', '.join(batch)}")
    places = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    number = slots.abs()  # 0 for other tokens, so that tables of numbers get a column 0 for them
    marks = hidden[None] if in_sight is None else torch.stack([hidden, in_sight])
    marks = functional.pad(marks, (1, 0)).gather(2, number.expand(len(marks), -1, -1))
    written, sees_scale = marks[0], marks[-1]
    # Before its sub-words, also where its own slot is behind them: a sign that stays in sight comes after the number.
    earliest = TokenOwners(number, hidden.shape[1]).first().gather(1, number)
    first = written & (earliest == places)
    inputs, targets = dict(batch), table
    if scale is not None:
        stays = scale & 1
        if in_sight is not None:
            stays = stays | scale * sees_scale
        stays = written & (stays != 0)
        targets = _without_scale(table, number * stays, scale * stays)
        written, slots = written ^ stays, slots.masked_fill(stays, 0)
        inputs["number_scale"] = None
    token = vocabulary.num_id if token is None else token
    inputs["input_ids"] = torch.where(first, token, ids) if isinstance(token, Tensor) else ids.masked_fill(first, token)
    inputs["number_slots"] = torch.where(first, number, slots)
    inputs["number_given"] = table.given.masked_fill(hidden, ASKED)
    for name in ("number_bits", "number_chars", "number_precision"):
        if (column := batch.get(name)) is not None:
            inputs[name] = column.masked_fill(hidden if column.dim() == 2 else hidden[..., None], 0)
    if not vocabulary.several_tokens:
        return Hidden(inputs, targets, places)
    _check(attention, batch.get("position_ids"))
    if attention is None:
        attention = inputs["attention_mask"] = torch.ones_like(ids)
    kept = first | ~written
    source = _closed_up(kept, places, attention[:, :1] == 0)
    if inputs.get("position_ids") is not None:  # a gap would show how many tokens left
        inputs["position_ids"] = (inputs["position_ids"] - (~kept).cumsum(1)).clamp_min(0)
    fills = _FILL | {"input_ids": vocabulary.pad_id}
    plain: dict[str, Tensor] = {}
    for name, values in inputs.items():
        of_numbers = name.startswith("number_") and name != "number_slots"  # (B, M), and M may equal T
        if isinstance(values, Tensor) and values.shape[:2] == ids.shape and not of_numbers:
            if values.shape == ids.shape and values.dtype == ids.dtype:
                plain[name] = values
            else:
                inputs[name] = gather_rows(values, source, fills.get(name, 0))
    inputs |= _moved_together(plain, source, fills)
    if vocabulary.pads_left and inputs.get("position_ids") is None:
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(1) - 1).clamp_min(0)
    return Hidden(inputs, targets, source)


def _check(attention: Tensor | None, positions: Tensor | None) -> None:
    if attention is not None and attention.dim() != 2:
        shape = tuple(attention.shape)
        raise ValueError(f"numbers can be hidden only with an attention_mask of shape (batch, tokens), got {shape}")
    if positions is not None and not has_fixed_shapes():
        again = positions[:, 1:] <= positions[:, :-1]
        if attention is not None:
            again = again & attention[:, 1:].bool() & attention[:, :-1].bool()
        if bool(again.any()):
            raise ValueError("position_ids start again within a row: give each text a row of its own to hide numbers")


def _closed_up(kept: Tensor, places: Tensor, left: Tensor) -> Tensor:
    """The source of each place after the tokens that are not `kept` (B, T) have left; `left` (B, 1): padded there."""
    length = kept.shape[1]
    rank = kept.cumsum(1)  # from 1
    place = rank + left * (length - rank[:, -1:])
    # Tokens that leave are written to a column 0, which is cut off.
    source = torch.full((len(kept), length + 1), -1, device=kept.device)
    return source.scatter_(1, place * kept, places)[:, 1:]


def _moved_together(fields: dict[str, Tensor], source: Tensor, fills: dict[str, int]) -> dict[str, Tensor]:
    """`gather_rows` of several (B, T) fields of one type at once: few operations, since each launches a kernel."""
    names = sorted(fields, key=lambda name: fills.get(name, 0))  # fields with the same fill beside each other
    before = torch.stack([fields[name] for name in names])
    moved = before.gather(2, source.clamp_min(0).expand_as(before))
    vacated, values = source < 0, [fills.get(name, 0) for name in names]
    for fill in dict.fromkeys(values):
        start = values.index(fill)
        moved[start : start + values.count(fill)].masked_fill_(vacated, fill)
    return dict(zip(names, moved.unbind(), strict=True))


def _without_scale(table: NumberTable, number: Tensor, scale: Tensor) -> NumberTable:
    """The table with the written value of each number that has tokens with a scale.

    Args:
        table: (B, M) numbers.
        number: (B, T) the number, from 1, of each token that has a scale; 0 for other tokens.
        scale: (B, T) its scale.
    """
    # All tokens of a suffix have the same scale; other tokens are written to column 0.
    none = torch.zeros(len(number), table.bits.shape[1] + 1, dtype=scale.dtype, device=scale.device)
    power = none.scatter_(1, number, scale)[:, 1:] >> 1
    precision, values = table.precision - power, table.values()
    factor, step = (10.0 ** -torch.stack([power, precision]).double()).unbind()
    bare = values * factor
    # Rounded to the written digits, since the product may be off by one bit: 0.07 * 100 is 7.000000000000001.
    whole = (bare * step).round()
    bare = torch.where((precision <= 0) & (whole.abs() < 2**53), whole / step, bare)
    changed = power != 0
    digits = table.characters - 1 < 10  # characters 1 to 10; 0 becomes 255
    so_far = digits.cumsum(-1)
    behind = (so_far == so_far[..., -1:]) > digits  # all digits were before, and it is none
    return replace(
        table,
        bits=torch.where(changed, bare, values).view(torch.int64),
        precision=precision.to(table.precision.dtype),
        characters=table.characters.masked_fill(behind & changed[..., None], 0),
    )
