"""Training batches of masked words, and predictions of words that are masked one at a time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.metrics.ranks import ranks_of
from numerate.modeling.introspection import evaluating
from numerate.modeling.picked_states import logits_at
from numerate.training.device_batches import BatchesByLength
from numerate_lab.tasks.masked_prediction.word_positions import encode
from numerate_lab.tasks.masked_prediction.word_scores import UnitSpellings, WordScores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions

__all__ = ["MaskWords", "mask_id_of", "number_shift", "score_words", "word_batches"]

TOKENS, CPU_TOKENS = 1 << 16, 1 << 11
"""Maximum number of tokens in an evaluation batch on an accelerator, and on the CPU."""
_ROWS = 64


class MaskWords:
    """Collator of one prepared batch that masks random words on the device.

    Masks are drawn for the words of the *text*, so that they are the same for every encoding. [MASK], with `mask_id`,
    replaces all masked words, as in the papers: a share `ratio` of the words, and `next_ratio` (None for `ratio`) of
    the tokens right after the annotated number.
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
    for part, batch in zip(made.parts, made.batches, strict=True):
        index, lines, places = _words_of(encoded, positions, part, batch)
        counts = np.bincount(lines, minlength=len(part))
        known = torch.from_numpy(np.arange(counts.max(initial=0)) < counts[:, None])
        following = torch.from_numpy(positions.labels["next"][index])
        batch["word_places"] = torch.full(known.shape, -1).masked_scatter(known, torch.from_numpy(places))
        batch["word_next"] = torch.zeros_like(known).masked_scatter(known, following)
    return made


def _words_of(
    encoded: Encoded, positions: WordPositions, part: list[int], batch: dict[str, Tensor]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of the sentences of a batch, (n,) each: index of the position, row, and token (-1 if missing)."""
    begin, end = (np.searchsorted(positions.sentence, np.array(part) + more) for more in (0, 1))
    lines = np.repeat(np.arange(len(part)), end - begin)
    index = np.concatenate([np.arange(*bounds) for bounds in zip(begin, end, strict=True)])
    places = encoded.places[index]
    if encoded.collate.side == "left":
        padding = batch["input_ids"].shape[1] - np.array([len(encoded.rows[row]["input_ids"]) for row in part])
        places = np.where(places >= 0, places + padding[lines], -1)
    return index, lines, places


def mask_id_of(model: NumberModel) -> int:
    """Id of the mask token."""
    if model.vocabulary.mask_id is None:
        raise ValueError(f"masked words need a tokenizer with a mask token; {model.info.task!r} has none")
    return model.vocabulary.mask_id


def score_words(
    model: NumberModel, encoded: Encoded, positions: WordPositions, tokens: int | None = None
) -> WordScores:
    """Masks every word alone, in batches of at most about `tokens` tokens, and scores its prediction.

    The model's processor must have made `encoded`. By default, the number of tokens depends on the device.
    """
    count = len(positions)
    is_unit = torch.from_numpy(positions.labels["unit"]).to(model.device)
    spellings = UnitSpellings.of(model.processor.tokenizer.get_vocab(), model.device)
    nll, meaning = (torch.full((count,), torch.nan, dtype=torch.float64, device=model.device) for _ in range(2))
    better, equal = (torch.zeros(count, dtype=torch.int64, device=model.device) for _ in range(2))
    with evaluating(model):
        for index, logits, targets in _word_logits(model, encoded, positions, encoded.places >= 0, tokens):
            wide = logits.double()
            nll[index] = wide.logsumexp(-1) - wide.gather(1, targets[:, None])[:, 0]
            meaning[index] = torch.where(is_unit[index], spellings.nats(wide, targets), nll[index])
            better[index], equal[index] = ranks_of(logits, targets)
    return WordScores(*(column.cpu().numpy() for column in (nll, better, equal, meaning)))


def number_shift(
    model: NumberModel, sentences: Sequence[NumberSentence], positions: WordPositions,
    factor: float = 1000.0, **options: Any,
) -> np.ndarray:  # fmt: skip
    """Change of each word's prediction when the annotated number of its sentence is multiplied by a factor.

    Options are `numbers` and `max_tokens` of `encode`.

    Returns:
        (N,) float64, total variation distance of the two predicted distributions; NaN where a word is missing in
        either text or the sentence has no number.
    """
    changed = [sentence.scaled(factor) for sentence in sentences]
    after = positions.moved(sentences, changed)
    pair = [encode(model.processor, *each, **options) for each in ((sentences, positions), (changed, after))]
    numbered = np.array([sentence.numeral is not None for sentence in sentences], dtype=bool)
    wanted = (pair[0].places >= 0) & (pair[1].places >= 0) & numbered[positions.sentence]
    found = torch.full((len(positions),), torch.nan, dtype=torch.float64, device=model.device)
    streams = [_word_logits(model, encoded, positions, wanted) for encoded in pair]
    with evaluating(model):
        for (index, one, _), (_, other, _) in zip(*streams, strict=True):
            found[index] = (one.double().softmax(-1) - other.double().softmax(-1)).abs().sum(-1) / 2
    return found.cpu().numpy()


@torch.no_grad()
def _word_logits(
    model: NumberModel, encoded: Encoded, positions: WordPositions, wanted: np.ndarray, tokens: int | None = None
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yields indices (n,), logits (n, V) and targets (n,) of positions, each masked alone.

    Order and batches depend on the positions only, so that two encodings can be iterated in parallel.
    """
    made = _row_batches(encoded, positions)
    mask_id, device = mask_id_of(model), model.device
    tokens = tokens or (CPU_TOKENS if device.type == "cpu" else TOKENS)
    for part, batch in zip(made.parts, made.batches, strict=True):
        words = _words_of(encoded, positions, part, batch)
        chosen = [torch.from_numpy(column[wanted[words[0]]]).to(device) for column in words]
        fields = {key: value.to(device) for key, value in batch.items()}
        step = max(1, tokens // (int(positions.lengths[part].max(initial=0)) + 2))
        for start in range(0, len(chosen[0]), step):
            at, line, place = (column[start : start + step] for column in chosen)
            inputs = {key: value[line] for key, value in fields.items()}
            every = torch.arange(len(line), device=device)
            targets = inputs["input_ids"][every, place]
            inputs["input_ids"][every, place] = mask_id
            yield at, logits_at(model, inputs, every, place), targets


@functools.lru_cache(maxsize=8)
def _row_batches(encoded: Encoded, positions: WordPositions) -> BatchesByLength:
    return BatchesByLength(encoded.rows, encoded.collate, _ROWS, positions.lengths.tolist())
