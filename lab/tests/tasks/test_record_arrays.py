"""Records as numbers and shapes, held against the records that the tasks write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetSource
from numerate_lab.tasks.planets.planets_task import planet_records
from numerate_lab.tasks.records.record_arrays import Records, Shape
from numerate_lab.tasks.temperature.forecasts import TemperatureConfig, TemperatureSource
from numerate_lab.tasks.temperature.temperature_task import temperature_records

if TYPE_CHECKING:
    from pathlib import Path

PLANETS = PlanetsConfig(block=24, time=(3, 4), points=(5, 6))


def numbers_in(thing: Any) -> list[float]:
    """All numbers of a parsed record, in order."""
    if isinstance(thing, dict):
        return [number for value in thing.values() for number in numbers_in(value)]
    return [number for value in thing for number in numbers_in(value)] if isinstance(thing, list) else [thing]


def in_order(records: Records, texts: list[str]) -> list[str]:
    """Texts, which come shape by shape, in the order of all records."""
    return [texts[place] for place in np.argsort(np.concatenate(records.rows)).tolist()]


def test_planets_are_those_that_the_task_writes() -> None:
    for times in [None, 3]:
        source = PlanetSource(PLANETS, asks="a1")
        records = planet_records(source, "test", 20, times)
        texts = in_order(records, records.texts())
        for ours, theirs in zip(texts, source.texts("test", 20), strict=True):
            parsed, wanted = ast.literal_eval(ours), ast.literal_eval(theirs)
            wanted["data"] = wanted["data"][:times]
            assert list(parsed["description"]) == list(wanted["description"])
            assert numbers_in(parsed) == [round(number, 4) for number in numbers_in(wanted)]
        assert records.gold("a1").tolist() == np.round(source.truth("test", 20).values, 4).tolist()
        for ask in ("stepsize", "m1", "e1"):
            truth = PlanetSource(PLANETS, asks=ask).truth("test", 20).values
            assert np.abs(records.gold(ask) - truth).max() < 0.5001e-4
        with pytest.raises(ValueError, match="times must be at least 2, got 1"):
            planet_records(source, "test", 20, 1)


def test_temperatures_are_those_that_the_task_writes() -> None:
    source = TemperatureSource(TemperatureConfig(stations=(2, 4)))
    records = temperature_records(source, "test", 12)
    assert len(records) == 12 and len(records.shapes) > 2
    texts = in_order(records, records.texts())
    assert [ast.literal_eval(text) for text in texts] == [ast.literal_eval(text) for text in source.texts("test", 12)]
    assert records.gold("last").tolist() == source.truth("test", 12).values.tolist()


def test_centred_temperatures_are_differences_from_the_mean_of_what_is_told() -> None:
    source = TemperatureSource(TemperatureConfig(stations=(2, 4)))
    records, plain = (temperature_records(source, "test", 12, centred=centred) for centred in (True, False))
    np.testing.assert_allclose(records.gold("last"), source.truth("test", 12).values, atol=1e-9)
    for index, (text, other) in enumerate(zip(records.texts(), plain.texts(), strict=True)):
        ours, theirs = ast.literal_eval(text), ast.literal_eval(other)
        assert ours["description"] == theirs["description"]  # where and when stays as it is
        told, as_they_are = np.array(ours["data"]), np.array(theirs["data"])
        mean = as_they_are[:, :-1].mean()  # the last ones are asked for, and must not show in it
        np.testing.assert_allclose(told, as_they_are - mean, atol=1.01e-4, err_msg=str(index))


def test_files_give_back_what_they_got(tmp_path: Path) -> None:
    source = TemperatureSource(TemperatureConfig(stations=(2, 3)))
    records = temperature_records(source, "dev", 6, centred=True)
    records.save(tmp_path / "dev.npz")
    again = Records.load(tmp_path / "dev.npz")
    assert again.shapes == records.shapes and again.texts() == records.texts()
    assert again.gold("last").tolist() == records.gold("last").tolist()
    assert [file.name for file in tmp_path.iterdir()] == ["dev.npz"]


def test_a_shape_is_what_stands_between_numbers() -> None:
    shape = Shape.of("{'a1':-1.5e3,'b':[2, 3]}", {"b": [1, 2]})
    assert shape.sections == ("{'a1':", ",'b':[", ", ", "]}") and shape.asks == {"b": (1, 2)}
    records = Records((shape,), (np.array([[1.0, -0.25, 3.0]]),), (np.array([0]),), 2)
    assert records.texts() == ["{'a1':+1.00,'b':[-0.25, +3.00]}"] and records.gold("b").tolist() == [-0.25, 3.0]
