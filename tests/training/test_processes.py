"""Two processes on the CPU: what one meets, both act upon; their checkpoints are one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from numerate.training import newest_whole

HERE = Path(__file__).parent


@pytest.mark.slow
def test_two_processes(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    common |= {"PYTHONPATH": str(HERE.parent), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command = [sys.executable, str(HERE / "one_of_two.py"), str(tmp_path)]
    processes = [
        subprocess.Popen(
            command, env=os.environ | common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    for process in processes:
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors[-3000:]
    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2))
    for name in ("plain", "poisoned", "resumed"):
        assert first[name]["weights"] == second[name]["weights"], f"{name}: the processes keep the same weights"
        assert first[name]["found"] == second[name]["found"]
    assert first["plain"]["found"] == [] and first["poisoned"]["found"] == [[2, 1, 2]]
    before, at, after, *_ = first["poisoned"]["weights"]
    assert at == after != before, "both left the step out"
    assert first["resumed"]["weights"][-1] == first["plain"]["weights"][-1]
    assert first["resumed"]["losses"] == first["plain"]["losses"] and first["resumed"]["eval"] == first["plain"]["eval"]
    for name in ("plain", "poisoned", "stopped"):
        assert newest_whole(tmp_path / name) == tmp_path / name / "checkpoint-6"
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["checkpoint-4", "checkpoint-6"]
        states = {path.name for path in (tmp_path / name / "checkpoint-6").glob("rng_state*")}
        assert states == {"rng_state_0.pth", "rng_state_1.pth"}
