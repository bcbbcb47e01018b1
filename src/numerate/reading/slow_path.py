"""The slow path of the `standard` reader: full analysis of one number and its context."""

from __future__ import annotations

import re

from numerate.numerals.style import VULGAR
from numerate.numerals.unit_grammar import SPACES
from numerate.numerals.units import CURRENCIES, CURRENCY_LAST, currency_before, unit_after
from numerate.reading import kinds, suffixes
from numerate.reading.calendar_forms import (
    CALENDAR_MARKS,
    CALENDAR_WORDS,
    is_day,
    is_ordinal_day,
    mark_kind,
    read_clock,
)
from numerate.reading.clusters import DASHES, FRACTION_DENOMINATORS, Part
from numerate.reading.codes import read_code
from numerate.reading.context import CUE_KINDS, SIGN_LEADERS, counts_things, word_before
from numerate.reading.evidence import extended, year_confidence
from numerate.reading.kinds import Record
from numerate.reading.letters import LETTERS, letter_meaning
from numerate.reading.names import names_thing
from numerate.reading.powers import bracket_after, flattened_power
from numerate.reading.signs import minus_before, sign_before

__all__ = ["MINUS_ENDS", "RARE_WORDS", "append_parts", "plain_value", "read_number", "read_telephone"]

_VULGAR = "".join(VULGAR)
_SPACED_GROUPS = re.compile(
    r"[1-9][0-9]{0,2}(?> [0-9]{3})++(?:\.[0-9]++(?![,.:/']?\d)|(,)[0-9][0-9]?(?![,.:/']?\d| \d)|(?![,.:/']?\d| \d))"
)
_SPACED_MIXED = re.compile(
    rf"([1-9][0-9]{{0,11}}) (?:([1-9][0-9]?)[/⁄]([1-9][0-9]{{0,3}})(?![\d/⁄]|[.,]\d)|([{_VULGAR}]))"
)
_TELEPHONE = re.compile(
    r"(?a:\+\d{1,3}(?:(?:[ -]\(?\d{1,11}\)?){2,6}|(?:\.\d{2,11}){2,5})|\(\d{3}\) ?\d{3}[ .-]\d{4})(?![.,:/-]?\d)"
)
_NEGATIVE_PERCENT = re.compile(r"\)[ ]?(?:%|percent\b|pct\b)")
_RUN = re.compile(r"\d++")
_UNDERSCORED = re.compile(r"[1-9][0-9]{0,2}(?>_[0-9]{3})++(?:\.[0-9]++)?(?!\w|\.\d)")
_CLOCK_WORDS = frozenset(["a", "p", "am", "pm", "A", "P", "AM", "PM", "Uhr", "h"])
RARE_WORDS = _CLOCK_WORDS | CALENDAR_WORDS | CALENDAR_MARKS | LETTERS | {"/", ":", "e", "E", "_", "("}
"""Words and marks after a number that need a rule of their own."""
_CURRENCY_ENDS = CURRENCY_LAST.union(SPACES)
"""Characters before a number that may be the end of a currency."""
MINUS_ENDS = frozenset(["us ", "US ", "ve "])
"""The last characters of `minus` and `negative` before a number."""
_after_season = re.compile(r"\d{4}[/–-]\d{2}$").search

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
    rare = word in RARE_WORDS
    if rare and word is not None:
        if left and (stop := _read_shape(text, start, end, word, records)) is not None:
            return stop
        if word == "_" and before != "_" and (match := _UNDERSCORED.match(text, start)):
            end, digits = match.end(), match.group()
            word = suffixes.word_at(text, end)
        elif word in CALENDAR_MARKS and kind is None and not (before.isascii() and before.isalpha()):
            kind = mark_kind(text, end, word, digits, records)
    if left:
        following = text[end : end + 2]
        if following[:1] == " " and (following[1:].isdecimal() or following[1:] in VULGAR):
            joined = _joined(text, start, end, digits, records)
            if joined is not None:
                return joined
        if before == "." and point == "." and fraction is None and digits.isdecimal() and _is_point(text, start, end):
            begin, digits = start - 1, "." + digits
            before = text[begin - 1] if begin else ""
    # Before the digits: sign and currency.
    first, negative = sign_before(text, begin, before) if before and before not in " \n" else (begin, False)
    currency = None
    if left and first and text[first - 1] not in DASHES:
        last = text[first - 2 : first - 1] if text[first - 1] == " " else text[first - 1]
        if last in _CURRENCY_ENDS:
            currency = _currency_before(text, first)
    # After the digits: exponent, percent sign, scale word, ordinal suffix, unit.
    stop = resume = end
    power, exponent, radix = 0, "", None
    unit = unit_span = uncertainty = None
    confidence = "certain"
    if word is not None and not (currency is None and before.isalpha() and word[0].isalpha() and _is_code(text, begin)):
        letter = None
        if rare and kind is None and fraction is None:
            if word == "(" and (bracket := bracket_after(text, begin, end, digits, point)) is not None:
                stop, uncertainty = bracket
                word = suffixes.word_at(text, stop) or text[stop : stop + 2].lstrip(" ")[:1] or "("
            elif word in CALENDAR_WORDS and is_day(text, begin, end, word, digits):
                kind = "date"
            elif word in LETTERS:
                letter = letter_meaning(text, begin, end, word, digits, currency is not None, records)
        place, found = stop, None
        if letter is not None:
            stop, power, kind, unit, unit_span, confidence = letter
            resume = stop if unit_span is None else unit_span[1]
        elif (found := suffixes.suffix_after(text, start, place, word, digits, currency is not None)) is not None:
            stop, power, exponent, suffix_kind, radix = found
            if suffix_kind is not None:
                kind = suffix_kind if suffix_kind == "date" and kind == "range" else kind or suffix_kind  # 6-8 August
                if suffix_kind == "ordinal":
                    first, negative = begin, False  # `2nd -5th` is a range
                    kind = "date" if is_ordinal_day(text, begin, stop, digits) else kind
            elif exponent and word in "xX×·*" and (flat := flattened_power(text, place, digits)):
                confidence = flat[2]
        if unit is None and kind != "date" and (found is None or (found[3] is None and radix is None)):
            follower = _unit_after(text, end, stop, digits)
            if follower is not None:
                unit, unit_span = follower[0], (follower[1], follower[2])
                resume = follower[2]  # the digit in km2 is not a number
                if unit == "m" and unit_span == (end, end + 1):
                    confidence = "guess"  # metres, millions or minutes
    if kind == "time":  # a clock time has no unit, a percentage no currency
        unit = unit_span = None
    elif currency is not None and kind != "percent" and (unit is None or unit not in CURRENCIES):
        unit, unit_span = currency[0], (currency[1], currency[2])
        if first == begin:
            first, negative, stop = _enclosing_sign(text, begin, currency[1], stop)
    if left and not negative:
        place = begin if currency is None else currency[1]
        if (
            text[place - 3 : place] in MINUS_ENDS
            and place <= first
            and (minus := minus_before(text, place)) is not None
        ):
            first, negative = minus, True
    if first == begin and left and first and text[first - 1] == "(" and text[stop : stop + 1] == ")":
        money_outside = currency_before(text, first - 1) if unit is None else None
        closing = _accounting_close(text, first, stop, digits, point, money_outside is not None)
        if closing is not None and kind is None and not exponent and radix is None and power == 0:
            first, stop, negative, power = first - 1, closing[0], True, closing[1]
            if money_outside is not None:
                unit, unit_span = money_outside[0], (money_outside[1], money_outside[2])
    if radix is not None:
        record = (first, stop, -radix if negative else radix, "quantity", None, None, 0, ".")
        if word == "^":
            record = extended(record, "likely")
        elif stop - start > 18:  # an address, not a number
            record = (*record[:3], "identifier", *record[4:])
        records.append(record)
        return stop
    if fraction is None and not exponent and not power and digits.isdecimal():
        value = -float(digits) if negative else float(digits)
    else:
        value = _value(digits, point, fraction, exponent, power, negative)
    if kind is None or kind in ("range", "ratio"):
        if unit is not None and unit in CURRENCIES:
            kind = "money"
        elif power < 0:
            kind = "percent"
    if kind is None or kind in ("range", "ratio", "year"):
        known = (first, stop, value, kind, unit, unit_span, power, point)
        kind = kinds.kind_of(text, begin, end, digits, word, known, records, left)
        if kind == "date":
            unit = unit_span = None  # `in the February 16 week`
        if len(digits) == 4 and left and part is None and confidence == "certain":
            confidence = _four_digit_confidence(text, begin, end, digits, word, kind, first, unit)
        if (
            kind == "quantity"
            and left
            and part is None
            and unit is None
            and first == begin
            and stop == end
            and digits.isdecimal()
            and digits.isascii()
            and names_thing(text, begin, end, records)
        ):
            kind, confidence = "identifier", "likely"
    record = (first, stop, value, kind, unit, unit_span, power, point)
    if uncertainty is not None:
        decimals = len(digits.rpartition(point)[2]) if point and point in digits else 0
        scale = int(exponent or 0) + power - decimals if len(exponent) < 20 else 0
        record = extended(record, confidence, float(f"{uncertainty}e{scale}"))
    elif confidence != "certain":
        record = extended(record, confidence)
    if records and (gap := first - records[-1][kinds.END]) <= 5:
        if text[first - gap : first] in kinds.PARTNER_JOINTS:
            record = kinds.share_with_partner(text, records, record)
        if gap == 1 and record[kinds.KIND] == "quantity":
            record = kinds.join_signed(text, records, record)
    records.append(record)
    return max(stop, resume)


def _read_shape(text: str, start: int, end: int, word: str, records: Records) -> int | None:
    """Reads a code or a time that is longer than the number; returns where it ends, None if there is none."""
    if word in _CLOCK_WORDS and end - start <= 5 and (stop := read_clock(text, start, records)) is not None:
        return stop
    return read_code(text, start, end, records) if word in ("/", ":", "e", "E") and text.startswith(word, end) else None


def _four_digit_confidence(
    text: str, begin: int, end: int, digits: str, word: str | None, kind: str, first: int, unit: str | None
) -> str:
    """How sure a number of four digits is a year, or a count that might be a year."""
    attached = word is not None and word[0].isalpha() and text.startswith(word, end)
    if attached or first != begin or not digits.isdecimal() or word in ("BC", "AD", "BCE", "CE"):
        return "certain"
    if kind == "year":
        return year_confidence(text, begin, end)
    counted = kind == "quantity" and unit is None and word is not None and counts_things(word)
    return "likely" if counted and "1600" <= digits <= "2100" else "certain"


def _is_point(text: str, start: int, end: int) -> bool:
    """Whether the full stop before text[start:end] is a decimal point: in `.5`, not in `sentence.5`, `...5`, `).5`."""
    follower = text[end : end + 2]
    return (
        follower != ".."
        and not (follower[:1] == "." and follower[1:].isdecimal())
        and (start == 1 or not (text[start - 2].isalnum() or text[start - 2] in "._)]"))
    )


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
    dotted = stop > end and text[stop - 3 : stop] in suffixes.DOTTED_SCALES and text[stop : stop + 1] == "."
    found = unit_after(text, stop + dotted)  # 5 Mio. EUR
    if found is None or stop != end or not digits.isdecimal():
        return found
    if found[0] == "year" and _after_season(text[max(0, end - 10) : end]):
        return None  # the 1986/87 year
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
        first, negative = sign_before(text, start, before)
        if kind != "percent" and (currency := _currency_before(text, first)) is not None:
            kind, unit, unit_span = "money", currency[0], (currency[1], currency[2])
            if first == start:
                first, negative, last = _enclosing_sign(text, start, currency[1], last)
        value = -value if negative else value
        records[-1] = (first, last, value, kind, unit, unit_span, *record[6:])
    return max(stop, last)


def _enclosing_sign(text: str, begin: int, currency_start: int, stop: int) -> tuple[int, bool, int]:
    """Start, sign and end of a number with a sign or parenthesis before the currency: `-$5`, `($5)`."""
    mark = text[currency_start - 1] if currency_start else ""
    if mark and mark in "-−+–":
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
    if digits.isdecimal() and not money:
        return None
    separators = [char for char in digits if not char.isdecimal() and char != point and char not in "_/⁄"]
    opening = first - 1
    at_cell_start = opening == 0 or text[opening - 1] in "\n\t|" or text[max(0, opening - 2) : opening] == "  "
    if money or separators or (point and point in digits and at_cell_start):
        return suffixes.scale_after(text, stop + 1, money) or (stop + 1, 0)
    return None


def plain_value(digits: str, point: str) -> float:
    """The value of digits with grouping marks and at most one decimal mark."""
    return float(digits) if digits.isdecimal() else float(".".join(_whole_and_decimals(digits, point)))


def append_parts(records: Records, start: int, cluster: str, parts: list[Part]) -> None:
    """Appends the numbers of a cluster that begins at `start`, without regard to the text around them."""
    for begin, end, point, kind, _ in parts:
        value = plain_value(cluster[begin:end], point)
        records.append((start + begin, start + end, value, kind or "quantity", None, None, 0, point))


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
