"""Shares scale, percent sign, unit and currency between the numbers of a range, size, list or pair.

In `$43-65 million` both numbers are millions of dollars, in `4 × 4 × 5 mm` all three are millimetres. `share` runs once
over the records of a text, from right to left, and looks at neighbouring numbers only, so that its time is linear. A
number whose scale, percent sign or unit stands at another number has `shared` set in its record.
"""

from __future__ import annotations

import math
import string
from fractions import Fraction

from numerate.numerals.style import VULGAR
from numerate.numerals.unit_tables import CURRENCY_SIGNS, LENGTHS
from numerate.numerals.units import CURRENCIES
from numerate.reading.context import CHANGE_VERBS, MONEY_SUFFIXES, MONTHS, counts_things, word_before
from numerate.reading.evidence import DEFAULTS
from numerate.reading.kinds import END, KIND, POWER, START, UNIT, UNIT_SPAN, VALUE, Record
from numerate.reading.suffixes import word_at

__all__ = ["NEAR", "may_join", "scaled_value", "share"]

_DASHES = ("-", "–", "−", "‐", "‑", " - ", " – ", " − ", "~", " ~ ", "- ", "– ")
_TO = (" to ", "- to ", "-to-", "–to–", " bis ", " à ")
_AND = (" and ", "- and ", "-and-", " & ", " und ", " et ", " y ", " e ")
_OR = (" or ", "- or ", "-or-", " oder ", " ou ")
_LAST = (", and ", ", or ", "-, and ", "-, or ", " , and ", " , or ")
_COMMA = (", ", "-, ", " , ")
_BY = ("x", " x ", "X", " X ", "×", " × ", "× ", " by ", "-by-", "- by ")
_PLUS = ("±", " ± ", "± ", " ±", "+/-", " +/- ")
JOINTS = {
    wrapped: kind
    for kind, joints in {
        "dash": _DASHES, "to": _TO, "and": _AND, "or": _OR, "last": _LAST, "comma": _COMMA, "by": _BY, "plus": _PLUS,
        "pair": ("/",),
    }.items()
    for joint in joints
    for wrapped in {joint, joint.replace(" ", "\n", 1), "\n".join(joint.rsplit(" ", 1))}
}  # fmt: skip
"""Text between two numbers, also with a line end in it -> how they belong together."""
NEAR = 12
"""Numbers that are at least so many characters apart share nothing."""
_WORD_ENDS = frozenset(joint[-3:-1] for joint in JOINTS if joint[-1] == " " and joint[-2].islower())
"""The last two letters of a joint that is a word."""
_MARK_ENDS = frozenset(joint[-2] for joint in JOINTS if joint[-1] == " " and not joint[-2].islower()).union(
    string.ascii_uppercase, CURRENCY_SIGNS, "."
)
"""The last characters of a joint or currency before a space and a number."""
_POOR_JOINTS = dict.fromkeys([" and ", "\nand ", " and\n"], "and") | dict.fromkeys(_PLUS, "plus")
"""Joints that matter between numbers without unit, scale and percent sign: `between 5 and 10`, `5 ± 1`."""
_RANGES = frozenset(["dash", "to", "between"])
_PLAIN = frozenset(["quantity", "range", "ratio"])
_GIVERS = _PLAIN | {"money", "percent"}
_PLAIN_OR_YEAR = _PLAIN | {"year"}
_UNSETTLED = _PLAIN | {"year", "identifier"}
TAKERS = _GIVERS | {"year"}
_ENDS_OF_RANGE = _GIVERS | {"year", "identifier"}
_WITH_OWN_UNITS = _RANGES | {"and", "or", "plus", "comma", "last"}
_BETWEEN = frozenset(["between", "zwischen", "entre", "tra", "fra"])
_FROM = frozenset(["from", "von", "de", "da"])
_CHANGES = (
    "rose", "rise", "rais", "creas", "fell", "fall", "drop", "cut", "reduc", "grew", "grow", "climb", "jump", "declin",
    "chang", "improv", "expand", "exten", "lower", "lift", "boost", "went", "go ", "gain", "lost", "slip", "surg",
    "shift", "mov", "upgrad", "narrow", "widen", "up from", "down from",
)  # fmt: skip
"""Parts of words before `from 5 to 7 km` that make it a change and no range."""
_TWO_PARTS = frozenset([("ft", "in"), ("lb", "oz"), ("h", "min"), ("min", "s"), ("year", "month")])
"""Units of one quantity in two numbers: `5-foot-7-inch`."""
_RADIX = frozenset("xXoObB")
"""Letters of hexadecimal, octal and binary numbers."""
_DEGREES = frozenset(["°C", "°F", "K"])
_RACES = ("relay", "medley", "freestyle", "butterfly", "hurdles", "sprint")
_SHAREABLE_LENGTHS = LENGTHS | {"px"}


def may_join(text: str, start: int) -> bool:
    """Whether the text before the number at `start` may end with a joint or a currency: not after `vs `."""
    if text[start - 1] != " ":
        return True
    return text[start - 2] in _MARK_ENDS or text[start - 3 : start - 1] in _WORD_ENDS


def share(text: str, records: list[Record], near: list[int]) -> None:
    """Shares scale, percent sign, unit and currency between neighbouring records, in place.

    Args:
        text: The whole text.
        records: The records of its numbers.
        near: Indices of the numbers that begin less than `NEAR` characters after the number before them. Numbers
            without unit, scale and percent sign may be left out, except after money, `±` and `and`.
    """
    done = len(records)
    for index in reversed(near):
        lent = False
        while index < done and (left := records[index - 1])[1] + NEAR > (right := records[index])[0]:
            done = index
            if right[3] == "date" and left[3] == "quantity" and _is_day_before(text, left, right):
                records[index - 1] = (*left[:3], "date", *left[4:])
                break
            if right[6] or right[5] is not None or left[3] == "money":
                joint = _joint(text, left, right)
            else:
                poor = left[3] == "quantity" and left[5] is None and not left[6]
                joint = _POOR_JOINTS.get(text[left[1] : right[0]]) if poor else None
                if joint == "and" and text[left[0] - 2 : left[0] - 1] != "n":
                    joint = None  # not `between 5 and 10`
            lent = joint is not None and _link(text, records, index - 1, joint, lent)
            index -= 1  # the numbers before are members of the same list
            if not lent or index == 0:
                break


def _is_day_before(text: str, left: Record, right: Record) -> bool:
    """Whether a whole number and the day of a date have one month: `4 to 6 August`."""
    return (
        text[left[1] : right[0]] in (" to ", " and ", " or ", " & ")
        and left[1] - left[0] <= 2
        and right[1] - right[0] <= 2
        and 1 <= left[2] < right[2] <= 31
        and left[5] is None
        and word_at(text, right[1]) in MONTHS
    )


def _joint(text: str, left: Record, right: Record) -> str | None:
    """How the text between two numbers, without unit and currency, joins them."""
    end, start, span = left[1], right[0], left[5]
    if span is not None and end <= span[0] and span[1] <= start:
        end = span[1]
    joint = JOINTS.get(text[end:start])
    if joint is None and (span := right[5]) is not None and end <= span[0] < start:
        joint = JOINTS.get(text[end : span[0]])  # `$5 or $6`
    return joint


def _link(text: str, records: list[Record], index: int, joint: str, listed: bool) -> bool:
    """Shares between the numbers `index` and `index + 1`; returns whether the first has got anything.

    `listed`: whether the second has got something from a number after it.
    """
    left, right = records[index], records[index + 1]
    kind, span, other = left[KIND], left[UNIT_SPAN], right[UNIT_SPAN]
    if kind not in TAKERS or (left[POWER] < 0 and joint != "plus") or _is_exponent(text, left[START]):
        return False
    if span is not None and other is not None and span[0] < right[START] and other[0] >= left[END]:
        # Both have a unit of their own.
        if kind == right[KIND] == "money" and (left[POWER] or not right[POWER]):
            return False
        if joint not in _WITH_OWN_UNITS:
            return False
    if joint == "and" and _word_before(text, left) in _BETWEEN:
        joint = "between"
    elif (joint == "last" or (joint == "comma" and not listed)) and not _continues(text, records, index):
        return False
    pair = _Pair(text, joint, left, right)
    if not pair.settle():
        return False
    records[index], records[index + 1] = pair.left, pair.right
    return pair.lent


def _is_exponent(text: str, start: int) -> bool:
    """Whether the number is the exponent or index of a letter: `x^2`, `x_2`."""
    return start > 0 and text[start - 1] in "^_"


def _continues(text: str, records: list[Record], index: int) -> bool:
    """Whether a comma and another plain number precede the number `index`, so that a list has three members."""
    if index == 0 or records[index - 1][KIND] not in _GIVERS:
        return False
    return _joint(text, records[index - 1], records[index]) == "comma"


def _word_before(text: str, record: Record) -> str:
    """The word before a number and its currency, in lower case."""
    begin, span = record[START], record[UNIT_SPAN]
    if span is not None and begin - 5 <= span[0] < begin:
        begin = span[0]
    return word_before(text, begin).lower()


class _Pair:
    """Two neighbouring numbers that belong together; `settle` gives both what they share."""

    __slots__ = ("_joint", "_text", "left", "lent", "right")
    left: Record
    right: Record

    def __init__(self, text: str, joint: str, left: Record, right: Record) -> None:
        self._text, self._joint, self.left, self.right, self.lent = text, joint, left, right, False

    def settle(self) -> bool:
        """Shares what can be shared; returns whether the two numbers belong together."""
        self._forget()
        left, right, joint = self.left, self.right, self._joint
        if right[KIND] == "identifier" and not self._is_end_of_range():
            return False
        if left[KIND] == "year" and not self._is_no_year():
            return False
        if right[KIND] == "year" and right[UNIT] is None:
            return False
        if right[KIND] not in _ENDS_OF_RANGE:
            return False
        if joint == "by" and not self._is_size():
            return False
        if joint == "pair" and right[UNIT] == "year":
            return False  # the 1986/87 year
        self._lend_money()
        self._lend_back()
        self._set_kinds()
        if joint == "plus":
            self._set_uncertainty()
        return True

    def _forget(self) -> None:
        """Removes unit and kind that the slow path has copied from one number to the other."""
        left: Record = self.left
        right: Record = self.right
        plain = "range" if self._joint == "dash" else "quantity"
        if left[UNIT] is not None and left[UNIT_SPAN][0] >= right[START]:
            left = (*left[:UNIT], None, None, *left[POWER:])
        if (left[KIND] == "money" and left[UNIT] is None) or (left[KIND] == "percent" and left[POWER] == 0):
            left = (*left[:KIND], plain, *left[UNIT:])
        if right[UNIT] is not None and right[UNIT_SPAN][0] < left[END]:
            kind = plain if right[KIND] == "money" else right[KIND]
            right = (*right[:KIND], kind, None, None, *right[POWER:])
        self.left, self.right = left, right

    def _is_end_of_range(self) -> bool:
        """Whether the second number is no name, although letters and a hyphen precede it: `5km-10km`, `8-to-16-m`."""
        left, right = self.left, self.right
        if left[KIND] == "money" and self._money_letter():
            return True
        if left[KIND] not in _GIVERS or (right[UNIT] is None and right[POWER] == 0):
            return False
        same = left[UNIT] is None or left[UNIT] == right[UNIT] or left[KIND] == "money"
        return same or (left[UNIT], right[UNIT]) in _TWO_PARTS

    def _is_no_year(self) -> bool:
        """Whether four digits are no year, because a unit follows the second number: `1800-2000 kcal`."""
        right = self.right
        counted = right[UNIT] is not None and right[UNIT] not in CURRENCIES and self._joint in _RANGES
        return counted and right[END] - right[START] >= 4

    def _is_size(self) -> bool:
        """Whether a product is a size (`9x13-inch`) and no number of pieces (`2 x 500 mg`, `4 × 100 m relay`)."""
        left, right = self.left, self.right
        if right[UNIT] not in _SHAREABLE_LENGTHS or left[POWER] or right[POWER]:
            return False
        if right[UNIT] in ("m", "km", "yd", "mi") and left[VALUE] in range(2, 13):
            after = self._text[right[UNIT_SPAN][1] : right[UNIT_SPAN][1] + 24]
            return right[VALUE] < 20 * left[VALUE] and not any(race in after for race in _RACES)
        return True

    def _lend_money(self) -> None:
        """Gives the currency before the first number to the second: `$43-65 million`, `$5 to 10`."""
        left, text, joint = self.left, self._text, self._joint
        right: Record = self.right
        if left[KIND] != "money" or left[UNIT_SPAN][0] >= left[END] or right[POWER] < 0:
            return
        if joint not in _RANGES and joint not in ("or", "plus"):
            return
        if power := self._money_letter():
            value = scaled_value(text[right[START] : right[END]], right[VALUE], power)
            right = (right[START], right[END] + 1, value, right[KIND], None, None, power, *right[POWER + 1 :])
        if right[UNIT] is not None:
            return
        word = word_at(text, right[END])
        grows = joint in ("dash", "plus") or right[VALUE] > left[VALUE]
        if grows and (right[POWER] or word is None or not counts_things(word)):
            self.right = _shared((*right[:KIND], "money", left[UNIT], left[UNIT_SPAN], *right[POWER:]))

    def _money_letter(self) -> int:
        """The power of a scale letter after the second number that is no unit after an amount of money: `£3-4m`."""
        text, right, end = self._text, self.right, self.right[END]
        plain = right[POWER] == 0 and _may_have_scale(text[right[START] : end], right[VALUE])
        power = MONEY_SUFFIXES.get(text[end : end + 1], 0) if plain else 0
        return power if not text[end + 1 : end + 2].isalnum() and right[UNIT_SPAN] in (None, (end, end + 1)) else 0

    def _lend_back(self) -> None:
        """Gives scale, percent sign and unit after the second number to the first."""
        left, right = self.left, self.right
        unit, span, power, kind = left[UNIT], left[UNIT_SPAN], left[POWER], left[KIND]
        value, likely = left[VALUE], False
        if right[POWER] < 0:
            if power == 0 and unit is None and kind in _PLAIN:
                power, kind = right[POWER], "percent"
        elif power < 0:
            return
        else:
            after = right[UNIT] is not None and right[UNIT_SPAN][0] >= right[END]
            bare = unit is None or (unit == "°" and right[UNIT] in _DEGREES)
            if after and bare and (power == 0 or right[POWER]):
                unit, span = right[UNIT], right[UNIT_SPAN]
                kind = "money" if unit in CURRENCIES else kind
            own = left[UNIT] is not None and left[UNIT_SPAN][0] >= left[END]
            if right[POWER] and power == 0 and not own and (unit == right[UNIT] or right[UNIT] is None):
                fits, likely = self._scale_fits()
                power = right[POWER] if fits else 0
        if (unit, power) == (left[UNIT], left[POWER]):
            return
        if power != left[POWER]:
            written = self._text[left[START] : left[END]]
            if not _may_have_scale(written, value):
                return
            value = scaled_value(written, value, power)
        record = (*left[:VALUE], value, kind, unit, span, power, *left[POWER + 1 :])
        self.left, self.lent = _shared(record, likely), True

    def _scale_fits(self) -> tuple[bool, bool]:
        """Whether the scale of the second number is also that of the first, and whether that is only likely."""
        first = abs(self.left[VALUE])
        second = abs(self.right[VALUE]) / 10.0 ** self.right[POWER]
        if self._joint in _RANGES and first < second:
            return True, False
        if self._joint in ("dash", "between", "by", "pair") or first >= 1000 or first > 10 * second:
            return False, False
        if self._joint == "to":  # `from 10 to 8 million`; `500 to 1 million` has another scale
            return _word_before(self._text, self.left) in _FROM, True
        return True, False

    def _set_kinds(self) -> None:
        """Sets the kind of both ends of a range, and of numbers that are no identifier or year after all."""
        left, right, joint = self.left, self.right, self._joint
        kind = None
        if right[KIND] in ("identifier", "year") or left[KIND] == "year":
            kind = "quantity"
        if joint in _RANGES and left[KIND] in _PLAIN_OR_YEAR and right[KIND] in _UNSETTLED:
            score = left[KIND] == "ratio" and (joint != "dash" or left[UNIT] is None)  # `lost 10-14 kg` is no score
            same = left[UNIT] == right[UNIT] and not score and left[VALUE] < right[VALUE]
            rich = left[UNIT] is not None or left[POWER] or right[POWER]
            if joint == "between":
                rich = rich or self._text[right[START]] not in "+-−("
            elif joint == "to":
                rich = rich and not self._is_change()
            kind = "range" if same and rich else kind
        if kind is None:
            return
        if left[KIND] in _PLAIN_OR_YEAR:
            self.left = (*left[:KIND], kind, *left[UNIT:])
        if right[KIND] in _UNSETTLED:
            self.right = (*right[:KIND], kind, *right[UNIT:])

    def _is_change(self) -> bool:
        """Whether the first number is a change or follows one: `rose from 5 to 7 km`, `rose by 2 km to 7 km`."""
        text, begin = self._text, self.left[START]
        cue = _word_before(text, self.left)
        if not self.lent and cue in CHANGE_VERBS:
            return True  # climbed 1.8 billion to 133.8 billion
        if cue not in _FROM and (self.lent or cue != "by"):
            return False
        before = text[begin - 60 if begin > 60 else 0 : begin].lower()
        return any(map(before.__contains__, _CHANGES))

    def _set_uncertainty(self) -> None:
        left, right = self.left, self.right
        if (
            left[UNIT] == right[UNIT]
            and (left[POWER] < 0) == (right[POWER] < 0)
            and math.copysign(1.0, right[VALUE]) > 0
        ):
            fields = (*left[8:], *DEFAULTS[len(left) - 8 :])
            self.left = (*left[:8], *fields[:3], right[VALUE], *fields[4:])


def _shared(record: Record, likely: bool = False) -> Record:
    special, path, _, uncertainty, confidence = (*record[8:], *DEFAULTS[len(record) - 8 :])
    return (*record[:8], special, path, True, uncertainty, "likely" if likely else confidence)


def _may_have_scale(written: str, value: float) -> bool:
    """Whether a number is no hexadecimal one, and float64 holds its digits."""
    held = len(written) <= 15 or sum(map(str.isdecimal, written)) <= 15
    return held and _RADIX.isdisjoint(written) and (1e-300 < abs(value) < 1e300 or not written.strip("0.,-−"))


def scaled_value(written: str, value: float, power: int) -> float:
    """The float64 nearest to value · 10^power; moves the decimal exponent instead of multiplying."""
    if "/" in written or "⁄" in written or any(char in VULGAR for char in written):
        return float(Fraction(repr(value)).limit_denominator(1000) * Fraction(10) ** power)
    if not math.isfinite(value):
        return value
    digits, _, exponent = repr(value).partition("e")
    return float(f"{digits}e{int(exponent or 0) + power}")
