"""Counters of a service in Prometheus' text format, summed over worker processes.

Each worker writes its figures into a memory-mapped file of its own; whichever worker is asked adds up all files. So
nothing is locked between processes, and what a killed worker counted is not lost. The set of series is fixed.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ENDPOINTS", "Metrics", "seconds_since_beat"]

ENDPOINTS = ("/find", "/fill", "/check", "/health", "/metrics", "other")
"""Values of the label `endpoint`; a path of a client never becomes a label."""
STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 422, 429, 500, 503, 504)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64)
DEAD_AFTER = 10.0
"""Seconds without a heartbeat after which a worker's gauges no longer count."""

HELP = {
    "requests_total": ("counter", "Requests by endpoint and status."),
    "request_seconds": ("histogram", "Duration of requests, from their headers to the last byte of the answer."),
    "request_bytes_total": ("counter", "Bytes of the bodies that were read."),
    "requests_in_flight": ("gauge", "Requests that are being handled."),
    "numbers_total": ("counter", "Numbers that were found, filled or checked."),
    "batch_numbers": ("histogram", "Numbers in one batch of the model."),
    "model_seconds_total": ("counter", "Time that the model computed."),
    "model_waiting": ("gauge", "Numbers that wait for the model."),
    "workers": ("gauge", "Worker processes that are alive."),
    "worker_starts_total": ("counter", "Worker processes that were started; more than there are means restarts."),
}
"""Name (without `numerate_`) -> type and help text."""


def _series() -> Iterator[tuple[str, str]]:
    """All series that are stored: name and labels."""
    for endpoint in ENDPOINTS:
        labels = f'endpoint="{endpoint}"'
        for status in (*STATUSES, "other"):
            yield "requests_total", f'{labels},status="{status}"'
        yield from _histogram("request_seconds", labels, SECONDS)
        yield "request_bytes_total", labels
        yield "requests_in_flight", labels
        yield "numbers_total", labels
    yield from _histogram("batch_numbers", "", SIZES)
    yield "model_seconds_total", ""
    yield "model_waiting", ""


def _histogram(name: str, labels: str, bounds: Sequence[float]) -> Iterator[tuple[str, str]]:
    for bound in (*bounds, "+Inf"):
        yield f"{name}_bucket", ",".join(filter(None, (labels, f'le="{bound}"')))
    yield f"{name}_sum", labels
    yield f"{name}_count", labels


SERIES = tuple(_series())
_PLACES = {series: place for place, series in enumerate(SERIES, 1)}
"""Place 0 holds the time of the last heartbeat."""
_STATUS_NAMES = {status: str(status) for status in STATUSES}


class Metrics:
    """The figures of one worker, and the sum of all workers of a folder.

    Args:
        folder: A folder that the workers share; None keeps the figures in memory.

    Example:
        >>> metrics = Metrics()
        >>> metrics.add("requests_total", 'endpoint="/find",status="200"')
        >>> 'numerate_requests_total{endpoint="/find",status="200"} 1' in metrics.text()
        True
    """

    def __init__(self, folder: str | None = None) -> None:
        self._folder, self._lock = None if folder is None else Path(folder), threading.Lock()
        size = 8 * (1 + len(SERIES))
        if self._folder is None:
            self._values = memoryview(bytearray(size)).cast("d")
        else:
            path = self._folder / f"{os.getpid()}-{time.time_ns()}.figures"
            path.write_bytes(bytes(size))
            with path.open("r+b") as file:
                self._values = memoryview(mmap.mmap(file.fileno(), size)).cast("d")
        self.beat()

    def beat(self) -> None:
        """Says that this worker is alive."""
        self._values[0] = time.monotonic()  # one clock for all processes, which stands still while a machine sleeps

    def add(self, name: str, labels: str = "", amount: float = 1.0) -> None:
        """Adds to a counter or gauge."""
        place = _PLACES[name, labels]
        with self._lock:
            self._values[place] += amount

    def observe(self, name: str, value: float, bounds: Sequence[float], labels: str = "") -> None:
        """Counts a value in a histogram."""
        first = _PLACES[f"{name}_bucket", ",".join(filter(None, (labels, f'le="{bounds[0]}"')))]
        with self._lock:
            for offset, bound in enumerate(bounds):
                if value <= bound:
                    self._values[first + offset] += 1
            self._values[first + len(bounds)] += 1
            self._values[first + len(bounds) + 1] += value
            self._values[first + len(bounds) + 2] += 1

    def request(self, endpoint: str, status: int, seconds: float, size: int) -> None:
        """Counts a finished request."""
        labels = f'endpoint="{endpoint}"'
        self.add("requests_total", f'{labels},status="{_STATUS_NAMES.get(status, "other")}"')
        self.add("request_bytes_total", labels, size)
        self.observe("request_seconds", seconds, SECONDS, labels)

    def batch(self, numbers: int, seconds: float) -> None:
        """Counts a batch of the model."""
        self.observe("batch_numbers", numbers, SIZES)
        self.add("model_seconds_total", "", seconds)

    def text(self) -> str:
        """All figures in Prometheus' text format, version 0.0.4, without statuses that have not occurred."""
        rows = list(self._rows())
        alive = [row for row in rows if time.monotonic() - row[0] < DEAD_AFTER]
        families = {name: [f"# HELP numerate_{name} {said}", f"# TYPE numerate_{name} {kind}"]
                    for name, (kind, said) in HELP.items()}  # fmt: skip
        for place, (name, labels) in enumerate(SERIES, 1):
            family = name if name in HELP else name.rpartition("_")[0]
            value = sum(row[place] for row in (alive if HELP[family][0] == "gauge" else rows))
            if value or name != "requests_total":
                families[family].append(f"numerate_{name}{f'{{{labels}}}' if labels else ''} {_shown(value)}")
        families["workers"].append(f"numerate_workers {len(alive)}")
        families["worker_starts_total"].append(f"numerate_worker_starts_total {len(rows)}")
        return "".join(f"{line}\n" for lines in families.values() for line in lines)

    def _rows(self) -> Iterator[Sequence[float]]:
        """The figures of each worker, also of those that have ended."""
        if self._folder is None:
            yield self._values
            return
        for path in sorted(self._folder.glob("*.figures")):
            content = path.read_bytes()
            if len(content) == 8 * (1 + len(SERIES)):  # not one that is just being made
                yield array("d", content)


def seconds_since_beat(folder: str, pid: int) -> float:
    """Seconds since the last sign of life of a worker; 0 while it starts."""
    beats = [path.read_bytes()[:8] for path in Path(folder).glob(f"{pid}-*.figures")]
    last = max((array("d", beat)[0] for beat in beats if len(beat) == 8), default=0.0)
    return time.monotonic() - last if last else 0.0


def _shown(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
