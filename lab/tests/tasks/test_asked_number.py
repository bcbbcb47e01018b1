"""What a task must offer, with arithmetic and with texts of one's own; its measures worked out by hand."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tiny_models import tokenizer_of

import numerate
from numerate.backbones.trunk import NumerateTrunkConfig, NumerateTrunkForMaskedLM
from numerate_lab.registry import tasks
from numerate_lab.tasks.arithmetic.problems import PRESETS, ArithmeticConfig, ArithmeticTask
from numerate_lab.tasks.asked_number.asked_number import AskedInTexts, AskedNumberTask, Truth, measure, measure_by
from numerate_lab.tasks.next_numeral.corpora import CorpusError

if TYPE_CHECKING:
    from pathlib import Path


def test_measures_of_values() -> None:
    truth = Truth(np.array([100.0, 2.5, 1e15, -3.0]), ["100", "2.5", "1" + 15 * "0", "-3"], np.array([0, -1, 0, 0]))
    scores = measure([100.49, 2.56, 1e15, None], truth)
    assert scores["exact_match"].value == 0.5
    assert scores["invalid"].value == 0.25
    assert (scores["r2"].count, scores["r2"].non_finite) == (3, 1)
    assert scores["log_smape"].count == 4
    values = np.array([90.0, 3.0, 9e14, -1.0])
    scores = measure(torch.tensor(values), truth)
    errors, about = ((values - truth.values) ** 2).sum(), ((truth.values - truth.values.mean()) ** 2).sum()
    assert scores["r2"].value == pytest.approx(1 - errors / about)
    assert scores["adjusted_r2"].value == pytest.approx(1 - errors / about * 3 / 2)
    shares = np.abs(values - truth.values) / (np.abs(values) + np.abs(truth.values))
    assert scores["log_smape"].value == pytest.approx(np.minimum(1, -np.log10(shares) / 15).mean())
    with pytest.raises(ValueError, match="2 and 4"):
        measure([1.0, 2.0], truth)


def test_measures_of_strings_are_exact_beyond_floats() -> None:
    task = ArithmeticTask("add-60")
    truth = task.truth("test", 50)
    assert float(task.measure(truth.strings, truth)["exact_match"]) == 1
    assert float(task.measure(truth.values, truth)["exact_match"]) == 0, "a float64 cannot know"
    off = [text[:-1] + str((int(text[-1]) + 1) % 10) for text in truth.strings]
    assert float(task.measure(off, truth)["exact_match"]) == 0
    small = Truth(np.array([2.5, 7.0, 8.0, 9.0]), ["2.5", "7", "8", "9"], np.array([-1, 0, 0, 0]))
    scores = measure(["2.50", "7e0", "about 8", None], small)
    assert (float(scores["exact_match"]), float(scores["invalid"])) == (0.5, 0.5)
    assert float(measure(np.array(["2.5", "7.0", "8", "1_0"]), small)["exact_match"]) == 0.75
    assert float(measure(["2.5", "nan", "inf", "9"], small)["invalid"]) == 0.5


def test_measures_by_digit_length() -> None:
    task = ArithmeticTask(ArithmeticConfig(operations=("+", "*"), digits=(1, 3)))
    truth = task.truth("test", 600)
    predicted = np.where(truth.groups["digits"] == 3, truth.values + 1, truth.values)
    found = task.measure_by(predicted, truth)
    assert {label: float(scores["exact_match"]) for label, scores in found.items()} == {"1": 1, "2": 1, "3": 0}
    assert sum(scores["exact_match"].count for scores in found.values()) == 600
    tensor = torch.tensor(predicted, dtype=torch.float64, requires_grad=True)
    assert task.measure_by(tensor, truth) == found
    assert set(task.measure_by(predicted, truth, "operation")) == {"+", "*"}
    with pytest.raises(ValueError, match="'length'"):
        measure_by(predicted, truth, "length")


def test_texts_of_ones_own_plug_in_the_same_way(tmp_path: Path) -> None:
    for split, count in (("train", 5), ("dev", 2), ("test", 3)):
        lines = [json.dumps({"id": str(n), "text": f"{split} {n} kg cost {n}.50 euros"}) for n in range(1, count + 1)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    task = AskedInTexts(tmp_path)
    assert isinstance(task, AskedNumberTask) and isinstance(ArithmeticTask("add-6"), AskedNumberTask)
    assert tasks["texts"] is AskedInTexts and tasks["arithmetic"] is ArithmeticTask
    assert task.texts("test", 10) == [f"test {n} kg cost {n}.50 euros" for n in (1, 2, 3)]
    truth = task.truth("test", 10)
    assert truth.hidden_in(task.texts("test", 10))[0] == "test 1 kg cost [NUM] euros"
    assert truth.values.tolist() == [1.5, 2.5, 3.5] and truth.precision.tolist() == [-2, -2, -2]
    assert float(task.measure([1.5, 2.5, 3.52], truth)["exact_match"]) == pytest.approx(2 / 3)
    first, second = task.texts("train", 5), task.texts("train", 5, start=5)
    assert sorted(first) == sorted(second) and first != second, "another order each time around"
    assert task.texts("train", 8, start=1) == [*first[1:], *second[:4]]
    assert task.truth("train", 3, start=4).values.tolist() == [
        float(text.split()[-2]) for text in (first[4], second[0], second[1])
    ]
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "1", "text": "no number at all"}) + "\n")
    with pytest.raises(CorpusError, match="no number -1 in 'no number at all'"):
        AskedInTexts(tmp_path).texts("test", 1)
    assert math.isnan(measure([], Truth(np.zeros(0), [], np.zeros(0, np.int64)))["exact_match"].value)


@pytest.mark.parametrize("name", PRESETS)
def test_answers_are_hidden_where_they_stand(name: str) -> None:
    task = ArithmeticTask(name)
    texts, truth = task.texts("dev", 20, start=5), task.truth("dev", 20, start=5)
    for text, asked, answer in zip(texts, truth.hidden_in(texts), truth.strings, strict=True):
        assert asked.endswith(" = [NUM]") and asked.replace("[NUM]", answer) == text
    with pytest.raises(ValueError, match="20 answers for 1 texts"):
        truth.hidden_in(texts[:1])


def test_a_model_is_trained_and_measured_by_what_a_task_offers() -> None:
    """A small trunk learns sums of one-digit numbers: better than the mean of all, on operands it has not seen."""
    torch.manual_seed(0)
    tokenizer, task = tokenizer_of("bert"), ArithmeticTask(ArithmeticConfig(operations=("+",), digits=(1, 1)))
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16}
    backbone = NumerateTrunkForMaskedLM(NumerateTrunkConfig(vocab_size=len(tokenizer), dropout=0.0, **sizes))
    model = numerate.attach(backbone, tokenizer, "value", head="scalar", reader="standard")
    rate = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for step in range(80):
        batch = model.processor(task.texts("train", 64, start=64 * step), padding=True, return_tensors="pt")
        wanted = torch.zeros_like(batch["number_given"], dtype=torch.bool)
        wanted[:, task.answer_slot] = True
        model.train()(**batch, number_wanted=wanted).loss.backward()
        rate.step()
        rate.zero_grad()
    texts, truth = task.texts("test", 50), task.truth("test", 50)
    scores = task.measure(model.predict(truth.hidden_in(texts)).mean(), truth)
    assert scores["r2"].value > 0.8 and scores["invalid"].value == 0
