"""Trials of records: batches, masks, predictions and their figures."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
import torch

from numerate.config import ConfigError
from numerate.processing.number_table import NumberTable
from numerate.reading.records import RecordsReader
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.asked_number import asking
from numerate_lab.tasks.asked_number.asked_number import Truth
from numerate_lab.tasks.planets.planets_task import Planets, PlanetsTrial
from numerate_lab.tasks.records.record_answers import Predictions, answers, likelihoods, missed_variance, scores
from numerate_lab.tasks.records.record_arrays import Records, Shape
from numerate_lab.tasks.records.record_task import (
    RecordBatches,
    RecordsTask,
    RecordsTrial,
    encode_records,
    record_encoding,
)
from numerate_lab.tasks.temperature.temperature_task import Temperature, TemperatureTrial

if TYPE_CHECKING:
    from pathlib import Path

TRIAL = RecordsTrial(width=16, layers=1, heads=2, batch=8, ratio=0.3, asking=1.0)


def some_records() -> Records:
    rng = np.random.default_rng(1)
    asks = {"m": [0], "a": [1], "both": [2, 4]}
    shapes = (
        Shape.of("{'d':{'m':1,'a':2},'data':[[1,2],[3,4]]}", asks),
        Shape.of("{'d':{'m':1,'a':2},'data':[[[1,2,3,4]]]}", asks),
    )
    # None is zero, which some notations write shorter.
    numbers = tuple(np.round(rng.uniform(1.0, 9.0, size=(n, 6)) * rng.choice([-1, 1], (n, 6)), 4) for n in (24, 13))
    order = rng.permutation(37)
    return Records(shapes, numbers, (order[:24], order[24:]), 4)


class SomeRecords(RecordsTask):
    """A task with the records above for every split."""

    questions: ClassVar[dict[str, tuple[str, ...]]] = {"test": ("m", "a", "both")}

    def make_records(self, split: str, count: int) -> Records:
        return some_records()


def build(config: RecordsTrial) -> Any:
    return SomeRecords(config).build().cpu()


def test_batches_are_the_same_for_all_encodings_and_of_one_shape() -> None:
    records, seen = some_records(), {}
    for encoding in ("p10", "in-place"):
        trial = dataclasses.replace(TRIAL, encoding=encoding)
        ready = RecordBatches(encode_records(build(trial), records, torch.device("cpu")), trial)
        seen[encoding] = [ready[index] for index in range(len(ready))]
    assert [len(batch["input_ids"]) for batch in seen["p10"]] == [8, 8, 8, 8]
    for one, other in zip(seen["p10"], seen["in-place"], strict=True):
        assert torch.equal(one["number_bits"], other["number_bits"])
        assert torch.equal(one["number_wanted"], other["number_wanted"])
        assert one["input_ids"].shape != other["input_ids"].shape


def test_masks_have_their_shares() -> None:
    records = some_records()
    parts = encode_records(build(TRIAL), records, torch.device("cpu"))
    asked = RecordBatches(parts, dataclasses.replace(TRIAL, ratio=0.0)).masks(parts[0], 3000)
    questions = {tuple(row) for row in asked.int().tolist()}
    assert questions == {(1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0)}
    assert abs(float(asked[:, 0].double().mean()) - 1 / 3) < 0.05
    drawn = RecordBatches(parts, dataclasses.replace(TRIAL, ratio=0.3, asking=0.0)).masks(parts[0], 3000)
    assert abs(float(drawn.double().mean()) - 0.3) < 0.03
    half = RecordBatches(parts, dataclasses.replace(TRIAL, ratio=0.0, asking=0.5)).masks(parts[0], 3000)
    assert abs(float(half.any(1).double().mean()) - 0.5) < 0.05
    other = RecordBatches(parts, dataclasses.replace(TRIAL, seed=1)).masks(parts[0], 30)
    again = [RecordBatches(parts, TRIAL).masks(parts[0], 30) for _ in range(2)]
    assert torch.equal(*again) and not torch.equal(again[0], other)


def test_answers_are_those_of_texts() -> None:
    for encoding in ["xval+scalar", "fp15", "b1999"]:
        records = some_records()
        model = build(dataclasses.replace(TRIAL, encoding=encoding))
        with torch.no_grad():
            model.own_logits.bias += 9.0  # type: ignore[union-attr] # numbers win over words
            model.own_rows *= 3.0
        part = encode_records(model, records, torch.device("cpu"))[0]
        given = answers(model, part, "a", size=7)
        gold = part.bits.view(torch.float64)[:, 1].numpy()
        truth = Truth(gold, [str(value) for value in gold], np.full(24, -4), None, {})
        asked = asking.encode(model, records.texts()[:24], truth, 1, causal=False)
        expected = [float("nan") if one is None else float(one) for one in asking.answers(model, asked)]
        np.testing.assert_allclose(given.values.numpy(), expected, rtol=1e-5, atol=1e-7)
        assert encoding == "b1999" or np.isfinite(expected).all()  # of two tokens, the same one twice is no number
        assert given.intervals is None


def test_a_hidden_slot_is_learnt_as_a_token() -> None:
    shown, hidden = (dataclasses.replace(TRIAL, encoding="xval+scalar", hide_slot=hide) for hide in (False, True))
    assert hidden.name == f"{shown.name}-hidden-slot"
    for config in (shown, hidden):
        model = build(config)
        rows = encode_records(model, some_records(), torch.device("cpu"))[0]
        batch = rows.batch(torch.arange(4)) | {"number_wanted": rows.wanted("m", 4)}
        task = model.task(batch, None, return_loss=True)
        masks = task.inputs["input_ids"] == model.vocabulary.mask_id
        assert int(masks.sum()) == (4 if config.hide_slot else 0)
        assert (task.labels[masks] == model.vocabulary.num_id).all()
        assert int((task.labels != -100).sum()) == (4 if config.hide_slot else 0)
        model(**batch, return_loss=True).loss.backward()
        learns = model.own_logits.weight.grad
        assert (learns is not None and bool(learns.any())) == config.hide_slot
        found = answers(model, rows, "m", 4)
        assert found.values.isfinite().all() and len(found.values) == len(rows)


def test_several_numbers_of_a_record_are_asked_at_once() -> None:
    records = some_records()
    model = build(dataclasses.replace(TRIAL, encoding="log-fourier+mixture"))
    part = encode_records(model, records, torch.device("cpu"))[1]
    given = answers(model, part, "both", size=5)
    questions = []
    for text in records.texts()[24:]:
        for start, end, *_ in reversed([RecordsReader().spans(text)[slot] for slot in (2, 4)]):
            text = f"{text[:start]}[NUM]{text[end:]}"
        questions.append(text)
    numbers = model.predict(questions)
    central = [numbers.quantile(torch.full((26,), 0.05 + 0.9 * k / 32, dtype=torch.float64)) for k in range(33)]
    torch.testing.assert_close(given.values, torch.stack(central).mean(0), rtol=1e-6, atol=1e-8)
    ends = torch.stack(numbers.interval(0.9), dim=1)
    assert given.intervals is not None and given.intervals.shape == (26, 2)
    torch.testing.assert_close(given.intervals, ends, rtol=1e-6, atol=1e-8)


def test_figures_by_hand() -> None:
    values, gold = torch.tensor([1.0, 4.0, float("nan")]), torch.tensor([2.0, 2.0, 5.0])
    ends = torch.tensor([[0.0, 3.0], [3.0, 5.0], [4.0, 6.0]])
    found = scores(values, gold, Predictions(values, ends, 0.7, 3))
    shown = {name: round(one["value"], 6) for name, one in found.items()}
    assert shown == {"mse": 2.5, "invalid": 0.333333, "variance": 2.0, "coverage": 0.666667, "crps": 0.7}
    assert "coverage" not in scores(values, gold, Predictions(values))


def test_what_is_missed_of_several_questions() -> None:
    gold = torch.tensor([1.0, 3.0, 5.0, 7.0])  # their variance is 5
    half = scores(gold + 5**0.5 / 2, gold)  # a quarter of it
    exact, none = scores(gold, gold), scores(torch.full((4,), float("nan")), gold)
    some = scores(torch.tensor([1.0, 3.0, float("nan"), float("nan")]), gold)
    assert math.exp(missed_variance({"a": half})) == pytest.approx(0.25, rel=1e-5)
    assert math.exp(missed_variance({"a": none})) == pytest.approx(1.0)
    assert math.exp(missed_variance({"a": some})) == pytest.approx(0.5)
    # With a charge, an answer that is no number is worse than a wrong one of the usual size.
    silent = scores(torch.full((4,), float("nan")), gold, charge=9.0)
    for guess in (2.5, 4.0, 5.5):
        wrong = scores(torch.full((4,), guess), gold, charge=9.0)
        assert missed_variance({"a": silent}) > missed_variance({"a": wrong})
    assert math.exp(missed_variance({"a": silent})) == pytest.approx(9.0 / 5.0)
    some = scores(torch.tensor([1.0, 4.0, float("nan"), float("nan")]), gold, charge=9.0)
    assert math.exp(missed_variance({"a": some})) == pytest.approx((0.5 * 0.5 + 0.5 * 9.0) / 5.0)
    # One that is exact counts for much, but others still count.
    assert math.exp(missed_variance({"a": exact, "b": half})) == pytest.approx((1e-6 * 0.25) ** 0.5, rel=1e-5)


def test_answers_that_are_no_numbers_cost_the_farthest_training_target() -> None:
    figures = []
    for encoding in ("p10", "xval+scalar"):
        task = SomeRecords(dataclasses.replace(TRIAL, encoding=encoding))
        columns = dict(task.ask(task.build().cpu(), "dev"))
        columns["a_predicted"] = np.full_like(columns["a_predicted"], np.nan)
        figures.append(task.score("dev", columns)["dev"])
    targets = some_records().gold("a")
    farthest = ((targets - targets.mean()) ** 2).max()
    for found in figures:  # the same for all encodings
        assert found["a"]["charge"]["value"] == pytest.approx(farthest, rel=1e-12)
        assert found["a"]["invalid"]["value"] == 1.0
        share = math.exp(missed_variance({"a": found["a"]}))
        assert share == pytest.approx(farthest / found["a"]["variance"]["value"])


def test_every_cell_has_its_share_of_invalid_answers() -> None:
    shown = SomeRecords(TRIAL).shown()
    for ask in ("m", "a", "both"):
        assert [column.metric for column in shown if column.split == f"test {ask}"] == ["mse", "invalid"]


def test_joined_answers_weigh_their_scores() -> None:
    parts = [Predictions(torch.zeros(n), torch.zeros(n, 2), crps, n) for n, crps in ((1, 4.0), (3, 0.0))]
    joined = Predictions.joined(parts)
    assert joined.crps == 1.0 and joined.count == 4 and len(joined.values) == 4
    assert Predictions.joined([parts[0], Predictions(torch.zeros(2))]).intervals is None


def test_likelihoods_of_values() -> None:
    records, line = some_records(), torch.tensor([1.0, 1.25, 7.5], dtype=torch.float64)
    model = build(dataclasses.replace(TRIAL, encoding="p1000")).eval()
    part = encode_records(model, records, torch.device("cpu"))[0]
    found = likelihoods(model, part, "m", line, 4)
    batch = part.batch(torch.arange(24)) | {"number_wanted": part.wanted("m", 24)}
    task = model.objective.prepare(batch, model.vocabulary)  # type: ignore[union-attr]
    chances = model(**task.inputs, return_loss=False).logits.double().softmax(-1)
    first = int((part.slots[0] == 1).nonzero()[0])
    tokens = [[model.processor.num_id + model.processor.own_tokens.index(piece) for piece in pieces]
              for pieces in (["+", "100", "E-2"], ["+", "125", "E-2"], ["+", "750", "E-2"])]  # fmt: skip
    by_hand = torch.stack(
        [torch.stack([chances[:, first + k, t] for k, t in enumerate(row)]).prod(0) for row in tokens], 1
    )
    torch.testing.assert_close(found, by_hand / by_hand.amax(1, keepdim=True), rtol=1e-5, atol=1e-9)
    with pytest.raises(ValueError, match="values are not of 3 tokens"):
        likelihoods(model, part, "m", torch.tensor([0.0, 1.0]), 4)


def test_likelihoods_of_a_head_are_its_densities() -> None:
    records, line = some_records(), torch.tensor([1.0, 1.25, 7.5], dtype=torch.float64)
    model = build(dataclasses.replace(TRIAL, encoding="float+mixture")).eval()
    part = encode_records(model, records, torch.device("cpu"))[0]
    found = likelihoods(model, part, "m", line, 4)
    batch = part.batch(torch.arange(24)) | {"number_wanted": part.wanted("m", 24)}
    task = model.objective.prepare(batch, model.vocabulary)  # type: ignore[union-attr]
    numbers: Any = model(**task.inputs, return_loss=False).numbers
    table = NumberTable.of_values([1.25] * 24)
    ratio = (numbers.log_prob(table) - numbers.log_prob(NumberTable.of_values([7.5] * 24))).exp()
    torch.testing.assert_close(found[:, 1] / found[:, 2], ratio.detach(), rtol=1e-5, atol=1e-9)


def test_bad_trials() -> None:
    for options, message in (
        ({"encoding": "p100"}, "unknown encoding 'p100'"),
        ({"encoding": "digits"}, "'digits' is predicted token by token"),
        ({"encoding": "keep"}, "numbers of records are predicted at once"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"ratio": 1.5}, "ratio must lie between 0 and 1, got 1.5"),
        ({"ratio": 0.0, "asking": 0.0}, "ratio or asking must be positive"),
    ):
        with pytest.raises((ConfigError, KeyError), match=message):
            RecordsTrial(**options)


def test_in_place_is_the_recipe() -> None:
    options = record_encoding("in-place").options
    assert options["notation"] == {"kind": "keep", "slot": True} and options["gated"] is True
    assert options["head"]["kind"] == "mixture" and options["embedder"]["kind"] == "log-fourier"


def test_waves_are_of_the_values_themselves() -> None:
    options = record_encoding("periodic+mixture").options
    assert options["embedder"] == {"kind": "periodic", "scale": "none", "sigma": 0.5}
    records = some_records()
    model = build(dataclasses.replace(TRIAL, encoding="periodic+mixture"))
    embedder: Any = model.embedder
    assert embedder.members[0].config.scale == "none"
    (part, _) = encode_records(model, records, torch.device("cpu"))
    assert bool(answers(model, part, "a", size=7).values.isfinite().all())


def test_records_are_made_once(tmp_path: Path) -> None:
    config = TemperatureTrial(task_options={"stations": [2, 3]}, examples=5, dev=3, test=4)
    Temperature(config, Workspace(data=tmp_path)).prepare(print)
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert set(times) == {"train-5.npz", "dev-3.npz", "test-4.npz"}
    again = Temperature(config, Workspace(data=tmp_path))
    assert len(again.examples("test")) == 4 and "source" not in vars(again), "they are read, not made"
    Temperature(dataclasses.replace(config, centred=True), Workspace(data=tmp_path)).examples("dev")
    assert (tmp_path / "dev-3-centred.npz").is_file()
    assert all(times[name] == (tmp_path / name).stat().st_mtime_ns for name in times)


def test_the_mean_is_a_baseline() -> None:
    options = {"block": 16, "time": [3, 4], "points": [5, 6]}
    task = Planets(PlanetsTrial(task_options=options, examples=16, dev=4, test=8))
    found = task.baselines()["mean"]
    train_gold, gold = task.examples("train").gold("m1"), task.examples("test").gold("m1")
    assert found["test m1"]["mse"]["value"] == pytest.approx(((gold - train_gold.mean()) ** 2).mean())
    assert set(found) == {column.split for column in task.shown()}


def test_names_and_files_of_temperatures(tmp_path: Path) -> None:
    config: Any = Temperature.trial("temperature", {"source": str(tmp_path / "a" / "era5.npz"), "centred": True})
    assert config.settings()["task_options"] == {"source": "era5.npz"} and str(tmp_path) not in str(config.settings())
    assert config.name.endswith("-samples-centred") and config.speed_name.endswith("-centred")
    assert TemperatureTrial.from_dict(config.settings()).task_options == {"source": "era5.npz"}
