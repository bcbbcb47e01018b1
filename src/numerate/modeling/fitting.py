"""Fits the parts of a model that depend on data: vocabularies, components, bins and scales of head and embedder."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.processing.number_table import GIVEN, MAX_CHARACTERS, NumberTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.modeling.number_model import NumberModel

__all__ = ["FITTED_TEXTS", "first_numbers", "fit_parts", "fit_to_texts", "texts_numbers"]

FITTED_TEXTS = 5_000
"""Number of texts whose numbers head and embedder are fitted to."""
_BATCH = 256
_FIELDS = {"number_bits": np.int64, "number_chars": np.uint8, "number_precision": np.int16, "number_given": np.uint8}


def fit_parts(model: NumberModel, numbers: NumberTable, targets: NumberTable | None = None) -> None:
    """Fits head and embedder to the (N,) numbers of training texts, before training, and sets `model.fitted`.

    Otherwise a head with a vocabulary would have no numbers, and learn only that all are unknown. The head is fitted to
    the `targets`, if these are other numbers than those that the model reads.
    """
    numbers = numbers.to(model.device)
    if model.head is not None:
        model.head.fit(numbers if targets is None else targets.to(model.device))
    if model.embedder is not None:
        model.embedder.fit(numbers.values())
    model.fitted = True


def fit_to_texts(model: NumberModel, texts: Iterable[str]) -> None:
    """Fits head and embedder to the numbers of the first `FITTED_TEXTS` texts."""
    if isinstance(texts, str):
        raise TypeError(f"fit must be an iterable of texts, got one text: {texts[:40]!r}")
    fit_parts(model, texts_numbers(model, texts))


def texts_numbers(model: NumberModel, texts: Iterable[str]) -> NumberTable:
    """The given numbers of the first `FITTED_TEXTS` texts: (N,)."""
    first = list(islice(texts, FITTED_TEXTS))
    batches = (model.processor(first[start : start + _BATCH]) for start in range(0, len(first), _BATCH))
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
