"""Powers whose superscript was lost (`2.48×10−5`, `6.02 x 10 23`), powers of other bases (`2^10`), and `1.23(4)`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from numerate.numerals.unit_tables import CURRENCIES
from numerate.numerals.units import unit_after
from numerate.reading.context import LABELS, key_of, word_before
from numerate.reading.evidence import extended

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = ["bare_power", "base_power", "bracket_after", "flattened_power", "read_power"]

_FLAT = re.compile(
    r"[ ]?([×xX·*])[ ]?10(?:([-−–+])([0-9]{1,2})|[ ]([-−–+]?)([1-9][0-9]?))"
    r"(?![\w^%]|[.,:/][0-9]|[ ]?[×x*][ ]?[0-9])"
).match
_MANTISSA = re.compile(r"[1-9](?:\.[0-9]++)?").fullmatch
_BARE = re.compile(r"10([-−])([1-9][0-9]?)").fullmatch
_RELATION = re.compile(r"[<>~≈∼≤≥×][ ]?$").search
_OTHER_POWER = re.compile(r"10−[0-9]").search
_BASE = re.compile(r"\^([{(]?)([-+−]?)([0-9]{1,4})([})]?)(?![\w^⁰¹²³⁴⁵⁶⁷⁸⁹]|\.[0-9])").match
_PLAIN = re.compile(r"[0-9]++(?>\.[0-9]++)?+").fullmatch
_BRACKET = re.compile(r"\(([0-9]{1,4})\)(?![0-9(])").match


def flattened_power(text: str, end: int, digits: str) -> tuple[int, str, str] | None:
    """Reads `×10−5` and ` x 10 23` after a mantissa; in `×106` nothing shows that the superscript was lost.

    Returns:
        End of the number, its exponent and its confidence; None if there is no power.
    """
    match = _FLAT(text, end)
    if match is None:
        return None
    mark, sign, power, spaced_sign, spaced_power = match.groups()
    scientific = _MANTISSA(digits) is not None
    decimals = "." in digits
    if power is not None:
        range_like = sign in "-–" and int(power) > 10
        if (range_like or sign == "–") and not decimals and not (mark == "×" and scientific):
            return None  # 3 x 10-12 repetitions
        return match.end(), _signed(sign, power), "guess" if range_like and not decimals else "likely"
    if not scientific or (mark != "×" and not decimals):
        return None
    return match.end(), _signed(spaced_sign, spaced_power), "guess"


def bare_power(text: str, start: int, cluster: str) -> tuple[int, str] | None:
    """Exponent and confidence of `10−5` before a unit or after a relation; None if it is a pair of numbers."""
    match = _BARE(cluster)
    if match is None:
        return None
    end = start + len(cluster)
    exponent, minus = -int(match[2]), match[1] == "−"
    if _RELATION(text[max(0, start - 2) : start]):
        return exponent, "likely" if minus else "guess"
    if minus and (_OTHER_POWER(text[max(0, start - 12) : start]) or _OTHER_POWER(text[end : end + 12])):
        return exponent, "likely"  # a list of powers: 10−5, 10−4, 10−3
    unit = unit_after(text, end)
    if unit is None or unit[0] in CURRENCIES or text[end : end + 1] == "-":
        return None
    if minus:
        return exponent, "likely" if exponent > -10 else "guess"
    # A hyphen is a range unless the second number is smaller; `10-5 minutes` is written in words.
    return (exponent, "guess") if exponent > -10 and unit[2] - unit[1] <= 4 else None


def read_power(text: str, start: int, end: int, power: tuple[int, str], records: list[Record]) -> int:
    """Appends a power such as `10−5` with its unit; returns where reading continues."""
    unit = unit_after(text, end)
    unit_fields = (None, None) if unit is None else (unit[0], (unit[1], unit[2]))
    record = (start, end, float(f"1e{power[0]}"), "quantity", *unit_fields, 0, ".")
    records.append(extended(record, power[1]))
    return end if unit is None else unit[2]


def base_power(text: str, end: int, digits: str) -> tuple[int, float] | None:
    """End and value of a power such as `2^10` or `1.1^+23`; None if it is none or does not fit float64."""
    match = _BASE(text, end)
    if match is None or (match[1], match[4]) not in (("", ""), ("{", "}"), ("(", ")")):
        return None
    plain = digits.replace(",", "")
    if len(plain) > 12 or not _PLAIN(plain) or (match[1] and match[2] == "+"):
        return None
    base, exponent = Fraction(plain), int(_signed(match[2], match[3]))
    if base == 0 or abs(exponent) * len(plain) > 1000:
        return None
    try:
        value = float(base**exponent)
    except OverflowError:
        return None
    return (match.end(), value) if value else None


def bracket_after(text: str, begin: int, end: int, digits: str, point: str) -> tuple[int, str] | None:
    """End and digits of an uncertainty in brackets, `(4)` of `1.23(4)`; None for a section, a year or a remark."""
    match = _BRACKET(text, end)
    if match is None or key_of(word_before(text, begin)) in LABELS or text[begin - 1 : begin].isalpha():
        return None
    decimals = len(digits.rpartition(point)[2]) if point and point in digits else 0
    if decimals:
        return (match.end(), match[1]) if len(match[1]) <= decimals + 1 else None
    unit = unit_after(text, match.end())
    whole = unit is not None and unit[0] not in CURRENCIES and len(match[1]) < len(digits)
    return (match.end(), match[1]) if whole else None


def _signed(sign: str | None, digits: str) -> str:
    return f"-{digits}" if sign and sign in "-−–" else digits
