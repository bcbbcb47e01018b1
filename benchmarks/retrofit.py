"""Effect of number pre-training on words: the masked-word loss on sentences without numbers, before and after it.

    python benchmarks/retrofit.py --model ../shared/models/minilm-mlm --data ../shared/data/wiki/passages.jsonl.gz
    python benchmarks/retrofit.py ... --device cuda --steps 3000 --json results/retrofit.json

A masked language model gets LUNA's plugin and is trained on sentences of the training split, most of them with numbers:
without a teacher, with LUNA's teacher (moving average of the student), and with a frozen copy of the original model as
teacher for sentences without numbers. The loss is the mean over the same masked words of test sentences without
numbers; the bar is 1 % above the loss of the original model.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from typing import TYPE_CHECKING

import harness
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, TrainingArguments

import numerate
from numerate.processing.encoding import NumberCollator
from numerate.training import NumberTrainer

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

OBJECTIVES = {
    "no teacher": {"kind": "masked"},
    "moving average (LUNA)": {"kind": "distillation", "teacher": "average"},
    "frozen original (ours)": {"kind": "distillation", "teacher": "frozen"},
}
BAR = 1.01
MAX_TOKENS = 64
WORDS = range(6, 60)
"""Allowed numbers of words of a sentence."""


def sentences(path: str, passages: int, split: str) -> list[str]:
    """Sentences of the first passages of a split."""
    found: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["split"] != split:
                continue
            parts = record["text"].replace(" . ", " .\n").splitlines()
            found += [part for part in parts if len(part.split()) in WORDS]
            passages -= 1
            if passages == 0:
                break
    return found


@torch.no_grad()
def word_loss(model: numerate.NumberModel, texts: list[str], seed: int = 0, size: int = 128) -> float:
    """Mean loss of 15 % of the words, replaced by [MASK]; the words are the same for all models of a tokenizer."""
    generator = torch.Generator().manual_seed(seed)
    was_training, total, count = model.training, 0.0, 0
    model.eval()
    words = model.processor.tokenizer
    for start in range(0, len(texts), size):
        batch = model.processor(
            texts[start : start + size], return_tensors="pt", padding=True, truncation=True, max_length=MAX_TOKENS
        )
        ids = batch["input_ids"]
        special = torch.isin(ids, torch.tensor(words.all_special_ids))
        hidden = (torch.rand(ids.shape, generator=generator) < 0.15) & ~special
        batch["input_ids"] = ids.masked_fill(hidden, words.mask_token_id)
        batch = {key: value.to(model.device) for key, value in batch.items()}
        logits = model(**batch, return_loss=False).logits[hidden.to(model.device)].float().cpu()
        total += torch.nn.functional.cross_entropy(logits, ids[hidden], reduction="sum").item()
        count += int(hidden.sum())
    model.train(was_training)
    return total / count


def attached(arguments: argparse.Namespace, objective: dict) -> numerate.NumberModel:
    torch.manual_seed(arguments.seed)
    backbone = AutoModelForMaskedLM.from_pretrained(arguments.model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = numerate.attach(backbone, tokenizer, arguments.recipe, objective=objective)
    return model.to(arguments.device)


def pretrain(model: numerate.NumberModel, rows: list[dict], held: list[dict], arguments: argparse.Namespace) -> dict:
    """Trains the model and returns its number metrics on held-out sentences."""
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder, max_steps=arguments.steps, per_device_train_batch_size=arguments.batch,
            per_device_eval_batch_size=arguments.batch, learning_rate=arguments.rate, warmup_steps=0.06,
            weight_decay=0.01, lr_scheduler_type="linear", save_strategy="no", report_to=[], disable_tqdm=True,
            logging_steps=max(1, arguments.steps // 5), seed=arguments.seed, bf16=arguments.device == "cuda",
            use_cpu=arguments.device == "cpu", dataloader_pin_memory=False,
        )  # fmt: skip
        collate = NumberCollator(model.processor.tokenizer)
        trainer = NumberTrainer(model, options, collate, rows, held, number_learning_rate="same")
        trainer.train()
        return trainer.evaluate()


def rows_of(model: numerate.NumberModel, texts: list[str]) -> list[dict]:
    batch = model.processor(texts, truncation=True, max_length=MAX_TOKENS)
    return [{key: batch[key][row] for key in batch} | {"sample_id": row} for row in range(len(texts))]


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub name of a masked language model")
    parser.add_argument("--data", required=True, help="file of passages, JSON lines with `text` and `split`")
    parser.add_argument("--recipe", default="luna", help="recipe of the number model")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the training")
    parser.add_argument("--passages", type=int, default=20_000, help="passages of the training split")
    parser.add_argument("--held-out", type=int, default=2_000, help="passages of the test split")
    parser.add_argument("--steps", type=int, default=300, help="training steps")
    parser.add_argument("--batch", type=int, default=64, help="sentences per step")
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate")
    parser.add_argument("--teacher", action="append", choices=OBJECTIVES, help="only this one; can be repeated")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and masks")
    arguments = parser.parse_args(given)
    train, test = (
        sentences(arguments.data, count, split)
        for count, split in ((arguments.passages, "train"), (arguments.held_out, "test"))
    )
    # Sentences without numbers are those in which the reader finds none.
    by_numbers = {True: [], False: []}
    for text, numerals in zip(test, numerate.find_batch(test), strict=True):
        by_numbers[bool(numerals)].append(text)
    share = sum(map(bool, numerate.find_batch(train[:5000]))) / min(5000, len(train))
    print(f"{len(train)} training sentences, {share:.0%} with numbers; held out without: {len(by_numbers[False])}")
    before, rows, figures = None, None, {}
    for name in arguments.teacher or OBJECTIVES:
        model = attached(arguments, OBJECTIVES[name])
        if before is None:
            before = word_loss(model, by_numbers[False])
            rows, held = rows_of(model, train), rows_of(model, by_numbers[True])
        start = time.perf_counter()
        metrics = pretrain(model, rows, held, arguments)
        after = word_loss(model, by_numbers[False])
        figures[name] = {
            "before": before, "after": after, "ratio": after / before, "bar": BAR, "reached": after <= BAR * before,
            "seconds": round(time.perf_counter() - start, 1),
            "numbers": {key.removeprefix("eval_"): value for key, value in metrics.items()},
        }  # fmt: skip
        print(
            f"{name:24} {before:.4f} to {after:.4f} nats ({after / before - 1:+.2%}), "
            f"log-MAE of numbers {metrics['eval_log_mae']:.3f}",
            flush=True,
        )
    harness.write(arguments, figures)


if __name__ == "__main__":
    main()
