"""Finds number words in English text: "two and a half million", "minus five eighths", "twenty-first".

The `standard` reader uses this file if its option `words` is set. It is a recursive-descent parser over known words;
each rule looks only a few words ahead, so that the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from numerate.numerals.number_words import ORDINALS, SCALES, SMALL, TENS, render_words
from numerate.numerals.numeral import Numeral
from numerate.reading.roman import find_roman

__all__ = ["find_roman", "find_words"]

_UNITS = {word: number for number, word in enumerate(SMALL) if number}
_DIGITS = {word: str(number) for number, word in enumerate(SMALL[:10])} | {"oh": "0"}
_TENS = {word: 10 * number for number, word in enumerate(TENS, 2)}
_POWERS = {word: 3 * number for number, word in enumerate(SCALES, 1)}
_UNIT_ORDINALS = {ORDINALS[word]: number for word, number in _UNITS.items()}
_TENS_ORDINALS = {ORDINALS[word]: number for word, number in _TENS.items()}
_POWER_ORDINALS = {ORDINALS[word]: power for word, power in _POWERS.items()}

# "Second" is usually a time; as a denominator it is read only in compounds such as five thirty-seconds.
_PARTS = {word: number for word, number in _UNIT_ORDINALS.items() if number > 2} | {"half": 2, "quarter": 4}
_PARTS |= _TENS_ORDINALS | {"hundredth": 100} | {word: 10**power for word, power in _POWER_ORDINALS.items()}
_PLURAL_PARTS = {word + "s": number for word, number in _PARTS.items() if word != "half"} | {"halves": 2}

_ARTICLES = {"a", "an"}
_MINUS = {"minus", "negative"}
_MULTIPLIERS = {"hundred", "dozen", *_POWERS}
_STARTS = {*_UNITS, "zero", *_TENS, *_UNIT_ORDINALS, *_TENS_ORDINALS, *_POWER_ORDINALS, "hundredth", "zeroth", "half"}
_STARTS |= _ARTICLES | _MINUS
# Words after which a number from one to nineteen is complete: most number words need no grammar.
_CLOSED = {"", *_UNITS, *_ARTICLES, *_MINUS, "zero", "of", "between"} - {"ten"}
_KNOWN = {*_STARTS, *_DIGITS, *_MULTIPLIERS, *_PARTS, *_PLURAL_PARTS, "seconds", "and", "of", "point", "between"}

_WORD = re.compile(r"\w++")
_JOINTS = " -\n\u00a0\u2010\u2011"
_HYPHENS = "-\u2010\u2011"
_MAX_SCALES = 2  # "a thousand billion" is a number; a long sequence of "million" is not, and would exceed 1e308


class _Parsed(NamedTuple):
    end: int
    value: int | float
    ordinal: bool = False
    power: int = 0
    scaled: bool = False


def find_words(text: str) -> list[Numeral]:
    """Finds the numbers that are written in English words.

    Example:
        >>> [(n.text, n.value) for n in find_words("Two and a half million, not minus one hundred and five.")]
        [('Two and a half million', 2500000.0), ('minus one hundred and five', -105.0)]
    """
    grammar = _Grammar(text)
    words, starts = grammar.words, grammar.starts
    numerals = []
    i = last = 0
    while i < len(words):
        if words[i] not in _STARTS:
            i += 1
            continue
        first = i + 1 if words[i] in _MINUS else i
        parsed = grammar.number(first, joins=words[i - 1] != "between")
        if parsed is None or (parsed.ordinal and first > i):
            i += 1
            continue
        # "Ten minus five" and "10 minus five" are subtractions: the five is positive.
        signed = first > i and i != last and not grammar.follows_digit(i)
        begin, end = starts[i if signed else first], grammar.end_of(parsed.end - 1)
        value = -float(parsed.value) if signed else float(parsed.value)
        written, kind = text[begin:end], "ordinal" if parsed.ordinal else "quantity"
        power = parsed.power if parsed.power and _is_regular(written, value, parsed.power) else 0
        numerals.append(Numeral(written, begin, end, value, kind=kind, power=power))
        i = last = parsed.end
    return numerals


def _is_regular(written: str, value: float, power: int) -> bool:
    """Whether `render_words` with `power` writes these words; not for "a million", whose words are kept as written."""
    plain = written.lower()
    if written not in (plain, plain.capitalize(), plain.upper()):
        return False
    joints = ("-" if "-" in plain else " ") + "&" * (" and " in plain) + "." * (" point " in plain)
    return render_words(value, "lower" + joints, power) == plain


class _Grammar:
    """The known words of a text, with an empty word between words that are not adjacent, and the grammar rules.

    Each rule takes the position of its first word and returns the position after its last word, or None.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.words, self.starts = words, starts = [""], [0]
        last = -1
        for match in _WORD.finditer(text):
            word = match.group().lower()
            if word not in _KNOWN:
                continue
            start, end = match.span()
            if text[end : end + 1] in ("'", "’") and text[end + 1 : end + 2].isalpha():
                continue  # "one's"
            if start - last != 1 or text[last] not in _JOINTS:
                words.append("")
                starts.append(start)
            words.append(word)
            starts.append(start)
            last = end
        words += [""] * 3  # the longest look-ahead

    def end_of(self, i: int) -> int:
        """Offset after word `i`."""
        return self.starts[i] + len(self.words[i])

    def _hyphen_after(self, i: int) -> bool:
        return self.words[i + 1] != "" and self.text[self.end_of(i)] in _HYPHENS

    def follows_digit(self, i: int) -> bool:
        """Whether a digit precedes word `i`."""
        before = self.text[max(self.starts[i] - 2, 0) : self.starts[i]]
        return len(before) == 2 and before[1] in _JOINTS and before[0].isdecimal()

    def number(self, i: int, joins: bool) -> _Parsed | None:
        """Reads a number without its sign; `joins` tells whether "and" may be part of an integer."""
        words = self.words
        if words[i + 1] in _CLOSED and words[i] in _UNITS:
            return _Parsed(i + 1, _UNITS[words[i]])
        if words[i] == "half":
            return self._portion(i + 1, Fraction(1, 2), needs_scale=True)
        if part := self._fraction(i):
            return self._portion(*part)
        if (integer := self._integer(i, joins)) is None:
            return None
        if integer.ordinal:
            return integer
        end, total, scaled = integer.end, int(integer.value), integer.scaled
        if words[end] == "point" and (decimals := self._decimals(end + 1)):
            end, digits = decimals
            end, power = (end, 0) if scaled else self._scale(end)
            # Convert the decimal string: linear time and correct rounding for any number of digits.
            return _Parsed(end, float(f"{total}.{digits}e{power}"), power=power)
        if words[end] == "and" and (part := self._fraction(end + 1, mixed=True)):
            end, exact = part[0], total + part[1]
            if not scaled and words[end] in _MULTIPLIERS:
                return self._times(end, exact)
            return _Parsed(end, float(exact))
        if part := self._denominator(end, _PLURAL_PARTS):
            return self._portion(part[0], Fraction(total, part[1]))
        if words[end] == "dozen" and not scaled:
            return _Parsed(end + 1, 12 * total)
        return integer

    def _integer(self, i: int, joins: bool) -> _Parsed | None:
        """Reads groups with decreasing scales: three million | two hundred thousand | and five."""
        words = self.words
        if words[i] in ("zero", "zeroth"):
            return _Parsed(i + 1, 0, ordinal=words[i] == "zeroth")
        end, total, limit, only_power = i, 0, 0, 0
        while True:
            if end > i and words[end] == "and":
                # Only a small last number follows "and": "one million and two million" are two numbers.
                last = self._below_hundred(end + 1, after_and=True) if joins else None
                if last is None or words[last[0]] in _MULTIPLIERS or self._fraction(end + 1, mixed=True):
                    break
                return _Parsed(last[0], total + last[1], last[2], scaled=True)
            group = self._group(end, joins, is_first=end == i)
            if group is None:
                break
            after, number, ordinal = group
            power = 0
            if not ordinal:
                after, power = self._scale(after)
                if words[after] in _POWER_ORDINALS:
                    after, power, ordinal = after + 1, power + _POWER_ORDINALS[words[after]], True
            number *= 10**power
            if limit and number >= limit:
                break  # "one thousand | two thousand"
            only_power = 0 if limit else power
            end, total = after, total + number
            if ordinal or power == 0:
                return _Parsed(end, total, ordinal, scaled=limit > 0)
            limit = 10**power
        return _Parsed(end, total, scaled=True, power=only_power) if end > i else None

    def _group(self, i: int, joins: bool, is_first: bool) -> tuple[int, int, bool] | None:
        """Reads the number before a scale word: 1 to 9999 ("fifteen hundred and five"), or the "a" of "a million"."""
        words = self.words
        if words[i] in _ARTICLES:
            if not is_first or words[i + 1] not in _MULTIPLIERS:
                return None
            end, number = i + 1, 1
        elif is_first and (words[i] == "hundredth" or words[i] in _POWER_ORDINALS):
            end, number = i, 1
        elif (below := self._below_hundred(i)) is None or below[2]:
            return below
        else:
            end, number, _ = below
        if words[end] == "hundredth":
            return end + 1, 100 * number, True
        if words[end] != "hundred":
            return end, number, False
        end, number = end + 1, 100 * number
        said_and = words[end] == "and"
        if said_and and (not joins or self._fraction(end + 1, mixed=True)):
            return end, number, False
        rest = self._below_hundred(end + said_and, after_and=said_and)
        if rest is None or words[rest[0]] in ("hundred", "hundredth"):  # "one hundred and | two hundred"
            return end, number, False
        return rest[0], number + rest[1], rest[2]

    def _below_hundred(self, i: int, after_and: bool = False) -> tuple[int, int, bool] | None:
        """Reads one to ninety-nine or first to ninety-ninth; "second" alone is a time."""
        word, following = self.words[i], self.words[i + 1]
        if word in _TENS:
            number = _TENS[word]
            if _UNITS.get(following, 10) < 10:
                return i + 2, number + _UNITS[following], False
            if _UNIT_ORDINALS.get(following, 10) < 10 and (following != "second" or self._hyphen_after(i)):
                return i + 2, number + _UNIT_ORDINALS[following], True
            return i + 1, number, False
        if word in _UNITS:
            return i + 1, _UNITS[word], False
        number = _UNIT_ORDINALS.get(word) or _TENS_ORDINALS.get(word)
        if number is None or (word == "second" and not after_and):
            return None
        return i + 1, number, True

    def _fraction(self, i: int, mixed: bool = False) -> tuple[int, Fraction] | None:
        """Reads one third, two-thirds, a third of; `mixed`: after "two and", where "a third" is not an ordinal."""
        word = self.words[i]
        if word == "one" or word in _ARTICLES:
            part = self._denominator(i + 1, _PARTS)
            if part is not None:
                end, below = part
                sure = mixed or self.words[end] == "of"
                if word == "one":  # "one hundredth" may be the ordinal, "one third" cannot
                    sure = sure or (end == i + 2 and (below <= 90 or self._hyphen_after(i)))
                else:  # "a half million"
                    sure = sure or (self.words[i + 1] in ("half", "quarter") and self.words[end] in _MULTIPLIERS)
                return (end, Fraction(1, below)) if sure else None
        above = self._below_hundred(i)
        if above is None or above[2] or (part := self._denominator(above[0], _PLURAL_PARTS)) is None:
            return None
        return (part[0], Fraction(above[1], part[1])) if above[1] < part[1] or not mixed else None

    def _denominator(self, i: int, parts: dict[str, int]) -> tuple[int, int] | None:
        word, following = self.words[i], self.words[i + 1]
        if word in parts:
            return i + 1, parts[word]
        if (word not in _TENS and word not in ("ten", "hundred")) or not self._hyphen_after(i):
            return None
        if word in _TENS:  # thirty-seconds, sixty-fourths
            below = _UNIT_ORDINALS.get(following[:-1] if parts is _PLURAL_PARTS else following, 10)
            return (i + 2, _TENS[word] + below) if below < 10 else None
        factor = 10 if word == "ten" else 100
        return (i + 2, factor * parts[following]) if parts.get(following, 0) >= 1000 else None  # ten-thousandths

    def _portion(self, end: int, exact: Fraction, needs_scale: bool = False) -> _Parsed | None:
        """Multiplies a fraction by a following scale: half a million, three quarters of a million."""
        words = self.words
        at = end + (words[end] == "of")
        at += (at > end or needs_scale) and words[at] in _ARTICLES
        # "Of" needs an article: "three quarters of million-dollar homes" is not a product.
        if words[at] in _MULTIPLIERS and words[at - 1] != "of":
            return self._times(at, exact)
        return None if needs_scale else _Parsed(end, float(exact))

    def _times(self, i: int, exact: Fraction) -> _Parsed:
        if self.words[i] == "dozen":
            return _Parsed(i + 1, float(exact * 12))
        hundred = self.words[i] == "hundred"
        end, power = self._scale(i + hundred)
        return _Parsed(end, float(exact * 10 ** (power + 2 * hundred)), power=0 if hundred else power)

    def _scale(self, i: int) -> tuple[int, int]:
        end = i
        while end - i < _MAX_SCALES and self.words[end] in _POWERS:
            end += 1
        return end, sum(_POWERS[word] for word in self.words[i:end])

    def _decimals(self, i: int) -> tuple[int, str] | None:
        """Reads the decimals after "point": single digits, or one number below a hundred."""
        end = i
        while self.words[end] in _DIGITS:
            end += 1
        if end > i:
            return end, "".join(_DIGITS[word] for word in self.words[i:end])
        below = self._below_hundred(i)
        return (below[0], str(below[1])) if below and not below[2] else None
