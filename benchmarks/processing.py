"""How fast the processor is beside the bare tokenizer: one run, medians of interleaved rounds, ratios.

    python benchmarks/processing.py [--json results/processing/processing.json]

Passages go through a BERT tokenizer (that of shared/models, or one made of the passages' own words), bare and in the
processor; records of planets go through the bare BERT tokenizer, through the pipeline that everybody writes first
(pinned here: `re.sub`, `float`, a tokenizer of few words), and through the processor with a vocabulary for records.
Each round has texts of its own, so that nothing is known from the round before that would not be known in training. The
tokenizers run in one thread; ratios are of CPU time (`time.process_time`), because other programs may run beside us.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import random
import re
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import machine
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.utils import logging

from numerate.notation.plain_text import Keep
from numerate.processing.processor import NumberProcessor
from numerate.processing.record_tokenizer import record_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("NUMERATE_SHARED", ROOT.parent / "shared"))
PASSAGES = SHARED / "data" / "wiki" / "passages.jsonl.gz"
MODEL = SHARED / "models" / "minilm-mlm"
PLANETS, STEPS = 3, 53
NUMBERS = 3 * PLANETS + 1 + 2 * PLANETS * STEPS
"""328 a record: the whole number of time steps that comes nearest to 330."""
TENSORS = {"padding": True, "return_tensors": "pt"}


# Texts


def passages(count: int) -> tuple[list[str], str]:
    """Texts from all over the shared passages, or generated ones, and which of both they are."""
    if PASSAGES.is_file():
        with gzip.open(PASSAGES) as stream:
            lines = stream.readlines()
        return [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // count)][:count]], "shared/data/wiki"
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) for _ in range(2_000)]
    forms = (lambda: f"{rng.randint(1750, 2024)}", lambda: f"{rng.randint(1, 999)},{rng.randint(0, 999):03}",
             lambda: f"{rng.uniform(0, 100):.1f}%", lambda: f"${rng.randint(1, 99)} million")  # fmt: skip
    texts = [
        " ".join(rng.choice(forms)() if rng.random() < 0.04 else rng.choice(words) for _ in range(rng.randint(60, 160)))
        for _ in range(count)
    ]
    return texts, "generated"


def record(rng: random.Random) -> str:
    """A record as xVal's planets are written, without its physics."""
    about: dict[str, Any] = {
        f"planet{i}": {"m": rng.uniform(1, 5), "a": 1 + i / 2 * rng.uniform(0.5, 2), "e": rng.uniform(0, 2)}
        for i in range(PLANETS)
    }
    about["stepsize"] = rng.uniform(0.25, 0.83)
    data = [[[rng.uniform(-3, 3), rng.uniform(-3, 3)] for _ in range(PLANETS)] for _ in range(STEPS)]
    return str({"description": about, "data": data}).replace(" ", "")


def bert_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """The shared model's tokenizer, or a WordPiece of the texts' own words and all single characters."""
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


# The pipeline that everybody writes first


class Plain:
    """Numbers out by `re.sub`, values by `float`, the rest through a tokenizer of few words.

    The pattern leaves digits in quoted keys alone. Keys and bracket runs are added tokens, which is what xVal does and
    the fastest of the ways that we tried; a comma between two numbers stays a token, which saves a second pattern.
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


# Interleaved medians


class Timing(NamedTuple):
    """Medians over the rounds, in seconds."""

    cpu: float
    wall: float


def interleaved(contestants: dict[str, Any], rounds: list[list[str]], batch: int) -> dict[str, Timing]:
    """Every round each contestant takes that round's texts in batches; the first round is not counted."""
    names = list(contestants)
    taken: dict[str, list[Timing]] = {name: [] for name in names}
    for turn, texts in enumerate(rounds):
        batches = [texts[start : start + batch] for start in range(0, len(texts), batch)]
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            run = contestants[name]
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            for some in batches:
                run(some)
            if turn:
                taken[name].append(Timing(time.process_time() - cpu, time.perf_counter() - wall))
    return {name: Timing(*map(median, zip(*timings, strict=True))) for name, timings in taken.items()}


def figures(
    what: str, contestants: dict[str, Any], bars: dict[tuple[str, str], float], rounds: list[list[str]], batch: int
) -> Iterator[dict[str, Any]]:
    """One row for each ratio (ours, baseline) with its bar, 0 for none."""
    took = interleaved(contestants, rounds, batch)
    texts = len(rounds[-1])
    for (ours, baseline), bar in bars.items():
        ratio = took[baseline].cpu / took[ours].cpu
        yield {
            "texts": what, "ours": ours, "baseline": baseline, "ratio": ratio, "bar": bar or None,
            "verdict": "" if not bar else "pass" if ratio >= bar else "miss",
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
    """The texts dealt out to the rounds, and to the one before them."""
    return [texts[turn :: rounds + 1] for turn in range(rounds + 1)]


def table_of(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    cells = [("texts", "ours", "baseline", "ratio", "bar", "", "by wall", "ours/s", "baseline/s")]
    for row in rows:
        bar = f">= {row['bar']:g}" if row["bar"] else ""
        speeds = (f"{row['ratio_by_wall']:.2f}", f"{row['ours_per_second']:,.0f}", f"{row['baseline_per_second']:,.0f}")
        cells.append((row["texts"], row["ours"], row["baseline"], f"{row['ratio']:.2f}", bar, row["verdict"], *speeds))
    widths = [max(len(row[column]) for row in cells) for column in range(9)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passages", type=int, default=4000, help="how many passages, over all rounds")
    parser.add_argument("--records", type=int, default=1000, help="how many records, over all rounds")
    parser.add_argument("--rounds", type=int, default=9, help="over which medians are taken")
    parser.add_argument("--batch", type=int, default=32, help="texts in a call")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    options = parser.parse_args(arguments)
    if min(options.passages, options.records) <= options.rounds or min(options.rounds, options.batch) < 1:
        parser.error("--rounds and --batch are at least 1, and there are more --passages and --records than --rounds")
    logging.set_verbosity_error()  # passages longer than the model's 512 tokens are no matter here
    texts, origin = passages(options.passages)
    rows = [*on_passages(texts, options.rounds, options.batch)]
    rows += on_records(options.records, options.rounds, options.batch)
    print(f"{len(texts):,} passages ({origin}), {options.records:,} records of {NUMBERS} numbers;", end=" ")
    print(f"batches of {options.batch}, one thread, medians of {options.rounds} rounds, texts a second of CPU time")
    print(*table_of(rows), sep="\n")
    if options.json is not None:
        config = {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}
        machine.write(str(options.json), config=config | {"origin": origin, "numbers": NUMBERS}, figures=rows)
    return rows


if __name__ == "__main__":
    main()
