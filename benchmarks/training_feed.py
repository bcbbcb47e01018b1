"""The feed of a training and the encoding of its texts, as sections of `training_speed.py`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import encoding_scale
import feed
import harness
import torch
from processing import bert_tokenizer
from step import SIZES
from texts import generated_texts
from training_contest import TINY
from transformers import BertConfig, BertForMaskedLM

from numerate.notation.plain_text import Keep
from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.training.shards import write_shards

if TYPE_CHECKING:
    from training_speed import Contest

FEED_BAR = 1.2
WORKERS = (0, 2, 4, 8)
PROCESSES = (1, 2, 4, 8)
MEGABYTES = 8.0
SCALE_BAR = 0.85
"""Least ratio per process."""


def eaten(contest: Contest, rows: int = 128, seconds: float = 6.0) -> float:
    """Tokens per second that BERT-base with random weights takes in training at 128 tokens: bare, not compiled."""
    cuda = contest.options.device == "cuda"
    sizes: dict[str, Any] = TINY if contest.options.tiny else SIZES["base"]
    rows = 2 if contest.options.tiny else rows  # their logits take a gigabyte
    model = BertForMaskedLM(BertConfig(**sizes)).to(contest.options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=cuda)
    ids = torch.randint(5, 30000, (rows, feed.LENGTH), device=contest.options.device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.where(ids % 7 == 0, -100)}

    def steps(count: int) -> float:
        if cuda:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            with torch.autocast(contest.options.device, torch.bfloat16, enabled=cuda):
                loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if cuda:
            torch.cuda.synchronize()
        return (time.perf_counter() - begin) / count

    once = steps(3)
    count = max(3, min(200, int(min(seconds, contest.options.seconds) / max(once, 1e-4))))
    return ids.numel() / steps(count)


def feed_figures(contest: Contest) -> None:
    """Tokens per second from shards to batches with 0, 2, 4, 8 workers, and their ratio to what BERT-base takes."""
    tiny = contest.options.tiny
    rate = eaten(contest)
    print(f"--- feed: BERT-base takes {rate:,.0f} tokens/s at {feed.LENGTH} tokens", flush=True)
    figures: dict[str, Any] = {"bert_base_tokens_per_s": rate}
    contest.figures["feed"] = figures
    processor = NumberProcessor(
        bert_tokenizer(list(generated_texts(500))), reader="standard", notation=Keep.build(slot=True)
    )
    rows = 600 if tiny else 8_000
    shards = write_shards(contest.folder / "feed", feed.long_texts(rows), processor, max_tokens=feed.LENGTH)
    collate = NumberCollator(processor)
    for workers in WORKERS[: 1 if tiny else None]:
        if not contest.fits(f"feed: {workers} workers", 12):
            continue
        batches = 2 if tiny else 40 + 40 * (workers > 2)
        found = feed.rate(shards, collate, workers, 128, workers, min(batches, rows // 128 - 4 * workers - 1))
        ratio = found.wall / rate
        verdict = harness.verdict(ratio, FEED_BAR)
        figures[f"{workers} workers"] = {"tokens_per_s": found.wall, "ratio": ratio, "verdict": verdict}
        print(f"{workers} workers: {found.wall:,.0f} tokens/s, {ratio:.2f} x BERT-base {verdict}", flush=True)
        contest.write()


def encode_figures(contest: Contest) -> None:
    """Tokens per second of `prepare` over 1, 2, 4, 8 processes."""
    file, tiny = contest.folder / "encode.jsonl", contest.options.tiny
    encoding_scale.written_texts(file, int((0.1 if tiny else MEGABYTES) * (1 << 20)))
    processor = NumberProcessor(bert_tokenizer(list(generated_texts(2000))), "standard", Keep.build(slot=True))
    figures: dict[str, Any] = contest.figures.setdefault("encode", {})
    print("--- encode", flush=True)
    for count in PROCESSES[: 1 if tiny else None]:
        if not contest.fits(f"encode: {count} processes", 25):
            continue
        found: dict[str, Any] = dict(encoding_scale.measured(file, processor, count, contest.folder))
        figures[str(count)] = found
        found["ratio"] = found["tokens_per_s"] / figures["1"]["tokens_per_s"]
        found["verdict"] = harness.verdict(found["ratio"] / count, SCALE_BAR)
        rate = f"{found['tokens_per_s']:,.0f} tokens/s, {found['ratio']:.2f}x"
        print(f"{count} processes: {rate}, start {found['start_s']:.1f} s", flush=True)
        contest.write()
