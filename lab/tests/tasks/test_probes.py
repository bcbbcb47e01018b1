"""Probes: numbers and splits, right answers by hand, networks, bad input, and trainings of seconds."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import TYPE_CHECKING

import number_data
import numpy as np
import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

from numerate.errors import NumerateError
from numerate.modeling.attaching import attach
from numerate.processing.number_table import NumberTable
from numerate.registry import embedders
from numerate_lab.engine.grid import Grid, finals, recompute, run_grids
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.probes.number_pools import SPLITS, NumberPool, generated_columns, harvested, split_of, value_of
from numerate_lab.tasks.probes.pretrained_vectors import pooled_vectors
from numerate_lab.tasks.probes.probe_examples import draw_questions, scientific
from numerate_lab.tasks.probes.probe_models import KINDS, Probes
from numerate_lab.tasks.probes.probe_task import ProbeTask
from numerate_lab.tasks.probes.probe_trial import SETTINGS, ProbeTrial

if TYPE_CHECKING:
    from pathlib import Path

TINY = {"examples": 300, "dev": 60, "test": 80, "batch": 32, "steps": 8, "width": 16, "hidden": 16, "most_tables": 80}


def task_of(encoding: str, **more: object) -> ProbeTask:
    return ProbeTask(ProbeTrial(encoding=encoding, **ProbeTask.encoding(encoding) | TINY | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_pooled_vectors_are_means_of_last_states(name: str, tmp_path: Path) -> None:
    """Of an encoder-decoder, those of its encoder: T5 takes no text without an answer."""
    backbone, tokenizer = new_backbone(name), tokenizer_of(name)
    backbone.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    texts = ["5", "1,234.50", "-2.5%"]
    found = pooled_vectors(str(tmp_path), texts, torch.device("cpu"))
    inner = backbone.get_encoder() if name == "t5" else backbone.base_model
    for text, vector in zip(texts, found, strict=True):
        states = inner(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
        torch.testing.assert_close(vector, states.mean(0), atol=1e-5, rtol=1e-4)


def test_no_test_number_is_in_training() -> None:
    pool = NumberPool.of(generated_columns(300))
    sizes = {split: set(np.abs(pool.values[pool.split == place])) for place, split in enumerate(SPLITS)}
    assert all(sizes.values()) and not (sizes["test"] & sizes["train"]) and not (sizes["test"] & sizes["dev"])
    assert len(set(split_of(np.array([5.0, -5.0, float(value_of("500%")), float(value_of("+5.00"))])))) == 1
    for split, place in (("train", 0), ("test", 2)):
        asked = draw_questions(pool, split, 200, 3, 0)
        for numbers in (asked.singles, asked.pairs, asked.lists):
            assert (pool.split[numbers] == place).all(), "every number of a question is of the question's split"
    shares = np.bincount(split_of(np.random.default_rng(0).normal(size=20_000))) / 20_000
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.01)


def test_other_processes_have_the_same_numbers(tmp_path: Path) -> None:
    pool = NumberPool.of(generated_columns(60))
    pool.write(tmp_path / "numbers.json")
    again = NumberPool.of(json.loads((tmp_path / "numbers.json").read_text()))
    assert pool.texts == again.texts and (pool.members == again.members).all() and (pool.starts == again.starts).all()


def test_answers_are_exact() -> None:
    values = [Decimal(text) for text in ("1234.5", "-0.05", "0", "0.00", "9.9999", "12345678901", "0.0001")]
    significands, exponents = scientific(values)
    assert significands.tolist() == [1.2345, -5.0, 0.0, 0.0, 9.9999, 1.2345678901, 1.0]
    assert exponents.tolist() == [3, -2, 0, 0, 0, 7, -2], "those beyond -2 and 7 are counted as these"
    column = ["0.3", "0.2", "0.1", "10%", "20%", "7", "1,000"]
    pool = NumberPool.of([column[:3] + column[5:], column[3:5]], split=lambda values: np.zeros(len(values)))
    asked = draw_questions(pool, "train", 400, 3, 1)
    for (first, second), total, difference in zip(
        asked.pairs.tolist(), asked.values["addition"], asked.values["subtraction"], strict=True
    ):
        texts = pool.texts[first], pool.texts[second]
        assert first != second and len({text.endswith("%") for text in texts}) == 1, texts
        assert (total, difference) == (value_of(texts[0]) + value_of(texts[1]), value_of(texts[0]) - value_of(texts[1]))
    tenth = asked.pairs.tolist().index(
        [pool.texts.index("0.3"), pool.texts.index("0.2")]
    )  # 0.3 - 0.2 is 0.1, which floats get wrong
    assert scientific(asked.values["subtraction"])[1][tenth] == -1 and 0.3 - 0.2 < 0.1
    lists = pool.values[asked.lists]
    assert (lists.argmax(1) == asked.largest).all() and (np.diff(np.sort(lists, axis=1)) > 0).all()
    assert set(asked.largest.tolist()) == {0, 1, 2}


def test_numbers_stand_in_columns_and_in_rows_of_reports(tmp_path: Path) -> None:
    table = {"id": "a", "header": ["year", "share", "note"], "rows": [["1999", "5%", "3 of 4"], ["2001", "6%", ""]]}
    report = {"table": {"uid": "u", "table": [["Sales", "$1,200", "$1,100"]]}, "paragraphs": [], "questions": []}
    (tmp_path / "t.jsonl").write_text(json.dumps(table))
    (tmp_path / "r.json").write_text(json.dumps([report]))
    found = list(harvested(f"{tmp_path / 't.jsonl'},{tmp_path / 'r.json'}"))
    assert found == [["1999", "2001"], ["5%", "6%"], ["1,200", "1,100"]]
    (tmp_path / "tabfact").mkdir()
    rows = [{"table_id": name, "header": ["n"], "rows": [[place]]} for place, name in enumerate("xy", 1)]
    with gzip.open(tmp_path / "tabfact" / "tables.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "tabfact" / "ids.json").write_text('{"test": ["x"]}')
    assert list(harvested(str(tmp_path))) == [["2"]], "official test tables are left out"


def test_results_know_their_tables(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    file = tmp_path / "tables" / "t.jsonl"
    file.write_text('{"id": "a", "header": ["n"], "rows": [["1"]]}')
    trial = ProbeTrial(source=str(tmp_path))
    before = trial.settings()
    assert before["source"] == tmp_path.name and ProbeTrial(source=str(file)).settings()["source"] == "t.jsonl"
    file.write_text('{"id": "a", "header": ["n"], "rows": [["2"]]}')
    assert trial.settings()["contents"] != before["contents"], "other tables in the folder are other settings"


@pytest.mark.parametrize("setting", [name for name, fields in SETTINGS.items() if fields is not None])
def test_ranges(setting: str) -> None:
    chosen = SETTINGS[setting]
    assert chosen is not None
    pool = chosen.pool()
    counts = np.bincount(pool.split, minlength=3)
    assert counts.min() >= 5 and counts.argmax() == 0
    inside = (pool.values >= chosen.lowest) & (pool.values <= chosen.highest)
    if chosen.beyond is None:
        assert inside.all() and counts[2] == round(len(pool.texts) / 5)
    else:
        assert (inside == (pool.split != 2)).all() and pool.values.max() == chosen.beyond
    assert all(text.replace("-", "").replace(" ", "").isalpha() for text in pool.texts) == chosen.words
    asked = draw_questions(pool, "test", 50, 5, 0, near=True)
    assert asked.lists.shape == (50, 5) and (pool.split[asked.lists] == 2).all()
    assert (np.diff(np.sort(pool.values[asked.lists], axis=1)) > 0).all()


def test_networks_side_by_side_are_the_networks_alone() -> None:
    torch.manual_seed(0)
    probes = Probes(None, 6, 4, 3)
    pairs = torch.randn(5, 2, 6)
    answers = probes(torch.randn(2, 6), pairs, torch.randn(3, 3, 6))
    first, second = probes.pair.first, probes.pair.second
    for place, kind in ((0, "addition"), (2, "subtraction")):
        for which in (0, 1):  # significand, exponents
            rows = slice((place + which) * 8, (place + which + 1) * 8)
            hidden = torch.relu(pairs.flatten(1) @ first.weight[rows].T + first.bias[rows])
            alone = second[place + which](hidden)
            given = answers[kind][which]
            torch.testing.assert_close(given, alone[:, 0] if which == 0 else alone)
    assert answers["decoding"][0].shape == (2,) and answers["maximum"][0].shape == (3, 3)


def test_scores_by_hand() -> None:
    task = task_of("num")
    columns = {}
    for kind in KINDS:
        columns |= {f"{kind}_given": np.array([1.0, 5.0]), f"{kind}_right": np.array([1.0, 2.0])}
        columns |= {f"{kind}_given_exponent": np.array([3, 4]), f"{kind}_right_exponent": np.array([3, 5])}
    columns |= {"maximum_given": np.array([0, 1, 2, 0]), "maximum_right": np.array([0, 1, 2, 2])}
    found = task.score("test", columns)["test"]
    assert found["addition"] == {"rmse": pytest.approx(4.5**0.5), "exponent": 0.5} and found["maximum"] == 0.75
    assert task.example_scores("test", columns)["list maximum"].tolist() == [1, 1, 1, 0]


def test_probes_learn_and_a_vector_that_tells_nothing_does_not() -> None:
    more = {"setting": "integers-99", "steps": 150, "rate": 5e-3, "examples": 2000, "hidden": 32}
    errors = {}
    for name in ("piecewise", "num"):
        task = task_of(name, **more)
        model = task.build()
        task.train(model)
        errors[name] = task.score("test", task.ask(model, "test"))["test"]
    simple = task.baselines()["always the mean"]["test"]
    assert errors["piecewise"]["decoding"]["rmse"] < 5 < 20 < errors["num"]["decoding"]["rmse"]
    assert errors["piecewise"]["maximum"] > 0.5 > errors["num"]["maximum"]
    assert errors["num"]["addition"]["rmse"] == pytest.approx(simple["addition"]["rmse"], rel=0.1)


def test_a_grid_of_embedders_and_a_pretrained_model(tmp_path: Path) -> None:
    number_data.write_model(tmp_path / "bert")
    rows = {name: ProbeTask.encoding(name) for name in ("char-lstm-0.1m", "dice-frozen")}
    rows["bert"] = {"model": str(tmp_path / "bert")}
    grid = Grid(task="probes", encodings=rows, rates=(1e-3,), seeds=1, name="p", trial=ProbeTrial.from_dict(TINY))
    run_grids([grid], tmp_path, log=lambda line: None)
    assert all(recompute(grid, tmp_path).values())
    figures = {name: finals(grid, tmp_path, name)[0].figures for name in rows}
    assert figures["char-lstm-0.1m"]["trained_parameters"] == figures["char-lstm-0.1m"]["parameters"]
    assert figures["dice-frozen"]["trained_parameters"] < figures["dice-frozen"]["parameters"]
    assert {*KINDS, "maximum"} == set(figures["bert"]["test"])
    stored = json.loads((tmp_path / "p" / "bert-rate0.001-seed0-8.json").read_text())
    assert stored["config"]["model"] == "bert", "no path of this machine"


def test_every_embedder_can_be_probed() -> None:
    shared = Workspace()
    for name in embedders.names():
        task = task_of(name, test=20)
        task.workspace = shared
        model = task.build()
        figures = task.score("test", task.ask(model, "test"))["test"]
        assert all(np.isfinite(figures[kind]["rmse"]) for kind in KINDS), name
        vectors = model.vectors(task.table[torch.from_numpy(task.pool.members[:400])]).detach()
        size = float((vectors - vectors.mean(0)).square().mean().sqrt())
        assert size == pytest.approx(0 if name == "num" else 1, abs=0.5), f"{name}: vectors of about one size"


def test_a_saved_embedder_is_probed(tmp_path: Path) -> None:
    options = {"recipe": "luna", "embedder": {"kind": "char-lstm", "size": "0.1M"}}
    model = attach(new_backbone("bert"), tokenizer_of("bert"), **options)  # type: ignore[arg-type]
    model.save_pretrained(tmp_path / "luna", backbone=True)
    task = task_of("pooled", model=str(tmp_path / "luna"), frozen=True)
    probes = task.build()
    numbers = NumberTable.of_values([1.5, 2000.0])
    torch.testing.assert_close(probes.vectors(numbers), model.embedder(numbers))  # type: ignore[misc]
    assert probes.trainable_parameters()[0] < probes.trainable_parameters()[1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.jsonl", None, r"gone\.jsonl: no such file of tables; give a file"),
        ("empty.jsonl", '{"id": "t7", "header": ["n"], "rows": []}', r"empty\.jsonl:1: table 't7' has no rows"),
        ("broken.jsonl", '{"id": "a", "rows": [["1"]]}\n{"id": ', r"broken\.jsonl:2: not JSON"),
        ("text.jsonl", '{"text": "7"}', r"text\.jsonl:1: no table"),
        ("cell.jsonl", '{"id": "b", "rows": [[{"n": 1}]]}', r"cell\.jsonl:1: table 'b' has the cell"),
        (
            "none.jsonl",
            '{"id": "c", "rows": [["a"], ["1 of 2"]]}',
            r"none\.jsonl: no cell of its tables has one number",
        ),
        ("few.jsonl", '{"id": "c", "rows": [["1"]]}', r"few\.jsonl: no .*; give more tables"),
    ],
)
def test_bad_tables(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(NumerateError, match=message) as caught:
        task_of("num", source=str(tmp_path / name)).examples("train")
    assert "\n" not in str(caught.value)


def test_bad_settings() -> None:
    for encoding, more, message in (
        ("num", {"setting": "integers-100"}, "unknown setting 'integers-100': did you mean 'integers-9"),
        ("num", {"steps": 0}, "steps must be at least 1, got 0"),
        ("num", {"data_seed": -1}, "data_seed must not be negative, got -1"),
        ("log-forier", {}, "unknown encoding 'log-forier' of probes: did you mean 'log-fourier'"),
    ):
        with pytest.raises(NumerateError, match=message):
            task_of(encoding, **more)
    with pytest.raises(NumerateError, match="needs a model: give --option model=DIR"):
        task_of("pooled").build()
    with pytest.raises(NumerateError, match=r"\./missing: no such folder; give the folder of a model"):
        task_of("pooled", model="./missing").build()


def test_notes_say_what_reads_number_words() -> None:
    assert "`pooled` alone reads the words" in task_of("num", setting="words-99").notes()[1]
    assert len(task_of("num", setting="integers-99").notes()) == 1


@pytest.mark.shared("data/tatqa", "data/tabfact")
def test_numbers_of_real_tables(shared: Path) -> None:
    names = json.loads((shared / "data/tabfact/ids.json").read_text())["test"]
    pool = NumberPool.of(harvested(str(shared / "data"), 60))
    assert len(pool.texts) > 2000 and (np.bincount(pool.split) > 100).all() and len(names) == 1695
