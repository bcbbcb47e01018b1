"""Arithmetic: exercises without end, exact answers, and splits that share no operands.

What is asked is the last number of each text, `123 * 456 = 56088`. The exercises of the papers are the presets of
`presets.yaml`.

An answer is exact, or the nearest decimal of `significant` digits to what is. Exercises are drawn in blocks that depend
on config, seed, split and place alone, so that any part of a stream can be had at any time. Which split an exercise
belongs to is a hash of its operands' values, whatever their order, operation or seed: `a * b` is never trained on if
`b * a` or `a + b` is tested. Splits named in `beyond` are test sets of another range.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from numerate.config import Config
from numerate.registry import UnknownNameError, near_names
from numerate_lab.engine.paper_tables import load_yaml
from numerate_lab.registry import tasks
from numerate_lab.tasks.arithmetic.number_formats import lengths_of, shares_of
from numerate_lab.tasks.arithmetic.operand_draws import LISTS, OPERATIONS, ROOTS, Drawn, draw, solve
from numerate_lab.tasks.asked_number.asked_number import Truth

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PRESETS", "ArithmeticConfig", "ArithmeticProblems", "Samples"]

BLOCK = 1024
"""Exercises that are drawn at once."""
MOST_KEPT = 16
"""Blocks that a task remembers."""
MOST_BLOCKS = 64
"""Blocks' worth of operands that are drawn at once, for splits that few fall into."""
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, kw_only=True)
class ArithmeticConfig(Config):
    """What is calculated, and with what numbers.

    Attributes:
        operations: Some of `+ - * / ^ mean std`, equally often. `std` is that of all there are (divided by n).
        tree: Random trees of + - * over `operands` numbers, instead of one operation.
        operands: Least and most operands of a list or tree; other operations have two.
        numbers: How operands are drawn: `digits`, whole numbers of `digits` digits (uniform from least to most) with
            the point `decimals` digits from the right; `normal` and `uniform` about 0, rounded to `decimals` digits;
            `log-uniform`, significant digits and magnitude uniform; lists of those lie about one number.
        digits: Least and most digits of an operand.
        decimals: Digits behind the point.
        width: Standard deviation of `normal`, width of `uniform`.
        magnitude: Least and most power of ten of an operand's first digit, for `log-uniform`. Products, quotients and
            powers keep to it as well.
        negative: Share of negative operands, for `digits` and `log-uniform`, and of exponents; bases are positive.
        larger_first: Puts the larger operand first, so that no difference is negative.
        exponents: Whole exponents of powers,
        roots: and the n of exponents 1/n: 2, 4, 5, 8, 10, which have an end as decimals.
        significant: Digits of an answer; None for all there are.
        dev: Share of all operands that are kept for the dev split, 0 or at least 0.001,
        test: and for the test split and those beyond, at least 0.001.
        beyond: More test splits, each by what differs in this config: `{"longer": {"digits": [6, 6]}}`.
    """

    kind: ClassVar[str] = "arithmetic"
    operations: tuple[str, ...] = ("*",)
    tree: bool = False
    operands: tuple[int, int] = (2, 2)
    numbers: str = "digits"
    digits: tuple[int, int] = (3, 3)
    decimals: int = 0
    width: float = 1.0
    magnitude: tuple[int, int] = (-14, 14)
    negative: float = 0.0
    larger_first: bool = False
    exponents: tuple[int, ...] = (2, 3, 4, 5)
    roots: tuple[int, ...] = (2, 4, 5)
    significant: int | None = None
    dev: float = 0.1
    test: float = 0.1
    beyond: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = ("digits", "normal", "uniform", "log-uniform")
        for wrong, message in (
            (not self.operations or set(self.operations) - set(OPERATIONS), f"operations={self.operations}"),
            (self.tree and set(self.operations) - set("+-*"), f"a tree is of + - *: operations={self.operations}"),
            (self.numbers not in kinds, f"numbers must be one of {', '.join(kinds)}: {self.numbers!r}"),
            (not 2 <= self.operands[0] <= self.operands[1], f"operands={self.operands}"),
            (not 1 <= self.digits[0] <= self.digits[1], f"digits={self.digits}"),
            (self.numbers == "log-uniform" and self.digits[1] > 15, f"log-uniform up to 15 digits: {self.digits}"),
            (self.magnitude[0] > self.magnitude[1], f"magnitude={self.magnitude}"),
            (not 0 <= self.decimals <= 15, f"decimals={self.decimals}"),
            (not self.width > 0 or self.width * 10.0**self.decimals > 1e15, f"width={self.width}"),
            (not 0 <= self.negative <= 1, f"negative={self.negative}"),
            (set(self.roots) - set(ROOTS), f"roots must be among {', '.join(map(str, ROOTS))}: {self.roots}"),
            (any(n < 2 for n in self.exponents), f"exponents={self.exponents}"),
            (self.significant is not None and self.significant < 1, f"significant={self.significant}"),
            (self.test < 0.001 or not (self.dev == 0 or self.dev >= 0.001), f"dev={self.dev}, test={self.test}"),
            (self.dev + self.test > 0.999, f"dev={self.dev}, test={self.test}"),
            (self.significant is None and set(self.operations) & {"/", "^", *LISTS}, "no end: significant=None"),
            (
                self.numbers in ("normal", "uniform") and set(self.operations) & {"/", "^"},
                f"/ and ^ need numbers that are never 0: {self.numbers!r}",
            ),
            ("^" in self.operations and not (self.exponents or self.roots), "^ without exponents or roots"),
            (set(self.beyond) & set(SPLITS), f"a split beyond needs a name of its own: {', '.join(self.beyond)}"),
        ):
            if wrong:
                raise ValueError(f"arithmetic: {message}")
        for name in self.beyond:
            self.of_split(name)

    def of_split(self, split: str) -> ArithmeticConfig:
        """The config that a split's exercises are drawn by."""
        if split in SPLITS:
            return self
        if split not in self.beyond:
            raise ValueError(f"split {split!r}: {near_names(split, [*SPLITS, *self.beyond])}")
        return ArithmeticConfig.from_dict(self.to_dict() | self.beyond[split] | {"beyond": {}})


@dataclass(frozen=True)
class Samples:
    """N exercises, by the column.

    Attributes:
        texts: `123 * 456 = 56088`.
        operands: (N, K) float64, NaN where a row has fewer.
        operations: (N,) names; "tree" for trees.
        answers: As they are written.
        values: (N,) float64 of the answers.
        precision: (N,) int64, the power of ten of an answer's last digit.
        digits: (N, K) int64, how many digits each operand has, 0 where there is none.
    """

    texts: list[str]
    operands: np.ndarray
    operations: np.ndarray
    answers: list[str]
    values: np.ndarray
    precision: np.ndarray
    digits: np.ndarray

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, rows: slice) -> Samples:
        return Samples(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @staticmethod
    def joined(parts: Sequence[Samples]) -> Samples:
        """Several, one behind the other."""
        columns: Any = ([getattr(part, name) for part in parts] for name in Samples.__dataclass_fields__)
        joined: Any = (list(chain(*each)) if isinstance(each[0], list) else np.concatenate(each) for each in columns)
        return Samples(*joined)


class ArithmeticProblems:
    """One kind of exercise; a `QuestionSource`.

    Args:
        config: What is calculated; or a preset's name.

    Example:
        >>> ArithmeticProblems("multiply-3").texts("train", 2)
        ['... * ... = ...', '... * ... = ...']
    """

    answer_slot = -1

    def __init__(self, config: ArithmeticConfig | str) -> None:
        if isinstance(config, str):
            if config not in PRESETS:
                known = [*tasks.names(), *PRESETS]
                raise UnknownNameError(f"unknown task {config!r}: {near_names(config, known)}")
            config = PRESETS[config]
        self.config = config
        # For batches smaller than a block, and for texts and then their truth.
        self._block = functools.lru_cache(MOST_KEPT)(self._made)

    def samples(self, split: str, count: int, seed: int = 0, start: int = 0) -> Samples:
        """Exercises `start` to `start + count` of a split."""
        first, last = start // BLOCK, max(start, start + count - 1) // BLOCK
        blocks = Samples.joined([self._block(split, seed, number) for number in range(first, last + 1)])
        return blocks[start - first * BLOCK : start - first * BLOCK + count]

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """The texts alone, answers included; see `QuestionSource`."""
        return self.samples(split, count, seed, start).texts

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """What they ask for, to be measured by `digits` (the longest operand's), `operation`, `operands`."""
        found = self.samples(split, count, seed, start)
        groups = {
            "digits": found.digits.max(axis=1),
            "operation": found.operations,
            "operands": (found.digits > 0).sum(axis=1),
        }
        ends = np.array([len(text) for text in found.texts], dtype=np.int64)
        spans = np.column_stack([ends - [len(answer) for answer in found.answers], ends])
        return Truth(found.values, found.answers, found.precision, spans.astype(np.int64), groups)

    def split_of(self, operands: np.ndarray) -> np.ndarray:
        """The split of each row of operands (N, K), NaN where there is none: (N,) names."""
        shares = shares_of(np.asarray(operands, dtype=np.float64))
        both = self.config.test + self.config.dev
        return np.where(shares < self.config.test, "test", np.where(shares < both, "dev", "train"))

    def _made(self, split: str, seed: int, number: int) -> Samples:
        config = self.config.of_split(split)
        home = split if split in SPLITS else "test"
        share = {"train": 1 - config.dev - config.test, "dev": config.dev, "test": config.test}[home]
        if share == 0:
            raise ValueError(f"the {home} split is empty: dev={config.dev}, test={config.test}")
        rng = np.random.default_rng([seed, zlib.crc32(split.encode()), number])
        parts: list[Drawn] = []
        while sum(len(part.counts) for part in parts) < BLOCK:
            drawn = draw(config, rng, int(BLOCK * min(1.1 / share, MOST_BLOCKS)))
            parts.append(drawn[np.flatnonzero(self.split_of(drawn.values()) == home)])
            if len(parts) > 50:
                raise ValueError(f"the {home} split has hardly any operands: digits={config.digits}")
        drawn = Drawn.joined(parts)[slice(BLOCK)]
        solved, operands = solve(config, drawn), drawn.values()
        texts = [f"{one} = {two}" for one, two in zip(solved.expressions, solved.answers, strict=True)]
        operations = np.full(BLOCK, "tree") if config.tree else np.array(config.operations)[drawn.operations]
        digits = np.where(np.isnan(operands), 0, lengths_of(drawn.operands.digits))
        return Samples(texts, operands, operations, solved.answers, solved.values, solved.precision, digits)


_SHARED = load_yaml("numerate_lab.tasks.arithmetic", "presets.yaml")
PRESETS = {
    name: ArithmeticConfig.from_dict(_SHARED["wide"] | own if name.startswith("wide") else own)
    for name, own in _SHARED["presets"].items()
}
"""The papers' exercises."""
