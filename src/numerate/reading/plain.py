r"""Reader `plain`: the tokenisation of Spithourakis & Riedel (2018).

A number is a row of digits with optional thousands groups and an optional decimal part. There are no signs, exponents,
percentages or kinds: `-1` is a dash and a 1, `3/4` is three tokens, `1e5` is the number 1, the word `e`, the number 5.

Three decisions where the paper's regular expression says nothing good:

* Digits are ASCII `0` to `9`. Python's `\d` takes every script, but the paper's digit models know ten digits; a digit
  of another script is an ordinary one-character token here, never silently another number.
* A group is exactly three digits: `1,2345` is `1`, `,`, `2345`, not `1,234` and a stray `5`.
* Groups follow one to three digits: `1234,567` is a list of two numbers. (It could not be written back as one.)
"""

from __future__ import annotations

import re

from numerate.numerals.numeral import Numeral
from numerate.reading.base import Reader
from numerate.registry import readers

__all__ = ["PlainReader", "normalise_numeral", "normalise_token", "raw_tokens", "tokenize"]

_NUMBER_FORM = r"(?:[0-9]{1,3}+(?:,[0-9]{3}(?![0-9]))++|[0-9]++)(?:\.[0-9]++)?+"
_NUMBER = re.compile(_NUMBER_FORM)
# Digits of other scripts are no letters (they would glue to words) and so fall to the single characters.
_TOKEN = re.compile(rf"{_NUMBER_FORM}|[^\W\d]++|\S")


@readers.register("plain", "numerals-2018")
class PlainReader(Reader):
    """Finds numbers as Spithourakis & Riedel's tokeniser does; every one is a non-negative `quantity`.

    Example:
        >>> [(n.text, n.value) for n in PlainReader().find("EF 007 fell by -1,250.50 ml")]
        [('007', 7.0), ('1,250.50', 1250.5)]
    """

    def find(self, text: str) -> list[Numeral]:
        """All numbers, with their spans in the text as it is (not lower-cased, not normalised)."""
        return [Numeral(text[start:end], start, end, value) for start, end, value, _ in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as bare `(start, end, value, kind)`."""
        return [(*m.span(), float(m.group().replace(",", "")), "quantity") for m in _NUMBER.finditer(text)]


def tokenize(text: str) -> list[str]:
    """Cuts a text into the tokens of the 2018 models: normalised numerals, lower-case words, single characters.

    A token is a numeral if and only if it starts with an ASCII digit.

    Example:
        >>> tokenize("EF 007 fell by -1,250.50 ml")
        ['ef', '7', 'fell', 'by', '-', '1250.50', 'ml']
    """
    return [normalise_token(token) for token in raw_tokens(text)]


def raw_tokens(text: str) -> list[str]:
    """The same tokens as they are written, for those who count many and normalise each type once.

    Example:
        >>> raw_tokens("EF 007")
        ['EF', '007']
    """
    return _TOKEN.findall(text)


def normalise_token(token: str) -> str:
    """A token of `raw_tokens` as `tokenize` gives it."""
    return normalise_numeral(token) if "0" <= token[0] <= "9" else token.lower()


def normalise_numeral(text: str) -> str:
    """Removes thousands commas and leading zeros; trailing zeros stay, for they tell the writer's precision.

    Raises:
        ValueError: `text` is no number as this reader knows it.

    Example:
        >>> normalise_numeral("1,250.50"), normalise_numeral("007"), normalise_numeral("000"), normalise_numeral("0.5")
        ('1250.50', '7', '0', '0.5')
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"text must be digits with optional groups and decimals, got {text=}")
    integer, point, fraction = text.replace(",", "").partition(".")
    return (integer.lstrip("0") or "0") + point + fraction
