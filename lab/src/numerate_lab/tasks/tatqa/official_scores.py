"""Exact match and F1 of TAT-QA's official evaluation, written anew from its definition.

An answer is a list of items and a scale. All items become one string: numbers are multiplied by the scale and written
with four decimals, texts get the scale's word behind them. Then words are normalised and compared: equality is an exact
match, F1 compares the *sets* of words. Quirks of the definition are kept, because published figures depend on them:
`(1,234)` is positive here (only `(1234)` is negative), and a number is rounded to two decimals before the scale.

One thing is mended: the official program takes the prediction 0 for a missing one.
"""

from __future__ import annotations

import math
import re
import string
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    Answer = Sequence[str | float] | str | float

__all__ = ["answer_string", "exact_match_and_f1", "normalised", "official_number"]

_NO_MARKS = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?|([+-]?\.\d+)")
_NEGATIVE = re.compile(r"\([\d.\s%]+\)")
_PERCENT = re.compile(r"[\d.\s]%")
_WITH_WORD = re.compile(r"[\d.]\s?[a-zA-Z]+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_FACTORS = (("hundred", 100), ("thousand", 1000), ("million", 10**6), ("billion", 10**9), ("percent", 0.01))
_LONGEST = 400
"""Digits of a number, at most; longer ones are texts, so that no answer costs much time."""


def _factor(word: str) -> float:
    """What a scale, or a word that contains one, multiplies a number by."""
    return next((factor for name, factor in _FACTORS if name in word.lower()), 1)


def _is_number(text: str) -> bool:
    words = " ".join(word.translate(_NO_MARKS) for word in text.split()).split()
    if not words or len(words[0]) > _LONGEST:
        return False
    try:
        number = float(words[0])
    except ValueError:
        return False
    # "1 million" is a number, "2019 sales" is none.
    return not math.isnan(number) and (len(words) < 2 or _factor(words[1]) != 1)


def official_number(text: str) -> float | None:
    """The number in a text, as the official evaluation reads it; None if there is none.

    Example:
        >>> [official_number(text) for text in ("$1,496.5", "(134)", "12%", "1.2 million", "none")]
        [1496.5, -134, 0.12, 1200000.0, None]
    """
    found = _NUMBER.search(text.translate(_NO_MARKS))
    if found is None or found.group(1) is not None:  # numbers such as .5 are read as none
        return None
    number = float(found.group()) if "." in found.group() else int(found.group())
    word = _WITH_WORD.search(text)
    factor = 1 if word is None else _factor(word.group())
    sign = -1 if _NEGATIVE.search(text) else 1
    return round(number * factor * sign * (0.01 if _PERCENT.search(text.strip()) else 1), 4)


def answer_string(items: Sequence[str], scale: str) -> str:
    """The items of an answer as one string, numbers multiplied by the scale.

    Example:
        >>> answer_string(["44.1"], "million"), answer_string(["profit", "cost"], ""), answer_string(["12%"], "percent")
        ('44100000.0000', 'cost profit', '0.1200')
    """
    parts = []
    for item in sorted(items):
        number = official_number(item) if _is_number(item) else None
        if number is None:
            parts.append(f"{item} {scale}" if scale else item)
        else:
            parts.append(
                f"{number:.4f}" if "%" in item else f"{round(number, 2) * (_factor(scale) if scale else 1):.4f}"
            )
    return " ".join(parts)


def normalised(text: str) -> str:
    """Words in lower case, without punctuation and articles; numbers in one spelling.

    Example:
        >>> normalised("The Net-Sales of $1,200.50,")
        'netsales of 1200.5'
    """
    words = []
    for word in text.lower().split(" "):
        if _is_number(word):
            word = str(official_number(word))
        else:
            word = word.translate(_NO_PUNCTUATION)
            word = str(official_number(word)) if _is_number(word) else word
        words += _ARTICLE.sub(" ", word).split()
    return " ".join(words)


def exact_match_and_f1(
    predicted: Answer | None, predicted_scale: str, gold: Answer, scale: str, answer_type: str
) -> tuple[float, float]:
    """Exact match (0 or 1) and F1 (two decimals) of one answer.

    Args:
        predicted: The predicted items, or one text or number; None, no items or an empty text for no answer, which is
            wrong.
        predicted_scale: The predicted scale; none if it is empty.
        gold: The right items, or one text or number.
        scale: The right scale.
        answer_type: For `arithmetic` and `count`, F1 is the exact match.

    Example:
        >>> exact_match_and_f1(["-22.22"], "percent", ["-22.22"], "percent", "arithmetic")
        (1.0, 1.0)
        >>> exact_match_and_f1(["total net sales"], "", ["net sales"], "", "span")
        (0.0, 0.8)
    """
    ours, theirs = _items(predicted), _items(gold)
    if not ours or not theirs:
        return 0.0, 0.0
    right = normalised(answer_string(theirs, scale))
    options = [answer_string(ours, predicted_scale)]
    alone = ours[0] if len(ours) == 1 else ""
    if not predicted_scale and "%" not in alone and _is_number(alone):
        number = official_number(alone)
        if number is not None:  # 0.2222 may stand for 22.22 percent
            options.append(f"{number:.4f}")
    exact, f1 = max((float(normalised(one) == right), _word_f1(normalised(one), right)) for one in options)
    return exact, exact if answer_type in ("arithmetic", "count") else f1


def _items(answer: Answer | None) -> list[str]:
    """The items of an answer as texts; the letters of a single text are no items."""
    if answer is None or answer == "":
        return []
    return [str(item) for item in ([answer] if isinstance(answer, (str, int, float)) else answer)]


def _word_f1(predicted: str, gold: str) -> float:
    ours, theirs = set(predicted.split()), set(gold.split())
    shared = len(ours & theirs)
    precision = shared / len(ours) if ours else 1.0
    recall = shared / len(theirs) if theirs else 1.0
    if precision == recall == 0:
        return 0.0
    # As numpy rounds, which the official program does: 0.975 becomes 0.98, and Python's own `round` gives 0.97.
    return float(np.round(2 * precision * recall / (precision + recall), 2))
