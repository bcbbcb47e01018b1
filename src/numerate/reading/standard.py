"""The `standard` reader: numbers as people write them. The rules are in docs/reading.md."""

from __future__ import annotations

import re
import string

from numerate.numeral import Numeral
from numerate.reading import kinds, suffixes
from numerate.reading.base import Reader
from numerate.reading.context import DATE_JOINTS, MONTHS, ORDINAL_SUFFIXES
from numerate.reading.number import Record, plain_value, read_number
from numerate.reading.shapes import DASHES, SIMPLE, Part, split_cluster
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

PLAIN_LEADERS = frozenset(["", *"\t\r(,;:<>|~*\"/&?!%)"])
"""What may stand directly before a number without changing it."""
CODE_LEADERS = frozenset(string.ascii_letters) - frozenset("vVxXsSDPRFYKNOCZLBTAGM")
"""Letters that make a code of the digits behind them; the others may end a currency or begin a version."""
BUSY_FOLLOWERS = (suffixes.SPECIAL - MONTHS) | UNIT_HEADS | frozenset("0123456789" + _VULGAR) | {"BC", "AD", "BCE", "CE"}
"""Words that may belong to the number before them."""
FREE_KINDS = frozenset(["quantity", "percent", "money", "year", "time", "ordinal", "version"])
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
        pattern = _ASCII if ascii_only else _UNICODE
        simple = SIMPLE.fullmatch if self.locale != "eu" else _RUN.fullmatch
        find_back, append, cue_kind, busy = text.rfind, records.append, kinds.CUE_KINDS.get, BUSY_FOLLOWERS
        position, last_end, last_kind = 0, -9, ""
        while True:
            for match in pattern.finditer(text, position):
                start, end = match.span()
                digits, attached, spaced = match.group(0, 1, 2)
                whole = digits.isdecimal()
                if not (whole or simple(digits)) or not (ascii_only or digits.isascii()):
                    stop = self._many(text, start, digits, attached or spaced, records)
                else:
                    before = text[start - 1 : start]
                    if before == " ":
                        cue = text[find_back(" ", 0, start - 1) + 1 : start - 1]
                        kind = cue_kind(cue)
                        if kind is None and "\n" in cue:
                            kind = "?"
                    elif before in PLAIN_LEADERS and (before != "(" or text[end : end + 1] not in ")%"):
                        kind = None
                    elif before in CODE_LEADERS and attached is None and whole and (spaced is None or spaced not in busy):
                        kind = "identifier"
                    else:
                        kind = "?"
                    if start - last_end <= 6 and (last_kind not in FREE_KINDS or text[start - 2] in JOINT_ENDS):
                        if kind is None and last_kind == "date" and end - start == 4 and text[last_end:start] in DATE_JOINTS:
                            kind = "date"
                        else:
                            kind = "?"
                    if kind != "?":
                        stop, power, unit, unit_span = end, 0, None, None
                        if attached is None and (spaced is None or spaced not in busy):
                            if kind is None:
                                if end - start != 4 or not whole:
                                    kind = "quantity"
                                else:
                                    kind = kinds.four_digits(digits, spaced)
                                if spaced in MONTHS and whole and end - start <= 2:
                                    kind = "date"
                            elif kind == "date" and not (whole and (end - start <= 2 or "1000" <= digits <= "2199")):
                                kind = None
                        else:
                            kind, stop, power, unit, unit_span = _easy_follower(
                                text, end, digits, whole, kind, attached, spaced
                            )
                        if kind is not None:
                            plain = digits if whole else digits.replace(",", "")
                            value = float(f"{plain}e{power}") if power else float(plain)
                            append([start, stop, value, kind, unit, unit_span, power, "."])
                            last_end, last_kind = stop, kind
                            if stop > end or unit_span is not None:
                                position = stop if unit_span is None else max(stop, unit_span[1])
                                break
                            continue
                    stop = read_number(text, start, end, attached or spaced, records)
                last_end, last_kind = records[-1][1], records[-1][3]
                if stop > end:  # the number went on behind its digits: look again from there
                    position = stop
                    break
            else:
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
        if word in UNIT_HEADS and word not in suffixes.SPECIAL and kind is None:
            follower = unit_after(text, end)
            if follower is not None:
                unit = follower[0]
                return ("money" if unit in CURRENCIES else "quantity"), end, 0, unit, (follower[1], follower[2])
            if word == "in" and digits != "1":
                return ("quantity" if not whole or len(digits) != 4 else None), end, 0, None, None
    elif word in ORDINAL_SUFFIXES and whole and kind is None and suffixes.ordinal_suffix(digits) == word.lower():
        if not text[stop : stop + 1].isalnum():
            return "ordinal", stop, 0, None, None
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

