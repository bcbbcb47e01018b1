"""Sentences over several lines are checked as if they stood in one."""

from __future__ import annotations

import textwrap

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

WRONG = [
    "The national park in the north of the country covers 3,470 square kilometres (3,340 sq mi) of forest.",
    "Brennan, the captain of the team, who stands 6 ft 2 in (1.98 m), played most of his career at centre back.",
    "The night train to the coast leaves at 14:20 and arrives at 16:05, a journey of 2 hours and 45 minutes.",
    "The ceasefire between the two armies took effect on November 31.",
    "The board met eleven times, and for the first time on 12 January 2023 (a Tuesday) in the old town hall.",
    "The botanist Lena Hartwig (12 April 1931 – 3 May 1999) died in Kiel at the age of 58 after a short illness.",
]
RIGHT = [
    "The night train leaves the old station at 23:20 and arrives at 6:05, a journey of 6 hours and 45 minutes.",
    "Brennan, the captain of the team, who stands 6 ft 2 in (1.88 m), played most of his career at centre back.",
]


def found(text: str) -> list[tuple[str, str, str | None]]:
    findings = ConsistencyChecker().check(Document(kind="text", text=text))
    assert all(" ".join(text[a:b].split()) == each.written for each in findings if each.span for a, b in [each.span])
    return [(each.rule, each.written, each.meant) for each in findings]


@pytest.mark.parametrize("text", WRONG)
def test_findings_do_not_depend_on_line_ends(text: str) -> None:
    assert found(text)
    for width in (30, 38, 44, 51, 60):
        assert found(textwrap.fill(text, width)) == found(text), width


@pytest.mark.parametrize("text", RIGHT)
def test_right_texts_stay_right(text: str) -> None:
    assert [found(textwrap.fill(text, width)) for width in range(30, 60)] == [[]] * 30


def test_lines_that_are_no_sentence_stay_apart() -> None:
    lists = [
        "Apples 12\nPears 15",  # short lines
        "Members of the council in May: 12\n15 of them came",  # two numbers
        "All of the following were counted twice:\n- 12 apples\n- 15 pears",
        "All of the following were counted twice\n\n12 apples",
    ]
    assert [Document(kind="text", text=each).flat for each in lists] == lists
    text = "The bridge over the river is 28\nkm (17 mi) long."
    assert Document(kind="text", text=text).flat == text.replace("\n", " ")
