"""Texts that each ask for one of their numbers: where they come from, and how answers are measured.

`ArithmeticProblems` is such a source, `AskedInTexts` another, for texts of one's own. A trial takes `texts(...)`, hides
the number at `answer_slot` of each, and measures what was predicted, values or strings, against `truth(...)`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch

from numerate import metrics
from numerate.metrics import Score
from numerate.notation.decimal_form import parse_numeral
from numerate.reading import make_reader
from numerate_lab.tasks.next_numeral.corpora import CorpusError, read_corpus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate.numerals.numeral import Numeral

__all__ = ["AskedInTexts", "QuestionSource", "Truth", "compared", "measure", "scores"]


@dataclass(frozen=True)
class Truth:
    """The numbers asked for.

    Attributes:
        values: (N,) float64.
        strings: How they are written, exactly.
        precision: (N,) int64, the power of ten of the last digit that has to be right.
        spans: (N, 2) int64, where each begins and ends in its text; None where there are no texts.
        groups: Labels (N,) to measure by, such as `digits`.
    """

    values: np.ndarray
    strings: list[str]
    precision: np.ndarray
    spans: np.ndarray | None = None
    groups: dict[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.strings)

    def __getitem__(self, rows: Any) -> Truth:
        """Some of them: an array or list of places."""
        spans = None if self.spans is None else self.spans[rows]
        groups = {name: labels[rows] for name, labels in self.groups.items()}
        return Truth(self.values[rows], [self.strings[row] for row in rows], self.precision[rows], spans, groups)

    def hidden_in(self, texts: Sequence[str], mark: str = "[NUM]") -> list[str]:
        """The texts with a mark in place of what is asked for, as `NumberModel.predict` takes them.

        Example:
            >>> truth = Truth(np.array([5.0]), ["5"], np.array([0]), np.array([[8, 9]]))
            >>> truth.hidden_in(["2 + 3 = 5"])
            ['2 + 3 = [NUM]']
        """
        if self.spans is None or len(texts) != len(self):
            raise ValueError(f"{len(self)} answers {'without spans ' * (self.spans is None)}for {len(texts)} texts")
        places = self.spans.tolist()
        return [text[:start] + mark + text[end:] for text, (start, end) in zip(texts, places, strict=True)]


@runtime_checkable
class QuestionSource(Protocol):
    """A source of texts that ask for a number.

    Attributes:
        answer_slot: Which number of each text is asked for, -1 for the last.
    """

    answer_slot: int

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """Texts `start` to `start + count` of a split, complete with their answers; the same whenever asked."""
        ...

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """What those texts ask for."""
        ...


def measure(predicted: Any, truth: Truth, predictors: int = 1) -> dict[str, Score]:
    """How good predicted numbers are: `r2`, `adjusted_r2`, `exact_match`, `log_smape`, `mdape` and `invalid`.

    A value is exact if it is the true number once rounded to its last digit; but no float64 can be where their spacing
    is wider than that, as beyond 15 digits. A string is exact if it is worth as much, digit for digit. What is no
    number (None, text, NaN) is wrong, and invalid; R2 leaves it out, and counts it.

    Args:
        predicted: (N,) values in the units of the texts, or N strings; None for no answer.
        truth: What was asked for.
        predictors: Of the adjusted R2. The paper does not say; its reconstruction has one, the model's answer.

    Example:
        >>> truth = Truth(np.array([56088.0, 2.5]), ["56088", "2.5"], np.array([0, -1]))
        >>> scores = measure([56088.4, 2.56], truth)
        >>> scores["exact_match"].value, measure(["56088", "2.50"], truth)["exact_match"].value
        (0.5, 1.0)
    """
    return scores(*compared(predicted, truth), truth, predictors)


def scores(values: np.ndarray, exact: np.ndarray, truth: Truth, predictors: int = 1) -> dict[str, Score]:
    """The scores of `measure`, from what `compared` gives."""
    given, gold = torch.from_numpy(values), torch.from_numpy(np.asarray(truth.values, dtype=np.float64))
    return {
        "r2": metrics.r2(given, gold),
        "adjusted_r2": metrics.adjusted_r2(given, gold, predictors),
        "exact_match": _share(exact),
        "log_smape": metrics.log_smape(given, gold),
        "mdape": metrics.mdape(given, gold),
        "invalid": _share(~np.isfinite(values)),
    }


def compared(predicted: Any, truth: Truth) -> tuple[np.ndarray, np.ndarray]:
    """Predicted values, NaN for what is none, and which are exact; both (N,)."""
    given = predicted.detach().double().tolist() if isinstance(predicted, torch.Tensor) else list(predicted)
    if len(given) != len(truth):
        raise ValueError(f"predictions and answers must be equally many, got {len(given)} and {len(truth)}")
    if any(isinstance(one, str) for one in given):
        numerals = [None if one is None else parse_numeral(str(one)) for one in given]
        values = np.array([math.nan if one is None else one.value for one in numerals], dtype=np.float64)
        pairs = zip(numerals, given, truth.strings, strict=True)
        exact = [one is not None and (text == gold or _same(one, gold)) for one, text, gold in pairs]
        return values, np.array(exact, dtype=bool)
    values = np.array([math.nan if one is None else one for one in given], dtype=np.float64)
    unit = 10.0 ** truth.precision.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(values - truth.values) < unit / 2
    return values, near & (np.spacing(np.abs(truth.values)) < unit)


def _same(numeral: Numeral, gold: str) -> bool:
    true = parse_numeral(gold)
    return true is not None and numeral.exact is not None and numeral.exact == true.exact


def _share(right: np.ndarray) -> Score:
    return Score(float(right.mean()) if len(right) else math.nan, len(right))


class AskedInTexts:
    """Texts of one's own, of which one number each is asked for.

    Args:
        source: A folder with `train`, `dev` and `test` as `.jsonl`, or one file: see `read_corpus`. Each text must have
            the number that is asked for.
        answer_slot: Which number that is, -1 for the last.
        reader: Which reader finds the numbers; the model's should be the same.
        seed: Divides a file that has no splits.

    Training texts come in an order drawn from the seed of the call, a new one each time around; those of the other
    splits in their own order, and once.
    """

    def __init__(self, source: str | Path, answer_slot: int = -1, reader: str = "standard", seed: int = 0) -> None:
        self.source, self.answer_slot, self.seed = source, answer_slot, seed
        self.reader = make_reader(reader)
        self._read: dict[str, tuple[list[str], Truth]] = {}

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """Texts of a split; see `QuestionSource`."""
        texts, _ = self._split(split)
        return [texts[row] for row in self._rows(split, count, seed, start)]

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """What they ask for; see `QuestionSource`."""
        return self._split(split)[1][self._rows(split, count, seed, start)]

    def _rows(self, split: str, count: int, seed: int, start: int) -> list[int]:
        size = len(self._split(split)[0])
        if split != "train":
            return list(range(min(start, size), min(start + count, size)))
        if size == 0:
            return []
        orders = (np.random.default_rng([seed, turn]).permutation(size) for turn in itertools.count(start // size))
        rows = itertools.chain.from_iterable(order.tolist() for order in orders)
        return list(itertools.islice(rows, start % size, start % size + count))

    def _split(self, split: str) -> tuple[list[str], Truth]:
        if split not in self._read:
            texts = [record["text"] for record in read_corpus(self.source, split, seed=self.seed)]
            if not texts:
                raise CorpusError(f"{self.source}: no text of the split {split!r}; give more texts, or a field 'split'")
            self._read[split] = texts, self._truth(texts)
        return self._read[split]

    def _truth(self, texts: Sequence[str]) -> Truth:
        asked = []
        for text in texts:
            numbers = self.reader.find(text)
            if not -len(numbers) <= self.answer_slot < len(numbers):
                raise CorpusError(f"{self.source}: no number {self.answer_slot} in {text[:60]!r}")
            asked.append(numbers[self.answer_slot])
        values = np.array([numeral.value for numeral in asked], dtype=np.float64)
        orders = metrics.order_of_magnitude(torch.from_numpy(values)).numpy()
        precision = np.array([numeral.precision for numeral in asked], dtype=np.int64)
        spans = np.array([(numeral.start, numeral.end) for numeral in asked], dtype=np.int64).reshape(-1, 2)
        return Truth(values, [numeral.text for numeral in asked], precision, spans, {"magnitude": orders})
