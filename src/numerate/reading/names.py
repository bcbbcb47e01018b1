"""Finds whole numbers that name a thing by the words around them: houses, titles, labels of lists and notes.

These rules compete with counts (`1 Sussex hen`, `beat Arsenal 2`), so that their numbers have the confidence `likely`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.numerals.units import unit_after
from numerate.reading.context import MONTHS, NO_TITLES, counts_things, word_set

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = ["LABEL_ENDS", "TITLE_STARTS", "is_house_number", "may_name", "names_thing"]

_LONGEST_TITLE = 3
"""Maximum number of digits after a title: `Boeing 747`."""
_LONGEST_HOUSE = 5
_WINDOW = 24
"""How many characters before a number are searched for the last word of a title."""
_COUNT_FOLLOWERS = word_set("count_followers")
"""Words after a number that is a count or a score: `2 to 1`, `5 of them`."""
_ABBREVIATIONS = word_set("abbreviations_before_numbers")
_NAME = r"(?:[A-Z][A-Za-z'’.-]{0,20} |of |the |de |la ){1,4}?"
_house = re.compile(
    rf" {_NAME}(?:(?:Street|Avenue|Road|Drive|Lane|Boulevard|Terrace|Crescent|Square|Parkway|Plaza|Quay)(?![\w'’-])"
    r"|(?:St|Ave|Rd|Blvd|Dr|Ln)(?=\.?(?:[,;)\n]|$)))"
    r"| (?:Squadron|Commando|Regiment|Battalion|Brigade)(?![\w'’-])"
).match
_words = re.compile(r" ([A-Za-z]++)(?: ([A-Za-z]++))?").match
_no_title = re.compile(r" (?:[0-9%±×=+*/'’^]|- ?[0-9]|\( ?(?:[0-9]{1,3}(?![0-9])|same|nil|unq)|x )").match
_other_item = re.compile(r" ?,? (?:and )?([A-Z][A-Za-z]*+) [0-9]").match
_second = re.compile(r" ?,? (?:and|or|&) [0-9]{1,3}(?![\w%]|[.,][0-9])").match
_after_item = re.compile(r"[0-9] ?,? (?:and )?$").search
_scored = re.compile(
    r"\b(?:beat(?:s|ing)?|def(?:eat\w*)?|drew|lost|los(?:es|ing)|vs?|versus|scored?|gave|gives?|giving|paid|owe[sd]?|sold)"
    r"\b[^.;]*$"
).search
_SCORED_STEMS = ("beat", "def", "drew", "los", "v", "scor", "gave", "giv", "paid", "owe", "sold")
"""Parts of all words that `_scored` finds; it takes ten times as long to search for them."""
_note = re.compile(r"\[ ?[A-Za-z]{1,12} $").search
_heading = re.compile(r"\. [A-Z]{3,}(?![a-z])").match
LABEL_ENDS = frozenset([". ", ".\n", ") ", ")\n", " ]", "]", "] ", "].", "],"])
"""Two characters after a number that may be the label of a list or a note."""
TITLE_STARTS = frozenset(char for char in map(chr, range(91)) if char <= " " or char in "\"'(-" or char.isupper())
"""First characters of the words before a number that may be the end of a title."""
_NAMED_BEFORE = frozenset(["identifier", "year", "date", "ordinal"])


def may_name(text: str, begin: int, end: int) -> bool:
    """A cheap test that is True before and after words with a capital letter, where `names_thing` may be True."""
    return "@" < text[end + 1 : end + 2] < "[" or (text[begin - 1 : begin] == " " and _last_word(text, begin) < "[")


def names_thing(text: str, begin: int, end: int, records: list[Record]) -> bool:
    """Whether the whole number text[begin:end] names a thing.

    Args:
        text: The whole text.
        begin: Start of the digits.
        end: End of the digits.
        records: The records of the preceding numbers.

    Example:
        >>> names_thing("Fatal Fury 2 is", 11, 12, []), names_thing("beat Arsenal 2", 13, 14, [])
        (True, False)
    """
    size = end - begin
    if size > _LONGEST_HOUSE or text[begin] == "0":
        return False
    following = text[end : end + 2]
    if following in LABEL_ENDS:
        if following[0] == "." or following[0] == ")":
            if size <= 2 and _is_list_label(text, begin, end, following[0]):
                return True
        elif size <= 3 and _note(text[begin - 16 if begin > 16 else 0 : begin]) is not None:
            return True
    elif " @" < following < " [":
        if is_house_number(text, end):
            return True
    elif following == " h" and size <= 3 and text.startswith(("http://", "https://"), end + 1):
        return True
    return size <= _LONGEST_TITLE and text[begin - 1 : begin] == " " and _ends_title(text, begin, end, records)


def is_house_number(text: str, end: int) -> bool:
    """Whether a street or a squadron follows: `10 Downing Street`, `617 Squadron`, not `5 Wall Street analysts`."""
    street = _house(text, end)
    if street is None:
        return False
    noun = _words(text, street.end())
    return noun is None or not counts_things(noun[1])


def _last_word(text: str, begin: int) -> str:
    """The text between the last two plain spaces before `begin`; it may hold a line end."""
    return text[begin - _WINDOW if begin > _WINDOW else 0 : begin - 1].rpartition(" ")[2]


def _is_list_label(text: str, begin: int, end: int, after: str) -> bool:
    """Whether the number begins an item of a list: `mode. 4. If the`, `and 2) it`."""
    before = text[begin - 1 : begin]
    line = before == "" or before == "\n"
    if not line and before != " ":
        return False
    if after == ")":  # without an opening bracket
        window = begin - 300 if begin > 300 else 0
        opened = text.rfind("(", window, begin)
        return opened < 0 or text.rfind(")", opened, begin) >= 0
    if not text[end + 2 : end + 3].isupper():
        return False
    cue = _last_word(text, begin)
    if before == "":
        return _heading(text, end) is not None  # 5. CONCLUSION; nothing shows that `3. Place the cake` is an item
    if line or text[max(0, begin - 3) : begin].strip(" ").endswith("\n"):
        return True
    if cue[-1:] == ":":
        return text[begin:end] == "1"
    return (
        cue[-1:] in (".", ";", "?", "!") and (len(cue) > 2 or cue[0].isdecimal()) and cue.lower() not in _ABBREVIATIONS
    )


def _title_word(cue: str) -> str:
    """The word of `cue` that may end a title, without brackets and quotation marks; empty if it cannot."""
    if not cue < "[":
        return ""
    if cue <= "@":
        cue = cue.lstrip("(\"'")
    if not cue.isalpha():
        cue = cue.split()[-1] if cue.strip() else ""
    capital = cue.rpartition("-")[2]
    if not capital[:1].isupper() or not cue.replace("-", "").isalpha() or cue in MONTHS or cue.lower() in NO_TITLES:
        return ""
    return cue


def _ends_title(text: str, begin: int, end: int, records: list[Record]) -> bool:
    """Whether the number is the end of a title or name: `Fatal Fury 2`, `the Big 12 Conference`."""
    cue = _title_word(_last_word(text, begin))
    if not cue:
        return False
    place = begin - 1 - len(cue)
    begins = place == 0 or text[place - 2 : place] in (". ", "\n ") or text[place - 1] == "\n"
    if begins and cue.endswith(("ing", "ed", "ly")):  # the first word of a sentence: `Using 10 states`
        return False
    return (
        _is_end_of_name(text, end, cue)
        and not _gives_score(text[max(0, begin - 40) : begin])
        and not (_after_item(text[max(0, place - 7) : place]) and not (records and records[-1][3] in _NAMED_BEFORE))
    )


def _gives_score(before: str) -> bool:
    """Whether a verb before a number makes a score or an amount of it: `beat Arsenal 2`."""
    return any(map(before.__contains__, _SCORED_STEMS)) and _scored(before) is not None


def _is_end_of_name(text: str, end: int, cue: str) -> bool:
    """Whether the text after a number allows that it ends a name: not `England 8 times`, `Malta 500 (700)`."""
    after = text[end : end + 1]
    if after not in ("", " ", ".", ",", ";", ")", "]", "!", "?", '"', "”") or _no_title(text, end):
        return False
    if (item := _other_item(text, end)) and item[1] != cue:
        return False  # Chelsea 3 , Arsenal 2
    words = _words(text, end)
    if words is None:
        return not (after == "," and text[end + 1 : end + 3].strip().isdecimal())  # a list of numbers
    first, second = words.groups()
    if first in ("and", "or"):
        if not text[end + len(first) + 2 : end + len(first) + 3].isdecimal():
            return True
        last = _second(text, end)
        return last is not None and not _is_counted(text, last.end())  # not `Parana 55 and 63 pct`
    if not first[0].islower():
        return not (first.isupper() and len(first) > 3 and first[-1] == "S")
    if counts_things(first) or first in _COUNT_FOLLOWERS:
        return False
    return first in NO_TITLES or second is None or not counts_things(second)


def _is_counted(text: str, end: int) -> bool:
    """Whether a unit or a percent sign follows."""
    words = _words(text, end)
    if words is None:
        return text[end : end + 2].strip()[:1] == "%"
    return words[1] in _COUNT_FOLLOWERS or unit_after(text, end) is not None
