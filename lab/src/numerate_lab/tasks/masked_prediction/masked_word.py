"""Masked words: do number encodings help to predict the words around numbers?

The protocol of Thawani et al. 2021: every eligible word of a sentence is masked alone and predicted, the same words for
every encoding. `word_positions` selects the words, `word_scores` computes figures.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from numerate.embedders.option_checks import check_option, check_positive
from numerate_lab.engine.task import Column
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import word_prediction
from numerate_lab.tasks.masked_prediction.number_guesses import baseline_guesses
from numerate_lab.tasks.masked_prediction.prediction_setup import PLAIN, PredictionTask, PredictionTrial, split_key
from numerate_lab.tasks.masked_prediction.prediction_training import fit
from numerate_lab.tasks.masked_prediction.word_positions import encode
from numerate_lab.tasks.masked_prediction.word_scores import WordScores, compare, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.task import Columns, Figures, Log
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded

__all__ = ["GROUPS", "MOVES", "TELLING", "MaskedWords", "WordTrial"]

MOVES = 0.1
"""Minimum total variation by which the prediction of a word `moves` when the number changes."""
TELLING = ("all told once", "all restated", "unit told once", "unit restated")
"""Groups of words by whether the sentence gives the number again in another unit; `unit` words alone, too."""
GROUPS = ("all", "unit", "whole", "other", "next", "near", "moves", *TELLING)
"""Groups of words that are compared with the base encoding."""


@dataclass(frozen=True, kw_only=True)
class WordTrial(PredictionTrial):
    """Settings of a trial of masked words.

    Attributes:
        ratio: Share of words masked in training.
        next_ratio: Share of masked tokens right after the annotated number, usually its unit; None for `ratio`.
        words: Words to predict: `shared` ones, which are no part of a number, or each encoding's `own` tokens, such as
            commas within subwords of a number, as in the papers.
        plain: File of texts; those without any number are measured, too.
        plain_split: Field with the split of these texts, if only those of `test` are used.
        most_plain: Maximum number of texts without numbers.
        shift: Measure how predictions change when the number is multiplied by this factor; None for no measurement.
        chosen_by: Group of dev words whose nats choose the learning rate.
        by_telling: Also measure words by whether the sentence gives the number again in another unit.
    """

    kind: ClassVar[str] = "masked-words"
    paths: ClassVar[tuple[str, ...]] = ("source", "model", "plain")
    unchecked: ClassVar[tuple[str, ...]] = ("chosen_by",)  # says which trials are compared, not how one is trained
    ratio: float = 0.15
    next_ratio: float | None = None
    words: Literal["shared", "own"] = "shared"
    plain: str | None = None
    plain_split: str | None = None
    most_plain: int | None = None
    shift: float | None = None
    chosen_by: str = "all"
    by_telling: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "most_plain")
        for name in ("ratio", "next_ratio"):
            value = getattr(self, name)
            check_option(value is None or 0 < value <= 1, self, f"{name} must lie between 0 and 1", name)

    def tried(self, rate: float, share: float) -> WordTrial:
        """A short training, measured on dev words only; a final training where it is a whole one."""
        tried = super().tried(rate, share)
        return tried if share == 1 else dataclasses.replace(tried, plain=None, shift=None)


@tasks.register("masked-words")
class MaskedWords(PredictionTask):
    """One trial of masked words."""

    version = 1
    Trial = WordTrial

    def splits(self, final: bool) -> tuple[str, ...]:
        """`dev` for tries; `test` and, if there are texts without numbers, `plain` for final trainings."""
        return (*super().splits(final), *([PLAIN] if self.config.plain else []))

    def encoded(self, model: NumberModel, split: str) -> Encoded:
        """A split in the model's notation, shared by all trials of an encoding."""
        options = self.config.numbers, self.config.max_tokens
        key = ("words", split_key(self.config, split), *options)
        return self.workspace.once(key, lambda: encode(model.processor, *self.examples(split), *options))

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains on the training split, with new masks for each batch."""
        del log
        config, positions, encoded = self.config, self.examples("train")[1], self.encoded(model, "train")
        mask_id = word_prediction.mask_id_of(model)
        mask = word_prediction.MaskWords(mask_id, config.ratio, config.next_ratio, config.seed)
        return fit(model, config, word_prediction.word_batches(encoded, positions, config.batch).to, mask)

    def scores(self, model: NumberModel, split: str = "test") -> WordScores:
        """Scores of all words of a split."""
        return word_prediction.score_words(model, self.encoded(model, split), self.examples(split)[1])

    def ask(self, model: NumberModel, split: str) -> Columns:
        """Scores as columns, and `shift`, the change of each prediction with the number."""
        columns, config = self.scores(model, split).columns(), self.config
        if config.shift is not None and split != PLAIN:
            options = {"factor": config.shift, "numbers": config.numbers, "max_tokens": config.max_tokens}
            shift = word_prediction.number_shift(model, *self.examples(split), **options)
            columns["shift"] = shift.astype(np.float32)
        return columns

    def groups(self, split: str) -> dict[str, np.ndarray]:
        """Groups of the words of a split: (N,) bool by name."""
        positions = self.examples(split)[1]
        found = positions.strata()
        if self.config.by_telling and split != PLAIN:
            restated = baseline_guesses(self.config, split)[1][positions.sentence]
            for name in TELLING:
                group, _, telling = name.partition(" ")
                found[name] = found[group] & (restated if telling == "restated" else ~restated)
        return found

    def score(self, split: str, columns: Columns) -> Figures:
        """Figures of each group of words."""
        groups = self.groups(split)
        if "shift" in columns:
            groups |= {"moves": columns["shift"] >= MOVES, "stays": columns["shift"] < MOVES}
        scores = WordScores.of(columns)
        return {split: {name: summary(scores, chosen) for name, chosen in groups.items()}}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Nats of the dev words in the group `chosen_by`."""
        value = figures["dev"][self.config.chosen_by]["nats"]
        return np.inf if value is None else value

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """Comparison by group of words (see `compare`), and `plain` on texts without numbers."""
        found: Figures = {}
        for split, names in (("test", GROUPS), (PLAIN, ("all",))):
            if f"{split}_nll" not in ours[0]:
                continue
            positions = self.examples(split)[1]
            sides = [[columns_of_split(columns, split) for columns in side] for side in (ours, base)]
            groups = self.groups(split)
            if shifts := [columns["shift"] for columns in sides[1] if "shift" in columns]:
                groups["moves"] = np.mean(shifts, axis=0) >= MOVES
            one, other = ([WordScores.of(columns) for columns in side] for side in sides)
            for name in (name for name in names if name in groups):
                test = compare(one, other, positions, groups[name], resamples=resamples)
                found[PLAIN if split == PLAIN else name] = test
        return found

    def shown(self) -> Sequence[Column]:
        """Nats and hit rate of all words, nats of unit words and of texts without numbers."""
        return (
            Column("test", "all nats", "nats", ".4f"),
            Column("test", "all hit@1", "hit@1 %", ".2f", "max"),
            Column("test", "unit nats", "unit nats", ".4f"),
            Column(PLAIN, "all nats", "plain nats", ".4f"),
        )

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Log-probability of each word."""
        del split
        return {"log-probability": -columns["nll"].astype(np.float64)}
