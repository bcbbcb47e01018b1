"""The contract of `Notation`, checked for every registered notation and for more of their options."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numerate import find, notations
from numerate.config import Config
from numerate.notation.base import END, NUM, TEXT, Notation, NotationError
from numerate.numerals.numeral import Numeral

OPTIONS = {
    "keep": [{"slot": True}],
    "digits": [
        {"group": group, "reverse": reverse, "explicit_plus": plus, "max_digits": most}
        for group, reverse, plus, most in [
            (1, True, False, 17),
            (3, False, False, 32),
            (3, True, False, 17),
            (3, True, True, 18),
            (3, False, True, 19),
        ]
    ],
    "p10": [{"digits": 4, "lowest": -10, "highest": 10}, {"digits": 1}, {"digits": 17, "lowest": -350, "highest": 300}],
    "fp15": [{"lowest": -3, "highest": -1}],
    "scientific": [{"trailing_zeros": True, "max_digits": 17}],
    "numerologic": [{"max_digits": 17}],
    "ieee": [
        {"exponent_digits": 3},
        {"base": 2, "exponent_digits": 11, "mantissa_digits": 53},
        {"base": 1000, "exponent_digits": 1, "mantissa_digits": 2},
        {"base": 3, "exponent_digits": 2, "mantissa_digits": 1},
    ],
    "words": [{"hyphens": False, "ands": False, "fractions": True}],
}
CASES = [(name, options) for name in notations.names() for options in ({}, *OPTIONS.get(name, ()))]
NUMBER_TEXTS = ("7", "0.25", "-12.5", "1e-05", "2,082")

EDGES = [
    *(0.0, -0.0, 1.0, -1.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 2.0**53, 2.0**53 - 1, 1e22, 1e23),
    *(0.1, 1 / 3, 9.995, 0.9995, 99.95, 9.985, 1e-8, 9.995e-9, 5e-9, 4.999e-9, 9.994e7, 9.995e7, 1e8, 99950000.0),
    *(123456789012345680.0, 1e15, 1e16, 9999999999999998.0, 1e-4, 1e-5, 0.00012345678901234567, 1e66, 1e-15, 9.99e-16),
    *(9.9995e9, 1e10, 1e-9, 4.9e-10, 5e-10, 0.07, 1e100, 65504.0, 16777217.0, 999.5, 1000.0, 0.5, 2.75),
]
TEXTS = [
    *("1,234.50", "3.2%", "7%", "1.5 billion", "10M", "-12", "−5 °C", "(1,746)", "1.50e-7", "6.02×10^23", "10^6"),
    *("½", "3/4", "0x1F", "007", ".5", "+4.20", "123456789012345678901234567890", "0." + "1234567890" * 5),
    *("1e400", "-1e400", "1e-400", "0e999999999", "9e999999999999999999999", "0." + "0" * 500 + "1"),
    *("17976931348623158079372897140530341507993413271003782693617377898" + "0" * 244, "9" * 600),
    *("0" * 600, "0." + "0" * 600, "12:30", "1st", "1,23,45,678"),
]


@lru_cache
def build(name: str, items: tuple) -> Notation:
    return notations[name].build(**dict(items))


def parametrize(cases: list) -> pytest.MarkDecorator:
    names = ["-".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in cases]
    built = [build(name, tuple(options.items())) for name, options in cases]
    return pytest.mark.parametrize("notation", built, ids=names)


def is_free(name: str) -> bool:
    """Whether the notation writes unconstrained text in the model's own tokens."""
    return any(TEXT in build(name, ()).legal_next(prefix) for prefix in ([], [NUM]))


every, constrained = parametrize(CASES), parametrize([case for case in CASES if not is_free(case[0])])


@lru_cache
def known_pieces(notation: Notation) -> frozenset[str]:
    return frozenset((END, TEXT, *notation.vocabulary, *"-0123456789"))


@lru_cache(maxsize=512)
def ordered(legal: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(legal))


def numeral(value: float, text: str | None = None) -> Numeral:
    text = repr(value) if text is None else text
    special = None if math.isfinite(value) or text not in ("nan", "inf", "-inf") else text
    return Numeral(text, 0, len(text), value, special=special)


def same(one: float, other: float) -> bool:
    return struct.pack("<d", one) == struct.pack("<d", other)


def check_path(notation: Notation, number: Numeral) -> list[str]:
    """Checks that each piece of `write` is legal after the pieces before it, and that the number may end."""
    texts: list[str] = []
    for piece in notation.write(number):
        if piece.own:
            assert piece.text in notation.vocabulary
            assert piece.text in notation.legal_next(texts), (piece, texts)
            texts.append(piece.text)
        elif TEXT in notation.legal_next(texts):
            texts.append(piece.text)
        else:
            assert piece.text
            for char in piece.text:
                assert char in notation.legal_next(texts), (piece, texts)
                texts.append(char)
    assert END in notation.legal_next(texts), texts
    return texts


def check_round_trip(notation: Notation, number: Numeral) -> None:
    pieces = notation.write(number)
    texts = check_path(notation, number)
    tolerance = notation.tolerance(number.value)
    back = notation.read([piece.text for piece in pieces])
    if back is None:
        assert tolerance == math.inf
        return
    assert back.text and (back.start, back.end) == (0, len(back.text))
    assert notation.read(texts) == back
    if notation.exact:
        assert tolerance == 0.0
        assert same(back.value, number.value), (number, back, pieces)
    elif tolerance == math.inf:
        assert abs(number.value) > 1e307
    elif math.isfinite(number.value):
        # Compare as fractions, because the difference of floats is rounded.
        assert abs(Fraction(back.value) - Fraction(number.value)) <= Fraction(tolerance), (number, back, pieces)
    again = notation.write(back)
    if number.special is None:
        assert notation.read([piece.text for piece in again]).value == back.value, (number, pieces, again)


def walk(notation: Notation, rng: random.Random) -> list[str]:
    """A random path through the legal pieces to an end."""
    path: list[str] = []
    for _ in range(2000):
        legal = notation.legal_next(path)
        assert legal, f"dead end: {path}"
        assert legal <= known_pieces(notation)
        if path and path[-1] in NUMBER_TEXTS and TEXT in legal:
            legal -= {TEXT}
        choices = ordered(legal)
        # Prefer to continue, so that the limits are reached, too.
        if END in legal and len(legal) > 1 and rng.random() < 0.9:
            choices = ordered(legal - {END})
        choice = rng.choice(choices)
        if choice == END:
            return path
        path.append(rng.choice(NUMBER_TEXTS) if choice == TEXT else choice)
    raise AssertionError(f"no end after {len(path)} pieces: {path[:50]}")


bits = st.integers(0, 2**64 - 1).map(lambda pattern: struct.unpack("<d", struct.pack("<Q", pattern))[0])
finite = (
    bits.filter(math.isfinite) | st.floats(-1e9, 1e9) | st.floats(-1e-6, 1e-6) | st.integers(-(10**6), 10**6).map(float)
)
decimals = st.tuples(st.integers(-(10**6), 10**6), st.integers(-12, 12)).map(lambda pair: float(f"{pair[0]}e{pair[1]}"))


def test_all_notations_are_registered() -> None:
    expected = {"keep", "drop", "marker", "addback", "prefix", "digits", "scientific", "ieee", "numerologic", "words"}
    assert expected | {"p10", "p1000", "b1999", "fp15"} <= set(notations.names())


@pytest.mark.parametrize("name", notations.names())
def test_config_docstring_and_error_length(name: str) -> None:
    cls = notations[name]
    assert issubclass(cls.Config, Config)
    assert cls.Config.kind == name
    config = cls().config
    assert cls.Config.from_json(config.to_json()) == config
    assert cls.__doc__ and "Example:" in cls.__doc__
    for word in ("NaN", "-0", "infinity", "overflow"):
        assert any(part in cls.__doc__ for part in (word, word.capitalize())), word
    for piece in ("1", "-", ".", "{", "0", NUM, "x"):
        try:
            cls().read([piece] * 10_000)
        except NotationError as error:
            assert len(str(error)) < 1000


@every
def test_vocabulary_and_fixed_numbers(notation: Notation) -> None:
    assert len(set(notation.vocabulary)) == len(notation.vocabulary)
    assert not {END, TEXT} & set(notation.vocabulary)
    assert type(notation)(notation.config).vocabulary == notation.vocabulary
    for value in EDGES:
        check_round_trip(notation, numeral(value))
        check_round_trip(notation, numeral(-value))
    for special in ("nan", "inf", "-inf"):
        back = notation.read(check_path(notation, numeral(float(special), special)))
        assert back is None or (back.special, str(back.value)) == (special, special)
    for number in (number for text in TEXTS for number in find(text)):
        back = notation.read(check_path(notation, number))
        if back is None:
            continue
        if notation.exact:
            assert same(back.value, number.value), (number, back)
        elif math.isfinite(tolerance := notation.tolerance(number.value)) and math.isfinite(number.value):
            assert abs(Fraction(back.value) - Fraction(number.value)) <= Fraction(tolerance), (number, back)
        else:
            assert (back.value > 1) == (number.value > 1), (number, back)


@every
@settings(deadline=None, max_examples=30)
@given(value=finite | decimals, seed=st.integers(0, 2**32))
def test_random_numbers_and_random_legal_paths(notation: Notation, value: float, seed: int) -> None:
    check_round_trip(notation, numeral(value))
    number = notation.read(walk(notation, random.Random(seed)))
    if number is None:
        assert notation.tolerance(1.0) == math.inf
        return
    assert isinstance(number, Numeral)
    again = notation.read(check_path(notation, number))
    assert again.value == number.value or math.isnan(number.value)


@every
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_foreign_pieces_are_an_error(notation: Notation, seed: int) -> None:
    rng = random.Random(seed)
    path = walk(notation, rng)
    path.insert(rng.randrange(len(path) + 1), rng.choice(["nonsense", NUM, "--", ""]))
    try:
        notation.read(path)
    except NotationError as error:
        assert repr(path[0])[:20] in str(error)
        assert notation.Config.kind in str(error)
        assert len(str(error)) < 1000
    else:
        # An empty text changes nothing in notations that write text; in all others it is not a legal piece.
        assert "" in path and not all(piece.own for piece in notation.write(numeral(1.0))), path


@constrained
@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_read_accepts_exactly_the_legal_paths(notation: Notation, seed: int) -> None:
    rng = random.Random(seed)
    alphabet = (*notation.vocabulary, *"-0123456789")
    path = walk(notation, rng)
    if path:
        action = rng.choice(["swap", "drop", "double", "cut"])
        at = rng.randrange(len(path))
        if action == "swap":
            path[at] = rng.choice(alphabet)
        elif action == "drop":
            del path[at]
        elif action == "double":
            path.insert(at, path[at])
        else:
            del path[at:]
    legal = all(piece in notation.legal_next(path[:i]) for i, piece in enumerate(path))
    legal = legal and END in notation.legal_next(path)
    if legal:
        notation.read(path)
    else:
        with pytest.raises(NotationError, match=notation.Config.kind):
            notation.read(path)
    assert notation.legal_next(["nonsense"]) == notation.legal_next(["", "nonsense"]) == frozenset()


@pytest.mark.parametrize("name", notations.names())
@pytest.mark.parametrize("text", ["10^400", "-10^400", "10^9999", "10^99999", f"10^{10**30}", "0x" + "f" * 300, "10^0"])
def test_numbers_beyond_float64_are_written_in_every_notation(name: str, text: str) -> None:
    (numeral,) = find(text)
    notation = notations.create(name)
    again = notation.read([piece.text for piece in notation.write(numeral)])
    assert again is None or math.copysign(1, again.value) == math.copysign(1, numeral.value)
    assert again is None or numeral.overflow or again.value == pytest.approx(numeral.value)
