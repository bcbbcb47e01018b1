"""Runs a call of `numerate` in a forked process, with its streams, limits and rights as a hostile caller sets them."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shlex
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOBODY = 65534
MB = 1 << 20


@dataclass(frozen=True)
class Call:
    """One call and what is expected of it.

    Attributes:
        words: The arguments of `numerate`, as a shell would read them.
        code: Expected exit code; several codes are allowed where the outcome depends on the moment.
        says: A part of the error line, or of the output where the code is 0.
        group: Heading in the table.
        stdin: Bytes at standard input.
        stdout: `file`, `full` (a full disk), `closed`, or `head` (the reader closes the pipe after the first line).
        memory: Additional memory in MB that the process may have.
        largest: Maximum size in bytes of a file that the process writes: a disk that gets full.
        user: Whether to run without the rights of an administrator, so that read-only folders are read-only.
        signal_after: Seconds until Ctrl-C; 0 for none.
        seconds: Time limit.
        environment: Changed variables.
    """

    words: str
    code: int | tuple[int, ...] = 2
    says: str = ""
    group: str = ""
    stdin: bytes = b""
    stdout: str = "file"
    memory: int = 0
    largest: int = 0
    user: bool = False
    signal_after: float = 0.0
    seconds: float = 120.0
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The call as a line of a shell."""
        line = f"numerate {self.words}"
        line += {"full": " > /dev/full", "closed": " >&-", "head": " | head -1"}.get(self.stdout, "")
        notes = [f"{self.memory} MB of memory"] if self.memory else []
        notes += [f"disk full after {self.largest:,} bytes"] if self.largest else []
        notes += [f"Ctrl-C after {self.signal_after:g} s"] if self.signal_after else []
        notes += ["read-only folder"] if self.user else []
        return line + (f"   ({', '.join(notes)})" if notes else "")


@dataclass(frozen=True)
class Outcome:
    """What a call did."""

    code: int
    output: str
    error: str
    seconds: float
    faults: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The exit code and the error line, or the first line of the output."""
        lines = [line for line in self.error.splitlines() if line.startswith("numerate: ")]
        said = lines[-1].removeprefix("numerate: ") if lines else next(iter(self.output.splitlines()), "")
        return f"{self.code}: {said[:160]}" if said else f"{self.code}"


def preload() -> None:
    """Imports what most commands need, so that each forked process starts at once."""
    import torch
    import transformers.trainer  # noqa: F401

    import numerate.cli.app
    import numerate.records
    import numerate.training.build  # noqa: F401

    torch.set_num_threads(1)


def run(call: Call, folder: Path) -> Outcome:
    """Runs a call in a folder and says what is wrong with its outcome."""
    start = time.monotonic()
    before = _unfinished(folder)
    paths = [folder / ".stdin", folder / ".stdout", folder / ".stderr"]
    paths[0].write_bytes(call.stdin)
    reader, writer = os.pipe() if call.stdout == "head" else (-1, -1)
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal inside of the fork itself would meet the interpreter's own hooks.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    process = os.fork()
    if process == 0:
        try:
            if reader >= 0:
                os.close(reader)
            code = _child(call, folder, paths, writer)
        except BaseException:
            traceback.print_exc()
            code = 99
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    if writer >= 0:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            paths[1].write_bytes(pipe.readline())
    code = _wait(process, call, start)
    output, error = (path.read_text("utf-8", "replace") if path.exists() else "" for path in paths[1:])
    outcome = Outcome(code, output, error, time.monotonic() - start, ())
    return Outcome(code, output, error, outcome.seconds, tuple(_faults(call, outcome, _unfinished(folder) - before)))


def _child(call: Call, folder: Path, paths: list[Path], writer: int) -> int:
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.is_available = lambda: False  # a forked process cannot use CUDA
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # until the command begins: a signal before it would meet this file
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    os.chdir(folder)
    for number, path in enumerate(paths):
        target = os.open(path, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(target, number)
    if call.stdout == "full":
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    elif call.stdout == "head":
        os.dup2(writer, 1)
        os.close(writer)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(number, "wb", closefd=False), "utf-8", errors, line_buffering=number == 2)
        for number, errors in ((1, "strict"), (2, "backslashreplace"))
    )
    if call.stdout == "closed":
        sys.stdout = None  # type: ignore[assignment]  (what Python makes of a closed descriptor)
        os.close(1)
    os.environ.update(call.environment)
    if call.largest:
        resource.setrlimit(resource.RLIMIT_FSIZE, (call.largest, call.largest))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if call.memory:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + call.memory * MB, size + call.memory * MB))
    if call.user and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.argv = ["numerate", *shlex.split(call.words)]
    from numerate.cli import main

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    return 0


def _wait(process: int, call: Call, start: float) -> int:
    sent = False
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if call.signal_after and not sent and time.monotonic() - start > call.signal_after:
            os.kill(process, signal.SIGINT)
            sent = True
        if time.monotonic() - start > call.seconds:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return -signal.SIGKILL
        time.sleep(0.005)


def _unfinished(folder: Path) -> set[str]:
    """Half-written files."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_symlink())
    return {name for name in found if name.endswith((".part", ".tmp")) or "/tmp-" in name}


def _faults(call: Call, outcome: Outcome, left: set[str]) -> list[str]:
    codes = call.code if isinstance(call.code, tuple) else (call.code,)
    faults = ["took too long"] if outcome.code == -signal.SIGKILL else []
    if outcome.code not in codes and not faults:
        faults.append(f"exit code {outcome.code}, expected {' or '.join(map(str, codes))}")
    asked = "--debug" in call.words
    if ("Traceback" in outcome.error + outcome.output and not asked) or "Exception ignored" in outcome.error:
        faults.append("a traceback")
    if outcome.code == 2:
        ours = [line for line in outcome.error.splitlines() if line.startswith("numerate: ")]
        if len(ours) != 1 or not outcome.error.rstrip().endswith(ours[-1].rstrip()):
            faults.append("not one line")
        elif "--debug shows where" in ours[0]:
            faults.append("an error that the boundary does not know")
    where = outcome.error if outcome.code else outcome.output + outcome.error
    if call.says and call.says not in where:
        faults.append(f"does not say {call.says!r}")
    if left and outcome.code:
        faults.append(f"left {sorted(left)[0]}")
    return faults


def main_of(words: list[str]) -> Any:
    """Runs `numerate` in this process, for the files that the calls need."""
    from numerate.cli.app import app

    return app(words, standalone_mode=False)
