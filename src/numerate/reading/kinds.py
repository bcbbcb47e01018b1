"""Decides the kind of a number (quantity, year, date, identifier ...) by the text around it."""

from __future__ import annotations

import re
from typing import Any

from numerate.numerals.units import CURRENCIES
from numerate.reading import context
from numerate.reading.calendar_forms import has_month, is_count_in_month
from numerate.reading.clusters import DASHES
from numerate.reading.context import counts_things, key_of, word_before
from numerate.reading.evidence import SURE_YEAR_CUES, extended
from numerate.reading.scores import pair_in_context

Record = tuple[Any, ...]
"""The fields of a numeral as a tuple: start, end, value, kind, unit, unit_span, power, point."""
START, END, VALUE, KIND, UNIT, UNIT_SPAN, POWER, POINT = range(8)
PARTNER_JOINTS = frozenset(["±", " ± ", "+/-", " +/- ", " to ", "–", "-", " - ", " – ", "−", "±$"])
"""Text between two numbers that share unit and kind."""
_PLAIN = ("quantity", "range", "ratio")
_DATED = ("date", "ordinal")
"""Kinds of a day, after which a date may go on."""
LIST_LEADERS = frozenset(["", " ", "[", "(", ",", "–", "\n", "§", "#"])
"""Characters before the first of a list of references."""
_RATE = re.compile(r" in \d")
_FORMER = re.compile(r"\d in $")
_ENGINE = re.compile(
    r"(?:6|8|12|16)(?!\d|\.\d)|(?:2|3|4|5|10)(?=[ -](?:engine|motor|powered|diesel|petrol|turbo|rocket|missile))"
).match
_AMBIGUOUS_DATE = re.compile(r"(0?[1-9]|1[0-2])[/-](0?[1-9]|1[0-2])[/-](?:\d{4}|\d{2})").fullmatch
_follower = re.compile(r" ([A-Za-z]++)").match
_NAMED = re.compile(r"\d{1,3}[A-Z]").match  # V2X
_LAWS_AND_HASHES = context.STATUTES | context.HASH_CUES
_LOWER_CUES = context.LOWER_MONTHS | {"de", "del"}
_CODE_COLON = re.compile(r"\b(?:arxiv|doi|pmid|isbn|issn|id): ?$", re.IGNORECASE).search


def four_digits(digits: str, follower: str | None, cue: str = "") -> str | None:
    """The kind of a four-digit number after the word `cue`; None if the slow path has to decide."""
    if digits > "2100":
        return None if follower is not None and follower < "[" else "quantity"
    if digits < "1600":
        return "year" if digits >= "1000" and follower is None and cue in SURE_YEAR_CUES and cue != "(" else None
    return "year" if follower is None or not counts_things(follower) else None


def kind_of(
    text: str, begin: int, end: int, digits: str, word: str | None, record: Record, records: list[Record], left: bool
) -> str:
    """The kind of a number whose kind does not follow from its shape, a currency or a percent sign.

    Args:
        text: The whole text.
        begin: Start of the digits.
        end: End of the digits.
        digits: The digits as written.
        word: The following word.
        record: The record so far; its kind is that of the cluster's shape, or None.
        records: The records of the preceding numbers.
        left: Whether the text before `begin` is context (False after another number of the same cluster).
    """
    value, shape = record[VALUE], record[KIND]
    before = text[begin - 1] if begin and left else " "
    if before == " ":  # most numbers
        pass
    elif before.isalpha():
        return _kind_after_letter(text, begin, shape)
    elif before in "#@_" or (before in "+’'." and _follows_letter_and_mark(text, begin)):
        return "identifier"
    elif before in DASHES and record[START] == begin and begin > 1 and text[begin - 2].isalpha():
        dated = records and records[-1][KIND] == "date" and _may_be_date(digits, value)
        if dated and text[records[-1][END] : begin].strip("-–") in context.MONTHS:
            return "date"  # 5-Mar-24
        if text[begin - 5 : begin] == "-for-" and records and records[-1][END] == begin - 5:
            records[-1] = (*records[-1][:KIND], "ratio", *records[-1][UNIT:])
            return "ratio"  # a 2-for-1 split
        name = word_before(text, begin - 1)
        cue = name.lower()
        measured = record[UNIT] is not None and text[end : end + 1] == "-"  # 5-foot-7-inch
        dated = (cue in context.YEAR_CUES and len(cue) > 1) or _looks_like_year(digits, value, 1500)
        dated = dated and sum(map(str.isupper, name)) < 2  # SemEval-2014
        if cue not in context.NAME_PREFIXES and not dated and not measured:
            return "identifier" if shape == "ratio" else shape or "identifier"
    if (
        word is not None
        and word[0].isalpha()
        and text.startswith(word, end)
        and record[UNIT] is None
        and record[END] == end
        and not _is_harmless_suffix(text, end, word, digits, value)
    ):
        return shape or "identifier"
    cue = word_before(text, begin) if left else ""
    if cue == "," or cue == ".":  # a text with spaces before its marks: `March , 2007`, `No . 7`
        cue = word_before(text, begin - 2) + cue
    if (
        cue.rstrip(".,") in context.MONTHS
        and (_may_be_date(digits, value) or _is_early_year(text, begin, digits, records))
        and not (len(digits) <= 2 and is_count_in_month(text, begin, end, cue, record[UNIT], record[UNIT_SPAN]))
    ):
        return "date"
    if len(digits) == 4 and cue in _LOWER_CUES and _follows_lower_month(text, begin, cue, digits, value):
        return "date"
    if (
        left
        and records
        and shape is None
        and records[-1][KIND] in _DATED
        and _continues_date(text, records[-1], begin, digits, value)
    ):
        return "date"
    key = key_of(cue)
    whole = digits.isdecimal()
    if key in context.VERSION_WORDS and record[UNIT] is None and not (whole and _looks_like_year(digits, value)):
        return "version"
    no_label = shape is not None and key == "season" and _is_no_label(text, begin, digits)
    if record[UNIT] is None and not no_label and _is_reference(text, begin, end, digits, key, cue, records, left):
        return "identifier"
    if shape is not None:
        if shape == "range" and (text[begin - 1 : begin] == "/" or text[end : end + 1] == "/"):
            return shape  # 1986/87
        if not left and records and shape in ("range", "ratio") and records[-1][KIND] in ("range", "ratio"):
            return records[-1][KIND]
        if shape == "year" and record[UNIT] is not None:  # the unit of `1986/87 year` is dropped before
            return "range"  # 1323–1423 K
        return pair_in_context(text, begin, shape)
    if (
        whole
        and record[UNIT] is None
        and record[POWER] == 0
        and record[START] == begin
        and _is_year(text, begin, end, digits, value, word, key)
    ):
        return "year"
    if digits == "1" and word == "in" and _RATE.match(text, end):
        return "ratio"
    if records and records[-1][KIND] == "ratio" and key == "in" and _FORMER.search(text[max(0, begin - 6) : begin]):
        return "ratio"
    return "quantity"


def _kind_after_letter(text: str, begin: int, shape: str | None) -> str:
    letter = text[begin - 1]
    earlier = text[begin - 2] if begin > 1 else " "
    if letter in "vV" and not earlier.isalnum() and not _NAMED(text, begin):
        return "identifier" if letter == "V" and _ENGINE(text, begin) else "version"
    if letter in "xX" and earlier.isdecimal():  # 4x4, 28x28: sizes
        return shape or "quantity"
    return "identifier"


def _follows_letter_and_mark(text: str, begin: int) -> bool:
    """Whether a letter and a mark precede the number: `C++11`, `EDM’15`, the footnote in `was different.83 In`."""
    mark, earlier = text[begin - 1], text[max(0, begin - 3) : begin - 1]
    return earlier[-1:].isalpha() if mark != "+" else len(earlier) == 2 and earlier[0].isalpha() and earlier[1] == "+"


def _is_harmless_suffix(text: str, end: int, word: str, digits: str, value: float) -> bool:
    """Whether letters after the digits do not make an identifier of them: `1990s`, `10x`, `2016b`, `28x28`."""
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


def _is_early_year(text: str, begin: int, digits: str, records: list[Record]) -> bool:
    """Whether three digits after a day and a month are a year: `10 April 238`."""
    dated = len(digits) == 3 and digits.isdecimal() and records and records[-1][KIND] == "date"
    return bool(dated) and text[records[-1][END] : begin].strip() in context.MONTHS


def _continues_date(text: str, last: Record, begin: int, digits: str, value: float) -> bool:
    """Whether the number after one of `_DATED` is a year, `June 30, 2018`, or another day, `June 18 and 22`."""
    if begin - last[END] > 24:
        return False
    gap = text[last[END] : begin]
    if last[KIND] == "date" and len(digits) <= 2 and gap in (" and ", " to ", " or "):
        follower = _follower(text, begin + len(digits))
        day = digits.isdecimal() and 1 <= value <= 31 and not (follower and counts_things(follower[1]))
        return day and word_before(text, last[START]).rstrip(".,") in context.MONTHS
    return (
        len(digits) == 4
        and _may_be_date(digits, value)
        and (gap in context.DATE_JOINTS or has_month(gap))
        and (last[KIND] == "date" or word_before(text, last[START]).rstrip(".,") in context.MONTHS)
    )


def _follows_lower_month(text: str, begin: int, cue: str, digits: str, value: float) -> bool:
    """Whether the number is the year after a month in lower case: `août 1944`, `marzo de 2021`."""
    if not _may_be_date(digits, value):
        return False
    if cue == "de" or cue == "del":
        cue = word_before(text, begin - len(cue) - 1)
    return cue in context.LOWER_MONTHS


def _is_reference(
    text: str, begin: int, end: int, digits: str, key: str, cue: str, records: list[Record], left: bool
) -> bool:
    """Whether the number identifies a thing (`Table 3`, `[12]`, `No. 5`) or continues a list of such numbers."""
    last = records[-1] if records else None
    listed = last is not None and last[KIND] == "identifier" and text[last[END] : begin] in context.CONNECTORS
    if listed and last is not None and last[-1] == "likely" and counts_follow(text, end):
        listed = False  # Kinect 2 and 5 cameras
    if not left:
        return listed
    if key in _LAWS_AND_HASHES and digits.isdecimal():
        if len(digits) >= 7 and key in context.HASH_CUES:
            return True  # commit 8432178
        if key in context.STATUTES and _looks_like_year(digits, float(digits)):
            return False  # Companies Act 2006
    if (key in context.LABELS and not (cue[-1] == "." and len(key) > 4 and cue.islower())) or (
        key == "p" and cue.endswith(".")
    ):  # not the end of a sentence: `in all cases. 13 of them`
        if cue[-1] in ":," and len(digits) == 4 and "1600" <= digits <= "2100":
            return False  # Note: 1986 includes
        if key not in context.DOUBTFUL_LABELS or cue[:1].isupper() or cue[-1] == ".":
            return True
        if cue in context.LOWER_LABELS and _follows_lower_label(text, begin, end, digits, cue):
            return True
    if last is not None and listed:  # only after an identifier without letters before it: not in `H2O and 5`
        return text[last[START] - 1 : last[START]] in LIST_LEADERS
    before, after = text[begin - 1 : begin], text[end : end + 1]
    if before == ":" and _CODE_COLON(text[max(0, begin - 8) : begin]):
        return True
    if before == "[" and digits.isdecimal() and len(digits) <= 3 and digits != "0":
        return after in "],;–-"
    return before == "(" and after == ")" and digits.isdecimal() and len(digits) <= 2


def _is_no_label(text: str, begin: int, digits: str) -> bool:
    """Whether `season` before a pair of numbers is no label: `finished the season 16-17`, `season 1997/1998`."""
    return len(digits) == 4 or word_before(text, begin - len("season ")) in ("the", "their", "its", "his", "regular")


def counts_follow(text: str, end: int) -> bool:
    """Whether the word after a number looks like a plural noun."""
    follower = _follower(text, end)
    return follower is not None and counts_things(follower[1])


def _follows_lower_label(text: str, begin: int, end: int, digits: str, cue: str) -> bool:
    """Whether one of `LOWER_LABELS` before the number is a label: `in class 2`, not `won the game 5`."""
    return (
        len(digits) <= 2
        and digits.isdecimal()
        and text[end : end + 1] in ("", " ", ".", ",", ";", ")", "\n")
        and word_before(text, begin - len(cue) - 1).lower() not in context.BEFORE_NO_LABEL
        and not counts_follow(text, end)
    )


def settle_confidence(records: list[Record], first: int, cluster: str, confidence: str) -> None:
    """Gives the numbers of a cluster their confidence; that of `03/04/2019` is a guess, because months differ."""
    if records[first][KIND] == "date":
        day_or_month = _AMBIGUOUS_DATE(cluster)
        if day_or_month is None or int(day_or_month[1]) == int(day_or_month[2]):
            return
        records[first], records[first + 1] = extended(records[first], "guess"), extended(records[first + 1], "guess")
        return
    for index in range(first, len(records)):
        if records[index][KIND] in ("ratio", "time"):
            records[index] = extended(records[index], confidence)


def _names_counted(word: str | None, spaced: bool) -> bool:
    """Whether the word after a number may be a noun or an adjective."""
    return spaced and word is not None and word[0].islower() and word not in context.NO_TITLES


NOT_AFTER_YEARS = frozenset(["dim", "dimensional", "randomly"])
"""Words after four digits that are no year: `a 2048-dim vector`."""
_COUNT_CUES = frozenset(["of", "about", "over", "than", "nearly", "approximately", "least", "most"])
_DATING = frozenset(["in", "since", "until", "fy", "q1", "q2", "q3", "q4", "h1", "h2"])
"""Words after which four digits are a year even before a plural noun: `in 2022 sales fell`, `Q3 2022 sales`."""


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
    if word in ("BC", "AD", "BCE", "CE"):
        return True
    spaced = word is not None and not text.startswith(word, end)
    counts = spaced and word is not None and counts_things(word)
    if counts and word in context.YEAR_NOUNS and 1850 <= value <= 2035 and digits[2:] != "00":
        return key not in _COUNT_CUES  # 1986 results
    if (
        spaced
        and word in context.COUNTED_AFTER
        and key not in context.YEAR_CUES
        and counts_follow(text, end + 1 + len(word))
    ):
        return False  # 1700 training sentences
    if word in NOT_AFTER_YEARS or (key in context.APPROXIMATIONS and _names_counted(word, spaced)):
        return False  # a 2048-dim vector, nearly 1900 small firms
    if value < 1600:
        return key in context.YEAR_CUES and not counts
    if key in context.STATUTES:
        return True
    if key == "=":
        return False
    if before == "=":
        return not spaced
    if key in _COUNT_CUES or key in ("to", "and", "with"):
        return not counts
    return not counts or key in _DATING


def may_be_mixed(text: str, start: int) -> bool:
    """Whether `5 1/2` at `start` can be one number, i.e. does not follow a label or another digit."""
    cue = word_before(text, start)
    labelled = cue.strip("(.,").lower() in context.LABELS or cue.rstrip(".,") in context.MONTHS
    labelled = labelled or _in_code(text[max(0, start - 2) : start])  # T37 800, K-2 500
    return not labelled and not (start > 1 and text[start - 1] == " " and text[start - 2].isdecimal())


_in_code = re.compile(r"[^\W\d_]$|[^\W\d_][-–]$").search


def may_be_grouped(text: str, start: int, spaced: str) -> bool:
    """Whether `816 000` at `start` is one number in groups of three digits, not a row of numbers."""
    groups = spaced.partition(".")[0].split(" ")
    # 100 200 300 may be a row of a table; 816 000 and 1 234 567 are numbers.
    row_like = len(groups[0]) == 3 and groups[-1] != "000" and len(groups) > 2
    return not row_like and may_be_mixed(text, start)


def settle_cluster(records: list[Record], first: int) -> None:
    """Gives all numbers of a cluster the kind of its first or last number: `March 13-15`, `COVID-19-2`."""
    head, tail = records[first][KIND], records[-1][KIND]
    if head in ("date", "identifier") and tail in ("range", "ratio", "quantity", "year"):
        kind, replaced = head, ("range", "ratio", "quantity", "year")
    elif tail in ("date", "money", "percent") and head in _PLAIN:
        kind, replaced = tail, _PLAIN
    elif head == "year" and tail == "range":
        kind, replaced = tail, ("year",)
    else:
        return
    for index in range(first, len(records)):
        if records[index][KIND] in replaced:
            records[index] = (*records[index][:KIND], kind, *records[index][UNIT:])


_ends_change = re.compile(r"(?! ?[A-Za-z]{4,}s\b)").match


def _is_spoken_range(text: str, last: Record, record: Record) -> bool:
    """Whether "to" joins a range, `50 to 65 days`; `from 50 to 65` may be a change."""
    return (
        last[KIND] == record[KIND] == "quantity"
        and record[START] - last[END] == 4
        and text[record[START]] not in "+-−("
        and last[VALUE] < record[VALUE]
        and text[last[END] : record[START]] == " to "
        and (cue := word_before(text, last[START])) not in ("from", "From")
        and not (cue in context.CHANGE_VERBS and _ends_change(text, record[END]))
        and not (cue == "by" and last[POWER] and word_before(text, last[START] - len("by ")) in context.CHANGE_VERBS)
    )


def join_signed(text: str, records: list[Record], record: Record) -> Record:
    """Makes a range of two quantities with one dash and a sign between them: `-10--5`, `−10–−5`."""
    last = records[-1]
    if last[KIND] != "quantity" or text[last[END]] not in DASHES or text[record[START]] not in DASHES:
        return record
    records[-1] = (*last[:KIND], "range", *last[UNIT:])
    return (*record[:KIND], "range", *record[UNIT:])


def share_with_partner(text: str, records: list[Record], record: Record) -> Record:
    """Shares unit, money and percent between two numbers with one of `PARTNER_JOINTS` between them.

    Updates the last of `records` and returns the updated `record`.
    """
    last = records[-1]
    if last[KIND] in ("date", "time", "identifier", "version", "year", "ordinal"):
        return record
    kind, unit, span = last[KIND], record[UNIT], record[UNIT_SPAN]
    if last[UNIT] is None and unit is not None and span[0] >= record[END] and kind != "percent":
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
