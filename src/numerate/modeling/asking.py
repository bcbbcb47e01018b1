"""Asking a model for a number: whether it learnt to answer, which token stands for it, and where texts are cut."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import torch

from numerate.errors import BadInput
from numerate.modeling.fingerprint import fingerprint, is_same
from numerate.modeling.introspection import base_of
from numerate.modeling.tokenizer_checks import longest_text
from numerate.objectives.masked import Masked
from numerate.processing.number_table import ASKED

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.modeling.number_model import NumberModel
    from numerate.processing.encoding import NumberBatch

__all__ = [
    "asked_batch", "asked_ids", "asked_token", "check_asked", "has_trained_head", "in_turn", "mark_head", "most_tokens",
    "refusal", "text_list", "warn_bare", "warn_untrained",
]  # fmt: skip

_log = logging.getLogger(__name__)
_WHOLE = 1 << 30
"""More tokens than a text has."""
_TURNS = threading.RLock()
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def in_turn(work: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """A decorator of what answers a question: several threads are answered one after the other.

    The state that a head reads is recorded on the way through the backbone, and a tokenizer keeps the padding and
    truncation of its last call: answers that are computed at the same time would be mixed up.
    """

    @functools.wraps(work)
    def alone(*positional: _Given.args, **options: _Given.kwargs) -> _Result:
        with _TURNS:
            return work(*positional, **options)

    return alone


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


def text_list(given: Any, what: str, *rows: type) -> list[Any]:
    """One text or several as a list; `what` is the method that takes them, `rows` further types of an entry.

    Raises:
        TypeError: There is something else than texts in it.

    Example:
        >>> text_list("5 km", "predict"), text_list(("5 km", "6 km"), "predict")
        (['5 km'], ['5 km', '6 km'])
    """
    if isinstance(given, str):
        return [given]
    texts = list(given) if isinstance(given, Iterable) and not isinstance(given, bytes | Mapping) else [given]
    for text in texts:
        if not isinstance(text, (str, *rows)) or text is given:
            raise TypeError(f"{what} takes a text or a list of texts, got {repr(text)[:60]}")
    return texts


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


def warn_untrained(model: NumberModel) -> None:
    """Logs a warning, once for each model, if its head was never trained on numbers: its answers mean nothing."""
    if model.head_fingerprint is None or model.has_warned:
        return
    if has_trained_head(model):
        model.head_fingerprint = None  # not to be compared again
        return
    model.has_warned = True
    fitted = "" if model.fitted else ", nor fitted to data"
    _log.warning("the number head has not been trained on numbers%s: its answers mean nothing yet", fitted)


def warn_bare(model: NumberModel) -> None:
    """Logs a warning, once for each classifier, that a batch has no number fields: it would answer without a word."""
    if model.has_warned_bare or model.embedder is None or model.info.is_language_model or "encoder" in model.info.task:
        return
    model.has_warned_bare = True
    _log.warning("a batch has no number_slots, as of a bare tokenizer: its numbers are not read; use model.processor")


def most_tokens(model: NumberModel) -> int | None:
    """The tokens at which the texts of a model are cut: `max_tokens` or the backbone's maximum; None for no limit."""
    sizes = (model.max_tokens, longest_text(base_of(model.backbone).config, model.processor.tokenizer))
    return min((size for size in sizes if size is not None), default=None)


def asked_batch(model: NumberModel, texts: list[str]) -> NumberBatch:
    """The batch of texts with a literal [NUM], cut as in training: at `model.max_tokens` or the model's maximum.

    Raises:
        BadInput: A [NUM] is cut off.
    """
    most = most_tokens(model)
    options: dict[str, Any] = {} if most is None else {"truncation": True, "max_length": most}
    # On the right, whatever the tokenizer's side: models with absolute positions count from the left.
    padded: dict[str, Any] = {"padding": True, "padding_side": "right", "return_tensors": "pt"}
    batch: Any = model.processor(texts, **padded, **options)
    if most is not None and batch["input_ids"].shape[1] >= most:
        whole = model.processor(texts, **padded, truncation=True, max_length=_WHOLE)  # else transformers warns
        lost = (whole["number_given"] == ASKED).sum(1) > (batch["number_given"] == ASKED).sum(1)
        for index in lost.nonzero()[:, 0].tolist():
            raise BadInput(f"the [NUM] of text {index} is not among its first {most} tokens: shorten the text")
    return batch.to(model.device)


def check_asked(batch: NumberBatch, texts: list[str]) -> None:
    """Refuses texts that ask for no number: their answers would be missing among the others.

    Raises:
        BadInput: A text has no [NUM].
    """
    asks = (batch["number_given"] == ASKED).any(1).tolist()
    for index, text in enumerate(texts):
        if not asks[index]:
            raise BadInput(f"text {index} has no [NUM], as in 'It is [NUM] km long.': got {text[:60]!r}")
