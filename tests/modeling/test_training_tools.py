"""What a `NumberModel` works with: PEFT, gradient checkpointing, half precision, compilation, the stock Trainer."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import (
    ASKING,
    NUMBERS,
    PLAIN,
    backbone_of,
    bare_batch,
    new_backbone,
    number_batch,
    task_labels,
    tokenizer_of,
)

import numerate

if TYPE_CHECKING:
    from pathlib import Path


def attached(name: str, recipe: str = "luna", fresh: bool = False, **options: Any) -> Any:
    torch.manual_seed(0)
    backbone = new_backbone(name) if fresh else backbone_of(name)
    return numerate.attach(backbone, tokenizer_of(name), recipe, **options)


def train_steps(model: Any, batch: dict[str, torch.Tensor], steps: int = 2) -> list[float]:
    optimiser = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    losses = []
    for step in range(steps):
        torch.manual_seed(step)
        loss = model(**batch).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize(("name", "when"), [("bert", "after"), ("gpt2", "before"), ("t5", "before"), ("t5", "after")])
def test_lora_can_be_added_before_or_after(name: str, when: str) -> None:
    from peft import LoraConfig, get_peft_model

    targets = {"bert": ["query", "value"], "gpt2": ["c_attn"], "t5": ["q", "v"]}[name]
    lora = LoraConfig(r=2, target_modules=targets, fan_in_fan_out=name == "gpt2")
    backbone = new_backbone(name)
    if when == "before":
        model = numerate.attach(get_peft_model(backbone, lora), tokenizer_of(name), "luna")
    else:
        model = numerate.attach(backbone, tokenizer_of(name), "luna")
        model.backbone = get_peft_model(model.backbone, lora)
    assert model.info.task == {"bert": "masked-lm", "gpt2": "causal-lm", "t5": "seq2seq-lm"}[name]
    assert model.describe().base_task == model.info.task
    plain = number_batch(model, name, PLAIN)
    bare = bare_batch(name, PLAIN) | ({"labels": plain["labels"]} if name == "t5" else {})
    with torch.no_grad():
        logits = backbone_of(name)(**bare).logits
        assert torch.equal(model.eval()(**plain).logits[..., : logits.shape[-1]], logits)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    losses = train_steps(model.train(), number_batch(model, name, NUMBERS))
    assert all(loss == loss for loss in losses)
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    assert any("lora_" in key for key in changed) and any(key.startswith("head.") for key in changed)
    assert all("lora_" in key or not key.startswith("backbone.") for key in changed)


@pytest.mark.parametrize(
    ("name", "reentrant"), [("bert", False), ("gpt2", True), ("t5", False), ("t5", True), ("gpt2-classifier", True)]
)
def test_gradient_checkpointing_gives_the_same_gradients(name: str, reentrant: bool) -> None:
    model = attached(name, fresh=True)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    batch = number_batch(model, name, NUMBERS)
    batch |= task_labels(name, batch)
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
        torch.manual_seed(0)
        model.train().zero_grad()
        model(**batch).loss.backward()
        gradients.append(
            {key: weight.grad.clone() for key, weight in model.named_parameters() if weight.grad is not None}
        )
    model.gradient_checkpointing_disable()
    assert gradients[0].keys() == gradients[1].keys()
    assert all(torch.allclose(gradients[0][key], gradients[1][key], atol=1e-6) for key in gradients[0])


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # processors that know no bfloat16
@pytest.mark.parametrize("whole", [False, True], ids=["backbone", "whole"])
@pytest.mark.parametrize(
    ("name", "recipe", "dtype"),
    [
        *(("bert", recipe, torch.bfloat16) for recipe in ("in-place", "xval", "float", "fone", "bittokens")),
        *((*pair, torch.bfloat16) for pair in (("modernbert", "fone"), ("gpt2", "in-place"), ("qwen3", "bittokens"))),
        *(("t5", "xval", torch.bfloat16), ("t5", "float", torch.bfloat16), ("bert", "in-place", torch.float16)),
    ],
)
def test_half_precision(name: str, recipe: str, dtype: torch.dtype, whole: bool) -> None:
    backbone = new_backbone(name).to(dtype)
    model = numerate.attach(backbone, tokenizer_of(name), recipe)
    for key, weight in model.named_parameters():
        if weight.is_floating_point():
            assert weight.dtype == (dtype if key.startswith("backbone.") else torch.float32), key
    if whole:
        model = model.to(dtype)
    plain = number_batch(model, name, PLAIN)
    bare = bare_batch(name, PLAIN) | ({"labels": plain["labels"]} if name == "t5" else {})
    with torch.no_grad():
        logits = backbone(**bare).logits
        assert torch.equal(model.eval()(**plain).logits[..., : logits.shape[-1]], logits)
        asked = model(**number_batch(model, name, ASKING))
        assert asked.logits.dtype == logits.dtype and (asked.numbers is None or asked.numbers.median().isfinite().all())
    output = model.train()(**number_batch(model, name, NUMBERS))
    output.loss.backward()
    assert output.loss.isfinite()
    assert all(weight.grad.isfinite().all() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize(
    ("name", "recipe"),
    [("bert", "in-place"), ("bert", "luna"), ("llama", "numerals-2018"), ("llama", "in-place"), ("t5", "xval")],
)
def test_autocast(name: str, recipe: str) -> None:
    model = attached(name, recipe)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model.train()(**number_batch(model, name, NUMBERS)).loss
    loss.backward()
    assert loss.isfinite()
    assert all(weight.grad.isfinite().all() for weight in model.parameters() if weight.grad is not None)
    model.zero_grad(set_to_none=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("name", "recipe"), [("bert", "in-place"), ("bert", "float"), ("gpt2", "xval"), ("t5", "luna")]
)
def test_compiled_gives_the_same(name: str, recipe: str) -> None:
    model = attached(name, recipe).eval()
    compiled = torch.compile(model)
    for texts in (PLAIN, NUMBERS, [*ASKING, NUMBERS[0]]):
        batch = number_batch(model, name, texts)
        with torch.no_grad():
            plain, fast = model(**batch), compiled(**batch)
        assert torch.allclose(plain.logits, fast.logits, atol=1e-4)
        assert (plain.numbers is None) == (fast.numbers is None)
        if plain.numbers is not None:
            assert torch.allclose(plain.numbers.median(), fast.numbers.median(), rtol=1e-3)
    batch = number_batch(model, name, NUMBERS)
    torch.manual_seed(0)
    loss = compiled(**batch, return_loss=True).loss
    loss.backward()
    assert loss.isfinite()
    model.zero_grad(set_to_none=True)


class Texts(torch.utils.data.Dataset):
    """A data set of the rows of a batch."""

    def __init__(self, batch: dict[str, torch.Tensor]) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return len(self.batch["input_ids"])

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {key: value[index] for key, value in self.batch.items()}


@pytest.mark.filterwarnings("ignore:.*pin_memory.*")
@pytest.mark.parametrize(
    ("name", "recipe"), [("bert", "luna"), ("gpt2", "in-place"), ("t5", "xval"), ("classifier", "float")]
)
def test_the_stock_trainer(name: str, recipe: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file
    from transformers import Trainer, TrainingArguments

    model = attached(name, recipe, fresh=True)
    batch = number_batch(model, name, NUMBERS * 2)
    batch |= task_labels(name, batch)
    arguments = TrainingArguments(
        str(tmp_path), max_steps=3, per_device_train_batch_size=2, use_cpu=True, report_to=[], save_strategy="no",
        logging_steps=1, logging_nan_inf_filter=False, disable_tqdm=True, gradient_accumulation_steps=2,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=Texts(batch), eval_dataset=Texts(batch))
    trainer._set_signature_columns_if_needed()
    assert set(batch) <= set(trainer._signature_columns), "remove_unused_columns would drop a field of ours"
    before = {key: value.clone() for key, value in model.own_state().items()}
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 3 and all(0 < loss < 1e9 for loss in losses)
    assert any(not torch.equal(value, before[key]) for key, value in model.own_state().items())
    predictions = trainer.predict(Texts(batch))
    assert predictions.predictions is not None
    trainer.save_model(str(tmp_path / "saved"))
    again = attached(name, recipe, fresh=True)
    again.load_state_dict(load_file(tmp_path / "saved" / "model.safetensors"))
    # Not the config, in which a classifier notes what its labels are.
    saved = {key: value for key, value in model.state_dict().items() if key != "number_config"}
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in saved.items())
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters(), strict=True))


def test_the_whole_state_can_be_saved_and_loaded() -> None:
    model = attached("bert", fresh=True)
    state = copy.deepcopy(model.state_dict())
    train_steps(model.train(), number_batch(model, "bert", NUMBERS), 1)
    assert not torch.equal(model.state_dict()["own_rows"], state["own_rows"])
    model.load_state_dict(state)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
