"""A contradiction is blamed on the number whose correction is a slip."""

from __future__ import annotations

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document


def found(text: str, *, blames: bool = True) -> list[tuple[str, str | None]]:
    findings = ConsistencyChecker(blames=blames).check(Document(kind="text", text=text))
    assert all(text[each.span[0] : each.span[1]] == each.written for each in findings if each.span)
    return [(each.written, each.meant) for each in findings]


@pytest.mark.parametrize(
    ("text", "written", "meant"),
    [
        ("Revenue was €48.6 million, 8% more than the €54.0 million of 2022.", "€54.0 million", "€45.0 million"),
        ("A decrease of 10% from $410,000 in 2022 to $396,000 in 2023.", "$396,000", "$369,000"),
        ("The reserve rose by $230,000 from $1.20 million to $1.34 million.", "$1.34 million", "$1.43 million"),
        ("Twelve chairs at $54 each for $540.", "$54", "$45"),
        ("He was born in 1938 in Gore. He died in 2012, aged 83.", "2012", "2021"),
        ("We met on Monday.\n\nOf the 48 samples, 24 (87.5%) passed.", "24", "42"),
    ],
)
def test_the_number_with_exchanged_digits_is_blamed(text: str, written: str, meant: str) -> None:
    assert found(text) == [(written, meant)]
    assert found(text, blames=False) != [(written, meant)]
    first = text.index(written) if text.count(written) == 1 else text.index(f"{written} ")
    assert found(text[:first] + meant + text[first + len(written) :]) == []


@pytest.mark.parametrize(
    ("text", "written", "meant"),
    [
        ("From 50 to 65 million euros is a rise of 10 %.", "10 %", "30 %"),  # a wrong digit
        ("Costs fell from 920 to 874, by 64.", "64", "46"),  # its own digits are exchanged
        ("The Lakers won 121-101 by 11 points.", "11", "20"),  # 112-101 and 121-110 both fit
        ("It has 412 people: 268 in sales, 79 in production and 47 elsewhere.", "412", "394"),  # 286 or 97
    ],
)
def test_what_is_computed_is_blamed_otherwise(text: str, written: str, meant: str) -> None:
    assert found(text) == [(written, meant)]


def test_evidence_names_the_other_numbers() -> None:
    text = "Revenue was €48.6 million, 8% more than the €54.0 million of 2022."
    (finding,) = ConsistencyChecker().check(Document(kind="text", text=text))
    assert (finding.evidence["value"], finding.evidence["expected"]) == (54e6, 45e6)
    assert [each["text"] for each in finding.evidence["others"]] == ["8%", "€48.6 million"]
    assert finding.message.endswith("not 8%; with €45.0 million instead of €54.0 million it fits.")
