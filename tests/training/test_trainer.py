"""Metrics and logs of NumberTrainer, and its checkpoints."""

from __future__ import annotations

import logging
import os
import random
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import new_backbone, tokenizer_of
from training_runs import (
    TEXTS,
    Interrupt,
    are_equal,
    arguments,
    in_a_child,
    kill_in_a_child,
    losses_of,
    rows_of,
    state_of,
    trainer_of,
)
from transformers import TrainerCallback

import numerate
from numerate import metrics
from numerate.processing.encoding import NumberCollator
from numerate.training import CheckpointError, NumberTrainer, evaluation, newest_whole

if TYPE_CHECKING:
    from collections.abc import Iterable


def test_evaluation_of_a_causal_model(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, "gpt2", per_device_eval_batch_size=7)
    model: Any = trainer.model
    found = trainer.evaluate()
    batch = NumberCollator(model.processor.tokenizer)(rows_of(model)[:7])
    del batch["sample_id"]
    with torch.no_grad():
        loss = model.eval()(**batch, return_loss=True).loss
    assert found["eval_loss"] == pytest.approx(float(loss), rel=1e-6)
    distributions, table = model.numbers_of(batch)
    gold, (low, high) = table.values(), distributions.interval(0.9)
    assert found["eval_numbers"] == len(gold) > 7
    assert found["eval_log_mae"] == pytest.approx(float(metrics.log_mae(distributions.median(), gold)))
    assert found["eval_mdape"] == pytest.approx(float(metrics.mdape(distributions.median(), gold)))
    inside = [bool(a <= x <= b) for a, x, b in zip(low, gold, high, strict=True)]
    assert found["eval_coverage_90"] == pytest.approx(sum(inside) / len(inside))


def test_evaluation_of_a_masked_model(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, per_device_eval_batch_size=5)
    rows = rows_of(trainer.model, TEXTS[:12])
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = trainer.evaluate(rows), trainer.evaluate(rows)
    keys = ("eval_loss", "eval_numbers", "eval_log_mae", "eval_mdape", "eval_coverage_90")
    assert [one[key] for key in keys] == [two[key] for key in keys], "the same masks each time"
    assert torch.equal(torch.get_rng_state(), before), "evaluation does not change the random state"
    assert one["eval_numbers"] == sum(len(row["number_bits"]) for row in rows), "each number is asked for alone"
    asked = evaluation.asked_alone(trainer.model, NumberCollator(trainer.model.processor.tokenizer)(rows))
    assert one["eval_log_mae"] == pytest.approx(evaluation.measure(asked)["log_mae"], rel=1e-4)
    trainer.eval_seed = 1
    other = trainer.evaluate(rows)
    assert other["eval_loss"] != one["eval_loss"] and other["eval_log_mae"] == one["eval_log_mae"]
    trainer.number_metrics = False
    assert "eval_numbers" not in trainer.evaluate(rows)


def test_only_labelled_numbers_are_measured(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, "gpt2")
    rows = rows_of(trainer.model, ["It rose 3 to 45.7 in winter.", "A cat weighs 4.5 kg or 12 tons."])
    for row in rows:
        slots = list(row["number_slots"])
        last = slots.index(2)  # the answer begins with the second number
        row["labels"] = [-100] * last + list(row["input_ids"])[last:]
    found = trainer.evaluate(rows)
    assert found["eval_numbers"] == 2 and found["eval_loss"] > 0


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a CPU that has no fast bfloat16
def test_numbers_survive_mixed_precision(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, "gpt2", bf16=True, max_steps=1)
    model: Any = trainer.model
    seen: list[Any] = []

    class Asks(TrainerCallback):
        """Predicts a number during the training."""

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            wrapped = model.__dict__["forward"]
            seen.append(model.predict("It weighs [NUM] tons.").median())
            assert model.__dict__["forward"] is wrapped and model.training, "training is not changed"

    trainer.add_callback(Asks())
    trainer.train()
    assert trainer.evaluate()["eval_numbers"] > 7
    assert torch.equal(seen[0], model.predict("It weighs [NUM] tons.").median())


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a CPU that has no fast bfloat16
def test_a_second_training_of_a_model_has_mixed_precision_too(tmp_path: Path) -> None:
    trainer, seen = trainer_of(tmp_path, "gpt2", bf16=True, max_steps=1), []
    model: Any = trainer.model
    model.backbone.register_forward_pre_hook(lambda *_: seen.append(torch.is_autocast_enabled("cpu")))
    trainer.train()
    another = NumberTrainer(model, trainer.args, train_dataset=trainer.train_dataset)
    another.train()
    assert seen == [True, True], "accelerate leaves a model alone that it has prepared before"


def test_predictions_are_of_the_unmasked_texts(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, per_device_eval_batch_size=7)
    model: Any = trainer.model
    batch = NumberCollator(model.processor.tokenizer)(rows_of(model)[:7])
    del batch["sample_id"]
    found = trainer.predict(rows_of(model)[:7])
    with torch.no_grad():
        logits = model.eval()(**batch).logits
    given = found.predictions[0] if isinstance(found.predictions, tuple) else found.predictions
    assert torch.allclose(torch.as_tensor(given), logits, atol=1e-6) and found.metrics["test_loss"] > 0


def test_models_without_numbers(tmp_path: Path) -> None:
    from tiny_models import PLAIN, bare_batch, new_backbone

    batch = bare_batch("bert", PLAIN)
    rows = [{key: value[row] for key, value in batch.items()} | {"labels": batch["input_ids"][row]} for row in range(3)]
    trainer = NumberTrainer(
        new_backbone("bert"), arguments(tmp_path, max_steps=2), train_dataset=rows, eval_dataset=rows
    )
    trainer.train()
    assert trainer.evaluate()["eval_loss"] > 0 and len(losses_of(trainer)) == 2


def test_the_log_has_the_throughput(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, max_steps=4, logging_steps=2, eval_strategy="steps", eval_steps=1)
    trainer.train()
    entries = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert len(entries) == 2
    # Words and numbers have a loss each, and `loss` is their sum; the loss of a density may be negative.
    assert all(entry["number_loss"] < entry["loss"] for entry in entries)
    for entry in entries:  # texts of about 25 tokens
        assert 5 * entry["texts_per_second"] < entry["tokens_per_second"] < 100 * entry["texts_per_second"]
    assert all("skipped_steps" not in entry for entry in trainer.state.log_history)


# Reproducibility and resuming.

# An epoch has 4 steps, so that runs are interrupted within an epoch and between two.
OPTIONS = {
    "save_strategy": "steps", "save_steps": 2, "max_steps": 7, "gradient_accumulation_steps": 2,
    "per_device_train_batch_size": 3, "eval_strategy": "steps", "eval_steps": 3, "save_total_limit": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> NumberTrainer:
    """A run that was never interrupted."""
    trainer = trainer_of(tmp_path_factory.mktemp("whole"), **OPTIONS)
    trainer.train()
    return trainer


def test_the_same_seed_gives_the_same_steps(tmp_path: Path) -> None:
    runs = [trainer_of(tmp_path / name, max_steps=12, per_device_train_batch_size=2) for name in "ab"]
    for trainer in runs:
        trainer.train()
    assert losses_of(runs[0]) == losses_of(runs[1]) and len(losses_of(runs[0])) == 12
    assert are_equal(state_of(runs[0]), state_of(runs[1]))
    other = trainer_of(tmp_path / "c", max_steps=2, per_device_train_batch_size=2, seed=43)
    other.train()
    assert losses_of(other) != losses_of(runs[0])[:2]


def assert_same_end(one: NumberTrainer, two: NumberTrainer) -> None:
    assert losses_of(one) == losses_of(two) and len(losses_of(one)) == one.args.max_steps, "the log is continued, too"
    evaluated = [[row["eval_loss"] for row in run.state.log_history if "eval_loss" in row] for run in (one, two)]
    assert evaluated[0] == evaluated[1]
    assert are_equal(state_of(one), state_of(two))


def interrupt(folder: Path, step: int, whole: NumberTrainer) -> None:
    """A run that is interrupted after a step and resumed ends as one without interruption."""
    options = OPTIONS | {"max_steps": whole.args.max_steps}
    with pytest.raises(KeyboardInterrupt):
        trainer_of(folder, more={"callbacks": [Interrupt(step)]}, **options).train()
    again = trainer_of(folder, **options)
    torch.manual_seed(99)  # earlier draws do not matter
    again.train(resume_from_checkpoint=True)
    assert_same_end(again, whole)
    assert newest_whole(folder) == folder / f"checkpoint-{whole.args.max_steps}"
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("step", [3, 5])
def test_a_resumed_run_ends_the_same(tmp_path: Path, step: int, whole: NumberTrainer) -> None:
    interrupt(tmp_path, step, whole)


def test_a_finished_run_is_resumed_without_a_step(tmp_path: Path) -> None:
    """The stock Trainer takes one more, at each start of a job that is started again and again."""
    options = OPTIONS | {"max_steps": 3, "lr_scheduler_type": "constant"}
    whole = trainer_of(tmp_path, **options)
    whole.train()
    again = trainer_of(tmp_path, **options)
    again.train(resume_from_checkpoint=True)
    assert again.state.global_step == 3 and newest_whole(tmp_path) == tmp_path / "checkpoint-3"
    ends = (trainer.model.state_dict() for trainer in (whole, again))  # type: ignore[union-attr]
    pairs = zip(*(end.values() for end in ends), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs if isinstance(one, torch.Tensor))


def test_a_teacher_is_kept_in_checkpoints(tmp_path: Path) -> None:
    def trainer(folder: Path, *callbacks: Any) -> NumberTrainer:
        torch.manual_seed(0)
        objective = {"kind": "distillation", "warmup": 3, "decay": 0.9, "number_warmup": 4}
        model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna", objective=objective)
        rows = rows_of(model)
        options = OPTIONS | {"max_steps": 5, "eval_strategy": "no"}
        options |= {"gradient_accumulation_steps": 1, "per_device_train_batch_size": 6}
        return NumberTrainer(model, arguments(folder, **options), train_dataset=rows, callbacks=list(callbacks))

    whole = trainer(tmp_path / "whole")
    whole.train()
    assert whole.model.objective.steps == 5 and whole.model.objective.epoch == 1
    with pytest.raises(KeyboardInterrupt):
        trainer(tmp_path / "cut", Interrupt(3)).train()
    again = trainer(tmp_path / "cut")
    again.train(resume_from_checkpoint=True)
    assert losses_of(again) == losses_of(whole)
    assert are_equal(state_of(again), state_of(whole))
    assert are_equal(again.model.objective.state(), whole.model.objective.state())


@pytest.mark.slow
def test_runs_resumed_at_ten_random_steps_end_the_same(tmp_path: Path) -> None:
    whole = trainer_of(tmp_path / "whole", **(OPTIONS | {"max_steps": 40}))
    whole.train()
    for step in random.Random(0).sample(range(3, 40), 10):
        interrupt(tmp_path / str(step), step, whole)


def test_a_damaged_checkpoint_is_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, whole: NumberTrainer
) -> None:
    out = tmp_path
    with pytest.raises(KeyboardInterrupt):
        trainer_of(out, more={"callbacks": [Interrupt(5)]}, **OPTIONS).train()
    file = out / "checkpoint-4" / "optimizer.pt"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(
        CheckpointError, match=r"checkpoint-4': optimizer.pt was changed; the newest complete one is .*checkpoint-2"
    ):
        trainer_of(out, **OPTIONS).train(resume_from_checkpoint=str(out / "checkpoint-4"))
    again = trainer_of(out, **OPTIONS)
    with caplog.at_level(logging.WARNING):
        again.train(resume_from_checkpoint=True)
    assert "checkpoint-4 is skipped: optimizer.pt was changed" in caplog.text
    assert_same_end(again, whole)


def test_resuming_without_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no complete checkpoint in"):
        trainer_of(tmp_path).train(resume_from_checkpoint=True)


def test_the_best_checkpoint_has_its_final_path(tmp_path: Path) -> None:
    options = {"eval_steps": 2, "save_steps": 2, "max_steps": 6, "save_total_limit": 1}
    trainer = trainer_of(tmp_path, **(OPTIONS | options), load_best_model_at_end=True)
    trainer.train()
    best = trainer.state.best_model_checkpoint
    assert best == str(tmp_path / f"checkpoint-{trainer.state.best_global_step}")
    assert [str(path) for path in tmp_path.iterdir()] == [best]
    state = load_file(f"{best}/model.safetensors")
    assert all(torch.equal(value, state[key]) for key, value in trainer.model.state_dict().items() if key in state)
    assert best in (tmp_path / best / "trainer_state.json").read_text()


def ready_to_save(folder: Path) -> NumberTrainer:
    trainer = trainer_of(
        folder, **(OPTIONS | {"max_steps": 3, "save_steps": 3, "save_total_limit": 3, "logging_steps": 50})
    )
    trainer.train()
    return trainer


def test_a_full_disk_keeps_the_last_checkpoint(tmp_path: Path) -> None:
    trainer = ready_to_save(tmp_path)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # more fails, as on a full disk
        trainer.state.global_step = 4
        with pytest.raises(
            CheckpointError, match=r"checkpoint-4 could not be written: .*; the newest complete one is .*checkpoint-3"
        ):
            trainer._save_checkpoint(trainer.model, None)

    assert os.waitpid(in_a_child(work), 0)[1] == 0
    assert newest_whole(tmp_path) == tmp_path / "checkpoint-3"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-3"]


def kills(folder: Path, changes: Iterable[int], sizes: Iterable[int]) -> None:
    """Kills a saving trainer at given moments; the newest checkpoint must be complete and loadable each time."""
    trainer = ready_to_save(folder)

    def work() -> None:
        trainer.state.global_step = int(str(newest_whole(folder)).rpartition("-")[2])
        while True:
            trainer.state.global_step += 1
            trainer._save_checkpoint(trainer.model, None)

    for moment in (*({"size": size} for size in sizes), *({"change": change} for change in changes)):
        kill_in_a_child(work, **moment)
        newest = max(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        assert newest_whole(folder) == newest, moment
        assert load_file(newest / "model.safetensors").keys() <= trainer.model.state_dict().keys()
        torch.load(newest / "optimizer.pt", weights_only=True)
        assert "size" not in moment or newest.name == "checkpoint-3", "no checkpoint has only small files"
    assert newest.name != "checkpoint-3", "some were written"


def test_killed_while_saving(tmp_path: Path) -> None:
    kills(tmp_path, changes=(3, 20, 80), sizes=(200_000,))  # the last one saves a checkpoint first


@pytest.mark.slow
def test_killed_at_a_hundred_moments_while_saving(tmp_path: Path) -> None:
    kills(tmp_path, changes=range(1, 101), sizes=range(1_000, 300_000, 30_000))


@pytest.mark.slow
def test_memory_does_not_grow(tmp_path: Path) -> None:
    """Over 2,000 steps with logs, evaluations and checkpoints, once all is warm."""
    from transformers import TrainerCallback

    sizes: dict[int, int] = {}

    class Sizes(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step in (200, 2000):
                sizes[state.global_step] = int(Path("/proc/self/statm").read_text().split()[1])

    options = {"max_steps": 2000, "save_steps": 500, "eval_steps": 500, "logging_steps": 50}
    trainer_of(
        tmp_path, more={"callbacks": [Sizes()]}, **(OPTIONS | options | {"gradient_accumulation_steps": 1})
    ).train()
    assert sizes[2000] < 1.05 * sizes[200], sizes
