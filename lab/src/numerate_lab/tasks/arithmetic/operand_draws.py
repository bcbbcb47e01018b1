"""Operands drawn at random, expressions over them, and what these are worth: whole columns at a time, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate_lab.tasks.arithmetic.number_formats import Decimals, lengths_of, plain, power, quotient, rounded, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate_lab.tasks.arithmetic.problems import ArithmeticConfig

__all__ = ["LISTS", "OPERATIONS", "ROOTS", "Drawn", "Solved", "draw", "solve"]

OPERATIONS = ("+", "-", "*", "/", "^", "mean", "std")
LISTS = ("mean", "std")
"""Operations over a list of operands."""
ROOTS = {2: (5, -1), 4: (25, -2), 5: (2, -1), 8: (125, -3), 10: (1, -1)}
"""Roots whose exponent 1/n has an end as a decimal (a third cannot be written), and that decimal."""
_INT64_DIGITS = 18


@dataclass(frozen=True)
class Drawn:
    """N exercises.

    Attributes:
        operations: (N,) int64, which of the config's.
        operands: (N, K) decimals; what stands behind the last of a row means nothing.
        counts: (N,) int64, how many operands a row has.
        joins: (N, K - 1, 3) int64 for trees: which two of the expressions left are joined, and by what operation.
    """

    operations: np.ndarray
    operands: Decimals
    counts: np.ndarray
    joins: np.ndarray | None = None

    def values(self) -> np.ndarray:
        """(N, K) float64, NaN where a row has no operand."""
        wide = np.arange(self.operands.digits.shape[1])
        return np.where(wide < self.counts[:, None], self.operands.values(), np.nan)

    def __getitem__(self, index: Any) -> Drawn:
        joins = None if self.joins is None else self.joins[index]
        return Drawn(self.operations[index], self.operands[index], self.counts[index], joins)

    @staticmethod
    def joined(parts: Sequence[Drawn]) -> Drawn:
        """Several, one behind the other."""
        operands = Decimals(*(np.concatenate([getattr(p.operands, n) for p in parts]) for n in ("digits", "exponent")))
        joins = None if parts[0].joins is None else np.concatenate([p.joins for p in parts if p.joins is not None])
        operations, counts = (np.concatenate([getattr(p, n) for p in parts]) for n in ("operations", "counts"))
        return Drawn(operations, operands, counts, joins)


@dataclass(frozen=True)
class Solved:
    """N expressions with their values.

    Attributes:
        expressions: `123 * 456`.
        answers: How each answer is written.
        values: (N,) float64, the nearest to it.
        precision: (N,) int64, the power of ten of the last digit that an answer has to have right.
    """

    expressions: list[str]
    answers: list[str]
    values: np.ndarray
    precision: np.ndarray


def draw(config: ArithmeticConfig, rng: np.random.Generator, count: int) -> Drawn:
    """Draws `count` exercises."""
    lists = np.array([name in LISTS or config.tree for name in config.operations])
    operations = rng.integers(len(config.operations), size=count)
    low, high = config.operands
    counts = np.where(lists[operations], rng.integers(low, high + 1, size=count), 2)
    shape = (count, high if lists.any() else 2)
    if config.numbers == "log-uniform":
        numbers = _log_uniform(config, rng, shape, operations)
    elif config.numbers == "digits":
        nonzero = "/" in config.operations or "^" in config.operations
        digits = _of_length(rng, rng.integers(config.digits[0], config.digits[1] + 1, size=shape), nonzero)
        numbers = _signed(config, rng, digits), np.full(shape, -config.decimals)
    else:
        size = config.width * 10.0**config.decimals
        reals = rng.standard_normal(shape) if config.numbers == "normal" else rng.random(shape) - 0.5
        numbers = np.rint(size * reals).astype(np.int64), np.full(shape, -config.decimals)
    operands = _with_exponents(config, rng, operations, Decimals(*numbers))
    if config.larger_first:
        swap = operands.values()[:, 1] > operands.values()[:, 0]
        order = np.where(swap[:, None] & (np.arange(shape[1]) < 2), 1 - np.arange(shape[1]), np.arange(shape[1]))
        operands = Decimals(*(np.take_along_axis(a, order, 1) for a in (operands.digits, operands.exponent)))
    joins = None
    if config.tree:
        # Of the k expressions left, any ordered pair, and any operation; uniform numbers, since k differs by row.
        joins = rng.integers(1 << 62, size=(count, shape[1] - 1, 3))
    return Drawn(operations, operands, counts, joins)


def _of_length(rng: np.random.Generator, lengths: np.ndarray, nonzero: bool) -> np.ndarray:
    """Whole numbers with so many digits: int64, or objects where they are longer than that."""
    longest = int(lengths.max(initial=1))
    if longest <= _INT64_DIGITS:
        low = np.where((lengths == 1) & (not nonzero), 0, 10 ** (lengths - 1))
        return rng.integers(low, 10**lengths)
    figures = rng.integers(0, 10, size=(lengths.size, longest), dtype=np.uint8) + np.uint8(48)
    first = rng.integers(1, 10, size=lengths.size)
    numbers = [
        int(lead) * 10 ** (length - 1) + int(row[: length - 1].tobytes() or b"0")
        for lead, row, length in zip(first, figures, lengths.ravel().tolist(), strict=True)
    ]
    return np.array(numbers, dtype=object).reshape(lengths.shape)


def _signed(config: ArithmeticConfig, rng: np.random.Generator, digits: np.ndarray) -> np.ndarray:
    return digits if config.negative == 0 else np.where(rng.random(digits.shape) < config.negative, -digits, digits)


def _log_uniform(
    config: ArithmeticConfig, rng: np.random.Generator, shape: tuple[int, int], operations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Significant digits and magnitudes, each uniform; so that products and quotients keep to the magnitudes, too."""
    low, high = config.magnitude
    lengths = rng.integers(config.digits[0], config.digits[1] + 1, size=shape)
    digits = _of_length(rng, lengths, nonzero=True)
    magnitude = rng.integers(low, high + 1, size=shape)
    first, names = magnitude[:, 0], np.array(config.operations)[operations]
    for name, least, most in (("*", low - first, high - first), ("/", first - high, first - low)):
        least, most = np.maximum(low, least), np.minimum(high, most)
        fits = (names == name) & (least <= most)
        magnitude[:, 1] = np.where(fits, rng.integers(least, np.maximum(least, most) + 1), magnitude[:, 1])
    digits, exponent = _signed(config, rng, digits), magnitude - lengths + 1
    lists = np.isin(names, LISTS)
    if lists.any():  # about one number, with a spread of any magnitude that its digits can show
        length, wide = lengths[:, :1], 10.0 ** lengths[:, :1]
        steps = 10 ** (rng.random((shape[0], 1)) * (length - 1)) * rng.standard_normal(shape)
        near = np.clip(digits[:, :1] + np.rint(steps), 1 - wide, wide - 1).astype(np.int64)
        digits = np.where(lists[:, None], near, digits)
        exponent = np.where(lists[:, None], exponent[:, :1], exponent)
    return digits, exponent


def _with_exponents(
    config: ArithmeticConfig, rng: np.random.Generator, operations: np.ndarray, operands: Decimals
) -> Decimals:
    """The operands with the second of each power drawn anew: a whole number, or the reciprocal of one."""
    if "^" not in config.operations:
        return operands
    chosen = (np.array(config.operations) == "^")[operations]
    table = np.array([(n, 0, n, 0) for n in config.exponents] + [(*ROOTS[n], n, 1) for n in config.roots])
    by, exponent, degree, root = table[rng.integers(len(table), size=len(operations))].T
    sign = np.where(rng.random(len(operations)) < config.negative, -1, 1)
    digits, powers = operands.digits.copy(), operands.exponent.copy()
    if config.numbers == "log-uniform":
        length = lengths_of(digits[:, 0]) - 1
        magnitude = powers[:, 0] + length
        # Of an nth of the magnitude, so that the power keeps to it.
        shrunk = np.where(root == 1, magnitude, np.trunc(magnitude / degree).astype(np.int64)) - length
        powers[:, 0] = np.where(chosen, shrunk, powers[:, 0])
    digits[:, 0] = np.where(chosen, np.abs(digits[:, 0]), digits[:, 0])  # what -2 ^ 2 means depends on whom one asks
    digits[:, 1], powers[:, 1] = (
        np.where(chosen, a, b) for a, b in ((sign * by, digits[:, 1]), (exponent, powers[:, 1]))
    )
    return Decimals(digits, powers)


def solve(config: ArithmeticConfig, drawn: Drawn) -> Solved:
    """Writes the expressions and works them out."""
    if drawn.joins is not None:
        return _trees(config, drawn)
    width, texts = drawn.operands.digits.shape[1], drawn.operands.texts()
    names = [config.operations[index] for index in drawn.operations.tolist()]
    counts = drawn.counts.tolist()
    written = [texts[row * width : row * width + n] for row, n in enumerate(counts)]
    expressions = [
        f"{name}({', '.join(operands)})" if name in LISTS else f" {name} ".join(operands)
        for name, operands in zip(names, written, strict=True)
    ]
    if config.numbers != "log-uniform" and config.significant is None and set(config.operations) <= set("+-*"):
        return _plainly(config, drawn, expressions)
    rows, powers = drawn.operands.digits.tolist(), drawn.operands.exponent.tolist()
    wanted = config.significant or 0  # what needs it has it
    found = [
        _worked_out(name, row[:n], power[:n], wanted)
        for name, row, power, n in zip(names, rows, powers, counts, strict=True)
    ]
    return _finished(config, expressions, found, [name not in "+-*" for name in names])


def _plainly(config: ArithmeticConfig, drawn: Drawn, expressions: list[str]) -> Solved:
    """Sums, differences and products of decimals with as many digits behind the point, by array."""
    one, two = drawn.operands.digits[:, 0], drawn.operands.digits[:, 1]
    longest = max(len(str(int(abs(column).max(initial=0)))) for column in (one, two))
    if 2 * longest > _INT64_DIGITS:
        one, two = one.astype(object), two.astype(object)
    kinds = np.array(config.operations)[drawn.operations]
    digits = np.where(kinds == "*", one * two, np.where(kinds == "+", one + two, one - two))
    answers = Decimals(digits, np.where(kinds == "*", -2 * config.decimals, -config.decimals))
    return Solved(expressions, answers.texts(), answers.values(), answers.exponent)


def _aligned(digits: Sequence[int], powers: Sequence[int]) -> tuple[list[int], int]:
    """Whole numbers of one power of ten."""
    least = min(powers)
    return [number * 10 ** (power - least) for number, power in zip(digits, powers, strict=True)], least


def _worked_out(name: str, digits: Sequence[int], powers: Sequence[int], wanted: int) -> tuple[int, int]:
    """One operation: exact, or to more digits than are wanted."""
    if name == "*":
        return digits[0] * digits[1], powers[0] + powers[1]
    if name == "/":
        return quotient(digits[0], digits[1], powers[0] - powers[1], wanted)
    if name == "^":
        root = powers[1] < 0
        by = {decimal: degree for degree, decimal in ROOTS.items()}[abs(digits[1]), powers[1]] if root else digits[1]
        return power(digits[0], powers[0], -abs(by) if digits[1] < 0 else by, root, wanted)
    numbers, least = _aligned(digits, powers)
    if name == "mean":
        return quotient(sum(numbers), len(numbers), least, wanted)
    if name == "std":
        return spread(numbers, least, wanted)
    return (numbers[0] + numbers[1] if name == "+" else numbers[0] - numbers[1]), least


def _finished(
    config: ArithmeticConfig, expressions: list[str], found: list[tuple[int, int]], endless: list[bool]
) -> Solved:
    """Answers rounded and written; those that were, or may have no end, without zeros behind their last digit."""
    answers, precision = [], []
    for (digits, exponent), open_ended in zip(found, endless, strict=True):
        kept, place = rounded(digits, exponent, config.significant)
        precision.append(place)
        if open_ended or place != exponent:
            while place < 0 and kept % 10 == 0:
                kept, place = kept // 10, place + 1
        answers.append(plain(kept, place))
    values = np.array([float(answer) for answer in answers])
    return Solved(expressions, answers, values, np.array(precision, dtype=np.int64))


def _trees(config: ArithmeticConfig, drawn: Drawn) -> Solved:
    """Random binary trees: of the expressions left, two are joined by an operation, until one is left."""
    width, texts = drawn.operands.digits.shape[1], drawn.operands.texts()
    joins = [] if drawn.joins is None else drawn.joins.tolist()
    rows, powers, counts = drawn.operands.digits.tolist(), drawn.operands.exponent.tolist(), drawn.counts.tolist()
    kinds, expressions, found = config.operations, [], []
    for row, count in enumerate(counts):
        start = row * width
        left = list(zip(rows[row][:count], powers[row], texts[start : start + count], strict=False))
        for number in range(count - 1):
            one, two, kind = joins[row][number]
            first, first_power, first_text = left.pop(one % len(left))
            second, second_power, second_text = left.pop(two % len(left))
            name = kinds[kind % len(kinds)]
            if name == "*":
                worth, place = first * second, first_power + second_power
            else:
                place = min(first_power, second_power)
                if first_power != second_power:
                    first, second = first * 10 ** (first_power - place), second * 10 ** (second_power - place)
                worth = first + second if name == "+" else first - second
            left.append((worth, place, f"({first_text} {name} {second_text})"))
        worth, place, text = left[0]
        expressions.append(text)
        found.append((worth, place))
    return _finished(config, expressions, found, [False] * len(found))
