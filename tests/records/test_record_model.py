"""`RecordModel`: fit, predict, sample, save, load; and unusual records."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from numerate.modeling.artefact import ArtefactError
from numerate.records import FieldError, RecordModel
from numerate.records.conformal import Calibration
from numerate.records.record_model import as_rows

if TYPE_CHECKING:
    from pathlib import Path

STEPS = ("training.max_steps=30", "training.use_cpu=true")


def made_rows(count: int = 400) -> list[dict[str, Any]]:
    draws = np.random.default_rng(3)
    rows = []
    for i in range(count):
        x = float(draws.uniform(1, 10))
        rows.append({
            "site": "north" if x > 5 else "south", "x": x, "d": {"h": math.exp(2 * draws.normal()), "c": 7.25},
            "m": None if i % 2 else x + 100, "t": f"2024-03-{1 + i % 28:02d}T06:00:00Z", "list": [x, -x],
        })  # fmt: skip
    return rows


ROWS = made_rows()


@pytest.fixture(scope="module")
def model() -> RecordModel:
    return RecordModel.fit(ROWS, scale="tiny", changes=STEPS)


def test_quantiles_are_in_the_units_of_the_field(model: RecordModel) -> None:
    plain = RecordModel(model.model, model.schema, Calibration())
    scaling: Any = model.model.processor.scaling
    assert scaling.fields["d.h"].scaler == "log" and scaling.fields["x"].scaler == "standard"
    for field, name in (("x", "x"), ("d.h", "d.h"), ("m", "m"), ("list[1]", "list[]")):
        p = (0.02, 0.3, 0.5, 0.9)
        found = plain.predict(ROWS[:6], field, p)
        assert found.shape == (6, 4) and np.all(np.diff(found, axis=1) > 0)
        # The inverse: the network's cdf of the scaled quantiles.
        numbers = plain._ask(ROWS[:6], [field] * 6)
        for column, share in enumerate(p):
            scaled = scaling.apply([name] * 6, found[:, column].tolist())
            cdf = numbers.cdf(numbers.median().new_tensor(scaled))
            np.testing.assert_allclose(cdf.numpy(), share, atol=1e-6)
    assert np.all((plain.predict(ROWS[:6], "m")[:, 1] > 95) & (plain.predict(ROWS[:6], "m")[:, 1] < 115))


def test_the_value_of_the_predicted_field_is_ignored(model: RecordModel) -> None:
    rows = [dict(ROWS[2]), dict(ROWS[2], x=9.99), {key: ROWS[2][key] for key in reversed(ROWS[2]) if key != "x"}]
    found = model.predict(rows, "x")
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    other = model.predict([dict(ROWS[2], list=[1.0, -1.0])], "x")
    assert not np.array_equal(found[0], other[0]), "but the others are"


def test_predictions_do_not_depend_on_the_batch(model: RecordModel, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "note": "?"} if i % 3 else {"x": 3.0} for i, row in enumerate(ROWS[:20])]
    whole = model.predict(rows, "d.h")
    monkeypatch.setattr("numerate.records.record_model.BATCH", 7)
    np.testing.assert_allclose(model.predict(rows, "d.h"), whole, rtol=1e-4)
    assert model.predict([], "x").shape == (0, 3)


def test_intervals_have_their_coverage_on_new_records(model: RecordModel) -> None:
    # The model has learnt little in 30 steps: the calibration makes the intervals right.
    new = made_rows(800)[400:]
    assert model.calibration.held_out["x"] >= 30
    for field in ("x", "d.h"):
        low, _, high = model.predict(new, field).T
        truth = np.array([row["x"] if field == "x" else row["d"]["h"] for row in new])
        assert 0.8 < np.mean((low <= truth) & (truth <= high)) < 0.99


def test_constants_and_times(model: RecordModel) -> None:
    assert model.predict(ROWS[:2], "d.c").tolist() == [[7.25] * 3] * 2
    times = model.predict(ROWS[:2], "t", (0.5,))
    assert times.dtype == np.dtype("datetime64[us]")
    assert np.all((times > np.datetime64("2024-02-20")) & (times < np.datetime64("2024-04-10")))


def test_samples_are_of_the_same_distribution(model: RecordModel) -> None:
    samples = model.sample(ROWS[:2], "x", 4000)
    assert samples.shape == (2, 4000)
    wanted = model.predict(ROWS[:2], "x", (0.05, 0.5, 0.95))
    np.testing.assert_allclose(np.quantile(samples, (0.05, 0.5, 0.95), axis=1).T, wanted, atol=0.6)
    np.testing.assert_array_equal(model.sample(ROWS[:2], "x", 5), model.sample(ROWS[:2], "x", 5))
    assert not np.array_equal(model.sample(ROWS[:2], "x", 5), model.sample(ROWS[:2], "x", 5, seed=1))


def test_a_saved_model_predicts_the_same(model: RecordModel, tmp_path: Path) -> None:
    model.save(tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.bin")) and (tmp_path / "out" / "records.json").is_file()
    again = RecordModel.load(tmp_path / "out")
    assert again.schema == model.schema and again.calibration == model.calibration
    for field in ("x", "t", "d.h", "d.c"):
        np.testing.assert_array_equal(again.predict(ROWS[:5], field), model.predict(ROWS[:5], field))


def test_data_frames(model: RecordModel) -> None:
    import pandas  # a dependency of `datasets`

    rows = [{"x": row["x"], "site": row["site"], "m": row["m"], "t": row["t"]} for row in ROWS[:4]]
    frame = pandas.DataFrame(rows, index=list("abcd"))
    frame["t"] = pandas.to_datetime(frame["t"])
    found = model.predict(frame, "m", (0.1, 0.5))
    assert list(found.index) == list("abcd") and list(found.columns) == [0.1, 0.5]
    np.testing.assert_allclose(found.to_numpy(), model.predict(rows, "m", (0.1, 0.5)), rtol=1e-6)
    assert model.sample(frame, "x", 3).shape == (4, 3)
    fitted = RecordModel.fit(pandas.concat([frame] * 5), scale="tiny", changes=("training.use_cpu=true",))
    holds = {path: each.holds for path, each in fitted.schema.fields.items()}
    assert holds == {"x": "number", "site": "text", "m": "number", "t": "time"}
    assert fitted.schema.fields["m"].missing == 10, "NaN is missing"


def test_columns_of_one_name_are_refused() -> None:
    import pandas

    frame = pandas.DataFrame([[1, 2, 3]], columns=["x", "y", "x"])
    with pytest.raises(FieldError, match="several columns are named 'x'; rename them"):
        as_rows(frame)


def test_pandas_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    assert as_rows([{"x": 1}]) == [{"x": 1}] and "pandas" not in sys.modules


def test_unusual_input_is_reported(model: RecordModel) -> None:
    asked = RecordModel(model.model, model.schema, model.calibration)
    odd = {"x": 99.0, "new": 1, "d": {"h": math.inf, "c": 8}, "m": "n/a", "t": "soon", "site": "north"}
    assert np.isfinite(asked.predict([odd], "list[0]")).all()
    lines = asked.report().splitlines()
    assert lines[0].split()[:4] == ["field", "holds", "values", "missing"]
    assert next(line for line in lines if line.startswith("m ")).split()[1:4] == ["number", "200", "200"]
    assert "predicted since: 1 records" in lines
    for line in ("infinite  d.h: 1", "outside   x: 1", "outside   d.c: 1", "strays    t: 1", "unknown   new: 1"):
        assert f"  {line}" in lines, asked.report()


def test_arrays_are_lists() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1], "list": [np.array([2.0, 3.0])]})  # as `read_parquet` gives it
    assert as_rows(frame) == as_rows([{"x": np.array(1), "list": np.array([2.0, 3.0])}]) == [{"x": 1, "list": [2, 3]}]


def test_error_messages(model: RecordModel, tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="unknown field 'xx': did you mean 'x'"):
        model.predict(ROWS[:1], "xx")
    with pytest.raises(FieldError, match="field 'site' has texts"):
        model.predict(ROWS[:1], "site")
    with pytest.raises(FieldError, match=r"quantiles must lie between 0 and 1, got \(0.5, 1.0\)"):
        model.predict(ROWS[:1], "x", (0.5, 1.0))
    for wrong in (0.5, None, ["half"]):
        with pytest.raises(FieldError, match=r"quantiles must be a list of numbers, such as \(0.05, 0.5, 0.95\), got "):
            model.predict(ROWS[:1], "x", wrong)  # type: ignore[arg-type]
    with pytest.raises(FieldError, match="a record has at most 1024 tokens, got "):
        model.predict(ROWS[:1], "list[5000]")
    with pytest.raises(FieldError, match=r"a record has no place for 'list\[99999999\]'"):
        model.predict(ROWS[:1], "list[99999999]")
    with pytest.raises(FieldError, match="a record has at most 1024 tokens, got "):
        model.predict([{"list": [1.5] * 2000}], "x")
    with pytest.raises(FieldError, match="count must be a positive whole number, got 0"):
        model.sample(ROWS[:1], "x", 0)
    with pytest.raises(FieldError, match="at least 10 records are needed, got 3"):
        RecordModel.fit(ROWS[:3], scale="tiny")
    with pytest.raises(FieldError, match="give a list of records or a DataFrame, got a str"):
        RecordModel.fit("my.csv")
    with pytest.raises(ArtefactError, match="no such folder"):
        RecordModel.load(tmp_path / "none")
    with pytest.raises(ArtefactError, match=r"has no records\.json: it is no model of records"):
        RecordModel.load(tmp_path)
    (tmp_path / "records.json").write_text('{"kind": "record-model", "schem": {}}')
    with pytest.raises(ArtefactError, match="unknown key 'schem'"):
        RecordModel.load(tmp_path)


def test_wrong_types_are_one_clear_line(model: RecordModel) -> None:
    for wrong, message in (
        (lambda: model.predict(ROWS[:1], 3), "give one field to predict, got 3"),  # type: ignore[arg-type]
        (lambda: model.predict(ROWS[:1], ["x"]), r"give one field to predict, got \['x'\]"),  # type: ignore[arg-type]
        (lambda: model.sample(ROWS[:1], "x", 2.5), "count must be a positive whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: model.sample(ROWS[:1], "x", 2, seed=-1), "seed must be a whole number from 0, got -1"),
    ):
        with pytest.raises(FieldError, match=message):
            wrong()
    assert model.predict([{"site": "a\ud800"}], "x").shape == (1, 3), "half of a character"


def test_one_field_to_leave_out_and_one_change_need_no_list() -> None:
    rows = [{"id": i, "xy": i % 7, "z": i} for i in range(30)]
    made = RecordModel.fit(rows, scale="tiny", changes="training.max_steps=1", leave_out="xy")
    assert made.schema.numbers() == ["id", "z"]
