"""Summaries of distributions for people: `repr`, and the most probable numbers as they would be written."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import torch

from numerate.heads.arguments import NumberContext
from numerate.numerals.numeral import Numeral
from numerate.numerals.rounded import numeral_of
from numerate.numerals.style import Style, render
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.heads.distribution import NumberDistribution

__all__ = ["Candidate", "best_candidates", "described"]

_SHOWN = 6
"""Most rows that `repr` shows in full; of more rows, it shows half as many at each end."""
_DIGITS = 4
"""Significant digits in `repr`."""
_FEWEST, _MOST = 2, 6
"""Significant digits of a candidate."""
_DECIMALS = 4
"""Candidates of a distribution over written numbers have less decimals than this."""
_PLAIN = (1e-7, 1e16)
"""Sizes that are written without an exponent."""


class Candidate(NamedTuple):
    """A probable number.

    Attributes:
        text: The number in the style of its text, `1,350` or `1350`.
        value: Its value.
        log_prob: Log-probability of the numeral; of all values that round to it if the distribution is over values.
    """

    text: str
    value: float
    log_prob: float


@torch.no_grad()
def described(distribution: NumberDistribution) -> str:
    """The `repr` of a distribution: median and 90 % interval of each row, of many rows only the first and last."""
    name, count = type(distribution).__name__, len(distribution)
    half = _SHOWN // 2
    rows = list(range(count)) if count <= _SHOWN else [*range(half), *range(count - half, count)]
    if not rows:
        return f"{name}(0 rows)"
    shown = distribution[torch.tensor(rows, device=distribution.device)]
    (low, high), median = shown.interval(0.9), shown.median()
    texts = [
        f"median {_short(middle)}, 90 % interval {_short(start)} to {_short(end)}"
        for middle, start, end in zip(median.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    if count == 1:
        return f"{name}({texts[0]})"
    lines = [f"  [{row}] {text}" for row, text in zip(rows, texts, strict=True)]
    if count > _SHOWN:
        lines.insert(half, "  ...")
    return "\n".join([f"{name}({count} rows", *lines, ")"])


def _short(value: float) -> str:
    return numeral_of(value, _DIGITS).text if math.isfinite(value) else str(value)


@torch.no_grad()
def best_candidates(distribution: NumberDistribution, k: int) -> list[list[Candidate]]:
    """The k most probable numbers of each row; see `NumberDistribution.best`."""
    values = distribution._likely_values()
    levels = torch.tensor([0.25, 0.75], dtype=torch.float64, device=distribution.device)
    quartiles = distribution._near_quantile(levels.expand(len(distribution), 2)).tolist()
    return [_best_of_row(*each, k) for each in zip(distribution, values, quartiles, strict=True)]


def _best_of_row(row: NumberDistribution, likely: Tensor, quartiles: list[float], k: int) -> list[Candidate]:
    values = likely[likely.isfinite()].unique().tolist()
    context = row.contexts[0] if row.contexts else NumberContext(Style())
    if row.is_written:
        candidates = [form for value in values for form in _written_forms(value)]
    else:
        digits = 17 if row._lists_values else _digits(*quartiles)
        candidates = [_fitted(_rounded(value, digits), value, context) for value in values]
    numbers = list({str(number): number for number in candidates}.values())  # 1.5 and 1.50 are equal, but not the same
    table = _table(numbers).to(row.device)
    scores = (row.scores(table) if row.is_written else row.mass_scores(table))[0]
    # All numbers outside of a vocabulary share one probability: none of them is a candidate.
    known = row.without_unknown().scores(table)[0] > -math.inf if row.is_written else scores > -math.inf
    best = scores.masked_fill(~known, -math.inf).topk(min(k, int(known.sum())))
    chosen = [numbers[place] for place in best.indices.tolist()]
    shown = chosen if row.is_written else [_without_zeros(number, context.decimals) for number in chosen]
    texts = [_text(number, context.style) for number in shown]
    return list(map(Candidate, texts, map(float, chosen), best.values.tolist()))


def _digits(low: float, high: float) -> int:
    """Significant digits whose last one is about a tenth of the interquartile range."""
    size = max(abs(low), abs(high))
    relative = (high / size - low / size) if 0 < size < math.inf else 0.0
    return _MOST if relative <= 0 else min(_MOST, max(_FEWEST, math.ceil(1.5 - math.log10(relative))))


def _rounded(value: float, digits: int) -> Decimal:
    """A value rounded to significant digits; the exponent of the result is that of its last digit."""
    number = Decimal(repr(value)) if digits > 16 else Decimal(f"{value:.{digits - 1}e}")
    return number if number else Decimal(0)


def _fitted(number: Decimal, value: float, context: NumberContext) -> Decimal:
    """A rounded value with a last digit that its text can have: the days of a date are whole."""
    last = _exponent(number)
    if context.finest is not None and last < context.finest:
        wanted = context.finest
    elif context.coarsest is not None and last > context.coarsest:
        wanted = context.coarsest
    else:
        return number
    if not abs(value) < _PLAIN[1]:
        return number
    found = Decimal(repr(value)).quantize(Decimal(1).scaleb(wanted))
    return found if found else Decimal(0)


def _without_zeros(number: Decimal, decimals: int = 0) -> Decimal:
    """A number without zeros at the end of its decimals, but for the fewest that it must have."""
    if abs(number) >= _PLAIN[1]:
        return number.normalize()
    bare = number.quantize(Decimal(1)) if number == number.to_integral() else number.normalize()
    return bare.quantize(Decimal(1).scaleb(-decimals)) if -_exponent(bare) < decimals else bare


def _written_forms(value: float) -> list[Decimal]:
    """A value rounded to 0, 1, 2 and 3 decimals, and as it is."""
    exact = Decimal(repr(value))
    if abs(value) >= _PLAIN[1]:
        return [exact]
    forms = [exact.quantize(Decimal(1).scaleb(-decimals)) for decimals in range(_DECIMALS)]
    forms += [exact] if _exponent(exact) <= -_DECIMALS else []
    return [form if form else form.copy_abs() for form in forms]  # -0.3 without decimals is 0, not -0


def _table(numbers: list[Decimal]) -> NumberTable:
    """A table in which the precision of a number is the exponent of its last digit: 2 for 19e2."""
    texts = [_text(number, Style()) for number in numbers]
    table = NumberTable.of_numerals([Numeral(text, 0, len(text), float(text)) for text in texts])
    exponents = torch.tensor([_exponent(number) for number in numbers], dtype=table.precision.dtype)
    return dataclasses.replace(table, precision=exponents)


def _text(number: Decimal, style: Style) -> str:
    value = float(number)
    if value and not _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return numeral_of(value, max(1, len(number.as_tuple().digits))).text
    decimals = max(0, -_exponent(number))
    return render(_with_decimals(style, decimals), value)


@lru_cache(maxsize=256)
def _with_decimals(style: Style, decimals: int) -> Style:
    return dataclasses.replace(style, decimals=decimals)


def _exponent(number: Decimal) -> int:
    """Power of ten of the last digit."""
    return int(number.as_tuple().exponent)
