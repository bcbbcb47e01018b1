"""Training with `torch_compile`: the same losses and weights as without, few graphs, and the backbone as it was."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, new_backbone, tokenizer_of
from training_runs import arguments

import numerate
from numerate.processing.encoding import NumberCollator
from numerate.processing.static_shapes import capacities
from numerate.training import NumberTrainer
from numerate.training.compiled_backbone import compiled_backbone, compiled_modules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default")  # the compiler's own
TEXTS = [*NUMBERS, "Of 120 trees 35% are older than 40.5 years, 12 than 100, and 3 than 400 years; 9 are young."] * 2


def trainer_of(
    folder: Path, multiple: int = 128, *, compiled: bool, task: str = "bert", **options: Any
) -> NumberTrainer:
    torch.manual_seed(0)
    model = numerate.attach(new_backbone(task), tokenizer_of(task), "in-place")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # compiled code draws other random numbers
    rows = [dict(model.processor(text)) | {"sample_id": index} for index, text in enumerate(TEXTS)]
    more: dict[str, Any] = {
        "max_steps": 12, "per_device_train_batch_size": 4, "logging_steps": 1, "optim": "sgd",
        "torch_compile": compiled,
    }  # fmt: skip
    if compiled:
        more["torch_compile_backend"] = "aot_eager"
    given = arguments(folder, **more | options)
    collator = NumberCollator(model.processor.tokenizer, pad_to_multiple_of=multiple)
    return NumberTrainer(model, given, collator, train_dataset=rows, eval_dataset=rows[:4])


def losses(trainer: NumberTrainer) -> list[float]:
    """Losses and gradient norms of all steps, with the accelerator's fixed number of places."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with capacities():
        trainer.train()
    logs = [entry for entry in trainer.state.log_history if "loss" in entry]
    return [entry[name] for entry in logs for name in ("loss", "grad_norm")]


def graphs() -> int:
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def breaks() -> dict[str, int]:
    return dict(torch._dynamo.utils.counters["graph_break"])


@pytest.mark.parametrize("task", ["bert", pytest.param("gpt2", marks=pytest.mark.slow)])
@pytest.mark.parametrize("multiple", [1, 128])
def test_compiled_training_has_the_same_losses_in_few_graphs(tmp_path: Path, task: str, multiple: int) -> None:
    # One after the other: accelerate keeps one setting of the compiler, that of the newest trainer.
    usual = trainer_of(tmp_path / "usual", multiple, compiled=False, task=task)
    expected = losses(usual)
    assert not graphs()
    evaluates: dict[str, Any] = {"eval_strategy": "steps", "eval_steps": 5}
    compiled = trainer_of(tmp_path / "compiled", multiple, compiled=True, task=task, **evaluates)
    assert losses(compiled) == pytest.approx(expected, rel=1e-3)
    # Without padding, the second length compiles a graph for all lengths; epochs and counts of numbers none.
    assert graphs() == (1 if multiple == 128 else 2) and not breaks()
    for (name, one), other in zip(usual.model.named_parameters(), compiled.model.parameters(), strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-5, msg=name)
    model: Any = compiled.model
    assert not any("forward" in vars(module) for module in model.backbone.modules()), "the backbone is as it was"


def test_the_number_loss_is_logged(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, compiled=True, max_steps=2)
    losses(trainer)
    assert all("number_loss" in entry for entry in trainer.state.log_history if "loss" in entry)


def test_a_second_training_is_compiled_too(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, compiled=True, max_steps=2)
    for _ in range(2):
        losses(trainer)
        assert graphs() == 1


@pytest.mark.slow
def test_a_compiled_whole_model_is_one_graph_for_all_epochs(tmp_path: Path) -> None:
    expected = losses(trainer_of(tmp_path / "usual", compiled=False))
    whole = trainer_of(tmp_path / "whole", compiled=True)
    whole.compiles_whole = True
    assert losses(whole) == pytest.approx(expected, rel=1e-3)
    assert graphs() == 1 and not breaks()
    objective: Any = whole.model.objective
    assert type(objective.epoch) is int and objective.epoch > 0


def test_encoder_and_decoder_are_compiled() -> None:
    t5 = numerate.attach(new_backbone("t5"), tokenizer_of("t5"), "luna")
    assert [type(module).__name__ for module in compiled_modules(t5)] == ["T5Stack", "T5Stack"]
    bert = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place")
    assert compiled_modules(bert) == [bert.backbone.base_model]


def test_a_copy_of_a_compiled_backbone_runs_its_own_weights() -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place")
    plugin = type("Plugin", (), {"backend": "INDUCTOR", "to_kwargs": lambda self: {"backend": "eager"}})()
    with compiled_backbone(model, plugin):
        assert plugin.backend == "NO"
        teacher = copy.deepcopy(model.backbone)
        assert teacher.base_model.forward.__self__ is teacher.base_model
        ids = torch.ones(1, 4, dtype=torch.int64)
        before = teacher(input_ids=ids).logits
        with torch.no_grad():
            model.backbone.base_model.encoder.layer[0].output.dense.weight.zero_()
        assert torch.equal(teacher(input_ids=ids).logits, before)
