"""One number with all that stands round it: the careful way, for what the quick way of `standard` leaves."""

from __future__ import annotations

import re
from typing import Any

from numerate.reading import kinds, suffixes
from numerate.reading.context import SIGN_LEADERS
from numerate.reading.shapes import DASHES, Part
from numerate.style import VULGAR
from numerate.units import CURRENCIES, currency_before, unit_after

__all__ = ["Record", "plain_value", "read_number"]

_VULGAR = "".join(VULGAR)
_SPACED_GROUPS = re.compile(r"[1-9]\d{0,2}(?: \d{3})++(?![\d,.:/%'-]*+\d)(?! \d)(?:\.\d++)?")
_SPACED_MIXED = re.compile(rf"([1-9]\d{{0,14}}) (?:([1-9]\d?)[/⁄]([1-9]\d{{0,3}})(?![\d/⁄]|[.,]\d)|([{_VULGAR}]))")
_TELEPHONE = re.compile(
    r"(?:\+\d{1,3}(?:[ .-]\(?\d{2,4}\)?){2,5}|(?:\+?\d{1,2}[ .-])?\(\d{3}\) ?\d{3}[ .-]\d{4})(?![.,:/-]?\d)"
)
_NEGATIVE_CLOSE = re.compile(r"\)[ ]?(?:%|percent\b|pct\b)?")
_RUN = re.compile(r"\d++")

Record = tuple[Any, ...]
"""start, end, value, kind, unit, unit_span, power, point: a numeral before it is an object."""


def read_number(
    text: str,
    start: int,
    end: int,
    word: str | None,
    records: list[Record],
    part: Part | None = None,
    left: bool = True,
) -> int:
    """Reads one number: its digits are text[start:end]; appends a record and returns where reading goes on."""
    digits, point, kind = text[start:end], ".", None
    if part is not None:
        point, kind = part.point, part.kind
    before = text[start - 1] if start else ""
    unit = unit_span = None
    power, fraction, exponent = 0, part.fraction if part is not None else None, ""
    begin = start
    if left:
        if text[end : end + 1] == " " and (text[end + 1 : end + 2].isdecimal() or text[end + 1 : end + 2] in VULGAR):
            joined = _joined(text, start, end, digits, records)
            if joined is not None:
                return joined
        if before == "." and point == "." and fraction is None and digits.isdecimal() and text[end : end + 1] != ".":
            if start == 1 or not (text[start - 2].isalnum() or text[start - 2] in "._)]"):
                begin, digits = start - 1, "." + digits
                before = text[begin - 1] if begin else ""
        elif before in "+(" and before and (telephone := _TELEPHONE.match(text, start - 1)):
            return _components(records, text, start, telephone.end())
    # What follows the digits and belongs to the number: exponent, percent, scale word, ordinal suffix.
    stop = end
    if word is not None:
        money = before != "" and left and before in "$€£¥₹" or (before == " " and left and text[begin - 2] in "$€£¥₹")
        found = suffixes.suffix_after(text, start, end, word, digits, bool(money))
        if found is not None:
            stop, power, exponent, suffix_kind, radix = found
            kind = kind or suffix_kind
            if radix is not None:
                records.append((begin, stop, radix, "quantity", None, None, 0, "."))
                return stop
        if stop == end or (power and kind is None):
            follower = unit_after(text, stop)
            if follower is not None:
                unit, unit_span = follower[0], (follower[1], follower[2])
    # What stands before them: sign, accounting parentheses, currency.
    negative = False
    first = begin
    if left and before and before not in " \n":
        first, negative = _sign_before(text, begin, before)
    if left and unit is None and first and text[first - 1] not in DASHES:
        currency = currency_before(text, first)
        if currency is not None:
            unit, unit_span = currency[0], (currency[1], currency[2])
            if first == begin:
                first, negative, stop = _enclosing_sign(text, begin, currency[1], stop)
    if not negative and left and first and text[first - 1] == "(" and text[stop : stop + 1] == ")":
        money_outside = currency_before(text, first - 1) if unit is None else None
        closing = _accounting_close(text, first, stop, digits, point, bool(money_outside) or power < 0)
        if closing is not None and kind is None and not exponent:
            outer_percent = closing[1]
            first, stop, negative = first - 1, closing[0], True
            power = power or outer_percent
            if money_outside is not None:
                unit, unit_span = money_outside[0], (money_outside[1], money_outside[2])
    value = _value(digits, point, fraction, exponent, power, negative)
    if kind is None or kind in ("range", "ratio"):
        if unit is not None and unit in CURRENCIES:
            kind = "money"
        elif power < 0:
            kind = "percent"
    if kind is None or kind in ("range", "ratio", "year"):
        known = (first, stop, value, kind, unit, unit_span, power, point)
        kind = kinds.kind_of(text, begin, end, digits, value, word, known, records, left)
    record = (first, stop, value, kind, unit, unit_span, power, point)
    if records:
        record = kinds.share_with_partner(text, records, record)
    records.append(record)
    if unit_span is not None and unit_span[1] > stop:  # km2: its digit is no number
        return unit_span[1]
    return stop


def _joined(text: str, start: int, end: int, digits: str, records: list[Record]) -> int | None:
    """Numbers that go on behind a plain space: `816 000`, `1 1/2`, telephone numbers."""
    if text[start - 1 : start] == "+" and (telephone := _TELEPHONE.match(text, start - 1)):
        return _components(records, text, start, telephone.end())
    if (mixed := _SPACED_MIXED.match(text, start)) and kinds.may_be_mixed(text, start):
        whole, numerator, denominator, vulgar = mixed.groups()
        fraction = (int(numerator), int(denominator)) if numerator else VULGAR[vulgar]
        if fraction[0] < fraction[1] and digits.isascii():
            word = suffixes.word_at(text, mixed.end())
            part = Part(0, 0, fraction=(int(whole), *fraction))
            if numerator is None or fraction[1] in suffixes.DENOMINATORS:
                return max(_one_spaced(text, start, mixed.end(), word, records, part), mixed.end())
    if digits.isascii() and len(digits) <= 3 and digits.isdecimal() and (spaced := _SPACED_GROUPS.match(text, start)):
        if kinds.may_be_grouped(text, start, spaced.group()):
            word = suffixes.word_at(text, spaced.end())
            return max(_one_spaced(text, start, spaced.end(), word, records, Part(0, 0)), spaced.end())
    return None


def _one_spaced(text: str, start: int, end: int, word: str | None, records: list[Record], part: Part) -> int:
    """`_one` for a number with a plain space inside, whose space must not be joined again."""
    stop = read_number(text, start, end, word, records, part, left=False)
    record = records[-1]
    first, last, value, kind, unit, unit_span = record[:6]
    before = text[start - 1] if start else ""
    if before:
        first, negative = _sign_before(text, start, before)
        if (currency := currency_before(text, first)) is not None:
            kind, unit, unit_span = "money", currency[0], (currency[1], currency[2])
            if first == start:
                first, negative, last = _enclosing_sign(text, start, currency[1], last)
        value = -value if negative else value
        records[-1] = (first, last, value, kind, unit, unit_span, *record[6:])
    return max(stop, last)


def _sign_before(text: str, begin: int, before: str) -> tuple[int, bool]:
    """Where the number begins with its sign, and whether it is negative."""
    if before not in "-−+":
        return begin, False
    leader = text[begin - 2] if begin > 1 else ""
    if leader == "" or leader in SIGN_LEADERS or leader in "$€£¥₹" or leader.isspace():
        return begin - 1, before != "+"
    return begin, False


def _enclosing_sign(text: str, begin: int, currency_start: int, stop: int) -> tuple[int, bool, int]:
    """A sign or parenthesis before the currency: `-$5`, `($5)`. Gives start, negative, end."""
    mark = text[currency_start - 1] if currency_start else ""
    if mark and mark in "-−+":
        leader = text[currency_start - 2] if currency_start > 1 else ""
        if leader == "" or leader in SIGN_LEADERS or leader.isspace():
            return currency_start - 1, mark != "+", stop
    if mark == "(" and text[stop : stop + 1] == ")":
        return currency_start - 1, True, stop + 1
    return begin, False, stop


def _accounting_close(
    text: str, first: int, stop: int, digits: str, point: str, marked: bool
) -> tuple[int, int] | None:
    """Whether (digits) is a negative number: where it ends, and the power of a percent sign behind it."""
    close = _NEGATIVE_CLOSE.match(text, stop)
    percent = close is not None and close.end() > stop + 1 and text[close.end() - 1] in "%tT"
    end = close.end() if close is not None and percent else stop + 1
    if marked or percent:
        return end, -2 if percent else 0
    separators = [char for char in digits if not char.isdecimal() and char != point]
    if separators:
        return end, 0
    opening = first - 1
    at_cell_start = opening == 0 or text[opening - 1] in "\n\t|" or text[max(0, opening - 2) : opening] == "  "
    return (end, 0) if point and point in digits and at_cell_start else None


def _components(records: list[Record], text: str, start: int, stop: int) -> int:
    """Appends each digit run of an identifier."""
    for match in _RUN.finditer(text, start, stop):
        records.append((*match.span(), float(match.group()), "identifier", None, None, 0, "."))
    return stop


def plain_value(digits: str, point: str) -> float:
    if digits.isdecimal():
        return float(digits)
    if point and point in digits:
        whole, _, decimals = digits.rpartition(point)
        return float(f"{''.join(filter(str.isdecimal, whole)) or '0'}.{decimals}")
    return float("".join(filter(str.isdecimal, digits)))


def _value(
    digits: str, point: str, fraction: tuple[int, int, int] | None, exponent: str, power: int, negative: bool
) -> float:
    """The float64 nearest to what is written: decimal text is never multiplied, only its exponent is moved."""
    if fraction is not None:
        whole, numerator, denominator = fraction
        total = whole * denominator + numerator
        value = total * 10**power / denominator if power >= 0 else total / (denominator * 10**-power)
    elif not exponent and not power and (digits.isdecimal() or (point == "." and "," not in digits)):
        try:
            value = float(digits)
        except ValueError:  # grouping marks other than a comma
            value = plain_value(digits, point)
    else:
        plain = "".join(filter(str.isdecimal, digits.rpartition(point)[0] if point and point in digits else digits))
        decimals = digits.rpartition(point)[2] if point and point in digits else ""
        shift = int(exponent or 0) + power if len(exponent) < 20 else exponent
        value = float(f"{plain or '0'}.{decimals or '0'}e{shift}")
    return -value if negative else value
