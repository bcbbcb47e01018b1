"""Scalers: fitted for each field, inverted, reported, and saved as JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate.config import ConfigError
from numerate.numerals.numeral import Numeral
from numerate.processing.scaling import EVERYTHING, FieldScaler, Scaling, field_of
from numerate.reading import make_reader

KINDS = ("standard", "range", "log", "none")
floats = st.floats(allow_nan=False, allow_infinity=False)
paths = st.sampled_from(["a", "a.b", "data[0][1]", "data[7][0]", '["my key"][3]', ""])


def numeral(value: float, path: str = "", unit: str | None = None) -> Numeral:
    text = repr(value)
    return Numeral(text, 0, len(text), value, path=path, unit=unit)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("", ""),
        ("a.b", "a.b"),
        ("data[3][0]", "data[][]"),
        ('["my [3] key"][12]', '["my [3] key"][]'),
        (r'["a\"[1]"][2].x', r'["a\"[1]"][].x'),
        ("a[1].b[2]", "a[].b[]"),
    ],
)
def test_fields_are_paths_without_indices(path: str, field: str) -> None:
    assert field_of(path) == field


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.lists(st.tuples(floats, paths), min_size=1, max_size=30), others=st.lists(floats, max_size=5))
def test_invert_undoes_apply(kind: str, data: list[tuple[float, str]], others: list[float]) -> None:
    numerals = [numeral(value, path) for value, path in data]
    scaling = Scaling(scaler=kind).fit(numerals)  # type: ignore[arg-type]
    again = scaling.invert(numerals, scaling.apply(numerals))
    for one, value in zip(numerals, again.tolist(), strict=True):
        field = scaling.fields[field_of(one.path)]
        # What a scaler can tell apart: the last bits of its centre and of its spread.
        size = abs(one.value) if kind != "log" else abs(one.value) * (1 + abs(field.centre) + field.spread) + field.unit
        slack = 1e-9 * max(size, 0.0 if kind == "log" else abs(field.centre) + field.spread)
        assert math.isclose(value, one.value, rel_tol=1e-9, abs_tol=min(slack, 1e300))
    some = [numeral(value, "a") for value in others]
    assert not np.isnan(scaling.apply(some)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_values_that_are_not_finite_stay_the_same(kind: str) -> None:
    strange = [math.nan, math.inf, -math.inf]
    numerals = [numeral(value, "a") for value in (1.0, 2.0, *strange)]
    scaling = Scaling(scaler=kind).fit(numerals)  # type: ignore[arg-type]
    assert scaling.fields["a"].count == 2
    assert np.array_equal(scaling.apply(numerals)[2:], strange, equal_nan=True)
    assert np.array_equal(scaling.invert(numerals[2:], strange), strange, equal_nan=True)


def test_each_scaler_equals_its_formula() -> None:
    numerals = [numeral(value, f"a[{i}]") for i, value in enumerate([1.0, 2.0, 3.0])]
    deviation = math.sqrt(2 / 3)
    assert Scaling().fit(numerals).apply(numerals) == pytest.approx([-1 / deviation, 0, 1 / deviation])
    assert Scaling(scaler="range", limit=2).fit(numerals).apply(numerals).tolist() == [-2, 0, 2]
    assert Scaling(scaler="none").fit(numerals).apply(numerals).tolist() == [1, 2, 3]
    log = Scaling(scaler="log").fit(numerals)
    assert log.fields["a[]"].unit == 2.0
    bent = np.log1p(np.array([1, 2, 3]) / 2)
    assert log.apply(numerals) == pytest.approx((bent - bent.mean()) / bent.std())
    assert log.apply(["a[9]"], [-2.0]) == pytest.approx((-bent[1] - bent.mean()) / bent.std())


@pytest.mark.parametrize("kind", KINDS)
def test_constants_are_only_shifted(kind: str) -> None:
    for value in (0.0, 0.1, -7.0, 5e-324, 1e300):
        numerals = [numeral(value)] * 3
        scaling = Scaling(scaler=kind).fit(numerals)  # type: ignore[arg-type]
        assert scaling.fields[""].spread == 1.0
        assert scaling.apply(numerals).tolist() == pytest.approx([value if kind == "none" else 0.0] * 3)
        assert scaling.invert(numerals, scaling.apply(numerals)).tolist() == pytest.approx([value] * 3, rel=1e-9)


def test_the_largest_floats_can_be_scaled() -> None:
    numerals = [numeral(value) for value in (-1.7e308, 1.7e308, 1e308)]
    for kind in ("standard", "range", "log"):
        scaling = Scaling(scaler=kind).fit(numerals)
        scaled = scaling.apply(numerals)
        assert np.isfinite(scaled).all() and np.abs(scaled).max() <= 5.0001
        assert scaling.invert(numerals, scaled) == pytest.approx([n.value for n in numerals], rel=1e-6)


def test_fields_by_path_unit_or_none() -> None:
    records = make_reader("records").find("{'m': 1, 'data': [[100, 200], [300, 400]]}")
    assert set(Scaling().fit(records).fields) == {"m", "data[][]", EVERYTHING}
    units = make_reader("standard").find("5 km, 7 km, 9 kg and 3")
    assert set(Scaling(by="unit").fit(units).fields) == {"km", "kg", "", EVERYTHING}
    assert set(Scaling(by="none").fit(units).fields) == {EVERYTHING}
    assert Scaling(by="unit").fit(units).invert(["km"], [1.0]).tolist() == [7.0]
    chosen = Scaling(choose={"m": "none"}).fit(records)
    assert chosen.apply(records).tolist()[0] == 1.0 and chosen.fields["data[][]"].scaler == "standard"


def test_unknown_fields_use_the_common_scaler_and_are_counted() -> None:
    scaling = Scaling(scaler="range").fit([numeral(0.0, "a"), numeral(10.0, "b")])
    assert scaling.unseen == {}
    assert scaling.apply(["c[1]", "c[2]", "a"], [0.0, 10.0, 0.0]).tolist() == [-5.0, 5.0, 0.0]
    assert scaling.unseen == {"c[]": 2}
    scaling.invert(["d"], [0.0])
    scaling.report([numeral(1.0, "e")])
    assert scaling.unseen == {"c[]": 2} and "unseen" in scaling.report()


def test_the_report_counts_saturated_values() -> None:
    numerals = [numeral(value, "x") for value in (1.0, 2.0, 7.0, -9.0)]
    scaling = Scaling(scaler="none").fit(numerals)
    line = scaling.saturation()[0]
    assert (line.field, line.values, line.saturated, line.share) == ("x", 4, 2, 0.5)
    assert "50.0 %" in scaling.report()
    fresh = {
        one.field: one for one in scaling.saturation([numeral(6.0, "x"), numeral(1.0, "y"), numeral(math.inf, "x")])
    }
    assert (fresh["x"].values, fresh["x"].saturated) == (1, 1)
    assert (fresh[EVERYTHING].values, fresh[EVERYTHING].saturated) == (2, 1)


@given(data=st.lists(st.tuples(floats, paths), min_size=1, max_size=10), kind=st.sampled_from(KINDS))
def test_a_scaling_is_saved_as_json(data: list[tuple[float, str]], kind: str) -> None:
    scaling = Scaling(scaler=kind, choose={"a": "log"}).fit([numeral(*one) for one in data])  # type: ignore[arg-type]
    assert Scaling.from_json(scaling.to_json()) == scaling
    assert Scaling.from_dict(json.loads(scaling.to_json())).fields == scaling.fields


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"limt": 5}, "did you mean 'limit'"),
        ({"limit": 0}, "limit"),
        ({"by": "key"}, "by"),
        ({"scaler": "pickle"}, "scaler"),
        ({"choose": {"a": "os"}}, "choose"),
        ({"fields": {"a": FieldScaler().to_dict()}}, "lack"),
        ({"fields": {"*": FieldScaler().to_dict() | {"spread": 0.0}}}, "spread"),
        ({"fields": {"*": FieldScaler().to_dict() | {"centre": "1"}}}, "centre"),
    ],
)
def test_bad_json_is_refused(change: dict[str, object], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        Scaling.from_dict(Scaling().to_dict() | change)


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        Scaling().apply([numeral(1.0)])
    with pytest.raises(ValueError, match="finite"):
        Scaling().fit([numeral(math.nan)])
    with pytest.raises(ValueError, match="as many values"):
        Scaling().fit([numeral(1.0)]).apply([numeral(1.0)], [1.0, 2.0])
    assert Scaling().fit([numeral(1.0)]).apply([]).tolist() == []
