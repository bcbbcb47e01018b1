"""Number words and Roman numerals: tables of cases, and the reader contract on random texts."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate.numerals.number_words import ORDINALS, SCALES, SMALL, TENS, render_words
from numerate.numerals.numeral import Numeral, render
from numerate.reading import words as grammar
from numerate.reading.words import find_roman, find_words

CARDINALS = [
    ("one", [("one", 1)]),
    ("Zero hits", [("Zero", 0)]),
    ("a page of twelve lines", [("twelve", 12)]),
    ("twenty-one", [("twenty-one", 21)]),
    ("twenty one", [("twenty one", 21)]),
    ("TWENTY\nONE!", [("TWENTY\nONE", 21)]),
    ("Twenty-One", [("Twenty-One", 21)]),
    ("three million", [("three million", 3e6)]),
    ("one hundred and five", [("one hundred and five", 105)]),
    ("one hundred five", [("one hundred five", 105)]),
    ("a hundred", [("a hundred", 100)]),
    ("A thousand and one nights", [("A thousand and one", 1001)]),
    ("fifteen hundred", [("fifteen hundred", 1500)]),
    ("fifteen hundred and five", [("fifteen hundred and five", 1505)]),
    ("two hundred thousand", [("two hundred thousand", 200_000)]),
    ("one million two hundred thousand and five", [("one million two hundred thousand and five", 1_200_005)]),
    ("nine hundred and ninety-nine trillion", [("nine hundred and ninety-nine trillion", 999e12)]),
    ("a thousand billion", [("a thousand billion", 1e12)]),
    ("a dozen eggs", [("a dozen", 12)]),
    ("two dozen eggs", [("two dozen", 24)]),
    ("half a dozen", [("half a dozen", 6)]),
    ("minus five", [("minus five", -5)]),
    ("Negative one hundred", [("Negative one hundred", -100)]),
    ("minus zero", [("minus zero", 0)]),
    ("ten minus five", [("ten", 10), ("five", 5)]),
    ("10 minus five", [("five", 5)]),
    ("one two three", [("one", 1), ("two", 2), ("three", 3)]),
    ("twenty-thirty", [("twenty", 20), ("thirty", 30)]),
    ("one, two", [("one", 1), ("two", 2)]),
    ("one  hundred", [("one", 1)]),
    ("one thousand two thousand", [("one thousand", 1000), ("two thousand", 2000)]),
    ("one hundred and two hundred", [("one hundred", 100), ("two hundred", 200)]),
    ("one million and two million", [("one million", 1e6), ("two million", 2e6)]),
    ("between one hundred and five", [("one hundred", 100), ("five", 5)]),
    ("five and six", [("five", 5), ("six", 6)]),
    ("twenty-one-year-old", [("twenty-one", 21)]),
]
FRACTIONS = [
    ("one and a half", [("one and a half", 1.5)]),
    ("one and one-half", [("one and one-half", 1.5)]),
    ("two-and-three-quarters", [("two-and-three-quarters", 2.75)]),
    ("minus five eighths", [("minus five eighths", -0.625)]),
    ("three quarters", [("three quarters", 0.75)]),
    ("Two-thirds of them", [("Two-thirds", 2 / 3)]),
    ("one third", [("one third", 1 / 3)]),
    ("a fifth of it", [("a fifth", 0.2)]),
    ("two and a half million", [("two and a half million", 2.5e6)]),
    ("one and a half dozen", [("one and a half dozen", 18)]),
    ("half a million", [("half a million", 5e5)]),
    ("a half million", [("a half million", 5e5)]),
    ("a quarter of a million", [("a quarter of a million", 250_000)]),
    ("three quarters of a billion", [("three quarters of a billion", 7.5e8)]),
    ("three quarters of million-dollar homes", [("three quarters", 0.75)]),
    ("one hundred and two thirds", [("one hundred and two thirds", 100 + 2 / 3)]),
    ("two million and a half", [("two million and a half", 2_500_000)]),
    ("twenty-five hundredths", [("twenty-five hundredths", 0.25)]),
    ("one-hundredth", [("one-hundredth", 0.01)]),
    ("one hundredth of a second", [("one hundredth", 0.01)]),
    ("five ten-thousandths", [("five ten-thousandths", 0.0005)]),
    ("five thirty-seconds", [("five thirty-seconds", 5 / 32)]),
    ("three sixty-fourths", [("three sixty-fourths", 3 / 64)]),
    ("three point one four", [("three point one four", 3.14)]),
    ("zero point oh five", [("zero point oh five", 0.05)]),
    ("three point twenty-five", [("three point twenty-five", 3.25)]),
    ("one point five billion", [("one point five billion", 1.5e9)]),
    ("two point guards", [("two", 2)]),
]
NOTHING = [
    "half",
    "a half",
    "a second",
    "the second half of the quarter",
    "a quarter",
    "point",
    "a",
    "hundreds of millions",
    "dozens",
    "thirds",
    "a few hundred",
    "5 million",
    "someone, anyone's one's",
    "often tenant weight",
    "one_two",
    "minus",
    "and",
]
ORDINAL_CASES = [
    ("the first time", [("first", 1)]),
    ("a third time", [("third", 3)]),
    ("the twenty-first century", [("twenty-first", 21)]),
    ("Twenty-second", [("Twenty-second", 22)]),
    ("one hundred and second", [("one hundred and second", 102)]),
    ("the hundredth", [("hundredth", 100)]),
    ("one hundredth anniversary", [("one hundredth", 100)]),
    ("two thousand and nineteenth", [("two thousand and nineteenth", 2019)]),
    ("millionth", [("millionth", 1e6)]),
    ("THIRTIETH", [("THIRTIETH", 30)]),
]
ROMAN = [
    ("Chapter IV", [("IV", 4, "identifier")]),
    ("Fig. XII", [("XII", 12, "identifier")]),
    ("Louis XIV", [("XIV", 14, "ordinal")]),
    ("World War II", [("II", 2, "ordinal")]),
    ("in MCMLXXXIV", [("MCMLXXXIV", 1984, "quantity")]),
    ("The XX century", [("XX", 20, "quantity")]),
    ("Chapter CD, volume MIX", [("CD", 400, "identifier"), ("MIX", 1009, "identifier")]),
    ("Pope MD", [("MD", 1500, "ordinal")]),
    ("a CD, Washington DC, John Doe MD, ID MILD DIM", []),
    ("I am IIII or VX or IXX or XIIa or aXII or iv", []),
    ("II-III", [("II", 2, "quantity"), ("III", 3, "quantity")]),
    ("A" * 40 + " XII", [("XII", 12, "quantity")]),
]

FORMS = st.sampled_from(["lower-&", "lower-", "lower &", "lower ", "capital-&", "upper-&", "lower-&.", "upper ."])
KNOWN = [*SMALL, *TENS, *SCALES, *ORDINALS.values(), "hundred", "a", "an", "and", "of", "half", "quarter", "halves"]
KNOWN += [
    "quarters",
    "thirds",
    "seconds",
    "hundredths",
    "point",
    "oh",
    "minus",
    "negative",
    "between",
    "dozen",
    "x",
    "5",
]


def assert_contract(text: str, numerals: list[Numeral]) -> None:
    """Checks the contract of `numerate.reading.base.Reader`."""
    end = 0
    for numeral in numerals:
        assert end <= numeral.start < numeral.end
        assert text[numeral.start : numeral.end] == numeral.text
        assert render(numeral.style, numeral.value) == numeral.text
        assert numeral.to_dict()["text"] == numeral.text
        end = numeral.end


@pytest.mark.parametrize(("text", "expected"), CARDINALS + FRACTIONS)
def test_quantities(text: str, expected: list[tuple[str, float]]) -> None:
    numerals = find_words(text)
    assert [(n.text, n.value, n.kind) for n in numerals] == [(*row, "quantity") for row in expected]
    assert_contract(text, numerals)


def test_texts_without_number_words() -> None:
    assert {text: numerals for text in NOTHING if (numerals := find_words(text))} == {}


def test_words_of_long_texts_are_found_wherever_a_piece_of_the_text_ends() -> None:
    for before in range(4_060, 4_105):
        text = "x" * before + " twenty-one and two hundred and five of them, " + "y " * 3_000 + "the ninth"
        assert [(each.text, each.value) for each in find_words(text)] == [
            ("twenty-one", 21.0), ("two hundred and five", 205.0), ("ninth", 9.0),
        ], before  # fmt: skip


def test_ordinals() -> None:
    for text, expected in ORDINAL_CASES:
        numerals = find_words(text)
        assert [(n.text, n.value, n.kind) for n in numerals] == [(*row, "ordinal") for row in expected]
        assert_contract(text, numerals)


def test_roman_numerals() -> None:
    for text, expected in ROMAN:
        numerals = find_roman(text)
        assert [(n.text, n.value, n.kind) for n in numerals] == expected, text
        assert_contract(text, numerals)


@pytest.mark.parametrize(
    ("text", "value", "again"),
    [
        ("three million", 2.25e6, "two and a quarter million"),
        ("One point five billion", 2.3e9, "Two point three billion"),
        ("two hundred thousand", 3e6, "three million"),
        ("a million", 2e6, "two million"),
        ("first", 23, "twenty-third"),
        ("TWENTY ONE", -32, "MINUS THIRTY TWO"),
        ("one hundred five", 206, "two hundred six"),
        ("zero point five", 0.25, "zero point two five"),
    ],
)
def test_render_in_the_style_of_number_words(text: str, value: float, again: str) -> None:
    (numeral,) = find_words(text)
    assert render(numeral.style, value) == again


@pytest.mark.parametrize(("text", "power", "written"), [("three million", 6, 3), ("a million", 0, 1e6)])
def test_power_and_written(text: str, power: int, written: float) -> None:
    (numeral,) = find_words(text)
    assert (numeral.power, numeral.written) == (power, written)


@given(st.integers(-(10**15), 10**15) | st.integers(-2000, 2000), FORMS)
def test_integers_round_trip(number: int, form: str) -> None:
    assert [n.value for n in find_words(render_words(number, form, 0))] == [number]


@given(st.integers(-(10**6), 10**6), st.sampled_from([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]), FORMS)
def test_fractions_round_trip(numerator: int, denominator: int, form: str) -> None:
    value = float(Fraction(numerator, denominator))
    assert [n.value for n in find_words(render_words(value, form, 0))] == [value]


@given(st.floats(-1e60, 1e60).filter(lambda x: x == 0 or abs(x) > 1e-14), FORMS, st.sampled_from([0, 3, 6, 9, 12]))
def test_floats_round_trip(value: float, form: str, power: int) -> None:
    text = render_words(value, form, power)
    numerals = find_words(text)
    assert [n.value for n in numerals] == [value]
    assert_contract(text, numerals)


@given(st.integers(1, 10**9).filter(lambda n: n % 10 != 2), st.sampled_from(["lower-&#", "upper-#", "capital-&#"]))
def test_ordinals_round_trip(number: int, form: str) -> None:
    assert [(n.value, n.kind) for n in find_words(render_words(number, form, 0))] == [(number, "ordinal")]


@given(st.lists(st.tuples(st.sampled_from(KNOWN), st.sampled_from(" -\n, ")), max_size=30), st.integers(0, 2))
def test_contract_on_random_number_words(pairs: list[tuple[str, str]], case: int) -> None:
    text = "".join((word, word.upper(), word.capitalize())[case] + joint for word, joint in pairs)
    assert_contract(text, find_words(text))


@given(st.text())
def test_contract_on_random_texts(text: str) -> None:
    assert_contract(text, find_words(text))
    assert_contract(text, find_roman(text))


@given(st.text("IVXLCDM -.aT", max_size=60))
def test_contract_on_random_roman_letters(text: str) -> None:
    assert_contract(text, find_roman(text))


def test_grammar_work_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many words need at most five times as many calls of grammar rules."""
    calls: Counter[str] = Counter()

    def counted(rule):
        def call(*args, **options):
            calls["all"] += 1
            return rule(*args, **options)

        return call

    for name in ("number", "_integer", "_group", "_below", "_fraction", "_denominator", "_portion", "_scale"):
        monkeypatch.setattr(grammar._Grammar, name, counted(getattr(grammar._Grammar, name)))
    for unit in (
        "one ",
        "twenty-",
        "a ",
        "One Million ",
        "one hundred and ",
        "one thousand and a ",
        "million ",
        "one point ",
    ):
        counts = []
        for repeats in (100, 400):
            calls.clear()
            find_words(unit * repeats)
            counts.append(calls["all"])
        assert counts[1] <= 5 * counts[0] + 10, unit


def test_long_decimals_and_scales_stay_finite() -> None:
    decimals = "zero point" + " one" * 5_000
    (numeral,) = find_words(decimals)
    assert numeral.value == pytest.approx(1 / 9)
    assert all(n.value < 1e200 for n in find_words("nine hundred" + " vigintillion" * 100))
