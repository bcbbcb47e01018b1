"""False alarms of `numerate-mini`: the share of right numbers that are reported, over all numbers of held-out texts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
from mini_corpus import lines_of
from slip_cases import CORPORA, held_out
from slips import RATES

from numerate.apps.calibrating import calibrate
from numerate.apps.plausible_scores import scores_of
from numerate.errors import BadInput
from numerate.modeling.number_calibration import alarm_measure, group_of
from numerate.modeling.plausibility import hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate.modeling.plausibility import HiddenNumbers


def false_alarms(model: Any, data: Path, most: int, corpora: Sequence[str] = CORPORA) -> dict[str, Any]:
    """By corpus and rate: as the model is calibrated, and calibrated to dev texts of the corpus; `numbers` counts them.

    Each corpus gives at most `most` texts of a split, so that those of different sizes weigh alike. Passages of wiki
    are drawn from the whole split: the first ones are of few subjects, and their rates differ from those of others.
    `market` has but 1,300 texts in a split, and both a calibration to them and a measure on them is a matter of chance
    (4 to 6 % become 3 to 7 %): no model of ours saw its train part, whose articles fill up both.
    """
    shipped, found = model.calibration, {}
    for name in corpora:
        every = ([*held_out(data, name, split, most, drawn=True), *_more(data, name, split)] for split in _SPLITS)
        dev, test = ([each for each in texts if _fits(each)][:most] for texts in every)
        hidden = list(hidden_numbers(model, [text for text, _ in test]))
        figures: dict[str, Any] = {"numbers": sum(map(len, hidden))}
        figures["as shipped"] = _shares(shipped, test, hidden)
        sentences, rows = ([text for text, is_row in dev if is_row is wanted] for wanted in (False, True))
        try:
            figures["after --calibrate"] = _shares(calibrate(model, sentences, rows=rows), test, hidden)
            figures["calibrated on"] = len(dev)
        except BadInput:  # too few numbers, in a trial
            figures["after --calibrate"] = None
        found[name] = figures
        model.calibration = shipped
    return found


_SPLITS = ("dev", "test")


def _more(data: Path, name: str, split: str) -> list[tuple[str, bool]]:
    """Sentences of the train articles of `market`, drawn, one half for each split; nothing of other corpora."""
    if name != "market":
        return []
    texts: dict[str, list[str]] = {}
    for row, each in enumerate(lines_of(data / name / "train.jsonl.gz")):
        texts.setdefault(each.get("id", f"{row}-0").rpartition("-")[0], []).append(each["comment"])
    articles = sorted(texts)
    random.Random(0).shuffle(articles)
    if split == "test":
        articles.reverse()
    return [(text, False) for article in articles[: len(articles) // 2] for text in texts[article]]


def _fits(each: tuple[str, bool]) -> bool:
    return len(each[0]) <= 500 and any(char.isdigit() for char in each[0])


def _shares(calibration: Any, texts: Sequence[tuple[str, bool]], found: Sequence[HiddenNumbers]) -> dict[str, float]:
    """The share of numbers that are reported at each rate."""
    measure, p = alarm_measure(calibration), []
    for hidden in found:
        kinds = [group_of(each, cell=texts[row][1]) for row, each in zip(hidden.rows, hidden.numerals, strict=True)]
        scores = scores_of(hidden, calibration.forms, sizes=calibration.sizes)[0][measure]
        p.append(calibration.p_values(measure, kinds, scores))
    return {f"{rate:g}": float((np.concatenate(p) <= rate).mean()) for rate in RATES}
