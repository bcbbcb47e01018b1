"""Operands drawn at random, expressions over them, and what these are worth: whole columns at a time, exactly."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate_lab.tasks.arithmetic.number_formats import Decimals, lengths_of

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
_SIMPLE: dict[str, Any] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""Operations whose results have an end."""


@dataclass(frozen=True)
class Drawn:
    """N exercises.

    Attributes:
        operations: (N,) int64, which of the config's.
        operands: (N, K) decimals; what stands behind the last of a row means nothing.
        counts: (N,) int64, how many operands a row has.
        joins: (N, K - 1, 3) int64 for trees, otherwise (N, 0, 3): which two of the expressions left are joined, and by
            what operation.
    """

    operations: np.ndarray
    operands: Decimals
    counts: np.ndarray
    joins: np.ndarray

    def values(self) -> np.ndarray:
        """(N, K) float64, NaN where a row has no operand."""
        wide = np.arange(self.operands.digits.shape[1])
        return np.where(wide < self.counts[:, None], self.operands.values(), np.nan)

    def __getitem__(self, index: Any) -> Drawn:
        return Drawn(self.operations[index], self.operands[index], self.counts[index], self.joins[index])

    @staticmethod
    def joined(parts: Sequence[Drawn]) -> Drawn:
        """Several, one behind the other."""
        columns = [(p.operations, p.operands.digits, p.operands.exponent, p.counts, p.joins) for p in parts]
        operations, digits, exponent, counts, joins = (np.concatenate(each) for each in zip(*columns, strict=True))
        return Drawn(operations, Decimals(digits, exponent), counts, joins)


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
    # Of the k expressions left, any ordered pair, and any operation; uniform numbers, since k differs by row.
    joins = rng.integers(1 << 62, size=(count, shape[1] - 1 if config.tree else 0, 3))
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
    digits[:, 1] = np.where(chosen, sign * by, digits[:, 1])
    powers[:, 1] = np.where(chosen, exponent, powers[:, 1])
    return Decimals(digits, powers)


def solve(config: ArithmeticConfig, drawn: Drawn) -> Solved:
    """Writes the expressions and works them out."""
    width, texts = drawn.operands.digits.shape[1], drawn.operands.texts()
    names = [config.operations[index] for index in drawn.operations.tolist()]
    rows = [slice(row * width, row * width + n) for row, n in enumerate(drawn.counts.tolist())]
    expressions = [_written(name, texts[row]) for name, row in zip(names, rows, strict=True)]
    simple = set(config.operations) <= _SIMPLE.keys()
    if not config.tree and config.numbers != "log-uniform" and config.significant is None and simple:
        return _plainly(config, drawn, expressions)
    digits, exponents = drawn.operands.digits.ravel().tolist(), drawn.operands.exponent.ravel().tolist()
    with localcontext(Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)):  # sums and products are exact
        numbers = [Decimal(one).scaleb(power) for one, power in zip(digits, exponents, strict=True)]
        if config.tree:
            joins = zip(rows, drawn.joins.tolist(), strict=True)
            trees = [_tree(config, numbers[row], texts[row], join) for row, join in joins]
            expressions, found = [text for _, text in trees], [_rounded(config, "tree", value) for value, _ in trees]
        else:
            longest = int(lengths_of(drawn.operands.digits).max())
            worked = [_worked_out(config, name, numbers[row], longest) for name, row in zip(names, rows, strict=True)]
            found = [_rounded(config, name, *each) for name, each in zip(names, worked, strict=True)]
    answers, places = [answer for answer, _ in found], [place for _, place in found]
    return Solved(expressions, answers, np.array([float(one) for one in answers]), np.array(places, dtype=np.int64))


def _written(name: str, operands: Sequence[str]) -> str:
    return f"{name}({', '.join(operands)})" if name in LISTS else f" {name} ".join(operands)


def _plainly(config: ArithmeticConfig, drawn: Drawn, expressions: list[str]) -> Solved:
    """Sums, differences and products of decimals with as many digits behind the point, by array."""
    one, two = drawn.operands.digits[:, 0], drawn.operands.digits[:, 1]
    if 2 * int(lengths_of(drawn.operands.digits[:, :2]).max()) > _INT64_DIGITS:
        one, two = one.astype(object), two.astype(object)
    kinds = np.array(config.operations)[drawn.operations]
    digits = np.where(kinds == "*", one * two, np.where(kinds == "+", one + two, one - two))
    answers = Decimals(digits, np.where(kinds == "*", -2 * config.decimals, -config.decimals))
    return Solved(expressions, answers.texts(), answers.values(), answers.exponent)


@functools.cache
def _rounding_to(digits: int) -> Context:
    return Context(prec=digits)


def _total(numbers: Sequence[Decimal]) -> Decimal:
    return sum(numbers[1:], numbers[0])  # with their exponent, which a sum from 0 on would lose


def _worked_out(config: ArithmeticConfig, name: str, numbers: Sequence[Decimal], longest: int) -> tuple[Decimal, bool]:
    """One operation, and whether its result may have no end; such a result has so many digits that it rounds right."""
    one, two, count = numbers[0], numbers[1], len(numbers)
    if name in _SIMPLE:
        return _SIMPLE[name](one, two), False
    whole_power = math.prod([one] * abs(int(two)), start=Decimal(1)) if name == "^" and two % 1 == 0 else None
    if whole_power is not None and two > 0:
        return whole_power, False
    wanted = config.significant or 0  # what needs it has it
    # So many digits differ from those of a number halfway between two answers, if an nth root or power differs at all.
    degree = max(2, abs(int(two)), round(1 / abs(float(two)))) if name == "^" else 2
    near = _rounding_to(degree * (wanted + 1 + longest) + 30)
    total = _total(numbers)
    if name == "/":
        found = near.divide(one, two)
    elif whole_power is not None:
        found = near.divide(1, whole_power)
    elif name == "^":
        found = _root(one if two > 0 else near.divide(1, one), abs(two), near)
    elif name == "std":
        found = near.divide(near.sqrt(count * _total([number * number for number in numbers]) - total * total), count)
    elif total:
        found = near.divide(total, count)
    else:  # a mean of 0 has the places of other means
        return total.scaleb(-wanted - len(str(count))), True
    return _rounding_to(near.prec - 10).plus(found), True


def _root(number: Decimal, exponent: Decimal, near: Context) -> Decimal:
    """A number to the power 1/n, where n is 2, 4, 8, 5 or 10."""
    while exponent < 1 and exponent != Decimal("0.2"):
        number, exponent = near.sqrt(number), 2 * exponent
    if exponent == 1:
        return number
    root = _rounding_to(20).power(number, exponent)
    with localcontext(near):  # Newton's method doubles the digits each time, faster than a power of many digits
        for _ in range((near.prec // 16).bit_length()):
            root = (4 * root + number / root**4) / 5
    return root


def _rounded(config: ArithmeticConfig, name: str, value: Decimal, endless: bool = False) -> tuple[str, int]:
    """An answer as it is written, and the power of ten of its last digit.

    Answers that were rounded, or may have no end, are written without zeros behind their last digit.
    """
    significant = config.significant
    kept = value if significant is None else _rounding_to(significant).plus(value)
    kept = kept if kept else kept.copy_abs()  # no -0
    place: Any = kept.as_tuple().exponent
    whole = (name in _SIMPLE or name == "tree") and place == value.as_tuple().exponent
    if endless and kept and significant is not None:
        place = kept.adjusted() - significant + 1
    return format(kept if whole else kept.normalize(), "f"), place


def _tree(
    config: ArithmeticConfig, numbers: Sequence[Decimal], texts: Sequence[str], joins: Sequence[Sequence[int]]
) -> tuple[Decimal, str]:
    """A random binary tree: of the expressions left, two are joined by an operation, until one is left."""
    left = list(zip(numbers, texts, strict=True))
    for one, two, kind in joins[: len(numbers) - 1]:
        first, first_text = left.pop(one % len(left))
        second, second_text = left.pop(two % len(left))
        name = config.operations[kind % len(config.operations)]
        left.append((_SIMPLE[name](first, second), f"({first_text} {name} {second_text})"))
    return left[0]
