"""The service as processes: it starts, a killed worker comes back, and the end answers what is being handled."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("fastapi", reason="needs the extra serve: pip install 'numerate[serve]'")
from numerate.apps.serving import server
from numerate.apps.serving.settings import ServeSettings
from numerate.apps.serving.supervisor import CANNOT_START, Supervisor
from numerate.cli.app import app
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "0123456789abcdef"
TEXT = "Revenue rose 3.2% to $1.5 billion in 2023."


class Running:
    """A service in a process of its own, on a free port."""

    def __init__(self, log: Path, *options: str) -> None:
        self.log = log
        environment = {**os.environ, "NUMERATE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "numerate", "serve", "--port", "0", *options]
        with log.open("wb") as file:
            self.process = subprocess.Popen(command, stderr=file, stdout=file, env=environment)
        self.port = int(self.logged(r"http://127\.0\.0\.1:([0-9]+) ")[0])

    def logged(self, pattern: str, count: int = 1, seconds: float = 60) -> list[str]:
        """What the log says, as soon as it says it so often."""
        until = time.monotonic() + seconds
        while len(found := re.findall(pattern, self.log.read_text())) < count:
            assert time.monotonic() < until, f"{pattern} is not in {self.log.read_text()}"
            time.sleep(0.05)
        return found

    def ask(self, path: str, body: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
            connection.request("GET" if body is None else "POST", path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    service = Running(tmp_path / "log", "--no-model", "--workers", "2")
    yield service
    if service.process.poll() is None:
        service.process.kill()
        service.process.wait(10)


def test_a_killed_worker_comes_back_and_the_end_is_graceful(running: Running) -> None:
    workers = running.logged(r"Started server process \[([0-9]+)\]", count=2)
    running.logged("startup complete", count=2)
    assert running.ask("/health")[0] == 200
    os.kill(int(workers[0]), signal.SIGKILL)
    # The other worker answers, and the port stays open.
    assert all(running.ask("/find", {"text": TEXT})[0] == 200 for _ in range(5))
    assert int(running.logged(r"Started server process \[([0-9]+)\]", count=3)[2]) not in map(int, workers)
    running.logged("startup complete", count=3)
    for worker in workers[1:]:
        os.kill(int(worker), signal.SIGKILL)  # so that only the new one is left
    status, body = running.ask("/find", {"text": TEXT})
    assert status == 200 and len(json.loads(body)["results"][0]["numbers"]) == 3
    figures = running.ask("/metrics")[1].decode()
    assert 'numerate_requests_total{endpoint="/find",status="200"} 6\n' in figures, "also those of killed workers"
    assert int(re.findall(r"numerate_worker_starts_total (\d+)", figures)[0]) >= 3

    # A body of 100 MB: the answer comes before it is sent.
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        head = f"POST /find HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"
        client.sendall((head + f"Content-Type: application/json\r\nContent-Length: {100 << 20}\r\n\r\n").encode())
        client.sendall(b"x" * 100_000)
        assert client.recv(12) == b"HTTP/1.1 413"
    # Most clients send all of it first.
    status, body = running.ask("/find", {"text": "x" * (100 << 20)})
    assert status == 413 and b"bytes" in body
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as client:
        client.sendall(b"POST /find HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345")
        assert client.recv(12) == b"HTTP/1.1 401"

    answers: list[int] = []
    slow = threading.Thread(target=lambda: answers.append(running.ask("/check", {"text": "5 km (3 mi) " * 40_000})[0]))
    slow.start()
    in_flight = 'numerate_requests_in_flight{endpoint="/check"} 1\n'
    while in_flight not in running.ask("/metrics")[1].decode():
        time.sleep(0.01)
    running.process.send_signal(signal.SIGTERM)
    slow.join(60)
    assert answers == [200] and running.process.wait(60) == 0
    log = running.log.read_text()
    assert "Traceback" not in log and "/find" not in log and "km" not in log and TOKEN not in log


def test_a_model_that_cannot_be_loaded_is_one_line_without_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ServeSettings(model=str(tmp_path / "missing"), metrics_folder=str(tmp_path), port=0)
    with pytest.raises(SystemExit) as end:
        server.worker_app(settings)
    assert end.value.code == CANNOT_START and capsys.readouterr().err == ""
    (tmp_path / server.STARTED).touch()
    with pytest.raises(SystemExit) as end:  # a later worker is tried again: others may be at work
        server.worker_app(settings)
    error = capsys.readouterr().err
    assert end.value.code == 1 and error.startswith("numerate: cannot load") and error.count("\n") == 1

    def run(self: Supervisor) -> bool:
        with pytest.raises(SystemExit):
            server.worker_app(self._target.args[0])  # type: ignore[attr-defined]
        return False

    monkeypatch.setattr(server.Supervisor, "run", run)
    monkeypatch.setattr(server, "_LOGGING", {"version": 1, "disable_existing_loggers": False})
    with pytest.raises(BadInput, match=r"cannot load .*missing"):
        server.serve(settings)
    assert capsys.readouterr().err == ""


def test_the_address_is_printed_once_by_the_first_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ServeSettings(metrics_folder=str(tmp_path), host="::1", port=8001)
    for _ in range(2):
        server.worker_app(settings)
    assert capsys.readouterr().err == "http://[::1]:8001 (no model: /fill answers 503; Ctrl-C ends it)\n"


class Ending:
    """A process that has ended, whose code is not there at the first look."""

    def __init__(self) -> None:
        self.sentinel, other = os.pipe()
        os.close(other)
        self.pid, self.codes = 0, [None]

    @property
    def exitcode(self) -> int | None:
        return self.codes.pop() if self.codes else CANNOT_START

    def join(self, seconds: float) -> None:
        assert self.exitcode is not None

    def close(self) -> None:
        os.close(self.sentinel)


def test_a_code_that_comes_late_is_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Ending] = []

    def start(self: Supervisor) -> Ending:
        assert not started, "it cannot start: it is not tried again"
        started.append(Ending())
        return started[0]

    monkeypatch.setattr(Supervisor, "_started", start)
    assert Supervisor(lambda: None, 1, patience=1).run() is False
    started[0].close()


def test_a_worker_that_hangs_is_replaced_and_one_that_cannot_start_ends_all() -> None:
    hung: list[int] = []

    def is_hung(pid: int) -> bool:
        """The first one hangs; the end comes with its successor."""
        if not hung or pid in hung:
            hung.append(pid)
            return True
        supervisor.end()
        return False

    supervisor = Supervisor(functools.partial(time.sleep, 60), 1, patience=10, is_hung=is_hung)
    supervisor._wake.send_bytes(b"look")
    ending = threading.Timer(20, supervisor.end)
    ending.start()
    assert supervisor.run() and len(hung) == 1
    ending.cancel()
    assert Supervisor(functools.partial(sys.exit, CANNOT_START), 2, patience=10).run() is False


def test_bad_arguments_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMERATE_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for words, said in (
            (["--host", "0.0.0.0"], "can be reached from other machines"),
            (["--port", str(taken.getsockname()[1])], "cannot serve on 127.0.0.1"),
            (["--host", "no.such.host.invalid", "--no-token"], "cannot serve on no.such.host.invalid:8000"),
            (["--model", "x"], "exclude each other"),
            (["--workers", "0"], "--workers must lie between"),
            (["--token-file", "missing"], "cannot be read"),
        ):
            result = CliRunner().invoke(app, ["serve", "--no-model", *words])
            assert result.exit_code == 2 and said in result.output and result.output.count("\n") == 1, result.output
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None)
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 2 and "pip install 'numerate[serve]'" in result.output
