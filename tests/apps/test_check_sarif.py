"""SARIF 2.1.0: the structure that its schema demands, stable rule ids, and fingerprints that outlive edits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import CheckOptions, Outcome, check
from numerate.apps.check_processes import check_files
from numerate.apps.check_reports import rule_table, sarif_report
from numerate.apps.documents import Problem

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The lake is 28 km (27 mi) long & <b>deep</b>. It had 12 men and 15 women, 28 people in all."
COLUMN = [{"x": each} for each in [*(100 + 37 * at % 61 for at in range(60)), 1300]]
LEVEL = ("none", "note", "warning", "error")
# Objects that we write, by the names of the specification: property -> type, object, list of objects, or what it may
# be. A star marks those that the specification requires. It allows no other properties, except in property bags.
OBJECTS: dict[str, dict[str, Any]] = {
    "sarifLog": {"$schema": str, "version*": ("2.1.0",), "runs*": ["run"]},
    "run": {
        "tool*": "tool", "columnKind": ("utf16CodeUnits", "unicodeCodePoints"), "invocations": ["invocation"],
        "results": ["result"],
    },
    "tool": {"driver*": "toolComponent"},
    "toolComponent": {"name*": str, "version": str, "semanticVersion": str, "rules": ["reportingDescriptor"]},
    "reportingDescriptor": {
        "id*": str, "shortDescription": "multiformatMessageString", "fullDescription": "multiformatMessageString",
        "help": "multiformatMessageString", "defaultConfiguration": "reportingConfiguration",
    },
    "multiformatMessageString": {"text*": str},
    "reportingConfiguration": {"level": LEVEL},
    "invocation": {"executionSuccessful*": bool, "toolExecutionNotifications": ["notification"]},
    "notification": {"message*": "message", "level": LEVEL, "locations": ["location"]},
    "message": {"text*": str},
    "result": {
        "ruleId": str, "ruleIndex": int, "level": LEVEL, "message*": "message", "locations": ["location"],
        "rank": (int, float), "partialFingerprints": dict, "properties": dict,
    },
    "location": {"physicalLocation": "physicalLocation", "logicalLocations": ["logicalLocation"]},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "artifactLocation": {"uri": str},
    "logicalLocation": {"name": str, "fullyQualifiedName": str, "kind": str},
    "region": {"startLine": int, "startColumn": int, "endColumn": int, "snippet": "artifactContent"},
    "artifactContent": {"text": str},
}  # fmt: skip


def verify(value: Any, kind: Any, path: str = "log") -> None:
    """Fails where a value is not of a kind of `OBJECTS`."""
    if isinstance(kind, list):
        assert isinstance(value, list), path
        for at, each in enumerate(value):
            verify(each, kind[0], f"{path}[{at}]")
    elif isinstance(kind, str):
        assert isinstance(value, dict), path
        known = {name.rstrip("*"): each for name, each in OBJECTS[kind].items()}
        assert set(value) <= set(known), f"{path}: {set(value) - set(known)}"
        assert {name[:-1] for name in OBJECTS[kind] if name.endswith("*")} <= set(value), path
        for name, each in value.items():
            verify(each, known[name], f"{path}.{name}")
    elif isinstance(kind, tuple) and isinstance(kind[0], str):
        assert value in kind, f"{path}: {value}"
    else:
        assert isinstance(value, kind), f"{path}: {value!r}"


def sarif(outcome: Outcome) -> dict[str, Any]:
    return json.loads(json.dumps(sarif_report(outcome), allow_nan=False))


@pytest.fixture
def outcome(tmp_path: Path) -> Outcome:
    (tmp_path / "a b.txt").write_text(TEXT)
    (tmp_path / "empty.txt").write_text("")
    files = [str(tmp_path / name) for name in ("a b.txt", "a b.txt", "empty.txt", "missing.txt")]
    found = check_files(files, CheckOptions())
    found.findings += check(COLUMN, false_alarms=0.001)
    found.problems.append(Problem("a b.csv", "odd", 3, is_note=True))
    return found


def test_the_log_has_what_the_specification_demands(outcome: Outcome) -> None:
    log = sarif(outcome)
    verify(log, "sarifLog")
    verify(sarif(Outcome()), "sarifLog")
    (run,) = log["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert len({rule["id"] for rule in rules}) == len(rules) and set(rule_table()) >= {rule["id"] for rule in rules}
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] and 0 <= result["rank"] <= 100
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert " " not in place["artifactLocation"]["uri"]
        region = place.get("region", {"startLine": 1})
        assert region["startLine"] >= 1 and region.get("endColumn", 2) > region.get("startColumn", 1) >= 1
    assert not run["invocations"][0]["executionSuccessful"]
    said = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["level"] for each in said] == ["error", "error", "note"]
    assert said[2]["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "a%20b.csv"}, "region": {"startLine": 3}}}
    ]
    with pytest.raises(AssertionError, match="oops"):
        verify(log | {"oops": 1}, "sarifLog")


def test_fingerprints_outlive_lines_that_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, rows = tmp_path / "a.csv", [f"{row['x']},{at % 5}" for at, row in enumerate(COLUMN)]

    def prints(text: str, table: list[str], name: str) -> dict[str, str]:
        (tmp_path / "a.txt").write_text(text)
        file.write_text("x,y\n" + "\n".join(table))
        found = check_files([name.format("a.txt"), name.format("a.csv")], CheckOptions(false_alarms=0.001))
        results = sarif(found)["runs"][0]["results"]
        return {result["partialFingerprints"]["numerate/v1"]: result["ruleId"] for result in results}

    before = prints(f"{TEXT}\n\n{TEXT}\n", rows, "{}")
    assert len(before) == 5, "a copy of a passage has a fingerprint of its own"
    added = prints(f"A new line.\n\n{TEXT}\n\nAnother.\n\n{TEXT}\n", [*rows[:3], "120,2", *rows[3:]], "{}")
    assert added == before
    assert (
        prints(f"{TEXT}\n\n{TEXT}\n", rows, "./{}") == before == prints(f"{TEXT}\n\n{TEXT}\n", rows, f"{tmp_path}/{{}}")
    )
    other = prints(f"{TEXT.replace('27 mi', '26 mi')}\n", rows, "{}")
    assert sum(rule == "conversion" for rule in other.values()) == 1 and len(set(other) & set(before)) == 2


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        ("s3://docs/a b.md", "s3://docs/a%20b.md"),
        ("s3://docs/a%20b.md", "s3://docs/a%2520b.md"),  # keys have no escapes
        ("https://host/a%20b.md?x=1&y=2", "https://host/a%20b.md?x=1&y=2"),
        ("http://host/größe.md", "http://host/gr%C3%B6%C3%9Fe.md"),
        ("a#1 100%.md", "a%231%20100%25.md"),
        ("c:größe?.md", "c%3Agr%C3%B6%C3%9Fe%3F.md"),
        ("a\udcff.md", "a%FF.md"),  # a byte that is no UTF-8
        ("/docs/a\udcff #.md", "file:///docs/a%FF%20%23.md"),
        ("/docs/x/../a.md", "file:///docs/a.md"),
        ("../x/../../a.md", "../../a.md"),
    ],
)
def test_odd_names_become_uris(source: str, uri: str) -> None:
    (result,) = sarif(Outcome([replace(check(TEXT, model=False)[0], source=source)]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_rules_have_what_code_hosts_demand(outcome: Outcome) -> None:
    for rule in sarif(outcome)["runs"][0]["tool"]["driver"]["rules"]:
        assert rule["help"]["text"]
        assert rule.get("name", "").lower() != rule["id"], "a name that repeats the id is left out (SARIF1001)"


def test_an_empty_name_is_no_place() -> None:
    log = sarif(check_files([""], CheckOptions()))
    verify(log, "sarifLog")
    (said,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "locations" not in said and said["message"]["text"].startswith("the name of a file is empty")


def test_regions_end_where_the_number_ends_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("A lake of 28 km (27&nbsp;mi), one of **28** km (**27** mi), and one of 28 km (27\nmi).\n")
    line = file.read_text()
    regions = [
        each["locations"][0]["physicalLocation"]["region"]
        for each in sarif(check_files([str(file)], CheckOptions()))["runs"][0]["results"]
    ]
    shown = [line[region["startColumn"] - 1 : region["endColumn"] - 1] for region in regions]
    assert shown == ["27&nbsp;mi", "27** mi", "27"]
    assert not any("snippet" in region for region in regions), "the number was read in another way than it stands there"


def test_columns_count_characters_and_snippets_are_what_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("😀 The lake is 28 km (27 mi) long.\n")
    (result,) = sarif(check_files([str(file)], CheckOptions()))["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert file.read_text()[region["startColumn"] - 1 : region["endColumn"] - 1] == region["snippet"]["text"] == "27 mi"
