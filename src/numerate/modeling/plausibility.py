"""How plausible the numbers of texts are to a model: each is hidden alone, and compared with its distribution.

Nothing but the hidden number is taken from the text, as in training, in evaluation and in `predict("... [NUM] ...")`.
One number is hidden in each pass, and no logits of words are computed.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.errors import BadInput
from numerate.heads.mixture import signed_log
from numerate.metrics.conformal import LEVELS
from numerate.modeling.asking import asked_token, refusal
from numerate.modeling.introspection import base_of, evaluating
from numerate.modeling.tokenizer_checks import longest_text
from numerate.modeling.word_sizes import word_of
from numerate.numerals.slips import SlipReading, slip_readings
from numerate.objectives.hiding import hide_numbers
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.processing.slot_positions import first_tokens, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral

__all__ = [
    "UNIT", "HiddenNumbers", "bits_of", "check_can_judge", "hidden_numbers", "interval_ends", "reading_logs",
    "slip_scores", "tail_of",
]  # fmt: skip

UNIT = 1e-3
"""Unit of the signed logarithm in which densities are compared: sizes far above it count by their ratio."""
BATCH_TOKENS = 4096
"""Tokens of one pass."""
_LEAST_LOG = -1000.0
_CHUNK = 1024
"""Texts that are sorted by length at once."""


@dataclass(frozen=True, eq=False)
class HiddenNumbers:
    """N numbers of texts, and what a model expected in their places.

    Attributes:
        rows: (N,) index of each number's text.
        numerals: The N numbers as they are written.
        numbers: N distributions.
        targets: A table of N numbers as the model is asked for them: 3.2 of `3.2%`, whose percent sign is in sight.
        words: (N,) what each counts or measures; see `word_of`.
    """

    rows: list[int]
    numerals: list[Numeral]
    numbers: NumberDistribution
    targets: NumberTable
    words: list[str]

    def __len__(self) -> int:
        return len(self.rows)


def check_can_judge(model: NumberModel) -> None:
    """Refuses a model that cannot be asked for a hidden number between its neighbours.

    Raises:
        BadInput: It has no number head, did not learn to predict numbers, scales them, or has a decoder.
    """
    said = refusal(model)
    if model.head is None:
        said = "the model has no number head: train one with a recipe such as 'in-place'"
    elif model.info.is_encoder_decoder or model.info.is_causal:
        said = f"numbers are judged by what stands on both sides of them: give a masked model, not {model.info.task!r}"
    elif model.processor.scaling is not None:
        said = "the model scales numbers by field: use `numerate predict` for records"
    if said:
        raise BadInput(said)


@torch.no_grad()
def hidden_numbers(
    model: NumberModel, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS, together: bool = False,
    only: Sequence[int] | None = None,
) -> Iterator[HiddenNumbers]:  # fmt: skip
    """Distributions of every number of the texts, each hidden alone; in batches of texts of similar length.

    Args:
        model: A masked model with a trained number head.
        texts: Texts; what is longer than the model reads is cut, and numbers behind the cut are left out.
        batch_tokens: Tokens of one pass.
        together: Hide all numbers of a text at once instead: one pass for each text, and a wider distribution.
        only: For each text, an offset in it: only the number that stands there is hidden.
    """
    check_can_judge(model)
    tokenizer: Any = model.processor.tokenizer
    sizes = (model.max_tokens, longest_text(base_of(model.backbone).config, tokenizer))
    most = min((size for size in sizes if size is not None), default=None)
    cut: dict[str, Any] = {} if most is None else {"truncation": True, "max_length": most}
    vocabulary = dataclasses.replace(model.vocabulary, pads_left=False)
    with evaluating(model):
        for start in range(0, len(texts), _CHUNK):
            for rows in _of_similar_length(texts, start, batch_tokens):
                batch: Any = model.processor(
                    [texts[row] for row in rows], padding=True, padding_side="right", return_tensors="pt", **cut
                )
                numerals = batch.numerals
                fields = {key: value.to(model.device) for key, value in batch.items()}
                asked = _asked(fields)
                if asked is not None and only is not None:
                    asked = asked & _standing_at(numerals, [only[row] for row in rows], asked)
                if asked is None or not bool(asked.any()):
                    continue
                for at, one in _passes(asked, fields, batch_tokens, together):
                    some = {key: value.index_select(0, at) for key, value in fields.items()}
                    sight = torch.ones_like(one)
                    hidden = hide_numbers(some, one, vocabulary, token=asked_token(model), in_sight=sight)
                    output = model(**_shortened(hidden.inputs), return_loss=False, word_logits=False)
                    row, place = output.number_index.unbind(1)
                    own = one[row, place]  # a text may ask for other numbers itself
                    row, place = row[own], place[own]
                    where: list[int] = at[row].tolist()
                    places = [rows[each] for each in where]
                    written = [numerals[each][k] for each, k in zip(where, place.tolist(), strict=True)]
                    words = [word_of(each, texts[here]) for each, here in zip(written, places, strict=True)]
                    yield HiddenNumbers(places, written, output.numbers[own], hidden.targets[row, place], words)


def tail_of(numbers: NumberDistribution, targets: NumberTable) -> np.ndarray:
    """Two-sided tails (N,): the probability of a number at least as far on its side of the median, twice."""
    below = numbers.cdf(targets.values()).detach().double().cpu().numpy()
    return np.minimum(2 * np.minimum(below, 1 - below), 1.0)


def bits_of(numbers: NumberDistribution, targets: NumberTable) -> np.ndarray:
    """Surprise in bits (N,): minus the binary logarithm of the density of the signed logarithm.

    So 1,000 instead of 100 is as far as 10 instead of 1. A head over written numbers has probabilities: no density.
    """
    logs = numbers.log_prob(targets)
    if numbers.is_density:
        logs = logs + _widen(targets.values())
    return (-logs / math.log(2)).detach().double().cpu().numpy()


def reading_logs(hidden: HiddenNumbers) -> tuple[list[list[SlipReading]], np.ndarray]:
    """What each number may have been before a slip, and log-densities of the signed logarithm.

    Returns:
        The readings of each number; and (N, 1 + W) log-densities of the number and of its readings, -1000 where there
        are fewer readings. W is 0 for a head over written numbers, which has no density.
    """
    readings = [slip_readings(numeral) for numeral in hidden.numerals]
    values = hidden.targets.values()
    width = max((len(each) for each in readings), default=0) if hidden.numbers.is_density else 0
    if not width:
        return readings, -math.log(2) * bits_of(hidden.numbers, hidden.targets)[:, None]
    ratios = np.full((len(readings), 1 + width), np.nan)
    ratios[:, 0] = 1.0
    for row, (numeral, each) in enumerate(zip(hidden.numerals, readings, strict=True)):
        ratios[row, 1 : 1 + len(each)] = [reading.written / numeral.written for reading in each]
    table = values[:, None] * torch.from_numpy(np.nan_to_num(ratios, nan=1.0)).to(values)
    densities = hidden.numbers.log_prob(NumberTable.unwritten(table)).to(table.device)
    logs = (densities + _widen(table)).detach().double().cpu().numpy()
    return readings, np.where(np.isnan(ratios), _LEAST_LOG, logs)


def slip_scores(
    hidden: HiddenNumbers, found: tuple[list[list[SlipReading]], np.ndarray] | None = None
) -> tuple[np.ndarray, list[list[SlipReading]], list[np.ndarray]]:
    """Evidence for a slip: how much more probable other readings of each number are than what stands there.

    Args:
        hidden: The numbers.
        found: Their `reading_logs`, if they are known.

    Returns:
        (N,) binary logarithms of the sum over readings of share times density, divided by the density of what is
        written; the readings of each number; and the binary logarithm of each reading's own ratio, without its share.
    """
    readings, nats = reading_logs(hidden) if found is None else found
    if nats.shape[1] == 1:
        none = [np.zeros(len(each)) for each in readings]
        return np.full(len(readings), -50.0), readings, none
    logs = nats / math.log(2)
    shares = np.zeros((len(readings), logs.shape[1] - 1))
    for row, each in enumerate(readings):
        shares[row, : len(each)] = [reading.share for reading in each]
    gains = np.clip(logs[:, 1:] - np.maximum(logs[:, :1], -1000.0), -1000.0, 1000.0)
    with np.errstate(divide="ignore"):
        total = np.logaddexp2.reduce(np.where(shares > 0, gains + np.log2(shares), -np.inf), axis=1)
    return np.maximum(total, -50.0), readings, [gains[row, : len(each)] for row, each in enumerate(readings)]


def interval_ends(numbers: NumberDistribution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signed logarithms of the median (N,) and of the central intervals at `LEVELS`: lower, upper ends (N, L) each."""
    p = [0.5, *((1 - level) / 2 for level in LEVELS), *((1 + level) / 2 for level in LEVELS)]
    levels = torch.tensor(p, dtype=torch.float64, device=numbers.device).expand(len(numbers), -1)
    ends = signed_log(numbers.quantile(levels), UNIT).cpu().numpy()
    return ends[:, 0], ends[:, 1 : 1 + len(LEVELS)], ends[:, 1 + len(LEVELS) :]


def _widen(values: Tensor) -> Tensor:
    """Logarithm of what turns a density of the value into one of its signed logarithm."""
    return torch.log(torch.hypot(values, torch.full_like(values, UNIT)))


def _of_similar_length(texts: Sequence[str], start: int, batch_tokens: int) -> Iterator[list[int]]:
    """Indices of a chunk's texts in groups of similar length, which need little padding."""
    order = sorted(range(start, min(start + _CHUNK, len(texts))), key=lambda row: len(texts[row]))
    group: list[int] = []
    for row in order:
        if group and (len(group) + 1) * (len(texts[row]) / 3 + 8) > batch_tokens:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _asked(fields: dict[str, Tensor]) -> Tensor | None:
    """(B, M) the given, finite numbers that have a token."""
    table, slots = table_of(fields), fields.get("number_slots")
    if table is None or slots is None:
        return None
    asked = (table.given == GIVEN) & table.values().isfinite()
    return asked & (first_tokens(slots, asked.shape[1]) < slots.shape[1])


def _standing_at(numerals: Sequence[Sequence[Any]], offsets: Sequence[int], like: Tensor) -> Tensor:
    """(B, M) the numbers that cover an offset of their text."""
    found = torch.zeros_like(like)
    for row, (each, offset) in enumerate(zip(numerals, offsets, strict=True)):
        for place, numeral in enumerate(each):
            if numeral is not None and numeral.start <= offset < numeral.end:
                found[row, place] = True
    return found


def _passes(
    asked: Tensor, fields: dict[str, Tensor], batch_tokens: int, together: bool
) -> Iterator[tuple[Tensor, Tensor]]:
    """For each pass, the rows of the batch (N,) and which numbers (N, M) are hidden in them."""
    most = max(1, batch_tokens // max(1, fields["input_ids"].shape[1]))
    if together:
        rows = asked.any(1).nonzero()[:, 0]
        for start in range(0, len(rows), most):
            at = rows[start : start + most]
            yield at, asked[at]
        return
    rows, places = asked.nonzero(as_tuple=True)
    for start in range(0, len(rows), most):
        at, place = rows[start : start + most], places[start : start + most]
        one = torch.zeros(len(at), asked.shape[1], dtype=torch.bool, device=asked.device)
        yield at, one.scatter(1, place[:, None], True)


def _shortened(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs without columns of padding, which hiding numbers of several tokens leaves behind."""
    attention, ids = inputs.get("attention_mask"), inputs["input_ids"]
    if attention is None or attention.dim() != 2:
        return inputs
    length = int(attention.any(0).nonzero()[-1]) + 1
    of_numbers = ("number_bits", "number_chars", "number_precision", "number_given", "number_wanted", "number_column")
    return {
        key: value[:, :length] if isinstance(value, torch.Tensor) and key not in of_numbers
        and value.shape[:2] == ids.shape else value
        for key, value in inputs.items()
    }  # fmt: skip
