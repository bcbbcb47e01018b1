"""Texts that are being generated: their tokens, their numbers, and the batch that the model reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import ASKED, GIVEN, PADDING, NumberTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.heads.base import NumberDistribution

__all__ = ["GeneratedNumber", "Row", "append_token", "last_token", "numeral_of", "select_rows"]


@dataclass(frozen=True)
class GeneratedNumber:
    """A number in a generated text.

    Attributes:
        text: As it is written in the text.
        value: Its value.
        distribution: The distribution that it was taken from (of scaled values, if the processor scales); None if it
            was written token by token.
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


def numeral_of(value: float, digits: int) -> Numeral:
    """A value written with `digits` significant digits; the numeral's value is the rounded one.

    Example:
        >>> [numeral_of(value, 4).text for value in (324.0, 0.0123456, -1e20, 0.0)]
        ['324', '0.01235', '-1e20', '0']
    """
    number = Decimal(f"{value + 0.0:.{digits - 1}e}").normalize()
    if number == 0:
        text = "0"
    elif -7 <= number.adjusted() < 16:
        text = format(number, "f")
    else:
        text = f"{number.scaleb(-number.adjusted()):f}e{number.adjusted()}"
    if not math.isfinite(float(text)):  # rounded up above the largest float64
        return numeral_of(math.copysign(1.7976e308, value), min(digits, 5))
    return Numeral(text, 0, len(text), float(text))


def append_token(
    fields: dict[str, Any], ids: Sequence[int], numerals: Sequence[Numeral | None], values: Sequence[float]
) -> dict[str, Any]:
    """The batch with one more token in each row, and its numeral where it has one, with its (scaled) value."""
    device = fields["input_ids"].device
    token = torch.tensor(ids, device=device)[:, None]
    result = dict(fields)
    result["input_ids"] = torch.cat([fields["input_ids"], token], dim=1)
    result["attention_mask"] = torch.cat([fields["attention_mask"], torch.ones_like(token)], dim=1)
    slot = torch.zeros_like(token)
    if any(numeral is not None for numeral in numerals):
        column = _column(numerals, values).to(device)
        slot = (column.given == GIVEN).long() * (fields["number_bits"].shape[1] + 1)
        for name, new in vars(column).items():
            key = "number_chars" if name == "characters" else f"number_{name}"
            old = fields[key]
            if name == "characters":
                width = max(old.shape[-1], new.shape[-1])
                old, new = (torch.nn.functional.pad(one, (0, width - one.shape[-1])) for one in (old, new))
            result[key] = torch.cat([old, new.to(old.dtype)], dim=1)
    result["number_slots"] = torch.cat([fields["number_slots"], slot], dim=1)
    return result


def last_token(fields: dict[str, Any]) -> dict[str, Any]:
    """The batch of each row's last token only; `attention_mask` still covers all tokens."""
    slots = fields["number_slots"][:, -1:]
    result: dict[str, Any] = {key: fields[key] for key in ("attention_mask", "encoder_mask") if key in fields}
    result["input_ids"] = fields["input_ids"][:, -1:]
    result["number_slots"] = (slots > 0).long()
    result |= dict.fromkeys(("number_bits", "number_chars", "number_precision", "number_given"))
    if bool((slots > 0).any()):  # a new number is the last one of the table
        result |= {key: fields[key][:, -1:] for key in result if key in fields and result[key] is None}
    return result


def _column(numerals: Sequence[Numeral | None], values: Sequence[float]) -> NumberTable:
    """A table with one number in each row: (B, 1)."""
    empty = Numeral("", 0, 0, 0.0)
    table = NumberTable.of_numerals([numeral or empty for numeral in numerals])
    bits = torch.tensor(list(values), dtype=torch.float64).view(torch.int64)
    given = torch.tensor([PADDING if numeral is None else GIVEN for numeral in numerals], dtype=torch.uint8)
    given = torch.where(bits.view(torch.float64).isfinite(), given, torch.full_like(given, ASKED))
    characters = table.characters if table.characters.shape[1] else torch.zeros(len(bits), 1, dtype=torch.uint8)
    return NumberTable(bits[:, None], characters[:, None], table.precision[:, None], given[:, None])


def select_rows(fields: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """The rows of a batch with these indices."""
    return {key: value[rows] if isinstance(value, Tensor) else value for key, value in fields.items()}
