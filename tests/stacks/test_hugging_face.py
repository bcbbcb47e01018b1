"""The stock Trainer, collators, pipelines and accelerate with a `NumberModel`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import torch
from accelerate import Accelerator, cpu_offload, disk_offload
from tiny_models import ASKING, NUMBERS, new_backbone, task_labels, tokenizer_of
from transformers import (
    AutoModelForCausalLM,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainingArguments,
    pipeline,
)

import numerate

if TYPE_CHECKING:
    from pathlib import Path


def model_of(name: str, **options: Any) -> Any:
    options = {"fit": NUMBERS} | options
    return numerate.attach(new_backbone(name), tokenizer_of(name), **options)


def rows_of(model: Any) -> list[dict[str, Any]]:
    return [dict(model.processor(text)) for text in NUMBERS * 2]


def trainer_of(model: Any, folder: Path, **options: Any) -> Trainer:
    args = TrainingArguments(
        str(folder), max_steps=2, per_device_train_batch_size=3, report_to="none", use_cpu=True, disable_tqdm=True,
        dataloader_pin_memory=False, save_strategy="no", eval_strategy="steps", eval_steps=2,
    )  # fmt: skip
    return Trainer(model, args, train_dataset=rows_of(model), eval_dataset=rows_of(model), **options)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_processing_class(name: str, tmp_path: Path) -> None:
    """The stock Trainer pads with the processor, has an `eval_loss` and saves the processor."""
    model = model_of(name)
    trainer = trainer_of(model, tmp_path, processing_class=model.processor)
    assert isinstance(trainer.data_collator, DataCollatorWithPadding)
    trainer.train()
    losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
    assert len(losses) == 1 and 0 < losses[0] < 100
    trainer.save_model()
    saved = numerate.NumberProcessor.from_pretrained(tmp_path)
    assert saved(NUMBERS)["input_ids"] == model.processor(NUMBERS)["input_ids"]


def test_predict_with_generate(tmp_path: Path) -> None:
    """`Seq2SeqTrainer` passes whole batches to `generate`, with labels and the numbers of the answers."""
    model = model_of("t5")
    rows = [dict(model.processor(text, text_target="It is 5 m.")) for text in NUMBERS]
    args = Seq2SeqTrainingArguments(
        str(tmp_path), report_to="none", use_cpu=True, predict_with_generate=True, disable_tqdm=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = Seq2SeqTrainer(
        model, args, data_collator=numerate.NumberCollator(model.processor), processing_class=model.processor
    )
    found = trainer.predict(rows, max_new_tokens=5)  # type: ignore[arg-type]
    expected = model.generate(NUMBERS, 5).texts
    texts = model.processor.tokenizer.batch_decode(found.predictions, skip_special_tokens=True)
    assert [text.strip() for text in texts] == [text.strip() for text in expected]
    assert found.metrics is not None and 0 < found.metrics["test_loss"] < 100
    with pytest.raises(ValueError, match="unknown option decoder_input_ids=tensor"):
        model.generate(input_ids=torch.tensor([[5, 6]]), decoder_input_ids=torch.tensor([[0, 1]]))


def test_eval_loss_with_our_collator(tmp_path: Path) -> None:
    model = model_of("gpt2")
    trainer = trainer_of(model, tmp_path, data_collator=numerate.NumberCollator(model.processor))
    batch = dict(model.processor(NUMBERS * 2, padding=True, return_tensors="pt"))
    with torch.no_grad():
        expected = model.eval()(**batch, return_loss=True).loss
    assert trainer.evaluate()["eval_loss"] == pytest.approx(float(expected), rel=1e-5)


def test_a_classifier_gets_no_empty_labels() -> None:
    model = model_of("classifier")
    assert "labels" not in numerate.NumberCollator(model.processor)(rows_of(model))


def test_causal_collator_of_transformers(tmp_path: Path) -> None:
    model = model_of("gpt2")
    collator = DataCollatorForLanguageModeling(model.processor, mlm=False)
    trainer = trainer_of(model, tmp_path, data_collator=collator)
    own = trainer_of(model, tmp_path, data_collator=numerate.NumberCollator(model.processor))
    assert trainer.evaluate()["eval_loss"] == pytest.approx(own.evaluate()["eval_loss"], rel=1e-5)


def test_masking_collator_of_transformers_is_refused() -> None:
    model = model_of("bert")
    with pytest.raises(ValueError, match=r"use NumberCollator\(processor\)"):
        DataCollatorForLanguageModeling(model.processor, mlm=True)(rows_of(model))


@pytest.mark.parametrize("name", ["classifier", "tagger", "answerer", "llama-classifier"])
def test_plain_accelerate(name: str) -> None:
    accelerator = Accelerator(cpu=True)
    model = model_of(name)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    batch = dict(accelerator.unwrap_model(model).processor(NUMBERS, padding=True, return_tensors="pt"))
    batch |= task_labels(name, batch)
    losses = []
    for _ in range(4):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_text_generation_pipeline() -> None:
    model = model_of("gpt2").eval()
    run = pipeline("text-generation", model=model, tokenizer=model.processor.tokenizer)
    said = run("The tower is 324", max_new_tokens=5, do_sample=False, return_full_text=False)
    assert said[0]["generated_text"] == model.generate("The tower is 324", 5).texts[0]
    model.processor.padding_side = "right"  # the pipeline has set it


def test_classification_pipeline_reads_numbers() -> None:
    model = model_of("classifier").eval()
    torch.nn.init.ones_(model.gate.gate)
    run = pipeline("text-classification", model=model, tokenizer=model.processor)
    with torch.no_grad():
        logits = model(**model.processor(NUMBERS[:1], return_tensors="pt")).logits
    assert run(NUMBERS[0])[0]["score"] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-6)


def test_a_batch_of_the_bare_tokenizer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """A classifier would answer without a word as if the text had no numbers."""
    model = model_of("classifier")
    with caplog.at_level(logging.WARNING, "numerate"), torch.no_grad():
        model(**model.processor(["No number."], return_tensors="pt"))
        assert not caplog.records
        for _ in range(2):
            model(**tokenizer_of("classifier")(NUMBERS[:1], return_tensors="pt"))
    assert [record.message for record in caplog.records] == [
        "a batch has no number_slots, as of a bare tokenizer: its numbers are not read; use model.processor"
    ]


@pytest.mark.parametrize("recipe", ["in-place", "luna", "p10"])
@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
def test_token_classification_pipeline(recipe: str) -> None:
    """Tokens are joined to entities, whose characters are those of the text."""
    model = model_of("tagger", recipe=recipe).eval()
    text = "A cat weighs 4.5 kg."
    for strategy in ("simple", "first", "average", "max"):
        run: Any = pipeline("token-classification", model, tokenizer=model.processor, aggregation_strategy=strategy)
        entities = run(text)
        seen = {at for entity in entities for at in range(entity["start"], entity["end"])}
        assert seen >= {at for at, char in enumerate(text) if char != " "}
    batch = model.processor([text], return_tensors="pt")
    with torch.no_grad():
        scores = model(**batch).logits[0].softmax(-1).max(-1).values
    run = pipeline("token-classification", model=model, tokenizer=model.processor, ignore_labels=[])
    assert [it["score"] for it in run(text)] == pytest.approx(scores[1:-1].tolist(), abs=1e-6)


def test_weights_on_disk(tmp_path: Path) -> None:
    new_backbone("gpt2").save_pretrained(tmp_path / "base")
    layers = {"transformer.wte": "disk", "transformer.h.1": "disk", "transformer.wpe": "cpu", "transformer.drop": "cpu",
              "transformer.h.0": "cpu", "transformer.ln_f": "disk", "lm_head": "disk"}  # fmt: skip
    tokenizer: Any = tokenizer_of("gpt2")
    answers = []
    for options in ({}, {"device_map": layers, "offload_folder": str(tmp_path / "offload")}):
        backbone = AutoModelForCausalLM.from_pretrained(tmp_path / "base", **options)
        torch.manual_seed(0)
        model = numerate.attach(backbone, tokenizer, fit=NUMBERS)
        answers.append((model.predict(ASKING).mean(), model.generate("A cat", 4).texts))
    assert model.device.type == "cpu" and model.hf_device_map["lm_head"] == "disk"
    torch.testing.assert_close(answers[0][0], answers[1][0])
    assert answers[0][1] == answers[1][1]


def test_offloading_the_backbone(tmp_path: Path) -> None:
    model = model_of("bert")
    expected = model.predict(ASKING).mean()
    disk_offload(model.backbone, str(tmp_path), execution_device="cpu")
    assert next(model.backbone.parameters()).device.type == "meta"
    torch.testing.assert_close(model.predict(ASKING).mean(), expected)


def test_offloading_the_whole_model_is_refused() -> None:
    model = model_of("gpt2")
    cpu_offload(model, execution_device="cpu")
    with pytest.raises(ValueError, match=r"offload only the backbone, as in cpu_offload\(model.backbone\)"):
        model.predict(ASKING)
    with pytest.raises(ValueError, match="offload only the backbone"):
        model.generate("A cat", 3)
