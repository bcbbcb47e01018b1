"""Number words of six languages against their case table, word_cases.txt."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import numerate
from numerate import render


def load_cases() -> dict[str, list[tuple[str, list[tuple[str, float, str, str | None]]]]]:
    """The cases of each class: texts with their expected numerals (text, value, kind, unit)."""
    classes: dict[str, list[tuple[str, list[tuple[str, float, str, str | None]]]]] = {}
    title = ""
    for line in Path(__file__).with_name("word_cases.txt").read_text("utf-8").split("\n"):
        if line.startswith("== "):
            title = line[3:]
        elif line and not line.startswith("# "):
            text, _, numerals = line.rpartition(" =>")
            expected = [expectation(numeral) for numeral in numerals.strip().split(" ; ") if numeral]
            classes.setdefault(title, []).append((text, expected))
    return classes


def expectation(numeral: str) -> tuple[str, float, str, str | None]:
    text, _, meaning = numeral.strip().rpartition(" = ")
    value, kind, unit = (*meaning.split(), *[None] * 2)[:3]
    return text, float(Fraction(value or 0)), kind or "quantity", unit


CLASSES = load_cases()


@pytest.mark.parametrize("title", CLASSES)
def test_cases_of_class(title: str) -> None:
    language = title.split()[0]
    wrong = {}
    for text, expected in CLASSES[title]:
        numerals = numerate.find(text, words=True, language=language)
        found = [(n.text, n.value, n.kind, n.unit) for n in numerals]
        if found != expected:
            wrong[text] = found
        for n in numerals:
            assert text[n.start : n.end] == n.text
            assert render(n.style, n.value) == n.text
            assert n.exact is None or float(n.exact) == n.value
        rows = numerate.reading.make_reader("standard", words=True, language=language).spans(text)
        assert [tuple(row[:4]) for row in rows] == [(n.start, n.end, n.value, n.kind) for n in numerals]
    assert wrong == {}


def test_every_class_has_at_least_ten_cases() -> None:
    assert {title: len(cases) for title, cases in CLASSES.items() if len(cases) < 10} == {}
