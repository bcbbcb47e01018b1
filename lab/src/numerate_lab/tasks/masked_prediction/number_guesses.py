"""Guesses of masked numbers: the figures of a model, baselines without a model, and wrong numbers to detect.

One baseline converts numbers that the sentence repeats in another unit, such as `28 km (17 mi)`. Wrong numbers, as in
Berg-Kirkpatrick & Spokoyny 2020, are those of another sentence, or have a digit added, dropped or exchanged.
"""

from __future__ import annotations

import functools
import math
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate import metrics
from numerate.numerals.numeral import Numeral
from numerate.reading import find_batch
from numerate_lab.tasks.masked_prediction.calibrated_intervals import LEVEL, interval_figures
from numerate_lab.tasks.masked_prediction.prediction_setup import read_split, split_key
from numerate_lab.tasks.masked_prediction.word_positions import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.prediction_setup import PredictionTrial

__all__ = [
    "COLUMNS", "KINDS", "LEVEL", "baseline_guesses", "baselines", "empty_columns", "figures", "restated_numbers",
    "wrong_columns", "wrong_numbers",
]  # fmt: skip

KINDS = ("swapped", "added", "dropped", "exchanged")
"""Kinds of wrong numbers."""
COLUMNS = ("median", "low", "high", "nats", "crps", "score", "tail")
"""Columns of guesses, (N,) float64 each, in the units of the text:

- `median`, and the ends `low` and `high` of 90 % intervals; NaN where a sentence was truncated before its number;
- `nats`: negative log-probability of the correct number as written (`log_mass`), comparable between heads; `nats` and
  `crps` (the mean over the batch of each number) are NaN where the processor scales values;
- `score`: negative log-density of the correct number;
- `tail`: |cdf - 1/2| of the correct number, which does not depend on its unit.
"""
_USUAL = re.compile(r"[+-]*(0|[1-9][0-9]*)(\.[0-9]+)?")
"""Usual form of a number, without leading zeros."""
LEAST = 20
"""Minimum number of training sentences with the same two units."""
SPREAD = 0.03
"""Maximum median deviation of their log10 ratios: 7 %, which covers rounding."""


def empty_columns(right: Sequence[Numeral]) -> dict[str, np.ndarray]:
    """Columns of guesses to be filled in: `gold`, and NaN in `COLUMNS` and in `wrong_<kind>` of each kind of anomaly.

    `wrong_<kind>` is (2, N): score and tail of a wrong number, NaN where there is none.
    """
    columns = {name: np.full(len(right), np.nan) for name in COLUMNS}
    columns |= {f"wrong_{kind}": np.full((2, len(right)), np.nan) for kind in KINDS}
    return {"gold": np.array([numeral.value for numeral in right])} | columns


def baseline_guesses(config: PredictionTrial, split: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Guesses of the baselines by name, and the mask (N,) of numbers that the sentence repeats in another unit."""
    return _baseline_guesses(split_key(config, "train"), split_key(config, split))


@functools.lru_cache(maxsize=4)
def _baseline_guesses(train_key: Any, test_key: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
    train, test = (read_split(key)[0] for key in (train_key, test_key))
    found, converted = baselines(train, test), restated_numbers(train, test)
    restated = ~np.isnan(converted)
    return found | {"conversion": np.where(restated, converted, found["unit median"])}, restated


def figures(guesses: Mapping[str, np.ndarray], restated: np.ndarray | None = None) -> dict[str, float | int | None]:
    """Figures of guesses: `count`, `log_mae`, `exponent_accuracy`, `mdape`, `coverage_90`, `nats`, `crps` and AUCs.

    Guesses have the columns of `empty_columns`; only `gold` and `median` are required. `log_mae` is in orders of
    magnitude. `auc_<kind>` measures how well negative log-density separates correct numbers from wrong ones,
    `tail_auc_<kind>` the distance to the median. With `restated` (N,), the numbers that a sentence repeats in another
    unit, there are `log_mae_restated` and `log_mae_told_once`. Guesses of 0 and infinite ones are in `count` but not in
    `log_mae`; `log_mae_left_out` is their number, if any. For intervals see `interval_figures`. Undefined figures are
    None.

    Example:
        >>> gold, median, wrong = np.array([100.0, 5.0]), np.array([10.0, 5.0]), np.array([[101.0, 6.0], [0.0, 0.0]])
        >>> guesses = {"gold": gold, "median": median, "low": gold - 1, "high": gold + 1, "score": gold}
        >>> row = figures(guesses | {"tail": np.zeros(2), "wrong_added": wrong})
        >>> row["log_mae"], row["exponent_accuracy"], row["coverage_90"], row["auc_added"], row["tail_auc_added"]
        (0.5, 0.5, 1.0, 0.75, 0.5)
        >>> row = figures({"gold": gold, "median": np.array([10.0, 0.0])})
        >>> row["count"], row["log_mae"], row["log_mae_left_out"]
        (2, 1.0, 1)
    """
    there = ~np.isnan(guesses["median"])
    nothing = np.full(len(there), np.nan)
    columns = {name: guesses.get(name, nothing) for name in ("gold", *COLUMNS)}
    gold, median = (torch.from_numpy(columns[name][there]) for name in ("gold", "median"))
    scores: dict[str, Any] = {
        "log_mae": metrics.log_mae(median, gold),
        "exponent_accuracy": metrics.exponent_accuracy(median, gold),
        "mdape": metrics.mdape(median, gold),
    }
    if restated is not None:
        again = torch.from_numpy(restated[there])
        scores["log_mae_restated"] = metrics.log_mae(median[again], gold[again])
        scores["log_mae_told_once"] = metrics.log_mae(median[~again], gold[~again])
    row: dict[str, Any] = {"count": len(gold), "missing": int((~there).sum())}
    row |= {name: float(score) for name, score in scores.items()}
    row |= interval_figures(guesses, restated)
    if scores["log_mae"].non_finite:  # absent otherwise, as in earlier result files
        row["log_mae_left_out"] = scores["log_mae"].non_finite
    for name in ("nats", "crps"):
        finite = columns[name][np.isfinite(columns[name])]
        row[name] = float(finite.mean()) if len(finite) else math.nan
    for column in (name for name in guesses if name.startswith("wrong_")):
        for name, right, other in zip(("auc", "tail_auc"), ("score", "tail"), guesses[column], strict=True):
            both = ~np.isnan(other) & ~np.isnan(columns[right])
            values = torch.from_numpy(np.concatenate([columns[right][both], other[both]]))
            score = metrics.roc_auc(values, torch.arange(len(values)) >= int(both.sum()))
            row[f"{name}_{column.removeprefix('wrong_')}"] = float(score)
    return {name: value if math.isfinite(value) else None for name, value in row.items()}


def baselines(train: Sequence[NumberSentence], test: Sequence[NumberSentence]) -> dict[str, np.ndarray]:
    """The median of all training numbers, and the median of those with the same unit.

    If the data names no units, the word after the number is used: `pct`, `mln`, `dlrs`.

    Returns:
        By name, (N,) float64 for the N sentences of `test`.

    Example:
        >>> from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
        >>> rows = [("kg", 3), ("kg", 5), ("km", 900)]
        >>> some = [
        ...     sentence_of_row({"text": f"{n} {unit}", "offset": 0, "length": len(str(n)), "number": n, "unit": unit})
        ...     for unit, n in rows
        ... ]
        >>> {name: found.tolist() for name, found in baselines(some, some).items()}
        {'median': [5.0, 5.0, 5.0], 'unit median': [4.0, 4.0, 900.0]}
    """
    values: dict[str | None, list[float]] = {}
    for sentence in train:
        if sentence.numeral is not None:
            values.setdefault(unit_of(sentence), []).append(sentence.numeral.value)
    whole = float(np.median([value for some in values.values() for value in some]))
    medians = {unit: float(np.median(some)) for unit, some in values.items()}
    own = np.array([medians.get(unit_of(sentence), whole) for sentence in test])
    return {"median": np.full(len(test), whole), "unit median": own}


def restated_numbers(train: Sequence[NumberSentence], test: Sequence[NumberSentence]) -> np.ndarray:
    """Converts other numbers of each test sentence to the annotated one, by ratios of units learned in training.

    Returns:
        (N,) float64, NaN if no other number has a unit with a known ratio, such as 1.61 between `km` and `mi`.

    Example:
        >>> from numerate_lab.tasks.masked_prediction.number_sentences import sentence_of_row
        >>> def made(km):
        ...     text = f"{km} km ({km / 1.6:g} mi) away"
        ...     row = {"text": text, "offset": 0, "length": len(str(km)), "number": km, "unit": "km"}
        ...     return sentence_of_row(row)
        >>> restated_numbers([made(km) for km in range(16, 48)], [made(8)]).round(3).tolist()
        [8.0]
    """
    ratios: dict[Any, list[float]] = {}
    for _, units, own, other in _pairs(train):
        ratios.setdefault(units, []).append(math.log10(own / other))
    known: dict[Any, tuple[float, float]] = {}
    for units, some in ratios.items():
        middle = float(np.median(some))
        spread = float(np.median(np.abs(np.array(some) - middle)))
        if len(some) >= LEAST and spread <= SPREAD:
            known[units] = (spread, middle)
    found, sure = np.full(len(test), np.nan), np.full(len(test), np.inf)
    for index, units, _, other in _pairs(test):
        if units in known and known[units][0] < sure[index]:
            sure[index], middle = known[units]
            found[index] = other * 10.0**middle
    return found


def _pairs(sentences: Sequence[NumberSentence]) -> Iterator[tuple[int, Any, float, float]]:
    """Yields sentence index, both units and both values for each pair of positive numbers."""
    for index, (sentence, row) in enumerate(zip(sentences, find_batch([one.text for one in sentences]), strict=True)):
        own = sentence.numeral
        if own is None or not own.value > 0:
            continue
        unit = unit_of(sentence)
        for numeral in row:
            if numeral.value > 0 and (numeral.end <= own.start or numeral.start >= own.end):
                yield index, (unit, unit_of(replace(sentence, numeral=numeral, unit=None))), own.value, numeral.value


def wrong_numbers(numerals: Sequence[Numeral], kind: str, seed: int = 0) -> list[Numeral | None]:
    """A wrong number of another value for each correct number; None if there is none of this kind.

    The kind is `swapped` for the number of another sentence; or one digit `added`, one `dropped`, or two neighbouring
    digits `exchanged`. No number gets an unusual leading zero.

    Example:
        >>> right = [Numeral("1,250", 0, 5, 1250.0), Numeral("7", 0, 1, 7.0)]
        >>> [wrong and wrong.text for wrong in wrong_numbers(right, "dropped")]
        ['150', None]
        >>> [wrong.value for wrong in wrong_numbers(right, "swapped")]
        [7.0, 1250.0]
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    rng = random.Random(f"{kind} {seed}")  # noqa: S311 (not for security)
    if kind == "swapped":
        # There may be none where nearly all numbers are equal.
        drawn = ((numerals[rng.randrange(len(numerals))] for _ in range(100)) for _ in numerals)
        return [
            next((other for other in some if other.value != numeral.value), None)
            for numeral, some in zip(numerals, drawn, strict=True)
        ]
    long = [numeral.text for numeral in numerals if sum(map(str.isdigit, numeral.text.partition(".")[0])) > 3]
    # Numbers that become long get commas if most long numbers have them; otherwise the notation would reveal them.
    commas = 2 * sum("," in text for text in long) > len(long)
    return [_changed(numeral, kind, rng, commas) for numeral in numerals]


def wrong_columns(right: Sequence[Numeral], seed: int = 0) -> dict[str, tuple[list[Numeral], np.ndarray]]:
    """Wrong numbers by name of their column, `wrong_<kind>`, and a mask (N,): False where the correct one is left."""
    wrong = {f"wrong_{kind}": wrong_numbers(right, kind, seed) for kind in KINDS}
    known = {name: np.array([other is not None for other in some], dtype=bool) for name, some in wrong.items()}
    return {name: ([b or a for a, b in zip(right, some, strict=True)], known[name]) for name, some in wrong.items()}


def _changed(numeral: Numeral, kind: str, rng: random.Random, commas: bool) -> Numeral | None:
    text = numeral.text.replace(",", "")
    if numeral.point == "," or not text.isascii():
        return None
    places = [place for place, char in enumerate(text) if char.isdigit()]
    if kind == "added":
        made = [text[:at] + digit + text[at:] for at in (*places, places[-1] + 1) for digit in "0123456789"]
    elif kind == "dropped":
        made = [text[:at] + text[at + 1 :] for at in places]
    else:
        pairs = [(at, at + 1) for at in places if at + 1 in places]
        made = [text[:a] + text[b] + text[a] + text[b + 1 :] for a, b in pairs]
    # Zero is excluded: its logarithm alone would reveal it.
    usual = filter(_USUAL.fullmatch, dict.fromkeys(made))
    good = [each for each in usual if float(each) not in (0.0, numeral.written)]
    if not good:
        return None
    chosen = rng.choice(good)
    value = float(chosen) * 10.0**numeral.power
    if "," in numeral.text or (commas and len(text.partition(".")[0].lstrip("+-")) < 4):
        whole, point, rest = chosen.partition(".")
        sign = whole[: len(whole) - len(whole.lstrip("+-"))]
        chosen = f"{sign}{int(whole.lstrip('+-')):,}{point}{rest}"
    return Numeral(chosen, 0, len(chosen), value, power=numeral.power)
