"""A calibration travels with its model, and a broken one is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tiny_models import backbone_of, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.modeling.artefact import ArtefactError
from numerate.modeling.number_calibration import CALIBRATION_FILE, NumberCalibration, fit_calibration

if TYPE_CHECKING:
    from pathlib import Path


def fitted() -> NumberCalibration:
    random = np.random.default_rng(0)
    kinds = ["year"] * 500 + ["cell-year"] * 500 + ["money"] * 10
    scores = random.standard_normal(1010) + np.repeat([0.0, 5.0, 0.0], [500, 500, 10])
    ends = np.ones((1010, 5))
    return fit_calibration(kinds, {"bits": scores}, scores, np.zeros(1010), -ends, ends, about="invented")


def test_each_kind_has_its_own_rates_and_few_numbers_share_them() -> None:
    found = fitted()
    assert found.held_out == {"all": 510, "year": 500, "cell-all": 500, "cell-year": 500}
    high = np.array([2.0])
    assert found.p_values("bits", ["year"], high)[0] < 0.05 < 0.9 < found.p_values("bits", ["cell-year"], high)[0]
    # Too few of money: those of all; cells of money: those of all cells.
    assert found.p_values("bits", ["money"], high)[0] < 0.05
    assert found.p_values("bits", ["cell-money"], high)[0] > 0.9
    assert found.p_values("tail", ["year"], high)[0] == 1.0
    many = found.p_values("bits", ["year"] * 4000, np.random.default_rng(1).standard_normal(4000))
    assert (many <= 0.05).mean() == pytest.approx(0.05, abs=0.025)
    ends = found.stretched(["year", "cell-year"], (0.05, 0.95), np.array([[-1.0, 1.0]] * 2), np.zeros(2))
    assert 1.3 < ends[0, 1] < 2.0 < 5.0 < ends[1, 1]


def test_it_is_saved_with_the_model_and_removed_with_it(tmp_path: Path) -> None:
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), "in-place")
    model.calibration = fitted()
    model.save_pretrained(tmp_path, bits=8)
    again = numerate.from_pretrained(tmp_path)
    assert again.calibration == model.calibration
    again.calibration = None
    again.save_pretrained(tmp_path, bits=8)
    assert not (tmp_path / CALIBRATION_FILE).exists() and numerate.from_pretrained(tmp_path).calibration is None


@pytest.mark.parametrize(
    "change",
    [
        {"scores": {"bits": {"all": [3.0, 1.0]}}}, {"scores": {"strange": {"all": [1.0]}}},
        {"scores": {"bits": {"nonsense": [1.0]}}}, {"scores": {"bits": {"all": [0.0] * 99}}},
        {"stretch": {"all": [1.0]}}, {"stretch": {"all": [1.0, 1.0, -1.0, 1.0, 1.0]}}, {"held_out": {"x": 3}},
        {"about": "x" * 501}, {"more": 1}, "[1", "[]",
    ],
)  # fmt: skip
def test_broken_files_are_refused_with_one_line(change: Any, tmp_path: Path) -> None:
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), "in-place")
    model.save_pretrained(tmp_path, backbone=True)
    good = NumberCalibration().to_dict()
    text = change if isinstance(change, str) else json.dumps(good | change)
    (tmp_path / CALIBRATION_FILE).write_text(text)
    with pytest.raises(ArtefactError, match=r"calibration\.json") as caught:
        numerate.from_pretrained(tmp_path)
    assert "\n" not in str(caught.value)
    if isinstance(change, dict) and "more" not in change:
        with pytest.raises(ConfigError):
            NumberCalibration.from_dict(good | change)
