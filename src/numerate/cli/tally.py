"""Counts and quantiles of a stream in bounded memory, exact up to a limit and approximate beyond it."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Quantiles", "TypeCounts", "share"]


def share(part: float, whole: float) -> float | None:
    """`part / whole`, or None if `whole` is 0."""
    return part / whole if whole else None


class TypeCounts:
    """Counts of strings; exact up to `cap` different strings, then lower bounds (Misra and Gries, 1982).

    With too many strings, every count is reduced by one and strings with count 0 are dropped. So a count is too low by
    at most `floor`, which never exceeds the number of strings seen divided by `cap`: frequent strings, which make up
    vocabularies and top lists, are hardly affected.

    Example:
        >>> counts = TypeCounts(cap=2)
        >>> counts.update(["a", "a", "b", "a", "c"])
        >>> counts.top(1), counts.floor
        ([('a', 2)], 1)
    """

    def __init__(self, cap: int = 200_000) -> None:
        self.cap = cap
        self.floor = 0
        self._counts: Counter[str] = Counter()

    @property
    def exact(self) -> bool:
        """Whether no string has been dropped."""
        return self.floor == 0

    def __len__(self) -> int:
        return len(self._counts)

    def update(self, words: Iterable[str]) -> None:
        """Adds strings."""
        self._counts.update(words)
        while len(self._counts) > self.cap:
            self.floor += 1
            self._counts = Counter({word: count - 1 for word, count in self._counts.items() if count > 1})

    def top(self, size: int) -> list[tuple[str, int]]:
        """The most frequent strings with their counts; ties are in alphabetical order."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:size]


class Quantiles:
    """Minimum, maximum, mean and median of finite values.

    The first three are exact up to rounding. The median is exact up to `cap` values; with more it is the median of a
    uniform sample of `cap` values, drawn with a fixed seed.

    Example:
        >>> q = Quantiles()
        >>> for x in (3.0, 1.0, 2.0, 100.0): q.add(x)
        >>> q.minimum, q.median, q.mean, q.maximum
        (1.0, 2.5, 26.5, 100.0)
    """

    def __init__(self, cap: int = 100_000) -> None:
        self.cap = cap
        self.count = 0
        self.minimum = self.maximum = self.mean = float("nan")
        self._sample: list[float] = []
        self._random = random.Random(0)  # noqa: S311 - a sample for statistics, not for secrets

    @property
    def exact(self) -> bool:
        """Whether the median is computed from all values."""
        return self.count <= self.cap

    def add(self, value: float) -> None:
        """Adds one finite value."""
        self.count += 1
        if self.count == 1:
            self.minimum = self.maximum = self.mean = value
        self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)
        # A running mean, because the sum of a few values near 1e308 would be infinite.
        self.mean += value / self.count - self.mean / self.count
        if len(self._sample) < self.cap:
            self._sample.append(value)
        elif (place := self._random.randrange(self.count)) < self.cap:
            self._sample[place] = value

    @property
    def median(self) -> float:
        """The middle value, or the mean of the two middle values."""
        if not self._sample:
            return float("nan")
        ranked = sorted(self._sample)
        low, high = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
        return low if low == high else low / 2 + high / 2  # the sum could overflow
