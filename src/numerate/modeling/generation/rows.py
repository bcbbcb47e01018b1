"""Texts that are being generated: their tokens, their numbers, and the batch that the model reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from numerate.numerals.rounded import numeral_of
from numerate.processing.number_table import PADDING, NumberTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.heads.base import NumberDistribution
    from numerate.numerals.numeral import Numeral

__all__ = ["GeneratedNumber", "Row", "append_token", "last_token", "numeral_of", "select_rows"]


@dataclass(frozen=True)
class GeneratedNumber:
    """A number in a generated text.

    Attributes:
        text: As it is written in the text.
        value: Its value.
        distribution: The distribution that it was taken from, in the units of the text; None if it was written token
            by token.
        log_prob: Log-probability of its tokens, or of its [NUM]; None if it was written in ordinary subwords.
    """

    text: str
    value: float
    distribution: NumberDistribution | None = None
    log_prob: float | None = None


@dataclass
class Row:
    """One text that is being generated.

    Attributes:
        prompt: The index of its prompt.
        ids: The new tokens.
        numbers: The new numbers.
        numerals: The numerals of the new [NUM] tokens; None for a number that could not be predicted.
        opened: The pieces of a number that is not complete yet.
        opened_score: The log-probability of these pieces.
        forced: Tokens that must follow.
        score: Log-probability of the new tokens.
        done: Whether the text has ended.
    """

    prompt: int
    ids: list[int] = field(default_factory=list)
    numbers: list[GeneratedNumber] = field(default_factory=list)
    numerals: list[Numeral | None] = field(default_factory=list)
    opened: tuple[str, ...] = ()
    opened_score: float = 0.0
    forced: tuple[int, ...] = ()
    score: float = 0.0
    done: bool = False

    def copy(self) -> Row:
        """A copy that can be continued independently."""
        return replace(self, ids=list(self.ids), numbers=list(self.numbers), numerals=list(self.numerals))


def append_token(
    fields: dict[str, Any], ids: Sequence[int], numerals: Sequence[Numeral | None], values: Sequence[float],
    written: Sequence[bool],
) -> dict[str, Any]:  # fmt: skip
    """The batch with one more token in each row, and its numeral where it has one, with its (scaled) value.

    `written` tells which rows' new token is a subword of their last number.
    """
    device = fields["input_ids"].device
    token = torch.tensor(ids, device=device)[:, None]
    result = dict(fields)
    result["input_ids"] = torch.cat([fields["input_ids"], token], dim=1)
    result["attention_mask"] = torch.cat([fields["attention_mask"], torch.ones_like(token)], dim=1)
    count = fields["number_slots"].abs().amax(1)
    slot = -count * torch.tensor(written, device=device)
    new = [row for row, one in enumerate(numerals) if one is not None and math.isfinite(values[row])]
    if new:
        rows = torch.tensor(new, device=device)
        place = count[rows]  # after the row's last number, so that neighbours in the table are neighbours in the text
        slot[rows] = place + 1
        more = max(0, int(slot.max()) - fields["number_bits"].shape[1])
        table = NumberTable.of_numerals([numerals[row] for row in new])  # type: ignore[misc]
        bits = torch.tensor([values[row] for row in new], dtype=torch.float64).view(torch.int64)
        columns = {"bits": bits, "chars": table.characters, "precision": table.precision, "given": table.given}
        for name, column in columns.items():
            old, sizes = fields[f"number_{name}"], (0, more)
            if name == "chars":
                width = max(old.shape[-1], column.shape[-1])
                column = pad(column, (0, width - column.shape[-1]))
                sizes = (0, width - old.shape[-1], 0, more)
            old = pad(old, sizes, value=PADDING if name == "given" else 0)
            result[f"number_{name}"] = old.index_put((rows, place), column.to(old))
    result["number_slots"] = torch.cat([fields["number_slots"], slot[:, None]], dim=1)
    return result


def last_token(fields: dict[str, Any], reach: int = 0, relations: int = 0) -> dict[str, Any]:
    """The batch of each row's last token only; `attention_mask` and `number_slots` still cover all tokens.

    The table is cut to the numbers that the token depends on: those within `reach` tokens and, before each of them,
    `relations` more.
    """
    slots = fields["number_slots"]
    result: dict[str, Any] = {key: fields[key] for key in ("attention_mask", "encoder_mask") if key in fields}
    keys = ("number_bits", "number_chars", "number_precision", "number_given")
    result |= {"input_ids": fields["input_ids"][:, -1:], "number_slots": slots} | dict.fromkeys(keys)
    if bool((slots[:, -1 - reach :] != 0).any()):
        kept = min(1 + reach + relations, fields["number_bits"].shape[1])
        before = (slots.abs().amax(1, keepdim=True) - kept).clamp_min(0)
        columns = before + torch.arange(kept, device=slots.device)
        rows = torch.arange(len(slots), device=slots.device)[:, None]
        result |= {key: fields[key][rows, columns] for key in keys}
        result["number_slots"] = slots.sign() * (slots.abs() - before).clamp_min(0)
    return result


def select_rows(fields: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """The rows of a batch with these indices."""
    return {key: value[rows] if isinstance(value, Tensor) else value for key, value in fields.items()}
