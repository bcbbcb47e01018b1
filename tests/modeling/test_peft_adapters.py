"""PEFT on a whole `NumberModel`: our weights are trained, saved and loaded with the adapter."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest
import torch
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from tiny_models import ASKING, NUMBERS, new_backbone, tokenizer_of

import numerate

if TYPE_CHECKING:
    from pathlib import Path


def model_of(texts: list[str] | None = None) -> Any:
    return numerate.attach(new_backbone("gpt2"), tokenizer_of("gpt2"), fit=NUMBERS if texts is None else texts)


def lora(**options: Any) -> LoraConfig:
    return LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True, **options)


@pytest.mark.parametrize("task", [None, "CAUSAL_LM"])
def test_our_weights_are_trained_and_saved(task: str | None, tmp_path: Path) -> None:
    model = model_of()
    whole: Any = get_peft_model(model, lora(task_type=task))
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert {name for name, _ in model.named_parameters() if not name.startswith("backbone.")} <= trained
    assert {name.split(".")[-3] for name in trained if name.startswith("backbone.")} == {"lora_A", "lora_B"}
    batch = dict(model.processor(NUMBERS, padding=True, return_tensors="pt"))
    whole.train()
    optimizer = torch.optim.SGD([weight for weight in whole.parameters() if weight.requires_grad], lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        whole(**batch).loss.backward()
        optimizer.step()
    expected = model.predict(ASKING).mean()
    whole.save_pretrained(tmp_path)
    other = model_of(NUMBERS[:1])
    loaded: Any = PeftModel.from_pretrained(other, tmp_path)
    assert torch.equal(other.predict(ASKING).mean(), expected)
    assert other.fitted and not any(weight.requires_grad for weight in loaded.parameters())
    again = loaded.merge_and_unload()
    assert again is other and all(not key.startswith("number_weights") for key in again.state_dict())
    torch.testing.assert_close(again.predict(ASKING).mean(), expected, rtol=1e-4, atol=0)


def test_generates_under_peft() -> None:
    whole: Any = get_peft_model(model_of(), lora(task_type="CAUSAL_LM")).eval()
    assert whole.generate(["A cat"], max_new_tokens=2).texts == whole.base_model.model.generate(["A cat"], 2).texts
    assert whole.generate(input_ids=torch.tensor([[5, 6]]), max_new_tokens=2).shape == (1, 4)


def test_layers_of_ours_are_no_targets() -> None:
    with pytest.raises(ValueError, match=r"target_modules match 'embedder\..*', which is trained anyway"):
        get_peft_model(
            numerate.attach(new_backbone("bert"), tokenizer_of("bert")), LoraConfig(target_modules="all-linear")
        )


def test_prompt_tuning_is_refused() -> None:
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    with pytest.raises(ValueError, match="PROMPT_TUNING puts virtual tokens before the text"):
        numerate.attach(get_peft_model(new_backbone("gpt2"), config), tokenizer_of("gpt2"))  # type: ignore[arg-type]
    model = model_of()
    whole = get_peft_model(model, config)
    with pytest.raises(ValueError, match="prompt tuning is not supported, use LoRA"):
        whole(**model.processor(NUMBERS, padding=True, return_tensors="pt"))


def test_a_whole_model_with_adapters_is_pickled() -> None:
    whole: Any = get_peft_model(model_of(), lora()).eval()
    again = pickle.loads(pickle.dumps(whole))
    assert torch.equal(again.get_base_model().predict(ASKING).mean(), whole.get_base_model().predict(ASKING).mean())
    assert again.get_base_model().number_weights._of[0] is again.get_base_model()
