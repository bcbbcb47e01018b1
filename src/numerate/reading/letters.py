"""Decides what a letter after a number is: a scale (`10M`), a unit (`300K` of a temperature), pence, part of a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.numerals.unit_tables import CURRENCY_SIGNS
from numerate.reading.context import (
    CONNECTORS,
    COUNTED_IN_MILLIONS,
    LABELS,
    MOLAR_SOLUTES,
    MONEY_SUFFIXES,
    counts_things,
    key_of,
    word_before,
    word_set,
)
from numerate.reading.names import is_house_number

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = ["LETTERS", "Meaning", "letter_meaning"]

LETTERS = frozenset(["k", "K", "m", "M", "b", "B", "T", "p", "mm", "MM", "Md", "G"])
"""Letters and pairs of letters with several meanings after a number."""


class Meaning(NamedTuple):
    """What the letter is: a scale (`power`), a unit, or neither (the letter of a label)."""

    stop: int
    power: int
    kind: str | None
    unit: str | None
    unit_span: tuple[int, int] | None
    confidence: str


_SCALES = MONEY_SUFFIXES | {"Md": 9}
_open_end = re.compile(r"[\w²³⁻^/·⋅]|[-–](?=[A-Za-z])").match
_next_word = re.compile(r" ([A-Za-z][A-Za-z0-9]*+)").match
_TEMPERATURE = re.compile(
    r"temperature|kelvin|cryo|thermal|anneal|sinter|quench|(?<![a-z])(?:cool|heat|melt|boil|freez|warm)"
    r"|(?<![a-z])t[a-z]{0,2} ?[=~≈<>≤≥]|\d k(?![a-z])|liquid (?:helium|nitrogen)|superconduct"
).search
_ELEMENT = "(?:Li|Be|Na|Mg|Al|Si|Cl|Ca|Ti|Cr|Mn|Fe|Co|Ni|Cu|Zn|Br|Ag|Cd|Cs|Ba|La|Pb|[HBCNOFPSKI])"
# A chemical formula of at least two elements, with a digit or a small letter: NaOH, H2SO4, not HIV.
_FORMULA = re.compile(
    rf"(?=[A-Z(]{{0,8}}[a-z0-9])(?!NaN\b){_ELEMENT}[0-9]{{0,2}}(?>\(?{_ELEMENT}[0-9]{{0,2}}\)?[0-9]?){{1,8}}+(?![A-Za-z0-9])"
).match
_SCREEN_LINES = word_set("screen_lines")
"""Heights of pictures: `1080p`."""
_NOT_PENCE = re.compile(
    r" ?[−+=*×^/]|-[0-9]|[ -](?:- "
    r"|orbital|electron|state|level|shell|core|peak|spectr|band|sub|transition|region|line|XPS)"
).match


_GIGA_LEADERS = frozenset(["", " ", "\n", "\t", "(", "~", "≈", "=", "<", ">"])
_BYTES_FOLLOW = re.compile(
    r" (?:of )?(?:free |disk |main |system |flash |video |usb )?(?:data|memory|ram|storage|space|disk|swap|drive|ssd"
    r"|file|heap|partition|cache|image|download)"
).match
_BYTES_PRECEDE = re.compile(
    r"\b(?:files?|disks?|drives?|ram|memory|storage|heap|partition|download)"
    r" (?:is|are|was|has|of|at|takes|needs|uses|=)(?: about| only| over)? $"
).search
_NETWORK_FOLLOWS = re.compile(
    r" (?:network|ethernet|nic\b|port|link|uplink|downlink|switch|fib(?:er|re)|lan\b|interface|transceiver|backbone"
    r"|connection)"
).match


def letter_meaning(
    text: str, begin: int, end: int, word: str, digits: str, money: bool, records: list[Record]
) -> Meaning | None:
    """The meaning of the letter `word` after the number text[begin:end]; None if the other rules decide.

    Args:
        text: The whole text.
        begin: Start of the digits.
        end: End of the digits.
        word: A word of `LETTERS`.
        digits: The digits as written.
        money: Whether a currency precedes the number.
        records: The records of the preceding numbers.
    """
    attached = text.startswith(word, end)
    at = end if attached else end + 1
    after = at + len(word)
    if after < len(text) and text[after] in CURRENCY_SIGNS and word in _SCALES and (attached or word not in "mbp"):
        if not text[after + 1 : after + 2].isalnum():  # 5 M€
            return Meaning(after, _SCALES[word], None, CURRENCY_SIGNS[text[after]], (after, after + 1), "certain")
        return None
    if _open_end(text, after) or text[end : end + 1] in "-\n":
        return None
    if word == "G":
        return _giga(text, begin, end, digits, records) if attached and not money else None
    if money:
        if attached or word in ("p", "Md"):
            return None
        return Meaning(after, _SCALES[word], None, None, None, "likely")  # €5 m
    if not attached or word in ("mm", "MM", "Md"):
        return None
    if word in "KMBTbp" and _is_labelled(text, begin, records):
        return Meaning(end, 0, "identifier", None, None, "certain")  # Fig. 7B
    if word in "KMBTbp" and digits.isdecimal() and is_house_number(text, after):
        return Meaning(end, 0, "identifier", None, None, "likely")  # 221B Baker Street
    follower = _next_word(text, after)
    noun = follower[1] if follower else ""
    if word == "p":
        return _pence(text, begin, end, digits)
    if word == "m":
        if noun.lower() in COUNTED_IN_MILLIONS:
            return Meaning(after, 6, None, None, None, "likely")
        return None
    counted = noun != "" and (counts_things(noun) or noun in ("people", "men", "women", "children"))
    if word == "K" and not counted and _is_temperature(text, begin, end, digits, records):
        return Meaning(end, 0, None, "K", (end, after), "likely")
    if word == "M" and (noun in MOLAR_SOLUTES or (noun and _FORMULA(text, after + 1))):
        return Meaning(end, 0, None, "M", (end, after), "likely")
    if word in ("k", "K", "M", "B"):
        known = word in "kM" or noun[:1].islower()
        return Meaning(after, _SCALES[word], None, None, None, "likely" if known else "guess")
    return None


def _giga(text: str, begin: int, end: int, digits: str, records: list[Record]) -> Meaning | None:
    """`10G of memory` are gigabytes, `a 10G network` has gigabits a second; `5G` and `a turn of 9G` are neither."""
    if text[begin - 1 : begin] not in _GIGA_LEADERS or _is_labelled(text, begin, records):
        return None
    before, following = text[max(0, begin - 32) : begin].lower(), text[end + 1 : end + 24].lower()
    span = end, end + 1
    if _BYTES_FOLLOW(following) or (_BYTES_PRECEDE(before) and not following[:2].strip().isalpha()):
        return Meaning(end, 0, None, "GB", span, "likely")
    if len(digits) == 1 and digits in "123456":
        return None  # generations of mobile networks
    if _NETWORK_FOLLOWS(following):
        return Meaning(end, 0, None, "Gbit/s", span, "likely")
    if following[:2].strip() != "" or before != "":
        return None
    return Meaning(end + 1, 9, None, None, None, "guess")


def _is_labelled(text: str, begin: int, records: list[Record]) -> bool:
    """Whether the number and its letter name a thing (`Fig. 7B`, `seat 14K`) or continue such a list (`and 8M`)."""
    if key_of(word_before(text, begin)) in LABELS:
        return True
    last = records[-1] if records else None
    return last is not None and last[3] == "identifier" and text[last[1] + 1 : begin] in CONNECTORS


def _is_temperature(text: str, begin: int, end: int, digits: str, records: list[Record]) -> bool:
    """Whether the text around `300K` is about temperatures."""
    if "," in digits or len(digits) > 6:
        return False
    if records and records[-1][4] == "K" and begin - records[-1][1] < 24:
        return True
    around = text[max(0, begin - 60) : begin].lower(), text[end + 1 : end + 24].lower()
    return _TEMPERATURE(around[0]) is not None or "temperature" in around[1]


def _pence(text: str, begin: int, end: int, digits: str) -> Meaning | None:
    """`266p` is money; `1080p` is a picture, `2p` an orbital."""
    if digits in _SCREEN_LINES or _NOT_PENCE(text, end + 1) or text[begin - 1 : begin].isalpha():
        return None
    return Meaning(end, 0, "money", "penny", (end, end + 1), "likely")
