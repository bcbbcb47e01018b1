"""Encoding over processes: texts and tokens per second of `prepare` with 1, 2, 4, ... worker processes.

    python benchmarks/encoding_scale.py [--workers 1,2,4,8,16] [--megabytes 64] [--json results/encoding_scale.json]

Generated texts (about 640 characters with 5 or 6 numbers) are written as JSON lines, cut into parts of 1 MB and encoded
into shards exactly as `numerate prepare --processes N` does it: read, numbers found, tokenized, number tables, arrays
written. The tokenizer is one made of the texts' words, or that of --tokenizer; it runs in one thread per process.
The rate counts the time in which all workers are busy: starting a process (importing torch, seconds) happens once and
is shown apart. Figures are ratios within one run; no network, no `datasets` and no Ray is needed.
"""

from __future__ import annotations

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["HF_HUB_OFFLINE"] = "1"

import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import harness
from processing import bert_tokenizer
from texts import generated_texts

from numerate.notation.plain_text import Keep
from numerate.processing.processor import NumberProcessor
from numerate.training.engines.local import LocalEngine
from numerate.training.shard_parts import encode_parts, text_parts
from numerate.training.shards import SHARD_TOKENS
from numerate.training.sources import Texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PART = 1 << 20


class Made(NamedTuple):
    """A part's record, the process that made it, and when; `cpu` is the process's CPU time."""

    record: dict[str, Any]
    pid: int
    begin: float
    end: float
    cpu: float


@dataclass(frozen=True)
class Timed:
    """The result of a part with the process and the time in which it was made."""

    work: Any

    def __call__(self, part: Any) -> Made:
        begin, cpu = time.time(), time.process_time()
        record = self.work(part)
        return Made(record, os.getpid(), begin, time.time(), time.process_time() - cpu)


class TimedEngine(LocalEngine):
    """The local engine, which remembers when and where each part was made."""

    def results(self, work: Any, parts: Iterable[Any]) -> Iterator[Any]:
        self.times: list[Made] = []
        self.begin = time.time()
        for row in super().results(Timed(work), parts):
            self.times.append(row)
            yield row.record


def busy_rate(times: list[Made], name: str) -> float:
    """`name` ("rows" or "tokens") per second while all processes were busy; a part counts by its share of that time."""
    processes = {made.pid for made in times}
    first = max(min(made.begin for made in times if made.pid == each) for each in processes)
    last = min(max(made.end for made in times if made.pid == each) for each in processes)
    if last <= first:  # too few parts: the whole time
        first, last = min(made.begin for made in times), max(made.end for made in times)
    done = 0.0
    for made in times:
        amount = sum(shard[name] for shard in made.record["shards"])
        done += amount * max(0.0, min(made.end, last) - max(made.begin, first)) / (made.end - made.begin)
    return done / (last - first)


def written_texts(path: Path, size: int) -> int:
    """Writes texts as JSON lines until the file has `size` bytes; their number."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for text in generated_texts(1 << 40):
            if file.write(json.dumps({"text": text}) + "\n") and file.tell() >= size:
                return count + 1
            count += 1
    return count


def measured(file: Path, processor: NumberProcessor, processes: int, folder: Path) -> dict[str, float]:
    """Rates of one run with a number of processes."""
    engine = TimedEngine(processes)
    parts = text_parts(Texts((str(file),)), LocalEngine(), PART)
    wall, cpu = time.perf_counter(), time.process_time()
    meta = encode_parts(
        str(folder / "made"), parts, processor, engine, max_tokens=512, shard_tokens=SHARD_TOKENS, asked=None
    )
    wall = time.perf_counter() - wall
    cpu = time.process_time() - cpu
    shutil.rmtree(folder / "made")
    return {
        "texts_per_s": busy_rate(engine.times, "rows"), "tokens_per_s": busy_rate(engine.times, "tokens"),
        "start_s": min(made.begin for made in engine.times) - engine.begin, "wall_s": wall, "parent_cpu_s": cpu,
        "tokens_per_cpu_s": meta["tokens"] / sum(made.cpu for made in engine.times),
        "bytes_per_cpu_s": file.stat().st_size / sum(made.cpu for made in engine.times),
        "texts": meta["rows"], "tokens": meta["tokens"], "numbers": meta["numbers"], "parts": len(parts),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--workers", default="1,2,4", help="numbers of worker processes, with commas between")
    parser.add_argument("--megabytes", type=float, default=32.0, help="size of the texts")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each number of workers; the best one counts")
    parser.add_argument("--tokenizer", help="folder of a Hugging Face tokenizer; else one of the texts' words")
    options = parser.parse_args(arguments)
    counts = [int(word) for word in options.workers.split(",")]
    some = list(generated_texts(2000))
    if options.tokenizer:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    else:
        tokenizer = bert_tokenizer(some)
    processor = NumberProcessor(tokenizer, reader="standard", notation=Keep.build(slot=True))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = written_texts(folder / "texts.jsonl", int(options.megabytes * (1 << 20)))
        best: dict[int, dict[str, float]] = {}
        for _ in range(options.rounds):
            for count in counts:  # in turn, so that a change of the machine's load affects all of them
                found = measured(folder / "texts.jsonl", processor, count, folder)
                if count not in best or found["tokens_per_s"] > best[count]["tokens_per_s"]:
                    best[count] = found
    one = best[counts[0]]
    rows = [["workers", "texts/s", "tokens/s", "ratio", "ratio per worker", "tokens per CPU s", "start s"]]
    for count, found in best.items():
        found["ratio"] = found["tokens_per_s"] / one["tokens_per_s"]
        found["ratio_per_worker"] = found["ratio"] * counts[0] / count
        rows.append([
            str(count), f"{found['texts_per_s']:,.0f}", f"{found['tokens_per_s']:,.0f}", f"{found['ratio']:.2f}",
            f"{found['ratio_per_worker']:.2f}", f"{found['tokens_per_cpu_s']:,.0f}", f"{found['start_s']:.1f}",
        ])  # fmt: skip
    print(f"{texts:,} texts, {one['tokens']:,.0f} tokens, {one['numbers']:,.0f} numbers; {os.cpu_count()} cores")
    print("\n".join(harness.aligned(rows, range(7))))
    harness.write(options, {str(count): found for count, found in best.items()}, cores=os.cpu_count())


if __name__ == "__main__":
    main()
