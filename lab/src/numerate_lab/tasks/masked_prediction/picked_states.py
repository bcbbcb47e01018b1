"""A masked-LM head run on some tokens alone: most of the cost are logits of tokens that nobody asks for."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from numerate.modeling.introspection import base_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["picks_states", "states_at"]


def picks_states(model: NumberModel) -> bool:
    """Whether a model's backbone has an encoder of its own below its head, whose states can be picked."""
    whole = base_of(model.backbone)
    return whole.base_model is not whole and model.info.is_language_model and not model.info.is_causal


@contextmanager
def states_at(model: NumberModel, rows: Tensor, columns: Tensor) -> Iterator[None]:
    """While it lasts, the encoder's last states are those of N tokens, (N, 1, D), and so are the logits: (N, 1, V).

    Heads of masked language models look at each token alone, so that their logits are the same as those of all tokens.
    Labels have to be (N, 1), too. The model must be one that `picks_states`.

    Args:
        model: No number may be asked of it meanwhile: its head would look for it in vain.
        rows: (N,) int64, which row of the batch.
        columns: (N,) int64, which token of it.
    """
    model.last_state.pick = (rows, columns)
    try:
        yield
    finally:
        model.last_state.pick = None
