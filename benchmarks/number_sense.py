"""Effect of number values on masked prediction: a small BERT with number values against the same BERT without them.

    python benchmarks/number_sense.py --recipe luna --data ../shared/data/units
    python benchmarks/number_sense.py ... --device cuda --steps 20000 --width 256 --layers 4 --json results/x.json

Without `--data`, the texts are synthetic. Both models have the same head, initial weights, texts, order, masks and
steps (see `numerate.apps.with_and_without`). The bar is 0.8 times the number-blind model's mean error of masked
numbers, in orders of magnitude (log-MAE). The number-blind model can still read numbers from sub-words; `--valueless`
adds a third model, to which every number is the same token.
"""

from __future__ import annotations

import functools
import gzip
import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from transformers import TrainerCallback, TrainerState

from numerate.apps.synthetic_facts import UNIT_WORDS, fact_texts
from numerate.apps.with_and_without import BLIND, SENSE, VALUELESS, ComparisonConfig, compare_models

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

BAR = 0.8
SIZES = ("steps", "batch", "rate", "width", "layers", "vocabulary", "number_ratio", "number_weight", "seed")
"""Options that are fields of `ComparisonConfig`."""


def texts_of(data: str | None, split: str, count: int) -> list[str]:
    """Texts of a split: from a folder of JSON lines with a field `comment`, or synthetic ones."""
    if data is None:
        return [text.text for text in fact_texts(split, count)]
    with gzip.open(Path(data) / f"{split}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["comment"] for line, _ in zip(lines, range(count), strict=False)]


class PrintErrors(TrainerCallback):
    """Prints the error of numbers after each evaluation, so that an interrupted run has a result."""

    def on_evaluate(self, args: object, state: TrainerState, *others: object, **more: object) -> None:
        del args, others
        metrics = more["metrics"]
        print(f"step {state.global_step}: log-MAE {metrics['eval_log_mae']:.4f}", flush=True)  # type: ignore[index]


def compared(options: argparse.Namespace, config: ComparisonConfig, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Metrics of the named models, or of all."""
    train, test = (texts_of(options.data, split, getattr(options, split)) for split in ("train", "test"))
    return compare_models(train, test, config, UNIT_WORDS, options.device, [PrintErrors()], names)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--data", help="folder with train.jsonl.gz and test.jsonl.gz; without it, synthetic texts")
    parser.add_argument("--recipe", default="luna", help="recipe of the model with number values")
    parser.add_argument("--embedder", help="replaces the recipe's embedder, as JSON or a name")
    parser.add_argument("--head", default="mixture", help="number head of all models")
    parser.add_argument("--train", type=int, default=40_000, help="maximum number of training texts")
    parser.add_argument("--test", type=int, default=4_000, help="maximum number of held-out texts")
    parser.add_argument("--valueless", action="store_true", help="add a model to which all numbers are the same token")
    parser.add_argument("--apart", action="store_true", help="train the models in parallel, each in its own process")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    usual = ComparisonConfig()
    for name in SIZES:
        value = getattr(usual, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help="see ComparisonConfig")
    options = parser.parse_args(arguments)
    sizes = {name: getattr(options, name) for name in SIZES}
    embedder = options.embedder
    if embedder is not None:
        embedder = json.loads(embedder) if embedder.startswith("{") else {"kind": embedder}
    parts = {"recipe": options.recipe, "embedder": embedder, "head": {"kind": options.head}}
    config = ComparisonConfig(valueless=options.valueless, **parts, **sizes)
    start = time.perf_counter()
    if options.apart:
        names = [(name,) for name in (BLIND, SENSE, VALUELESS)[: 2 + options.valueless]]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(len(names), mp_context=context) as pool:
            each = list(pool.map(functools.partial(compared, options, config), names))
        # The baselines are those of the first model, as in a run with one process.
        figures = {name: found for one in reversed(each) for name, found in one.items()}
    else:
        figures = compared(options, config)
    for name, found in figures.items():
        print(f"{name:14}", "  ".join(f"{key} {value:.4f}" for key, value in found.items()))
    others = [name for name in (BLIND, VALUELESS) if name in figures]
    ratios = {name: figures[SENSE]["log_mae"] / figures[name]["log_mae"] for name in others}
    for name, ratio in ratios.items():
        print(f"log-MAE with number values / {name}: {ratio:.3f}, bar {BAR}: {harness.verdict(ratio, BAR, '<=')}")
    print(f"{time.perf_counter() - start:.0f} s")
    harness.write(options, figures | {"ratios": ratios, "bar": BAR})


if __name__ == "__main__":
    main()
