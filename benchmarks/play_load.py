"""Many users of the page of `numerate play` at once: errors, and how long they wait.

    python benchmarks/play_load.py --model models/numerate-mini [--users 50] [--requests 20] [--json load.json]

The page runs in a process of its own on loopback, as `numerate play` starts it. Each user is a thread that sends its
requests one after the other, without a pause: a sentence is marked, words for a moved number, the density of a gap, a
short text is checked. A wait lasts from sending a request to reading its answer. The aim is no error and a 95th
percentile of at most 3 s on two cores.
"""

from __future__ import annotations

import json
import random
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections import Counter
from typing import Any

import harness

AIM = 3.0
LIMIT = 120
SENTENCES = ("The [MASK] weighs {} kg.", "The [MASK] is {} metres tall.", "A [MASK] costs {} dollars.")
GAPS = ("The tower is [NUM] metres tall.", "The car weighs [NUM] kg.", "It was built in [NUM] for $20 million.")
REPORTS = (
    "The lake is {} km (27 mi) long. It took 12 men and 15 women, 28 people in all.",
    "Revenue rose {} % in 2023.",
)


def post(address: str, body: dict[str, Any] | None = None) -> Any:
    """Sends JSON and reads JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)


def functions(address: str) -> dict[str, int]:
    """The functions of the page by the element that shows their result."""
    page = post(f"{address}/config")
    names = {each["id"]: each["props"].get("elem_id") for each in page["components"]}
    found = {}
    for each in page["dependencies"]:
        for output in each["outputs"]:
            found.setdefault(names.get(output), each["id"])
    return found


def asked(draw: random.Random) -> tuple[str, list[Any]]:
    """One request: the element that shows the result, and what is sent."""
    number = draw.randint(1, 999)
    kind = draw.choice(("marked", "words", "density", "findings"))
    if kind == "marked":
        return kind, [draw.choice(SENTENCES).format(number)]
    if kind == "words":
        return kind, [draw.choice(SENTENCES).format(number), f"1: {number}", draw.choice((-2.0, 1.0, 2.5))]
    if kind == "density":
        return kind, [draw.choice(GAPS)]
    return kind, [draw.choice(REPORTS).format(number), None]


def wait_for(address: str, function: int, data: list[Any]) -> str:
    """Sends a request as the page's own script does, and returns the HTML of its answer."""
    session = uuid.uuid4().hex
    base = f"{address}/gradio_api/queue"
    post(f"{base}/join", {"data": data, "fn_index": function, "session_hash": session})
    with urllib.request.urlopen(f"{base}/data?session_hash={session}", timeout=LIMIT) as events:
        for line in events:
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            if event["msg"] == "process_completed":
                if not event["success"]:
                    raise RuntimeError(str(event["output"])[:200])
                return event["output"]["data"][0]
    raise RuntimeError("no answer")


def load(address: str, users: int, requests: int) -> dict[str, Any]:
    """Runs all users; returns waits in seconds, errors, and requests per second."""
    known, waits, errors = functions(address), Counter[str](), Counter[str]()
    seconds: list[float] = []

    def user(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(requests):
            kind, data = asked(draw)
            begin = time.perf_counter()
            try:
                shown = wait_for(address, known[kind], data)
                if "numerate-error" in shown or not shown.startswith("<"):
                    errors[shown[:200]] += 1
            except Exception as error:
                errors[f"{type(error).__name__}: {error}"[:200]] += 1
            seconds.append(time.perf_counter() - begin)
            waits[kind] += 1

    threads = [threading.Thread(target=user, args=(seed,)) for seed in range(users)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, cuts = time.perf_counter() - begin, statistics.quantiles(seconds, n=20, method="inclusive")
    return {
        "requests": dict(waits), "errors": dict(errors), "seconds": took, "per_second": len(seconds) / took,
        "median": statistics.median(seconds), "p95": cuts[-1], "longest": max(seconds), "aim_p95": AIM,
    }  # fmt: skip


def served(model: str, port: int) -> subprocess.Popen[bytes]:
    """Starts `numerate play` and waits until it answers."""
    command = [sys.executable, "-m", "numerate", "play", "--model", model, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        try:
            post(f"http://127.0.0.1:{port}/config")
        except (OSError, ValueError):
            time.sleep(0.3)
        else:
            return process
    process.kill()
    raise SystemExit("numerate play did not start; it needs the extra play")


def main(arguments: list[str] | None = None) -> None:
    """Starts the page, runs the users, prints and writes the figures."""
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="a saved model")
    parser.add_argument("--users", type=int, default=50, help="users at the same time")
    parser.add_argument("--requests", type=int, default=20, help="requests of each user")
    options = parser.parse_args(arguments)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    process = served(options.model, port)
    try:
        load(f"http://127.0.0.1:{port}", 2, 4)  # not measured: the first requests import what they need
        figures = load(f"http://127.0.0.1:{port}", options.users, options.requests)
    finally:
        process.terminate()
        process.wait()
    print(json.dumps(figures, indent=1))
    harness.write(options, figures)


if __name__ == "__main__":
    main()
