"""Windows of cells: quantisation, vocabularies, windows and splits against loops, and the numbers of cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from numerate.backbones.tabbert import SPECIAL_TOKENS, UNK
from numerate.config import ConfigError
from numerate.processing.number_table import encode_characters
from numerate_lab.tasks.transactions.card_histories import CardHistoriesConfig, card_histories
from numerate_lab.tasks.transactions.cell_windows import (
    FIELDS,
    NUMBER_FIELDS,
    Vocabularies,
    cell_windows,
    quantile_bins,
    quantised,
    split_windows,
)

ROWS = card_histories(CardHistoriesConfig(rows=1500, users=12, merchants=200, cities=6, seed=2))


def test_quantisation_against_a_loop() -> None:
    """TabFormer's rule, value by value: the number of edges that are not above it, clipped, from 0."""
    values = np.log(np.maximum(1.0, ROWS.cents / 100))
    edges = quantile_bins(values)
    by_hand = [min(max(sum(edge <= value for edge in edges), 1), 10) - 1 for value in values]
    found = quantised(values, edges)
    assert found.tolist() == by_hand
    counts = np.bincount(found, minlength=10)
    assert counts.max() < 1.3 * counts.min(), "bins of equal frequency"
    assert (found[ROWS.cents < 0] == 0).all(), "refunds are in the lowest bin"


def test_ids_against_a_loop_and_unknown_values() -> None:
    vocabularies = Vocabularies.fit(ROWS[:700])
    ids = vocabularies.ids(ROWS)
    starts = np.cumsum([len(SPECIAL_TOKENS), *vocabularies.sizes])
    for at, field in enumerate(FIELDS):
        if field in vocabularies.edges:
            assert ((ids[:, at] >= starts[at]) & (ids[:, at] < starts[at + 1])).all()
            continue
        known = sorted(set(getattr(ROWS, field)[:700].tolist()))
        wanted = [starts[at] + known.index(v) if v in known else UNK for v in getattr(ROWS, field).tolist()]
        assert ids[:, at].tolist() == wanted, field
    assert (ids[:700] != UNK).all() and (ids[700:, FIELDS.index("user")] == UNK).any()


@pytest.mark.parametrize("by", ["random", "user"])
def test_splits_against_a_loop(by: str) -> None:
    found = split_windows(ROWS.user, by, stride=3, seed=5)  # type: ignore[arg-type]
    expected = []
    for user in range(12):
        own = np.flatnonzero(ROWS.user == user)
        expected += [own[at] for at in range(0, len(own) - 9, 10)]
    together = np.concatenate([found[name] for name in ("train", "dev", "test")])
    assert sorted(together) == sorted(expected), "each window is in one split"
    shares = [len(found[name]) / len(expected) for name in ("train", "dev", "test")]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.01 if by == "random" else 0.2)
    users = [set(ROWS.user[found[name]].tolist()) for name in ("train", "dev", "test")]
    if by == "user":
        assert not users[0] & users[1] and not users[0] & users[2] and not users[1] & users[2]
    else:
        assert users[0] & users[2], "the published split has the same users on both sides"
    trained = {row for start in found["train"] for row in range(start, start + 10)}
    shifted = []
    for user in range(12):
        own = np.flatnonzero(ROWS.user == user)
        windows = [range(own[at], own[at] + 10) for at in range(0, len(own) - 9, 3)]
        shifted += [window[0] for window in windows if set(window) <= trained]
    assert found["pretrain"].tolist() == shifted
    again = split_windows(ROWS.user, by, stride=3, seed=5)  # type: ignore[arg-type]
    assert all(np.array_equal(found[name], again[name]) for name in found)


def test_numbers_of_cells() -> None:
    starts = split_windows(ROWS.user, "random")
    windows = cell_windows(ROWS, starts)
    values = windows.table.values().numpy()
    for at, field in enumerate(NUMBER_FIELDS):
        index = windows.numbers[:, at].numpy()
        column = getattr(ROWS, field) / (100 if field == "cents" else 1)
        there = index >= 0
        assert np.array_equal(values[index[there]], column[there]), field
        assert np.array_equal(there, ROWS.zip != -1 if field == "zip" else np.ones(len(ROWS), dtype=bool)), field
    refund = int(np.flatnonzero(ROWS.cents < 0)[0])
    place = int(windows.numbers[refund, NUMBER_FIELDS.index("cents")])
    text = f"-{-ROWS.cents[refund] / 100:.2f}"
    assert windows.table.characters[place].tolist()[: len(text)] == encode_characters(text), "a refund keeps its sign"
    fine = cell_windows(ROWS, starts, ["minute"], time_unit="nanoseconds")
    assert float(fine.table.values()[fine.numbers[0, 0]]) == ROWS.minute[0] * 60e9
    text = str(int(ROWS.minute[0]) * 60 * 10**9)
    assert fine.table.characters[int(fine.numbers[0, 0])].tolist()[: len(text)] == encode_characters(text)
    assert len(cell_windows(ROWS, starts, []).table) == 0
    assert (cell_windows(ROWS, starts, [], known_users=False).ids[:, 0] == UNK).all(), "also in training"


def test_labels_of_windows() -> None:
    starts = split_windows(ROWS.user, "random")
    windows = cell_windows(dataclasses.replace(ROWS, fraud=np.arange(len(ROWS)) % 31 == 0), starts)
    by_hand = [any(row % 31 == 0 for row in range(start, start + 10)) for start in starts["dev"]]
    assert windows.labels("dev").tolist() == by_hand and sum(by_hand)
    assert windows.users("dev").tolist() == ROWS.user[starts["dev"]].tolist()


def test_too_few_users_or_rows_are_one_line() -> None:
    with pytest.raises(ConfigError, match=r"split='user' leaves no window for dev among 10 windows .* split='random'"):
        split_windows(np.zeros(100, dtype=np.int32), "user")
    short = "leaves no window for train among 0 windows .* give users with at least 10 rows"
    for by in ("random", "user"):
        with pytest.raises(ConfigError, match=f"split='{by}' {short}"):
            split_windows(np.arange(36, dtype=np.int32) // 9, by)
