"""Predictions of words that are masked one at a time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import torch

from numerate.metrics.ranks import ranks_of
from numerate.modeling.introspection import evaluating
from numerate.training.device_batches import BatchesByLength
from numerate_lab.tasks.masked_prediction.picked_states import picks_states, states_at
from numerate_lab.tasks.masked_prediction.unit_spellings import UnitSpellings
from numerate_lab.tasks.masked_prediction.word_masking import mask_id_of, padding_of
from numerate_lab.tasks.masked_prediction.word_positions import encode
from numerate_lab.tasks.masked_prediction.word_scores import WordScores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions

__all__ = ["number_shift", "score_words"]

TOKENS = {"cpu": 1 << 11}
"""Maximum number of tokens in an evaluation batch, by device."""
MANY_TOKENS = 1 << 16
"""Maximum number of tokens in an evaluation batch on an accelerator."""
_ROWS = 64


def score_words(
    model: NumberModel, encoded: Encoded, positions: WordPositions, tokens: int | None = None
) -> WordScores:
    """Masks every word alone, in large batches, and scores its prediction.

    Args:
        model: A model whose processor made `encoded`.
        encoded: The sentences.
        positions: The words.
        tokens: Approximate maximum number of tokens per batch; depends on the device by default.
    """
    count = len(positions)
    is_unit = torch.from_numpy(positions.labels["unit"]).to(model.device)
    spellings = UnitSpellings.of(model.processor.tokenizer.get_vocab()).to(model.device)
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
    model: NumberModel,
    sentences: Sequence[NumberSentence],
    positions: WordPositions,
    factor: float = 1000.0,
    numbers: str = "annotated",
    max_tokens: int = 128,
) -> np.ndarray:
    """Change of each word's prediction when the annotated number of its sentence is multiplied.

    Args:
        model: The model.
        sentences: The texts.
        positions: Their words.
        factor: Factor of the number in the text.
        numbers: Numbers to encode, see `encode`.
        max_tokens: Maximum length, see `encode`.

    Returns:
        (N,) float64, total variation distance of the two predicted distributions; NaN where a word is missing in
        either text or the sentence has no number.
    """
    changed = [sentence.scaled(factor) for sentence in sentences]
    after = positions.moved(sentences, changed)
    pair = [encode(model.processor, *each, numbers, max_tokens) for each in ((sentences, positions), (changed, after))]
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
    bounds = np.searchsorted(positions.sentence, np.arange(len(encoded.rows) + 1))
    mask_id, device = mask_id_of(model), model.device
    tokens = TOKENS.get(device.type, MANY_TOKENS) if tokens is None else tokens
    for part, batch in zip(made.parts, made.batches, strict=True):
        index = np.concatenate([np.arange(bounds[row], bounds[row + 1]) for row in part])
        lines = np.repeat(np.arange(len(part)), [bounds[row + 1] - bounds[row] for row in part])
        index, lines = index[wanted[index]], lines[wanted[index]]
        before = np.array([padding_of(encoded, row, batch) for row in part], dtype=np.int64)
        fields = {key: value.to(device) for key, value in batch.items()}
        step = max(1, tokens // (int(positions.lengths[part].max(initial=0)) + 2))
        for start in range(0, len(index), step):
            some = slice(start, start + step)
            at = torch.from_numpy(index[some]).to(device)
            line = torch.from_numpy(lines[some]).to(device)
            place = torch.from_numpy(encoded.places[index[some]] + before[lines[some]]).to(device)
            inputs = {key: value[line] for key, value in fields.items()}
            every = torch.arange(len(line), device=device)
            targets = inputs["input_ids"][every, place]
            inputs["input_ids"][every, place] = mask_id
            yield at, _logits_at(model, inputs, every, place), targets


def _logits_at(model: NumberModel, inputs: dict[str, Tensor], rows: Tensor, columns: Tensor) -> Tensor:
    """Logits of selected tokens of a batch: (n, V)."""
    if not picks_states(model):
        return model(**inputs, return_loss=False).logits[rows, columns]
    with states_at(model, rows, columns):
        return model(**inputs, return_loss=False).logits[:, 0]


@functools.lru_cache(maxsize=8)
def _row_batches(encoded: Encoded, positions: WordPositions) -> BatchesByLength:
    return BatchesByLength(encoded.rows, encoded.collate, _ROWS, positions.lengths.tolist())
