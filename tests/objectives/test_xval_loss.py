"""The loss of xVal's released code, computed with PyTorch's own layers on copied weights, against ours."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import numerate
from numerate.backbones.trunk import NumerateTrunkConfig, NumerateTrunkForMaskedLM
from numerate.processing.record_tokenizer import record_tokenizer

TEXTS = ["{'a':[1.5,-2.25,0.5],'b':3.0}", "{'a':[0.25,4.0,-1.0],'b':-2.5}"]
LAYERS = {
    "self_attn.in_proj_weight": "attention_in.weight", "self_attn.in_proj_bias": "attention_in.bias",
    "self_attn.out_proj.weight": "attention_out.weight", "self_attn.out_proj.bias": "attention_out.bias",
    "linear1.weight": "into.weight", "linear1.bias": "into.bias", "linear2.weight": "out.weight",
    "linear2.bias": "out.bias", "norm1.weight": "norm1.weight", "norm1.bias": "norm1.bias",
    "norm2.weight": "norm2.weight", "norm2.bias": "norm2.bias",
}  # fmt: skip


def model_and_batch(**options: Any) -> tuple[Any, dict[str, Any]]:
    torch.manual_seed(0)
    tokenizer = record_tokenizer(TEXTS)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "max_position_embeddings": 32}
    backbone = NumerateTrunkForMaskedLM(NumerateTrunkConfig(vocab_size=len(tokenizer), dropout=0.0, **sizes))
    objective = {"kind": "masked", "ratio": 0.4, "number_ratio": 0.6, "hide_slot": True} | options
    extra: dict[str, Any] = {"reader": "records", "implied_commas": True, "objective": objective}
    model: Any = numerate.attach(backbone, tokenizer, "xval", **extra).double()
    batch = dict(model.processor(TEXTS, return_tensors="pt", padding=True))
    return model.eval(), batch | {"sample_id": torch.arange(2)}


def released_loss(model: Any, ids: torch.Tensor, numbers: torch.Tensor, masked: torch.Tensor) -> tuple[Any, Any]:
    """Cross-entropy over masked tokens, [NUM] among them, and squared error over masked numbers.

    Ids and values (1 where there is no number) are those before masking, all (B, T).
    """
    trunk, num_id, mask_id = model.backbone.trunk, model.vocabulary.num_id, model.vocabulary.mask_id
    words = torch.cat([trunk.words.weight, model.own_rows])
    seen = torch.where(masked, mask_id, ids)
    scale = torch.where(masked, 1.0, numbers)
    states = scale[..., None] * words[seen] + trunk.positions.weight[: ids.shape[1]]
    for block in trunk.blocks:
        layer = nn.TransformerEncoderLayer(12, 3, 48, 0.0, "gelu", batch_first=True, norm_first=True).double()
        layer.load_state_dict({theirs: block.state_dict()[ours] for theirs, ours in LAYERS.items()})
        states = layer.eval()(states)
    # The token head; the row of [NUM] is a linear one in ours, since the backbone's own head is never enlarged.
    of_words = functional.gelu(states @ model.backbone.into.weight.T) @ model.backbone.output.weight.T
    of_number = states @ model.own_logits.weight.T + model.own_logits.bias
    logits = torch.cat([of_words, of_number], dim=-1)
    labels = torch.where(masked, ids, -100)
    tokens = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
    asked = masked & (ids == num_id)
    first, second = model.head.layers[0], model.head.layers[2]
    guess = functional.gelu(states[asked] @ first.weight.T + first.bias) @ second.weight.T + second.bias
    return tokens, functional.mse_loss(guess[:, 0], numbers[asked])


def test_loss_equals_that_of_the_released_code() -> None:
    model, batch = model_and_batch()
    ids, slots = batch["input_ids"], batch["number_slots"]
    assert model.vocabulary.num_id == model.backbone.trunk.words.num_embeddings, "rows of [NUM] follow those of words"
    values = batch["number_bits"].view(torch.float64).gather(1, (slots - 1).clamp_min(0))
    numbers = torch.where(slots > 0, values, 1.0)
    task = model.objective.prepare(dict(batch), model.vocabulary)
    masked = task.inputs["input_ids"] == model.vocabulary.mask_id
    assert 0 < (masked & (slots > 0)).sum() < (slots > 0).sum() and (masked & (slots == 0)).any()
    tokens, squares = released_loss(model, ids, numbers, masked)
    with torch.no_grad():
        ours = model(**batch, return_loss=True).loss
    assert ours.item() == pytest.approx((tokens + squares).item(), rel=1e-9)


def test_number_is_a_token_target_only_where_its_slot_is_hidden() -> None:
    for options, learnt in (({}, True), ({"hide_slot": False}, False), ({"joint": False}, False)):
        model, batch = model_and_batch(**options)
        task = model.objective.prepare(dict(batch), model.vocabulary)
        slots = task.inputs["number_slots"]
        hidden = (slots > 0) & task.scored.gather(1, (slots - 1).clamp_min(0))
        assert hidden.any()
        assert (task.labels[hidden] == (model.vocabulary.num_id if learnt else -100)).all(), options
        given = (slots > 0) & ~hidden
        assert (task.labels[given] == -100).all(), options


def test_token_head_learns_where_a_number_stands() -> None:
    model, batch = model_and_batch(ratio=0.3)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(60):
        model.objective.epoch = epoch
        optimizer.zero_grad()
        model(**batch, return_loss=True).loss.backward()
        optimizer.step()
    model.eval()
    wanted = torch.zeros_like(batch["number_given"], dtype=torch.bool)
    wanted[:, 1] = True
    task = model.objective.prepare(batch | {"number_wanted": wanted}, model.vocabulary)
    with torch.no_grad():
        chances = model(**task.inputs, return_loss=False).logits.softmax(-1)[..., model.vocabulary.num_id]
    asked = task.inputs["number_slots"] == 2
    assert chances[asked].min() > 0.9
    assert len(model.predict(TEXTS[0].replace("-2.25", "[NUM]"))) == 1
