"""TAT-QA as a task: rows of tensors, TagOp's heads, folds, starts, a comparison from files to its page."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers
from report_data import context, write_reports
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.errors import BadInput
from numerate_lab.commands.compare import compare_encodings, grid_of
from numerate_lab.engine.grid import recompute, run_grids
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.finetuning.starting_points import start_encoder
from numerate_lab.tasks.tatqa.operators import OPERATORS
from numerate_lab.tasks.tatqa.question_rows import TABLE, TEXT, Rows, encode, examples_of
from numerate_lab.tasks.tatqa.question_scores import gold_answer, question_scores
from numerate_lab.tasks.tatqa.report_file import SCALES, read_contexts
from numerate_lab.tasks.tatqa.tagop import TagOp, fit, predict
from numerate_lab.tasks.tatqa.tatqa_task import TatqaTask, _answers
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial, check_start, folds_of, parts_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of nine contexts, and a tiny masked language model in `bert`."""
    made = tmp_path_factory.mktemp("reports")
    write_reports(made / "dev.json")
    new_backbone("bert", max_position_embeddings=512).save_pretrained(made / "bert")
    tokenizer_of("bert").save_pretrained(made / "bert")
    return made


def trial(folder: Path, encoding: str = "bare", **options: Any) -> TatqaTrial:
    settings: dict[str, Any] = {"epochs": 1, "folds": 3, "batch": 8} | options | TatqaTask.encoding(encoding)
    return TatqaTrial(source=str(folder / "dev.json"), model=str(folder / "bert"), encoding=encoding, **settings)


def rows_of(folder: Path, encoding: str, most: int = 512, **options: Any) -> tuple[Any, list[Any], Rows]:
    config = trial(folder, encoding, **options)
    model = start_encoder(config.folder, config.recipe, config.parts)
    examples = examples_of(read_contexts(config.source)[:2])
    return model, examples, encode(model.processor, examples, most, config.spelled)


@pytest.mark.parametrize("encoding", ["bare", "luna", "luna-replace", "in-place", "words"])
def test_every_unit_has_its_tokens_and_tags(folder: Path, encoding: str) -> None:
    model, examples, rows = rows_of(folder, encoding)
    assert not rows.cut.any() and len(rows) == 16
    for row, one in enumerate(examples):
        unit, tags = rows.unit[row], rows.tags[row]
        assert set(unit.tolist()) - {0} == set(range(1, len(one.units) + 1)), "each unit has a token"
        tagged = {int(number) for number in unit[tags == 1]}
        assert tagged == {index + 1 for index in one.tagged}
        cells = {int(number) for number in unit[(rows.part[row] == TABLE) & (unit > 0)]}
        assert cells == {index + 1 for index, unit in enumerate(one.units) if unit.is_cell}
        assert (rows.part[row] == TEXT).any() and unit[0] == 0 and rows.part[row, 0] == 0
        assert torch.equal(rows.numeric[row, : len(one.units)], torch.tensor([u.number is not None for u in one.units]))
    if encoding == "in-place":  # a cell of our reader: (30) is -30
        bits = rows.fields["number_bits"][0].view(torch.float64)
        assert -30.0 in bits.tolist() and 1200.0 in bits.tolist()
        slots = rows.fields["number_slots"][0]
        at = int(bits.tolist().index(-30.0)) + 1
        assert {examples[0].units[int(i) - 1].text for i in rows.unit[0][slots == at]} == {"(30)"}
    if encoding in ("bare", "words"):
        assert not rows.fields["number_slots"].any()
    if encoding == "words":
        text = model.processor.tokenizer.decode(rows.fields["input_ids"][0])
        assert not any(char.isdigit() for char in text.replace(examples[0].question.text, "").partition("[SEP]")[2])


def test_what_does_not_fit_is_cut_from_the_end(folder: Path) -> None:
    _, examples, whole = rows_of(folder, "bare")
    most = int(whole.tokens.min()) - 20
    _, _, rows = rows_of(folder, "bare", most)
    assert rows.cut.all() and (rows.tokens == most).all()
    for row, one in enumerate(examples):
        shown = int(rows.unit[row].max())
        assert 0 < shown < len(one.units) and not rows.numeric[row, shown:].any()
        kept = {int(number) for number in rows.unit[row][rows.tags[row] == 1]}
        assert kept == {index + 1 for index in one.tagged if index < shown}


def test_labels_of_rows(folder: Path) -> None:
    _, examples, rows = rows_of(folder, "bare")
    names = [OPERATORS[code] for code in rows.operator[:8].tolist()]
    assert names == [one.labels.operator for one in examples[:8]]
    assert [SCALES[code] for code in rows.scale[:8].tolist()][3:6] == ["thousand", "percent", "thousand"]
    assert rows.turned[:8].tolist() == [-100, -100, -100, 0, 0, 1, -100, 0]
    assert rows.pair[3].tolist() == [index + 1 for index in examples[3].pair] and rows.pair[0].tolist() == [0, 0]


def test_batches_have_only_the_padding_they_need(folder: Path) -> None:
    model, _, rows = rows_of(folder, "luna")
    index = np.array([0, 9])
    batch = rows.batch(index)
    assert batch["unit"].shape[1] == rows.tokens[index].max() == batch["fields"]["input_ids"].shape[1]
    assert batch["fields"]["number_bits"].shape[1] == rows.numbers[index].max()
    torch.manual_seed(0)
    tagger = TagOp(model).eval()
    with torch.no_grad():
        together, alone = tagger(batch), tagger(rows.batch(index[1:]))
    assert torch.allclose(together.scores[1:], alone.scores, atol=1e-5)
    assert torch.equal(together.operator[1:], alone.operator) and torch.equal(together.pair[1:], alone.pair)


def test_rows_are_encoded_once_for_all_processes(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [TatqaTask(trial(folder, "in-place"), Workspace(tmp_path, tmp_path)) for _ in range(2)]
    first = tasks[0].rows(tasks[0].build()[0], 0)
    monkeypatch.setattr("numerate_lab.tasks.tatqa.tatqa_task.encode", None)
    again = tasks[1].rows(tasks[1].build()[0], 0)
    assert len(list(tmp_path.glob("rows-*.npz"))) == 1
    assert first.fields.keys() == again.fields.keys()
    assert all(torch.equal(value, again.fields[key]) for key, value in first.fields.items())
    for name in ("part", "unit", "numeric", "tags", "operator", "scale", "pair", "turned"):
        assert torch.equal(getattr(first, name), getattr(again, name)), name
    for name in ("tokens", "numbers", "cut"):
        assert np.array_equal(getattr(first, name), getattr(again, name)), name


def test_mixed_precision(folder: Path) -> None:
    """What a step computes in bf16 has the types that each part needs."""
    for encoding in ("luna", "in-place"):
        model, _, rows = rows_of(folder, encoding)
        tagger, batch = TagOp(model, 0.0).eval(), rows.batch(np.array([3, 4]))
        exact = float(tagger.loss(batch).detach())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = tagger.loss(batch)
            made = tagger(batch)
        loss.backward()
        assert loss.dtype == made.scores.dtype == torch.float32 and loss.item() == pytest.approx(exact, rel=0.05)
        assert all(weight.grad is not None for weight in tagger.order.parameters())


def test_order_head_sees_both_operands_in_order(folder: Path) -> None:
    """The mean of both, as in the official model, would be the same for either order."""
    model, _, rows = rows_of(folder, "bare")
    torch.manual_seed(1)
    tagger, batch = TagOp(model).eval(), rows.batch(np.array([3]))
    swapped = batch | {"pair": batch["pair"].flip(1)}
    with torch.no_grad():
        one, other = (float(tagger.loss(each)) for each in (batch, swapped))
    assert one != pytest.approx(other, abs=1e-6)


def test_a_unit_is_as_likely_as_its_likeliest_token(folder: Path) -> None:
    model, _, rows = rows_of(folder, "bare")
    torch.manual_seed(2)
    tagger, batch = TagOp(model).eval(), rows.batch(np.array([0, 1]))
    with torch.no_grad():
        made = tagger(batch)
        likely = tagger.tag(tagger.states(batch["fields"])).softmax(-1)[..., 1]
    for row in range(2):
        for unit in range(1, int(batch["unit"][row].max()) + 1):
            expected = likely[row][batch["unit"][row] == unit].max()
            assert made.scores[row, unit - 1] == pytest.approx(float(expected), abs=1e-6)
        best = made.scores[row].masked_fill(~batch["numeric"][row], -1).topk(2).indices
        assert made.pair[row].tolist() == sorted((best + 1).tolist())


def test_questions_are_learnt(folder: Path) -> None:
    """A small encoder learns two questions about one context by heart: a span of the text, and a difference."""
    tokenizer = tokenizer_of("bert")
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 128,
    }
    still: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config: Any = transformers.BertConfig(vocab_size=len(tokenizer), **sizes, **still)
    model = numerate.attach(transformers.BertModel(config), tokenizer, "in-place", head=None, objective=None)
    examples = examples_of(read_contexts(folder / "dev.json")[:1])
    rows, index = encode(model.processor, examples, 512), np.array([1, 3])
    tagger = TagOp(model, 0.0)
    settings = trial(folder, "in-place", epochs=60, rate=3e-3, head_rate=3e-3)
    found = fit(tagger, rows, index, settings, np.array([len(one.units) for one in examples]))
    assert found["losses"][-1] < 0.01 * found["losses"][0] and found["steps"] == 60 and found["questions"] == 2
    answers = _answers([examples[row] for row in index], predict(tagger, rows, index, 4))
    assert answers == [('["the board"]', 0, 0), ('["200.0"]', SCALES.index("thousand"), OPERATORS.index("DIFF"))]


def test_folds_have_no_context_in_common(folder: Path) -> None:
    parts = parts_of(trial(folder))
    assert len(parts.train) == len(parts.asked["test"]) == 3
    for learnt, asked in zip(parts.train, parts.asked["test"], strict=True):
        assert not set(parts.contexts[learnt]) & set(parts.contexts[asked])
        assert len(learnt) + len(asked) == len(parts.examples) == 72
    assert parts.by_split["test"].tolist() == list(range(72))
    tried = parts_of(dataclasses.replace(trial(folder), trying=True))
    used = [set(tried.contexts[rows]) for rows in (tried.train[0], tried.asked["dev"][0], tried.asked["test"][0])]
    assert not (used[0] & used[1] or used[0] & used[2] or used[1] & used[2])


def test_contexts_of_one_report_are_in_one_fold() -> None:
    contexts = [context(number) for number in range(6)]
    shared = {
        "uid": "p",
        "order": 3,
        "text": "A long paragraph of the same report, which stands below two of its tables.",
    }
    for number in (1, 4, 5):
        contexts[number]["paragraphs"].append(shared)
    from numerate_lab.tasks.tatqa.report_file import _context

    found = folds_of([_context(one, "x") for one in contexts], 3)
    assert found[1] == found[4] == found[5] and sorted(np.bincount(found)) == [1, 2, 3]


def test_files_for_training_and_test(folder: Path, tmp_path: Path) -> None:
    test = write_reports(tmp_path / "gold.json", 2, first=50)
    config = dataclasses.replace(trial(folder), test=test)
    parts = parts_of(config)
    assert len(parts.train) == 1 and len(parts.train[0]) == 72 and len(parts.by_split["test"]) == 16
    assert all(one.question.uid.startswith("question-5") for one in TatqaTask(config).examples("test"))
    assert TatqaTask(config).baselines()["oracle"]["test"]["em"] == {"value": 1.0, "count": 16}
    held = parts_of(dataclasses.replace(config, trying=True))
    assert len(held.train[0]) + len(held.asked["dev"][0]) == 72
    assert len(TatqaTask(config).notes()) == 1
    same = dataclasses.replace(config, test=str(folder / "dev.json"))
    assert "**72 of the test questions are in the training file, too" in TatqaTask(same).notes()[1]
    with pytest.raises(ConfigError, match="dev needs a test file beside it"):
        dataclasses.replace(trial(folder), dev=test)
    with pytest.raises(ConfigError, match="2 contexts are too few for 3 folds"):
        parts_of(TatqaTrial(source=test, model="x", folds=3))


def test_empty_answers_and_zeros_count(folder: Path) -> None:
    """LUNA's EM_num leaves empty predictions out, and takes 0 for empty."""
    task = TatqaTask(trial(folder))
    examples = task.examples("test")
    answers = [gold_answer(one) for one in examples]
    arithmetic = [row for row, one in enumerate(examples) if one.question.answer_type == "arithmetic"]
    for row in arithmetic[:3]:
        answers[row] = []
    columns = {
        "answer": np.array([json.dumps(one) for one in answers]),
        "scale": np.array([SCALES.index(one.question.scale) for one in examples]),
        "operator": np.zeros(len(examples), dtype=np.int8),
    }
    found = task.score("test", columns)
    assert found["test"]["em_num"] == {"value": pytest.approx(1 - 3 / len(arithmetic)), "count": len(arithmetic)}
    assert found["test"]["em"]["value"] == pytest.approx(1 - 3 / 72)
    assert found["test"]["answered"]["value"] == pytest.approx(1 - 3 / 72)
    assert found["test by answer type"]["count"]["em"] == {"value": 1.0, "count": 9}
    zero = dataclasses.replace(examples[3].question, answers=("0",))
    at = {"answer": np.array(['["0.0"]']), "scale": np.array([0])}
    scores = question_scores([dataclasses.replace(examples[3], question=zero)], at)
    assert scores is not None and scores["em"].tolist() == [1.0]


def test_compare_from_files_to_the_page(folder: Path, tmp_path: Path) -> None:
    """`numerate compare --task tatqa`, with a saved number model as another start, and paired intervals."""
    embedder = {"kind": "char-lstm", "size": "0.1M"}
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna", embedder=embedder)
    model.save_pretrained(tmp_path / "pretrained", backbone=True)
    options = {
        "source": str(folder / "dev.json"), "model": str(folder / "bert"), "most": 6, "batch": 16, "epochs": 2,
        "starts": {"pretrained": str(tmp_path / "pretrained")},
    }  # fmt: skip
    lines: list[str] = []
    names = ["bare", "in-place", "luna@pretrained"]
    settings: dict[str, Any] = {"rates": (1e-3,), "seeds": 1, "scale": "tiny", "base": "bare", "resamples": 200}
    compare_encodings(
        str(tmp_path / "out"), task="tatqa", encodings=names, options=options, log=lines.append, **settings
    )
    table = (tmp_path / "out" / "tatqa" / "compare.md").read_text("utf-8")
    assert all(f"| {name} |" in table for name in [*names, "oracle"]) and "EM\\_num" in table and "multi-span" in table
    result = json.loads(
        (tmp_path / "out" / "tatqa" / "luna@pretrained-rate0.001-seed0-epochs2.json").read_text("utf-8")
    )
    assert result["config"]["starts"] == {"pretrained": "pretrained"} and result["config"]["contents"]["start"]
    assert result["figures"]["test"]["em"]["count"] == 48 and len(result["figures"]["training"]["losses"]) == 3
    against = json.loads((tmp_path / "out" / "tatqa" / "in-place-against-bare.json").read_text("utf-8"))["figures"]
    assert {"EM", "F1", "EM_num"} <= against.keys() and against["EM"]["clusters"] == 6
    assert "less bare" in table, "paired differences are shown"
    assert against["EM"]["low"] <= against["EM"]["estimate"] <= against["EM"]["high"]
    grid = grid_of("tatqa", names, options=options, **settings)
    assert all(recompute(grid, tmp_path / "out").values())
    run_grids([grid], tmp_path / "out", log=lines.append)  # all is there


def _without_answers(file: Path, contexts: int) -> str:
    """Contexts as in the official test file, whose questions have an id and a text."""
    data = [context(number) for number in range(60, 60 + contexts)]
    for one in data:
        one["questions"] = [{key: each[key] for key in ("uid", "order", "question")} for each in one["questions"]]
    file.write_text(json.dumps(data), "utf-8")
    return str(file)


def test_a_test_file_without_answers_is_answered_and_not_compared(folder: Path, tmp_path: Path) -> None:
    asked = _without_answers(tmp_path / "test.json", 2)
    options = {"source": str(folder / "dev.json"), "model": str(folder / "bert"), "test": asked, "most": 3, "epochs": 1}
    compare_encodings(
        str(tmp_path / "out"), task="tatqa", encodings=["bare", "luna"], options=options, log=print, rates=(1e-3,),
        seeds=1, scale="tiny", base="bare",
    )  # fmt: skip
    table = (tmp_path / "out" / "tatqa" / "compare.md").read_text("utf-8")
    assert "| luna | – | – |" in table and "less bare" not in table


def test_trainings_without_answers_are_refused(folder: Path, tmp_path: Path) -> None:
    """They trained on nothing, or took the first of the rates."""
    empty = _without_answers(tmp_path / "empty.json", 6)
    tried = dataclasses.replace(trial(folder), dev=empty, test=str(folder / "dev.json"), trying=True)
    for config, said in (
        (dataclasses.replace(trial(folder), source=empty), "empty.json: no question has an answer to learn from"),
        (tried, "empty.json: its questions have no answers to choose a rate by; give answers, or one rate"),
    ):
        task = TatqaTask(config)
        with pytest.raises(ConfigError, match=said):
            task.train(task.build())


def test_starts(folder: Path, tmp_path: Path) -> None:
    source = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place")
    for part in (source.embedder, source.gate, source.relations, source.late_reach):
        for weight in part.parameters():  # type: ignore[union-attr]
            weight.data.add_(torch.randn_like(weight) * 0.1)
    source.save_pretrained(tmp_path / "numbers", backbone=True)
    started = start_encoder(str(tmp_path / "numbers"), "in-place", {}).eval()
    assert started.processor.config()["reader"]["cell"] is True
    inputs: Any = dict(source.processor(["Sales were 1,200 and 5.5%."], return_tensors="pt"))
    with torch.no_grad():
        states: Any = started(**inputs, return_loss=False)
        logits: Any = source.eval()(**inputs, return_loss=False).logits
        again = source.backbone.cls(states.last_hidden_state)  # type: ignore[operator]
    assert torch.allclose(again, logits[..., : again.shape[-1]], atol=1e-5), "all number parts came along"
    bare = start_encoder(str(tmp_path / "numbers"), "subwords", {})
    assert bare.embedder is None and started.embedder is not None
    with pytest.raises(ConfigError, match="has notation and embedder"):
        start_encoder(str(tmp_path / "numbers"), "luna", {})
    (tmp_path / "numbers" / "run.json").write_text('{"config": {"data": {"train": ["data/tatqa/dev.json"]}}}', "utf-8")
    with pytest.raises(ConfigError, match="names 'tatqa'"):
        check_start(tmp_path / "numbers")
    check_start(folder / "bert")


def test_bad_settings_are_one_line(folder: Path, tmp_path: Path) -> None:
    def compared(encoding: str, **options: Any) -> None:
        given = {"source": str(folder / "dev.json"), "model": str(folder / "bert")} | options
        compare_encodings(
            str(tmp_path / "out"), task="tatqa", encodings=[encoding], options=given, log=print, rates=(1e-3,), seeds=1,
            scale="tiny",
        )  # fmt: skip

    cases = [
        ("lunar", {}, "unknown encoding 'lunar'"),
        ("luna@", {}, "the name of a start is missing"),
        ("luna@other", {}, "unknown start 'other'"),
        ("bare", {"source": str(tmp_path / "none.json")}, "no such file"),
        ("bare", {"folds": 1}, "folds must be at least 2"),
        ("bare", {"epoch": 3}, "unknown key 'epoch'"),
    ]
    for encoding, options, said in cases:
        with pytest.raises((BadInput, ConfigError), match=said) as caught:
            compared(encoding, **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"^tatqa config: 'source' is missing, and has no default$"):
        TatqaTrial.from_dict({"folds": 2})


def test_an_interrupted_cross_validation_goes_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds that are done are not trained again, and the answers are those of a trial that was not interrupted."""
    from numerate_lab.engine.task import Workspace
    from numerate_lab.engine.trial import run_trial
    from numerate_lab.tasks.tatqa import tatqa_task

    config = trial(folder, most=6, max_tokens=100)
    whole = run_trial(TatqaTask(config, Workspace(tmp_path / "a", tmp_path / "shared")), tmp_path / "a")
    trained: list[int] = []

    def interrupted(model: Any, rows: Any, index: Any, settings: Any, lengths: Any) -> Any:
        trained.append(len(index))
        if len(trained) == 3:
            raise KeyboardInterrupt
        return fit(model, rows, index, settings, lengths)

    monkeypatch.setattr(tatqa_task, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_trial(TatqaTask(config, Workspace(tmp_path / "b", tmp_path / "shared")), tmp_path / "b")
    assert len(list((tmp_path / "b" / "folds").glob("*.npz"))) == 2
    again = run_trial(TatqaTask(config, Workspace(tmp_path / "b", tmp_path / "shared")), tmp_path / "b")
    assert len(trained) == 4, "the third fold alone"
    for key in ("test", "test by answer type"):
        assert again[key] == whole[key]
    assert (
        again["training"]["losses"] == whole["training"]["losses"]
        and again["training"]["steps"] == whole["training"]["steps"]
    )
    other = dataclasses.replace(config, dropout=0.3)
    monkeypatch.setattr(tatqa_task, "fit", fit)
    changed = run_trial(TatqaTask(other, Workspace(tmp_path / "b", tmp_path / "shared")), tmp_path / "b")
    assert changed["training"]["losses"] != whole["training"]["losses"], "folds of other settings are not used"
