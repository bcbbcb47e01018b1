"""Digits inside of codes: web addresses, DOIs, hexadecimal ids, MAC and IPv6 addresses. Each run is an identifier."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.reading.context import HASH_CUES, key_of, word_before

if TYPE_CHECKING:
    from numerate.reading.kinds import Record

__all__ = ["next_address", "read_code", "read_runs"]

NO_ADDRESS = (1 << 62, 1 << 62)
_ADDRESS = re.compile(r"(?:://|(?<!\w)www\.)[^\s<>\"“”]{1,2000}+")
_RUN = re.compile(r"\d++")
_DOI = re.compile(r"10\.[0-9]{4,9}/[^\s\"<>]{1,200}+")
_LONGEST = 80
"""Maximum number of characters of a hexadecimal code on each side of a number."""
_right = re.compile(r"[0-9A-Fa-f:-]{0,80}+").match
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}").fullmatch
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}").fullmatch
_IPV6 = re.compile(
    r"(?=[^:]*+:[^:]*+:)(?=[0-9:]*+[A-Fa-f]|.*?::)(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,7}:"
).fullmatch
_HEX = re.compile(r"[0-9a-f]{7,}|[0-9A-F]{7,}").fullmatch
_CLOSING = ".,;:!?)]}'*_"


def next_address(text: str, position: int, last: tuple[int, int] | None) -> tuple[int, int]:
    """Start and end of the next web address that ends after `position`, without its scheme.

    Args:
        text: The whole text.
        position: Offset of a number.
        last: The address before it, None at the beginning of the text.

    Returns:
        `NO_ADDRESS` if there is none.
    """
    if last is None and "://" not in text and "www." not in text:
        return NO_ADDRESS
    for match in _ADDRESS.finditer(text, 0 if last is None else last[1]):
        end = match.start() + len(match.group().rstrip(_CLOSING))
        if end > position:
            return match.start(), end
    return NO_ADDRESS


def read_runs(text: str, start: int, end: int, records: list[Record]) -> int:
    """Appends every run of digits of text[start:end] as an identifier; returns `end`."""
    runs = _RUN.finditer(text, start, end)
    records.extend((*run.span(), float(run.group()), "identifier", None, None, 0, ".") for run in runs)
    return end


def read_code(text: str, start: int, end: int, records: list[Record]) -> int | None:
    """Reads a DOI or a hexadecimal code that contains the digits text[start:end]; None if there is none.

    Returns:
        The end of the code.
    """
    if text.startswith("10.", start) and (doi := _DOI.match(text, start)):
        code = doi.group().rstrip(_CLOSING)
        if any(map(str.isdecimal, code.partition("/")[2])):
            return read_runs(text, start, start + len(code), records)
    stop = _hexadecimal_end(text, start, end)
    return None if stop is None else read_runs(text, start, stop, records)


def _hexadecimal_end(text: str, start: int, end: int) -> int | None:
    """The end of the hexadecimal code around text[start:end]: a UUID, a hash, a MAC or an IPv6 address; else None."""
    left, right = _right(text[max(0, start - _LONGEST) : start][::-1]), _right(text, end)
    if left is None or right is None:
        return None
    begin, stop = start - left.end(), right.end()
    code = text[begin:stop].rstrip(":-") if not text.endswith("::", 0, stop) else text[begin:stop]
    stop = begin + len(code)
    before, after = text[begin - 1 : begin], text[stop : stop + 1]
    if stop < end or before.isalnum() or before == "_" or after.isalnum() or after == "_":
        return None
    if _UUID(code) or _MAC(code) or _IPV6(code):
        return stop
    if ":" in code or "-" in code or code.isdecimal():
        return None
    if before == "#" and len(code) in (3, 4, 6, 8):  # a colour
        return stop
    labelled = key_of(word_before(text, begin)) in HASH_CUES or before == "@"
    return stop if _HEX(code) and (labelled or len(code) in (32, 40, 64, 128)) else None
