"""Reasoning: rows become questions, splits share no question, the three ways to answer, and a whole comparison."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from tokenizers import AddedToken

from numerate.config import ConfigError
from numerate.training.sources import SourceError
from numerate_lab.commands.compare import compare_encodings
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.reasoning.answering import empty_guesses
from numerate_lab.tasks.reasoning.questions import DATASETS, WORDS, baseline_guesses, question_of_row, read_questions
from numerate_lab.tasks.reasoning.reasoning_task import Reasoning, ReasoningTrial, _exact

if TYPE_CHECKING:
    from pathlib import Path

ROWS: dict[str, list[dict[str, Any]]] = {
    "svamp": [
        {
            "id": f"s-{n}", "question": f"A cat has {n} mats and finds {k} . How many mats are there ?",
            "question_template": f"A cat has number0 mats and finds number1 . How many mats are there ? {n}",
            "answer": float(n + k),
        }
        for n in range(2, 42) for k in (1, 5)
    ],
    "gsm8k": [
        {"question": f"The tower cost {n} and {n}. What did it cost?", "answer": f"<<{n}+{n}={2 * n}>>\n#### {2 * n:,}"}
        for n in range(700, 760)
    ],
    "numersense": [
        {"text": f"Each tower number {n} has <mask> walls.", "answer": WORDS[n % len(WORDS)]} for n in range(100, 160)
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each data set, and a tiny masked language model that knows the number words."""
    place = tmp_path_factory.mktemp("reasoning")
    for name, rows in ROWS.items():
        (place / f"{name}_train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    number_data.write_model(place / "bert")
    tokenizer = copy.deepcopy(tokenizer_of("bert"))
    tokenizer.add_tokens([AddedToken(word, single_word=True) for word in WORDS])
    backbone = new_backbone("bert")
    backbone.resize_token_embeddings(len(tokenizer))
    backbone.save_pretrained(place / "words")
    tokenizer.save_pretrained(place / "words")
    return place


def task_of(folder: Path, encoding: str, **options: Any) -> Reasoning:
    settings: dict[str, Any] = {"source": str(folder), "model": str(folder / "bert"), "batch": 8, "bf16": False}
    settings |= {"max_tokens": 64, "epochs": 1, "rate": 1e-3, "draws": 5, "encoding": encoding}
    return Reasoning(ReasoningTrial(**settings | Reasoning.encoding(encoding) | options), Workspace())


def test_splits_share_no_question(folder: Path, tmp_path: Path) -> None:
    for name in DATASETS:
        parts = {split: read_questions(folder, name, split) for split in ("train", "dev", "test")}
        groups = [{one.group for one in some} for some in parts.values()]
        assert sum(map(len, parts.values())) == len(ROWS[name])
        assert sum(map(len, groups)) == len(set.union(*groups)), "a template is in one split only"
        for one in parts["train"]:
            assert one.sentence.text[one.sentence.numeral.start : one.sentence.numeral.end] == one.sentence.numeral.text
    rows = ROWS["gsm8k"]
    for split, some in (("train", rows[:40]), ("test", rows[40:])):
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")
    assert len(read_questions(tmp_path, "gsm8k", "test")) == 20
    assert sum(len(read_questions(tmp_path, "gsm8k", split)) for split in ("train", "dev")) == 40
    assert read_questions(folder, "gsm8k", "test")[0].value >= 1400


def test_official_svamp_rows_of_one_text_are_in_one_split() -> None:
    """Their files have no template: the same text with other numbers was in two splits."""
    rows = [
        {"ID": f"chal-{n}", "Body": f"Bo had {n} pens and 1,{n}00.5 cups. ", "Question": "How many?", "Answer": n}
        for n in (12, 3)
    ]
    assert len({question_of_row(row, "svamp").group for row in rows}) == 1
    other = [{"question": f"{n} cups?", "answer": f"#### {n}"} for n in (12, 3)]
    assert len({question_of_row(row, "gsm8k").group for row in other}) == 2


def test_broken_rows_name_file_and_row(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "x_train.jsonl"
    for name, row, message in (
        (
            "svamp",
            {"question": "How many?", "answer": "many"},
            "x_train.jsonl:2: field 'answer' must be a number, got 'm",
        ),
        ("svamp", {"answer": 3}, "x_train.jsonl:2: field 'question' is missing; it has 'answer'"),
        (
            "gsm8k",
            {"question": "How many?", "answer": "It is 4."},
            "x_train.jsonl:2: field 'answer' must end in '#### '",
        ),
        ("numersense", {"text": "no mask", "answer": "two"}, "x_train.jsonl:2: field 'text' must have one <mask>"),
        (
            "numersense",
            {"text": "<mask> cats", "answer": "eleven"},
            "x_train.jsonl:2: .*one of no, zero, one.*'eleven'",
        ),
        ("svamp", None, "x_train.jsonl:2: not JSON"),
        ("svamp", {"question": "How many?", "answer": "1" * 400}, "x_train.jsonl:2: field 'answer' must be a number"),
        ("gsm8k", {"question": "How many?", "answer": "#### 1,23"}, "x_train.jsonl:2: .* a number, got '1,23'"),
        ("numersense", {"text": "<mask> cats"}, "x_train.jsonl:2: field 'answer' is missing; it has 'text'"),
    ):
        good = json.dumps(ROWS[name][0])
        file.write_text(f"{good}\n{'{' if row is None else json.dumps(row)}\n", "utf-8")
        with pytest.raises(SourceError, match=message):
            read_questions(file, name, "train")
    for source, name, message in (
        (tmp_path / "none", "svamp", "a folder without svamp_train.jsonl.gz"),
        (folder, "mawps", "there is no 'mawps'"),
    ):
        with pytest.raises(SourceError, match=message):
            read_questions(source, name, "train")


def test_rows_of_other_releases() -> None:
    official = {"ID": "chal-1", "Body": "I had 5.5 kg.", "Question": "What is left?", "Answer": 2.25}
    found = question_of_row(official, "svamp")
    assert found.asking("[NUM]") == "I had 5.5 kg. What is left? Answer: [NUM]" and found.precision == -2
    assert question_of_row({"question": "x", "answer": "#### $1,200"}, "gsm8k").value == 1200
    small, large = (question_of_row({"question": "x", "answer": value}, "svamp") for value in (1e-7, 1e22))
    assert (small.value, small.precision, large.value, large.precision) == (1e-7, -7, 1e22, 0)
    words = [question_of_row({"text": "<mask>", "answer": word}, "numersense") for word in ("no", "zero", "ten")]
    assert [one.value for one in words] == [0.0, 0.0, 10.0]


def test_exact_answers_and_baselines(folder: Path) -> None:
    gold = [question_of_row({"question": "x", "answer": value}, "svamp") for value in (504.0, 5.25, 7.0, 9.0)]
    columns = empty_guesses(gold) | {"best": np.array([504.4, 5.244, 7.6, np.nan])}
    assert _exact(columns).tolist() == [True, False, False, False]
    task = task_of(folder, "bare")
    figures, test = task.baselines(), task.examples("test")
    guesses = baseline_guesses(task.examples("train"), test)
    right = np.array([one.value for one in test])
    assert figures.keys() == {"most frequent answer", "median", "last number"}
    for name, guess in guesses.items():
        assert figures[name]["test"]["exact"] == np.mean(guess == right)
    assert set(guesses["last number"]) == {1.0, 5.0}, "not the answer itself"


@pytest.mark.parametrize(("name", "encoding"), [("svamp", "in-place"), ("gsm8k", "bare"), ("numersense", "bare")])
def test_answers_are_learnt(name: str, encoding: str, folder: Path) -> None:
    """A constant answer is learnt within seconds, in each of the three ways."""
    model_folder = str(folder / ("words" if name == "numersense" else "bert"))
    task = task_of(folder, encoding, dataset=name, epochs=12, rate=3e-3, model=model_folder)
    constant = {"svamp": 45.0, "gsm8k": "#### 45", "numersense": "two"}[name]  # the tiny tokenizer knows 45
    questions = [question_of_row(row | {"answer": constant}, name) for row in ROWS[name][:24]]
    task.examples = lambda split: questions  # type: ignore[method-assign]
    model = task.build()
    before = task.score("dev", task.ask(model, "dev"))["dev"]
    trained = task.train(model)
    after = task.score("test", task.ask(model, "test"))["test"]
    assert trained["steps"] == 12 * -(-len(questions) // 8)
    assert after["nats"] < before["nats"] and after["missing"] == 0
    if encoding == "bare":
        assert after["exact"] == 1 and after["nats"] < 0.5 * before["nats"]
    else:  # its head is fitted to the answers before
        assert after["log_mae"] < 0.1


def test_the_answer_is_nowhere_in_the_input(folder: Path) -> None:
    for encoding in ("in-place", "bare"):
        task = task_of(folder, encoding)
        model = task.build()
        answering = task.answering(task, model)
        batches = []
        for value in (3.0, 123456.0):
            changed = [question_of_row(row | {"answer": value}, "svamp") for row in ROWS["svamp"][:8]]
            answering.task.examples = lambda split, some=changed: (
                some if encoding == "in-place" else ([one.sentence for one in some], None)  # noqa: B023
            )
            batches.append(answering.batches("test", 8).batches[0])
        assert torch.equal(batches[0]["input_ids"], batches[1]["input_ids"])
        if encoding == "in-place":
            hidden = model.task(dict(batches[1]), None, return_loss=True)
            assert hidden is not None and int((hidden.inputs["number_given"] == 0).sum()) == 8


def test_a_comparison_from_the_command_line(folder: Path, tmp_path: Path) -> None:
    options = {"source": str(folder), "model": str(folder / "bert"), "most_eval": 8, "most_train": 16}
    lines: list[str] = []
    compare_encodings(
        str(tmp_path), task="svamp", encodings=["bare", "xval"], scale="tiny", base="bare",
        rates=(1e-3,), seeds=1, options=options, log=lines.append,
    )  # fmt: skip
    text = (tmp_path / "svamp" / "compare.md").read_text("utf-8")
    assert all(part in text for part in ("| last number |", "| xval |", "svamp, test, less bare", "exact %"))
    header, *rows = (
        line.split(" | ") for line in text.splitlines() if line.startswith(("| encoding", "| bare", "| xval"))
    )
    at = header.index("inside 90 %")
    assert not any("**" in row[at] for row in rows if len(row) == len(header)), "more than 90 % is no better"
    assert Reasoning.encoding("log-fourier")["parts"]["head"] == {"kind": "mixture"}


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def causal(request: pytest.FixtureRequest, folder: Path) -> str:
    """The folder of a tiny causal language model."""
    return number_data.write_model(folder / request.param, request.param)


def test_a_causal_model_with_a_head_and_without(folder: Path, causal: str) -> None:
    """A constant answer is learnt within seconds; the head's model learns nothing but the answer."""
    questions = [question_of_row(row | {"answer": 45.0}, "svamp") for row in ROWS["svamp"][:24]]
    for encoding in ("bare", "in-place"):
        task = task_of(folder, encoding, epochs=12, rate=3e-3, model=causal)
        task.examples = lambda split: questions  # type: ignore[method-assign]
        model = task.build()
        assert model.info.is_causal
        before = task.score("dev", task.ask(model, "dev"))["dev"]
        trained = task.train(model)
        after = task.score("test", task.ask(model, "test"))["test"]
        assert trained["steps"] == 36 and after["missing"] == 0 and after["nats"] < before["nats"], encoding
        if encoding == "bare":
            assert after["exact"] == 1 and after["nats"] < 0.5 * before["nats"]
        else:
            assert after["log_mae"] < 0.1


def test_a_causal_model_does_not_see_the_answer(folder: Path) -> None:
    causal = number_data.write_model(folder / "gpt2", "gpt2")
    for encoding in ("bare", "in-place", "luna"):
        task = task_of(folder, encoding, model=causal)
        model = task.build().eval()
        guesses = []
        for value in (3.0, 123456.0):
            changed = [question_of_row(row | {"answer": value}, "svamp") for row in ROWS["svamp"][:8]]
            task.examples = lambda split, some=changed: some  # type: ignore[method-assign]
            guesses.append(task.ask(model, "test"))
        for name in ("best", "median", "low", "high"):
            assert np.array_equal(guesses[0][name], guesses[1][name], equal_nan=True), (encoding, name)
        assert not np.allclose(guesses[0]["nats"], guesses[1]["nats"]), "but each answer has its own likelihood"
    task = task_of(folder, "in-place", model=causal)
    batch = task.answering(task, task.build()).batches("train", 8).batches[0]
    assert ((batch["labels"] != -100).sum(1) == 1).all(), "only the answer is learnt"


def test_the_next_token_is_that_of_the_whole_model(folder: Path) -> None:
    task = task_of(folder, "bare", model=number_data.write_model(folder / "llama", "llama"))
    model = task.build().eval()
    answering = task.answering(task, model)
    made = answering.batches("test", 8)
    (at, fields), *_ = list(placed(made))
    place = fields.pop("place")
    fields.pop("spelled")
    with torch.no_grad():
        own = answering._logits(fields, place)
        whole = model(**fields, return_loss=False).logits[torch.arange(len(at)), place - 1]
    assert torch.allclose(own, whole[:, : own.shape[1]].double(), atol=1e-4)


def placed(made: Any) -> Any:
    from numerate_lab.tasks.masked_prediction.spelled_number import placed_rows

    return placed_rows(made, torch.device("cpu"))


def test_models_that_cannot_answer(folder: Path, tmp_path: Path) -> None:
    causal = number_data.write_model(folder / "gpt2", "gpt2")
    with pytest.raises(ConfigError, match="gpt2 is a causal language model, and NumerSense masks a word"):
        task_of(folder, "bare", model=causal, dataset="numersense").build()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="empty: no model there"):
        task_of(folder, "bare", model=str(tmp_path / "empty")).build()
