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
from numerate.apps.table_mates import mates_of
from numerate.errors import BadInput
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.metrics.conformal import FEWEST
from numerate.modeling.number_calibration import CELL, COLUMN, MEASURES, NumberCalibration, fit_calibration, group_of
from numerate.modeling.plausibility import BATCH_TOKENS, UNIT, hidden_numbers, interval_ends
from numerate.modeling.written_forms import WrittenForms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.apps.documents import Document
    from numerate.apps.shown_texts import Unit
    from numerate.modeling.column_mates import ColumnMates
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral

__all__ = ["calibrate", "calibrate_files", "kind_at", "seen_kinds"]

_BEHIND = re.compile(r".*\d", re.DOTALL)
"""All of a number but its percent sign or scale word."""


def calibrate(
    model: NumberModel, texts: Iterable[str], *, rows: Iterable[str] = (), about: str = "",
    batch_tokens: int = BATCH_TOKENS, forms: WrittenForms | None = None,
    progress: Callable[[int], Any] | None = None, mates: Callable[[int, Numeral], ColumnMates | None] | None = None,
    wanted: Callable[[int, Numeral], bool] | None = None,
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
        mates: Gives the other numbers of the column for a number of a row (index in `rows`, numeral), so that cells
            that are compared with their column are calibrated, too; see `numerate.apps.table_mates`.
        wanted: Says of a number of a text (index in `texts` with `rows` behind them, numeral) whether it counts; by
            default all do.

    Raises:
        BadInput: There are fewer than 30 numbers, or the model cannot judge numbers.
    """
    parts: list[Any] = []
    kinds: list[str] = []
    seen: list[str] = []
    numbers = 0
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
        pairs = list(zip(hidden.rows, hidden.numerals, strict=True))
        cells = [row >= sentences for row in hidden.rows]
        read = seen_kinds(model, [every[row] for row in hidden.rows], hidden.numerals, middle)
        beside = [mates(row - sentences, each) if mates and row >= sentences else None for row, each in pairs]
        chosen = [at for at, pair in enumerate(pairs) if wanted is None or wanted(*pair)]
        in_columns = [at for at in chosen if beside[at] is not None]
        numbers += len(chosen)
        # Cells with a column count twice: by their row alone, and compared with their column.
        for some, columns in ((chosen, None), (in_columns, beside)):
            if some:
                scores = scores_of(hidden, forms, counted=counted, cells=cells, mates=columns or ())[0]
                parts.append([each[some] for each in (truth, middle, low, high, *scores.values())])
                is_column = columns is not None
                kinds += [group_of(hidden.numerals[at], cell=cells[at], column=is_column) for at in some]
                seen += [(COLUMN if is_column else CELL if cells[at] else "") + read[at] for at in some]
        if progress is not None:
            progress(numbers)
    if numbers < FEWEST:
        raise BadInput(f"a calibration needs at least {FEWEST} numbers, got {numbers}: give more texts")
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
    rows: list[tuple[Document, Unit]] = []
    for path in paths:
        for document in read_documents(path, None):
            if isinstance(document, Problem):
                if document.fatal:
                    raise BadInput(f"--calibrate {path}: {document.message}")
                continue
            if document.kind == "text":
                texts += [unit.text for unit in units_of(document)]
            else:
                rows += [(document, unit) for unit in units_of(document)]
    names = ", ".join(Path(path).name for path in paths)
    return calibrate(
        model,
        texts,
        rows=[unit.text for _, unit in rows],
        about=names,
        mates=lambda row, each: mates_of(*rows[row], each),
    )


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
