"""Saving and loading a `NumberModel`: its config and its own weights, PEFT's adapters, and a trained backbone."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from numerate.config import ConfigError
from numerate.modeling import adapters, artefact
from numerate.modeling.adapters import adapter_names, base_parameters, base_state
from numerate.modeling.artefact import Artefact, ArtefactError, NumberModelConfig, check_layout
from numerate.modeling.asking import has_trained_head, mark_head
from numerate.modeling.base_loading import check_base, load_base
from numerate.modeling.compact_storage import COMPACT_FILE, check_bits, rounded, save_compact
from numerate.modeling.fingerprint import Fingerprint, fingerprint, is_comparable, is_same
from numerate.modeling.folder_checks import check_finite
from numerate.modeling.introspection import TASKS, base_of
from numerate.modeling.named_checkpoint import difference, misfit
from numerate.modeling.number_calibration import CALIBRATION_FILE, read_calibration
from numerate.modeling.options import AttachOptions, PlacementOptions
from numerate.modeling.recipe import current_name, load_recipe, recipe_names
from numerate.modeling.trainer_checkpoint import CONFIG_KEY
from numerate.processing.processor import NumberProcessor
from numerate.registry import embedders, heads, near_names, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.modeling.number_model import NumberModel

__all__ = [
    "build_part", "check_saveable", "describe", "fingerprint_of", "load_model", "own_state", "push_model", "save_model",
]  # fmt: skip

_log = logging.getLogger(__name__)

M = TypeVar("M", bound="NumberModel")
_MEND = "set the options of backbone.config (num_hidden_layers, vocab_size, ...) to what the model has"
_OWN_HEADS = ("sequence-classification", "token-classification", "question-answering")
_BACKBONE = "backbone."
"""The prefix of the backbone's weights in a model's state dict."""
_FIXED = {"recipe", "objective", "scaling", "implied_commas", "spelled_units", "freeze", "fit"}
_FIXED |= {field.name for field in dataclasses.fields(AttachOptions)}
"""Options of `attach`, which a saved model keeps."""
_DTYPES = dict.fromkeys((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool), "I64")


def build_part(given: Any, registry: Any, *dim: int) -> Any:
    """A notation, embedder, head or objective from its name, its `{"kind": ...}` description, or the object itself.

    None stays None; `dim` is the width that an embedder or head is built for.
    """
    if isinstance(given, str):
        given = {"kind": given}
    if isinstance(given, type):
        raise TypeError(f"{registry.what} is the class {given.__name__}: give an object of it, or its name")
    if isinstance(given, int | float | list | tuple):
        raise TypeError(f"{registry.what} must be a name, a dict with its 'kind' or an object, got {given!r}")
    if not isinstance(given, dict):
        return given
    if "kind" not in given:
        raise ConfigError(f"{registry.what}: a description needs a 'kind', got {given!r}")
    options = {key: value for key, value in given.items() if key != "kind"}
    return registry[given["kind"]].build(*dim, **options)


def describe(model: NumberModel) -> NumberModelConfig:
    """The config that `load_model` builds the model from."""
    base = str(getattr(base_of(model.backbone).config, "_name_or_path", "") or "")
    return NumberModelConfig(
        recipe=model.recipe,
        # An absolute path, so that a program in another folder finds it, too.
        base_model=str(Path(base).resolve()) if base and Path(base).is_dir() else base,
        base_task=model.info.task,
        processor=model.processor.config(), first_id=model.processor.first_id,
        embedder=_description(model.embedder), head=_description(model.head), objective=_description(model.objective),
        embedding_dim=model.info.embedding_dim, hidden_dim=model.info.hidden_dim, max_tokens=model.max_tokens,
        **{field.name: getattr(model.options, field.name) for field in dataclasses.fields(PlacementOptions)},
    )  # fmt: skip


def check_saveable(model: NumberModel) -> None:
    """Refuses a model whose config `save_model` would refuse, so that this is known before the training.

    A model with a reader of one's own that is not registered is accepted: it can be used, but not saved.

    Raises:
        ConfigError: An option exceeds the limits of saved configs.
    """
    try:
        model.processor.config()
    except ConfigError:
        return
    artefact.config_text(describe(model))
    if said := misfit(model.backbone):
        _log.warning("%s, so that it cannot be saved: %s", said, _MEND)


def own_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a `NumberModel`'s state dict that is not the backbone's."""
    return {key: value for key, value in state.items() if not key.startswith(_BACKBONE) and key != CONFIG_KEY}


def fingerprint_of(backbone: PreTrainedModel, state: Mapping[str, Tensor] | None = None) -> Fingerprint | None:
    """The fingerprint of a backbone's weights without adapters; `state` is its state dict, by default its own."""
    return fingerprint(base_parameters(backbone, state))


def save_model(
    model: NumberModel, folder: str | Path, *, backbone: bool | None = None,
    state_dict: dict[str, Tensor] | None = None, bits: int | None = None,
) -> None:  # fmt: skip
    """Writes config, weights and model card; see `NumberModel.save_pretrained`."""
    if not isinstance(backbone, bool | None):
        raise TypeError(f"backbone must be True, False or None, got {backbone!r}")
    whole = model.state_dict() if state_dict is None else state_dict
    state = {key.removeprefix(_BACKBONE): value for key, value in whole.items() if key.startswith(_BACKBONE)}
    names = {} if backbone is False else adapter_names(model.backbone)
    if backbone is not False and not names and adapters.has_adapters(model.backbone):
        raise ArtefactError(
            "the adapters are those of get_peft_model(model): save with the PeftModel's own save_pretrained, or call "
            "its merge_and_unload() before"
        )
    if bits is not None:
        check_bits(bits)
        if adapters.has_adapters(model.backbone) or getattr(base_of(model.backbone), "hf_quantizer", None) is not None:
            raise ArtefactError(f"bits={bits} takes a backbone without adapters or quantised layers: merge them first")
        backbone = backbone is not False
        state = rounded(state) if backbone else state  # the fingerprint is that of the weights that will be loaded
    now = fingerprint_of(model.backbone, state)
    if backbone is None:
        before = model.backbone_fingerprint
        backbone = model.has_own_backbone or not (before is None or now is None or is_same(before, now))
        # The head of a base model that was not trained for the task is drawn when it is loaded: nobody else has it.
        is_quantised = getattr(base_of(model.backbone), "hf_quantizer", None) is not None
        backbone = backbone or (model.info.task in _OWN_HEADS and not is_quantised)
        backbone = backbone or difference(model.backbone) is not None
    if backbone and names and getattr(base_of(model.backbone), "hf_quantizer", None) is not None:
        raise ArtefactError("a quantised backbone with adapters cannot be saved: leave out backbone=True")
    if backbone and (said := misfit(model.backbone)):
        raise ArtefactError(f"{said}: {_MEND}")
    trained = has_trained_head(model)
    config = dataclasses.replace(
        describe(model), base_included=backbone, base_fingerprint=now, adapters=names or None,
        fitted=model.fitted or trained, trained=trained, stored_bits=bits,
    )  # fmt: skip
    artefact.save_artefact(folder, config, own_state(whole), model.citation, model.model_tags or ())
    calibration = Path(folder) / CALIBRATION_FILE
    calibration.unlink(missing_ok=True)
    if model.calibration is not None:
        calibration.write_text(model.calibration.to_json(), encoding="utf-8")
    if names:
        adapters.save_adapters(model.backbone, Path(folder) / artefact.ADAPTER_FOLDER, state)
    if backbone and bits is not None:
        save_compact(base_of(model.backbone), state, model.processor, Path(folder) / artefact.BASE_FOLDER)
    elif backbone:
        inside = str(Path(folder) / artefact.BASE_FOLDER)
        (Path(inside) / COMPACT_FILE).unlink(missing_ok=True)  # of an earlier save in 8 bits
        with adapters.without_adapters(model.backbone) as base:
            given = state_dict is not None or names
            base.save_pretrained(inside, state_dict=base_state(model.backbone, state) if given else None)
        model.processor.tokenizer.save_pretrained(inside)
    # safetensors lets only the owner read its files (seen with 0.8); the other files have the user's usual permissions.
    for weights in Path(folder).rglob("*.safetensors"):
        shutil.copymode(Path(folder) / artefact.CONFIG_FILE, weights)


def push_model(
    model: NumberModel, repo_id: str, *, backbone: bool | None = None, bits: int | None = None, **options: Any
) -> str:
    """Saves into a temporary folder and uploads it to the Hub; returns its address."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, backbone=backbone, bits=bits)
        return artefact.push_artefact(folder, repo_id, **options)


def load_model(
    model_class: type[M], folder: str | Path, backbone: PreTrainedModel | None,
    tokenizer: PreTrainedTokenizerFast | None, *, check_backbone: bool = True, **options: Any,
) -> M:  # fmt: skip
    """Loads what `save_model` or a Trainer wrote; see `NumberModel.from_pretrained`."""
    if fixed := [name for name in options if name in _FIXED]:
        raise TypeError(
            f"from_pretrained: {fixed[0]}={options[fixed[0]]!r} cannot change a saved model, whose "
            "weights depend on it: attach with it and train anew"
        )
    saved = artefact.load_artefact(folder)
    config = saved.config
    recipe = None if config.recipe is None else current_name(config.recipe)
    try:
        _check_parts(saved)
        base: Any = backbone
        if base is None:
            if config.base_task not in TASKS:
                task = config.base_task[:80]
                raise ArtefactError(f"base task {task!r}: {near_names(task, list(TASKS))}")
            # In the precision that it was saved with, which may be another one than that of the base model's file.
            dtype = _dtype_in(saved) if saved.is_checkpoint else (config.base_fingerprint or {}).get("dtype")
            usual = {"dtype": dtype} if dtype in ("float32", "bfloat16", "float16") else {}
            base = load_base(TASKS[config.base_task], saved, usual | options | {"use_safetensors": True})
        base = _with_adapters(base, saved, check_backbone)
        network = {key: options[key] for key in ("local_files_only",) if key in options}
        words: Any = load_base("AutoTokenizer", saved, network) if tokenizer is None else tokenizer
        check_base(config, base, words)
        model = model_class(
            base, NumberProcessor.from_config(words, config.processor, first_id=config.first_id),
            embedder=build_part(config.embedder, embedders, config.embedding_dim),
            head=build_part(config.head, heads, config.hidden_dim),
            objective=build_part(config.objective, objectives), options=config, recipe=recipe,
            citation=load_recipe(recipe).citation if recipe in recipe_names() else "",
        )  # fmt: skip
    except ArtefactError:
        raise
    except Exception as error:  # a hostile config may fail anywhere; the user gets one named error
        raise ArtefactError(f"{folder}: {error}") from None
    if backbone is None and not saved.is_checkpoint:  # before the fingerprint: it would only say that they differ
        check_finite(model.backbone.named_parameters(), f"base model of {folder}")
    if check_backbone and not saved.is_checkpoint:
        _check_fingerprint(config, model)
    _load_weights(model, saved)
    own = [(key, weight) for key, weight in model.named_parameters() if not key.startswith(_BACKBONE)]
    check_finite(own, folder)
    check_finite(own_state(model.state_dict()).items(), folder, infinite=False)
    if saved.is_checkpoint:
        check_finite(model.backbone.named_parameters(), f"base model of {folder}")
    model.fitted, model.max_tokens = config.fitted, config.max_tokens
    model.has_own_backbone = saved.is_checkpoint or (config.base_included and backbone is None)
    mark_head(model, trained=config.trained)
    model.calibration = read_calibration(saved.folder)
    return model.eval()  # as in transformers


def _dtype_in(saved: Artefact) -> str | None:
    """The precision of the backbone's weights in a checkpoint; None if they have several."""
    kinds = {kind for key, (kind, _) in saved.layout.items() if key.startswith(_BACKBONE)}
    return {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}.get(min(kinds)) if len(kinds) == 1 else None


def _load_weights(model: NumberModel, saved: Artefact) -> None:
    expected = model.state_dict()
    expected.pop(CONFIG_KEY, None)
    if not saved.is_checkpoint:
        check_layout(saved.layout, own_state(expected), saved.folder)
        model.load_state_dict(saved.tensors(), strict=False)
        return
    plain, wrapped = _BACKBONE, f"{_BACKBONE}base_model.model."
    tensors = {key: value for key, value in saved.tensors().items() if key != CONFIG_KEY}
    if saved.adapter_configs and not any(key.startswith(wrapped) for key in tensors):
        # The adapters were added to the model itself; they are loaded into a `PeftModel`.
        tensors = {key.replace(plain, wrapped, 1) if key.startswith(plain) else key: tensors[key] for key in tensors}
    layout = {key: (str(_DTYPES.get(value.dtype, "F32")), tuple(value.shape)) for key, value in tensors.items()}
    check_layout(layout, expected, saved.folder)
    model.load_state_dict(tensors, strict=True)
    model.backbone_fingerprint = fingerprint_of(model.backbone)


def _with_adapters(base: PreTrainedModel, saved: Artefact, check: bool) -> PreTrainedModel:
    """The base model with the adapters that were saved."""
    names = saved.config.adapters
    if not names:
        return base
    if adapter_names(base):
        if check:
            raise ArtefactError(
                f"{saved.folder} has adapters, and so has the backbone that was given: give the base model without "
                "them, or pass check_backbone=False to keep those of the backbone"
            )
        return base
    if saved.is_checkpoint:
        return adapters.new_adapters(base, saved.adapter_configs, names)
    return adapters.load_adapters(base, saved.folder, names)


def _check_fingerprint(config: NumberModelConfig, model: NumberModel) -> None:
    """Refuses a backbone with other weights than those that were saved or trained with."""
    saved, here = config.base_fingerprint, model.backbone_fingerprint
    if saved is None or here is None or not is_comparable(saved, here) or is_same(saved, here):
        return
    name = str(getattr(base_of(model.backbone).config, "_name_or_path", "") or type(model.backbone).__name__)
    raise ArtefactError(
        f"the backbone {name[-80:]!r} has other weights than the one that this model was saved with: pass that one as "
        "backbone=, or check_backbone=False to load it nevertheless"
    )


def _description(part: Any) -> dict[str, Any] | None:
    """A part's kind and options, as `build_part` takes them."""
    if part is None:
        return None
    return {key: value for key, value in part.config.to_dict().items() if key != "version"}


def _check_parts(saved: Artefact) -> None:
    """Refuses a config whose embedder or head does not match the saved weights, before memory is allocated for it."""
    config = saved.config
    build_part(config.objective, objectives)
    for prefix, description, registry, dim in (
        ("embedder.", config.embedder, embedders, config.embedding_dim),
        ("head.", config.head, heads, config.hidden_dim),
    ):
        found = {key.removeprefix(prefix): entry for key, entry in saved.layout.items() if key.startswith(prefix)}
        artefact.check_repeats(description, prefix[:-1], len(found))
        try:
            with torch.device("meta"):  # shapes only
                part = build_part(description, registry, dim)
        except NotImplementedError:  # its constructor computes on tensors; such parts are few, and none is large
            artefact.check_bounds(description, prefix, 1 << 14)
            part = build_part(description, registry, min(dim, 1 << 14))
        check_layout(found, {} if part is None else part.state_dict(), f"{saved.folder}: {prefix[:-1]}")
    for name, tensor, axis in (
        ("reach", "reach.maps", 0), ("late_reach", "late_reach.maps", 0), ("relations", "relations.network.1.weight", 1)
    ):  # fmt: skip
        wanted, (_, shape) = getattr(config, name), saved.layout.get(tensor, ("", ()))
        if wanted > (shape[axis] if len(shape) > axis else 0):
            raise ArtefactError(f"{saved.folder}: {name}={wanted} does not fit the tensor {tensor!r} of shape {shape}")
