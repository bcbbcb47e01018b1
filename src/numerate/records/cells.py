"""One value of a record, whatever file or library it comes from: a number, a time, a text, or nothing."""

from __future__ import annotations

import datetime
import math
import numbers
import re
from typing import Any, Literal, NamedTuple

__all__ = ["MISSING", "Cell", "CellKind", "read_cell", "time_text"]

CellKind = Literal["number", "time", "text", "missing"]

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nat", "<na>"})
"""Strings that stand for nothing, whatever their case."""
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,]+(?:Z|[-+][0-9:]+)?)?", re.ASCII)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_SECOND = datetime.timedelta(seconds=1)


class Cell(NamedTuple):
    """A value as it is treated.

    Attributes:
        kind: What it is.
        number: The number, or a time's seconds since 1970 (UTC).
        text: The text.
        infinite: It is missing because it was infinite: no scaler takes that.
    """

    kind: CellKind
    number: float = math.nan
    text: str = ""
    infinite: bool = False


_NOTHING = Cell("missing")


def read_cell(value: Any) -> Cell:
    """What a value is.

    A string that writes a number is one (CSV has nothing else), but `007` is a text. Truth values are the texts
    `true` and `false`. NaN, infinities and the strings of `MISSING` are missing. A time without a zone is UTC.

    Example:
        >>> read_cell("-1.5e3").number, read_cell("007").kind, read_cell(float("nan")).kind
        (-1500.0, 'text', 'missing')
        >>> read_cell("2024-02-29T12:00:00+02:00")
        Cell(kind='time', number=1709200800.0, text='', infinite=False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # what pandas writes for nothing
        return _NOTHING
    if isinstance(value, str):
        return _of_text(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        # In nanoseconds, as pandas has them, `item` would give a bare integer.
        value = (value.astype("datetime64[us]") if type(value).__name__ == "datetime64" else value).item()
        if value is None:
            return _NOTHING
    if isinstance(value, bool):
        return Cell("text", text="true" if value else "false")
    if isinstance(value, numbers.Number) or type(value).__name__ == "Decimal":
        return _of_number(value)
    if isinstance(value, datetime.datetime):
        return Cell("time", _seconds(value))
    if isinstance(value, datetime.date):
        return Cell("time", _seconds(datetime.datetime(value.year, value.month, value.day)))
    return Cell("text", text=str(value))


def time_text(seconds: float) -> str:
    """The time, in ISO's form, of seconds since 1970; `nan` where no calendar reaches.

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
        return _NOTHING
    if _NUMBER.fullmatch(text):
        return _of_number(text)
    if _TIME.fullmatch(text):
        try:
            return Cell("time", _seconds(datetime.datetime.fromisoformat(text)))
        except ValueError:
            pass  # the 31st of June is a text
    if text.lower().lstrip("+-") in ("inf", "infinity"):
        return _NOTHING._replace(infinite=True)
    return Cell("text", text=text)


def _of_number(value: Any) -> Cell:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):  # a complex number
        return Cell("text", text=str(value))
    if not math.isfinite(number):
        return _NOTHING._replace(infinite=math.isinf(number))
    return Cell("number", number)


def _seconds(time: datetime.datetime) -> float:
    return ((time if time.tzinfo is not None else time.replace(tzinfo=datetime.UTC)) - _EPOCH) / _SECOND
