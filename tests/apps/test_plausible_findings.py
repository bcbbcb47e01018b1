"""What is said of an implausible number."""

from __future__ import annotations

import pytest

import numerate
from numerate.apps.documents import Document
from numerate.apps.plausible import Judgement
from numerate.apps.plausible_findings import finding_of
from numerate.apps.shown_texts import Unit


@pytest.mark.parametrize(
    ("text", "interval", "said"),
    [
        ("Cells were 11.2 x 10^9.", (1.0912, 51.83), "1.09 to 51.8"),
        ("Cells were 11.2 x 10^9.", (2.4e7, 3.6e9), "2.4 x 10^7 to 3.6 x 10^9"),
        ("It has 12 rooms.", (35771.2, 571087735.0), "35,800 to 571,000,000"),
        ("Es wiegt 1.234,5 kg.", (812.4, 98765.4), "812 to 98.800"),
        ("It weighs 1.5 kg.", (0.0, 99.94), "0.0 to 99.9"),
        ("It opened in 1887.", (12345.0, 20000.0), "12345 to 20000"),
    ],
)
def test_what_would_be_usual_has_no_more_digits_than_an_estimate(
    text: str, interval: tuple[float, float], said: str
) -> None:
    (numeral,) = numerate.find(text)
    judged = Judgement(row=0, numeral=numeral, tail=0.01, bits=9.0, slip=0.0, p=0.01, interval=interval)
    found = finding_of(judged, Unit(text), Document(kind="text", text=text))
    assert found is not None and f": {said} would be usual." in found.message
    assert found.evidence["interval_90"] == list(interval)


@pytest.mark.parametrize(
    ("text", "interval", "median", "said"),
    [
        ("It rose by 11.0 %.", (0.4, 62.2), 5.21, "about 5.2 % is expected"),
        ("It has 12 rooms.", (1.0, 40.0), 8.0, "about 8 is expected"),
    ],
)
def test_a_number_inside_of_the_interval_is_not_said_to_be_outside(
    text: str, interval: tuple[float, float], median: float, said: str
) -> None:
    (numeral,) = numerate.find(text)
    judged = Judgement(row=0, numeral=numeral, tail=0.4, bits=9.0, slip=0.0, p=0.01, interval=interval, median=median)
    found = finding_of(judged, Unit(text), Document(kind="text", text=text))
    assert found is not None and said in found.message and "would be usual" not in found.message
