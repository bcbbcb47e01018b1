"""`numerate check`: exit codes, reports and bad options."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.apps import check as checking
from numerate.apps.formats.streams import open_bytes
from numerate.cli.app import app
from numerate.errors import BadInput
from numerate.files import read_yaml

if TYPE_CHECKING:
    from numerate.apps.documents import Document

TEXT = "The lake is 28 km (27 mi) long.\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "report.txt"
    path.write_text(TEXT)
    return path


def run(*arguments: object, text: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["check", *map(str, arguments)], input=text)
    return done.exit_code, done.stdout, done.stderr


def test_exit_codes(file: Path, tmp_path: Path) -> None:
    clean = tmp_path / "clean.txt"
    clean.write_text("The lake is 28 km (17 mi) long.")
    assert run(clean)[0] == 0 and run(file)[0] == 1 and run(file, tmp_path / "missing")[0] == 2
    assert run(file, "--fail-above", "0.96")[0] == 0 and run(file, "--fail-above", "0.9")[0] == 1
    assert run(file, "--ignore", "conversion")[0] == 0 and run(file, "--ignore", "sum,conversion")[0] == 0
    assert run(file, "--no-model")[0] == 1
    (tmp_path / "empty.csv").write_text("")
    code, shown, said = run(tmp_path / "empty.csv", file)
    assert code == 2 and said.endswith("empty.csv': empty file, nothing to check; leave it out, or give --lenient\n")
    assert "27 mi → 17 mi" in shown
    code, _, said = run(tmp_path / "empty.csv", clean, "--lenient", "--no-model")
    assert code == 0 and said.endswith("empty.csv': empty file, nothing to check\n")


def test_no_model_is_loaded_for_files_that_are_missing(file: Path, tmp_path: Path) -> None:
    code, _, said = run(tmp_path / "missing.txt", "--model", "no-such-model")
    assert code == 2 and said.endswith("missing.txt': no such file or directory\n") and len(said.splitlines()) == 1
    code, _, said = run(tmp_path / "missing.txt", file, "--model", "no-such-model")
    assert code == 2 and "no-such-model" in said


def test_a_rule_that_fails_does_not_end_the_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(document: Document) -> int:
        if "broken" in document.text:
            raise ZeroDivisionError("float division by zero")
        return 0

    monkeypatch.setattr(checking, "count_numbers", failing)
    (file.parent / "other.txt").write_text("It is broken: 28 km (27 mi).")
    code, shown, said = run(file.parent, "--no-model", "--json")
    assert code == 2 and [Path(each["source"]).name for each in json.loads(shown)["findings"]] == ["report.txt"]
    assert "a part was not checked, by a fault of numerate (ZeroDivisionError: float division by zero)" in said


def test_a_file_is_checked_once_by_whatever_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    (file.parent / "folder").mkdir()
    names = ("report.txt", "./report.txt", file, "folder/../report.txt", ".")
    code, shown, _ = run(*names, "--no-model", "--json")
    assert code == 1 and [each["source"] for each in json.loads(shown)["findings"]] == ["report.txt"]


def test_names_that_are_empty_or_of_locked_folders(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, said = run("", "--no-model")
    assert code == 2 and "the name of a file is empty" in said
    code, _, said = run(file, "--model", "")
    assert code == 2 and said == "numerate: cannot load '': its name is empty\n"
    code, _, said = run(file, "--model", file)
    assert code == 2 and said.endswith("it is a file; a model is a folder\n")
    monkeypatch.setattr("os.access", lambda *_: False)  # whatever the rights of who runs the tests
    with pytest.raises(BadInput, match="folder, permission denied"):
        open_bytes(str(file.parent))


def test_a_report_does_not_overwrite_a_text_of_the_checked_folder(file: Path) -> None:
    for option in ("--html", "--sarif", "--resume"):
        code, _, said = run(file.parent, option, file, "--no-model")
        assert code == 2 and "is checked itself" in said and file.read_text() == TEXT
    report = file.parent / "check.html"
    assert [run(file.parent, "--html", report, "--no-model")[0] for _ in range(2)] == [1, 1]
    assert "27 mi" in report.read_text()


def test_the_file_of_standard_output_is_not_checked(file: Path) -> None:
    shown = file.parent / "found.json"
    command = [sys.executable, "-m", "numerate", "check", ".", "--no-model", "--json"]
    for _ in range(2):
        with shown.open("w") as out:
            done = subprocess.run(command, cwd=file.parent, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "")
        assert [each["source"] for each in json.loads(shown.read_text())["findings"]] == ["report.txt"]


def test_only_sarif_goes_to_standard_output(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ("--html", "--resume"):
        code, _, said = run(file, option, "-", "--no-model")
        assert code == 2 and f"{option} '-' would be a file of that name" in said and not Path("-").exists()
    code, _, said = run(file, "--html", "", "--no-model")
    assert code == 2 and said == "numerate: --html '' is empty; name a file\n"


@pytest.mark.parametrize("option", ["--html", "--sarif", "--resume"])
def test_a_checked_file_is_not_overwritten(file: Path, tmp_path: Path, option: str) -> None:
    for output, said in ((file, "is checked itself"), (tmp_path, "is a folder"), (file / "x", "cannot be written")):
        code, _, shown = run(file, option, output, "--no-model")
        assert code == 2 and f"{option} {str(output)!r} {said}" in shown and len(shown.splitlines()) == 1
    code, _, shown = run(file, "--no-model", "--html", tmp_path / "a", option, tmp_path / "a")
    assert option == "--html" or (code == 2 and "is written by --html, too" in shown)
    assert file.read_text() == TEXT


def test_reports(file: Path, tmp_path: Path) -> None:
    page, log = tmp_path / "new" / "report.html", tmp_path / "report.sarif"
    code, shown, _ = run(file, "--html", page, "--sarif", log)
    assert code == 1 and "27 mi → 17 mi" in shown and f"{file}:1:20" in shown
    assert "<mark" in page.read_text("utf-8")
    assert json.loads(log.read_text("utf-8"))["runs"][0]["results"][0]["ruleId"] == "conversion"
    report = json.loads(run(file, "--json")[1])
    assert report["findings"][0]["meant"] == "17 mi" and report["numbers"] == 2
    assert json.loads(run(file, "--sarif", "-")[1])["version"] == "2.1.0"


def test_sarif_has_no_half_of_a_surrogate_pair(tmp_path: Path) -> None:
    file, log = tmp_path / "a.jsonl", tmp_path / "report.sarif"
    file.write_text('{"t": "\\ud83d A lake of 28 km (27 mi)."}\n')
    run(file, "--sarif", log)
    (result,) = json.loads(log.read_text())["runs"][0]["results"]
    assert result["properties"]["passage"].encode().startswith(b"? A lake")


def test_standard_input() -> None:
    assert run("-", text=TEXT)[0] == 1
    code, shown, _ = run("-", "--format", "csv", "--json", text="a,b,sum\n11,22,33\n14,25,39\n31,13,44\n17,18,36\n")
    assert code == 1 and json.loads(shown)["findings"][0]["cell"] == [3, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fail-above", "2"], "--fail-above must lie between 0 and 1, got 2"),
        (["--false-alarms", "0"], "--false-alarms must lie between 0 and 1, got 0"),
        (["--ignore", "summ"], "unknown rule 'summ': did you mean 'sum'"),
        (["--format", "word"], "unknown format 'word'"),
        (["--json", "--sarif", "-"], "both write to standard output"),
        (["--model", "x", "--no-model"], "exclude each other"),
        (["--processes", "many"], "--processes 'many'"),
        (["--top", "-1"], "--top must not be negative, got -1"),
    ],
)
def test_bad_options_are_one_line(file: Path, options: list[str], message: str) -> None:
    code, _, said = run(file, *options)
    assert code == 2 and message in said and len(said.splitlines()) == 1


def test_the_hook_calls_the_command() -> None:
    path = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
    hook = read_yaml(path.read_text("utf-8"), path.name)[0]
    assert hook["entry"].startswith("numerate check ") and {"id", "name", "language"} <= set(hook)
    names = ("a.md", "docs/b.tex", "c.csv", "d.docx", "e.html", "f.jsonl", "g.xlsx", "h.txt")
    assert all(re.search(hook["files"], name) for name in names) and not re.search(hook["files"], "a.py")


def test_folders_are_walked(file: Path, tmp_path: Path) -> None:
    for name in ("sub/b.md", ".git/c.md", "sub/node_modules/d.md", ".hidden.md", "sub/e.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT)
    page = tmp_path / "page.html"
    for _ in range(2):  # the report of the first run is not checked by the second
        code, shown, said = run(tmp_path, file, "--json", "--no-model", "--html", page)
        report = json.loads(shown)
        assert code == 1 and [Path(each["source"]).name for each in report["findings"]] == ["report.txt", "b.md"]
        assert len(said.splitlines()) == 1 and "1 file left out" in said and "e.png'" in said
    (tmp_path / "none").mkdir()
    code, _, said = run(tmp_path / "none")
    assert code == 2 and "no file to check in" in said and len(said.splitlines()) == 1


def test_what_cannot_be_read_is_named_and_the_rest_is_checked(file: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,sum\n11,22,33\n14,25\n31,13,44\n17,18,36\n12,13,25\n9,5,14\n")
    (tmp_path / "b\n.txt").write_bytes(b"%PDF-1.7 x")
    arguments = (tmp_path / "a.csv", tmp_path / "b\n.txt", file, "--no-model", "--json")
    code, shown, said = run(*arguments)
    report = json.loads(shown)
    assert code == 2 and [each["written"] for each in report["findings"]] == ["27 mi", "36"] and not report["complete"]
    lines = said.splitlines()
    assert len(lines) == 2 and lines[0].endswith("a.csv', line 3: row with 2 cells instead of 3 left out")
    assert "b\\n.txt': binary file left out, a PDF file" in lines[1]
    assert run(*arguments, "--lenient")[0] == 1
    (tmp_path / "c.txt").write_bytes(b"Gr\xf6\xdfe: 5.\n")
    assert run(tmp_path / "c.txt", "--no-model")[0] == 0, "all was read, though otherwise"
    assert run(tmp_path / "missing.txt", "--no-model", "--lenient")[0] == 2
