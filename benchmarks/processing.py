"""Speed of the number processor relative to the bare tokenizer.

    python benchmarks/processing.py [--json results/processing.json]

Passages go through a BERT tokenizer (that of shared/models, or one made of the passages' words), alone and inside the
processor. Records of planets go through the bare BERT tokenizer, through a simple pipeline pinned in this script
(`re.sub`, `float` and a tokenizer of few words), and through the processor with a vocabulary for records.
Each round has texts of its own, so that caches help no more than they do in training. The tokenizers run in one thread.
Figures are ratios of CPU time (`time.process_time`), medians of interleaved rounds.
"""

from __future__ import annotations

import os
import random
import re
from typing import TYPE_CHECKING, Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import harness
import torch
from texts import SHARED, passages
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import logging

from numerate.notation.plain_text import Keep
from numerate.processing.processor import NumberProcessor
from numerate.processing.record_tokenizer import record_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MODEL = SHARED / "models" / "minilm-mlm"
PLANETS, STEPS = 3, 53
NUMBERS = 3 * PLANETS + 1 + 2 * PLANETS * STEPS
"""Numbers of a record: 328, as near to 330 as whole time steps allow."""
TENSORS = {"padding": True, "return_tensors": "pt"}


# Texts


def record(rng: random.Random) -> str:
    """A record in the format of xVal's planets, with random numbers."""
    about: dict[str, Any] = {
        f"planet{i}": {"m": rng.uniform(1, 5), "a": 1 + i / 2 * rng.uniform(0.5, 2), "e": rng.uniform(0, 2)}
        for i in range(PLANETS)
    }
    about["stepsize"] = rng.uniform(0.25, 0.83)
    data = [[[rng.uniform(-3, 3), rng.uniform(-3, 3)] for _ in range(PLANETS)] for _ in range(STEPS)]
    return str({"description": about, "data": data}).replace(" ", "")


def bert_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """The shared model's tokenizer, or a WordPiece of the texts' words and all single characters."""
    if MODEL.is_dir():
        return AutoTokenizer.from_pretrained(MODEL)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    characters = [chr(code) for code in range(33, 127)]
    words = sorted({word for text in texts for word in re.findall(r"[a-z]+", text.lower())})
    pieces = dict.fromkeys([*pieces, *characters, *(f"##{char}" for char in characters), *words])
    inner = Tokenizer(models.WordPiece({piece: index for index, piece in enumerate(pieces)}, unk_token="[UNK]"))
    inner.normalizer, inner.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")


# The simple pipeline


class Plain:
    """Replaces numbers with `re.sub`, reads them with `float`, and tokenizes the rest with few words.

    The pattern skips digits in quoted keys. Keys and runs of brackets are added tokens, as in xVal, which was the
    fastest of several variants; a comma between two numbers stays a token, which saves a second pattern.
    """

    NUMBER = re.compile(r"(?<!['\w])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!['\d])")
    BRACKETS = ("{", "}", "[", "]", ",", "]]]", "[[[", "]]", "[[", "]]],[[[", "]],[[", "],[")

    def __init__(self, texts: list[str]) -> None:
        keys = sorted({key for text in texts for key in re.findall(r"'\w+':", text)})
        inner = Tokenizer(models.BPE(vocab={}, merges=[]))
        inner.add_special_tokens(["[END]", "[MASK]", "[PAD]", "[NUM]"])
        inner.add_tokens([*self.BRACKETS, *keys])
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]")
        self.num_id = inner.token_to_id("[NUM]")

    def __call__(self, texts: list[str], tensors: bool) -> Any:
        numbers: list[list[float]] = []
        without: list[str] = []
        for text in texts:
            values: list[float] = []

            def note(match: re.Match[str], values: list[float] = values) -> str:
                values.append(float(match.group()))
                return "[NUM]"

            without.append(self.NUMBER.sub(note, text))
            numbers.append(values)
        if not tensors:
            return self.tokenizer(without) | {"numbers": numbers}
        batch = self.tokenizer(without, **TENSORS)
        aligned = torch.ones(batch["input_ids"].shape, dtype=torch.float64)
        aligned[batch["input_ids"] == self.num_id] = torch.tensor(
            [v for row in numbers for v in row], dtype=torch.float64
        )
        return batch | {"numbers": aligned}


# Figures


def figures(
    what: str, contestants: dict[str, Any], bars: dict[tuple[str, str], float], rounds: list[list[str]], batch: int
) -> Iterator[dict[str, Any]]:
    """One row for each ratio (ours, baseline) with its bar (0 for none); the first of `rounds` is a warm-up."""

    def in_batches(run: Any) -> Callable[[int], None]:
        def all_texts(turn: int) -> None:
            for start in range(0, len(rounds[turn]), batch):
                run(rounds[turn][start : start + batch])

        return all_texts

    took = harness.interleaved({name: in_batches(run) for name, run in contestants.items()}, len(rounds) - 1)
    texts = len(rounds[-1])
    for (ours, baseline), bar in bars.items():
        ratio = took[baseline].cpu / took[ours].cpu
        yield {
            "texts": what, "ours": ours, "baseline": baseline, "ratio": ratio, "bar": bar or None,
            "verdict": harness.verdict(ratio, bar or None),
            "ratio_by_wall": took[baseline].wall / took[ours].wall,
            "ours_per_second": texts / took[ours].cpu, "baseline_per_second": texts / took[baseline].cpu,
        }  # fmt: skip


def on_passages(texts: list[str], rounds: int, batch: int) -> Iterator[dict[str, Any]]:
    bare = bert_tokenizer(texts)
    keep = NumberProcessor(bare, "standard", Keep.build(slot=True))
    marker = NumberProcessor(bare, "standard", "marker")
    contestants: dict[str, Any] = {}
    for form, options in (("lists", {}), ("tensors", TENSORS)):
        for name, run in (("bare", bare), ("bare again", bare), ("keep with slots", keep), ("marker", marker)):
            contestants[f"{name}, {form}"] = lambda some, run=run, options=options: run(some, **options)
    bars = {}
    for form in ("lists", "tensors"):
        for name, bar in (("bare again", 0.0), ("keep with slots", 0.7), ("marker", 0.7)):
            bars[f"{name}, {form}", f"bare, {form}"] = bar
    yield from figures("passages", contestants, bars, shares(texts, rounds), batch)


def on_records(count: int, rounds: int, batch: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(1)
    texts = [record(rng) for _ in range(count)]
    bert, plain = bert_tokenizer(texts), Plain(texts)
    ours = NumberProcessor(record_tokenizer(texts[:50]), "records", "marker", implied_commas=True)
    contestants: dict[str, Any] = {}
    for form, options in (("lists", {}), ("tensors", TENSORS)):
        contestants[f"bare BERT, {form}"] = lambda some, options=options: bert(some, **options)
        contestants[f"plain pipeline, {form}"] = lambda some, form=form: plain(some, form == "tensors")
        contestants[f"processor, {form}"] = lambda some, options=options: ours(some, **options)
    bars = {}
    for form in ("lists", "tensors"):
        for baseline, bar in (("bare BERT", 2.0), ("plain pipeline", 1.3)):
            bars[f"processor, {form}", f"{baseline}, {form}"] = bar
    yield from figures("records", contestants, bars, shares(texts, rounds), batch)


def shares(texts: list[str], rounds: int) -> list[list[str]]:
    """Different texts for each round and the warm-up."""
    return [texts[turn :: rounds + 1] for turn in range(rounds + 1)]


def table_of(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    cells = [("texts", "ours", "baseline", "ratio", "bar", "", "by wall", "ours/s", "baseline/s")]
    for row in rows:
        bar = f">= {row['bar']:g}" if row["bar"] else ""
        speeds = (f"{row['ratio_by_wall']:.2f}", f"{row['ours_per_second']:,.0f}", f"{row['baseline_per_second']:,.0f}")
        cells.append((row["texts"], row["ours"], row["baseline"], f"{row['ratio']:.2f}", bar, row["verdict"], *speeds))
    return harness.aligned(cells)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--passages", type=int, default=4000, help="number of passages in all rounds")
    parser.add_argument("--records", type=int, default=1000, help="number of records in all rounds")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of the medians")
    parser.add_argument("--batch", type=int, default=32, help="texts per call")
    options = parser.parse_args(arguments)
    if min(options.passages, options.records) <= options.rounds or min(options.rounds, options.batch) < 1:
        parser.error("--rounds and --batch must be at least 1, --passages and --records more than --rounds")
    logging.set_verbosity_error()  # passages longer than the model's 512 tokens do not matter here
    texts, origin = passages(options.passages)
    rows = [*on_passages(texts, options.rounds, options.batch)]
    rows += on_records(options.records, options.rounds, options.batch)
    print(f"{len(texts):,} passages ({origin}), {options.records:,} records of {NUMBERS} numbers;", end=" ")
    print(f"batches of {options.batch}, one thread, medians of {options.rounds} rounds, texts per second of CPU time")
    print(*table_of(rows), sep="\n")
    harness.write(options, rows, origin=origin, numbers=NUMBERS)


if __name__ == "__main__":
    main()
