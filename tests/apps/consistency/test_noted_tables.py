"""Tables that the text above them contradicts, weekdays beside dates, and units that measure something else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.tables.table_numbers import NumberTable
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from pathlib import Path

STAGES = "| Stage | Distance |\n|---|---|\n| 1 | 14 km |\n| 2 | 17 km |\n| 3 | 11 km |\n| 4 | 19 km |\n"
PIECES = "| Piece | Diameter (mm) |\n|---|---|\n| 1 | 7.98 |\n| 2 | 8.01 |\n| 3 | 8.40 |\n| 4 | 7.96 |\n"
DAYS = (
    "| Day | Date |\n|---|---|\n| Monday | 4 August |\n| Thursday | 7 August |\n| Monday | 11 August |\n"
    "| Thursday | {} August |\n"
)
TANKS = "| Tank | {} |\n|---|---|\n| T1 | 1,450 kg |\n| T2 | 2,300 kg |\n| T3 | {} |\n| T4 | 3,900 kg |\n"


def test_records_of_one_text_each_are_no_notes() -> None:
    """Each text was searched for each other one: ten thousand records took hours."""
    texts = [f"Item {at} of the list was sold at a discount of some kind and is now free." for at in range(2_000)]
    begin = time.process_time()
    for header in (["text"], ["text", "more"]):
        rows = [[each, ""][: len(header)] for each in texts]
        assert NumberTable(Document(kind="records", header=header, rows=rows)).noted_rows == set()
    assert time.process_time() - begin < 5
    rows = [["Bulls", "13"], ["Foxes", "9"], ["Bulls were docked 4 points", ""]]
    assert NumberTable(Document(kind="table", header=["Club", "Pts"], rows=rows)).noted_rows == {0, 2}


def test_a_mean_that_is_a_method_among_others() -> None:
    rows = [
        ["words", "0.053 ± 0.01", "2.1"], ["digits", "0.0087 ± 0.002", "1.9"], ["floats", "0.0044", "1.5"],
        ["ours", "0.001", "1.3"], ["the mean", "0.37", "1.3"],
    ]  # fmt: skip
    assert check(Document(kind="table", header=["head", "a", "m"], rows=rows), model=False) == []
    rows[-1][1] = "0.003"
    assert [each.rule for each in check(Document(kind="table", header=["head", "a", "m"], rows=rows), model=False)] == [
        "summary"
    ]


def found(text: str, folder: Path) -> list[tuple[str, str]]:
    path = folder / "report.md"
    path.write_text(text, "utf-8")
    return [(each.rule, each.written) for each in check(path, model=False)]


@pytest.mark.parametrize(
    ("text", "rule", "written"),
    [
        (f"Our walk has six stages:\n\n{STAGES}", "count", "six"),
        (f"The following three legs are open:\n\n{STAGES.replace('| 1 ', '| Ash ').replace('| 2 ', '| Elm ')}", "", ""),
        (f"The permitted diameter is 7.95 to 8.05 mm; all pieces passed.\n\n{PIECES}", "range", "8.40"),
        (f"Ferries in August 2025:\n\n{DAYS.format(15)}", "date", "15 August"),
        (f"Ferries in August:\n\n{DAYS.format(15)}", "date", "15 August"),
        (TANKS.format("Empty weight", "3,100 °C"), "unit", "3,100 °C"),
    ],
)
def test_what_the_text_and_the_other_rows_contradict(text: str, rule: str, written: str, tmp_path: Path) -> None:
    assert found(text, tmp_path) == ([(rule, written)] if rule else [])


@pytest.mark.parametrize(
    "text",
    [
        f"Our walk has four stages:\n\n{STAGES}",
        f"Of six stages, these are the first four stages:\n\n{STAGES}",
        f"Our walk has six stages:\n\n{STAGES}\nTwo are not open yet.",
        f"The permitted diameter is 7.95 to 8.05 mm; all pieces but one passed.\n\n{PIECES}",
        f"The usual diameter is 7.95 to 8.05 mm.\n\n{PIECES}",
        f"Ferries in August 2025:\n\n{DAYS.format(14)}",
        f"Ferries in August 2024 and 2025:\n\n{DAYS.format(14)}",
        TANKS.format("Setting", "3,100 °C"),
        TANKS.format("Weight or range", "3,100 km"),
        TANKS.format("Weight", "30 kN"),
    ],
)
def test_what_the_text_does_not_contradict(text: str, tmp_path: Path) -> None:
    assert found(text, tmp_path) == []
