"""The slow path of the `standard` reader: full analysis of one number and its context."""

from __future__ import annotations

import re

from numerate.numerals.style import VULGAR
from numerate.numerals.unit_tables import CURRENCY_SIGNS
from numerate.numerals.units import CURRENCIES, currency_before, unit_after
from numerate.reading import kinds, suffixes
from numerate.reading.clusters import DASHES, FRACTION_DENOMINATORS, Part
from numerate.reading.context import CUE_KINDS, SIGN_LEADERS, word_before
from numerate.reading.kinds import Record

__all__ = ["plain_value", "read_number", "read_telephone"]

_VULGAR = "".join(VULGAR)
_SPACED_GROUPS = re.compile(
    r"[1-9][0-9]{0,2}(?: [0-9]{3})++(?:\.[0-9]++(?![,.:/']?\d)|(,)[0-9][0-9]?(?![,.:/']?\d| \d)|(?![,.:/']?\d| \d))"
)
_SPACED_MIXED = re.compile(
    rf"([1-9][0-9]{{0,11}}) (?:([1-9][0-9]?)[/⁄]([1-9][0-9]{{0,3}})(?![\d/⁄]|[.,]\d)|([{_VULGAR}]))"
)
_TELEPHONE = re.compile(
    r"(?a:\+\d{1,3}(?:(?:[ -]\(?\d{1,11}\)?){2,6}|(?:\.\d{2,11}){2,5})|\(\d{3}\) ?\d{3}[ .-]\d{4})(?![.,:/-]?\d)"
)
_NEGATIVE_PERCENT = re.compile(r"\)[ ]?(?:%|percent\b|pct\b)")
_RUN = re.compile(r"\d++")

Records = list[Record]


def read_number(
    text: str, start: int, end: int, word: str | None, records: Records, part: Part | None = None, left: bool = True
) -> int:
    """Reads the number with the digits text[start:end], appends its record and returns where reading continues.

    Args:
        text: The whole text.
        start: Start of the digits.
        end: End of the digits.
        word: The following word or mark.
        records: The records of the preceding numbers.
        part: The number's part of a cluster, if it is one.
        left: Whether the text before `start` is context (False after another number of the same cluster).
    """
    digits, point, kind, fraction = text[start:end], ".", None, None
    if part is not None:
        point, kind, fraction = part.point, part.kind, part.fraction
    before = text[start - 1] if start and left else ""
    begin = start
    if left:
        if text[end : end + 1] == " " and (text[end + 1 : end + 2].isdecimal() or text[end + 1 : end + 2] in VULGAR):
            joined = _joined(text, start, end, digits, records)
            if joined is not None:
                return joined
        if before == "." and point == "." and fraction is None and digits.isdecimal() and _is_point(text, start, end):
            begin, digits = start - 1, "." + digits
            before = text[begin - 1] if begin else ""
    # Before the digits: sign and currency.
    first, negative = _sign_before(text, begin, before) if before and before not in " \n" else (begin, False)
    currency = None
    if left and first and text[first - 1] not in DASHES:
        currency = _currency_before(text, first)
    # After the digits: exponent, percent sign, scale word, ordinal suffix, unit.
    stop = resume = end
    power, exponent, radix = 0, "", None
    unit = unit_span = None
    if word is not None and not (currency is None and before.isalpha() and word[0].isalpha() and _is_code(text, begin)):
        found = suffixes.suffix_after(text, start, end, word, digits, currency is not None)
        if found is not None:
            stop, power, exponent, suffix_kind, radix = found
            kind = kind or suffix_kind
        if found is None or (found[3] is None and radix is None):
            follower = _unit_after(text, end, stop, digits)
            if follower is not None:
                unit, unit_span = follower[0], (follower[1], follower[2])
                resume = follower[2]  # the digit in km2 is not a number
    if currency is not None and (unit is None or unit not in CURRENCIES):
        unit, unit_span = currency[0], (currency[1], currency[2])
        if first == begin:
            first, negative, stop = _enclosing_sign(text, begin, currency[1], stop)
    if first == begin and left and first and text[first - 1] == "(" and text[stop : stop + 1] == ")":
        money_outside = currency_before(text, first - 1) if unit is None else None
        closing = _accounting_close(text, first, stop, digits, point, money_outside is not None)
        if closing is not None and kind is None and not exponent and radix is None and power == 0:
            first, stop, negative, power = first - 1, closing[0], True, closing[1]
            if money_outside is not None:
                unit, unit_span = money_outside[0], (money_outside[1], money_outside[2])
    if radix is not None:
        records.append((first, stop, -radix if negative else radix, "quantity", None, None, 0, "."))
        return stop
    value = _value(digits, point, fraction, exponent, power, negative)
    if kind is None or kind in ("range", "ratio"):
        if unit is not None and unit in CURRENCIES:
            kind = "money"
        elif power < 0:
            kind = "percent"
    if kind is None or kind in ("range", "ratio", "year"):
        known = (first, stop, value, kind, unit, unit_span, power, point)
        kind = kinds.kind_of(text, begin, end, digits, word, known, records, left)
    record = (first, stop, value, kind, unit, unit_span, power, point)
    if records:
        record = kinds.share_with_partner(text, records, record)
    records.append(record)
    return max(stop, resume)


def _is_point(text: str, start: int, end: int) -> bool:
    """Whether the full stop before text[start:end] is a decimal point: in `.5`, not in `sentence.5`, `...5`, `).5`."""
    return text[end : end + 1] != "." and (start == 1 or not (text[start - 2].isalnum() or text[start - 2] in "._)]"))


def _currency_before(text: str, first: int) -> tuple[str, int, int] | None:
    """The currency before a number; after a space it must be a word of its own, unlike in `for 10€ 5 times`."""
    found = currency_before(text, first)
    if found is not None and found[2] < first and word_before(text, first) not in CUE_KINDS:
        return None
    return found


def _is_code(text: str, begin: int) -> bool:
    """Whether the letter before a number makes it part of a name (`i72700K`) and not of a size (`4x4 cm`)."""
    return text[begin - 1] not in "xX" or not text[begin - 2 : begin - 1].isdecimal()


def _unit_after(text: str, end: int, stop: int, digits: str) -> tuple[str, int, int] | None:
    """The unit after a number, without letters and words that are rarely units after whole numbers."""
    found = unit_after(text, stop)
    if found is None or stop != end or not digits.isdecimal():
        return found
    _, begin, close = found
    if begin == end and close == end + 1 and text[end] in ("ANW" if len(digits) == 1 else "AN"):
        return None  # 1A, 45N: usually a seat or a latitude, not a current or a force
    if len(digits) == 4 and "1600" <= digits <= "2100" and text[end:close] == " year":
        return None  # `1986 year net`; a duration would be written with `years`
    return found


def read_telephone(text: str, start: int, records: Records) -> int | None:
    """Reads a telephone number with the first digit text[start] after `+` or `(`; None if there is none."""
    mark = text[start - 1 : start]
    if mark != "(" and (mark != "+" or text[start - 2 : start - 1].isalnum()):
        return None
    match = _TELEPHONE.match(text, start - 1)
    if match is None or not 8 <= sum(map(str.isdecimal, match.group())) <= 15:
        return None
    runs = _RUN.finditer(text, start, match.end())
    records.extend((*run.span(), float(run.group()), "identifier", None, None, 0, ".") for run in runs)
    return match.end()


def _joined(text: str, start: int, end: int, digits: str, records: Records) -> int | None:
    """Reads a number that contains a plain space: `816 000`, `1 1/2`."""
    if (mixed := _SPACED_MIXED.match(text, start)) and kinds.may_be_mixed(text, start):
        whole, numerator, denominator, vulgar = mixed.groups()
        fraction = (int(numerator), int(denominator)) if numerator else VULGAR[vulgar]
        if fraction[0] < fraction[1] and digits.isascii():
            word = suffixes.word_at(text, mixed.end())
            part = Part(0, 0, fraction=(int(whole), *fraction))
            if numerator is None or fraction[1] in FRACTION_DENOMINATORS:
                return max(_read_spaced(text, start, mixed.end(), word, records, part), mixed.end())
    if not (digits.isascii() and len(digits) <= 3 and digits.isdecimal()):
        return None
    spaced = _SPACED_GROUPS.match(text, start)
    if spaced is not None and kinds.may_be_grouped(text, start, spaced.group()):
        word = suffixes.word_at(text, spaced.end())
        part = Part(0, 0, spaced[1] or ".")
        return max(_read_spaced(text, start, spaced.end(), word, records, part), spaced.end())
    return None


def _read_spaced(text: str, start: int, end: int, word: str | None, records: Records, part: Part) -> int:
    """Calls `read_number` for a number that contains a plain space, then adds sign and currency before it."""
    stop = read_number(text, start, end, word, records, part, left=False)
    record = records[-1]
    first, last, value, kind, unit, unit_span = record[:6]
    before = text[start - 1] if start else ""
    if before:
        first, negative = _sign_before(text, start, before)
        if (currency := _currency_before(text, first)) is not None:
            kind, unit, unit_span = "money", currency[0], (currency[1], currency[2])
            if first == start:
                first, negative, last = _enclosing_sign(text, start, currency[1], last)
        value = -value if negative else value
        records[-1] = (first, last, value, kind, unit, unit_span, *record[6:])
    return max(stop, last)


def _sign_before(text: str, begin: int, before: str) -> tuple[int, bool]:
    """Start of the number including its sign, and whether it is negative."""
    if before not in "-−+":
        return begin, False
    leader = text[begin - 2] if begin > 1 else ""
    if leader == "" or leader in SIGN_LEADERS or leader in CURRENCY_SIGNS or leader.isspace():
        return begin - 1, before != "+"
    return begin, False


def _enclosing_sign(text: str, begin: int, currency_start: int, stop: int) -> tuple[int, bool, int]:
    """Start, sign and end of a number with a sign or parenthesis before the currency: `-$5`, `($5)`."""
    mark = text[currency_start - 1] if currency_start else ""
    if mark and mark in "-−+":
        leader = text[currency_start - 2] if currency_start > 1 else ""
        if leader == "" or leader in SIGN_LEADERS or leader.isspace():
            return currency_start - 1, mark != "+", stop
    if mark == "(" and text[stop : stop + 1] == ")":
        return currency_start - 1, True, stop + 1
    return begin, False, stop


def _accounting_close(text: str, first: int, stop: int, digits: str, point: str, money: bool) -> tuple[int, int] | None:
    """End of a negative number in parentheses, and the power of a percent sign or scale word after it; else None."""
    close = _NEGATIVE_PERCENT.match(text, stop)
    if close is not None:
        return close.end(), -2
    separators = [char for char in digits if not char.isdecimal() and char != point and char not in "/⁄"]
    opening = first - 1
    at_cell_start = opening == 0 or text[opening - 1] in "\n\t|" or text[max(0, opening - 2) : opening] == "  "
    if money or separators or (point and point in digits and at_cell_start):
        return suffixes.scale_after(text, stop + 1, money) or (stop + 1, 0)
    return None


def plain_value(digits: str, point: str) -> float:
    """The value of digits with grouping marks and at most one decimal mark."""
    return float(digits) if digits.isdecimal() else float(".".join(_whole_and_decimals(digits, point)))


def _whole_and_decimals(digits: str, point: str) -> tuple[str, str]:
    whole, _, decimals = digits.rpartition(point) if point and point in digits else (digits, "", "")
    return "".join(filter(str.isdecimal, whole)) or "0", decimals or "0"


def _value(
    digits: str, point: str, fraction: tuple[int, int, int] | None, exponent: str, power: int, negative: bool
) -> float:
    """The float64 nearest to the written number; scaling changes the decimal exponent instead of multiplying."""
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
        whole, decimals = _whole_and_decimals(digits, point)
        value = float(f"{whole}.{decimals}e{int(exponent or 0) + power if len(exponent) < 20 else exponent}")
    return -value if negative else value
