"""Gates never change what is found: a function behind a closed gate finds nothing without it, on all open sets."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import sentences_of
from numerate.apps.consistency.sentences.gates import GATES, Gate, is_open, whole_traits
from numerate.apps.consistency.sentences.paragraphs import paragraphs_of
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.traits import VALUES, cues, stems, traits_of_words
from numerate.apps.documents import Document

HERE = Path(__file__).parent
HELD_OUT = ("fifth.jsonl", "sixteenth.jsonl")
list(rules)  # imports the files of all rules, whose gates are then known


@lru_cache(maxsize=1)
def documents() -> list[Document]:
    """The texts of all open sets."""
    found = []
    for path in sorted(HERE.glob("*.jsonl")):
        if path.name not in HELD_OUT:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            found += [Document(kind="text", text=row["text"]) for row in rows if "text" in row]
    return found


def subjects(gate: Gate, document: Document) -> list[tuple[int, tuple[object, ...]]]:
    """What the function of a gate is called with for a document, with its traits."""
    text, sentences = document.text, list(sentences_of(document))
    if gate.of == "whole":
        return [(whole_traits(text, sentences), (text, sentences))]
    if gate.of == "group":
        return [(group.traits, (text, group)) for group in sentence_groups(text, sentences)]
    if gate.of == "paragraph":
        return [(each.traits, (each,)) for each in paragraphs_of(text, sentences)]
    return [(each.traits, (each,)) for each in sentences]


@pytest.mark.parametrize(
    "gate", GATES, ids=[f"{each.function.__module__.split('.')[-1]}.{each.function.__name__}" for each in GATES]
)
def test_nothing_is_found_behind_a_closed_gate(gate: Gate) -> None:
    seen = Counter[bool]()
    for document in documents():
        for traits, arguments in subjects(gate, document):
            is_closed = not is_open(traits, gate.needs)
            seen[is_closed] += 1
            if is_closed:
                assert list(gate.function(*arguments)) == [], document.text
    assert seen[True] > 0 and len(documents()) > 3_000


def test_paragraphs_with_too_few_values_have_no_findings() -> None:
    some = [(name, rules.create(name)) for name in rules if rules[name].least_of_paragraph]
    assert some
    for document in documents():
        for paragraph in paragraphs_of(document.text, list(sentences_of(document))):
            for name, rule in some:
                if paragraph.tally.values < rule.least_of_paragraph:
                    assert not list(rule.paragraph(paragraph)), (name, document.text)


def test_bits_of_words() -> None:
    bits = stems("margin won_ mid-point")
    for text, expected in [
        ("a margin", True), ("(Margins", True), ("a two-margin x", True), ("submargin", False), ("won.", True),
        ("wonder", False), ("the mid-point", True), ("", False), ("a \ue000 b", True),
    ]:  # fmt: skip
        assert bool(traits_of_words(text) & bits) == expected, text
    part = cues("usual")
    assert traits_of_words("an unusual word") & part and not traits_of_words("an odd word") & part


def test_words_are_forgotten_before_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    from numerate.apps.consistency.sentences import traits

    monkeypatch.setattr(traits, "MOST_WORDS", 10)
    bits = stems("margin")
    for index in range(50):
        assert bool(traits_of_words(f"margin{index}") & bits) and not traits_of_words(f"word{index}") & bits
    assert len(traits._words) <= 10


def test_counts_are_those_of_all_sentences() -> None:
    document = Document(kind="text", text="It has 5 cats. It had 7 dogs.\n\nAnd 3 birds.")
    sentences = list(sentences_of(document))
    assert whole_traits(document.text, sentences) & VALUES[3]
    assert [bool(each.traits & VALUES[2]) for each in sentence_groups(document.text, sentences)] == [True, False]
