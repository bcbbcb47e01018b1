"""Prometheus' text format, and figures of several workers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from numerate.apps.serving import metrics as module
from numerate.apps.serving.metrics import HELP, Metrics

if TYPE_CHECKING:
    from pathlib import Path

_LINE = re.compile(r'numerate_(\w+?)(?:\{(\w+="[^"\\\n]*"(?:,\w+="[^"\\\n]*")*)\})? (-?[0-9.e+-]+)')


def families(text: str) -> dict[str, dict[str, float]]:
    """A strict reader of the format: each family once, with help and type, and its samples together."""
    found: dict[str, dict[str, float]] = {}
    lines = text.split("\n")
    assert lines.pop() == "", "the last line ends"
    family = ""
    while lines:
        line = lines.pop(0)
        if line.startswith("# HELP "):
            family = line.split()[2].removeprefix("numerate_")
            kind = lines.pop(0).split()
            assert kind[:3] == ["#", "TYPE", f"numerate_{family}"] and kind[3] == HELP[family][0]
            assert family not in found
            found[family] = {}
            continue
        match = _LINE.fullmatch(line)
        assert match and match[1].startswith(family), line
        found[family][f"{match[1]}{{{match[2] or ''}}}"] = float(match[3])
    return found


def test_every_family_is_there_and_buckets_add_up() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.0625, 0.0625, 99.0):
        metrics.request("/find", 200, seconds, 10)
    metrics.request("/find", 418, 0.001, 0)
    metrics.batch(3, 0.25)
    found = families(metrics.text())
    assert set(found) == set(HELP)
    buckets = [value for key, value in found["request_seconds"].items() if 'bucket{endpoint="/find"' in key]
    assert buckets == sorted(buckets) and buckets[0] == 2 and buckets[-2:] == [4, 5]
    assert found["request_seconds"]['request_seconds_count{endpoint="/find"}'] == 5
    assert found["request_seconds"]['request_seconds_sum{endpoint="/find"}'] == pytest.approx(99.127)
    assert found["requests_total"] == {
        'requests_total{endpoint="/find",status="200"}': 4, 'requests_total{endpoint="/find",status="other"}': 1,
    }  # fmt: skip
    assert found["batch_numbers"]['batch_numbers_bucket{le="2"}'] == 0
    assert found["batch_numbers"]['batch_numbers_bucket{le="4"}'] == 1
    assert found["model_seconds_total"] == {"model_seconds_total{}": 0.25} and found["workers"] == {"workers{}": 1}


def test_workers_add_up_and_what_a_dead_one_counted_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Metrics(str(tmp_path)), Metrics(str(tmp_path))
    for each in (first, first, second):
        each.request("/check", 200, 0.01, 5)
        each.add("requests_in_flight", 'endpoint="/check"')
    (tmp_path / "half.figures").write_bytes(b"123")
    assert first.text() == second.text()
    monkeypatch.setattr(module, "DEAD_AFTER", -1.0)  # as if all of them had stopped long ago
    later = families(second.text())
    assert later["requests_total"] == {'requests_total{endpoint="/check",status="200"}': 3}
    assert later["requests_in_flight"]['requests_in_flight{endpoint="/check"}'] == 0
    assert later["workers"] == {"workers{}": 0} and later["worker_starts_total"] == {"worker_starts_total{}": 2}
