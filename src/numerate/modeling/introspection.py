"""What we know of a Hugging Face backbone (`BackboneInfo`), and how it is run on embeddings of our own."""

from __future__ import annotations

import copy
import inspect
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from numerate.processing.static_shapes import chosen_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.heads.base import NumberDistribution

__all__ = [
    "TASKS", "BackboneInfo", "LastState", "NumberOutput", "append_logits", "base_of", "evaluating", "first_free_id",
    "first_rows", "list_ties_once", "rebuilt", "run_device", "run_with_embeddings", "task_of",
]  # fmt: skip

TASKS = {
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "encoder": "AutoModel",
}
"""A backbone's task, and the Auto class that loads it."""
_MAPPINGS = {"seq2seq-lm": "SEQ_TO_SEQ_CAUSAL_LM"} | {
    task: task.upper().replace("-", "_") for task in TASKS if task not in ("seq2seq-lm", "encoder")
}
_ENDINGS = {"ForConditionalGeneration": "seq2seq-lm", "LMHeadModel": "causal-lm"} | {
    TASKS[task].removeprefix("AutoModel"): task for task in _MAPPINGS
}
"""Tasks by the ending of a class name, for classes that transformers does not list."""


class NumberOutput(Protocol):
    """The output of a `NumberModel`: the backbone's own output object, with three attributes more.

    A training step (a loss in training mode) computes only its loss: `numbers` and `number_index` are then None, unless
    `every_number` or `NumberModel.on_numbers` ask for them.

    Attributes:
        loss: The objective's loss, or the backbone's own.
        logits: The backbone's logits; for language models with our tokens' logits appended, except in a training step,
            which computes its loss without that copy.
        numbers: Distributions of the numbers asked for, in reading order; None if there are none, or no head.
        number_index: (N, 2) row and number index of each of them.
        source_index: (B, T) the place in the batch of each token of the logits, if the objective hid numbers: their
            tokens left the sequence, so that others moved. -1 for padding at vacated places; None if nothing moved.
    """

    loss: Tensor | None
    logits: Tensor | None
    numbers: NumberDistribution | None
    number_index: Tensor | None
    source_index: Tensor | None


@dataclass(frozen=True)
class BackboneInfo:
    """What a `NumberModel` knows of its backbone.

    Attributes:
        task: One of `TASKS`.
        is_language_model: Whether its logits are over tokens.
        is_encoder_decoder: Whether it has a decoder beside its encoder.
        is_causal: Whether a token attends only to those before it, so that a number is predicted one token early.
        embedding_dim: Width of its token embeddings.
        hidden_dim: Width of its last hidden state.
        positions_after: The padding id from which RoBERTa-like models count positions; None for all others.
        pools_by_ids: Whether it finds the last token of a text by its ids, as causal classifiers do.
        takes_positions: Whether it takes `position_ids`, and does not derive them from token ids.
        has_encoder: Whether it has an encoder (or decoder) below its head, whose last state can be changed.
    """

    task: str
    is_language_model: bool
    is_encoder_decoder: bool
    is_causal: bool
    embedding_dim: int
    hidden_dim: int
    positions_after: int | None
    pools_by_ids: bool
    takes_positions: bool
    has_encoder: bool

    @classmethod
    def of(cls, backbone: PreTrainedModel) -> BackboneInfo:
        """Inspects a backbone, which PEFT may have wrapped."""
        inner = base_of(backbone)
        if not hasattr(inner, "get_input_embeddings") or not hasattr(inner, "config"):
            raise TypeError(f"backbone must be a Hugging Face model, got {type(backbone).__name__}")
        task = task_of(inner)
        both = bool(getattr(inner.config, "is_encoder_decoder", False))
        if both and task not in ("seq2seq-lm", "encoder"):
            raise TypeError(f"{type(inner).__name__}: encoder-decoders for {task} are not supported")
        causal = not both and _sees_only_back(inner, task)
        after = None if both else _positions_after(inner)
        words: Any = inner.get_input_embeddings()
        embedding_dim = int(words.weight.shape[1])
        return cls(
            task=task, is_language_model=task.endswith("-lm"), is_encoder_decoder=both, is_causal=causal,
            embedding_dim=embedding_dim, hidden_dim=_hidden_dim(inner, embedding_dim),
            positions_after=after, pools_by_ids=causal and task == "sequence-classification",
            takes_positions=after is None and "position_ids" in inspect.signature(inner.forward).parameters,
            has_encoder=both or task == "encoder" or inner.base_model is not inner,
        )  # fmt: skip

    def position_ids(self, ids: Tensor) -> Tensor | None:
        """The position ids that the backbone would derive from the token ids; None if it does not derive them."""
        if self.positions_after is None:
            return None
        real = ids.ne(self.positions_after).int()
        return (torch.cumsum(real, dim=1).type_as(real) * real).long() + self.positions_after


def base_of(backbone: PreTrainedModel) -> PreTrainedModel:
    """The model inside PEFT's wrapper, or the model itself."""
    return backbone.get_base_model() if hasattr(backbone, "get_base_model") else backbone  # type: ignore[operator]


def task_of(backbone: PreTrainedModel) -> str:
    """A backbone's task: one of `TASKS`."""
    from transformers.models.auto import modeling_auto

    names = {base.__name__ for base in type(backbone).__mro__}
    for task, mapping in _MAPPINGS.items():
        listed = getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES").values()
        if any(not names.isdisjoint([entry] if isinstance(entry, str) else entry) for entry in listed):
            return task
    endings = (task for end, task in _ENDINGS.items() if type(backbone).__name__.endswith(end))
    return next(endings, "causal-lm" if backbone.get_output_embeddings() is not None else "encoder")


def first_free_id(backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """The first id that neither tokenizer, embeddings nor logits use (Qwen's logits are wider than its tokenizer)."""
    inner: Any = base_of(backbone)
    output = inner.get_output_embeddings()
    widths = [len(tokenizer), inner.get_input_embeddings().weight.shape[0]]
    if output is not None and getattr(output, "weight", None) is not None:
        widths.append(output.weight.shape[0])
    elif task_of(inner).endswith("-lm"):
        widths.append(inner.config.get_text_config().vocab_size)
    return int(max(widths))


class LastState:
    """A forward hook that records the last hidden state of a backbone's encoder (or decoder) during our own calls.

    The hook is registered once, and does nothing outside of `run`: a hook for one call, or `output_hidden_states`, for
    which transformers takes a lock, would break a compiled graph.

    Attributes:
        asks: Whether the backbone has no encoder below its head, so that the state must come with its output.
        change: A function that the next `run` applies to the state before the backbone's head reads it; None for none.
        pick: Rows and columns, (N,) each, of the only tokens whose state is read; None for all.
        labelled: Rows and columns of the only tokens that the backbone's head reads in the next `run`, while the whole
            state is recorded; None for all.
    """

    def __init__(self, backbone: PreTrainedModel, info: BackboneInfo) -> None:
        inner: Any = base_of(backbone)
        trunk = inner.get_decoder() if info.is_encoder_decoder else inner.base_model
        self.asks = not info.has_encoder
        self.opened, self.state = False, None
        self.change: Callable[[Tensor], Tensor] | None = None
        self.pick: tuple[Tensor, Tensor] | None = None
        self.labelled: tuple[Tensor, Tensor] | None = None
        self._handle = None if self.asks else trunk.register_forward_hook(self)

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """The hook: records the state, changed and picked."""
        if not self.opened:
            return None
        state = output[0] if self.change is None else self.change(output[0])
        if self.pick is not None:
            rows, columns = self.pick
            state = state[rows, columns][:, None]
        self.state = state
        if self.labelled is not None:
            state = chosen_rows(state, *self.labelled)[:, None]
        if state is not output[0]:
            output.last_hidden_state = state
        return output

    def __deepcopy__(self, memo: dict[int, Any]) -> LastState:
        twin = object.__new__(LastState)
        memo[id(self)] = twin  # the copied model and the hook on its copied backbone share one object
        twin.change = twin.pick = twin.labelled = None
        twin.asks, twin.opened, twin.state, twin._handle = self.asks, False, None, copy.deepcopy(self._handle, memo)
        return twin

    def run(self, backbone: PreTrainedModel, **passed: Any) -> tuple[Any, Tensor | None]:
        """Runs the backbone; returns its output and its last hidden state (B, T, hidden)."""
        if self.asks:
            output = backbone(**passed | {"output_hidden_states": True})
            states = output.get("decoder_hidden_states", output.get("hidden_states"))
            return output, states[-1] if states else None
        self.opened = True
        try:
            output = backbone(**passed)
        finally:
            self.opened, state, self.state = False, self.state, None
            self.change = self.labelled = None
        return output, state

    def remove(self) -> None:
        """Removes the hook from the backbone; from now on the state is taken from its output."""
        if self._handle is not None:
            self._handle.remove()
        self.asks, self._handle = True, None


def run_with_embeddings(
    backbone: PreTrainedModel, info: BackboneInfo, last: LastState, ids: Callable[[], Tensor], embeddings: Tensor,
    **passed: Any,
) -> tuple[Any, Tensor | None]:  # fmt: skip
    """Runs a backbone on embeddings (B, T, D) of our own; returns its output and its last hidden state.

    `ids` gives (B, T) ids of the backbone's own, with an ordinary token in place of each of ours; few backbones need
    them. `passed` are its other arguments.
    """
    if not info.pools_by_ids:
        return last.run(backbone, inputs_embeds=embeddings, **passed)
    # With embeddings only, a causal classifier would pool the padding: it gets the ids, and for this one call a hook
    # replaces its embeddings by ours.
    handle = backbone.get_input_embeddings().register_forward_hook(lambda *_: embeddings)
    try:
        return last.run(backbone, input_ids=ids(), **passed)
    finally:
        handle.remove()


def rebuilt(output: Any, items: dict[str, Any]) -> NumberOutput:
    """A copy of a backbone's output object with other items; `numbers` is set later."""
    fields = type(output).__dataclass_fields__
    result: Any = type(output)(**{key: value for key, value in items.items() if key in fields})
    for key in items.keys() - fields.keys():  # a loss, if the backbone's class has none
        result[key] = items[key]
    # Plain attributes: tools that collect an output's items expect tensors only.
    result.loss, result.logits = result.get("loss"), result.get("logits")
    result.numbers = result.number_index = result.source_index = None
    return result


def append_logits(logits: Tensor, own: Tensor, first_id: int) -> Tensor:
    """The backbone's logits followed by ours, each at its token's id."""
    parts = [logits, own.to(logits)]
    if (gap := first_id - logits.shape[-1]) > 0:  # ids that neither the backbone nor we use
        parts.insert(1, logits.new_full((*logits.shape[:-1], gap), torch.finfo(logits.dtype).min))
    return torch.cat(parts, dim=-1)


@torch.no_grad()
def first_rows(words: Any, count: int) -> Tensor:
    """Initial embeddings of new tokens, near the mean of the backbone's, where they change least: (count, D)."""
    size = words.weight.shape[0]
    sample = torch.linspace(0, size - 1, min(size, 4096), device=run_device(words)).long()
    rows = words(sample)  # through the layer: some backbones scale their embeddings
    noise = torch.randn(count, rows.shape[1]).to(rows.device)
    return (rows.float().mean(dim=0) + 0.1 * rows.float().std(dim=0) * noise).to(rows.dtype)


def run_device(module: nn.Module) -> torch.device:
    """The device that a module runs on: its first weight's, or the one that accelerate loads offloaded weights to."""
    device = next((weight.device for weight in module.parameters()), torch.device("cpu"))
    if device.type != "meta":
        return device
    hook: Any = getattr(module, "_hf_hook", None)
    found = (getattr(one, "execution_device", None) for one in (hook, *getattr(hook, "hooks", ())))
    return next((torch.device(one) for one in found if one is not None), device)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context in which a model is in evaluation mode and uses its own `forward`; afterwards all is as before.

    In mixed precision, accelerate replaces `forward` by one that rebuilds every output from its tensors, which loses
    the distributions of numbers. Compiled modules run uncompiled, so that batches of other shapes than those of
    training do not trigger a compilation.
    """
    modes = [(module, module.training) for module in model.modules()]
    own, wrapped = model.__dict__.get("_original_forward"), model.__dict__.get("forward")
    model.eval()
    if own is not None:
        model.forward = own
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        if own is not None and wrapped is not None:
            model.forward = wrapped


def list_ties_once(model: nn.Module, prefix: str) -> None:
    """Makes a model's state dict contain each tied weight of its backbone under one name only.

    The HF Trainer can then save it as safetensors. It loads with or without the other names.
    """

    def drop(module: nn.Module, state: dict[str, Any], start: str, _: Any) -> None:
        for name in _ties(state, start + prefix):
            del state[name]

    def fill(module: nn.Module, state: dict[str, Any], start: str, *_: Any) -> None:
        inner = module.get_submodule(prefix.rstrip("."))
        for name, first in _ties(inner.state_dict(prefix=start + prefix), start + prefix).items():
            if first in state:
                state.setdefault(name, state[first])

    model.register_state_dict_post_hook(drop)
    model.register_load_state_dict_pre_hook(fill)


def _ties(state: dict[str, Any], prefix: str) -> dict[str, str]:
    """For each weight with several names, the further names and the first one."""
    first: dict[Any, str] = {}
    ties: dict[str, str] = {}
    for name, value in state.items():
        if name.startswith(prefix) and value.numel() and value.device.type != "meta" and value.data_ptr():
            same = first.setdefault((value.data_ptr(), value.shape, value.stride()), name)
            ties |= {name: same} if same != name else {}
    return ties


def _sees_only_back(backbone: PreTrainedModel, task: str) -> bool:
    from transformers.models.auto import modeling_auto

    if task in ("causal-lm", "masked-lm"):
        return task == "causal-lm"
    if getattr(backbone.config, "is_decoder", False):
        return True
    kind = backbone.config.model_type
    causal, masked = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    return kind in causal and kind not in masked


def _hidden_dim(backbone: PreTrainedModel, embedding_dim: int) -> int:
    config = backbone.config.get_text_config()
    sizes = (getattr(config, name, None) for name in ("hidden_size", "d_model", "n_embd", "dim"))
    return next((size for size in sizes if isinstance(size, int)), embedding_dim)


def _positions_after(backbone: PreTrainedModel) -> int | None:
    if "position_ids" not in inspect.signature(backbone.forward).parameters:
        return None
    for module in backbone.modules():
        if hasattr(module, "create_position_ids_from_inputs_embeds") and hasattr(module, "padding_idx"):
            return int(module.padding_idx)  # type: ignore[arg-type]
    return None
