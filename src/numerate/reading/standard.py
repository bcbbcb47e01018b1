"""The `standard` reader: numbers as people write them. The rules are in docs/reading.md."""

from __future__ import annotations

import codecs
import re
import string

from numerate.numeral import Numeral
from numerate.reading import kinds, suffixes
from numerate.reading.base import Reader
from numerate.reading.context import DATE_JOINTS, MONTHS, ORDINAL_SUFFIXES
from numerate.reading.number import Record, plain_value, read_number
from numerate.reading.shapes import DASHES, SIMPLE, Part, pair_kind, split_cluster
from numerate.reading.words import find_roman, find_words
from numerate.registry import readers
from numerate.style import VULGAR
from numerate.units import CURRENCIES, UNIT_HEADS, unit_after

__all__ = ["StandardReader"]

LOCALES = ("auto", "en", "eu", "in", "ch")
_VULGAR = "".join(VULGAR)
_LETTERS, _MARKS = "A-Za-zµμΩ", "‰％°º€£¥₹₽₩′″" + re.escape(suffixes.POWER_MARKS)
_SEPARATORS = rf".,:/'’⁄٫٬．，\u00a0\u2009\u202f{re.escape(DASHES)}"
# A cluster of digits; group 1 is the word or mark directly behind it, group 2 the one behind a space or hyphen.
_FOLLOWED = (
    rf"(?:(?=([{_LETTERS}]++|[%$*^'\"{_MARKS}])|[ \-\n\u00a0\u2009\u202f]([{_LETTERS}]++|[%$*{_MARKS}{_VULGAR}]|\d)))?"
)
_ASCII = re.compile(
    r"[0-9]++(?:[.,:/'\-][0-9]++)*+(?:(?=([A-Za-z]++|[%$*^'\"])|[ \-\n]([A-Za-z]++|[%$*]|[0-9])))?"
)
# One set of characters first, so that the search for it is one tight loop.
_UNICODE = re.compile(rf"[\d{_VULGAR}]++(?:[{_SEPARATORS}]\d++)*+[{_VULGAR}]?" + _FOLLOWED)
_WITH_VULGAR = re.compile(rf"(\d*+)([{_VULGAR}])|\d++(?:[{_SEPARATORS}]\d++)*+(?=[{_SEPARATORS}])|\d++(?:[{_SEPARATORS}]\d++)*+")
_RUN = re.compile(r"\d++")
# Where the digits are, at the speed of memchr: one byte a character, 0 for a digit or a vulgar fraction.
_DIGIT_MAP = bytes(48 if chr(code).isdecimal() or chr(code) in VULGAR else 32 for code in range(256))


def _map_exotic(error: UnicodeError) -> tuple[str, int]:
    """Maps characters beyond Latin-1: digits of other scripts to 0, the rest to spaces, one for one."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    run = error.object[error.start : error.end]
    return "".join(["0" if char.isdecimal() or char in VULGAR else " " for char in run]), error.end


codecs.register_error("numerate-digits", _map_exotic)

PLAIN_LEADERS = frozenset(["", *"\t\r(,;:<>|~*\"/&?!%)"])
"""What may stand directly before a number without changing it."""
CODE_LEADERS = frozenset(string.ascii_letters) - frozenset("vVxXsSDPRFYKNOCZLBTAGM")
"""Letters that make a code of the digits behind them; the others may end a currency or begin a version."""
BUSY_FOLLOWERS = (suffixes.SPECIAL - MONTHS) | UNIT_HEADS | frozenset("0123456789" + _VULGAR) | {"BC", "AD", "BCE", "CE"}
"""Words that may belong to the number before them."""
SPACED_UNITS = UNIT_HEADS - (suffixes.SPECIAL - suffixes.ATTACHED_ONLY)
LINKING_KINDS = frozenset(["money", "date", "identifier", "ratio"])
"""Kinds that the next number may share."""
JOINT_ENDS = frozenset("±-–−o/+")
"""What ends the gap between the two ends of a range, one character before the number."""


@readers.register("standard")
class StandardReader(Reader):
    """Reads quantities, money, percentages, dates and all else that docs/reading.md lists.

    Args:
        words: Also read number words ("twenty-one").
        roman: Also read Roman numerals.
        locale: "auto" takes European forms only where they are certain; "en", "eu", "in", "ch" decide.

    Example:
        >>> [n.value for n in StandardReader().find("(1,234) of $3.2bn, 30bps, −5 °C")]
        [-1234.0, 3200000000.0, 0.003, -5.0]
    """

    def __init__(self, words: bool = False, roman: bool = False, locale: str = "auto") -> None:
        if locale not in LOCALES:
            raise ValueError(f"locale must be one of {', '.join(LOCALES)}, however: {locale=}")
        self.words, self.roman, self.locale = words, roman, locale

    def find(self, text: str) -> list[Numeral]:
        """All numerals of `text`, in order."""
        numerals = [Numeral(text[record[0] : record[1]], *record) for record in self._scan(text)]
        extra = (find_words(text) if self.words else []) + (find_roman(text) if self.roman else [])
        return _merged(numerals, extra) if extra else numerals

    def spans(self, text: str) -> list[Record]:
        """The numerals of `text` as rows that begin with start, end, value and kind, without objects."""
        if self.words or self.roman:
            return [[n.start, n.end, n.value, n.kind] for n in self.find(text)]
        return self._scan(text)

    def _scan(self, text: str) -> list[Record]:
        """All records of a text.

        Most numbers are plain: nothing but spaces and words round them. Those are read here, with a few look-ups each;
        `read_number` and `_many` read the rest with care. Both ways give the same, which a test holds them to.
        """
        records: list[Record] = []
        ascii_only = text.isascii()
        pattern = (_ASCII if ascii_only else _UNICODE).match
        simple = SIMPLE.fullmatch if self.locale != "eu" else _RUN.fullmatch
        next_digit = text.encode("latin-1", "numerate-digits").translate(_DIGIT_MAP).find
        find_back, append, cue_kind, busy = text.rfind, records.append, kinds.CUE_KINDS.get, BUSY_FOLLOWERS
        last_end, last_kind, lines = -9, "", "\n" in text
        start = next_digit(b"0")
        while start >= 0:
            match = pattern(text, start)
            if match is None:  # never, as long as pattern and map agree on what a digit is
                break
            digits, attached, spaced = match.group(0, 1, 2)
            end = match.end()
            calm = attached is None and (spaced is None or spaced not in busy)
            before = text[start - 1 : start]
            # What the word before it says: a kind, nothing (None), or that it takes a closer look ("?").
            if before == " ":
                cue = text[find_back(" ", 0, start - 1) + 1 : start - 1]
                kind = cue_kind(cue)
                if lines and kind is None and "\n" in cue:
                    kind = "?"
            elif before in PLAIN_LEADERS and (before != "(" or text[end : end + 1] not in ")%"):
                kind = None
            elif calm and before in CODE_LEADERS:
                kind = "identifier"
            else:
                kind = "?"
            if start - last_end <= 6 and kind != "date":
                if last_kind == "date" and kind is None and end - start == 4 and text[last_end:start] in DATE_JOINTS:
                    kind = "date"
                elif last_kind in LINKING_KINDS or (not calm and text[start - 2] in JOINT_ENDS):
                    kind = "?"
            whole = digits.isdecimal()
            if (whole or simple(digits)) and (ascii_only or digits.isascii()):
                if kind != "?":
                    stop, power, unit, unit_span = end, 0, None, None
                    if not calm:
                        kind, stop, power, unit, unit_span = _easy_follower(text, end, digits, whole, kind, attached, spaced)
                    elif kind is None:
                        if end - start == 4 and whole:
                            if "1600" <= digits <= "2100" and (spaced is None or spaced[-1] != "s"):
                                kind = "year"
                            else:
                                kind = kinds.four_digits(digits, spaced)
                        elif end - start <= 2 and spaced in MONTHS:
                            kind = "date"
                        else:
                            kind = "quantity"
                    elif kind == "date" and not (whole and (end - start <= 2 or "1000" <= digits <= "2199")):
                        kind = None
                    if kind is not None:
                        if power:
                            value = float(f"{digits if whole else digits.replace(',', '')}e{power}")
                        else:
                            value = float(digits if whole else digits.replace(",", ""))
                        append([start, stop, value, kind, unit, unit_span, power, "."])
                        last_end, last_kind = stop, kind
                        start = next_digit(b"0", stop if unit_span is None or unit_span[1] < stop else unit_span[1])
                        continue
                stop = read_number(text, start, end, attached or spaced, records)
            elif calm and kind is None and _quick_pair(text, start, digits, records):
                stop = end
            else:
                stop = self._many(text, start, digits, attached or spaced, records)
            last_end, last_kind = records[-1][1], records[-1][3]
            start = next_digit(b"0", stop if stop > end else end)
        return records

    def _many(self, text: str, start: int, cluster: str, word: str | None, records: list[Record]) -> int:
        """Reads a cluster of several numbers, or of one with unusual marks."""
        end = start + len(cluster)
        if not cluster.isascii() and not VULGAR.keys().isdisjoint(cluster):
            return self._vulgar(text, start, cluster, word, records)
        parts = split_cluster(cluster, self.locale)
        last = len(parts) - 1
        if last == 0:
            return read_number(text, start, end, word, records, parts[0])
        first_record = len(records)
        stop = read_number(text, start, start + parts[0].end, None, records, parts[0])
        for part in parts[1:-1]:
            digits = cluster[part.start : part.end]
            value = plain_value(digits, part.point)
            kind = part.kind or "quantity"
            records.append([start + part.start, start + part.end, value, kind, None, None, 0, part.point])
        final = parts[last]
        stop = max(stop, read_number(text, start + final.start, start + final.end, word, records, final, left=False))
        kinds.settle_cluster(text, records, first_record)
        return stop

    def _vulgar(self, text: str, start: int, cluster: str, word: str | None, records: list[Record]) -> int:
        """Reads a cluster with characters such as ½ in it: each ends a number."""
        stop = start
        for match in _WITH_VULGAR.finditer(cluster):
            begin, end = start + match.start(), start + match.end()
            last = match.end() == len(cluster)
            whole, char = match.groups()
            if char is None:
                stop = max(stop, self._many(text, begin, match.group(), None, records))
                continue
            if len(whole) > 15 or len({ord(digit) - int(digit) for digit in whole}) > 1:
                self._many(text, begin, whole, None, records)
                begin, whole = end - 1, ""
            part = Part(0, 0, fraction=(int(whole or 0), *VULGAR[char]))
            stop = max(stop, read_number(text, begin, end, word if last else None, records, part))
        return stop


def _quick_pair(text: str, start: int, cluster: str, records: list[Record]) -> bool:
    """Reads two whole numbers with a hyphen between them, `2018-19` or `3-1`, if that is all the cluster is."""
    first, mark, second = cluster.partition("-")
    if not (mark and first.isdecimal() and second.isdecimal() and cluster.isascii() and len(cluster) < 15):
        return False
    kind = pair_kind(first, mark, second)
    if kind == "range":
        kind = kinds.pair_in_context(text, start, kind)
    middle, end = start + len(first), start + len(cluster)
    records.append([start, middle, float(first), kind, None, None, 0, "."])
    records.append([middle + 1, end, float(second), kind, None, None, 0, "."])
    return True


def _easy_follower(
    text: str, end: int, digits: str, whole: bool, kind: str | None, attached: str | None, spaced: str | None
) -> tuple[str | None, int, int, str | None, tuple[int, int] | None]:
    """A percent sign, scale word, unit or ordinal suffix behind a plain number: kind, end, power, unit and its span.

    The kind is None where it takes more than a look-up.
    """
    word = attached or spaced or ""
    stop = end + (0 if attached else 1) + len(word)
    power = suffixes.SIMPLE_SCALES.get(word)
    if power is not None:
        if power < 0:
            return ("percent" if kind is None else None), stop, power, None, None
        if text[stop : stop + 1] == " " and kind is None:
            follower = unit_after(text, stop)
            if follower is not None:
                unit = follower[0]
                return ("money" if unit in CURRENCIES else "quantity"), stop, power, unit, (follower[1], follower[2])
            return "quantity", stop, power, None, None
        return None, end, 0, None, None
    if attached is None:
        if kind is None and word in SPACED_UNITS:
            follower = unit_after(text, end)
            if follower is not None:
                unit = follower[0]
                return ("money" if unit in CURRENCIES else "quantity"), end, 0, unit, (follower[1], follower[2])
            if word == "in" and digits != "1":
                return ("quantity" if not whole or len(digits) != 4 else kinds.four_digits(digits, None)), end, 0, None, None
    elif word in ORDINAL_SUFFIXES and whole and kind is None and suffixes.ordinal_suffix(digits) == word.lower():
        if not text[stop : stop + 1].isalnum():
            return "ordinal", stop, 0, None, None
    elif word == "s" and kind is None and whole and len(digits) == 4 and digits[3] == "0" and "1000" < digits < "2100":
        return "year", end, 0, None, None  # the 1990s
    return None, end, 0, None, None


def _merged(numerals: list[Numeral], extra: list[Numeral]) -> list[Numeral]:
    """Both lists in order; where two overlap, the numeral in digits stays, then the one that begins first."""
    taken = sorted((n.start, n.end) for n in numerals)
    result = list(numerals)
    ends: list[tuple[int, int]] = []
    index = 0
    for numeral in sorted(extra, key=lambda n: (n.start, -n.end)):
        while index < len(taken) and taken[index][1] <= numeral.start:
            index += 1
        clash = index < len(taken) and taken[index][0] < numeral.end
        if not clash and not (ends and ends[-1][1] > numeral.start):
            ends.append((numeral.start, numeral.end))
            result.append(numeral)
    return sorted(result, key=lambda n: n.start)

