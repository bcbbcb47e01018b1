"""What we know of a Hugging Face backbone (`BackboneInfo`), and how it is run on embeddings of our own."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from numerate.modeling.last_state import LastState, run_with_embeddings, state_modules
from numerate.modeling.probing import evaluating, probe
from numerate.modeling.tasks import TASKS, BackboneError, base_of, check_class, has_decoder, knows_kind, task_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.probing import Probe

__all__ = [
    "TASKS", "BackboneError", "BackboneInfo", "LastState", "NumberOutput", "append_logits", "base_of", "evaluating",
    "first_free_id", "first_rows", "list_ties_once", "rebuilt", "run_device", "run_with_embeddings", "task_of",
    "tied_names",
]  # fmt: skip


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
        needs_ids: Whether it needs its own token ids beside our embeddings: causal classifiers find the last token of a
            text by them, and a few models do something else with embeddings than with ids.
        takes_positions: Whether it takes `position_ids` that count from 0 (YOSO's begin with 2), and does not derive
            them from token ids or the attention mask.
        has_encoder: Whether it has an encoder (or decoder) below its head, whose last state can be changed.
        reads_state: Whether its head reads that state, and not a pooled vector that was made before.
        pads_left: Whether prompts of several lengths can be padded on the left: recurrent models read the padding.
    """

    task: str
    is_language_model: bool
    is_encoder_decoder: bool
    is_causal: bool
    embedding_dim: int
    hidden_dim: int
    positions_after: int | None
    needs_ids: bool
    takes_positions: bool
    has_encoder: bool
    reads_state: bool
    pads_left: bool

    @classmethod
    def of(cls, backbone: PreTrainedModel) -> BackboneInfo:
        """Inspects a backbone, which PEFT may have wrapped, and runs it on a few tokens (see `probing`).

        Raises:
            BackboneError: The backbone cannot be used; the message says what to do.
        """
        inner = base_of(backbone)
        if not hasattr(inner, "get_input_embeddings") or not hasattr(inner, "config"):
            given: Any = backbone
            named = given is None or isinstance(given, str | Path)
            said = f"backbone must be a Hugging Face model, got {repr(given)[:60] if named else type(given).__name__}"
            raise BackboneError(
                f"{said}: load it with AutoModelForMaskedLM.from_pretrained({str(given)[:60]!r})"
                if given and named
                else said
            )
        check_class(inner)
        task, both, words = task_of(inner), has_decoder(inner), _word_embeddings(inner)
        if both:
            _check_decoder(inner, task, words)
        embedding_dim = int(words.weight.shape[1])
        found = probe(inner)
        causal = not both and _sees_only_back(inner, task)
        takes = inspect.signature(inner.forward).parameters
        # A causal classifier finds the last token by its id, but not XLNet's, which attends to both sides.
        needs_ids = causal and task == "sequence-classification" and "perm_mask" not in takes
        # Longformer's heads choose the tokens of global attention by their ids.
        needs_ids |= "global_attention_mask" in takes and task in ("sequence-classification", "question-answering")
        language_model, hidden_dim = task.endswith("-lm"), _hidden_dim(inner, embedding_dim)
        if found is not None:
            _check_probe(inner, found, language_model, causal)
            causal, hidden_dim = causal and not found.sees_ahead, found.hidden_dim or hidden_dim
            # Also of decoders whose language model transformers does not list, such as Mistral 4's.
            pools_last = task == "sequence-classification" and not found.sees_ahead and "perm_mask" not in takes
            needs_ids |= pools_last or not found.takes_embeddings
        after = None if both else _positions_after(inner)
        counts_real_tokens = getattr(inner, "counts_real_tokens", False)
        return cls(
            task=task, is_language_model=language_model, is_encoder_decoder=both, is_causal=causal,
            embedding_dim=embedding_dim, hidden_dim=hidden_dim, positions_after=after, needs_ids=needs_ids,
            takes_positions=after is None and "position_ids" in takes and not counts_real_tokens
            and (found is None or found.counts_from_zero),
            has_encoder=bool(state_modules(inner)),
            reads_state=found is None or found.reads_state, pads_left=found is None or found.pads_left,
        )  # fmt: skip

    def position_ids(self, ids: Tensor, mask: Tensor | None = None) -> Tensor | None:
        """The position ids of a batch that has none; None if the backbone makes them as it should.

        Some backbones derive them from token ids. Others count from the left, and would count padding on the left, too:
        a text would have other positions in a batch than alone.

        Args:
            ids: (B, T) token ids.
            mask: (B, T) attention mask.
        """
        if self.positions_after is not None:
            real = ids.ne(self.positions_after).int()
            return (torch.cumsum(real, dim=1).type_as(real) * real).long() + self.positions_after
        if not self.takes_positions or self.task == "multimodal-lm" or mask is None or mask.shape != ids.shape:
            return None
        padding = mask.long().argmax(1, keepdim=True)  # the place of the first 1
        return (torch.arange(ids.shape[1], device=ids.device) - padding).clamp_min(0)


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


def list_ties_once(model: nn.Module, prefix: str) -> None:
    """Makes a model's state dict contain each tied weight of its backbone under one name only.

    The HF Trainer can then save it as safetensors. It loads with or without the other names.
    """
    # Functions of the module, not local ones: hooks are pickled with the model.
    model.register_state_dict_post_hook(functools.partial(_drop_ties, prefix=prefix))
    model.register_load_state_dict_pre_hook(functools.partial(_fill_ties, prefix=prefix))


def _drop_ties(module: nn.Module, state: dict[str, Any], start: str, _: Any, *, prefix: str) -> None:
    if hasattr(getattr(module, "number_weights", None), "adapter_state_dict"):
        return  # PEFT saves the whole model: it asks for each name of `modules_to_save`, and copies ties itself
    for name in tied_names(state, start + prefix):
        del state[name]


def _fill_ties(module: nn.Module, state: dict[str, Any], start: str, *_: Any, prefix: str) -> None:
    inner = module.get_submodule(prefix.rstrip("."))
    for name, first in tied_names(inner.state_dict(prefix=start + prefix), start + prefix).items():
        if first in state:
            state.setdefault(name, state[first])


def tied_names(state: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """For each weight of a state dict with several names, the further names and the first one."""
    first: dict[Any, str] = {}
    ties: dict[str, str] = {}
    for name, value in state.items():
        if name.startswith(prefix) and value.numel() and value.device.type != "meta" and value.data_ptr():
            same = first.setdefault((value.data_ptr(), value.shape, value.stride()), name)
            ties |= {name: same} if same != name else {}
    return ties


def _word_embeddings(backbone: PreTrainedModel) -> Any:
    """The embedding layer, if it is a table of vectors that can be asked for ids."""
    words: Any = None
    try:
        words = backbone.get_input_embeddings()
        rows = words(torch.zeros(1, dtype=torch.long, device=run_device(words)))
        usable = isinstance(rows, Tensor) and words.weight.dim() == 2
    except Exception:  # no layer (hashed characters), or something else than a layer
        usable = False
    if not usable:
        name = type(backbone).__name__
        raise BackboneError(f"{name} has no plain table of token embeddings: attach another architecture")
    return words


def _check_decoder(backbone: PreTrainedModel, task: str, words: Any) -> None:
    """Refuses encoder-decoders whose decoder cannot be given embeddings as the encoder's are."""
    name = type(backbone).__name__
    if task not in ("seq2seq-lm", "encoder"):
        raise BackboneError(
            f"{name}: encoder-decoders for {task} are not supported; attach an encoder, such as BERT or T5EncoderModel"
        )
    decoder: Any = backbone.get_decoder()
    if not hasattr(decoder, "get_input_embeddings"):
        raise BackboneError(f"{name} has a decoder without get_input_embeddings(): attach another architecture")
    own = tuple(decoder.get_input_embeddings().weight.shape)
    if own != tuple(words.weight.shape):
        raise BackboneError(
            f"{name} has encoder embeddings {tuple(words.weight.shape)} and decoder embeddings {own}: attach one whose "
            "encoder and decoder share a tokenizer and a width"
        )


def _check_probe(backbone: PreTrainedModel, found: Probe, language_model: bool, causal: bool) -> None:
    """Refuses models that would run, but learn nothing or see what they predict."""
    name = type(backbone).__name__
    if found.hidden_dim is None or (language_model and not found.reads_state):
        raise BackboneError(f"{name} has a head that reads no hidden state we can find: attach another architecture")
    if language_model and "logits" not in found.outputs:
        raise BackboneError(f"{name} returns {', '.join(found.outputs)} and no logits: load it with another Auto class")
    if not found.has_all_states:
        raise BackboneError(f"{name} has fewer hidden states than tokens: attach an architecture that keeps all tokens")
    if not (found.takes_embeddings or found.takes_hooked_ids):
        raise BackboneError(f"{name} cannot run on token embeddings (inputs_embeds): attach another architecture")
    if language_model and causal and found.sees_ahead:
        use = "attach a causal architecture, or the bare encoder (AutoModel)"
        if knows_kind(backbone, "masked-lm"):
            use = "load the checkpoint with AutoModelForMaskedLM, or with is_decoder=True"
        raise BackboneError(
            f"{name} attends to both sides of a token, so that it would see the numbers that it predicts: {use}"
        )


def _sees_only_back(backbone: PreTrainedModel, task: str) -> bool:
    if task.endswith("-lm"):
        return task in ("causal-lm", "multimodal-lm")
    if getattr(backbone.config, "is_decoder", False):
        return True
    return knows_kind(backbone, "causal-lm") and not knows_kind(backbone, "masked-lm")


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
