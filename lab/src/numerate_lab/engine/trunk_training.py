"""Trials that train a fresh trunk: its sizes, budgets of samples, tokens or seconds, the training, and its timing."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import math
import statistics
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch

from numerate.backbones import register_backbones
from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate.training.results import Result
from numerate_lab.engine.task import Task, TrialConfig

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor
    from torch.utils.data import Dataset
    from transformers import PreTrainedModel

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.static_shapes import Counts
    from numerate_lab.engine.encodings import Encoding
    from numerate_lab.engine.task import Figures, Log

__all__ = ["TrunkTask", "TrunkTrial", "attach_scaled", "compile_blocks", "fresh_trunk", "steps_for", "take_steps"]

_TIMINGS, _TIMED_STEPS = 8, 5
"""Steps are timed this many times, this many steps each."""
_SAME_SPEED = ("amount", "rate", "seed", "looks", "dev", "test", "kind", "version", "task_version")
"""Settings that do not change how long a step takes."""


@dataclass(frozen=True, kw_only=True)
class TrunkTrial(TrialConfig):
    """How one trial trains a fresh trunk and is measured; what it learns is a subclass's.

    Attributes:
        encoding: How numbers are written: see `numerate_lab.engine.encodings`.
        examples: Different training examples; they are repeated as long as the budget lasts.
        budget: What is equal between trials: `samples` trained on, `tokens` read, or `seconds` trained.
        amount: How much of it.
        batch: Examples in a step.
        rate: Highest learning rate; it rises over `warmup` of the steps, and falls to 0 along a cosine.
        warmup: Share of the steps.
        weight_decay: AdamW's.
        width: Size of the trunk's states.
        layers: The trunk's blocks.
        heads: Attention heads of a block.
        dropout: The trunk's.
        embedding_scale: Initial size of number vectors, as a multiple of the word vectors' size; see
            `LevelledEmbedder`. Fresh embedders differ a hundredfold in size, which would decide the comparison. New
            tokens start as large as words. 0 leaves both as they are, which suits pretrained models.
        dev: Examples that learning rates are chosen by.
        test: Examples of each test set.
        looks: How often the model is measured on dev during training; 0 for never.
        seed: Seed of weights and order; the examples are the same for all seeds.
        precision: Precision of matrix products on an accelerator: `tf32`, `bf16` or `fp32`.
        compiled: Whether the trunk's blocks are compiled on an accelerator, which halves the time of a step. Compiling
            takes some seconds in each process, so it pays where all batches have one shape.
    """

    renamed: ClassVar[dict[str, str]] = {"loudness": "embedding_scale"}

    encoding: str = "xval"
    examples: int = 200_000
    budget: Literal["samples", "tokens", "seconds"] = "samples"
    amount: float = 2_000_000
    batch: int = 1024
    warmup: float = 0.05
    weight_decay: float = 0.01
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.0
    embedding_scale: float = 2.0
    dev: int = 1000
    test: int = 4000
    looks: int = 5
    precision: Literal["tf32", "bf16", "fp32"] = "tf32"
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("examples", "batch", "dev", "test", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.embedding_scale >= 0:
            raise ConfigError(f"embedding_scale must not be negative, got {self.embedding_scale}")
        if not self.amount > 0 or not self.rate > 0:
            raise ConfigError(f"amount and rate must be positive, got {self.amount=}, {self.rate=}")

    @property
    def name(self) -> str:
        """The trial's file name, without suffix."""
        short = "" if self.budget == "samples" else f"-{self.budget}"
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-{self.amount:g}{short}"

    @property
    def speed_name(self) -> str:
        """The name of the file that says how long a step takes."""
        return f"speed-{self.encoding}"

    def tried(self, rate: float, share: float) -> Self:
        """A training on a share of the budget, without looks at dev."""
        if share == 1:
            return self.final(rate, 0)
        return dataclasses.replace(self, rate=rate, seed=0, amount=self.amount * share, looks=0)


class TrunkTask(Task):
    """A task that trains a fresh trunk within a budget; a subclass says how batches are made."""

    Trial: ClassVar[type[TrialConfig]] = TrunkTrial
    keeps_best: ClassVar[bool] = False
    """Whether the weights of the best look at dev are kept, instead of the last ones."""

    def batches(self, model: NumberModel) -> tuple[Any, float]:
        """The training batches, on the model's device, and the mean tokens of an example."""
        raise NotImplementedError

    def predicted_counts(self, model: NumberModel) -> Counts | None:
        """What each batch predicts, for steps that are recorded and replayed; None for steps that are not."""
        del model

    def looked(self, figures: Figures) -> Figures:
        """The figures on dev that are kept of a look during training."""
        return figures["dev"]

    @functools.cached_property
    def device(self) -> torch.device:
        """An accelerator, if there is one."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains for the trial's budget: steps, seconds, losses, looks at dev, tokens of an example, encoding speed."""
        start = time.perf_counter()
        batches, tokens = self.batches(model)
        _wait_for(model.device)
        encoding = time.perf_counter() - start
        counts = self.predicted_counts(model)
        found: Figures = {}
        seconds = None
        if self.config.budget == "seconds":
            timed = Result.read(self._speed_file).figures["seconds_a_step"] if self._speed_file.is_file() else None
            found["seconds_a_step"] = seconds = timed or self._seconds_a_step(model, batches, counts)
        best: tuple[float, int, dict[str, Tensor]] = (math.inf, 0, {})  # error, look and weights
        numbers = itertools.count()

        def look() -> Figures:
            nonlocal best
            figures, number = self.score("dev", self.ask(model, "dev")), next(numbers)
            if self.keeps_best and (error := self.error(figures)) < best[0]:
                best = error, number, {name: value.detach().clone() for name, value in model.state_dict().items()}
            values = self.looked(figures)
            if log is not None:
                shown = (f"{name} {value:.6g}" for name, value in values.items() if value is not None)
                log(f"{self.config.name}, during training: {', '.join(shown)}")
            return values

        steps = steps_for(self.config, tokens, seconds)
        trained = take_steps(model, self.config, batches, steps, look if self.config.looks else None, counts)
        if self.keeps_best:
            found["kept"] = trained["steps"]
            least, number, weights = best
            if weights and not self.error(self.score("dev", self.ask(model, "dev"))) <= least:
                model.load_state_dict(weights)
                found["kept"] = trained["looks"][number]["step"]
        speed = round(self.config.examples / encoding) if encoding else 0
        return trained | found | {"tokens_a_text": round(tokens, 2), "encoded_a_second": speed}

    @property
    def needs_timing(self) -> bool:
        """Whether the budget is one of seconds and steps have not been timed yet."""
        timed_budget = self.config.budget == "seconds"
        return timed_budget and not Result.exists_with(self._speed_file, self.config.settings(), _SAME_SPEED)

    def time_steps(self) -> None:
        """Times a step while nothing else runs: trials are trained side by side, and would time each other."""
        model = self.build()
        batches, tokens = self.batches(model)
        seconds = self._seconds_a_step(model, batches, self.predicted_counts(model))
        figures = {"seconds_a_step": seconds, "tokens_a_text": round(tokens, 2)}
        Result(self.config.settings(), figures).write(self._speed_file)
        torch.compiler.reset()  # what was compiled for one encoding's lengths does not fit another's

    @property
    def _speed_file(self) -> Path:
        return self.workspace.results / f"{self.config.speed_name}.json"

    def _seconds_a_step(self, model: NumberModel, batches: Any, counts: Counts | None) -> float:
        """Trains a copy of the model: the median of several timings, without the first two, which compile blocks."""
        marks: list[float] = []

        def mark() -> Figures:
            marks.append(time.perf_counter())
            return {}

        timed = dataclasses.replace(self.config, looks=_TIMINGS)
        steps = _TIMINGS * _TIMED_STEPS
        take_steps(copy.deepcopy(model), timed, batches, steps, mark, counts, logged=False)
        return statistics.median(later - earlier for earlier, later in itertools.pairwise(marks[1:])) / _TIMED_STEPS


def fresh_trunk(config: TrunkTrial, tokenizer: Any, positions: int, *, causal: bool = False) -> PreTrainedModel:
    """XVal's trunk in the trial's sizes, for texts of up to `positions` tokens, its weights drawn from the seed."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    register_backbones()
    torch.manual_seed(config.seed)
    sizes = AutoConfig.for_model(
        "numerate-trunk", vocab_size=len(tokenizer), hidden_size=config.width, num_hidden_layers=config.layers,
        num_attention_heads=config.heads, dropout=config.dropout, causal=causal, final_norm=True,
        max_position_embeddings=positions, pad_token_id=tokenizer.pad_token_id, token_head="linear",  # noqa: S106
    )  # fmt: skip
    return (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_config(sizes)


def attach_scaled(
    config: TrunkTrial, encoding: Encoding, backbone: PreTrainedModel, tokenizer: Any, **options: Any
) -> NumberModel:
    """Attaches an encoding to a fresh trunk, with number vectors and new tokens of the trial's `embedding_scale`.

    More `options` are those of `attach`.
    """
    words: Any = backbone.get_input_embeddings().weight
    size = float(words.detach().square().mean().sqrt())
    encoding = encoding.levelled(config.embedding_scale * size) if config.embedding_scale else encoding
    model = attach(backbone, tokenizer, **encoding.options, **options)
    if not encoding.has_head:  # xVal's appendix B.3 masks the sub-words of `keep` one by one, as those of `p10`
        model.vocabulary = dataclasses.replace(model.vocabulary, spells_numbers=True)
    if config.embedding_scale:
        torch.nn.init.normal_(model.own_rows, std=size)
    return model


def steps_for(config: TrunkTrial, tokens_a_text: float, seconds_a_step: float | None) -> int:
    """How many steps a trial's budget lasts; a budget of seconds needs the seconds of a step."""
    each = {"samples": config.batch, "tokens": tokens_a_text * config.batch, "seconds": seconds_a_step}[config.budget]
    if each is None:
        raise ValueError(f"a budget of {config.amount:g} seconds needs the seconds of a step, got None")
    return max(1, round(config.amount / each))


def take_steps(
    model: NumberModel, config: TrunkTrial, batches: Dataset[dict[str, Tensor]], steps: int,
    look: Any = None, counts: Counts | None = None, logged: bool = True,
) -> Figures:  # fmt: skip
    """Trains with `NumberTrainer` on batches that are ready on the device: steps, seconds, losses, looks.

    Seconds are those of training alone, without looks. `look` is called `config.looks` times, and its results are kept.
    `counts` says how much each batch predicts, for steps that are recorded and replayed; see `CudaGraphTrainer`. With
    `logged`, the losses of twenty steps are kept.
    """
    import transformers

    from numerate.training import CudaGraphTrainer, NumberTrainer
    from numerate.training.device_batches import the_batch

    device, on_cpu = model.device, model.device.type == "cpu"
    looks: list[Figures] = []
    looking: list[float] = []

    class Looks(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            every = max(1, steps // max(1, config.looks))
            if look is not None and state.global_step % every == 0:
                _wait_for(device)
                began = time.perf_counter()
                looks.append({"step": state.global_step} | look())
                looking.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=1, learning_rate=config.rate,
            warmup_steps=min(0.99, config.warmup), weight_decay=config.weight_decay, lr_scheduler_type="cosine",
            logging_steps=max(1, steps // 20), logging_strategy="steps" if logged else "no", save_strategy="no",
            report_to=[], disable_tqdm=True, seed=config.seed,
            remove_unused_columns=False, dataloader_pin_memory=False, use_cpu=on_cpu,
            bf16=config.precision == "bf16" and not on_cpu,
        )  # fmt: skip
        if config.compiled and not on_cpu:
            compile_blocks(model)
        if config.precision == "tf32":
            torch.set_float32_matmul_precision("high")
        kind = NumberTrainer if counts is None else functools.partial(CudaGraphTrainer, counts=counts)
        trainer = kind(
            model, arguments, data_collator=the_batch, train_dataset=batches, callbacks=[Looks()],
            number_metrics=False, number_learning_rate="same",
        )  # fmt: skip
        trainer.remove_callback(transformers.PrinterCallback)
        start = time.perf_counter()
        trainer.train()
        _wait_for(device)
        seconds = time.perf_counter() - start - sum(looking)
    losses = [{"step": e["step"], "loss": e["loss"]} for e in trainer.state.log_history if "loss" in e]
    return {"steps": steps, "seconds": round(seconds, 2), "losses": losses, "looks": looks}


def _wait_for(device: torch.device) -> None:
    """Waits until an accelerator has finished."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def compile_blocks(model: NumberModel, backend: Any = "inductor") -> None:
    """Compiles the blocks of a model's trunk in place: once for all blocks, and for all models of a process.

    The whole model would take a minute instead of seconds, and again in every epoch, since it draws masks.
    """
    blocks: Any = model.backbone.base_model.blocks
    for block in blocks:
        block.compile(backend=backend)
