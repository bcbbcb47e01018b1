"""Textbook cases in several wordings: `{}` is a number, with which a text is right, and one with which it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from numerate.apps.check import check

CASES = [
    json.loads(line) for line in Path(__file__).with_name("textbook.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("case", [each for each in CASES if "wrong" in each], ids=lambda each: each["text"][:60])
def test_a_wrong_number_is_found(case: dict[str, Any]) -> None:
    assert check(case["text"].replace("{}", case["right"]), model=False) == []
    assert check(case["text"].replace("{}", case["wrong"]), model=False)


@pytest.mark.parametrize("case", [each for each in CASES if "wrong" not in each], ids=lambda each: each["text"][:60])
def test_a_right_text_has_no_finding(case: dict[str, Any]) -> None:
    assert check(case["text"], model=False) == []
