"""Recall and precision on documents with claims over several sentences, in seven batches."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.base import rules
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

ROWS = [json.loads(line) for line in (Path(__file__).parent / "tenth.jsonl").read_text("utf-8").splitlines()]


def test_recall_and_precision_on_the_tenth_set(tmp_path: Path) -> None:
    flagged, false, missed = Counter[str](), [], []
    for row in ROWS:
        path = tmp_path / f"{row['id']}.{'md' if row['format'] == 'md' else 'txt'}"
        path.write_text(row["text"], "utf-8")
        found = any(each.rule in rules for each in check(path, model=False))
        if row["wrong"] is None:
            false += [row["id"]] * found
            continue
        flagged[row["id"].partition("-")[0]] += found
        missed += [row["id"]] * (not found)
    wrong = Counter(row["id"].partition("-")[0] for row in ROWS if row["wrong"] is not None)
    assert flagged.total() / wrong.total() >= 0.9, missed
    assert flagged.total() / (flagged.total() + len(false)) >= 0.97, false
    assert all(flagged[kind] >= 0.75 * wrong[kind] for kind in wrong), (flagged, wrong)


@pytest.mark.parametrize(
    ("text", "written", "meant"),
    [
        ("He was born in 1938 in Gore. He died in 2021, aged 73.", "73", "83"),
        ("Hale had 12,418 votes to Brandt's 11,962, a margin of 546.", "546", "456"),
        ("It leaves Split at 09:40 and arrives at 13:05. The journey takes 2 h 25 min.", "2 h 25 min", "3 h 25 min"),
        ("The drawing says 12.40 mm ± 0.05, so anything between 12.35 and 12.54 passes.", "12.54", "12.45"),
        ("In 2005 the shop, founded in 1985, celebrated its 30th anniversary.", "30th", "20th"),
    ],
)
def test_what_was_meant_over_sentences(text: str, written: str, meant: str) -> None:
    found = ConsistencyChecker().check(Document(kind="text", text=text))
    assert [(each.written, each.meant) for each in found] == [(written, meant)]
