"""A step that is not finite leaves weights and optimizer as they were, on all processes, and is written down."""

from __future__ import annotations

import logging
import math
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers
from torch import distributed, nn
from training_runs import Watch, are_equal, arguments, in_a_child, losses_of, model_of, rows_of, trainer_of

from numerate.training import NonFiniteError, NonFiniteGuard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Poison:
    """Makes some forward passes of the model non-finite, counted from 0."""

    def __init__(self, model: Any, where: str, when: set[int], what: float = math.nan) -> None:
        self.passes, self.when, self.what = -1, when, what
        model.register_forward_pre_hook(self.count)
        if where == "loss":  # a constant: the gradient stays as it is
            model.register_forward_hook(lambda _, __, output: self.in_loss(output))
        elif where == "gradient":
            model.own_rows.register_hook(lambda gradient: gradient * self.factor())
        else:
            model.backbone.get_input_embeddings().register_forward_hook(lambda _, __, output: output * self.factor())

    def count(self, *_: Any) -> None:
        self.passes += 1

    def factor(self) -> float:
        return self.what if self.passes in self.when else 1.0

    def in_loss(self, output: Any) -> Any:
        if self.passes in self.when:
            output["loss"] = output["loss"] + self.what
        return output


def poisoned(folder: Path, where: str, when: set[int], what: float = math.nan, **options: Any) -> tuple[Any, Watch]:
    watch = Watch()
    trainer = trainer_of(folder, more={"callbacks": [watch]}, **options)
    watch.trainer = trainer
    Poison(trainer.model, where, when, what)
    return trainer, watch


@pytest.mark.parametrize(
    ("where", "what", "clip"),
    [
        ("loss", math.nan, 1.0),
        ("loss", math.inf, 0.0),
        ("gradient", math.nan, 0.0),
        ("gradient", -math.inf, 1.0),
        ("input", math.nan, 1.0),
    ],
)
def test_the_step_is_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, where: str, what: float, clip: float
) -> None:
    trainer, watch = poisoned(tmp_path, where, {1}, what, max_steps=3, max_grad_norm=clip)
    with caplog.at_level(logging.WARNING):
        trainer.train()
    before, at, after, end = watch.states
    assert are_equal(at, after), "neither weights nor optimizer state may change"
    assert not are_equal(before, at) and not are_equal(after, end), "the other steps are taken"
    assert all(value.isfinite().all() for value in end.values())
    (entry,) = trainer.guard.found
    assert entry.step == 2 and entry.rank == 0 and len(entry.samples) == 4
    assert set(entry.samples) <= set(range(100, 124)), "the texts' own names"
    assert math.isfinite(entry.losses[0]) == (where == "gradient")
    assert "step 2, process 0" in caplog.text and str(entry.samples[0]) in caplog.text
    assert [entry.get("skipped_steps") for entry in trainer.state.log_history] == [None, 1, 1, 1]
    first, second, third = losses_of(trainer)
    assert math.isnan(second) and math.isfinite(first) and math.isfinite(third), (
        "one bad loss does not stay in the mean"
    )


def test_the_objective_gets_no_skipped_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, _ = poisoned(tmp_path, "loss", {1}, max_steps=3)
    told: list[int] = []
    monkeypatch.setattr(type(trainer.model.objective), "step", lambda *_: told.append(trainer.state.global_step))
    trainer.train()
    assert told == [0, 2], "neither the teacher nor its warm-up advances"


@pytest.mark.parametrize("is_filtered", [True, False])
def test_mean_losses_do_not_contain_skipped_steps(tmp_path: Path, is_filtered: bool) -> None:
    trainer, _ = poisoned(tmp_path, "loss", {2, 5}, logging_steps=4, max_steps=4, gradient_accumulation_steps=2,
                          per_device_train_batch_size=2, logging_nan_inf_filter=is_filtered)  # fmt: skip
    seen: list[float] = []
    plain = trainer.guard.see
    trainer.guard.see = lambda loss, batch: (seen.append(float(loss)), plain(loss, batch))
    output = trainer.train()
    assert [math.isfinite(loss) for loss in seen] == [True, True, False, True, True, False, True, True]
    expected = sum(seen[:2] + seen[6:]) / 4  # steps 2 and 3 were skipped with all their micro-batches
    assert losses_of(trainer) == [pytest.approx(expected, rel=1e-6)]
    assert output.training_loss == output.metrics["train_loss"] == pytest.approx(expected, rel=1e-6)
    assert [entry.step for entry in trainer.guard.found] == [2, 3]
    assert [len(entry.samples) for entry in trainer.guard.found] == [2, 2], "of the bad micro-batch alone"


def test_three_in_a_row_end_the_run(tmp_path: Path) -> None:
    trainer, watch = poisoned(tmp_path, "loss", {1, 2, 4, 5, 6, 7}, max_steps=9)
    with pytest.raises(
        NonFiniteError, match=r"3 consecutive steps; the weights are those before step 5\. step 7, "
    ) as error:
        trainer.train()
    assert str(trainer.guard.found[-1].samples[0]) in str(error.value)
    assert [entry.step for entry in trainer.guard.found] == [2, 3, 5, 6, 7]
    assert are_equal(watch.states[4], watch.states[6])
    assert all(
        torch.equal(value, watch.states[4][f"weights.{key}"]) for key, value in trainer.model.state_dict().items()
    )


def test_texts_without_ids_are_named_by_their_rows(tmp_path: Path) -> None:
    model = model_of()
    rows = [{key: value for key, value in row.items() if key != "sample_id"} for row in rows_of(model)]
    from numerate.training import NumberTrainer

    trainer = NumberTrainer(model, arguments(tmp_path, max_steps=2), train_dataset=rows)
    Poison(model, "loss", {0})
    trainer.train()
    assert trainer.guard.found[0].samples == tuple(f"batch 0 row {row}" for row in range(4))


def test_a_nan_in_a_text_does_no_harm(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, max_steps=6)
    for row in trainer.train_dataset:
        bits = torch.as_tensor(row["number_bits"])
        row["number_bits"] = torch.where(
            torch.arange(len(bits)) == 0, torch.tensor(math.nan).double().view(torch.int64), bits
        )
    trainer.train()
    assert all(value.isfinite().all() for value in trainer.model.state_dict().values())
    assert trainer.guard.skipped == 0, "embedders handle NaN"


def test_the_stock_trainer_with_the_guard(tmp_path: Path) -> None:
    guard, model, watch = NonFiniteGuard(), model_of(), Watch()
    rows = [{key: value for key, value in row.items() if key != "sample_id"} for row in rows_of(model)]
    from numerate.processing.encoding import NumberCollator

    collate = NumberCollator(model.processor.tokenizer)
    trainer = transformers.Trainer(
        model, arguments(tmp_path, max_steps=3), data_collator=collate, train_dataset=rows, callbacks=[guard, watch]
    )
    watch.trainer = trainer
    Poison(model, "gradient", {1})
    trainer.train()
    assert are_equal(watch.states[1], watch.states[2]) and not are_equal(watch.states[2], watch.states[3])
    assert [entry.step for entry in guard.found] == [2] and guard.skipped == 1


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop])
def test_optimizers_ignore_parameters_without_a_gradient(make: Callable[..., torch.optim.Optimizer]) -> None:
    layer = nn.Linear(2, 2)
    optimizer = make(layer.parameters(), lr=0.1, weight_decay=0.1)
    guard = NonFiniteGuard()
    states = []
    for scale in (1.0, math.nan, 1.0):
        loss = layer(torch.ones(1, 2)).sum() * scale
        loss.backward()
        guard.see(loss, {})
        guard.on_pre_optimizer_step(None, SimpleNamespace(global_step=len(states)), None, model=layer)
        optimizer.step()
        optimizer.zero_grad()
        states.append(layer.weight.detach().clone())
    assert torch.equal(states[0], states[1]) and not torch.equal(states[1], states[2])
    assert [entry.step for entry in guard.found] == [2]


def test_with_a_gradient_scaler_only_losses_are_checked() -> None:
    layer, guard = nn.Linear(2, 2), NonFiniteGuard()
    guard.scales_gradients = True
    layer(torch.ones(1, 2)).sum().backward()
    layer.weight.grad.fill_(math.inf)
    guard.see(torch.tensor(1.0), {})
    guard.on_pre_optimizer_step(None, SimpleNamespace(global_step=0), None, model=layer)
    assert not guard.last_skipped and layer.weight.grad is not None


@pytest.mark.skipif(torch.cuda.is_available(), reason="forks processes, which autograd forbids once CUDA is in use")
def test_processes_decide_together(tmp_path: Path) -> None:
    """Of two processes the second has an infinite loss and finite gradients: both leave the step out."""

    def work(rank: int) -> None:
        store = distributed.FileStore(str(tmp_path / "store"), 2)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=2)
        layer, guard = nn.Linear(2, 2), NonFiniteGuard(limit=2)
        for step, loss in enumerate([1.0, math.inf if rank else 2.0, 3.0]):
            layer(torch.ones(1, 2)).sum().backward()
            guard.see(
                torch.tensor(loss), {"input_ids": torch.zeros(2, 3), "sample_id": torch.tensor([7, 8]) + 10 * rank}
            )
            guard.on_pre_optimizer_step(None, SimpleNamespace(global_step=step), None, model=layer)
            assert guard.last_skipped == (step == 1) == (layer.weight.grad is None)
            layer.zero_grad()
        (entry,) = guard.found
        assert (entry.step, entry.rank, entry.samples) == (2, 1, (17, 18))
        distributed.destroy_process_group()

    children = [in_a_child(lambda rank=rank: work(rank)) for rank in range(2)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
