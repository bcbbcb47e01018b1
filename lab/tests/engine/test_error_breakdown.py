"""Where answers go wrong, held against strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from numerate.training.results import write_predictions
from numerate_lab.engine.error_breakdown import magnitude_table, place_table, right_places
from numerate_lab.engine.grid import CompareConfig
from numerate_lab.engine.paired import said_by_encoding
from numerate_lab.engine.trial import CellConfig
from numerate_lab.tasks.asked_number.named_tasks import task_of

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = CompareConfig(encodings=("p10",), rates=(1e-3,), seeds=1, cell=CellConfig(task="multiply-3", test=60))


@given(
    st.lists(
        st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9) | st.none()), min_size=1, max_size=30
    ),
    st.integers(-4, 2),
)
def test_digits_are_those_of_the_strings(pairs: list[tuple[int, int | None]], power: int) -> None:
    """Digit by digit, as one would with paper and pencil."""
    found: dict[int, list[bool]] = {}
    for gold, said in pairs:
        right, guess = str(abs(gold)), "" if said is None else str(abs(said)).zfill(12)
        for place in range(len(right)):
            found.setdefault(place, []).append(said is not None and right[-1 - place] == guess[-1 - place])
    gold, said = (
        np.array([np.nan if one is None else one * 10.0**power for one in each]) for each in zip(*pairs, strict=True)
    )
    shares = right_places(said, gold, np.full(len(pairs), power))
    assert shares.tolist() == pytest.approx([np.mean(found[place]) for place in sorted(found)])


def test_long_answers_are_left_out() -> None:
    assert right_places(np.array([3e16]), np.array([3e16]), np.array([0])).tolist() == []
    assert right_places(np.array([np.inf, 1e308]), np.array([20.0, 2e-9]), np.array([0, -10])).tolist() == [0, 0]


def test_tables_of_predictions(tmp_path: Path) -> None:
    truth = task_of("multiply-3").truth("test", 60)
    gold = torch.from_numpy(truth.values)
    (cell,) = CONFIG.finals({"p10": 1e-3})
    said = torch.where(gold >= 1e5, gold + 1, gold)
    write_predictions(tmp_path / f"{cell.name}.npz", {"test_predicted": said, "test_gold": gold}, exact=("test_gold",))
    cells = {"p10": [{"cell": cell}]}
    found = said_by_encoding(CONFIG, tmp_path, cells)
    sizes, places = magnitude_table(*found), place_table(*found)
    assert sizes is not None and places is not None
    assert [cell.text for cell in sizes.body[0]][1:-1] == ["100.0"] * (len(sizes.body[0]) - 2)
    assert 0 < float(sizes.body[0][-1].text.strip("*")) < 100 and f"{int((gold >= 1e5).sum())} of 1e5" in sizes.notes[0]
    small = 100 * float((gold < 1e5).double().mean())
    assert float(places.body[0][1].text.strip("*")) == pytest.approx(small, abs=0.06)
    none = said_by_encoding(CONFIG, tmp_path, {"p10": []})
    assert magnitude_table(*none) is None and place_table(*none) is None


def test_one_magnitude_and_one_digit_have_no_table() -> None:
    gold = torch.arange(1.0, 10.0, dtype=torch.float64)
    truth = task_of("multiply-3").truth("test", 9)
    single = type(truth)(gold.numpy(), [str(int(one)) for one in gold], np.zeros(9, dtype=np.int64), None, {})
    assert magnitude_table(single, {"p10": [gold]}) is None and place_table(single, {"p10": [gold]}) is None
