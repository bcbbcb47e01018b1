"""Sizes of the numbers of a user's own texts, by the word or unit that belongs to them.

A model that never saw such texts is often wrong about them, and surer than it should be: in reports of a stock market
`3.2 %` and `27,412 points` surprise it alike. A few hundred right numbers tell how large those before `%`, `points` or
`shares` are, and how far the model can be trusted beside that.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.heads.base import NumberDistribution
    from numerate.numerals.numeral import Numeral

__all__ = ["WordSizes", "quantiles_with_sizes", "word_of"]

MAX_WORDS, MAX_LETTERS = 2000, 40
_BINS, _LOWEST, _HIGHEST = 5, -8, 16
"""Bins of an order of magnitude, and the orders that are told apart."""
_WIDTH = math.log(10) / _BINS
_CELLS = 2 * _BINS * (_HIGHEST - _LOWEST)
_TRUST = 10.0
"""Numbers of a word that weigh as much as those of all words."""
_CAUTION = 10.0
"""Numbers that speak for the model alone, before any is seen."""
_MOST, _ROUNDS = 0.8, 60
_HALVINGS = 50
_TAIL = re.compile(r".*\d", re.DOTALL)
_NEXT = re.compile(r"[\s-]*([^\W\d_]+)")
_BEFORE = re.compile(r"([^\W\d_]+)\W*$")


@dataclass(frozen=True, kw_only=True)
class WordSizes(Config):
    """Counts of numbers by word and size, and how much they are to be trusted beside a model.

    Attributes:
        counts: For each word (see `word_of`; "" for all numbers), numbers by size: `16` is the bin from 10^(16/5),
            `n3` has negative ones from 10^(3/5).
        share: Share of right numbers that follow these counts rather than the model; see `fitted`.

    Example:
        >>> import numerate
        >>> text = "It fell 3 points, then rose 4 points, then 5 points."
        >>> sizes = WordSizes.of((each, word_of(each, text)) for each in numerate.find(text))
        >>> usual, odd = sizes.log_sizes(["points", "points"], np.array([6.0, 6000.0]))
        >>> bool(usual > odd)
        True
    """

    kind: ClassVar[str] = "word-sizes"
    counts: dict[str, dict[str, float]] = field(default_factory=dict)
    share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= _MOST:
            raise ConfigError(f"share must lie from 0 to {_MOST}, got {self.share}")
        if len(self.counts) > MAX_WORDS + 1:
            raise ConfigError(f"counts: expected at most {MAX_WORDS} words, got {len(self.counts)}")
        for word, table in self.counts.items():
            for key, count in table.items():
                if _parsed(key) is None or not 0 <= count < math.inf:
                    raise ConfigError(f"counts of {word[:40]!r}: expected a bin and a count, got {key[:40]!r}: {count}")

    @classmethod
    def of(cls, pairs: Iterable[tuple[Numeral, str]]) -> WordSizes:
        """Counts of numerals with their words; words with one number count for all numbers only, as zeros do not."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for numeral, word in pairs:
            if not numeral.special and not numeral.overflow and numeral.written:
                key = _key(numeral.written)
                for name in {"", word}:
                    found[name][key] += 1
        several = [word for word in found if word and found[word].total() > 1]
        kept = sorted(several, key=lambda word: (-found[word].total(), word))[:MAX_WORDS]
        return cls(counts={word: {key: float(n) for key, n in sorted(found[word].items())} for word in ["", *kept]})

    @property
    def weight(self) -> float:
        """How much the surprise of these counts adds to the evidence for a slip: the odds of `share`."""
        return self.share / (1 - self.share)

    def fitted(self, words: Sequence[str], values: np.ndarray, logs: np.ndarray) -> WordSizes:
        """These counts with the share under which the numbers that were counted are most probable.

        Each number is left out of the counts when its own probability is computed. A mixture of the two densities is
        fitted by expectation and maximisation: where the model knows better, the share comes near to 0.

        Args:
            words: (N,) words of the numbers.
            values: (N,) the numbers as they are written.
            logs: (N,) their log-densities under the model, of the signed logarithm.
        """
        other = self.log_sizes(words, values, left_out=1.0)
        share = 0.5
        for _ in range(_ROUNDS):
            ours, theirs = math.log(share) + other, math.log1p(-share) + np.maximum(logs, -700.0)
            follows = np.exp(ours - np.logaddexp(ours, theirs)).sum()
            share = min(max(float(follows) / (len(logs) + _CAUTION), 1e-9), _MOST)
        return replace(self, share=float(f"{share:.4g}"))

    def log_sizes(self, words: Sequence[str], values: np.ndarray, left_out: float = 0.0) -> np.ndarray:
        """Log-densities (N,) of the natural logarithm of the size, and the sign; the larger, the more usual.

        Args:
            words: (N,) words of the numbers.
            values: (N,) the numbers as they are written.
            left_out: 1 for numbers that were counted themselves, and must not vouch for themselves.
        """
        bins = _bins(values)
        shares = np.array([
            self._shares(word, left_out if at >= 0 else 0.0, at)[at] if at >= 0 else _TRUST / _CELLS
            for word, at in zip(words, bins.tolist(), strict=True)
        ])  # fmt: skip
        return np.log(shares / _WIDTH)

    def below(self, words: Sequence[str], values: np.ndarray) -> np.ndarray:
        """Probabilities (N, K) that a number with each of N words is at most each of its (N, K) values."""
        found = np.empty(values.shape)
        for row, word in enumerate(words):
            whole = np.concatenate([[0.0], np.cumsum(self._shares(word))])
            found[row] = np.interp(_places(values[row]), np.arange(_CELLS + 1), whole)
        return found

    def _shares(self, word: str, left_out: float = 0.0, at: int = 0) -> np.ndarray:
        """Shares of the bins for a word, from the lowest numbers to the highest; one number of bin `at` is left out."""
        one = left_out * self._spread(at)
        every = self._tables.get("", np.zeros(_CELLS))
        general = (np.maximum(every - one, 0) + _TRUST / _CELLS) / (max(every.sum() - left_out, 0) + _TRUST)
        own = self._tables.get(word) if word else None
        if own is None:
            return general
        return (np.maximum(own - one, 0) + _TRUST * general) / (max(own.sum() - left_out, 0) + _TRUST)

    def bits(self, words: Sequence[str], values: np.ndarray, *, counted: bool = False) -> np.ndarray:
        """Surprise in bits (N,), times `weight`; the arguments are those of `log_sizes`."""
        if not self.share:
            return np.zeros(len(values))
        return -self.weight * self.log_sizes(words, values, float(counted)) / math.log(2)

    @functools.cached_property
    def _tables(self) -> dict[str, np.ndarray]:
        """Numbers by bin (`_CELLS`,) for each word, a half of each spread over the bins beside it."""
        tables = {}
        for word, counts in self.counts.items():
            tables[word] = np.zeros(_CELLS)
            for key, count in counts.items():
                tables[word] += count * self._spread(_cell(key.startswith("n"), _parsed(key) or 0))
        return tables

    @staticmethod
    @functools.cache
    def _spread(at: int) -> np.ndarray:
        """One number of a bin: a half there, the rest in the bins beside it of the same sign."""
        found = np.zeros(_CELLS)
        for place, share in ((at - 1, 0.25), (at, 0.5), (at + 1, 0.25)):
            inside = 0 <= place < _CELLS and (place < _CELLS // 2) == (at < _CELLS // 2)
            found[place if inside else at] += share
        return found


def quantiles_with_sizes(
    numbers: NumberDistribution, sizes: WordSizes, words: Sequence[str], scales: np.ndarray, p: Sequence[float]
) -> np.ndarray:
    """Quantiles (N, P) of what a model and the sizes by word expect together, as a mixture with the sizes' share.

    Args:
        numbers: N distributions of the model.
        sizes: The sizes by word.
        words: (N,) words of the numbers.
        scales: (N,) what turns a number of the model into one as it is written.
        p: The P probabilities.
    """
    low, high = (np.full((len(words), len(p)), sign * math.asinh(10.0**_HIGHEST)) for sign in (-1, 1))
    wanted = np.asarray(p)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        values = np.sinh(middle)
        asked = torch.from_numpy(values / scales[:, None]).to(numbers.device)
        below = (1 - sizes.share) * numbers.cdf(asked).detach().double().cpu().numpy()
        below += sizes.share * sizes.below(words, values)
        low, high = np.where(below < wanted, middle, low), np.where(below < wanted, high, middle)
    return np.sinh((low + high) / 2)


def word_of(numeral: Numeral, text: str) -> str:
    """What a number counts or measures: its scale word and unit, else the word behind it, else the one before.

    Example:
        >>> import numerate
        >>> text = "$ 20 million for 5 km, 12 Men and 3.5 %; Height: 1,500;"
        >>> [word_of(each, text) for each in numerate.find(text)]
        ['million USD', 'km', 'men', '%', '< height']
    """
    tail = _TAIL.sub("", numeral.text).strip().lower()
    if named := " ".join(each for each in (tail, numeral.unit or "") if each):
        return named[:MAX_LETTERS]
    if behind := _NEXT.match(text, numeral.end):
        return behind[1].lower()[:MAX_LETTERS]
    before = _BEFORE.search(text, max(0, numeral.start - 2 * MAX_LETTERS), numeral.start)
    return f"< {before[1].lower()[-MAX_LETTERS:]}" if before else "<"


def _place(value: float) -> int:
    """The bin of a size, from 10^(place/5) on; what is smaller or larger than all bins belongs to the outermost."""
    place = math.floor(math.log10(abs(value)) * _BINS + 1e-9)
    return min(max(place, _BINS * _LOWEST), _BINS * _HIGHEST - 1)


def _key(value: float) -> str:
    return f"{'n' if value < 0 else ''}{_place(value)}"


def _cell(negative: bool, place: int) -> int:
    """Index of a bin among all, from the lowest numbers to the highest."""
    size = min(max(place, _BINS * _LOWEST), _BINS * _HIGHEST - 1) - _BINS * _LOWEST
    return _CELLS // 2 - 1 - size if negative else _CELLS // 2 + size


def _places(values: np.ndarray) -> np.ndarray:
    """Where values lie on the scale of bins, from 0 to `_CELLS`; zero lies in the middle."""
    sizes = np.log10(np.maximum(np.abs(values), 10.0**_LOWEST)) * _BINS - _BINS * _LOWEST
    return np.clip(_CELLS / 2 + np.sign(values) * sizes, 0, _CELLS)


def _bins(values: np.ndarray) -> np.ndarray:
    """Indices of the bins of values; -1 for zeros and what is not finite."""
    usable = np.isfinite(values) & (values != 0)
    found = [_cell(value < 0, _place(value)) if use else -1
             for value, use in zip(values.tolist(), usable.tolist(), strict=True)]  # fmt: skip
    return np.array(found, dtype=int)


def _parsed(key: str) -> int | None:
    try:
        return int(key.removeprefix("n"))
    except ValueError:
        return None
