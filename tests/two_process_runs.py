"""Trainings for test_processes.py: as one of several processes, or as the only one, on the same global batches."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType
from tiny_models import NUMBERS, new_backbone, tokenizer_of
from training_runs import TEXTS, arguments, losses_of, rows_of, state_of
from transformers import TrainerCallback

import numerate
from numerate.training import NumberTrainer

# Byte-level models: a WordPiece vocabulary is learnt a little differently in each process.
DROPOUT = {
    "roberta": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "gpt2": ("resid_pdrop", "embd_pdrop", "attn_pdrop"),
}
TOGETHER = 8
"""Texts a micro-batch, on all processes together."""
EQUAL: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "masked": ("roberta", 4, 1, {}),
    "causal": ("gpt2", 2, 2, {}),
}
"""Name: model, steps, micro-batches a step, options of `attach`."""
NUMBER_TOKENS = {"kind": "masked", "joint": False, "number_tokens": {"loss": "number"}}
MORE: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "masked-accumulated": ("roberta", 10, 2, {}),
    "causal-one": ("gpt2", 10, 1, {}),
    "per-token": ("gpt2", 3, 2, {"objective": {"kind": "causal", "per_token": True}}),
    "number-tokens": ("roberta", 3, 2, {"objective": NUMBER_TOKENS}),
    "distillation": ("roberta", 3, 2, {"objective": {"kind": "distillation", "warmup": 2}}),
    "column": ("roberta", 3, 2, {"objective": {"kind": "column"}}),
}  # fmt: skip
UNEVEN = (("roberta", 5, False), ("gpt2", 3, True))
"""Model, texts, and whether they have labels. The last batch, of 2 each, has none for the second process, and 1."""
MORE_UNEVEN = (("roberta", 11, False), ("roberta", 1, False), ("gpt2", 9, False), ("gpt2", 11, True))
"""1, none, none and 1."""


def model_of(name: str, **options: Any) -> Any:
    """A tiny model without dropout; each time the same."""
    torch.manual_seed(0)
    backbone = new_backbone(name, **dict.fromkeys(DROPOUT[name], 0.0))
    model = numerate.attach(backbone, tokenizer_of(name), "in-place", **options)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):  # of ratio features
            module.p = 0.0
    return model


def mixed(count: int) -> list[str]:
    """Texts of such different lengths, with so different numbers of numbers, that no two batches have as many."""
    return [(*NUMBERS, *TEXTS)[(row * row) % 19] + " and 7" * (row % 5) for row in range(count)]


def trainer_of(folder: Path, model: Any, count: int = 48, more: dict[str, Any] | None = None, **options: Any) -> Any:
    """A trainer with `TOGETHER` texts per micro-batch over all processes, in their order.

    A single process takes all texts of a step in one batch, as the reference.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    # With its small default epsilon, Adam makes full steps from gradients that are only rounding errors.
    plain = {"train_sampling_strategy": "sequential", "adam_epsilon": 1e-4, "per_device_eval_batch_size": 2} | options
    if world > 1:
        plain |= {"ddp_backend": "gloo", "per_device_train_batch_size": TOGETHER // world}
    else:
        plain["per_device_train_batch_size"] = TOGETHER * plain.pop("gradient_accumulation_steps", 1)
    rows = rows_of(model, mixed(count))
    return NumberTrainer(model, arguments(folder, **plain), train_dataset=rows, eval_dataset=rows, **(more or {}))


def runs(folder: Path, cases: dict[str, tuple[str, int, int, dict[str, Any]]]) -> dict[str, Any]:
    """The losses of all steps, by case; the final weights go into files."""
    found = {}
    for label, (name, steps, accumulate, options) in cases.items():
        trainer = trainer_of(
            folder / label, model_of(name, **options), max_steps=steps, gradient_accumulation_steps=accumulate
        )
        trainer.train()
        found[label] = losses_of(trainer)
        if trainer.args.process_index == 0:
            safetensors.torch.save_file(trainer.model.state_dict(), folder / f"{label}.safetensors")
    return found


def uneven(folder: Path, cases: tuple[tuple[str, int, bool], ...]) -> dict[str, Any]:
    """Figures of evaluations of few texts, and how many steps two epochs have that end in a small batch."""
    found = {}
    for name, count, is_labelled in cases:
        trainer = trainer_of(folder / "uneven", model_of(name), count, max_steps=-1, num_train_epochs=2)
        if is_labelled:
            trainer.eval_dataset = [row | {"labels": row["input_ids"]} for row in trainer.eval_dataset]
        figures = trainer.evaluate()
        names = ("loss", "numbers", "log_mae", "mdape", "coverage_90")
        figures = {key: figures[f"eval_{key}"] for key in names if f"eval_{key}" in figures}
        if not is_labelled:
            trainer.train()
            figures["steps"] = trainer.state.global_step
        found[f"{name} {count}"] = figures
    return found


def equal(folder: Path) -> dict[str, Any]:
    """The job of the default suite."""
    return {"losses": runs(folder, EQUAL), "uneven": uneven(folder, UNEVEN)}


def more(folder: Path) -> dict[str, Any]:
    return {"losses": runs(folder, MORE), "uneven": uneven(folder, MORE_UNEVEN)}


class Kill(TrainerCallback):
    """Ends the second process after a step, as the system does when memory runs out."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == 5 and args.process_index == 1:
            os.kill(os.getpid(), signal.SIGKILL)


LONG = {"max_steps": 8, "save_strategy": "steps", "save_steps": 2, "train_sampling_strategy": "random"}


def killed(folder: Path) -> dict[str, Any]:
    trainer_of(folder / "killed", model_of("gpt2"), more={"callbacks": [Kill()]}, **LONG).train()
    return {}


def resumed(folder: Path) -> dict[str, Any]:
    whole = trainer_of(folder / "whole", model_of("gpt2"), **LONG)
    whole.train()
    again = trainer_of(folder / "killed", model_of("gpt2"), **LONG)
    again.train(resume_from_checkpoint=True)
    states = [_digest(state_of(trainer)) for trainer in (whole, again)]
    return {"states": states, "losses": [losses_of(whole), losses_of(again)], "first": again._first_step}


def _digest(state: dict[str, torch.Tensor]) -> str:
    return hashlib.sha256(b"".join(state[key].contiguous().numpy().tobytes() for key in sorted(state))).hexdigest()


def sharded(folder: Path) -> dict[str, Any]:
    """FSDP2: losses, those of a run resumed from its third step, and a model saved at the end."""
    _believe_in_shards()
    found: dict[str, Any] = {}
    for kind in ("FULL_STATE_DICT", "SHARDED_STATE_DICT"):
        shards = {"version": 2, "transformer_layer_cls_to_wrap": "RobertaLayer", "state_dict_type": kind}
        options = {"max_steps": 5, "save_strategy": "steps", "save_steps": 3, "fsdp": True, "fsdp_config": shards}
        first = trainer_of(folder / kind, model_of("roberta"), **options)
        first.train()
        figures = first.evaluate()
        first.save_pretrained(folder / f"final-{kind}", backbone=True)
        if first.args.process_index == 0:
            shutil.rmtree(folder / kind / "checkpoint-5")
        first.accelerator.wait_for_everyone()
        second = trainer_of(folder / kind, model_of("roberta"), **options)
        second.train(resume_from_checkpoint=True)
        pairs = zip(first.model.parameters(), second.model.parameters(), strict=True)
        found[kind] = {
            "losses": losses_of(first),
            "resumed": losses_of(second),
            "numbers": [figures["eval_numbers"], figures["eval_log_mae"]],
            "is_sharded": [type(weight).__name__ for weight in first.model.parameters()],
            "same": all(torch.equal(one.to_local(), two.to_local()) for one, two in pairs),  # type: ignore[attr-defined]
        }
    return found


def _believe_in_shards() -> None:
    """Makes accelerate shard on CPUs, where it silently uses DDP instead of FSDP."""
    plain = AcceleratorState.__init__

    def told(self: Any, *positional: Any, fsdp_plugin: Any = None, **options: Any) -> None:
        plain(self, *positional, fsdp_plugin=fsdp_plugin, **options)
        if fsdp_plugin is not None:
            self.fsdp_plugin = fsdp_plugin
        if self.__dict__.get("fsdp_plugin") is not None:
            self.distributed_type = DistributedType.FSDP

    AcceleratorState.__init__ = told


def main(work: str, folder: Path) -> None:
    """One process's part; its result goes into a file."""
    works = {"equal": equal, "more": more, "killed": killed, "resumed": resumed, "sharded": sharded}
    (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(works[work](folder)))
    leave_group()


def leave_group() -> None:
    """Ends the group of processes: its threads may abort a process whose interpreter ends before."""
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
