"""The last stages of `numerate-mini`: 8-bit storage, calibration on dev texts, held-out figures, model card, NOTICE.

`finish` needs all that was trained. `recalibrate` needs the stored model alone, and leaves its weights as they are;
what was measured with other models and with histograms is taken from the earlier figures.
"""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mini_alarms import false_alarms
from mini_card import write_card
from mini_corpus import drawn_passages, held_out_tables, lines_of, passages
from mini_training import load_weights, put_weights
from slips import DigitScores, detection, print_tables
from table_doubts import table_figures

import numerate
from numerate.apps.calibrating import calibrate, seen_kinds
from numerate.apps.table_mates import mates_of
from numerate.files import file_hash
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.modeling.number_calibration import CALIBRATION_FILE, read_calibration
from numerate.modeling.plausibility import UNIT, bits_of, hidden_numbers, interval_ends
from numerate.modeling.written_forms import WrittenForms
from numerate.numerals.numeral import KINDS
from numerate.reading import make_reader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

RARE = ("money", "percent")
"""Kinds of which a draw of sentences has too few numbers to calibrate or to measure intervals."""
TABLES_READ = 400
"""Tables that cells are calibrated on; four rows of each."""
_MAY_BE_RARE = re.compile(r"[%$£€¥]|percent|per cent|dollar|euro|pound", re.IGNORECASE)
WORST = 1.005
"""A figure in 8 bits may be this many times that of bfloat16."""


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
    kept = _Kept(folder / "finish", {"held_out": most, "weights": file_hash(output / "number_model.safetensors")})
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
    figures["false alarms"] = kept("false alarms", lambda: false_alarms(small, data, options.alarms or most))
    figures["tables"] = kept("tables", lambda: table_figures(small, data, most // 10))
    figures["worse in 8 bits"] = compared(figures)
    recipe = {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("meta", "words", "numbers")}
    _write(output, recipe, figures)


def recalibrate(options: argparse.Namespace) -> None:
    """Calibrates and measures the model of a folder again, and writes all files of the folder but the weights."""
    data, output, most = Path(options.data), Path(options.output), options.held_out
    small = numerate.from_pretrained(output)
    earlier = json.loads((output / "figures.json").read_text("utf-8"))
    figures = dict(earlier["figures"])
    settings = {"held_out": most, "alarms": options.alarms, "weights": file_hash(output / "number_model.safetensors")}
    kept = _Kept(Path(options.folder) / "recalibrate", settings)
    former, dev = small.calibration, held_out_texts(data, "dev", most)
    figures["calibrated on"], text = kept("calibration", lambda: calibrated(small, dev, data))
    (output / CALIBRATION_FILE).write_text(text, encoding="utf-8")
    small.calibration = read_calibration(output)
    figures["tables"] = kept("tables", lambda: table_figures(small, data, most // 10))
    found = kept("detection", lambda: detection(small, data, most=most, passages_read=most * 2, train=None))
    for name, each in found.items():
        each["methods"] = figures["detection"][name]["methods"] | each["methods"]
    figures["detection"] = found
    figures["false alarms"] = kept("false alarms", lambda: false_alarms(small, data, options.alarms or most))
    test = held_out_texts(data, "test", most)
    if _same_intervals(former, small.calibration):  # but for rare kinds, nothing else can have changed
        figures["8 bits"] |= {"rare": kept("rare", lambda: measured_rare(small, test["rare"]))}
    else:
        figures["8 bits"] = kept("8 bits", lambda: measured(small, test))
    _write(output, earlier["recipe"], figures)


def _same_intervals(one: Any, other: Any) -> bool:
    """Whether two calibrations stretch the intervals of sentences alike (2 %), for all kinds that are not rare."""
    kinds = [name for name in (*one.stretch, *other.stretch) if name in KINDS and name not in RARE]
    pairs = [(one.stretch.get(name, ()), other.stretch.get(name, ())) for name in kinds]
    return all(len(a) == len(b) and np.allclose(a, b, rtol=0.02) for a, b in pairs)


def _write(output: Path, recipe: dict[str, Any], figures: dict[str, Any]) -> None:
    """Prints the figures, and writes them and the model card."""
    files = {str(path.relative_to(output)): path.stat().st_size for path in output.rglob("*") if path.is_file()}
    figures["bytes"] = sum(files.values())
    print_tables(figures["detection"])
    print(json.dumps({key: value for key, value in figures.items() if "detection" not in key}, indent=2))
    write_card(output, recipe, figures)
    (output / "figures.json").write_text(json.dumps({"recipe": recipe, "figures": figures}, indent=1) + "\n", "utf-8")
    print(f"{output}: {figures['bytes'] / 1e6:.1f} MB")


class _Kept:
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

    How numbers are written is counted in training texts, of which there are more. Of the sentences that were looked for
    because of a rare kind, only the numbers of those kinds count.
    """
    train = [text for texts in passages(data, "train", passages_read) for text in texts]
    train += [each["comment"] for each in lines_of(data / "units" / "train.jsonl.gz")]
    kinds, find = model.processor.kinds, model.processor.reader.find
    forms = WrittenForms.of(each for text in train for each in find(text) if kinds is None or each.kind in kinds)
    rows = [(table, unit) for table, units in held_out_tables(data, "dev", TABLES_READ) for unit in units]
    texts, drawn = [*dev["texts"], *dev["rare"]], len(dev["texts"])
    about = (
        f"{drawn} dev sentences, {len(dev['rare'])} for {' and '.join(RARE)}, and {len(rows)} rows that no training saw"
    )
    calibrate(
        model, texts, rows=[unit.text for _, unit in rows], about=about, forms=forms,
        mates=lambda row, numeral: mates_of(*rows[row], numeral),
        wanted=lambda row, numeral: not drawn <= row < len(texts) or numeral.kind in RARE,
    )  # fmt: skip
    return about, model.calibration.to_json()


def held_out_texts(data: Path, split: str, most: int) -> dict[str, list[str]]:
    """Sentences of a split with numbers (`texts`), with numbers of rare kinds (`rare`), and without any (`plain`)."""
    # The first passages of a split are of few subjects: a calibration to them does not hold for others.
    some = drawn_passages(data, split, 2 * most) if split == "dev" else passages(data, split, most)
    sentences = [text for texts in some for text in texts]
    with_numbers = [text for text in sentences if any(char.isdigit() for char in text)]
    units = [each["comment"] for each in lines_of(data / "units" / f"{split}.jsonl.gz")]
    texts = [*with_numbers[: 2 * most if split == "dev" else most], *units[:most]]
    plain = [text for text in sentences if not any(char.isdigit() for char in text)]
    return {"texts": texts, "rare": _rare(data, split, most // 4, set(texts)), "plain": plain[:most]}


def _rare(data: Path, split: str, most: int, known: set[str]) -> list[str]:
    """Sentences of all passages of a split that have a number of a rare kind, and are not known."""
    find = make_reader("standard").find
    every = dict.fromkeys(text for texts in passages(data, split) for text in texts)
    may_be = [text for text in every if _MAY_BE_RARE.search(text) and text not in known]
    found = [text for text in may_be if any(each.kind in RARE for each in find(text))]
    random.Random(0).shuffle(found)
    return found[:most]


def measured(model: Any, texts: dict[str, list[str]]) -> dict[str, Any]:
    """Figures of hidden numbers of test sentences: NLL, errors, coverage by kind; and masked words."""
    found = Intervals(model, texts["texts"])
    gold, guess = (from_signed_log(torch.from_numpy(each), UNIT).numpy() for each in (found.truth, found.medians))
    whole = (gold > 0) & (guess > 0)
    errors = np.abs(np.log10(gold[whole]) - np.log10(guess[whole]))
    figures = {
        "numbers": len(gold), "nll": float(found.bits.mean() * math.log(2)), "log_mae": _mean(errors),
        "median_log_error": float(np.median(errors)), "within_2": _mean(errors <= math.log10(2)),
        "within_2_plain": _mean(errors[found.plain[whole]] <= math.log10(2)),
        "coverage_90": float(found.inside.mean()),
        "coverage_90_by_kind": {name: found.coverage(name) for name in sorted(set(found.kinds.tolist()))},
        "hit_1": hit_at_1(model, texts["plain"]),
    }  # fmt: skip
    return figures | {"rare": measured_rare(model, texts["rare"])}


def measured_rare(model: Any, texts: list[str]) -> dict[str, dict[str, Any]]:
    """Coverage of the 90 % intervals of numbers of rare kinds, and how many there are."""
    found = Intervals(model, texts)
    return {name: {"coverage_90": found.coverage(name), "numbers": int((found.kinds == name).sum())} for name in RARE}


class Intervals:
    """Hidden numbers of texts (`truth`), their medians and surprise, and whether the 90 % intervals hold them."""

    def __init__(self, model: Any, texts: list[str]) -> None:
        parts: list[Any] = []
        numerals: list[Any] = []
        for hidden in hidden_numbers(model, texts):
            median, bottom, top = interval_ends(hidden.numbers)
            ends = np.column_stack([bottom[:, 2], top[:, 2]])
            if model.calibration is not None:
                seen = seen_kinds(model, [texts[row] for row in hidden.rows], hidden.numerals, median)
                ends = model.calibration.stretched(seen, (0.05, 0.95), ends, median)
            truth = signed_log(hidden.targets.values(), UNIT).cpu().numpy()
            inside = (truth >= ends[:, 0] - 1e-9) & (truth <= ends[:, 1] + 1e-9)
            parts.append((truth, median, inside, bits_of(hidden.numbers, hidden.targets)))
            numerals += hidden.numerals
        columns = [np.concatenate(each) for each in zip(*parts, strict=True)] or [np.zeros(0)] * 4
        self.truth, self.medians, self.inside, self.bits = columns
        self.kinds = np.array([each.kind for each in numerals])
        self.plain = np.array([each.kind == "quantity" and each.unit is None for each in numerals], dtype=bool)

    def coverage(self, kind: str) -> float | None:
        """The share of a kind's numbers that lie in their 90 % intervals."""
        return _mean(self.inside[self.kinds == kind])


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
        logits = model(**batch, return_loss=False).logits[masked]
        hits += int((logits[:, : model.processor.first_id].argmax(-1) == ids[masked]).sum())
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


def _mean(values: np.ndarray) -> float | None:
    """The mean; None if there are no values."""
    return float(values.mean()) if len(values) else None
