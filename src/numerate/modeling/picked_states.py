"""Logits of selected tokens only: over a large vocabulary, those of all tokens dominate the cost of a small model."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from numerate.modeling.introspection import base_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["logits_at", "picks_states", "states_at"]


def picks_states(model: NumberModel) -> bool:
    """Whether the backbone has an encoder below its head whose states can be selected."""
    whole = base_of(model.backbone)
    return whole.base_model is not whole and model.info.is_language_model and not model.info.is_causal


@contextmanager
def states_at(model: NumberModel, rows: Tensor, columns: Tensor) -> Iterator[None]:
    """Context in which the encoder returns the last states of N tokens, (N, 1, D), so that logits are (N, 1, V).

    Heads of masked language models treat each token independently, so that these logits equal those of a full run.
    Labels must be (N, 1), too. The model must satisfy `picks_states`, and no number may be predicted meanwhile.

    Shape:
        rows and columns (N,) int64: row of the batch and token of the row.
    """
    model.last_state.pick = (rows, columns)
    try:
        yield
    finally:
        model.last_state.pick = None


def logits_at(model: NumberModel, inputs: Mapping[str, Tensor], rows: Tensor, columns: Tensor) -> Tensor:
    """Logits of N selected tokens of a batch: (N, V)."""
    if not picks_states(model):
        return model(**inputs, return_loss=False).logits[rows, columns]
    with states_at(model, rows, columns):
        return model(**inputs, return_loss=False).logits[:, 0]
