"""Whether answers in words are right: exact match and F1 over tokens, as SQuAD, DROP and TAT-QA count them."""

from __future__ import annotations

import math
import string
from collections import Counter
from typing import TYPE_CHECKING

from numerate.metrics.score import Score
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Gold = str | Sequence[str]

__all__ = ["answer_tokens", "exact_match", "pair_f1", "spans_f1", "token_f1"]

_ARTICLES = frozenset(["a", "an", "the"])
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BY_VALUE = frozenset(["quantity", "percent", "money", "year", "ordinal"])
"""Kinds of numeral that are their value; a date or a version is what is written."""
_MARK = "="
"""Begins a number's token; punctuation is gone from all others, so no word is taken for a number."""


def answer_tokens(text: str, numbers: bool = False, decimals: int | None = None) -> list[str]:
    """An answer as comparable tokens: lower case, without punctuation and articles.

    That is SQuAD's way, by which -5 equals 5 and 3.5 equals 35. With `numbers`, each number is one token, its value,
    however it is written: `$1,500`, `1500` and `1.5 thousand` are one, `(134)` is negative, `12%` is 0.12.

    Args:
        text: The answer.
        numbers: Whether numbers are compared by value.
        decimals: Values are rounded to so many decimals (TAT-QA: 4); to 12 significant digits by default.

    Example:
        >>> answer_tokens("The -3.5 degrees."), answer_tokens("The -3.5 degrees.", numbers=True)
        (['35', 'degrees'], ['=-3.5', 'degrees'])
    """
    if not numbers:
        return _words(text)
    tokens, done = [], 0
    found = find(text, words=True)
    for number in found:
        if number.kind in _BY_VALUE and math.isfinite(number.value):
            # A bracketed number that is all of the answer is a book-keeper's minus; within a sentence, a remark.
            alone = len(found) == 1 and text.strip() == f"({number.text})"
            value = -number.value if alone else number.value
            tokens += [*_words(text[done : number.start]), _number_token(value, decimals)]
            done = number.end
    return tokens + _words(text[done:])


def pair_f1(predicted: str, gold: str, numbers: bool = False, decimals: int | None = None) -> float:
    """F1 of the tokens of one answer; of two empty answers 1, of one 0.

    With `numbers`, an answer that has none of the gold answer's numbers is wrong, whatever words it shares (DROP).

    Example:
        >>> round(pair_f1("5 million dollars", "6 million dollars"), 4)
        0.6667
        >>> pair_f1("5 million dollars", "6 million dollars", numbers=True), pair_f1("$5m", "5,000,000", numbers=True)
        (0.0, 1.0)
    """
    ours, theirs = (answer_tokens(text, numbers, decimals) for text in (predicted, gold))
    if not ours or not theirs:
        return float(ours == theirs)
    wanted = {token for token in theirs if token.startswith(_MARK)}
    if wanted and not wanted & set(ours):
        return 0.0
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def spans_f1(
    predicted: Sequence[str], gold: Sequence[str], numbers: bool = False, decimals: int | None = None
) -> float:
    """F1 of an answer of several spans: pairs of spans are aligned for the best sum, and spans left over count 0.

    Example:
        >>> spans_f1(["2019", "net sales"], ["sales", "2019", "2018"])
        0.5555555555555555
    """
    if not predicted or not gold:
        return float(len(predicted) == len(gold))
    table = [[pair_f1(ours, theirs, numbers, decimals) for theirs in gold] for ours in predicted]
    return _best_alignment(table) / max(len(predicted), len(gold))


def exact_match(
    predicted: Sequence[str | None], gold: Sequence[Gold], numbers: bool = False, decimals: int | None = None
) -> Score:
    """Share of answers whose tokens equal a gold answer's.

    Args:
        predicted: (N) answers; a missing one (None) is wrong, and counted as not finite.
        gold: (N) right answers, or several right ones each, of which one is enough; with none, the example is skipped.
        numbers: Whether numbers are compared by value; see `answer_tokens`.
        decimals: To how many decimals.

    Example:
        >>> exact_match(["the 1,500", "12 %"], ["1500", ["0.12", "x"]]).value
        0.5
        >>> exact_match(["the 1,500", "12 %"], ["1500", ["0.12", "x"]], numbers=True).value
        1.0
    """

    def equal(one: str, other: str) -> float:
        return float(answer_tokens(one, numbers, decimals) == answer_tokens(other, numbers, decimals))

    return _over(predicted, gold, equal)


def token_f1(
    predicted: Sequence[str | None], gold: Sequence[Gold], numbers: bool = False, decimals: int | None = None
) -> Score:
    """Mean F1 over tokens, of each answer with the gold answer that it is nearest to; see `exact_match`, `pair_f1`.

    Example:
        >>> token_f1(["net sales", None], [["sales", "profit"], "3"])
        Score(value=0.3333333333333333, count=2, skipped=0, non_finite=1)
    """
    return _over(predicted, gold, lambda one, other: pair_f1(one, other, numbers, decimals))


def _over(predicted: Sequence[str | None], gold: Sequence[Gold], measure: Callable[[str, str], float]) -> Score:
    if len(predicted) != len(gold):
        raise ValueError(f"answers and gold answers must be equally many, got {len(predicted)} and {len(gold)}")
    total, count, missing = 0.0, 0, 0
    for answer, right in zip(predicted, gold, strict=True):
        options = [right] if isinstance(right, str) else list(right)
        count += bool(options)
        if options and answer is None:
            missing += 1
        elif options and answer is not None:
            total += max(measure(answer, option) for option in options)
    return Score(total / count if count else math.nan, count, len(gold) - count, missing)


def _words(text: str) -> list[str]:
    return [word for word in text.lower().translate(_NO_PUNCTUATION).split() if word not in _ARTICLES]


def _number_token(value: float, decimals: int | None) -> str:
    rounded = value if decimals is None else round(value, decimals)
    return f"{_MARK}{rounded + 0.0:.12g}"  # -0 becomes 0


def _best_alignment(table: list[list[float]]) -> float:
    """The largest sum of entries, at most one a row and a column (the Hungarian method, in cubic time)."""
    rows = table if len(table) <= len(table[0]) else [list(column) for column in zip(*table, strict=True)]
    height, width = len(rows), len(rows[0])
    row_price, column_price = [0.0] * (height + 1), [0.0] * (width + 1)
    owner = [0] * (width + 1)  # which row a column belongs to; rows and columns from 1, 0 is none
    for row in range(1, height + 1):
        owner[0], column = row, 0
        slack, came_from, seen = [math.inf] * (width + 1), [0] * (width + 1), [False] * (width + 1)
        while owner[column]:
            seen[column] = True
            here, nearest, step = owner[column], 0, math.inf
            for other in range(1, width + 1):
                if seen[other]:
                    continue
                cost = -rows[here - 1][other - 1] - row_price[here] - column_price[other]
                if cost < slack[other]:
                    slack[other], came_from[other] = cost, column
                if slack[other] < step:
                    step, nearest = slack[other], other
            for other in range(width + 1):
                if seen[other]:
                    row_price[owner[other]] += step
                    column_price[other] -= step
                else:
                    slack[other] -= step
            column = nearest
        while column:  # along the path back, every column goes to its neighbour's row
            owner[column], column = owner[came_from[column]], came_from[column]
    return sum(rows[owner[column] - 1][column - 1] for column in range(1, width + 1) if owner[column])
