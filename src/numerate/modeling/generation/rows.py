"""The texts in the making: their tokens, their numbers, and the tensors that a model reads them from."""

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

__all__ = ["Row", "SaidNumber", "appended", "last_token", "selected", "spelled_out"]


@dataclass(frozen=True)
class SaidNumber:
    """A number in a generated text.

    Attributes:
        text: As it is written there.
        value: What it is.
        distribution: What it was taken from, one row; None where it was written piece by piece. It is of scaled numbers
            where the processor scales them.
        log_prob: How probable its pieces were, or its [NUM]; None where they were not told from words.
    """

    text: str
    value: float
    distribution: NumberDistribution | None = None
    log_prob: float | None = None


@dataclass
class Row:
    """One text in the making.

    Attributes:
        prompt: Which prompt it goes on from.
        ids: The new tokens.
        numbers: The new numbers.
        numerals: What the new [NUM] tokens stand for; None for a number that nobody could give.
        opened: The pieces of the number that is being written, and `opened_score` their log-probability.
        forced: Tokens that have to come next.
        score: Log-probability of the new tokens.
        done: Whether nothing follows.
    """

    prompt: int
    ids: list[int] = field(default_factory=list)
    numbers: list[SaidNumber] = field(default_factory=list)
    numerals: list[Numeral | None] = field(default_factory=list)
    opened: tuple[str, ...] = ()
    opened_score: float = 0.0
    forced: tuple[int, ...] = ()
    score: float = 0.0
    done: bool = False

    def twin(self) -> Row:
        """One that goes its own way."""
        return replace(self, ids=list(self.ids), numbers=list(self.numbers), numerals=list(self.numerals))


def spelled_out(value: float, digits: int) -> Numeral:
    """A value as a numeral of so many significant digits; its own value is what is written.

    Example:
        >>> [spelled_out(value, 4).text for value in (324.0, 0.0123456, -1e20, 0.0)]
        ['324', '0.01235', '-1e20', '0']
    """
    number = Decimal(f"{value + 0.0:.{digits - 1}e}").normalize()
    if number == 0:
        text = "0"
    elif -7 <= number.adjusted() < 16:
        text = format(number, "f")
    else:
        text = f"{number.scaleb(-number.adjusted()):f}e{number.adjusted()}"
    if not math.isfinite(float(text)):  # rounded up beyond the largest float64
        return spelled_out(math.copysign(1.7976e308, value), min(digits, 5))
    return Numeral(text, 0, len(text), float(text))


def appended(
    fields: dict[str, Any], ids: Sequence[int], numerals: Sequence[Numeral | None], values: Sequence[float]
) -> dict[str, Any]:
    """The fields with one more token in each row, and with its number where it has one.

    Args:
        fields: A batch with a number table, (B, T) and (B, M).
        ids: B tokens.
        numerals: B numerals, None for a token that is no number.
        values: Their values as the table holds them.
    """
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
    """The fields of each row's last token alone, but for `attention_mask`, which speaks of all."""
    slots = fields["number_slots"][:, -1:]
    result: dict[str, Any] = {key: fields[key] for key in ("attention_mask", "encoder_mask") if key in fields}
    result["input_ids"] = fields["input_ids"][:, -1:]
    result["number_slots"] = (slots > 0).long()
    result |= dict.fromkeys(("number_bits", "number_chars", "number_precision", "number_given"))
    if bool((slots > 0).any()):  # a number said just now stands last in the table
        result |= {key: fields[key][:, -1:] for key in result if key in fields and result[key] is None}
    return result


def _column(numerals: Sequence[Numeral | None], values: Sequence[float]) -> NumberTable:
    """A table of one number a row: (B, 1)."""
    empty = Numeral("", 0, 0, 0.0)
    table = NumberTable.of_numerals([numeral or empty for numeral in numerals])
    bits = torch.tensor(list(values), dtype=torch.float64).view(torch.int64)
    given = torch.tensor([PADDING if numeral is None else GIVEN for numeral in numerals], dtype=torch.uint8)
    given = torch.where(bits.view(torch.float64).isfinite(), given, torch.full_like(given, ASKED))
    characters = table.characters if table.characters.shape[1] else torch.zeros(len(bits), 1, dtype=torch.uint8)
    return NumberTable(bits[:, None], characters[:, None], table.precision[:, None], given[:, None])


def selected(fields: dict[str, Any], rows: Tensor) -> dict[str, Any]:
    """Some rows of all fields."""
    return {key: value[rows] if isinstance(value, Tensor) else value for key, value in fields.items()}
