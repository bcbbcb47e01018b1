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


def test_adapters_are_switched_off_and_exchanged(tmp_path: Path) -> None:
    """As on a bare model: `disable_adapter`, several adapters, their weighted sum, and PEFT's reports of them."""
    model = model_of().eval()
    before = model.predict(ASKING).mean()
    whole: Any = get_peft_model(model, lora(init_lora_weights=False), adapter_name="one")
    whole.add_adapter("other", lora(init_lora_weights=False))
    answers = {}
    for name in ("other", "one"):
        whole.set_adapter(name)
        answers[name] = model.predict(ASKING).mean()
        assert whole.get_model_status().active_adapters == [name]
    with whole.disable_adapter():
        assert torch.equal(model.predict(ASKING).mean(), before)
    assert torch.equal(model.predict(ASKING).mean(), answers["one"])
    assert len({answer[0].item() for answer in (before, *answers.values())}) == 3
    whole.add_weighted_adapter(["one", "other"], [0.5, 0.5], "both")
    whole.set_adapter("both")
    with pytest.warns(UserWarning, match="Setting active adapter to one"):
        whole.delete_adapter("both")
    status = whole.get_model_status()
    assert (status.active_adapters, status.available_adapters) == (["one"], ["one", "other"])
    whole.save_pretrained(tmp_path)
    again = model_of(NUMBERS[:1]).eval()  # our weights are those of every adapter, also of one that was added later
    loaded: Any = PeftModel.from_pretrained(again, tmp_path / "other", adapter_name="other")
    assert torch.equal(again.predict(ASKING).mean(), answers["other"])
    loaded.load_adapter(tmp_path / "one", "one")
    loaded.set_adapter("one")
    assert torch.equal(again.predict(ASKING).mean(), answers["one"])


def test_modules_to_save_with_tied_weights(tmp_path: Path) -> None:
    """BERT's head names its bias twice; PEFT asks for both."""
    config = LoraConfig(target_modules=["query"], modules_to_save=["cls"])
    model, again = (numerate.attach(new_backbone("bert"), tokenizer_of("bert"), fit=NUMBERS) for _ in range(2))
    whole: Any = get_peft_model(model, config).eval()
    torch.nn.init.normal_(whole.get_base_model().backbone.cls.modules_to_save["default"].predictions.bias)
    whole.save_pretrained(tmp_path)
    loaded: Any = PeftModel.from_pretrained(again, tmp_path).eval()
    batch = dict(model.processor(NUMBERS, padding=True, return_tensors="pt"))
    with torch.no_grad():
        assert torch.equal(whole(**batch).logits, loaded(**batch).logits)


def test_a_whole_model_with_adapters_is_pickled() -> None:
    whole: Any = get_peft_model(model_of(), lora()).eval()
    again = pickle.loads(pickle.dumps(whole))
    assert torch.equal(again.get_base_model().predict(ASKING).mean(), whole.get_base_model().predict(ASKING).mean())
    assert again.get_base_model().number_weights._of[0] is again.get_base_model()
