"""Questions about numbers and their right answers: what number it is, sums, differences, and the largest of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from numerate.training.text_files import SourceError
from numerate_lab.tasks.probes.number_pools import SPLITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from numerate_lab.tasks.probes.number_pools import NumberPool

__all__ = ["EXPONENTS", "Questions", "draw_questions", "scientific"]

EXPONENTS = (-2, 7)
"""Lowest and highest exponent of ten; those beyond are counted as these, as in LUNA's code."""


def scientific(values: Sequence[Decimal]) -> tuple[np.ndarray, np.ndarray]:
    """Significands, (N,) float64 with 1 <= |s| < 10 and 0 for 0; and exponents within `EXPONENTS`, (N,) int64.

    Example:
        >>> from decimal import Decimal
        >>> scientific([Decimal("-1234.5"), Decimal("0.3") - Decimal("0.2"), Decimal(0)])
        (array([-1.2345,  1.    ,  0.    ]), array([ 3, -1,  0]))
    """
    exponents = [value.adjusted() if value else 0 for value in values]
    significands = [float(value.scaleb(-power)) for value, power in zip(values, exponents, strict=True)]
    return np.array(significands, dtype=np.float64), np.array(exponents, dtype=np.int64).clip(*EXPONENTS)


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions of one split; numbers are places in a `NumberPool`.

    Attributes:
        singles: (N,) numbers to decode.
        pairs: (P, 2) numbers to add, and to subtract the second from the first.
        lists: (L, K) numbers of which the largest is looked for; no two of a list are equal.
        values: By `decoding`, `addition` and `subtraction`: the right answers, exactly.
        largest: (L,) place of the largest number in its list.
    """

    singles: np.ndarray
    pairs: np.ndarray
    lists: np.ndarray
    values: dict[str, list[Decimal]]
    largest: np.ndarray


def draw_questions(
    pool: NumberPool, split: str, count: int, length: int, seed: int, *, near: bool = False
) -> Questions:
    """Draws up to `count` singles, and `count` pairs and lists of numbers that stand in one group.

    Args:
        pool: The numbers.
        split: One of `SPLITS`; all numbers are of this split.
        count: Questions of each kind; there are no more singles than different numbers.
        length: Numbers of a list.
        seed: Seed of the draws.
        near: Draw lists as Wallace et al. do: half of them with numbers near the largest.
    """
    draws = np.random.default_rng((seed, SPLITS.index(split)))
    own = np.flatnonzero(pool.split == SPLITS.index(split))
    if not len(own):
        raise SourceError(f"no number of the split {split!r} found; give more tables")
    singles = np.sort(draws.choice(own, min(count, len(own)), replace=False))
    pairs = _from_groups(pool, split, 2, count, draws, equal=True)
    lists = _near_lists(pool, own, length, count, draws) if near else _from_groups(pool, split, length, count, draws)
    first, second = ([pool.decimals[i] for i in column.tolist()] for column in pairs.T)
    return Questions(
        singles, pairs, lists,
        {
            "decoding": [pool.decimals[i] for i in singles.tolist()],
            "addition": [a + b for a, b in zip(first, second, strict=True)],
            "subtraction": [a - b for a, b in zip(first, second, strict=True)],
        },
        pool.values[lists].argmax(1),
    )  # fmt: skip


def _from_groups(
    pool: NumberPool, split: str, size: int, count: int, draws: np.random.Generator, *, equal: bool = False
) -> np.ndarray:
    """Sets of different numbers of one group, (count, size); `equal` allows two spellings of one value."""
    keys = pool.members if equal else np.unique(pool.values, return_inverse=True)[1][pool.members]
    lengths = np.diff(pool.starts)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    different = np.unique(np.stack([owner, keys]), axis=1)[0]  # a group's number, once for each different key
    enough = np.bincount(different, minlength=len(lengths)) >= size
    usable = np.flatnonzero(enough[owner] & (pool.split[pool.members] == SPLITS.index(split)))
    if not len(usable):
        raise SourceError(f"no {size} different numbers of the split {split!r} in one column; give more tables")
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        group = owner[draws.choice(usable, count)]
        places = pool.starts[group][:, None] + (draws.random((count, size)) * lengths[group][:, None]).astype(np.int64)
        chosen = np.sort(keys[places], axis=1)
        found.append(pool.members[places][(np.diff(chosen, axis=1) != 0).all(1)])
    return np.concatenate(found)[:count]


def _near_lists(pool: NumberPool, own: np.ndarray, length: int, count: int, draws: np.random.Generator) -> np.ndarray:
    """Lists as in Wallace et al. (2019): a largest number, the others uniform below it or, in half of the lists, near.

    Near numbers are a Gaussian with a deviation of 5 places, or 1 % of the place of the largest beyond place 500.
    """
    ordered = own[np.argsort(pool.values[own], kind="stable")]
    lowest = min(10, len(ordered) - 1)
    if len(ordered) < length:
        raise SourceError(f"lists of {length} numbers need as many different ones in each split, found {len(ordered)}")
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        top = draws.integers(max(lowest, length - 1), len(ordered), count) if len(ordered) > length else None
        top = np.full(count, len(ordered) - 1) if top is None else top
        uniform = (draws.random((count, length - 1)) * top[:, None]).astype(np.int64)
        deviation = np.where(top <= 500, 5.0, 0.01 * top)[:, None]
        close = top[:, None] - 1 - np.abs(draws.normal(0, deviation, (count, length - 1))).astype(np.int64)
        others = np.where(draws.random((count, 1)) < 0.5, uniform, close)
        whole = np.concatenate([top[:, None], others], axis=1)
        good = (np.diff(np.sort(whole, axis=1), axis=1) != 0).all(1) & (others >= 0).all(1)
        found.append(draws.permuted(whole[good], axis=1))
    return ordered[np.concatenate(found)[:count]]
