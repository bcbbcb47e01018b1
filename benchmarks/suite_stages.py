"""The stages of `suite.py`: what is run at a size, and what it is compared with."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import check_speed
import reading
import step
import torch
from processing import TENSORS, bert_tokenizer
from texts import generated_texts
from training_contest import MODELS, TINY, NumberSide, Setting, StockSide, sentences
from transformers import DataCollatorForLanguageModeling, GPT2Config, GPT2LMHeadModel

import numerate
from numerate.apps.check import CheckOptions, check_file
from numerate.notation.plain_text import Keep
from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.training.shards import write_shards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Work = Callable[[int], Any]
    """Runs once; the argument is the index of the round, which chooses the texts."""

ROWS = 128
"""Rows of a collated batch."""
WORDS = (3, 9)
"""Words of a prompt; its continuation has 16 tokens."""


@dataclass(frozen=True)
class Stage:
    """One stage of the way from text to a trained model.

    Attributes:
        name: Its name.
        unit: What its sizes count.
        baseline: What it is compared with.
        bar: The least ratio of the baseline's time to ours; None where it is only shown.
        size, quick: The smallest size, of a real run and of a smoke test.
        make: Gives our work and the baseline's for a size, a number of rounds and a folder; rounds have other texts.
    """

    name: str
    unit: str
    baseline: str
    bar: float | None
    size: int
    quick: int
    make: Callable[[int, int, Path], tuple[Work, Work]]


def _shares(count: int, rounds: int) -> list[list[str]]:
    """Other texts for each round, so that caches help no more than they do in real use."""
    return [list(generated_texts(count, seed)) for seed in range(rounds)]


def reading_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """All numbers of texts, against a pinned pattern and `float`."""
    texts = _shares(count, rounds)
    return (
        lambda turn: numerate.find_columns(texts[turn]),
        lambda turn: [reading.pinned(text) for text in texts[turn]],
    )


def processing_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """Texts to tensors with a number table, against the bare tokenizer; batches of 32 texts."""
    texts = _shares(count, rounds)
    bare = bert_tokenizer(texts[0])
    ours = NumberProcessor(bare, "standard", Keep.build(slot=True))

    def work(run: Any) -> Work:
        return lambda turn: [run(texts[turn][at : at + 32], **TENSORS) for at in range(0, count, 32)]

    return work(ours), work(bare)


def collating_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """Encoded rows to padded batches, against the collator of masked language models."""
    texts = sentences(count)
    tokenizer = Setting(Path()).tokenizer(texts)
    encoded = tokenizer(texts, return_special_tokens_mask=True)
    rows = [dict(zip(encoded, row, strict=True)) for row in zip(*encoded.values(), strict=True)]
    processor = NumberProcessor(tokenizer, "standard", Keep.build(slot=True))
    shards = write_shards(folder / f"shards-{count}", texts, processor)
    ours, stock = NumberCollator(processor), DataCollatorForLanguageModeling(tokenizer)

    def batches() -> Iterator[range]:
        return (range(start, min(start + ROWS, count)) for start in range(0, count, ROWS))

    return (
        lambda turn: [ours(shards.__getitems__(places)) for places in batches()],
        lambda turn: [stock([rows[index] for index in places]) for places in batches()],
    )


def step_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """One training step of the default recipe with all logits, against the bare model."""
    bare, ours = step.contestants(
        argparse.Namespace(
            recipe="in-place", attach="{}", size="small", batch=count, length=64, numbers=4, brief=True, device="cpu",
            bf16=False, compile=False, in_a_row=1,
        )
    )  # fmt: skip
    return lambda turn: ours.step(), lambda turn: bare.step()


def train_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """A whole `numerate train` (encode, fit, one epoch, save), against tokenizer and stock Trainer."""
    texts = [sentences(count, seed=seed) for seed in range(rounds)]
    once = {"max_steps": -1, "num_train_epochs": 1.0, "dataloader_drop_last": False}
    sizes = TINY | {"vocab_size": 8192}

    def work(ours: bool) -> Work:
        def run(turn: int) -> None:
            with tempfile.TemporaryDirectory(dir=folder) as name:
                setting = Setting(Path(name), batch=32, sizes=sizes, training=once)
                side: Any
                if ours:
                    side = NumberSide("in-place", setting, texts[turn], MODELS["in-place"])
                    side.labelled = True
                else:
                    side = StockSide("stock", setting, texts[turn])
                trainer = side.trainer()
                trainer.train()
                if ours:
                    trainer.save_pretrained(Path(name) / "saved", backbone=True)
                else:
                    trainer.save_model(str(Path(name) / "saved"))

        return run

    return work(ours=True), work(ours=False)


def generation_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """16 tokens after each prompt, greedily, against `generate` of the bare model."""
    tokenizer = Setting(Path()).tokenizer(sentences(2000))
    tokenizer.padding_side = "left"
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=64, n_layer=2, n_head=2, pad_token_id=0, eos_token_id=None, bos_token_id=2
    )
    torch.manual_seed(0)
    backbone = GPT2LMHeadModel(config).eval()
    model = numerate.attach(backbone, tokenizer, "in-place").eval()
    prompts = [" ".join(text.split()[: WORDS[at % 2]]) for at, text in enumerate(sentences(count))]

    def bare(turn: int) -> Any:
        del turn
        fields = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
        return backbone.generate(**fields, max_new_tokens=16, min_new_tokens=16, do_sample=False)  # type: ignore[operator]

    return lambda turn: model.generate(prompts, 16), bare


def check_stage(count: int, rounds: int, folder: Path) -> tuple[Work, Work]:
    """`numerate check` of a text file, against reading its numbers."""
    path = folder / f"text-{count}.txt"
    check_speed.write_texts(path, count)
    texts = path.read_text("utf-8").split("\n\n")

    return lambda turn: check_file(str(path), CheckOptions()), lambda turn: numerate.find_columns(texts)


STAGES = (
    Stage("reading", "texts", "pattern and float", None, 500, 2, reading_stage),
    Stage("processing", "texts", "bare tokenizer", 0.7, 128, 2, processing_stage),
    Stage("collating", "texts", "stock collator", 1.0, 512, 4, collating_stage),
    Stage("step", "texts", "bare model", 0.85, 1, 1, step_stage),
    Stage("train", "texts", "stock Trainer", 1.0, 128, 4, train_stage),
    Stage("generation", "prompts", "bare generate", None, 2, 1, generation_stage),
    Stage("check", "paragraphs", "reading", None, 150, 2, check_stage),
)
