"""Sharding with FSDP2: weights that several modules share stay in one group."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

__all__ = ["keep_shared_weights_together"]

_EMBEDDINGS = ("get_input_embeddings", "get_output_embeddings")


def keep_shared_weights_together(accelerator: Any, model: nn.Module) -> None:
    """Lets accelerate give embeddings no groups of their own, if the model shares weights between modules.

    From version 1.15 on accelerate makes a group of the input embeddings, and one of the output embeddings. The bias of
    the output of BERT and RoBERTa is also one of their head, which is in the group of the whole model, and torch 2.13
    refuses a weight in two groups.

    Args:
        accelerator: The accelerator, whose `prepare` is wrapped.
        model: The model that it will prepare.
    """
    every = sum(1 for _ in model.named_parameters(remove_duplicate=False))
    if every == sum(1 for _ in model.named_parameters()):
        return
    prepare = accelerator.prepare

    def prepared(*positional: Any, **options: Any) -> Any:
        with _without_embeddings(model):
            return prepare(*positional, **options)

    accelerator.prepare = prepared


@contextmanager
def _without_embeddings(model: nn.Module) -> Iterator[None]:
    """A context in which a model seems to have no embeddings."""
    for name in _EMBEDDINGS:
        vars(model)[name] = _none
    try:
        yield
    finally:
        for name in _EMBEDDINGS:
            del vars(model)[name]


def _none() -> None:
    return None
