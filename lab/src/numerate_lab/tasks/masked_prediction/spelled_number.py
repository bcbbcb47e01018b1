"""Masked numbers spelled token by token by a model without a number head: the baseline of all number heads.

The number is replaced by a fixed number of masks, so that they do not reveal its length; its subwords come first,
followed by filler tokens. The model learns to continue any beginning of the number. For evaluation, numbers are sampled
from left to right from the tokens that occur in numbers; their median is the guess.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from numerate import metrics
from numerate.modeling.introspection import evaluating
from numerate.modeling.picked_states import logits_at
from numerate.training.device_batches import BatchesByLength
from numerate_lab.tasks.masked_prediction.number_guesses import LEVEL, empty_columns, wrong_columns
from numerate_lab.tasks.masked_prediction.prediction_setup import split_key
from numerate_lab.tasks.masked_prediction.prediction_training import fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.prediction_setup import PredictionTask

__all__ = ["SpelledNumbers", "Spelling", "placed_rows"]

PLACES = 6
"""Maximum number of tokens of a number; longer ones are cut."""
DRAWS = 49
"""Samples per sentence."""
_ROWS = 64


class Spelling:
    """Sentences with masks in place of the number, and numbers as tokens.

    Args:
        tokenizer: Tokenizer of the masked language model.

    Attributes:
        allowed: (A,) int64, tokens of digits, commas and points, and the filler.

    Example:
        >>> spelling = Spelling(tokenizer)                                                     # doctest: +SKIP
        >>> spelling.value(spelling.tokens("1,250"))                                           # doctest: +SKIP
        1250.0
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.filler: int = tokenizer.pad_token_id
        self.texts = [tokenizer.decode([token]).strip().removeprefix("##").strip() for token in range(len(tokenizer))]
        legal = torch.tensor([bool(text) and set(text) <= set("0123456789,.-") for text in self.texts])
        legal[self.filler] = True
        self.allowed = legal.nonzero()[:, 0]

    def tokens(self, written: str) -> list[int]:
        """Tokens of a number, padded with the filler."""
        ids = self.tokenizer(written, add_special_tokens=False)["input_ids"][:PLACES]
        return ids + [self.filler] * (PLACES - len(ids))

    def value(self, tokens: Sequence[int]) -> float:
        """The number of the tokens before the first filler; NaN if they are no number."""
        ids = list(tokens)
        ids = ids[: ids.index(self.filler)] if self.filler in ids else ids
        try:
            return float("".join(self.texts[token] for token in ids).replace(",", ""))
        except ValueError:
            return float("nan")

    def rows(self, sentences: Sequence[NumberSentence], most: int) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Sentences with masks in place of the number, and the index of the first mask; -1 if it was truncated."""
        mask, pairs = self.tokenizer.mask_token_id, [(s.text, s.numeral) for s in sentences if s.numeral is not None]
        if len(pairs) < len(sentences):
            raise ValueError("every sentence must have an annotated number")
        before = [text[: numeral.start].rstrip() for text, numeral in pairs]
        behind = [text[numeral.end :] for text, numeral in pairs]
        left, right = (self.tokenizer(some, add_special_tokens=False)["input_ids"] for some in (before, behind))
        frame = self.tokenizer(self.tokenizer.mask_token)["input_ids"]  # special tokens around a text
        first, last = frame[: frame.index(mask)], frame[frame.index(mask) + 1 :]
        rows, places = [], []
        for one, other in zip(left, right, strict=True):
            ids = [*first, *one, *[mask] * PLACES, *other][: most - len(last)]
            start = len(first) + len(one)
            places.append(start if start + PLACES <= len(ids) else -1)
            rows.append({"input_ids": [*ids, *last]})
        return rows, np.array(places, dtype=np.int64)

    def pad(self, rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        """Pads rows on the right."""
        ids = [torch.tensor(row["input_ids"]) for row in rows]
        mask = pad_sequence([torch.ones_like(row) for row in ids], batch_first=True)
        return {"input_ids": pad_sequence(ids, batch_first=True, padding_value=self.filler), "attention_mask": mask}

    def batches(
        self, sentences: Sequence[NumberSentence], most: int, size: int, lengths: Sequence[int] | None = None
    ) -> BatchesByLength:
        """Batches of sentences with the first mask of each row in `place` and the correct tokens in `spelled`.

        Args:
            sentences: Sentences with one number each.
            most: Maximum number of tokens of a row.
            size: Rows per batch.
            lengths: What rows are sorted by; None for their own lengths.
        """
        rows, places = self.rows(sentences, most)
        made = BatchesByLength(rows, self.pad, size, lengths)  # type: ignore[arg-type]
        for part, batch in zip(made.parts, made.batches, strict=True):
            right = [self.tokens(sentences[index].numeral.text) for index in part]  # type: ignore[union-attr]
            batch["place"], batch["spelled"] = torch.from_numpy(places[part]), torch.tensor(right)
        return made


def placed_rows(made: BatchesByLength, device: torch.device) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """The rows of each batch whose mask was not cut off, by `place`: which rows they are (N,), and their fields."""
    for part, batch in zip(made.parts, made.batches, strict=True):
        there = batch["place"] >= 0
        at = np.array(part)[there.cpu().numpy()]
        if len(at):
            yield at, {key: value.to(device)[there.to(device)] for key, value in batch.items()}


_spelling = functools.lru_cache(maxsize=2)(Spelling)


class SpelledNumbers:
    """Training and evaluation of a model with a masked-LM head that spells numbers, with a task's settings and data."""

    def __init__(self, task: PredictionTask, model: NumberModel) -> None:
        self.task, self.config, self.model = task, task.config, model
        self.spelling = _spelling(model.processor.tokenizer)

    def batches(self, split: str, size: int) -> BatchesByLength:
        """Batches of a split with the first mask of each row in `place` and the correct tokens in `spelled`."""

        def make() -> BatchesByLength:
            sentences, positions = self.task.examples(split)
            return self.spelling.batches(sentences, self.config.max_tokens, size, positions.lengths.tolist())

        key = ("spelled", split_key(self.config, split), self.config.max_tokens, size)
        return self.task.workspace.once(key, make)

    def train(self) -> dict[str, Any]:
        """Trains the model to continue a random beginning of the correct number."""
        generator, filler = torch.Generator().manual_seed(self.config.seed), self.spelling.filler

        def collate(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
            batch = dict(batches[0])
            place, right = batch.pop("place"), batch.pop("spelled")
            known, turns = _known(right, filler, generator), torch.arange(PLACES, device=right.device)
            there, at = (place >= 0)[:, None], place.clamp_min(0)[:, None] + turns
            ids, labels = batch["input_ids"].clone(), torch.full_like(batch["input_ids"], -100)
            rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(at)
            seen = there & (turns < known)
            ids[rows[seen], at[seen]] = right[seen]
            # Tokens after the first filler are not learned.
            learned = there & (turns >= known) & (turns <= (right != filler).sum(1, keepdim=True))
            labels[rows[learned], at[learned]] = right[learned]
            return batch | {"input_ids": ids, "labels": labels}

        return fit(self.model, self.config, self.batches("train", self.config.batch).to, collate)

    @torch.no_grad()
    def guess(self, split: str = "test", seed: int = 0, draws: int = DRAWS) -> dict[str, np.ndarray]:
        """Columns of guesses (see `empty_columns`) from samples, with scores of wrong numbers."""
        right: list[Any] = [sentence.numeral for sentence in self.task.examples(split)[0]]
        wrong = wrong_columns(right, seed)
        device, columns = self.model.device, empty_columns(right)
        generator, spelling = torch.Generator().manual_seed(seed), self.spelling
        made = self.batches(split, _ROWS)
        with evaluating(self.model):
            for at, fields in placed_rows(made, device):
                place = fields.pop("place")
                columns["nats"][at] = columns["score"][at] = self._nats(fields, place, fields.pop("spelled"))
                many = {key: value.repeat_interleave(draws, 0) for key, value in fields.items()}
                tokens = self._draw(many, place.repeat_interleave(draws), generator).tolist()
                drawn = np.array([spelling.value(row) for row in tokens]).reshape(len(at), draws)
                for row, some in zip(at, drawn, strict=True):
                    _describe(columns, row, some[np.isfinite(some)])
                for name, (numerals, known) in wrong.items():
                    tokens = [spelling.tokens(numerals[index].text) for index in at]
                    scores = self._nats(fields, place, torch.tensor(tokens, device=device))
                    columns[name][0, at] = np.where(known[at], scores, np.nan)
        return columns

    def _logits(self, fields: dict[str, Tensor], place: Tensor) -> Tensor:
        """Logits of the tokenizer's tokens at one place of each row: (B, V)."""
        rows = torch.arange(len(place), device=place.device)
        return logits_at(self.model, fields, rows, place)[:, : len(self.spelling.texts)].double()

    def _nats(self, fields: dict[str, Tensor], place: Tensor, spelled: Tensor) -> np.ndarray:
        """Negative log-probability of the tokens of each row, one after the other: (B,)."""
        rows = torch.arange(len(place), device=place.device)
        inputs, total = fields | {"input_ids": fields["input_ids"].clone()}, torch.zeros(len(place)).double()
        going = torch.ones(len(place), dtype=torch.bool)  # False after the first filler
        for turn in range(PLACES):
            found = -self._logits(inputs, place + turn).log_softmax(-1)[rows, spelled[:, turn]].cpu()
            total += torch.where(going, found, 0.0)
            going &= (spelled[:, turn] != self.spelling.filler).cpu()
            inputs["input_ids"][rows, place + turn] = spelled[:, turn]
        return total.numpy()

    def _draw(self, fields: dict[str, Tensor], place: Tensor, generator: torch.Generator) -> Tensor:
        """One sample for each row, token by token: (B, PLACES)."""
        rows = torch.arange(len(place), device=place.device)
        inputs, filler = fields | {"input_ids": fields["input_ids"].clone()}, self.spelling.filler
        allowed = self.spelling.allowed.to(place.device)
        drawn = torch.full((len(place), PLACES), filler, device=place.device)
        going = torch.ones(len(place), dtype=torch.bool, device=place.device)
        for turn in range(PLACES):
            shares = self._logits(inputs, place + turn)[:, allowed].softmax(-1).cumsum(-1)
            level = torch.rand(len(place), 1, generator=generator, dtype=torch.float64).to(place.device)
            chosen = allowed[(shares < level * shares[:, -1:]).sum(-1).clamp_max(len(allowed) - 1)]
            drawn[:, turn] = torch.where(going, chosen, filler)
            going = going & (chosen != filler)
            inputs["input_ids"][rows, place + turn] = drawn[:, turn]
        return drawn


def _known(right: Tensor, filler: int, generator: torch.Generator) -> Tensor:
    """Number of given tokens in training, (B, 1): none for half of the numbers, else uniform."""
    whole = (right != filler).sum(1, keepdim=True).clamp_max(PLACES - 1)
    drawn = torch.rand(len(right), 2, generator=generator).to(right.device)
    return torch.where(drawn[:, :1] < 0.5, 0, (drawn[:, 1:] * (whole + 1)).long())


def _describe(columns: dict[str, np.ndarray], row: int, drawn: np.ndarray) -> None:
    """Writes median, interval and CRPS of samples (S,) into a row of columns."""
    if len(drawn):
        columns["median"][row] = np.median(drawn)
        columns["low"][row], columns["high"][row] = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        gold = torch.tensor([columns["gold"][row]])
        columns["crps"][row] = float(metrics.crps_of_samples(torch.from_numpy(drawn)[:, None], gold))
