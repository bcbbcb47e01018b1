"""Masked numbers: which encoding and head best predict the number that is missing in a sentence?

The number is replaced by one [NUM] in every notation, because masked subwords would reveal its length. With
`numbers="all"` the other numbers of the sentence are encoded; with `numbers="annotated"` they are plain words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch

from numerate import metrics
from numerate.modeling.attaching import load_recipe
from numerate.modeling.introspection import evaluating
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import GIVEN, NumberTable, bit_patterns
from numerate.training.device_batches import BatchesByLength, the_batch
from numerate_lab.engine.task import Answers, Column
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import number_guesses
from numerate_lab.tasks.masked_prediction.calibrated_intervals import conformity
from numerate_lab.tasks.masked_prediction.number_sentences import AnnotatedReader
from numerate_lab.tasks.masked_prediction.prediction_setup import PredictionTask, PredictionTrial, build, split_key
from numerate_lab.tasks.masked_prediction.prediction_training import fit
from numerate_lab.tasks.masked_prediction.spelled_number import SpelledNumbers
from numerate_lab.tasks.masked_prediction.word_positions import Encoded, with_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral
    from numerate.processing.processor import NumberProcessor
    from numerate_lab.engine.task import Columns, Figures, Log
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["MaskedNumbers", "NumberTrial", "has_head", "mask_numbers", "numeral_table", "write_answers"]

_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class NumberTrial(PredictionTrial):
    """Settings of a trial of masked numbers.

    Attributes:
        predict: `numbers` by a number head, or `spelled` token by token by a model without one.
    """

    kind: ClassVar[str] = "masked-numbers"
    predict: Literal["numbers", "spelled"] = "numbers"


def has_head(fields: Mapping[str, Any]) -> bool:
    """Whether the fields of an encoding name a number head, or spell numbers without one."""
    named = "head" in fields.get("parts", {}) or load_recipe(fields["recipe"]).head is not None
    return named or fields.get("predict") == "spelled"


@tasks.register("masked-numbers")
class MaskedNumbers(PredictionTask):
    """One trial of masked numbers; the recipe or `parts` must name a head, or `predict` be `spelled`."""

    version = 1
    Trial = NumberTrial

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe and parts of an encoding, with the head `mixture` if it has none."""
        found = super().encoding(name)
        return found if has_head(found) else super().encoding(f"{name}+mixture")

    def build(self) -> NumberModel:
        """A fresh model."""
        if self.config.predict == "spelled":
            return super().build()
        model = build(self.config, "numbers")
        if model.head is None:
            recipe = self.config.recipe
            raise ValueError(f"recipe {recipe!r} has no number head: give parts={{'head': 'mixture'}} or another")
        return model

    def batches(self, model: NumberModel, split: str, size: int) -> BatchesByLength:
        """Batches with masked annotated numbers and the answers in the number table, shared by trials."""
        config = self.config

        def make() -> BatchesByLength:
            sentences, positions = self.examples(split)
            encoded = mask_numbers(model.processor, sentences, config.numbers, config.max_tokens)
            made = BatchesByLength(encoded.rows, encoded.collate, size, positions.lengths.tolist())
            table = numeral_table([sentence.numeral for sentence in sentences], model.processor)  # type: ignore[misc]
            for part, batch in zip(made.parts, made.batches, strict=True):
                write_answers(batch, table[part], torch.from_numpy(encoded.number[part]))
            return made

        key = ("numbers", split_key(config, split), config.numbers, config.max_tokens, size)
        return self.workspace.once(key, make)

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains the model to predict the annotated number of the training sentences."""
        del log
        self._on_dev = None
        if self.config.predict == "spelled":
            return SpelledNumbers(self, model).train()
        batches = self.batches(model, "train", self.config.batch)
        return fit(model, self.config, batches.to, the_batch, words=False)

    @torch.no_grad()
    def ask(self, model: NumberModel, split: str, seed: int = 0) -> Columns:
        """Predictions of the numbers of a split and of wrong numbers in their places: `empty_columns`, filled in.

        For `test`, `calibration` is the `conformity` on dev where the settings say `measure_dev`.
        """
        found = self.guesses(model, split, seed)
        if self.config.measure_dev and split == "dev":
            self._on_dev = conformity(found)
        elif self.config.measure_dev and split == "test":
            found["calibration"] = (
                conformity(self.guesses(model, "dev", seed)) if self._on_dev is None else self._on_dev
            )
        return found

    _on_dev: np.ndarray | None = None
    """Conformity on dev since the last training."""

    @torch.no_grad()
    def guesses(self, model: NumberModel, split: str, seed: int = 0) -> dict[str, np.ndarray]:
        """Predictions as `ask` gives them, without calibration."""
        if self.config.predict == "spelled":
            return SpelledNumbers(self, model).guess(split, seed)
        right: list[Any] = [sentence.numeral for sentence in self.examples(split)[0]]
        scaling, device = model.processor.scaling, model.device
        wrong = number_guesses.wrong_columns(right, seed)
        tables = {name: numeral_table(some, model.processor).to(device) for name, (some, _) in wrong.items()}
        table, found = numeral_table(right, model.processor).to(device), number_guesses.empty_columns(right)
        made = self.batches(model, split, _ROWS)
        with evaluating(model):
            for part, batch in zip(made.parts, made.batches, strict=True):
                output = model(**{key: value.to(device) for key, value in batch.items()}, return_loss=True)
                if output.numbers is None or output.number_index is None:
                    continue
                rows = torch.as_tensor(part, device=device)[output.number_index[:, 0]]
                at, own = rows.cpu().numpy(), (output.numbers.median(), *output.numbers.interval(number_guesses.LEVEL))
                for name, values in zip(("median", "low", "high"), own, strict=True):
                    numbers = values.double().cpu().numpy()
                    found[name][at] = numbers if scaling is None else scaling.invert([""] * len(numbers), numbers)
                if scaling is None:  # the precision of a number is that of the text, not of a scaled value
                    found["nats"][at] = -output.numbers.log_mass(table[rows]).double().cpu().numpy()
                    found["crps"][at] = float(metrics.crps(output.numbers, table[rows].values()))
                found["score"][at], found["tail"][at] = _oddness(output.numbers, table[rows])
                for name, (_, known) in wrong.items():
                    found[name][:, at] = np.where(known[at], _oddness(output.numbers, tables[name][rows]), np.nan)
        return found

    def score(self, split: str, columns: Columns) -> Figures:
        """Figures of the predictions, see `number_guesses.figures`."""
        return {split: number_guesses.figures(columns, number_guesses.baseline_guesses(self.config, split)[1])}

    def baselines(self) -> Figures:
        """Figures of guesses that need no training: `median`, `unit median` and `conversion`."""
        known, restated = number_guesses.baseline_guesses(self.config, "test")
        gold = np.array([sentence.numeral.value for sentence in self.examples("test")[0] if sentence.numeral])
        guesses = {name: {"gold": gold, "median": median} for name, median in known.items()}
        return {name: {"test": number_guesses.figures(each, restated)} for name, each in guesses.items()}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Log-MAE on dev; infinite if some guesses are 0 or no number, because log-MAE ignores these."""
        value, left_out = figures["dev"]["log_mae"], figures["dev"].get("log_mae_left_out", 0)
        return np.inf if value is None or left_out else value

    def shown(self) -> Sequence[Column]:
        """Errors, calibration and likelihood."""
        return (
            Column("test", "log_mae", "log-MAE", ".3f"),
            Column("test", "exponent_accuracy", "exponent accuracy", ".3f", "max"),
            Column("test", "mdape", "MdAPE %", ".1f"),
            Column("test", "nats", "nats", ".3f"),
        )

    def answers(self, split: str, columns: Columns) -> Answers | None:
        """Predicted medians and correct numbers."""
        del split
        return Answers(columns["median"], columns["gold"])


def mask_numbers(
    processor: NumberProcessor, sentences: Sequence[NumberSentence], numbers: str = "annotated", max_tokens: int = 128
) -> Encoded:
    """Processes sentences with [NUM] in place of the annotated number, see `encode`; they have no `places`.

    With `numbers="all"`, all other numbers are encoded, too.
    """
    texts = [s.text[: s.numeral.start] + "[NUM]" + s.text[s.numeral.end :] for s in sentences if s.numeral is not None]
    if len(texts) < len(sentences):
        raise ValueError("every sentence must have an annotated number")
    reader = processor.reader if numbers == "all" else AnnotatedReader([])
    own = with_reader(processor, reader, processor.kinds if numbers == "all" else None)
    batch = own(texts, truncation=True, max_length=max_tokens)
    rows = [{key: batch[key][row] for key in batch} for row in range(len(texts))]
    place = [row.index(None) if None in row else -1 for row in batch.numerals]
    return Encoded(rows, np.zeros(0, np.int64), np.array(place, np.int64), NumberCollator(processor.tokenizer))


def numeral_table(numerals: Sequence[Numeral], processor: NumberProcessor) -> NumberTable:
    """Number table with the scaling of the processor."""
    table = NumberTable.of_numerals(list(numerals), processor.written)
    if processor.scaling is None:
        return table
    return replace(table, bits=torch.from_numpy(bit_patterns(processor.scaling.apply(list(numerals)))))


def _oddness(distribution: NumberDistribution, numbers: NumberTable) -> np.ndarray:
    """Negative log-density and |cdf - 1/2| of numbers: (2, N)."""
    tail = (distribution.cdf(numbers.values()) - 0.5).abs()
    return torch.stack([-distribution.log_prob(numbers).double(), tail.double()]).cpu().numpy()


def write_answers(batch: dict[str, Tensor], table: NumberTable, place: Tensor) -> None:
    """Writes the correct numbers into the table of a batch and marks them for masking (`number_wanted`)."""
    rows = (place >= 0).nonzero()[:, 0]
    columns, some = place[rows], table[rows]
    widths = batch["number_chars"].shape[2], some.characters.shape[1]
    shared, own = ((0, max(widths) - width) for width in widths)
    batch["number_chars"] = torch.nn.functional.pad(batch["number_chars"], shared)
    batch["number_chars"][rows, columns] = torch.nn.functional.pad(some.characters, own)
    batch["number_bits"][rows, columns] = some.bits
    batch["number_precision"][rows, columns] = some.precision
    batch["number_given"][rows, columns] = GIVEN
    batch["number_wanted"] = torch.zeros_like(batch["number_given"], dtype=torch.bool)
    batch["number_wanted"][rows, columns] = True
