"""Contract of all objectives, masking, and the token loss."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from numerate.config import ConfigError
from numerate.objectives.base import Vocabulary
from numerate.objectives.cross_entropy import sum_and_pick, token_loss
from numerate.processing.number_table import ASKED, GIVEN, NumberTable
from numerate.registry import objectives

WORDS = Vocabulary(mask_id=4, num_id=100, special_ids=(0, 2, 3))


def batch(ids: list[list[int]], slots: list[list[int]], values: list[list[float]]) -> dict[str, Any]:
    flat = NumberTable.of_values([value for row in values for value in row])
    shape = (len(values), len(values[0]))
    tokens = torch.tensor(ids)
    return {
        "input_ids": tokens,
        "attention_mask": (tokens != 0).long(),
        "number_slots": torch.tensor(slots),
        "number_bits": flat.bits.reshape(shape),
        "number_chars": flat.characters.reshape(*shape, -1),
        "number_precision": flat.precision.reshape(shape),
        "number_given": torch.full(shape, GIVEN, dtype=torch.uint8),
    }


MARKED = batch(
    [[2, 10, 100, 11, 3, 0], [2, 100, 12, 13, 100, 3]], [[0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 2, 0]], [[5, 0], [6, 7]]
)
IN_PLACE = batch([[2, 10, 20, 21, 11, 3]], [[0, 0, 1, 1, 0, 0]], [[5.5]])


@pytest.mark.parametrize("name", objectives.names())
def test_contract(name: str) -> None:
    objective = objectives[name].build()
    assert objective.config.kind == name
    assert objectives[name].build(**objective.config.to_dict()).config == objective.config
    one, two = torch.tensor(1.0), torch.tensor(2.0)
    assert objective.combine(None, None) is None
    assert objective.combine(one, None) == 1 and objective.combine(None, two) == 2 and objective.combine(one, two) == 3
    labels = torch.full_like(MARKED["input_ids"], -100)
    task = objective.label(dict(MARKED), labels)
    assert task.labels is labels and (task.scored is None or not task.scored.any())
    if objective.needs_labels:
        with pytest.raises(ValueError, match="needs labels"):
            objective.prepare(dict(MARKED), WORDS)
        return
    before = {key: value.clone() for key, value in MARKED.items()}
    task = objective.prepare(dict(MARKED), WORDS)
    assert all(torch.equal(MARKED[key], value) for key, value in before.items()), "the batch itself stays"
    assert task.labels.shape == MARKED["input_ids"].shape
    assert (task.labels[MARKED["attention_mask"] == 0] == -100).all()
    assert torch.equal(task.targets.bits, MARKED["number_bits"])
    bare = {"input_ids": MARKED["input_ids"], "attention_mask": MARKED["attention_mask"]}
    assert objective.prepare(bare, WORDS).targets is None


def test_masked_hides_a_number_as_one_token() -> None:
    objective = objectives["masked"].build(ratio=0.0, number_ratio=1.0)
    task = objective.prepare(dict(IN_PLACE), WORDS)
    assert task.inputs["input_ids"].tolist() == [[2, 10, 100, 11, 3, 0]]
    assert task.inputs["attention_mask"].tolist() == [[1, 1, 1, 1, 1, 0]] and (task.labels == -100).all()
    assert task.inputs["number_given"].tolist() == [[ASKED]] and task.scored.tolist() == [[True]]


def test_masked_keeps_num_tokens_and_predicts_their_numbers() -> None:
    objective = objectives["masked"].build(ratio=0.0, number_ratio=1.0)
    task = objective.prepare(dict(MARKED), WORDS)
    assert torch.equal(task.inputs["input_ids"], MARKED["input_ids"])
    assert task.inputs["number_given"].tolist() == [[ASKED, ASKED], [ASKED, ASKED]]
    without_head = Vocabulary(4, 100, (0, 2, 3), predicts_numbers=False)
    task = objective.prepare(dict(MARKED), without_head)
    assert task.scored is not None and not task.scored[1].any() and (task.inputs["number_given"][1] == GIVEN).all()
    task = objective.prepare(dict(IN_PLACE), without_head)
    assert torch.equal(task.inputs["input_ids"], IN_PLACE["input_ids"]) and (task.labels == -100).all()
    spelled = Vocabulary(4, 100, (0, 2, 3), predicts_numbers=False, spells_numbers=True)
    task = objective.prepare(dict(IN_PLACE), spelled)
    assert task.labels.tolist() == [[-100, -100, 20, 21, -100, -100]], "masked one by one, as published"


def test_masked_hides_the_subwords_beside_a_slot() -> None:
    for joint in [True, False]:
        behind = batch([[2, 10, 20, 21, 100, 11, 3]], [[0, 0, -1, -1, 1, 0, 0]], [[5.5]])
        objective = objectives["masked"].build(ratio=0.0, number_ratio=1.0, joint=joint)
        task = objective.prepare(dict(behind), WORDS)
        seen = [2, 10, 100, 11, 3, 0, 0] if joint else [2, 10, 20, 21, 100, 11, 3]
        assert task.inputs["input_ids"].tolist() == [seen], joint
        assert task.inputs["number_given"].tolist() == [[ASKED]] and task.scored.tolist() == [[True]], joint
        task = objective.prepare(dict(behind), Vocabulary(4, 100, (0, 2, 3), predicts_numbers=False))
        assert task.scored.tolist() == [[False]], "without a head, numbers are not hidden"
        words = objectives["masked"].build(ratio=1.0, number_ratio=0.0, joint=joint).prepare(dict(behind), WORDS)
        assert words.inputs["input_ids"].tolist() == [[2, 4, *([20, 21] if joint else [4, 4]), 100, 4, 3]], joint


def test_masked_never_masks_special_tokens_or_padding() -> None:
    task = objectives["masked"].build(ratio=1.0, number_ratio=0.0).prepare(dict(MARKED), WORDS)
    assert task.inputs["input_ids"].tolist() == [[2, 4, 100, 4, 3, 0], [2, 100, 4, 4, 100, 3]]


def test_masked_needs_a_mask_token() -> None:
    with pytest.raises(ValueError, match="needs a tokenizer with a mask token"):
        objectives["masked"].build().prepare(dict(MARKED), Vocabulary(None, 100, ()))
    with pytest.raises(ValueError, match="in 0 to 1"):
        objectives["masked"].build(ratio=1.5)


def test_masked_shares_match_the_ratios() -> None:
    torch.manual_seed(0)
    ids = torch.full((64, 400), 10)
    table = batch([[10] * 400], [list(range(1, 201)) + [0] * 200], [[float(i) for i in range(200)]])
    many = {key: value.expand(64, *value.shape[1:]) for key, value in table.items()} | {"input_ids": ids}
    task = objectives["masked"].build(ratio=0.15, number_ratio=0.3).prepare(many, WORDS)
    assert (task.labels[:, 200:] != -100).float().mean().item() == pytest.approx(0.15, abs=0.01)
    assert task.scored.float().mean().item() == pytest.approx(0.3, abs=0.015)


def test_nan_and_infinity_are_not_targets() -> None:
    odd = batch([[2, 100, 100, 100, 3]], [[0, 1, 2, 3, 0]], [[float("nan"), float("inf"), 1.0]])
    for objective in (objectives["masked"].build(number_ratio=1.0), objectives["causal"].build()):
        assert objective.prepare(dict(odd), WORDS).scored.tolist() == [[False, False, True]]


def test_labels_select_the_numbers() -> None:
    for name in ["causal", "labelled"]:
        labels = torch.tensor([[-100, -100, 100, 11, -100, -100], [-100, -100, -100, -100, 100, -100]])
        task = objectives[name].build().label(dict(MARKED), labels)
        # The first row's second number has no token.
        assert task.scored.tolist() == [[True, False], [False, True]], name


def test_token_loss() -> None:
    logits, labels = torch.randn(2, 3, 5), torch.tensor([[1, -100, 2], [-100, -100, -100]])
    by_hand = -torch.stack([logits[0, 0].log_softmax(-1)[1], logits[0, 2].log_softmax(-1)[2]]).mean()
    assert torch.allclose(token_loss(logits, labels), by_hand)
    assert torch.allclose(token_loss(logits, labels, shift=True), -logits[0, 1].log_softmax(-1)[2])
    assert token_loss(logits, torch.full_like(labels, -100)) == 0


def test_token_loss_of_two_parts_equals_that_of_joined_logits() -> None:
    for shift in [False, True]:
        generator = torch.Generator().manual_seed(3)
        logits, own = torch.randn(2, 5, 11, generator=generator), torch.randn(2, 5, 3, generator=generator)
        labels = torch.tensor([[1, -100, 12, 3, 14], [-100, -100, 0, 13, 5]])
        joined = torch.cat([logits, torch.full((2, 5, 1), -1e30), own], dim=-1)  # id 11 belongs to nobody
        if shift:
            expected = torch.nn.functional.cross_entropy(joined[:, :-1].reshape(-1, 15), labels[:, 1:].reshape(-1))
        else:
            expected = torch.nn.functional.cross_entropy(joined.reshape(-1, 15), labels.reshape(-1))
        assert torch.allclose(token_loss(logits, labels, own, 12, shift=shift), expected), shift


def test_sum_and_pick_against_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in [torch.float64, torch.float32, torch.bfloat16]:
        monkeypatch.setattr("numerate.objectives.cross_entropy._CHUNK", 30)  # three rows at a time
        generator = torch.Generator().manual_seed(1)
        logits = (3 * torch.randn(2, 5, 9, generator=generator, dtype=torch.float64)).to(kind).requires_grad_()
        labels = torch.tensor([[1, -100, 8, 3, 4], [0, 0, 99, 7, 5]])
        whole, picked = sum_and_pick(logits, labels)
        scores = logits.to(torch.promote_types(kind, torch.float32))
        expected = scores.logsumexp(-1), scores.gather(-1, labels.clamp(0, 8)[..., None])[..., 0]
        torch.testing.assert_close((whole, picked), expected)
        weights = torch.randn(2, 2, 5, generator=generator).to(whole)
        got = torch.autograd.grad((weights[0] * whole + weights[1] * picked).sum(), logits)
        want = torch.autograd.grad((weights[0] * expected[0] + weights[1] * expected[1]).sum(), logits)
        torch.testing.assert_close(got, want)
        if kind == torch.float64:
            assert torch.autograd.gradcheck(sum_and_pick, (logits, labels)), kind


def test_number_weight_warmup() -> None:
    for name in [name for name in objectives.names() if name != "column"]:
        objective = objectives[name].build(number_weight=2.0, number_warmup=4)
        tokens, numbers = torch.tensor(1.0), torch.tensor(10.0)
        found = []
        for _ in range(6):
            found.append(float(objective.combine(tokens, numbers)))
            assert float(objective.combine(tokens, numbers, training=False)) == 21.0, "evaluations can be compared"
            objective.steps += 1
        assert found == [6.0, 11.0, 16.0, 21.0, 21.0, 21.0], name
        again = objectives[name].build(number_warmup=4)
        again.load_state({"steps": objective.state()["steps"]}, None)
        assert again.steps == 6, name
        with pytest.raises(ConfigError, match="number_warmup must not be negative, got -1"):
            objectives[name].build(number_warmup=-1)
