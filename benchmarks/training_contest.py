"""Whole trainings side by side: the stock Trainer with a bare model against the Trainer of `numerate train`.

Both sides train on the same sentences with the same `TrainingArguments`. Their texts are encoded before: the stock side
gets a list of tokenized rows and the usual collator of masked language models, ours the shards that `numerate prepare`
writes. A measurement runs a real `Trainer.train`, and counts from the end of the warm-up on.
"""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import random
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from processing import bert_tokenizer
from texts import WORDS
from training_watch import Watch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback

from numerate.training.build import build_trainer, prepare, training_arguments
from numerate.training.progress import Lines
from numerate.training.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ORDINARY, RICH = 0.06, 0.3
"""Share of numbers among the words of ordinary and of number-rich sentences."""
KEEP = {"notation": {"kind": "keep", "slot": True}, "placement": "add", "head": {"kind": "mixture"}}
"""Numbers stay the subwords that they are, so that both sides read the same tokens."""
MARKER = {"notation": {"kind": "marker"}, "placement": "replace", "head": {"kind": "mixture"}}
"""A number is one token."""
MODELS: dict[str, dict[str, Any]] = {
    "in-place": {"recipe": "in-place"},
    "float": {"embedder": {"kind": "float"}, **KEEP},
    "log-fourier": {"embedder": {"kind": "log-fourier"}, **KEEP},
    "bits": {"embedder": {"kind": "bits"}, **KEEP},
    "char-lstm 1M": {"embedder": {"kind": "char-lstm", "size": "1M"}, **KEEP},
    "one token": {"embedder": {"kind": "log-fourier"}, **MARKER},
}
MINILM: dict[str, Any] = {
    "num_hidden_layers": 6,
    "hidden_size": 384,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
COMPILED_LENGTH = 64
"""Compiled steps are padded to a multiple of this, on both sides: new lengths would compile again."""
TINY: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}


def sentences(count: int, numbers: float = ORDINARY, words: int = 27, seed: int = 0) -> list[str]:
    """Sentences of about `words` words, a share `numbers` of which are numbers of one to nine characters."""
    rng = random.Random(seed)
    forms: list[Callable[[], str]] = [
        lambda: str(rng.randrange(1, 100)),
        lambda: str(rng.randrange(1000, 10000)),
        lambda: f"{rng.randrange(1, 1000)},{rng.randrange(1000):03}",
        lambda: f"{rng.uniform(0, 1000):.{rng.randrange(1, 4)}f}",
        lambda: f"{rng.uniform(0, 100):.1f}%",
    ]
    result = []
    for _ in range(count):
        length = rng.randrange(words - words // 4, words + words // 4 + 1)
        places = range(length)
        result.append(" ".join(rng.choice(forms)() if rng.random() < numbers else rng.choice(WORDS) for _ in places))
    return result


@dataclass(frozen=True)
class Setting:
    """What both sides share: model, device, batch size, precision and the folder for files."""

    folder: Path
    model: str | None = None
    device: str = "cpu"
    batch: int = 256
    words: str | None = None
    """Folder of a tokenizer, for a model with random weights."""
    sizes: dict[str, Any] = field(default_factory=lambda: MINILM)
    max_tokens: int = 128
    training: dict[str, Any] = field(default_factory=dict)
    """Further options of `TrainingArguments`."""

    @property
    def bf16(self) -> bool:
        return self.device == "cuda"

    def tokenizer(self, texts: list[str]) -> Any:
        folder = self.model or self.words
        tokenizer = bert_tokenizer(texts[:2000]) if folder is None else AutoTokenizer.from_pretrained(folder)
        if tokenizer.mask_token is None:
            special: dict[str, Any] = {"mask_token": "[MASK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
            tokenizer.add_special_tokens(special)
        return tokenizer

    def backbone(self) -> Any:
        torch.manual_seed(0)
        if self.model is not None:
            return AutoModelForMaskedLM.from_pretrained(self.model, dtype=torch.float32)
        sizes: dict[str, Any] = {"vocab_size": 30522, **self.sizes}
        return BertForMaskedLM(BertConfig(**sizes))

    def arguments(self, compiled: bool = False, **more: Any) -> dict[str, Any]:
        """Options of `TrainingArguments`, the same for both sides."""
        return {
            "per_device_train_batch_size": self.batch, "max_steps": 10**6, "bf16": self.bf16, "logging_steps": 100,
            "save_strategy": "no", "torch_compile": compiled, "learning_rate": 1e-5, "seed": 0,
            "dataloader_drop_last": True, "use_cpu": self.device == "cpu", **self.training, **more,
        }  # fmt: skip


def compiled_graphs() -> int:
    """The graphs that were compiled since the counters were cleared."""
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


class Clock(TrainerCallback):
    """Stops a training after some seconds, and counts its steps from the end of the warm-up on.

    A step that compiled something ends the warm-up anew: compiling takes thousands of steps' time.
    """

    def __init__(self, seconds: float, warm: int, device: str, steps: int | None = None) -> None:
        self.seconds, self.warm, self.device, self.most = seconds, warm, device, steps
        self.graphs = 0
        self.steps, self.taken, self.peak, self.start, self.thread, self.process = 0, 0.0, 0, 0.0, 0.0, 0.0
        self.host: dict[str, list[float]] = {"data_ms": [], "step_ms": []}
        self.reserved = 0

    def _synchronise(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins or ends the count."""
        del args, kwargs
        graphs, self.graphs = self.graphs, compiled_graphs()
        if state.global_step == self.warm or (state.global_step > self.warm and self.graphs > graphs):
            self._synchronise()
            self.steps = 0
            if self.device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            for times in self.host.values():
                times.clear()
            self.start, self.thread, self.process = time.perf_counter(), time.thread_time(), time.process_time()
        elif state.global_step > self.warm:
            self.steps += 1
            enough = self.most is not None and self.steps >= self.most
            if enough or time.perf_counter() - self.start >= self.seconds:
                self._synchronise()
                self.taken = time.perf_counter() - self.start
                self.thread, self.process = time.thread_time() - self.thread, time.process_time() - self.process
                self.peak = torch.cuda.max_memory_allocated() if self.device == "cuda" else 0
                self.reserved = torch.cuda.max_memory_reserved() if self.device == "cuda" else 0
                control.should_training_stop = True

    def watched(self, trainer: Any) -> None:
        """Notes the host's time for getting batches and for forward and backward pass."""
        for place, name in (("data_ms", "get_batch_samples"), ("step_ms", "training_step")):
            setattr(trainer, name, self._timed(getattr(trainer, name), self.host[place]))

    @staticmethod
    def _timed(function: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            result = function(*args, **kwargs)
            times.append(1000 * (time.perf_counter() - begin))
            return result

        return timed


class Side:
    """One side of the contest: `measure` trains for some seconds."""

    def __init__(self, name: str, setting: Setting, model: Any) -> None:
        self.name, self.setting, self.model = name, setting, model
        self.compiled, self.workers = False, 0
        self.tokens = 0.0

    def options(self, **more: Any) -> dict[str, Any]:
        """Options of `TrainingArguments`."""
        workers = {"dataloader_num_workers": self.workers, "dataloader_persistent_workers": self.workers > 0}
        return self.setting.arguments(self.compiled, **workers, **more)

    def trainer(self) -> Any:
        """A new Trainer, as a user gets it."""
        raise NotImplementedError

    def release(self, trainer: Any) -> None:
        """Takes the wrappers of mixed precision off the model, and accelerate's mark, with which it would add none."""
        trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
        vars(self.model).pop("_is_accelerate_prepared", None)
        self.model.zero_grad(set_to_none=True)

    def measure(
        self, seconds: float, warm: int, steps: int | None = None, limit: float | None = None
    ) -> dict[str, float]:
        """Texts per second, milliseconds of a step (all, and of the host in its parts), peak of the GPU's memory.

        Raises:
            TooSlow: It took longer than `limit` seconds.
        """
        gc.collect()
        torch._dynamo.reset()  # no graph of an earlier measurement counts for this one
        torch._dynamo.utils.counters.clear()
        trainer = self.trainer()
        clock = Clock(seconds, warm, self.setting.device, steps)
        trainer.add_callback(clock)
        clock.watched(trainer)
        watch = Watch(self.name, math.inf if limit is None else limit, compiled_graphs, 10 if self.compiled else 60)
        trainer.add_callback(watch)
        try:
            with watch:
                trainer.train()
        except BaseException:
            self.release(trainer)
            raise
        is_compiled = compiled_graphs() > 0
        if is_compiled != self.compiled:
            raise RuntimeError(f"the Trainer's model is {'' if is_compiled else 'not '}compiled, against the setting")
        half = self.setting.arguments()["bf16"]
        if isinstance(self, StockSide) and hasattr(trainer.model, "_original_forward") != half:
            raise RuntimeError(f"the Trainer's model did not train with bf16={half}")
        self.release(trainer)
        del trainer
        if self.setting.device == "cuda":  # the next side has all memory to itself
            self.model.to("cpu")
            gc.collect()
            torch.cuda.empty_cache()
        steps = max(clock.steps, 1)
        found = {
            "texts_per_s": self.setting.batch * steps / clock.taken, "step_ms": 1000 * clock.taken / steps,
            "steps": clock.steps, "data_ms": statistics.median(clock.host["data_ms"]),
            "forward_backward_host_ms": statistics.median(clock.host["step_ms"]), "peak_mb": clock.peak / 2**20,
            "reserved_mb": clock.reserved / 2**20,
            "main_thread_cpu_ms": 1000 * clock.thread / steps, "process_cpu_ms": 1000 * clock.process / steps,
        }  # fmt: skip
        if self.compiled:
            found["graphs"] = compiled_graphs()
            found["graph_breaks"] = sum(torch._dynamo.utils.counters["graph_break"].values())
        return found


class StockSide(Side):
    """The stock Trainer, a bare model and the usual collator; all logits."""

    def __init__(self, name: str, setting: Setting, texts: list[str], mask: float = 0.15) -> None:
        super().__init__(name, setting, setting.backbone())
        self.tokenizer = setting.tokenizer(texts)
        encoded = self.tokenizer(texts, truncation=True, max_length=setting.max_tokens, return_special_tokens_mask=True)
        self.rows = [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]
        self.collator = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=mask)
        self.tokens = sum(len(row["input_ids"]) for row in self.rows) / len(self.rows)

    def trainer(self) -> Trainer:
        """A stock Trainer."""
        options = self.options(report_to="none", disable_tqdm=True)
        arguments = TrainingArguments(str(self.setting.folder / "stock"), **options)
        rows: Any = self.rows
        self.collator.pad_to_multiple_of = COMPILED_LENGTH if self.compiled else None
        trainer = Trainer(self.model, arguments, data_collator=self.collator, train_dataset=rows)
        trainer.remove_callback(PrinterCallback)
        return trainer


class NumberSide(Side):
    """The Trainer of `numerate train`, on encoded shards; `labelled` computes logits only where a token is masked."""

    def __init__(self, name: str, setting: Setting, texts: list[str], options: dict[str, Any]) -> None:
        folder = setting.folder / name.replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "texts.jsonl"
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        plan = {"checkpoint": setting.model or "bert", "task": "masked-lm", **options}
        self.run = Run.from_dict(
            {
                "model": plan, "data": {"train": str(file), "max_tokens": setting.max_tokens},
                "training": setting.arguments(),
            }
        )  # fmt: skip
        tokenizer = setting.tokenizer(texts)
        self.ready = prepare(self.run, folder / "prepared", backbone=setting.backbone(), tokenizer=tokenizer)
        super().__init__(name, setting, self.ready.model)
        self.labelled = self.graphs = self.whole = False
        self.recorded: Any = None
        self.in_loader: bool | None = None
        meta: Any = self.ready.data["train"].meta
        self.tokens, self.numbers = meta["tokens"] / meta["rows"], meta["numbers"] / meta["rows"]

    def trainer(self) -> Any:
        """The trainer that `numerate train` builds."""
        run = dataclasses.replace(
            self.run, training=self.options(labelled_logits=self.labelled, cuda_graphs=self.graphs)
        )
        arguments, own = training_arguments(run, self.setting.folder / "ours")
        trainer = build_trainer(self.ready, arguments, **own)
        trainer.remove_callback(Lines)
        trainer.compiles_whole = self.whole
        if self.in_loader is not None:
            trainer.masks_in_loader = self.in_loader
        if self.graphs and self.setting.device == "cuda":
            self._watch(trainer)
        if self.compiled:
            trainer.data_collator.multiple = COMPILED_LENGTH  # type: ignore[union-attr]
        return trainer

    def measure(
        self, seconds: float, warm: int, steps: int | None = None, limit: float | None = None
    ) -> dict[str, float]:
        """As of every side; with `graphs`, also the number of recorded graphs."""
        self.recorded = None
        found = super().measure(seconds, warm if self.compiled or not self.graphs else 2 * warm, steps, limit)
        if self.recorded is not None:
            if self.recorded.failed:
                raise RuntimeError("a step could not be recorded")
            found["recorded_graphs"] = self.recorded.count
        return found

    def _watch(self, trainer: Any) -> None:
        """Refuses a training with `cuda_graphs` whose steps were not recorded: its figures would be those of others."""
        made = trainer._new_graphs

        def watched() -> Any:
            self.recorded = made()
            if self.recorded is None:
                raise RuntimeError("the steps cannot be recorded")
            return self.recorded

        trainer._new_graphs = watched

    def losses(self, graphs: bool, steps: int) -> list[float]:
        """The losses of the first steps from the same weights, without dropout."""
        before = {name: value.clone() for name, value in self.model.state_dict().items() if torch.is_tensor(value)}
        dropped = {module: module.p for module in self.model.modules() if isinstance(module, torch.nn.Dropout)}
        for module in dropped:
            module.p = 0.0
        self.graphs, self.recorded = graphs, None
        run = self.trainer()
        run.args.max_steps, run.args.logging_steps = steps, 1
        run.train()
        if self.recorded is not None and (self.recorded.failed or not self.recorded.count):
            raise RuntimeError("no step was recorded")
        self.release(run)
        self.model.load_state_dict(before, strict=False)
        for module, share in dropped.items():
            module.p = share
        if self.setting.device == "cuda":  # it must not count for the memory of the next side
            self.model.to("cpu")
            gc.collect()
            torch.cuda.empty_cache()
        return [row["loss"] for row in run.state.log_history if "loss" in row]
