"""The model's outputs, losses and predictions."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
import torch
from tiny_models import (
    ASKING,
    CAUSAL,
    KINDS,
    MASKED,
    NUMBERS,
    PLAIN,
    WITHOUT_LM,
    backbone_of,
    bare_batch,
    new_backbone,
    number_batch,
    tokenizer_of,
)

import numerate
from numerate.processing.number_table import ASKED, GIVEN
from numerate.processing.slot_positions import first_tokens

WITH_HEAD = [name for name in numerate.recipe_names() if numerate.load_recipe(name).head]
HEADS = [(name, WITH_HEAD[(index + step) % len(WITH_HEAD)]) for index, name in enumerate(KINDS) for step in (0, 3)]
"""Every architecture with two heads, every head on several architectures."""


def attached(name: str, recipe: str = "luna", fresh: bool = False, **options: Any) -> Any:
    torch.manual_seed(0)
    backbone = new_backbone(name) if fresh else backbone_of(name)
    return numerate.attach(backbone, tokenizer_of(name), recipe, **options)


# Outputs.


@pytest.mark.parametrize("name", KINDS)
@torch.no_grad()
def test_the_output_has_the_backbones_class_and_fields(name: str) -> None:
    model = attached(name).eval()
    batch = number_batch(model, name, PLAIN)
    bare = bare_batch(name, PLAIN) | ({"labels": batch["labels"]} if name == "t5" else {})
    ours, own = model(**batch), backbone_of(name)(**bare)
    assert type(ours) is type(own) and set(own) == set(ours)
    assert ours.numbers is None and ours.number_index is None
    parts, whole = model(**batch, return_dict=False), ours.to_tuple()  # as transformers does
    assert isinstance(parts, tuple) and len(parts) == len(whole) and torch.equal(parts[0], whole[0])
    states = model(**batch, output_hidden_states=True)
    key = "decoder_hidden_states" if name == "t5" else "hidden_states"
    assert states[key] is not None and len(states[key]) == 3
    if name in (*MASKED, *CAUSAL, "encoder"):  # heads read the same state that the backbone returns
        last = backbone_of(name).base_model(**bare_batch(name, PLAIN)).last_hidden_state
        assert torch.equal(states[key][-1], last)


@pytest.mark.parametrize("name", ["bert", "qwen2", "t5"])
@torch.no_grad()
def test_logits_of_our_tokens_are_at_their_ids(name: str) -> None:
    model = attached(name, "digits").eval()
    batch = number_batch(model, name, NUMBERS)
    assert (batch["input_ids"] >= model.processor.first_id).any()
    width = backbone_of(name).config.vocab_size
    assert model.processor.first_id == max(width, len(tokenizer_of(name)))
    assert model(**batch).logits.shape[-1] == model.processor.first_id + len(model.processor.own_tokens)


def test_ids_between_the_backbones_and_ours_have_no_probability() -> None:
    from numerate.processing.processor import NumberProcessor

    backbone, tokenizer = backbone_of("bert"), tokenizer_of("bert")
    processor = NumberProcessor(tokenizer, first_id=len(tokenizer) + 5)
    model = numerate.NumberModel(backbone, processor).eval()
    logits = model(**number_batch(model, "bert", NUMBERS)).logits
    assert (logits.argmax(-1) != len(tokenizer) + 2).all() and logits.softmax(-1)[..., len(tokenizer) + 2].max() == 0


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "classifier"])
def test_texts_that_are_too_long_are_refused(name: str) -> None:
    """In the backbone it would be an index out of range, or a size that does not match."""
    model = numerate.attach(backbone_of(name), tokenizer_of(name))
    most = 126 if name == "roberta" else 128
    batch = dict(model.processor(["It cost 5 dollars. " * 80], return_tensors="pt"))
    with pytest.raises(ValueError, match=rf"^\d+ tokens are too many for \w+, which has {most} positions: cut texts"):
        model(**batch)
    assert model(**model.processor(["It cost 5 dollars."], return_tensors="pt")) is not None, "it still runs"


def test_input_ids_are_needed() -> None:
    with pytest.raises(ValueError, match="input_ids must be a tensor, got none"):
        attached("bert")()
    with pytest.raises(ValueError, match="needs labels or decoder_input_ids"):
        attached("t5")(**bare_batch("t5", PLAIN))


# Losses.


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_there_is_a_loss_in_training_or_on_request(name: str) -> None:
    model = attached(name)
    batch = number_batch(model, name, NUMBERS)
    assert model.eval()(**batch).loss is None
    assert model(**batch, return_loss=True).loss is not None
    assert model.train()(**batch).loss is not None
    assert model(**batch, return_loss=False).loss is None
    without = attached(name, objective=None).train()
    assert without(**batch).loss is None
    assert without(**batch, labels=batch["input_ids"]).loss is not None


def test_causal_labels_choose_tokens_and_numbers() -> None:
    model = attached("gpt2").eval()
    batch = number_batch(model, "gpt2", NUMBERS)
    tokens = attached("gpt2", objective=None).eval()
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    with torch.no_grad():
        everything = model(**batch, return_loss=True).loss
        assert torch.equal(model(**batch, labels=labels).loss, everything)
        assert tokens(**batch, labels=labels).loss < everything
        none = model(**batch, labels=torch.full_like(labels, -100)).loss
    assert none == 0


def test_a_causal_model_never_sees_the_number_it_predicts() -> None:
    model = attached("gpt2", "in-place", objective={"kind": "causal", "number_weight": 1.0}).eval()
    model.gate.gate.data.fill_(1.0)
    one, other = (number_batch(model, "gpt2", [f"The tower is {x} metres tall."]) for x in ("1.5", "2.5"))
    assert one["input_ids"].shape == other["input_ids"].shape
    seen = []
    model.head.loss = lambda hidden, *_: seen.append(hidden) or hidden.sum(-1)  # type: ignore[method-assign]
    with torch.no_grad():
        for batch in (one, other):
            model(**batch, return_loss=True)
    assert torch.equal(*seen)


def test_a_flat_softmax_is_one_softmax_over_words_and_numerals() -> None:
    model = attached("gpt2", notation="marker", reader="plain", head={"kind": "softmax", "size": 3},
                     objective={"kind": "causal", "per_token": True}).eval()  # fmt: skip
    numbers = numerate.processing.number_table.NumberTable.of_values([1, 1, 2, 2, 3])
    model.head.fit(numbers)
    batch = number_batch(model, "gpt2", ["The tower is 2 metres and 3 feet tall, 700 in all."])
    with torch.no_grad():
        output = model(**batch, return_loss=True)
        hidden = model.backbone.transformer(inputs_embeds=model.embed(model.backbone.get_input_embeddings(), batch))[0]
        words, numerals = model.backbone.lm_head(hidden), model.head.numeral_scores(hidden)
    flat = torch.cat([words, numerals.to(words)], dim=-1).log_softmax(-1)[0]
    column = {2.0: 1, 3.0: 2, 700.0: 3}  # the last is the unknown numeral's
    terms = []
    for place, token in enumerate(batch["input_ids"][0].tolist()[1:]):
        slot = int(batch["number_slots"][0, place + 1])
        value = float(batch["number_bits"].view(torch.float64)[0, slot - 1])
        terms.append(flat[place, words.shape[-1] + column[value] if slot else token])
    torch.testing.assert_close(output.loss, -torch.stack(terms).mean(), rtol=1e-5, atol=1e-5)


def test_number_token_losses_are_added_to_any_objective() -> None:
    from numerate.objectives.number_tokens import NumberTokenLoss

    batch, losses = None, []
    for extra in (None, {"loss": "was", "weight": 0.5}):
        model = attached("gpt2", "subwords", objective={"kind": "causal", "number_tokens": extra}).eval()
        batch = number_batch(model, "gpt2", NUMBERS)
        with torch.no_grad():
            losses.append(model(**batch, return_loss=True))
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    added = NumberTokenLoss(tokenizer_of("gpt2"), "was", weight=0.5)(losses[0].logits, labels, shift=True)
    assert added > 0
    torch.testing.assert_close(losses[1].loss, losses[0].loss + added)
    again = type(model.objective).build(**model.objective.config.to_dict())
    assert again.config == model.objective.config


@pytest.mark.parametrize("recipe", ["luna", "value-prefix"])
def test_the_subwords_of_a_masked_number_are_hidden(recipe: str) -> None:
    model = numerate.attach(backbone_of("roberta"), tokenizer_of("roberta"), recipe=recipe, head="log-sign")
    model.objective = numerate.objectives.registry["masked"].build(ratio=0.0, number_ratio=1.0)
    texts = ["The tower is 1.5 metres tall.", "The tower is 2,345.678 metres tall."]
    batches = [number_batch(model, "roberta", [text]) for text in texts]
    one, other = (model.objective.prepare(batch, model.vocabulary) for batch in batches)
    assert (batches[0]["number_slots"] < 0).any() and not (one.inputs["number_slots"] < 0).any()
    seen = [task.inputs["input_ids"][task.inputs["attention_mask"] == 1] for task in (one, other)]
    assert torch.equal(*seen) and (one.labels == -100).all()
    outputs = [model.eval()(**batch, return_loss=True) for batch in batches]
    assert outputs[0].source_index.shape == batches[0]["input_ids"].shape
    torch.testing.assert_close(outputs[0].numbers.median(), outputs[1].numbers.median())


def test_detach_removes_the_hook_and_copies_have_their_own() -> None:
    backbone = new_backbone("bert")
    model = numerate.attach(backbone, tokenizer_of("bert"), recipe="luna")
    batch = number_batch(model, "bert", NUMBERS)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        expected = model.eval()(**batch)
        got = twin.eval()(**batch)
    assert torch.equal(expected.logits, got.logits)
    assert twin.last_state is not model.last_state and twin.last_state in twin.backbone.bert._forward_hooks.values()
    assert model.last_state.state is None, "no state is stored"
    numerate.detach(model)
    assert not backbone.bert._forward_hooks and not twin.last_state.asks
    with torch.no_grad():
        assert torch.equal(model(**batch).logits, expected.logits)


def test_a_number_at_the_beginning_of_a_text_has_no_loss() -> None:
    model = attached("gpt2", "xval").eval()
    batch = number_batch(model, "gpt2", ["12 men", "The 12 men of them"], "left")
    assert first_tokens(batch["number_slots"], 1)[0] > 0
    lengths: list[int] = []
    head = model.head.loss
    model.head.loss = lambda hidden, numbers: lengths.append(len(hidden)) or head(hidden, numbers)  # type: ignore
    assert model(**batch, return_loss=True).loss.isfinite()
    assert lengths == [1], "nothing stands before the number of the first text"
    assert len(model.predict(["[NUM] men", "The [NUM] men"])) == 2


def test_encoder_decoders_learn_the_numbers_of_the_decoder() -> None:
    model = attached("t5", "xval").eval()
    source = dict(model.processor(["How tall is it?", "And how heavy?"], padding=True, return_tensors="pt"))
    target = dict(model.processor(["It is 3.5 m", "12"], padding=True, return_tensors="pt"))
    labels = target["input_ids"].masked_fill(target["attention_mask"] == 0, -100)
    assert (labels >= model.processor.first_id).any()
    table = {f"decoder_{key}": value for key, value in target.items() if key.startswith("number_")}
    full = model(**source, **table, labels=labels)
    tokens = model(**source, labels=labels)
    full.loss.backward()
    assert any(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in model.head.parameters())
    assert not torch.equal(full.logits, tokens.logits), "the decoder sees the numbers before"
    # A number does not change the logits that predict it.
    changed = table | {"decoder_number_bits": table["decoder_number_bits"] * 0}
    slot = int(first_tokens(table["decoder_number_slots"], 1)[0, 0])
    other = model(**source, **changed, labels=labels).logits
    assert torch.equal(other[0, : slot + 1], full.logits[0, : slot + 1])
    assert not torch.equal(other[0, slot + 1], full.logits[0, slot + 1])
    # The same with an explicit decoder input.
    shifted = backbone_of("t5").prepare_decoder_input_ids_from_labels(labels)
    slots = table["decoder_number_slots"]
    spelt = table | {"decoder_number_slots": torch.cat([torch.zeros_like(slots[:, :1]), slots[:, :-1]], dim=1)}
    again = model(**source, **spelt, decoder_input_ids=shifted, labels=labels)
    assert torch.equal(again.logits, full.logits) and torch.equal(again.loss, full.loss)


# Predictions.


@pytest.mark.parametrize(("name", "recipe"), HEADS)
def test_predict(name: str, recipe: str) -> None:
    model = attached(name, recipe, head="recipe")
    if name == "t5":
        numbers = model.predict(["How tall?", "How far and how long?"], ["[NUM] m", "[NUM] km, [NUM] s"])
        assert len(model.predict("How tall?")) == 1
    else:
        numbers = model.predict(ASKING)
        assert len(model.predict(ASKING[0])) == 1
    assert len(numbers) == 3 and model.training
    low, high = numbers.interval(0.9)
    assert (low <= high).all() and low.isfinite().all() and high.isfinite().all()


def test_number_index_points_at_the_numbers_asked_for() -> None:
    model = attached("bert").eval()
    batch = number_batch(model, "bert", ASKING)
    output = model(**batch)
    assert output.number_index.tolist() == [[0, 0], [1, 1], [1, 2]]
    assert (batch["number_given"][output.number_index[:, 0], output.number_index[:, 1]] == ASKED).all()
    seen: list[Any] = []
    model.on_numbers = lambda numbers, index, targets: seen.append((len(numbers), index.tolist(), targets))
    model(**batch)
    assert seen == [(3, output.number_index.tolist(), None)]


def test_a_training_step_computes_only_its_loss() -> None:
    model = attached("bert").train()
    batch = number_batch(model, "bert", NUMBERS)
    batch["number_wanted"] = torch.ones_like(batch["number_bits"], dtype=torch.bool)
    output = model(**batch)
    assert output.loss.isfinite() and output.numbers is None and output.number_index is None
    assert len(model.eval()(**batch, return_loss=True).numbers) == int((batch["number_given"] == GIVEN).sum())


def test_predictions_do_not_depend_on_other_rows() -> None:
    model = attached("llama").eval()
    together, alone = model.predict(ASKING).median(), model.predict(ASKING[0]).median()
    assert torch.allclose(together[:1], alone, rtol=1e-4)


def test_predict_without_head_or_question_is_refused() -> None:
    with pytest.raises(ValueError, match="no number head"):
        attached("bert", "float").predict(ASKING)
    with pytest.raises(ValueError, match=r"text 0 has no \[NUM\]"):
        attached("bert").predict(PLAIN)


def test_every_field_of_a_batch_is_a_named_argument() -> None:
    model = attached("bert")
    named = set(inspect.signature(model.forward).parameters)
    fields = set(model.processor(NUMBERS, padding=True, return_tensors="pt"))
    table = {field for field in fields if field.startswith("number_")} - {"number_scale"}
    assert fields | {f"decoder_{field}" for field in table} <= named


def test_what_we_know_of_each_backbone() -> None:
    from numerate.modeling.introspection import BackboneInfo

    tasks = {name: BackboneInfo.of(backbone_of(name)) for name in KINDS}
    assert {tasks[name].task for name in MASKED} == {"masked-lm"} and {tasks[name].task for name in CAUSAL} == {
        "causal-lm"
    }
    assert not any(tasks[name].is_language_model for name in WITHOUT_LM)
    assert [name for name in KINDS if tasks[name].is_causal] == [*CAUSAL, "gpt2-classifier", "llama-classifier"]
    assert [name for name in KINDS if tasks[name].positions_after is not None] == ["roberta"]
    assert BackboneInfo.of(new_backbone("bert", is_decoder=False)).task == "masked-lm"


# The mean state of a text, for a head that reads it.


@pytest.mark.parametrize("name", ["encoder", "gpt2"])
@torch.no_grad()
def test_pooled_adds_the_mean_state_of_the_text(name: str) -> None:
    """Compared with a loop over the rows; padding does not count, and a decoder sees no later token."""
    backbone = new_backbone(name)
    backbone = backbone.base_model if name == "gpt2" else backbone
    torch.manual_seed(0)
    model = numerate.attach(backbone, tokenizer_of(name), "in-place", pooled=True, head="scalar", objective=None).eval()
    texts = ["It cost $5 and [NUM] dollars in all.", "He is [NUM]."]
    batch = model.processor(texts, padding=True, return_tensors="pt")
    output = model(**batch, return_loss=False)
    states = output.last_hidden_state
    asked = (batch["input_ids"] == model.processor.num_id).int().argmax(1).tolist()
    for row, column in enumerate(asked):
        at, end = (column - 1, column) if name == "gpt2" else (column, int(batch["attention_mask"][row].sum()))
        read = states[row, at] + states[row, :end].mean(0)
        torch.testing.assert_close(
            model.head(read[None]).median()[0], output.numbers.median()[row], rtol=1e-4, atol=1e-6
        )


def test_pooled_needs_a_model_without_words_to_predict() -> None:
    with pytest.raises(ValueError, match="pooled=True on a language model: needs an encoder or decoder without"):
        attached("bert", "in-place", pooled=True)
