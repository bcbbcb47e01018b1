"""Recorded training steps: the same losses and weights as without, for batches of several shapes and epochs."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, new_backbone, tokenizer_of
from training_runs import arguments

import numerate
from numerate.processing.static_shapes import capacities
from numerate.training import NumberTrainer, step_graphs
from numerate.training.step_graphs import padded_to, why_not

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXTS = [
    *NUMBERS,
    "Of 120 trees 35% are older than 40.5 years, 12 than 100, and 3 than 400 years; 9 are young.",
] * 2


def trainer_of(folder: Path, *, graphs: bool, **options: Any) -> NumberTrainer:
    torch.manual_seed(0)
    objective = {"kind": "masked", "ratio": 0.3, "number_ratio": 0.4}
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", objective=objective)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    rows = [dict(model.processor(text)) | {"sample_id": index} for index, text in enumerate(TEXTS)]
    # AdamW turns rounding errors of gradients near 0 into whole steps.
    options = {"max_steps": 24, "per_device_train_batch_size": 2, "logging_steps": 1, "optim": "sgd", **options}
    given = arguments(folder, **options)
    return NumberTrainer(model, given, train_dataset=rows, cuda_graphs=graphs)


def losses(trainer: NumberTrainer) -> list[float]:
    with capacities():
        trainer.train()
    logs = [entry for entry in trainer.state.log_history if "loss" in entry]
    return [entry[name] for entry in logs for name in ("loss", "number_loss", "grad_norm")]


def fake_capture(step: Callable[[], Any], pool: Any) -> tuple[Callable[[], None], Any]:
    """Runs the step again instead of replaying it, into the same results; on a CPU there are no graphs."""
    del pool
    results = step()

    def replay() -> None:
        for old, new in zip(results, step(), strict=True):
            old.detach().copy_(new.detach())

    return replay, results


@pytest.fixture
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_graphs, "_capture", fake_capture)
    monkeypatch.setattr(step_graphs, "side_stream", contextlib.nullcontext)
    monkeypatch.setattr(step_graphs, "_new_pool", object)
    monkeypatch.setattr("numerate.training.trainer.why_not", lambda *_: None)


@pytest.mark.usefixtures("on_a_cpu")
def test_recorded_steps_have_the_losses_and_weights_of_usual_ones(tmp_path: Path) -> None:
    usual, recorded = (trainer_of(tmp_path / str(graphs), graphs=graphs) for graphs in (False, True))
    expected = losses(usual)
    kept: list[Any] = []
    new = recorded._new_graphs
    recorded._new_graphs = lambda: kept.append(new()) or kept[0]  # type: ignore[method-assign,func-returns-value]
    found = losses(recorded)
    assert found == pytest.approx(expected, rel=1e-4)
    assert len(set(found)) > len(found) // 2, "each epoch has masks of its own"
    for (name, one), other in zip(usual.model.named_parameters(), recorded.model.parameters(), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5, msg=name)
    (graphs,) = kept
    assert 1 <= graphs.count < 12 and not graphs.failed and recorded._graphs is None


@pytest.mark.usefixtures("on_a_cpu")
@pytest.mark.filterwarnings("default")  # the compiler's own
def test_recorded_steps_of_a_compiled_backbone_have_the_same_losses(tmp_path: Path) -> None:
    expected = losses(trainer_of(tmp_path / "usual", graphs=False))
    compiled: dict[str, Any] = {"torch_compile": True, "torch_compile_backend": "aot_eager"}
    trainer = trainer_of(tmp_path / "recorded", graphs=True, **compiled)
    kept: list[Any] = []
    new = trainer._new_graphs
    trainer._new_graphs = lambda: kept.append(new()) or kept[0]  # type: ignore[method-assign,func-returns-value]
    torch._dynamo.utils.counters.clear()
    assert losses(trainer) == pytest.approx(expected, rel=1e-3)
    assert kept[0].count >= 1 and not kept[0].failed
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1


def test_steps_that_cannot_be_recorded_run_as_usual(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(tmp_path, graphs=True, max_steps=2)
    with caplog.at_level(logging.WARNING):
        assert len(losses(trainer)) == 3 * 2
    if not torch.cuda.is_available():
        assert "the device is not CUDA" in caplog.text

    def broken(*_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(step_graphs, "side_stream", contextlib.nullcontext)
    monkeypatch.setattr(step_graphs, "_new_pool", object)
    monkeypatch.setattr(step_graphs, "_capture", broken)
    monkeypatch.setattr("numerate.training.trainer.why_not", lambda *_: None)
    with caplog.at_level(logging.WARNING):
        found = losses(trainer_of(tmp_path / "broken", graphs=True))
    assert "stream is capturing" in caplog.text
    assert found == pytest.approx(losses(trainer_of(tmp_path / "usual", graphs=False)), rel=1e-4)


def test_the_reason_is_given(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, graphs=True)
    trainer.args = type("Arguments", (), vars(trainer.args) | {
        "device": torch.device("cuda"), "world_size": 1, "n_gpu": 1, "torch_compile": False,
    })()  # fmt: skip
    model: Any = trainer.model
    assert why_not(model, trainer.args) is None and "scaler" in str(why_not(model, trainer.args, scaled=True))
    trainer.args.torch_compile = True
    assert why_not(model, trainer.args, compiles_part=True) is None
    assert "the whole model" in str(why_not(model, trainer.args))
    trainer.args.gradient_accumulation_steps = 2
    assert "several batches" in str(why_not(model, trainer.args))


def test_the_number_table_is_padded_and_the_loss_stays(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, graphs=False)
    model: Any = trainer.model
    batch = dict(model.processor(TEXTS, return_tensors="pt", padding=True)) | {"sample_id": torch.arange(len(TEXTS))}
    wide = padded_to(batch, numbers=12)
    assert wide["number_bits"].shape[1] == 12 > batch["number_bits"].shape[1] and wide["number_chars"].shape[2] == 16
    model.train()
    assert model(**wide).loss.item() == pytest.approx(model(**batch).loss.item(), rel=1e-6)
    none = padded_to({"number_bits": torch.zeros(2, 0, dtype=torch.int64)})
    assert none["number_bits"].shape == (2, 8)


def test_compiled_steps_see_few_counts_of_numbers(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, graphs=False, torch_compile=True)
    trainer._graphs = None
    trainer.compiles_whole = True
    shapes = {tuple(batch["number_bits"].shape) for batch in trainer.get_train_dataloader()}
    assert shapes == {(2, 16)}
