r"""Reader `plain`: the tokenisation of Spithourakis & Riedel (2018).

A number is a sequence of digits with optional thousands groups and decimals. There are no signs, exponents, percentages
or kinds: `-1` is a dash and a 1, `3/4` is three tokens, `1e5` is the number 1, the word `e` and the number 5.

Three points differ from the paper's regular expression:

* Digits are ASCII `0` to `9`. Python's `\d` matches all scripts, but the paper's digit models know ten digits; a digit
  of another script is a one-character token here, not a number.
* A group has exactly three digits: `1,2345` is `1`, `,`, `2345`, not `1,234` and `5`.
* Groups follow one to three digits: `1234,567` is two numbers, because it could not be written back as one.
"""

from __future__ import annotations

import re

from numerate.numerals.numeral import Numeral
from numerate.reading.base import Reader, ReaderError
from numerate.registry import readers

__all__ = ["PlainReader", "normalise_numeral", "normalise_token", "raw_tokens", "tokenize"]

_NUMBER_FORM = r"(?:[0-9]{1,3}+(?>,[0-9]{3}(?![0-9]))++|[0-9]++)(?>\.[0-9]++)?+"
_NUMBER = re.compile(_NUMBER_FORM)
# Digits of other scripts are excluded from words, so that they become single-character tokens.
_TOKEN = re.compile(rf"{_NUMBER_FORM}|[^\W\d]++|\S")


@readers.register("plain", "numerals-2018")
class PlainReader(Reader):
    """Finds numbers as the tokenizer of Spithourakis & Riedel does; each is a non-negative `quantity`.

    Example:
        >>> [(n.text, n.value) for n in PlainReader().find("EF 007 fell by -1,250.50 ml")]
        [('007', 7.0), ('1,250.50', 1250.5)]
    """

    is_local = True

    def find(self, text: str) -> list[Numeral]:
        """All numbers, with spans in the original text (not lower-cased, not normalised)."""
        return [Numeral(text[start:end], start, end, value) for start, end, value, _ in self.spans(text)]

    def spans(self, text: str) -> list[tuple[int, int, float, str]]:
        """The numbers as `(start, end, value, kind)`."""
        return [(*m.span(), float(m.group().replace(",", "")), "quantity") for m in _NUMBER.finditer(text)]


def tokenize(text: str) -> list[str]:
    """Splits a text into the tokens of the 2018 models: normalised numerals, lower-case words, single characters.

    A token is a numeral if and only if it starts with an ASCII digit.

    Example:
        >>> tokenize("EF 007 fell by -1,250.50 ml")
        ['ef', '7', 'fell', 'by', '-', '1250.50', 'ml']
    """
    return [normalise_token(token) for token in raw_tokens(text)]


def raw_tokens(text: str) -> list[str]:
    """The tokens of `tokenize` as written, so that a caller can normalise each distinct token once.

    Example:
        >>> raw_tokens("EF 007")
        ['EF', '007']
    """
    return _TOKEN.findall(text)


def normalise_token(token: str) -> str:
    """Converts a token of `raw_tokens` to the form that `tokenize` returns."""
    return normalise_numeral(token) if "0" <= token[0] <= "9" else token.lower()


def normalise_numeral(text: str) -> str:
    """Removes thousands commas and leading zeros; trailing zeros stay, because they tell the precision.

    Raises:
        ReaderError: `text` is not a number of this reader.

    Example:
        >>> normalise_numeral("1,250.50"), normalise_numeral("007"), normalise_numeral("000"), normalise_numeral("0.5")
        ('1250.50', '7', '0', '0.5')
    """
    if not _NUMBER.fullmatch(text):
        raise ReaderError(f"text must be digits with optional groups and decimals, got {text=}")
    integer, point, fraction = text.replace(",", "").partition(".")
    return (integer.lstrip("0") or "0") + point + fraction
