"""LUNA's losses on a fixed batch against hand computation, and the teacher."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tiny_models import NUMBERS, PLAIN, new_backbone, number_batch, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.objectives.distillation import soft_cross_entropy
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import ASKED
from numerate.registry import objectives
from numerate.training import ObjectiveCallback
from numerate.training.loss_normalisation import step_counts


def learner(**options: Any) -> Any:
    torch.manual_seed(0)
    objective = {"kind": "distillation", "ratio": 0.3, "number_ratio": 0.5, "warmup": 10, **options}
    backbone = new_backbone("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    head = {"kind": "log-sign", "dropout": 0.0}
    return numerate.attach(backbone, tokenizer_of("bert"), "luna", head=head, objective=objective).train()


def by_hand(model: Any, batch: dict[str, Any], teacher: Any) -> dict[str, float]:
    """L_REG, L_CLA, L_distill and counts, with loops over the masked positions."""
    task = model.objective.prepare(dict(batch), model.vocabulary)
    ids, slots = task.inputs["input_ids"], task.inputs["number_slots"]
    with torch.no_grad():
        embeddings = model.embed(model.backbone.get_input_embeddings(), task.inputs)
        passed = {"inputs_embeds": embeddings, "attention_mask": task.inputs["attention_mask"]}
        output = model.backbone(**passed, output_hidden_states=True)
        wished = teacher(**passed).logits.softmax(-1)
        states, scores = output.hidden_states[-1], output.logits.log_softmax(-1)
        own = model.own_logits(states)
        whole = torch.cat([output.logits, own], dim=-1).log_softmax(-1)
    values = task.targets.values()
    parts = {"reg": 0.0, "cla": 0.0, "distill": 0.0, "count": 0, "asked": 0}
    for row in range(ids.shape[0]):
        for place in range(ids.shape[1]):
            number = int(slots[row, place]) - 1
            is_number = number >= 0 and task.inputs["number_given"][row, number] == ASKED
            if is_number:
                value = values[row, number]
                target = torch.stack([(1e-7 + value.abs()).log(), value.sign()])
                said = model.head.layers(states[row, place]).detach()
                parts["reg"] += 0.5 * float(((said - target) ** 2).sum())
            elif int(task.labels[row, place]) != -100:
                parts["cla"] -= float(whole[row, place, task.labels[row, place]])
            else:
                continue
            parts["count"] += 1
            parts["asked"] += int(is_number)
            parts["distill"] -= float((wished[row, place] * scores[row, place]).sum())
    return parts


def moved(model: Any) -> Any:
    """A teacher with other weights than the student."""
    teacher = model.objective.teach(model.backbone)
    with torch.no_grad():
        for weight in teacher.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)))
    return teacher


def test_loss_by_hand() -> None:
    for steps in [0, 4, 50]:
        for scaled in [False, True]:
            model = learner(scale_by_warmup=scaled)
            batch = number_batch(model, "bert", NUMBERS) | {"sample_id": torch.arange(3)}
            teacher = moved(model)
            model.objective.steps = steps
            loss = model(**batch).loss
            parts = by_hand(model, batch, teacher)
            assert parts["asked"] > 2 and parts["count"] > parts["asked"] + 5, (steps, scaled)
            decay = min(1, 0.1 + 0.9 * steps / 10)
            alpha = 0.4 * decay
            mlm = (parts["reg"] + parts["cla"]) / (parts["count"] + 1e-7)
            wanted = (1 - alpha) * mlm + alpha * parts["distill"] / parts["count"]
            assert loss.item() == pytest.approx(wanted * (decay if scaled else 1), rel=1e-5), (steps, scaled)
            model.eval()
            assert model(**batch, return_loss=True).loss.item() == pytest.approx(mlm, rel=1e-5), (
                "evaluation asks no teacher"
            )


def test_loss_without_teacher_and_with_teacher_only() -> None:
    model = learner(alpha=0.0)
    batch = number_batch(model, "bert", NUMBERS) | {"sample_id": torch.arange(3)}
    parts = by_hand(model, batch, moved(model))
    assert model(**batch).loss.item() == pytest.approx((parts["reg"] + parts["cla"]) / parts["count"], rel=1e-5)
    model = learner(alpha=1.0, warmup=0)
    parts = by_hand(model, batch, moved(model))
    assert model(**batch).loss.item() == pytest.approx(parts["distill"] / parts["count"], rel=1e-5)


def test_average_is_updated_after_each_optimizer_step() -> None:
    model = learner(decay=0.9)
    batch = number_batch(model, "bert", NUMBERS)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wanted = [weight.detach().clone() for weight in model.backbone.parameters()]
    for _ in range(3):
        for _ in range(2):  # two batches a step
            model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        model.objective.step(model)
        wanted = [0.9 * old + 0.1 * new.detach() for old, new in zip(wanted, model.backbone.parameters(), strict=True)]
    got, own = list(model.objective.teacher.parameters()), list(model.backbone.parameters())
    assert model.objective.steps == 3 and any(not torch.equal(a, b) for a, b in zip(got, own, strict=True))
    torch.testing.assert_close(got, wanted)


def test_buffers_are_copied() -> None:
    model = learner()
    model.backbone.register_buffer("seen", torch.tensor([1]))
    model.objective.teach(model.backbone)
    model.backbone.seen.fill_(5)
    model.objective.step(model)
    assert model.objective.teacher.seen.item() == 5


def test_teacher_is_not_part_of_the_model(tmp_path: Any) -> None:
    model, bare = learner(), learner()
    batch = number_batch(model, "bert", NUMBERS)
    before = copy.deepcopy(model.backbone.state_dict())
    model(**batch).loss.backward()
    assert model.objective.teacher is not None
    assert list(model.state_dict()) == list(bare.state_dict()) and len([*model.modules()]) == len([*bare.modules()])
    assert len(list(model.parameters())) == len(list(bare.parameters()))
    assert all(torch.equal(value, before[key]) for key, value in model.backbone.state_dict().items())
    assert not any(w.requires_grad or w.grad is not None for w in model.objective.teacher.parameters())
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, new_backbone("bert"), tokenizer_of("bert"))
    assert again.objective.config == model.objective.config and again.objective.teacher is None
    copied = copy.deepcopy(model)
    assert copied.objective.teacher is not model.objective.teacher
    model.to(torch.float64)
    assert torch.isfinite(copied(**batch).loss)


def test_frozen_teacher_labels_texts_without_numbers() -> None:
    texts = [NUMBERS[0], PLAIN[1], PLAIN[2]]
    model = learner(teacher="frozen", warmup=0, alpha=0.5)
    batch = number_batch(model, "bert", texts) | {"sample_id": torch.arange(3)}
    teacher = moved(model)
    task = model.objective.prepare(dict(batch), model.vocabulary)
    asked = task.labels != -100
    asked[0] = False
    with torch.no_grad():
        ours, theirs = (net(input_ids=task.inputs["input_ids"][1:], attention_mask=batch["attention_mask"][1:],
                            token_type_ids=batch["token_type_ids"][1:]).logits[asked[1:]]
                        for net in (model.backbone, teacher))  # fmt: skip
    distill = torch.nn.functional.cross_entropy(ours, theirs.softmax(-1))
    parts = by_hand(model, batch, teacher)
    mlm = (parts["reg"] + parts["cla"]) / parts["count"]
    assert model(**batch).loss.item() == pytest.approx(0.5 * mlm + 0.5 * distill.item(), rel=1e-5)
    model.objective.step(model)
    assert model.objective.teacher is teacher and model.objective.steps == 1
    first = next(teacher.parameters()).clone()
    model.objective.step(model)
    assert torch.equal(first, next(teacher.parameters())), "frozen"
    # Without positions for the teacher, the loss is L_MLM.
    batch = number_batch(model, "bert", NUMBERS) | {"sample_id": torch.arange(3)}
    parts = by_hand(model, batch, teacher)
    assert model(**batch).loss.item() == pytest.approx((parts["reg"] + parts["cla"]) / parts["count"], rel=1e-5)


def test_state_is_saved_and_restored(tmp_path: Any) -> None:
    from safetensors.torch import load_file, save_file

    model, other = learner(), learner()
    batch = number_batch(model, "bert", NUMBERS) | {"sample_id": torch.arange(3)}
    assert list(other.objective.state()) == ["steps"]
    moved(model)
    model.objective.steps = 7
    save_file(model.objective.state(), tmp_path / "objective.safetensors")
    other.objective.load_state(load_file(tmp_path / "objective.safetensors"), other)
    assert other.objective.steps == 7 and torch.equal(other(**batch).loss, model(**batch).loss)


def test_batch_without_number_fields() -> None:
    model = learner()
    words = {key: value for key, value in number_batch(model, "bert", PLAIN).items() if not key.startswith("number")}
    assert torch.isfinite(model(**words).loss)


def test_two_batches_of_a_step_give_the_mean_of_all_terms() -> None:
    for teacher in ["average", "frozen"]:
        model = learner(teacher=teacher)
        batch = model.processor([*NUMBERS, *PLAIN])
        rows = [{key: batch[key][row] for key in batch} | {"sample_id": row} for row in range(len(batch["input_ids"]))]
        whole, numbers, plain = map(NumberCollator(model.processor.tokenizer), (rows, rows[:3], rows[3:]))
        counts = step_counts(model, [numbers, plain], None)
        assert plain["number_bits"].shape[1] == 0 and counts is not None and counts["numbers"] > 0
        parts = [model(**part, loss_counts=counts).loss for part in (numbers, plain)]
        torch.testing.assert_close((parts[0] + parts[1]) / 2, model(**whole).loss)


def test_soft_cross_entropy_against_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(5, 9, generator=generator), torch.randn(5, 9, generator=generator)
    torch.testing.assert_close(
        soft_cross_entropy(student, teacher).mean(), torch.nn.functional.cross_entropy(student, teacher.softmax(-1))
    )


def test_callback_counts_steps_of_the_stock_trainer() -> None:
    model = learner()
    ObjectiveCallback(model).on_optimizer_step(None, None, None)
    assert model.objective.steps == 1


def test_bad_options() -> None:
    for options, message in [
        ({"alpha": 1.5}, "alpha .* 1.5"),
        ({"decay": -1.0}, "decay .* -1.0"),
        ({"warmup": -3}, "warmup .* -3"),
    ]:
        with pytest.raises(ConfigError, match=message):
            objectives["distillation"].build(**options)
