"""Masked numbers spelled token by token by a model that knows nothing of them: the baseline of every number head.

In the place of the number stand as many masks whatever the number, so that they do not say how long it is; its subwords
come first, a filler behind them. The model learns to go on from any beginning. Then numbers are drawn from it, from
left to right, out of the tokens that numbers are written with; their median is its guess.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.modeling.introspection import evaluating
from numerate.training.device_batches import BatchesByLength
from numerate_lab.registry import tasks
from numerate_lab.tasks.masked_prediction import prediction_setup as literacy
from numerate_lab.tasks.masked_prediction.anomalies import KINDS, wrong_numbers
from numerate_lab.tasks.masked_prediction.fitting import fit
from numerate_lab.tasks.masked_prediction.number_guesses import LEVEL, NumberGuesses, baselines_and
from numerate_lab.tasks.masked_prediction.picked_states import picks_states, states_at
from numerate_lab.tasks.masked_prediction.prediction_setup import LiteracyConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = ["SpelledNumber", "Spelling"]

PLACES = 6
"""So many tokens a number has at most; what is longer is cut."""
DRAWS = 49
"""So many numbers are drawn for each sentence: the median, and intervals of 90 % between the second and the last."""
_ROWS = 64


class Spelling:
    """Sentences with a run of masks for the number, and numbers as tokens for them.

    Args:
        tokenizer: Of the masked language model.

    Attributes:
        allowed: (A,) int64, the tokens that may stand in a number: digits, commas, points; and the filler.

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
        """A number's tokens, filled up to all places."""
        ids = self.tokenizer(written, add_special_tokens=False)["input_ids"][:PLACES]
        return ids + [self.filler] * (PLACES - len(ids))

    def value(self, tokens: Sequence[int]) -> float:
        """The number that tokens spell, up to the first filler; NaN for none."""
        ids = list(tokens)
        ids = ids[: ids.index(self.filler)] if self.filler in ids else ids
        try:
            return float("".join(self.texts[token] for token in ids).replace(",", ""))
        except ValueError:
            return float("nan")

    def rows(self, sentences: Sequence[NumberSentence], most: int) -> tuple[list[dict[str, Any]], np.ndarray]:
        """Sentences with masks in the place of the number, and where the first mask is; -1 where it was cut."""
        if any(sentence.numeral is None for sentence in sentences):
            raise ValueError("every sentence must have a number to be asked for")
        mask, spans = self.tokenizer.mask_token_id, [(s.numeral.start, s.numeral.end) for s in sentences if s.numeral]
        before = [s.text[:start].rstrip() for s, (start, _) in zip(sentences, spans, strict=True)]
        behind = [s.text[end:] for s, (_, end) in zip(sentences, spans, strict=True)]
        left, right = (self.tokenizer(some, add_special_tokens=False)["input_ids"] for some in (before, behind))
        frame = self.tokenizer(self.tokenizer.mask_token)["input_ids"]  # what the tokenizer puts around a text
        first, last = frame[: frame.index(mask)], frame[frame.index(mask) + 1 :]
        rows, places = [], []
        for one, other in zip(left, right, strict=True):
            ids = [*first, *one, *[mask] * PLACES, *other][: most - len(last)]
            start = len(first) + len(one)
            places.append(start if start + PLACES <= len(ids) else -1)
            rows.append({"input_ids": [*ids, *last]})
        return rows, np.array(places, dtype=np.int64)


@tasks.register("spelled-number")
class SpelledNumber:
    """The task on one set of sentences, with a model that needs no number head.

    Args:
        config: Data, model, training.
    """

    Config = LiteracyConfig
    version = 1

    def __init__(self, config: LiteracyConfig) -> None:
        self.config = config

    def spelling(self, model: NumberModel) -> Spelling:
        """The tokens, looked through once for all cells of a process."""
        return _spelling(model.processor.tokenizer)

    def build(self) -> NumberModel:
        """A fresh model."""
        return literacy.build(self.config)

    def batches(self, model: NumberModel, split: str, size: int) -> BatchesByLength:
        """A split as batches with the first mask of each row in `place`, and the right tokens in `spelled`."""
        return _batches(*literacy.written_as(self.config, model, split), size)

    def train(self, model: NumberModel) -> dict[str, Any]:
        """Trains it to go on spelling from a random beginning of the right number."""
        config, generator = self.config, torch.Generator().manual_seed(self.config.seed)

        def collate(batches: list[dict[str, Tensor]]) -> dict[str, Tensor]:
            batch = dict(batches[0])
            place, right = batch.pop("place"), batch.pop("spelled")
            known = _known(right, self.spelling(model).filler, generator)
            turns = torch.arange(PLACES, device=right.device)
            hidden = (turns >= known) & (place >= 0)[:, None]
            at = place.clamp_min(0)[:, None] + turns
            ids, labels = batch["input_ids"].clone(), torch.full_like(batch["input_ids"], -100)
            there = (place >= 0)[:, None].expand_as(hidden)
            rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(at)
            seen = there & ~hidden
            ids[rows[seen], at[seen]] = right[seen]
            # Behind the first filler, nothing is left to be said.
            said = hidden & (turns <= (right != self.spelling(model).filler).sum(1, keepdim=True))
            labels[rows[said], at[said]] = right[said]
            return batch | {"input_ids": ids, "labels": labels}

        return fit(model, config, lambda device: self.batches(model, "train", config.batch).to(device), collate)

    @torch.no_grad()
    def guess(self, model: NumberModel, split: str = "test", seed: int = 0, draws: int = DRAWS) -> NumberGuesses:
        """What the model says of each number of a split, from numbers drawn from it, and of wrong ones in its place."""
        sentences, _ = literacy.load_split(self.config, split)
        right: list[Any] = [sentence.numeral for sentence in sentences]
        wrong = {kind: wrong_numbers(right, kind, seed) for kind in KINDS}
        count = len(right)
        drawn, nats = np.full((count, draws), np.nan), np.full(count, np.nan)
        odd = {kind: np.full((2, count), np.nan) for kind in KINDS}
        generator = torch.Generator().manual_seed(seed)
        spelling = self.spelling(model)
        with evaluating(model):
            made = self.batches(model, split, _ROWS)
            for part, batch in zip(made.parts, made.batches, strict=True):
                there = (batch["place"] >= 0).cpu().numpy()
                at = np.array(part)[there]
                if not len(at):
                    continue
                fields = {
                    key: value.to(model.device)[torch.from_numpy(there).to(model.device)]
                    for key, value in batch.items()
                }
                place = fields.pop("place")
                nats[at] = self._nats(model, fields, place, fields.pop("spelled"))
                many = {key: value.repeat_interleave(draws, 0) for key, value in fields.items()}
                tokens = self._draw(model, many, place.repeat_interleave(draws), generator).tolist()
                drawn[at] = np.array([spelling.value(row) for row in tokens]).reshape(len(at), draws)
                for kind in KINDS:
                    known = np.array([wrong[kind][index] is not None for index in at])
                    tokens = [spelling.tokens((wrong[kind][index] or right[index]).text) for index in at]
                    scores = self._nats(model, fields, place, torch.tensor(tokens, device=model.device))
                    odd[kind][0, at] = np.where(known, scores, np.nan)
        gold = np.array([numeral.value for numeral in right])
        return _guesses(gold, drawn, nats, odd)

    def evaluate(self, model: NumberModel, split: str = "test") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Figures of the model and of the baselines by name, and the columns they are computed from."""
        guesses = self.guess(model, split)
        return baselines_and(guesses, self.config, split), guesses.columns()

    def _logits(self, model: NumberModel, fields: dict[str, Tensor], place: Tensor) -> Tensor:
        """Logits of the tokenizer's tokens at one place of each row: (B, V)."""
        rows = torch.arange(len(place), device=place.device)
        if picks_states(model):
            with states_at(model, rows, place):
                logits = model(**fields, return_loss=False).logits[:, 0]
        else:
            logits = model(**fields, return_loss=False).logits[rows, place]
        return logits[:, : len(self.spelling(model).texts)].double()

    def _nats(self, model: NumberModel, fields: dict[str, Tensor], place: Tensor, spelled: Tensor) -> np.ndarray:
        """Negative log-probability of each row's tokens, one after the other: (B,)."""
        rows = torch.arange(len(place), device=place.device)
        inputs, total = fields | {"input_ids": fields["input_ids"].clone()}, torch.zeros(len(place)).double()
        going = torch.ones(len(place), dtype=torch.bool)  # behind the first filler, nothing is left to be said
        for turn in range(PLACES):
            found = -self._logits(model, inputs, place + turn).log_softmax(-1)[rows, spelled[:, turn]].cpu()
            total += torch.where(going, found, 0.0)
            going &= (spelled[:, turn] != self.spelling(model).filler).cpu()
            inputs["input_ids"][rows, place + turn] = spelled[:, turn]
        return total.numpy()

    def _draw(self, model: NumberModel, fields: dict[str, Tensor], place: Tensor, generator: torch.Generator) -> Tensor:
        """A number for each row, drawn token by token: (B, PLACES)."""
        rows = torch.arange(len(place), device=place.device)
        inputs, filler = fields | {"input_ids": fields["input_ids"].clone()}, self.spelling(model).filler
        allowed = self.spelling(model).allowed.to(place.device)
        drawn = torch.full((len(place), PLACES), filler, device=place.device)
        going = torch.ones(len(place), dtype=torch.bool, device=place.device)
        for turn in range(PLACES):
            shares = self._logits(model, inputs, place + turn)[:, allowed].softmax(-1).cumsum(-1)
            level = torch.rand(len(place), 1, generator=generator, dtype=torch.float64).to(place.device)
            chosen = allowed[(shares < level * shares[:, -1:]).sum(-1).clamp_max(len(allowed) - 1)]
            drawn[:, turn] = torch.where(going, chosen, filler)
            going = going & (chosen != filler)
            inputs["input_ids"][rows, place + turn] = drawn[:, turn]
        return drawn


def _known(right: Tensor, filler: int, generator: torch.Generator) -> Tensor:
    """How many tokens of each number are told in training: none for half of them, else any beginning: (B, 1)."""
    whole = (right != filler).sum(1, keepdim=True).clamp_max(PLACES - 1)
    drawn = torch.rand(len(right), 2, generator=generator).to(right.device)
    return torch.where(drawn[:, :1] < 0.5, 0, (drawn[:, 1:] * (whole + 1)).long())


@functools.lru_cache(maxsize=2)
def _spelling(tokenizer: Any) -> Spelling:
    return Spelling(tokenizer)


@functools.lru_cache(maxsize=6)
def _batches(key: tuple[Any, ...], plan: str, size: int) -> BatchesByLength:
    """A split as `SpelledNumber.batches` gives it, made once for all cells of a process."""
    sentences, positions = literacy.split_of(*key)
    spelling = _spelling(literacy.processor_of(key, plan).tokenizer)
    rows, places = spelling.rows(sentences, json.loads(plan)["max_tokens"])
    made = BatchesByLength(rows, _pad(spelling.filler), size, positions.lengths.tolist())
    for part, batch in zip(made.parts, made.batches, strict=True):
        right = [spelling.tokens(sentences[index].numeral.text) for index in part]  # type: ignore[union-attr]
        batch["place"], batch["spelled"] = torch.from_numpy(places[part]), torch.tensor(right)
    return made


def _guesses(gold: np.ndarray, drawn: np.ndarray, nats: np.ndarray, odd: dict[str, np.ndarray]) -> NumberGuesses:
    """Medians, intervals and CRPS of drawn numbers (N, S), of which NaN are none."""
    columns = {name: np.full(len(gold), np.nan) for name in ("median", "low", "high", "crps")}
    for row, some in enumerate(drawn):
        known = some[np.isfinite(some)]
        if len(known):
            columns["median"][row] = np.median(known)
            columns["low"][row], columns["high"][row] = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            values = torch.from_numpy(known)[:, None]
            columns["crps"][row] = float(metrics.crps_of_samples(values, torch.tensor([gold[row]])))
    return NumberGuesses(gold=gold, **columns, nats=nats, score=nats, tail=np.full(len(gold), np.nan), wrong=odd)


def _pad(filler: int) -> Any:
    """Pads rows of ids on the right."""

    def pad(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        width = max(len(row["input_ids"]) for row in rows)
        ids = torch.tensor([row["input_ids"] + [filler] * (width - len(row["input_ids"])) for row in rows])
        lengths = torch.tensor([len(row["input_ids"]) for row in rows])
        return {"input_ids": ids, "attention_mask": (torch.arange(width) < lengths[:, None]).long()}

    return pad
