"""Texts that ask for a number, as batches for one encoding, and a model's answers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from numerate.modeling.introspection import evaluating
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import PADDING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.asked_number.asked_number import Truth

__all__ = ["Asked", "answers", "encode", "read_number"]

CHUNK = 8192
"""Texts that are encoded at once."""
_FIELDS = ("input_ids", "attention_mask", "number_slots", "number_bits", "number_chars", "number_precision")
MOST_WRONG = 1e-3
"""The share of texts whose asked number may be read otherwise than the task means it."""


class Asked:
    """Encoded texts, all of one length, in tensors of N rows.

    Attributes:
        fields: As a model takes them, with `number_wanted` (N, M), which number is asked for, or `labels`.
    """

    def __init__(self, fields: dict[str, Tensor]) -> None:
        self.fields = fields

    def __len__(self) -> int:
        return len(self.fields["input_ids"])

    def __getitem__(self, rows: slice | Tensor) -> dict[str, Tensor]:
        return {key: value[rows] for key, value in self.fields.items()}

    def to(self, device: Any) -> Asked:
        """The same on a device."""
        return Asked({key: value.to(device) for key, value in self.fields.items()})

    @property
    def tokens(self) -> int:
        """How many tokens there are, padding left out."""
        return int(self.fields["attention_mask"].sum())

    def batches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """The rows in order, some at a time."""
        return (self[slice(start, start + size)] for start in range(0, len(self), size))


def encode(model: NumberModel, texts: Sequence[str], truth: Truth, answer_slot: int, *, causal: bool) -> Asked:
    """Encodes texts with their answers, and marks the number at `answer_slot` of each, which is asked for.

    With `causal`, the answer is predicted token by token: `labels` say which tokens are learnt, those of the answer and
    the one behind it.

    Raises:
        ValueError: More than one text in a thousand is read otherwise than the task means it.
    """
    parts: list[dict[str, Tensor]] = []
    for start in range(0, len(texts), CHUNK):
        batch = model.processor(list(texts[start : start + CHUNK]), padding=True, return_tensors="pt")
        parts.append({key: batch[key] for key in (*_FIELDS, "number_given") if key in batch})
    words: Any = model.processor.tokenizer
    fill = {"number_given": PADDING, "input_ids": words.pad_token_id}
    fields = {key: _joined([part[key] for part in parts], fill.get(key, 0)) for key in parts[0]}
    present = fields["number_given"] != PADDING
    counts = present.sum(1)
    place = counts + answer_slot if answer_slot < 0 else torch.full_like(counts, answer_slot)
    wanted = (torch.arange(present.shape[1]) == place[:, None]) & present
    _check(model, fields, wanted, texts, truth)
    if causal:
        slots = fields["number_slots"].abs()
        of_answer = (slots > 0) & wanted.gather(1, (slots - 1).clamp_min(0))
        behind = functional.pad(of_answer[:, :-1], (1, 0)) & ~of_answer
        labels = torch.where(of_answer | behind, fields["input_ids"], -100)
        return Asked({key: fields[key] for key in ("input_ids", "attention_mask")} | {"labels": labels})
    return Asked(fields | {"number_wanted": wanted})


def _joined(parts: list[Tensor], fill: int) -> Tensor:
    """Tensors (n, T, ...) one after the other, padded to the longest."""
    shape = [max(part.shape[axis] for part in parts) for axis in range(1, parts[0].dim())]
    padded = []
    for part in parts:
        missing = [size - have for size, have in zip(shape, part.shape[1:], strict=True)]
        padded.append(functional.pad(part, [n for more in reversed(missing) for n in (0, more)], value=fill))
    return torch.cat(padded)


def _check(model: NumberModel, fields: dict[str, Tensor], wanted: Tensor, texts: Sequence[str], truth: Truth) -> None:
    """That the number asked for is the one that the reader found there."""
    has = wanted.any(1)
    values = _unscaled(model, fields["number_bits"].view(torch.float64).masked_fill(~wanted, 0.0).sum(1))
    gold = torch.from_numpy(truth.values)
    wrong = ~has | ((values - gold).abs() > 1e-6 * gold.abs().clamp_min(1e-9))
    if model.processor.scaling is None and wrong.double().mean() > MOST_WRONG:
        row = int(wrong.nonzero()[0])
        raise ValueError(
            f"{int(wrong.sum())} of {len(texts)} texts are read otherwise than meant, the first: {texts[row]!r} asks "
            f"for {truth.strings[row]}, and {values[row].item():g} was read"
        )


def _unscaled(model: NumberModel, values: Tensor) -> Tensor:
    """Values in the units of the texts."""
    scaling = model.processor.scaling
    return values if scaling is None else torch.from_numpy(scaling.invert([""] * len(values), values.numpy()))


@torch.no_grad()
def answers(model: NumberModel, asked: Asked, *, size: int = 1024, most_tokens: int = 32) -> list[float | str | None]:
    """The model's answer to each text: a value from its head, or a string from its tokens; None for no number.

    Texts are on the model's device, `size` of them in a batch. Answers by tokens end after `most_tokens`.
    """
    given: list[float | str | None] = []
    with evaluating(model):
        for batch in asked.batches(size):
            if "labels" in batch:
                given += _in_turn(model, batch, most_tokens)
            elif model.head is not None:
                given += _by_head(model, batch)
            else:
                given += _filled_in(model, batch)
    return given


def _by_head(model: NumberModel, batch: dict[str, Tensor]) -> list[float | str | None]:
    assert model.objective is not None  # noqa: S101 (for the type checker)
    task = model.objective.prepare(batch, model.vocabulary)
    numbers: Any = model(**task.inputs, return_loss=False).numbers
    values = _unscaled(model, (numbers.median() if numbers.is_density else numbers.mode()).double().cpu())
    found: list[float | str | None] = [None] * len(batch["input_ids"])
    for row, value in zip(batch["number_wanted"].any(1).nonzero()[:, 0].tolist(), values.tolist(), strict=True):
        found[row] = value
    return found


def _filled_in(model: NumberModel, batch: dict[str, Tensor]) -> list[float | str | None]:
    """Every token of the answer at once, as in xVal."""
    assert model.objective is not None  # noqa: S101 (for the type checker)
    task = model.objective.prepare(batch, model.vocabulary)
    logits = model(**task.inputs, return_loss=False).logits
    asked = task.labels != -100  # type: ignore[operator]
    chosen = logits.argmax(-1).cpu()
    rows = zip(chosen.tolist(), asked.cpu().tolist(), strict=True)
    return [read_number(model, [token for token, is_asked in zip(*row, strict=True) if is_asked]) for row in rows]


def _in_turn(model: NumberModel, batch: dict[str, Tensor], most_tokens: int) -> list[float | str | None]:
    """Token by token, the most probable one each time; text behind the question is not seen."""
    labels, ids = batch["labels"], batch["input_ids"]
    start = (labels != -100).long().argmax(1)
    length = int(start.max()) + most_tokens
    place = torch.arange(length, device=ids.device)
    words: Any = model.processor.tokenizer
    ids = functional.pad(ids, (0, max(0, length - ids.shape[1])), value=words.pad_token_id)[:, :length]
    ids = torch.where(place < start[:, None], ids, words.pad_token_id)
    rows = torch.arange(len(ids), device=ids.device)
    own, ended = model.processor.num_id, torch.zeros_like(start, dtype=torch.bool)
    # Where numbers have tokens of their own, any word ends a number.
    in_words = any(not piece.own for piece in model.processor.notation.write(Numeral("12", 0, 2, 12.0)))
    stops = torch.tensor(words.all_special_ids if in_words else range(own), device=ids.device)
    for step in range(most_tokens):
        seen = int(start.max()) + step
        mask = (place[:seen] < (start + step)[:, None]).long()
        logits = model(input_ids=ids[:, :seen], attention_mask=mask, return_loss=False).logits
        token = logits[rows, start + step - 1].argmax(-1)
        ended |= torch.isin(token, stops)
        ids[rows, start + step] = torch.where(ended, ids[rows, start + step], token)
        if bool(ended.all()):
            break
    ends = set(stops.tolist())
    rows_of = zip(ids.tolist(), start.tolist(), strict=True)
    return [read_number(model, [token for token in row[first:] if token not in ends]) for row, first in rows_of]


def read_number(model: NumberModel, tokens: list[int]) -> str | None:
    """The number that tokens write, as a string; None if they write none."""
    processor: Any = model.processor
    spaced: list[str] = []
    for is_own, run in itertools.groupby(tokens, key=lambda token: token >= processor.num_id):
        if is_own:
            spaced += [processor.own_tokens[token - processor.num_id] for token in run]
        else:
            spaced.append(processor.tokenizer.decode(list(run)))
    for pieces in ([piece.replace(" ", "") for piece in spaced], spaced):  # digits in several tokens; words
        try:
            numeral = processor.notation.read(pieces)
        except ValueError:
            continue
        return None if numeral is None else numeral.text
    return None
