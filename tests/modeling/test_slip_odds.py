"""Odds of a slip against the same formula written out for one number, and how numbers are written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from judging_models import facts, judging_model

import numerate
from numerate.apps.plausible_scores import scores_of
from numerate.config import ConfigError
from numerate.modeling.number_calibration import NumberCalibration, alarm_measure
from numerate.modeling.plausibility import hidden_numbers, reading_logs
from numerate.modeling.slip_odds import SLIP_WEIGHTS, SURPRISE, slip_odds
from numerate.modeling.written_forms import FORM_GROUPS, WrittenForms, last_places
from numerate.numerals.slips import slip_readings

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = [
    "In 1987 and 1990 the 23rd club of 1,500 men had 12 teams, 7 of them for 3.2% or $ 4.50.",
    "It was 12.5 km long in 1956, and 450 m wide in 2004; -3 °C, 0 goals, 25 people.",
]


def forms() -> WrittenForms:
    return WrittenForms.of(each for text in TEXTS for each in numerate.find(text))


def probability_by_hand(counts: dict[str, dict[str, float]], group: str, written: str, density: float) -> float:
    """P(s) of a number as it is written, by plain counting: density with background, cell, and last place."""
    value = float(written)
    decimals = len(written.partition(".")[2])
    place = -decimals if decimals else len(written) - len(written.rstrip("0"))
    fifth, order = math.floor(5 * math.log10(abs(value))), math.floor(math.log10(abs(value)))
    rows: list[tuple[str, bool, int, int, float]] = []
    for name, table in counts.items():
        for key, count in table.items():
            first, last = key.removeprefix("n").split(",")
            rows.append((name, key.startswith("n"), int(first), int(last), count))

    def share(wanted: Callable[[Any], bool], given: Callable[[Any], bool], prior: float) -> float:
        chosen = [row for row in rows if given(row)]
        hits = sum(row[4] for row in chosen if wanted(row))
        return (hits + 10 * prior) / (sum(row[4] for row in chosen) + 10)

    negative = value < 0
    size = share(lambda row: (row[1], row[2]) == (negative, fifth), lambda row: True, 1 / 400)
    size = share(lambda row: (row[1], row[2]) == (negative, fifth), lambda row: row[0] == group, size)
    ending = share(lambda row: row[3] - row[2] // 5 == place - order, lambda row: True, 1 / 12)
    ending = share(lambda row: row[3] == place, lambda row: row[2] // 5 == order, ending)
    ending = share(lambda row: row[3] == place, lambda row: row[2] // 5 == order and row[0] == group, ending)
    mixed = 0.99 * density + 0.01 * size * 5 / math.log(10)
    return mixed * 10.0**place / abs(value) * ending


def test_odds_are_those_of_the_formula_by_hand() -> None:
    """One number, whose readings are written out here as text: the odds from probabilities, not logarithms."""
    known, rng = forms(), np.random.default_rng(0)
    (numeral,) = numerate.find("about 250 men")
    readings = slip_readings(numeral)
    logs = rng.normal(-3, 2, (1, 1 + len(readings)))
    own = probability_by_hand(known.counts, "other", "250", math.exp(logs[0, 0]))
    unlike = probability_by_hand(known.counts, "other", "250", 1.0) - probability_by_hand(
        known.counts, "other", "250", 0.0
    )
    meant = unlike / 0.99  # any other number of this form, with a density of 1
    chance = {"exchanged": 1 / 2, "dropped": 1 / 4, "doubled": 1 / 2, "digit": 1 / 27}
    powers = {1: 0.3, 3: 0.1, 2: 0.06, 6: 0.03, 9: 0.01}
    for at, each in enumerate(readings, start=1):
        share = powers[abs(each.power)] if each.slip == "factor" else chance[each.slip]
        text = f"{float(f'{each.written:.12g}'):.12f}".rstrip("0").rstrip(".")
        found = probability_by_hand(known.counts, "other", text, math.exp(logs[0, at]))
        meant += SLIP_WEIGHTS[each.slip] * share * found
    expected = math.log2(meant / own) - SURPRISE * logs[0, 0] / math.log(2)
    assert len({each.slip for each in readings}) >= 4
    assert slip_odds([numeral], [readings], logs, known)[0] == pytest.approx(expected, rel=1e-6)


def test_numbers_that_were_counted_do_not_vouch_for_themselves() -> None:
    known = forms()
    (numeral,) = [each for each in numerate.find(TEXTS[1]) if each.text == "450"]
    counts = {name: dict(table) for name, table in known.counts.items()}
    counts["unit"]["13,1"] -= 1
    readings, logs = slip_readings(numeral), np.full((1, 1 + len(slip_readings(numeral))), -4.0)
    without = WrittenForms(counts=counts)
    one = slip_odds([numeral], [readings], logs, known, counted=True)[0]
    # The readings keep their counts, and only the number itself loses one.
    group = np.array([FORM_GROUPS.index("unit")])
    own = without.log_places(group, np.array([450.0]), np.array([1]))
    assert known.log_places(group, np.array([450.0]), np.array([1]), 1.0) == pytest.approx(own)
    assert known.log_sizes(group, np.array([450.0]), 1.0) == pytest.approx(without.log_sizes(group, np.array([450.0])))
    assert one > slip_odds([numeral], [readings], logs, known)[0]


def test_sizes_and_places_are_distributions() -> None:
    # With so many numbers, what is known before hardly counts.
    known = WrittenForms.of(each for text in TEXTS * 100 for each in numerate.find(text))
    places = np.arange(-9, 14)
    total = np.exp(known.log_places(np.zeros(23, dtype=int), np.full(23, 1500.0), places)).sum()
    assert total == pytest.approx(1, abs=0.03)
    middles = 10.0 ** ((np.arange(-40, 85) + 0.5) / 5)
    values = np.concatenate([middles, -middles])
    density = np.exp(known.log_sizes(np.zeros(250, dtype=int), values))
    assert (density * math.log(10) / 5).sum() == pytest.approx(1, abs=0.03)
    assert last_places(np.array([0.0, 1e12, 7.0]), np.array([0, 0, 3])).tolist() == [0, 12, -3]


def test_forms_are_updated_and_kept() -> None:
    old, new = forms(), WrittenForms.of(numerate.find("3 4 5 6 7 8 9"))
    both = old.updated(new)
    assert both.counts["other"]["2,0"] == old.counts["other"].get("2,0", 0) + 1
    assert WrittenForms.from_dict(both.to_dict()) == both
    for counts in ({"colour": {}}, {"other": {"x": 1.0}}, {"other": {"1,0": -1.0}}):
        with pytest.raises(ConfigError, match="counts"):
            WrittenForms(counts=counts)
    with pytest.raises(ConfigError, match="background"):
        WrittenForms(background=1.0)


def test_odds_of_a_model_grow_with_a_slip() -> None:
    model = judging_model()
    known = WrittenForms.of(each for text in facts(200, seed=5) for each in numerate.find(text))
    texts = ["The tower is 300 metres tall.", "The tower is 3000 metres tall.", "The tower is 0 metres tall."]
    (hidden,) = hidden_numbers(model, texts)
    scores = scores_of(hidden, known)[0]["odds"][np.argsort(hidden.rows)]
    assert scores[1] > scores[0] + 5 and np.isfinite(scores).all()
    assert "odds" not in scores_of(hidden)[0]
    readings, logs = reading_logs(hidden)
    assert logs.shape == (3, 1 + max(map(len, readings)))


def test_alarms_fall_back_to_surprise_without_odds() -> None:
    """Calibrations of earlier versions have neither scores nor counts for the odds."""
    earlier = NumberCalibration(scores={"bits": {"all": (1.0, 2.0)}})
    assert alarm_measure(earlier) == alarm_measure(None) == "bits"
    assert alarm_measure(NumberCalibration(scores={"odds": {"all": (1.0, 2.0)}}, forms=forms())) == "odds"
    with pytest.raises(ValueError, match="calibrate the model"):
        alarm_measure(earlier, "odds")
    with pytest.raises(ValueError, match="colour"):
        alarm_measure(earlier, "colour")
