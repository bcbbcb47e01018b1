"""Masked numbers: which encoder and head predict best the number that a sentence has lost?

The number is asked for with one [NUM], whatever the notation: masked subwords would say how long it is. The other
numbers of the sentence are encoded with `numbers="all"`, and words like others with `numbers="annotated"`.
"""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.modeling.introspection import evaluating
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import GIVEN, NumberTable, bit_patterns
from numerate.processing.processor import NumberProcessor
from numerate.training.device_batches import BatchesByLength, the_batch
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import prediction_setup as literacy
from numerate_lab.tasks.masked_prediction.anomalies import KINDS, wrong_numbers
from numerate_lab.tasks.masked_prediction.fitting import fit
from numerate_lab.tasks.masked_prediction.number_guesses import COLUMNS, LEVEL, NumberGuesses, baselines_and
from numerate_lab.tasks.masked_prediction.number_sentences import AnnotatedReader
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig
from numerate_lab.tasks.masked_prediction.word_positions import Encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["MaskedNumber", "ask"]

_ROWS = 256


@tasks.register("masked-number")
class MaskedNumber:
    """The task on one set of sentences.

    Args:
        config: Data, model, training; its recipe or `parts` must name a head.
    """

    Config = LiteracyConfig
    version = 1

    def __init__(self, config: LiteracyConfig) -> None:
        self.config = config

    def build(self) -> NumberModel:
        """A fresh model."""
        model = literacy.build(self.config)
        if model.head is None:
            raise ValueError(f"recipe {self.config.recipe!r} has no number head: say parts={{'head': 'mixture'}}")
        return model

    def batches(self, model: NumberModel, split: str, size: int) -> BatchesByLength:
        """A split as batches in which every annotated number is asked for, with the answer in the table.

        They are made once for all cells of a process with this encoder.
        """
        return _batches(*literacy.written_as(self.config, model, split), size)

    def train(self, model: NumberModel) -> dict[str, Any]:
        """Trains it to predict the annotated number of the training sentences."""
        size = self.config.batch
        return fit(model, self.config, lambda device: self.batches(model, "train", size).to(device), the_batch)

    @torch.no_grad()
    def guess(self, model: NumberModel, split: str = "test", seed: int = 0) -> NumberGuesses:
        """What the model says of each number of a split, and of wrong ones in its place."""
        sentences, _ = literacy.load_split(self.config, split)
        right: list[Any] = [sentence.numeral for sentence in sentences]
        scaling, device = model.processor.scaling, model.device
        wrong = {kind: wrong_numbers(right, kind, seed) for kind in KINDS}
        tables = {
            kind: _table([other or own for other, own in zip(some, right, strict=True)], model.processor).to(device)
            for kind, some in wrong.items()
        }
        table = _table(right, model.processor).to(device)
        found = {name: np.full(len(right), np.nan) for name in COLUMNS}
        odd = {kind: np.full((2, len(right)), np.nan) for kind in KINDS}
        made = self.batches(model, split, _ROWS)
        with evaluating(model):
            for part, batch in zip(made.parts, made.batches, strict=True):
                output = model(**{key: value.to(device) for key, value in batch.items()}, return_loss=True)
                if output.numbers is None or output.number_index is None:
                    continue
                rows = torch.as_tensor(part, device=device)[output.number_index[:, 0]]
                low, high = output.numbers.interval(LEVEL)
                own = {"median": output.numbers.median(), "low": low, "high": high}
                at = rows.cpu().numpy()
                for name, values in own.items():
                    numbers = values.double().cpu().numpy()
                    found[name][at] = numbers if scaling is None else scaling.invert([""] * len(numbers), numbers)
                if scaling is None:  # the precision of a number is that of the text, and not of a scaled one
                    found["nats"][at] = -output.numbers.log_mass(table[rows]).double().cpu().numpy()
                    found["crps"][at] = float(metrics.crps(output.numbers, table[rows].values()))
                found["score"][at], found["tail"][at] = _oddness(output.numbers, table[rows])
                for kind in KINDS:
                    there = np.array([wrong[kind][index] is not None for index in at])
                    odd[kind][:, at] = np.where(there, _oddness(output.numbers, tables[kind][rows]), np.nan)
        gold = np.array([numeral.value for numeral in right])
        return NumberGuesses(gold=gold, **found, wrong=odd)

    def evaluate(self, model: NumberModel, split: str = "test") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Figures of the model and of the baselines by name, and the columns they are computed from."""
        guesses = self.guess(model, split)
        return baselines_and(guesses, self.config, split), guesses.columns()


@functools.lru_cache(maxsize=6)
def _batches(key: tuple[Any, ...], plan: str, size: int) -> BatchesByLength:
    processor, options = literacy.processor_of(key, plan), json.loads(plan)
    sentences, positions = literacy.split_of(*key)
    encoded = ask(processor, sentences, options["numbers"], options["max_tokens"])
    made = BatchesByLength(encoded.rows, encoded.collate, size, positions.lengths.tolist())
    table = _table([sentence.numeral for sentence in sentences], processor)  # type: ignore[misc]
    for part, batch in zip(made.parts, made.batches, strict=True):
        _answer(batch, table[part], torch.from_numpy(encoded.number[part]))
    return made


def ask(
    processor: NumberProcessor, sentences: Sequence[NumberSentence], numbers: str = "annotated", max_tokens: int = 128
) -> Encoded:
    """Writes sentences with [NUM] in the place of the annotated number, as a model's processor does.

    Args:
        processor: The model's; it is not changed.
        sentences: Each with a number.
        numbers: Whether `all` the others are encoded, or none but the `annotated` one, which is asked for.
        max_tokens: Longer rows are cut.
    """
    if any(sentence.numeral is None for sentence in sentences):
        raise ValueError("every sentence must have a number to be asked for")
    reader = processor.reader if numbers == "all" else AnnotatedReader([])
    own = NumberProcessor(
        processor.tokenizer, reader, processor.notation, written=processor.written, scaling=processor.scaling,
        first_id=processor.first_id, implied_commas=processor.implied_commas,
        kinds=processor.kinds if numbers == "all" else None,
    )  # fmt: skip
    texts = [s.text[: s.numeral.start] + "[NUM]" + s.text[s.numeral.end :] for s in sentences if s.numeral is not None]
    batch = own(texts, truncation=True, max_length=max_tokens)
    keys, found = list(batch), batch.numerals
    rows = [{key: batch[key][row] for key in keys} for row in range(len(texts))]
    place = [next((index for index, numeral in enumerate(row) if numeral is None), -1) for row in found]
    return Encoded(rows, np.zeros(0, np.int64), np.array(place, np.int64), NumberCollator(processor.tokenizer))


def _table(numerals: Sequence[Numeral], processor: NumberProcessor) -> NumberTable:
    """Numbers as the processor puts them into its tables: scaled, if it scales."""
    table = NumberTable.of_numerals(list(numerals), processor.written)
    if processor.scaling is None:
        return table
    return replace(table, bits=torch.from_numpy(bit_patterns(processor.scaling.apply(list(numerals)))))


def _oddness(distribution: NumberDistribution, numbers: NumberTable) -> np.ndarray:
    """How little a model expects some numbers, by density and by tail: (2, N)."""
    tail = (distribution.cdf(numbers.values()) - 0.5).abs()
    return torch.stack([-distribution.log_prob(numbers).double(), tail.double()]).cpu().numpy()


def _answer(batch: dict[str, Tensor], table: NumberTable, place: Tensor) -> None:
    """Writes the right numbers into the table of a batch that asks for them, and wants them masked."""
    rows = (place >= 0).nonzero()[:, 0]
    columns, some = place[rows], table[rows]
    width = max(batch["number_chars"].shape[2], some.characters.shape[1])
    wider = (0, width - batch["number_chars"].shape[2])
    characters = torch.nn.functional.pad(batch["number_chars"], wider)
    characters[rows, columns] = torch.nn.functional.pad(some.characters, (0, width - some.characters.shape[1]))
    batch["number_chars"] = characters
    batch["number_bits"][rows, columns] = some.bits
    batch["number_precision"][rows, columns] = some.precision
    batch["number_given"][rows, columns] = GIVEN
    wanted = torch.zeros_like(batch["number_given"], dtype=torch.bool)
    wanted[rows, columns] = True
    batch["number_wanted"] = wanted
