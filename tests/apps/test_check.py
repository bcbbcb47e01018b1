"""`numerate.check`, many files, several processes, and all reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import numerate
from numerate.apps.check import CheckOptions, Outcome, check
from numerate.apps.check_page import check_page
from numerate.apps.check_processes import check_files
from numerate.apps.check_reports import json_report, rule_table, sarif_report, terminal_report
from numerate.apps.documents import Document, Problem, sentence_spans
from numerate.apps.findings import Finding, FindingError, ranked
from numerate.errors import BadInput

TEXT = "The lake is 28 km (27 mi) long & <b>deep</b>. It had 12 men and 15 women, 28 people in all."


COLUMN = [*(100 + 37 * at % 61 for at in range(60)), 1300]


def test_the_public_name() -> None:
    assert numerate.check is check
    assert [each.rule for each in numerate.check(TEXT)] == ["conversion", "sum"]


def test_records_and_documents() -> None:
    records = [{"n": n, "one": p, "all": n * p} for n, p in ((2, 3.5), (5, 1.25), (4, 2.2), (3, 9.1), (8, 1.1))]
    records[3]["all"] = 72.3
    assert [(each.cell, each.key, each.meant) for each in check(records)] == [((3, 2), "all", "27.3")]
    assert check(Document(kind="text", text=TEXT), ignore=["sum", "conversion"]) == []


def test_a_model_is_asked_too() -> None:
    class Model:
        def check(self, document: Document) -> list[Finding]:
            return [Finding(rule="plausible-slip", message="Odd.", written="28", span=(12, 14), probability=0.4)]

    found = check(TEXT, model=Model())
    assert [each.rule for each in found] == ["conversion", "sum", "plausible-slip"]
    assert found[-1].line == 1 and found[-1].severity == "note"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"ignore": ["convertion"]}, "did you mean 'conversion'"), ({"false_alarms": 2}, "between 0 and 1, got 2")],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        check(TEXT, **arguments)
    with pytest.raises(BadInput, match="got int"):
        check(5)  # type: ignore[arg-type]


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


def test_the_page_shows_text_as_text(files: list[str]) -> None:
    outcome = check_files(files, CheckOptions(), excerpts=True)
    outcome.findings += check([{"x": each} for each in COLUMN], false_alarms=0.001)
    page = check_page(outcome).decode()
    assert "<script" not in page and "&lt;script&gt;" not in page  # the tags of Markdown are blanked
    assert "&amp; &lt;b&gt;deep&lt;/b&gt;" in page and "default-src 'none'" in page
    assert all(part in page for part in ('href="#n2"', 'id="n2"', 'href="#f2"', 'id="f2"'))
    assert "missing.txt" in page and "http" not in page.replace("http-equiv", "")
    assert page.count("<mark") == page.count("</mark>") > 4 and "<svg" in page


def test_the_terminal_shows_the_passage(files: list[str]) -> None:
    outcome = check_files(files[:1], CheckOptions())
    lines = [text.plain for text in terminal_report(outcome, top=1)]
    assert "error 0.95" in lines[0] and lines[1].strip() == "28 km are 17 mi, not 27 mi."
    assert "(27 mi → 17 mi)" in lines[2] and "1 more" in "\n".join(lines)
    assert lines[-1] == "2 findings in 5 numbers (1 conversion, 1 sum)"
    assert [text.plain for text in terminal_report(Outcome())] == ["no findings in 0 numbers"]


REQUIRED = {
    "log": {"version", "runs"}, "run": {"tool"}, "tool": {"driver"}, "driver": {"name"}, "rule": {"id"},
    "result": {"message"}, "invocation": {"executionSuccessful"}, "notification": {"message"},
}  # fmt: skip
"""Required properties of the objects that we write, by the schema of SARIF 2.1.0."""
KNOWN = {
    "log": {"$schema", "version", "runs"},
    "run": {"tool", "columnKind", "invocations", "results"},
    "driver": {"name", "version", "semanticVersion", "rules"},
    "rule": {"id", "name", "shortDescription", "fullDescription", "defaultConfiguration"},
    "result": {"ruleId", "ruleIndex", "level", "message", "locations", "rank", "partialFingerprints"},
    "location": {"physicalLocation", "logicalLocations"},
    "region": {"startLine", "startColumn", "endColumn", "snippet"},
}
"""Properties that the schema has for them: it allows no others."""


def test_sarif_has_what_the_schema_demands(files: list[str]) -> None:
    outcome = check_files([*files, files[0]], CheckOptions())
    outcome.findings += check([{"x": each} for each in COLUMN], false_alarms=0.001)
    outcome.problems.append(Problem("a b.csv", "odd", 3))
    log = json.loads(json.dumps(sarif_report(outcome)))
    run = log["runs"][0]
    driver, results = run["tool"]["driver"], run["results"]
    objects = [("log", log), ("run", run), ("tool", run["tool"]), ("driver", driver)]
    objects += [("rule", each) for each in driver["rules"]] + [("result", each) for each in results]
    objects += [("invocation", each) for each in run["invocations"]]
    objects += [("notification", each) for each in run["invocations"][0]["toolExecutionNotifications"]]
    objects += [("location", each) for result in results for each in result["locations"]]
    places = [each["physicalLocation"] for name, each in objects if name == "location"]
    objects += [("region", place["region"]) for place in places if "region" in place]
    for name, each in objects:
        assert set(each) >= REQUIRED.get(name, set()), name
        assert name not in KNOWN or set(each) <= KNOWN[name], name
    assert log["version"] == "2.1.0" and run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    for result in results:
        assert result["level"] in ("none", "note", "warning", "error") and 0 <= result["rank"] <= 100
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] and result["message"]["text"]
    assert all(
        place["region"]["startLine"] >= 1 and place["region"].get("startColumn", 1) >= 1
        for place in places
        if "region" in place
    )
    assert all(" " not in place["artifactLocation"]["uri"] for place in places)
    prints = [result["partialFingerprints"]["numerate/v1"] for result in results]
    assert len(set(prints)) == len(prints), "a copy of a passage has a fingerprint of its own"
    assert set(rule_table()) >= {each["id"] for each in driver["rules"]}


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
