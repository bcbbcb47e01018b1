"""Masks cells of tables as BERT masks words; token and number of a cell are hidden together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from numerate.objectives.draws import hashed_uniform

__all__ = ["MaskedCells", "mask_cells"]

_MASKED, _SWAPPED = 0.8, 0.9
"""Of the chosen cells, 80 % are masked, 10 % show the cell of another window, 10 % are left as they are."""


@dataclass(frozen=True)
class MaskedCells:
    """Which cells of a batch are scored, and what is shown at them.

    Shape: all (B, R, F) bool.

    Attributes:
        chosen: Cells that are predicted.
        hidden: Chosen cells that are shown as [MASK], without their number.
        swapped: Chosen cells that show the same cell, token and number, of the window before them in the batch.
    """

    chosen: Tensor
    hidden: Tensor
    swapped: Tensor

    def shown(self, cells: Tensor, mask: int) -> Tensor:
        """What the model sees of ids or of indices of numbers: (B, R, K), for the first K or all fields.

        Example:
            >>> cells = mask_cells(torch.arange(64), (64, 10, 3), ratio=1.0)
            >>> ids = torch.arange(64)[:, None, None].expand(64, 10, 3)
            >>> seen = cells.shown(ids, mask=-1)
            >>> round((seen == -1).float().mean().item(), 1), round((seen == ids).float().mean().item(), 1)
            (0.8, 0.1)
        """
        hidden, swapped = self.hidden, self.swapped
        return torch.where(hidden, mask, torch.where(swapped, other_cells(cells), cells))

    def of_fields(self, fields: Tensor) -> MaskedCells:
        """The masks of some fields (K,) int64: (B, R, K)."""
        return MaskedCells(*(mask.index_select(2, fields) for mask in (self.chosen, self.hidden, self.swapped)))


def other_cells(cells: Tensor) -> Tensor:
    """The cells of the window before each in the batch; in a batch of one window, of the row before."""
    return cells.roll(1, 0) if len(cells) > 1 else cells.roll(1, 1)


def mask_cells(
    samples: Tensor, shape: tuple[int, int, int], *, ratio: float = 0.15, seed: int = 0, epoch: int | Tensor = 0
) -> MaskedCells:
    """Chooses cells by a hash of (seed, epoch, sample, cell), so that masks do not depend on batches or processes.

    A cell that shows another value shows one that its field has: TabFormer draws it from the values of all fields,
    where most draws are visibly out of place.

    Args:
        samples: (B,) ids of the windows.
        shape: (B, R, F).
        ratio: Share of cells that are chosen.
        seed: Seed of the run.
        epoch: Epoch, so that a window has new masks in each; a tensor () in a step that is recorded.

    Example:
        >>> cells = mask_cells(torch.arange(100), (100, 10, 11))
        >>> abs(cells.chosen.float().mean().item() - 0.15) < 0.01
        True
    """
    batch, rows, fields = shape
    place = torch.arange(rows * fields, device=samples.device).expand(batch, -1)
    first, second = (hashed_uniform(samples, place, seed, epoch, stream).view(shape) for stream in (1, 2))
    chosen = first < ratio
    return MaskedCells(chosen, chosen & (second < _MASKED), chosen & (second >= _MASKED) & (second < _SWAPPED))
