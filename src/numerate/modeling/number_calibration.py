"""Calibration of a model's number distributions by kind of numeral: false-alarm rates and interval widths.

What a network says of its own errors may be wrong by a factor, and differently for years than for prices. Held-out
texts tell how surprising right numbers are (split conformal prediction), so that an alarm at 5 % is raised for 5 % of
right numbers, and a 90 % interval holds 90 %.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from numerate.config import Config, ConfigError
from numerate.metrics.conformal import FEWEST, LEVELS, stretched, stretches, thresholds
from numerate.modeling.folder_checks import ArtefactError, read_json
from numerate.modeling.word_sizes import WordSizes  # noqa: TC001 - the config reads its type
from numerate.modeling.written_forms import WrittenForms  # noqa: TC001 - the config reads its type
from numerate.numerals.numeral import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numerate.numerals.numeral import Numeral

__all__ = [
    "ALARMS",
    "ALL",
    "CALIBRATION_FILE",
    "CELL",
    "MEASURES",
    "PLAIN",
    "NumberCalibration",
    "alarm_measure",
    "fit_calibration",
    "group_of",
    "read_calibration",
]

CALIBRATION_FILE = "calibration.json"
ALL = "all"
"""The group of all kinds together, for kinds with too few held-out numbers."""
CELL = "cell-"
"""Prefix of the groups of numbers in rows of tables, which are more or less surprising than those of sentences."""
MEASURES = ("tail", "bits", "slip", "odds")
"""Scores that grow with how odd a number is; see `numerate.modeling.plausibility` and `slip_odds`."""
ALARMS = (
    1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.025, 0.02,
    0.015, 0.01, 0.007, 0.005, 0.003, 0.002, 0.001, 0.0005, 0.0002, 0.0001,
)  # fmt: skip
"""Shares of right numbers whose scores are stored."""
MAX_ABOUT = 500
PLAIN = "plain"
"""Group of quantities without a unit, which surprise far more than those with one."""
GROUPS = (ALL, *KINDS, PLAIN)


@dataclass(frozen=True, kw_only=True)
class NumberCalibration(Config):
    """Scores and interval stretches of held-out numbers, by kind of numeral (and `all`).

    Attributes:
        scores: For each of `MEASURES` and each kind, the scores that the shares `ALARMS` of right numbers exceed; the
            last shares are missing where there were too few numbers.
        stretch: Factors of the intervals at each of `LEVELS`, by kind.
        held_out: Number of held-out numbers by kind.
        about: What it was fitted to, in one line.
        forms: How right numbers are written, for the score `odds`; None in calibrations of earlier versions.
        sizes: How large numbers are by their word, for the same score; None where the model knows as well.

    Example:
        >>> calibration = NumberCalibration(scores={"bits": {"all": tuple(float(i) for i in range(31))}})
        >>> calibration.p_values("bits", ["year", "money"], np.array([16.0, 99.0])).round(4).tolist()
        [0.05, 0.0001]
    """

    kind: ClassVar[str] = "number-calibration"
    scores: dict[str, dict[str, tuple[float, ...]]] = field(default_factory=dict)
    stretch: dict[str, tuple[float, ...]] = field(default_factory=dict)
    held_out: dict[str, int] = field(default_factory=dict)
    about: str = ""
    forms: WrittenForms | None = None
    sizes: WordSizes | None = None

    def __post_init__(self) -> None:
        known = {*GROUPS, *(CELL + name for name in GROUPS)}
        for measure, groups in self.scores.items():
            if measure not in MEASURES:
                raise ConfigError(f"scores: unknown measure {measure[:40]!r}; known are {', '.join(MEASURES)}")
            for name, values in groups.items():
                ordered = all(one <= other for one, other in itertools.pairwise(values))
                if name not in known or not 0 < len(values) <= len(ALARMS) or not ordered or not _finite(values):
                    said = f"scores of {measure} for {name[:40]!r}"
                    raise ConfigError(f"{said}: expected at most {len(ALARMS)} rising numbers of a kind of numeral")
        for name, factors in self.stretch.items():
            if name not in known or len(factors) != len(LEVELS) or not _finite(factors) or min(factors) < 0:
                raise ConfigError(f"stretch of {name[:40]!r}: expected {len(LEVELS)} factors of at least 0")
        if not self.held_out.keys() <= known or len(self.about) > MAX_ABOUT:
            raise ConfigError(f"held_out must name kinds of numeral, and about have at most {MAX_ABOUT} characters")

    def p_values(self, measure: str, kinds: Sequence[str], scores: np.ndarray) -> np.ndarray:
        """The share of right numbers of the same kind that are at least as odd: (N,); 1 without a calibration."""
        groups, result = self.scores.get(measure, {}), np.ones(len(scores))
        logarithms = np.log(ALARMS)
        names = np.array([_group(name, groups) for name in kinds])
        for name in set(names.tolist()):
            if name in groups:
                mine, table = names == name, np.asarray(groups[name])
                # A score that equals a threshold does not exceed it, whatever the rounding; and rounding does not lift
                # one above the threshold of 0.05 to a p above 0.05.
                lower = scores[mine] - 1e-5 * (1 + np.abs(scores[mine]))
                result[mine] = np.exp(np.interp(lower, table, logarithms[: len(table)]) - 1e-12)
        return result

    def silent(self, measure: str, share: float) -> dict[str, int]:
        """The kinds of which too few numbers were held out to report so small a share, and how many there were.

        Example:
            >>> calibration = NumberCalibration(scores={"bits": {"money": (1.0, 2.0)}}, held_out={"money": 31})
            >>> calibration.silent("bits", 0.01), calibration.silent("bits", 0.95)
            ({'money': 31}, {})
        """
        tables = self.scores.get(measure, {})
        return {name: self.held_out.get(name, 0) for name, table in tables.items() if ALARMS[len(table) - 1] > share}

    def stretched(
        self, kinds: Sequence[str], p: Sequence[float], quantiles: np.ndarray, medians: np.ndarray
    ) -> np.ndarray:
        """Quantiles (N, Q), as signed logarithms, stretched so that intervals hold what they say."""
        result = np.array(quantiles, dtype=np.float64)
        for row, name in enumerate(kinds):
            factors = self.stretch.get(_group(name, self.stretch))
            if factors is not None:
                one = slice(row, row + 1)
                result[one] = stretched(p, result[one], medians[one], factors)
        return result

    def with_kind(self, kind: str, other: NumberCalibration) -> NumberCalibration:
        """This calibration, with scores, stretch and count of one kind from another one, as far as it has them."""
        scores = {
            measure: groups | {name: each for name, each in other.scores.get(measure, {}).items() if name == kind}
            for measure, groups in self.scores.items()
        }
        stretch = {name: each for name, each in other.stretch.items() if name == kind}
        count = {name: each for name, each in other.held_out.items() if name == kind}
        return dataclasses.replace(self, scores=scores, stretch=self.stretch | stretch, held_out=self.held_out | count)


def fit_calibration(
    kinds: Sequence[str], scores: Mapping[str, np.ndarray], truth: np.ndarray, medians: np.ndarray,
    low: np.ndarray, high: np.ndarray, *, interval_kinds: Sequence[str] | None = None, about: str = "",
    forms: WrittenForms | None = None, sizes: WordSizes | None = None,
) -> NumberCalibration:  # fmt: skip
    """The calibration of N held-out numbers.

    Args:
        kinds: Kind of each number as it is written, with the prefix `cell-` in rows of tables.
        scores: (N,) scores for each of `MEASURES`.
        truth: (N,) signed logarithms of the numbers.
        medians: (N,) those of the predicted medians.
        low: (N, L) those of the lower ends of the central intervals at `LEVELS`.
        high: (N, L) those of the upper ends.
        interval_kinds: Kind of each number as one sees it who knows the prediction only; by default `kinds`.
        about: What the numbers are, in one line.
        forms: How they are written, if there are scores `odds`.
        sizes: How large they are by their word, if that is part of those scores.

    Raises:
        ValueError: There are fewer than 30 numbers.
    """
    if len(truth) < FEWEST:
        raise ValueError(f"a calibration needs at least {FEWEST} held-out numbers, got {len(truth)}")
    written, seen = np.asarray(kinds), np.asarray(kinds if interval_kinds is None else interval_kinds)
    tables: dict[str, dict[str, tuple[float, ...]]] = {measure: {} for measure in scores}
    factors: dict[str, tuple[float, ...]] = {}
    counts: dict[str, int] = {}
    is_cell = np.char.startswith(written.astype(str), CELL)
    for name in (*GROUPS, *(CELL + name for name in GROUPS)):
        every = name.removeprefix(CELL) == ALL
        mine = is_cell == name.startswith(CELL) if every else written == name
        if mine.sum() >= FEWEST:
            counts[name] = int(mine.sum())
            for measure, values in scores.items():
                found = thresholds(values[mine], ALARMS)
                tables[measure][name] = tuple(float(f"{each:.7g}") for each in found)
        mine = mine if every else seen == name
        found = stretches(truth[mine], medians[mine], low[mine], high[mine])
        if found is not None:
            factors[name] = tuple(float(f"{each:.7g}") for each in found)
    return NumberCalibration(
        scores=tables, stretch=factors, held_out=counts, about=about[:MAX_ABOUT], forms=forms, sizes=sizes
    )


def read_calibration(folder: Path) -> NumberCalibration | None:
    """The calibration in a model's folder; None if it has none.

    Raises:
        ArtefactError: The file is damaged, or links to another folder.
    """
    path = folder / CALIBRATION_FILE
    if not path.is_file():
        return None
    try:
        return NumberCalibration.from_dict(read_json(path, folder))
    except ConfigError as error:
        raise ArtefactError(f"{path}: {error}") from None


def alarm_measure(calibration: NumberCalibration | None, measure: str | None = None) -> str:
    """The score that alarms are made of: the wanted one, or `odds` if the calibration has it, else `bits`.

    Raises:
        ValueError: There is no such score, or the calibration does not have it.
    """
    known = [] if calibration is None else [*calibration.scores]
    if measure is None:
        return "odds" if "odds" in known and calibration is not None and calibration.forms is not None else "bits"
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}")
    if measure == "odds" and alarm_measure(calibration) != "odds":
        raise ValueError("measure 'odds' needs a calibration that has it: calibrate the model, or use 'bits'")
    return measure


def group_of(numeral: Numeral, *, cell: bool = False) -> str:
    """The group in which a number's alarms are calibrated; `cell` if it stands in a row of a table.

    Example:
        >>> import numerate
        >>> [group_of(each) for each in numerate.find("12 men ran 5 km in 1998")]
        ['plain', 'quantity', 'year']
    """
    name = PLAIN if numeral.kind == "quantity" and numeral.unit is None else numeral.kind
    return CELL + name if cell else name


def _group(name: str, groups: Mapping[str, object]) -> str:
    """The group of a kind: its own, or the nearest that there is."""
    own = name.removeprefix(CELL)
    names = (PLAIN, "quantity") if own == PLAIN else (own,)
    wanted = (*names, ALL)
    if name.startswith(CELL):
        wanted = (*(CELL + each for each in wanted), *wanted)
    return next((each for each in wanted if each in groups), ALL)


def _finite(values: Sequence[float]) -> bool:
    return all(math.isfinite(each) for each in values)
