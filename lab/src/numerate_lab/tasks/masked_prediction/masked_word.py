"""Masked words: does a sense of numbers help to predict the words beside them?

The protocol of Thawani et al. 2021: every eligible word of a sentence is masked alone and predicted, the same words for
every encoder. `word_positions` says which they are, `word_scores` what the scores say.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.metrics.ranks import ranks_of
from numerate.modeling.introspection import evaluating
from numerate.training.device_batches import BatchesByLength
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import prediction_setup as literacy
from numerate_lab.tasks.masked_prediction.fitting import fit
from numerate_lab.tasks.masked_prediction.picked_states import picks_states, states_at
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig
from numerate_lab.tasks.masked_prediction.unit_spellings import UnitSpellings
from numerate_lab.tasks.masked_prediction.word_positions import encode
from numerate_lab.tasks.masked_prediction.word_scores import WordScores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded, WordPositions

__all__ = ["MaskWords", "MaskedWord", "number_shift", "score_words", "word_batches"]

TOKENS = {"cpu": 1 << 11}
"""So many tokens go through the model at once in evaluation, by device."""
MANY_TOKENS = 1 << 16
"""The same on an accelerator."""
_ROWS = 64


@tasks.register("masked-word")
class MaskedWord:
    """The task on one set of sentences; `prediction_trial.run_cell` does all of it.

    Args:
        config: Data, model, training.
    """

    Config = LiteracyConfig
    version = 1

    def __init__(self, config: LiteracyConfig) -> None:
        self.config = config

    def build(self) -> NumberModel:
        """A fresh model."""
        return literacy.build(self.config)

    def train(self, model: NumberModel) -> dict[str, Any]:
        """Trains it on the training split, masks drawn anew for each batch."""
        config = self.config
        _, positions = literacy.load_split(config, "train")
        encoded = literacy.encoded_split(config, model, "train")
        mask = MaskWords(_mask_id(model), config.ratio, config.next_ratio, config.seed)
        return fit(model, config, lambda device: word_batches(encoded, positions, config.batch).to(device), mask)

    def evaluate(self, model: NumberModel, split: str = "test") -> WordScores:
        """Scores of every word of a split."""
        _, positions = literacy.load_split(self.config, split)
        return score_words(model, literacy.encoded_split(self.config, model, split), positions)

    def shift(self, model: NumberModel, split: str = "test", factor: float = 1000.0) -> np.ndarray:
        """How far each word's prediction moves with the number, see `number_shift`."""
        sentences, positions = literacy.load_split(self.config, split)
        return number_shift(model, sentences, positions, factor, self.config.numbers, self.config.max_tokens)


class MaskWords:
    """A Trainer's collator of one ready batch: masks some of its words, on the device.

    Which words is drawn from the seed for the words of the *text*, so that every encoder has the same ones masked.

    Args:
        mask_id: Of [MASK].
        ratio: Share of the words that are masked. Always by [MASK], as in the papers.
        next_ratio: Share of the tokens right behind the annotated number; None for `ratio`.
        seed: Of the draws.
    """

    def __init__(self, mask_id: int, ratio: float = 0.15, next_ratio: float | None = None, seed: int = 0) -> None:
        self.mask_id, self.ratio = mask_id, ratio
        self.next_ratio = ratio if next_ratio is None else next_ratio
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        """The batch with words hidden in `input_ids`, and what they are in `labels`.

        Shape:
            `word_places`: (B, P), the tokens that may be masked, -1 for none. `word_next`: (B, P) bool. Both go.
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


@functools.lru_cache(maxsize=4)  # cells of one encoder differ in seed and learning rate, and share these
def word_batches(encoded: Encoded, positions: WordPositions, size: int) -> BatchesByLength:
    """Batches for `MaskWords`, sorted by the bare text's tokens: the same sentences in each, whatever the encoder."""
    made = BatchesByLength(encoded.rows, encoded.collate, size, positions.lengths.tolist())
    bounds = np.searchsorted(positions.sentence, np.arange(len(encoded.rows) + 1))
    for part, batch in zip(made.parts, made.batches, strict=True):
        width = max((int(bounds[row + 1] - bounds[row]) for row in part), default=0)
        places = torch.full((len(part), width), -1)
        following = torch.zeros(len(part), width, dtype=torch.bool)
        for line, row in enumerate(part):
            some = slice(bounds[row], bounds[row + 1])
            own = encoded.places[some]
            own = np.where(own >= 0, own + _padding(encoded, row, batch), -1)
            places[line, : len(own)] = torch.from_numpy(own)
            following[line, : len(own)] = torch.from_numpy(positions.labels["next"][some])
        batch["word_places"], batch["word_next"] = places, following
    return made


def score_words(
    model: NumberModel, encoded: Encoded, positions: WordPositions, tokens: int | None = None
) -> WordScores:
    """Masks every word alone and looks how probable the model holds it, many at once.

    Args:
        model: Its processor made `encoded`.
        encoded: The sentences.
        positions: The words.
        tokens: At most about so many go through the model at once; by default what fits the device.
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
    """How far the prediction of each word moves when its sentence's number is multiplied: which words depend on it.

    Args:
        model: Any encoder's.
        sentences: The texts.
        positions: Their words.
        factor: What the annotated number is multiplied by, in the text itself.
        numbers: See `encode`.
        max_tokens: See `encode`.

    Returns:
        (N,) float64, the total variation distance of the two predicted distributions, from 0 to 1; NaN where a word is
        missing in either, or where there is no number.
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
    """Positions with the logits of all tokens there, each masked alone: indices (n,), logits (n, V), targets (n,).

    The order and the parts depend on the positions alone, so that two encoders can be looked at side by side.
    """
    made = _row_batches(encoded, positions)
    bounds = np.searchsorted(positions.sentence, np.arange(len(encoded.rows) + 1))
    mask_id, device = _mask_id(model), model.device
    tokens = TOKENS.get(device.type, MANY_TOKENS) if tokens is None else tokens
    for part, batch in zip(made.parts, made.batches, strict=True):
        index = np.concatenate([np.arange(bounds[row], bounds[row + 1]) for row in part])
        lines = np.repeat(np.arange(len(part)), [bounds[row + 1] - bounds[row] for row in part])
        index, lines = index[wanted[index]], lines[wanted[index]]
        before = np.array([_padding(encoded, row, batch) for row in part], dtype=np.int64)
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
    """The logits of some tokens of a batch: (n, V)."""
    if not picks_states(model):
        return model(**inputs, return_loss=False).logits[rows, columns]
    with states_at(model, rows, columns):
        return model(**inputs, return_loss=False).logits[:, 0]


@functools.lru_cache(maxsize=8)
def _row_batches(encoded: Encoded, positions: WordPositions) -> BatchesByLength:
    return BatchesByLength(encoded.rows, encoded.collate, _ROWS, positions.lengths.tolist())


def _padding(encoded: Encoded, row: int, batch: dict[str, Tensor]) -> int:
    """How many tokens of padding stand before a row's own in its batch."""
    left = encoded.collate.side == "left"
    return batch["input_ids"].shape[1] - len(encoded.rows[row]["input_ids"]) if left else 0


def _mask_id(model: NumberModel) -> int:
    if model.vocabulary.mask_id is None:
        raise ValueError(f"masked words need a tokenizer with a mask token; {model.info.task!r} has none")
    return model.vocabulary.mask_id
