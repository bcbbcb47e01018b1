"""Plausible numbers: a language model's opinion of every number of a document, calibrated on held-out texts.

`PlausibilityChecker` is one of the checkers behind `numerate check`; `numerate.apps.calibrating` says what its alarms
mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.apps.consistency.confirmed import SentenceConfirmation, confirmed_cells
from numerate.apps.consistency.tables.table_numbers import table_of
from numerate.apps.familiarity import as_familiar, largest_before
from numerate.apps.plausible_findings import finding_of
from numerate.apps.plausible_scores import gains_with_sizes, named_slips, scores_of, shown_densities, usual_values
from numerate.apps.shown_texts import Unit, units_of
from numerate.apps.table_mates import has_signs, is_usual, mates_of
from numerate.apps.undoubted import is_meant_sign, is_no_size
from numerate.errors import BadInput
from numerate.modeling.asking import in_turn
from numerate.modeling.number_calibration import alarm_measure, group_of
from numerate.modeling.plausibility import (
    BATCH_TOKENS,
    HiddenNumbers,
    check_can_judge,
    hidden_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding
    from numerate.modeling.number_calibration import NumberCalibration
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral
    from numerate.numerals.slips import SlipReading

__all__ = ["Judgement", "PlausibilityChecker", "judgements"]

RATIO = 100.0
"""How much more probable another reading must be to be named."""
_PRIOR = 0.02
"""Share of numbers that are wrong before anything is known, for the probability of a finding."""
_MOST = 0.99
_SURE = 0.3
"""With `fast`, a number this plausible while all numbers of its sentence are hidden is not asked for again."""

_ODD = 0.25
"""Numbers above this p-value are neither reported, nor do they say that a document is unlike others."""


@dataclass(frozen=True)
class Judgement:
    """A model's opinion of one number.

    Attributes:
        row: Index of its text.
        numeral: The number.
        tail: Two-sided tail of the model's distribution, from 0 to 1.
        bits: Surprise in bits: minus the binary logarithm of the density of the number's signed logarithm.
        slip: Binary logarithm of how much more probable the usual slips are together than what stands there.
        p: Share of right numbers of the same kind that look at least as wrong; calibrated.
        slips: Readings that are much more probable than what stands there, and not surprising themselves, best first,
            each with its ratio.
        median: What the model expected, in the units of `numeral.written`.
        interval: Its 90 % interval, calibrated.
        density: What it expected: `edges` of bins, in the same units, and their `shares`; None unless asked for.
        odds: Evidence for a slip in bits, which also knows how numbers are written; NaN without a calibration of it.
    """

    row: int
    numeral: Numeral
    tail: float
    bits: float
    slip: float
    p: float
    slips: tuple[tuple[SlipReading, float], ...] = ()
    median: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)
    density: Mapping[str, Any] | None = None
    odds: float = math.nan

    @property
    def probability(self) -> float:
        """How sure one can be that the number is wrong, if 2 % are: from `p`, or from a reading that fits better.

        A p-value of p is at most `-1 / (e p ln p)` times more probable for a wrong number than for a right one (Vovk
        and Sellke); a named slip has its own ratio, times how usual it is.
        """
        factor = 1.0 if self.p >= 1 / math.e else -1 / (math.e * self.p * math.log(self.p))
        named = max((ratio * reading.share for reading, ratio in self.slips), default=0.0)
        factor = max(factor, min(named, 1e6) if self.p <= _SURE else 0.0)
        return min(factor * _PRIOR / (factor * _PRIOR + 1 - _PRIOR), _MOST)


@in_turn
def judgements(
    model: NumberModel, texts: Sequence[str], *, measure: str | None = None, ratio: float = RATIO,
    calibration: NumberCalibration | None = None, batch_tokens: int = BATCH_TOKENS, fast: bool = False,
    explain: float = 1.0, cells: bool = False, densities: bool = False,
) -> list[Judgement]:  # fmt: skip
    """A model's opinion of every number of the texts, in order.

    Args:
        model: A masked model with a trained number head.
        texts: Sentences, or rows as text.
        measure: Which score `p` is made of: `odds`, `bits`, `slip` or `tail`; by default `odds`, if the calibration has
            it, and else `bits`.
        ratio: How much more probable another reading must be to be named.
        calibration: By default the model's own; without any, `p` is the tail.
        batch_tokens: Tokens of one pass.
        fast: First hide all numbers of a text at once, and ask again only for those that are not plausible then.
        explain: Median and interval are computed only for numbers with a `p` of at most this.
        cells: Whether the texts are rows of tables, which are calibrated apart.
        densities: Whether those numbers also get their density.

    Raises:
        BadInput: The model cannot judge numbers.
    """
    calibration = model.calibration if calibration is None else calibration
    measure = alarm_measure(calibration, measure)
    found: list[Judgement] = []
    wanted: list[int] | None = None
    if fast:
        for hidden in hidden_numbers(model, texts, batch_tokens=batch_tokens, together=True):
            found += _judged(hidden, measure, ratio, calibration, explain, cells=cells, densities=densities)
        counts: dict[int, int] = {}
        for each in found:
            counts[each.row] = counts.get(each.row, 0) + 1
        doubtful = {each.row for each in found if each.p < _SURE and counts[each.row] > 1}
        found, wanted = [each for each in found if each.row not in doubtful], sorted(doubtful)
        texts = [texts[row] for row in wanted]
    for hidden in hidden_numbers(model, texts, batch_tokens=batch_tokens):
        found += _judged(hidden, measure, ratio, calibration, explain, wanted, cells, densities)
    return sorted(found, key=lambda each: (each.row, each.numeral.start))


class PlausibilityChecker:
    """Checks each number against what its sentence or row makes of it.

    A doubt yields to the document: a cell that is usual in its column is not reported, nor a number that a total, a
    relation of columns or a rule of the sentence confirms, nor one whose correction would contradict its sentence.
    Codes, values of symbols and a minus that was meant are not doubted, and an ordinal only if a usual slip explains
    it. In a document whose numbers look odd throughout, each looks less odd (`numerate.apps.familiarity`).

    Args:
        model: A masked model with a trained number head, such as `numerate-mini`.
        false_alarms: Share of right numbers that may be reported; it holds for texts like those that the model was
            calibrated on. See `calibrate`.
        ratio: How much more probable another reading must be to be named as what was meant.
        measure: Score of the alarm: `odds` (evidence for a slip, by size and by how numbers are written), `bits`
            (surprise), `slip` (evidence by size alone) or `tail`; by default `odds`, if the calibration has it.
        fast: Ask only once for all numbers of a sentence, and again for those that are not plausible then.
        calibration: By default the model's own.
        batch_tokens: Tokens of one pass.

    Raises:
        BadInput: The model cannot judge numbers, or an argument is out of range.
    """

    def __init__(
        self, model: NumberModel, *, false_alarms: float = 0.05, ratio: float = RATIO, measure: str | None = None,
        fast: bool = False, calibration: NumberCalibration | None = None, batch_tokens: int = BATCH_TOKENS,
    ) -> None:  # fmt: skip
        if not 0 < false_alarms < 1:
            raise BadInput(f"false_alarms must lie between 0 and 1, got {false_alarms}")
        if not ratio > 1:
            raise BadInput(f"ratio must be above 1, got {ratio}")
        check_can_judge(model)
        try:
            alarm_measure(model.calibration if calibration is None else calibration, measure)
        except ValueError as error:
            raise BadInput(str(error)) from None
        self.model, self.false_alarms, self.fast = model, false_alarms, fast
        self._confirmation = SentenceConfirmation()
        self._options: dict[str, Any] = {
            "measure": measure, "ratio": ratio, "batch_tokens": batch_tokens, "fast": fast, "calibration": calibration,
        }  # fmt: skip

    def judge(self, texts: Sequence[str], *, cells: bool = False) -> list[Judgement]:
        """The model's opinion of every number of the texts; `cells` says that they are rows of tables."""
        explain = self.false_alarms if cells else largest_before(self.false_alarms)
        return judgements(self.model, texts, explain=explain, cells=cells, densities=True, **self._options)

    def check(self, document: Document) -> list[Finding]:
        """The numbers of a document that are reported at this rate of false alarms."""
        return self.check_all([document])[0]

    def check_all(self, documents: Sequence[Document]) -> list[list[Finding]]:
        """`check` of several documents, whose sentences and rows share the passes of the model."""
        found: list[list[Finding]] = [[] for _ in documents]
        for cells in (False, True):  # rows of tables are calibrated apart
            units = [
                (at, unit)
                for at, document in enumerate(documents)
                if (document.kind != "text") == cells
                for unit in units_of(document)
            ]
            judged: dict[int, list[Judgement]] = {}
            for each in self.judge([unit.text for _, unit in units], cells=cells) if units else ():
                at, unit = units[each.row]
                if unit.keep[0] <= each.numeral.start < unit.keep[1] and not self.is_no_size(unit.text, each):
                    judged.setdefault(at, []).append(each)
            doubts = [
                each
                for some in judged.values()
                for each in (some if cells else as_familiar(some))
                if each.p <= self.false_alarms
            ]
            for each in doubts:
                at, unit = units[each.row]
                finding = finding_of(each, unit, documents[at])
                if finding is not None and not self._yields(each, unit, documents[at], finding):
                    found[at].append(finding)
        return found

    def is_no_size(self, text: str, each: Judgement) -> bool:
        """Whether a number looks odd and may be anything; usual ones need not be looked at."""
        if each.p > max(_ODD, largest_before(self.false_alarms)):
            return False
        return is_no_size(text, each.numeral)

    def _yields(self, each: Judgement, unit: Unit, document: Document, finding: Finding) -> bool:
        """Whether the other numbers of the sentence or table say that a number is right, or its sign was meant."""
        numeral = each.numeral
        slips = [slip["slip"] for slip in finding.evidence["slips"]]
        if numeral.kind == "ordinal" and not slips:
            return True
        # Losses of a table are unlike, unless its column has other signs.
        may_be_negative = (
            finding.cell is None or "°" in f"{finding.key}{numeral.unit}" or has_signs(document, *finding.cell)
        )
        if may_be_negative and is_meant_sign(numeral, slips, each.interval):
            return True
        if finding.cell is None:
            if self._confirmation.holds(unit.text, numeral):
                return True
            start = numeral.start
            size = len(finding.written)  # a correction of the unit replaces the unit, too
            return finding.meant is not None and self._confirmation.refutes(
                unit.text, start, start + size, finding.meant
            )
        mates = mates_of(document, unit, numeral)
        if mates is not None and is_usual(numeral, mates):
            return True
        row, column = finding.cell
        table = table_of(document)
        confirmed = table.__dict__.get("_confirmed")
        if confirmed is None:
            confirmed = table.__dict__["_confirmed"] = confirmed_cells(table)
        return column < confirmed.shape[1] and bool(confirmed[row - document.first_row, column])


def _judged(
    hidden: HiddenNumbers, measure: str, ratio: float, calibration: NumberCalibration | None, explain: float,
    rows: Sequence[int] | None = None, cells: bool = False, densities: bool = False,
) -> list[Judgement]:  # fmt: skip
    known = {} if calibration is None else {"forms": calibration.forms, "sizes": calibration.sizes}
    scores, readings, gains = scores_of(hidden, **known)
    kinds = [group_of(numeral, cell=cells) for numeral in hidden.numerals]
    tails = np.exp2(-scores["tail"])
    p = tails if calibration is None else calibration.p_values(measure, kinds, scores[measure])
    odds = scores.get("odds", np.full(len(hidden), math.nan))
    least = math.log2(ratio)
    if calibration is not None and calibration.sizes is not None:
        gains = gains_with_sizes(hidden, readings, gains, calibration.sizes)
    plain = usual_values(hidden, kinds, p <= explain, calibration)
    drawn = shown_densities(hidden, np.flatnonzero(p <= explain).tolist()) if densities else {}
    found = []
    for at, numeral in enumerate(hidden.numerals):
        named = named_slips(readings[at], gains[at], scores["bits"][at], least, kinds[at], calibration)
        row = hidden.rows[at] if rows is None else rows[hidden.rows[at]]
        median, bottom, top = plain[at].tolist()
        found.append(
            Judgement(row, numeral, float(tails[at]), float(scores["bits"][at]), float(scores["slip"][at]),
                      float(p[at]), named, median, (bottom, top), drawn.get(at), float(odds[at]))
        )  # fmt: skip
    return found
