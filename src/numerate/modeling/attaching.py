"""`attach`: names and recipes become objects, and objects a `NumberModel`; `detach`; `from_pretrained`."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate.config import Config, ConfigError
from numerate.files import read_yaml
from numerate.modeling.artefact import (
    BASE_FOLDER,
    Artefact,
    ArtefactError,
    NumberModelConfig,
    check_bounds,
    check_layout,
    checked_base,
    load_artefact,
)
from numerate.modeling.introspection import TASKS, BackboneInfo, first_free_id
from numerate.modeling.number_model import NumberModel
from numerate.processing.processor import NumberProcessor
from numerate.reading import make_reader
from numerate.registry import UnknownNameError, embedders, heads, near_names, notations, objectives

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head
    from numerate.notation.base import Notation
    from numerate.objectives.base import Objective
    from numerate.processing.scaling import Scaling
    from numerate.reading.base import Reader

__all__ = ["Recipe", "attach", "detach", "from_pretrained", "load_recipe", "recipe_names", "recipe_table"]


@dataclass(frozen=True, kw_only=True)
class Recipe(Config):
    """A named system: which reader, notation, embedder, placement and head belong together."""

    kind: ClassVar[str] = "recipe"
    about: str = ""
    citation: str = ""
    reader: str = "standard"
    reader_options: dict[str, Any] | None = None
    kinds: tuple[str, ...] | None = None
    written: bool = False
    notation: dict[str, Any]
    placement: str = "replace"
    embedder: dict[str, Any] | None = None
    gated: bool = False
    reach: int = 0
    late_reach: int = 0
    relations: int = 0
    head: dict[str, Any] | None = None


def recipe_names() -> list[str]:
    """The names of all recipes that ship with the package."""
    folder = resources.files("numerate") / "recipes"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def load_recipe(name: str) -> Recipe:
    """The recipe called `name`.

    Example:
        >>> load_recipe("xval").placement
        'scale'
    """
    if name not in recipe_names():
        raise UnknownNameError(f"unknown recipe {name!r}: {near_names(name, recipe_names())}")
    text = (resources.files("numerate") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    return Recipe.from_dict(read_yaml(text, f"{name}.yaml"))


def recipe_table() -> str:
    """All recipes as a Markdown table, for the docs."""
    lines = ["| recipe | reader | notation | placement, embedder | head | what it is |", "|---|---|---|---|---|---|"]
    for name in recipe_names():
        recipe = load_recipe(name)
        reader = recipe.reader + (f", {' '.join(recipe.kinds)}" if recipe.kinds else "")
        notation = recipe.notation["kind"] + (", slots on subwords" if recipe.notation.get("slot") else "")
        placed = f"{recipe.placement}, `{recipe.embedder['kind']}`" if recipe.embedder else "-"
        placed += " behind a shut gate" if recipe.gated else ""
        head = recipe.head["kind"] if recipe.head else "-"
        lines.append(
            f"| `{name}` | {reader} | {notation} | {placed} | {head} | {recipe.about.replace('|', chr(92) + '|')} |"
        )
    return "\n".join(lines)


def attach(
    backbone: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    recipe: str | Recipe | None = None,
    *,
    reader: str | Reader | None = None,
    notation: str | dict[str, Any] | Notation | None = None,
    embedder: str | dict[str, Any] | Embedder | None = None,
    placement: str | None = None,
    gated: bool | None = None,
    reach: int | None = None,
    late_reach: int | None = None,
    relations: int | None = None,
    head: str | dict[str, Any] | Head | None = None,
    objective: str | dict[str, Any] | Objective | None = "auto",
    kinds: tuple[str, ...] | None = None,
    scaling: Scaling | None = None,
    implied_commas: bool = False,
    freeze: bool = False,
) -> NumberModel:
    """Gives a Hugging Face model a sense of numbers.

    Args:
        backbone: A masked, causal or encoder-decoder language model, a classifier, a question answerer, or a bare
            encoder.
        tokenizer: Its fast tokenizer; neither is changed.
        recipe: A recipe's name (`numerate.recipe_names()`); by default `in-place`, unless notation or embedder are
            given.
        reader: Overrides the recipe's reader; so do the following their parts. Each is a name, a `{"kind": ...}` with
            options, or the object itself.
        notation: How numbers are written into the token sequence.
        embedder: How a number becomes a vector.
        placement: `replace`, `add` or `scale`.
        gated: Whether the embedder starts behind a shut gate.
        reach: How many tokens on each side of a number its vector reaches, too, through maps that are 0 at first; only
            for models that see both sides.
        late_reach: The same in the last state, which the backbone's head sees: a frozen one need not carry it there.
        relations: How many numbers on each side of a number its vector tells the ratio to; only for models that see
            both sides.
        head: How numbers are predicted.
        objective: What `loss` means in training; "auto" is `masked` or `causal`, as the backbone is.
        kinds: Which kinds of numeral are treated; by default the recipe's, or all.
        scaling: Fitted per-field scalers.
        implied_commas: Leave out the comma between two numbers of a record, as xVal does; with `reader="records"`.
        freeze: Train only what is ours.

    Example:
        >>> model = numerate.attach(backbone, tokenizer, recipe="luna")                        # doctest: +SKIP
        >>> model(**model.processor(["It cost $5."], return_tensors="pt")).loss                # doctest: +SKIP
    """
    plan = _plan(recipe, notation, embedder)
    info = BackboneInfo.of(backbone)
    near = {"reach": reach, "late_reach": late_reach, "relations": relations}
    changed = (reader, notation, embedder, placement, gated, head, kinds, *near.values()) != (None,) * 10
    processor = NumberProcessor(
        tokenizer,
        make_reader(plan.reader, **(plan.reader_options or {})) if reader is None else make_reader(reader),
        _part(notation if notation is not None else plan.notation, notations),
        kinds=plan.kinds if kinds is None else kinds,
        written=plan.written,
        scaling=scaling,
        first_id=first_free_id(backbone, tokenizer),
        implied_commas=implied_commas,
    )
    model = NumberModel(
        backbone,
        processor,
        embedder=_part(embedder if embedder is not None else plan.embedder, embedders, info.embedding_dim),
        placement=plan.placement if placement is None else placement,
        gated=plan.gated if gated is None else gated,
        **{name: getattr(plan, name) if value is None else value for name, value in near.items()},
        head=_part(head if head is not None else plan.head, heads, info.hidden_dim),
        objective=_objective(objective, info, tokenizer),
        recipe=None if changed or isinstance(recipe, Recipe) else recipe or "in-place",
        citation=plan.citation,
    )
    return model.freeze_backbone() if freeze else model


def detach(model: NumberModel) -> PreTrainedModel:
    """Gives the backbone back, as it was but for what training changed."""
    model.last_state.remove()
    return model.freeze_backbone(False).backbone


def _plan(recipe: str | Recipe | None, notation: Any, embedder: Any) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if recipe is None and (notation is not None or embedder is not None):
        return Recipe(notation={"kind": "marker"})
    return load_recipe(recipe or "in-place")


def _part(given: Any, registry: Any, *dim: int) -> Any:
    """A part from its name, its `{"kind": ...}` description, or itself."""
    if given is None:
        return None
    if isinstance(given, str):
        given = {"kind": given}
    if isinstance(given, dict):
        if "kind" not in given:
            raise ConfigError(f"{registry.what}: a description needs a 'kind', got {given!r}")
        part = registry[given["kind"]]
        options = {key: value for key, value in given.items() if key != "kind"}
        return part.build(*dim, **options)
    return given


def _objective(given: Any, info: BackboneInfo, tokenizer: PreTrainedTokenizerFast) -> Objective | None:
    if given != "auto":
        return _part(given, objectives)
    usual = {"masked-lm": "masked", "causal-lm": "causal", "seq2seq-lm": "labelled"}.get(info.task)
    return None if usual == "masked" and tokenizer.mask_token_id is None else _part(usual, objectives)


def from_pretrained(
    folder: str | Path,
    backbone: PreTrainedModel | None = None,
    tokenizer: PreTrainedTokenizerFast | None = None,
    **options: Any,
) -> NumberModel:
    """Loads a model that `save_pretrained` wrote.

    Args:
        folder: A local folder or a Hub id.
        backbone: The base model; by default the one that the config names.
        tokenizer: Its tokenizer; by default likewise.
        **options: Passed to the base model's `from_pretrained` (`dtype`, `device_map`).

    Raises:
        ArtefactError: What was saved cannot be trusted or does not fit.
    """
    artefact = load_artefact(folder, NumberModelConfig)
    config = artefact.config
    try:
        _check_parts(artefact)
        backbone = _load_base(artefact, options) if backbone is None else backbone
        tokenizer = _load_tokenizer(artefact) if tokenizer is None else tokenizer
        _check_base(config, backbone, tokenizer)
        model = NumberModel(
            backbone,
            NumberProcessor.from_config(tokenizer, config.processor, first_id=config.first_id),
            embedder=_part(config.embedder, embedders, config.embedding_dim),
            placement=config.placement,
            gated=config.gated,
            reach=config.reach,
            late_reach=config.late_reach,
            relations=config.relations,
            head=_part(config.head, heads, config.hidden_dim),
            objective=_part(config.objective, objectives),
            recipe=config.recipe,
            citation=load_recipe(config.recipe).citation if config.recipe in recipe_names() else "",
        )
    except ArtefactError:
        raise
    except Exception as error:  # a hostile config may go wrong in any way; it is one named error
        raise ArtefactError(f"{folder}: {error}") from None
    check_layout(artefact.layout, model.own_state(), folder)
    model.load_state_dict(artefact.tensors(), strict=False)
    return model


def _check_parts(artefact: Artefact[NumberModelConfig]) -> None:
    """Refuses a config whose embedder or head the weights do not fit, before any memory is spent on them."""
    config, layout = artefact.config, artefact.layout
    _part(config.objective, objectives)
    parts = (
        ("embedder.", config.embedder, embedders, config.embedding_dim),
        ("head.", config.head, heads, config.hidden_dim),
    )
    for prefix, description, registry, dim in parts:
        found = {key.removeprefix(prefix): entry for key, entry in layout.items() if key.startswith(prefix)}
        try:
            with torch.device("meta"):  # shapes alone
                part = _part(description, registry, dim)
        except NotImplementedError:  # it computes on its tensors; there are not many such, and none is large
            check_bounds(description, prefix, 1 << 14)
            part = _part(description, registry, min(dim, 1 << 14))
        check_layout(found, {} if part is None else part.state_dict(), f"{artefact.folder}: {prefix[:-1]}")


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


def _load_base(artefact: Artefact[NumberModelConfig], options: dict[str, Any]) -> PreTrainedModel:
    task = artefact.config.base_task
    if task not in TASKS:
        raise ArtefactError(f"base task {task[:80]!r}: {near_names(task[:80], list(TASKS))}")
    return _fetched(TASKS[task], artefact, options | {"use_safetensors": True})


def _load_tokenizer(artefact: Artefact[NumberModelConfig]) -> PreTrainedTokenizerFast:
    return _fetched("AutoTokenizer", artefact, {})


def _fetched(auto: str, artefact: Artefact[NumberModelConfig], options: dict[str, Any]) -> Any:
    """What an Auto class of transformers gives for the base model, without any code of its own."""
    import transformers

    from numerate.backbones import register_backbones

    register_backbones()  # the Auto classes know models of ours only then
    inside = artefact.folder.resolve() / BASE_FOLDER
    if artefact.config.base_included and (inside.is_symlink() or not (inside / "config.json").is_file()):
        raise ArtefactError(f"{artefact.folder} has no {BASE_FOLDER}/config.json, but its config says that it has")
    name = str(inside) if artefact.config.base_included else checked_base(artefact.config.base_model)
    try:
        return getattr(transformers, auto).from_pretrained(name, **options | {"trust_remote_code": False})
    except Exception as error:  # whatever is wrong with a folder that a config names
        raise ArtefactError(f"base model {name!r} cannot be loaded: {error}; pass backbone= and tokenizer=") from None


class _Callable(types.ModuleType):
    """This module, which can be called like the function that it is named for.

    Python binds `numerate.attach` to the module whenever something else is imported from it first.
    """

    def __call__(self, *arguments: Any, **options: Any) -> NumberModel:
        return attach(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
