"""What a backbone does with a few tokens: two short runs, without gradients, find what its config does not say."""

from __future__ import annotations

import inspect
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from numerate.modeling.last_state import LastState, with_own_embeddings
from numerate.modeling.tasks import has_decoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel

__all__ = ["Probe", "evaluating", "probe"]

_TOKENS, _PADDED = 8, 3
_known: WeakKeyDictionary[nn.Module, Probe | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class Probe:
    """What was found.

    Attributes:
        hidden_dim: Width of the last hidden state; None if no module that we know gives one.
        has_all_states: Whether each token has a state of its own.
        sees_ahead: Whether a token changes the states before it.
        takes_embeddings: Whether token embeddings give the same states as the token ids.
        takes_hooked_ids: The same, where a hook replaces the output of the embedding layer; checked only if needed.
        counts_from_zero: Whether positions 0, 1, 2, ... give the same states as no positions; True if it takes none.
        reads_state: Whether the outputs of the backbone's head depend on the state.
        pads_left: Whether padding on the left, with mask and positions, leaves the states as they are; checked only
            for models whose tokens see those before them.
        outputs: The names of its outputs.
    """

    hidden_dim: int | None
    has_all_states: bool
    sees_ahead: bool
    takes_embeddings: bool
    takes_hooked_ids: bool
    counts_from_zero: bool
    reads_state: bool
    pads_left: bool
    outputs: tuple[str, ...]


def probe(backbone: PreTrainedModel) -> Probe | None:
    """Runs a backbone on a few tokens; None if it cannot run here and now. The result is kept for each model."""
    if backbone not in _known:
        _known[backbone] = _probe(backbone) if _can_run(backbone) else None
    return _known[backbone]


def _can_run(backbone: PreTrainedModel) -> bool:
    # Weights may be elsewhere (meta device, disk, other processes). BigBird would leave its sparse attention for good.
    here = all(weight.numel() and not weight.is_meta for weight in backbone.parameters())
    return here and getattr(backbone.config, "attention_type", None) != "block_sparse"


def _probe(backbone: PreTrainedModel) -> Probe | None:
    last = LastState(backbone)
    devices = sorted({weight.device.index for weight in backbone.parameters() if weight.is_cuda})
    try:
        with evaluating(backbone), torch.no_grad(), torch.random.fork_rng(devices), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _run(backbone, last, devices)
    except Exception:  # it may need inputs or a device that we do not know; its first real run will tell
        return None
    finally:
        last.remove()


def _seed(devices: list[int]) -> None:
    """Seeds the generators that the probe may use, and no other: Reformer draws hashes even in evaluation."""
    for generator in (torch.default_generator, *(torch.cuda.default_generators[index] for index in devices)):
        generator.manual_seed(0)


def _run(backbone: PreTrainedModel, last: LastState, devices: list[int]) -> Probe | None:
    words: Any = backbone.get_input_embeddings()
    ids = _ordinary_ids(backbone, words.weight)
    takes = inspect.signature(backbone.forward).parameters
    passed = {"attention_mask": torch.ones_like(ids)} if "attention_mask" in takes else {}
    passed |= {"use_cache": False} if "use_cache" in takes else {}
    second: dict[str, Any] = {"return_dict": True}
    if has_decoder(backbone):
        second["decoder_input_ids"] = ids
    _seed(devices)
    output, state = last.run(backbone, input_ids=ids, **passed, **second)
    plain = _tensors(output)
    if state is None:
        return Probe(None, True, False, True, True, True, True, True, tuple(output))
    if not bool(state.isfinite().all()):  # weights that were not loaded yet
        return None

    def alike(hooked: bool) -> tuple[bool, bool]:
        """Whether embeddings give the same state as ids do, and whether the outputs depend on the state."""
        seen: list[Tensor] = []

        def change(found: Tensor) -> Tensor:
            seen.append(found)
            return found + torch.linspace(1, 2, found.shape[-1], dtype=found.dtype, device=found.device)

        last.change = change
        _seed(devices)
        try:
            if hooked:
                other, _ = with_own_embeddings(backbone, last, ids, words(ids), **passed, **second)
            else:
                other, _ = last.run(backbone, inputs_embeds=words(ids), **passed, **second)
                # Some models look the ids up by embeddings, which fails with those that are of no token, as ours.
                last.run(backbone, inputs_embeds=words(ids) * 0.9, **passed, **second)
        except Exception:
            return False, False
        changed = _tensors(other)
        # A head whose weights are all 0 tells nothing.
        reads = last.asks or any(not (value.any() and _close(changed[name], value)) for name, value in plain.items())
        return last.asks or _close(seen[0], state), reads

    same, reads = alike(hooked=False)
    hooked = False
    if not same and not has_decoder(backbone):
        hooked, reads = alike(hooked=True)
    counts_from_zero = True
    if "position_ids" in takes and not has_decoder(backbone):
        places = torch.arange(_TOKENS, device=ids.device).expand_as(ids)
        _seed(devices)
        try:
            _, other = last.run(backbone, input_ids=ids, position_ids=places, **passed, **second)
            counts_from_zero = other is None or _close(other, state)
        except Exception:  # positions of another shape, such as one for each of three axes
            counts_from_zero = False
    before = state[:, : _TOKENS - 1]
    ahead = not has_decoder(backbone) and not _close(before[0], before[1])
    pads_left = True
    if same and not ahead and not has_decoder(backbone):
        mask = torch.ones_like(ids)
        mask[0, :_PADDED] = 0
        shifted = torch.cat([ids[:, :1]] * _PADDED + [ids[:, :-_PADDED]], dim=1)
        padded = {"attention_mask": mask} if "attention_mask" in takes else {}
        padded |= {"position_ids": (mask.cumsum(1) - 1).clamp_min(0)} if "position_ids" in takes else {}
        _seed(devices)
        _, other = last.run(backbone, inputs_embeds=words(shifted), **passed | padded, **second)
        pads_left = other is None or _close(other[0, _PADDED:], state[0, :-_PADDED], slack=2000)
    return Probe(
        hidden_dim=state.shape[-1], has_all_states=state.dim() == 3 and state.shape[1] == _TOKENS,
        sees_ahead=ahead, pads_left=pads_left, takes_embeddings=same, takes_hooked_ids=hooked,
        counts_from_zero=counts_from_zero, reads_state=reads, outputs=tuple(output),
    )  # fmt: skip


def _ordinary_ids(backbone: PreTrainedModel, weight: Tensor) -> Tensor:
    """(2, _TOKENS) ids from the middle of the vocabulary; the rows differ in their last token."""
    config: Any = backbone.config.get_text_config()
    special = {getattr(config, f"{name}_token_id", None) for name in ("pad", "bos", "eos", "mask", "unk")}
    middle = weight.shape[0] // 2
    free = [token for token in range(middle, middle + _TOKENS + 6) if token not in special]
    rows = [free[:_TOKENS], [*free[: _TOKENS - 1], free[_TOKENS]]]
    return torch.tensor(rows, device=weight.device) % weight.shape[0]


def _tensors(output: Any) -> dict[str, Tensor]:
    names = ("logits", "start_logits", "last_hidden_state", "pooler_output")
    found = {name: output.get(name) for name in names}
    tensors = {name: value for name, value in found.items() if isinstance(value, Tensor)}
    return {name: value for name, value in tensors.items() if name != "pooler_output" or len(tensors) == 1}


def _close(one: Tensor, other: Tensor, slack: int = 64) -> bool:
    """Whether two tensors are equal but for rounding: by `slack` times the precision of their type."""
    if one.shape != other.shape:
        return False
    tolerance = min(slack * torch.finfo(one.dtype).eps, 0.02)
    one, other = one.float(), other.float()
    return bool((one - other).abs().max() <= tolerance * other.abs().max())


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A context in which a model is in evaluation mode and uses its own `forward`; afterwards all is as before.

    In mixed precision, accelerate replaces `forward` by one that rebuilds every output from its tensors, which loses
    the distributions of numbers. Compiled modules run uncompiled, so that batches of other shapes than those of
    training do not trigger a compilation.
    """
    modes = [(module, module.training) for module in model.modules()]
    if not any(mode for _, mode in modes):
        modes = []  # as it should be: setting the mode of all modules takes longer than a small one takes to run
    own, wrapped = model.__dict__.get("_original_forward"), model.__dict__.get("forward")
    if modes:
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
