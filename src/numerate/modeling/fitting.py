"""Fits the parts of a model that depend on data: vocabularies, components, bins and scales of head and embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.processing.number_table import NumberTable

__all__ = ["fit_parts"]


def fit_parts(model: NumberModel, numbers: NumberTable) -> None:
    """Fits head and embedder to the (N,) numbers of training texts, before training.

    Otherwise a head with a vocabulary would have no numbers, and learn only that all are unknown.
    """
    numbers = numbers.to(model.device)
    if model.head is not None:
        model.head.fit(numbers)
    if model.embedder is not None:
        model.embedder.fit(numbers.values())
