"""Neighbour features: compared with a loop, without effect before training, and never of masked numbers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.modeling.inputs import number_vectors
from numerate.modeling.neighbour_features import NeighbourFeatures
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["It weighs 45.7 kg and costs $1,200 or 3 %.", "12 dogs", "No number here at all."]


def near(reach: int = 2, name: str = "bert") -> Any:
    torch.manual_seed(0)
    plain = {"late_reach": 0, "relations": 0}
    return numerate.attach(new_backbone(name), tokenizer_of(name), "in-place", reach=reach, **plain).eval()


def opened(model: Any) -> Any:
    with torch.no_grad():
        model.reach.maps.normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    return model


def test_forward_equals_a_loop() -> None:
    torch.manual_seed(0)
    slots = torch.tensor([[0, 1, 1, 0, 0, -2, 2, 0, 3], [1, 0, 2, 0, 0, 0, 0, 0, 0]])
    table = NumberTable.of_values([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[torch.arange(6).reshape(2, 3)]
    given = torch.tensor([[1, 1, 0], [1, 1, 1]])  # the third of the first row is not given
    table = dataclasses.replace(table, given=given.to(table.given))
    reach = NeighbourFeatures(4, tokens=2)
    torch.nn.init.normal_(reach.maps)
    embeddings, vectors = torch.randn(2, 9, 4), torch.randn(2, 3, 4)
    expected = embeddings.clone()
    for row in range(2):
        for number in range(3):
            own = (slots[row].abs() == number + 1).nonzero()[:, 0].tolist()
            if not own or not given[row, number]:
                continue
            for index, at in enumerate([own[0] - 1, own[0] - 2, own[-1] + 1, own[-1] + 2]):
                if 0 <= at < 9 and slots[row, at] == 0:
                    expected[row, at] += vectors[row, number] @ reach.maps[index]
    found = reach(embeddings, slots, table, vectors)
    assert torch.allclose(found, expected, atol=1e-6) and not torch.equal(found, embeddings)
    assert torch.equal(found[slots != 0], embeddings[slots != 0]), "tokens of numbers do not change"


def test_a_causal_model_is_reached_after_the_number_only() -> None:
    slots = torch.tensor([[0, 1, 1, 0, -2, 2, 0, 0, 3, 0]])
    table = NumberTable.of_values([1.0, 2.0, 3.0])[torch.arange(3)[None]]
    reach = NeighbourFeatures(4, tokens=3, causal=True)
    torch.nn.init.normal_(reach.maps)
    embeddings, vectors = torch.randn(1, 10, 4), torch.randn(1, 3, 4)
    expected = embeddings.clone()
    # Token 4 writes the second number but has no vector of its own, so the first number reaches it.
    for token, number, step in ((3, 0, 1), (4, 0, 2), (6, 1, 1), (7, 1, 2), (9, 2, 1)):
        expected[0, token] += vectors[0, number] @ reach.maps[step - 1]
    found = reach(embeddings, slots, table, vectors)
    torch.testing.assert_close(found, expected)
    last = reach(embeddings[:, -2:], slots, table, vectors)
    torch.testing.assert_close(last, expected[:, -2:], msg="only the last tokens, as in cached generation")


def test_the_maps_start_at_zero_and_are_trained() -> None:
    model, plain = near(), near(0)
    plain.load_state_dict(model.state_dict(), strict=False)
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(model(**batch).logits, plain(**batch).logits)
        assert not torch.equal(opened(near())(**batch).logits, plain(**batch).logits)
    model.train()(**batch, labels=batch["input_ids"].clamp_max(20)).loss.backward()
    assert float(model.reach.maps.grad.abs().sum()) > 0


def test_masked_numbers_have_no_effect() -> None:
    model = opened(near())
    found = []
    for value in (45.7, 98600.0):
        batch = model.processor(["It weighs 45.7 kg."], return_tensors="pt")
        batch["number_bits"] = torch.tensor([[value]], dtype=torch.float64).view(torch.int64)
        batch["number_given"].zero_()
        with torch.no_grad():
            found.append(model(**batch).logits)
    assert torch.equal(*found)


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = opened(near(3))
    model.save_pretrained(tmp_path, backbone=True)
    again = numerate.from_pretrained(tmp_path).eval()
    assert again.reach is not None and again.reach.tokens == 3 and model.recipe is None
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(model(**batch).logits, again(**batch).logits, atol=1e-5)


def test_bad_sizes() -> None:
    with pytest.raises(ValueError, match="must be positive, got tokens=0"):
        NeighbourFeatures(4, tokens=0)


def late(tokens: int = 2) -> Any:
    torch.manual_seed(0)
    return numerate.attach(
        new_backbone("bert"), tokenizer_of("bert"), "in-place", late_reach=tokens, relations=0
    ).eval()


def opened_late(model: Any) -> Any:
    with torch.no_grad():
        model.late_reach.maps.normal_(std=0.3, generator=torch.Generator().manual_seed(1))
    return model


def test_late_reach_changes_the_state_before_the_head() -> None:
    model, plain = opened_late(late()), near(0)
    plain.load_state_dict(model.state_dict(), strict=False)
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        states = plain.backbone.base_model(
            inputs_embeds=plain.embed(plain.backbone.get_input_embeddings(), dict(batch)),
            attention_mask=batch["attention_mask"],
        )[0]
        places, vectors = number_vectors(model, dict(batch))
        slots, table = places.slots, places.table
        expected = model.backbone.cls(model.late_reach(states, slots, table, vectors))
        found = model(**batch).logits[..., : expected.shape[-1]]
        assert torch.allclose(found, expected, atol=1e-5)
        assert not torch.allclose(found, plain(**batch).logits[..., : expected.shape[-1]], atol=1e-3)
        assert torch.equal(late()(**batch).logits, near(0)(**batch).logits), "no effect before training"


def test_states_are_picked_after_late_reach() -> None:
    model = opened_late(late())
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    rows, columns = torch.tensor([0, 0, 1]), torch.tensor([3, 5, 2])
    with torch.no_grad():
        whole = model(**batch).logits[rows, columns]
        model.last_state.pick = (rows, columns)
        assert torch.allclose(model(**batch).logits[:, 0], whole, atol=1e-5)
        model.last_state.pick = None
        assert torch.equal(model(**batch).logits[rows, columns], whole)


def test_late_reach_is_saved_and_loaded(tmp_path: Path) -> None:
    model = opened_late(late(1))
    model.save_pretrained(tmp_path, backbone=True)
    again = numerate.from_pretrained(tmp_path).eval()
    assert again.late_reach is not None and again.late_reach.tokens == 1
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(model(**batch).logits, again(**batch).logits, atol=1e-5)


def test_late_reach_is_trained() -> None:
    model = late().train()
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    model(**batch, labels=batch["input_ids"].clamp_max(20)).loss.backward()
    assert float(model.late_reach.maps.grad.abs().sum()) > 0
