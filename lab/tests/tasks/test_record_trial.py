"""Cells of planets and temperatures: batches, masks, answers and what is measured of them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from numerate.config import ConfigError
from numerate.processing.number_table import NumberTable
from numerate.reading.records import RecordsReader
from numerate_lab.tasks.asked_number import asking
from numerate_lab.tasks.asked_number.asked_number import Truth
from numerate_lab.tasks.records.record_answers import Said, answers, likelihoods, missed, scores
from numerate_lab.tasks.records.record_arrays import Records, Shape
from numerate_lab.tasks.records.record_trial import (
    NatureCell,
    NatureData,
    Ready,
    build,
    encode_records,
    nature_encoding,
)

if TYPE_CHECKING:
    from pathlib import Path

CELL = NatureCell(width=16, layers=1, heads=2, batch=8, ratio=0.3, asking=1.0)


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


def test_batches_are_the_same_for_all_encodings_and_of_one_shape() -> None:
    records, seen = some_records(), {}
    for encoding in ("p10", "in-place"):
        cell = dataclasses.replace(CELL, encoding=encoding)
        ready = Ready(encode_records(build(cell, records), records, torch.device("cpu")), cell)
        seen[encoding] = [ready[index] for index in range(len(ready))]
    assert [len(batch["input_ids"]) for batch in seen["p10"]] == [8, 8, 8, 8]
    for one, other in zip(seen["p10"], seen["in-place"], strict=True):
        assert torch.equal(one["number_bits"], other["number_bits"])
        assert torch.equal(one["number_wanted"], other["number_wanted"])
        assert one["input_ids"].shape != other["input_ids"].shape


def test_masks_have_their_shares() -> None:
    records = some_records()
    parts = encode_records(build(CELL, records), records, torch.device("cpu"))
    asked = Ready(parts, dataclasses.replace(CELL, ratio=0.0)).masks(parts[0], 3000)
    questions = {tuple(row) for row in asked.int().tolist()}
    assert questions == {(1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0), (0, 0, 1, 0, 1, 0)}
    assert abs(float(asked[:, 0].double().mean()) - 1 / 3) < 0.05
    drawn = Ready(parts, dataclasses.replace(CELL, ratio=0.3, asking=0.0)).masks(parts[0], 3000)
    assert abs(float(drawn.double().mean()) - 0.3) < 0.03
    half = Ready(parts, dataclasses.replace(CELL, ratio=0.0, asking=0.5)).masks(parts[0], 3000)
    assert abs(float(half.any(1).double().mean()) - 0.5) < 0.05
    other = Ready(parts, dataclasses.replace(CELL, seed=1)).masks(parts[0], 30)
    again = [Ready(parts, CELL).masks(parts[0], 30) for _ in range(2)]
    assert torch.equal(*again) and not torch.equal(again[0], other)


@pytest.mark.parametrize("encoding", ["xval+scalar", "fp15", "b1999"])
def test_answers_are_those_of_the_neutral_bench(encoding: str) -> None:
    records = some_records()
    model = build(dataclasses.replace(CELL, encoding=encoding), records)
    with torch.no_grad():
        model.own_logits.bias += 9.0  # type: ignore[union-attr] # numbers win over words
        model.own_rows *= 3.0
    part = encode_records(model, records, torch.device("cpu"))[0]
    said = answers(model, part, "a", size=7)
    gold = part.bits.view(torch.float64)[:, 1].numpy()
    truth = Truth(gold, [str(value) for value in gold], np.full(24, -4), None, {})
    asked = asking.encode(model, records.texts()[:24], truth, 1, causal=False)
    expected = [float("nan") if one is None else float(one) for one in asking.answers(model, asked)]
    np.testing.assert_allclose(said.values.numpy(), expected, rtol=1e-5, atol=1e-7)
    assert encoding == "b1999" or np.isfinite(expected).all()  # of two tokens, the same one twice is no number
    assert said.intervals is None


def test_several_numbers_of_a_record_are_asked_at_once() -> None:
    records = some_records()
    model = build(dataclasses.replace(CELL, encoding="log-fourier+mixture"), records)
    part = encode_records(model, records, torch.device("cpu"))[1]
    said = answers(model, part, "both", size=5)
    questions = []
    for text in records.texts()[24:]:
        for start, end, *_ in reversed([RecordsReader().spans(text)[slot] for slot in (2, 4)]):
            text = f"{text[:start]}[NUM]{text[end:]}"
        questions.append(text)
    numbers = model.predict(questions)
    central = [numbers.quantile(torch.full((26,), 0.05 + 0.9 * k / 32, dtype=torch.float64)) for k in range(33)]
    torch.testing.assert_close(said.values, torch.stack(central).mean(0), rtol=1e-6, atol=1e-8)
    ends = torch.stack(numbers.interval(0.9), dim=1)
    assert said.intervals is not None and said.intervals.shape == (26, 2)
    torch.testing.assert_close(said.intervals, ends, rtol=1e-6, atol=1e-8)


def test_figures_by_hand() -> None:
    values, gold = torch.tensor([1.0, 4.0, float("nan")]), torch.tensor([2.0, 2.0, 5.0])
    ends = torch.tensor([[0.0, 3.0], [3.0, 5.0], [4.0, 6.0]])
    found = scores(values, gold, Said(values, ends, 0.7, 3))
    shown = {name: round(one["value"], 6) for name, one in found.items()}
    assert shown == {"mse": 2.5, "invalid": 0.333333, "variance": 2.0, "coverage": 0.666667, "crps": 0.7}
    assert "coverage" not in scores(values, gold, Said(values))


def test_what_is_missed_of_several_questions() -> None:
    gold = torch.tensor([1.0, 3.0, 5.0, 7.0])  # their variance is 5
    half = scores(gold + 5**0.5 / 2, gold)  # a quarter of it
    exact, none = scores(gold, gold), scores(torch.full((4,), float("nan")), gold)
    some = scores(torch.tensor([1.0, 3.0, float("nan"), float("nan")]), gold)
    assert math.exp(missed({"a": half})) == pytest.approx(0.25, rel=1e-5)
    assert math.exp(missed({"a": none})) == pytest.approx(1.0)
    assert math.exp(missed({"a": some})) == pytest.approx(0.5)
    # One that is exact counts for much, but others still count.
    assert math.exp(missed({"a": exact, "b": half})) == pytest.approx((1e-6 * 0.25) ** 0.5, rel=1e-5)


def test_joined_answers_weigh_their_scores() -> None:
    parts = [Said(torch.zeros(n), torch.zeros(n, 2), crps, n) for n, crps in ((1, 4.0), (3, 0.0))]
    joined = Said.joined(parts)
    assert joined.crps == 1.0 and joined.count == 4 and len(joined.values) == 4
    assert Said.joined([parts[0], Said(torch.zeros(2))]).intervals is None


def test_likelihoods_of_values() -> None:
    records, line = some_records(), torch.tensor([1.0, 1.25, 7.5], dtype=torch.float64)
    model = build(dataclasses.replace(CELL, encoding="p1000"), records).eval()
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
    model = build(dataclasses.replace(CELL, encoding="float+mixture"), records).eval()
    part = encode_records(model, records, torch.device("cpu"))[0]
    found = likelihoods(model, part, "m", line, 4)
    batch = part.batch(torch.arange(24)) | {"number_wanted": part.wanted("m", 24)}
    task = model.objective.prepare(batch, model.vocabulary)  # type: ignore[union-attr]
    numbers: Any = model(**task.inputs, return_loss=False).numbers
    table = NumberTable.of_values([1.25] * 24)
    ratio = (numbers.log_prob(table) - numbers.log_prob(NumberTable.of_values([7.5] * 24))).exp()
    torch.testing.assert_close(found[:, 1] / found[:, 2], ratio.detach(), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "stars"}, "task must be"),
        ({"encoding": "p100"}, "unknown encoding 'p100'"),
        ({"encoding": "digits"}, "'digits' is said token by token"),
        ({"encoding": "keep"}, "leaks its length"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"ratio": 1.5}, "ratio must lie between 0 and 1, got 1.5"),
        ({"ratio": 0.0, "asking": 0.0}, "nothing to learn"),
        ({"centred": True}, "only temperatures can be centred"),
    ],
)
def test_bad_cells(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, ValueError, KeyError), match=message):
        NatureCell(**options)


def test_in_place_is_the_recipe() -> None:
    options = nature_encoding("in-place").options
    assert options["notation"] == {"kind": "keep", "slot": True} and options["gated"] is True
    assert options["head"]["kind"] == "mixture" and options["embedder"]["kind"] == "log-fourier"


def test_waves_are_of_the_values_themselves() -> None:
    options = nature_encoding("periodic+mixture").options
    assert options["embedder"] == {"kind": "periodic", "scale": "none", "sigma": 0.5}
    records = some_records()
    model = build(dataclasses.replace(CELL, encoding="periodic+mixture"), records)
    embedder: Any = model.embedder
    assert embedder.members[0].config.scale == "none"
    (part, _) = encode_records(model, records, torch.device("cpu"))
    assert bool(answers(model, part, "a", size=7).values.isfinite().all())


def test_records_are_made_once(tmp_path: Path) -> None:
    cell = NatureCell(task="temperature", task_options={"stations": [2, 3]}, examples=5, dev=3, test=4)
    data = NatureData(cell, tmp_path)
    data.prepare()
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert set(times) == {"train-5.npz", "dev-3.npz", "test-4.npz"}
    again = NatureData(cell, tmp_path)
    assert len(again.records("test")) == 4 and "task" not in vars(again)  # nobody had to make them
    assert times == {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
