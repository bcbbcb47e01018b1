"""Numbers of table cells: accounting negatives such as `(317)`, `- 5`, `5-` and `$ (1,234)`.

In running text `(317)` is a remark and `- 5` an item of a list. In a cell that holds nothing else, both are negative.
"""

from __future__ import annotations

import re

from numerate.numerals.style import MINUS_SIGNS
from numerate.numerals.units import CURRENCIES, currency_before, unit_after
from numerate.reading.kinds import END, KIND, POINT, POWER, START, UNIT, UNIT_SPAN, VALUE, Record
from numerate.reading.sharing import scaled_value
from numerate.reading.suffixes import suffix_after, word_at

__all__ = ["read_as_cell"]

_BLANK = " \t\n\r\u00a0\u2009\u202f"
_FOOTNOTES = "*†‡"
_KINDS = frozenset(["quantity", "identifier", "year", "percent", "money"])
_LEADING_ZERO = re.compile(r"0[\dxXoObB]")
# Before the digits: currency, minus, parenthesis, currency, minus, each at most once.
_WORD, _SPACE, _SIGN = rf"([^{MINUS_SIGNS}{_BLANK}()\d]*+)", rf"[{_BLANK}]*+", rf"([{MINUS_SIGNS}]?)"
_BEFORE = re.compile(rf"{_WORD}{_SPACE}{_SIGN}{_SPACE}(\(?){_SPACE}{_WORD}{_SPACE}{_SIGN}{_SPACE}").fullmatch


def read_as_cell(text: str, records: list[Record]) -> list[Record]:
    """The records of a cell: if one number fills it, parentheses or a minus make the number negative.

    Example:
        >>> read_as_cell("(317)", [(1, 4, 317.0, "quantity", None, None, 0, ".")])
        [(0, 5, -317.0, 'quantity', None, None, 0, '.')]
    """
    if len(records) != 1 or records[0][KIND] not in _KINDS:
        return records
    record = records[0]
    begin, end = len(text) - len(text.lstrip(_BLANK)), len(text.rstrip(_BLANK + _FOOTNOTES))
    before = _BEFORE(text, begin, record[START])
    if before is None or (money := _with_currency(text, record, before)) is None:
        return records
    span = money[UNIT_SPAN]
    after = max(money[END], span[1]) if span is not None else money[END]
    number = text[money[START] : money[END]]
    minus = before.start(2) if before[2] else before.start(5) if before[5] else None
    remark = "/" in number and (minus is None or before[3] != "")  # `(3/4)` is no negative number, `- 3/4` is one
    if money[VALUE] < 0 or number[0] in "+(" or remark or _LEADING_ZERO.match(number):
        return [money] if after == end else records
    if before[3] and minus is None:
        found = _in_parentheses(text, money, before.start(3), after, end)
    elif minus is not None and not before[3] and not (before[2] and before[5]):
        found = _negative(money, minus, money[END]) if after == end else None
    elif minus is None and after == money[END] == end - 1 and text[after] in MINUS_SIGNS:
        found = _negative(money, money[START], end)
    else:
        found = money if after == end else None
    return records if found is None else [found]


def _with_currency(text: str, record: Record, before: re.Match[str]) -> Record | None:
    """The record with the currency before it, however many spaces are between; None if other words precede it."""
    words = [(begin, end) for begin, end in (before.span(1), before.span(4)) if begin < end]
    if not words:
        return record
    found = currency_before(text, words[0][1])
    if len(words) > 1 or found is None or found[1:] != words[0]:
        return None
    if record[UNIT] is not None:
        return record if record[UNIT_SPAN] == words[0] else None
    if record[KIND] == "percent":
        return record
    return (*record[:KIND], "money", found[0], words[0], *record[POWER:])


def _in_parentheses(text: str, record: Record, opening: int, after: int, end: int) -> Record | None:
    """A negative number in parentheses with a percent sign, scale word or unit after them: `(55) bps`, `(62) USD`."""
    span = record[UNIT_SPAN]
    if span is not None and span[0] > opening and record[UNIT] not in CURRENCIES:
        return None  # `(5 km)` is a remark
    close = after
    while text[close : close + 1] in _BLANK and close < end:
        close += 1
    if text[close : close + 1] != ")":
        return None
    stop = close + 1
    word = word_at(text, stop) if stop < end else None
    if word is not None and record[POWER] == 0:
        money = record[KIND] == "money"
        suffix = suffix_after(text, stop, stop, word, "", money)
        if suffix is not None and suffix[1] != 0:
            stop, power, kind = suffix[0], suffix[1], suffix[3] or record[KIND]
            value = scaled_value(text[record[START] : record[END]], record[VALUE], power)
            record = (*record[:VALUE], value, kind, record[UNIT], span, power, *record[POINT:])
    closed = stop
    if stop < end and record[UNIT] is None and (unit := unit_after(text, stop)) is not None:
        kind = "money" if unit[0] in CURRENCIES else record[KIND]
        record, stop = (*record[:KIND], kind, unit[0], unit[1:], *record[POWER:]), unit[2]
    return _negative(record, opening, closed) if stop == end else None


def _negative(record: Record, start: int, end: int) -> Record:
    kind = "quantity" if record[KIND] in ("identifier", "year") else record[KIND]
    return (start, end, -record[VALUE], kind, *record[UNIT:])
