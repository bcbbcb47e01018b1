"""The `standard` reader against its case table, standard_cases.txt."""

import math
import re
from pathlib import Path

import pytest

import numerate
from numerate import render
from numerate.errors import NumerateError
from numerate.numerals.numeral import CONFIDENCES
from numerate.reading.standard import StandardReader

OPTIONS = {"words": {"words": True}, "roman": {"roman": True}, "cell": {"cell": True}, "none": {}}


def load_cases():
    """The cases of each rule: texts with their expected numerals (text, value, kind, unit, other fields)."""
    rules, folder = {}, Path(__file__).parent
    files = [folder / "standard_cases.txt", *sorted((folder / "cases").glob("*.txt"))]
    for line in "\n".join(file.read_text("utf-8") for file in files).split("\n"):
        if line.startswith("== "):
            rule = line[3:]
        elif line and not line.startswith("# "):
            plain = re.sub(
                r"\\(?:u[0-9a-f]{4}|[tn])", lambda escape: escape.group().encode().decode("unicode-escape"), line
            )
            text, _, numerals = plain.rpartition(" =>")
            expected = [expectation(numeral) for numeral in numerals.strip(" ").split(" ; ") if numeral]
            rules.setdefault(rule, []).append((text, expected))
    return rules


def expectation(numeral):
    """Text, value, kind, unit (`-` for none) and other fields: `43 = 43e6 money USD shared guess ±0.5`."""
    text, _, meaning = numeral.rpartition(" = ")
    value, kind, unit, *tags = (*meaning.split(), *[None] * 2)[: max(3, len(meaning.split()))]
    fields = {"shared": "shared" in tags, "uncertainty": None}
    for tag in filter(None, tags):
        if tag in CONFIDENCES:
            fields["confidence"] = tag
        elif tag.startswith("±"):
            fields["uncertainty"] = float(tag[1:])
    return text, float(value), kind or "quantity", None if unit == "-" else unit, fields


RULES = load_cases()


@pytest.mark.parametrize("rule", RULES)
def test_cases_of_rule(rule):
    option = rule.partition("option ")[2].partition(":")[0]
    options = OPTIONS.get(option or "none", {"locale": option})
    for text, expected in RULES[rule]:
        numerals = numerate.find(text, **options)
        assert [(n.text, n.value, n.kind, n.unit) for n in numerals] == [case[:4] for case in expected], text
        for n, (*_, fields) in zip(numerals, expected, strict=True):
            assert {name: getattr(n, name) for name in fields} == fields, text
        for n in numerals:
            assert text[n.start : n.end] == n.text
            assert render(n.style, n.value) == n.text
            assert math.isinf(n.value) or n.exact is None or float(n.exact) == n.value
            if n.unit_span is not None:
                unit = text[slice(*n.unit_span)]
                assert unit.strip() == unit != ""


def test_every_rule_has_at_least_eight_cases():
    counts = {}
    for rule, cases in RULES.items():
        rule = "locale" if rule in ("option eu", "option en", "option in", "option ch") else rule
        counts[rule] = counts.get(rule, 0) + len(cases)
    assert sum(counts.values()) >= 1_900
    assert {rule: count for rule, count in counts.items() if count < 8 and rule != "option none"} == {}


def test_errors_name_the_argument():
    for error, call in (
        (ValueError, lambda: StandardReader(locale="fr")),
        (TypeError, lambda: numerate.find(5)),
        (TypeError, lambda: numerate.find_batch("5")),
        (TypeError, lambda: numerate.find_columns("5")),
        (TypeError, lambda: numerate.find("5", wurds=True)),
        (TypeError, lambda: numerate.find("5", reader=StandardReader(), words=True)),
    ):
        with pytest.raises(error) as caught:
            call()
        assert isinstance(caught.value, NumerateError)
        assert "\n" not in str(caught.value)


def test_spans_and_batches_equal_find():
    texts = ["twenty-one of 30", "Louis XIV, 5 km"]
    reader = StandardReader(words=True, roman=True)
    assert numerate.find_batch(texts, reader=reader) == [reader.find(text) for text in texts]
    for text in texts:
        assert reader.spans(text) == [(n.start, n.end, n.value, n.kind, n.unit) for n in reader.find(text)]
