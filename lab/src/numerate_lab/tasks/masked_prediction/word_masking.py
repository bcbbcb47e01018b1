"""Training batches of masked words."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate.training.device_batches import BatchesByLength

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions

__all__ = ["MaskWords", "mask_id_of", "padding_of", "word_batches"]


class MaskWords:
    """Collator of one prepared batch that masks random words on the device.

    Masks are drawn for the words of the *text*, so that they are the same for every encoding.

    Args:
        mask_id: Id of [MASK], which replaces all masked words, as in the papers.
        ratio: Share of masked words.
        next_ratio: Share of masked tokens right after the annotated number; None for `ratio`.
        seed: Random seed.
    """

    def __init__(self, mask_id: int, ratio: float = 0.15, next_ratio: float | None = None, seed: int = 0) -> None:
        self.mask_id, self.ratio = mask_id, ratio
        self.next_ratio = ratio if next_ratio is None else next_ratio
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """The batch with masks in `input_ids` and `labels`.

        Shape:
            `word_places`: (B, P), maskable tokens, padded with -1; `word_next`: (B, P) bool. Both are dropped.
        """
        batch = dict(batches[0])
        places, following, ids = batch.pop("word_places"), batch.pop("word_next"), batch["input_ids"]
        drawn = torch.rand(places.shape, generator=self.generator).to(ids.device)
        chosen = (drawn < torch.where(following, self.next_ratio, self.ratio)) & (places >= 0)
        nowhere = ids.shape[1]
        hidden = torch.zeros(len(ids), nowhere + 1, dtype=torch.bool, device=ids.device)
        hidden = hidden.scatter_(1, torch.where(chosen, places, nowhere), True)[:, :nowhere]
        batch["labels"] = torch.where(hidden, ids, -100)
        batch["input_ids"] = torch.where(hidden, self.mask_id, ids)
        return batch


@functools.lru_cache(maxsize=4)  # trials of one encoding share them
def word_batches(encoded: Encoded, positions: WordPositions, size: int) -> BatchesByLength:
    """Batches for `MaskWords`, sorted by the length of the plain text: the same sentences for every encoding."""
    made = BatchesByLength(encoded.rows, encoded.collate, size, positions.lengths.tolist())
    bounds = np.searchsorted(positions.sentence, np.arange(len(encoded.rows) + 1))
    for part, batch in zip(made.parts, made.batches, strict=True):
        width = max((int(bounds[row + 1] - bounds[row]) for row in part), default=0)
        places = torch.full((len(part), width), -1)
        following = torch.zeros(len(part), width, dtype=torch.bool)
        for line, row in enumerate(part):
            some = slice(bounds[row], bounds[row + 1])
            own = encoded.places[some]
            own = np.where(own >= 0, own + padding_of(encoded, row, batch), -1)
            places[line, : len(own)] = torch.from_numpy(own)
            following[line, : len(own)] = torch.from_numpy(positions.labels["next"][some])
        batch["word_places"], batch["word_next"] = places, following
    return made


def padding_of(encoded: Encoded, row: int, batch: dict[str, Tensor]) -> int:
    """Number of padding tokens on the left of a row in its batch."""
    left = encoded.collate.side == "left"
    return batch["input_ids"].shape[1] - len(encoded.rows[row]["input_ids"]) if left else 0


def mask_id_of(model: NumberModel) -> int:
    """Id of the mask token."""
    if model.vocabulary.mask_id is None:
        raise ValueError(f"masked words need a tokenizer with a mask token; {model.info.task!r} has none")
    return model.vocabulary.mask_id
