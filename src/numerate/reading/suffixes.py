"""Reads suffixes after the digits of a number: exponent, percent sign, scale word, ordinal suffix, am and pm."""

from __future__ import annotations

import re
import unicodedata

from numerate.numerals.style import FROM_SUPERSCRIPT, SUPERSCRIPTS, ordinal_suffix
from numerate.numerals.unit_tables import CURRENCY_SIGNS
from numerate.reading.calendar_forms import CALENDAR_MARKS, CALENDAR_WORDS
from numerate.reading.context import MONEY_SUFFIXES, MONTHS, ORDINAL_SUFFIXES, SCALE_SUFFIXES, SCALE_WORDS, word_set
from numerate.reading.letters import LETTERS
from numerate.reading.powers import base_power, flattened_power

POWER_MARKS = "×·*^" + "".join(SUPERSCRIPTS)
_PERCENTS = {"%": -2, "％": -2, "٪": -2, "‰": -3}
_PERCENT_WORDS = {"percent": -2, "pct": -2, "Pct": -2, "PCT": -2, "Percent": -2, "PERCENT": -2, "bps": -4, "permil": -3}
_PER = re.compile(r"per[ -]?(?:(?:cent)|(mill?e?))(?![A-Za-z])", re.IGNORECASE)
_BASIS = re.compile(r"basis[ \n-]points?(?![A-Za-z])")
_EXPONENT = re.compile(r"[eE]([-+−]?)([0-9]++)(?![\w])")
_SUPERSCRIPT = re.compile(f"[{''.join(SUPERSCRIPTS)}]++")
_POWER = re.compile(r"[ ]?[×xX·*][ ]?10(?:\^([{(]?)([-+−]?)([0-9]++)([})]?)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]++))")
_CARET = re.compile(r"\^([{(]?)([-+−]?)([0-9]++)([})]?)|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]++)")
_HOUR = re.compile(r"[ \n]?(?:[ap]\.?m\b\.?|o'clock|Uhr\b)", re.IGNORECASE)
TIME_ZONES = word_set("time_zones")
"""Words after the four digits of a time: `1400 GMT`."""
_HOURS_AND_MINUTES = re.compile(r"(?:[01]?[0-9]|2[0-4])[0-5][0-9]").fullmatch
_RADIX = re.compile(r"0(?:[xX][0-9a-fA-F]++|[oO][0-7]++|[bB][01]++)(?![0-9A-Za-z_])")
MARKS = "‰％٪°º˚℃℉′″Å\u212b\u2126" + "".join(CURRENCY_SIGNS)
"""Characters besides letters and ASCII that may follow a number and belong to it or to its unit."""
DOTTED_SCALES = frozenset(["Mio", "Mrd", "Mill", "mio", "mrd", "mld"])
"""Abbreviated scale words that may have a full stop of their own: `5 Mio. EUR`."""
LETTERS_OF_WORDS = "A-Za-zµμΩ"
"""Letters of the word after a number; a larger class would take the regex engine twice as long."""
_WORD = re.compile(rf"[ \-\n\u00a0\u2009\u202f]?([{LETTERS_OF_WORDS}]++|[%{MARKS}]|/(?=[A-Za-z]))")
_STARTS = ("per", "Per", "basis", "e", "E", "x", "X", "a", "p", "am", "pm", "AM", "PM", "A", "P", "o", "b", "O")
SPECIAL = (
    frozenset(
        [*_PERCENTS, *_PERCENT_WORDS, *SCALE_WORDS, *MONEY_SUFFIXES, *ORDINAL_SUFFIXES, *MONTHS, *POWER_MARKS, *_STARTS]
    )
    | LETTERS
    | CALENDAR_WORDS
    | CALENDAR_MARKS
    | TIME_ZONES
)
"""All words and marks that a suffix can begin with."""
ATTACHED_ONLY = frozenset([*MONEY_SUFFIXES, *ORDINAL_SUFFIXES, "e", "E", "b", "o", "O"])
_DOUBLED = re.compile(r"[ -](thousand|lakh|million|billion|trillion|crore)s?(?![\w-])").match
DOUBLING = frozenset(["hundred", "thousand", "lakh", "lakhs", "million", "billion"])
"""Scale words that another one may follow: `3 lakh crore`."""
"""Suffixes that must follow the digits directly."""
SIMPLE_SCALES = _PERCENTS | {word: power for word, power in (SCALE_WORDS | _PERCENT_WORDS).items() if len(word) > 1}
"""Marks and words that scale the number in every context -> power of ten."""

Suffix = tuple[int, int, str, str | None, float | None]
"""End of the number, power of its scale, digits of its exponent, its kind or None, value of a radix number or None."""


def word_at(text: str, position: int) -> str | None:
    """The word or mark at `position`, or after one space or hyphen."""
    match = _WORD.match(text, position)
    return match[1] if match else None


def has_exponent(text: str, end: int) -> bool:
    """Whether an exponent such as `e-9` begins at `end`."""
    return _EXPONENT.match(text, end) is not None


def suffix_after(text: str, start: int, end: int, word: str, digits: str, money: bool) -> Suffix | None:
    """Reads the suffix of the number with the digits text[start:end]; None if there is none.

    Args:
        text: The whole text.
        start: Start of the digits.
        end: End of the digits.
        word: The following word or mark, as `word_at` returns it.
        digits: The digits, with a leading point if there is one.
        money: Whether a currency precedes the number.
    """
    if word not in SPECIAL:
        if word[0] in "bBoOxX" and digits == "0" and (radix := _RADIX.match(text, start)):
            return radix.end(), 0, "", None, _radix_value(radix.group())
        return None
    gap = 0 if text.startswith(word, end) else 1
    after = end + gap + len(word)
    if word in _PERCENTS:
        return after, _PERCENTS[word], "", "percent", None
    open_end = text[after : after + 1].isalnum() or text[after : after + 1] == "_"
    if not open_end:
        if word in _PERCENT_WORDS:
            return after, _PERCENT_WORDS[word], "", "percent", None
        if word in SCALE_WORDS and (gap or len(word) > 1):
            second = second_scale(text, after, word) if word in DOUBLING else None
            return second or (after, SCALE_WORDS[word], "", None, None)
        if gap == 0:
            table = MONEY_SUFFIXES if money else SCALE_SUFFIXES
            if word in table:
                return after, table[word], "", None, None
            whole = digits.isdecimal() or digits.replace(",", "").isdecimal()
            if word in ORDINAL_SUFFIXES and whole and ordinal_suffix(_ascii(digits)) == word.lower():
                return after, 0, "", "ordinal", None
        if word in MONTHS and gap and digits.isdecimal() and len(digits) <= 2 and 1 <= int(digits) <= 31:
            return end, 0, "", "date", None
    return _rare_suffix(text, start, end, word, digits, gap)


def second_scale(text: str, after: int, word: str) -> Suffix | None:
    """The suffix of two scale words, of which the first ends at `after`: `3 lakh crore`; None if there is one."""
    match = _DOUBLED(text, after)
    if match is None or SCALE_WORDS[match[1]] < SCALE_WORDS[word]:
        return None
    return match.end(), SCALE_WORDS[word] + SCALE_WORDS[match[1]], "", None, None


def scale_after(text: str, end: int, money: bool) -> tuple[int, int] | None:
    """End and power of a scale word or suffix after a closing parenthesis: `$(24.8) million`."""
    word = word_at(text, end)
    if word is None or (word not in SCALE_WORDS and not (money and word in MONEY_SUFFIXES)):
        return None
    found = suffix_after(text, end, end, word, "", money)
    return None if found is None or found[1] <= 0 else found[:2]


def _rare_suffix(text: str, start: int, end: int, word: str, digits: str, gap: int) -> Suffix | None:
    """Reads the less common suffixes, each with a pattern of its own."""
    at = end + gap
    if word == "e" or word == "E":
        match = _EXPONENT.match(text, end) if gap == 0 else None
        return None if match is None else (match.end(), 0, _signed(match[1], match[2]), None, None)
    if word in ("x", "X", "×", "·", "*"):
        if (match := _POWER.match(text, end)) and _braces_agree(match[1], match[4]):
            return match.end(), 0, _power_digits(match), None, None
        if flat := flattened_power(text, end, digits):
            return flat[0], 0, flat[1], None, None
    if (word == "^" or word in SUPERSCRIPTS) and gap == 0 and digits == "10" and text[start : start + 1] == "1":
        match = _CARET.match(text, end)
        if match and _braces_agree(match[1], match[4]):
            power = _power_digits(match)
            # The mantissa is the base itself: 10^6 is 10 with the exponent 5.
            return match.end(), 0, str(int(power) - 1) if len(power) < 20 else power, None, None
    if word == "^" and gap == 0 and (power := base_power(text, end, digits)):
        return power[0], 0, "", None, power[1]
    if word in ("per", "Per") and (match := _PER.match(text, at)):
        return match.end(), -3 if match[1] else -2, "", "percent", None
    if word == "basis" and (match := _BASIS.match(text, at)):
        return match.end(), -4, "", "percent", None
    if word in ("x", "X", "o", "O", "b", "B") and digits == "0" and gap == 0 and (radix := _RADIX.match(text, start)):
        return radix.end(), 0, "", None, _radix_value(radix.group())
    if digits.isdecimal() and len(digits) <= 2 and int(digits) <= 24 and _HOUR.match(text, end):
        return end, 0, "", "time", None
    if word in TIME_ZONES and gap and _HOURS_AND_MINUTES(digits):
        return end, 0, "", "time", None
    return None


def _ascii(digits: str) -> str:
    """The last two characters of digits in any script as ASCII digits."""
    return "".join(str(unicodedata.decimal(char, char)) for char in digits[-2:])


def _braces_agree(opening: str | None, closing: str | None) -> bool:
    return (opening or "", closing or "") in (("", ""), ("{", "}"), ("(", ")"))


def _power_digits(match: re.Match[str]) -> str:
    return match[5].translate(FROM_SUPERSCRIPT).lstrip("+") if match[5] else _signed(match[2], match[3])


def _signed(sign: str, digits: str) -> str:
    return f"-{digits}" if sign in ("-", "−") else digits


def _radix_value(text: str) -> float:
    try:
        return float(int(text, 0))
    except OverflowError:
        return float("inf")
