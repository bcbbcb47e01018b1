"""The benchmarks run from end to end on tiny data; their figures are not checked."""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import number_data
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.stem for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text("utf-8"))


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The scripts' folder can be imported from, and there is no shared data: texts are generated."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("NUMERATE_SHARED", str(tmp_path / "missing"))
    # Other tests may have imported scripts with the shared folder in sight.
    imported = {name: sys.modules.pop(name) for name in list(sys.modules) if (BENCHMARKS / f"{name}.py").is_file()}
    yield
    gc.unfreeze()  # the harness froze all objects
    for name in list(sys.modules):
        if (BENCHMARKS / f"{name}.py").is_file():
            del sys.modules[name]
    sys.modules.update(imported)


def run(script: str, *arguments: object) -> None:
    importlib.import_module(script).main([str(argument) for argument in arguments])


def test_help_explains_every_script_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SCRIPTS) == 35
    for script in SCRIPTS:
        with pytest.raises(SystemExit, match=r"^0$"):
            run(script, "--help")
        text = capsys.readouterr().out
        first = str(importlib.import_module(script).__doc__).splitlines()[0]
        assert first in text and f"python benchmarks/{script}.py" in text, script
        # An option without help has nothing after its name and metavar.
        bare = re.findall(r"^  (--[\w-]+(?: \S+)?)\n(?=  -|\Z)", text, re.M)
        assert not bare, (script, bare)


def test_reading_measures_all_bars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "reading.json"
    run("reading", "--texts=4", "--rounds=1", "--family-bytes=100", "--quick", "--alone", f"--json={path}")
    printed, written = capsys.readouterr().out, json.loads(path.read_text("utf-8"))
    for row in written["figures"]:
        assert row["name"] in printed
        assert row["verdict"] in (("pass", "miss") if row["bar"] is not None else ("",)), row
    bars = {row["name"]: row["bar"] for row in written["figures"] if row["bar"] is not None}
    assert bars["standard / pinned"] == 0.4 and bars["find_columns / pinned"] == 1.0
    counts = {start: sum(name.startswith(start) for name in bars) for start in ("family", "extreme")}
    assert counts == {"family": 12 * 4, "extreme": 5 * 2}
    assert written["config"]["texts"] == 4 and written["config"]["origin"] == "generated"
    assert written["machine"]["packages"]["numerate"] and written["machine"]["cores"]


def test_the_suite_measures_growth_and_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, stages = tmp_path / "bench.json", ["reading", "processing", "collating", "train", "generation", "check"]
    run("suite", "--quick", "--rounds=1", f"--only={','.join(stages)}", f"--json={path}")
    figures = json.loads(path.read_text("utf-8"))["figures"]
    assert list(figures) == stages
    for row in figures.values():
        first, *rest = row["sizes"]
        assert rest == [4 * first, 16 * first] and len(row["ratios"]) == 3 and row["ratio"] > 0
        assert row["slope_verdict"] in ("pass", "miss") and row["baseline"]
    lines = path.with_suffix(".md").read_text("utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(stages) and len({line.count("|") for line in table}) == 1
    assert "train: " in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^2$"):
        run("suite", "--only=walking")


@pytest.mark.slow
def test_training_speed_measures_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "training.json"
    small = ("--tiny", "--batch=4", "--texts=64", "--steps=2", "--warm=1", "--rounds=1", "--seconds=5")
    run("training_speed", *small, "--only=eager,profile", "--minutes=9", f"--json={path}")
    figures = json.loads(path.read_text("utf-8"))["figures"]
    rows = figures["eager"]
    kinds = ["all logits", "masked only", "masked only, masks drawn by the collator"]
    assert list(rows) == ["stock", *(f"in-place, {kind}" for kind in kinds)] and not figures["skipped"]
    assert all(row["steps"] == 2 and row["texts_per_s"] > 0 for row in rows.values())
    assert rows["in-place, all logits"]["bar"] == 0.93 and not figures["errors"]
    assert figures["profile"]["in-place, masked only"]["operations_per_step"] > 100
    run("training_speed", *small, "--only=rich,feed", "--minutes=0", f"--json={path}")
    assert len(json.loads(path.read_text("utf-8"))["figures"]["skipped"]) == 4
    assert "skipped: feed" in capsys.readouterr().out


def test_check_speed_measures_a_text_and_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "speed.json"
    run("check_speed", "--sentences=4", "--rows=60", "--processes=1", f"--json={path}")
    figures = json.loads(path.read_text("utf-8"))["figures"]
    assert figures["table"]["numbers"] == 360 and figures["text"]["per_cpu_s"] > 0
    assert "peak memory" in capsys.readouterr().out


def test_serving_measures_rates_and_a_killed_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "serving.json"
    run("serving", "--seconds=0.5", "--find-rate=20", "--workers=1", f"--json={path}")
    figures = json.loads(path.read_text("utf-8"))["figures"]
    (row,) = figures["rates"]
    assert row["statuses"] == {"200": 10} and 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
    assert figures["killed_worker"]["came_back"] and "it came back" in capsys.readouterr().out


def test_encoding_and_feed_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("encoding_scale", "--workers=1", "--megabytes=0.05", "--rounds=1", f"--json={tmp_path / 'scale.json'}")
    run("feed", "--workers=0", "--rows=12", "--batch=4", "--rounds=1", f"--json={tmp_path / 'feed.json'}")
    one = json.loads((tmp_path / "scale.json").read_text("utf-8"))["figures"]["1"]
    assert one["ratio"] == 1 and one["tokens_per_s"] > one["texts_per_s"] > 0 and one["parts"] == 1
    fed = json.loads((tmp_path / "feed.json").read_text("utf-8"))["figures"]["0"]
    assert fed["of_one_h200"] == pytest.approx(fed["tokens_per_s"] / 440_000)
    assert "loader workers" in capsys.readouterr().out


def test_bad_sizes_are_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        run("reading", "--texts=0")
    assert "--texts, --rounds and --processes must be at least 1" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow  # quantulum3 takes ten seconds to load, and the command line is started four times
def test_reading_measures_quantulum_and_streams(tmp_path: Path) -> None:
    sizes = ["--texts=4", "--rounds=1", "--family-bytes=100", "--stream-bytes=3000", "--processes=2"]
    run("reading", *sizes, f"--json={tmp_path / 'reading.json'}")
    figures = {row["name"]: row for row in json.loads((tmp_path / "reading.json").read_text("utf-8"))["figures"]}
    assert figures["standard / quantulum3"]["bar"] == 150
    assert figures["same output from 2 processes"]["figure"] == 1.0
    assert sum(name.startswith("stream") and row["bar"] == 200 for name, row in figures.items()) == 2


def test_processing_measures_passages_and_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("processing", "--passages=4", "--records=4", "--rounds=1", f"--json={tmp_path / 'processing.json'}")
    figures = json.loads((tmp_path / "processing.json").read_text("utf-8"))["figures"]
    assert sorted({row["bar"] for row in figures if row["bar"]}) == [0.7, 1.3, 2.0]
    printed = capsys.readouterr().out
    assert all(row["ours"] in printed for row in figures)


def test_step_counts_the_operations_of_a_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--batch=2", "--length=32", "--numbers=3", f"--json={tmp_path / 'step.json'}"]
    run("step", "--recipe=in-place", "--count-operations", *sizes)
    figures = json.loads((tmp_path / "step.json").read_text("utf-8"))["figures"]["in-place"]
    rows = {row["part"]: row for row in figures["parts"]}
    assert rows["objective"]["backward"] == 0 < rows["objective"]["forward"]
    assert rows["head"]["backward"] > 0 and rows["all"]["both"] == sum(row["both"] for row in rows.values()) / 2
    printed = capsys.readouterr().out
    assert all(part in printed for part in rows)


def test_ranking_measures_both_heads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--contexts=4", "--candidates=30", "--steps=1", "--sample=5", "--rounds=1"]
    run("ranking", *sizes, f"--json={tmp_path / 'ranking.json'}")
    printed = capsys.readouterr().out
    figures = json.loads((tmp_path / "ranking.json").read_text("utf-8"))["figures"]
    assert [row["name"] for row in figures if row["bar"] == 5] == ["digit-rnn, rank", "mog, rank"]
    assert all(row["name"] in printed for row in figures)


def test_masked_words_in_batches_have_the_same_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    source, model = number_data.write_data(tmp_path / "data"), number_data.write_model(tmp_path / "model")
    path = tmp_path / "words.json"
    run("masked_words", f"--model={model}", f"--source={source}", "--singles=5", f"--json={path}")
    printed, written = capsys.readouterr().out, json.loads(path.read_text("utf-8"))
    figures = written["figures"]
    assert figures["positions"] > 100 and figures["largest_gap_nats"] < 1e-5
    assert all(name in printed for name in figures)
    assert (written["config"]["model"], written["config"]["source"]) == ("model", "data"), "names without folders"


def run_plan(folder: Path, plan: str, *more: str) -> None:
    (folder / "plan.txt").write_text(plan)
    run("side_by_side", folder / "plan.txt", f"--logs={folder / 'logs'}", *more)


def test_jobs_of_a_plan_run_in_parallel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Each of the first two waits for a file of the other one.
    plan = "\n".join(
        f"{name}: touch {{PLACE}}/{name}; while [ ! -e {{PLACE}}/{other} ]; do sleep 0.05; done; echo met {other}"
        for name, other in (("one", "two"), ("two", "one"))
    )
    run_plan(tmp_path, f"# two\n\n{plan}\nbad: exit 3\n", "--workers=2", f"--set=PLACE={tmp_path}")
    printed = capsys.readouterr().out
    assert "done: 2" in printed and "failed: 1 (bad)" in printed
    assert (tmp_path / "logs" / "one.log").read_text() == "met two\n"


def test_plan_ends_at_its_time_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = "long: sleep 600 & sleep 600\nlater after 500: true\nlast: true\n"
    run_plan(tmp_path, plan, "--workers=1", "--seconds=1")
    printed = capsys.readouterr().out
    assert "cut off: 1 (long)" in printed and "not started: 2 (later, last)" in printed


def test_bad_plans_are_one_clear_line(tmp_path: Path) -> None:
    cases = {
        "no colon here": "line 1 must be `name: command`, got 'no colon here'",
        "one: echo {WHERE}": "line 1 uses 'WHERE', which has no value: add --set WHERE=...",
        "one: true\none: true": "names of jobs must be unique, got 'one' twice",
    }
    for plan, message in cases.items():
        with pytest.raises(SystemExit, match=re.escape(message)):
            run_plan(tmp_path, plan)


def test_shipped_plans_use_known_names() -> None:
    from numerate_lab import registry
    from numerate_lab.engine.encodings import encoding_of

    jobs_of = importlib.import_module("side_by_side").jobs_of
    known = dict.fromkeys(("MODEL", "DATA", "OUT", "TEXTS", "WORK", "ERA5"), "folder")
    plans = {file.stem: jobs_of(file.read_text(), known) for file in (BENCHMARKS / "plans").glob("*.txt")}
    assert plans.keys() == {"arithmetic", "literacy", "xval"} and all(plans.values())
    tables: Any = getattr(registry, "tables", None)
    commands = [command for jobs in plans.values() for job in jobs for command in job.command.split(" && ")]
    for command in commands:
        words = shlex.split(command)
        assert words[:3] == ["python3", "-m", "numerate"] and words[3] in ("compare", "reproduce", "train"), command
        options = {flag: value for flag, value in itertools.pairwise(words) if flag.startswith("-")}
        if words[3] == "compare":
            name = options["--task"]
            assert name in registry.tasks or registry.tasks["arithmetic"](name), command
            assert all(encoding_of(encoding) for encoding in options["--encodings"].split(",")), command
        elif words[3] == "reproduce" and tables is not None:
            assert words[4] in tables, command
    after = {job.name: job.after for job in plans["xval"]}
    assert after["temperature"] == 0 < after["four-operands"], "the first run times its steps alone"


@pytest.mark.slow
def test_analyses_of_xval(tmp_path: Path) -> None:
    run("xval_analyses", f"--output={tmp_path / 'out'}", "--steps=2", "--exercises=400", "--points=9")
    found = json.loads((tmp_path / "out" / "analyses.json").read_text("utf-8"))["figures"]
    assert set(found) == {"trees", "continuity", "embedding", "tokens"} and found["trees"]["multiply-3"]["r2"] > 0.9
    assert all(len(one["projection"]) == 9 for one in found["embedding"].values())
    assert {file.name for file in (tmp_path / "out").glob("*.svg")} == {
        "figure2.svg", "continuity.svg", "structure-p10.svg", "structure-p1000.svg",
    }  # fmt: skip


def test_regression_tables_runs_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    model, file = number_data.write_model(tmp_path / "model"), tmp_path / "figures.json"
    options = ["--model", model, "--epochs", 1, "--batch", 16, "--json", file, "--tables", "mixed", "linear, 60 rows"]
    run("regression_tables", *options, "--seeds", 1, "--systems", "ridge", "rows")
    run("regression_tables", *options, "--seeds", 1)
    figures = json.loads(file.read_text("utf-8"))["figures"]
    assert len({(one["table"], one["system"]) for one in figures}) == len(figures) == 10
    assert "| linear, 60 rows | " in capsys.readouterr().out


def test_numbers_as_targets_runs_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On generated comparisons and a data set in the layout of `units`."""
    import gzip

    model = number_data.write_model(tmp_path / "model")
    (tmp_path / "data" / "units").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        with gzip.open(tmp_path / "data" / "units" / f"{split}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in number_data.rows(split, 24))
    sizes = ["--steps", 2, "--batch", 4, "--train", 20, "--dev", 6, "--test", 6, "--seeds", 2, "--rates", 1e-3]
    options = ["--model", model, "--data", tmp_path / "data", *sizes, "--json", tmp_path / "figures.json"]
    run("numbers_as_targets", *options, "--tasks", "comparison")
    run("numbers_as_targets", *options, "--tasks", "comparison", "units")
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    figures = [figure for figure in figures if figure["system"] != "constant"]
    assert len(figures) == 8 and len({json.dumps([t[k] for k in ("task", "system", "seed")]) for t in figures}) == 8
    table = (tmp_path / "figures.md").read_text()
    assert table.count("| comparison |") == 2 and table.count("| units |") == 3 and "± " in table
