"""Signs before a number: minus signs, dashes that are signs, and the word `minus`."""

from __future__ import annotations

import re

from numerate.numerals.unit_tables import CURRENCY_SIGNS
from numerate.numerals.word_tables import english_words
from numerate.reading.context import MINUS_WORDS, SIGN_LEADERS, word_set

__all__ = ["minus_before", "sign_before"]

_NUMBER_WORDS = english_words() - {"a", "an", "and", "of", "point", "second", "seconds", "minus", "negative"}
_minus = re.compile(rf"(?<![\w.-])({'|'.join(sorted(MINUS_WORDS))}) $").search
# `negative` is also an adjective: it is a sign only after these words, or at the beginning.
_NEGATIVE_AFTER = word_set("words_before_negative")


def sign_before(text: str, begin: int, before: str) -> tuple[int, bool]:
    """Start of the number including its sign, and whether it is negative."""
    if before not in "-−+–":
        return begin, False
    leader = text[begin - 2] if begin > 1 else ""
    if before == "–":
        # An en dash is a sign where it cannot join two numbers or two words.
        free = (leader == "" or leader in SIGN_LEADERS) and not text[max(0, begin - 3) : begin - 2].isdecimal()
        return (begin - 1, True) if free else (begin, False)
    if leader == "" or leader in SIGN_LEADERS or leader in CURRENCY_SIGNS or leader.isspace():
        return begin - 1, before != "+"
    if leader in "-–−" and before in "-−" and begin > 2 and text[begin - 3].isdecimal():
        return begin - 1, True  # -10--5
    return begin, False


def minus_before(text: str, first: int) -> int | None:
    """Start of the word `minus` before a number or its currency; None if it is a subtraction or an adjective."""
    match = _minus(text[max(0, first - 10) : first])
    if match is None:
        return None
    begin = first - len(match.group())
    earlier = text[max(0, begin - 24) : begin].split()
    word = earlier[-1] if earlier else ""
    if match[1][0] in "nN":
        return begin if word == "" or word.lower() in _NEGATIVE_AFTER or word[-1] in ".:;(=" else None
    plain = word.lower()
    if plain == "or" or plain[-1:].isdecimal() or plain[-1:] in (")", "]", "%") or plain in _NUMBER_WORDS:
        return None
    return None if len(plain) == 1 and plain.isalpha() and plain != "a" else begin
