"""Does number sense help to predict numbers? A small BERT with it against its number-blind twin, trained alike.

    python benchmarks/number_sense.py --recipe luna --data ../shared/data/units
    python benchmarks/number_sense.py ... --device cuda --steps 20000 --width 256 --layers 4 --json results/x.json

Without `--data`, on texts of our own making. Both twins have the same head, first weights, texts, order, masks and
steps; see `with_and_without`. The bar is 0.8 times the blind one's mean error of masked numbers, in orders of
magnitude (log-MAE). The blind twin can still spell values out of sub-words; with `--valueless`, a third model stands
beside the two to which every number is the same token.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import machine
from transformers import TrainerCallback, TrainerState

from numerate.apps.synthetic_facts import UNIT_WORDS, fact_texts
from numerate.apps.with_and_without import BLIND, SENSE, VALUELESS, ComparisonConfig, compare_models

BAR = 0.8
SIZES = ("steps", "batch", "rate", "width", "layers", "vocabulary", "number_ratio", "number_weight", "seed")
"""Options that go to `ComparisonConfig` as they are."""


def texts_of(data: str | None, split: str, count: int) -> list[str]:
    """A split's texts: of a folder of JSON lines with a field `comment`, or made up."""
    if data is None:
        return [text.text for text in fact_texts(split, count)]
    with gzip.open(Path(data) / f"{split}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["comment"] for line, _ in zip(lines, range(count), strict=False)]


class OnTheWay(TrainerCallback):
    """Prints how near the numbers are, each time that it is looked at: a run that is cut short has said something."""

    def on_evaluate(self, args: object, state: TrainerState, *others: object, **more: object) -> None:
        """Is called by the Trainer."""
        del args, others
        metrics = more["metrics"]
        print(f"step {state.global_step}: log-MAE {metrics['eval_log_mae']:.4f}", flush=True)  # type: ignore[index]


def compared(options: argparse.Namespace, config: ComparisonConfig, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """The figures of some of the models, or of all."""
    train, test = (texts_of(options.data, split, getattr(options, split)) for split in ("train", "test"))
    return compare_models(train, test, config, UNIT_WORDS, options.device, [OnTheWay()], names)


def main() -> None:
    """Trains both, prints every figure, and writes them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--data", help="folder with train.jsonl.gz and test.jsonl.gz; made-up texts without")
    parser.add_argument("--recipe", default="luna")
    parser.add_argument("--embedder", help="instead of the recipe's, as JSON or a name")
    parser.add_argument("--head", default="mixture", help="of both")
    parser.add_argument("--train", type=int, default=40_000, help="texts to learn from, at most")
    parser.add_argument("--test", type=int, default=4_000, help="texts to be measured on, at most")
    parser.add_argument("--valueless", action="store_true", help="a third model, to which all numbers are the same")
    parser.add_argument("--apart", action="store_true", help="train the models in processes of their own, side by side")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", help="write the figures to this file")
    usual = ComparisonConfig()
    for name in SIZES:
        value = getattr(usual, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = parser.parse_args()
    sizes = {name: getattr(options, name) for name in SIZES}
    embedder = options.embedder
    if embedder is not None:
        embedder = json.loads(embedder) if embedder.startswith("{") else {"kind": embedder}
    parts = {"recipe": options.recipe, "embedder": embedder, "head": {"kind": options.head}}
    config = ComparisonConfig(valueless=options.valueless, **parts, **sizes)
    start = time.perf_counter()
    if options.apart:  # each in a process of its own: the machine's cores, or an accelerator, are shared by them
        names = [(name,) for name in (BLIND, SENSE, VALUELESS)[: 2 + options.valueless]]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(names), mp_context=context) as pool:
            each = list(pool.map(functools.partial(compared, options, config), names))
        # Baselines are those of the first, as they are where all are trained here.
        figures = {name: found for one in reversed(each) for name, found in one.items()}
    else:
        figures = compared(options, config)
    for name, found in figures.items():
        print(f"{name:14}", "  ".join(f"{key} {value:.4f}" for key, value in found.items()))
    others = [name for name in (BLIND, VALUELESS) if name in figures]
    ratios = {name: figures[SENSE]["log_mae"] / figures[name]["log_mae"] for name in others}
    for name, ratio in ratios.items():
        verdict = "pass" if ratio <= BAR else "miss"
        print(f"log-MAE with number sense / {name}: {ratio:.3f}, bar {BAR}: {verdict}")
    print(f"{time.perf_counter() - start:.0f} s")
    if options.json:
        machine.write(options.json, config=vars(options), figures=figures | {"ratios": ratios, "bar": BAR})


if __name__ == "__main__":
    main()
