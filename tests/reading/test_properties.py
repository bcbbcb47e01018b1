"""Properties of the `standard` reader on random texts and numbers; its fast and slow paths agree."""

import math
import random
import tracemalloc

import numpy as np
import pytest
from annotated_texts import OLDER, REGISTERS, load_stretches
from hypothesis import given, settings
from hypothesis import strategies as st

from numerate import KINDS, find, find_columns, render
from numerate.reading.standard import StandardReader

ALPHABETS = [
    "0123456789" * 3 + "+-,.%$()[]{}:/'\"\\ \n\teExX_^*",
    "01 -−–+±()$€£%‰½¾⅐²³⁻⁰⅞⁄/×x·*^{}10eE",
    "٠١٢٣٩०१९１２９٫٬．， .,-%\u00a0\u2009\u202f'’eE",
    "12 stndrhbillionmkMKTpctpsin.,-/: ",
    "1,.\u0301\u200f\u202e\u2067\u05d0\u0627\x00\ud800\udfff\ufeff\u200d -%",
    "019:,.- /T+()",
    "5'\"’′″°C kgm2^/\n",
]
WORDS = [
    "in", "the", "of", "to", "from", "Table", "note:", "No.", "March", "may", "version", "v", "people", "years",
    "year", "km", "km2", "m^2", "per cent", "percent", "billion", "million dlrs", "pm", "and", "won", "record",
    "US$", "EUR", "±", "-", "–", "to", "=", "(", ")", ",", ";", "in", "BC", "a", "kg", "e", "x", "month", "GMT",
    "dollars", "cts", "example", "Note:", "\n", "", "°C", "/", "Q", "C++", "EDM’", "end.", "between", "or", "by", "×",
    "- to", "~", "mmHg", "million", "%",
]  # fmt: skip
NUMBERS = [
    "5", "12", "1987", "2018", "1,234", "3.5", "1,234.5", "816 000", "100", "2018-2019", "3-1", "10-15", "12:30",
    "1/2", "½", "$5", "-5", "+5", "−3.2", "(1,234)", "(5)", "5%", "30bps", "10M", "5k", "1st", "2nd", "1990s", "1e5",
    "0x1F", "10^6", ".5", "#7", "[12]", "F-16", "H2O", "1A", "'69", "1 1/2", '5\'11"', "120/80", "2019-12-31",
    "v2.1", "1.2.3", "٣", "0.1–0.2", "8.0±0.2", "60W", "4x4", "i72700K", "+1 555 123 4567", "34/sq mi", "007", "150",
    "2000", "50-60%", "$43-65 million", "£3-4m", "5km-10km", "12,5", "64,7 %", "1.234,56",
]  # fmt: skip
PIECES = WORDS + NUMBERS * 2
GAPS = [" ", " ", " ", " ", "", "  ", "\n", "\t", "-", ", ", "\u00a0", " (", ") "]
# Hypothesis draws a seed, and the seed a batch of texts: drawing each character would take a hundred times as long.
SEEDS = st.integers(0, 2**64 - 1).map(random.Random)


def any_text(draw):
    """Random code points, including lone surrogates, mostly from the first few thousand."""
    return "".join(chr(draw.randrange(draw.choice([0x80, 0x800, 0x3000, 0x110000]))) for _ in range(draw.randrange(40)))


def number_text(draw):
    return "".join(draw.choices(draw.choice(ALPHABETS), k=draw.randrange(30)))


def sentence(draw):
    return "".join(draw.choice(PIECES) + draw.choice(GAPS) for _ in range(draw.randrange(8)))


class SlowReader(StandardReader):
    """Reads all numbers by the slow path."""

    _leaders = {}  # noqa: RUF012


def check(texts):
    rows = []
    for index, text in enumerate(texts):
        last = 0
        for n in find(text):
            assert last <= n.start < n.end <= len(text), "sorted and disjoint"
            assert text[n.start : n.end] == n.text
            assert render(n.style, n.value) == n.text
            rows.append((index, n.start, n.end, n.value, KINDS.index(n.kind), n.unit))
            last = n.end
    *arrays, units = find_columns(texts)
    found = zip(*(column.tolist() for column in arrays), strict=True)
    assert repr([(*row, None if unit < 0 else units[unit]) for *row, unit in found]) == repr(rows)


@pytest.mark.parametrize("make", [any_text, number_text, sentence])
@settings(max_examples=20, deadline=None)
@given(draw=SEEDS)
def test_random_texts(make, draw):
    check([make(draw) for _ in range(40)])


@pytest.mark.parametrize("text", ["h2h11.t", "a2h11 b", "at 2h11", "x2h30m"])
def test_a_letter_before_an_hour_makes_it_a_name_on_both_paths(text):
    assert StandardReader().spans(text) == SlowReader().spans(text)


@settings(max_examples=20, deadline=None)
@given(draw=SEEDS)
def test_fast_path_equals_slow_path(draw):
    fast, slow = StandardReader(), SlowReader()
    for text in [sentence(draw) for _ in range(40)] + [number_text(draw) for _ in range(20)]:
        assert fast.spans(text) == slow.spans(text), text


@pytest.mark.parametrize("mark", [*" (%,.", "+-", "e", "e+", "k", "m"])
def test_long_lists_equal_slow_path(mark):
    digits = random.Random(mark)
    before, after = ["", "Table ", "x", "$", "June ", "("], ["", " km", "100 200", "1990", "%", "/4"]
    for shift in range(2):
        for first, last in zip(before, after[shift:] + after[:shift], strict=True):
            body = mark.join(str(digits.randrange(100)) for _ in range(digits.choice([50, 800])))
            text = f"{first}{body}{mark}{last} and then 12 more, {first}{body}{mark}{last}"
            text += "." * (4200 - len(text))  # long enough to be searched for lists
            assert StandardReader().spans(text) == SlowReader().spans(text), (first, last)


@pytest.mark.shared("data/wiki")
def test_fast_path_equals_slow_path_on_annotated_texts(shared):
    texts = {text for text, _ in load_stretches(shared, (*OLDER, *REGISTERS))}
    fast, slow = StandardReader(), SlowReader()
    for text in sorted(texts):
        assert fast.spans(text) == slow.spans(text)


@pytest.mark.parametrize(("joint", "count"), [(" ", 10_000), ("\n", 2_000), (", ", 2_000), ("\t", 2_000)])
def test_random_float64_values_are_read_exactly(joint, count):
    drawn = np.random.default_rng(20_240_506).integers(0, 2**64, 11_000, dtype=np.uint64).view(np.float64)
    edges = [5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -0.0, 0.1, 1e22, 1e23, 123456789.0]
    floats = np.concatenate([drawn[np.isfinite(drawn)][:count], edges])
    text = joint.join(map(repr, floats.tolist()))
    columns = find_columns([text])
    assert len(floats) > count
    assert columns.value.view(np.uint64).tolist() == floats.view(np.uint64).tolist()


def test_floats_without_exponent_are_read_exactly():
    random = np.random.default_rng(7)
    floats = (random.standard_normal(5_000) * 10.0 ** random.integers(-4, 16, 5_000)).tolist()
    assert [n.value for n in find(" ".join(map(repr, floats)))] == floats


@pytest.mark.parametrize(
    ("text", "value", "has_exact"),
    [
        ("9" * 400, math.inf, True),
        ("9" * 4301, math.inf, False),
        ("1e309", math.inf, True),
        ("-1e309", -math.inf, True),
        ("1e-330", 0.0, True),
        ("1e1000000", math.inf, False),
        ("1e-1000000", 0.0, False),
        ("0." + "0" * 4300 + "1", 0.0, False),
        ("1" * 4301 + "%", math.inf, False),
        ("1" + ",000" * 400, math.inf, False),
        ("0x" + "f" * 400, math.inf, True),
        ("9" * 300 + " billion", 1e309, True),
    ],
    ids=lambda value: f"{value[:8]}..{value[-6:]}" if isinstance(value, str) else None,
)
def test_extreme_numbers(text, value, has_exact):
    (n,) = find(text)
    assert (n.text, n.value) == (text, value)
    assert n.overflow == math.isinf(value)
    assert (n.exact is not None) == has_exact
    assert render(n.style, n.value) == text
    n.to_dict()


def test_huge_exponents_need_little_memory():
    text = " ".join(f"{sign}{digit}e{mark}{power}" for sign in ("", "-") for mark in ("", "-") for digit in range(1, 6)
                    for power in range(1_000_000, 1_000_005))  # fmt: skip
    text += " " + "9" * 4301 + " 1e309 1e-330"
    tracemalloc.start()
    numerals = find(text)
    found = [(n.exact, n.written, n.precision, render(n.style, n.value) == n.text) for n in numerals]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 103
    assert all(exact is None and same for exact, _, _, same in found[:101])
    assert peak < 50e6
