"""Finds number words in text: "two and a half million", "minus five eighths", "einundzwanzig", "vingt et unième".

The `standard` reader uses this file if its option `words` is set. The words are in `data/number_words`, the rules in
`numerate.reading.word_grammar`.
"""

from __future__ import annotations

import math
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from numerate.numerals.number_words import render_words
from numerate.numerals.numeral import Numeral, make_numeral
from numerate.numerals.units import CURRENCIES, unit_after
from numerate.reading.roman import find_roman
from numerate.reading.word_grammar import Grammar as _Grammar
from numerate.reading.word_lexicon import lexicon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.reading.word_grammar import Parsed

__all__ = ["find_roman", "find_words", "merged", "word_records"]

_Record = tuple[Any, ...]
MOST_SCALED = 1e200
"""Larger numbers have no scale word: `1e308 million` is too large for a float."""
_COUNTABLE = ("quantity", "money")
_TENS = frozenset(range(20, 100, 10))
_SMALLEST_AFTER = {3: 10, 6: 100, 9: 100, 12: 100}
"""Power of ten of a scale word after digits -> the smallest number in words that continues it."""
_UNIT_JOINTS = " -\n\u00a0\u2009\u202f"


def find_words(text: str, language: str = "en") -> list[Numeral]:
    """Finds the numbers that are written in words.

    Args:
        text: Any string.
        language: One of `numerate.numerals.word_tables.LANGUAGES`.

    Example:
        >>> [(n.text, n.value) for n in find_words("Two and a half million, not minus one hundred and five.")]
        [('Two and a half million', 2500000.0), ('minus one hundred and five', -105.0)]
    """
    records = word_records(text, language, (), units=False)
    return [make_numeral(text[record[0] : record[1]], *record) for record in records]


def word_records(text: str, language: str, digits: Sequence[_Record], units: bool = True) -> list[_Record]:
    """Numbers in words as records (start, end, value, kind, unit, unit_span, power, point).

    Args:
        text: Any string.
        language: One of `numerate.numerals.word_tables.LANGUAGES`.
        digits: Records of the numbers in digits. Words that continue one of them ("3 and a half") make a record that
            begins where it begins.
        units: Whether to add the unit or percent sign after the words.
    """
    grammar = _Grammar(text, lexicon(language), digits)
    records, pronoun = [], grammar.lexicon.pronoun
    for start, end, word in grammar.alone:
        if word.ordinal:
            records.append((start, end, float(word.value), "ordinal", None, None, 0, "."))
        elif word.word not in pronoun or not grammar.is_pronoun(start, end):
            record = (start, end, float(word.value), "quantity", None, None, 0, ".")
            records.append(_with_unit(text, record, grammar) if units else record)
    if len(grammar.lex) > 1:
        alone = len(records)
        records += _run_records(grammar, digits, units)
        records = sorted(records) if 0 < alone < len(records) else records
    if language == "en" and records:
        if " - " in text:
            records = _over_spaced_hyphens(text, records)
        if digits:
            records = _after_scaled_digits(text, records, digits)
    return records


def _over_spaced_hyphens(text: str, records: list[_Record]) -> list[_Record]:
    """Joins tens and ones with a spaced hyphen: `fifty - two` is 52, but `ten - twelve` and `fifty - sixty` are two."""
    joined: list[_Record] = []
    for record in records:
        tens = joined[-1] if joined else None
        ones = record[2] * 100 if record[3] == "percent" else record[2]
        if (
            tens is not None
            and tens[2] in _TENS
            and tens[3] == "quantity"
            and tens[4] is None
            and round(ones) in range(1, 10)
            and ones == round(ones)
            and record[3] in ("quantity", "money", "percent")
            and text[tens[1] : record[0]] == " - "
            and text[tens[0] : tens[1]].isalpha()
            and text[record[0] : record[1]].split()[0].isalpha()
        ):
            total = tens[2] + ones
            joined[-1] = (tens[0], record[1], total / 100 if record[3] == "percent" else total, *record[3:])
        else:
            joined.append(record)
    return joined


def _after_scaled_digits(text: str, records: list[_Record], digits: Sequence[_Record]) -> list[_Record]:
    """Joins digits with a scale word and the words after them: `1 million two hundred thousand` is 1,200,000.

    Small numbers stay apart, because they may count something else: `sold 3 million two years ago`.
    """
    scaled = {row[1]: row for row in digits if row[6] in _SMALLEST_AFTER and row[3] == "quantity" and row[5] is None}
    if not scaled:
        return records
    joined = []
    for record in records:
        before = scaled.get(record[0] - 1)
        if (
            before is not None
            and record[3] in _COUNTABLE
            and text[record[0] - 1] == " "
            and _SMALLEST_AFTER[before[6]] <= record[2] < 10 ** before[6]
            and record[2] == int(record[2])
            and before[2] % 10 ** before[6] == 0
        ):
            record = (before[0], record[1], before[2] + record[2], *record[3:6], 0, before[7])
        joined.append(record)
    return joined


def _run_records(grammar: _Grammar, digits: Sequence[_Record], units: bool) -> list[_Record]:
    """The numbers in the runs of adjacent words."""
    text, lex, starts, ends, joints = grammar.text, grammar.lex, grammar.starts, grammar.ends, grammar.joints
    english, records = grammar.lexicon.language == "en", []
    i, last, size = 1, 0, len(lex)
    while i < size:
        word = lex[i]
        if not word.starts:
            i += 1
            continue
        if word.role == "digits":
            if record := _digit_record(grammar, i, digits[word.value]):
                records.append(_with_unit(text, record[1], grammar) if units else record[1])
                i = last = record[0]
            else:
                i += 1
            continue
        first = i + 1 if word.role == "minus" else i
        parsed = grammar.number(first, joins=lex[i - 1].role != "between")
        if parsed is None or (parsed.ordinal and first > i) or not _is_number(grammar, first, parsed):
            i += 1
            while joints[i : i + 1] == [""] and lex[i].role:  # the rest of the compound
                i += 1
            continue
        # "Ten minus five" and "10 minus five" are subtractions: the five is positive.
        signed = first > i and i != last and not _follows_digit(text, starts[i])
        begin, end = starts[i if signed else first], ends[parsed.end - 1]
        value = -float(parsed.value) if signed else float(parsed.value)
        kind = "ordinal" if parsed.ordinal else parsed.kind
        power = parsed.power if parsed.power and english and _is_regular(text[begin:end], value, parsed.power) else 0
        record = (begin, end, value, kind, None, None, power, ".")
        records.append(_with_unit(text, record, grammar) if units and kind == "quantity" else record)
        i = last = parsed.end
    return records


def merged(digits: list[_Record], words: list[_Record]) -> list[_Record]:
    """Both lists in order.

    Of overlapping records, the one in digits stays, unless the one in words begins with it; then the one that begins
    first stays.
    """
    rows: list[_Record] = []
    last_start, last_end = -1, 0
    for row in sorted(digits + words, key=itemgetter(0)):  # stable: digits first
        start = row[0]
        if last_end <= start:
            rows.append(row)
        elif last_start == start and last_end < row[1]:
            rows[-1] = row
        else:
            continue
        last_start, last_end = start, row[1]
    return rows


def _is_number(grammar: _Grammar, first: int, parsed: Parsed) -> bool:
    """Whether the words are a whole number: not part of a compound, not an article or pronoun."""
    end = parsed.end
    if grammar.joints[end] == "" and grammar.lex[end].role not in ("", "comma"):
        return False
    if end > first + 1:
        return True
    word = grammar.lex[first]
    if word.weak and not (word.weak == "end" and grammar.ends_phrase(grammar.ends[first])):
        return grammar.text.strip().lower() == word.word
    return word.word not in grammar.lexicon.pronoun or not grammar.is_pronoun(
        grammar.starts[first], grammar.ends[first]
    )


def _digit_record(grammar: _Grammar, i: int, digits: _Record) -> tuple[int, _Record] | None:
    """The record of digits with words, and the position after it."""
    start, _, value, kind, unit, unit_span, power, point = digits[:8]
    if kind not in _COUNTABLE or not abs(value) < MOST_SCALED or (unit_span is not None and unit_span[0] >= start):
        return None
    parsed = grammar.after_digits(i, abs(value), power)
    if parsed is None or (grammar.joints[parsed.end] == "" and grammar.lex[parsed.end].role not in ("", "comma")):
        return None
    value = math.copysign(float(parsed.value), value)
    end = grammar.ends[parsed.end - 1]
    plain = parsed.power if parsed.end == i + 2 else 0
    return parsed.end, (start, end, value, kind, unit, unit_span, plain, point)


def _with_unit(text: str, record: _Record, grammar: _Grammar) -> _Record:
    """Adds the unit or percent sign after number words: `five miles`, `three million dollars`, `ten percent`."""
    start, end, value, kind, unit, _, power, point = record
    if text[end : end + 1] not in _UNIT_JOINTS:
        return record
    if kind != "quantity" or unit is not None:
        return record
    # In all six languages, percent begins with this letter.
    if text[end + 1 : end + 2] in "pP" and power == 0 and (percent := grammar.lexicon.percent.match(text, end)):
        exact = make_numeral(text[start:end], start, end, value).exact
        if exact is not None:
            return start, percent.end(), float(exact / 100), "percent", None, None, -2, point
    if (found := unit_after(text, end)) is None:
        return record
    return start, end, value, "money" if found[0] in CURRENCIES else kind, found[0], found[1:], power, point


def _follows_digit(text: str, start: int) -> bool:
    before = text[max(start - 2, 0) : start]
    return len(before) == 2 and before[1] in " -\n\u00a0\u2010\u2011" and before[0].isdecimal()


def _is_regular(written: str, value: float, power: int) -> bool:
    """Whether `render_words` with `power` writes these words; not for "a million", whose words are kept as written."""
    plain = written.lower()
    if written not in (plain, plain.capitalize(), plain.upper()):
        return False
    joints = ("-" if "-" in plain else " ") + "&" * (" and " in plain) + "." * (" point " in plain)
    return render_words(value, "lower" + joints, power) == plain
