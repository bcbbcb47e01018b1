"""Synthetic sentences in which words determine the distribution of each number.

Four kinds of number depend on cue words several tokens before them: years on the era of a building, ages on a stage of
life, prices with two decimals on product and quality, and heavy-tailed counts on event and fame. As each distribution
is known, so are the lowest possible cross-entropy and the calibration of a perfect model. All other words are
independent of the numbers.

Spreads are small enough that a few thousand texts contain most probable numerals. Otherwise the adjusted perplexity of
a closed vocabulary, which divides the probability of the unknown type by the number of types missing in *training*,
could fall below the entropy.

A text depends on seed, split and index only: data sets of any size can be streamed, and splits share no random state.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SPLITS", "TRUTHS", "KnownNumber", "KnownText", "Truth", "entropy_floor", "known_text", "known_texts"]

SPLITS = ("train", "dev", "test")
_NORMAL = NormalDist()
_NUMERAL = re.compile(r"(?:0|[1-9][0-9]*)(?:\.([0-9]+))?", re.ASCII)


@dataclass(frozen=True)
class Truth:
    """Distribution of one number: normal, log-normal or Pareto, rounded and truncated at `least`.

    Attributes:
        shape: `normal` with mean `centre` and deviation `spread`; `log-normal` with median `centre` and deviation
            `spread` of its logarithm; `pareto` of the second kind, P(X > x) = (1 + x / centre) ** (-1 / spread).
        centre: Location parameter of the shape.
        spread: Scale parameter of the shape.
        decimals: Number of decimals; numbers are always written with all of them.
        least: Smallest possible number, in units of the last decimal.

    Example:
        >>> age = Truth("normal", centre=2.0, spread=1.0)
        >>> [round(math.exp(age.log_prob(text)), 4) for text in ("0", "2", "2.0", "007")]
        [0.061, 0.3853, 0.0, 0.0]
        >>> age.quantile(0.5), age.cdf(2.9), age.cdf(3)
        (2.0, 0.6895..., 0.9327...)
    """

    shape: Literal["normal", "log-normal", "pareto"]
    centre: float
    spread: float
    decimals: int = 0
    least: int = 0

    def __post_init__(self) -> None:
        if self.shape not in ("normal", "log-normal", "pareto"):
            raise ValueError(f"shape must be normal, log-normal or pareto, got {self.shape=}")
        if not (self.centre > 0 and self.spread > 0):
            raise ValueError(f"centre and spread must be positive, got {self.centre=}, {self.spread=}")
        if not 0 <= self.decimals <= 15 or self.least < 0:
            raise ValueError(
                f"decimals must lie in 0 to 15 and least must not be negative, got {self.decimals=}, {self.least=}"
            )

    def log_prob(self, text: str) -> float:
        """Log-probability of a numeral as written; -inf for any other notation of the number."""
        match = _NUMERAL.fullmatch(text)
        if match is None or len(match[1] or "") != self.decimals:
            return -math.inf
        units = int(text.replace(".", ""))
        return -math.inf if units < self.least else self._log_between(units - 0.5, units + 0.5) - self._log_kept()

    def cdf(self, value: float) -> float:
        """P(number <= value) of the rounded number: a step function."""
        units = math.floor(value * 10**self.decimals + 1e-9)
        if units < self.least:
            return 0.0
        return math.exp(self._log_between(self.least - 0.5, units + 0.5) - self._log_kept())

    def quantile(self, p: float) -> float:
        """The smallest number with cdf >= p, for 0 < p < 1, within 2**-53 of p."""
        return self._units(p) / 10**self.decimals

    def write(self, p: float) -> str:
        """The number at quantile p as text; a uniform random p gives a sample of the distribution.

        Example:
            >>> Truth("log-normal", 20.0, 0.5, decimals=2).write(0.25)
            '14.27'
        """
        units = self._units(p)
        digits = f"{units:0{self.decimals + 1}d}"
        return f"{digits[: -self.decimals]}.{digits[-self.decimals :]}" if self.decimals else digits

    def _units(self, p: float) -> int:
        """The quantile p in units of the last decimal."""
        if not 0 < p < 1:
            raise ValueError(f"p must lie between 0 and 1, got {p=}")
        above = min((1 - p) * self._above(self.least - 0.5), 1 - 2**-53)
        if self.shape == "pareto":
            value = self.centre * math.expm1(-self.spread * math.log(above))
        elif self.shape == "normal":
            value = self.centre - self.spread * _NORMAL.inv_cdf(above)
        else:
            value = self.centre * math.exp(-self.spread * _NORMAL.inv_cdf(above))
        return max(self.least, math.ceil(value * 10**self.decimals - 0.5))

    def _score(self, units: float) -> float:
        """Position on the standard normal distribution."""
        value = units / 10**self.decimals
        if self.shape == "normal":
            return (value - self.centre) / self.spread
        return math.log(value / self.centre) / self.spread if value > 0 else -math.inf

    def _above(self, units: float) -> float:
        """P(X > units) before rounding, exact in the upper tail."""
        if self.shape == "pareto":
            return (1 + max(0.0, units / 10**self.decimals) / self.centre) ** (-1 / self.spread)
        return math.erfc(self._score(units) / math.sqrt(2)) / 2

    def _log_between(self, low: float, high: float) -> float:
        """Log P(low < X <= high) before rounding, computed in the nearer tail; -inf where it underflows."""
        if self.shape != "pareto" and self._score(high) < 0:
            mass = (math.erfc(-self._score(high) / math.sqrt(2)) - math.erfc(-self._score(low) / math.sqrt(2))) / 2
        else:
            mass = self._above(low) - self._above(high)
        return math.log(mass) if mass > 0 else -math.inf

    def _log_kept(self) -> float:
        """Log-probability of `least` or more before truncation."""
        return math.log(self._above(self.least - 0.5))


def _normals(least: int, **cues: tuple[float, float]) -> dict[str, Truth]:
    return {cue: Truth("normal", *figures, least=least) for cue, figures in cues.items()}


def _scaled(cues: dict[str, Truth], **factors: float) -> dict[str, Truth]:
    """Each cue after each adjective, which multiplies the centre of its distribution."""
    return {
        f"{adjective} {cue}": Truth(truth.shape, truth.centre * factor, truth.spread, truth.decimals, truth.least)
        for adjective, factor in factors.items()
        for cue, truth in cues.items()
    }


_GOODS = {
    name: Truth("log-normal", centre, spread, decimals=2, least=1)
    for name, centre, spread in (
        ("pen", 1.2, 0.15), ("coffee", 3.0, 0.12), ("book", 12.0, 0.2), ("shirt", 25.0, 0.15), ("coat", 80.0, 0.2),
    )
}  # fmt: skip
_EVENTS = {
    "reading": Truth("log-normal", 15.0, 0.7, least=1),
    "concert": Truth("log-normal", 300.0, 0.8, least=1),
    "film": Truth("pareto", 60.0, 0.7, least=1),
    "song": Truth("pareto", 150.0, 0.9, least=1),
}

TRUTHS: dict[str, dict[str, Truth]] = {
    "year": _normals(
        1, medieval=(1240.0, 70.0), baroque=(1685.0, 25.0), victorian=(1868.0, 16.0), modern=(1962.0, 12.0),
        new=(2014.0, 4.0),
    ),
    "age": _normals(
        0, toddler=(2.2, 0.9), pupil=(11.0, 2.5), student=(22.0, 2.5), worker=(43.0, 10.0), pensioner=(75.0, 7.0)
    ),
    "price": _scaled(_GOODS, used=0.5, plain=1.0, precious=2.2),
    "count": _scaled(_EVENTS, local=0.3, known=1.0, famous=4.0),
}  # fmt: skip
"""Distributions by kind of number and cue words: `TRUTHS["price"]["used book"]`."""

_CLAUSES = {
    "year": ("{place} the {cue} {building} was {built} in the year #", "the {cue} {building} {place} dates from #"),
    "age": ("{place} the {cue} who was {doing} is # years old", "the {cue} {doing} {place} turned # last week"),
    "price": ("the {cue} {place} costs # euros", "for the {cue} {place} we paid # euros"),
    "count": ("the {cue} {place} drew # people", "over the year the {cue} {place} reached # people"),
}
_FILLERS = {
    "building": ("castle", "church", "bridge", "hall", "tower", "mill"),
    "built": ("built", "finished", "restored"),
    "place": (
        "on the hill", "by the river", "in the old town", "near the station", "behind the market", "at the lake",
        "across the street", "under the trees",
    ),
    "doing": ("waiting", "singing", "standing", "reading", "resting"),
}  # fmt: skip
_FILLER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class KnownNumber:
    """A number `text[start:end]`, its kind, its cue words and its distribution."""

    kind: str
    cue: str
    start: int
    end: int
    truth: Truth


@dataclass(frozen=True)
class KnownText:
    """A text and its numbers, in order."""

    text: str
    numbers: tuple[KnownNumber, ...]

    def log_probs(self) -> list[float]:
        """Log-probability of each number as written, under its own distribution."""
        return [number.truth.log_prob(self.text[number.start : number.end]) for number in self.numbers]


def known_text(index: int, split: str = "train", seed: int = 0, clauses: int = 1) -> KnownText:
    """One text of a split: 1 to 4 clauses with one number each, all of different kinds.

    Example:
        >>> example = known_text(2)
        >>> example.text
        'the medieval bridge behind the market dates from 1237'
        >>> number = example.numbers[0]
        >>> number.kind, number.cue, number.truth.centre, example.log_probs()
        ('year', 'medieval', 1240.0, [-5.1683...])
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    if index < 0:
        raise ValueError(f"index must not be negative, got {index=}")
    if not 1 <= clauses <= len(TRUTHS):
        raise ValueError(f"clauses must lie in 1 to {len(TRUTHS)}, got {clauses=}")
    rng = random.Random(f"numerate known numbers {seed} {split} {index}")
    text, numbers = "", []
    for kind in rng.sample(list(TRUTHS), k=clauses):
        cue = rng.choice(list(TRUTHS[kind]))
        words = rng.choice(_CLAUSES[kind]).replace("{cue}", cue)
        words = _FILLER.sub(lambda match: rng.choice(_FILLERS[match[1]]), words)
        truth = TRUTHS[kind][cue]
        before, after = (f"{text} , and {words}" if text else words).split("#")
        numeral = truth.write((rng.getrandbits(52) + 0.5) / 2**52)  # never 0 or 1
        numbers.append(KnownNumber(kind, cue, len(before), len(before) + len(numeral), truth))
        text = before + numeral + after
    return KnownText(text, tuple(numbers))


def known_texts(split: str = "train", count: int = 10_000, seed: int = 0, clauses: int = 1) -> Iterator[KnownText]:
    """Streams the texts of a split."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    return (known_text(index, split, seed, clauses) for index in range(count))


def entropy_floor(texts: Iterable[KnownText]) -> float:
    """Mean negative log-probability of the numbers under their true distributions, in nats: a lower bound of the loss.

    Example:
        >>> round(entropy_floor(known_texts("test", 500)), 2)
        4.96
    """
    terms = [term for text in texts for term in text.log_probs()]
    if not terms:
        raise ValueError("the texts have no numbers")
    return -math.fsum(terms) / len(terms)
