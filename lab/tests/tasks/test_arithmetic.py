"""Arithmetic against Python's own decimals and fractions, its splits, and its streams."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from numerate.reading import make_reader
from numerate.registry import UnknownNameError
from numerate_lab.tasks.arithmetic.number_formats import Decimals, shares_of
from numerate_lab.tasks.arithmetic.problems import BLOCK, PRESETS, ArithmeticConfig, ArithmeticProblems

COUNT = 80


def tree_value(text: str) -> Fraction:
    """The value of an expression with all its parentheses, token by token."""
    stack: list[Any] = []
    for token in text.replace("(", "( ").replace(")", " )").split():
        if token == ")":
            two, name, one, _ = (stack.pop() for _ in range(4))
            stack.append({"+": one + two, "-": one - two, "*": one * two}[name])
        else:
            stack.append(token if token in "(+-*" else Fraction(token))
    assert len(stack) == 1
    return stack[0]


def nearest(value: Fraction, digits: int) -> Decimal:
    """A fraction as the nearest decimal, by Python's own division."""
    with localcontext(Context(prec=digits, rounding=ROUND_HALF_EVEN)):
        return Decimal(value.numerator) / Decimal(value.denominator)


def by_decimals(text: str, digits: int = 15) -> Decimal:
    """What the left side of an exercise comes to."""
    with localcontext(Context(prec=80)):
        if text.startswith(("mean", "std")):
            name, _, inner = text.rstrip(")").partition("(")
            numbers = [Decimal(number) for number in inner.split(", ")]
            mean = sum(numbers) / len(numbers)
            found = mean if name == "mean" else (sum((n - mean) ** 2 for n in numbers) / len(numbers)).sqrt()
        else:
            one, name, two = text.split(" ")
            a, b = Decimal(one), Decimal(two)
            found = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "^": lambda: a**b}[
                name
            ]()
    found = Context(prec=70).plus(found)  # a root that has an end may be off in its 80th digit
    return Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(found)


def test_exact_answers() -> None:
    for name in [name for name in PRESETS if not name.startswith("wide")]:
        task = ArithmeticProblems(name)
        for split in ("train", "test", *task.config.beyond):
            samples = task.samples(split, COUNT)
            for text, answer in zip(samples.texts, samples.answers, strict=True):
                left, right = text.split(" = ")
                assert right == answer
                truth = tree_value(left if task.config.tree else f"({left})")
                if task.config.significant is None:
                    assert Fraction(answer) == truth, text
                else:
                    assert Decimal(answer) == nearest(truth, 15), text


def test_answers_are_the_nearest_of_fifteen_digits() -> None:
    for name in [name for name in PRESETS if name.startswith("wide")]:
        task = ArithmeticProblems(name)
        for split in ("train", *task.config.beyond):
            samples = task.samples(split, 2 * COUNT)
            assert set(samples.operations.tolist()) == set(task.config.operations)
            for text in samples.texts:
                left, right = text.split(" = ")
                assert Decimal(right) == by_decimals(left), text
                assert "e" not in right.lower()


def test_columns_say_what_the_texts_say() -> None:
    """The standard reader finds operands and answer in every text, and nothing else."""
    for name in PRESETS:
        reader, samples = make_reader("standard"), ArithmeticProblems(name).samples("dev", 100)
        for row, text in enumerate(samples.texts):
            found = [numeral.value for numeral in reader.find(text)]
            operands = samples.operands[row][~np.isnan(samples.operands[row])]
            if samples.operations[row] == "tree":  # written in the order of the tree
                assert sorted(found[:-1]) == sorted(operands.tolist())
            else:
                assert found[:-1] == operands.tolist()
            assert found[-1] == samples.values[row] == float(samples.answers[row])
            lengths = samples.digits[row][samples.digits[row] > 0]
            assert len(lengths) == len(operands)


def test_a_product_of_two_fifteen_digit_numbers_rounds_once() -> None:
    """Through a float64 it would be off by one in many cases."""
    samples = ArithmeticProblems(
        ArithmeticConfig(numbers="log-uniform", digits=(15, 15), magnitude=(0, 0), significant=15)
    ).samples("train", COUNT)
    through_floats = [float(f"{a * b:.14e}") for a, b in samples.operands.tolist()]
    assert (np.array(through_floats) != samples.values).any()


def test_rounding_half_to_even() -> None:
    """Short operands and few digits make many answers that lie halfway between two numbers."""
    config = ArithmeticConfig(
        operations=("/", "^", "mean", "std"), digits=(1, 3), negative=0.3, roots=(2, 4, 5, 8, 10), significant=2
    )
    for text in ArithmeticProblems(config).texts("train", 2000):
        left, right = text.split(" = ")
        assert Decimal(right) == by_decimals(left, 2), text


def test_values_are_the_nearest_floats() -> None:
    rng = np.random.default_rng(0)
    digits, exponent = rng.integers(-(10**18), 10**18, 500), rng.integers(-40, 20, 500)
    for some in (slice(0, 500), slice(0, 1)):
        columns = Decimals(digits[some], exponent[some])
        assert columns.values().tolist() == [float(text) for text in columns.texts()]
    short = Decimals(digits // 10**3, np.full(500, -22))
    assert short.values().tolist() == [float(Fraction(int(n), 10**22)) for n in short.digits]
    assert Decimals(np.array([10**40 + 1], dtype=object), np.array([-5])).values().tolist() == [1e35]


def test_splits_share_no_operands() -> None:
    for name in ["multiply-3", "expressions-3", "wide", "add-60"]:
        task = ArithmeticProblems(name)
        sets = {}
        for split in ("train", "dev", "test"):
            rows = [task.samples(split, BLOCK, seed).operands for seed in (0, 1)]
            assert (task.split_of(np.concatenate(rows)) == split).all()
            sets[split] = {tuple(sorted(row[~np.isnan(row)])) for row in np.concatenate(rows)}
        assert not (sets["train"] & sets["test"] or sets["train"] & sets["dev"] or sets["dev"] & sets["test"])


def test_a_split_is_of_the_operands_alone() -> None:
    pairs = np.random.default_rng(0).integers(0, 1000, (5000, 2)).astype(float)
    task = ArithmeticProblems("multiply-3")
    assert (task.split_of(pairs) == task.split_of(pairs[:, ::-1].copy())).all()
    assert (shares_of(np.array([[-0.0, 1.5]])) == shares_of(np.array([[1.5, 0.0]]))).all()
    padded = np.column_stack([pairs, np.full(5000, np.nan)])
    assert (task.split_of(padded) == task.split_of(pairs)).all()
    shares = shares_of(pairs)
    counts = np.histogram(shares, bins=10, range=(0, 1))[0]
    assert ((counts > 400) & (counts < 600)).all()
    for split, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        assert (task.split_of(pairs) == split).mean() == pytest.approx(share, abs=0.02)


def test_any_part_of_a_split_is_the_same_however_it_is_cut() -> None:
    task = ArithmeticProblems("expressions-2")
    whole = task.texts("train", 2500)
    assert task.texts("train", 100, start=1000) == whole[1000:1100]
    assert ArithmeticProblems("expressions-2").texts("train", 30) == whole[:30]
    assert task.texts("train", 30, seed=1) != whole[:30]
    assert task.texts("train", 0) == []
    task.samples("train", 5).operands[:] = 0
    far = task.texts("train", 5, start=40 * BLOCK)
    for number in range(20):  # more than are kept
        task.texts("train", 1, start=number * BLOCK)
    assert task.texts("train", 30) == whole[:30] and task.samples("train", 5).operands.any(), "kept blocks stay whole"
    assert task.texts("train", 5, start=40 * BLOCK) == far
    part = task.samples("train", 5)
    assert (len(part), part.operands.shape, part.digits.shape) == (5, (5, 2), (5, 2))


def test_what_is_drawn_is_what_is_asked_for() -> None:
    samples = ArithmeticProblems(ArithmeticConfig(operations=("+", "-"), digits=(2, 5), negative=0.3)).samples(
        "train", 5000
    )
    for length in (2, 3, 4, 5):
        assert (samples.digits == length).mean() == pytest.approx(0.25, abs=0.02)
        some = np.abs(samples.operands[samples.digits == length])
        assert some.min() >= 10 ** (length - 1) and some.max() < 10**length
        assert some.mean() == pytest.approx(5.5 * 10 ** (length - 1), rel=0.05)
    assert (samples.operands < 0).mean() == pytest.approx(0.3, abs=0.02)
    assert (samples.operations == "+").mean() == pytest.approx(0.5, abs=0.03)
    normal = ArithmeticProblems("expressions-4").samples("train", 3000)
    assert normal.operands.std() == pytest.approx(1, abs=0.03) and normal.operands.mean() == pytest.approx(0, abs=0.03)
    assert np.abs(normal.operands * 1e4 - np.rint(normal.operands * 1e4)).max() < 1e-9
    assert np.abs(ArithmeticProblems("expressions-4").samples("larger", 1000).operands).mean() > 7
    wide = ArithmeticProblems("wide-multiply").samples("train", 5000)
    magnitude = np.floor(np.log10(np.abs(wide.operands[:, 0]) * (1 + 1e-15)))
    counts = np.histogram(magnitude, bins=np.arange(-14, 16) - 0.5)[0]
    assert counts.min() > 100 and counts.max() < 250, "29 magnitudes, equally often"
    assert np.abs(np.log10(np.abs(wide.values))).max() < 16, "products keep to the range"
    first = ArithmeticProblems(ArithmeticConfig(operations=("-",), larger_first=True)).samples("test", 500)
    assert (first.values >= 0).all() and (first.values > 0).any()


def test_trees_come_in_every_shape() -> None:
    shapes = {
        "".join(token for token in text.split(" = ")[0] if token in "()")
        for text in ArithmeticProblems("expressions-4").texts("train", 500)
    }
    assert shapes == {"((()))", "(()())"}
    names = [text.split(" ")[1] for text in ArithmeticProblems("expressions-2").texts("train", 3000)]
    for name in "+-*":
        assert names.count(name) == pytest.approx(1000, abs=100)


def test_beyond_is_out_of_range() -> None:
    task = ArithmeticProblems("multiply-3")
    assert (task.samples("longer", 200).digits == 4).all()
    assert (task.samples("shorter", 200).digits <= 2).all()
    assert np.abs(ArithmeticProblems("wide-add").samples("larger", 200).operands).min() >= 1e15
    assert np.abs(ArithmeticProblems("wide-add").samples("smaller", 200).operands).max() < 1e-14
    with pytest.raises(ValueError, match="'longr': did you mean 'longer'"):
        task.samples("longr", 3)


def test_config_travels_as_json_and_quotes_what_is_wrong() -> None:
    for config in PRESETS.values():
        assert ArithmeticConfig.from_json(config.to_json()) == config
    for wrong, message in (
        ({"operations": ("%",)}, "%"), ({"tree": True, "operations": ("/",)}, "tree"), ({"digits": (4, 3)}, "4, 3"),
        ({"numbers": "log"}, "'log'"), ({"operations": ("/",)}, "significant=None"), ({"roots": (3,)}, r"\(3,\)"),
        ({"numbers": "normal", "operations": ("/",), "significant": 9}, "'normal'"), ({"test": 0.0}, r"test=0\.0"),
        ({"beyond": {"test": {}}}, "test"), ({"beyond": {"far": {"digit": [1, 2]}}}, "digit"), ({"negative": 2.0}, "2"),
        ({"numbers": "log-uniform", "digits": (1, 16)}, "16"), ({"operands": (1, 2)}, r"\(1, 2\)"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            ArithmeticConfig(**wrong)
    with pytest.raises(UnknownNameError, match="did you mean 'multiply-3'"):
        ArithmeticProblems("multiply3")
    with pytest.raises(ValueError, match="hardly any"):
        ArithmeticProblems(ArithmeticConfig(digits=(1, 1), test=0.001)).samples("test", 3)
