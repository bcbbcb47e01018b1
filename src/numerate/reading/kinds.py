"""What a number is used for, judged by its neighbours in the text."""

from __future__ import annotations

import re
from typing import Any

from numerate.numerals.units import CURRENCIES
from numerate.reading.context import (
    CONNECTORS,
    DATE_JOINTS,
    LABELS,
    MONTHS,
    NAME_PREFIXES,
    SCORE_WORDS,
    VERSION_WORDS,
    YEAR_CUES,
    counts_things,
)
from numerate.reading.cues import DOUBTFUL_LABELS, key_of, word_before
from numerate.reading.shapes import DASHES

__all__ = [
    "PARTNER_JOINTS",
    "four_digits",
    "kind_of",
    "may_be_grouped",
    "may_be_mixed",
    "pair_in_context",
    "settle_cluster",
    "share_with_partner",
]

START, END, VALUE, KIND, UNIT, UNIT_SPAN, POWER, POINT = range(8)
PARTNER_JOINTS = frozenset(["±", " ± ", "+/-", " +/- ", " to ", "–", "-", " - ", " – ", "−", "±$"])
_PLAIN = ("quantity", "range", "ratio")
_RATE = re.compile(r" in \d")
_FORMER = re.compile(r"\d in $")


def four_digits(digits: str, follower: str | None) -> str | None:
    """The kind of a free-standing number of four digits at first sight; None where a closer look is needed."""
    if not "1600" <= digits <= "2100":
        return None if digits < "1600" else "quantity"
    return "year" if follower is None or not counts_things(follower) else None


def kind_of(
    text: str,
    begin: int,
    end: int,
    digits: str,
    value: float,
    word: str | None,
    record: tuple[Any, ...],
    records: list[tuple[Any, ...]],
    left: bool,
) -> str:
    """The kind of a number that neither its shape nor a currency or percent sign has settled.

    Args:
        text: The whole text.
        begin: Where its digits begin.
        end: Where its digits end.
        digits: The digits as written.
        value: Their meaning.
        word: The word that follows.
        record: What is known so far.
        records: The numbers before it.
        left: Whether the text before `begin` is the number's own context (not another number of the same cluster).
    """
    shape = record[KIND]
    before = text[begin - 1] if begin and left else " "
    if before.isalpha():
        return _glued_before(text, begin, shape)
    if before in "#@_" or (before in "+’'." and _glued_by_mark(text, begin)):
        return "identifier"
    if before in DASHES and record[START] == begin and begin > 1 and text[begin - 2].isalpha():
        cue = word_before(text, begin - 1).lower()
        if cue not in NAME_PREFIXES and not (cue in YEAR_CUES or _looks_like_year(digits, value, 1500)):
            return shape or "identifier"
    if (
        word is not None
        and word[0].isalpha()
        and text.startswith(word, end)
        and record[UNIT] is None
        and record[END] == end
        and not _letters_are_fine(text, end, word, digits, value)
    ):
        return shape or "identifier"
    cue = word_before(text, begin) if left else ""
    if cue.rstrip(".,") in MONTHS and _may_be_date(digits, value):
        return "date"
    if left and records and shape is None and _continues_date(text, records[-1], begin, digits, value):
        return "date"
    key = key_of(cue)
    whole = digits.isdecimal()
    if key in VERSION_WORDS and record[UNIT] is None and not (whole and _looks_like_year(digits, value)):
        return "version"
    if record[UNIT] is None and _is_reference(text, begin, end, digits, key, cue, records, left, shape):
        return "identifier"
    if shape is not None:
        if not left and records and shape in ("range", "ratio") and records[-1][KIND] in ("range", "ratio"):
            return records[-1][KIND]
        return pair_in_context(text, begin, shape)
    if (
        whole
        and record[UNIT] is None
        and record[POWER] == 0
        and record[START] == begin
        and _is_year(text, begin, end, digits, value, word, key)
    ):
        return "year"
    if _RATE.match(text, end) and digits == "1" and word == "in":
        return "ratio"
    if records and records[-1][KIND] == "ratio" and key == "in" and _FORMER.search(text[max(0, begin - 6) : begin]):
        return "ratio"
    return "quantity"


def _glued_before(text: str, begin: int, shape: str | None) -> str:
    letter = text[begin - 1]
    earlier = text[begin - 2] if begin > 1 else " "
    if letter in "vV" and not earlier.isalnum():
        return "version"
    if letter in "xX" and earlier.isdecimal():  # 4x4, 28x28: sizes
        return shape or "quantity"
    if letter == "±":
        return shape or "quantity"
    return "identifier"


def _glued_by_mark(text: str, begin: int) -> bool:
    """`C++11`, `EDM’15`, and the footnote in `... was different.83 In`: a letter with one mark before the number."""
    mark, earlier = text[begin - 1], text[max(0, begin - 3) : begin - 1]
    return earlier[-1:].isalpha() if mark != "+" else len(earlier) == 2 and earlier[0].isalpha() and earlier[1] == "+"


def _letters_are_fine(text: str, end: int, word: str, digits: str, value: float) -> bool:
    """Letters behind the digits that make no code of them: `1990s`, `10x`, `2016b`, `28x28`."""
    following = text[end + len(word) : end + len(word) + 1]
    if following.isalnum() and not (word in ("x", "X") and following.isdecimal()):
        return False
    if word in ("x", "X"):
        return True
    year = _looks_like_year(digits, value, 1000)
    if word == "s":
        return digits.isdecimal() and (year or (len(digits) == 2 and digits[1] == "0"))
    if len(word) == 1 and word.islower() and year and word in "abcdef":
        return True
    return word in ("am", "pm", "AM", "PM")


def _looks_like_year(digits: str, value: float, first: int = 1600) -> bool:
    return len(digits) == 4 and digits.isdecimal() and first <= value <= 2100


def _may_be_date(digits: str, value: float) -> bool:
    if not digits.isdecimal() or not value.is_integer():
        return False
    return (len(digits) <= 2 and value <= 99) or (len(digits) == 4 and 1000 <= value <= 2199)


def _continues_date(text: str, last: tuple[Any, ...], begin: int, digits: str, value: float) -> bool:
    """The year behind a day: `June 30, 2018`."""
    return (
        last[KIND] in ("date", "ordinal")
        and len(digits) == 4
        and _may_be_date(digits, value)
        and (text[last[END] : begin] in DATE_JOINTS or text[last[END] : begin].strip(" ,.of\n") in MONTHS)
        and (last[KIND] == "date" or word_before(text, last[START]).rstrip(".,") in MONTHS)
    )


def _is_reference(
    text: str,
    begin: int,
    end: int,
    digits: str,
    key: str,
    cue: str,
    records: list[tuple[Any, ...]],
    left: bool,
    shape: str | None,
) -> bool:
    """Whether the number names a thing: `Table 3`, `[12]`, `No. 5`, and the next ones of such a list."""
    if not left:
        return bool(records) and records[-1][KIND] == "identifier" and text[records[-1][END] : begin] in CONNECTORS
    if key in LABELS or (key == "p" and cue.endswith(".")):
        if cue[-1] == ":" and len(digits) == 4 and "1600" <= digits <= "2100":
            return False  # Note: 1986 includes
        return key not in DOUBTFUL_LABELS or cue[:1].isupper() or cue[-1] == "."
    if records and records[-1][KIND] == "identifier" and text[records[-1][END] : begin] in CONNECTORS:
        last = records[-1]
        return text[last[START] - 1 : last[START]] not in ("-",) and _is_listed(text, last)
    before, after = text[begin - 1 : begin], text[end : end + 1]
    if before == "[" and digits.isdecimal() and len(digits) <= 3 and digits != "0":
        return after in "],;–-"
    return before == "(" and after == ")" and digits.isdecimal() and len(digits) <= 2


def _is_listed(text: str, last: tuple[Any, ...]) -> bool:
    """Whether an identifier stands free, so that a list can go on from it (not `H2O and 5`)."""
    before = text[last[START] - 1 : last[START]]
    return before in ("", " ", "[", "(", ",", "-", "–", "\n", "§", "#")


def pair_in_context(text: str, begin: int, shape: str) -> str:
    """A range, or the score that the words round it speak of: `a 3-13 record`."""
    window = text[begin - 40 if begin > 40 else 0 : begin + 24].lower()
    return "ratio" if shape == "range" and any(cue in window for cue in SCORE_WORDS) else shape


def _is_year(text: str, begin: int, end: int, digits: str, value: float, word: str | None, key: str) -> bool:
    before = text[begin - 1 : begin]
    if before in ("'", "’") and len(digits) == 2:
        return not text[begin - 2 : begin - 1].isalnum()
    if word == "s" and text.startswith("s", end) and len(digits) == 2:
        return True
    if len(digits) != 4:
        return word in ("BC", "AD", "BCE", "CE") and len(digits) <= 4
    if not 1000 <= value <= 2100:
        return False
    spaced = word is not None and not text.startswith(word, end)
    if word in ("BC", "AD", "BCE", "CE"):
        return True
    if value < 1600:
        return key in YEAR_CUES and not (spaced and word is not None and counts_things(word))
    if key in ("=", "of", "about", "over", "than", "nearly", "approximately", "least", "most", "to", "and", "with") or (
        before == "="
    ):
        return not (spaced and word is not None and (counts_things(word) or before == "=")) and key != "="
    if spaced and word is not None and counts_things(word):
        return key in ("the", "in", "since") and key != "the"
    return True


def may_be_mixed(text: str, start: int) -> bool:
    """Whether `5 1/2` at `start` can be one number: not behind a label or another digit."""
    cue = word_before(text, start)
    return cue.strip("(.,").lower() not in LABELS and cue.rstrip(".,") not in MONTHS and not _digit_before(text, start)


def may_be_grouped(text: str, start: int, spaced: str) -> bool:
    """Whether `816 000` at `start` is one number in groups of three, not a row of numbers."""
    groups = spaced.partition(".")[0].split(" ")
    # 100 200 300 is a row of a table as likely as a number; 816 000 and 1 234 567 are numbers.
    row_like = len(groups[0]) == 3 and len(groups) > 1 and groups[-1] != "000" and len(groups) > 2
    return not row_like and may_be_mixed(text, start)


def _digit_before(text: str, start: int) -> bool:
    return start > 1 and text[start - 1] == " " and text[start - 2].isdecimal()


def settle_cluster(records: list[tuple[Any, ...]], first: int) -> None:
    """Gives the numbers of one cluster the kind that its ends agree on: `March 13-15`, `COVID-19-2`."""
    head, tail = records[first][KIND], records[-1][KIND]
    if head in ("date", "identifier") and tail in ("range", "ratio", "quantity", "year"):
        kind, replaced = head, ("range", "ratio", "quantity", "year")
    elif tail in ("date", "money", "percent") and head in _PLAIN:
        kind, replaced = tail, _PLAIN
    else:
        return
    for index in range(first, len(records)):
        if records[index][KIND] in replaced:
            records[index] = (*records[index][:KIND], kind, *records[index][UNIT:])


def _is_spoken_range(text: str, last: tuple[Any, ...], record: tuple[Any, ...]) -> bool:
    """`50 to 65 days`, but not `from 50 to 65`: that may be a change."""
    return (
        last[KIND] == record[KIND] == "quantity"
        and record[START] - last[END] == 4
        and text[record[START]] not in "+-−("
        and last[VALUE] < record[VALUE]
        and text[last[END] : record[START]] == " to "
        and word_before(text, last[START]) not in ("from", "From")
    )


def share_with_partner(text: str, records: list[tuple[Any, ...]], record: tuple[Any, ...]) -> tuple[Any, ...]:
    """Both ends of a range or of ± have the unit that follows the second, and both are money or percent.

    Mends the last of `records` where it gains something, and gives `record` with what it gains itself.
    """
    last = records[-1]
    if record[START] - last[END] > 5 or text[last[END] : record[START]] not in PARTNER_JOINTS:
        return record
    if last[KIND] in ("date", "time", "identifier", "version", "year", "ordinal"):
        return record
    kind, unit, span = last[KIND], record[UNIT], record[UNIT_SPAN]
    if last[UNIT] is None and unit is not None and span[0] >= record[END]:
        kind = "money" if unit in CURRENCIES and kind in _PLAIN else kind
        last = (*last[:UNIT], unit, span, *last[POWER:])
    elif kind == "money" and unit is None and record[KIND] in _PLAIN:
        record = (*record[:KIND], "money", last[UNIT], last[UNIT_SPAN], *record[POWER:])
    if record[KIND] == "percent" and kind in _PLAIN:
        kind = "percent"
    elif _is_spoken_range(text, last, record):
        kind, record = "range", (*record[:KIND], "range", *record[UNIT:])
    records[-1] = (*last[:KIND], kind, *last[UNIT:])
    return record
