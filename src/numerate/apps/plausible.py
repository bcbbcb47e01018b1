"""Plausible numbers: a language model's opinion of every number of a document, calibrated on held-out texts.

`PlausibilityChecker` is one of the checkers behind `numerate check`; `numerate.apps.calibrating` says what its alarms
mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.apps.consistency.confirmed import SentenceConfirmation, confirmed_cells
from numerate.apps.consistency.table_numbers import table_of
from numerate.apps.doubt_findings import finding_of
from numerate.apps.shown_texts import units_of
from numerate.apps.table_mates import mates_of
from numerate.errors import BadInput
from numerate.heads.mixture import from_signed_log, signed_log
from numerate.modeling.number_calibration import alarm_measure, group_of
from numerate.modeling.plausibility import (
    BATCH_TOKENS,
    UNIT,
    HiddenNumbers,
    bits_of,
    check_can_judge,
    hidden_numbers,
    reading_logs,
    slip_scores,
    tail_of,
)
from numerate.modeling.slip_odds import column_logs, slip_odds, with_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding
    from numerate.apps.shown_texts import Unit
    from numerate.modeling.column_mates import ColumnMates
    from numerate.modeling.number_calibration import NumberCalibration
    from numerate.modeling.number_model import NumberModel
    from numerate.modeling.written_forms import WrittenForms
    from numerate.numerals.numeral import Numeral
    from numerate.numerals.slips import SlipReading

__all__ = ["Judgement", "PlausibilityChecker", "judgements", "scores_of"]

RATIO = 100.0
"""How much more probable another reading must be to be named."""
_PRIOR = 0.02
"""Share of numbers that are wrong before anything is known, for the probability of a finding."""
_MOST = 0.99
_SENSIBLE, _SENSIBLE_BITS = 0.1, 4.0
"""A reading is named only if this share of right numbers is more surprising, or up to these bits if uncalibrated."""
_SHOWN, _BINS = (0.005, 0.995), 32
"""Quantiles between which a density is drawn, and its bins."""
_SURE = 0.3
"""With `fast`, a number this plausible while all numbers of its sentence are hidden is not asked for again."""


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


def judgements(
    model: NumberModel, texts: Sequence[str], *, measure: str | None = None, ratio: float = RATIO,
    calibration: NumberCalibration | None = None, batch_tokens: int = BATCH_TOKENS, fast: bool = False,
    explain: float = 1.0, cells: bool = False, densities: bool = False,
    mates: Callable[[int, Numeral], ColumnMates | None] | None = None,
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
        mates: Gives the other numbers of the column for a number of a text (index of the text, numeral); they count
            for the measure `odds`, if the calibration has cells that were compared with their column.

    Raises:
        BadInput: The model cannot judge numbers.
    """
    calibration = model.calibration if calibration is None else calibration
    measure = alarm_measure(calibration, measure)
    found: list[Judgement] = []
    wanted: list[int] | None = None
    if measure != "odds" or calibration is None or not calibration.knows_columns:
        mates = None
    if fast:
        for hidden in hidden_numbers(model, texts, batch_tokens=batch_tokens, together=True):
            found += _judged(hidden, measure, ratio, calibration, explain, None, cells, densities, mates)
        counts: dict[int, int] = {}
        for each in found:
            counts[each.row] = counts.get(each.row, 0) + 1
        doubtful = {each.row for each in found if each.p < _SURE and counts[each.row] > 1}
        found, wanted = [each for each in found if each.row not in doubtful], sorted(doubtful)
        texts = [texts[row] for row in wanted]
    for hidden in hidden_numbers(model, texts, batch_tokens=batch_tokens):
        found += _judged(hidden, measure, ratio, calibration, explain, wanted, cells, densities, mates)
    return sorted(found, key=lambda each: (each.row, each.numeral.start))


class PlausibilityChecker:
    """Checks each number against what its sentence or row makes of it, and a cell against its column.

    A number that a total, a relation of columns or a conversion confirms is not reported.

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

    def judge(
        self, texts: Sequence[str], *, cells: bool = False,
        mates: Callable[[int, Numeral], ColumnMates | None] | None = None,
    ) -> list[Judgement]:  # fmt: skip
        """The model's opinion of every number of the texts; `cells` says that they are rows of tables.

        `mates` gives the other numbers of the column for a number of a text (index of the text, numeral).
        """
        return judgements(
            self.model, texts, explain=self.false_alarms, cells=cells, densities=True, mates=mates, **self._options
        )

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

            def mates(row: int, numeral: Numeral, units: Any = units) -> ColumnMates | None:
                at, unit = units[row]
                return mates_of(documents[at], unit, numeral)

            texts = [unit.text for _, unit in units]
            for each in self.judge(texts, cells=cells, mates=mates if cells else None) if units else ():
                at, unit = units[each.row]
                inside = unit.keep[0] <= each.numeral.start < unit.keep[1]
                if not inside or each.p > self.false_alarms:
                    continue
                finding = finding_of(each, unit, documents[at])
                if finding is not None and not self._is_confirmed(each, unit, documents[at], finding):
                    found[at].append(finding)
        return found

    def _is_confirmed(self, each: Judgement, unit: Unit, document: Document, finding: Finding) -> bool:
        """Whether the other numbers of the sentence or table say that this one is right."""
        if finding.cell is None:
            return self._confirmation.holds(unit.text, each.numeral)
        row, column = finding.cell
        table = table_of(document)
        confirmed = table.__dict__.get("_confirmed")
        if confirmed is None:
            confirmed = table.__dict__["_confirmed"] = confirmed_cells(table)
        return column < confirmed.shape[1] and bool(confirmed[row - document.first_row, column])


def scores_of(
    hidden: HiddenNumbers, forms: WrittenForms | None = None, *, counted: bool = False,
    mates: Sequence[ColumnMates | None] = (), cells: bool | Sequence[bool] = False,
) -> tuple[dict[str, np.ndarray], list[list[SlipReading]], list[np.ndarray]]:  # fmt: skip
    """Scores that grow with how odd a number is, and its readings with their gains.

    Args:
        hidden: Numbers and what the model expected in their places.
        forms: How right numbers are written, for the score `odds`, which is left out without it.
        counted: Whether `forms` counted these numbers themselves.
        mates: The other numbers of each one's column, for `odds`; None where there is none.
        cells: Whether the numbers stand in rows of tables, for all or for each.
    """
    found = reading_logs(hidden)
    evidence, readings, gains = slip_scores(hidden, found)
    with np.errstate(divide="ignore"):
        tails = -np.log2(np.maximum(tail_of(hidden.numbers, hidden.targets), 1e-300))
    bits = np.clip(bits_of(hidden.numbers, hidden.targets), -1000.0, 1000.0)
    scores = {"tail": tails, "bits": bits, "slip": evidence}
    if forms is not None:
        scores["odds"] = slip_odds(
            hidden.numerals, readings, found[1], forms, counted=counted, mates=mates, cells=cells
        )
    return scores, readings, gains


def _judged(
    hidden: HiddenNumbers, measure: str, ratio: float, calibration: NumberCalibration | None, explain: float,
    rows: Sequence[int] | None = None, cells: bool = False, densities: bool = False,
    mates: Callable[[int, Numeral], ColumnMates | None] | None = None,
) -> list[Judgement]:  # fmt: skip
    texts = hidden.rows if rows is None else [rows[row] for row in hidden.rows]
    pairs = zip(texts, hidden.numerals, strict=True)
    beside = [None] * len(hidden) if mates is None else [mates(row, numeral) for row, numeral in pairs]
    forms = None if calibration is None else calibration.forms
    scores, readings, gains = scores_of(hidden, forms, mates=beside, cells=cells)
    places = zip(hidden.numerals, beside, strict=True)
    kinds = [group_of(numeral, cell=cells, column=column is not None) for numeral, column in places]
    better = _gains_in_columns(hidden.numerals, readings, gains, beside)
    tails = np.exp2(-scores["tail"])
    p = tails if calibration is None else calibration.p_values(measure, kinds, scores[measure])
    odds = scores.get("odds", np.full(len(hidden), math.nan))
    least = math.log2(ratio)
    plain = _explained(hidden, kinds, p <= explain, calibration)
    found = []
    for at, numeral in enumerate(hidden.numerals):
        named = _named(readings[at], better[at], scores["bits"][at] - gains[at], least, kinds[at], calibration)
        median, bottom, top = plain[at].tolist()
        drawn = _density(hidden.numbers[at : at + 1]) if densities and p[at] <= explain else None
        found.append(
            Judgement(texts[at], numeral, float(tails[at]), float(scores["bits"][at]), float(scores["slip"][at]),
                      float(p[at]), named, median, (bottom, top), drawn, float(odds[at]))
        )  # fmt: skip
    return found


def _gains_in_columns(
    numerals: Sequence[Numeral], readings: Sequence[Sequence[SlipReading]], gains: Sequence[np.ndarray],
    mates: Sequence[ColumnMates | None],
) -> Sequence[np.ndarray]:  # fmt: skip
    """The gains of readings (bits), with what the column says of each where it is known."""
    if all(each is None for each in mates):
        return gains
    found = []
    for numeral, each, gain, one in zip(numerals, readings, gains, mates, strict=True):
        columns = column_logs([numeral], [each], 1 + len(each), [one]) / math.log(2)
        known = np.array([one is not None])
        found.append(with_columns(gain[None], columns[:, 1:] - columns[:, :1], known)[0] if len(gain) else gain)
    return found


def _named(
    readings: Sequence[SlipReading], gains: np.ndarray, bits: np.ndarray, least: float, kind: str,
    calibration: NumberCalibration | None,
) -> tuple[tuple[SlipReading, float], ...]:  # fmt: skip
    """The best readings that are much more probable than what stands there, and not surprising themselves (`bits`)."""
    better = [k for k, gain in enumerate(gains) if gain >= least]
    if not better:
        return ()
    own = bits[better]
    if calibration is None:
        sensible = own <= _SENSIBLE_BITS
    else:
        sensible = calibration.p_values("bits", [kind] * len(better), own) >= _SENSIBLE
    kept = [k for k, is_sensible in zip(better, sensible, strict=True) if is_sensible]
    kept.sort(key=lambda k: gains[k] + math.log2(readings[k].share), reverse=True)
    return tuple((readings[k], float(2.0 ** min(gains[k], 60.0))) for k in kept[:3])


def _explained(
    hidden: HiddenNumbers, kinds: Sequence[str], wanted: np.ndarray, calibration: NumberCalibration | None
) -> np.ndarray:
    """Median and calibrated 90 % interval (N, 3) of the `wanted` numbers, NaN for others: a search for each is slow."""
    found = np.full((len(hidden), 3), math.nan)
    rows: list[int] = np.flatnonzero(wanted).tolist()
    if rows:
        some = hidden.numbers[torch.tensor(rows, device=hidden.numbers.device)]
        logs = signed_log(some.quantile([[0.5, 0.05, 0.95]] * len(rows)), UNIT).cpu().numpy()
        if calibration is not None:
            names = [kinds[row] for row in rows]
            logs[:, 1:] = calibration.stretched(names, (0.05, 0.95), logs[:, 1:], logs[:, 0])
        found[rows] = from_signed_log(torch.from_numpy(logs), UNIT).numpy()
    return found


def _density(distribution: Any) -> dict[str, list[float]]:
    """The middle 99 % of the distribution of one number, for reports."""
    from numerate.apps.number_gaps import densities

    low, high = distribution.quantile([list(_SHOWN)])[0].tolist()
    (found,) = densities(distribution, [low], [high], bins=_BINS)
    return {name: [float(f"{value:.6g}") for value in values] for name, values in found.items()}
