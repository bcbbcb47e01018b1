"""Calibration of `numerate-mini` for rare kinds of numbers, how many numbers its intervals hold, and both again.

Of some thousand drawn sentences about one in a hundred holds a price or a percentage. A 90 % interval that is fitted to
70 numbers holds between 83 and 96 % of others by chance alone, and no alarm at 1 % can be raised after so few. So rare
kinds are fitted to (and measured on) numbers of all sentences of the dev (and test) parts.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import wilson_interval
from mini_alarms import false_alarms
from mini_corpus import drawn_passages, lines_of
from slip_cases import CORPORA

import numerate
from numerate.apps.calibrating import calibrate_kinds, seen_kinds
from numerate.files import file_hash
from numerate.heads.mixture import signed_log
from numerate.metrics.conformal import LEVELS
from numerate.modeling.number_calibration import CALIBRATION_FILE, read_calibration
from numerate.modeling.plausibility import UNIT, hidden_numbers, interval_ends

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from numerate.modeling.plausibility import HiddenNumbers

RARE = ("money", "percent", "ratio", "range")
"""Kinds with fewer than 300 numbers in the drawn dev sentences."""
ENOUGH = 1000
"""Numbers of a kind that are enough: chance moves the share that an interval holds by 0.01."""
_PARTS = 4
_LEVEL = LEVELS.index(0.9)


def any_sentences(data: Path, split: str) -> list[str]:
    """All sentences with a digit of a split of `wiki` and `units`, in random order."""
    found = [text for texts in drawn_passages(data, split) for text in texts if any(char.isdigit() for char in text)]
    found += [each["comment"] for each in lines_of(data / "units" / f"{split}.jsonl.gz")]
    random.Random(0).shuffle(found)
    return found


def calibrate_rare(model: Any, data: Path, about: str, enough: int = ENOUGH) -> str:
    """Fits the rare kinds of a calibrated model to all dev sentences; returns what it is calibrated on, in words."""
    about = f"{about.partition(';')[0]}; rare kinds to up to {enough:,} numbers each of all dev sentences"
    calibrate_kinds(model, any_sentences(data, "dev"), RARE, most=enough, about=about)
    return about


def inside_90(model: Any, hidden: HiddenNumbers, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Whether the 90 % interval of each hidden number holds it (N,), and signed logarithms of the medians (N,)."""
    median, low, high = interval_ends(hidden.numbers)
    ends = np.column_stack([low[:, _LEVEL], high[:, _LEVEL]])
    if model.calibration is not None:
        seen = seen_kinds(model, [texts[row] for row in hidden.rows], hidden.numerals, median)
        ends = model.calibration.stretched(seen, (0.05, 0.95), ends, median)
    truth = signed_log(hidden.targets.values(), UNIT).cpu().numpy()
    return (truth >= ends[:, 0] - 1e-9) & (truth <= ends[:, 1] + 1e-9), median


def held_by_intervals(
    model: Any, texts: Sequence[str], only: Sequence[int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the 90 % interval of each number of the texts holds it (N,), and their kinds (N,)."""
    inside: list[np.ndarray] = [np.zeros(0, dtype=bool)]
    kinds: list[str] = []
    for hidden in hidden_numbers(model, texts, only=only):
        inside.append(inside_90(model, hidden, texts)[0])
        kinds += [numeral.kind for numeral in hidden.numerals]
    return np.concatenate(inside), np.array(kinds, dtype=str)


def intervals_by_kind(model: Any, data: Path, split: str = "test", enough: int = ENOUGH) -> dict[str, dict[str, Any]]:
    """By kind as it is written: numbers of any sentences, the share that 90 % intervals hold, and its 95 % interval."""
    left = dict.fromkeys(sorted(model.processor.kinds), enough)
    texts: list[str] = []
    starts: list[int] = []
    for text in any_sentences(data, split):
        for numeral in model.processor.reader.find(text):
            if left.get(numeral.kind, 0) > 0:
                left[numeral.kind] -= 1
                texts.append(text)
                starts.append(numeral.start)
    inside, names = held_by_intervals(model, texts, starts)
    return {kind: share_of(inside[names == kind]) for kind in left if (names == kind).any()}


def share_of(hits: np.ndarray) -> dict[str, Any]:
    """The share of hits, and its 95 % interval after Wilson."""
    share = float(hits.mean())
    interval = [round(float(end), 4) for end in wilson_interval(share, len(hits))]
    return {"numbers": len(hits), "share": share, "interval": interval}


def refit(options: argparse.Namespace) -> None:
    """Calibrates the rare kinds of a finished model again, measures what that changes, and writes its card."""
    from mini_finish import Kept, held_out_texts, write_card

    data, output, most = Path(options.data), Path(options.output), options.held_out
    model = numerate.from_pretrained(output)
    if model.calibration is None:
        raise SystemExit(f"{output} has no {CALIBRATION_FILE}: run the stage `finish` first")
    enough = min(ENOUGH, most)
    folder, weights = Path(options.folder) / "refit", file_hash(output / "number_model.safetensors")

    def calibrated() -> tuple[str, str]:
        about = calibrate_rare(model, data, model.calibration.about, enough)
        return about, model.calibration.to_json()

    about, text = Kept(folder, {"weights": weights, "enough": enough})("calibration", calibrated)
    (output / CALIBRATION_FILE).write_text(text, encoding="utf-8")
    model.calibration = read_calibration(output)
    kept = Kept(folder, {"held_out": most, "calibration": file_hash(output / CALIBRATION_FILE)})
    record = json.loads((output / "figures.json").read_text("utf-8"))
    figures: dict[str, Any] = record["figures"]
    figures["calibrated on"] = about
    figures["intervals"] = kept("intervals", lambda: intervals_by_kind(model, data, enough=enough))
    texts = held_out_texts(data, "test", most)["texts"]
    figures["8 bits"] |= _of_parts(model, texts, kept)
    for name in CORPORA:
        figures["false alarms"] |= kept(f"alarms-{name}", lambda name=name: false_alarms(model, data, most, [name]))
    # Measured with the calibration of before: the weights of bfloat16 are not here, and `false alarms` say more than
    # those of one number in each text.
    for name in ("coverage_90", "coverage_90_by_kind"):
        figures["bfloat16"].pop(name, None)
    for found in (*figures["detection"].values(), *figures["detection of bfloat16"].values()):
        found.pop("false_alarms", None)
    write_card(output, record["recipe"], figures)
    (output / "figures.json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    shown = {name: figures[name] for name in ("calibrated on", "8 bits", "intervals", "false alarms")}
    print(json.dumps(shown, indent=2))


def _of_parts(model: Any, texts: list[str], kept: Callable[..., Any]) -> dict[str, Any]:
    """What 90 % intervals hold of all numbers of the texts, in parts that are kept one by one."""

    def part(number: int) -> dict[str, Any]:
        inside, kinds = held_by_intervals(model, texts[number::_PARTS])
        return {"inside": inside.tolist(), "kinds": kinds.tolist()}

    parts = [kept(f"coverage-{number}", lambda number=number: part(number)) for number in range(_PARTS)]
    inside = np.array([each for one in parts for each in one["inside"]])
    kinds = np.array([each for one in parts for each in one["kinds"]])
    by_kind = {str(name): float(inside[kinds == name].mean()) for name in sorted(set(kinds.tolist()))}
    return {"coverage_90": float(inside.mean()), "coverage_90_by_kind": by_kind}
