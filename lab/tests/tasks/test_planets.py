"""The systems that are drawn, their records, what is asked for, and the folder that keeps them."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

import numerate
from numerate.config import ConfigError
from numerate.numerals.numeral import Numeral
from numerate.objectives.masked import wanted_numbers
from numerate.processing.record_tokenizer import record_tokenizer
from numerate.processing.scaling import Scaling
from numerate.reading import make_reader
from numerate.registry import UnknownNameError
from numerate_lab.tasks.planets.integrator import from_elements, move
from numerate_lab.tasks.planets.planet_systems import FIELDS, PRESETS, PlanetsConfig, PlanetSource
from numerate_lab.tasks.planets.planet_texts import rounded
from numerate_lab.tasks.planets.system_draws import Systems, stepsizes_of

SMALL = PlanetsConfig(block=24, tolerance=1e-9)  # coarser than need be, and faster
NAMES = tuple(Systems.__dataclass_fields__)


@pytest.fixture(scope="module")
def task() -> PlanetSource:
    return PlanetSource(SMALL, asks="m1")


def same(one: Systems, other: Systems) -> bool:
    return all(np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in NAMES)


def followed_anew(systems: Systems, row: int) -> np.ndarray:
    """Where the planets of one system go, (T, planets, 2), from what the system says of itself."""
    count, points = int(systems.planets[row]), int(systems.points[row])
    columns = (systems.masses, systems.axes, systems.eccentricities, systems.angles)
    masses, *elements = (torch.from_numpy(x[row : row + 1, :count]) for x in columns)
    masses = torch.cat([torch.ones(1, 1, dtype=torch.float64), masses], 1)
    times = torch.arange(points, dtype=torch.float64)[None] * float(systems.stepsizes[row])
    return move(masses, *from_elements(masses, *elements), times).positions[0, :, 1:].numpy()


def test_systems_are_in_the_papers_ranges(task: PlanetSource) -> None:
    systems = task.samples("train", 48)
    assert set(systems.planets.tolist()) == {2, 3, 4}
    exists = np.arange(4) < systems.planets[:, None]
    for name, low, high in (("masses", 1e-5, 5e-5), ("axes", 1, 3), ("eccentricities", 0, 0.1)):
        column = getattr(systems, name)
        assert np.array_equal(np.isnan(column), ~exists)
        assert (
            low <= column[exists].min() < low + (high - low) / 5
            and high - (high - low) / 5 < column[exists].max() <= high
        )
    assert np.abs(systems.angles[exists]).max() <= math.pi / 6 and systems.angles[exists].min() < 0
    for axes, count in zip(systems.axes, systems.planets.tolist(), strict=True):
        steps = np.diff(np.sort(axes[:count]))
        assert np.nanmin(axes) == 1 and 1.5 <= np.nanmax(axes) <= 3 and np.ptp(steps) < 1e-12
    first = systems.axes[:, 0]
    assert 0 < (first == 1).sum() < 48  # the planets are in any order
    assert not ((first > 1) & (first < SMALL.gap_end)).any() and SMALL.gap_end == pytest.approx(1 + 0.5 / 3)
    assert systems.points.min() >= 30 and systems.points.max() <= 59
    times = systems.stepsizes * (systems.points - 1)
    assert np.abs(times - times.round()).max() < 1e-12 and times.round().min() >= 15 and times.round().max() <= 24
    assert np.isin(systems.stepsizes, stepsizes_of(SMALL)).all()
    for row in (0, 40):
        count, points = int(systems.planets[row]), int(systems.points[row])
        assert np.isnan(systems.positions[row, points:]).all() and np.isnan(systems.positions[row, :, count:]).all()
        assert np.abs(systems.positions[row, :points, :count] - followed_anew(systems, row)).max() < 1e-6


def test_the_public_code_differs() -> None:
    config = PlanetsConfig.from_dict(PRESETS["public-code"].to_dict() | {"block": 40})
    systems = PlanetSource(config).samples("train", 40)
    assert set(systems.planets.tolist()) == {2, 3, 4, 5}
    assert 4 <= (np.nan_to_num(systems.angles) == 0).all(1).sum() <= 22 and np.nanmax(systems.angles) > math.pi
    assert config.gap_end == pytest.approx(1.125)


def test_steps_between_those_of_training() -> None:
    # As the facts have it: 262 different steps from 0.2586 to 0.8276.
    known = stepsizes_of(SMALL)
    assert len(known) == 262 == len({t / (n - 1) for t in range(15, 25) for n in range(30, 60)})
    assert (known[0].round(4), known[-1].round(4), np.diff(known).max().round(4)) == (0.2586, 0.8276, 0.0276)
    found = PlanetSource(SMALL).samples("stepsize-between", 24)
    assert np.abs(found.stepsizes[:, None] - known).min() >= SMALL.margin
    assert (found.stepsizes > known[0]).all() and (found.stepsizes < known[-1]).all()
    times = found.stepsizes * (found.points - 1)
    assert (times > 15).all() and (times < 24).all()
    assert np.nanmin(found.axes, axis=1).tolist() == [1.0] * 24
    with pytest.raises(ValueError, match=r"margin=0\.5"):
        PlanetSource(PlanetsConfig(block=2, margin=0.5)).samples("stepsize-between", 1)


def test_the_first_planet_in_the_gap() -> None:
    found = PlanetSource(SMALL).samples("a1-gap", 24)
    assert (found.axes[:, 0] > 1).all() and (found.axes[:, 0] < SMALL.gap_end).all() and np.ptp(found.axes[:, 0]) > 0.1
    for axes, count in zip(found.axes, found.planets.tolist(), strict=True):
        # The others are where they would be, evenly spaced from 1 that now nobody holds.
        assert np.ptp(np.diff([1.0, *np.sort(axes[1:count])])) < 1e-12
    assert np.isin(found.stepsizes, stepsizes_of(SMALL)).all()


def test_what_is_tested_is_what_is_kept() -> None:
    # The public code tests one draw and keeps another. A bound that many a system reaches:
    config = PlanetsConfig(block=24, bound=2.7, outer=(2.0, 2.65), planets=(2, 3), tolerance=1e-9)
    found = PlanetSource(config).samples("train", 24)
    assert np.nanmax(np.abs(found.positions)) < 2.7 and 0 < (found.rejected > 0).sum() < 24
    again = np.flatnonzero(found.rejected > 0)[:1]
    for row in again.tolist():
        assert np.abs(followed_anew(found, row)).max() < 2.7
        assert (
            np.abs(found.positions[row, : found.points[row], : found.planets[row]] - followed_anew(found, row)).max()
            < 1e-6
        )
    free = PlanetSource(PlanetsConfig.from_dict(config.to_dict() | {"bound": 10.0})).samples("train", 24)
    assert not free.rejected.any()
    assert np.array_equal(np.nanmax(np.abs(free.positions), axis=(1, 2, 3)) >= 2.7, found.rejected > 0)
    kept = found.rejected == 0
    assert np.array_equal(free.masses[kept], found.masses[kept], equal_nan=True)


def test_what_is_always_rejected_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numerate_lab.tasks.planets.system_draws.MAX_TRIES", 2)
    config = PlanetsConfig(block=2, outer=(2.9, 2.9), eccentricity=(0.1, 0.1), bound=3.0, time=(24, 24), planets=(2, 2))
    with pytest.raises(ValueError, match=r"2 of 2 systems always reach bound=3\.0: 'train'"):
        PlanetSource(config).samples("train", 1)


def test_a_sample_depends_on_seed_split_and_place_alone(task: PlanetSource) -> None:
    whole = task.samples("train", 48)
    other = PlanetSource(SMALL, asks="a1")  # it makes its second block first
    assert same(other.samples("train", 7, start=30), whole[30:37])
    assert same(task.samples("train", 20, start=20), whole[20:40])
    assert task.texts("train", 2, start=23) == task.texts("train", 25)[23:]
    firsts = {task.samples(split, 1, seed).masses[0, 0] for split, seed in (("train", 0), ("train", 1), ("dev", 0))}
    assert len(firsts) == 3
    assert len(task.samples("train", 0)) == 0 and task.texts("train", 0) == []


def test_records_say_what_the_arrays_say() -> None:
    for quote in ["'", '"']:
        for significant in [None, 3]:
            config = PlanetsConfig.from_dict(SMALL.to_dict() | {"quote": quote, "significant": significant})
            task = PlanetSource(config)
            systems, texts = task.samples("dev", 6), task.texts("dev", 6)
            for row, text in enumerate(texts):
                assert " " not in text and "\n" not in text
                record = json.loads(text) if quote == '"' else ast.literal_eval(text)
                assert list(record) == ["description", "data"]
                count, points = int(systems.planets[row]), int(systems.points[row])
                assert list(record["description"]) == [*(f"planet{i}" for i in range(count)), "stepsize"]
                description = record["description"]
                written = [[description[f"planet{i}"][key] for key in "mae"] for i in range(count)]
                assert all(list(description[f"planet{i}"]) == ["m", "a", "e"] for i in range(count))
                units = np.array([1e5, 1.0, 20.0])
                truth = np.stack([systems.masses, systems.axes, systems.eccentricities], -1)[row, :count] * units
                near = 0 if significant is None else 0.5 * 10.0 ** (1 - significant)
                np.testing.assert_allclose(written, truth, rtol=near)
                np.testing.assert_allclose(description["stepsize"], systems.stepsizes[row], rtol=near)
                assert np.shape(record["data"]) == (points, count, 2)
                np.testing.assert_allclose(record["data"], systems.positions[row, :points, :count], rtol=near)
                if significant:
                    digits = [
                        repr(x).lstrip("-0.").replace(".", "").rstrip("0") for x in np.ravel(record["data"]).tolist()
                    ]
                    assert max(len(d.partition("e")[0]) for d in digits) == 3


def test_rounding_is_that_of_decimals() -> None:
    numbers = np.random.default_rng(0).standard_normal(2000) * 10.0 ** np.random.default_rng(1).integers(-6, 1, 2000)
    assert rounded(numbers, 6).tolist() == [float(f"{x:.6g}") for x in numbers.tolist()]
    assert rounded(numbers, None) is numbers


def test_what_is_asked_for() -> None:
    for asks, column, unit in [("m1", "masses", 1e5), ("a1", "axes", 1), ("e1", "eccentricities", 20)]:
        task = PlanetSource(SMALL, asks=asks)
        systems, texts, truth = task.samples("test", 24), task.texts("test", 24), task.truth("test", 24)
        assert truth.values.tolist() == (getattr(systems, column)[:, 0] * unit).tolist()
        assert truth.groups["planets"].tolist() == systems.planets.tolist()
        check_truth(task, texts, truth)


def test_the_step_is_asked_for() -> None:
    task = PlanetSource(SMALL, asks="stepsize")
    truth = task.truth("stepsize-between", 24)
    assert truth.values.tolist() == task.samples("stepsize-between", 24).stepsizes.tolist()
    assert task.answer_slot is None  # it comes behind two, three or four planets
    check_truth(task, task.texts("stepsize-between", 24), truth)
    three = PlanetSource(PlanetsConfig(block=4, planets=(3, 3)))
    check_truth(three, three.texts("dev", 4), three.truth("dev", 4))
    assert three.answer_slot == 9


def check_truth(task: PlanetSource, texts: list[str], truth: Any) -> None:
    """What the truth says is what the house's reader finds at the path, and where it stands."""
    for row, text in enumerate(texts):
        numerals = make_reader("records").find(text)
        asked = [n for n in numerals if n.path == FIELDS[task.asks] == task.answer_path]
        assert len(asked) == 1
        assert (asked[0].text, asked[0].value) == (truth.strings[row], truth.values[row])
        assert (asked[0].start, asked[0].end) == tuple(truth.spans[row]) and asked[0].precision == truth.precision[row]
        if task.answer_slot is not None:
            assert numerals[task.answer_slot] == asked[0]
    assert all(text.count("[NUM]") == 1 for text in truth.hidden_in(texts))


def test_errors_are_in_written_units(task: PlanetSource) -> None:
    truth = task.truth("test", 24)
    guess = np.full(24, 3.0)
    scores = task.measure(guess, truth)
    assert float(scores["mse"]) == pytest.approx(np.mean((truth.values - 3) ** 2))
    assert 0.4 < float(scores["mse"]) < 2.5  # 1.33 for masses from 1 to 5
    assert float(scores["invalid"]) == 0 and scores["mse"].count == 24
    given: list[Any] = [*truth.strings[:20], None, "no idea", "nan", "3"]
    scores = task.measure(given, truth)
    assert float(scores["invalid"]) == pytest.approx(3 / 24)
    assert float(scores["mse"]) == pytest.approx((truth.values[23] - 3) ** 2 / 21) and scores["mse"].non_finite == 3


def test_a_model_reads_records_with_a_scale_for_each_field() -> None:
    task = PlanetSource(PlanetsConfig(block=16, planets=(3, 4)), asks="e1")
    texts, truth = task.texts("train", 16), task.truth("train", 16)
    reader = make_reader("records")
    numerals = [numeral for text in texts for numeral in reader.find(text)]
    scaling = Scaling(scaler="range").fit(numerals)
    assert set(scaling.fields) == {
        "*", "data[][][]", "description.stepsize", *(f"description.planet{i}.{key}" for i in range(4) for key in "mae")
    }  # fmt: skip
    tokenizer = record_tokenizer(texts, add_end=True)
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=800,
    )  # fmt: skip
    model = numerate.attach(
        BertForMaskedLM(shape), tokenizer, recipe="xval", reader="records", scaling=scaling, implied_commas=True
    )
    batch = model.processor(texts, return_tensors="pt", padding=True)
    found = batch["number_bits"].view(torch.float64)
    for row, text in enumerate(texts):
        numbers = reader.find(text)
        kept = [n for n in batch.numerals[row] if n is not None]
        assert [n.path for n in kept] == [n.path for n in numbers]
        scaled = found[row, : len(numbers)].numpy()
        assert np.abs(scaled).max() <= 5 * (1 + 1e-9)
        assert scaling.invert([n.path for n in numbers], scaled) == pytest.approx([n.value for n in numbers], rel=1e-9)
        mine = next(i for i, n in enumerate(numbers) if n.path == task.answer_path)
        low, high = truth.values.min(), truth.values.max()
        assert scaled[mine] == pytest.approx(10 * (truth.values[row] - low) / (high - low) - 5, abs=1e-9)
        ids = batch["input_ids"][row][batch["attention_mask"][row] > 0]
        assert model.processor.decode(ids, batch.numerals[row], skip_special_tokens=True) == text
    wanted = wanted_numbers([[n for n in row if isinstance(n, Numeral)] for row in batch.numerals], task.answer_path)
    assert wanted.sum(1).tolist() == [1] * 16
    asked = model.predict(truth.hidden_in(texts)[:2]).median()
    assert asked.shape == (2,)
    assert np.isfinite(scaling.invert([task.answer_path] * 2, asked.tolist())).all()


def test_configs_are_checked() -> None:
    for change, message in [
        ({"planets": (1, 4)}, r"planets must be .*\(1, 4\)"),
        ({"mass": (5e-5, 1e-5)}, "mass"),
        ({"eccentricity": (0.0, 1.0)}, "ellipses"),
        ({"outer": (0.5, 3.0)}, "outer"),
        ({"angle": (1.0, 0.0)}, "angle"),
        ({"aligned": 2.0}, "aligned=2.0"),
        ({"bound": 2.0}, "bound=2.0"),
        ({"mass_unit": 0.0}, "units"),
        ({"significant": 0}, "significant=0"),
        ({"quote": "`"}, "quote"),
        ({"margin": -1.0}, "margin"),
        ({"block": 0}, "block=0"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"points": (1, 5)}, "points"),
    ]:
        with pytest.raises(ValueError, match=message):
            PlanetsConfig(**change)
        with pytest.raises(ConfigError):
            PlanetsConfig.from_dict(change)


def test_names_are_checked(task: PlanetSource) -> None:
    assert PlanetSource().config == PRESETS["paper"] == PlanetsConfig.from_json(PlanetsConfig().to_json())
    with pytest.raises(UnknownNameError, match="did you mean 'paper'"):
        PlanetSource("papers")
    with pytest.raises(UnknownNameError, match="'x1'"):
        PlanetSource(asks="x1")
    with pytest.raises(ValueError, match="'a1-gaps': did you mean 'a1-gap'"):
        task.texts("a1-gaps", 1)
    with pytest.raises(ValueError, match="start=-1"):
        task.texts("train", 1, start=-1)
