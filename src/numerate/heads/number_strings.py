"""Canonical strings of numbers as character ids on the device, and their values.

A string is a row of `number_table.CHARACTERS` ids (digits, "-", ".", "e"), 0-padded to 32. Plain decimals keep their
written form, so that 1.50 differs from 1.5; commas, a plus sign and leading zeros are removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from numerate.heads.base import LARGEST, NumberTable
from numerate.processing.number_table import CHARACTERS, MAX_CHARACTERS, character_rows

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["floats_of", "hashes_of", "packed", "strings_of", "strings_of_texts", "texts_of", "unpacked", "values_of"]

_ZERO, _NINE, _MINUS, _PLUS = (CHARACTERS[char] for char in "09-+")
_POINT, _COMMA, _E = (CHARACTERS[char] for char in ".,e")
_TEXT = {index: char for char, index in CHARACTERS.items() if char.isascii() and char != "E"}
_FLOATS = [float(f"1e{power}") for power in range(309)]
"""Powers of ten, correctly rounded: `torch.pow` is not exact on every device."""
_INTEGERS = [10**power for power in range(19)]
_EXACT = 2**53
_AGREES = 1e-9
"""Largest relative difference between a value and its written form."""


def strings_of(numbers: NumberTable) -> Tensor:
    """The string of each number: (N, 32) uint8; all 0 for NaN and the infinities.

    Characters that are a plain decimal (digits, commas, one point, a sign) and agree with the value are kept, without
    "+", commas and leading zeros, but with trailing zeros. For all others (percentages, scale words, a decimal comma,
    scaled values, long texts) the value is written out to the table's precision, with at most 2**53 units or 15 digits,
    and with an exponent if it would take more than 32 characters.

    Example:
        >>> from numerate import find
        >>> texts_of(strings_of(NumberTable.of_numerals(find("+1,234.50; .5; 007; 3.2%; 1.5 billion; 1.5e300"))))
        ['1234.50', '0.5', '7', '0.032', '1500000000', '1.5e300']
    """
    values = numbers.values()
    kept, agrees = _plain(numbers)
    strings = torch.where(agrees[:, None], kept, _spelled(values, numbers.precision.to(torch.int64)))
    return strings.masked_fill(~values.isfinite()[:, None], 0)


def strings_of_texts(texts: Sequence[str], device: torch.device | str | None = None) -> Tensor:
    """Texts that are canonical strings already, as ids: (N, 32) uint8.

    Example:
        >>> texts_of(strings_of_texts(["1.50", "-2e9"]))
        ['1.50', '-2e9']
    """
    rows = torch.from_numpy(character_rows(texts))
    return functional.pad(rows, (0, MAX_CHARACTERS - rows.shape[1])).to(device)


def texts_of(strings: Tensor) -> list[str]:
    """(N, L) ids as N texts."""
    return ["".join(_TEXT[char] for char in row if char) for row in strings.tolist()]


def floats_of(strings: Tensor) -> Tensor:
    """The value of each string by Python's `float`, clamped to finite numbers: (N,) float64. For small vocabularies.

    Example:
        >>> floats_of(strings_of_texts(["0.1", "1.79769313486232e308"])).tolist()
        [0.1, 1.7976931348623157e+308]
    """
    values = torch.tensor([float(text) for text in texts_of(strings)], dtype=torch.float64, device=strings.device)
    return values.clamp(-LARGEST, LARGEST)


def values_of(strings: Tensor) -> Tensor:
    """The value of each string: (N,) float64, NaN for strings that are not numbers; exact up to 15 digits.

    Vectorised, unlike `floats_of`. Digits after the 18th are ignored, and numbers that are too large are infinite.

    Example:
        >>> values_of(strings_of_texts(["-12.50", "1e-3", "1.5e300", "1-2", "."])).tolist()
        [-12.5, 0.001, 1.5e+300, nan, nan]
    """
    ids = strings.to(torch.int64)
    digit, point, minus = (ids >= _ZERO) & (ids <= _NINE), ids == _POINT, ids == _MINUS
    after_e = (ids == _E).cumsum(-1) > 0
    front, back = digit & ~after_e, digit & after_e
    behind = (point & ~after_e).cumsum(-1) > 0
    before = functional.pad(ids, (1, 0))[:, :-1]
    well = (
        front.any(-1)
        & (point.sum(-1) <= 1)
        & ~(point & after_e).any(-1)
        & ((ids == _E).sum(-1) == back.any(-1))  # at most one "e", with digits after it
        & ~(minus & (before != _E))[:, 1:].any(-1)  # signs at the start or after the "e" only
        & ~((point | (ids == _E)) & ~((before >= _ZERO) & (before <= _NINE))).any(-1)  # both follow a digit
        & (_last(ids) <= _NINE)
    )
    significant = front & ((front & (ids != _ZERO)).cumsum(-1) > 0)
    counted = significant & (significant.cumsum(-1) <= 18)
    units = _joined(ids - _ZERO, counted)
    tens = (significant & ~counted).sum(-1) - (front & behind).sum(-1)
    exponent = _joined(ids - _ZERO, back & (back.flip(-1).cumsum(-1).flip(-1) <= 6))
    exponent = torch.where((minus & after_e).any(-1), -exponent, exponent)
    size = _scaled(units.to(torch.float64), exponent + tens)
    return torch.where(minus[:, 0], -size, size).masked_fill(~well, torch.nan)


def packed(strings: Tensor) -> Tensor:
    """Strings as two integers with four bits per character, without loss: (..., 32) to (..., 2) int64."""
    halves = strings.to(torch.int64).unflatten(-1, (2, 16))
    return (halves << _shifts(strings.device)).sum(-1)


def unpacked(pairs: Tensor) -> Tensor:
    """Inverse of `packed`: (..., 2) to (..., 32) uint8.

    Example:
        >>> texts_of(unpacked(packed(strings_of_texts(["-12.5"]))))
        ['-12.5']
    """
    return ((pairs[..., None] >> _shifts(pairs.device)) & 15).flatten(-2).to(torch.uint8)


def hashes_of(pairs: Tensor) -> Tensor:
    """Hash of `packed` strings: (..., 2) to (...) int64."""
    mixed = pairs[..., 0] * -0x61C8864680B583EB + pairs[..., 1] * 0x2545F4914F6CDD1D
    return mixed ^ (mixed >> 29)


def _shifts(device: torch.device) -> Tensor:
    return torch.arange(60, -1, -4, device=device)


def _last(ids: Tensor) -> Tensor:
    """The last character of each string."""
    return ids.gather(1, ((ids != 0).sum(-1, keepdim=True) - 1).clamp_min(0))[:, 0]


def _joined(digits: Tensor, which: Tensor) -> Tensor:
    """The integer made of the selected digits of each row, at most 18."""
    places = which.flip(-1).cumsum(-1).flip(-1) - 1
    powers = torch.tensor(_INTEGERS, device=digits.device)
    return (digits * powers[places.clamp(0, 18)]).masked_fill(~which, 0).sum(-1)


def _scaled(values: Tensor, tens: Tensor) -> Tensor:
    """Values · 10**tens for any `tens`, correctly rounded where 10**|tens| is exact (up to 22)."""
    powers = torch.tensor(_FLOATS, dtype=torch.float64, device=values.device)
    size = tens.abs().clamp_max(700)
    first = size.clamp_max(300)
    once, twice = powers[first], powers[(size - first).clamp_max(308)]
    many = powers[(size - 608).clamp_min(0)]
    return torch.where(tens < 0, values / once / twice / many, values * once * twice * many)


def _plain(numbers: NumberTable) -> tuple[Tensor, Tensor]:
    """The characters as a string (N, 32), and (N,) bool: whether they are a plain decimal equal to the value."""
    ids = numbers.characters.to(torch.int64)
    ids = functional.pad(ids, (0, MAX_CHARACTERS - ids.shape[1]))
    digit, point, comma = (ids >= _ZERO) & (ids <= _NINE), ids == _POINT, ids == _COMMA
    sign = (ids == _MINUS) | (ids == _PLUS)
    behind = point.cumsum(-1) > 0
    decimals = (digit & behind).sum(-1)
    known = digit | point | comma | sign | (ids == 0)
    full = ids[:, -1] != 0  # perhaps truncated, then its precision is compared
    agrees = (
        known.all(-1)
        & digit.any(-1)
        & (point.sum(-1) <= 1)
        & ~sign[:, 1:].any(-1)
        & ~(comma & behind).any(-1)
        & (~full | (numbers.precision == -decimals))
    )
    whole = digit & ~behind
    counts = whole & ((whole & (ids != _ZERO)).cumsum(-1) > 0)
    last = whole & (whole.flip(-1).cumsum(-1).flip(-1) == 1)
    keep = counts | last | (digit & behind) | (point & (decimals > 0)[:, None]) | (ids == _MINUS)
    missing = (~whole.any(-1) & agrees)[:, None]  # ".5" gets a zero before the point
    place = keep.cumsum(-1) - 1 + (missing & behind)
    agrees = agrees & (place[:, -1] < MAX_CHARACTERS)
    place = torch.where(keep & (place < MAX_CHARACTERS), place, MAX_CHARACTERS)
    strings = torch.zeros(len(ids), MAX_CHARACTERS + 1, dtype=torch.int64, device=ids.device)
    strings = strings.scatter(1, place, ids)
    zero = torch.where(missing, (ids[:, :1] == _MINUS).to(torch.int64), MAX_CHARACTERS)
    strings = strings.scatter(1, zero, _ZERO)[:, :MAX_CHARACTERS].to(torch.uint8)
    values = numbers.values()
    said = values_of(strings)
    return strings, agrees & ((said - values).abs() <= _AGREES * values.abs())


def _spelled(values: Tensor, precision: Tensor) -> Tensor:
    """Finite values written out down to the digit of 10**precision: (N, 32) uint8."""
    size = values.abs().nan_to_num(0.0, 0.0, 0.0)
    units = _scaled(size, -precision).round()
    # Above 2**53 units, the 15 digits that a float64 always represents.
    highest = size.clamp_min(5e-324).log10().floor().to(torch.int64)
    precision = torch.where(units < _EXACT, precision, (highest - 14).maximum(precision))
    units = torch.where(units < _EXACT, units, _scaled(size, -precision).round()).to(torch.int64)
    precision = torch.where(units == 0, precision.clamp_max(0), precision)
    minus = (values < 0).to(torch.int64)
    plain, length = _as_decimal(units, precision, minus)
    return torch.where((length <= MAX_CHARACTERS)[:, None], plain, _with_exponent(units, precision, minus))


def _count(units: Tensor) -> Tensor:
    """Number of digits of an integer, 1 for 0."""
    return (units[:, None] >= torch.tensor(_INTEGERS, device=units.device)[1:]).sum(-1) + 1


def _digit(units: Tensor, place: Tensor) -> Tensor:
    """Ids of the digits at some places, counted from the ones: (N,), (N, C) to (N, C)."""
    powers = torch.tensor(_INTEGERS, device=units.device)
    digits = units[:, None] // powers[place.clamp(0, 18)] % 10
    return digits.masked_fill((place < 0) | (place > 18), 0) + _ZERO


def _columns(minus: Tensor) -> Tensor:
    """Columns of the string, counted from the first one after the sign: (N, 32)."""
    return torch.arange(MAX_CHARACTERS, device=minus.device) - minus[:, None]


def _as_decimal(units: Tensor, precision: Tensor, minus: Tensor) -> tuple[Tensor, Tensor]:
    decimals, zeros = (-precision).clamp_min(0), precision.clamp_min(0)
    digits = _count(units).maximum(decimals + 1) + zeros
    whole = (digits - decimals)[:, None]
    column = _columns(minus)
    index = torch.where(column < whole, column, column - 1)
    ids = _digit(units, digits[:, None] - 1 - index - zeros[:, None])
    ids = torch.where(column == whole, _POINT, ids)
    length = minus + digits + (decimals > 0)
    return _finished(ids, minus, length), length


def _with_exponent(units: Tensor, precision: Tensor, minus: Tensor) -> Tensor:
    powers = torch.tensor(_INTEGERS, device=units.device)
    trailing = (units[:, None] % powers[1:] == 0).sum(-1).where(units > 0, 0)
    exponent = _count(units) - 1 + precision
    digits = _count(units) - trailing
    front = digits + (digits > 1)
    column = _columns(minus)
    ids = _digit(units, (_count(units) - 1)[:, None] - torch.where(column == 0, 0, column - 1))
    ids = torch.where(column == 1, _POINT, ids)
    ids = torch.where(column == front[:, None], _E, ids)
    below = (exponent < 0).to(torch.int64)
    ids = torch.where((column == front[:, None] + 1) & (below > 0)[:, None], _MINUS, ids)
    start = front + 1 + below
    size = _count(exponent.abs())
    place = size[:, None] - 1 - (column - start[:, None])
    ids = torch.where(column >= start[:, None], _digit(exponent.abs(), place), ids)
    return _finished(ids, minus, minus + start + size)


def _finished(ids: Tensor, minus: Tensor, length: Tensor) -> Tensor:
    """Adds the sign in front and clears everything after the end."""
    column = torch.arange(MAX_CHARACTERS, device=ids.device)
    ids = torch.where((column == 0) & (minus > 0)[:, None], _MINUS, ids)
    return ids.masked_fill(column >= length[:, None], 0).to(torch.uint8)
