"""Two ways in which a causal language model answers with a number: by a number head, or by going on in subwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate.modeling.introspection import base_of
from numerate.processing.slot_positions import first_tokens
from numerate_lab.tasks.masked_prediction.prediction_training import fit
from numerate_lab.tasks.masked_prediction.spelled_number import PLACES, Spelling
from numerate_lab.tasks.reasoning.answering import HeadAnswers, SpelledAnswers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate.training.device_batches import BatchesByLength
    from numerate_lab.engine.task import Figures
    from numerate_lab.tasks.finetuning.fine_tuning import FineTuningTask
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["CausalHeadAnswers", "ContinuedAnswers", "Continuing"]

_ROWS = 64
_AT_ONCE = 512
"""Rows whose next token is computed at a time."""


class CausalHeadAnswers(HeadAnswers):
    """The number head of a causal model answers from the token before [NUM]; nothing else is learnt."""

    hides: ClassVar[bool] = False

    def batches(self, split: str, size: int) -> BatchesByLength:
        """Batches of a split with the right numbers in the table, and labels at their tokens alone."""
        made = super().batches(split, size)
        for batch in made.batches:
            wanted = batch.pop("number_wanted").bool()
            first = first_tokens(batch["number_slots"], wanted.shape[1])
            rows, numbers = (wanted & (first < batch["input_ids"].shape[1])).nonzero(as_tuple=True)
            labels = torch.full_like(batch["input_ids"], -100)
            places = first[rows, numbers]
            labels[rows, places] = batch["input_ids"][rows, places]
            batch["labels"] = labels
        return made

    def asked(self, split: str) -> BatchesByLength:
        """Batches whose [NUM] asks: the answers are not in them."""
        return self.encoded(split, _ROWS)[0]


class Continuing(Spelling):
    """Sentences that end where the number begins, with room for it, and numbers as tokens of a causal model.

    The token that pads also ends a number.
    """

    def tokens(self, written: str) -> list[int]:
        """Tokens of a number behind a space, padded with the filler."""
        ids = self.tokenizer(f" {written}", add_special_tokens=False)["input_ids"][:PLACES]
        return ids + [self.filler] * (PLACES - len(ids))

    def rows(self, sentences: Sequence[NumberSentence], most: int) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Sentences up to the number with fillers in its place; the place is -1 if it would be behind `most` tokens."""
        before = [s.text[: s.numeral.start].rstrip() for s in sentences if s.numeral is not None]
        if len(before) < len(sentences):
            raise ValueError("every sentence must have an annotated number")
        ids = self.tokenizer(before)["input_ids"]
        ends = {token for token in (self.tokenizer.eos_token_id, self.tokenizer.sep_token_id) if token is not None}
        bare = [row[:-1] if row and row[-1] in ends else row for row in ids]  # a tokenizer may close a text
        places = [len(row) if row and len(row) + PLACES <= most else -1 for row in bare]
        rows = [{"input_ids": [*row, *[self.filler] * PLACES][:most]} for row in bare]
        return rows, np.array(places, dtype=np.int64)


class ContinuedAnswers(SpelledAnswers):
    """A causal model without a number head goes on with the subwords of the answer; `best` has the likeliest ones."""

    def __init__(self, task: FineTuningTask, model: NumberModel) -> None:
        super().__init__(task, model)
        self.spelling = task.workspace.once("continuing", lambda: Continuing(model.processor.tokenizer))

    def train(self) -> Figures:
        """Trains the model to write the answer and an end behind it."""
        filler = self.spelling.filler

        def collate(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
            batch = dict(batches[0])
            place, right = batch.pop("place"), batch.pop("spelled")
            turns = torch.arange(PLACES, device=right.device)
            there, at = (place >= 0)[:, None], place.clamp_min(0)[:, None] + turns
            ids, labels = batch["input_ids"].clone(), torch.full_like(batch["input_ids"], -100)
            rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(at)
            written = there.expand_as(at)
            ids[rows[written], at[written]] = right[written]
            learned = there & (turns <= (right != filler).sum(1, keepdim=True))  # the number, and one end
            labels[rows[learned], at[learned]] = right[learned]
            return batch | {"input_ids": ids, "labels": labels}

        return fit(self.model, self.config, self.batches("train", self.config.batch).to, collate)  # type: ignore[arg-type]

    def _logits(self, fields: dict[str, Tensor], place: Tensor) -> Tensor:
        """Logits of the tokenizer's tokens for one place of each row, from the token before it: (B, V)."""
        whole: Any = base_of(self.model.backbone)
        found = []
        for ids, mask, at in zip(
            *(some.split(_AT_ONCE) for some in (fields["input_ids"], fields["attention_mask"], place)), strict=True
        ):
            # The head runs on one token of each row: logits of all would not fit into memory.
            states = whole.base_model(input_ids=ids, attention_mask=mask).last_hidden_state
            own = states[torch.arange(len(at), device=at.device), at - 1]
            found.append(whole.get_output_embeddings()(own)[:, : len(self.spelling.texts)].double())
        return torch.cat(found)
