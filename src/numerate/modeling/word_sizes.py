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

from numerate.config import Config, ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numerate.numerals.numeral import Numeral

__all__ = ["WordSizes", "word_of"]

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
        every, total = self.counts.get("", {}), self._totals.get("", 0.0)
        shares = np.empty(len(values))
        for at, (word, value) in enumerate(zip(words, values.tolist(), strict=True)):
            key = _key(value) if value and math.isfinite(value) else "none"
            general = (max(every.get(key, 0.0) - left_out, 0) + _TRUST / _CELLS) / (max(total - left_out, 0) + _TRUST)
            own = self.counts.get(word, {}) if word else {}
            count, size = max(own.get(key, 0.0) - left_out, 0), max(self._totals.get(word, 0.0) - left_out, 0)
            shares[at] = (count + _TRUST * general) / (size + _TRUST) if own else general
        return np.log(shares / _WIDTH)

    def bits(self, words: Sequence[str], values: np.ndarray, *, counted: bool = False) -> np.ndarray:
        """Surprise in bits (N,), times `weight`; the arguments are those of `log_sizes`."""
        if not self.share:
            return np.zeros(len(values))
        return -self.weight * self.log_sizes(words, values, float(counted)) / math.log(2)

    @functools.cached_property
    def _totals(self) -> dict[str, float]:
        return {word: sum(table.values()) for word, table in self.counts.items()}


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


def _key(value: float) -> str:
    place = math.floor(math.log10(abs(value)) * _BINS + 1e-9)
    return f"{'n' if value < 0 else ''}{min(max(place, _BINS * _LOWEST), _BINS * _HIGHEST - 1)}"


def _parsed(key: str) -> int | None:
    try:
        return int(key.removeprefix("n"))
    except ValueError:
        return None
