"""Makes a batch of token ids: special tokens, truncation and padding, with array operations.

For single texts the result equals that of a fast tokenizer's own call, which tests check.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from transformers import PreTrainedTokenizerFast

__all__ = ["Frame", "Plan", "assemble", "cut", "plan_for", "shaped"]

KNOWN_OPTIONS = {
    *("padding", "truncation", "max_length", "pad_to_multiple_of", "padding_side", "add_special_tokens", "verbose"),
    *("return_attention_mask", "return_token_type_ids", "return_special_tokens_mask"),
}
_UNBOUNDED = 10**20
"""Above this, transformers means "no limit"."""


@dataclass(frozen=True)
class Frame:
    """The special tokens around a text: ids and type ids before and after it, and the text's own type id."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    before_types: tuple[int, ...] = ()
    after_types: tuple[int, ...] = ()
    text_type: int = 0

    @classmethod
    def around(cls, ids: Sequence[int], types: Sequence[int], inner: int) -> Frame:
        """The frame in the ids of a text that is the single token `inner`."""
        at = list(ids).index(inner)
        return cls(tuple(ids[:at]), tuple(ids[at + 1 :]), tuple(types[:at]), tuple(types[at + 1 :]), types[at])


@dataclass(frozen=True)
class Plan:
    """The resolved options of a call; `fields` are the names of the batch's fields."""

    limit: int | None  # the largest number of tokens in a row
    length: int | None  # what rows are padded to; -1 for the longest row, None for no padding
    multiple: int
    pad_left: bool
    cut_left: bool
    fields: tuple[str, ...]


def plan_for(tokenizer: PreTrainedTokenizerFast, options: Mapping[str, Any]) -> Plan | None:
    """Resolves a call's options as transformers does; None for options that only the tokenizer itself can handle."""
    if not options.keys() <= KNOWN_OPTIONS:
        return None
    padding, truncation = options.get("padding", False), options.get("truncation")
    most, multiple = options.get("max_length"), options.get("pad_to_multiple_of")
    if truncation is None and most is not None and padding is False:
        truncation = True
    widest = tokenizer.model_max_length
    limit = length = None
    if truncation not in (None, False, "do_not_truncate"):
        if truncation not in (True, "longest_first", "only_first"):
            return None
        limit = most if most is not None else widest if widest <= _UNBOUNDED else None
    if padding not in (None, False, "do_not_pad"):
        if tokenizer.pad_token_id is None or padding not in (True, "longest", "max_length"):
            return None
        if padding is True and most is not None and limit is None:
            return None  # transformers warns
        if padding == "max_length":
            length = most if most is not None else widest if widest <= _UNBOUNDED else None
        else:
            length = -1
        if limit is not None and multiple is not None and limit % multiple:
            return None
    side = options.get("padding_side") or tokenizer.padding_side
    fields = ["input_ids"]
    for name in ("token_type_ids", "attention_mask", "special_tokens_mask"):
        wanted = options.get(f"return_{name}")
        if name in tokenizer.model_input_names if wanted is None else wanted:
            fields.append(name)
    return Plan(limit, length, multiple or 1, side == "left", tokenizer.truncation_side == "left", tuple(fields))


def cut(rows: Sequence[list[int]], plan: Plan, frame: Frame) -> list[list[int]] | None:
    """Truncates rows to the limit, which includes the frame; None if the frame alone is longer."""
    if plan.limit is None:
        return list(rows)
    room = plan.limit - len(frame.before) - len(frame.after)
    if room < 0:
        return None
    if plan.cut_left:
        return [row[len(row) - room :] if len(row) > room else row for row in rows]
    return [row[:room] if len(row) > room else row for row in rows]


def assemble(
    rows: Sequence[list[int]], plan: Plan, frame: Frame, pad: tuple[int, int], num_id: int
) -> dict[str, np.ndarray | list[list[int]]]:
    """The fields of a batch of truncated rows: (B, T) int64 arrays, or lists if rows differ in length.

    The k-th `num_id` in a row is the slot of the row's k-th number. `pad` is the id and type id of the padding.
    """
    around = len(frame.before) + len(frame.after)
    lengths = np.array([len(row) + around for row in rows], dtype=np.int64)
    if around:
        parts = chain.from_iterable(chain(frame.before, row, frame.after) for row in rows)
    else:
        parts = chain.from_iterable(rows)
    total = int(lengths.sum())
    ids = np.fromiter(parts, dtype=np.int64, count=total)
    starts = np.cumsum(lengths) - lengths
    numbers = ids == num_id
    ordinals = np.cumsum(numbers)
    before_row = np.concatenate([np.zeros(1, np.int64), ordinals])[starts]
    flat = {"input_ids": (ids, pad[0])}
    flat["number_slots"] = (np.where(numbers, ordinals - np.repeat(before_row, lengths), 0), 0)
    # The positions of each row's frame.
    framed = np.zeros(total, dtype=bool)
    if "special_tokens_mask" in plan.fields or "token_type_ids" in plan.fields:
        types = np.full(total, frame.text_type, dtype=np.int64)
        ends = starts + lengths
        for offset, kind in enumerate(frame.before_types):
            framed[starts + offset], types[starts + offset] = True, kind
        for offset, kind in enumerate(reversed(frame.after_types), start=1):
            framed[ends - offset], types[ends - offset] = True, kind
        flat |= {"token_type_ids": (types, pad[1]), "special_tokens_mask": (framed.astype(np.int64), 1)}
    flat["attention_mask"] = (np.ones(total, dtype=np.int64), 0)
    names = (*plan.fields, "number_slots")
    width = _width(lengths, plan)
    if width is None:
        return {name: _ragged(*flat[name], starts, lengths, plan) for name in names}
    place = np.arange(width) >= width - lengths[:, None] if plan.pad_left else np.arange(width) < lengths[:, None]
    fields: dict[str, np.ndarray | list[list[int]]] = {}
    for name in names:
        values, filler = flat[name]
        if total == place.size:
            fields[name] = values.reshape(place.shape)
        else:
            filled = np.full(place.shape, filler, dtype=np.int64)
            filled[place] = values
            fields[name] = filled
    return fields


def _target(longest: int, plan: Plan) -> int:
    """The length that rows are padded to; 0 for no padding."""
    if plan.length is None:
        return 0
    return -(-(longest if plan.length < 0 else plan.length) // plan.multiple) * plan.multiple


def _width(lengths: np.ndarray, plan: Plan) -> int | None:
    """The length of all rows after padding; None if they differ."""
    longest = int(lengths.max(initial=0))
    target = _target(longest, plan)
    if longest <= target:
        return target
    return longest if (lengths == longest).all() else None


def _ragged(values: np.ndarray, filler: int, starts: np.ndarray, lengths: np.ndarray, plan: Plan) -> list[list[int]]:
    """Rows of different lengths: without padding, or if one is longer than the padded length."""
    flat, target = values.tolist(), _target(0, plan)
    rows = [flat[begin : begin + length] for begin, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    if not target:
        return rows
    padding = [[filler] * (target - len(row)) for row in rows]
    if plan.pad_left:
        return [left + row for left, row in zip(padding, rows, strict=True)]
    return [row + right for right, row in zip(padding, rows, strict=True)]


def shaped(
    data: dict[str, Any], table: dict[str, np.ndarray], counts: Sequence[int],
    single: bool, padded: bool, kind: str | None,
) -> dict[str, Any]:  # fmt: skip
    """Converts a batch's fields and number table to the form that the caller asked for.

    Args:
        data: Fields with one value for each token, as arrays or lists.
        table: The number table.
        counts: The number of numbers in each row.
        single: Whether one text was given instead of a list.
        padded: Whether rows of the table have the same length.
        kind: "pt" or "np" for tensors; None for lists (of arrays for the table, so that datasets keep its small types).
    """
    if kind is None:
        lists = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in data.items()}
        for key, value in table.items():
            lists[key] = list(value) if padded else [row[:n] for row, n in zip(value, counts, strict=True)]
        return {key: value[0] for key, value in lists.items()} if single else lists
    arrays = {}
    for key, value in (data | table).items():
        try:
            arrays[key] = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.int64)
        except ValueError:
            raise ValueError(f"rows of {key!r} differ in length: pass padding=True, or also truncation=True") from None
    return {key: torch.from_numpy(value) for key, value in arrays.items()} if kind == "pt" else arrays
