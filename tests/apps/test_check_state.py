"""`--resume`: a killed run goes on where it stopped, and its reports equal those of a run without interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numerate.apps import check as checking
from numerate.apps.check import CheckOptions, check_file
from numerate.apps.check_outcome import Outcome
from numerate.apps.check_state import CheckState
from numerate.cli.app import app
from numerate.errors import BadInput

LAKE = "The lake is 28 km (27 mi) long & <b>."
ROWS = [f"{n},{n % 7 + 2},{(n + 3) * (n % 7 + 2)},{100 + 37 * n % 61}" for n in range(120)]


def write(folder: Path) -> list[str]:
    """Files of several formats, with findings and problems; their names in order."""
    folder.mkdir()
    rows = [*ROWS[:50], "7,7,7777,1300", *ROWS[51:], "broken"]
    contents = {
        "a.txt": f"{LAKE}\n", "b.csv": "count,price,amount,size\n" + "\n".join(rows), "c.md": f"# Lakes\n\n{LAKE}\n",
        "m.txt": f"{LAKE} It had 12 men and 15 women, 28 people in all.\n", "n.txt": "", "z.jsonl": '{"t": 1}\n{"t": ',
    }  # fmt: skip
    for name, content in contents.items():
        (folder / name).write_text(content)
    return list(contents)


def run(folder: Path, *options: object) -> tuple[int, str, str, bytes]:
    page = folder.parent / "page.html"
    arguments = ["check", str(folder), "--json", "--html", str(page), *map(str, options)]
    done = CliRunner().invoke(app, arguments)
    return done.exit_code, done.stdout, done.stderr, page.read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, state = tmp_path / "files", tmp_path / "state.jsonl"
    names = write(folder)
    whole = run(folder)
    assert whole[0] == 2 and len(json.loads(whole[1])["findings"]) >= 5
    # The run is stopped in the middle by a pipe that nobody writes to.
    content = (folder / "m.txt").read_bytes()
    (folder / "m.txt").unlink()
    os.mkfifo(folder / "m.txt")
    command = [sys.executable, "-m", "numerate", "check", str(folder), "--html", str(tmp_path / "page.html"), "--json"]
    child = subprocess.Popen([*command, "--resume", str(state)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not state.exists() or state.read_bytes().count(b"\n") < 4:
        assert child.poll() is None and time.monotonic() < end, child.communicate()
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL and child.communicate()[0] == b""
    with state.open("ab") as file:
        file.write(b'{"path": "torn')  # as if it had been killed while it wrote a line
    (folder / "m.txt").unlink()
    (folder / "m.txt").write_bytes(content)
    read: list[str] = []
    reader = checking.read_documents
    monkeypatch.setattr(checking, "read_documents", lambda path, *more: (read.append(path), reader(path, *more))[1])
    assert run(folder, "--resume", state) == whole
    assert [Path(path).name for path in read] == names[3:]
    read.clear()
    assert run(folder, "--resume", state) == whole and not read  # all is known, nothing is read
    (folder / "a.txt").write_text("Nothing.")
    assert len(json.loads(run(folder, "--resume", state)[1])["findings"]) == len(json.loads(whole[1])["findings"]) - 1
    assert [Path(path).name for path in read] == ["a.txt"]


def test_an_outcome_survives_json(tmp_path: Path) -> None:
    write(tmp_path / "files")
    for name in ("b.csv", "c.md", "z.jsonl"):
        outcome = check_file(str(tmp_path / "files" / name), CheckOptions(false_alarms=0.01), excerpts=True)
        kept = json.dumps(outcome.to_json())
        again = Outcome.of_json(json.loads(kept))
        assert json.dumps(again.to_json()) == kept and again.findings == outcome.findings
        assert again.problems == outcome.problems and (outcome.findings or outcome.problems)


def test_states_of_other_runs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.jsonl"
    CheckState(path, CheckOptions(), {}).close()
    CheckState(path, CheckOptions(), {}).close()
    with pytest.raises(BadInput, match="is of other options or another model: name another file, or delete it"):
        CheckState(path, CheckOptions(ignore=("sum",)), {})
    path.write_text(path.read_text().replace('"version": "', '"version": "9'))
    with pytest.raises(BadInput, match="another version"):
        CheckState(path, CheckOptions(), {})
    (tmp_path / "notes.txt").write_text("dear diary\n")
    with pytest.raises(BadInput, match=r"notes.txt' is not a state of numerate check"):
        CheckState(tmp_path / "notes.txt", CheckOptions(), {})
    assert (tmp_path / "notes.txt").read_text() == "dear diary\n"
    with pytest.raises(BadInput, match="is a directory"):
        CheckState(tmp_path, CheckOptions(), {})


def test_what_could_not_be_read_is_tried_again(tmp_path: Path) -> None:
    state = CheckState(tmp_path / "state", CheckOptions(), {})
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 not really")
    for _ in range(2):
        assert state.known(str(tmp_path / "a.xlsx")) is None
        state.add(str(tmp_path / "a.xlsx"), check_file(str(tmp_path / "a.xlsx"), CheckOptions()))
    assert state.known("-") is None and state.known(str(tmp_path / "missing")) is None
    state.close()
    assert (tmp_path / "state").read_bytes().count(b"\n") == 1
