"""Texts that ask for one number: measures by hand, sources, what a model is asked, and trials from end to end."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.config import ConfigError
from numerate_lab.engine.trial import TrialResult, run_trial, same_figures
from numerate_lab.registry import tasks
from numerate_lab.tasks.arithmetic.problems import PRESETS, ArithmeticProblems
from numerate_lab.tasks.asked_number.asked_number import AskedInTexts, QuestionSource, Truth, measure
from numerate_lab.tasks.asked_number.asked_task import AskedNumber, AskedNumberTrial, counts_of_texts
from numerate_lab.tasks.asked_number.asking import answers, encode, read_number
from numerate_lab.tasks.asked_number.named_sources import source_of
from numerate_lab.tasks.next_numeral.corpora import CorpusError

if TYPE_CHECKING:
    from pathlib import Path

    from numerate.modeling.number_model import NumberModel

TINY: dict[str, Any] = {
    "task": "add-6", "task_options": {"digits": [1, 2], "beyond": {}}, "examples": 60, "amount": 120, "batch": 20,
    "width": 16, "layers": 1, "heads": 2, "dev": 20, "test": 30, "looks": 1,
}  # fmt: skip
ENCODINGS = (
    "p10", "fp15", "keep", "digits", "digits-reversed", "scientific", "xval", "fourier", "bits", "residues",
    "log-fourier", "char-lstm", "in-place",
)  # fmt: skip
IN_TURN = ("digits", "digits-reversed", "scientific")


def tiny(**options: Any) -> AskedNumberTrial:
    return AskedNumberTrial.from_dict(TINY | options)


@pytest.fixture(scope="module")
def models() -> dict[str, NumberModel]:
    return {name: AskedNumber(tiny(encoding=name)).build().cpu() for name in ENCODINGS}


def test_measures_of_values() -> None:
    truth = Truth(np.array([100.0, 2.5, 1e15, -3.0]), ["100", "2.5", "1" + 15 * "0", "-3"], np.array([0, -1, 0, 0]))
    scores = measure([100.49, 2.56, 1e15, None], truth)
    assert scores["exact_match"].value == 0.5 and scores["invalid"].value == 0.25
    assert (scores["r2"].count, scores["r2"].non_finite) == (3, 1) and scores["log_smape"].count == 4
    values = np.array([90.0, 3.0, 9e14, -1.0])
    scores = measure(torch.tensor(values), truth)
    errors, about = ((values - truth.values) ** 2).sum(), ((truth.values - truth.values.mean()) ** 2).sum()
    assert scores["r2"].value == pytest.approx(1 - errors / about)
    assert scores["adjusted_r2"].value == pytest.approx(1 - errors / about * 3 / 2)
    shares = np.abs(values - truth.values) / (np.abs(values) + np.abs(truth.values))
    assert scores["log_smape"].value == pytest.approx(np.minimum(1, -np.log10(shares) / 15).mean())
    assert math.isnan(measure([], Truth(np.zeros(0), [], np.zeros(0, np.int64)))["exact_match"].value)
    with pytest.raises(ValueError, match="2 and 4"):
        measure([1.0, 2.0], truth)


def test_strings_are_compared_exactly_beyond_floats() -> None:
    truth = ArithmeticProblems("add-60").truth("test", 50)
    assert float(measure(truth.strings, truth)["exact_match"]) == 1
    assert float(measure(truth.values, truth)["exact_match"]) == 0, "a float64 cannot know"
    off = [text[:-1] + str((int(text[-1]) + 1) % 10) for text in truth.strings]
    assert float(measure(off, truth)["exact_match"]) == 0
    small = Truth(np.array([2.5, 7.0, 8.0, 9.0]), ["2.5", "7", "8", "9"], np.array([-1, 0, 0, 0]))
    scores = measure(["2.50", "7e0", "about 8", None], small)
    assert (float(scores["exact_match"]), float(scores["invalid"])) == (0.5, 0.5)
    assert float(measure(np.array(["2.5", "7.0", "8", "1_0"]), small)["exact_match"]) == 0.75
    assert float(measure(["2.5", "nan", "inf", "9"], small)["invalid"]) == 0.5


def test_texts_of_a_folder(tmp_path: Path) -> None:
    for split, count in (("train", 5), ("dev", 2), ("test", 3)):
        lines = [json.dumps({"id": str(n), "text": f"{split} {n} kg cost {n}.50 euros"}) for n in range(1, count + 1)]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    source = AskedInTexts(tmp_path)
    assert isinstance(source, QuestionSource) and isinstance(ArithmeticProblems("add-6"), QuestionSource)
    assert source.texts("test", 10) == [f"test {n} kg cost {n}.50 euros" for n in (1, 2, 3)]
    truth = source.truth("test", 10)
    assert truth.hidden_in(source.texts("test", 10))[0] == "test 1 kg cost [NUM] euros"
    assert truth.values.tolist() == [1.5, 2.5, 3.5] and truth.precision.tolist() == [-2, -2, -2]
    first, second = source.texts("train", 5), source.texts("train", 5, start=5)
    assert sorted(first) == sorted(second) and first != second, "another order each time around"
    assert source.texts("train", 8, start=1) == [*first[1:], *second[:4]]
    later = [float(text.split()[-2]) for text in (first[4], second[0], second[1])]
    assert source.truth("train", 3, start=4).values.tolist() == later
    slot = source_of(str(tmp_path), {"answer_slot": 0})
    assert slot.truth("test", 3).values.tolist() == [1, 2, 3] and source_of(str(tmp_path)).answer_slot == -1
    with pytest.raises(ConfigError, match=r"task_options of a file: 'answer_slots'.*answer_slot"):
        source_of(str(tmp_path), {"answer_slots": 0})
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "1", "text": "no number at all"}) + "\n")
    with pytest.raises(CorpusError, match="no number -1 in 'no number at all'"):
        AskedInTexts(tmp_path).texts("test", 1)


def test_several_sources_for_one_model() -> None:
    mix = source_of("add-6,subtract-6", {"digits": [1, 2], "beyond": {}})
    texts, truth = mix.texts("dev", 5), mix.truth("dev", 5)
    assert ["+" in text for text in texts] == [True, False, True, False, True]
    assert truth.groups["task"].tolist() == ["add-6", "subtract-6"] * 2 + ["add-6"]
    assert mix.texts("dev", 2, start=3) == texts[3:5] and mix.truth("dev", 2, start=3).strings == truth.strings[3:5]
    assert mix.truth("dev", 2, start=3).groups["task"].tolist() == ["subtract-6", "add-6"]
    assert all(text.endswith(f"= {answer}") for text, answer in zip(texts, truth.strings, strict=True))


def test_answers_are_hidden_where_they_stand() -> None:
    for name in PRESETS:
        source = ArithmeticProblems(name)
        texts, truth = source.texts("dev", 10, start=5), source.truth("dev", 10, start=5)
        for text, asked, answer in zip(texts, truth.hidden_in(texts), truth.strings, strict=True):
            assert asked.endswith(" = [NUM]") and asked.replace("[NUM]", answer) == text
        with pytest.raises(ValueError, match="10 answers for 1 texts"):
            truth.hidden_in(texts[:1])
        assert tasks[name] is AskedNumber


def test_the_answer_alone_is_asked_for(models: dict[str, NumberModel]) -> None:
    source = source_of("add-6", TINY["task_options"])
    truth, texts = source.truth("dev", 12), source.texts("dev", 12)
    for name, model in models.items():
        asked = encode(model, texts, truth, -1, causal=name in IN_TURN)
        assert len(asked) == 12 and asked.tokens == int(asked.fields["attention_mask"].sum())
        if name in IN_TURN:
            own = model.processor.num_id
            for row in range(12):
                learnt = asked.fields["input_ids"][row][asked.fields["labels"][row] != -100].tolist()
                assert float(read_number(model, learnt[:-1]) or "nan") == truth.values[row], name
                assert learnt[-1] < own, "the token behind the answer is learnt, so that it ends"
            continue
        wanted = asked.fields["number_wanted"]
        assert (wanted.sum(1) == 1).all() and wanted[:, 2].all(), f"{name}: a + b = c, the third"
        values = asked.fields["number_bits"].view(torch.float64)[:, 2]
        if model.processor.scaling is not None:
            values = torch.from_numpy(model.processor.scaling.invert([""] * 12, values.numpy()))
        np.testing.assert_allclose(values.numpy(), truth.values, rtol=1e-9)
    wrong = Truth(np.array([26.0]), ["26"], np.zeros(1, np.int64))
    with pytest.raises(ValueError, match=r"'12 \+ 13 = 25' asks for 26, and 25 was read"):
        encode(models["fourier"], ["12 + 13 = 25"], wrong, -1, causal=False)


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_answer_in_the_text_is_not_seen(models: dict[str, NumberModel], name: str) -> None:
    """Answers to the same question do not depend on the answer that the text has."""
    model = models[name].eval()
    truth = Truth(np.array([25.0, 91.0]), ["25", "91"], np.zeros(2, np.int64))
    texts = ["12 + 13 = 25", "12 + 13 = 91"]
    one, other = answers(model, encode(model, texts, truth, -1, causal=name in IN_TURN), most_tokens=6)
    if isinstance(one, float):
        same = one == pytest.approx(other, rel=1e-5)
    else:
        same = one == other
    # The number of sub-words is seen, which tells the answer's length: xVal's appendix B.3.
    assert same == (name != "keep")


def test_tokens_are_read_back(models: dict[str, NumberModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that gives each hidden token the highest logit answers with the number itself."""
    source = source_of("add-6", TINY["task_options"])
    truth, texts = source.truth("dev", 8), source.texts("dev", 8)
    for name in ("p10", "fp15", "digits", "digits-reversed", "scientific"):
        model = models[name]
        asked = encode(model, texts, truth, -1, causal=name in IN_TURN)
        gold = asked.fields["input_ids"]
        shift = 1 if name in IN_TURN else 0

        def perfect(input_ids: Any = None, gold: Any = gold, shift: int = shift, **rest: Any) -> Any:
            del rest
            following = torch.nn.functional.pad(gold, (0, 40))[:, shift : shift + input_ids.shape[1]]
            return type("Output", (), {"logits": torch.nn.functional.one_hot(following).float()})()

        monkeypatch.setattr(model, "forward", perfect)
        assert measure(answers(model, asked), truth)["exact_match"].value == 1.0, name
        monkeypatch.undo()


def test_what_each_text_predicts(models: dict[str, NumberModel]) -> None:
    for name, counts in (("xval", (1, 0)), ("p10", (1, 5)), ("fp15", (1, 1)), ("digits", (0, None))):
        asked = AskedNumber(tiny(encoding=name)).encoded(models[name], "train")
        found = counts_of_texts(models[name], asked)
        assert found is not None and (found.numbers, found.tokens) == counts, name
        if "number_wanted" in asked.fields:
            asked.fields["number_wanted"][3] = False  # a text that asks for nothing: batches would differ
            assert counts_of_texts(models[name], asked) is None


def test_a_trial_learns_and_comes_out_again(tmp_path: Path) -> None:
    config = tiny(encoding="xval", examples=200, amount=3000, batch=50, rate=1e-2)
    figures = run_trial(AskedNumber(config), tmp_path)
    assert figures["test"]["r2"]["value"] > 0.5, "sums of small numbers on a linear scale are soon learnt"
    assert figures["training"]["steps"] == 60 and set(figures["training"]["looks"][0]) >= {"log_smape", "r2"}
    assert "test by digits" in figures and "dev by digits" not in figures
    assert same_figures(AskedNumber(config), TrialResult(config, figures, tmp_path)) is True
    again = run_trial(AskedNumber(dataclasses.replace(config)), tmp_path)
    assert again["test"] == figures["test"], "the same trial gives the same figures"
    with np.load(tmp_path / f"{config.name}.npz") as columns:
        assert sorted(columns) == ["test_exact", "test_gold", "test_predicted"]
    np.savez(tmp_path / f"{config.name}.npz", other=np.zeros(1))
    result = TrialResult(config, figures, tmp_path)
    assert same_figures(AskedNumber(config), result) is None, "no stored column belongs to a split"


def test_the_command(tmp_path: Path) -> None:
    """One comparison of a file's texts, and what is wrong in one line."""
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps({"text": f"{n} and {n + 1}"}) + "\n" for n in range(40)), "utf-8")
    command = ["compare", "--task", str(file), "--encodings", "xval", "--seeds", "1", "--rates", "1e-2"]
    command += ["--scale", "tiny", "--budget", "seconds", "--amount", "0.05", "-o", str(tmp_path / "out")]
    sizes = [f"{key}={value}" for key, value in TINY.items() if key not in ("task", "task_options", "amount")]
    for option in (*sizes, "warmup=1e-2", "loudness=1.5"):
        command += ["--option", option]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    trial = json.loads(next((tmp_path / "out" / "own.jsonl").glob("xval-*.json")).read_text("utf-8"))
    assert trial["config"]["warmup"] == 0.01 and trial["config"]["embedding_scale"] == 1.5
    assert trial["config"]["task"] == "own.jsonl" and trial["figures"]["training"]["seconds_a_step"] > 0
    for words, message in (
        (["--task", "multiply-33", "--encodings", "p10"], "multiply-33"),
        (["--task", "add-6", "--encodings", "p100"], "unknown encoding 'p100'"),
        (["--task", "add-6", "--encodings", "p10", "--rates", "fast"], "--rates 'fast'"),
        (["--task", "add-6", "--encodings", "p10", "--option", "width"], "write key=value"),
        (["--task", "add-6", "--encodings", "p10", "--option", "widht=3"], "did you mean 'width'"),
        (["--task", "add-6", "--encodings", "p10", "--scale", "huge"], "unknown scale 'huge'"),
    ):
        bad = CliRunner().invoke(app, ["compare", *words, "-o", str(tmp_path)])
        assert bad.exit_code == 2 and message in " ".join(bad.output.split()) and "Traceback" not in bad.output


def test_bad_trials() -> None:
    for options, message in (
        ({"examples": 0}, "examples must be at least 1, got 0"),
        ({"embedding_scale": -1.0}, "embedding_scale must not be negative"),
        ({"amount": 0.0}, "amount and rate must be positive"),
    ):
        with pytest.raises(ConfigError, match=message):
            tiny(**options)
