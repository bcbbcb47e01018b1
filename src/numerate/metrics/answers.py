"""Metrics of text answers: exact match and token F1 as in SQuAD, DROP and TAT-QA."""

from __future__ import annotations

import math
import string
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from numerate.metrics.score import MetricError, Score, import_scipy
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Gold = str | Sequence[str]

__all__ = ["answer_tokens", "exact_match", "pair_f1", "spans_f1", "token_f1"]

_ARTICLES = frozenset(["a", "an", "the"])
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BY_VALUE = frozenset(["quantity", "percent", "money", "year", "ordinal"])
"""Kinds of numeral that are compared by value; dates, versions and others are compared as text."""
_MARK = "="
"""First character of a number's token; other tokens contain no punctuation, so no word can equal a number token."""


def answer_tokens(text: str, numbers: bool = False, decimals: int | None = None) -> list[str]:
    """Splits an answer into normalised tokens: lower case, without punctuation and articles.

    This is SQuAD's normalisation, by which -5 equals 5 and 3.5 equals 35. With `numbers`, each number becomes one token
    with its value: `$1,500`, `1500` and `1.5 thousand` are equal, `(134)` is negative, `12%` is 0.12.

    Args:
        text: The answer.
        numbers: Whether numbers are compared by value.
        decimals: Number of decimals to round values to (TAT-QA: 4); 12 significant digits by default.

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
            # An answer that is one number in parentheses is an accounting negative; in a sentence it is a remark.
            alone = len(found) == 1 and text.strip() == f"({number.text})"
            value = -number.value if alone else number.value
            tokens += [*_words(text[done : number.start]), _number_token(value, decimals)]
            done = number.end
    return tokens + _words(text[done:])


def pair_f1(predicted: str, gold: str, numbers: bool = False, decimals: int | None = None) -> float:
    """Token F1 of one answer; 1 if both answers are empty, 0 if one is.

    With `numbers`, an answer that contains none of the gold answer's numbers scores 0 (as in DROP).

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
    """Token F1 of an answer of several spans: spans are paired for the best sum, unpaired spans count 0.

    Example:
        >>> spans_f1(["2019", "net sales"], ["sales", "2019", "2018"])
        0.5555555555555555
    """
    _check_list(predicted, "spans")
    _check_list(gold, "gold spans")
    if not predicted or not gold:
        return float(len(predicted) == len(gold))
    table = [[pair_f1(ours, theirs, numbers, decimals) for theirs in gold] for ours in predicted]
    if len(predicted) == 1 or len(gold) == 1:
        best = max(max(row) for row in table)
    else:
        rows, columns = import_scipy("optimize").linear_sum_assignment(table, maximize=True)
        best = math.fsum(table[row][column] for row, column in zip(rows, columns, strict=True))
    return best / max(len(predicted), len(gold))


def exact_match(
    predicted: Sequence[str | None], gold: Sequence[Gold], numbers: bool = False, decimals: int | None = None
) -> Score:
    """Share of answers whose tokens equal those of a gold answer.

    Args:
        predicted: (N) answers; a missing answer (None) is wrong and counted in `non_finite`.
        gold: (N) gold answers; an item may be a list of accepted answers, and an empty list skips the example.
        numbers: Whether numbers are compared by value; see `answer_tokens`.
        decimals: Number of decimals to round values to; see `answer_tokens`.

    Example:
        >>> exact_match(["the 1,500", "12 %"], ["1500", ["0.12", "x"]]).value
        0.5
        >>> exact_match(["the 1,500", "12 %"], ["1500", ["0.12", "x"]], numbers=True).value
        1.0
    """
    tokens = partial(answer_tokens, numbers=numbers, decimals=decimals)
    return _mean_of_best(predicted, gold, lambda one, other: float(tokens(one) == tokens(other)))


def token_f1(
    predicted: Sequence[str | None], gold: Sequence[Gold], numbers: bool = False, decimals: int | None = None
) -> Score:
    """Mean token F1 of each answer with its best-matching gold answer; see `exact_match` and `pair_f1`.

    Example:
        >>> token_f1(["net sales", None], [["sales", "profit"], "3"])
        Score(value=0.3333333333333333, count=2, skipped=0, non_finite=1)
    """
    return _mean_of_best(predicted, gold, lambda one, other: pair_f1(one, other, numbers, decimals))


def _mean_of_best(predicted: Sequence[str | None], gold: Sequence[Gold], measure: Callable[[str, str], float]) -> Score:
    _check_list(predicted, "answers")
    _check_list(gold, "gold answers")
    if len(predicted) != len(gold):
        raise MetricError(f"answers and gold answers must be equally many, got {len(predicted)} and {len(gold)}")
    total, count, missing = 0.0, 0, 0
    for answer, right in zip(predicted, gold, strict=True):
        options: list[Any] = list(right) if not isinstance(right, str) and hasattr(right, "__iter__") else [right]
        if other := [text for text in (*options, "" if answer is None else answer) if not isinstance(text, str)]:
            raise MetricError(f"answers must be texts, got {other[0]!r}")
        count += bool(options)
        if options and answer is None:
            missing += 1
        elif options and answer is not None:
            total += max(measure(answer, option) for option in options)
    return Score(total / count if count else math.nan, count, len(gold) - count, missing)


def _check_list(texts: object, what: str) -> None:
    """Refuses one text, whose characters would be taken for answers."""
    if isinstance(texts, str):
        raise MetricError(f"{what} must be a list of texts, got {texts[:80]!r}")


def _words(text: str) -> list[str]:
    return [word for word in text.lower().translate(_NO_PUNCTUATION).split() if word not in _ARTICLES]


def _number_token(value: float, decimals: int | None) -> str:
    rounded = value if decimals is None else round(value, decimals)
    return f"{_MARK}{rounded + 0.0:.12g}"  # -0 becomes 0
