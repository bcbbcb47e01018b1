"""Values of records from any file or library: a number, a time, a text, or missing."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from typing import Any, Literal, NamedTuple

__all__ = ["MISSING", "Cell", "CellKind", "read_cell", "time_text"]

CellKind = Literal["number", "time", "text", "missing"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>"})
"""Strings for a missing value, in lower case; case does not matter."""
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[-+][0-9:]+)?)?", re.ASCII)
_HALF = re.compile("[\ud800-\udfff]")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SECOND = datetime.timedelta(seconds=1)


class Cell(NamedTuple):
    """A parsed value.

    Attributes:
        kind: Number, time, text, or missing.
        number: The number, or the seconds of a time since 1970 (UTC).
        text: The text.
        infinite: The value was infinite, and counts as missing, because no scaler accepts it.
    """

    kind: CellKind
    number: float = math.nan
    text: str = ""
    infinite: bool = False


_MISSING = Cell("missing")


def read_cell(value: Any) -> Cell:
    """Parses a value.

    A string with a number is a number (CSV has only strings), but `007` is a text. Booleans are the texts `true` and
    `false`. NaN, infinities and the strings of `MISSING` are missing. A time without a time zone is UTC.
    Of a difference of times, the seconds count.

    Example:
        >>> read_cell("-1.5e3").number, read_cell("007").kind, read_cell(float("nan")).kind
        (-1500.0, 'text', 'missing')
        >>> read_cell("2024-02-29T12:00:00+02:00")
        Cell(kind='time', number=1709200800.0, text='', infinite=False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # missing values of pandas
        return _MISSING
    if isinstance(value, str):
        return _of_text(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        # For nanoseconds, the unit of pandas, `item` would give an integer.
        kind = type(value).__name__
        value = (value.astype(f"{kind}[us]") if kind in ("datetime64", "timedelta64") else value).item()
        if value is None:
            return _MISSING
    if isinstance(value, bool):
        return Cell("text", text="true" if value else "false")
    if isinstance(value, numbers.Number) or type(value).__name__ == "Decimal":
        return _of_number(value)
    if isinstance(value, datetime.timedelta):
        return _of_number(value / _SECOND)
    if isinstance(value, datetime.datetime):
        return Cell("time", _seconds(value))
    if isinstance(value, datetime.date):
        return Cell("time", _seconds(datetime.datetime(value.year, value.month, value.day)))
    return Cell("text", text=_writable(str(value)))


def time_text(seconds: float) -> str:
    """The time in ISO format of seconds since 1970; `nan` outside of the years 1 to 9999.

    Example:
        >>> time_text(1709200800.0)
        '2024-02-29T10:00:00+00:00'
    """
    try:
        return (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()
    except (OverflowError, ValueError):
        return "nan"


def _of_text(value: str) -> Cell:
    text = value.strip()
    if text.lower() in MISSING:
        return _MISSING
    if _NUMBER.fullmatch(text):
        return _of_number(text)
    if _TIME.fullmatch(text):
        try:
            return Cell("time", _seconds(datetime.datetime.fromisoformat(text)))
        except ValueError:
            pass  # the 31st of June is a text
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return _MISSING._replace(infinite=True)
    return Cell("text", text=_writable(text))


def _writable(text: str) -> str:
    """The text with U+FFFD for each half of a character, which JSON can escape and no tokenizer accepts."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def _of_number(value: Any) -> Cell:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):  # a complex number
        return Cell("text", text=str(value))
    if not math.isfinite(number):
        return _MISSING._replace(infinite=math.isinf(number))
    return Cell("number", number)


def _seconds(time: datetime.datetime) -> float:
    return ((time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)) - _EPOCH) / _SECOND
