"""Loading the base model of a saved `NumberModel`, and its tokenizer, without running any code of theirs."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.modeling import artefact
from numerate.modeling.artefact import Artefact, ArtefactError, NumberModelConfig
from numerate.modeling.compact_storage import load_compact, read_compact_layout
from numerate.modeling.folder_checks import check_base_folder, check_links
from numerate.modeling.introspection import BackboneInfo, first_free_id
from numerate.processing.saved_tokenizer import load_saved_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["check_base", "load_base"]


def check_base(config: NumberModelConfig, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Refuses a backbone whose widths or number of token ids differ from those of the saved model."""
    info = BackboneInfo.of(backbone)
    saved_words, kind = config.base_task.endswith("-lm"), type(backbone).__name__
    if saved_words != info.is_language_model:
        raise ArtefactError(
            f"it was saved with a model for {config.base_task}, and {kind} is one for {info.task}: "
            "pass such a model, or attach to this one and copy our weights (numbers-as-targets.md)"
        )
    for what, saved, here in (
        ("token embeddings of width {}", config.embedding_dim, info.embedding_dim),
        ("hidden states of width {}", config.hidden_dim, info.hidden_dim),
        ("{} token ids", config.first_id, first_free_id(backbone, tokenizer)),
    ):
        if saved != here:
            raise ArtefactError(
                f"it was made for a backbone with {what.format(saved)}, this {kind} has {here}: "
                "pass the backbone and tokenizer that it was attached to"
            )


def load_base(auto: str, saved: Artefact, options: dict[str, Any]) -> Any:
    """The base model or its tokenizer, from an Auto class of transformers, without running any code of its own.

    A saved folder may not reach the network: a base model that it names by a Hub id must be in the local cache, unless
    the saved model itself was asked for by a Hub id, or the user passes `local_files_only=False`.
    """
    import transformers

    from numerate.backbones import register_backbones

    register_backbones()  # so that the Auto classes know our own architectures
    with _base_folder(saved) as inside:
        return _load_from(inside, getattr(transformers, auto), auto, saved, options)


@contextlib.contextmanager
def _base_folder(saved: Artefact) -> Iterator[Path | None]:
    """The folder of a backbone that was saved, or whose config was saved, with the model; None if there is none."""
    inside = saved.folder.resolve() / artefact.BASE_FOLDER
    has_base = not inside.is_symlink() and (inside / "config.json").is_file()
    if saved.config.base_included and not has_base:
        raise ArtefactError(
            f"{saved.folder} has no {artefact.BASE_FOLDER}/config.json, but its config says that it has"
        )
    if saved.config.base_included or (saved.is_checkpoint and has_base):
        yield inside
    elif saved.base_files:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in saved.base_files.items():
                (Path(folder) / name).write_text(json.dumps(content), encoding="utf-8")
            yield Path(folder)
    else:
        yield None


def _new_base(inside: Path, factory: Any, options: dict[str, Any], names: Iterable[str]) -> Any:
    """A base model built from its config, with random weights; `names` are those of the stored weights."""
    import transformers

    if options.get("device_map") not in (None, "cpu"):
        raise ArtefactError(
            "a Trainer's checkpoint, or one of 8 bits, is loaded without device_map: call model.to(...) afterwards"
        )
    known, name = ("dtype", "attn_implementation", "trust_remote_code"), str(inside)
    given = {key: options[key] for key in options if key in known}
    config = transformers.AutoConfig.from_pretrained(name, local_files_only=True, trust_remote_code=False)
    base = factory.from_config(config, **given)
    if getattr(base, "pooler", None) is not None and not any(".pooler." in key for key in names):
        base = factory.from_config(config, **given, add_pooling_layer=False)
    if (inside / "generation_config.json").is_file():
        base.generation_config = transformers.GenerationConfig.from_pretrained(name, local_files_only=True)
    return base


def _load_from(inside: Path | None, factory: Any, auto: str, saved: Artefact, options: dict[str, Any]) -> Any:
    is_model, asked = auto != "AutoTokenizer", "quantization_config" in options
    if not is_model and inside is not None and not saved.config.base_included and not _has_tokenizer(inside):
        # Of a Trainer with a `processing_class`; otherwise that of the base model.
        inside = saved.folder if _has_tokenizer(saved.folder) else None
    if inside is not None:
        name = str(inside)
        if inside == saved.folder:
            check_links(name)
        else:
            check_base_folder(name, auto, weights=saved.folder if saved.is_checkpoint else None, quantised=asked)
    else:
        name = artefact.checked_base(saved.config.base_model, folders=not saved.from_hub)
        if Path(name).is_dir():
            check_base_folder(name, auto, links=False, quantised=asked)
    is_local = Path(name).is_dir()
    options = {"local_files_only": is_local or not saved.from_hub} | options | {"trust_remote_code": False}
    try:
        is_compact = saved.config.stored_bits is not None and saved.config.base_included
        if is_model and inside is not None and is_compact:
            base = _new_base(inside, factory, options, [f".{key}" for key in read_compact_layout(inside)])
            load_compact(base, inside)
            base.config._name_or_path = name
            return base
        if is_model and saved.is_checkpoint and inside is not None:  # its weights are in the checkpoint
            base = _new_base(inside, factory, options, saved.layout)
            if inside.parent != saved.folder.resolve():  # a temporary folder; its tokenizer is that of the base model
                base.config._name_or_path = saved.config.base_model
            return base
        if not is_model:  # in our own folder, the tokens are those that were saved
            return load_saved_tokenizer(name, **options) if inside else factory.from_pretrained(name, **options)
        options["output_loading_info"] = True
        base, report = factory.from_pretrained(name, **options)
        missing = report["missing_keys"]
        if inside is not None and missing and all(key.startswith("pooler.") for key in missing):  # saved without it
            base, report = factory.from_pretrained(name, **options, add_pooling_layer=False)
    except ArtefactError:
        raise
    except Exception as error:  # a folder that a config names may be wrong in any way
        if not is_local and options["local_files_only"]:
            raise ArtefactError(
                f"base model {name!r} is not in the local cache, and a saved folder may not start a download: "
                f"run `hf download {name}`, or pass backbone= and tokenizer="
            ) from None
        raise ArtefactError(f"base model {name!r} cannot be loaded: {error}; pass backbone= and tokenizer=") from None
    # Weights that transformers draws anew would give other answers without a word. Weights that it does not need are
    # usual in a base model (the head of its pre-training), but not in what we have saved.
    wrong = [*report["missing_keys"], *(report["unexpected_keys"] if inside is not None else ())]
    if wrong and not saved.is_checkpoint:
        raise ArtefactError(
            f"base model {name!r} has no weights for {sorted(wrong)[0]!r} or does not know them ({len(wrong)} in all): "
            "save with backbone=True, or pass backbone="
        )
    return base


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "tokenizer_config.json").is_file()
