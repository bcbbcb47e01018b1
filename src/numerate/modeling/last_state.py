"""`LastState`: the last hidden state of a backbone, recorded while it runs on embeddings of our own."""

from __future__ import annotations

import copy
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.tasks import base_of, has_decoder, task_of
from numerate.processing.static_shapes import chosen_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torch import Tensor, nn
    from transformers import PreTrainedModel

    from numerate.modeling.introspection import BackboneInfo

__all__ = [
    "LastState", "check_length", "known_positions", "replaced_embeddings", "run_with_embeddings", "state_modules",
    "with_own_embeddings",
]  # fmt: skip


def state_modules(backbone: PreTrainedModel) -> list[nn.Module]:
    """The modules one of which gives the state that a backbone's head reads, outermost first.

    It is the first of them that runs: the forward of some decoders (OPT, BART) calls the inner module directly. Empty
    if there is no module below the head.
    """
    inner: Any = base_of(backbone)
    if has_decoder(inner):
        decoder = inner.get_decoder()
        if getattr(decoder, "get_output_embeddings", lambda: None)() is None:
            return [decoder]
        inner = decoder  # an EncoderDecoderModel's decoder is a language model itself
    elif inner.base_model is inner:
        return [inner] if task_of(inner).endswith("encoder") else []
    base = inner.base_model
    nested = inner.get_decoder() if hasattr(inner, "get_decoder") else base
    inside = nested is not base and any(nested is module for module in base.modules())
    return [base, nested] if inside else [base]


class LastState:
    """Forward hooks that record the last hidden state of a backbone's encoder (or decoder) during our own calls.

    The hooks are registered once, and do nothing outside of `run`: a hook for one call, or `output_hidden_states`, for
    which transformers takes a lock, would break a compiled graph.

    Attributes:
        asks: Whether the backbone has no encoder below its head, so that the state must come with its output.
        change: A function that the next `run` applies to the state before the backbone's head reads it; None for none.
        pick: Rows and columns, (N,) each, of the only tokens whose state is read; None for all.
        labelled: Places, among all tokens of the batch, of the only tokens that the backbone's head reads in the next
            `run`, while the whole state is recorded; None for all.
        read: (N, 1, hidden) state of the `labelled` tokens in the last `run`; who takes it resets it to None.
    """

    def __init__(self, backbone: PreTrainedModel) -> None:
        modules = state_modules(backbone)
        self.asks = not modules
        self.opened, self.state = False, None
        self.change: Callable[[Tensor], Tensor] | None = None
        self.pick: tuple[Tensor, Tensor] | None = None
        self.labelled: Tensor | None = None
        self.read: Tensor | None = None
        self._several, self._running = len(modules) > 1, None
        self._handles: list[Any] = [module.register_forward_hook(self) for module in modules]
        if self._several:
            self._handles += [module.register_forward_pre_hook(self.begin) for module in modules]

    def begin(self, module: nn.Module, inputs: Any) -> None:
        """The hook before a module runs: the first one that begins is the outermost, and its state is recorded."""
        if self.opened and self._running is None:
            self._running = module

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """The hook after a module ran: records the state, changed and picked."""
        if not self.opened or (self._several and self._running is not module):
            return None
        state = output[0] if self.change is None else self.change(output[0])
        if self.pick is not None:
            rows, columns = self.pick
            state = state[rows, columns][:, None]
        self.state = state
        if self.labelled is not None:
            state = self.read = chosen_rows(state, self.labelled)[:, None]
        if state is not output[0]:
            output.last_hidden_state = state
        return output

    def __deepcopy__(self, memo: dict[int, Any]) -> LastState:
        twin = object.__new__(LastState)
        memo[id(self)] = twin  # the copied model and the hooks on its copied backbone share one object
        twin.change = twin.pick = twin.labelled = twin.read = twin.state = twin._running = None
        twin.asks, twin.opened, twin._several = self.asks, False, self._several
        twin._handles = copy.deepcopy(self._handles, memo)
        return twin

    def run(self, backbone: PreTrainedModel, **passed: Any) -> tuple[Any, Tensor | None]:
        """Runs the backbone; returns its output and its last hidden state (B, T, hidden).

        Raises:
            ValueError: A text has more tokens than the backbone has positions.
        """
        if torch.compiler.is_compiling():
            return self._run(backbone, passed)
        try:
            return self._run(backbone, passed)
        except (IndexError, RuntimeError) as error:
            check_length(backbone, passed, error)
            raise

    def _run(self, backbone: PreTrainedModel, passed: dict[str, Any]) -> tuple[Any, Tensor | None]:
        if self.asks:
            output = backbone(**passed | {"output_hidden_states": True})
            states = output.get("decoder_hidden_states", output.get("hidden_states"))
            return output, states[-1] if states else None
        self.opened = True
        try:
            output = backbone(**passed)
        finally:
            self.opened, state, self.state = False, self.state, None
            self.change = self.labelled = self._running = None
        return output, state

    def remove(self) -> None:
        """Removes the hooks from the backbone; from now on the state is taken from its output."""
        for handle in self._handles:
            handle.remove()
        self.asks, self._several, self._handles = True, False, []


def check_length(backbone: PreTrainedModel, passed: Mapping[str, Any], error: Exception) -> None:
    """Refuses a batch for which a table was too short, if its texts have more tokens than the backbone has positions.

    Raises:
        ValueError: They have; the message says how many it has.
    """
    # Of torch's tables and buffers: "index out of range in self", "index 512 is out of bounds", "existing size (512)".
    if not re.search("out of range|out of bounds|existing size", str(error)):
        return
    names = ("input_ids", "inputs_embeds", "attention_mask", "decoder_inputs_embeds")
    tokens = max((passed[name].shape[1] for name in names if passed.get(name) is not None), default=0)
    inner = base_of(backbone)
    most = min(known_positions(inner.config), default=tokens)
    if tokens > most:
        raise ValueError(
            f"{tokens} tokens are too many for {type(inner).__name__}, which has {most} positions: cut texts, as in "
            f"model.processor(texts, truncation=True, max_length={most}), or generate fewer tokens"
        ) from error


def known_positions(config: Any) -> list[int]:
    """What a config says of the number of a model's positions; empty if it says nothing."""
    sizes = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions")]
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    if config.model_type.removeprefix("xlm-").startswith(("roberta", "camembert", "longformer")):
        known = [size - config.pad_token_id - 1 for size in known]  # positions start after the id of the padding
    return known


def run_with_embeddings(
    backbone: PreTrainedModel, info: BackboneInfo, last: LastState, ids: Callable[[], Tensor], embeddings: Tensor,
    **passed: Any,
) -> tuple[Any, Tensor | None]:  # fmt: skip
    """Runs a backbone on embeddings (B, T, D) of our own; returns its output and its last hidden state.

    `ids` gives (B, T) ids of the backbone's own, with an ordinary token in place of each of ours; few backbones need
    them. `passed` are its other arguments.
    """
    if not info.needs_ids:
        return last.run(backbone, inputs_embeds=embeddings, **passed)
    return with_own_embeddings(backbone, last, ids(), embeddings, **passed)


def with_own_embeddings(
    backbone: PreTrainedModel, last: LastState, ids: Tensor, embeddings: Tensor, **passed: Any
) -> tuple[Any, Tensor | None]:
    """`LastState.run` on ids (B, T), with `replaced_embeddings`."""
    with replaced_embeddings(backbone, embeddings):
        return last.run(backbone, input_ids=ids, **passed)


@contextmanager
def replaced_embeddings(backbone: PreTrainedModel, embeddings: Tensor) -> Iterator[None]:
    """A context in which a hook replaces the output of a backbone's embedding layer by ours (B, T, D).

    With embeddings only, a causal classifier would pool the padding, and some backbones would skip their positions or
    fail.
    """
    used, length = [], embeddings.shape[1]

    def replace(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        fits = output.dim() == 3 and output[:, :length].shape == embeddings.shape
        used.append(fits)
        if not fits or output.shape == embeddings.shape:
            return embeddings if fits else output
        return torch.cat([embeddings, output[:, length:]], dim=1)  # Longformer pads its inputs

    handle = backbone.get_input_embeddings().register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()
    if not any(used):
        raise ValueError(f"{type(backbone).__name__} does not read its own embedding layer")
