"""How right numbers are written: sizes and last digits by kind, counted in held-out texts.

A distribution of values does not say that people write `1987` and not `198.7`, or `1,500` rather than `1,537`. Counts
of sizes (bins of a fifth of an order of magnitude) and of the place of the last digit that is not a zero do.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numerate.numerals.numeral import Numeral

__all__ = ["FORM_GROUPS", "WrittenForms", "form_group", "last_places"]

FORM_GROUPS = ("other", "unit", "money", "percent", "ordinal")
"""Kinds that are told apart. It is `other` for years, counts, ranges and ratios: a slip turns one into another."""
BACKGROUND = 0.01
"""Share of right numbers that the context says nothing of: those of a kind at large, by their size alone."""
_BINS = 5
"""Bins of an order of magnitude."""
_LOWEST, _HIGHEST = -8, 16
"""Orders of magnitude that are told apart."""
_LEAST_PLACE, _MOST_PLACE = -9, 13
_CHOICES = 12.0
_CELLS = 400.0
_TRUST = 10.0
"""Numbers of a kind, or of an order of magnitude, that weigh as much as the more general counts."""
_INHERITED = 200.0
"""Numbers of a kind that earlier counts weigh as much as when they are updated with those of other texts."""
MAX_COUNTS = 20_000


@dataclass(frozen=True, kw_only=True)
class WrittenForms(Config):
    """Counts of written numbers, and what they say of a number: how usual its size and its last digit are.

    Attributes:
        counts: For each of `FORM_GROUPS`, numbers by size and last place: `16,0` are whole numbers in the bin from
            10^(16/5) that do not end in 0, `n3,-1` negative ones from 10^(3/5) with one decimal.
        background: Share of right numbers that are scored by their size alone.

    Example:
        >>> import numerate
        >>> forms = WrittenForms.of(numerate.find("1987 1990 2004 1956 450 1500 23 7"))
        >>> forms.counts["other"]["16,0"]
        3.0
        >>> usual, odd = forms.log_places(np.zeros(2, dtype=int), np.array([1987.0, 198.7]), np.array([0, -1]))
        >>> bool(usual > odd)
        True
    """

    kind: ClassVar[str] = "written-forms"
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    background: float = BACKGROUND

    def __post_init__(self) -> None:
        if not 0 <= self.background < 1:
            raise ConfigError(f"background must lie from 0 to 1, got {self.background}")
        for name, table in self.counts.items():
            if name not in FORM_GROUPS or len(table) > MAX_COUNTS:
                raise ConfigError(f"counts: unknown kind {name[:40]!r}; known are {', '.join(FORM_GROUPS)}")
            for key, count in table.items():
                if _parsed(key) is None or not 0 <= count < math.inf:
                    raise ConfigError(f"counts of {name}: expected `bin,place` and a count, got {key[:40]!r}: {count}")

    @classmethod
    def of(cls, numerals: Iterable[Numeral]) -> WrittenForms:
        """Counts of numerals; those that are not written in decimal digits, and zeros, are left out."""
        found: dict[str, Counter[str]] = {name: Counter() for name in FORM_GROUPS}
        kept = [each for each in numerals if _is_counted(each)]
        values = np.array([each.written for each in kept])
        places = last_places(values, np.array([each.decimals for each in kept], dtype=int))
        for numeral, bin_, place in zip(kept, _bins(values).tolist(), places.tolist(), strict=True):
            found[form_group(numeral)][f"{'n' if numeral.written < 0 else ''}{bin_},{place}"] += 1
        counts = {name: {key: float(count) for key, count in sorted(each.items())} for name, each in found.items()}
        return cls(counts=counts)

    def updated(self, other: WrittenForms) -> WrittenForms:
        """The counts of other texts, with these as what is known before."""
        counts: dict[str, dict[str, float]] = {}
        for name in FORM_GROUPS:
            old, new = self.counts.get(name, {}), other.counts.get(name, {})
            share = min(1.0, _INHERITED / max(1.0, sum(old.values())))
            mixed = {key: old.get(key, 0) * share + new.get(key, 0) for key in {**old, **new}}
            counts[name] = {key: float(f"{mixed[key]:.4g}") for key in sorted(mixed)}
        return WrittenForms(counts=counts, background=other.background)

    def log_places(
        self, groups: np.ndarray, values: np.ndarray, places: np.ndarray, left_out: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Logarithms of the probability of the last place, given kind and order of magnitude.

        Args:
            groups: Indices in `FORM_GROUPS`, of any shape.
            values: The numbers as they are written, without scale word or percent sign; of the same shape.
            places: Their last places; see `last_places`.
            left_out: 1 for numbers that were counted themselves, and must not vouch for themselves.
        """
        tables = self._tables
        at = np.clip(_bins(values) // _BINS, _LOWEST, _HIGHEST)
        row, column = at - _LOWEST, np.clip(places, _LEAST_PLACE, _MOST_PLACE) - _LEAST_PLACE
        apart = np.clip(places - at, -len(tables.apart) // 2, len(tables.apart) // 2) + len(tables.apart) // 2
        total = tables.apart.sum() - left_out
        share = _mixed(tables.apart[apart] - left_out, total, 1 / _CHOICES)
        share = _mixed(tables.all[row, column] - left_out, tables.all.sum(1)[row] - left_out, share)
        own = tables.own[groups, row, column] - left_out
        return np.log(_mixed(own, tables.own.sum(2)[groups, row] - left_out, share))

    def log_sizes(self, groups: np.ndarray, values: np.ndarray, left_out: np.ndarray | float = 0.0) -> np.ndarray:
        """Log-densities of the natural logarithm of the size, and the sign, given the kind; arguments as above."""
        sizes = self._tables.sizes
        at = np.clip(_bins(values), _BINS * _LOWEST, _BINS * (_HIGHEST + 1) - 1) - _BINS * _LOWEST
        sign = (values < 0).astype(int)
        every = sizes.sum(0)
        share = _mixed(every[sign, at] - left_out, every.sum() - left_out, 1 / _CELLS)
        share = _mixed(sizes[groups, sign, at] - left_out, sizes.sum((1, 2))[groups] - left_out, share)
        return np.log(share * _BINS / math.log(10))

    @functools.cached_property
    def _tables(self) -> _Tables:
        return _Tables(self.counts)


class _Tables:
    """The counts as arrays: `sizes` (kind, sign, bin), `own` (kind, order, place), `all` (order, place), `apart`."""

    def __init__(self, counts: Mapping[str, Mapping[str, float]]) -> None:
        orders, places = _HIGHEST - _LOWEST + 1, _MOST_PLACE - _LEAST_PLACE + 1
        self.sizes = np.zeros((len(FORM_GROUPS), 2, orders * _BINS))
        self.own = np.zeros((len(FORM_GROUPS), orders, places))
        self.apart = np.zeros(2 * (orders + places) + 1)
        """By the last place less the order of magnitude: minus the number of significant digits."""
        for name, table in counts.items():
            group = FORM_GROUPS.index(name)
            for key, count in table.items():
                negative, bin_, place = _parsed(key) or (False, 0, 0)
                bin_ = min(max(bin_, _BINS * _LOWEST), _BINS * (_HIGHEST + 1) - 1)
                place = min(max(place, _LEAST_PLACE), _MOST_PLACE)
                order = bin_ // _BINS
                self.sizes[group, int(negative), bin_ - _BINS * _LOWEST] += count
                self.own[group, order - _LOWEST, place - _LEAST_PLACE] += count
                self.apart[place - order + len(self.apart) // 2] += count
        self.all = self.own.sum(0)


def form_group(numeral: Numeral) -> str:
    """The kind of a number that `WrittenForms` counts it in; one of `FORM_GROUPS`.

    Example:
        >>> import numerate
        >>> [form_group(each) for each in numerate.find("12 men ran 5 km in 1998 for $ 20")]
        ['other', 'unit', 'other', 'money']
    """
    if numeral.kind in ("money", "percent", "ordinal"):
        return numeral.kind
    return "unit" if numeral.kind == "quantity" and numeral.unit is not None else "other"


def last_places(values: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """Power of ten of the last written digit that is not a zero; with decimals, of the last one.

    Example:
        >>> last_places(np.array([1500.0, 1987.0, 2.5, 2.5]), np.array([0, 0, 1, 2])).tolist()
        [2, 0, -1, -2]
    """
    whole = np.rint(np.abs(values))
    zeros = np.zeros(values.shape, dtype=int)
    for power in range(1, _MOST_PLACE + 1):
        zeros += (whole > 0) & (whole % 10.0**power == 0)
    return np.where(decimals > 0, -decimals, zeros)


def _bins(values: np.ndarray) -> np.ndarray:
    size = np.log10(np.maximum(np.abs(values), 10.0**_LOWEST))
    return np.floor(size * _BINS + 1e-9).astype(int)


def _mixed(count: np.ndarray, total: np.ndarray, general: np.ndarray | float) -> np.ndarray:
    """A share of counts, drawn towards a more general one."""
    return (np.maximum(count, 0) + _TRUST * general) / (np.maximum(total, 0) + _TRUST)


def _parsed(key: str) -> tuple[bool, int, int] | None:
    negative, (bin_, _, place) = key.startswith("n"), key.removeprefix("n").partition(",")
    try:
        return negative, int(bin_), int(place)
    except ValueError:
        return None


def _is_counted(numeral: Numeral) -> bool:
    if numeral.special or numeral.overflow or numeral.style.family != "decimal":
        return False
    return bool(numeral.written) and numeral.style.exponent is None
