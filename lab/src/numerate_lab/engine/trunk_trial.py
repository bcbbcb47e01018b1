"""What all cells have in common that train a fresh trunk: its sizes, a budget, a rate, a seed; and the training."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import statistics
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

from numerate.backbones import register_backbones
from numerate.config import Config, ConfigError
from numerate.modeling.attaching import attach

if TYPE_CHECKING:
    from torch import Tensor
    from torch.utils.data import Dataset
    from transformers import PreTrainedModel

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.static_shapes import Counts
    from numerate_lab.engine.encodings import Encoding

__all__ = ["TrunkCell", "attach_loud", "compile_blocks", "fresh_trunk", "steps_for", "take_steps", "time_steps"]

_STRETCHES, _STRETCH = 8, 5
"""Steps are timed in so many stretches of so many."""


@dataclass(frozen=True, kw_only=True)
class TrunkCell(Config):
    """How one cell is trained and measured; what it learns is a subclass's.

    Attributes:
        encoding: How numbers are written, see `numerate_lab.engine.encodings`.
        examples: Different training examples; they are gone through as often as the budget lasts.
        budget: What is equal between cells: `samples` trained on, `tokens` read, or `seconds` trained.
        amount: How much of it.
        batch: Examples a step.
        rate: Highest learning rate; it rises over `warmup` of the steps, and falls to 0 along a cosine.
        warmup: Share of the steps.
        weight_decay: Of AdamW.
        width: Of the trunk's states,
        layers: its blocks,
        heads: and their heads.
        dropout: Of the trunk.
        loudness: How large number vectors are at first, in the size of the words': see `RescaledEmbedder`. Fresh
            embedders differ a hundredfold in it, which would decide what is compared. Tokens of our own start as large
            as words. 0 leaves both as they come, which is made for pretrained models.
        dev: Examples that learning rates are chosen by.
        test: Examples of each test set.
        looks: How often dev examples are looked at on the way; 0 for never.
        seed: Of weights and order; the examples are the same for all.
        precision: Of matrix products on an accelerator: `tf32`, `bf16` or `fp32`.
        compiled: Whether the trunk's blocks are compiled on an accelerator, which halves what a step costs it. That
            takes some seconds once a process, so it pays where all batches have one shape.
    """

    encoding: str = "xval"
    examples: int = 200_000
    budget: Literal["samples", "tokens", "seconds"] = "samples"
    amount: float = 2_000_000
    batch: int = 1024
    rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.0
    loudness: float = 2.0
    dev: int = 1000
    test: int = 4000
    looks: int = 5
    seed: int = 0
    precision: Literal["tf32", "bf16", "fp32"] = "tf32"
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("examples", "batch", "dev", "test", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not self.loudness >= 0:
            raise ConfigError(f"loudness must not be negative, got {self.loudness}")
        if not self.amount > 0 or not self.rate > 0:
            raise ConfigError(f"amount and rate must be positive, got {self.amount=}, {self.rate=}")


def fresh_trunk(cell: TrunkCell, tokenizer: Any, positions: int, *, causal: bool = False) -> PreTrainedModel:
    """XVal's trunk in the cell's sizes, its weights drawn from the cell's seed.

    Args:
        cell: Says how large.
        tokenizer: Whose tokens it reads.
        positions: Tokens of a text at most.
        causal: Whether it looks back only.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

    register_backbones()
    torch.manual_seed(cell.seed)
    sizes = AutoConfig.for_model(
        "numerate-trunk", vocab_size=len(tokenizer), hidden_size=cell.width, num_hidden_layers=cell.layers,
        num_attention_heads=cell.heads, dropout=cell.dropout, causal=causal, final_norm=True,
        max_position_embeddings=positions, pad_token_id=tokenizer.pad_token_id, token_head="linear",  # noqa: S106
    )  # fmt: skip
    return (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_config(sizes)


def attach_loud(
    cell: TrunkCell, encoding: Encoding, backbone: PreTrainedModel, tokenizer: Any, **options: Any
) -> NumberModel:
    """Attaches an encoding to a fresh trunk, its numbers and tokens as large beside the words as the cell wants them.

    Args:
        cell: Says how loud.
        encoding: Says how numbers are written.
        backbone: The trunk.
        tokenizer: Its tokenizer.
        **options: Of `attach`, beside the encoding's.
    """
    words: Any = backbone.get_input_embeddings().weight
    size = float(words.detach().square().mean().sqrt())
    encoding = encoding.levelled(cell.loudness * size) if cell.loudness else encoding
    model = attach(backbone, tokenizer, **encoding.options, **options)
    if cell.loudness:
        torch.nn.init.normal_(model.own_rows, std=size)
    return model


def steps_for(cell: TrunkCell, tokens_a_text: float, seconds_a_step: float | None) -> int:
    """How many steps a cell's budget lasts.

    Args:
        cell: Whose.
        tokens_a_text: Of the training texts, on average.
        seconds_a_step: For a budget of time, what `time_steps` found.
    """
    each = {"samples": cell.batch, "tokens": tokens_a_text * cell.batch, "seconds": seconds_a_step}[cell.budget]
    if each is None:
        raise ValueError(f"a budget of {cell.amount:g} seconds needs to know how many a step takes")
    return max(1, round(cell.amount / each))


def take_steps(
    model: NumberModel,
    cell: TrunkCell,
    ready: Dataset[dict[str, Tensor]],
    steps: int,
    device: torch.device,
    look: Any = None,
    recorded: Counts | None = None,
    logged: bool = True,
) -> dict[str, Any]:
    """Trains with `NumberTrainer` for so many steps on batches that are cut already: steps, seconds, losses on the way.

    Seconds are those of training; looks take theirs besides.

    Args:
        model: To be trained.
        cell: Says how.
        ready: The batches, on the device that training takes.
        steps: How many.
        device: Which that is.
        look: Called a few times on the way; what it gives is kept.
        recorded: For steps that are recorded and replayed, how much each batch predicts; see `CudaGraphTrainer`.
        logged: Note losses on the way, at twenty places.
    """
    import transformers

    from numerate.training import CudaGraphTrainer, NumberTrainer
    from numerate.training.device_batches import the_batch

    looks: list[dict[str, Any]] = []
    looking: list[float] = []

    class Looks(transformers.TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            every = max(1, steps // max(1, cell.looks))
            if look is not None and state.global_step % every == 0:
                _wait_for(device)
                began = time.perf_counter()
                looks.append({"step": state.global_step} | look())
                looking.append(time.perf_counter() - began)

    on_cpu = device.type == "cpu"
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=1, learning_rate=cell.rate,
            warmup_steps=min(0.99, cell.warmup), weight_decay=cell.weight_decay, lr_scheduler_type="cosine",
            logging_steps=max(1, steps // 20), logging_strategy="steps" if logged else "no", save_strategy="no",
            report_to=[], disable_tqdm=True, seed=cell.seed,
            remove_unused_columns=False, dataloader_pin_memory=False, use_cpu=on_cpu,
            bf16=cell.precision == "bf16" and not on_cpu,
        )  # fmt: skip
        if cell.compiled and not on_cpu:
            compile_blocks(model)
        if cell.precision == "tf32":
            torch.set_float32_matmul_precision("high")
        kind = NumberTrainer if recorded is None else functools.partial(CudaGraphTrainer, counts=recorded)
        trainer = kind(
            model, arguments, data_collator=the_batch, train_dataset=ready, callbacks=[Looks()], number_metrics=False
        )
        trainer.remove_callback(transformers.PrinterCallback)
        start = time.perf_counter()
        trainer.train()
        _wait_for(device)
        seconds = time.perf_counter() - start - sum(looking)
    losses = [{"step": e["step"], "loss": e["loss"]} for e in trainer.state.log_history if "loss" in e]
    return {"steps": steps, "seconds": round(seconds, 2), "losses": losses, "looks": looks}


def _wait_for(device: torch.device) -> None:
    """Until an accelerator has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def compile_blocks(model: NumberModel, backend: Any = "inductor") -> None:
    """Compiles the blocks of a model's trunk in place: once for all blocks, and for all models of a process.

    Not the whole model, which takes a minute instead of seconds, and again for every epoch: masks are drawn by it.

    Args:
        model: Whose backbone is xVal's trunk.
        backend: As `torch.compile` takes it.
    """
    blocks: Any = model.backbone.base_model.blocks
    for block in blocks:
        block.compile(backend=backend)


def time_steps(
    model: NumberModel,
    cell: TrunkCell,
    ready: Dataset[dict[str, Tensor]],
    device: torch.device,
    recorded: Counts | None = None,
) -> float:
    """How many seconds a training step takes: a copy of the model is trained for some, so that nothing is learnt.

    The median of several stretches, without the first two, in which blocks are compiled.

    Args:
        model: Not yet trained.
        cell: Says how it will be.
        ready: See `take_steps`.
        device: See `take_steps`.
        recorded: See `take_steps`.
    """
    marks: list[float] = []

    def mark() -> dict[str, Any]:
        marks.append(time.perf_counter())
        return {}

    timed = dataclasses.replace(cell, looks=_STRETCHES)
    take_steps(copy.deepcopy(model), timed, ready, _STRETCHES * _STRETCH, device, mark, recorded, logged=False)
    return statistics.median(later - earlier for earlier, later in itertools.pairwise(marks[1:])) / _STRETCH
