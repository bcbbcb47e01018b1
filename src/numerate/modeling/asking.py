"""Asking a model for a number: whether it learnt to answer, and which token stands for the number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.fingerprint import fingerprint, is_same
from numerate.objectives.masked import Masked
from numerate.processing.number_table import ASKED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["asked_ids", "asked_token", "has_trained_head", "mark_head", "refusal"]


def refusal(model: NumberModel) -> str | None:
    """Why a model with a head cannot be asked for numbers, in one line; None if it can."""
    objective: Any = model.objective
    if not isinstance(objective, Masked):
        return None
    if objective.config.what == "words":
        return "the model cannot predict numbers: its objective masks only words (what='words'); train with what='both'"
    if objective.shown(model.vocabulary) != "nothing":
        return (
            "the model cannot predict numbers: its objective leaves their sub-words in sight (joint=False), so that it "
            "learnt to copy them; train with joint=True"
        )
    return None


def asked_token(model: NumberModel) -> int:
    """Id of the token that stands for a hidden number in the model's training: [NUM], or [MASK] with `hide_slot`."""
    hides = getattr(getattr(model.objective, "config", None), "hide_slot", False)
    return model.vocabulary.mask_id if hides and model.vocabulary.mask_id is not None else model.vocabulary.num_id


def asked_ids(model: NumberModel, batch: Mapping[str, Tensor]) -> Tensor:
    """The ids (B, T) of a batch with `asked_token` at each number that is asked for."""
    ids, slots, given, token = batch["input_ids"], batch["number_slots"], batch["number_given"], asked_token(model)
    if token == model.vocabulary.num_id or not given.shape[1]:
        return ids
    asked = (slots > 0) & (given == ASKED).gather(1, (slots - 1).clamp_min(0))
    return torch.where(asked, token, ids)


def mark_head(model: NumberModel, *, trained: bool) -> None:
    """Remembers the head's weights as untrained ones; with `trained`, that it is trained."""
    weights = {} if model.head is None or trained else dict(model.head.named_parameters())
    model.head_fingerprint = fingerprint(weights)


def has_trained_head(model: NumberModel) -> bool:
    """Whether the head's weights changed since `mark_head`: a head that saw no numbers in training has not learnt."""
    if model.head is None or model.head_fingerprint is None:
        return True
    now = fingerprint(dict(model.head.named_parameters()))
    return now is None or not is_same(model.head_fingerprint, now)
