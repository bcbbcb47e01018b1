"""Records of one shape as a model's rows, in tensors and at once: what its processor gives for their texts, faster.

All records of a shape have the same tokens between their numbers. Those come from the processor, once; the tokens that
write a number are looked up by its digits. A test holds the rows equal to the processor's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.notation.significant import ZERO

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.records.record_arrays import Shape

__all__ = ["NumberWriter", "Rows", "encode_rows"]

CHUNK = 1 << 24
"""Tokens that are put together at once."""
_MOST_DIGITS = 4
"""Digits before the point of a number that is kept as it stands."""


class Rows:
    """Encoded records of one shape.

    Attributes:
        ids: (N, T) int32, padded on the right.
        slots: (N, T) int16.
        bits: (N, M) int64, the numbers as float64.
        lengths: (N,) int64 on the CPU, tokens of each.
        asks: See `Shape`.
    """

    def __init__(self, ids: Tensor, slots: Tensor, bits: Tensor, lengths: Tensor, asks: dict[str, Any]) -> None:
        self.ids, self.slots, self.bits, self.lengths, self.asks = ids, slots, bits, lengths, asks

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, rows: Tensor) -> dict[str, Tensor]:
        """Some rows as a model takes them; a mask only where some are longer than others. `rows` are on the CPU."""
        lengths = self.lengths[rows]
        longest, shortest = int(lengths.max()), int(lengths.min())
        where = rows.to(self.ids.device, non_blocking=True)
        fields = {
            "input_ids": self.ids[where, :longest].long(),
            "number_slots": self.slots[where, :longest].long(),
            "number_bits": self.bits[where],
        }
        if shortest < longest:
            place = torch.arange(longest, device=self.ids.device)
            fields["attention_mask"] = (place < lengths.to(self.ids.device)[:, None]).long()
        return fields

    def wanted(self, ask: str, count: int) -> Tensor:
        """The field `number_wanted` of so many rows that ask for it: (count, M) bool."""
        wanted = torch.zeros(count, self.bits.shape[1], dtype=torch.bool, device=self.bits.device)
        wanted[:, list(self.asks[ask])] = True
        return wanted


class NumberWriter:
    """Writes numbers of some decimals in a model's notation, many at once.

    Args:
        model: One whose notation is `marker`, `keep` or of xVal's family (`p10`, `p1000`, `b1999`, `fp15`).
        decimals: Of all numbers.
        device: Where.
    """

    def __init__(self, model: NumberModel, decimals: int, device: torch.device | str = "cpu") -> None:
        processor: Any = model.processor
        self.kind, self.decimals, self.device = processor.notation.config.kind, decimals, torch.device(device)
        if self.kind not in ("marker", "keep", "p10", "p1000", "b1999", "fp15"):
            raise ValueError(f"notation {self.kind!r} cannot be written in tensors")
        own = {token: processor.first_id + index for index, token in enumerate(processor.own_tokens)}
        words: Any = processor.tokenizer

        def ids(tokens: list[str], known: Any = own.__getitem__) -> Tensor:
            return torch.tensor([known(token) for token in tokens], device=self.device, dtype=torch.int32)

        self.num = processor.num_id
        self.powers = torch.tensor([10**power for power in range(18)], device=self.device)
        if self.kind == "keep":
            self.characters = ids(list("0123456789.+-"), words.convert_tokens_to_ids)
        elif self.kind != "marker":
            self.lowest = processor.notation.config.lowest
            exponents = [f"E{power:+d}" for power in range(self.lowest, processor.notation.config.highest + 1)]
            sizes = [str(size) for size in range(100, 1000)]
            self.zero = own[ZERO]
            tables = {
                "p10": (["+", "-"], list("0123456789"), exponents),
                "p1000": (["+", "-"], sizes, exponents),
                "b1999": ([sign + size for sign in "+-" for size in sizes], exponents),
                "fp15": ([sign + size + power for sign in "+-" for size in sizes for power in exponents],),
            }
            self.tables = [ids(tokens) for tokens in tables[self.kind]]
            self.exponents = len(exponents)

    def __call__(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (..., L) int32 of numbers (...), and which of them there are (..., L) bool."""
        if self.kind == "marker":
            tokens = torch.full((*values.shape, 1), self.num, dtype=torch.int32, device=self.device)
            return tokens, torch.ones_like(tokens, dtype=torch.bool)
        whole = (values.abs() * 10**self.decimals).round().long()
        return self._kept(values, whole) if self.kind == "keep" else self._significant(values, whole)

    def _kept(self, values: Tensor, whole: Tensor) -> tuple[Tensor, Tensor]:
        places = _MOST_DIGITS + self.decimals
        if int(whole.max()) >= 10**places:
            raise ValueError(f"numbers must be below {10**_MOST_DIGITS}, got {float(values.abs().max())}")
        digits = whole[..., None] // self.powers[:places].flip(0) % 10
        # Zeros before the first digit are not written, but for the one right before the point.
        seen = (whole[..., None] >= self.powers[self.decimals : places].flip(0)).clone()
        seen[..., -1] = True
        sign, point = (11 + (values < 0).long())[..., None], torch.full_like(whole, 10)[..., None]
        tokens = torch.cat([sign, digits[..., :_MOST_DIGITS], point, digits[..., _MOST_DIGITS:]], dim=-1)
        all_of = torch.ones_like(tokens[..., _MOST_DIGITS + 1 :], dtype=torch.bool)
        return self.characters[tokens], torch.cat([torch.ones_like(sign, dtype=torch.bool), seen, all_of], dim=-1)

    def _significant(self, values: Tensor, whole: Tensor) -> tuple[Tensor, Tensor]:
        count = torch.bucketize(whole, self.powers, right=True)  # digits
        step = self.powers[(count - 3).clamp_min(0)]
        size, rest = whole // step, whole % step
        up = (2 * rest > step) | ((2 * rest == step) & (size % 2 == 1))  # half to even, as decimals are rounded
        size = (size + up.long()) * self.powers[(3 - count).clamp_min(0)]
        over = size == 1000
        size, power = torch.where(over, 100, size), count - 3 + over.long() - self.decimals - self.lowest
        is_zero = whole == 0
        size, power = size.masked_fill(is_zero, 100), power.masked_fill(is_zero, 0)
        minus = (values < 0).long()
        signed = 900 * minus + size - 100
        # The table of each token, and the index in it.
        places = {
            "p10": [(0, minus), (1, size // 100), (1, size // 10 % 10), (1, size % 10), (2, power)],
            "p1000": [(0, minus), (1, size - 100), (2, power)],
            "b1999": [(0, signed), (1, power)],
            "fp15": [(0, signed * self.exponents + power)],
        }
        tokens = torch.stack([self.tables[table][index] for table, index in places[self.kind]], dim=-1)
        tokens[..., 0] = torch.where(is_zero, self.zero, tokens[..., 0])
        there = torch.ones_like(tokens, dtype=torch.bool)
        there[..., 1:] &= ~is_zero[..., None]  # zero is one token
        return tokens, there


def encode_rows(model: NumberModel, shape: Shape, numbers: Tensor, writer: NumberWriter) -> Rows:
    """The rows of records of one shape with numbers (N, M) float64, rounded, on the device of the model's writer."""
    device = numbers.device
    between = _tokens_between(model, shape, writer.decimals)
    width = writer(numbers[:1, :1])[0].shape[-1]
    layout, owner = list(between[0]), [0] * len(between[0])  # tokens of a row, and the number of each: 0 for none
    for index, section in enumerate(between[1:], 1):
        layout += [0] * width + section
        owner += [index] * width + [0] * len(section)
    frame = torch.tensor(layout, dtype=torch.int32, device=device)
    owners = torch.tensor(owner, dtype=torch.int16, device=device)
    inside = owners > 0
    pad: Any = model.processor.tokenizer.pad_token_id
    ids, slots, lengths = [], [], []
    for some in numbers.split(max(1, CHUNK // max(1, len(layout)))):
        tokens, there = writer(some)
        row = frame.repeat(len(some), 1)
        row[:, inside] = tokens.reshape(len(some), -1)
        kept = torch.ones_like(row, dtype=torch.bool)
        kept[:, inside] = there.reshape(len(some), -1)
        lengths.append(kept.sum(1).cpu())
        # Tokens that are not there go behind the end, and are cut off.
        places = torch.where(kept, kept.cumsum(1) - 1, row.shape[1])
        longest = int(lengths[-1].max())
        for found, column, fill in ((ids, row, pad), (slots, owners.repeat(len(some), 1), 0)):
            empty = torch.full((len(some), row.shape[1] + 1), fill, dtype=column.dtype, device=device)
            found.append(empty.scatter_(1, places, column)[:, :longest])
    longest = max(part.shape[1] for part in ids)
    joined: Any = [
        torch.cat([functional.pad(part, (0, longest - part.shape[1]), value=fill) for part in parts])
        for parts, fill in ((ids, pad), (slots, 0))
    ]
    wide, owned = joined
    return Rows(wide, owned, numbers.contiguous().view(torch.int64), torch.cat(lengths), shape.asks)


def _tokens_between(model: NumberModel, shape: Shape, decimals: int) -> list[list[int]]:
    """The tokens before, between and behind the numbers, from one record as the processor sees it."""
    numbers = len(shape.sections) - 1
    text = shape.text([1.5] * numbers, decimals)
    batch = model.processor([text])
    found: list[list[int]] = [[]]
    last = 0
    for token, slot in zip(batch["input_ids"][0], batch["number_slots"][0], strict=True):
        if slot == 0:
            found[-1].append(token)
        elif slot != last:
            found.append([])
        last = slot or last
    if len(found) != numbers + 1:
        raise ValueError(f"{numbers} numbers in {text[:60]!r}, and {len(found) - 1} were read")
    return found
