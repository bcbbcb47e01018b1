"""The engine `ray`: the same bytes as the local engine, also when a worker is killed in the middle."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from numerate.errors import BadInput
from numerate.training.engines.local import engine_of

pytestmark = pytest.mark.slow  # Ray is an extra that the set-up of the tests does not install
RUNS = Path(__file__).parent.parent / "ray_runs.py"


@pytest.fixture(autouse=True)
def _needs_ray() -> None:
    pytest.importorskip("ray.data", reason="Ray is an extra: pip install 'numerate[ray]'")


def test_ray_gives_the_same_bytes_and_loses_nothing(tmp_path: Path) -> None:
    paths = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, str(RUNS), str(tmp_path / "runs")], capture_output=True, text=True, timeout=1800,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    del seen["seconds"]
    assert seen == {
        "killed": 1, "taken over": True, "find": True, "stats": True, "prepare": True, "check": True,
        "error": "/texts/more/b.txt:2: byte 0xff at offset 0 is not UTF-8; convert the file to UTF-8",
    }  # fmt: skip


def test_an_address_that_does_not_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.monotonic()
    with (
        pytest.raises(BadInput, match=rf"--ray-address 127\.0\.0\.1:{port}: no answer"),
        engine_of("ray", 1, f"127.0.0.1:{port}"),
    ):
        pass
    with pytest.raises(BadInput, match="'somewhere': give HOST:PORT"), engine_of("ray", 1, "somewhere"):
        pass
    assert time.monotonic() - begin < 15
