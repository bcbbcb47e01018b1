"""Strings of records that are one written number: `$59,696`, `12 %`, `1.5 km`, `1,234`."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from numerate.reading import make_reader

if TYPE_CHECKING:
    from numerate.reading.base import Reader

__all__ = ["LOCALES", "Locale", "Quantity", "read_quantity"]

Locale = Literal["auto", "eu"]
LOCALES: tuple[Locale, ...] = ("auto", "eu")
"""Ways to read the separators of a column: `1,234.5`, or European `1.234,5`."""
MAX_LENGTH = 40
"""Longer strings are texts."""

_KINDS = ("quantity", "percent", "money")
_PERCENT = {-2: "%", -3: "‰", -4: "bp"}
_LEADING_ZERO = re.compile(r"(?<![0-9.,])0[0-9]", re.ASCII)
_SIGNIFICANT = re.compile(r"[0-9]", re.ASCII)


class Quantity(NamedTuple):
    """A number and its unit.

    Attributes:
        number: The number in its unit: 59696 for `$59,696`, 12 for `12 %`, 1.5e6 for `$1.5 million`.
        unit: ISO code of the currency, `%`, or the unit; empty without one.
        comma: Whether it has a decimal comma, which only a European number has.
    """

    number: float
    unit: str = ""
    comma: bool = False


def read_quantity(text: str, locale: Locale = "auto") -> Quantity | None:
    """The number that a string writes; None if the string is anything else.

    Accounting negatives (`(317)`, `- 5`, `5-`) are numbers. Identifiers are no numbers: leading zeros, digits in groups
    by spaces without a unit (telephone numbers), versions. Neither are dates, times, ordinals, fractions, ranges, and
    numbers beside words or comparison signs.

    Example:
        >>> [read_quantity(text)[:2] for text in ("$59,696", "12 %", "-3.5 km", "($1,200)")]
        [(59696.0, 'USD'), (12.0, '%'), (-3.5, 'km'), (-1200.0, 'USD')]
        >>> [read_quantity(text) for text in ("007", "555 123 456", "v1.2", "3/4", "<5 kg", "10-15 %", "about 5")]
        [None, None, None, None, None, None, None]
    """
    text = text.strip()
    if len(text) > MAX_LENGTH or not _SIGNIFICANT.search(text) or _LEADING_ZERO.search(text):
        return None
    found = _reader(locale).find(text)
    if len(found) != 1 or found[0].kind not in _KINDS or not math.isfinite(found[0].value):
        return None
    [numeral] = found
    style, (first, last) = numeral.style, numeral.unit_span or (numeral.start, numeral.start)
    rest = [text[at] for at in range(len(text)) if not (numeral.start <= at < numeral.end or first <= at < last)]
    if style.family != "decimal" or style.zero != "0" or "".join(rest).strip():
        return None
    comma = style.point == "," and style.decimals > 0
    if locale == "auto" and (comma or style.group == "."):
        return None  # a European number: whether 1.234 is one, too, the column decides
    unit = _PERCENT.get(numeral.power, "") if numeral.kind == "percent" else numeral.unit or ""
    if style.group.isspace() and not unit:
        return None
    return Quantity(numeral.written if numeral.kind == "percent" else numeral.value, unit, comma)


@cache
def _reader(locale: Locale) -> Reader:
    return make_reader("standard", locale=locale, cell=True)
