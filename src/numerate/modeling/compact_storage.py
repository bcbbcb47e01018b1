"""Compact storage of weights: whole numbers of 8 bits with a scale for each row, in safetensors.

A row is a vector of the last dimension: the weights of one output of a linear layer, or the embedding of one token. Its
largest size becomes 127, so that no weight moves by more than half a step of its row. Loading gives ordinary floating
weights again: this saves space on the disk and on the way, not in memory.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.folder_checks import ArtefactError, is_inside
from numerate.modeling.introspection import tied_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor
    from transformers import PreTrainedModel

    from numerate.processing.processor import NumberProcessor

__all__ = [
    "BITS", "COMPACT_FILE", "check_bits", "halved", "load_compact", "packed", "read_compact_layout", "rounded",
    "save_compact", "unpacked", "unpacked_layout",
]  # fmt: skip

BITS = 8
COMPACT_FILE = "model-int8.safetensors"
"""The backbone's weights; under another name than a Hugging Face model's, which would read whole numbers as weights."""
_SCALE = ".scale"
"""Suffix of the scales of a tensor's rows; no module has both a weight `x` and a part `x.scale`."""
_LARGEST = 127
_LEAST_ROW, _LEAST_SIZE = 16, 1024
"""Shorter rows and smaller tensors stay as they are: there is little to gain."""
_FLOATS = {"F16", "BF16", "F32", "F64"}

Layout = dict[str, tuple[str, tuple[int, ...]]]


def check_bits(bits: Any) -> None:
    """Refuses anything but 8 bits.

    Raises:
        ValueError: It is another number.
    """
    if bits != BITS or isinstance(bits, bool):
        raise ValueError(f"bits must be {BITS}, or None for the weights as they are, got {bits!r}")


def packed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors as they are stored: large floating ones as int8 codes, with float32 scales under the name plus `.scale`.

    Raises:
        ArtefactError: A weight is NaN or infinite.

    Example:
        >>> stored = packed({"a": torch.linspace(-2.54, 2.54, 1024)[None], "b": torch.ones(3)})
        >>> stored["a"][0, [0, -1]].tolist(), stored["a.scale"], stored["b"].tolist()
        ([-127, 127], tensor([0.0200]), [1.0, 1.0, 1.0])
    """
    found: dict[str, Tensor] = {}
    for key, value in state.items():
        value = value.detach().cpu()
        if not _is_packed(value):
            found[key] = value.contiguous().clone()  # safetensors refuses tensors that share memory
            continue
        wide = value.to(torch.float32)
        if not bool(wide.isfinite().all()):
            raise ArtefactError(f"tensor {key!r} has NaN or infinite values: training diverged, nothing is saved")
        scale = wide.abs().amax(-1) / _LARGEST
        steps = wide / scale.where(scale > 0, 1.0)[..., None]
        found[key] = steps.round().clamp(-_LARGEST, _LARGEST).to(torch.int8)
        found[key + _SCALE] = scale
    return found


def halved(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors with the large floating ones in bfloat16: few weights, which decide about the digits of a number.

    Example:
        >>> {key: value.dtype for key, value in halved({"a": torch.ones(32, 64), "b": torch.ones(3)}).items()}
        {'a': torch.bfloat16, 'b': torch.float32}
    """
    return {
        key: value.to(torch.bfloat16) if _is_packed(value) and value.element_size() > 2 else value
        for key, value in state.items()
    }


def unpacked(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Floating tensors from what `packed` gave.

    Example:
        >>> weight = torch.linspace(-1, 1, 1024)[None]
        >>> again = unpacked(packed({"a": weight}))["a"]
        >>> bool((again - weight).abs().max() <= 1.0001 / 254)
        True
    """
    found = {key: value for key, value in tensors.items() if not _is_scale(key, tensors)}
    for key in found:
        if key + _SCALE in tensors:
            found[key] = tensors[key].to(torch.float32) * tensors[key + _SCALE][..., None]
    return found


def rounded(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights as they will be loaded: rounded to 8 bits, in their own types."""
    return {key: value.to(state[key].dtype) for key, value in unpacked(packed(state)).items()}


def unpacked_layout(layout: Layout, where: Any) -> Layout:
    """Types and shapes of the tensors that `unpacked` gives, from those that are stored.

    Raises:
        ArtefactError: A tensor of whole numbers has no scales, or they do not fit it.
    """
    found = {key: entry for key, entry in layout.items() if not _is_scale(key, layout)}
    for key in found:
        if key + _SCALE not in layout:
            continue
        (kind, shape), (scale_kind, scale_shape) = layout[key], layout[key + _SCALE]
        if kind != "I8" or scale_kind != "F32" or scale_shape != shape[:-1]:
            said = f"tensor {key!r} is {kind} {shape} with scales {scale_kind} {scale_shape}"
            raise ArtefactError(f"{where}: {said}: expected I8 codes and one F32 scale for each row")
        found[key] = ("F32", shape)
    for key, (kind, _) in found.items():
        if kind == "I8":
            raise ArtefactError(f"{where}: tensor {key!r} has codes of 8 bits, but no scales ({key + _SCALE!r})")
    return found


def save_compact(base: PreTrainedModel, state: Mapping[str, Tensor], processor: NumberProcessor, folder: Path) -> None:
    """Writes a base model and its tokenizer into a folder: configs as transformers writes them, weights in 8 bits."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    # Of an earlier save without `bits`; the loader would find two files of weights.
    for old in (*folder.glob("model*.safetensors"), *folder.glob("model.safetensors.index.json")):
        old.unlink()
    config: Any = base.config
    config.save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    # Written by a model's `save_pretrained`, not by that of its config.
    written |= {"architectures": [type(base).__name__], "dtype": str(base.dtype).removeprefix("torch.")}
    (folder / "config.json").write_text(json.dumps(written, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if getattr(base, "generation_config", None) is not None and base.can_generate():
        base.generation_config.save_pretrained(folder)
    save_file(packed(state), folder / COMPACT_FILE, metadata={"format": "pt"})
    processor.tokenizer.save_pretrained(str(folder))


def read_compact_layout(folder: Path) -> Layout:
    """Types and shapes of a base model's weights in a folder that `save_compact` wrote.

    Raises:
        ArtefactError: The file is missing, damaged, or links to another folder.
    """
    from numerate.modeling.artefact import read_layout

    path = folder / COMPACT_FILE
    if not path.is_file():
        raise ArtefactError(f"{folder} has no {COMPACT_FILE}, but the config says that weights are stored in 8 bits")
    if not is_inside(path, folder):
        raise ArtefactError(f"{path} links to a file outside of its folder")
    if (folder / "model.safetensors").exists():
        raise ArtefactError(f"{folder} has {COMPACT_FILE} and model.safetensors: remove the older of the two")
    return unpacked_layout(read_layout(path), path)


def load_compact(base: PreTrainedModel, folder: Path) -> None:
    """Puts the weights of a folder that `save_compact` wrote into a model that was built from its config.

    Raises:
        ArtefactError: The file cannot be read, or a tensor is missing, unknown, or of another shape.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from numerate.modeling.artefact import check_layout

    layout, path = read_compact_layout(folder), folder / COMPACT_FILE
    base.tie_weights()
    expected = base.state_dict()
    ties = tied_names(expected)
    check_layout(layout, {key: value for key, value in expected.items() if key not in ties}, path)
    try:
        state = unpacked(load_file(path))
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise ArtefactError(f"{path} cannot be read: {error}") from None
    base.load_state_dict(state | {name: state[first] for name, first in ties.items()}, strict=True)


def _is_packed(value: Tensor) -> bool:
    large = value.dim() >= 2 and value.shape[-1] >= _LEAST_ROW and value.numel() >= _LEAST_SIZE
    return large and value.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _is_scale(key: str, keys: Mapping[str, Any]) -> bool:
    return key.endswith(_SCALE) and key.removesuffix(_SCALE) in keys
