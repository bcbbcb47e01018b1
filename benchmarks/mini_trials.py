"""Trainings of `numerate-mini` compared on dev texts, before one of them is finished: words, hidden numbers, slips.

    python benchmarks/mini_trials.py --folder build/mini --names falling deeper twin --finished models/numerate-mini

Numbers and words share the weights of a small model, so that what one gains the other may lose. Words: hit@1 of masked
words in sentences without numbers. Hidden numbers: as in the model card. Slips: area under the curve of the plain
density (`bits`), which needs no calibration. Test texts are left for the model that is chosen.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
from mini_finish import held_out_texts, hit_at_1, measured
from mini_model import MAX_TOKENS, built
from mini_training import load_weights, put_weights
from slips import detection

import numerate

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = ("x10", "exchanged", "first digit")


def trial(model: Any, texts: dict[str, list[str]], data: Path, most: int, stage: str = "numbers") -> dict[str, Any]:
    """The figures of one training; those of words alone for the twin without a sense of numbers."""
    if stage != "numbers":
        return {"hit_1": hit_at_1(model, texts["plain"])}
    model.calibration = None
    found = detection(model, data, split="dev", most=most, passages_read=2 * most, train=100, measure="bits")
    slips = {name: each["methods"]["model"] for name, each in found.items()}
    areas = {name: {kind: one["auc"] for kind, one in each["all"].items()} for name, each in slips.items()}
    for name, each in slips.items():
        if "x10" in each["plain"]:
            areas[name]["x10 plain"] = each["plain"]["x10"]["auc"]
    return measured(model, texts) | {"slips": areas}


def loaded(folder: Path, name: str) -> tuple[Any, dict[str, Any]]:
    """A trained model of the folder, and how it was trained."""
    described = json.loads((folder / f"{name}.json").read_text("utf-8"))
    model = built(folder, described["stage"], described["recipe"], start=False, head=described["head"])
    put_weights(model, load_weights(folder, name))
    model.max_tokens, model.fitted = MAX_TOKENS, True
    return model.eval(), described


def print_table(figures: dict[str, dict[str, Any]]) -> None:
    """Prints a Markdown table."""
    names = [(corpus, kind) for corpus in ("wiki", "units") for kind in (*SHOWN, "x10 plain")]
    print("| training | hit@1 | log-MAE | NLL | within 2, plain | " + " | ".join(map(" ".join, names)) + " |")
    print("|---|" + "---:|" * (4 + len(names)))
    for name, each in figures.items():
        cells = [each.get(key) for key in ("hit_1", "log_mae", "nll", "within_2_plain")]
        cells += [each.get("slips", {}).get(corpus, {}).get(kind) for corpus, kind in names]
        print(f"| {name} | " + " | ".join("" if cell is None else f"{cell:.3f}" for cell in cells) + " |")


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--folder", default="build/mini", help="folder of base model and weights")
    parser.add_argument("--names", nargs="*", default=[], help="names of trainings whose weights are in the folder")
    parser.add_argument("--finished", help="folder of a finished model to compare with")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--most", type=int, default=700, help="texts of each corpus")
    options = parser.parse_args(given)
    data, folder = Path(options.data), Path(options.folder)
    texts = held_out_texts(data, "dev", 2 * options.most)
    texts["texts"] = [*texts["texts"][: 2 * options.most], *texts["texts"][-2 * options.most :]]
    figures: dict[str, Any] = {}
    trainings: dict[str, Any] = {}
    for name in (["finished"] if options.finished else []) + options.names:
        if name == "finished":
            model = numerate.from_pretrained(options.finished)
            recipe = json.loads((Path(options.finished) / "figures.json").read_text("utf-8"))["recipe"]
            trainings[name] = recipe["numbers"]
        else:
            model, trainings[name] = loaded(folder, name)
        figures[name] = trial(model, texts, data, options.most, trainings[name]["stage"])
        print(f"{name} is done", flush=True)
    print_table(figures)
    harness.write(options, figures, trainings=trainings)


if __name__ == "__main__":
    main()
