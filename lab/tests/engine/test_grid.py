"""The engine on a task without a network: rates, seeds, resuming, other settings, comparison, recompute, packing."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from numerate.config import ConfigError
from numerate.errors import BadInput
from numerate.training.output_folder import OutputFolderError
from numerate.training.results import OtherSettingsError
from numerate_lab.engine import grid as engine
from numerate_lab.engine.grid import (
    Grid,
    against_base,
    baselines_of,
    best_rate,
    finals,
    mean_and_spread,
    read_results,
    recompute,
    run_grids,
    whole_tries,
)
from numerate_lab.engine.packed import pack, read_packed, unpack
from numerate_lab.engine.page import write_comparison
from numerate_lab.engine.paper_tables import Options, Paper, merged, reproduce
from numerate_lab.engine.task import Answers, Column, Columns, Figures, Task, TrialConfig, Workspace
from numerate_lab.engine.trial import read_columns
from numerate_lab.registry import tables, tasks

RATES = (1e-3, 1e-2)


class Model:
    """Stands for a model: it predicts the right number plus an error."""

    def __init__(self, error: float) -> None:
        self.error = error

    def trainable_parameters(self) -> tuple[int, int]:
        return 1, 2

    def save_pretrained(self, folder: Path, backbone: bool) -> None:
        Path(folder).mkdir(parents=True)


@dataclass(frozen=True, kw_only=True)
class GuessTrial(TrialConfig):
    kind: ClassVar[str] = "guess"
    paths: ClassVar[tuple[str, ...]] = ("source",)
    unchecked: ClassVar[tuple[str, ...]] = ("patience",)
    renamed: ClassVar[dict[str, str]] = {"length": "amount"}
    amount: float = 8.0
    shift: float = 0.0
    patience: int = 1
    source: str | None = None

    @property
    def name(self) -> str:
        return f"{super().name}-{self.amount:g}{'-shifted' if self.shift else ''}"

    def tried(self, rate: float, share: float) -> GuessTrial:
        return dataclasses.replace(self, rate=rate, seed=0, amount=self.amount * share)


class Guess(Task):
    """The error is |log10(rate / 0.01)| + shift + seed / 10: the rate 0.01 is the best."""

    Trial: ClassVar[type[TrialConfig]] = GuessTrial
    trained: ClassVar[list[str]] = []

    def examples(self, split: str) -> np.ndarray:
        return np.arange(1.0, 41.0 if split == "test" else 11.0)

    def prepare(self, log: Any) -> None:
        log("prepared")

    def build(self) -> Any:
        config = self.config
        bias = {"good": 0.0, "bad": 5.0}[config.encoding]
        return Model(abs(math.log10(config.rate / 1e-2)) + config.shift + config.seed / 10 + bias)

    def train(self, model: Any, log: Any = None) -> Figures:
        self.trained.append(self.config.name)
        return {"seconds": 1.0, "looks": [{"step": 1, "error": model.error}]}

    def ask(self, model: Any, split: str) -> Columns:
        gold = self.examples(split)
        return {"predicted": gold + model.error, "gold": gold}

    def score(self, split: str, columns: Columns) -> Figures:
        error = float(np.abs(columns["predicted"] - columns["gold"]).mean())
        return {split: {"error": {"value": error}}}

    def error(self, figures: Any) -> float:
        return figures["dev"]["error"]["value"]

    def baselines(self) -> Figures:
        return {"mean": self.score("test", {"predicted": np.full(40, 20.5), "gold": self.examples("test")})}

    def shown(self) -> list[Column]:
        return [Column("test", "error", "error", ".2f")]

    def answers(self, split: str, columns: Columns) -> Answers:
        return Answers(columns["predicted"], columns["gold"], np.zeros(40, np.int64))

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        return {"near %": (np.abs(columns["predicted"] - columns["gold"]) < 1).astype(np.float64)}

    def paired(self, ours: Any, base: Any, resamples: int) -> Figures:
        away = [np.mean([one["test_predicted"] - one["test_gold"] for one in side]) for side in (ours, base)]
        return {"worse by": float(away[0] - away[1]), "resamples": resamples, "unknown": math.nan, "of": len(ours)}


@pytest.fixture(autouse=True)
def guess(monkeypatch: pytest.MonkeyPatch) -> type[Guess]:
    tasks.names()  # all others are loaded
    monkeypatch.setitem(tasks._parts, "guess", Guess)
    monkeypatch.setattr(Guess, "trained", [])
    return Guess


def grid_of(**options: Any) -> Grid:
    settings: dict[str, Any] = {"task": "guess", "encodings": {"good": {}, "bad": {}}, "rates": RATES, "seeds": 2}
    settings |= {"rate_share": 0.5, "name": "guesses", "trial": GuessTrial()}
    return Grid(**settings | options)


def quiet(line: str) -> None:
    del line


def test_rates_are_tried_on_dev_and_finals_have_all_seeds(tmp_path: Path) -> None:
    lines: list[str] = []
    grid = grid_of(variants={"plain": {}, "shifted": {"shift": 1.0}}, base="good", resamples=7, save=True)
    run_grids([grid], tmp_path, log=lines.append)
    assert Guess.trained[:2] == ["good-rate0.001-seed0-4", "good-rate0.01-seed0-4"], "tries get half of the budget"
    assert Guess.trained[2:6] == [f"good-rate0.01-seed{n}-8{end}" for end in ("", "-shifted") for n in (0, 1)]
    assert best_rate(grid, tmp_path, "bad") == 1e-2 and len(Guess.trained) == 12
    folder = tmp_path / "guesses"
    assert not list(folder.glob("*-4.npz")) and len(list(folder.glob("*-8*.npz"))) == 8, "tries keep no predictions"
    assert "test" not in json.loads((folder / "good-rate0.01-seed0-4.json").read_text())["figures"]
    found = read_results(grid, tmp_path, "shifted")
    assert [run.figures["test"]["error"]["value"] for run in found["good"]] == pytest.approx([1.0, 1.1])
    assert found["good"][0].columns()["test_gold"].tolist() == list(range(1, 41))
    assert baselines_of(grid, tmp_path)["mean"]["test"]["error"]["value"] == 10.0
    assert against_base(grid, tmp_path, "bad") == {
        "worse by": pytest.approx(5.0),
        "resamples": 7,
        "unknown": None,
        "of": 2,
    }
    assert (folder / "models" / "bad").is_dir() and "prepared" in lines and "guesses, bad: compared with good" in lines
    assert set(recompute(grid, tmp_path).values()) == {True} and len(recompute(grid, tmp_path)) == 9
    for seeds in (1, 3):  # a comparison is computed again from its own trainings, whatever is asked for today
        assert set(recompute(dataclasses.replace(grid, seeds=seeds), tmp_path).values()) == {True}


def test_an_interrupted_grid_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = grid_of()
    run_grids([grid], tmp_path, log=quiet)
    (tmp_path / "guesses" / "bad-rate0.01-seed1-8.json").unlink()
    Guess.trained.clear()
    lines: list[str] = []
    run_grids([grid], tmp_path, log=lines.append)
    assert Guess.trained == ["bad-rate0.01-seed1-8"] and lines[0] == "guesses: 1 of 2 encodings are done already"
    monkeypatch.setattr(engine, "run_trial", lambda *_, **__: pytest.fail("nothing is left to train"))
    run_grids([grid], tmp_path, log=quiet)
    run_grids([dataclasses.replace(grid, seeds=1)], tmp_path, log=quiet)


def test_nothing_is_trained_for_a_folder_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(OutputFolderError, match="cannot be written to: "):
        run_grids([grid_of()], "/proc/none", log=quiet)
    code = "import sys, numerate.training.output_folder as o\nwith o.output_folder(sys.argv[1]): print(1), input()"
    command, pipes = [sys.executable, "-uc", code, str(tmp_path / "guesses")], {"stdin": -1, "stdout": -1}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout is not None and process.stdout.readline() == b"1\n"
        with pytest.raises(OutputFolderError, match=f"is in use by process {process.pid} on "):
            run_grids([grid_of()], tmp_path, log=quiet)
        process.communicate(b"\n")
    assert not Guess.trained and not list(tmp_path.iterdir())


def test_equal_figures_of_two_seeds_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(Guess, "build", lambda self: Model(4e306))
    grid = grid_of(encodings={"good": {}}, rates=(1e-2,))
    run_grids([grid], tmp_path, log=quiet)
    assert write_comparison(grid, tmp_path) and not list(tmp_path.rglob("*.lock"))
    assert mean_and_spread([1.7e308, 1.7e308]) == (1.7e308, 0.0)


def test_results_of_other_settings_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "here" / "data.txt"
    source.parent.mkdir()
    source.write_text("1")
    grid = grid_of(trial=GuessTrial(source=str(source)), rates=(1e-2,))
    run_grids([grid], tmp_path / "out", log=quiet)
    file = tmp_path / "out" / "guesses" / "good-rate0.01-seed0-8.json"
    stored = json.loads(file.read_text())["config"]
    assert stored["source"] == "data.txt" and "here" not in file.read_text() and stored["task_version"] == 1
    moved = source.rename(tmp_path / "data.txt")
    again = dataclasses.replace(grid, trial=GuessTrial(source=str(moved), patience=9))
    Guess.trained.clear()
    run_grids([again], tmp_path / "out", log=quiet)
    assert not Guess.trained, "where a file lies and unchecked fields do not matter"
    moved.write_text("2")
    with pytest.raises(OtherSettingsError, match="contents"):
        run_grids([again], tmp_path / "out", log=quiet)
    stored = json.loads(file.read_text())
    stored["config"] |= {"length": 9.0}  # a field's old name
    del stored["config"]["amount"]
    file.write_text(json.dumps(stored))
    with pytest.raises(OtherSettingsError, match=r"length=9\.0"):
        run_grids([grid_of(rates=(1e-2,), seeds=1)], tmp_path / "out", log=quiet)
    assert GuessTrial.from_dict(stored["config"]).amount == 9.0


def test_finals_of_several_rates_may_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = grid_of(encodings={"good": {}}, seeds=1)
    run_grids([grid], tmp_path, log=quiet)
    other = grid.of("good").final(1e-3, 0)
    file = tmp_path / "guesses" / f"{other.name}.json"
    file.write_text(json.dumps({"config": {}, "figures": {"dev": {"error": {"value": -1.0}}}}))
    assert best_rate(grid, tmp_path, "good") == 1e-2
    monkeypatch.setattr(Guess, "finals_are_tries", True)
    assert list(whole_tries(grid, tmp_path, "good")) == [1e-3, 1e-2] and best_rate(grid, tmp_path, "good") == 1e-3


def test_without_a_choice_the_trial_has_the_rate(tmp_path: Path) -> None:
    grid = grid_of(rates=(), encodings={"good": {"rate": 0.1}}, seeds=1)
    run_grids([grid], tmp_path, log=quiet)
    assert Guess.trained == ["good-rate0.1-seed0-8"] and finals(grid, tmp_path, "good")[0].config.rate == 0.1
    assert finals(grid_of(), tmp_path, "good") == [], "tries are missing"


def test_bad_grids() -> None:
    for options, message in (
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"rate_share": 0.0}, "rate_share must lie in"),
        ({"rates": (0.0, 1.0)}, "rates must be positive"),
        ({"encodings": {}}, "at least one encoding"),
        ({"encodings": {"good": {"widht": 3}}}, "encoding 'good': .*widht"),
    ):
        with pytest.raises(ConfigError, match=message):
            grid_of(**options)


def test_a_packed_table_is_the_folder(tmp_path: Path) -> None:
    grid = grid_of(base="good")
    run_grids([grid], tmp_path / "out", log=quiet)
    write_comparison(grid, tmp_path / "out")
    file = pack(tmp_path / "out", tmp_path / "table.json", command="numerate compare --task guess")
    whole = read_packed(file)
    assert whole["command"].startswith("numerate compare") and whole["grids"]["guesses/compare"]["seeds"] == 2
    assert len(whole["trials"]) == 8 and set(whole["others"]) == {"guesses/baselines", "guesses/bad-against-good"}
    assert json.loads(file.read_text())["trials"]["guesses/good-rate0.01-seed0-8"]["config"].keys() == {
        "encoding", "rate", "seed", "amount",
    }  # fmt: skip
    assert recompute(grid, file) == recompute(grid, tmp_path / "out")
    stored = np.load(file.with_suffix(".npz"))
    assert len(stored.files) + len(whole["predictions"]["same"]) == 8, "two columns of each of four trainings"
    assert len([name for name in stored.files if name.endswith("_gold")]) == 1, "trials share the true values"
    unpack(file, tmp_path / "again")
    for one in (tmp_path / "out").rglob("*.npz"):
        again = tmp_path / "again" / one.relative_to(tmp_path / "out")
        before, after = read_columns({"": one}), read_columns({"": again})
        assert before.keys() == after.keys() and all(np.array_equal(before[key], after[key]) for key in before)
    Guess.trained.clear()
    run_grids([grid], tmp_path / "again", log=quiet)
    assert not Guess.trained
    alone = pack(tmp_path / "out" / "guesses", tmp_path / "alone.json", command="x", predictions=())
    assert set(recompute(grid, alone).values()) == {None}
    (tmp_path / "table.npz").write_bytes(b"other")
    with pytest.raises(ValueError, match=r"its predictions are not those of table\.json"):
        read_packed(file)
    with pytest.raises(ValueError, match="no such folder"):
        pack(tmp_path / "here", tmp_path / "none.json", command="x")


def test_predictions_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """They had a file for each split, named in the figures."""
    grid = grid_of(encodings={"good": {}}, rates=(1e-2,), seeds=1)
    run_grids([grid], tmp_path, log=quiet)
    (result,) = finals(grid, tmp_path, "good")
    file = tmp_path / "guesses" / f"{result.config.name}.json"
    (tmp_path / "guesses" / "predictions").mkdir()
    gold = np.arange(1.0, 41.0)
    np.savez(tmp_path / "guesses" / "predictions" / "abc-test.npz", predicted=gold, gold=gold)
    file.with_suffix(".npz").unlink()
    stored = json.loads(file.read_text())
    stored["figures"]["predictions"] = {"test": "abc-test.npz"}
    file.write_text(json.dumps(stored))
    (result,) = finals(grid, tmp_path, "good")
    assert result.has_columns and result.columns()["test_gold"].tolist() == gold.tolist()
    assert recompute(grid, tmp_path) == {result.config.name: True}


def test_the_page_has_tables_curves_and_baselines(tmp_path: Path) -> None:
    grid = grid_of()
    run_grids([grid], tmp_path, log=quiet)
    written, text, page = write_comparison(grid, tmp_path)
    shown = text.read_text("utf-8")
    assert "| good | **0.05 ± 0.64** | 2 | 0.01 |" in shown and "| mean | 10.00 |" in shown
    assert "best of 2 learning rates, chosen on dev with 50%" in shown and "near %, behind the best" in shown
    assert "log-sMAPE % by magnitude" in shown and "right digits" in shown
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert json.loads(written.read_text())["figures"]["bad"]["test"]["error"]["mean"] == pytest.approx(5.05)


class Guesses(Paper):
    """A paper with one table."""

    def grids(self, table: str, options: Options) -> list[Grid]:
        return [grid_of(seeds=options.seeds or 1, rates=(1e-2,))]

    def write(self, table: str, grids: Any, options: Options) -> list[Path]:
        return [Path(options.output) / f"{table}.md"]


def test_a_papers_table_is_run_and_recomputed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables.names()
    monkeypatch.setitem(tables._parts, "guess-table", Guesses)
    lines: list[str] = []
    options = Options(output=str(tmp_path), log=lines.append)
    reproduce("guess-table", options)
    assert lines[-1].endswith("guess-table.md") and len(Guess.trained) == 2
    again = dataclasses.replace(options, recompute=True)
    reproduce("guess-table", again)
    assert lines[-1] == "guesses, bad-rate0.01-seed0-8: same"
    file = tmp_path / "guesses" / "bad-rate0.01-seed0-8.json"
    file.write_text(file.read_text().replace('"value": 5.0', '"value": 6.0'))
    with pytest.raises(BadInput, match="1 of 2 results differ from their predictions: guesses, bad"):
        reproduce("guess-table", again)
    with pytest.raises(BadInput, match="there are no predictions"):
        reproduce("guess-table", dataclasses.replace(again, output=str(tmp_path / "no")))
    with pytest.raises(BadInput, match="unknown table 'guess-tabel': did you mean 'guess-table'"):
        reproduce("guess-tabel", options)


def test_intervals_are_students() -> None:
    from scipy import stats  # comes with scikit-learn

    values = [0.3, 0.5, 0.4, 0.9]
    mean, half = mean_and_spread(values)
    low, _ = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert mean == pytest.approx(np.mean(values)) and half is not None and mean - half == pytest.approx(low, abs=1e-4)
    assert mean_and_spread([0.5]) == (0.5, None) and math.isnan(mean_and_spread([None])[0])


def test_small_parts() -> None:
    assert merged({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 3}}) == {"a": {"b": 3, "c": 2}}
    workspace = Workspace()
    assert workspace.once("key", lambda: [1]) is workspace.once("key", lambda: [2])
    assert Column("test", "mse", "x").of({"test": {"mse": 3.0}}) == 3.0 and Column("a", "b", "c").of({}) is None
