"""Column losses against hand computation."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from tiny_models import NUMBERS, PLAIN, new_backbone, number_batch, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.objectives.column import column_targets, same_column, soft_ranks, spearman_loss
from numerate.registry import objectives

EVERY = torch.ones(1, 4, 4, dtype=torch.bool)
SERIES = ["sizes 3 , 1 , -2 , 10", "prices 5 , 5 , 5", "one 7", PLAIN[0]]


def learner(**options: Any) -> Any:
    torch.manual_seed(0)
    backbone = new_backbone("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    objective = {"kind": "column", "ratio": 0.2, "number_ratio": 0.3, **options}
    return numerate.attach(backbone, tokenizer_of("bert"), "float", head="log-sign", objective=objective).eval()


def test_targets_by_hand() -> None:
    values = torch.tensor([[3.0, 1.0, -2.0, 10.0]]).double()
    wanted = [math.log(2), -1, math.log(10), 1, math.log(3), 1]
    assert column_targets(values, EVERY)[0, 2].tolist() == pytest.approx(wanted, abs=1e-6)
    two = same_column(torch.tensor([[True] * 4]), torch.tensor([[0, 1, 0, -1]]))
    got = column_targets(values, two)[0]
    assert got[0].tolist() == pytest.approx([math.log(2), -1, math.log(3), 1, math.log(0.5), 1], abs=1e-6)
    assert got[1].tolist() == pytest.approx([0, 1] * 3, abs=1e-6)
    assert two[0].int().tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]
    huge = torch.full((1, 4), 1.7e308, dtype=torch.float64)
    assert column_targets(huge, EVERY)[0, 0].tolist() == pytest.approx([math.log(1.7e308), 1] * 3)
    assert column_targets(torch.zeros(1, 4).double(), EVERY)[0, 0].tolist() == pytest.approx([math.log(1e-7), 0] * 3)


def test_soft_ranks_by_hand() -> None:
    scores = torch.tensor([[0.0, math.log(3), 0.0, 0.0]])
    # σ(ln 3) = 3/4: the second counts 3/4 against each of three others and 1/2 against itself.
    assert soft_ranks(scores, EVERY)[0].tolist() == pytest.approx([2.25, 3.25, 2.25, 2.25])


def test_sharp_ranks_give_spearmans_correlation() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        scores, values = generator.normal(size=7), generator.integers(0, 5, size=7).astype(float)
        every = torch.ones(1, 7, 7, dtype=torch.bool)
        loss, varied = spearman_loss(torch.tensor(scores)[None], torch.tensor(values)[None], every, sharpness=1e6)
        assert varied.all() and loss[0, 0].item() == pytest.approx(1 - spearmanr(scores, values).statistic, abs=1e-5)
    loss, varied = spearman_loss(torch.randn(1, 7), torch.ones(1, 7), torch.ones(1, 7, 7, dtype=torch.bool))
    assert not varied.any() and loss.isfinite().all()


def test_ranks_are_computed_within_a_column() -> None:
    values, scores = torch.tensor([[1.0, 9.0, 2.0, 8.0]]), torch.tensor([[5.0, 1.0, 7.0, 0.0]])
    same = same_column(torch.ones(1, 4, dtype=torch.bool), torch.tensor([[0, 1, 0, 1]]))
    loss, _ = spearman_loss(scores, values, same, sharpness=100.0)
    assert loss[0].tolist() == pytest.approx([0.0] * 4, abs=1e-5)
    whole, _ = spearman_loss(scores, values, EVERY, sharpness=100.0)
    assert whole[0, 0].item() == pytest.approx(1 - spearmanr(scores[0], values[0]).statistic, abs=1e-5)


def test_loss_by_hand() -> None:
    for columns in [None, [[0, 1, 0, 1], [2, 2, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]:
        model, plain = learner(column_weight=0.3, rank_weight=0.7), learner(column_weight=0.0, rank_weight=0.0)
        batch = number_batch(model, "bert", SERIES) | {"sample_id": torch.arange(4)}
        if columns is not None:
            batch["number_column"] = torch.tensor(columns)
        with torch.no_grad():
            extra = model(**batch, return_loss=True).loss - plain(**batch, return_loss=True).loss
            task = model.objective.prepare(dict(batch), model.vocabulary)
            embeddings = model.embed(model.backbone.get_input_embeddings(), task.inputs)
            passed = {"inputs_embeds": embeddings, "attention_mask": batch["attention_mask"]}
            states = model.backbone(**passed, output_hidden_states=True).hidden_states[-1]
            parts, errors, orders = model.objective_parts, [], []
            for row, values in enumerate(([3.0, 1.0, -2.0, 10.0], [5.0, 5.0, 5.0])):
                for column in {0} if columns is None else {0, 1, 2}:
                    inside = [i for i in range(len(values)) if columns is None or columns[row][i] == column]
                    if len(inside) < 2:
                        continue
                    numbers = [values[i] for i in inside]
                    seen = torch.stack([states[row, batch["number_slots"][row].tolist().index(i + 1)] for i in inside])
                    facts = (min(numbers), max(numbers), sum(numbers) / len(numbers))
                    target = [part for x in facts for part in (math.log(1e-7 + abs(x)), np.sign(x))]
                    errors.append((parts.layers(seen.mean(0)) - torch.tensor(target)).square().mean().item())
                    if len(set(numbers)) > 1:
                        scores = parts.order(seen)[:, 0].double().numpy()
                        soft = 1 / (1 + np.exp(scores[None] - scores[:, None]))
                        ranks = np.argsort(np.argsort(numbers)) + 1.0
                        orders.append(1 - np.corrcoef(0.5 + soft.sum(1), ranks)[0, 1])
        wanted = 0.3 * sum(errors) / len(errors) + 0.7 * sum(orders) / len(orders)
        assert extra.item() == pytest.approx(wanted, rel=2e-4), columns


def test_objective_layers_are_trained_and_saved(tmp_path: Any) -> None:
    model = learner(ratio=0.0, number_ratio=0.0, column_weight=1.0, rank_weight=1.0)
    batch = number_batch(model, "bert", SERIES)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(25):
        loss = model(**batch, return_loss=True).loss
        optimizer.zero_grad()
        loss.backward()
        assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert all(weight.grad.abs().sum() > 0 for weight in model.objective_parts.parameters())
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, copy.deepcopy(model.backbone), tokenizer_of("bert")).eval()
    assert torch.equal(again(**batch, return_loss=True).loss, model(**batch, return_loss=True).loss)


def test_single_numbers_and_words_add_no_loss() -> None:
    model, plain = learner(), learner(column_weight=0.0, rank_weight=0.0)
    for texts in (PLAIN, ["one 7", "two 8"]):
        batch = number_batch(model, "bert", texts) | {"sample_id": torch.arange(len(texts))}
        assert torch.equal(model(**batch, return_loss=True).loss, plain(**batch, return_loss=True).loss)


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bf16
def test_half_precision() -> None:
    model = learner().to(torch.bfloat16)
    loss = model(**number_batch(model, "bert", NUMBERS), return_loss=True).loss
    loss.backward()
    assert loss.isfinite() and all(w.grad is None or w.grad.isfinite().all() for w in model.parameters())


def test_bad_options_and_models_without_the_layers() -> None:
    with pytest.raises(ConfigError, match=r"sharpness must be positive, got 0\.0"):
        objectives["column"].build(sharpness=0.0)
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "luna")
    model.objective = objectives["column"].build()
    with pytest.raises(ValueError, match="objective='column'"):
        model(**number_batch(model, "bert", NUMBERS), return_loss=True)
