"""Cost of number embedders in a training step: attached models against the bare backbone, in one run.

    python benchmarks/step.py                            # CPU: BERT of 4 layers x 256, 8 numbers in 128 tokens
    python benchmarks/step.py --device cuda --size base --bf16 --compile --json results/step-gpu.json
    python benchmarks/step.py --device cuda --size base --bf16 --batch 128 --numbers 19 --recipe in-place
    python benchmarks/step.py --recipe in-place --count-operations

Every model takes one step per round, in turn; the figures are ratios of the medians over all rounds to the median of
the bare model. The bare model runs twice: the ratio of both shows the noise. An accelerator is synchronised after
`--in-a-row` steps, because training does not wait for it at every step and hides work of the host.

With `--recipe`, a recipe's model with the objective `masked` is measured instead, on texts whose numbers are written in
several tokens; the bare model reads the same tokens, and both compute logits for all of them. With
`--count-operations`, nothing is timed: the operations of a step are counted by part (see `operations.py`).
"""

from __future__ import annotations

import json
import statistics
import time
from typing import TYPE_CHECKING

import harness
import operations
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

import numerate

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = {
    "small": {"num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024},
    "base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
}
EMBEDDERS = {
    "float": {"kind": "float"},
    "log-fourier": {"kind": "log-fourier"},
    "char-lstm 1M": {"kind": "char-lstm", "size": "1M"},
}
BARS = {"float": 1.15, "log-fourier": 1.15, "char-lstm 1M": 1.3}
GPU_BAR, RECIPE_BAR, COMPILED_RECIPE_BAR = 1.05, 1.10, 1.02
NUMBER_RATIO = 0.3
"""Share of the numbers that a recipe's model predicts in a step."""
VOCABULARY = 30522
TOKENS_PER_NUMBER = 4
"""Mean number of BERT tokens of a number in real text (`numerate audit`: 4.09)."""


def word(index: int) -> str:
    """A word for each id, of letters only: digits would be read as numbers."""
    letters = ""
    while index:
        index, rest = divmod(index, 26)
        letters = chr(97 + rest) + letters
    return "w" + letters


def tokenizer(digits: bool = False) -> PreTrainedTokenizerFast:
    """A tokenizer of `word`s; with `digits`, numbers are written digit by digit."""
    words = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    words |= {word(index): index for index in range(5, VOCABULARY)}
    split: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.WhitespaceSplit()]
    if digits:
        words = {token: index for token, index in words.items() if index < VOCABULARY - 12}
        words |= {token: VOCABULARY - 12 + index for index, token in enumerate("0123456789.%")}
        split += [pre_tokenizers.Punctuation(), pre_tokenizers.Digits(individual_digits=True)]
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Sequence(split)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", cls_token="[CLS]",
        sep_token="[SEP]",
    )  # fmt: skip


def make_batch(model: numerate.NumberModel, rows: int, length: int, numbers: int, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for _ in range(rows):
        words = [word(int(i)) for i in torch.randint(5, VOCABULARY, (length - numbers,), generator=generator)]
        values = (10 ** (torch.rand(numbers, generator=generator, dtype=torch.float64) * 8 - 2)).tolist()
        places = sorted(torch.randperm(length - numbers, generator=generator)[:numbers].tolist(), reverse=True)
        for place, value in zip(places, values, strict=True):
            words.insert(place, f"{value:.4g}")
        texts.append(" ".join(words))
    batch = dict(model.processor(texts, return_tensors="pt", padding=True))
    if batch["input_ids"].shape[1] != length or batch["number_bits"].shape[1] != numbers:
        raise ValueError(f"expected {length} tokens and {numbers} numbers, got {batch['number_bits'].shape}")
    labels = torch.full_like(batch["input_ids"], -100)
    masked = torch.rand(labels.shape, generator=generator) < 0.15
    masked &= batch["number_slots"] == 0
    labels[masked] = batch["input_ids"][masked]
    return batch | {"labels": labels}


def recipe_batch(
    model: numerate.NumberModel, rows: int, length: int, numbers: int, seed: int
) -> dict[str, torch.Tensor]:
    """Texts of words and numbers, a fifth of them percentages, that are cut at `length` tokens."""
    generator = torch.Generator().manual_seed(seed)
    texts = []
    for _ in range(rows):
        count = max(numbers, length - TOKENS_PER_NUMBER * numbers)
        words = [word(int(i)) for i in torch.randint(5, VOCABULARY - 12, (count,), generator=generator)]
        values = (10 ** (torch.rand(numbers, generator=generator, dtype=torch.float64) * 4 - 1)).tolist()
        places = sorted(torch.randperm(count, generator=generator)[:numbers].tolist(), reverse=True)
        for index, (place, value) in enumerate(zip(places, values, strict=True)):
            words.insert(place, f"{value:.3g}" + "%" * (index % 5 == 0))
        texts.append(" ".join(words))
    encoded = model.processor(texts, return_tensors="pt", padding=True, truncation=True, max_length=length)
    return {key: value for key, value in encoded.items() if isinstance(value, torch.Tensor)}


class Contestant:
    """A model, its optimizer and its batch; `step` runs some training steps and returns the seconds of one."""

    def __init__(self, name: str, model: torch.nn.Module, batch: dict[str, torch.Tensor], arguments) -> None:
        self.name, self.cuda, self.bf16 = name, arguments.device == "cuda", arguments.bf16
        self.model = model.to(arguments.device).train()
        self.batch = {key: value.to(arguments.device) for key, value in batch.items()}
        self.run = torch.compile(self.model) if arguments.compile else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=self.cuda)
        self.in_a_row = arguments.in_a_row

    def count(self) -> operations.OperationCounter:
        """The operations of one step."""
        autocast = torch.autocast("cuda" if self.cuda else "cpu", torch.bfloat16, enabled=self.bf16)
        operations.count_step(self.model, self.batch, autocast)  # fills caches
        self.optimizer.zero_grad(set_to_none=True)
        return operations.count_step(self.model, self.batch, autocast)

    def step(self) -> float:
        if self.cuda:
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(self.in_a_row):
            with torch.autocast("cuda" if self.cuda else "cpu", torch.bfloat16, enabled=self.bf16):
                loss = self.run(**self.batch).loss
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        if self.cuda:
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / self.in_a_row


def contestants(arguments) -> list[Contestant]:
    words = tokenizer(digits=arguments.recipe is not None)
    config = BertConfig(vocab_size=VOCABULARY, max_position_embeddings=512, **SIZES[arguments.size])

    def backbone() -> BertForMaskedLM:
        torch.manual_seed(0)
        return BertForMaskedLM(config)

    if arguments.recipe is not None:
        objective = {"kind": "masked", "number_ratio": NUMBER_RATIO}
        model = numerate.attach(
            backbone(), words, arguments.recipe, objective=objective, **json.loads(arguments.attach)
        )
        batch = recipe_batch(model, arguments.batch, arguments.length, arguments.numbers, seed=1)
        task = model.task(dict(batch), None, return_loss=True)
        # The same padding and the same number of labels: hidden numbers leave shorter texts.
        plain = {key: task.inputs[key].clamp_max(VOCABULARY - 1) for key in ("input_ids", "attention_mask")}
        plain["labels"] = task.labels
        bare = [Contestant(name, backbone(), plain, arguments) for name in ("bare", "bare again")]
        return [*bare[: 1 + (not arguments.brief)], Contestant(arguments.recipe, model, batch, arguments)]
    result = []
    for name in arguments.embedder or EMBEDDERS:
        embedder = EMBEDDERS[name]
        model = numerate.attach(backbone(), words, notation="marker", embedder=embedder, placement="add")
        batch = make_batch(model, arguments.batch, arguments.length, arguments.numbers, seed=1)
        result.append(Contestant(name, model, batch, arguments))
    plain = {key: result[0].batch[key].clamp_max(VOCABULARY - 1) for key in ("input_ids", "attention_mask", "labels")}
    for name in ("bare",) if arguments.brief else ("bare", "bare again"):
        result.insert(0, Contestant(name, backbone(), plain, arguments))
    if arguments.brief:
        return result
    # The same text as the bare model reads it: every number is several sub-words.
    longer = arguments.length + arguments.numbers * (TOKENS_PER_NUMBER - 1)
    ids = torch.randint(5, VOCABULARY, (arguments.batch, longer), generator=torch.Generator().manual_seed(2))
    labels = torch.where(torch.rand(ids.shape) < 0.15, ids, -100)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    result.append(Contestant("bare, same text", backbone(), batch, arguments))
    return result


def count_operations(arguments, racers: list[Contestant]) -> None:
    """Prints the operations of each model's step by part, without those of the bare model."""
    bare = racers[0].count()
    print(f"{racers[0].name}: {bare.forward.total()} forward, {bare.backward.total()} backward")
    figures = {}
    for racer in racers[1:]:
        if racer.name.startswith("bare"):
            continue
        counter = racer.count()
        figures[racer.name] = {"parts": operations.table(counter, bare), "waits": counter.waits}
        print(f"\n{racer.name:28}{'forward':>9}{'backward':>9}{'both':>9}")
        for row in figures[racer.name]["parts"]:
            print(f"{row['part']:28}{row['forward']:9}{row['backward']:9}{row['both']:9}")
        print("the host waits for:", ", ".join(f"{name} ({part})" for part, name in counter.waits) or "nothing")
    harness.write(arguments, figures)


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the models")
    parser.add_argument("--size", default="small", choices=SIZES, help="size of the BERT")
    parser.add_argument("--bf16", action="store_true", help="use bfloat16 autocast")
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    parser.add_argument("--batch", type=int, default=8, help="texts per step")
    parser.add_argument("--length", type=int, default=128, help="tokens of a text")
    parser.add_argument("--numbers", type=int, default=8, help="numbers of a text")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of the medians")
    parser.add_argument("--in-a-row", type=int, default=1, help="steps between synchronisations of the accelerator")
    parser.add_argument("--embedder", action="append", choices=EMBEDDERS, help="only this one; can be repeated")
    parser.add_argument("--recipe", help="measure this recipe with the objective `masked` instead of embedders")
    parser.add_argument("--attach", default="{}", help="further options of `numerate.attach` for --recipe, as JSON")
    parser.add_argument("--count-operations", action="store_true", help="count operations by part instead of timing")
    parser.add_argument("--brief", action="store_true", help="leave out the second bare model and the longer text")
    arguments = parser.parse_args(given)
    racers = contestants(arguments)
    if arguments.count_operations:
        count_operations(arguments, racers)
        return
    for racer in racers:  # compilation, allocation and caches are not measured
        for _ in range(3):
            racer.step()
    times: dict[str, list[float]] = {racer.name: [] for racer in racers}
    for _ in range(arguments.rounds):
        for racer in racers:
            times[racer.name].append(racer.step())
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = []
    for name, seconds in medians.items():
        bar = None if name.startswith("bare") else GPU_BAR if arguments.device == "cuda" else BARS.get(name)
        if name == arguments.recipe:
            recipe_bar = COMPILED_RECIPE_BAR if arguments.compile else RECIPE_BAR
            bar = recipe_bar if arguments.device == "cuda" else None
        ratio = seconds / medians["bare"]
        verdict = harness.verdict(ratio, bar, "<=")
        rows.append(
            {"name": name, "ms": round(1000 * seconds, 2), "ratio": round(ratio, 3), "bar": bar, "verdict": verdict}
        )
        print(
            f"{name:18} {1000 * seconds:9.2f} ms   {ratio:6.3f}x   {'' if bar is None else f'at most {bar}'} {verdict}"
        )
    harness.write(arguments, rows)


if __name__ == "__main__":
    main()
