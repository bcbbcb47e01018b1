"""The benchmarks run from end to end, on next to nothing; what they measure is judged elsewhere."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import number_data
import pytest

ROOT = Path(__file__).parent.parent


def tiny_run(folder: Path, *more: str) -> tuple[str, dict[str, Any]]:
    """What a tiny run of the reading benchmark prints and writes."""
    path = folder / "new" / "reading.json"
    sizes = ["--texts=4", "--rounds=1", "--family-bytes=100", "--stream-bytes=3000", "--processes=2"]
    command = [sys.executable, ROOT / "benchmarks" / "reading.py", *sizes, f"--json={path}", *more]
    environment = {**os.environ, "NUMERATE_SHARED": str(path)}  # which is not there: generated texts do
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout, json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    return tiny_run(tmp_path_factory.mktemp("results"), "--alone")


def test_reading_prints_every_figure(report: tuple[str, dict[str, Any]]) -> None:
    printed, written = report
    for row in written["figures"]:
        assert row["name"] in printed
        assert row["verdict"] in (("pass", "miss") if row["bar"] is not None else ("",))


def test_reading_measures_every_bar(report: tuple[str, dict[str, Any]]) -> None:
    bars = {row["name"]: row["bar"] for row in report[1]["figures"] if row["bar"] is not None}
    assert bars["standard / pinned"] == 0.4 and bars["find_columns / pinned"] == 1.0
    assert sum(name.startswith("family") for name in bars) == 12 * 4
    assert sum(name.startswith("extreme") for name in bars) == 5 * 2
    assert sum(name.startswith("stream") for name in bars) == 2


@pytest.mark.slow  # quantulum3 takes ten seconds to load
def test_reading_measures_quantulum(tmp_path: Path) -> None:
    _, written = tiny_run(tmp_path, "--quick")
    assert [row["bar"] for row in written["figures"] if row["name"] == "standard / quantulum3"] == [150]


def test_processes_give_the_same_output(report: tuple[str, dict[str, Any]]) -> None:
    assert [row["figure"] for row in report[1]["figures"] if row["name"].startswith("same output")] == [1.0]


def test_reading_says_what_it_ran_on(report: tuple[str, dict[str, Any]]) -> None:
    written = report[1]
    assert written["config"]["texts"] == 4 and written["texts"]["count"] == 4
    assert written["packages"]["numerate"] and written["machine"]["cores"] and "commit" in written


def test_bad_sizes_are_one_clear_line() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "reading.py", "--texts=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--texts" in done.stderr.splitlines()[-1]


def test_ranking_holds_both_heads_against_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "ranking.json"
    sizes = ["--contexts=4", "--candidates=30", "--steps=1", "--sample=5", "--rounds=1"]
    command = [sys.executable, ROOT / "benchmarks" / "ranking.py", *sizes, f"--json={path}"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures = json.loads(path.read_text("utf-8"))["figures"]
    assert [row["name"] for row in figures if row["bar"] == 5] == ["digit-rnn, rank", "mog, rank"]
    assert all(row["name"] in printed for row in figures)


def test_masked_words_many_at_once_lose_as_much_as_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    source, model = number_data.write_data(tmp_path / "data"), number_data.write_model(tmp_path / "model")
    options = [f"--model={model}", f"--source={source}", "--singles=5", f"--json={tmp_path / 'words.json'}"]
    command = [sys.executable, ROOT / "benchmarks" / "masked_words.py", *options]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures = json.loads((tmp_path / "words.json").read_text("utf-8"))["figures"]
    assert figures["positions"] > 100 and figures["largest_gap_nats"] < 1e-5
    assert all(name in printed for name in figures)


def side_by_side(folder: Path, plan: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "plan.txt").write_text(plan)
    command = [
        sys.executable,
        ROOT / "benchmarks" / "side_by_side.py",
        folder / "plan.txt",
        f"--logs={folder / 'logs'}",
    ]
    return subprocess.run([*command, *more], capture_output=True, text=True, check=False)


def test_a_plan_is_done_side_by_side(tmp_path: Path) -> None:
    # Each of the first two waits for what the other one writes, which one at a time would never do.
    plan = "\n".join(
        f"{name}: touch {{PLACE}}/{name}; while [ ! -e {{PLACE}}/{other} ]; do sleep 0.05; done; echo met {other}"
        for name, other in (("one", "two"), ("two", "one"))
    )
    done = side_by_side(tmp_path, f"# two\n\n{plan}\nbad: exit 3\n", "--workers=2", f"--set=PLACE={tmp_path}")
    assert done.returncode == 0 and "done: 2" in done.stdout and "failed: 1 (bad)" in done.stdout
    assert (tmp_path / "logs" / "one.log").read_text() == "met two\n"


def test_a_plan_ends_when_its_time_is_up(tmp_path: Path) -> None:
    plan = "long: sleep 600 & sleep 600\nlater after 500: true\nlast: true\n"
    done = side_by_side(tmp_path, plan, "--workers=1", "--seconds=1")
    assert "cut off: 1 (long)" in done.stdout and "not begun: 2 (later, last)" in done.stdout


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("no colon here", "line 1: write `name: command`, got 'no colon here'"),
        ("one: echo {WHERE}", "line 1: nothing is known of 'WHERE': add --set WHERE=..."),
        ("one: true\none: true", "two jobs are called 'one'"),
    ],
)
def test_a_plan_that_cannot_be_read(tmp_path: Path, plan: str, said: str) -> None:
    done = side_by_side(tmp_path, plan)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr


def test_plans_that_ship_name_what_there_is(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from side_by_side import jobs_of
    finally:
        sys.path.pop(0)
    from numerate_lab.commands.compare import parsed_options, parsed_rates
    from numerate_lab.engine.encodings import encoding_of
    from numerate_lab.engine.tables import load_yaml
    from numerate_lab.registry import tables, tasks
    from numerate_lab.tasks.asked_number.asked_task import AskedNumber

    known = dict.fromkeys(("MODEL", "DATA", "OUT", "TEXTS", "WORK", "ERA5"), str(tmp_path))
    plans = {file.stem: jobs_of(file.read_text(), known) for file in (ROOT / "benchmarks" / "plans").glob("*.txt")}
    assert plans.keys() == {"arithmetic", "literacy", "xval"} and all(plans.values())
    for job in plans["arithmetic"]:
        words = shlex.split(job.command)
        named = {flag: name for flag, name in itertools.pairwise(words) if flag.startswith("--")}
        options = parsed_options([name for flag, name in itertools.pairwise(words) if flag == "--option"])
        assert [encoding_of(name) for name in named["--encodings"].split(",")] and parsed_rates(named["--rates"])
        trial: Any = AskedNumber.trial(named["--task"], options)
        assert trial.splits == tuple(options.get("splits", ())) and AskedNumber(trial).source.texts("train", 1)
    words = [word for job in plans["literacy"] for word in job.command.split()]
    named = {what: [name for flag, name in itertools.pairwise(words) if flag == what] for what in words}
    shipped = load_yaml("numerate_lab.papers.literacy2021")
    assert len({str(tasks["masked-words"].encoding(name.partition("+")[0])) for name in named["--encoder"]}) > 5
    assert set(named["reproduce"]) <= set(tables.names())
    assert set(named["--scale"]) - {"4x256", "2x128"} <= set(shipped["scales"])
    begins = {job.name: job.after for job in plans["xval"]}
    assert begins["temperature"] == 0 < begins["four-operands"], "steps are timed alone first"


@pytest.mark.slow
def test_analyses_of_xval(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "xval_analyses.py", f"--output={tmp_path / 'out'}"]
    command += ["--steps=2", "--exercises=400", "--points=9"]
    subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads((tmp_path / "out" / "analyses.json").read_text("utf-8"))["figures"]
    assert set(found) == {"trees", "continuity", "embedding", "tokens"} and found["trees"]["multiply-3"]["r2"] > 0.9
    assert all(len(one["projection"]) == 9 for one in found["embedding"].values())
    assert {file.name for file in (tmp_path / "out").glob("*.svg")} == {
        "figure2.svg", "continuity.svg", "structure-p10.svg", "structure-p1000.svg",
    }  # fmt: skip
