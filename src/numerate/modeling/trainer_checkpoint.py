"""The model file of a Trainer's checkpoint, which describes itself.

A Trainer writes the state dict of a `NumberModel` into `model.safetensors` and nothing else of it. So the state dict
has one entry more, the configs of the model, its backbone and its adapters as bytes, and `numerate.from_pretrained`
reads checkpoints of any Trainer. `NumberTrainer` adds the backbone's config and the tokenizer, in a subfolder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.config import ConfigError
from numerate.modeling import artefact
from numerate.modeling.adapters import adapter_configs, adapter_names
from numerate.modeling.artefact import Artefact, ArtefactError
from numerate.modeling.folder_checks import is_inside
from numerate.modeling.tasks import base_of

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["CONFIG_KEY", "describe_in_state", "load_checkpoint", "save_base_files"]

CONFIG_KEY = "number_config"
"""The entry of a state dict that holds the config: (N,) uint8, JSON in UTF-8."""
MODEL_FILE = "model.safetensors"
_FILES = {"base": "config.json", "generation": "generation_config.json"}
"""Entries of the config in a state dict, and the files of the backbone that they stand for."""


def describe_in_state(model: NumberModel) -> None:
    """Makes a model's state dict contain its config; loading a state dict ignores it."""
    # Functions of the module, not local ones: hooks are pickled with the model.
    model.register_state_dict_post_hook(_add_config)
    model.register_load_state_dict_pre_hook(_drop_config)


def _add_config(model: Any, state: dict[str, Tensor], start: str, _: Any) -> None:
    rows = model.own_rows
    if rows.device.type == "meta" or hasattr(rows, "full_tensor"):
        return  # Tools that spread weights over processes expect nothing but such weights.
    try:
        described: dict[str, Any] = {"model": model.describe().to_dict(), "adapters": adapter_configs(model.backbone)}
    except ConfigError:  # a part that is not registered cannot be saved, but can be trained
        return
    described["model"]["adapters"] = adapter_names(model.backbone) or None
    base = base_of(model.backbone)
    for key, config in (("base", base.config), ("generation", getattr(base, "generation_config", None))):
        if config is not None:
            described[key] = json.loads(config.to_json_string())
    described["base"].pop("use_cache", None)  # a Trainer switches it off for the training only
    text = json.dumps(described, allow_nan=False).encode()
    state[start + CONFIG_KEY] = torch.frombuffer(bytearray(text), dtype=torch.uint8)


def _drop_config(model: Any, state: dict[str, Tensor], start: str, *_: Any) -> None:
    state.pop(start + CONFIG_KEY, None)


def save_base_files(model: NumberModel, folder: str | Path) -> None:
    """Writes the backbone's config and the tokenizer beside a checkpoint's weights, into the subfolder `backbone`."""
    inside = str(Path(folder) / artefact.BASE_FOLDER)
    base: Any = base_of(model.backbone)
    base.config.save_pretrained(inside)
    if getattr(base, "generation_config", None) is not None:
        base.generation_config.save_pretrained(inside)
    model.processor.tokenizer.save_pretrained(inside)


def load_checkpoint(place: Path) -> Artefact | None:
    """Config and layout of a Trainer's checkpoint; None if the folder is none.

    Raises:
        ArtefactError: It is one, but not of a `NumberModel`, or its config is wrong.
    """
    from safetensors import SafetensorError, safe_open

    path = place / MODEL_FILE
    if not path.is_file():
        return None
    if not is_inside(path, place):
        raise ArtefactError(f"{path} links to a file outside of its folder")
    layout = artefact.read_layout(path)
    kind, shape = layout.pop(CONFIG_KEY, ("", ()))
    if kind != "U8" or len(shape) != 1 or shape[0] > artefact.MAX_CONFIG_BYTES:
        raise ArtefactError(f"{path} has no config of a NumberModel; it was not written by save_pretrained")
    try:
        with safe_open(path, framework="np") as file:
            described = json.loads(file.get_tensor(CONFIG_KEY).tobytes())
        text, adapters = json.dumps(described["model"]).encode(), dict(described["adapters"])
        files = {name: described[key] for key, name in _FILES.items() if described.get(key) is not None}
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArtefactError(f"{path}: the config cannot be read: {error}") from None
    config = artefact.read_config(text, f"{path}: config")
    return Artefact(
        place, config, layout, weights_name=MODEL_FILE, is_checkpoint=True, adapter_configs=adapters, base_files=files
    )
