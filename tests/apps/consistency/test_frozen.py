"""Recall and precision on the sentences and tables that were written before the rules."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

HERE = Path(__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def alarms(name: str) -> tuple[Counter[str], Counter[str], list[str], list[str]]:
    """How many wrong ones were found and are there, by rule; ids of false alarms and of misses."""
    checker, found, there = ConsistencyChecker(), Counter[str](), Counter[str]()
    false, missed = [], []
    for row in rows(name):
        if "text" in row:
            document = Document(kind="text", text=row["text"])
        else:
            document = Document(kind="table", header=row["header"], rows=row["rows"], caption=row["caption"])
        findings = checker.check(document)
        if row["label"] == "right":
            false += [row["id"]] * bool(findings)
            continue
        there[row["rule"]] += 1
        found[row["rule"]] += bool(findings)
        if not findings:
            missed.append(row["id"])
    return found, there, false, missed


@pytest.mark.parametrize(("name", "least"), [("sentences.jsonl", 300), ("tables.jsonl", 60)])
def test_recall_and_precision(name: str, least: int) -> None:
    found, there, false, missed = alarms(name)
    labels = Counter(row["label"] for row in rows(name))
    assert labels.total() >= least and 0.45 < labels["right"] / labels.total() < 0.55
    hits = found.total()
    assert hits / there.total() >= 0.9, missed
    assert hits / (hits + len(false)) >= 0.97, false
    assert all(found[rule] >= 0.75 * there[rule] for rule in there), (found, there)


def test_the_wrong_cell_is_named() -> None:
    checker, right = ConsistencyChecker(), 0
    wrong = [row for row in rows("tables.jsonl") if row["label"] == "wrong"]
    for row in wrong:
        document = Document(kind="table", header=row["header"], rows=row["rows"], caption=row["caption"])
        right += any(finding.cell == tuple(row["cell"]) for finding in checker.check(document))
    assert right >= 0.9 * len(wrong)
