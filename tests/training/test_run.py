"""Runs: how they are read, and each that ships trained end to end."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers as hf
from known_distributions import known_texts
from tiny_models import new_backbone, tokenizer_of

from numerate.config import ConfigError
from numerate.files import YamlError, read_yaml
from numerate.modeling.tokenizer_checks import longest_text
from numerate.processing.number_table import NumberTable
from numerate.training.build import build, prepare, training_arguments
from numerate.training.data import texts_of
from numerate.training.models import build_model
from numerate.training.run import Run, RunError, Scratch, TokenizerPlan, load_run, run_names
from numerate.training.scratch import new_backbone as from_scratch
from numerate.training.scratch import train_tokenizer
from numerate.training.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

RUNS = run_names()
TEXT_RUNS = [name for name in RUNS if not load_run(name).data.records]
"""Those of records learn from rows, see tests/records."""
CPU = ("training.use_cpu=true", "training.disable_tqdm=true")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Made-up texts in a file for each split; for records, the same numbers in braces."""
    folder = tmp_path_factory.mktemp("texts")
    for split, count in (("train", 120), ("dev", 16)):
        rows = [json.dumps({"text": text.text}) for text in known_texts(split, count, clauses=2)]
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    return {split: str(folder / f"{split}.jsonl") for split in ("train", "dev")}


def test_shipped_runs() -> None:
    assert {"luna", "luna-scratch", "xval", "exponent", "float"} <= set(RUNS)
    assert "numerals-2018" not in RUNS, "it has a command of its own"


@pytest.mark.parametrize("name", RUNS)
def test_every_run_loads(name: str, tmp_path: Path) -> None:
    run = load_run(name)
    assert run.about and run.citation and "tiny" in run.scales
    for scale in (None, *run.scales):
        plan = load_run(name, scale=scale, changes=CPU)
        settings, _ = training_arguments(plan, tmp_path)
        assert settings.output_dir == str(tmp_path)
        assert Run.from_dict(json.loads(plan.to_json())) == plan


@pytest.mark.parametrize("name", TEXT_RUNS)
def test_tiny_runs_train_end_to_end(name: str, texts: dict[str, str], tmp_path: Path) -> None:
    run = load_run(name, scale="tiny", changes=CPU).with_data(**texts)
    trainer = build(run, tmp_path)
    before = {key: value.clone() for key, value in trainer.model.state_dict().items()}
    trainer.train()
    changed = {key for key, value in trainer.model.state_dict().items() if not torch.equal(value, before[key])}
    inner = f"backbone.{trainer.model.backbone.base_model_prefix}."
    encoder = {key for key in before if key.startswith(inner)}
    head = {key for key in before if key.startswith("backbone.")} - encoder
    assert len(encoder) > 20 and head
    if run.model.freeze == "encoder":
        assert changed.isdisjoint(encoder)
    else:
        assert {key for key in encoder - changed if "weight" in key} <= {key for key in encoder if "token_type" in key}
    assert changed & head, "the language-model head learns in all of them"
    assert any(key.startswith("embedder.") for key in changed) or name in ("xval", "masked-lm"), "of no weights"
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    assert len(losses) == 2 and all(map(math.isfinite, losses))
    assert (tmp_path / "checkpoint-6" / "manifest.json").is_file()


def test_changes_and_scales() -> None:
    run = load_run("luna", scale="tiny", changes=["training.learning_rate=1e-4", "model.head={kind: mixture}"])
    assert run.training["learning_rate"] == 1e-4 and run.training["weight_decay"] == 0.02
    assert run.model.head == {"kind": "mixture"} and run.model.checkpoint is None and run.model.scratch is not None
    other = load_run("luna", changes=["model.objective={kind: masked, what: numbers}", "training.save_strategy=no"])
    assert other.model.objective == {"kind": "masked", "what": "numbers"}, "another kind replaces the part"
    assert other.training["save_strategy"] == "no", "not the YAML 1.1 that takes it for false"
    assert load_run("luna").model.objective["decay"] == 0.995  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lunna", {}, "unknown run 'lunna': did you mean 'luna'"),
        (
            "in-place",
            {},
            "unknown run 'in-place': it is a recipe, write a file with `model: {checkpoint: ..., recipe: in-place}`",
        ),
        ("no.yaml", {}, "no.yaml: cannot be read: No such file"),
        ("luna", {"scale": "tinny"}, "luna: unknown scale 'tinny': did you mean 'tiny'"),
        ("luna", {"changes": ["modle.recipe=x"]}, "luna: run config: unknown key 'modle': did you mean 'model'"),
        ("luna", {"changes": ["data.max_token=3"]}, "data config: unknown key 'max_token': did you mean 'max_tokens'"),
        ("luna", {"changes": ["data.max_tokens=many"]}, "data config: max_tokens is 'many', expected int"),
        ("luna", {"changes": ["data.max_tokens=0"]}, "max_tokens must be positive, got 0"),
        ("luna", {"changes": ["data"]}, "'data': write a change as key.sub=value"),
        ("luna", {"changes": ["data.=3"]}, "write a change as key.sub=value"),
        ("luna", {"changes": ["data.text=[1"]}, "not YAML"),
        ("luna", {"changes": ["model.freeze=yes"]}, "freeze is 'yes', expected one of 'no', 'backbone', 'encoder'"),
        ("luna", {"changes": ["model.checkpoint=null"]}, "one of the two; neither is given"),
        ("luna-scratch", {"changes": ["model.checkpoint=x"]}, "one of the two; both is given"),
    ],
)
def test_error_messages(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RunError) as caught:
        load_run(name, **options)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_yaml_files(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("model: {checkpoint: x, recipe: luna}\ntraining: {max_steps: 3}\n")
    assert load_run(path).training == {"max_steps": 3}
    for content, message in (
        ("model: [1\n", r"my\.yaml:2: not YAML"),
        ("model:\n  recipe: a\n  recipe: b\n", r"my\.yaml:3: not YAML: key 'recipe' is given twice"),
        ("a: !!python/name:os.system x\n", r"my\.yaml:1: not YAML"),
        ("just words", "a run has the sections"),
        ("training: {}\n", r"my\.yaml: run config: .*model"),
    ):
        path.write_text(content)
        with pytest.raises(RunError, match=message):
            load_run(path)


def test_plain_yaml() -> None:
    assert read_yaml("[1e-4, 1E5, .5, 1.5e3, 7, no, on, true, null, 2020-01-01]", "") == [
        1e-4, 1e5, 0.5, 1500.0, 7, "no", "on", True, None, "2020-01-01",
    ]  # fmt: skip
    assert read_yaml("a: &x {b: 1}\nc: {<<: *x, d: 2}", "") == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}
    with pytest.raises(YamlError, match="t:1: not YAML: key"):
        read_yaml("? [1]\n: 2", "t")


def test_training_arguments_are_checked(tmp_path: Path) -> None:
    run = load_run("exponent", changes=["training.learning_rat=1"])
    with pytest.raises(RunError, match="training: unknown key 'learning_rat': did you mean 'learning_rate'"):
        training_arguments(run, tmp_path)
    with pytest.raises(RunError, match="training: "):
        training_arguments(load_run("exponent", changes=["training.lr_scheduler_type=wobbly"]), tmp_path)
    settings, own = training_arguments(load_run("exponent", changes=[*CPU, "training.eval_seed=7"]), tmp_path)
    assert own == {"eval_seed": 7, "number_learning_rate": "same"} and settings.report_to == []
    with pytest.raises(RunError, match="training: number_learning_rate must be a rate, 'same' or None, got 'fast'"):
        training_arguments(load_run("luna", changes=["training.number_learning_rate=fast"]), tmp_path)
    assert settings.eval_strategy == "no" and not settings.load_best_model_at_end, "there is no dev set"


def test_a_run_has_no_targets_for_an_encoder_decoder(texts: dict[str, str], tmp_path: Path) -> None:
    new_backbone("t5").save_pretrained(tmp_path / "t5")
    tokenizer_of("t5").save_pretrained(tmp_path / "t5")
    run = load_run("luna", changes=[*CPU, f"model.checkpoint={tmp_path / 't5'}"])
    with pytest.raises(RunError, match="is an encoder-decoder, and a run has no targets for it"):
        build(run.with_data(**texts), tmp_path / "o")


def test_bad_data_is_found_before_the_model_is_built(texts: dict[str, str], tmp_path: Path) -> None:
    run = load_run("luna", changes=CPU)  # its checkpoint is not there, either
    with pytest.raises(SourceError, match="no such file"):
        build(run.with_data(train=str(tmp_path / "no.jsonl")), tmp_path / "o")
    with pytest.raises(SourceError, match="field 'body' is missing; it has 'text'"):
        build(load_run("luna", changes=[*CPU, "data.text=body"]).with_data(**texts), tmp_path / "o")
    with pytest.raises(RunError, match="checkpoint 'bert-base-uncased' cannot be loaded"):
        build(run.with_data(**texts), tmp_path / "o")
    with pytest.raises(RunError, match="give --data"):
        build(load_run("luna", scale="tiny", changes=CPU), tmp_path / "o")


def test_one_file_with_all_splits(tmp_path: Path) -> None:
    rows = [{"text": text.text, "part": "train"} for text in known_texts("train", 20)]
    rows += [{"text": text.text, "part": "dev"} for text in known_texts("dev", 5)]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = load_run("float", scale="tiny", changes=[*CPU, "data.split=part", "data.limit=12"])
    trainer = build(run.with_data(train=str(tmp_path / "all.jsonl")), tmp_path / "o")
    assert len(trainer.train_dataset) == 12 and len(trainer.eval_dataset) == 5  # type: ignore[arg-type]


def test_prepared_texts_are_reused(texts: dict[str, str], tmp_path: Path) -> None:
    run = load_run("luna", scale="tiny", changes=CPU).with_data(**texts)
    first = build(run, tmp_path)
    stamp = (tmp_path / "prepared" / "train" / "meta.json").stat().st_mtime_ns
    again = build(run, tmp_path)
    assert (tmp_path / "prepared" / "train" / "meta.json").stat().st_mtime_ns == stamp
    for one, two in zip(first.model.state_dict().values(), again.model.state_dict().values(), strict=True):
        assert torch.equal(one, two), "and the same weights are drawn"
    other = dataclasses.replace(run, data=dataclasses.replace(run.data, max_tokens=20))
    assert max(build(other, tmp_path).train_dataset.lengths) == 20  # type: ignore[union-attr]
    assert (tmp_path / "prepared" / "train" / "meta.json").stat().st_mtime_ns != stamp


def test_frozen_weights(texts: dict[str, str], tmp_path: Path) -> None:
    given = {"tokenizer": tokenizer_of("bert")}
    counts = {}
    for freeze in ("no", "encoder", "backbone"):
        run = load_run("exponent", changes=[f"model.freeze={freeze}"])
        model = build_model(run, tmp_path, backbone=new_backbone("bert"), **given)
        counts[freeze] = {name for name, weight in model.backbone.named_parameters() if weight.requires_grad}
        assert all(weight.requires_grad for name, weight in model.named_parameters() if not name.startswith("backbone"))
    assert counts["backbone"] == set() and len(counts["no"]) > 20
    assert counts["encoder"] == {
        f"cls.predictions.{name}"
        for name in ("bias", "transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                     "transform.LayerNorm.bias")
    }  # fmt: skip


def test_reset_head(tmp_path: Path) -> None:
    run = load_run("exponent", changes=["model.reset_head=true"])
    old = new_backbone("bert")
    model = build_model(run, tmp_path, backbone=new_backbone("bert"), tokenizer=tokenizer_of("bert"))
    new: Any = model.backbone
    assert torch.equal(new.bert.embeddings.word_embeddings.weight, old.bert.embeddings.word_embeddings.weight)
    dense = "cls.predictions.transform.dense.weight"
    assert not torch.equal(new.get_parameter(dense), old.get_parameter(dense))


def test_scaling_is_fitted_on_the_training_texts(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("{'m': 10, 'a': [1, 5]}\n{'m': 30, 'a': [3, 2]}\n")
    run = load_run("xval", scale="tiny").with_data(train=str(tmp_path / "t.txt"))
    processor = build_model(run, tmp_path / "start").processor
    values = processor(["{'m': 20, 'a': [5]}"], return_tensors="pt")["number_bits"].view(torch.float64)
    assert values.tolist() == [[0.0, 5.0]], "each field from -5 to 5"
    (tmp_path / "t.txt").write_text("no numbers\n")
    with pytest.raises(RunError, match=r"model\.scaling: a scaling needs finite values"):
        build_model(run, tmp_path / "other")


def test_heads_and_embedders_are_fitted_to_the_training_texts(texts: dict[str, str], tmp_path: Path) -> None:
    parts = ("model.head={kind: h-softmax, size: 20}", "model.embedder={kind: gated-chars, known: 9}")
    run = load_run("luna-scratch", scale="tiny", changes=(*CPU, *parts))
    trainer = build(run.with_data(**texts), tmp_path / "a")
    head: Any = trainer.model.head
    rows = [trainer.train_dataset[index] for index in range(len(trainer.train_dataset))]
    seen = Counter(value for row in rows for value in row["number_bits"].view(np.float64).tolist())
    assert len(head.known.texts()) == 20 and int(head.oov_types) > 0
    assert {float(text) for text in head.known.texts()} <= seen.keys()
    most = seen.most_common(1)[0][0]
    table = NumberTable.of_values([most, 0.123456789])
    ids = trainer.model.embedder.token_ids(table.to(trainer.model.device)).tolist()
    assert ids[0] < 9 and ids[1] == 9, "the most frequent number has a vector of its own"
    # Encoded texts give the same fit, and do not change the parts of a checkpoint.
    again = build(run.with_data(train=str(tmp_path / "a" / "prepared")), tmp_path / "b")
    assert again.model.head.known.texts() == head.known.texts()
    assert prepare(run.with_data(**texts), tmp_path / "c", model=again.model).model is again.model


@pytest.mark.parametrize("method", ["wordpiece", "bytes", "words", "records"])
def test_tokenizers_from_scratch(method: str) -> None:
    texts = [text.text for text in known_texts("train", 100)]
    made = train_tokenizer(TokenizerPlan(method=method, vocabulary=300), texts)  # type: ignore[arg-type]
    again = train_tokenizer(TokenizerPlan(method=method, vocabulary=300), texts)  # type: ignore[arg-type]
    assert made.get_vocab() == again.get_vocab(), "the same texts, the same tokens"
    ids = made(texts[0])["input_ids"]
    assert made.unk_token_id is None or made.unk_token_id not in ids
    assert made.decode(ids, skip_special_tokens=True).replace(" ", "") == texts[0].replace(" ", "")
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    model = from_scratch(Scratch(architecture="gpt2", task="causal-lm", sizes=sizes, tokenizer=TokenizerPlan()), made)
    assert model.config.vocab_size == len(made) and longest_text(model.config, made) == 64
    logits = model(torch.tensor([ids])).logits
    assert logits.shape == (1, len(ids), len(made))


def test_models_that_cannot_be_built() -> None:
    words = tokenizer_of("bert")
    with pytest.raises(RunError, match="unknown architecture 'brt': did you mean 'bert'"):
        from_scratch(Scratch(architecture="brt"), words)
    with pytest.raises(RunError, match="bert has no 'hiden_size': did you mean 'hidden_size'"):
        from_scratch(Scratch(sizes={"hiden_size": 3}), words)
    with pytest.raises(RunError, match="gpt2 for masked-lm cannot be built"):
        from_scratch(Scratch(architecture="gpt2"), words)
    small = Scratch(sizes={"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8})
    assert from_scratch(small, words, dropout=0.3).config.hidden_dropout_prob == 0.3
    with pytest.raises(ConfigError, match="dropout must lie"):
        load_run("xval").model.from_dict(load_run("xval").model.to_dict() | {"dropout": 1.5})


def test_maximum_lengths() -> None:
    assert longest_text(new_backbone("roberta").config, tokenizer_of("roberta")) == 126
    assert texts_of(load_run("luna"), "train") is None


@pytest.fixture(scope="module")
def quick_draws() -> Iterator[None]:
    """Fills large tensors with the same 4,096 draws over and over: 100 million of them take longer than a step."""

    def repeated(draw: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def fill(tensor: torch.Tensor, *positional: Any, **options: Any) -> torch.Tensor:
            if tensor.numel() <= 4096 or not tensor.is_contiguous():
                return draw(tensor, *positional, **options)
            block = draw(torch.empty(4096, dtype=tensor.dtype), *positional, **options)
            return tensor.copy_(block.repeat(tensor.numel() // 4096 + 1)[: tensor.numel()].view_as(tensor))

        return fill

    with pytest.MonkeyPatch.context() as patch:
        for name in ("normal_", "uniform_"):
            patch.setattr(torch.Tensor, name, repeated(getattr(torch.Tensor, name)))
        yield


@pytest.fixture(scope="module")
def bert_base(quick_draws: None) -> Any:
    """A substitute for the checkpoint: BERT-base with random weights, of full width but with two layers."""
    return hf.BertForMaskedLM(hf.BertConfig(num_hidden_layers=2))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXT_RUNS)
def test_one_step_of_every_full_size_run(name: str, texts: dict[str, str], tmp_path: Path, bert_base: Any) -> None:
    small = (
        *("training.max_steps=1", "training.per_device_train_batch_size=2", "training.gradient_accumulation_steps=1"),
        *("training.save_strategy=no", "training.eval_strategy=no", "training.load_best_model_at_end=false"),
        *("training.warmup_steps=0", "data.limit=4"),
    )
    run = load_run(name, changes=(*CPU, *small)).with_data(train=texts["train"])
    if (scratch := run.model.scratch) is not None:
        assert scratch.sizes.get("num_hidden_layers", 12) in (6, 12)
        run = load_run(name, changes=(*CPU, *small, "model.scratch.sizes.num_hidden_layers=2"))
        run = run.with_data(train=texts["train"])
    given: dict[str, Any] = {}
    if run.model.checkpoint is not None:
        assert run.model.checkpoint == "bert-base-uncased"
        given = {"backbone": copy.deepcopy(bert_base), "tokenizer": tokenizer_of("bert")}
    trainer = build(run, tmp_path, **given)
    layers = trainer.model.backbone.config
    width = 384 if name == "masked-lm" else 768  # as MiniLM
    assert layers.hidden_size == width and layers.intermediate_size == 4 * width
    inner = f"{trainer.model.backbone.base_model_prefix}."
    weights = dict(trainer.model.backbone.named_parameters())
    watched = next(weight for key, weight in weights.items() if not key.startswith(inner) and weight.dim() == 2)
    before = watched.detach().clone()
    result = trainer.train()
    assert trainer.state.global_step == 1 and 0 < result.training_loss < 100
    assert not torch.equal(watched, before)


def test_aliases_are_bounded(tmp_path: Path) -> None:
    """A few lines of aliases that stand for billions of values are refused at once, with a short message."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9)]
    whole = "\n".join(lines)
    for text in (whole, f"{whole}\nmodel: *a8", f"scales:\n  {whole.replace(chr(10), chr(10) + '  ')}\nmodel: *a8"):
        (tmp_path / "laughs.yaml").write_text(text)
        with pytest.raises(RunError, match="more than 100000 values; use fewer aliases") as error:
            load_run(tmp_path / "laughs.yaml")
        assert len(str(error.value)) < 300
    with pytest.raises(YamlError, match="t:1: an alias stands for a value that contains it"):
        read_yaml("&a [*a]", "t")
    assert read_yaml("[&a [1, 2], *a, *a]", "t") == [[1, 2]] * 3 and read_yaml("", "t") is None
    with pytest.raises(YamlError) as error:
        read_yaml(f"{{{'k' * 5000}: 1, {'k' * 5000}: 2}}", "t")
    assert len(str(error.value)) < 300
    assert len(str(RunError("x" * 10_000))) == 600
    (tmp_path / "long.yaml").write_text(f"scales: {{{'k' * 5000}: {{a: 1}}, s: 3}}")
    with pytest.raises(RunError) as error:
        load_run(tmp_path / "long.yaml")
    assert len(str(error.value)) < 400
