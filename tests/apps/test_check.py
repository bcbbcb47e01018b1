"""`numerate.check`, many files, several processes, and all reports."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

import numerate
from numerate.apps.check import CheckOptions, Outcome, check
from numerate.apps.check_processes import RARELY, check_files
from numerate.apps.check_reports import json_report, terminal_report
from numerate.apps.documents import Document, Problem, sentence_spans
from numerate.apps.findings import Finding, FindingError, ranked
from numerate.errors import BadInput

TEXT = "The lake is 28 km (27 mi) long & <b>deep</b>. It had 12 men and 15 women, 28 people in all."


def test_the_public_name() -> None:
    assert numerate.check is check
    assert [each.rule for each in numerate.check(TEXT)] == ["conversion", "sum"]


def test_records_and_documents() -> None:
    records = [{"n": n, "one": p, "all": n * p} for n, p in ((2, 3.5), (5, 1.25), (4, 2.2), (3, 9.1), (8, 1.1))]
    records[3]["all"] = 72.3
    assert [(each.cell, each.key, each.meant) for each in check(records)] == [((3, 2), "all", "27.3")]
    assert check(Document(kind="text", text=TEXT), ignore=["sum", "conversion"]) == []


class Frame:
    """What `check` needs of a DataFrame."""

    def __init__(self, columns: list[Any], rows: list[tuple[Any, ...]]) -> None:
        self.columns, self.rows = columns, rows

    def itertuples(self, *, index: bool, name: str | None) -> list[tuple[Any, ...]]:
        assert not index and name is None
        return self.rows


def test_tables_of_a_text() -> None:
    rows = "| region | sales |\n|---|---:|\n| north | 120 |\n| south | 140 |\n| west | 95 |\n| total | 365 |\n"
    found = check(f"Sales\n\n{rows}\nThe lake is 28 km (27 mi) long.\n", model=False)
    assert {(each.rule, each.written, each.line) for each in found} == {
        ("total", "365", 8),
        ("conversion", "27 mi", 10),
    }
    listed = "region,sales,cost\nnorth,120,5\nsouth,140,6\nwest,95,7\ntotal,365,18\n"
    assert [each.meant for each in check(listed, model=False)] == ["355"]
    assert not check(listed, model=False, kind="text")
    (cited,) = check("[1] The lake is 28 km (27 mi) long.", model=False)
    assert cited.span == (23, 28)


def test_frames() -> None:
    rows: list[tuple[Any, ...]] = [
        (n, p, n * p, None, float("nan")) for n, p in ((2, 3.5), (5, 1.25), (4, 2.2), (3, 9.1), (8, 1.1))
    ]
    rows[3] = (3, 9.1, 72.3, "numerate", 0.1 + 0.2)
    (found,) = check(Frame(["n", ("price", "one"), "all", "x", "x"], rows))
    assert (found.cell, found.key, found.meant) == ((3, 2), "all", "27.3") and "x (2): 0.3" in found.passage
    assert "price one: 9.1" in found.passage


def test_a_frame_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [2, 5, 4, 3, 8], "one": [3.5, 1.25, 2.2, 9.1, 1.1], "day": "2024-02-01"})
    frame["all"] = frame.n * frame.one
    frame["day"] = pandas.to_datetime(frame.day)
    frame["size"] = pandas.array([1, None, 3, 4, 5], dtype="Int64")
    assert check(frame) == []
    frame.loc[3, "all"] = 72.3
    frame.index = list("abcde")
    (found,) = check(frame)
    assert (found.cell, found.meant) == ((3, 3), "27.3") and "day: 2024-02-01 |" in found.passage


def test_a_model_is_asked_too() -> None:
    class Model:
        def check(self, document: Document) -> list[Finding]:
            # 27 is part of what the conversion marks, and 28 is what it compares with.
            odd = {"28": (12, 14), "27": (19, 21), "9": (len(TEXT) + 7, len(TEXT) + 8)}
            return [
                Finding(rule="plausible-slip", message="Odd.", written=written, span=span, probability=0.4)
                for written, span in odd.items()
            ]

    found = check(f"{TEXT} It is 9 m deep.", model=Model())
    assert [each.rule for each in found] == ["conversion", "sum", "plausible-slip"]
    assert found[-1].written == "9" and found[-1].line == 1 and found[-1].severity == "note"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ignore": ["convertion"]}, "did you mean 'conversion'"),
        ({"ignore": "convertion"}, "did you mean 'conversion'"),
        ({"false_alarms": 2}, "between 0 and 1, got 2"),
        ({"false_alarms": "0.5"}, "between 0 and 1, got '0.5'"),
        ({"kind": "mark"}, "did you mean 'markdown'"),
        ({"kind": "xlsx"}, "give a pathlib.Path"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check(TEXT, **arguments)
    for what, message in ((5, "got int"), ([{"a": 1}, 5], "got list with a int"), (b"28 km", "got bytes")):
        with pytest.raises(BadInput, match=message):
            check(what)


def test_one_ignored_rule_need_not_be_a_list() -> None:
    assert check(TEXT, ignore="sum", model=False) == check(TEXT, ignore=["sum"], model=False) != []


def test_findings_are_checked_and_ranked() -> None:
    with pytest.raises(FindingError, match="span or a cell"):
        Finding(rule="x", message="x", written="x")
    with pytest.raises(FindingError, match=r"got 1\.5"):
        Finding(rule="x", message="x", written="x", span=(0, 1), probability=1.5)
    some = [
        Finding(rule="x", message="x", written="1", span=(at, at + 1), probability=p) for at, p in ((5, 0.2), (1, 0.9))
    ]
    assert [each.probability for each in ranked(some)] == [0.9, 0.2]
    odd = Finding(rule="x", message="x", written="1", span=(0, 1), evidence={"a": float("nan"), "b": [float("inf")]})
    assert json.dumps(odd.to_dict(), allow_nan=False)


def test_fingerprints_outlive_new_lines() -> None:
    one, other = check(TEXT)[0], check(f"A new line.\n\n{TEXT}")[0]
    assert one.line != other.line and one.fingerprint == other.fingerprint
    assert one.fingerprint != check(TEXT)[1].fingerprint


def test_sentences() -> None:
    text = "Dr. Lee paid $5.50 at 3 p.m. on Jan. 5. He left (at last). Was it 1.5?\n\n- one\n- two"
    assert [text[slice(*span)] for span in sentence_spans(text)] == [
        "Dr. Lee paid $5.50 at 3 p.m. on Jan. 5.", "He left (at last).", "Was it 1.5?", "- one", "- two",
    ]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    texts = {"a.txt": TEXT, "b.md": f"# <script>alert(1)</script>\n\n{TEXT}\n", "empty.txt": ""}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [*(str(tmp_path / name) for name in texts), str(tmp_path / "missing.txt")]


def test_processes_give_the_same(files: list[str]) -> None:
    outcomes = [check_files(files, CheckOptions(), processes=count, excerpts=True) for count in (1, 2)]
    one, two = (json_report(outcome) for outcome in outcomes)
    assert one == two and len(one["findings"]) == 4
    assert [(Path(each["source"]).name, each["fatal"]) for each in one["problems"]] == [
        ("empty.txt", True), ("missing.txt", True),
    ]  # fmt: skip
    assert outcomes[0].excerpts == outcomes[1].excerpts


def test_the_garbage_collector_is_as_it_was_after_a_check(files: list[str]) -> None:
    before = gc.get_threshold()
    seen: list[tuple[int, int, int]] = []
    check_files(files[:1], CheckOptions(), on_position=lambda position: seen.append(gc.get_threshold()))
    assert seen and set(seen) == {RARELY} and gc.get_threshold() == before != RARELY


def test_the_terminal_shows_the_passage(files: list[str]) -> None:
    outcome = check_files(files[:1], CheckOptions())
    lines = [text.plain for text in terminal_report(outcome, top=1)]
    assert "error 0.95" in lines[0] and lines[1].strip() == "28 km are 17 mi, not 27 mi."
    assert "(27 mi → 17 mi)" in lines[2] and "1 more" in "\n".join(lines)
    assert lines[-1] == "2 findings in 5 numbers (1 conversion, 1 sum)"
    assert [text.plain for text in terminal_report(Outcome())] == ["no findings in 0 numbers"]
    empty = Outcome(problems=[Problem("b.txt", "the file is empty", is_harmless=True)])
    assert [text.plain for text in terminal_report(empty)] == ["no findings in 0 numbers"]
    unread = Outcome(problems=[*empty.problems, Problem("a.txt", "no such file", fatal=True)])
    assert [text.plain for text in terminal_report(unread)] == [
        "no findings in 0 numbers; not everything could be read"
    ]


def test_a_rule_comes_before_a_distribution() -> None:
    rows = [{"item": f"i{n}", "count": n + 2, "price": 3 + n % 7, "amount": (n + 2) * (3 + n % 7)} for n in range(120)]
    right, rows[50]["amount"] = rows[50]["amount"], rows[50]["amount"] * 100
    (found,) = [each for each in numerate.check(rows) if each.key == "amount"]
    assert found.rule == "relation" and found.meant is not None and float(found.meant.replace(",", "")) == right


def test_the_name_of_a_file_is_no_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.md").write_text("The lake is 28 km (27 mi) long.", encoding="utf-8")
    with pytest.raises(BadInput, match=r"would check the name of a file: give pathlib.Path\('report.md'\)"):
        numerate.check("report.md")
    assert [each.rule for each in numerate.check(Path("report.md"))] == ["conversion"]
