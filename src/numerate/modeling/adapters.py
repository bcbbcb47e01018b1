"""PEFT adapters of a backbone (LoRA and others): the base model's weights without them, saving and loading them.

The backbone may be a `PeftModel`, or a model that adapters were added to (`add_adapter`, `inject_adapter_in_model`).
Adapters are saved as PEFT saves them, so that PEFT loads them, too.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.modeling.artefact import ADAPTER_FOLDER, ArtefactError, check_bounds
from numerate.modeling.folder_checks import is_inside
from numerate.modeling.introspection import base_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor
    from transformers import PreTrainedModel

__all__ = [
    "adapter_configs", "adapter_names", "base_parameters", "base_state", "has_adapters", "load_adapters",
    "new_adapters", "save_adapters", "without_adapters",
]  # fmt: skip

_PREFIX = "base_model.model."
"""The prefix of the base model's weights in a `PeftModel`."""
_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_LOADS_MORE = ("megatron_config", "tokenizer_name_or_path")
"""Options of PEFT that import other packages or fetch other files."""


def adapter_names(backbone: PreTrainedModel) -> dict[str, bool]:
    """The names of a backbone's adapters, and whether each is active; empty without adapters."""
    names = list(getattr(backbone, "peft_config", None) or ())
    layer: Any = next((module for module in backbone.modules() if _is_tuner(module)), None) if names else None
    if layer is None and base_of(backbone) is backbone:  # a model keeps the config of adapters that were merged
        return {}
    return {name: layer is None or name in layer.active_adapters for name in names}


def has_adapters(backbone: PreTrainedModel) -> bool:
    """Whether layers of a backbone have adapters, also those of a `PeftModel` around the whole `NumberModel`."""
    return any(_is_tuner(module) for module in backbone.modules())


def base_state(backbone: PreTrainedModel, state: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The state dict of the base model without its adapters, under the names that it has without them.

    `state` is the backbone's state dict, by default its own.
    """
    inner = base_of(backbone)
    state = backbone.state_dict() if state is None else state
    if not adapter_names(backbone):
        return dict(state)
    prefix = _PREFIX if inner is not backbone else ""
    dropped = [
        f"{name}.{part}" if name else part
        for name, module in inner.named_modules()
        for part in (*getattr(module, "adapter_layer_names", ()), *getattr(module, "other_param_names", ()))
    ]
    kept: dict[str, Tensor] = {}
    starts = tuple(f"{name}." for name in dropped)
    for key, value in state.items():
        name = key.removeprefix(prefix)
        if key.startswith(prefix) and name not in dropped and not name.startswith(starts):
            kept[_bare(name)] = value
    return kept


def base_parameters(backbone: PreTrainedModel, state: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """The parameters in `base_state`, each tied one once."""
    names = {_bare(name) for name, _ in base_of(backbone).named_parameters()}
    return {name: value for name, value in base_state(backbone, state).items() if name in names}


@contextlib.contextmanager
def without_adapters(backbone: PreTrainedModel) -> Iterator[PreTrainedModel]:
    """The base model, whose `save_pretrained` writes the base model and not its adapters."""
    inner: Any = base_of(backbone)
    had = inner.__dict__.pop("_hf_peft_config_loaded", None)
    try:
        yield inner
    finally:
        if had is not None:
            inner._hf_peft_config_loaded = had


def save_adapters(backbone: PreTrainedModel, folder: str | Path, state: Mapping[str, Tensor] | None = None) -> None:
    """Writes all adapters as PEFT does: the adapter `default` into the folder, others into folders of their names."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    if any(getattr(module, "merged", False) for module in backbone.modules() if _is_tuner(module)):
        raise ArtefactError("the adapters are merged into the base model: call unmerge_adapter() before saving")
    prefix = "" if base_of(backbone) is not backbone else _PREFIX
    model: Any = backbone
    for name, config in model.peft_config.items():
        place = _place(folder, name)
        place.mkdir(parents=True, exist_ok=True)
        given = None if state is None else dict(state)
        # Without the embeddings of the base model: these are not changed by `attach`.
        found = get_peft_model_state_dict(model, given, name, save_embedding_layers=False)
        tensors = {f"{prefix}{key}": value.detach().cpu().contiguous().clone() for key, value in found.items()}
        save_file(tensors, place / _WEIGHTS, metadata={"format": "pt"})
        config.save_pretrained(str(place))


def load_adapters(base: PreTrainedModel, folder: Path, names: Mapping[str, bool]) -> PreTrainedModel:
    """Puts the adapters that `save_adapters` wrote on a base model; they can be trained on.

    Raises:
        ArtefactError: A file is missing or not allowed, or a weight of an adapter is not loaded.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    model: Any = base
    for index, name in enumerate(names):
        place = _place(folder / ADAPTER_FOLDER, name)
        for file in (place / _CONFIG, place / _WEIGHTS):
            if not file.is_file() or not is_inside(file, folder):
                raise ArtefactError(f"{folder} has no {file.relative_to(folder)}, but its config names the adapter")
        _check_config(json.loads((place / _CONFIG).read_bytes()), f"{place / _CONFIG}")
        options: Any = {"is_trainable": True, "use_safetensors": True}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # missing keys, which are an error below
            if index:
                model.load_adapter(str(place), name, **options)
            else:
                model = PeftModel.from_pretrained(base, str(place), name, **options)
        with safe_open(place / _WEIGHTS, framework="pt") as file:
            saved = set(file.keys())
        here = set(get_peft_model_state_dict(model, adapter_name=name, save_embedding_layers=False))
        if saved != here:
            example = min(saved ^ here)
            raise ArtefactError(f"{place / _WEIGHTS}: weight {example!r} does not fit the base model")
    return _activate(model, names)


def adapter_configs(backbone: PreTrainedModel) -> dict[str, Any]:
    """The configs of a backbone's adapters as JSON types, by name."""
    found = {name: backbone.peft_config[name].to_dict() for name in adapter_names(backbone)}  # type: ignore[index, union-attr]
    return json.loads(json.dumps(found, default=lambda value: sorted(value) if isinstance(value, set) else str(value)))


def new_adapters(base: PreTrainedModel, configs: Mapping[str, Any], names: Mapping[str, bool]) -> PreTrainedModel:
    """A `PeftModel` with new adapters from the output of `adapter_configs`."""
    from peft import PeftConfig, get_peft_model

    model: Any = base
    for index, (name, description) in enumerate(configs.items()):
        _check_config(description, f"adapter {name!r}")
        config = PeftConfig.from_peft_type(**{**description, "inference_mode": False, "base_model_name_or_path": None})
        if index:
            model.add_adapter(name, config)
        else:
            model = get_peft_model(base, config, name)
    return _activate(model, names)


def _activate(model: Any, names: Mapping[str, bool]) -> Any:
    active = [name for name, is_active in names.items() if is_active]
    if active and active != list(model.active_adapters):
        model.base_model.set_adapter(active)
    return model


def _check_config(description: Any, where: str) -> None:
    check_bounds(description, where)
    for name in _LOADS_MORE:
        if not isinstance(description, dict) or description.get(name):
            raise ArtefactError(f"{where}: an adapter with {name} is not loaded; load it yourself and pass backbone=")


def _place(folder: str | Path, name: str) -> Path:
    if not name.replace("-", "").replace("_", "").isalnum():
        raise ArtefactError(f"adapter name {name[:40]!r} must consist of letters, digits, - and _")
    return Path(folder) if name == "default" else Path(folder) / name


def _is_tuner(module: Any) -> bool:
    return hasattr(module, "adapter_layer_names") and hasattr(module, "active_adapters")


def _bare(name: str) -> str:
    """A weight's name without the wrappers of PEFT."""
    for wrapper in ("token_adapter", "base_layer", "original_module"):
        name = name.replace(f".{wrapper}.", ".")
    return name
