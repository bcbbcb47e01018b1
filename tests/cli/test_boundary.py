"""The boundary for errors: one line and an exit code, whatever a command raises."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest
import typer
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.cli.boundary import exit_code, message_of, without_debug
from numerate.errors import BadInput

COMMAND = [sys.executable, "-m", "numerate"]


def raising(error: BaseException) -> int:
    def work() -> NoReturn:
        raise error

    return exit_code(work)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (BadInput("--level must lie between 0 and 1, got 2"), "--level must lie between 0 and 1, got 2"),
        (BadInput("two\nlines"), "two lines"),
        (BadInput("lone \ud800"), r"lone \ud800"),
        (OSError(28, "No space left on device", "out/x"), "out/x: no space left on device"),
        (OSError(30, "Read-only file system"), "read-only file system"),
        (MemoryError(), "not enough memory; use smaller batches, sizes or files"),
        (ImportError("figures need matplotlib: pip install x"), "figures need matplotlib: pip install x"),
        (ModuleNotFoundError("no", name="pint.facets"), 'this needs the package pint: pip install "numerate[units]"'),
        (KeyError("eval_loss"), "KeyError: 'eval_loss'; --debug shows where"),
        (AssertionError(), "AssertionError: no message; --debug shows where"),
        (typer.BadParameter("no such thing."), "Invalid value: no such thing; see numerate --help"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_code_2(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(error) == 2
    assert capsys.readouterr().err == f"numerate: {line}\n"


@pytest.mark.parametrize(
    "words", [["check", "x", "--top", "ab c"], ["fill", "x", "--top", "1.5"], ["play", "--port", "x"]]
)
def test_an_option_that_is_no_number_is_quoted(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and len(said.splitlines()) == 1 and f"{words[-2]}'" in said and repr(words[-1]) in said


def test_no_address_is_shown_for_a_port_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for given, said in (
            (70000, "--port must lie between 1 and 65535, got 70000"),
            (port, f"--port {port} cannot be used: address already in use; give another one"),
        ):
            with pytest.raises(SystemExit):
                app(["play", "--port", str(given), "--model", "nowhere"])
            assert capsys.readouterr().err == f"numerate: {said}\n"


def test_memory_of_torch_and_deep_nesting_are_told() -> None:
    assert "not enough memory" in message_of(RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes"))
    assert message_of(Exception("File too large (os error 27)")) == "File too large"
    assert "nested too deeply" in message_of(RecursionError("maximum recursion depth exceeded"))
    assert len(message_of(RuntimeError("x" * 10**6))) < 1_000


def test_ctrl_c_is_code_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(KeyboardInterrupt()) == raising(typer.Abort()) == 130
    assert capsys.readouterr().err == ""


def test_debug_shows_the_traceback_at_any_place() -> None:
    for words in (["--debug", "find", "no/file"], ["find", "no/file", "--debug"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert done.stderr.startswith("Traceback") and done.stderr.endswith("numerate: 'no/file': no such file\n")
    assert without_debug(["find", "--", "--debug"]) == (["find", "--", "--debug"], False)


def heeds_ctrl_c() -> None:
    """Undoes what a shell does to jobs in the background, from which tests may be run: they ignore the signal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(*words: str, **streams: int) -> subprocess.Popen[bytes]:
    command = [*COMMAND, *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=heeds_ctrl_c, **streams)  # type: ignore[call-overload]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_at_standard_output() -> None:
    with Path("/dev/full").open("wb") as full, started("--help", stdout=full.fileno()) as process:
        assert process.communicate()[1] == b"numerate: no space left on device\n"
        assert process.returncode == 2


def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("5\n")
    line = f"exec {sys.executable} -m numerate find {tmp_path}/a.txt >&- <&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_during_the_imports_is_quiet(tmp_path: Path) -> None:
    # The first import of the command line is where Ctrl-C meets a slow machine; here it waits for the signal.
    (tmp_path / "typer.py").write_text(
        "import sys, time\nsys.stdout.write('here')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with subprocess.Popen(
        COMMAND, stdout=-1, stderr=-1, env=os.environ | {"PYTHONPATH": path}, preexec_fn=heeds_ctrl_c
    ) as process:
        assert process.stdout and process.stderr
        assert process.stdout.read(4) == b"here"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
        assert process.wait() == 130


@pytest.mark.slow
def test_ctrl_c_at_any_moment_is_quiet() -> None:
    for moment in range(3, 30):
        with started("find", "-", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
            time.sleep(0.05 * moment)
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        # On a busy machine Python itself may still be starting: then it ends by the signal, outside of our code.
        assert process.returncode in (130, 0, -signal.SIGINT) and b"numerate/" not in said, (moment, said)


def test_files_are_written_although_the_reader_has_gone(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from numerate.cli.boundary import exit_code, outlive_the_reader\n"
        "def work():\n"
        "    outlive_the_reader()\n"
        "    for step in range(2000): print('step', step, 'x' * 100)\n"
        "    Path(sys.argv[1]).write_text('saved')\n"
        "sys.exit(exit_code(work))\n"
    )
    line = f'{sys.executable} -c "$CODE" {tmp_path}/model | head -1'
    done = subprocess.run(["sh", "-c", line], capture_output=True, env=os.environ | {"CODE": code}, check=False)
    assert done.stderr == b"" and done.stdout.startswith(b"step 0 ")
    assert (tmp_path / "model").read_text() == "saved"
