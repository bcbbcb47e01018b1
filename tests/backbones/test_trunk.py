"""xVal's transformer against its equations, against PyTorch's layers, and with numbers attached."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import ASKING, NUMBERS, PLAIN, tokenizer_of
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

import numerate
from numerate.backbones.trunk import (
    NumerateTrunkConfig,
    NumerateTrunkForCausalLM,
    NumerateTrunkForMaskedLM,
    NumerateTrunkModel,
)
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"vocab_size": 20, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}


def new(causal: bool = False, **options: Any) -> Any:
    torch.manual_seed(0)
    kind = NumerateTrunkForCausalLM if causal else NumerateTrunkForMaskedLM
    model = kind(NumerateTrunkConfig(**SIZES | {"max_position_embeddings": 16, "causal": causal} | options))
    for weight in model.parameters():  # not the initial zeros and ones of biases and norms
        weight.data.add_(torch.randn_like(weight) * 0.1)
    return model.eval()


def attached(recipe: str | None = None, width: int = 12, **options: Any) -> Any:
    torch.manual_seed(0)
    tokenizer = tokenizer_of("bert")
    sizes = {"vocab_size": len(tokenizer), "hidden_size": width, "max_position_embeddings": 128, "dropout": 0.0}
    backbone = NumerateTrunkForMaskedLM(NumerateTrunkConfig(**SIZES | sizes))
    return numerate.attach(backbone, tokenizer, recipe, **options)


def norm(vector: torch.Tensor, layer: Any) -> torch.Tensor:
    centred = vector - vector.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * layer.weight + layer.bias


def gelu(x: torch.Tensor) -> torch.Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def by_hand(model: Any, vectors: torch.Tensor) -> torch.Tensor:
    """Logits of one text with loops over positions and heads: (T, D) -> (T, V)."""
    config, length = model.config, len(vectors)
    size = config.hidden_size // config.num_attention_heads
    states = [vectors[t] + model.trunk.positions.weight[t] for t in range(length)]
    for block in model.trunk.blocks:
        joint = [block.attention_in.weight @ norm(s, block.norm1) + block.attention_in.bias for s in states]
        behind = []
        for t in range(length):
            parts = []
            for head in range(config.num_attention_heads):
                at = slice(head * size, (head + 1) * size)
                query, keys, values = ([row.chunk(3)[which][at] for row in joint] for which in range(3))
                seen = range(t + 1) if config.causal else range(length)
                weights = torch.stack([query[t] @ keys[u] / math.sqrt(size) for u in seen]).softmax(0)
                parts.append(sum(weight * values[u] for weight, u in zip(weights, seen, strict=True)))
            behind.append(states[t] + block.attention_out.weight @ torch.cat(parts) + block.attention_out.bias)
        inner = [gelu(block.into.weight @ norm(s, block.norm2) + block.into.bias) for s in behind]
        states = [s + block.out.weight @ h + block.out.bias for s, h in zip(behind, inner, strict=True)]
    if config.final_norm:
        states = [norm(s, model.trunk.norm) for s in states]
    if model.into is not None:
        states = [gelu(model.into.weight @ s) for s in states]
    return torch.stack([model.output.weight @ s for s in states])


def test_equations_and_their_gradients() -> None:
    for options in [{}, {"final_norm": True}, {"token_head": "linear", "causal": True}]:
        model = new(**options).double()
        ids = torch.tensor([2, 7, 9, 7, 3])
        direction = torch.randn(5, 20, dtype=torch.float64)
        ours = model(input_ids=ids[None]).logits[0]
        (ours * direction).sum().backward()
        gradients = {name: weight.grad.clone() for name, weight in model.named_parameters()}
        model.zero_grad()
        theirs = by_hand(model, model.trunk.words(ids))
        (theirs * direction).sum().backward()
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
        for name, weight in model.named_parameters():
            torch.testing.assert_close(gradients[name], weight.grad, rtol=1e-9, atol=1e-11, msg=name)


def test_gradient_of_the_embeddings() -> None:
    model = new().double()
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    vectors = torch.randn(2, 3, 12, dtype=torch.float64, requires_grad=True)
    run = lambda x: model.trunk(inputs_embeds=x, attention_mask=mask).last_hidden_state[:, :, :2]  # noqa: E731
    assert torch.autograd.gradcheck(run, (vectors,))


def test_blocks_against_pytorch_layers() -> None:
    """The released code uses nn.TransformerEncoder with norm_first and no final norm."""
    model = new()
    for block in model.trunk.blocks:
        layer = nn.TransformerEncoderLayer(12, 3, 48, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        names = {
            "self_attn.in_proj_weight": "attention_in.weight", "self_attn.in_proj_bias": "attention_in.bias",
            "self_attn.out_proj.weight": "attention_out.weight", "self_attn.out_proj.bias": "attention_out.bias",
            "linear1.weight": "into.weight", "linear1.bias": "into.bias", "linear2.weight": "out.weight",
            "linear2.bias": "out.bias", "norm1.weight": "norm1.weight", "norm1.bias": "norm1.bias",
            "norm2.weight": "norm2.weight", "norm2.bias": "norm2.bias",
        }  # fmt: skip
        layer.load_state_dict({theirs: block.state_dict()[ours] for theirs, ours in names.items()})
        states = torch.randn(2, 5, 12)
        torch.testing.assert_close(block(states, None), layer.eval()(states))


def test_initial_weights_are_those_of_pytorch() -> None:
    torch.manual_seed(0)
    config = NumerateTrunkConfig(vocab_size=200, hidden_size=96, num_hidden_layers=1, max_position_embeddings=100)
    model = NumerateTrunkForMaskedLM(config)
    layer = nn.TransformerEncoderLayer(96, 6, 384)
    block: Any = model.trunk.blocks[0]
    for ours, theirs in (
        (block.attention_in.weight, layer.self_attn.in_proj_weight), (block.attention_in.bias, None),
        (block.attention_out.weight, layer.self_attn.out_proj.weight), (block.attention_out.bias, None),
        (block.into.weight, layer.linear1.weight), (block.into.bias, layer.linear1.bias),
        (block.out.weight, layer.linear2.weight), (model.output.weight, nn.Linear(384, 200).weight),
    ):  # fmt: skip
        if theirs is None:
            assert not ours.any()
        else:
            assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.1)
            assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=0.1)
    for vectors in (model.trunk.words.weight, model.trunk.positions.weight):
        assert vectors.std().item() == pytest.approx(1, abs=0.02)


def test_number_of_weights_of_the_paper() -> None:
    """The released code has 48.14 million weights with 27 tokens and 1,024 positions, including its number head."""
    with torch.device("meta"):
        model = NumerateTrunkForMaskedLM(NumerateTrunkConfig(vocab_size=27))
    number_head = 768 * 3072 + 3072 + 3072 + 1
    assert (sum(weight.numel() for weight in model.parameters()) + number_head) / 1e6 == pytest.approx(48.14, abs=0.005)


def test_padding_does_not_change_real_tokens() -> None:
    for side in ["left", "right", "both"]:
        for causal in [False, True]:
            model = new(causal=causal)
            rows = [[2, 7, 9, 11, 3], [2, 8, 3], [5], []]
            ids, mask = torch.zeros(4, 6, dtype=torch.int64), torch.zeros(4, 6, dtype=torch.int64)
            for index, row in enumerate(rows):
                start = {"left": 6 - len(row), "right": 0, "both": (6 - len(row)) // 2}[side]
                ids[index, start : start + len(row)], mask[index, start : start + len(row)] = torch.tensor(row), 1
            logits = model(input_ids=ids, attention_mask=mask).logits
            assert logits.isfinite().all(), "a row of nothing but padding, too"
            for index, row in enumerate(rows[:3]):
                alone = model(input_ids=torch.tensor([row])).logits[0]
                torch.testing.assert_close(logits[index, mask[index].bool()], alone, rtol=0, atol=1e-6)
            changed = torch.where(mask == 0, 13, ids)
            again = model(input_ids=changed, attention_mask=mask).logits
            assert torch.equal(again[mask.bool()], logits[mask.bool()]), "whatever stands at padding"


def test_only_the_causal_model_ignores_later_tokens() -> None:
    for causal in (False, True):
        model, ids = new(causal=causal), torch.tensor([[2, 7, 9, 3]])
        first = model(input_ids=ids).logits[0, 0]
        assert torch.equal(first, model(input_ids=ids.index_fill(1, torch.tensor([3]), 5)).logits[0, 0]) is causal


def test_losses() -> None:
    ids, labels = torch.tensor([[2, 7, 9, 3]]), torch.tensor([[-100, 7, -100, 3]])
    for causal in (False, True):
        output = new(causal=causal)(input_ids=ids, labels=labels)
        terms = output.logits[0].log_softmax(-1)
        early = int(causal)
        torch.testing.assert_close(output.loss, -(terms[1 - early, 7] + terms[3 - early, 3]) / 2)
        assert new(causal=causal)(input_ids=ids, labels=labels, return_dict=False)[0] == output.loss


def test_dropout_positions() -> None:
    model = new(dropout=0.5).train()
    block, states = model.trunk.blocks[0], torch.randn(4, 8, 12)
    seen: list[torch.Tensor] = []
    handle = block.dropout.register_forward_hook(
        lambda module, given, result: seen.append((result == 0).float().mean())
    )
    block(states, None)
    handle.remove()
    assert len(seen) == 3 and all(0.3 < share < 0.7 for share in seen)
    assert not torch.equal(block(states, None), block(states, None))
    block.eval()
    assert torch.equal(block(states, None), block(states, None))


@pytest.mark.parametrize("causal", [False, True])
def test_saved_and_loaded_by_the_auto_classes(causal: bool, tmp_path: Path) -> None:
    model, ids = new(causal=causal, token_head="linear", tie_word_embeddings=True), torch.tensor([[2, 7, 9]])
    assert model.output.weight is model.trunk.words.weight
    model.save_pretrained(tmp_path)
    again = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_pretrained(tmp_path)
    assert type(again) is type(model) and again.output.weight is again.trunk.words.weight
    assert torch.equal(again(input_ids=ids).logits, model(input_ids=ids).logits)
    bare = AutoModel.from_pretrained(tmp_path)
    assert isinstance(bare, NumerateTrunkModel)
    assert torch.equal(bare(input_ids=ids).last_hidden_state, model.trunk(input_ids=ids).last_hidden_state)


def test_generation() -> None:
    model, made = new(causal=True, eos_token_id=None), [2, 7, 9]
    ids = torch.tensor([made])
    whole = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False)[0].tolist()
    for _ in range(4):
        made = [*made, int(by_hand(model, model.trunk.words(torch.tensor(made)))[-1].argmax())]
    assert whole == made


def test_gradient_checkpointing_gives_the_same_gradients() -> None:
    model, ids = new().train(), torch.tensor([[2, 7, 9, 3]])
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    gradients = []
    for enabled in (False, True):
        if enabled:
            model.gradient_checkpointing_enable()
        model.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        gradients.append(model.trunk.words.weight.grad.clone())
    torch.testing.assert_close(*gradients)


def test_errors_quote_the_value() -> None:
    model = new()
    with pytest.raises(ValueError, match="either input_ids or inputs_embeds"):
        model()
    with pytest.raises(ValueError, match=r"at most 16 tokens .*17"):
        model(input_ids=torch.ones(1, 17, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"\(1, 3\)"):
        model(input_ids=torch.ones(1, 2, dtype=torch.int64), attention_mask=torch.ones(1, 3))
    for wrong, message in (
        ({"hidden_size": 10}, "hidden_size=10, num_attention_heads=3"), ({"dropout": 1.0}, r"dropout=1\.0"),
        ({"token_head": "none"}, "'none'"), ({"tie_word_embeddings": True}, "'mlp'"), ({"vocab_size": 0}, "=0"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            NumerateTrunkConfig(**SIZES | wrong)
    with pytest.raises(ValueError, match="needs causal=True, got causal=False"):
        NumerateTrunkForCausalLM(NumerateTrunkConfig(**SIZES))


def test_every_recipe_learns() -> None:
    for recipe in numerate.recipe_names():
        model = attached(recipe).train()
        assert (model.info.task, model.info.is_causal, model.info.hidden_dim) == ("masked-lm", False, 12), recipe
        if hasattr(model.head, "fit"):
            model.head.fit(NumberTable.of_values([1.0, 2.0, 3.0, 50.0, 7.0, 12.0, 300.0, 0.5] * 20))
        batch = model.processor(NUMBERS, padding=True, return_tensors="pt")
        loss = model(**batch).loss
        loss.backward()
        assert loss.isfinite() and model.backbone.trunk.words.weight.grad.isfinite().all(), recipe
        assert model.backbone.trunk.blocks[0].attention_in.weight.grad.any(), recipe


def test_plain_text_keeps_its_logits_and_state() -> None:
    model = attached("xval").eval()
    plain = model.processor.tokenizer(PLAIN, padding=True, return_tensors="pt")
    ours = model.processor(PLAIN, padding=True, return_tensors="pt")
    with torch.no_grad():
        width = len(model.processor.tokenizer)
        wanted = model.backbone(**{key: plain[key] for key in ("input_ids", "attention_mask")}).logits
        assert torch.equal(model(**ours).logits[..., :width], wanted)
    assert not model.last_state.asks, "the trunk's own state, without all the others"


def test_xval_scales_before_positions_and_before_the_first_norm() -> None:
    model = attached("xval").eval()
    batch = dict(model.processor(["It was 3.5 and -2 wide."], return_tensors="pt"))
    seen: list[torch.Tensor] = []
    handle = model.backbone.trunk.blocks[0].norm1.register_forward_hook(lambda module, given, out: seen.extend(given))
    model(**batch)
    handle.remove()
    row, positions = model.own_rows[0], model.backbone.trunk.positions.weight
    found = (batch["number_slots"][0] > 0).nonzero()[:, 0].tolist()
    assert len(found) == 2
    for place, value in zip(found, (3.5, -2.0), strict=True):
        torch.testing.assert_close(seen[0][0, place], value * row + positions[place])


def test_saving_loading_and_prediction_with_numbers(tmp_path: Path) -> None:
    model = attached("xval").eval()
    model.save_pretrained(tmp_path, backbone=True)
    again = numerate.from_pretrained(tmp_path).eval()
    assert isinstance(again.backbone, NumerateTrunkForMaskedLM)
    assert torch.equal(model.predict(ASKING).mean(), again.predict(ASKING).mean())
    again.processor.tokenizer.padding_side = "left"
    torch.testing.assert_close(again.predict(ASKING).mean(), model.predict(ASKING).mean(), rtol=0, atol=1e-6)
    assert numerate.detach(again) is again.backbone


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_compiles_to_one_graph() -> None:
    for causal in [False, True]:
        model = new(causal=causal)
        ids, mask = torch.randint(0, 20, (3, 8)), torch.ones(3, 8, dtype=torch.int64)
        mask[1, 5:] = 0
        compiled = torch.compile(model, fullgraph=True)
        output = compiled(input_ids=ids, attention_mask=mask, labels=ids)
        plain = model(input_ids=ids, attention_mask=mask, labels=ids)
        torch.testing.assert_close(output.loss, plain.loss, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(output.logits[mask.bool()], plain.logits[mask.bool()], rtol=1e-4, atol=1e-5)
