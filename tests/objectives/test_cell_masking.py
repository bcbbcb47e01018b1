"""Masks of cells: shares by counting, the same mask in any batch, and what is shown."""

from __future__ import annotations

import pytest
import torch

from numerate.objectives.cell_masking import mask_cells

SHAPE = (400, 10, 11)


def test_shares_by_counting() -> None:
    masks = mask_cells(torch.arange(400), SHAPE, ratio=0.15, seed=3)
    cells = masks.chosen.numel()  # 44,000: a share of 0.15 has a deviation of 0.0017
    chosen = masks.chosen.sum().item()
    assert chosen / cells == pytest.approx(0.15, abs=0.007)
    assert masks.hidden.sum().item() / chosen == pytest.approx(0.8, abs=0.02)
    assert masks.swapped.sum().item() / chosen == pytest.approx(0.1, abs=0.015)
    assert not (masks.hidden & masks.swapped).any() and not (masks.hidden & ~masks.chosen).any()
    for axis in ((0, 1), (0, 2)):  # no field and no row of a window is preferred
        assert masks.chosen.double().mean(axis).sub(0.15).abs().max() < 0.03


def test_masks_depend_on_sample_seed_and_epoch_alone() -> None:
    whole = mask_cells(torch.arange(400), SHAPE, seed=3, epoch=1)
    some = mask_cells(torch.tensor([399, 7]), (2, 10, 11), seed=3, epoch=1)
    assert torch.equal(some.chosen, whole.chosen[[399, 7]]) and torch.equal(some.swapped, whole.swapped[[399, 7]])
    for other in (mask_cells(torch.arange(400), SHAPE, seed=4, epoch=1), mask_cells(torch.arange(400), SHAPE, seed=3)):
        assert (other.chosen & whole.chosen).double().mean() == pytest.approx(0.15**2, abs=0.005)


def test_what_is_shown() -> None:
    ids = torch.randint(0, 1000, (6, 10, 11))
    masks = mask_cells(torch.arange(6), (6, 10, 11), ratio=0.5)
    shown = masks.shown(ids, mask=-7)
    assert (shown[masks.hidden] == -7).all()
    assert torch.equal(shown[masks.swapped], ids.roll(1, 0)[masks.swapped])
    rest = ~masks.hidden & ~masks.swapped
    assert torch.equal(shown[rest], ids[rest])
    own = masks.of_fields(torch.tensor([3, 8]))
    assert torch.equal(own.shown(ids[..., [3, 8]], -7), shown[..., [3, 8]]), "a number is hidden with its cell"
    alone = mask_cells(torch.arange(1), (1, 10, 11), ratio=0.5)
    assert torch.equal(alone.shown(ids[:1], -7)[alone.swapped], ids[:1].roll(1, 1)[alone.swapped])
