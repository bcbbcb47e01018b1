"""Saving and loading a `NumberModel`: its config and its own weights, and the backbone's only if the user asks."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from numerate.config import ConfigError
from numerate.modeling import artefact
from numerate.modeling.artefact import Artefact, ArtefactError, NumberModelConfig, check_layout
from numerate.modeling.folder_checks import check_base_folder, check_finite
from numerate.modeling.introspection import TASKS, BackboneInfo, base_of, first_free_id
from numerate.modeling.options import PlacementOptions
from numerate.modeling.recipe import load_recipe, recipe_names
from numerate.processing.processor import NumberProcessor
from numerate.registry import embedders, heads, near_names, objectives

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.modeling.number_model import NumberModel

__all__ = ["build_part", "check_saveable", "describe", "load_model", "own_state", "push_model", "save_model"]

M = TypeVar("M", bound="NumberModel")


def build_part(given: Any, registry: Any, *dim: int) -> Any:
    """A notation, embedder, head or objective from its name, its `{"kind": ...}` description, or the object itself.

    None stays None; `dim` is the width that an embedder or head is built for.
    """
    if isinstance(given, str):
        given = {"kind": given}
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
        embedding_dim=model.info.embedding_dim, hidden_dim=model.info.hidden_dim,
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


def own_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a `NumberModel`'s state dict that is not the backbone's."""
    return {key: value for key, value in state.items() if not key.startswith("backbone.")}


def save_model(
    model: NumberModel, folder: str | Path, *, backbone: bool = False, state_dict: dict[str, Tensor] | None = None
) -> None:
    """Writes config, weights and model card; see `NumberModel.save_pretrained`."""
    own = own_state(model.state_dict() if state_dict is None else state_dict)
    artefact.save_artefact(folder, dataclasses.replace(describe(model), base_included=backbone), own, model.citation)
    if backbone:
        inside, prefix = str(Path(folder) / artefact.BASE_FOLDER), "backbone."
        state = {key.removeprefix(prefix): value for key, value in (state_dict or {}).items() if key.startswith(prefix)}
        base_of(model.backbone).save_pretrained(inside, state_dict=state or None)
        model.processor.tokenizer.save_pretrained(inside)


def push_model(model: NumberModel, repo_id: str, *, backbone: bool = False, **options: Any) -> str:
    """Saves into a temporary folder and uploads it to the Hub; returns its address."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, backbone=backbone)
        return artefact.push_artefact(folder, repo_id, **options)


def load_model(
    model_class: type[M], folder: str | Path, backbone: PreTrainedModel | None,
    tokenizer: PreTrainedTokenizerFast | None, **options: Any,
) -> M:  # fmt: skip
    """Loads what `save_model` wrote; see `NumberModel.from_pretrained`."""
    saved = artefact.load_artefact(folder)
    config = saved.config
    try:
        _check_parts(saved)
        base: Any = backbone
        if base is None:
            if config.base_task not in TASKS:
                task = config.base_task[:80]
                raise ArtefactError(f"base task {task!r}: {near_names(task, list(TASKS))}")
            base = _load_base(TASKS[config.base_task], saved, options | {"use_safetensors": True})
        network = {key: options[key] for key in ("local_files_only",) if key in options}
        words: Any = _load_base("AutoTokenizer", saved, network) if tokenizer is None else tokenizer
        _check_base(config, base, words)
        model = model_class(
            base, NumberProcessor.from_config(words, config.processor, first_id=config.first_id),
            embedder=build_part(config.embedder, embedders, config.embedding_dim),
            head=build_part(config.head, heads, config.hidden_dim),
            objective=build_part(config.objective, objectives), options=config, recipe=config.recipe,
            citation=load_recipe(config.recipe).citation if config.recipe in recipe_names() else "",
        )  # fmt: skip
    except ArtefactError:
        raise
    except Exception as error:  # a hostile config may fail anywhere; the user gets one named error
        raise ArtefactError(f"{folder}: {error}") from None
    check_layout(saved.layout, own_state(model.state_dict()), folder)
    model.load_state_dict(saved.tensors(), strict=False)
    own = [(key, weight) for key, weight in model.named_parameters() if not key.startswith("backbone.")]
    check_finite(own, folder)
    check_finite(own_state(model.state_dict()).items(), folder, infinite=False)
    if backbone is None:
        check_finite(model.backbone.named_parameters(), f"base model of {folder}")
    model.fitted = True
    return model


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


def _check_base(config: NumberModelConfig, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    info = BackboneInfo.of(backbone)
    for what, saved, here in (
        ("token embeddings", config.embedding_dim, info.embedding_dim),
        ("hidden states", config.hidden_dim, info.hidden_dim),
        ("token ids", config.first_id, first_free_id(backbone, tokenizer)),
    ):
        if saved != here:
            raise ArtefactError(
                f"it was made for a backbone with {saved} {what}, this {type(backbone).__name__} has {here}"
            )


def _load_base(auto: str, saved: Artefact, options: dict[str, Any]) -> Any:
    """The base model or its tokenizer, from an Auto class of transformers, without running any code of its own.

    A saved folder may not reach the network: a base model that it names by a Hub id must be in the local cache, unless
    the saved model itself was asked for by a Hub id, or the user passes `local_files_only=False`.
    """
    import transformers

    from numerate.backbones import register_backbones

    register_backbones()  # so that the Auto classes know our own architectures
    inside = saved.folder.resolve() / artefact.BASE_FOLDER
    if saved.config.base_included:
        if inside.is_symlink() or not (inside / "config.json").is_file():
            raise ArtefactError(
                f"{saved.folder} has no {artefact.BASE_FOLDER}/config.json, but its config says that it has"
            )
        name = str(inside)
        check_base_folder(name, auto)
    else:
        name = artefact.checked_base(saved.config.base_model, folders=not saved.from_hub)
        if Path(name).is_dir():
            check_base_folder(name, auto, links=False)
    is_local = Path(name).is_dir()
    options = {"local_files_only": is_local or not saved.from_hub} | options | {"trust_remote_code": False}
    try:
        return getattr(transformers, auto).from_pretrained(name, **options)
    except Exception as error:  # a folder that a config names may be wrong in any way
        if not is_local and options["local_files_only"]:
            raise ArtefactError(
                f"base model {name!r} is not in the local cache, and a saved folder may not start a download: "
                f"run `hf download {name}`, or pass backbone= and tokenizer="
            ) from None
        raise ArtefactError(f"base model {name!r} cannot be loaded: {error}; pass backbone= and tokenizer=") from None
