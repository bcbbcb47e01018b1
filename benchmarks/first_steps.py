"""The README's path on real sentences: attach, a short training on a CPU, and everyday questions.

    python benchmarks/first_steps.py                      # 10 to 15 minutes on one core
    python benchmarks/first_steps.py --steps 3 --json /tmp/first-steps.json

A pre-trained MiniLM of ../shared/models gets the default recipe and is trained with `NumberTrainer` on short sentences
with numbers from Wikipedia: half of them from `units`, half from `wiki`. Each question has one [NUM]; the answer is the
median of the predicted distribution and its 90 % interval, beside a range of plausible answers that was written down
before the first training.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
import texts as shared_texts
import torch

import numerate
from numerate.training import NumberTrainer

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence
    from pathlib import Path

QUESTIONS = {
    "The tower is [NUM] metres tall.": (20, 500),
    "He was born in [NUM].": (1700, 2020),
    "The car weighs [NUM] kg.": (500, 5000),
    "The man is [NUM] ft tall.": (4, 8),
    "The town lies [NUM] km north of the capital.": (1, 1000),
    "The river is [NUM] km long.": (5, 3000),
    "[NUM]% of the population live in the city.": (1, 100),
    "The mountain rises to [NUM] metres above sea level.": (200, 9000),
    "The film was released in [NUM].": (1900, 2025),
    "The town has [NUM] inhabitants.": (500, 500_000),
}
"""Questions, each with the range of plausible answers."""
UNANSWERED = {"The car weighs [NUM] kg.", "The man is [NUM] ft tall."}
"""Questions without a plausible answer after so short a training."""
OBJECTIVE = {"kind": "masked", "number_ratio": 0.5}
"""More hidden numbers than by default, because the training is short."""
LONGEST = 120
"""Characters of a training sentence, at most: the questions are short, and short sentences train faster."""
_SENTENCE = re.compile(r"(?<= [.!?]) (?=[A-Z\"(])")


class Answer(NamedTuple):
    """The answer to a question, and whether its median is plausible."""

    question: str
    median: float
    low: float
    high: float
    plausible: bool


def training_texts(count: int, seed: int = 0) -> list[str]:
    """Short sentences with a digit: half from `units`, half from the training passages of `wiki`, shuffled."""
    data = shared_texts.SHARED / "data"
    units = (row["comment"] for row in _rows(data / "units/train.jsonl.gz"))
    passages = (row["text"] for row in _rows(data / "wiki/passages.jsonl.gz") if row["split"] == "train")
    wiki = (sentence for text in passages for sentence in _SENTENCE.split(text.replace("\n", " ")))
    chosen = [text for source in (units, wiki) for text in itertools.islice(filter(_is_short, source), count // 2)]
    random.Random(seed).shuffle(chosen)
    return chosen


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _is_short(text: str) -> bool:
    return 20 <= len(text) <= LONGEST and re.search(r"\d", text) is not None


def trained_model(options: Namespace) -> numerate.NumberModel:
    """The model after training on `options.steps` batches."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, TrainingArguments

    texts = training_texts(options.steps * options.batch, options.seed)
    torch.manual_seed(options.seed)
    backbone = AutoModelForMaskedLM.from_pretrained(options.model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = numerate.attach(backbone, tokenizer, objective=OBJECTIVE, fit=texts)
    model.labelled_logits = True  # token logits only where there is a label: most of the time of so small a model
    batch = model.processor(texts, truncation=True, max_length=64)
    rows = [{key: batch[key][index] for key in batch} | {"sample_id": index} for index in range(len(texts))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, max_steps=options.steps, per_device_train_batch_size=options.batch, learning_rate=options.rate,
            warmup_steps=options.steps // 10, train_sampling_strategy="group_by_length", seed=options.seed,
            use_cpu=True, save_strategy="no", report_to="none", logging_steps=max(1, options.steps // 10),
            disable_tqdm=True,
        )  # fmt: skip
        trainer = NumberTrainer(model, arguments, train_dataset=rows, number_learning_rate=options.number_rate)
        trainer.train()
    return model.eval()


def answers(model: numerate.NumberModel) -> list[Answer]:
    """The model's answers to all questions."""
    found = model.predict(list(QUESTIONS))
    lows, highs = found.interval(0.9)
    rows = zip(QUESTIONS.items(), found.median().tolist(), lows.tolist(), highs.tolist(), strict=True)
    return [Answer(text, half, low, high, least <= half <= most) for (text, (least, most)), half, low, high in rows]


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", default=str(shared_texts.SHARED / "models/minilm-mlm"), help="masked language model")
    parser.add_argument("--steps", type=int, default=500, help="training steps")
    parser.add_argument("--batch", type=int, default=32, help="sentences per step")
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate of the backbone")
    parser.add_argument("--number-rate", type=float, default=1e-3, help="learning rate of the new parts")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    options = parser.parse_args(given)
    begin = time.perf_counter()
    found = answers(trained_model(options))
    rows = [("question", "median", "90 % interval", "plausible", "")]
    for one in found:
        least, most = QUESTIONS[one.question]
        interval = f"{one.low:.4g} to {one.high:.4g}"
        verdict = harness.verdict(float(one.plausible), 1.0)
        rows.append((one.question, f"{one.median:.4g}", interval, f"{least} to {most}", verdict))
    print("\n".join(harness.aligned(rows, right=(1,))))
    seconds = time.perf_counter() - begin
    print(f"{sum(one.plausible for one in found)} of {len(found)} answers are plausible; {seconds:.0f} s")
    harness.write(options, {"answers": [one._asdict() for one in found], "seconds": round(seconds)})


if __name__ == "__main__":
    main()
