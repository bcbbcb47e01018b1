"""Requests per second of `numerate serve`, with latencies, and what overload and a killed worker do.

    python benchmarks/serving.py [--seconds 60] [--find-rate 200] [--fill-rate 15] [--backbone FOLDER | --model FOLDER]

The service runs in its own processes, and the load comes from another one: requests are sent at a fixed rate, whether
or not earlier ones are answered, and a latency counts from the time at which a request was due. Texts are the passages
of `texts.py`; in those of `/fill` one number is a gap. With `--backbone`, the default recipe is attached to a masked
language model and not trained, which takes as long as a trained one. Nothing is asserted; the aims are 200 requests per
second of `/find` and 15 numbers per second of `/fill` on two cores without an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import psutil
from texts import passages

import numerate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

AIMS = {"find": 200.0, "fill": 15.0}
MAX_CHARACTERS = 300
"""Of a text to fill: a sentence or two."""


def bodies(path: str, count: int) -> list[bytes]:
    """Requests with a text each; in those of `/fill`, one number is a gap."""
    made = []
    for text in passages(4 * count)[0]:
        numerals = numerate.find(text)
        if path == "/fill":
            if not numerals or len(text) > MAX_CHARACTERS or "[" in text:
                continue
            middle = numerals[len(numerals) // 2]
            text = f"{text[: middle.start]}[NUM]{text[middle.end :]}"
        made.append(json.dumps({"text": text}).encode())
    return made[:count]


async def _drive(port: int, path: str, texts: list[bytes], rate: float, seconds: float, connections: int) -> Any:
    due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    taken: list[tuple[float, int]] = []
    loop = asyncio.get_running_loop()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (job := await due.get()) is not None:
            at, body = job
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            head += f"Content-Length: {len(body)}\r\n\r\n"
            try:
                writer.write(head.encode() + body)
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
                await reader.readexactly(int(next(x for x in lines if x.startswith("content-length:")).split(":")[1]))
                status = int(lines[0].split()[1])
            except (OSError, asyncio.IncompleteReadError):
                status = 0  # the connection was lost
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
            taken.append((loop.time() - at, status))
        writer.close()

    clients = [asyncio.create_task(client()) for _ in range(connections)]
    begin = loop.time()
    for number in range(round(rate * seconds)):
        at = begin + number / rate
        await asyncio.sleep(max(0.0, at - loop.time()))
        due.put_nowait((at, texts[number % len(texts)]))
    for _ in clients:
        due.put_nowait(None)
    await asyncio.gather(*clients)
    return taken, loop.time() - begin


def drive(port: int, path: str, texts: list[bytes], rate: float, seconds: float, connections: int) -> dict[str, Any]:
    """Sends requests at a rate, and says what came back; it runs in a process of its own."""
    taken, wall = asyncio.run(_drive(port, path, texts, rate, seconds, connections))
    statuses = Counter(status for _, status in taken)
    good = np.array([latency for latency, status in taken if status == 200]) * 1000
    p50, p95, p99 = np.percentile(good, [50, 95, 99]).tolist() if len(good) else [float("nan")] * 3
    return {
        "requests": len(taken), "statuses": {str(key): value for key, value in sorted(statuses.items())},
        "seconds": wall, "good_per_s": len(good) / wall, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99,
        "max_ms": float(good.max()) if len(good) else float("nan"),
    }  # fmt: skip


@contextlib.contextmanager
def service(*options: str) -> Iterator[tuple[int, psutil.Process]]:
    """A service on a free port, once it answers: port and parent process."""
    command = [sys.executable, "-m", "numerate", "serve", "--port", "0", *options]
    environment = {key: value for key, value in os.environ.items() if key != "NUMERATE_TOKEN"}
    with tempfile.NamedTemporaryFile("r") as log:
        process = subprocess.Popen(command, stderr=log.file.fileno(), env=environment)
        try:
            port = 0
            for _ in range(1200):
                said = Path(log.name).read_text("utf-8")
                if process.poll() is not None:
                    sys.exit(f"the service did not start: {said[-500:]}")
                if said.count("startup complete") >= int(options[options.index("--workers") + 1]):
                    port = int(re.findall(r"http://127\.0\.0\.1:([0-9]+) ", said)[0])
                    break
                time.sleep(0.1)
            yield port, psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _cpu_seconds(parent: psutil.Process) -> float:
    times = [each.cpu_times() for each in (parent, *parent.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measured(pool: ProcessPoolExecutor, parent: psutil.Process, port: int, path: str, *job: Any) -> dict[str, Any]:
    """What `drive` says, the cores that the service used, and how busy the machine was."""
    load, before = os.getloadavg()[0], _cpu_seconds(parent)
    found = pool.submit(drive, port, path, *job).result()
    used = (_cpu_seconds(parent) - before) / found["seconds"]
    return {"path": path, "asked_per_s": job[1], **found, "service_cores": used, "load_before": load,
            "load_after": os.getloadavg()[0]}  # fmt: skip


def killed(
    pool: ProcessPoolExecutor, parent: psutil.Process, port: int, texts: list[bytes], seconds: float
) -> dict[str, Any]:
    """Kills a worker while `/find` is asked for: requests on its connections are lost, and it is replaced."""
    before = {each.pid for each in parent.children() if _is_worker(each)}
    asked = pool.submit(drive, port, "/find", texts, 50.0, seconds, 8)
    time.sleep(seconds / 4)
    os.kill(min(before), signal.SIGKILL)
    found = asked.result()
    figures = ""
    for _ in range(600):
        figures = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        if f"numerate_worker_starts_total {len(before) + 1}\n" in figures:
            break
        time.sleep(0.1)
    return {**found, "came_back": f"numerate_worker_starts_total {len(before) + 1}\n" in figures}


def _is_worker(process: psutil.Process) -> bool:
    return "spawn_main" in " ".join(process.cmdline())


def attached(backbone: str, folder: str) -> str:
    """Attaches the default recipe to a masked language model, fits its head to numbers, and saves it."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    model = numerate.attach(
        AutoModelForMaskedLM.from_pretrained(backbone), AutoTokenizer.from_pretrained(backbone), fit=passages(500)[0]
    )
    model.save_pretrained(folder, backbone=True)
    return folder


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures `/find`, `/fill`, overload and a killed worker."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each rate is held")
    parser.add_argument("--find-rate", type=float, default=AIMS["find"], help="requests of /find per second")
    parser.add_argument(
        "--fill-rate", type=float, default=AIMS["fill"], help="requests of /fill per second, a number each"
    )
    parser.add_argument("--overload", type=float, default=300.0, help="requests of /fill per second that are too many")
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    parser.add_argument("--backbone", help="folder of a masked language model that gets the default recipe, untrained")
    parser.add_argument("--model", help="folder of a saved model")
    options = parser.parse_args(arguments)
    if min(options.seconds, options.find_rate, options.fill_rate, options.overload, options.workers) <= 0:
        parser.error("seconds, rates and workers must be positive")
    rows: list[dict[str, Any]] = []
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with tempfile.TemporaryDirectory() as folder, pool:
        model = attached(options.backbone, f"{folder}/model") if options.backbone else options.model
        finds = bodies("/find", 1000)
        pool.submit(drive, 9, "/find", [], 1.0, 0.0, 0).result()  # the process has started
        which = ["--model", model] if model else ["--no-model"]
        with service("--workers", str(options.workers), *which) as (port, parent):
            rows.append(measured(pool, parent, port, "/find", finds, options.find_rate, options.seconds, 32))
            if model:
                fills = bodies("/fill", 200)
                rows.append(measured(pool, parent, port, "/fill", fills, options.fill_rate, options.seconds, 32))
                short = min(options.seconds, 8.0)
                rows.append(measured(pool, parent, port, "/fill", fills, options.overload, short, 600))
            death = killed(pool, parent, port, finds, min(4.0, 2 * options.seconds))
    names = (
        "path",
        "asked_per_s",
        "good_per_s",
        "p50_ms",
        "p95_ms",
        "p99_ms",
        "service_cores",
        "load_before",
        "statuses",
    )
    shown = [[_shown(row[name]) for name in names] for row in rows]
    print("\n".join(harness.aligned([list(names), *shown], right=range(1, 8))))
    lost = sum(count for status, count in death["statuses"].items() if status != "200")
    print(f"one of {options.workers} workers killed: {lost} of {death['requests']} requests lost on its connections; "
          f"{'it came back' if death['came_back'] else 'IT DID NOT COME BACK'}")  # fmt: skip
    harness.write(options, {"rates": rows, "killed_worker": death})


def _shown(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
