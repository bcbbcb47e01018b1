"""The training of a trunk: budgets, timing, looks at dev, the best weights, compiled and recorded steps."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers

from numerate.processing.static_shapes import Counts
from numerate.training import CudaGraphTrainer
from numerate_lab.engine import trunk_training as trunk
from numerate_lab.engine.task import Workspace
from numerate_lab.engine.trunk_training import compile_blocks, steps_for
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial

if TYPE_CHECKING:
    from pathlib import Path

TINY = AskedNumberTrial(
    task="add-6", task_options={"digits": [1, 2], "beyond": {}}, encoding="xval", examples=60, amount=80, batch=20,
    width=16, layers=1, heads=2, dev=8, test=8, looks=0, precision="fp32",
)  # fmt: skip


def test_budgets() -> None:
    for budget, amount, steps in (("samples", 100.0, 5), ("tokens", 1400.0, 10), ("seconds", 3.0, 6)):
        config: Any = dataclasses.replace(TINY, budget=budget, amount=amount)
        assert steps_for(config, 7.0, 0.5) == steps, budget
    with pytest.raises(ValueError, match="needs the seconds of a step"):
        steps_for(dataclasses.replace(TINY, budget="seconds"), 7.0, None)
    tried = TINY.tried(1e-2, 0.5)
    assert (tried.amount, tried.looks, tried.rate, tried.seed) == (40, 0, 1e-2, 0)
    assert TINY.tried(1e-2, 1) == TINY.final(1e-2, 0), "a try of the whole budget is a final training"


def test_steps_are_timed_alone_and_nothing_is_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = dataclasses.replace(TINY, budget="seconds", amount=8.0)
    task = AskedNumber(config, Workspace(tmp_path))
    model, now, asked = task.build(), [0.0], []
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    batches, _ = task.batches(model)
    monkeypatch.setattr(trunk, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    class Slow:
        """The first ten steps take long, as steps that compile do, and one later on."""

        def __len__(self) -> int:
            return 100

        def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
            now[0] += 50.0 if len(asked) < 10 or len(asked) == 22 else 2.0
            asked.append(index)
            return batches[0]

    monkeypatch.setattr(task, "batches", lambda model: (Slow(), 7.0))
    monkeypatch.setattr(task, "build", lambda: model)
    assert task.needs_timing
    task.time_steps()
    assert all(weight.equal(before[name]) for name, weight in model.state_dict().items())
    assert json.loads((tmp_path / "speed-xval.json").read_text())["figures"]["seconds_a_step"] == 2.0
    later = AskedNumber(dataclasses.replace(config, rate=1e-2, seed=3), Workspace(tmp_path))
    assert not later.needs_timing
    trained = later.train(later.build())
    assert trained["steps"] == 4 and trained["seconds_a_step"] == 2.0


def test_looks_are_not_counted_as_training(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(trunk, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    task = AskedNumber(dataclasses.replace(TINY, looks=2))

    def score(split: str, columns: Any) -> dict[str, Any]:
        now[0] += 7.0
        return {split: {name: {"value": now[0]} for name in ("exact_match", "log_smape", "r2")}}

    monkeypatch.setattr(task, "score", score)
    lines: list[str] = []
    found = task.train(task.build(), lines.append)
    assert [(one["step"], one["r2"]) for one in found["looks"]] == [(2, 7.0), (4, 14.0)] and found["seconds"] == 0.0
    assert "during training: exact_match 7, log_smape 7, r2 7" in lines[0]


def test_the_weights_of_the_best_look_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AskedNumber, "keeps_best", True)
    kept = []
    for order in ([1.0, 3.0, 2.0, 3.0, 3.0], [3.0, 1.0, 2.0, 3.0, 3.0], [3.0] * 5):
        task, errors = AskedNumber(dataclasses.replace(TINY, looks=4)), iter(order)
        monkeypatch.setattr(task, "error", lambda figures, errors=errors: next(errors))
        model = task.build()
        found = task.train(model)
        kept.append(found["kept"])
        figures = task.looked(task.score("dev", task.ask(model, "dev")))
        look = found["looks"][found["kept"] - 1]
        assert {name: look[name] for name in figures} == pytest.approx(figures, rel=1e-6), "what the look saw"
    assert kept == [1, 2, 4]


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # torch's own, as it traces
def test_compiled_blocks_learn_the_same() -> None:
    """Traced, but run as written: training uses the compiled blocks, and evaluation leaves them."""
    task = AskedNumber(dataclasses.replace(TINY, layers=2, looks=1))
    graphs: list[torch.fx.GraphModule] = []

    def as_written(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    models = [task.build() for _ in range(2)]
    compile_blocks(models[0], backend=as_written)
    one, other = (task.train(model) for model in models)
    assert len(graphs) == 1, "one for both blocks and all batches"
    assert one["losses"] == other["losses"] and one["looks"] == other["looks"]


def test_a_model_that_cannot_be_recorded(tmp_path: Path) -> None:
    task = AskedNumber(dataclasses.replace(TINY, encoding="char-lstm+mixture", recorded=True))
    model = task.build()
    assert not CudaGraphTrainer.can_record(model) and task.predicted_counts(model) is None
    several = transformers.TrainingArguments(str(tmp_path), gradient_accumulation_steps=2, use_cpu=True, report_to=[])
    batch = task.encoded(model, "train")[slice(0, 2)]
    with pytest.raises(ValueError, match="cannot be captured; use NumberTrainer"):
        CudaGraphTrainer(model, several, train_dataset=[batch], counts=Counts(2, 0))


@pytest.mark.parametrize(
    "encoding", ["xval", "p10", "fourier", "residues", "digits"] if torch.cuda.is_available() else ["xval"]
)
def test_recorded_steps_have_the_losses_of_plain_steps(encoding: str) -> None:
    """Without an accelerator nothing is recorded, and steps are plain ones."""
    config = dataclasses.replace(TINY, encoding=encoding, amount=800, task="multiply-3", task_options={})
    plain, recorded = (
        AskedNumber(chosen).train(AskedNumber(chosen).build())["losses"]
        for chosen in (config, dataclasses.replace(config, recorded=True))
    )
    assert len(plain) == len(recorded) > 5
    for one, other in zip(plain, recorded, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-3)
