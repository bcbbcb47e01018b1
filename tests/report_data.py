"""Invented contexts in TAT-QA's official format, with questions of every kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def context(number: int = 0) -> dict[str, Any]:
    """A table with a negative row, a dash and a percentage, two paragraphs, and eight questions."""
    new, old = 1200 + 10 * number, 1000 + number
    table = [
        ["", "2019", "2018"],
        ["Net sales", f"$ {new:,}", f"{old:,}"],
        ["Interest expense", f"({30 + number})", f"({20 + number})"],
        ["Margin", "12.5%", "—"],
        ["Total assets", "4,000", "3,500"],
    ]
    paragraphs = [
        f"The table shows fund {number} in thousands of dollars; all audits were done by the board.",
        f"Sales rose because of strong demand, new stores, and a weak dollar. We opened {number + 3} stores.",
    ]
    change = round(100 * (new - old) / old, 2)
    questions: list[dict[str, Any]] = [
        _asked("What were net sales in 2019?", [f"$ {new:,}"], "span", "table", "thousand"),
        _asked("Who did the audits?", ["the board"], "span", "text"),
        _asked("Why did sales rise?", ["strong demand", "new stores", "a weak dollar"], "multi-span", "text"),
        _asked(
            "What was the change in net sales?", new - old, "arithmetic", "table", "thousand", f"{new:,} - {old:,}"
        ),
        _asked(
            "What is the percentage change in net sales?", change, "arithmetic", "table", "percent",
            f"({new:,} - {old:,}) / {old:,}",
        ),
        _asked(
            "What is the average interest expense?", 25 + number, "arithmetic", "table", "thousand",
            f"({30 + number} + {20 + number}) / 2",
        ),
        _asked("In how many years did assets exceed 3,000?", "2", "count", "table", "", "2019##2018"),
        _asked("What was the change in margin?", 12.5, "arithmetic", "table", "percent", "12.5% - 0"),
    ]  # fmt: skip
    return {
        "table": {"uid": f"table-{number}", "table": table},
        "paragraphs": [
            {"uid": f"paragraph-{number}-{order}", "order": order, "text": text}
            for order, text in enumerate(paragraphs, 1)
        ],
        "questions": [
            one | {"uid": f"question-{number}-{order}", "order": order} for order, one in enumerate(questions)
        ],
    }


def _asked(question: str, answer: Any, kind: str, source: str, scale: str = "", derivation: str = "") -> dict[str, Any]:
    return {
        "question": question, "answer": answer, "derivation": derivation, "answer_type": kind, "answer_from": source,
        "rel_paragraphs": ["1", "2"] if source == "text" else [], "req_comparison": False, "scale": scale,
    }  # fmt: skip


def write_reports(file: Path, count: int = 9, first: int = 0) -> str:
    """A file of some contexts."""
    file.write_text(json.dumps([context(first + number) for number in range(count)]), "utf-8")
    return str(file)
