"""Reader `standard`: finds numbers as people write them. The rules are in docs/reading.md."""

from __future__ import annotations

import codecs
import copy
import re
from typing import Any

from numerate.numerals.numeral import Numeral, make_numeral
from numerate.numerals.style import VULGAR
from numerate.numerals.unit_context import is_inches
from numerate.numerals.units import currency_before
from numerate.numerals.word_tables import LANGUAGES
from numerate.reading import fast_path, kinds, suffixes
from numerate.reading.base import Reader, ReaderError
from numerate.reading.calendar_forms import CALENDAR_MARKS, colon_reading
from numerate.reading.cells import read_as_cell
from numerate.reading.clusters import DASHES, SIMPLE, Part, plain_list, split_cluster
from numerate.reading.codes import next_address, read_code, read_runs
from numerate.reading.context import CUE_KINDS, DATE_JOINTS, MONTHS, cue_after_line_end
from numerate.reading.evidence import LIKELY_FIELDS, SURE_YEAR_CUES, YEAR_FIELDS, year_confidence
from numerate.reading.fast_path import BUSY_FOLLOWERS, LINKING_KINDS, LINKS, easy_follower
from numerate.reading.locales import has_decimal_commas, may_be_decimal
from numerate.reading.names import LABEL_ENDS, TITLE_STARTS, names_thing
from numerate.reading.number_lists import MIN_TEXT, NO_RUN, list_records, next_run, run_records
from numerate.reading.powers import bare_power, read_power
from numerate.reading.roman import find_roman, merged_numerals
from numerate.reading.scores import pair_confidence
from numerate.reading.sharing import NEAR, TAKERS, may_join, share
from numerate.reading.slow_path import MINUS_ENDS, RARE_WORDS, append_parts, read_number, read_telephone
from numerate.reading.words import merged, word_records
from numerate.registry import readers

__all__ = ["StandardReader"]

LOCALES = ("auto", "en", "eu", "in", "ch")
_VULGAR = "".join(VULGAR)
_LETTERS, _MARKS = (
    suffixes.LETTERS_OF_WORDS,
    re.escape(suffixes.MARKS + suffixes.POWER_MARKS),
)
_CALENDAR = "".join(sorted(CALENDAR_MARKS))
# Marks directly after a number that may change its meaning: `1.23(4)`, `2001:db8`, `3. Oktober`.
_RARE_MARKS = r"\((?=[0-9]{1,4}\))|:(?=[A-Fa-f:])|\.(?= ?(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
_SEPARATORS = rf".,:/'’⁄٫٬．，\u00a0\u2009\u202f{re.escape(DASHES)}"
# Group 1: a cluster of digits. Group 2: the word or mark after it and one space or hyphen. Group 3: the word or mark
# directly after it. An empty last branch, `(?:...|)`, is faster than `(?:...)?`.
_ASCII = re.compile(
    r"([0-9]++(?:[.,:/'\-][0-9]++(?>[.,:/'\-][0-9]++)*+|))"
    rf"(?:[ \-\n]([A-Za-z]++|[%$*0-9])|([A-Za-z]++|[%$*^'\"_]|/(?=[A-Za-z])|{_RARE_MARKS})|)"
)
_UNICODE = re.compile(
    rf"([\d{_VULGAR}]++(?:[{_SEPARATORS}]\d++(?>[{_SEPARATORS}]\d++)*+|)[{_VULGAR}]?)"
    rf"(?:[ \-\n\u00a0\u2009\u202f]([{_LETTERS}]++|[%*{_MARKS}{_VULGAR}\d])"
    rf"|([{_LETTERS}]++|[%*^'\"_{_MARKS}]|/(?=[A-Za-z])|{_RARE_MARKS}|[{_CALENDAR}])|)"
)
_match_ascii, _match_unicode, _is_simple, _cue_kind = _ASCII.match, _UNICODE.match, SIMPLE.fullmatch, CUE_KINDS.get
_CUE_WINDOW = 24
"""How many characters before a number are searched for a cue; the longest cue has 15."""
# Behind a dash or an apostrophe, a number belongs to the fraction sign after it: `10-12½`, `6'2½`.
_WITH_VULGAR = re.compile(
    rf"(\d*+)([{_VULGAR}])|\d++(?>[.,:/⁄٫٬．，\u00a0\u2009\u202f]\d++|['’{re.escape(DASHES)}]\d++(?![{_VULGAR}]))*+"
)
_RUN = re.compile(r"\d++")
_LONGEST_SERIES = 5
"""Longer series with dashes or slashes, such as `1-2-3-4-5-6`, share no unit."""
_FEET = re.compile(rf"\d{{1,3}}['’](?:(?:\d|1[01])(?:\.\d{{1,2}}|[{_VULGAR}])?|[{_VULGAR}])")
_MINUTES_OF_ARC = re.compile(r"[0-5]?\d['’][0-5]?\d(?:\.\d++)?")
# The scale of a map with spaces between its groups of digits, and not a time and a distance, `1:45 800 m`.
_SPACED_SCALE = re.compile(r"1:[1-9]\d{0,2}(?: \d{3}){0,3}? 000(?![.,:/']?\d| \d)").match
# Maps a Latin-1 text to bytes with "0" for every digit or vulgar fraction, so that `bytes.find` can search them fast.
_DIGIT_MAP = bytes(48 if chr(code).isdecimal() or chr(code) in VULGAR else 32 for code in range(256))


def _map_exotic(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: maps digits beyond Latin-1 to 0 and all other characters to spaces, one by one."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    run, end = error.object[error.start : error.end], error.end
    if len(run) == 1:  # most runs are one quotation mark or dash
        return ("0" if run.isdecimal() or run in VULGAR else " "), end
    return "".join(["0" if char.isdecimal() or char in VULGAR else " " for char in run]), end


codecs.register_error("numerate-digits", _map_exotic)


@readers.register("standard")
class StandardReader(Reader):
    """Finds quantities, money, percentages, dates and all other kinds of number that docs/reading.md lists.

    Args:
        words: Whether to find number words ("twenty-one").
        roman: Whether to find Roman numerals.
        locale: How to read points and commas: "en", "eu", "in", "ch", or or "auto" (by all numbers of the text).
        language: Language of the number words: "en", "de", "fr", "es", "it" or "pt".
        cell: Whether a text is a table cell, in which `(317)`, `- 5` and `5-` are negative.

    Example:
        >>> [n.value for n in StandardReader().find("(1,234) of $3.2bn, 30bps, −5 °C")]
        [-1234.0, 3200000000.0, 0.003, -5.0]
    """

    is_local = True

    _leaders = fast_path.LEADER_KINDS
    """Kinds by the preceding character; a test sets it to {} so that every number takes the slow path."""

    def __init__(
        self, words: bool = False, roman: bool = False, locale: str = "auto", language: str = "en", cell: bool = False
    ) -> None:
        if locale not in LOCALES:
            raise ReaderError(f"locale must be one of {', '.join(LOCALES)}, got {locale=}")
        if language not in LANGUAGES:
            raise ReaderError(f"language must be one of {', '.join(LANGUAGES)}, got {language=}")
        self.words, self.roman, self.locale, self.language, self.cell = words, roman, locale, language, cell

    def find(self, text: str) -> list[Numeral]:
        """All numerals of `text` in order."""
        records = self._scan(text) if not (self.words or self.cell) else self._records(text)
        numerals = [make_numeral(text[record[0] : record[1]], *record) for record in records]
        extra = find_roman(text) if self.roman else []
        return merged_numerals(numerals, extra) if extra else numerals

    def spans(self, text: str) -> list[tuple[Any, ...]]:
        """The numerals of `text` as rows that begin with start, end, value, kind and unit."""
        if self.roman:
            return [(n.start, n.end, n.value, n.kind, n.unit) for n in self.find(text)]
        return self._scan(text) if not (self.words or self.cell) else self._records(text)

    def _records(self, text: str) -> list[kinds.Record]:
        """All records of a text, with number words if they are asked for."""
        records = self._scan(text)
        if self.cell:
            records = read_as_cell(text, records)
        if self.words and (words := word_records(text, self.language, records)):
            return merged(records, words)
        return records

    def _scan(self, text: str) -> list[kinds.Record]:
        """All records of a text.

        Most numbers are plain, with only spaces and words around them. They take the fast path in this function: a few
        table lookups. `read_number` and `_read_cluster` are the slow path. A test checks that both paths agree.
        """
        records: list[kinds.Record] = []
        append = records.append
        neighbours: list[int] = []  # indices of numbers that may share a unit with the number before them
        ascii_only = text.isascii()
        pattern = _match_ascii if ascii_only else _match_unicode
        next_digit = text.encode("latin-1", "numerate-digits").translate(_DIGIT_MAP).find
        busy = BUSY_FOLLOWERS
        leaders, blank, line_end = self._leaders, " ", "\n"
        run = next_run(text, 0) if len(text) >= MIN_TEXT else NO_RUN
        if not leaders:  # every number takes the slow path
            blank, line_end, run = None, None, NO_RUN
        last_end, last_kind, spaces = -NEAR, "", not ascii_only or "\n" in text or "\t" in text
        run_start, address = run[0], None
        commas, english, cue = False, self.locale != "eu", ""
        start = next_digit(b"0")
        while start >= 0:
            if start > run_start:  # the second number of a long list: read the rest of the list at once
                if start < run[1]:
                    found, start = run_records(text, run)
                    records += found
                    last_end, last_kind = records[-1][1], records[-1][3]
                    start = next_digit(b"0", start)
                run = next_run(text, run[1])
                run_start = run[0]
                continue
            digits, spaced, attached = pattern(text, start).groups()  # type: ignore[union-attr] (a digit is there)
            first, end = start, start + len(digits)
            before = text[start - 1] if start else ""
            calm = attached is None and (spaced is None or spaced not in busy)
            # The text before the number gives its kind, None (no evidence) or "?" (take the slow path).
            if before == blank:
                # Longer words than the window are no cues. `rpartition` is faster than `rfind` with limits.
                cue = text[start - _CUE_WINDOW if start > _CUE_WINDOW else 0 : start - 1].rpartition(" ")[2]
                kind = _cue_kind(cue)
                if kind is None:
                    if spaces and not cue.isprintable():
                        kind = cue_after_line_end(cue, start - last_end < NEAR)
                elif kind == "date" or kind == "identifier":  # most cues
                    pass
                elif kind == "to":
                    kind = "?" if last_kind == "quantity" and start - last_end == 4 else None
                elif kind == "and":
                    kind = None
                    if last_kind == "quantity" and start - last_end == 5:  # between 5 and 10
                        neighbours.append(len(records))
                elif kind == "no year":
                    kind = "?" if end - start == 4 else None
                elif kind == "dash":
                    kind = "?"
                    if last_kind == "date" and start - last_end == 3 and attached is None and spaced in MONTHS:
                        day = easy_follower(text, end, digits, digits.isdecimal(), None, None, spaced, records)[0]
                        if day is not None:  # 3 May 1918 - 5 June 1990
                            kind, calm = day, True
                elif kind == "money":
                    kind, near = "?", start - last_end < NEAR and last_kind in TAKERS
                    if attached is None and (english or digits.isdecimal()) and digits.isascii():
                        record = fast_path.money_after_sign(text, start, end, digits, spaced)
                        if record is not None:
                            if near:
                                neighbours.append(len(records))
                            append(record)
                            last_end, last_kind = record[1], "money"
                            start = next_digit(b"0", last_end)
                            continue
            elif before == line_end:
                near = start - last_end < NEAR
                kind = cue_after_line_end(text[start - 21 if start > 21 else 0 : start - 1], near)
            else:
                # There is no space in a web address, so that only these numbers can be part of one.
                if address is None or address[1] <= start:
                    address = next_address(text, start, address)
                if start > address[0]:
                    start = next_digit(b"0", read_runs(text, start, address[1], records))
                    last_end, last_kind = records[-1][1], records[-1][3]
                    run = next_run(text, address[1]) if run_start < address[1] else run
                    run_start = run[0]
                    continue
                kind = leaders.get(before, "?")
                if kind == "open":
                    after = text[end : end + 1]
                    if after != ")" and after != "":
                        kind = None
                    else:
                        kind = fast_path.kind_in_brackets(text, start, end, digits)
                elif (
                    before == "["
                    and end - start <= 3
                    and text[end : end + 1] in fast_path.REFERENCE_ENDS
                    and digits.isdecimal()
                    and digits != "0"
                ):
                    kind = "identifier"
                elif kind == "identifier":
                    if calm or (attached is not None and attached.isalpha()):
                        calm = True
                    else:
                        kind = "?"
                elif kind == "letter":
                    named = calm or (attached is not None and attached.isalpha() and attached not in RARE_WORDS)
                    if named and currency_before(text, start) is None:
                        kind, calm = "identifier", True
                    else:
                        kind = "?"
                elif kind == "no year":
                    kind = "?" if end - start == 4 else None
                elif kind == "sign":
                    kind, first = fast_path.kind_after_sign(text, start, end, before, calm, start - last_end)
            if not calm and attached is None:
                if spaced == "in":
                    # A preposition, not in `2 in thick`; `1 in 5` is a rate.
                    calm = text[end + 3 : end + 4] == " " and digits != "1" and not is_inches(text, end + 3)
                elif spaced in fast_path.DIGITS:
                    calm = text[end + 2 : end + 3] not in fast_path.GROUP_SIGNS  # not a group of three digits: 816 000
            gap = first - last_end
            if gap <= 6 and last_kind in LINKING_KINDS and kind != "date" and kind != "identifier":
                if last_kind == "date":
                    if end - start == 4:
                        if kind is None and text[last_end:start] in DATE_JOINTS:
                            kind = "date"
                    elif end - start <= 2 and text[last_end:start] in (" and ", " to ", " or "):
                        kind = "?"
                elif first != start or end - start == 4:
                    kind = "?"
                elif text[last_end:start] in LINKS:
                    listed = kind is None and calm and before == " " and last_kind == "identifier"
                    kind = (
                        "identifier" if listed and fast_path.continues_list(text, start, digits, records[-1]) else "?"
                    )
            whole = digits.isdecimal()
            # Most numbers that are not whole have one point; a pattern is slower than this test.
            if (whole or (english and (digits.replace(".", "", 1).isdecimal() or _is_simple(digits)))) and (
                ascii_only or digits.isascii()
            ):
                if kind == "?":
                    pass
                elif calm:
                    if kind is None:
                        if end - start != 4 or not whole:
                            kind = "quantity"
                            if (
                                (
                                    (spaced < "[" if spaced is not None else text[end : end + 2] in LABEL_ENDS)
                                    or (
                                        before == " "
                                        and cue < "["
                                        and (cue[:1] in TITLE_STARTS or not cue.isprintable())
                                    )
                                )
                                and whole
                                and names_thing(text, start, end, records)
                            ):
                                append((start, end, float(digits), "identifier", *LIKELY_FIELDS))
                                last_end, last_kind = end, "identifier"
                                start = next_digit(b"0", end)
                                continue
                        elif (
                            before == " "
                            and cue == ","
                            and text[text.rfind(" ", 0, start - 3) + 1 : start - 3] in MONTHS
                        ):
                            pass  # `March , 2007`
                        elif "1600" <= digits <= "2100":
                            kind = "year" if spaced is None or spaced[-1] != "s" else kinds.four_digits(digits, spaced)
                            if kind is not None and (before != " " or cue not in SURE_YEAR_CUES):
                                fields = YEAR_FIELDS[digits]
                                if kind != "year":
                                    fields = (fields[0], kind, *fields[2:])
                                if (
                                    before != " "
                                    or (spaced is None and text[end : end + 1] == ")")
                                    or (spaces and not cue.isprintable())
                                ):
                                    sure = year_confidence(text, start, end)
                                    if sure == "certain":
                                        fields = None
                                    elif sure != fields[-1]:
                                        fields = (*fields[:-1], sure)
                                if fields is not None:
                                    append((start, end) + fields)  # noqa: RUF005 (faster than a star)
                                    last_end, last_kind = end, kind
                                    start = next_digit(b"0", end)
                                    continue
                        else:
                            kind = kinds.four_digits(digits, spaced, cue if before == " " else "")
                    elif kind == "date" and not (whole and (end - start <= 2 or fast_path.may_be_date(digits))):
                        kind = None
                    if kind is not None:
                        value = float(digits if whole else digits.replace(",", ""))
                        if first != start and before != "+":
                            value = -value
                        if start - last_end == 2 and (last_kind == "money" or text[last_end] == "±"):  # `98.8± 0.2`
                            neighbours.append(len(records))
                        append((first, end, value, kind, None, None, 0, "."))
                        last_end, last_kind = end, kind
                        start = next_digit(b"0", end)
                        continue
                elif gap > 6 or text[first - 2] not in fast_path.JOINT_ENDS:
                    kind, stop, power, unit, unit_span = easy_follower(
                        text, end, digits, whole, kind, attached, spaced, records
                    )
                    if kind is not None:
                        plain = digits if whole else digits.replace(",", "")
                        value = float(f"{plain}e{power}" if power else plain)
                        if first != start and before != "+":
                            value = -value
                        record = (first, stop, value, kind, unit, unit_span, power, ".")
                        if kind == "name":
                            kind, record = "identifier", (first, stop, value, "identifier", *LIKELY_FIELDS)
                        elif end - start == 4 and whole and attached is None and unit is None and not power:
                            record = fast_path.with_confidence(text, record)
                        if start - last_end < NEAR and last_kind in TAKERS and may_join(text, start):
                            neighbours.append(len(records))
                        append(record)
                        last_end, last_kind = stop, kind
                        start = next_digit(b"0", stop if unit_span is None or unit_span[1] < stop else unit_span[1])
                        continue
                one = True
            else:
                one = False
                commas = commas or ("," in digits and may_be_decimal(digits) is not None)
            count = len(records)
            if start - last_end < NEAR and last_kind in TAKERS and may_join(text, start):
                neighbours.append(count)
            stop = read_telephone(text, start, records) if before == "+" or before == "(" else None
            if stop is None:
                if one:
                    stop = read_number(text, start, end, attached or spaced, records)
                elif (
                    calm
                    and kind is None
                    and (digits[:3] != "10-" or bare_power(text, start, digits) is None)
                    and fast_path.read_pair(text, start, digits, records)
                ):
                    stop = end
                else:
                    stop = self._read_cluster(text, start, digits, attached or spaced, records)
                    size = len(records) - count
                    if 2 < size <= _LONGEST_SERIES or (size == 2 and records[count][3] in TAKERS):
                        neighbours += range(count + 1, len(records))
            last_end, last_kind = records[-1][1], records[-1][3]
            start = next_digit(b"0", stop if stop > end else end)
        if commas and self.locale == "auto" and has_decimal_commas(text):
            european = copy.copy(self)
            european.locale = "eu"
            return european._scan(text)
        if neighbours:
            share(text, records, neighbours)
        return records

    def _read_cluster(self, text: str, start: int, cluster: str, word: str | None, records: list[kinds.Record]) -> int:
        """Reads a cluster of several numbers, or of one number with unusual marks."""
        end = start + len(cluster)
        if not cluster.isascii() and not VULGAR.keys().isdisjoint(cluster):
            return self._read_vulgar(text, start, cluster, word, records)
        if len(cluster) > 40 and cluster.isascii() and (items := plain_list(cluster)) is not None:
            records += list_records(items, start, "version" if "." in cluster else "quantity", ",")
            return end
        attached = word is not None and word[0] in "abcdefABCDEF:" and text.startswith(word, end)
        if attached or text[start - 1 : start] == ":" or cluster[:3] == "10.":
            if (stop := read_code(text, start, end, records)) is not None:
                return stop
        elif cluster[:3] in ("10-", "10−") and (power := bare_power(text, start, cluster)) is not None:
            return read_power(text, start, end, power, records)
        elif cluster[:2] == "1:" and (scale := _SPACED_SCALE(text, start)) is not None:
            read_number(text, start, start + 1, None, records, Part(0, 1, kind="ratio"))
            end, word = scale.end(), suffixes.word_at(text, scale.end())
            return max(end, read_number(text, start + 2, end, word, records, Part(0, 0, kind="ratio"), left=False))
        parts = split_cluster(cluster, self.locale)
        last = len(parts) - 1
        if last == 0:
            return read_number(text, start, end, word, records, parts[0])
        first_record, confidence = len(records), "certain"
        if ":" in cluster and (reading := colon_reading(text, start, cluster)) is not None:
            parts, confidence = [part._replace(kind=reading[0]) for part in parts], reading[1]
        elif len(parts) == 2:
            confidence = pair_confidence(text, start, cluster, parts[0].kind)
        alone = word is None and text[start - 1 : start] == " " and text[start - 3 : start] not in MINUS_ENDS
        if alone and all(part.kind == "time" for part in parts):
            append_parts(records, start, cluster, parts)  # no word around a time changes it
            stop = end
        else:
            stop = read_number(text, start, start + parts[0].end, None, records, parts[0])
            append_parts(records, start, cluster, parts[1:-1])
            final = start + parts[last].start, start + parts[last].end
            stop = max(stop, read_number(text, *final, word, records, parts[last], left=False))
        kinds.settle_cluster(records, first_record)
        if confidence != "certain" or parts[0].kind == "date":
            kinds.settle_confidence(records, first_record, cluster, confidence)
        _set_first_mark(text, start, cluster, records)
        return stop

    def _read_vulgar(self, text: str, start: int, cluster: str, word: str | None, records: list[kinds.Record]) -> int:
        """Reads a cluster with characters such as ½, each of which ends a number."""
        stop = start
        for match in _WITH_VULGAR.finditer(cluster):
            begin, end = start + match.start(), start + match.end()
            last = match.end() == len(cluster)
            whole, char = match.groups()
            if char is None:
                stop = max(stop, self._read_cluster(text, begin, match.group(), word if last else None, records))
                continue
            if len(whole) > 15 or len({ord(digit) - int(digit) for digit in whole}) > 1:
                self._read_cluster(text, begin, whole, None, records)
                begin, whole = end - 1, ""
            part = Part(0, 0, fraction=(int(whole or 0), *VULGAR[char]))
            stop = max(stop, read_number(text, begin, end, word if last else None, records, part))
        _set_first_mark(text, start, cluster, records)
        return stop


def _set_first_mark(text: str, start: int, cluster: str, records: list[kinds.Record]) -> None:
    """The unit of the first of two numbers with an apostrophe between them: `5'11"`, `40°26'46"`."""
    angle = text[max(0, start - 2) : start].rstrip().endswith(("°", "º", "˚"))
    if (_MINUTES_OF_ARC if angle else _FEET).fullmatch(cluster):
        mark = records[-2][1]
        records[-2] = (*records[-2][:4], "arcmin" if angle else "ft", (mark, mark + 1), *records[-2][6:])
