"""A `NumberModel` has what Hugging Face tools ask of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import yaml
from tiny_models import NUMBERS, new_backbone, tokenizer_of

import numerate
from numerate.modeling.artefact import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path


def model_of(name: str, *recipe: str, **options: Any) -> Any:
    return numerate.attach(new_backbone(name), tokenizer_of(name), *recipe, **options).eval()


def test_counts_of_parameters() -> None:
    model = model_of("gpt2")
    total = sum(weight.numel() for weight in model.parameters())
    assert model.num_parameters() == total
    assert model.get_nb_trainable_parameters() == (total, total)
    embeddings = model.get_input_embeddings().weight.numel()
    assert model.num_parameters(exclude_embeddings=True) == total - embeddings
    model.freeze_backbone()
    own = total - sum(weight.numel() for weight in model.backbone.parameters())
    assert model.num_parameters(only_trainable=True) == own == model.get_nb_trainable_parameters()[0]


def test_attributes_are_the_backbones() -> None:
    model = model_of("gpt2")
    assert model.dtype == torch.float32 and model.bfloat16().dtype == torch.bfloat16
    assert model.base_model is model.backbone.transformer
    assert model.generation_config is model.backbone.generation_config
    assert model.get_output_embeddings() is model.backbone.lm_head
    assert model.name_or_path == "" and not hasattr(model, "hf_device_map") and not hasattr(model, "peft_config")
    model.tie_weights()
    assert model.backbone.lm_head.weight is model.backbone.transformer.wte.weight
    ids = torch.tensor([[3]])
    assert model.prepare_inputs_for_generation(ids, attention_mask=None) == {"input_ids": ids}


@pytest.mark.parametrize(("name", "expected"), [("gpt2", True), ("t5", True), ("bert", False), ("classifier", False)])
def test_can_generate(name: str, expected: bool) -> None:
    assert model_of(name).can_generate() is expected


def test_inputs_can_require_gradients() -> None:
    model = model_of("gpt2").freeze_backbone()
    model.enable_input_require_grads()
    assert model.get_input_embeddings()(torch.tensor([3])).requires_grad
    model.disable_input_require_grads()
    assert not model.get_input_embeddings()(torch.tensor([3])).requires_grad


def test_tags_are_kept_once() -> None:
    model = model_of("bert")
    model.add_model_tags(["numbers", "test"])
    model.add_model_tags("test")
    assert model.model_tags == ["numbers", "test"]
    with pytest.raises(ValueError, match="NumberSFTTrainer, or NumberTrainer"):
        model.add_model_tags(["trl", "dpo"])


def test_resizing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"before numerate\.attach"):
        model_of("bert").resize_token_embeddings(500)


def test_push_without_a_network_is_one_line() -> None:
    with pytest.raises(ArtefactError, match="'me/model' cannot be uploaded: ") as caught:
        model_of("bert").push_to_hub("me/model")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("recipe", ["in-place", "numerals-2018", "digits", "luna"])
def test_ids_in_and_out(recipe: str) -> None:
    """Ids of the bare tokenizer are continued as the text is; the result has the tokenizer's ids only."""
    model = model_of("gpt2", recipe, fit=NUMBERS)
    tokenizer: Any = tokenizer_of("gpt2")
    texts = ["The tower is 324", "A cat weighs about 4.5 kg, and"]
    batch = tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
    ids = model.generate(**batch, max_new_tokens=6)
    assert ids.shape[0] == 2 and torch.equal(ids[:, : batch["input_ids"].shape[1]], batch["input_ids"])
    assert int(ids.max()) < model.processor.first_id
    expected = model.generate(texts, 6)
    new = tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    assert [text.strip() for text in new] == [text.strip() for text in expected.texts]


def test_a_whole_batch_of_the_processor() -> None:
    model = model_of("gpt2", "numerals-2018", fit=NUMBERS)
    batch = model.processor(NUMBERS[:2], padding=True, padding_side="left", return_tensors="pt")
    ids = model.generate(**batch, max_new_tokens=5)
    with pytest.raises(ValueError, match=r"has \[NUM\] without its number"):
        model.generate(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=5)
    expected = model.generate(NUMBERS[:2], 5)
    tokenizer: Any = tokenizer_of("gpt2")
    text = tokenizer.batch_decode(ids[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
    assert [one.strip() for one in text] == [one.strip() for one in expected.texts]


def test_options_of_transformers() -> None:
    model = model_of("gpt2")
    ids = torch.tensor([[5, 6, 7]])
    assert model.generate(ids, max_length=5).shape == (1, 5)
    assert model.generate(ids, max_new_tokens=2, do_sample=True, num_return_sequences=3, top_k=50).shape == (3, 5)

    def two_new(rows: torch.Tensor, scores: object) -> torch.Tensor:
        return torch.full((len(rows),), rows.shape[1] >= 5)

    assert model.generate(ids, max_new_tokens=9, stopping_criteria=two_new).shape == (1, 5)
    with pytest.raises(ValueError, match="unknown option repetition_penalty"):
        model.generate(ids, repetition_penalty=1.3)
    with pytest.raises(ValueError, match="either prompts"):
        model.generate()


def test_an_encoder_decoder_returns_its_answers() -> None:
    model = model_of("t5", fit=NUMBERS)
    ids = model.generate(input_ids=torch.tensor([[9, 10, 1]]), max_new_tokens=4)
    assert ids.shape[0] == 1 and int(ids[0, 0]) == 0 and ids.shape[1] <= 5


def test_tags_are_in_the_model_card(tmp_path: Path) -> None:
    model = model_of("bert")
    model.add_model_tags(["finance", "a: [b"])
    model.save_pretrained(tmp_path)
    front = (tmp_path / "README.md").read_text().split("---")[1]
    assert yaml.safe_load(front)["tags"] == ["numerate", "numbers", "finance", "a: [b"]
