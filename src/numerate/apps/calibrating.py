"""`calibrate`: what a model's alarms and intervals mean, from held-out texts whose numbers are right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.apps.documents import Problem
from numerate.apps.plausible import scores_of
from numerate.apps.shown_texts import units_of
from numerate.errors import BadInput
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.metrics.conformal import FEWEST
from numerate.modeling.number_calibration import CELL, MEASURES, NumberCalibration, fit_calibration, group_of
from numerate.modeling.plausibility import BATCH_TOKENS, UNIT, hidden_numbers, interval_ends
from numerate.modeling.written_forms import WrittenForms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral

__all__ = ["calibrate", "calibrate_files", "kind_at", "seen_kinds"]

_BEHIND = re.compile(r".*\d", re.DOTALL)
"""All of a number but its percent sign or scale word."""


def calibrate(
    model: NumberModel, texts: Iterable[str], *, rows: Iterable[str] = (), about: str = "",
    batch_tokens: int = BATCH_TOKENS, forms: WrittenForms | None = None,
    progress: Callable[[int], Any] | None = None,
) -> NumberCalibration:  # fmt: skip
    """Fits what a model's alarms and intervals mean to texts that it was not trained on, and whose numbers are right.

    The result is set as `model.calibration`, which `save_pretrained` keeps.

    Args:
        model: A masked model with a trained number head.
        texts: Held-out sentences; some hundred numbers of each kind give a good calibration.
        rows: Held-out rows of tables, as `numerate.records.row_text` writes them; they are calibrated apart.
        about: What the texts are, in one line.
        batch_tokens: Tokens of one pass.
        forms: How right numbers are written, counted in other texts; by default they are counted in these texts, and
            what the model's calibration knows of other texts is kept as prior knowledge.
        progress: Called with the count of numbers after each pass.

    Raises:
        BadInput: There are fewer than 30 numbers, or the model cannot judge numbers.
    """
    parts: list[Any] = []
    kinds: list[str] = []
    seen: list[str] = []
    every = list(texts)
    sentences = len(every)
    every += rows
    counted = forms is None
    if forms is None:
        forms = WrittenForms.of(numeral for text in every for numeral in _judged_numerals(model, text))
        if model.calibration is not None and model.calibration.forms is not None:
            forms = model.calibration.forms.updated(forms)
    for hidden in hidden_numbers(model, every, batch_tokens=batch_tokens):
        middle, low, high = interval_ends(hidden.numbers)
        truth = signed_log(hidden.targets.values(), UNIT).double().cpu().numpy()
        scores = scores_of(hidden, forms, counted=counted)[0]
        parts.append((truth, middle, low, high, *scores.values()))
        prefixes = [CELL if row >= sentences else "" for row in hidden.rows]
        kinds += [group_of(each, cell=bool(prefix)) for prefix, each in zip(prefixes, hidden.numerals, strict=True)]
        read = seen_kinds(model, [every[row] for row in hidden.rows], hidden.numerals, middle)
        seen += [prefix + kind for prefix, kind in zip(prefixes, read, strict=True)]
        if progress is not None:
            progress(len(kinds))
    if len(kinds) < FEWEST:
        raise BadInput(f"a calibration needs at least {FEWEST} numbers, got {len(kinds)}: give more texts")
    truth, middle, low, high, *values = (np.concatenate(each) for each in zip(*parts, strict=True))
    scores: dict[str, np.ndarray] = dict(zip(MEASURES, values, strict=True))
    model.calibration = fit_calibration(
        kinds, scores, truth, middle, low, high, interval_kinds=seen, about=about or f"{len(every):,} texts",
        forms=forms,
    )  # fmt: skip
    return model.calibration


def calibrate_files(model: NumberModel, paths: Sequence[str]) -> NumberCalibration:
    """`calibrate` with the sentences and rows of files whose numbers are right, of any format that `check` reads.

    Raises:
        BadInput: A file does not exist or cannot be read, or there are too few numbers.
    """
    from numerate.apps.formats.opening import read_documents

    texts: list[str] = []
    rows: list[str] = []
    for path in paths:
        for document in read_documents(path, None):
            if isinstance(document, Problem):
                if document.fatal:
                    raise BadInput(f"--calibrate {path}: {document.message}")
                continue
            into = texts if document.kind == "text" else rows
            into += [unit.text for unit in units_of(document)]
    names = ", ".join(Path(path).name for path in paths)
    return calibrate(model, texts, rows=rows, about=names)


def _judged_numerals(model: NumberModel, text: str) -> list[Numeral]:
    """The numbers of a text that the model reads."""
    kinds = model.processor.kinds
    return [each for each in model.processor.reader.find(text) if kinds is None or each.kind in kinds]


def seen_kinds(model: NumberModel, texts: Sequence[str], numerals: Sequence[Numeral], middle: np.ndarray) -> list[str]:
    """The kind of each number as one would read it with the predicted median in its place."""
    values = from_signed_log(torch.from_numpy(middle), UNIT).tolist()
    kinds = []
    for text, numeral, value in zip(texts, numerals, values, strict=True):
        kinds.append(kind_at(model, text[: numeral.start], value, _BEHIND.sub("", numeral.text) + text[numeral.end :]))
    return kinds


def kind_at(model: NumberModel, before: str, value: float, after: str) -> str:
    """The kind that a reader gives to a value between two parts of a text."""
    shown = f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"
    numerals = model.processor.reader.find(f"{before}{shown}{after}")
    found = next((each for each in numerals if each.start <= len(before) < each.end), None)
    return "quantity" if found is None else found.kind
