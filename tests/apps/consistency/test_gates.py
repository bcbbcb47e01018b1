"""Gates never change what is found: a function behind a closed gate finds nothing without it, on all open sets."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import sentences_of
from numerate.apps.consistency.counts import announced_lists, listed_codes
from numerate.apps.consistency.dates import calendar_words
from numerate.apps.consistency.repeats import told_again
from numerate.apps.consistency.sentences.gates import GATES, Gate, is_open, whole_traits
from numerate.apps.consistency.sentences.paragraphs import paragraphs_of
from numerate.apps.consistency.sentences.quantities import Quantity
from numerate.apps.consistency.sentences.sentence_windows import sentence_groups
from numerate.apps.consistency.sentences.traits import VALUES, cues, stems, traits_of_words
from numerate.apps.documents import Document
from numerate.reading import find

if TYPE_CHECKING:
    import re

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


def test_sentences_without_the_cues_of_a_rule_have_no_findings() -> None:
    some = [rules.create(name) for name in rules if rules[name].cues]
    assert len(some) > 1
    closed = 0
    for document in documents():
        for sentence in sentences_of(document):
            for rule in some:
                if not sentence.words & rule.cues and rule.wants(sentence.tally, sentence.text):
                    closed += 1
                    assert not list(rule.sentence(sentence)), (rule, sentence.text)
    assert closed > 1_000


def test_rules_want_no_sentence_without_what_they_need() -> None:
    some = [rules.create(name) for name in rules if rules[name].needs]
    closed = 0
    for document in documents():
        for sentence in sentences_of(document):
            for rule in some:
                if not is_open(sentence.traits, rule.needs):
                    closed += 1
                    if rule.wants(sentence.tally, sentence.text):
                        assert not list(rule.sentence(sentence)), (rule, sentence.text)
    assert len(some) > 8 and closed > 10_000


def test_a_group_has_the_words_of_its_sentences_and_of_those_between() -> None:
    for document in documents()[::5]:
        for group in sentence_groups(document.text, list(sentences_of(document))):
            assert group.words == traits_of_words(group.text), group.text
    text = "It has 5 cats. They trailed far behind. It had 7 dogs."
    (group,) = sentence_groups(text, list(sentences_of(Document(kind="text", text=text))))
    assert len(group) == 2 and group.words & stems("behind_") and not group[0].words & stems("behind_")


def test_letters_that_only_a_pattern_without_case_takes_for_others_have_all_bits() -> None:
    for text in ("ſix", "sıx", "SİX"):
        assert traits_of_words(text) & stems("margin"), text


FIRST_LOOKS = [
    (listed_codes._CODES, listed_codes._ITEMS),
    (announced_lists._ARE_ALL, announced_lists._ARE_SO_MANY),
    (told_again._SCORE, told_again._PAIR),
]  # fmt: skip
"""Patterns, and a faster one that each text with a match of the first has a match of."""


@pytest.mark.parametrize(("pattern", "look"), FIRST_LOOKS)
def test_what_is_looked_for_first_is_in_every_match(pattern: re.Pattern[str], look: re.Pattern[str]) -> None:
    found = [match[0] for document in documents() for match in pattern.finditer(document.text)]
    assert found
    assert all(look.search(each) for each in found)


def test_dates_are_those_of_the_pattern() -> None:
    found = [(document.text, [*calendar_words.DATE.finditer(document.text)]) for document in documents()]
    assert sum(len(matches) for _, matches in found) > 500
    for text, matches in found:
        assert [each.span() for each in calendar_words.dates_in(text)] == [each.span() for each in matches]
    for text in ("the 31st of May, 1-May 1900, May 3 June 4", "Mayor Mar 12 Dec", "3 3 May 1950May 1951"):
        assert [each.span() for each in calendar_words.dates_in(text)] == [
            each.span() for each in calendar_words.DATE.finditer(text)
        ]


def test_kept_precisions_are_those_of_the_numerals() -> None:
    for text in ("1,200", "5.50", "3 million", "twelve", "0.30%", "1.2e3", "2/3", "1,200"):
        (numeral,) = find(text, words=True)
        half = Quantity(numeral.text, 0, 1, numeral.value, numeral.unit, "plain", (numeral,)).half
        assert half == 10.0**numeral.precision / 2, text
