"""Fields of temperature, and the records that are drawn from them."""

from __future__ import annotations

import ast
import datetime
import importlib.util
import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from numerate.config import ConfigError
from numerate_lab.tasks.temperature.forecasts import SPLITS, TemperatureConfig, TemperatureSource
from numerate_lab.tasks.temperature.weather_fields import FieldError, TemperatureField, read_field, synthetic_field

if TYPE_CHECKING:
    from pathlib import Path

FEW: dict[str, Any] = {"stations": (3, 6)}


@pytest.fixture(scope="module")
def task() -> TemperatureSource:
    return TemperatureSource(TemperatureConfig(**FEW))


def parsed(text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates (S, 3), start (4,) and temperatures (S, T) as a record says them."""
    record = ast.literal_eval(text)
    assert list(record) == ["description", "data"] and list(record["description"]) == ["coords", "start"]
    return np.array(record["description"]["coords"]), np.array(record["description"]["start"]), np.array(record["data"])


def moment_of(start: np.ndarray, year: int) -> datetime.datetime:
    """The time that four sines and cosines tell, to the hour."""
    seconds = math.atan2(start[2], start[3]) / (2 * math.pi) % 1 * (366 if year % 4 == 0 else 365) * 86_400
    hour = round(math.atan2(start[0], start[1]) / (2 * math.pi) * 24) % 24
    rough = datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
    days = (datetime.timedelta(days=day) for day in (-1, 0, 1))
    return min(
        (rough.replace(hour=hour, minute=0, second=0, microsecond=0) + d for d in days), key=lambda t: abs(t - rough)
    )


# Fields.


def test_the_synthetic_field_has_days_and_weather() -> None:
    field = synthetic_field(days=40, seed=3)
    assert field.t2m.shape == (960, 16, 24) and field.t2m.dtype == np.float32 and field.hours == 1
    assert field.t2m[0, 0, 0] == synthetic_field(days=40, seed=3).t2m[0, 0, 0] != synthetic_field(days=40).t2m[0, 0, 0]
    assert datetime.datetime.fromtimestamp(int(field.time[0]), datetime.UTC).isoformat() == "2021-03-01T00:00:00+00:00"
    hours = field.time // 3600 % 24
    by_hour = np.stack([field.t2m[hours == hour].mean(0, dtype=np.float64) for hour in range(24)])
    assert set((by_hour.argmax(0) + field.lon / 15).round().ravel().tolist()) <= {14, 15, 16}
    swing = by_hour.max(0) - by_hour.min(0)
    assert swing.min() < 3 and swing.max() > 6  # sea and land
    daily = field.t2m.reshape(40, 24, -1).mean(1, dtype=np.float64)
    weather = daily - daily.mean(0)
    along = [(weather[lag:] * weather[: 40 - lag]).mean() / weather.var() for lag in (1, 6)]
    assert along[0] > 0.5 and along[1] < 0.4  # it lasts, and passes
    assert synthetic_field(days=1, hours=6, shape=(1, 2)).t2m.shape == (4, 1, 2)
    with pytest.raises(ValueError, match="hours=5"):
        synthetic_field(hours=5)


def test_npz_of_several_kinds(tmp_path: Path) -> None:
    field = synthetic_field(days=2, hours=3, shape=(2, 3))
    np.savez(tmp_path / "ours.npz", t2m=field.t2m, time=field.time, lat=field.lat, lon=field.lon)
    np.savez(
        tmp_path / "theirs.npz", t2m=field.t2m, valid_time=field.time.astype("datetime64[s]").astype("datetime64[ns]"),
        latitude=field.lat, longitude=field.lon,
    )  # fmt: skip
    for name in ("ours.npz", "theirs.npz"):
        read = read_field(tmp_path / name)
        assert read.hours == 3 and read.time.dtype == np.int64
        for key in ("t2m", "time", "lat", "lon"):
            assert np.array_equal(getattr(read, key), getattr(field, key))


def test_bad_npz(tmp_path: Path) -> None:
    for change, message in [
        ({"t2m": None}, "bad.npz: lacks t2m; has time, lat, lon"),
        ({"lat": None, "time": None}, "lacks time or valid_time, lat or latitude"),
        ({"lat": np.zeros(3)}, r"\(16, 3, 3\), got \(16, 2, 3\)"),
        ({"time": np.arange(16) * 1800}, "whole hours, got 1800 s behind time 0"),
        ({"time": np.r_[np.arange(15), 20] * 3600}, "got 21600 s behind time 14"),
        ({"time": np.arange(16)[::-1] * 3600}, "got -3600 s"),
        ({"time": np.arange(16) * 3600.0}, "got float64"),
        ({"lat": np.array([50.0, 95.0])}, "lat must be degrees within ±90"),
        ({"lon": np.array([0.0, 1.0, np.nan])}, "lon must be degrees"),
        ({"t2m": np.zeros((16, 2, 3), dtype=np.int16)}, "int16"),
        ({"t2m": np.array([{}], dtype=object)}, "no npz of arrays"),
    ]:
        field = synthetic_field(days=2, hours=3, shape=(2, 3))
        arrays = {"t2m": field.t2m, "time": field.time, "lat": field.lat, "lon": field.lon} | change
        np.savez(tmp_path / "bad.npz", **{name: array for name, array in arrays.items() if array is not None})
        with pytest.raises(FieldError, match=message):
            read_field(tmp_path / "bad.npz")


def test_what_is_no_field_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torn.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FieldError, match=r"torn\.npz: no npz of arrays"):
        read_field(tmp_path / "torn.npz")
    with pytest.raises(FieldError, match=r"nowhere\.nc: no such file"):
        TemperatureSource("nowhere.nc")
    (tmp_path / "some.nc").write_bytes(b"CDF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"some\.nc: NetCDF needs netCDF4.*pip install netCDF4"):
        read_field(tmp_path / "some.nc")


@pytest.mark.parametrize("kind", ["NETCDF4", "NETCDF3_64BIT_OFFSET"])
def test_netcdf(tmp_path: Path, kind: str) -> None:
    package = pytest.importorskip("netCDF4")
    field = synthetic_field(days=2, hours=3, shape=(2, 3))
    path = tmp_path / "era5.nc"
    with package.Dataset(path, "w", format=kind) as file:
        shape = {"time": 16, "latitude": 2, "longitude": 3} | ({"number": 1} if kind == "NETCDF4" else {})
        for name, size in shape.items():
            file.createDimension(name, size)
        for name, values in (("latitude", field.lat), ("longitude", field.lon)):
            file.createVariable(name, "f4", (name,))[:] = values
        time = file.createVariable("time", "i4", ("time",))
        time.units, time.calendar = "hours since 1900-01-01 00:00:0.0", "gregorian"
        time[:] = field.time // 3600 + 25_567 * 24  # days from 1900 to 1970
        # Packed into 16 bits, as the store does it, with a place where nothing is known.
        axes = ("time", *(["number"] if kind == "NETCDF4" else []), "latitude", "longitude")
        t2m = file.createVariable("t2m", "i2", axes, fill_value=-32767)
        t2m.scale_factor, t2m.add_offset = 0.001, 280.0
        hidden = np.broadcast_to(np.arange(6).reshape(2, 3) == 4, field.t2m.shape)
        values = np.ma.array(field.t2m, mask=hidden)
        t2m[:] = values[:, None] if kind == "NETCDF4" else values
    read = read_field(path)
    assert (
        np.array_equal(read.time, field.time) and np.allclose(read.lat, field.lat) and np.allclose(read.lon, field.lon)
    )
    assert read.known_cells().tolist() == [0, 1, 2, 3, 5]
    assert np.abs(read.t2m - field.t2m).reshape(16, 6)[:, [0, 1, 2, 3, 5]].max() < 6e-4
    (tmp_path / "no.nc").write_bytes(b"nothing of the kind")
    with pytest.raises(FieldError, match=r"no\.nc: no NetCDF"):
        read_field(tmp_path / "no.nc")


# Samples and splits.


def test_samples_are_as_the_paper_says() -> None:
    task = TemperatureSource()
    samples = task.samples("train", 300)
    sizes = np.array([len(sample.cells) for sample in samples])
    assert sizes.min() == 60 and sizes.max() == 90
    assert {(len(s.times) * s.hours // 24, s.hours) for s in samples} == {(d, h) for d in (2, 3, 4) for h in (3, 4)}
    for sample in samples:
        assert len(set(sample.cells.tolist())) == len(sample.cells)
        assert set(np.diff(task.field.time[sample.times]).tolist()) == {sample.hours * 3600}
        assert len(sample.times) * sample.hours % 24 == 0 and sample.values.shape == (
            len(sample.cells),
            len(sample.times),
        )
    assert {int(task.field.time[s.times[0]]) // 3600 % 24 for s in samples} == set(range(24))
    assert np.bincount(np.concatenate([s.cells for s in samples]), minlength=384).min() > 0


def test_no_sample_is_in_two_splits() -> None:
    field = synthetic_field(days=31, shape=(3, 3))
    task = TemperatureSource(TemperatureConfig(stations=(2, 3), gap=30), field)
    seen = {}
    for split in SPLITS:
        times = np.concatenate([sample.times for sample in task.samples(split, 400)])
        seen[split] = field.time[times.min()], field.time[times.max()]
        # The whole of the split is used, to its ends.
        assert (times.min(), times.max() + 1) == task.bounds[split]
    for before, after in (("train", "dev"), ("dev", "test")):
        assert seen[after][0] - seen[before][1] == 31 * 3600  # 30 hours of the gap lie between
    assert task.bounds["test"] == (744 - 149, 744) and task.bounds["dev"][1] - task.bounds["dev"][0] == 112
    training = field.t2m[: task.bounds["train"][1]].astype(np.float64)
    assert (task.mean, task.kelvin) == pytest.approx((training.mean(), training.std()))


def test_a_sample_depends_on_seed_split_and_place_alone(task: TemperatureSource) -> None:
    texts = task.texts("train", 9)
    other = TemperatureSource(TemperatureConfig(**FEW))
    assert other.texts("train", 2, start=5) == texts[5:7] and len(set(texts)) == 9
    assert task.texts("train", 1, seed=1)[0] not in texts
    late = task.truth("train", 2, start=5).strings
    assert task.truth("train", 7).strings[-len(late) :] == late
    whole, part = task.truth("dev", 3), task.truth("dev", 1)
    assert whole.strings[: len(part)] == part.strings
    assert task.texts("dev", 0) == [] and len(task.truth("dev", 0)) == 0
    assert all(len(guess) == 0 for guess in task.baselines("dev", 0).values())


def test_records_say_what_the_field_says() -> None:
    for quote in ["'", '"']:
        for decimals in [2, 6]:
            field = synthetic_field(days=60)
            task = TemperatureSource(TemperatureConfig(**FEW, quote=quote, decimals=decimals), field)
            lats, lons = (np.broadcast_to(x, (16, 24)) for x in (field.lat[:, None], field.lon))
            known = np.stack([np.sin(np.radians(lats)), np.sin(np.radians(lons)), np.cos(np.radians(lons))], -1)
            for text, sample in zip(task.texts("test", 8), task.samples("test", 8), strict=True):
                assert " " not in text and "\n" not in text
                assert quote == "'" or json.loads(text) == ast.literal_eval(text)
                coords, start, data = parsed(text)
                begins = moment_of(start, 2021) if decimals > 2 else None
                assert begins is None or begins.timestamp() == field.time[sample.times[0]]
                for station, (place, row) in enumerate(zip(coords, data, strict=True)):
                    gaps = np.abs(known - place).max(-1)
                    assert gaps.min() <= 0.5 * 10**-decimals * 1.001
                    if decimals > 2:  # two decimals do not tell neighbours apart
                        y, x = np.unravel_index(gaps.argmin(), gaps.shape)
                        assert y * 24 + x == sample.cells[station]
                        kelvin = field.t2m[sample.times, y, x].astype(np.float64)
                        assert (
                            np.abs(row * task.kelvin + task.mean - kelvin).max() <= 0.5001 * 10**-decimals * task.kelvin
                        )
                assert np.array_equal(data, sample.values)
                assert all(
                    len(number.partition(".")[2]) <= decimals for number in re.findall(r"-?\d+\.\d+(?!\d*e)", text)
                )
                assert not re.search(r"-0\.0(?!\d)", text)


def test_unknown_cells_are_never_stations() -> None:
    field = synthetic_field(days=60, shape=(3, 4))
    t2m = field.t2m.copy()
    t2m[700, 1, 2], t2m[:, 0, 0] = np.nan, np.nan
    holed = TemperatureField(t2m, field.time, field.lat, field.lon)
    task = TemperatureSource(TemperatureConfig(stations=(1, 10)), holed)
    cells = np.concatenate([sample.cells for split in SPLITS for sample in task.samples(split, 40)])
    assert set(cells.tolist()) == set(range(12)) - {0, 6}
    assert math.isfinite(task.mean) and all(np.isfinite(g).all() for g in task.baselines("test", 20).values())
    with pytest.raises(ValueError, match=r"10 known cells for stations=\(1, 11\)"):
        TemperatureSource(TemperatureConfig(stations=(1, 11)), holed)


# What is refused.


def test_configs_are_checked() -> None:
    for change, message in [
        ({"days": (1, 4)}, r"days must be from 2 up.*\(1, 4\)"),
        ({"stations": (9, 3)}, r"stations .*\(9, 3\)"),
        ({"steps": (5,)}, r"steps=\(5,\)"),
        ({"steps": (24,)}, r"steps=\(24,\)"),
        ({"steps": ()}, r"steps=\(\)"),
        ({"steps": (3, 3)}, "differ"),
        ({"dev": 0.0}, "dev=0.0"),
        ({"test": 0.9}, "test=0.9"),
        ({"gap": -1}, "gap=-1"),
        ({"decimals": 0}, "decimals=0"),
        ({"quote": "`"}, "quote"),
        ({"synthetic_days": 0}, "synthetic_days=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            TemperatureConfig(**change)
        with pytest.raises(ConfigError):
            TemperatureConfig.from_dict(change)


def test_what_does_not_fit_is_an_error(task: TemperatureSource) -> None:
    assert TemperatureSource().config == TemperatureConfig.from_json(TemperatureConfig().to_json())
    with pytest.raises(ValueError, match="'tests': did you mean 'test'"):
        task.texts("tests", 1)
    with pytest.raises(ValueError, match="start=-1"):
        task.texts("train", 1, start=-1)
    with pytest.raises(ValueError, match=r"every 6 h has none of the steps \(3, 4\)"):
        TemperatureSource(TemperatureConfig(**FEW), synthetic_field(days=60, hours=6))
    with pytest.raises(ValueError, match="records of 4 days do not fit into 'dev', which has 72 h"):
        TemperatureSource(TemperatureConfig(**FEW, synthetic_days=20))
    # Every 3 hours holds no 4.
    three = TemperatureSource(TemperatureConfig(**FEW), synthetic_field(days=60, hours=3))
    assert {sample.hours for sample in three.samples("train", 20)} == {3}
    flat = TemperatureField(
        np.full((1440, 3, 3), 280.0), *(getattr(synthetic_field(shape=(3, 3)), n) for n in ("time", "lat", "lon"))
    )
    with pytest.raises(ValueError, match=r"all 280\.0 K"):
        TemperatureSource(TemperatureConfig(**FEW), flat)
