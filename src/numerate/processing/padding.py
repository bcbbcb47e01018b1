"""Rows of token ids made into a batch: special tokens, truncation, padding, slots; by array, not by token.

It does what a fast tokenizer's own call does for single texts, which the tests hold it to.
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

    from numerate.processing.rewriter import Rewritten

__all__ = ["Frame", "Plan", "align", "assemble", "cut", "plan_for", "shaped"]

KNOWN_OPTIONS = {
    *("padding", "truncation", "max_length", "pad_to_multiple_of", "padding_side", "add_special_tokens", "verbose"),
    *("return_attention_mask", "return_token_type_ids", "return_special_tokens_mask"),
}
_UNBOUNDED = 10**20
"""What transformers takes for no limit at all."""


@dataclass(frozen=True)
class Frame:
    """What a tokenizer writes round one text: ids and type ids before and behind it, and the text's own type id."""

    before: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    before_types: tuple[int, ...] = ()
    behind_types: tuple[int, ...] = ()
    text_type: int = 0

    @classmethod
    def around(cls, ids: Sequence[int], types: Sequence[int], inner: int) -> Frame:
        """The frame of a text that is the one token `inner`."""
        at = list(ids).index(inner)
        return cls(tuple(ids[:at]), tuple(ids[at + 1 :]), tuple(types[:at]), tuple(types[at + 1 :]), types[at])


@dataclass(frozen=True)
class Plan:
    """A call's options, settled.

    Attributes:
        limit: How many tokens a row may have.
        length: What rows are padded to; -1 for the longest row, None for no padding.
        multiple: What that is rounded up to.
        pad_left: On which side rows are padded,
        cut_left: and on which they are cut.
        fields: What the batch has.
    """

    limit: int | None
    length: int | None
    multiple: int
    pad_left: bool
    cut_left: bool
    fields: tuple[str, ...]


def plan_for(tokenizer: PreTrainedTokenizerFast, options: Mapping[str, Any]) -> Plan | None:
    """Settles a call's options as transformers does; None for what is left to the tokenizer itself, errors included."""
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
    """The rows within the limit, frame included; None if the frame alone is too long."""
    if plan.limit is None:
        return list(rows)
    room = plan.limit - len(frame.before) - len(frame.behind)
    if room < 0:
        return None
    if plan.cut_left:
        return [row[len(row) - room :] if len(row) > room else row for row in rows]
    return [row[:room] if len(row) > room else row for row in rows]


def assemble(
    rows: Sequence[list[int]], plan: Plan, frame: Frame, pad: tuple[int, int], num_id: int
) -> dict[str, np.ndarray | list[list[int]]]:
    """The fields of a batch: (B, T) int64 arrays, or lists where rows differ in length.

    Args:
        rows: Ids of each text, cut already.
        plan: The settled options.
        frame: Special tokens round each text.
        pad: Padding's id and type id.
        num_id: Whose k-th occurrence in a row is the slot of the row's k-th number.
    """
    around = len(frame.before) + len(frame.behind)
    lengths = np.array([len(row) + around for row in rows], dtype=np.int64)
    if around:
        parts = chain.from_iterable(chain(frame.before, row, frame.behind) for row in rows)
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
    # Where each row's frame stands.
    framed = np.zeros(total, dtype=bool)
    if "special_tokens_mask" in plan.fields or "token_type_ids" in plan.fields:
        types = np.full(total, frame.text_type, dtype=np.int64)
        ends = starts + lengths
        for offset, kind in enumerate(frame.before_types):
            framed[starts + offset], types[starts + offset] = True, kind
        for offset, kind in enumerate(reversed(frame.behind_types), start=1):
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
    """What rows are padded to."""
    if plan.length is None:
        return 0
    return -(-(longest if plan.length < 0 else plan.length) // plan.multiple) * plan.multiple


def _width(lengths: np.ndarray, plan: Plan) -> int | None:
    """The length of all rows after padding; None where they differ."""
    longest = int(lengths.max(initial=0))
    target = _target(longest, plan)
    if longest <= target:
        return target
    return longest if (lengths == longest).all() else None


def _ragged(values: np.ndarray, filler: int, starts: np.ndarray, lengths: np.ndarray, plan: Plan) -> list[list[int]]:
    """Rows of different lengths: without padding, or where one is longer than what they are padded to."""
    flat, target = values.tolist(), _target(0, plan)
    rows = [flat[begin : begin + length] for begin, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
    if not target:
        return rows
    padding = [[filler] * (target - len(row)) for row in rows]
    if plan.pad_left:
        return [before + row for before, row in zip(padding, rows, strict=True)]
    return [row + behind for behind, row in zip(padding, rows, strict=True)]


def align(batch: Any, changed: list[list[list[Rewritten]]], split: bool) -> tuple[dict[str, Any], list[Any]]:
    """A tokenizer's batch with `number_slots`, its offsets brought back to the texts as given, and each row's numbers.

    Args:
        batch: What the tokenizer gave.
        changed: What it was given: the rewritten words of each text of each sequence; one "word" if it was not split.
        split: Whether texts were given as words.
    """
    data, found = dict(batch.data), []
    data["number_slots"] = []
    for row, encoding in enumerate(batch.encodings):
        slots, present = [0] * len(data["input_ids"][row]), []
        for sequence, texts in enumerate(changed):
            owned = 0
            for index, word in enumerate(texts[row]):
                for number, (begin, end, numeral) in enumerate(word.slots):
                    tokens = _tokens_of(encoding, sequence, index if split else None, begin, end)
                    # Cut off by truncation, and its number with it; or its only token is another number's, too.
                    if tokens is None or tokens[1] <= owned:
                        continue
                    start, owned = max(tokens[0], owned), tokens[1]
                    present.append(numeral)
                    slots[start:owned] = [len(present)] * (owned - start)
                    if word.beside:
                        written = _tokens_of(encoding, sequence, index if split else None, *word.beside[number])
                        for token in range(*written) if written is not None else ():
                            slots[token] = slots[token] or -len(present)
        if "offset_mapping" in data:
            data["offset_mapping"][row] = [
                _original(pair, encoding, changed, row, token, split) for token, pair in enumerate(encoding.offsets)
            ]
        data["number_slots"].append(slots)
        found.append(present)
    return data, found


def _original(
    pair: tuple[int, int], encoding: Any, changed: list[list[list[Rewritten]]], row: int, token: int, split: bool
) -> tuple[int, int]:
    """A token's offsets in the text as it was given."""
    sequence = encoding.token_to_sequence(token)
    if sequence is None:
        return (0, 0)
    word = changed[sequence][row][encoding.token_to_word(token) if split else 0]
    return word.original(pair[0]), word.original(pair[1], end=True)


def _tokens_of(encoding: Any, sequence: int, word: int | None, begin: int, end: int) -> tuple[int, int] | None:
    """First and last-plus-one token of the characters [begin, end) of one sequence; None if none is left."""
    if word is not None:
        span = encoding.word_to_tokens(word, sequence)
        if span is None:
            return None
        offsets = encoding.offsets
        inside = [t for t in range(*span) if offsets[t][0] < end and offsets[t][1] > begin]
        return (inside[0], inside[-1] + 1) if inside else None
    first = encoding.char_to_token(begin, sequence)
    last = encoding.char_to_token(end - 1, sequence)
    if first is None or last is None:  # cut in two by truncation, or its first character has no token of its own
        tokens = [t for char in range(begin, end) if (t := encoding.char_to_token(char, sequence)) is not None]
        if not tokens:
            return None
        first, last = tokens[0], tokens[-1]
    return first, last + 1


def shaped(
    data: dict[str, Any],
    table: dict[str, np.ndarray],
    counts: Sequence[int],
    single: bool,
    padded: bool,
    kind: str | None,
) -> dict[str, Any]:
    """A batch's fields and table as the caller wants them.

    Args:
        data: Fields by token, as arrays or lists.
        table: The number table.
        counts: How many numbers each row has.
        single: One text was given, not a list.
        padded: Rows of the table are to be of one length.
        kind: "pt" or "np" for tensors; None for lists, the table's as arrays so that data sets keep their small types.
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
            raise ValueError(
                f"rows of {key!r} differ in length: pass padding=True, and truncation=True if need be"
            ) from None
    return {key: torch.from_numpy(value) for key, value in arrays.items()} if kind == "pt" else arrays
