"""Fits the parts of a model that depend on data: vocabularies, components, bins and scales of head and embedder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.modeling.asking import has_trained_head, mark_head
from numerate.numerals.numeral import Numeral
from numerate.processing.encoding import number_table
from numerate.processing.number_table import GIVEN, MAX_CHARACTERS, NumberTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.modeling.number_model import NumberModel

__all__ = ["FITTED_NUMBERS", "FITTED_TEXTS", "first_numbers", "fit_parts", "fit_to_texts", "numbers_in"]

FITTED_TEXTS = 5_000
"""Number of texts whose numbers head and embedder are fitted to."""
FITTED_NUMBERS = 50_000
"""Number of numbers that they are fitted to, where numbers are given and not texts."""
_BATCH = 256
_FIELDS = {"number_bits": np.int64, "number_chars": np.uint8, "number_precision": np.int16, "number_given": np.uint8}


def fit_parts(model: NumberModel, numbers: Any, targets: Any = None) -> None:
    """Fits head and embedder to the numbers of training texts, before training, and sets `model.fitted`.

    Otherwise a head with a vocabulary would have no numbers, and learn only that all are unknown.

    Args:
        model: The model.
        numbers: Texts, floats, tensors, numerals or a number table; see `numbers_in`.
        targets: The numbers that the head is fitted to, if these are others than those that the model reads.
    """
    numbers, trained = numbers_in(model, numbers).to(model.device), has_trained_head(model)
    if model.head is not None:
        model.head.fit(numbers if targets is None else numbers_in(model, targets).to(model.device))
    if model.embedder is not None:
        model.embedder.fit(numbers.values())
    model.fitted = True
    mark_head(model, trained=trained)  # a fitted head is not a trained one


def fit_to_texts(model: NumberModel, texts: Any) -> None:
    """Fits head and embedder to the first `FITTED_TEXTS` texts, or to the first `FITTED_NUMBERS` numbers.

    Raises:
        ValueError: There is no number in them, and a part of the model depends on numbers.
    """
    numbers = numbers_in(model, texts)
    if len(numbers):
        fit_parts(model, numbers)
    elif model.head is not None or model.embedder is not None:
        raise ValueError("fit has no numbers: give texts with numbers that the recipe reads, or the numbers themselves")
    model.fitted = True


def numbers_in(model: NumberModel, data: Any) -> NumberTable:
    """The (N,) numbers of data, as the model's batches have them.

    Args:
        model: The model, whose processor reads texts and scales values.
        data: A number table (returned as it is), a tensor or array of any shape, or an iterable of texts, floats,
            tensors of one number, or numerals.
    """
    if isinstance(data, NumberTable):
        return data
    if isinstance(data, str):
        raise TypeError(f"fit must be an iterable of texts, got one text: {data[:40]!r}")
    if isinstance(data, torch.Tensor):
        data = data.detach().flatten().tolist()
    elif isinstance(data, np.ndarray) and data.dtype.kind in "fiu":
        data = data.ravel().tolist()
    if not hasattr(data, "__iter__"):
        raise TypeError(f"fit must be an iterable of texts or numbers, got {data!r}")
    items = iter(data)
    first = list(islice(items, 1))
    if first and isinstance(first[0], str):
        return _numbers_of_texts(model, first + list(islice(items, FITTED_TEXTS - 1)))
    numbers = first + list(islice(items, FITTED_NUMBERS - 1))
    if any(isinstance(number, str) for number in numbers):
        raise TypeError("fit must have numbers or texts, not both")
    processor = model.processor
    if numbers and all(isinstance(number, Numeral) for number in numbers):
        return first_numbers([number_table([numbers], processor.written, processor.scaling)])
    try:
        values = [float(number) for number in numbers]
    except TypeError:
        raise TypeError(f"fit takes texts or numbers, got {type(first[0]).__name__}") from None
    if processor.scaling is not None:
        if processor.scaling.by != "none":
            raise ValueError(f"numbers without a text cannot be scaled by {processor.scaling.by}: give texts to fit")
        values = processor.scaling.apply([""] * len(values), values).tolist()
    return NumberTable.of_values([value for value in values if math.isfinite(value)])


def _numbers_of_texts(model: NumberModel, texts: list[str]) -> NumberTable:
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("fit must have numbers or texts, not both")
    batches = (model.processor(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH))
    rows = ({key: batch[key][row] for key in _FIELDS} for batch in batches for row in range(len(batch["input_ids"])))
    return first_numbers(rows)


def first_numbers(rows: Iterable[Mapping[str, Any]]) -> NumberTable:
    """The given numbers of the first `FITTED_TEXTS` texts of a data set: (N,).

    A row is a processed text, or a batch of processed texts. Reading ends at a row without a number table.

    Example:
        >>> row = {"number_bits": [7, 0], "number_chars": [[1], [0]], "number_precision": [0, 0]}
        >>> row["number_given"] = [1, 2]
        >>> len(first_numbers([row, row])), len(first_numbers([{"text": "5 km"}]))
        (2, 0)
    """
    columns: dict[str, list[np.ndarray]] = {
        name: [np.zeros((0, MAX_CHARACTERS) if name == "number_chars" else 0, kind)] for name, kind in _FIELDS.items()
    }
    texts = 0
    for row in rows:
        is_processed = isinstance(row, Mapping) and all(row.get(name) is not None for name in _FIELDS)
        if texts >= FITTED_TEXTS or not is_processed:
            break
        cells = {name: _array(row[name], kind) for name, kind in _FIELDS.items()}
        texts += len(cells["number_given"]) if cells["number_given"].ndim == 2 else 1
        given = cells["number_given"] == GIVEN
        if given.any():
            for name, cell in cells.items():
                columns[name].append(cell[given])
    columns["number_chars"] = [
        np.pad(part, ((0, 0), (0, MAX_CHARACTERS - part.shape[1]))) for part in columns["number_chars"]
    ]
    return NumberTable(*(torch.from_numpy(np.concatenate(column)) for column in columns.values()))


def _array(cell: Any, kind: Any) -> np.ndarray:
    return np.asarray(cell.cpu() if isinstance(cell, torch.Tensor) else cell, dtype=kind)
