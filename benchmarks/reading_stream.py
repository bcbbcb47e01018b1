"""Part of the reading benchmark: a large file through `numerate find --json`, with one and with several processes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from texts import generated_texts

from numerate.training.engines.local import WAITING_PER_PROCESS
from numerate.training.text_files import BATCH_LINES

MB = 1_000_000


class Streamed(NamedTuple):
    """Result of one run of the command; `peak` is the resident memory in MB of all its processes."""

    sha256: str
    bytes_out: int
    peak: float
    seconds: float


def stream(path: Path, processes: int) -> Streamed:
    """Runs `numerate find --json` on a file and samples the memory of the command and its children every 20 ms."""
    command = [sys.executable, "-m", "numerate", "find", str(path), "--json", "--processes", str(processes)]
    digest, size, peak, over = hashlib.sha256(), 0, 0.0, threading.Event()
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        watched = psutil.Process(process.pid)

        def watch() -> None:
            nonlocal peak
            while not over.wait(0.02):
                try:
                    peak = max(peak, sum(map(_resident, [watched, *watched.children(recursive=True)])) / MB)
                except psutil.NoSuchProcess:
                    return

        watcher = threading.Thread(target=watch)
        watcher.start()
        for piece in iter(lambda: process.stdout.read1(1 << 20), b""):  # type: ignore[union-attr]
            digest.update(piece)
            size += len(piece)
        code = process.wait()
        over.set()
        watcher.join()
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {code}")
    return Streamed(digest.hexdigest(), size, peak, time.perf_counter() - start)


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def streamed_runs(size: int, processes: int) -> dict[int, tuple[Streamed, float]]:
    """Runs with 1 and `processes` processes on `size` bytes, each with the peak memory of a start.

    The start is the same command on a file that is just large enough to set every process to work.
    """
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.txt"), Path(folder, "large.txt")
        batch = "5 km" + "\n" * BATCH_LINES
        small.write_text(batch * WAITING_PER_PROCESS * processes, encoding="utf-8")
        block = ("\n".join(generated_texts(1 + size // 100_000)) + "\n").encode()
        with large.open("wb") as out:
            while out.tell() < size:
                out.write(block)
        return {count: (stream(large, count), stream(small, count).peak) for count in (1, processes)}
