"""The `standard` reader against its case table, standard_cases.txt."""

import math
import re
from pathlib import Path

import pytest

import numerate
from numerate import render

OPTIONS = {"words": {"words": True}, "roman": {"roman": True}, "none": {}}


def load_cases():
    rule = ""
    for line in Path(__file__).with_name("standard_cases.txt").read_text("utf-8").split("\n"):
        if line.startswith("== "):
            rule = line[3:]
        elif line and not line.startswith("# "):
            plain = re.sub(
                r"\\(?:u[0-9a-f]{4}|[tn])", lambda escape: escape.group().encode().decode("unicode-escape"), line
            )
            text, _, numerals = plain.rpartition(" =>")
            yield rule, text, [expectation(numeral) for numeral in numerals.strip(" ").split(" ; ") if numeral]


def expectation(numeral):
    text, _, meaning = numeral.rpartition(" = ")
    value, kind, unit = (*meaning.split(), *[None] * 2)[:3]
    return text, float(value), kind or "quantity", unit


CASES = list(load_cases())


@pytest.mark.parametrize(("rule", "text", "expected"), CASES, ids=[f"{rule}: {text}" for rule, text, _ in CASES])
def test_case(rule, text, expected):
    option = rule.partition("option ")[2]
    numerals = numerate.find(text, **OPTIONS.get(option or "none", {"locale": option}))
    assert [(n.text, n.value, n.kind, n.unit) for n in numerals] == expected
    for n in numerals:
        assert text[n.start : n.end] == n.text
        assert render(n.style, n.value) == n.text
        assert math.isinf(n.value) or n.exact is None or float(n.exact) == n.value
        if n.unit_span is not None:
            unit = text[slice(*n.unit_span)]
            assert unit.strip() == unit != ""


def test_every_rule_has_eight_cases():
    counts = {}
    for rule, _, _ in CASES:
        rule = "locale" if rule in ("option eu", "option en", "option in", "option ch") else rule
        counts[rule] = counts.get(rule, 0) + 1
    assert sum(counts.values()) >= 320
    assert {rule: count for rule, count in counts.items() if count < 8 and rule != "option none"} == {}
