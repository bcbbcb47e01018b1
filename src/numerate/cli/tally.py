"""Counts and quantiles of a stream in bounded memory, exact up to a limit and approximate beyond it."""

from __future__ import annotations

import struct
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

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

    def merge(self, other: TypeCounts) -> None:
        """Adds the counts of another stream; with too many strings, all are reduced by the largest one left over.

        The sum of both floors and of that reduction is the new floor (Agarwal and others, 2012).
        """
        self.floor += other.floor
        self._counts.update(other._counts)
        if len(self._counts) > self.cap:
            least = sorted(self._counts.values(), reverse=True)[self.cap]
            self.floor += least
            self._counts = Counter({word: count - least for word, count in self._counts.items() if count > least})

    def to_json(self) -> list[Any]:
        """All counts as JSON types, in the order in which the strings came."""
        return [self.floor, list(self._counts.items())]

    def take(self, state: list[Any]) -> None:
        """Sets the counts to those of `to_json`."""
        self.floor, self._counts = int(state[0]), Counter({str(word): int(count) for word, count in state[1]})

    def top(self, size: int) -> list[tuple[str, int]]:
        """The most frequent strings with their counts; ties are in alphabetical order."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))[:size]


class Quantiles:
    """Minimum, maximum, mean and median of finite values, the same however the values are cut into parts.

    The mean is the exact one, rounded once. The median is exact up to `cap` different values. With more, values are
    counted in buckets of neighbouring floats, which become twice as wide until at most `cap` are left: the median is
    then the middle of its bucket.

    Example:
        >>> q = Quantiles()
        >>> for x in (3.0, 1.0, 2.0, 100.0): q.add(x)
        >>> q.minimum, q.median, q.mean, q.maximum
        (1.0, 2.5, 26.5, 100.0)
    """

    def __init__(self, cap: int = 100_000) -> None:
        self.cap = cap
        self.count = 0
        self.minimum = self.maximum = float("nan")
        self._sum = 0  # in units of 2 ** -1074: every float64 is a whole number of them
        self._buckets: dict[int, int] = {}
        self._shift = 0

    @property
    def exact(self) -> bool:
        """Whether the median is computed from all values."""
        return self._shift == 0

    def add(self, value: float) -> None:
        """Adds one finite value."""
        self.count += 1
        if self.count == 1:
            self.minimum = self.maximum = value
        self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)
        numerator, denominator = value.as_integer_ratio()
        self._sum += numerator << (1075 - denominator.bit_length())
        bucket = _rank_of(value) >> self._shift
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1
        if len(self._buckets) > self.cap:
            self._widen(self._shift + 1)

    def merge(self, other: Quantiles) -> None:
        """Adds the values of another stream."""
        if not other.count:
            return
        low, high = other.minimum, other.maximum
        self.minimum, self.maximum = (min(self.minimum, low), max(self.maximum, high)) if self.count else (low, high)
        self.count += other.count
        self._sum += other._sum
        self._widen(max(self._shift, other._shift))
        for bucket, count in other._buckets.items():
            bucket >>= self._shift - other._shift
            self._buckets[bucket] = self._buckets.get(bucket, 0) + count
        self._widen(self._shift)

    def to_json(self) -> list[Any]:
        """All that was counted, as JSON types."""
        low, high = (self.minimum.hex(), self.maximum.hex()) if self.count else ("", "")
        return [self.count, low, high, hex(self._sum), self._shift, list(self._buckets.items())]

    def take(self, state: list[Any]) -> None:
        """Sets all that was counted to that of `to_json`."""
        self.count, low, high, total, self._shift, buckets = state
        self._sum = int(total, 16)
        if self.count:
            self.minimum, self.maximum = float.fromhex(low), float.fromhex(high)
        self._buckets = {int(bucket): int(count) for bucket, count in buckets}

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return float(Fraction(self._sum, self.count << 1074)) if self.count else float("nan")

    @property
    def median(self) -> float:
        """The middle value, or the mean of the two middle values."""
        if not self.count:
            return float("nan")
        low, high = self._at((self.count - 1) // 2), self._at(self.count // 2)
        return low if low == high else low / 2 + high / 2  # the sum could overflow

    def _at(self, place: int) -> float:
        for bucket in sorted(self._buckets):
            place -= self._buckets[bucket]
            if place < 0:
                first, last = bucket << self._shift, ((bucket + 1) << self._shift) - 1
                middle = _of_rank(first + (last - first) // 2)
                return min(max(middle, self.minimum), self.maximum)
        raise AssertionError("more values than were counted")

    def _widen(self, shift: int) -> None:
        """Buckets of `2 ** shift` floats, or wider ones if they are too many."""
        while self._shift < shift or len(self._buckets) > self.cap:
            by = max(1, shift - self._shift)
            wider: dict[int, int] = {}
            for bucket, count in self._buckets.items():
                wider[bucket >> by] = wider.get(bucket >> by, 0) + count
            self._buckets, self._shift = wider, self._shift + by


def _rank_of(value: float) -> int:
    """The place of a float64 among all float64, with 0.0 at 0 and -0.0 at -1."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return bits if bits >= 0 else -(bits & _MAGNITUDE) - 1


def _of_rank(rank: int) -> float:
    """The float64 of a place; `_rank_of` backwards."""
    (value,) = struct.unpack("<d", struct.pack("<q", rank if rank >= 0 else (-rank - 1) | -(1 << 63)))
    return value


_MAGNITUDE = (1 << 63) - 1
