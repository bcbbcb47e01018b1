"""The command line as a whole: wiring, bad input, pipes."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import numerate
from numerate.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "numerate"]


def test_help_and_version() -> None:
    for arguments in (["--help"], []):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0
        assert all(name in done.stdout for name in ("find", "audit", "stats", "doctor", "demo"))
    assert CliRunner().invoke(app, ["--version"]).stdout.strip() == numerate.__version__


def test_find_reads_standard_input() -> None:
    done = CliRunner().invoke(app, ["find", "-", "--json"], input="nothing\n3.2% of 7\n")
    assert [(row["index"], row["text"]) for row in map(json.loads, done.stdout.splitlines())] == [(1, "3.2%"), (1, "7")]


def test_find_writes_columns_into_a_pipe() -> None:
    assert CliRunner().invoke(app, ["find", "-"], input="$5\n").stdout == "0\t1\t2\t5.0\tmoney\tUSD\t5\n"


def test_find_takes_the_options_of_the_reader() -> None:
    done = CliRunner().invoke(app, ["find", "-", "--words", "--roman", "--locale", "eu"], input="two, IV and 1,5\n")
    assert [line.split("\t")[3] for line in done.stdout.splitlines()] == ["2.0", "4.0", "1.5"]


def test_find_reads_fields_of_packed_json_lines(shared: Path) -> None:
    path = shared / "data" / "market" / "dev.jsonl.gz"
    done = CliRunner().invoke(app, ["find", str(path), "--field", "comment", "--json"])
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) > 1_000


def test_stats_writes_one_json_object_per_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("7 of 12\n")
    (tmp_path / "b.txt").write_text("none\n")
    done = CliRunner().invoke(app, ["stats", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--json"])
    assert [json.loads(line)["numerals"] for line in done.stdout.splitlines()] == [2, 0]
    assert "numerals per text" in CliRunner().invoke(app, ["stats", str(tmp_path / "a.txt")]).stdout


@pytest.mark.parametrize(
    ("arguments", "quoted"),
    [
        (["fnd"], "'fnd'"),
        (["find"], "file"),
        (["find", "no/such/file"], "'no/such/file'"),
        (["find", "."], "'.'"),
        (["find", "-", "--reader", "standart"], "'standart'"),
        (["find", "-", "--locale", "klingon"], "klingon"),
        (["find", "-", "--reader", "luna", "--words"], "--words"),
        (["find", "-", "--processes", "0"], "--processes"),
        (["find", "-", "--processes", "many"], "many"),
        (["find", "-", "--no-such-option"], "--no-such-option"),
        (["stats"], "files"),
        (["stats", "no/such/file"], "'no/such/file'"),
        (["stats", "-", "--reader", "x"], "'x'"),
        (["audit", "no/such/folder"], "'no/such/folder'"),
        (["demo", "--reader", "x"], "'x'"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(arguments: list[str], quoted: str) -> None:
    done = CliRunner().invoke(app, arguments, input="")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("numerate: ") and done.stderr.count("\n") == 1
    assert quoted.lower() in done.stderr.lower()


def test_a_closed_pipe_is_no_error() -> None:
    with subprocess.Popen([*COMMAND, "find", "-"], stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        try:
            for _ in range(50):
                process.stdin.write(b"1 2 3 4 5\n" * 5_000)
            process.stdin.close()
        except BrokenPipeError:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_bad_input_has_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"5\n\xff\n")
    done = subprocess.run(
        [*COMMAND, "find", tmp_path / "bad.txt", "--processes", "2"], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout.startswith(b"0\t0\t1\t5.0")
    assert done.stderr.count(b"\n") == 1 and b"bad.txt:2: " in done.stderr
