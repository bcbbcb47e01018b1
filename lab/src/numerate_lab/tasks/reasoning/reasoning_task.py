"""Reasoning as a task: a language model answers questions with numbers, by a number head or without one.

A bare masked language model answers NumerSense with a number word at one mask, and SVAMP and GSM8K with the subwords of
the number, in a fixed number of masks; a bare causal one goes on with the subwords of the number. All others read the
numbers of the question and answer at one [NUM] by their head, a causal model from the token before it.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch

from numerate.config import ConfigError
from numerate.embedders.option_checks import check_positive
from numerate.metrics.significance import bootstrap
from numerate.modeling.fitting import fit_parts
from numerate.processing.scaling import Scaling
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Answers, Column
from numerate_lab.engine.trial import columns_of_split
from numerate_lab.registry import tasks
from numerate_lab.tasks.finetuning.fine_tuning import FineTuningTask, FineTuningTrial
from numerate_lab.tasks.finetuning.starting_points import BARE, is_causal, needs_scaling, start_language_model
from numerate_lab.tasks.masked_prediction import number_guesses
from numerate_lab.tasks.masked_prediction.masked_number import has_head
from numerate_lab.tasks.reasoning.answering import HeadAnswers, SpelledAnswers, WordAnswers, empty_guesses
from numerate_lab.tasks.reasoning.causal_answering import CausalHeadAnswers, ContinuedAnswers
from numerate_lab.tasks.reasoning.questions import DATASETS, baseline_guesses, read_questions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.task import Columns, Figures, Log, TrialConfig
    from numerate_lab.tasks.reasoning.questions import Question

__all__ = ["Reasoning", "ReasoningTrial"]

FITTED_ON = 5_000
"""Questions that embedder and head are fitted to."""


@dataclass(frozen=True, kw_only=True)
class ReasoningTrial(FineTuningTrial):
    """Settings of a trial of reasoning.

    Attributes:
        dataset: `numersense`, `svamp` or `gsm8k`.
        draws: Samples of each answer that is spelled in subwords, for its median and interval.
    """

    kind: ClassVar[str] = "reasoning"
    dataset: Literal["numersense", "svamp", "gsm8k"] = "svamp"
    max_tokens: int = 256
    draws: int = 49

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "draws")


@functools.lru_cache(maxsize=6)
def _questions(source: str, dataset: str, split: str, most: int | None) -> list[Question]:
    questions = read_questions(source, dataset, split)
    if most is None or most >= len(questions):
        return questions
    return [questions[at] for at in sorted(random.Random(0).sample(range(len(questions)), most))]  # noqa: S311


@tasks.register("reasoning", *DATASETS)
class Reasoning(FineTuningTask):
    """One trial of reasoning."""

    version = 1
    Trial = ReasoningTrial
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("reasoning")

    @classmethod
    def trial(cls, name: str, options: Mapping[str, Any]) -> TrialConfig:
        """The trial of a data set, or of `reasoning` with the option `dataset`."""
        named = {"dataset": name} if name in DATASETS else {}
        return cls.Trial.from_dict(named | dict(options))

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe and parts of an encoding, with the head `mixture` if it has none; `bare` has none."""
        found = super().encoding(name)
        if found["recipe"] == BARE or (has_head(found) and found.get("parts", {}).get("head", "") is not None):
            return found
        first, at, start = name.partition("@")
        return super().encoding(f"{first.partition('+')[0]}+mixture{at}{start}")

    def examples(self, split: str) -> list[Question]:
        """The questions of a split."""
        most = self.config.most_train if split == "train" else self.config.most_eval
        return _questions(self.config.source, self.config.dataset, split, most)

    @functools.cached_property
    def causal(self) -> bool:
        """Whether the model is a causal language model."""
        return is_causal(self.config.folder)

    @property
    def answering(self) -> type[Any]:
        """How the trial's model answers.

        Raises:
            ConfigError: A causal model is asked for NumerSense's words, which stand within sentences.
        """
        if self.causal and self.config.dataset == "numersense":
            raise ConfigError(
                f"{self.config.folder} is a causal language model, and NumerSense masks a word within a sentence: "
                "give a masked language model"
            )
        if self.config.recipe != BARE or "head" in self.config.parts:
            return CausalHeadAnswers if self.causal else HeadAnswers
        if self.causal:
            return ContinuedAnswers
        return WordAnswers if self.config.dataset == "numersense" else SpelledAnswers

    def build(self) -> NumberModel:
        """A fresh model; embedder and head are fitted to the training questions and their answers."""
        config, by_head = self.config, issubclass(self.answering, HeadAnswers)
        torch.manual_seed(config.seed)
        masked = {"kind": "masked", "what": "numbers" if by_head else "words", "seed": config.seed}
        objective = {"kind": "causal"} if self.causal else masked
        train = self.examples("train")[:FITTED_ON]
        numerals = [one.sentence.numeral for one in train]
        scales = by_head and needs_scaling(config.recipe, config.parts)
        scaling = Scaling(by="none", scaler="log").fit(numerals) if scales else None  # type: ignore[arg-type]
        model = start_language_model(
            config.folder, config.recipe, config.parts, words=not by_head, objective=objective, layers=config.layers,
            scaling=scaling,
        )  # fmt: skip
        if by_head:
            fit_parts(model, [one.sentence.text for one in train], numerals)
        return model.to(self.device)

    def train(self, model: NumberModel, log: Log | None = None) -> Figures:
        """Trains the model to answer."""
        del log
        return self.answering(self, model).train()

    def ask(self, model: NumberModel, split: str) -> Columns:
        """Guesses of a split, see `answering.COLUMNS`."""
        return self.answering(self, model).ask(split)

    def score(self, split: str, columns: Columns) -> Figures:
        """The share of `exact` answers, and the figures of medians and intervals of `number_guesses.figures`."""
        return {split: {"exact": float(np.mean(_exact(columns)))} | number_guesses.figures(columns)}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Log-MAE on dev, or for NumerSense, whose answers may be 0, the share of wrong answers."""
        if self.config.dataset == "numersense":
            return 1 - figures["dev"]["exact"]
        value = figures["dev"]["log_mae"]
        return np.inf if value is None else value

    def baselines(self) -> Figures:
        """The most frequent answer, the median answer and the last number of the question."""
        test = self.examples("test")
        guesses = baseline_guesses(self.examples("train"), test)
        columns = {name: empty_guesses(test) | {"best": one, "median": one} for name, one in guesses.items()}
        return {name: self.score("test", one) for name, one in columns.items()}

    def shown(self) -> Sequence[Column]:
        """Exact answers, errors, and likelihood of the right answer as written."""
        return (
            Column("test", "exact", "exact %", ".2f", "max", 100.0), Column("test", "log_mae", "log-MAE", ".3f"),
            Column("test", "mdape", "MdAPE %", ".1f"), Column("test", "nats", "nats", ".3f"),
            Column("test", "coverage_90", "inside 90 %", ".3f", None),  # 0.9 is right, and not 1
        )  # fmt: skip

    def notes(self) -> Sequence[str]:
        """What an exact answer is."""
        return ["Exact: the answer rounds to the right one at its last written digit. log-MAE leaves answers of 0 out."]

    def answers(self, split: str, columns: Columns) -> Answers | None:
        """Answers and right numbers."""
        del split
        return Answers(columns["best"], columns["gold"], columns["precision"].astype(np.int64))

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Whether each answer is exact."""
        del split
        return {"exact %": _exact(columns).astype(np.float64)}

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """Difference of exact answers with a 95 % interval by question, of means over seeds."""
        sides = (np.mean([_exact(columns_of_split(each, "test")) for each in side], 0) for side in (ours, base))
        found = bootstrap(*map(torch.from_numpy, sides), resamples=resamples)
        return {"exact": {key: getattr(found, key) for key in ("estimate", "low", "high", "p", "clusters")}}


def _exact(columns: Columns) -> np.ndarray:
    """Whether each answer is right at the last written digit; a missing answer is wrong."""
    unit = 10.0 ** columns["precision"].astype(np.float64)
    return np.abs(np.nan_to_num(columns["best"], nan=np.inf) - columns["gold"]) < 0.5 * unit
