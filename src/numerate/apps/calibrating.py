"""`calibrate`: what a model's alarms and intervals mean, from held-out texts whose numbers are right."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.apps.documents import Problem
from numerate.apps.plausible_scores import scores_of
from numerate.apps.shown_texts import units_of
from numerate.errors import BadInput
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.metrics.conformal import FEWEST
from numerate.modeling.asking import text_list
from numerate.modeling.number_calibration import CELL, MEASURES, NumberCalibration, fit_calibration, group_of
from numerate.modeling.plausibility import BATCH_TOKENS, UNIT, hidden_numbers, interval_ends
from numerate.modeling.word_sizes import WordSizes
from numerate.modeling.written_forms import WrittenForms
from numerate.numerals.numeral import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate.modeling.plausibility import HiddenNumbers
    from numerate.numerals.numeral import Numeral

__all__ = ["calibrate", "calibrate_files", "calibrate_kinds", "chosen_for", "kind_at", "seen_kinds"]

_BEHIND = re.compile(r".*\d", re.DOTALL)
"""All of a number but its percent sign or scale word."""
_LEAST_SHARE = 0.05
"""Sizes by word are left out below this share: the model knows them, and a user's words are not stored for nothing."""
_PROBES = (0.5, 3.0, 12.0, 50.0, 150.0, 1950.0, 2010.0, 50_000.0)
"""Values that tell which kinds a number may be seen as: the kind of a gap depends on the median that is put there."""


def calibrate(
    model: NumberModel, texts: Iterable[str], *, rows: Iterable[str] = (), about: str = "",
    batch_tokens: int = BATCH_TOKENS, forms: WrittenForms | None = None,
    progress: Callable[[int], Any] | None = None,
) -> NumberCalibration:  # fmt: skip
    """Fits what a model's alarms and intervals mean to texts that it was not trained on, and whose numbers are right.

    Where the model is a poor judge of such texts, the sizes of their numbers by word or unit count, too (`WordSizes`),
    as far as these numbers are more probable so. The result is `model.calibration`, which `save_pretrained` keeps.

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
    every = _given_texts(model, texts)
    sentences = len(every)
    every += text_list(rows, "calibrate")
    counted, sizes = forms is None, None
    if forms is None:
        forms = WrittenForms.of(numeral for text in every for numeral in _judged_numerals(model, text))
        if model.calibration is not None and model.calibration.forms is not None:
            forms = model.calibration.forms.updated(forms)
    passes = hidden_numbers(model, every, batch_tokens=batch_tokens)
    held = _collected(model, every, passes, forms, counted=counted, sentences=sentences, progress=progress)
    if len(held["kinds"]) < FEWEST:
        raise BadInput(f"a calibration needs at least {FEWEST} numbers, got {len(held['kinds'])}: give more texts")
    if counted:
        sizes = WordSizes.of(zip(held["numerals"], held["words"], strict=True))
        written = np.array([numeral.written for numeral in held["numerals"]])
        sizes = sizes.fitted(held["words"], written, -math.log(2) * held["bits"])
        if sizes.share < _LEAST_SHARE:
            sizes = None
        else:
            held["odds"] = held["odds"] + sizes.bits(held["words"], written, counted=True)
    model.calibration = _fitted(held, about or f"{len(every):,} texts", forms, sizes)
    return model.calibration


def _given_texts(model: Any, texts: Any) -> list[str]:
    """The texts of a call of `calibrate`; refuses what is no model, and one text whose letters would be the texts."""
    if not hasattr(model, "calibration"):
        raise BadInput(f"calibrate takes a NumberModel, got {model!r:.60}: load it with numerate.from_pretrained(...)")
    if isinstance(texts, str):
        raise BadInput(f"calibrate takes many texts, got one: {texts[:60]!r}")
    return text_list(texts, "calibrate")


def calibrate_kinds(
    model: NumberModel, texts: Iterable[str], kinds: Sequence[str], *, most: int = 1000, about: str = "",
    batch_tokens: int = BATCH_TOKENS,
) -> NumberCalibration:  # fmt: skip
    """Fits a calibrated model again for rare kinds, to their numbers in more held-out sentences.

    Some thousand sentences that are drawn at random hold a hundred prices: too few for a 90 % interval that holds 90 %,
    or for alarms at 1 %. Here only numbers that may be of these kinds are hidden, so that many more sentences can be
    looked through. What is fitted to other kinds, to all kinds together and to rows of tables stays as it is.

    Args:
        model: A model with a calibration; the counts of its written numbers are used, and stay.
        texts: Held-out sentences, in an order that has nothing to do with their numbers; give those of `calibrate` too.
        kinds: Kinds of numeral. One with fewer than 30 numbers in the texts stays as it is.
        most: Numbers of each kind, as they are written, that are enough.
        about: What the calibration was fitted to, in one line; by default what it says already.
        batch_tokens: Tokens of one pass.

    Raises:
        BadInput: The model is not calibrated, or there is no such kind.
    """
    calibration = model.calibration
    if calibration is None:
        raise BadInput("the model has no calibration: call calibrate first")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise BadInput(f"unknown kind {unknown[0][:40]!r}: known are {', '.join(KINDS)}")
    chosen = chosen_for(model, texts, kinds, most)
    every = [text for text, _, _ in chosen]
    passes = hidden_numbers(model, every, batch_tokens=batch_tokens, only=[numeral.start for _, numeral, _ in chosen])
    forms = calibration.forms or WrittenForms()
    held = _collected(model, every, passes, forms, sizes=calibration.sizes, sentences=len(every))
    for kind in kinds:
        mine = np.array([kind in chosen[row][2] for row in held["rows"]], dtype=bool)
        if mine.sum() >= FEWEST:
            calibration = calibration.with_kind(kind, _fitted(_some(held, mine), "", None))
    model.calibration = dataclasses.replace(calibration, about=about or calibration.about)
    return model.calibration


def chosen_for(
    model: NumberModel, texts: Iterable[str], kinds: Sequence[str], most: int
) -> list[tuple[str, Numeral, set[str]]]:
    """Numbers that are of some kinds, or would be seen as such if another value stood there, and for which kinds.

    That is asked for each number by itself and not of its value, so that the numbers that are seen as a kind are no
    other ones than in all of the texts. Those of a kind end with the `most`th that is written as such.
    """
    found: list[tuple[str, Numeral, set[str]]] = []
    left = dict.fromkeys(kinds, most)
    for text in texts:
        for numeral in _judged_numerals(model, text):
            before, after = text[: numeral.start], _BEHIND.sub("", numeral.text) + text[numeral.end :]
            may_be = {numeral.kind, *(kind_at(model, before, value, after) for value in _PROBES)}
            mine = {kind for kind in may_be if left.get(kind, 0) > 0}
            if mine:
                found.append((text, numeral, mine))
            if numeral.kind in mine:
                left[numeral.kind] -= 1
        if not any(left.values()):
            break
    return found


def _collected(
    model: NumberModel, every: Sequence[str], passes: Iterable[HiddenNumbers], forms: WrittenForms, *,
    sizes: WordSizes | None = None, counted: bool = False, sentences: int, progress: Callable[[int], Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a calibration is fitted to, by name: texts from `sentences` on are rows of tables."""
    parts: list[Any] = []
    names: dict[str, list[Any]] = {"rows": [], "kinds": [], "seen": [], "numerals": [], "words": []}
    for hidden in passes:
        middle, low, high = interval_ends(hidden.numbers)
        truth = signed_log(hidden.targets.values(), UNIT).double().cpu().numpy()
        scores = scores_of(hidden, forms, sizes=sizes, counted=counted)[0]
        parts.append((truth, middle, low, high, *scores.values()))
        prefixes = [CELL if row >= sentences else "" for row in hidden.rows]
        pairs = zip(prefixes, hidden.numerals, strict=True)
        names["rows"] += hidden.rows
        names["numerals"] += hidden.numerals
        names["words"] += hidden.words
        names["kinds"] += [group_of(each, cell=bool(prefix)) for prefix, each in pairs]
        read = seen_kinds(model, [every[row] for row in hidden.rows], hidden.numerals, middle)
        names["seen"] += [prefix + kind for prefix, kind in zip(prefixes, read, strict=True)]
        if progress is not None:
            progress(len(names["kinds"]))
    arrays = [np.concatenate(each) for each in zip(*parts, strict=True)] or [np.zeros(0)] * (4 + len(MEASURES))
    return names | dict(zip(("truth", "medians", "low", "high", *MEASURES), arrays, strict=True))


def _some(held: dict[str, Any], mine: np.ndarray) -> dict[str, Any]:
    return {name: np.asarray(held[name])[mine] for name in held if name != "numerals"}


def _fitted(
    held: dict[str, Any], about: str, forms: WrittenForms | None, sizes: WordSizes | None = None
) -> NumberCalibration:
    return fit_calibration(
        held["kinds"], {name: held[name] for name in MEASURES}, held["truth"], held["medians"], held["low"],
        held["high"], interval_kinds=held["seen"], about=about, forms=forms, sizes=sizes,
    )  # fmt: skip


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
