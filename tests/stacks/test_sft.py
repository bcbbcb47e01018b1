"""TRL's SFTTrainer with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, new_backbone, tokenizer_of

import numerate

pytest.importorskip("trl")

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from numerate.training.sft import NumberSFTTrainer, ReadingCollator

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # TRL's own warnings


def model_of(recipe: str = "in-place", **options: Any) -> Any:
    return numerate.attach(new_backbone("gpt2"), tokenizer_of("gpt2"), recipe, **options)


def config(folder: Path, **options: Any) -> SFTConfig:
    return SFTConfig(
        str(folder), max_steps=3, per_device_train_batch_size=3, report_to="none", use_cpu=True, bf16=False,
        disable_tqdm=True, save_strategy="no", dataloader_pin_memory=False, learning_rate=1e-2, **options,
    )  # fmt: skip


def test_trains_on_texts(tmp_path: Path) -> None:
    model, data = model_of(), Dataset.from_dict({"text": NUMBERS})
    trainer = NumberSFTTrainer(model, config(tmp_path), train_dataset=data, eval_dataset=data)
    head = model.head.layers[-1].weight.detach().clone()
    trainer.train()
    assert model.fitted and not torch.equal(head, model.head.layers[-1].weight)
    batch = dict(trainer.data_collator([dict(row) for row in trainer.eval_dataset]))
    with torch.no_grad():
        expected = model.eval()(**batch).loss.item()
    assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, rel=1e-5)


def test_prompts_are_not_learnt(tmp_path: Path) -> None:
    data = Dataset.from_dict({"prompt": ["The tower is 5 km off,"], "completion": [" 324 metres tall."]})
    trainer = NumberSFTTrainer(model_of(), config(tmp_path), train_dataset=data)
    batch = next(iter(trainer.get_train_dataloader()))
    assert batch["number_bits"].view(torch.float64).tolist() == [[5.0, 324.0]]
    first, second = ((batch["number_slots"] == number).nonzero()[0, 1] for number in (1, 2))
    assert batch["labels"][0, first] == -100 and batch["labels"][0, second] != -100


def test_the_collator_gives_the_processors_fields() -> None:
    processor = model_of(fit=NUMBERS).processor
    texts = [*NUMBERS, "In the 1960s it cost 5$.", "No number."]
    tokenizer: Any = processor.tokenizer
    read = ReadingCollator(processor)([{"input_ids": tokenizer(text)["input_ids"]} for text in texts])
    own = processor(texts, padding=True, return_tensors="pt")
    for key in ("number_bits", "number_given", "number_precision"):
        assert torch.equal(read[key], own[key]), key
    assert torch.equal(read["number_slots"][:3, : own["number_slots"].shape[1]], own["number_slots"][:3])


def test_refusals(tmp_path: Path) -> None:
    data = Dataset.from_dict({"text": NUMBERS})
    with pytest.raises(ValueError, match="NumberSFTTrainer, or NumberTrainer"):
        SFTTrainer(model_of(), config(tmp_path), train_dataset=data, processing_class=tokenizer_of("gpt2"))
    with pytest.raises(ValueError, match="notation 'marker' rewrites numbers"):
        NumberSFTTrainer(model_of("xval"), config(tmp_path), train_dataset=data)
    with pytest.raises(ValueError, match="packing=True: several texts in one row"):
        NumberSFTTrainer(model_of(), config(tmp_path, packing=True), train_dataset=data)
