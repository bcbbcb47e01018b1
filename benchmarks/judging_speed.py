"""Speed of judging numbers: sentences per second against the bare trunk of the same model at equal shapes.

    python benchmarks/judging_speed.py --model models/numerate-mini --data ../shared/data

The trunk runs on as many rows and columns as the judging shows to it, one number hidden in each row, without tokenizer,
numbers, head or scores. Both take turns; the bar is 0.8 of the trunk's speed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import torch
from mini_corpus import lines_of

import numerate
from numerate.apps.plausible import PlausibilityChecker

if TYPE_CHECKING:
    from collections.abc import Sequence

BAR = 0.8


def shapes_of(checker: PlausibilityChecker, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Rows and columns of each pass through the trunk while texts are judged."""
    found: list[tuple[int, int]] = []
    trunk: Any = checker.model.base_model

    def note(module: Any, inputs: Any, options: dict[str, Any]) -> None:
        del module, inputs
        given = options.get("inputs_embeds")
        given = options["input_ids"] if given is None else given
        found.append((given.shape[0], given.shape[1]))

    handle = trunk.register_forward_pre_hook(note, with_kwargs=True)
    checker.judge(texts)
    handle.remove()
    return found


@torch.no_grad()
def run_trunk(trunk: Any, shapes: Sequence[tuple[int, int]]) -> None:
    """The trunk alone on rows of words."""
    for rows, columns in shapes:
        ids = torch.full((rows, columns), 1000 % trunk.config.vocab_size, device=trunk.device)
        trunk(input_ids=ids, attention_mask=torch.ones_like(ids))


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--model", required=True, help="folder or Hub id of a model with a sense of numbers")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--texts", type=int, default=200, help="sentences of units (test)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the model")
    options = parser.parse_args(given)
    model = numerate.from_pretrained(options.model).to(options.device)
    checker = PlausibilityChecker(model)
    records = lines_of(Path(options.data) / "units" / "test.jsonl.gz")
    texts = [each["comment"] for each, _ in zip(records, range(options.texts), strict=False)]
    shapes, trunk = shapes_of(checker, texts), model.base_model
    timings = harness.interleaved(
        {"trunk": lambda turn: run_trunk(trunk, shapes), "judging": lambda turn: checker.judge(texts)}, options.rounds
    )
    numbers = sum(rows for rows, _ in shapes)
    ratio = timings["trunk"].cpu / timings["judging"].cpu
    speed = len(texts) / timings["judging"].cpu
    per_number = numbers / timings["judging"].cpu
    print(f"{len(texts)} sentences, {numbers} numbers: {speed:.0f} sentences/s, {per_number:.0f} numbers/s")
    print(f"speed of judging / bare trunk: {ratio:.3f}, bar {BAR}: {harness.verdict(ratio, BAR, '>=')}")
    harness.write(options, {"sentences_per_second": speed, "ratio": ratio, "bar": BAR, "numbers": numbers})


if __name__ == "__main__":
    main()
