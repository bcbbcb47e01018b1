"""The feed of a training: tokens per second from encoded shards to batches of 128 x 128 tokens with number tables.

    python benchmarks/feed.py [--workers 0,2,4,8] [--rows 40000] [--json results/feed.json]

Rows are drawn in random order from shards on the disk, padded to one batch of tensors (ids, slots, number table), and
counted when the batch arrives in this process: by this process alone (0 workers), and by the workers of a DataLoader,
as in a training. The bar is 1.2 times what BERT-base takes on one H200 (0.44 million tokens per second, bf16).
The rate of N workers counts from the first batch on: workers import torch once.
"""

from __future__ import annotations

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import harness
import torch
from processing import bert_tokenizer
from texts import generated_texts
from torch.utils.data import DataLoader, RandomSampler

from numerate.notation.plain_text import Keep
from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.training.shards import Shards, write_shards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EATEN = 440_000
"""Tokens per second of BERT-base on one H200 at 128 tokens, in bf16."""
BAR = 1.2 * EATEN
LENGTH = 128
_REPEATED = 2000
"""Different texts; rows of shards cost the same whether they repeat or not."""


def long_texts(rows: int) -> Iterator[str]:
    """Texts of more than 128 tokens."""
    pieces = generated_texts(2 * _REPEATED)
    some = [f"{next(pieces)} {next(pieces)}" for _ in range(min(rows, _REPEATED))]
    for row in range(rows):
        yield some[row % len(some)]


def rate(shards: Shards, collate: NumberCollator, workers: int, batch: int, seed: int, limit: int) -> harness.Timing:
    """Tokens per second from the first batch on, of CPU time of this process and of wall time."""
    sampler = RandomSampler(shards, generator=torch.Generator().manual_seed(seed))
    loader = DataLoader(
        shards, batch, sampler=sampler, num_workers=workers, collate_fn=collate, drop_last=True,
        multiprocessing_context="spawn" if workers else None, prefetch_factor=4 if workers else None,
    )  # fmt: skip
    tokens = count = 0
    begin, cpu = time.perf_counter(), time.process_time()
    for rows in loader:
        count += 1
        # Workers have batches ready when the first one comes: those would be counted without their time.
        if workers and count <= 4 * workers:
            begin, cpu = time.perf_counter(), time.process_time()
            continue
        tokens += rows["input_ids"].numel()
        if count >= limit + 4 * workers * bool(workers):
            break
    return harness.Timing(tokens / (time.process_time() - cpu), tokens / (time.perf_counter() - begin))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--workers", default="0,2", help="numbers of loader processes, with commas between")
    parser.add_argument("--rows", type=int, default=40_000, help="rows of the shards")
    parser.add_argument("--batch", type=int, default=128, help="rows of a batch")
    parser.add_argument("--batches", type=int, default=200, help="most batches of a measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each; the median counts")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    counts = [int(word) for word in options.workers.split(",")]
    processor = NumberProcessor(
        bert_tokenizer(list(generated_texts(500))), reader="standard", notation=Keep.build(slot=True)
    )
    collate = NumberCollator(processor)
    with tempfile.TemporaryDirectory() as name:
        shards = write_shards(Path(name) / "shards", long_texts(options.rows), processor, max_tokens=LENGTH)
        meta = shards.meta
        taken: dict[int, list[harness.Timing]] = {count: [] for count in counts}
        for turn in range(options.rounds):
            for count in counts:
                taken[count].append(rate(shards, collate, count, options.batch, turn, options.batches))
    rows = [["loader workers", "tokens/s", f"of {EATEN:,}", "bar 1.2", "per CPU s"]]
    figures: dict[str, dict[str, float]] = {}
    for count in counts:
        middle = median(each.wall for each in taken[count])
        figures[str(count)] = {"tokens_per_s": middle, "of_one_h200": middle / EATEN}
        own = ""
        if not count:  # all work is done by this process: the rate of an idle core
            figures["0"]["tokens_per_cpu_s"] = median(each.cpu for each in taken[0])
            own = f"{figures['0']['tokens_per_cpu_s']:,.0f}"
        rows.append([str(count), f"{middle:,.0f}", f"{middle / EATEN:.2f}", harness.verdict(middle, BAR), own])
    print(f"{meta['rows']:,} rows, {meta['tokens']:,} tokens, {meta['numbers']:,} numbers; {os.cpu_count()} cores")
    print("\n".join(harness.aligned(rows, (1, 2, 4))))
    harness.write(options, figures, cores=os.cpu_count(), tokens=meta["tokens"], numbers=meta["numbers"])


if __name__ == "__main__":
    main()
