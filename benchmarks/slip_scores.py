"""Scores of planted slips by a model with a sense of numbers, and by the rules of `numerate check`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from planted_slips import KINDS
from slip_baselines import MISSED

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.consistency.confirmed import SentenceConfirmation
from numerate.apps.consistency.dates.ordinal_endings import wrong_endings
from numerate.apps.documents import Document
from numerate.apps.plausible_scores import scores_of
from numerate.apps.undoubted import is_no_size
from numerate.modeling.number_calibration import MEASURES
from numerate.modeling.plausibility import HiddenNumbers, hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slip_cases import Case

    from numerate.numerals.numeral import Numeral

CERTAIN = 1e6
"""Score of a number that a rule finds."""


class ModelScores:
    """Scores of a model with a sense of numbers, by those of `MEASURES` that it is calibrated for."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.kinds = model.processor.kinds
        self.forms = None if model.calibration is None else model.calibration.forms
        self.sizes = None if model.calibration is None else model.calibration.sizes
        self.measures = MEASURES if self.forms is not None else MEASURES[:3]

    def __call__(self, cases: Sequence[Case]) -> dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]:
        """For each measure, the scores of the right numbers and of those with each slip (NaN where there is none)."""
        right = {name: np.full(len(cases), MISSED) for name in self.measures}
        wrong = {name: {kind: np.full(len(cases), np.nan) for kind in KINDS} for name in self.measures}
        texts, starts = [case.text for case in cases], [case.numeral.start for case in cases]
        for hidden in hidden_numbers(self.model, texts, only=starts):
            self._put(right, self._scores(hidden), hidden.rows)
            for kind in KINDS:
                # A hidden number leaves nothing behind: the same distribution holds for what is planted there.
                chosen = [at for at, row in enumerate(hidden.rows) if kind in cases[row].wrong]
                if kind == "unit" or not chosen:
                    continue
                new = [cases[hidden.rows[at]].wrong[kind][1] for at in chosen]
                seen = [at for at, each in zip(chosen, new, strict=True) if self._sees(each)]
                for at in chosen:
                    for name in self.measures:
                        row = hidden.rows[at]
                        wrong[name][kind][row] = CERTAIN if _has_wrong_ending(cases[row], kind) else MISSED
                if seen:
                    some = replaced(hidden, seen, [each for each in new if self._sees(each)])
                    self._put({name: wrong[name][kind] for name in self.measures}, self._scores(some), some.rows)
        self._other_units(cases, wrong)
        return {name: (right[name], wrong[name]) for name in self.measures}

    def _scores(self, hidden: HiddenNumbers) -> dict[str, np.ndarray]:
        return scores_of(hidden, self.forms, sizes=self.sizes)[0]

    def _other_units(self, cases: Sequence[Case], wrong: dict[str, dict[str, np.ndarray]]) -> None:
        """Another unit changes what the number is expected to be, so that the text is read again."""
        rows = [row for row, case in enumerate(cases) if "unit" in case.wrong]
        texts = [cases[row].wrong["unit"][0] for row in rows]
        for hidden in hidden_numbers(self.model, texts, only=[cases[row].numeral.start for row in rows]):
            places = [rows[row] for row in hidden.rows]
            self._put({name: wrong[name]["unit"] for name in self.measures}, self._scores(hidden), places)

    def _sees(self, numeral: Numeral | None) -> bool:
        return numeral is not None and (self.kinds is None or numeral.kind in self.kinds)

    def _put(self, into: dict[str, np.ndarray], scores: dict[str, np.ndarray], rows: Sequence[int]) -> None:
        for name in self.measures:
            into[name][list(rows)] = scores[name]


def _has_wrong_ending(case: Case, kind: str) -> bool:
    """Whether the slip left an ordinal with a wrong ending."""
    text, start = case.wrong[kind][0], case.numeral.start
    return any(first <= start < last for first, last, _ in wrong_endings(text))


def replaced(hidden: HiddenNumbers, at: list[int], numerals: list[Any]) -> HiddenNumbers:
    """Some of the hidden numbers with other numerals in their places."""
    index = torch.tensor(at, device=hidden.targets.bits.device)
    ratios = [new.written / hidden.numerals[each].written for each, new in zip(at, numerals, strict=True)]
    values = hidden.targets.values()[index] * torch.tensor(ratios, dtype=torch.float64, device=index.device)
    targets = dataclasses.replace(hidden.targets[index], bits=values.view(torch.int64))
    words = [hidden.words[each] for each in at]
    return HiddenNumbers([hidden.rows[each] for each in at], numerals, hidden.numbers[index], targets, words)


def with_rules(
    cases: Sequence[Case], right: np.ndarray, wrong: dict[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Scores as `numerate check` has them: those of the model, `CERTAIN` where a rule names the number, and `MISSED`.

    `MISSED` are numbers that `check` never doubts: codes, values of symbols, years of today, and numbers that the rest
    of the sentence confirms. Rows of tables have the model's scores.
    """
    checker, confirmation = ConsistencyChecker(), SentenceConfirmation()

    def named(text: str, start: int) -> bool:
        for found in checker.check(Document(kind="text", text=text)):
            places = [(each["start"], each["end"]) for each in found.evidence.get("others", ())]
            if any(first <= start < last for first, last in [*places, *([found.span] if found.span else [])]):
                return True
        return False

    def scored(kind: str | None, scores: np.ndarray) -> np.ndarray:
        result = scores.copy()
        for row, case in enumerate(cases):
            if case.is_row or (kind is not None and kind not in case.wrong):
                continue
            text, numeral = (case.text, case.numeral) if kind is None else case.wrong[kind]
            if named(text, case.numeral.start):
                result[row] = CERTAIN
            elif numeral is not None and (is_no_size(text, numeral) or confirmation.holds(text, numeral)):
                result[row] = MISSED
        return result

    return scored(None, right), {kind: scored(kind, scores) for kind, scores in wrong.items()}
