"""`NumberRegressor` on rows of tables: a trend where there is one, the network beside it, saved and loaded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tiny_models import new_backbone, tokenizer_of

from numerate import NumberRegressor
from numerate.apps.regression import number_regressor
from numerate.errors import NumerateError
from numerate.modeling.artefact import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(160, 2))
Y = 100 + 20 * X[:, 0] + 3 * DRAWS.normal(size=160)
ROWS = [{"a": a, "b": b, "kind": ("odd", "even")[at % 2]} for at, (a, b) in enumerate(X.tolist())]
TEXTS = [f"The river is {10 + at} wide." for at in range(12)]


def regressor(**options: Any) -> NumberRegressor:
    short: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-3, "batch_size": 30}
    return NumberRegressor(new_backbone("bert"), tokenizer_of("bert"), **short | options)


@pytest.fixture(scope="module")
def fitted() -> NumberRegressor:
    return regressor().fit(ROWS[:110], Y[:110])


def test_a_linear_relation_is_learnt_without_training_the_network() -> None:
    made = regressor().fit(ROWS[:50], Y[:50])
    assert made.losses_ == [], "too few rows to tell what a network adds"
    assert made.score(ROWS[50:], Y[50:]) > 0.95
    low, high = made.predict_interval(ROWS[50:]).T
    assert 0.85 <= np.mean((low <= Y[50:]) & (Y[50:] <= high)) <= 0.95
    far = made.predict_quantiles([{"a": 10.0, "b": 0.0}], (0.05, 0.5, 0.95))[0]
    assert abs(far[1] - 300) < 20 and far[0] < far[1] < far[2] < far[0] + 30, "intervals move with the trend"


def test_a_network_that_knows_no_more_does_not_count(fitted: NumberRegressor) -> None:
    assert fitted.losses_ and fitted.trend_ is not None and fitted.trend_.network_share == 0
    assert fitted.calibration_.stretch == {} and fitted.calibration_.held_out == {"target": 30}
    assert fitted.n_features_in_ == 3 and fitted.score(ROWS[110:], Y[110:]) > 0.95


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_saved_and_loaded(share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_regressor, "network_share", lambda *_: share)
    made = regressor().fit(ROWS[:110], Y[:110])
    made.save(tmp_path)
    again = NumberRegressor.load(tmp_path)
    rows = [*ROWS[110:], {}, {"a": 2.0, "kind": "never seen"}, {"b": "none", "new": [1, 2]}]
    found = made.predict_quantiles(rows, (0.01, 0.05, 0.5, 0.95))
    np.testing.assert_allclose(again.predict_quantiles(rows, (0.01, 0.05, 0.5, 0.95)), found, rtol=1e-6)
    assert (
        np.isfinite(found).all() and (np.diff(found) > 0).all() and (len(made.calibration_.stretch) > 0) == (share > 0)
    )
    assert not [file.name for file in tmp_path.rglob("*") if file.suffix in (".pkl", ".bin", ".pt")]
    apart = np.mean((found[:50, 1] <= Y[110:]) & (Y[110:] <= found[:50, 3]))
    assert 0.7 <= apart <= 1 and again.trend_ == made.trend_ and again.n_features_in_ == 3


def test_the_network_learns_what_the_trend_leaves() -> None:
    """Words of a text that is never the same twice are nothing that the trend sees."""
    is_tall = DRAWS.random(160) < 0.5
    ends = [f"{first}{second}" for first in "abcdefghijklm" for second in "abcdefghijklm"]
    texts = [f"{'a tall tower' if each else 'the wide cat'} in {end}" for each, end in zip(is_tall, ends, strict=False)]
    rows = [row | {"seen": text} for row, text in zip(ROWS, texts, strict=True)]
    y = Y + np.where(is_tall, 20.0, -20.0)
    made = regressor(epochs=20, learning_rate=3e-3, batch_size=16).fit(rows[:120], y[:120])
    assert made.trend_ is not None and made.trend_.network_share == 1
    low, high = made.predict_interval(rows[120:]).T
    assert made.score(rows[120:], y[120:]) > 0.9 and np.mean((low <= y[120:]) & (y[120:] <= high)) > 0.75
    alone = regressor(held_out=0.0).fit(rows[:120], y[:120])
    assert alone.losses_ == [] and alone.score(rows[120:], y[120:]) < 0.7


def test_a_network_that_knows_more_counts() -> None:
    share = number_regressor.network_share
    draws = np.random.default_rng(1)
    truth = np.where(draws.random(60) < 0.5, -3.0, 3.0) + 0.1 * draws.normal(size=60)
    p = (0.05, 0.5, 0.95)
    knowing = np.sign(truth)[:, None] * 3 + np.array([-0.2, 0, 0.2])
    assert share(truth, knowing, np.array([-3.2, 0, 3.2]), p) == 1
    assert share(truth, -knowing, np.array([-3.2, 0, 3.2]), p) == 0
    assert share(truth[:1], knowing[:1], np.array([-3.2, 0, 3.2]), p) == 0


def test_rows_without_a_relation_are_learnt_as_texts_are() -> None:
    noise = np.exp(np.random.default_rng(2).normal(size=40))
    made = regressor().fit(ROWS[:40], noise)
    assert made.trend_ is None and made.losses_
    as_texts = regressor().fit([number_regressor.row_text(row) for row in ROWS[:40]], noise)
    expected = as_texts.predict([number_regressor.row_text(row) for row in ROWS[:5]])
    assert (made.predict(ROWS[:5]) == expected).all()


def test_the_seed_decides() -> None:
    first, again = (regressor(seed=3).fit(ROWS[:70], Y[:70]).predict_interval(ROWS[70:]) for _ in range(2))
    assert (first == again).all()


def test_frames_and_matrices() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS[:50])
    made = regressor().fit(frame, pandas.Series(Y[:50]))
    assert (made.predict(frame) == regressor().fit(ROWS[:50], Y[:50]).predict(ROWS[:50])).all()
    assert made.predict(frame[:0]).shape == (0,) == made.predict([]).shape
    made = regressor().fit(X[:50], Y[:50])
    assert made.n_features_in_ == 2 and made.score(X[50:], Y[50:]) > 0.95
    with pytest.raises(NumerateError, match="rows must have columns, got "):
        regressor().fit([{}, {}], [1.0, 2.0])
    with pytest.raises(NumerateError, match="X has 1 columns, but the training rows had 2"):
        made.predict(X[:, :1])


def test_texts_and_rows_are_not_confused(fitted: NumberRegressor) -> None:
    with pytest.raises(NumerateError, match="fitted on rows, got texts: ") as caught:
        fitted.predict(TEXTS)
    assert "\n" not in str(caught.value)
    with pytest.raises(NumerateError, match="fitted on texts, got rows: "):
        regressor().fit(TEXTS, np.arange(12.0)).predict(ROWS[:2])


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_targets_of_any_size_have_a_trend(size: float) -> None:
    """Squares of such targets are 0 or infinite in float64."""
    rows, y = ROWS[:50], Y[:50] - 100
    usual, made = regressor().fit(rows, y), regressor().fit(rows, y * size)
    assert made.trend_ is not None
    np.testing.assert_allclose(made.predict(rows) / size, usual.predict(rows), rtol=1e-6)
    assert made.score(rows, y * size) == pytest.approx(usual.score(rows, y), rel=1e-6)


def test_rows_of_categories_only() -> None:
    """Expected values: the means of the groups."""
    kinds = ["Kiel", "Bonn", "Ulm"] * 20
    y = np.array([{"Kiel": 7.0, "Bonn": 1.0, "Ulm": 4.0}[kind] for kind in kinds])
    y += 0.1 * np.random.default_rng(4).normal(size=60)
    made = regressor(held_out=0.0).fit([{"town": kind, "odd": kind == "Ulm"} for kind in kinds], y)
    means = [y[[kind == each for kind in kinds]].mean() for each in ("Kiel", "Bonn", "Ulm")]
    found = made.predict([{"town": each, "odd": each == "Ulm"} for each in ("Kiel", "Bonn", "Ulm")])
    np.testing.assert_allclose(found, means, atol=0.05)


def test_rows_without_a_known_column_are_refused(fitted: NumberRegressor) -> None:
    for rows in ([{"A": 1.0, "B": 2.0, "kind2": "odd"}], np.zeros((2, 3))):
        with pytest.raises(NumerateError, match="no column of the rows was there in the training: got '") as caught:
            fitted.predict(rows)
        assert "known are 'a', 'b', 'kind'" in str(caught.value)
    assert fitted.predict([{}, {"new": 1, "a": None}]).shape == (2,), "missing values are not unknown columns"


def test_folders_of_earlier_versions_are_read(fitted: NumberRegressor, tmp_path: Path) -> None:
    made = regressor().fit(TEXTS, np.arange(12.0))
    made.save(tmp_path)
    file = tmp_path / "regressor.json"
    saved = json.loads(file.read_text("utf-8"))
    assert saved.pop("trend") is None and saved.pop("columns") == 0
    file.write_text(json.dumps(saved), "utf-8")
    np.testing.assert_allclose(NumberRegressor.load(tmp_path).predict(TEXTS), made.predict(TEXTS), rtol=1e-6)
    fitted.save(tmp_path / "rows")
    file = tmp_path / "rows" / "regressor.json"
    damaged = json.loads(file.read_text("utf-8"))
    damaged["trend"]["terms"][0]["spread"] = -1.0
    file.write_text(json.dumps(damaged), "utf-8")
    with pytest.raises(ArtefactError, match="trend") as caught:
        NumberRegressor.load(tmp_path / "rows")
    assert "\n" not in str(caught.value)
