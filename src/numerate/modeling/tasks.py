"""What a backbone is made for (`TASKS`), and the refusal of classes that `attach` cannot use."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["TASKS", "BackboneError", "base_of", "check_class", "has_decoder", "knows_kind", "task_of"]

TASKS = {
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "multimodal-lm": "AutoModelForMultimodalLM",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "encoder": "AutoModel",
    "text-encoder": "AutoModelForTextEncoding",
}
"""A backbone's task, and the Auto class that loads it."""
_MAPPINGS = {"seq2seq-lm": "FOR_SEQ_TO_SEQ_CAUSAL_LM", "encoder": "", "text-encoder": "FOR_TEXT_ENCODING"} | {
    task: "FOR_" + task.upper().replace("-", "_")
    for task in TASKS
    if task not in ("seq2seq-lm", "encoder", "text-encoder")
}
_ENDINGS = {"ForConditionalGeneration": "seq2seq-lm", "LMHeadModel": "causal-lm"} | {
    TASKS[task].removeprefix("AutoModel"): task for task in TASKS if task != "encoder"
}
"""Tasks by the ending of a class name, for classes that transformers does not list."""


class BackboneError(NumerateError, TypeError):
    """A model that `attach` cannot use; the message says why and what to do, on one line."""


def base_of(backbone: PreTrainedModel) -> PreTrainedModel:
    """The model inside PEFT's wrapper, or the model itself."""
    return backbone.get_base_model() if hasattr(backbone, "get_base_model") else backbone  # type: ignore[operator]


def has_decoder(backbone: PreTrainedModel) -> bool:
    """Whether a model has a decoder beside its encoder; the config of T5's encoder alone says so, too."""
    takes = inspect.signature(backbone.forward).parameters
    return bool(getattr(backbone.config, "is_encoder_decoder", False)) and "decoder_input_ids" in takes


def task_of(backbone: PreTrainedModel) -> str:
    """A backbone's task: one of `TASKS`."""
    both = has_decoder(backbone)
    listed = [task for task in TASKS if _is_listed(backbone, task)]
    # An image-text or audio-text model is a causal one with further inputs, though some are listed as seq2seq.
    fitting = [task for task in listed if (task != "seq2seq-lm" or both) and (task != "multimodal-lm" or not both)]
    if fitting:
        return fitting[0]
    endings = (task for end, task in _ENDINGS.items() if type(backbone).__name__.endswith(end))
    task = next(endings, "causal-lm" if backbone.get_output_embeddings() is not None else "encoder")
    return "causal-lm" if task == "seq2seq-lm" and not both else task


def check_class(backbone: PreTrainedModel) -> None:
    """Refuses models that do not read token ids, and classes of transformers with a head that we do not know."""
    name, main = type(backbone).__name__, getattr(backbone, "main_input_name", "input_ids")
    if main != "input_ids":
        raise BackboneError(f"{name} reads {main}, not token ids: attach a model of text")
    if not type(backbone).__module__.startswith("transformers.") or any(_is_listed(backbone, task) for task in TASKS):
        return
    if name.endswith("ForMultipleChoice"):
        raise BackboneError(
            f"{name} takes (batch, choices, tokens): load the checkpoint with AutoModelForSequenceClassification and "
            "num_labels=1, and score each choice as a text"
        )
    raise BackboneError(f"{name} has a head that attach does not know: {_advice(backbone)}")


def _advice(backbone: PreTrainedModel) -> str:
    """What to do about a class that no Auto class makes."""
    known = [task for task in TASKS if task != "text-encoder" and knows_kind(backbone, task)]
    if "masked-lm" in known and "causal-lm" in known:
        known.remove("causal-lm")  # BERT as a decoder, which no checkpoint is
    if backbone.get_output_embeddings() is None:  # the checkpoint has no head of a language model
        known = [task for task in known if not task.endswith("-lm")]
    ending = [task for end, task in _ENDINGS.items() if task in known and type(backbone).__name__.endswith(end)]
    if known in ([], ["encoder"]):
        return "attach the model inside it that AutoModel loads"
    return "load the checkpoint with " + " or ".join(TASKS[task] for task in ending or [known[0], "encoder"])


def knows_kind(backbone: PreTrainedModel, task: str) -> bool:
    """Whether the task's Auto class has a model of the backbone's kind."""
    return backbone.config.model_type in _mapping(task)


def _mapping(task: str) -> dict[str, Any]:
    from transformers.models.auto import modeling_auto

    name = "_".join(part for part in ("MODEL", _MAPPINGS[task], "MAPPING_NAMES") if part)
    return getattr(modeling_auto, name, {})


def _is_listed(backbone: PreTrainedModel, task: str) -> bool:
    """Whether the task's Auto class makes models of this class, or of a class that it is derived from."""
    names = {base.__name__ for base in type(backbone).__mro__}
    return any(not names.isdisjoint([one] if isinstance(one, str) else one) for one in _mapping(task).values())
