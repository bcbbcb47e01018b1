"""Rows of fine-tuning tasks: names, number prompts against attention by hand, embedders that come from probes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fact_files
import number_data
import pytest
import torch
from report_data import write_reports
from tiny_models import new_backbone, tokenizer_of

from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate.processing.slot_positions import table_of
from numerate.registry import UnknownNameError, embedders
from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.finetuning.number_prompts import add_prompts
from numerate_lab.tasks.finetuning.probed_embedder import load_probed_embedder
from numerate_lab.tasks.finetuning.row_names import row_fields
from numerate_lab.tasks.finetuning.starting_points import start_encoder
from numerate_lab.tasks.probes.probe_task import ProbeTask
from numerate_lab.tasks.probes.probe_trial import ProbeTrial
from numerate_lab.tasks.reasoning.reasoning_task import Reasoning
from numerate_lab.tasks.tabfact.tabfact_task import TabFact, TabFactTrial
from numerate_lab.tasks.tatqa.tatqa_task import TatqaTask
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"kind": "char-lstm", "size": "0.1M"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model in `bert`, data of both tasks, and probes on a character LSTM of its width in `probes`."""
    place = tmp_path_factory.mktemp("rows")
    number_data.write_model(place / "bert")
    write_reports(place / "dev.json")
    (place / "facts").mkdir()
    fact_files.write_lines(place / "facts")
    sizes = {
        "examples": 200,
        "dev": 40,
        "test": 40,
        "batch": 32,
        "steps": 4,
        "width": 32,
        "hidden": 8,
        "most_tables": 60,
    }
    probes = ProbeTask(ProbeTrial(encoding="char-lstm", embedder=SMALL, **sizes))  # type: ignore[arg-type]
    model = probes.build()
    probes.train(model)
    model.save_pretrained(place / "probes")
    return place


def tatqa(folder: Path, row: str, **options: Any) -> TatqaTask:
    fields: dict[str, Any] = {"epochs": 1, "folds": 2, "batch": 8, "most": 4, "max_tokens": 120, "bf16": False}
    fields |= TatqaTask.encoding(row) | options
    return TatqaTask(TatqaTrial(source=str(folder / "dev.json"), model=str(folder / "bert"), encoding=row, **fields))


def test_missing_models_and_rows_are_named(tmp_path: Path) -> None:
    from numerate_lab.tasks.finetuning.starting_points import start_classifier

    missing = str(tmp_path / "missing")
    for start in (start_encoder, start_classifier):
        with pytest.raises(ConfigError, match=f"{missing}: no such folder; give the folder of a model"):
            start(missing, "subwords", {})
    (tmp_path / "missing").mkdir()
    with pytest.raises(ConfigError, match=f"{missing}: no model there"):
        start_encoder(missing, "subwords", {})
    with pytest.raises(UnknownNameError, match="unknown encoding 'barre': did you mean 'bare'"):
        row_fields("barre")


def test_names() -> None:
    known = ("recipe", "parts", "start", "spelled", "prompts")
    for name, fields in {
        "addback": {"recipe": "luna"},
        "replace-9M@words": {
            "recipe": "luna-replace",
            "parts": {"embedder": {"kind": "char-lstm", "size": "9M"}},
            "start": "words",
        },
        "addback-char-former+none": {"recipe": "luna", "parts": {"embedder": {"kind": "char-former"}, "head": None}},
        "in-place": {"recipe": "in-place"},
        "words@x": {"recipe": "subwords", "spelled": True, "start": "x"},
    }.items():
        assert row_fields(name, known) == fields, name
    prompts = row_fields("prompts-dice-luna", known)
    assert prompts["prompts"] == {"kind": "dice", "sign": False, "unit": False} and prompts["recipe"] == "subwords"
    # Every registered embedder can stand behind a notation, and all tasks read the same names.
    for name in embedders.names():
        assert row_fields(f"addback-{name}")["parts"]["embedder"]["kind"] == name
    assert TatqaTask.encoding("addback-dice") == TabFact.encoding("addback-dice")
    assert Reasoning.encoding("addback-dice+none")["parts"]["head"] == {"kind": "mixture"}, "it answers by a head"
    for name, error, message in (
        ("addback-dise", UnknownNameError, "unknown encoding 'addback-dise': did you mean 'addback-dice'"),
        ("luna@", ConfigError, "encoding 'luna@': the name of a start is missing behind the @"),
        ("prompts+mixture", ConfigError, "number prompts have no head"),
        ("addback+mixtur", UnknownNameError, "unknown head 'mixtur'"),
    ):
        with pytest.raises(error, match=message):
            row_fields(name, known)
    for task, name in ((TabFact, "words"), (Reasoning, "words"), (Reasoning, "prompts")):
        with pytest.raises(ConfigError, match=f"encoding '{name}': this task has no such row"):
            task.encoding(name)


def test_prompts_are_keys_and_values_of_every_layer() -> None:
    """Against a BERT whose layers attend to the same keys and values, written out by hand."""
    torch.manual_seed(0)
    backbone: Any = new_backbone("encoder")
    fields = row_fields("prompts-log-fourier", ("recipe", "parts", "prompts"))
    model = attach(backbone, tokenizer_of("bert"), fields["recipe"], objective=None, **fields["parts"]).eval()
    texts = ["The tower is 324 metres tall and cost 1.5.", "A cat sat on the mat."]
    batch = model.processor(texts, return_tensors="pt", padding=True)
    with torch.no_grad():
        before = model(**batch).last_hidden_state
        add_prompts(model, fields["prompts"])
        model.prompts.project.weight.mul_(20)
        found = model(**batch).last_hidden_state
        table: Any = table_of(batch)
        keys_and_values = model.prompts(table)
        plain = {key: batch[key] for key in ("input_ids", "token_type_ids")}
        hidden = backbone.embeddings(**plain)
        given = torch.cat([table.given == 1, batch["attention_mask"].bool()], dim=1)[:, None, None]
        for (keys, values), layer in zip(keys_and_values, backbone.encoder.layer, strict=True):
            own = layer.attention.self
            heads = [
                part(hidden).view(*hidden.shape[:2], 2, 16).transpose(1, 2) for part in (own.query, own.key, own.value)
            ]
            scores = heads[0] @ torch.cat([keys, heads[1]], 2).transpose(2, 3) / 4
            mixed = scores.masked_fill(~given, -torch.inf).softmax(-1) @ torch.cat([values, heads[2]], 2)
            hidden = layer.attention.output(mixed.transpose(1, 2).flatten(2), hidden)
            hidden = layer.output(layer.intermediate(hidden), hidden)
    real = batch["attention_mask"].bool()
    torch.testing.assert_close(found[real], hidden[real], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found[0], before[0], atol=1e-3), "numbers are seen"
    torch.testing.assert_close(found[1][real[1]], before[1][real[1]], rtol=1e-4, atol=1e-5)


def test_prompts_need_an_encoder_without_an_embedder() -> None:
    for name, recipe, message in (
        ("bert", "luna", "number prompts stand instead of an embedder, got 'char-lstm'"),
        ("gpt2", "subwords", "number prompts need an encoder such as BERT or RoBERTa, got GPT2Model"),
    ):
        options: dict[str, Any] = {"embedder": SMALL} if recipe == "luna" else {}
        model = attach(new_backbone(name), tokenizer_of(name), recipe, **options)
        with pytest.raises(ConfigError, match=message):
            add_prompts(model, SMALL)


def test_prompts_are_trained_in_both_tasks(folder: Path) -> None:
    task = tatqa(folder, "prompts-0.1M")
    model = task.build()
    before = model[0].numbers.prompts.project.weight.clone()
    task.train(model)
    assert not torch.equal(model[0].numbers.prompts.project.weight, before)
    assert task.score("test", task.ask(model, "test"))["test"]["em"]["count"] > 0
    fields: dict[str, Any] = {"batch": 8, "bf16": False, "max_tokens": 64, "epochs": 1, "rate": 1e-3, "most_train": 16}
    config = TabFactTrial(
        source=str(folder / "facts"),
        model=str(folder / "bert"),
        encoding="prompts",
        **fields,
        **TabFact.encoding("prompts-0.1M"),
    )
    facts = TabFact(config, Workspace())
    judge: Any = facts.build()
    before = judge.prompts.project.weight.clone()
    facts.train(judge)
    assert not torch.equal(judge.prompts.project.weight.cpu(), before.cpu())


def test_an_embedder_of_probes(folder: Path, tmp_path: Path) -> None:
    starts = {"toy": str(folder / "probes")}
    row = "addback-0.1M@toy"
    task = tatqa(folder, row, starts=starts)
    model: Any = task.build()
    found = model[0].numbers.embedder
    again = load_probed_embedder(folder / "probes", 32)
    assert all(torch.equal(found.state_dict()[key], value) for key, value in again.state_dict().items())
    assert model[0].numbers.fitted and found.config.kind == "rescaled", "fitting would scale it anew"
    settings = task.config.settings()
    assert settings["starts"] == {"toy": "probes"} and settings["contents"]["start"]
    with pytest.raises(ConfigError, match="has the embedder 'char-lstm', the row has 'dice'"):
        tatqa(folder, "addback-dice@toy", starts=starts).build()
    with pytest.raises(ConfigError, match="holds probes: an embedder alone"):
        start_encoder(str(folder / "probes"), "luna", {})
    with pytest.raises(ConfigError, match="vectors have 32 columns, the model's 48: train probes with width=48"):
        load_probed_embedder(folder / "probes", 48)
    (tmp_path / "embedder.json").write_text("{")
    with pytest.raises(ConfigError, match="not a folder of saved probes"):
        load_probed_embedder(tmp_path, 32)
    described = json.loads((folder / "probes" / "embedder.json").read_text())
    described["embedder"]["members"][0] = {"kind": "dice"}
    (tmp_path / "embedder.json").write_text(json.dumps(described))
    (tmp_path / "probes.safetensors").write_bytes((folder / "probes" / "probes.safetensors").read_bytes())
    with pytest.raises(ConfigError, match=r"probes.safetensors: the weights do not fit embedder.json"):
        load_probed_embedder(tmp_path, 32)


def test_a_start_for_one_row_alone(folder: Path) -> None:
    """A name of `starts` may be a whole row, so that every embedder has a start of its own."""
    small: Any = attach(new_backbone("bert"), tokenizer_of("bert"), "luna", embedder=SMALL)
    small.save_pretrained(folder / "small", backbone=True)
    row = "addback-0.1M@distilled"
    task = tatqa(folder, row, starts={row: str(folder / "small"), "distilled": "elsewhere"})
    model: Any = task.build()
    assert torch.equal(model[0].numbers.own_rows, small.own_rows)
    assert task.config.settings()["starts"] == {row: "small"}
    for name, message in (
        ("addback-9M@distilled", r"has an embedder with size='0.1M', the row has '9M'"),
        ("replace-0.1M@distilled", r"\('addback', 'char-lstm'\), the row .* \('marker', 'char-lstm'\)"),
    ):
        with pytest.raises(ConfigError, match=message):
            tatqa(folder, name, starts={"distilled": str(folder / "small")}).build()
    with pytest.raises(ConfigError, match="unknown start 'distilled': there are none"):
        tatqa(folder, row)
