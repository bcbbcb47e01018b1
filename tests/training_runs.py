"""Tiny training runs: a model, its texts as a data set, and the Trainer's arguments."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

import torch
from tiny_models import NUMBERS, new_backbone, tokenizer_of
from transformers import TrainerCallback, TrainingArguments

import numerate
from numerate.training import NumberTrainer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXTS = [text for number in range(8) for text in (*NUMBERS[:2], f"It rose to {number}.5 in the winter of stone.")]


def model_of(name: str = "bert", recipe: str = "in-place") -> Any:
    """A fresh tiny model: the same weights each time."""
    torch.manual_seed(0)
    return numerate.attach(new_backbone(name), tokenizer_of(name), recipe)


def rows_of(model: Any, texts: list[str] = TEXTS) -> list[dict[str, Any]]:
    """Processed texts with a name each: 100, 101, ..."""
    batch = model.processor(texts)
    return [{key: batch[key][row] for key in batch} | {"sample_id": 100 + row} for row in range(len(texts))]


def arguments(folder: Path, **options: Any) -> TrainingArguments:
    """Arguments of a run on the CPU without reports and, by default, without checkpoints."""
    plain = {
        "max_steps": 6, "per_device_train_batch_size": 4, "use_cpu": True, "report_to": [], "save_strategy": "no",
        "logging_steps": 1, "disable_tqdm": True, "learning_rate": 1e-3, "dataloader_pin_memory": False,
    }  # fmt: skip
    return TrainingArguments(str(folder), **(plain | options))


def trainer_of(folder: Path, name: str = "bert", more: dict[str, Any] | None = None, **options: Any) -> NumberTrainer:
    """A trainer of a fresh model; `more` goes to the trainer, `options` to its arguments."""
    model = model_of(name)
    rows = rows_of(model)
    return NumberTrainer(model, arguments(folder, **options), train_dataset=rows, eval_dataset=rows[:7], **(more or {}))


def state_of(trainer: Any) -> dict[str, torch.Tensor]:
    """Weights and optimizer state, copied."""
    found = {f"weights.{key}": value for key, value in trainer.model.state_dict().items()}
    for index, entry in trainer.optimizer.state_dict()["state"].items():
        found |= {f"optimizer.{index}.{key}": torch.as_tensor(value) for key, value in entry.items()}
    return {key: value.clone() for key, value in found.items()}


def are_equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(value, two[key]) for key, value in one.items())


def losses_of(trainer: Any) -> list[float]:
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


class Watch(TrainerCallback):
    """Weights and optimizer state before each step and at the end."""

    def __init__(self) -> None:
        self.trainer: Any = None
        self.states: list[dict[str, torch.Tensor]] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.states.append(state_of(self.trainer))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.states.append(state_of(self.trainer))


class Interrupt(TrainerCallback):
    """Ends a run after a step, as a power cut would, without saving."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def in_a_child(work: Callable[[], None]) -> int:
    """Forks a process that does the work and ends; returns its id."""
    process = os.fork()
    if process == 0:
        try:
            torch.set_num_threads(1)  # a child has no threads of its parent, and would wait for them
            torch.cuda.is_available = lambda: False  # a forked process cannot use CUDA, not even its random state
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return process


def kill_in_a_child(work: Callable[[], None], change: int | None = None, size: int | None = None) -> None:
    """Forks a process that does endless work, and is killed before a change of the file system or within a file.

    Both are counted, not timed, so that every machine kills at the same moment.

    Args:
        work: The work.
        change: The process is killed before this change: the n-th file or folder opened, made, renamed or deleted.
        size: The process is killed when it writes more than this number of bytes into one file.
    """
    changes = itertools.count(1)

    def watch(event: str, _: Any) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir") and next(changes) == change:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched() -> None:
        if size is not None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        sys.addaudithook(watch)
        work()

    status = os.waitpid(in_a_child(watched), 0)[1]
    assert os.WIFSIGNALED(status), "the work ended before it was killed"
    assert os.WTERMSIG(status) == (signal.SIGKILL if size is None else signal.SIGXFSZ)
