"""Output folders: checked before the work, and held by one process at a time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from numerate.training.output_folder import LOCK_FILE, OutputFolderError, output_folder

if TYPE_CHECKING:
    from pathlib import Path

HOLD = """
import os, sys, time
from numerate.training.output_folder import output_folder
with output_folder(sys.argv[1]):
    child = os.fork() if "fork" in sys.argv else 0
    if not child:  # a forked one prints when it has closed the lock file
        print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path, *more: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *more], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_folder_that_another_process_holds_is_refused(tmp_path: Path) -> None:
    process = holder(tmp_path)
    try:
        said = f"is in use by process {process.pid} on {socket.gethostname()} since .*: wait until it ends"
        with pytest.raises(OutputFolderError, match=said), output_folder(tmp_path):
            pass
        with output_folder(tmp_path, holds=False):
            pass  # the other processes of a distributed run
    finally:
        end(process)
    assert (tmp_path / LOCK_FILE).exists(), "a killed process leaves its file"
    with output_folder(tmp_path):
        assert f"process {os.getpid()} on" in (tmp_path / LOCK_FILE).read_text()
    assert not list(tmp_path.iterdir())


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    process = holder(tmp_path, "fork")
    try:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with output_folder(tmp_path):
            pass
    finally:
        end(process)


def test_the_lock_ends_with_an_error_and_nests(tmp_path: Path) -> None:
    with pytest.raises(KeyError), output_folder(tmp_path / "new"), output_folder(tmp_path / "new"):
        assert (tmp_path / "new" / LOCK_FILE).exists()
        raise KeyError
    assert not (tmp_path / "new").exists(), "made here, and nothing was written"
    found: list[BaseException] = []

    def other_thread() -> None:
        try:
            with output_folder(tmp_path):
                pass
        except OutputFolderError as error:
            found.append(error)

    with output_folder(tmp_path):
        thread = threading.Thread(target=other_thread)
        thread.start()
        thread.join()
    assert len(found) == 1 and f"process {os.getpid()}" in str(found[0])


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputFolderError, match=r"file is a file; give a folder"), output_folder(tmp_path / "file"):
        pass
    with pytest.raises(OutputFolderError, match="cannot be written to: "), output_folder(tmp_path / "file" / "below"):
        pass
    with pytest.raises(OutputFolderError, match="cannot be written to: "), output_folder("/proc/none"):
        pass


def test_links_in_a_circle_are_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with (
        pytest.raises(OutputFolderError, match=r"loop.x cannot be written to: "),
        output_folder(tmp_path / "loop" / "x"),
    ):
        pass
