"""Three ways to answer with a number: by a number head, by a number word at one mask, or spelled in subwords.

Those of causal models are in `causal_answering`.

Each has `train()` and `ask(split)`, which gives columns of guesses: `best` (the answer), `median`, `low`, `high` and
`nats`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate.modeling.introspection import evaluating
from numerate.modeling.picked_states import logits_at
from numerate.training.device_batches import BatchesByLength
from numerate_lab.tasks.finetuning.fine_tuning import fine_tune
from numerate_lab.tasks.masked_prediction.masked_number import mask_numbers, numeral_table, write_answers
from numerate_lab.tasks.masked_prediction.number_guesses import LEVEL
from numerate_lab.tasks.masked_prediction.prediction_training import fit
from numerate_lab.tasks.masked_prediction.spelled_number import PLACES, SpelledNumbers, placed_rows
from numerate_lab.tasks.reasoning.questions import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.number_table import NumberTable
    from numerate_lab.engine.task import Figures
    from numerate_lab.tasks.finetuning.fine_tuning import FineTuningTask
    from numerate_lab.tasks.reasoning.questions import Question

__all__ = ["HeadAnswers", "SpelledAnswers", "WordAnswers", "empty_guesses"]

COLUMNS = ("best", "median", "low", "high", "nats")
_ROWS = 64


def empty_guesses(questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """Columns of guesses to be filled in: NaN in `COLUMNS`, the right answers in `gold`, and their `precision`."""
    found = {name: np.full(len(questions), np.nan) for name in COLUMNS}
    precision = np.array([one.precision for one in questions], np.int16)
    return found | {"gold": np.array([one.value for one in questions]), "precision": precision}


class HeadAnswers:
    """The number head answers at one [NUM]: `best` is the mode of its distribution.

    Args:
        task: The task, for its examples and settings.
        model: An encoder with a number head.
    """

    def __init__(self, task: FineTuningTask, model: NumberModel) -> None:
        self.task, self.config, self.model = task, task.config, model

    def batches(self, split: str, size: int) -> BatchesByLength:
        """Batches of a split with the right numbers in the table, marked as wanted."""
        made, table, place = self.encoded(split, size)
        for part, batch in zip(made.parts, made.batches, strict=True):
            write_answers(batch, table[part], torch.from_numpy(place[part]))
        return made

    def encoded(self, split: str, size: int) -> tuple[BatchesByLength, NumberTable, np.ndarray]:
        """Batches that ask for the answers, the table of the answers, and the index of each among its row's numbers."""
        processor = self.model.processor
        sentences = [one.sentence for one in self.task.examples(split)]
        encoded = mask_numbers(processor, sentences, "all", self.config.max_tokens)
        table = numeral_table([one.numeral for one in sentences], processor)  # type: ignore[misc]
        return BatchesByLength(encoded.rows, encoded.collate, size), table, encoded.number

    hides: ClassVar[bool] = True
    """Whether the objective hides the answers of `asked`."""

    def asked(self, split: str) -> BatchesByLength:
        """Batches of a split for the model to answer."""
        return self.batches(split, _ROWS)

    def train(self) -> Figures:
        """Trains the model to predict the answers."""
        return fine_tune(self.model, self.config, self.batches("train", self.config.batch))

    @torch.no_grad()
    def ask(self, split: str) -> dict[str, np.ndarray]:
        """Guesses of a split; NaN where the [NUM] was cut off."""
        questions, device, scaling = self.task.examples(split), self.model.device, self.model.processor.scaling
        found, made = empty_guesses(questions), self.asked(split)
        table = numeral_table([one.sentence.numeral for one in questions], self.model.processor).to(device)
        with evaluating(self.model):
            for part, batch in zip(made.parts, made.batches, strict=True):
                output = self.model(**{key: value.to(device) for key, value in batch.items()}, return_loss=self.hides)
                if output.numbers is None or output.number_index is None:
                    continue
                rows = torch.as_tensor(part, device=device)[output.number_index[:, 0]]
                at, numbers = rows.cpu().numpy(), output.numbers
                guesses = (numbers.mode(), numbers.median(), *numbers.interval(LEVEL))
                for name, values in zip(COLUMNS, guesses, strict=False):
                    own = values.double().cpu().numpy()
                    found[name][at] = own if scaling is None else scaling.invert([""] * len(own), own)
                if scaling is None:
                    found["nats"][at] = -numbers.log_mass(table[rows]).double().cpu().numpy()
        return found


class WordAnswers:
    """A masked language model answers with one of NumerSense's number words at one mask."""

    def __init__(self, task: FineTuningTask, model: NumberModel) -> None:
        self.task, self.config, self.model = task, task.config, model
        self.tokenizer: Any = model.processor.tokenizer
        tokens = [self.tokenizer(word, add_special_tokens=False)["input_ids"] for word in WORDS]
        if any(len(one) != 1 for one in tokens):
            word = next(word for word, one in zip(WORDS, tokens, strict=True) if len(one) != 1)
            raise ValueError(f"the tokenizer has no single token for {word!r}: NumerSense needs another model")
        self.tokens = torch.tensor([one[0] for one in tokens])

    def batches(self, split: str, size: int) -> BatchesByLength:
        """Batches of a split with the place of the mask and the index of the right word."""
        questions, mask = self.task.examples(split), self.tokenizer.mask_token_id
        texts = [one.asking(self.tokenizer.mask_token) for one in questions]
        ids = self.tokenizer(texts, truncation=True, max_length=self.config.max_tokens)["input_ids"]
        rows = [{"input_ids": row} for row in ids]
        made = BatchesByLength(rows, self._pad, size)  # type: ignore[arg-type]
        for part, batch in zip(made.parts, made.batches, strict=True):
            batch["word"] = torch.tensor([WORDS.index(questions[at].word) for at in part])
            batch["place"] = torch.tensor([ids[at].index(mask) if mask in ids[at] else -1 for at in part])
        return made

    def _pad(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        return dict(self.tokenizer.pad(rows, return_tensors="pt"))

    def train(self) -> Figures:
        """Trains the model to predict the right word among all tokens, as in masked language modelling."""

        def collate(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
            batch = dict(batches[0])
            place, word = batch.pop("place"), batch.pop("word")
            labels = torch.full_like(batch["input_ids"], -100)
            rows = (place >= 0).nonzero()[:, 0]
            labels[rows, place[rows]] = self.tokens.to(labels.device)[word[rows]]
            return batch | {"labels": labels}

        return fit(self.model, _settings(self.config), self.batches("train", self.config.batch).to, collate)  # type: ignore[arg-type]

    @torch.no_grad()
    def ask(self, split: str) -> dict[str, np.ndarray]:
        """Guesses of a split: probabilities of values are those of their words, `no` and `zero` together."""
        found, made, device = empty_guesses(self.task.examples(split)), self.batches(split, _ROWS), self.model.device
        values = torch.tensor([0, *range(11)])
        with evaluating(self.model):
            for at, fields in placed_rows(made, device):
                place, _ = fields.pop("place"), fields.pop("word")
                logits = logits_at(self.model, fields, torch.arange(len(place), device=device), place)
                words = logits[:, self.tokens.to(device)].double().softmax(-1).cpu()
                shares = torch.zeros(len(at), 11, dtype=torch.float64).index_add_(1, values, words)
                found["best"][at] = shares.argmax(1).numpy()
                for name, level in (("median", 0.5), ("low", (1 - LEVEL) / 2), ("high", (1 + LEVEL) / 2)):
                    found[name][at] = (shares.cumsum(1) < level).sum(1).clamp_max(10).numpy()
                right = torch.from_numpy(found["gold"][at]).long()
                found["nats"][at] = -shares[torch.arange(len(at)), right].log().numpy()
        return found


class SpelledAnswers(SpelledNumbers):
    """A masked language model without a number head spells the answer in subwords; `best` has the likeliest ones."""

    def __init__(self, task: FineTuningTask, model: NumberModel) -> None:
        examples = _Sentences(task)
        super().__init__(examples, model)  # type: ignore[arg-type]
        self.questions, self.config = task.examples, _settings(task.config)

    def batches(self, split: str, size: int) -> BatchesByLength:
        """Batches of a split with the first mask of each row in `place` and the right tokens in `spelled`."""
        return self.spelling.batches(self.task.examples(split)[0], self.config.max_tokens, size)

    @torch.no_grad()
    def ask(self, split: str) -> dict[str, np.ndarray]:
        """Guesses of a split: samples give median and interval, the likeliest tokens the answer."""
        drawn = self.guess(split, draws=self.config.draws)
        found = empty_guesses(self.questions(split)) | {name: drawn[name] for name in COLUMNS[1:]}
        made, device = self.batches(split, _ROWS), self.model.device
        with evaluating(self.model):
            for at, fields in placed_rows(made, device):
                fields.pop("spelled")
                tokens = self._likeliest(fields, fields.pop("place")).tolist()
                found["best"][at] = [self.spelling.value(row) for row in tokens]
        return found

    def _likeliest(self, fields: dict[str, Tensor], place: Tensor) -> Tensor:
        """The likeliest token at each place, after those before it: (B, PLACES)."""
        rows, allowed = torch.arange(len(place), device=place.device), self.spelling.allowed.to(place.device)
        inputs = fields | {"input_ids": fields["input_ids"].clone()}
        for turn in range(PLACES):
            chosen = allowed[self._logits(inputs, place + turn)[:, allowed].argmax(-1)]
            inputs["input_ids"][rows, place + turn] = chosen
        turns = torch.arange(PLACES, device=place.device)
        return inputs["input_ids"][rows[:, None], place[:, None] + turns]


class _Sentences:
    """Examples as `SpelledNumbers` takes them."""

    def __init__(self, task: FineTuningTask) -> None:
        self.config, self._task, self.workspace = task.config, task, task.workspace

    def examples(self, split: str) -> tuple[list[Any], None]:
        return [one.sentence for one in self._task.examples(split)], None


def _settings(config: Any) -> SimpleNamespace:
    """Settings as `fit` takes them: a share of the steps is a share of the epochs."""
    names = ("batch", "rate", "weight_decay", "schedule", "warmup", "seed", "bf16", "max_tokens")
    own = {name: getattr(config, name) for name in names}
    return SimpleNamespace(
        **own,
        epochs=config.share * config.epochs,
        backbone_rate=None,
        number_rate=None,
        draws=getattr(config, "draws", None),
    )
