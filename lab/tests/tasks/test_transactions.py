"""Card transactions: scores against scikit-learn, what a masked number shows, training, and all rows of the table."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from sklearn import metrics as reference

from numerate.config import ConfigError
from numerate.objectives.cell_masking import MaskedCells, mask_cells
from numerate.processing.static_shapes import Counts, fixed_counts
from numerate.registry import UnknownNameError
from numerate_lab.engine.grid import Grid, against_base, recompute, run_grids
from numerate_lab.engine.page import write_comparison
from numerate_lab.tasks.transactions.card_histories import CardHistoriesConfig, card_histories
from numerate_lab.tasks.transactions.card_rows import write_rows
from numerate_lab.tasks.transactions.fraud_scores import best_threshold, f1_difference, f1_score, fraud_figures
from numerate_lab.tasks.transactions.number_cells import load_number_cells
from numerate_lab.tasks.transactions.transaction_training import fraud_scores, pretrain, train_fraud_head
from numerate_lab.tasks.transactions.transactions import Transactions, TransactionsTrial

if TYPE_CHECKING:
    from pathlib import Path

ENCODINGS = ("baseline", "regression", "addback-0.1M", "replace-log-fourier", "ours")


def trial_of(name: str = "ours", **options: Any) -> TransactionsTrial:
    fields = {"encoding": name} | Transactions.encoding(name) | options
    return Transactions.trial("transactions", Transactions.scales["tiny"] | fields)  # type: ignore[return-value]


def test_scores_against_scikit_learn() -> None:
    draws = np.random.default_rng(0)
    for rate in (0.02, 0.3, 0.9):
        gold, score = draws.random(300) < rate, draws.integers(0, 40, 300) / 40
        for cut in (0.0, 0.3, 0.99):
            figures = fraud_figures(gold, score, cut)
            assert figures["f1"] == pytest.approx(reference.f1_score(gold, score >= cut, zero_division=0))
            right = reference.precision_score(gold, score >= cut, zero_division=0)
            assert (figures["precision"] or 0) == pytest.approx(right)
            assert figures["recall"] == pytest.approx(reference.recall_score(gold, score >= cut))
        threshold, f1 = best_threshold(gold, score)
        cuts = [reference.f1_score(gold, score >= cut, zero_division=0) for cut in np.unique(score)]
        assert f1 == pytest.approx(max(cuts)) and f1_score(gold, score >= threshold) == pytest.approx(f1)
    assert best_threshold(np.zeros(3, dtype=bool), np.ones(3)) == (0.5, 0.0)
    for kind in (np.float32, np.float64):  # there is no number of the kind between two neighbours
        close = np.array([1.0, np.nextafter(kind(1), kind(0)), 0.5], dtype=kind)
        gold = np.array([True, False, False])
        threshold, f1 = best_threshold(gold, close)
        assert f1 == 1.0 == fraud_figures(gold, close, threshold)["f1"]
    assert fraud_figures(np.zeros(3, dtype=bool), np.ones(3), 0.5)["f1"] is None


def test_difference_of_f1_with_an_interval() -> None:
    draws = np.random.default_rng(0)
    gold = draws.random(2000) < 0.2
    ours, base = (np.where(draws.random(2000) < wrong, ~gold, gold) for wrong in (0.05, 0.15))
    found = f1_difference(gold, [ours, ours], [base], np.arange(2000) // 10, resamples=500)
    exact = reference.f1_score(gold, ours) - reference.f1_score(gold, base)
    assert found["estimate"] == pytest.approx(exact) and found["low"] < exact < found["high"]
    assert found["low"] > 0 and found["clusters"] == 200
    same = f1_difference(gold, [base], [base], np.arange(2000), resamples=100)
    assert same["low"] == same["high"] == same["estimate"] == 0


def test_a_hidden_number_cannot_be_read_off_the_input() -> None:
    for name in ("addback-log-fourier", "replace-log-fourier", "ours"):
        task = Transactions(trial_of(name))
        model, data = task.build().eval(), task.data()
        ids, numbers = data.batch("train", torch.arange(4))
        chosen = torch.zeros(ids.shape, dtype=torch.bool)
        chosen[0, 2] = True  # a whole row, with all its numbers
        masks = MaskedCells(chosen, chosen, torch.zeros_like(chosen))
        other_ids, other_numbers = ids.clone(), numbers.clone()
        other_ids[0, 2], other_numbers[0, 2] = ids[1, 5], numbers[1, 5]
        own = masks.of_fields(model.fields)

        def vectors(ids: torch.Tensor, numbers: torch.Tensor, hide: bool) -> torch.Tensor:
            if hide:
                ids, numbers = masks.shown(ids, 2), own.shown(numbers, -1)  # noqa: B023
            return model.cell_vectors(ids, numbers, data.table)  # noqa: B023

        assert torch.equal(vectors(ids, numbers, True), vectors(other_ids, other_numbers, True)), name
        assert not torch.equal(vectors(ids, numbers, False), vectors(ids, other_numbers, False)), name
        given = vectors(ids, numbers, False)
        cents = model.config.fields.index(3)
        token = model.backbone.get_input_embeddings()(ids if model.config.placement == "addback" else torch.tensor(4))
        token = token[0, 0, 3] if model.config.placement == "addback" else token
        number = model.embedder(data.table[numbers[0, 0, cents : cents + 1]])[0]
        if model.relations is not None:
            amounts = data.table[numbers[0, :, cents]]
            number = number + model.relations(torch.arange(1, 11)[None], amounts[torch.arange(10)[None]])[0, 0]
        torch.testing.assert_close(given[0, 0, 3], token + number)


def test_ratios_are_of_the_same_field_in_the_rows_beside() -> None:
    task = Transactions(trial_of("ours-all-fields"))
    model, data = task.build().eval(), task.data()
    _, numbers = data.batch("train", torch.arange(2))
    found = model._ratios(numbers, data.table)
    assert found.shape == (*numbers.shape, 8)
    changed = numbers.clone()
    changed[0, 5, 1] = numbers[1, 0, 1]  # an amount
    differs = (model._ratios(changed, data.table) != found).any(-1)
    assert set(map(tuple, differs.nonzero().tolist())) <= {(0, row, 1) for row in (4, 5, 6)} and differs[0, 5, 1]


def test_number_losses_are_means_by_field_of_masked_numbers() -> None:
    task = Transactions(trial_of("regression"))
    model, data = task.build().eval(), task.data()
    ids, numbers = data.batch("train", torch.arange(6))
    masks = mask_cells(torch.arange(6), (6, 10, 11), ratio=0.3)
    with torch.no_grad():
        for scored in ("masked", "all"):
            cells, found = model.pretraining_losses(ids, numbers, data.table, masks, scored)
            seen = model.cell_vectors(masks.shown(ids, 2), numbers, data.table)
            labels = ids if scored == "all" else ids.masked_fill(~masks.chosen, -100)
            output: Any = model.backbone(inputs_embeds=seen, labels=labels)
            total = 0.0
            for place, field in enumerate(model.config.fields):
                wanted = (numbers[..., place] >= 0) & (masks.chosen[..., field] | (scored == "all"))
                states = output.last_hidden_state[:, :, field][wanted]
                terms = model.head.loss(model.widen(states), data.table[numbers[..., place][wanted]])
                total += float(terms.mean())
            assert float(found) == pytest.approx(total, rel=1e-5) and float(cells) == pytest.approx(float(output.loss))


@pytest.mark.parametrize("name", ["addback-0.1M", "ours", "regression"])
def test_steps_of_fixed_shapes_have_the_same_losses_and_gradients(name: str) -> None:
    task = Transactions(trial_of(name, dropout=0.0))
    model, data = task.build(), task.data()
    chosen = torch.arange(8)
    ids, numbers = data.batch("pretrain", chosen)
    masks = mask_cells(chosen, (8, *ids.shape[1:]), ratio=0.3, epoch=torch.tensor(2))
    found = []
    for context in (contextlib.nullcontext(), fixed_counts(Counts(numbers=0, tokens=0))):
        model.zero_grad()
        with context:
            cells, values = model.eval().pretraining_losses(ids, numbers, data.table, masks)
        (cells + values).backward()
        grads = [weight.grad.norm() for weight in model.parameters() if weight.grad is not None]
        found.append(torch.stack([cells.detach(), values.detach(), *grads]))
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-5)


def test_pre_training_learns_and_the_fraud_head_leaves_it_alone(tmp_path: Path) -> None:
    task = Transactions(trial_of("ours", rate=5e-3, epochs=6))
    model, data = task.build(), task.data()
    losses = pretrain(model, data, task.config)["losses"]
    first, last = (np.mean([one["numbers"] for one in part]) for part in (losses[:5], losses[-5:]))
    assert losses[-1]["cells"] < losses[0]["cells"] - 2 and last < first
    before = {name: value.clone() for name, value in model.backbone.state_dict().items()}
    found = train_fraud_head(model, data, task.config)
    assert all(torch.equal(value, before[name]) for name, value in model.backbone.state_dict().items())
    gold, score = data.windows.labels("dev"), fraud_scores(model, data, "dev", False)
    assert max(look["f1"] for look in found["looks"]) == pytest.approx(f1_score(gold, score >= float(model.threshold)))
    model.save_pretrained(tmp_path)
    again = load_number_cells(tmp_path)
    assert np.array_equal(fraud_scores(again, data, "dev", False), score)
    assert float(again.threshold) == float(model.threshold)


def test_all_rows_of_the_table_from_the_engine(tmp_path: Path) -> None:
    """A smoke run: five encodings, a split by user, results, table, comparison and recomputation."""
    small = {"epochs": 1, "head_epochs": 1, "rows": 1600, "users": 20, "split": "user", "fraud_rate": 0.1}
    encodings = {name: Transactions.encoding(name) for name in ENCODINGS}
    grid = Grid(
        task="transactions", encodings=encodings, rates=(1e-3,), seeds=1, base="baseline", resamples=50, name="cards",
        trial=Transactions.trial("transactions", Transactions.scales["tiny"] | small),
    )  # fmt: skip
    lines: list[str] = []
    run_grids([grid], tmp_path, log=lines.append)
    for name in ENCODINGS:
        trial = json.loads((tmp_path / "cards" / f"{name}-user-rate0.001-seed0-epochs1.json").read_text("utf-8"))
        assert 0 <= trial["figures"]["test"]["f1"] <= 1 and trial["config"]["split"] == "user", name
        losses = trial["figures"]["training"]["losses"]
        assert (losses[0]["numbers"] > 0) == (name != "baseline"), name
    assert set(against_base(grid, tmp_path, "ours")["f1"]) == {"estimate", "low", "high", "clusters"}
    assert all(recompute(grid, tmp_path).values())
    write_comparison(grid, tmp_path)
    table = (tmp_path / "cards" / "compare.md").read_text("utf-8")
    assert (
        "transactions, test, less baseline" in table
        and "| frequencies |" in table
        and "split by user" in table
        and "| ours |" in table
    )


def test_a_file_is_read_once_for_all_trials(tmp_path: Path) -> None:
    rows = card_histories(CardHistoriesConfig(rows=1200, users=15, fraud_rate=0.1))
    file = write_rows(rows, tmp_path / "cards.csv")
    task = Transactions(trial_of(source=str(file), rows=None))
    task.workspace.data = tmp_path / "shared"
    lines: list[str] = []
    task.prepare(lines.append)
    assert lines == [f"cards.csv: 1,200 rows, {rows.fraud.sum()} fraudulent"]
    file.unlink()
    other = Transactions(task.config)
    other.workspace.data = tmp_path / "shared"
    assert np.array_equal(other.card_rows().cents, rows.cents)


@pytest.mark.shared("data/transactions")
def test_the_real_sample_runs(shared: Path) -> None:
    source = str(shared / "data" / "transactions" / "user0.csv.gz")
    options = {"source": source, "rows": None, "epochs": 1, "batch": 128, "head_epochs": 1, "head_batch": 512}
    task = Transactions(trial_of("ours", **options))
    assert len(task.examples("train")[0]) == 1198 and len(task.examples("test")[0]) == 399
    assert sum(int(task.examples(split)[1].sum()) for split in ("train", "dev", "test")) >= 5
    model = task.build()
    task.train(model)
    figures = task.score("test", task.ask(model, "test"))["test"]
    assert task.notes()[0].startswith("all rows of user0.csv.gz")
    assert Transactions(trial_of("ours", source=source, rows=500)).notes()[0].startswith("the first 500 rows of user0")
    assert figures["windows"] == 399 and figures["frauds"] == task.examples("test")[1].sum()


def test_bad_settings_are_one_line() -> None:
    for options, message in (
        ({"numbers": ["amount"]}, "numbers has the unknown field 'amount'"),
        ({"placement": "addback", "embedder": None}, "placement and embedder go together"),
        ({"numbers": [], "head": {"kind": "log-sign"}}, "an embedder or a head needs fields in numbers"),
        ({"relations": 1}, "relations needs an embedder, and 0 or more, got 1"),
        ({"data_seed": -1}, "data_seed must not be negative, got -1"),
        ({"ratio": 1.5}, "ratio must lie between 0 and 1, got 1.5"),
        ({"split": "card"}, "split is 'card', expected one of 'random', 'user'"),
    ):
        with pytest.raises(ConfigError, match=message):
            trial_of("baseline", **options)
    assert Transactions.encoding("addback-dice+none")["head"] is None
    with pytest.raises(UnknownNameError, match="unknown encoding 'adback': did you mean 'addback'"):
        Transactions.encoding("adback")
    with pytest.raises(ConfigError, match="a try of a rate takes all 2 epochs"):
        trial_of().tried(1e-3, 0.9)
    with pytest.raises(ConfigError, match="generated histories need a number of rows"):
        Transactions(trial_of(rows=None)).card_rows()
    honest = Transactions(dataclasses.replace(trial_of(), fraud_rate=0.0, epochs=1))
    told: list[str] = []
    with pytest.raises(ConfigError, match="no fraudulent window among"):
        honest.train(honest.build(), told.append)
    assert not told, "before anything is trained"
