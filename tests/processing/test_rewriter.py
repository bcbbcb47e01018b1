"""Rewriting texts for a tokenizer, mapping offsets, and restoring texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate.processing.rewriter import BOUNDARY, MAX_MARKS, Leading, Rewriter, mark
from numerate.reading import make_reader
from numerate.registry import notations

NAMES = ("keep", "marker", "addback", "prefix", "drop", "digits", "scientific", "words")
texts = st.lists(
    st.sampled_from(
        [*"ab ", "7", " 330", "-1.5", "3.2%", "[NUM]", ", ", ",", "½", "é", " pct", "mln", " dlrs ", mark(0), mark(3)]
    ),
    max_size=12,
).map("".join)


def rewriter(
    name: str = "marker", commas: bool = False, leading: Leading | None = None, spelled: bool = False
) -> Rewriter:
    notation = notations[name].build()
    own = ("[NUM]", *(t for t in notation.vocabulary if t != "[NUM]"))
    return Rewriter(notation, own, commas, leading, spelled_units=spelled)


@pytest.mark.parametrize("name", NAMES)
@given(text=texts, commas=st.booleans(), spelled=st.booleans())
def test_offsets_map_back_to_the_original(name: str, text: str, commas: bool, spelled: bool) -> None:
    ours = rewriter(name, commas, spelled=spelled)
    text = ours.clean(text)
    done = ours.rewrite(text, make_reader("standard").find(text))
    previous = 0
    for offset, char in enumerate(done.text):
        begin, end = done.original(offset), done.original(offset + 1, end=True)
        assert previous <= end and begin <= end <= len(text)
        inside = any(new <= offset < new + length for new, _, length, _ in done.cuts)
        if not inside:
            assert text[begin:end] == char
        previous = begin
    assert done.original(len(done.text), end=True) <= len(text)
    for begin, end, numeral in done.slots:
        expected = "[NUM]" if numeral is None else numeral.text
        assert text[done.original(begin) : done.original(end, end=True)] == expected


@pytest.mark.parametrize("name", ["marker", "prefix", "addback"])
@given(text=texts)
def test_restore_undoes_rewrite(name: str, text: str) -> None:
    ours = rewriter(name)
    text = ours.clean(text)
    done = ours.rewrite(text, make_reader("standard").find(text))
    written = done.text.replace(BOUNDARY, "")  # the tokenizer removes it
    assert ours.restore(written, [numeral for _, _, numeral in done.slots]) == text


@given(text=texts)
def test_sections_are_the_texts_between_marks(text: str) -> None:
    ours = rewriter("digits")
    text = ours.clean(text)
    done = ours.rewrite(text, make_reader("standard").find(text))
    sections, marks = ours.sections(done.text)
    assert len(sections) == len(marks) + 1
    assert sections[0] + "".join(mark(m) + s for m, s in zip(marks, sections[1:], strict=True)) == done.text


def test_implied_commas() -> None:
    ours = rewriter("marker", commas=True)
    text = "[1,2, 3 ,4,[NUM], 5],6"
    done = ours.rewrite(text, make_reader("records").find(text))
    m = mark(0)
    assert done.text == f"[{m}{m}{m} ,{m}{m}{m}],{m}"
    numerals = [numeral for _, _, numeral in done.slots]
    assert ours.restore(done.text, numerals) == "[1,2, 3 ,4, [NUM], 5],6"
    assert ours.restore(f"[{m} {m}]", numerals[:2], joint=" ") == "[1,2]"
    assert ours.restore(f"[{m}{m}]", []) == "[[NUM], [NUM]]"


def test_only_our_own_marks_are_cleaned() -> None:
    assert rewriter("marker").clean(f"a{mark(0)}{mark(1)}\U000f0000") == f"a\ufffd{mark(1)}\U000f0000"
    assert rewriter("marker").clean("plain") == "plain"


def test_leading_spaces() -> None:
    import re

    leading = Leading(" ", at_start=True, unless=" ", tokens=re.compile("</s>"))
    ours = rewriter("marker", leading=leading)
    m = mark(0)

    def of(text: str) -> str:
        return ours.rewrite(text, make_reader("standard").find(text)).text

    assert of("a 5") == f" a {m}" and of("5 a") == f"{m} a" and of(" a") == " a" and of("") == ""
    assert of("a</s>b</s></s>7</s>") == f" a</s> b</s></s>{m}</s>"
    done = ours.rewrite("ab", [])
    assert (done.original(0), done.original(1, end=True), done.original(3, end=True)) == (0, 0, 2)


def test_invalid_marks_are_restored_as_they_are() -> None:
    digits = rewriter("digits")
    index = {token: i for i, token in enumerate(digits.own_tokens)}
    one, point = mark(index["1"]), mark(index["."])
    assert digits.restore(f"a{point}{one}b", []) == "a.1b"
    assert digits.restore(f"{one} {one}", [], joint=" ") == "11"
    scientific = rewriter("scientific")
    exponent = mark(scientific.own_tokens.index("[EXP]"))
    assert scientific.restore(f"x{exponent}y", []) == "x[EXP]y"
    assert scientific.restore(f"{mark(0)} 12", []) == "[NUM] 12"


def test_too_many_tokens() -> None:
    with pytest.raises(ValueError, match="tokens of its own"):
        Rewriter(notations["marker"].build(), ["[NUM]"] * (MAX_MARKS + 1))
