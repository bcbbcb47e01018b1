"""The neutral bench: what is asked, how answers are read, and comparisons that go on where they stopped."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.config import ConfigError
from numerate.training.results import read_predictions, write
from numerate_lab.engine import grid as bench
from numerate_lab.engine.comparison_page import summary, write_comparison
from numerate_lab.engine.grid import CompareConfig, best_rate, compare, mean_and_spread, whole_tries
from numerate_lab.engine.trial import CellConfig, Prepared, build, run_cell, train
from numerate_lab.engine.trunk_trial import compile_blocks
from numerate_lab.tasks.asked_number.asked_number import Truth
from numerate_lab.tasks.asked_number.asking import answers, encode
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.modeling.number_model import NumberModel

TINY: dict[str, Any] = {
    "task": "add-6", "task_options": {"digits": [1, 2], "beyond": {}}, "examples": 60, "amount": 120, "batch": 20,
    "width": 16, "layers": 1, "heads": 2, "dev": 20, "test": 30, "looks": 1,
}  # fmt: skip
ALL = (
    "p10", "fp15", "keep", "digits", "digits-reversed", "xval", "fourier", "bits", "residues", "log-fourier",
    "char-lstm",
)  # fmt: skip


def tiny(**options: Any) -> CellConfig:
    return CellConfig.from_dict(TINY | options)


@pytest.fixture(scope="module")
def models() -> dict[str, NumberModel]:
    return {name: build(tiny(encoding=name), task_of("add-6", TINY["task_options"])) for name in ALL}


@pytest.mark.parametrize("name", ALL)
def test_the_answer_alone_is_asked_for(models: dict[str, NumberModel], name: str) -> None:
    task, model = task_of("add-6", TINY["task_options"]), models[name]
    truth, texts = task.truth("dev", 12), task.texts("dev", 12)
    causal = name.startswith("digits")
    asked = encode(model, texts, truth, -1, causal=causal)
    assert len(asked) == 12 and asked.tokens == int(asked.fields["attention_mask"].sum())
    if causal:
        own = model.processor.num_id
        for row in range(12):
            learnt = asked.fields["input_ids"][row][asked.fields["labels"][row] != -100].tolist()
            pieces = [model.processor.own_tokens[token - own] for token in learnt if token >= own]
            assert model.processor.notation.read(pieces).value == truth.values[row]
            assert learnt[-1] < own, "the token behind the answer is learnt, so that it ends"
        return
    wanted = asked.fields["number_wanted"]
    assert (wanted.sum(1) == 1).all() and wanted[:, 2].all(), "a + b = c: the third"
    values = asked.fields["number_bits"].view(torch.float64)[:, 2]
    if model.processor.scaling is not None:
        values = torch.from_numpy(model.processor.scaling.invert([""] * 12, values.numpy()))
    np.testing.assert_allclose(values.numpy(), truth.values, rtol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_what_stands_in_the_answer_is_not_seen(models: dict[str, NumberModel], name: str) -> None:
    """Answers to the same question do not depend on the answer that the text has."""
    model = models[name].eval()
    texts = ["12 + 13 = 25", "12 + 13 = 91"]
    truth = Truth(np.array([25.0, 91.0]), ["25", "91"], np.zeros(2, np.int64))
    said = answers(model, encode(model, texts, truth, -1, causal=name.startswith("digits")), most_tokens=6)
    # How many sub-words stand there is seen, which tells of the answer's length: xVal's appendix B.3.
    assert (said[0] == said[1]) == (name != "keep")


def test_tokens_are_read_back(models: dict[str, NumberModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that gives each hidden token the highest logit answers with the number itself."""
    task = task_of("add-6", TINY["task_options"])
    truth, texts = task.truth("dev", 8), task.texts("dev", 8)
    for name in ("p10", "fp15", "digits", "digits-reversed"):
        model = models[name]
        asked = encode(model, texts, truth, -1, causal=name.startswith("digits"))
        gold = asked.fields["input_ids"]
        shift = 1 if name.startswith("digits") else 0

        def perfect(input_ids: Any = None, gold: Any = gold, shift: int = shift, **rest: Any) -> Any:
            del rest
            following = torch.nn.functional.pad(gold, (0, 40))[:, shift : shift + input_ids.shape[1]]
            return type("Output", (), {"logits": torch.nn.functional.one_hot(following).float()})()

        monkeypatch.setattr(model, "forward", perfect)
        assert task.measure(answers(model, asked), truth)["exact_match"].value == 1.0, name
        monkeypatch.undo()


def test_a_text_that_is_read_otherwise_is_refused(models: dict[str, NumberModel]) -> None:
    truth = Truth(np.array([26.0]), ["26"], np.zeros(1, np.int64))
    with pytest.raises(ValueError, match=r"'12 \+ 13 = 25' asks for 26, and 25 was read"):
        encode(models["fourier"], ["12 + 13 = 25"], truth, -1, causal=False)


def test_a_cell_learns_and_is_written(tmp_path: Path) -> None:
    config = tiny(encoding="xval", examples=200, amount=6000, batch=50, rate=1e-2, scaling="range")
    figures = run_cell(config, tmp_path)
    assert figures["test"]["r2"]["value"] > 0.5, "sums of small numbers on a straight scale are soon found"
    written = json.loads((tmp_path / f"{config.name}.json").read_text())
    assert written["config"]["encoding"] == "xval" and written["figures"]["training"]["steps"] == 120
    said = read_predictions(tmp_path / f"{config.name}.npz")
    again = task_of("add-6", TINY["task_options"]).measure(
        said["test_predicted"].numpy(), task_of("add-6", TINY["task_options"]).truth("test", 30)
    )
    assert again["r2"].value == pytest.approx(figures["test"]["r2"]["value"], rel=1e-9)
    again_figures = run_cell(config, tmp_path)
    assert again_figures["test"] == figures["test"], "the same cell gives the same figures"


@pytest.mark.parametrize("budget", ["tokens", "seconds"])
def test_other_budgets(tmp_path: Path, budget: str) -> None:
    amount = 200.0 if budget == "tokens" else 0.05
    figures = run_cell(tiny(encoding="xval", budget=budget, amount=amount, looks=0), tmp_path)
    steps, length = figures["training"]["steps"], figures["training"]["tokens_a_text"]
    assert steps == (round(200 / (length * 20)) if budget == "tokens" else steps) and steps >= 1


def test_equal_time_is_for_one_training_at_a_time(tmp_path: Path) -> None:
    config = CompareConfig(encodings=("xval",), rates=(1e-3,), cell=tiny(budget="seconds", amount=1.0))
    with pytest.raises(ConfigError, match="equal time is measured by one training at a time, got 2 processes"):
        compare(config, tmp_path, processes=2)
    asked = ["compare", "--task", "add-6", "--encodings", "xval+scalar", "--budget", "seconds", "--amount", "1"]
    bad = CliRunner().invoke(app, [*asked, "--processes", "2", "-o", str(tmp_path)])
    assert bad.exit_code == 2 and "one training at a time, got 2 processes" in " ".join(bad.output.split())
    assert "Traceback" not in bad.output


def test_a_comparison_chooses_rates_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tiny(splits=())
    config = CompareConfig(encodings=("xval", "p10"), rates=(1e-4, 1e-2), rate_share=0.5, seeds=2, cell=shared)
    lines: list[str] = []
    rates = compare(config, tmp_path, say=lines.append)
    done = [line for line in lines if "on the way" not in line]
    assert len(done) == 2 * 2 + 2 * 2 and len(lines) - len(done) == 2 * 2, "one look each, but for the tries"
    folder = bench.folder_of(tmp_path, config)
    scores = {
        cell.rate: json.loads((folder / f"{cell.name}.json").read_text())["figures"]["dev"]["log_smape"]["value"]
        for cell in config.tries()
        if cell.encoding == "xval"
    }
    assert rates["xval"] == max(sorted(scores), key=lambda rate: scores[rate]) == best_rate(config, folder, "xval")
    monkeypatch.setattr(bench, "run_cell", lambda *_: pytest.fail("nothing is left to train"))
    assert compare(config, tmp_path, say=lines.append) == rates
    found = summary(bench.read_cells(config, folder, rates))
    assert found["p10"]["seeds"] == 2 and found["xval"]["log_smape"]["half"] is not None
    files = write_comparison(config, tmp_path, rates)
    assert "best of 2 rates" in files[1].read_text("utf-8") and files[2].read_text("utf-8").startswith(
        "<!doctype html>"
    )


def test_rates_of_whole_trainings_are_chosen_by_these(tmp_path: Path) -> None:
    config = CompareConfig(encodings=("p10",), rates=(1e-4, 1e-3, 1e-2), rate_share=0.5, cell=tiny())

    def found(rate: float, amount: float, value: float | None) -> None:
        figures = {"dev": {"log_smape": {"value": value}}}
        name = dataclasses.replace(config.cell, encoding="p10", rate=rate, amount=amount).name
        write(tmp_path / f"{name}.json", config={}, figures=figures)

    for rate, value in zip(config.rates, (0.2, 0.1, None), strict=True):
        found(rate, 60, value)
    assert best_rate(config, tmp_path, "p10") == 1e-4
    found(1e-4, 120, 0.3)  # a single one has no rival
    assert best_rate(config, tmp_path, "p10") == 1e-4
    assert whole_tries(config, tmp_path, "p10") == []
    found(1e-2, 120, 0.4)
    assert best_rate(config, tmp_path, "p10") == 1e-2
    assert [cell.rate for cell in whole_tries(config, tmp_path, "p10")] == [1e-4, 1e-2]


def test_a_try_of_the_whole_budget_is_a_final_one() -> None:
    config = CompareConfig(encodings=("p10",), rates=(1e-4, 1e-3), rate_share=1, seeds=1, cell=tiny(splits=("longer",)))
    assert config.tries()[0] == config.finals({"p10": 1e-4})[0]


def test_several_tasks_for_one_model() -> None:
    mix = task_of("add-6,subtract-6", {"digits": [1, 2], "beyond": {}})
    texts, truth = mix.texts("dev", 5), mix.truth("dev", 5)
    assert ["+" in text for text in texts] == [True, False, True, False, True]
    assert truth.groups["task"].tolist() == ["add-6", "subtract-6"] * 2 + ["add-6"]
    assert mix.texts("dev", 2, start=3) == texts[3:5] and mix.truth("dev", 2, start=3).strings == truth.strings[3:5]
    assert mix.truth("dev", 2, start=3).groups["task"].tolist() == ["subtract-6", "add-6"]
    assert truth.hidden_in(texts)[1].endswith("= [NUM]") and truth.spans is not None
    assert all(text.endswith(f"= {answer}") for text, answer in zip(texts, truth.strings, strict=True))


def test_intervals_are_students() -> None:
    from scipy import stats  # comes with scikit-learn

    values = [0.3, 0.5, 0.4, 0.9]
    mean, half = mean_and_spread(values)
    low, _ = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert mean == pytest.approx(np.mean(values)) and mean - half == pytest.approx(low, abs=1e-4)
    assert mean_and_spread([0.5]) == (0.5, None) and math.isnan(mean_and_spread([None])[0])


def test_bad_configs_are_refused() -> None:
    with pytest.raises(ConfigError, match="examples must be at least 1, got 0"):
        tiny(examples=0)
    with pytest.raises(ConfigError, match="rate_share must lie in"):
        CompareConfig(rate_share=0.0)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch's own, as it traces
def test_compiled_blocks_learn_the_same() -> None:
    """Traced, but run as written: what is tested is that training takes and evaluation leaves the compiled blocks."""
    config = tiny(layers=2)
    prepared = Prepared(config)
    asked, _ = prepared.asked("train", 60)
    models, losses = [build(config, prepared.task) for _ in range(2)], []
    graphs: list[torch.fx.GraphModule] = []

    def as_written(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compile_blocks(models[0], backend=as_written)
    for model in models:
        losses.append(train(model, config, asked, lambda model=model: {"said": answers(model, asked)}))
    assert len(graphs) == 1, "one for both blocks and all batches"
    assert losses[0]["losses"] == losses[1]["losses"] and losses[0]["looks"] == losses[1]["looks"]


def test_a_file_takes_options_and_refuses_others(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps({"text": f"{n} of {n + 1}"}) + "\n" for n in range(40)), "utf-8")
    texts, truth = (getattr(task_of(str(file), {"answer_slot": 0}), what)("train", 5) for what in ("texts", "truth"))
    assert truth.values.tolist() == [float(text.split()[0]) for text in texts]
    assert task_of(str(file)).answer_slot == -1
    with pytest.raises(ConfigError, match=r"task_options of a file: 'answer_slots'.*answer_slot"):
        task_of(str(file), {"answer_slots": 0})
