"""Whether a backbone still is what its config and its checkpoint say.

A saved model names the checkpoint of a backbone that was not trained, and does not repeat its weights. That is right
only as long as nobody cut layers, changed rows of an embedding or set another option of the config before `attach`.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.adapters import base_parameters, base_state
from numerate.modeling.fingerprint import sample
from numerate.modeling.tasks import base_of

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

__all__ = ["difference", "misfit"]

_NO_MATTER = (
    "architectures", "attn_implementation", "dtype", "gradient_checkpointing", "id2label", "label2id", "name_or_path",
    "output_attentions", "output_hidden_states", "problem_type", "return_dict", "tie_word_embeddings", "torch_dtype",
    "torchscript", "transformers_version", "use_cache",
)  # fmt: skip
"""Options of a config that change no output in evaluation, or only the form of it."""


def misfit(backbone: PreTrainedModel, config: Any = None) -> str | None:
    """How the weights of a backbone differ in name or shape from those that a config asks for; None if they do not.

    Args:
        backbone: A model, which PEFT may have wrapped.
        config: A config, by default its own. A pooling layer may be missing.
    """
    inner: Any = base_of(backbone)
    if getattr(inner, "hf_quantizer", None) is not None:
        return None
    try:
        with warnings.catch_warnings(), torch.device("meta"), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            asked = type(inner)(inner.config if config is None else config).state_dict()
    except Exception:  # a class that cannot be built without memory: nothing is known
        return None
    found = base_state(backbone)
    for name in sorted(found.keys() ^ asked.keys()):
        if name in found:
            return f"the backbone has a weight {name!r} that its config does not ask for"
        if not name.startswith("pooler."):
            return f"the backbone has no weight {name!r} that its config asks for"
    for name, weight in found.items():
        if weight.shape != asked[name].shape:
            shapes = f"{tuple(weight.shape)}, its config asks for {tuple(asked[name].shape)}"
            return f"the weight {name!r} of the backbone is {shapes}"
    return None


def difference(backbone: PreTrainedModel) -> str | None:
    """How a backbone differs from the checkpoint that its config names; None if it does not, or if that is not known.

    All weights are compared, and the options of the config that change outputs. It is not known for quantised or
    offloaded weights, and if the checkpoint is not on this machine as safetensors.
    """
    inner: Any = base_of(backbone)
    folder = _folder(inner.config)
    files = [] if folder is None else sorted(folder.glob("*.safetensors"))
    weights = base_parameters(backbone)
    readable = all(weight.device.type != "meta" and weight.is_floating_point() for weight in weights.values())
    sharded = any(hasattr(weight, "full_tensor") for weight in weights.values())
    if not files or not readable or sharded or getattr(inner, "hf_quantizer", None) is not None:
        return None
    try:
        named = type(inner.config).from_pretrained(folder, local_files_only=True)
    except Exception:  # the folder may hold anything
        return None
    ours, theirs = _options(inner.config), _options(named)
    for key in sorted(ours.keys() & theirs.keys()):
        if ours[key] != theirs[key]:
            return f"its config has {key}={ours[key]!r}, the checkpoint {theirs[key]!r}"
    return misfit(backbone, named) or _changed(weights, files)


def _changed(weights: dict[str, Tensor], files: list[Path]) -> str | None:
    """A weight that is in none of the files; names do not count, because transformers changes some of them."""
    from safetensors import safe_open

    waiting: dict[bytes, list[str]] = defaultdict(list)
    types = {weight.dtype for weight in weights.values()}
    for name, weight in weights.items():
        waiting[_key(weight)].append(name)
    shapes = set()
    for path in files:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118 (not a dict)
                tensor = file.get_tensor(key)
                shapes.add(tuple(tensor.shape))
                for dtype in types if tensor.is_floating_point() else ():
                    rounded = tensor.to(dtype)
                    for name in list(waiting.get(digest := _key(rounded), ())):
                        if torch.equal(weights[name].detach().cpu(), rounded):
                            waiting[digest].remove(name)
    for names in waiting.values():
        for name in names:
            # Matrices of experts are joined when they are loaded; these are not compared.
            if weights[name].dim() < 3 or tuple(weights[name].shape) in shapes:
                return f"the checkpoint has another weight {name!r}"
    return None


def _key(weight: Tensor) -> bytes:
    values = sample(weight).cpu().numpy().tobytes()
    return hashlib.sha256(f"{weight.dtype} {tuple(weight.shape)}".encode() + values).digest()


def _folder(config: Any) -> Path | None:
    """The folder of the checkpoint that a config was loaded from, if it is on this machine."""
    name = str(getattr(config, "_name_or_path", "") or "")
    if not name or Path(name).is_dir():
        return Path(name) if name else None
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(name, "config.json", revision=getattr(config, "_commit_hash", None))
    except ValueError:  # not a name of the Hub
        return None
    return Path(found).parent if isinstance(found, str) else None


def _options(config: Any) -> dict[str, Any]:
    """The options of a config that change outputs."""
    return {
        key: value
        for key, value in config.to_dict().items()
        if not (key.startswith("_") or key in _NO_MATTER or key.endswith("_token_id") or "drop" in key)
    }
