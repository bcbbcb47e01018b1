"""Number words of all languages: what num2words writes is read back, and the reader contract on random words."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words

from numerate import find, render
from numerate.errors import NumerateError
from numerate.numerals.word_tables import LANGUAGES, words_of
from numerate.reading.base import ReaderError
from numerate.reading.word_lexicon import lexicon
from numerate.reading.words import find_words

KINDS = ("cardinal", "ordinal", "decimal")
LEAST = {("cardinal", "en"): 1.0, "cardinal": 0.995, "ordinal": 0.99, "decimal": 0.99}
MISTAKES = [
    # (language, value, words of num2words, why)
    *(
        (language, -0.75, "", "the sign of a number between -1 and 0 is lost")
        for language in ("en", "de", "fr", "es", "pt")
    ),
    ("it", 118, "centodicotto", "for centodiciotto; the table has the spelling, so that it is read"),
    ("it", 110, "centodiecesimo", "ordinal, for centodecimo; the table has the spelling, so that it is read"),
    ("fr", 80, "quatre-vingtsième", "ordinal, for quatre-vingtième; the table has the spelling, so that it is read"),
    ("de", 101_000, "einhunderteinstausend", "for einhunderteintausend; both are read"),
]
"""Words of num2words that are wrong."""


def drawn(kind: str, rng: random.Random) -> int | float:
    """A random number: cardinals below 10^12, ordinals below 10^6, decimals with one to six digits."""
    if kind == "cardinal":
        return rng.randrange(10**12)
    if kind == "ordinal":
        return rng.randrange(1, 10**6)
    value = round(rng.uniform(-1, 1) * 10 ** rng.randint(1, 8), rng.randint(1, 6))
    return value if abs(value) >= 1 else abs(value)  # see MISTAKES


def misread(language: str, kind: str, count: int, seed: int) -> list[tuple[int | float, str]]:
    """The numbers of a random sample that are not read back as one numeral with the value and kind."""
    rng, wrong = random.Random(f"{language} {kind} {seed}"), []
    expected = "ordinal" if kind == "ordinal" else "quantity"
    for _ in range(count):
        value = drawn(kind, rng)
        words = num2words(value, lang=language, to="ordinal" if kind == "ordinal" else "cardinal")
        found = [(n.text, n.value, n.kind) for n in find_words(words, language)]
        if found != [(words, value, expected)]:
            wrong.append((value, words))
    return wrong


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_of_num2words_is_read_back(language: str, kind: str) -> None:
    assert misread(language, kind, 150, seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_num2words_is_read_back(language: str, kind: str) -> None:
    count = 20_000
    wrong = misread(language, kind, count, seed=2)
    print(f"{language} {kind}: {1 - len(wrong) / count:.4%} of {count} read back")
    assert len(wrong) <= (1 - LEAST.get((kind, language), LEAST[kind])) * count, wrong[:10]


@pytest.mark.parametrize("language", LANGUAGES)
def test_small_numbers_of_num2words_are_read_back(language: str) -> None:
    for value in [*range(125), *range(190, 1300, 7), 2000, 10_000, 21_000, 100_000, 10**6, 10**6 + 1, 2 * 10**9]:
        words = num2words(value, lang=language)
        assert [(n.text, n.value) for n in find_words(words, language)] == [(words, value)], words


@pytest.mark.parametrize(("language", "value", "words", "why"), MISTAKES)
def test_mistakes_of_num2words(language: str, value: float, words: str, why: str) -> None:
    """If a later version of num2words corrects one of them, take it out of the list."""
    if value < 0:
        assert find_words(num2words(value, lang=language), language)[0].value == -value, why
    else:
        assert words in (num2words(value, lang=language), num2words(value, lang=language, to="ordinal"))
        assert [n.value for n in find_words(words, language)] == [value]


@cache
def vocabulary(language: str) -> list[str]:
    known = sorted(word.decode("latin-1") for word in lexicon(language).words)
    return [*known, *words_of(language, "percent"), "x", "5", "3", "2.5", "$", "kg", "%"]


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_contract_on_random_number_words(language: str, data: st.DataObject) -> None:
    pairs = st.tuples(st.sampled_from(vocabulary(language)), st.sampled_from([" ", " ", "-", "", ", ", "\n"]))
    text = "".join(word + joint for word, joint in data.draw(st.lists(pairs, max_size=25)))
    text = data.draw(st.sampled_from([text, text.upper(), text.title()]))
    last = 0
    for n in find(text, words=True, roman=True, language=language):
        assert last <= n.start < n.end
        assert text[n.start : n.end] == n.text
        assert render(n.style, n.value) == n.text
        assert n.decimals >= 0
        assert isinstance(n.precision, int)
        assert n.exact is None or float(n.exact) == n.value
        n.to_dict()
        last = n.end


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(max_size=40))
def test_no_text_raises(language: str, text: str) -> None:
    find(text, words=True, language=language)


def test_letters_of_other_scripts_are_part_of_a_word() -> None:
    for text in ("oneд", "дone", "one_two", "two5", "٣two", "one's", "ténine"):
        assert find_words(text) == []


def test_unknown_language() -> None:
    with pytest.raises(ReaderError, match=r"language must be one of en, de, fr, es, it, pt, got language='xx'"):
        find("one", words=True, language="xx")
    assert issubclass(ReaderError, NumerateError)


def test_other_values_in_the_style_of_foreign_words_are_digits() -> None:
    (numeral,) = find("zwölf Komma fünf", words=True, language="de")
    assert render(numeral.style, 3.25) == "3.25"
    assert numeral.decimals == 1
    (numeral,) = find("3 and a half percent", words=True)
    assert (numeral.written, render(numeral.style, 0.05)) == (3.5, "5 percent")
