"""The fast path of the `standard` reader: table lookups that suffice for most numbers.

Each function either decides or returns None or "?", which sends the number to the slow path.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING

from numerate.numerals.style import VULGAR, ordinal_suffix
from numerate.numerals.unit_tables import CURRENCY_SIGNS
from numerate.numerals.units import CURRENCIES, UNIT_HEADS, currency_before, unit_after
from numerate.reading import kinds, suffixes
from numerate.reading.calendar_forms import month_follows
from numerate.reading.clusters import SIMPLE, pair_kind
from numerate.reading.context import (
    BARRIERS,
    CONNECTORS,
    COUNTED_AFTER,
    MONTHS,
    NAME_PREFIXES,
    ORDINAL_SUFFIXES,
    SIGN_LEADERS,
    YEAR_CUES,
    word_before,
)
from numerate.reading.evidence import extended, year_confidence
from numerate.reading.names import may_name, names_thing
from numerate.reading.scores import pair_confidence, pair_in_context
from numerate.reading.sharing import JOINTS, NEAR
from numerate.reading.slow_path import MINUS_ENDS

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

LEADER_KINDS: dict[str, str | None] = (
    # Digits after a letter are an identifier, except after letters that may end a currency or begin a version.
    dict.fromkeys(string.ascii_letters, "identifier")
    | dict.fromkeys("sSDPRFYKNOCZLBTAGM", "letter")
    | dict.fromkeys("vVxX", "?")
    | dict.fromkeys(["", *(BARRIERS - {":"})])
    | dict.fromkeys([letter for letter in map(chr, range(0x370, 0x400)) if letter.isalpha()], "identifier")
    | {" ": "cue", "(": "open", "{": "no year", "+": "sign", "-": "sign", "−": "sign"}
)
"""Character before a number -> kind; None: no evidence; a missing entry: take the slow path."""
DIGITS = frozenset("0123456789")
COUNTED = frozenset(["people", "men", "women", "children"])
"""Plurals without an s: a number before them is not a year."""
BUSY_FOLLOWERS = suffixes.SPECIAL | UNIT_HEADS | DIGITS | COUNTED | frozenset(VULGAR) | {"BC", "AD", "BCE", "CE", "z"}
BUSY_FOLLOWERS |= COUNTED_AFTER | {"http", "https"}
"""Words that may belong to the number before them, up to a letter with an accent: `z` of `zł`."""
CURRENCY_ENDS = frozenset([*string.ascii_uppercase, *CURRENCY_SIGNS, ".", "s", "r", "p", "k"])
GROUP_SIGNS = frozenset("0123456789/⁄")
SPACED_UNITS = UNIT_HEADS - (suffixes.SPECIAL - suffixes.ATTACHED_ONLY) - {"M", "k"}  # 5 M€
LINKING_KINDS = frozenset(["money", "date", "ordinal", "identifier", "ratio"])
"""Kinds that the next number may share."""
LINKS = CONNECTORS | kinds.PARTNER_JOINTS | {" in "} | JOINTS.keys()
"""Text between two numbers where the kind of the second may depend on the first."""
_MONTH_STARTS = frozenset("oJFMASOND")
"""First letters of months, and of the `of` before them."""
SCALE_ENDS = frozenset(" \n.,;")
"""Characters after a scale word that make no range, negative number or compound of it."""
_OPEN_PREFIXES = NAME_PREFIXES | YEAR_CUES
"""Words before a hyphen after which a number need not be part of a name: `top-5`."""
_SPACES = frozenset(" \u00a0\u2009\u202f")
_AFTER_REFERENCE = frozenset(["", " ", ".", ",", ";", ":", "\n", ")", "]"])
REFERENCE_ENDS = frozenset("],;")
"""Characters after a number that is a reference, with an opening bracket before it."""
_PERCENT_STARTS = frozenset(["%", "p"])
_in_telephone = re.compile(r"[ .-][0-9(]").match
Follower = tuple[str | None, int, int, str | None, tuple[int, int] | None]
"""Kind, end of the number, power, unit and span of the unit."""
JOINT_ENDS = frozenset("±-–−o/+")
"""Last characters of the text between the two ends of a range, without the final space."""


def kind_after_sign(text: str, start: int, end: int, before: str, calm: bool, gap: int) -> tuple[str | None, int]:
    """The kind of a number after `+` or `-`, and its start with or without the sign.

    `gap`: the number of characters since the last number.
    """
    leader = text[start - 2] if start > 1 else ""
    if leader.isalpha():
        if before == "+":
            return None, start
        name = calm and gap > NEAR and end - start != 4 and leader.isascii()  # BERT-16; four digits may be a year
        return ("identifier" if name and word_before(text, start - 1).lower() not in _OPEN_PREFIXES else "?"), start
    if before == "+" and (leader == "+" or _in_telephone(text, end)):
        return "?", start  # C++11, a telephone number
    if leader == "" or leader in SIGN_LEADERS:
        free = calm and (leader not in _SPACES or text[start - 3] not in CURRENCY_ENDS)
        return ("quantity" if free else "?"), start - 1
    return (None if leader in "+-−" and not text[start - 3 : start - 2].isdecimal() else "?"), start


def kind_in_brackets(text: str, start: int, end: int, digits: str) -> str:
    """The kind of a reference, `in (12)`, or year, `Smith (2011)`; "?" for `(5)%`, `$ (62)`, `(12) 345 678`."""
    reference = end - start <= 2
    if not (reference or (end - start == 4 and "1600" <= digits <= "2100")) or not digits.isdecimal():
        return "?"
    if text[end : end + 1] != ")" or start < 3 or text[start - 2] != " " or currency_before(text, start - 1):
        return "?"
    following = text[end + 1 : end + 3]
    if following[:1] not in _AFTER_REFERENCE or following[1:] in _PERCENT_STARTS or following[1:].isdecimal():
        return "?"
    return "identifier" if reference else "year"


def may_be_date(digits: str) -> bool:
    """Whether whole digits may be a day, a month or a year."""
    return len(digits) <= 2 or (len(digits) == 4 and "1000" <= digits <= "2199")


def read_pair(text: str, start: int, cluster: str, records: list[Record]) -> bool:
    """Reads a cluster of two whole numbers with a hyphen, `2018-19` or `3-1`; returns whether it is one."""
    first, mark, second = cluster.partition("-")
    if not (mark and first.isdecimal() and second.isdecimal() and cluster.isascii() and len(cluster) < 15):
        return False
    kind = pair_kind(first, mark, second)
    if kind == "range":
        kind = pair_in_context(text, start, kind)
    middle, end = start + len(first), start + len(cluster)
    pair: list[Record] = [
        (start, middle, float(first), kind, None, None, 0, "."),
        (middle + 1, end, float(second), kind, None, None, 0, "."),
    ]
    sure = pair_confidence(text, start, cluster, kind)
    records += pair if sure == "certain" else [extended(record, sure) for record in pair]
    return True


def money_after_sign(text: str, start: int, end: int, digits: str, spaced: str | None) -> Record | None:
    """Reads an amount after a currency sign and a space, `$ 5` or `US $ 1.5 million`; None: take the slow path."""
    plain = digits if digits.isdecimal() else digits.replace(",", "")
    currency = currency_before(text, start)
    if currency is None or (plain != digits and SIMPLE.fullmatch(digits) is None):
        return None
    code, sign_start, sign_end = currency
    before = text[sign_start - 3 : sign_start]
    if not plain.replace(".", "", 1).isdecimal() or before[-1:] not in ("", " ") or before in MINUS_ENDS:
        return None
    power = 0
    if spaced is not None and spaced in BUSY_FOLLOWERS:
        power, stop = suffixes.SIMPLE_SCALES.get(spaced, 0), end + 1 + len(spaced)
        if power <= 0 or text[stop : stop + 1] not in SCALE_ENDS or spaced in suffixes.DOTTED_SCALES:
            return None
        if spaced in suffixes.DOUBLING and suffixes.second_scale(text, stop, spaced) is not None:
            return None
        if unit_after(text, stop) is not None:
            return None
        end = stop
    value = float(f"{plain}e{power}" if power else plain)
    return start, end, value, "money", code, (sign_start, sign_end), power, "."


def continues_list(text: str, start: int, digits: str, last: Record) -> bool:
    """Whether a number and the identifier `last` before it are references of one list: `Tables 5 and 6`."""
    return (
        len(last) == 8
        and digits.isdecimal()
        and text[last[1] : start] in CONNECTORS
        and text[last[0] - 1 : last[0]] in kinds.LIST_LEADERS
    )


def with_confidence(text: str, record: Record) -> Record:
    """The record of four digits with its confidence, if it is a year, or a count that might be a year."""
    start, end, kind = record[0], record[1], record[3]
    if kind == "year":
        sure = year_confidence(text, start, end)
    else:
        sure = "likely" if kind == "quantity" and "1600" <= text[start:end] <= "2100" else "certain"
    return record if sure == "certain" else extended(record, sure)


def _name_or_count(text: str, end: int, digits: str, records: list[Record]) -> str | None:
    """The kind of a whole number beside a word with a capital letter; None for a year or a list of names."""
    begin = end - len(digits)
    if len(digits) == 4 or (records and records[-1][3] == "identifier" and begin - records[-1][1] < NEAR):
        return None
    return "name" if names_thing(text, begin, end, records) else "quantity"


def _with_unit(end: int, power: int, found: tuple[str, int, int] | None) -> Follower | None:
    if found is None:
        return None
    return ("money" if found[0] in CURRENCIES else "quantity"), end, power, found[0], found[1:]


def easy_follower(
    text: str,
    end: int,
    digits: str,
    whole: bool,
    kind: str | None,
    attached: str | None,
    spaced: str | None,
    records: list[Record],
) -> Follower:
    """Reads a percent sign, scale word, unit or ordinal suffix after a plain number.

    The kind in the result is None if the number has to take the slow path, and "name" if it names a thing.
    """
    if attached is None:
        word = spaced or ""
        stop = end + 1 + len(word)
        if word in MONTHS:
            day = whole and len(digits) <= 2 and 1 <= int(digits) <= 31 and kind in (None, "date")
            day = day and not text[stop : stop + 1].isalnum()
            return ("date" if day else None), end, 0, None, None
    elif attached == "%":
        return ("percent" if kind is None else None), end + 1, -2, None, None
    elif attached in ("e", "E"):
        code = kind is None and len(digits) != 4 and not suffixes.has_exponent(text, end)
        return ("identifier" if code else None), end, 0, None, None
    else:
        word = attached
        stop = end + len(word)
    power = suffixes.SIMPLE_SCALES.get(word)
    if power is not None:
        if text[stop : stop + 1].isalnum() and word[0] not in "%‰％٪":
            return None, end, 0, None, None
        if power < 0:
            return ("percent" if kind is None else None), stop, power, None, None
        if kind is None and text[stop : stop + 1] in SCALE_ENDS and word not in suffixes.DOTTED_SCALES:
            if word in suffixes.DOUBLING and (second := suffixes.second_scale(text, stop, word)):
                stop, power = second[:2]
            return _with_unit(stop, power, unit_after(text, stop)) or ("quantity", stop, power, None, None)
        return None, end, 0, None, None
    if attached is None:
        if kind is None and word in SPACED_UNITS:
            if word == "year" and whole and len(digits) == 4:
                return None, end, 0, None, None  # 1986 year net
            if (found := _with_unit(end, 0, unit_after(text, end))) is not None:
                return found
            if word != "in" or digits != "1":  # `1 in 5` is a rate
                plain = "quantity" if not whole or len(digits) != 4 else kinds.four_digits(digits, word)
                if plain == "quantity" and whole and may_name(text, end - len(digits), end):
                    plain = _name_or_count(text, end, digits, records)
                return plain, end, 0, None, None
        if kind is None and word in COUNTED:
            return "quantity", end, 0, None, None
        if kind is None and word in COUNTED_AFTER and (len(digits) != 4 or not whole):  # `5 different`, no year
            if not whole or not may_name(text, end - len(digits), end):
                return "quantity", end, 0, None, None
            return _name_or_count(text, end, digits, records), end, 0, None, None
        if kind is None and word in COUNTED_AFTER and "1600" <= digits <= "2100" and word not in kinds.NOT_AFTER_YEARS:
            counted = kinds.counts_follow(text, stop)  # `1700 training sentences`, not `the 2012 training camp`
            return (None if counted else kinds.four_digits(digits, word)), end, 0, None, None
        free = word == "in" or (kind == "date" and word in SPACED_UNITS and unit_after(text, end) is None)
        if free and kind == "date" and whole and may_be_date(digits):  # May 5 at the hall
            return kind, end, 0, None, None
    elif kind is None and whole and not text[stop : stop + 1].isalnum():
        if word in ORDINAL_SUFFIXES and ordinal_suffix(digits) == word.lower():
            # A month before it would have given the kind "date".
            day = text[stop + 1 : stop + 2] in _MONTH_STARTS and len(digits) <= 2 and month_follows(text, stop)
            return ("date" if day else "ordinal"), stop, 0, None, None
        if word == "s" and len(digits) == 4 and digits[3] == "0" and "1000" < digits < "2100":
            return "year", end, 0, None, None  # the 1990s
    return None, end, 0, None, None
