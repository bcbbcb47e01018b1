"""Numbers as arguments of distributions: floats, tensors, numerals or number tables, in shapes that fit the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from numerate.errors import NumerateError
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from numerate.numerals.style import Style

__all__ = [
    "DistributionError",
    "NumberContext",
    "Numbers",
    "columns_of",
    "fitted_shape",
    "probabilities_of",
    "table_of",
    "values_of",
]

Numbers = float | Sequence[float] | np.ndarray | Tensor | Numeral | Sequence[Numeral] | NumberTable
"""What `log_prob` and `cdf` take."""


class DistributionError(NumerateError, ValueError):
    """An argument outside of its range, such as a probability above 1."""


class NumberContext(NamedTuple):
    """Where a predicted number stands in a text.

    Attributes:
        style: How its text writes numbers: separators, digits and minus sign.
        power: Power of ten of the percent sign or scale word behind it (-2 in `[NUM]%`) or at another number (6 in
            `$[NUM]-65 million`); the number is the one that is written, 3.2 and not 0.032.
        finest: Least power of ten of the last digit, 0 for whole numbers; None for any.
        coarsest: Largest power of ten of the last digit, 0 for years; None for any.
        decimals: Fewest decimals, such as 2 beside `€4.50`.
    """

    style: Style
    power: int = 0
    finest: int | None = None
    coarsest: int | None = None
    decimals: int = 0


def table_of(numbers: Any, contexts: Sequence[NumberContext] | None = None) -> NumberTable:
    """Numbers as a table of their shape; a single one has the shape ().

    A tensor of lower precision is read as it prints: float32 0.1 is written `0.1`. A numeral with the percent sign or
    scale word of its row's context is the number that is written: 3.2 for `3.2%` at `[NUM]%`.

    Example:
        >>> table_of([1.5, -2]).values().tolist(), table_of(7).bits.shape
        ([1.5, -2.0], torch.Size([]))
    """
    if isinstance(numbers, NumberTable):
        return numbers
    if isinstance(numbers, Numeral):
        table = _of_numerals([numbers], contexts)
        return table[0] if len(table) == 1 else table
    if isinstance(numbers, list | tuple) and numbers and all(isinstance(each, Numeral) for each in numbers):
        return _of_numerals(numbers, contexts)
    values = _array(numbers)
    texts, floats = map(_text, values.ravel()), values.astype(np.float64).ravel().tolist()
    numerals = [Numeral(text, 0, len(text), value) for text, value in zip(texts, floats, strict=True)]
    return NumberTable.of_numerals(numerals).reshape(values.shape)


def values_of(numbers: Any, contexts: Sequence[NumberContext] | None = None) -> Tensor:
    """Numbers as a float64 tensor of their shape; a tensor keeps its device and gradient."""
    if isinstance(numbers, Tensor) and numbers.dtype != torch.bool and not numbers.is_complex():
        return numbers.to(torch.float64)
    return table_of(numbers, contexts).values()


def probabilities_of(p: Any, device: torch.device) -> Tensor:
    """Probabilities as a float64 tensor.

    Raises:
        DistributionError: They are no numbers, or not from 0 to 1.
    """
    try:
        chances = torch.as_tensor(p, dtype=torch.float64, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise DistributionError(f"probabilities must be numbers, got {p!r}") from None
    if not bool(((chances >= 0) & (chances <= 1)).all()):
        raise DistributionError(f"probabilities must lie in [0, 1], got {p=}")
    return chances


def fitted_shape(shape: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """Shape of the result for values of a shape and a number of rows.

    Raises:
        DistributionError: The values do not fit the rows.
    """
    if rows == 1 and shape:
        return shape  # any shape: there is only one row to ask
    if shape in ((), (1,), (rows,)):
        return (rows,)
    if len(shape) == 2 and shape[0] in (1, rows):
        return (rows, shape[1])
    hint = ": for samples, pass samples.T" if len(shape) == 2 and shape[1] == rows else ""
    raise DistributionError(f"{rows} rows take values of shape (), ({rows},) or ({rows}, C), got {shape}{hint}")


def columns_of(values: Tensor, rows: int) -> tuple[Tensor, tuple[int, ...]]:
    """Values as (rows, C), the values of each row, and the shape of the result.

    Example:
        >>> columns_of(torch.tensor(7.0), rows=2)
        (tensor([[7.],
                [7.]]), (2,))
    """
    shape = fitted_shape(tuple(values.shape), rows)
    if rows == 1:
        return values.reshape(1, values.numel()), shape
    if values.dim() < 2:
        values = values.reshape(-1, 1)
    return values.expand(rows, values.shape[1]), shape


def _of_numerals(numerals: Sequence[Numeral], contexts: Sequence[NumberContext] | None) -> NumberTable:
    powers = [context.power for context in contexts or ()]
    if not any(powers):
        return NumberTable.of_numerals(numerals)
    if len(set(powers)) == 1:
        powers = powers[:1] * len(numerals)
    elif len(numerals) == 1:  # one numeral for all rows, which may be another number in each
        numerals = [*numerals] * len(powers)
    elif len(numerals) != len(powers):
        raise DistributionError(
            f"{len(powers)} rows with different units take 1 or {len(powers)} numerals, got {len(numerals)}"
        )
    return NumberTable.of_numerals([_in_unit(each, power) for each, power in zip(numerals, powers, strict=True)])


def _in_unit(numeral: Numeral, power: int) -> Numeral:
    """The number that is written before a percent sign or scale word: 3.2 for `3.2%` and the power -2."""
    if power == 0 or numeral.power == 0 or numeral.special is not None:
        return numeral
    plain = numeral.power == power and numeral.style.family == "decimal" and numeral.style.exponent is None
    value = numeral.written if numeral.power == power else numeral.value / 10.0**power
    text = f"{value:.{numeral.decimals}f}" if plain else _text(value)
    return Numeral(text, 0, len(text), value)


def _array(numbers: Any) -> np.ndarray:
    """Real numbers as an array of their own type."""
    if isinstance(numbers, Tensor):
        numbers = numbers.detach().cpu()
        numbers = (numbers.float() if numbers.dtype == torch.bfloat16 else numbers).numpy()
    try:
        values = np.asarray(numbers)
    except (TypeError, ValueError):
        values = np.asarray(None)
    if values.size == 0 and values.dtype.kind in "fiuO":
        values = values.astype(np.float64)
    if values.dtype.kind not in "fiu":
        raise TypeError(f"numbers must be floats, tensors, numerals or a number table, got {repr(numbers)[:60]}")
    return values


def _text(value: Any) -> str:
    return str(value).removesuffix(".0")  # the shortest decimal of the value's own type
