"""`attach`: names and recipes become objects, and objects a `NumberModel`; `detach`; `from_pretrained`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config, ConfigError
from numerate.hub import ArtefactError, checked_base, load_artefact
from numerate.model import NumberModel, NumberModelConfig, hidden_dim
from numerate.processor import NumberProcessor
from numerate.reading import make_reader
from numerate.registry import UnknownNameError, embedders, heads, near_names, notations, objectives

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head
    from numerate.notation.base import Notation
    from numerate.objectives.base import Objective
    from numerate.reading.base import Reader
    from numerate.scaling import Scaling

__all__ = ["Recipe", "attach", "detach", "from_pretrained", "load_recipe", "recipe_names"]


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
    import yaml

    if name not in recipe_names():
        raise UnknownNameError(f"unknown recipe {name!r}: {near_names(name, recipe_names())}")
    text = (resources.files("numerate") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    return Recipe.from_dict(yaml.safe_load(text))


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
    head: str | dict[str, Any] | Head | None = None,
    objective: str | dict[str, Any] | Objective | None = "auto",
    kinds: tuple[str, ...] | None = None,
    scaling: Scaling | None = None,
    freeze: bool = False,
) -> NumberModel:
    """Gives a Hugging Face model a sense of numbers.

    Args:
        backbone: A masked, causal or encoder-decoder language model, a classifier, a question answerer, or a bare encoder.
        tokenizer: Its fast tokenizer; neither is changed.
        recipe: A recipe's name (`numerate.recipe_names()`); by default `in-place`, unless notation or embedder are given.
        reader: Overrides the recipe's reader; so do the following their parts. Each is a name, a `{"kind": ...}` with
            options, or the object itself.
        notation: How numbers are written into the token sequence.
        embedder: How a number becomes a vector.
        placement: `replace`, `add` or `scale`.
        gated: Whether the embedder starts behind a shut gate.
        head: How numbers are predicted.
        objective: What `loss` means in training; "auto" is `masked` or `causal`, as the backbone is.
        kinds: Which kinds of numeral are treated; by default the recipe's, or all.
        scaling: Fitted per-field scalers.
        freeze: Train only what is ours.

    Example:
        >>> model = numerate.attach(backbone, tokenizer, recipe="luna")                        # doctest: +SKIP
        >>> model(**model.processor(["It cost $5."], return_tensors="pt")).loss                # doctest: +SKIP
    """
    plan = _plan(recipe, notation, embedder)
    if not hasattr(backbone, "get_input_embeddings"):
        raise TypeError(f"backbone must be a Hugging Face model, got {type(backbone).__name__}")
    processor = NumberProcessor(
        tokenizer,
        make_reader(plan.reader, **(plan.reader_options or {})) if reader is None else make_reader(reader),
        _part(notation if notation is not None else plan.notation, notations),
        kinds=plan.kinds if kinds is None else kinds,
        written=plan.written,
        scaling=scaling,
        first_id=_first_free_id(backbone, tokenizer),
    )
    model = NumberModel(
        backbone,
        processor,
        embedder=_part(embedder if embedder is not None else plan.embedder, embedders, _embedding_dim(backbone)),
        placement=plan.placement if placement is None else placement,
        gated=plan.gated if gated is None else gated,
        head=_part(head if head is not None else plan.head, heads, hidden_dim(backbone)),
        objective=_objective(objective, backbone, tokenizer),
        recipe=_name_of(recipe, notation, embedder),
        citation=plan.citation,
    )
    return model.freeze_backbone() if freeze else model


def detach(model: NumberModel) -> PreTrainedModel:
    """Gives the backbone back, as it was but for what training changed."""
    return model.backbone


def _plan(recipe: str | Recipe | None, notation: Any, embedder: Any) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if recipe is None and (notation is not None or embedder is not None):
        return Recipe(notation={"kind": "marker"})
    plan = load_recipe(recipe or "in-place")
    # A part that is replaced takes its options with it.
    return plan if embedder is None else replace(plan, embedder=None)


def _name_of(recipe: str | Recipe | None, notation: Any, embedder: Any) -> str | None:
    if isinstance(recipe, str):
        return recipe
    return "in-place" if recipe is None and notation is None and embedder is None else None


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


def _objective(given: Any, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> Objective | None:
    if given != "auto":
        return _part(given, objectives)
    if backbone.get_output_embeddings() is None or getattr(backbone.config, "is_encoder_decoder", False):
        return None
    masked = "MaskedLM" in type(backbone).__name__ and tokenizer.mask_token_id is not None
    return _part("masked" if masked else "causal", objectives)


def _embedding_dim(backbone: PreTrainedModel) -> int:
    return backbone.get_input_embeddings().weight.shape[1]


def _first_free_id(backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """The first id that neither tokenizer, embeddings nor logits use (Qwen's logits are wider than its tokenizer)."""
    output = backbone.get_output_embeddings()
    widths = [len(tokenizer), backbone.get_input_embeddings().weight.shape[0]]
    if output is not None and getattr(output, "weight", None) is not None:
        widths.append(output.weight.shape[0])
    return max(widths)


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
    config, tensors = load_artefact(folder, NumberModelConfig)
    if backbone is None or tokenizer is None:
        base, words = _load_base(config, backbone is None, tokenizer is None, options)
        backbone, tokenizer = backbone or base, tokenizer or words
    try:
        processor = NumberProcessor.from_config(tokenizer, config.processor, first_id=config.first_id)
        model = NumberModel(
            backbone,
            processor,
            embedder=_part(config.embedder, embedders, config.embedding_dim),
            placement=config.placement,
            gated=config.gated,
            head=_part(config.head, heads, config.hidden_dim),
            objective=_part(config.objective, objectives),
            recipe=config.recipe,
            citation=load_recipe(config.recipe).citation if config.recipe in recipe_names() else "",
        )
    except (ConfigError, UnknownNameError, ValueError, TypeError) as error:
        raise ArtefactError(f"{folder}: {error}") from None
    own = model.own_state()
    for key in sorted(own.keys() ^ tensors.keys()):
        raise ArtefactError(f"{folder}: tensor {key!r} is {'missing' if key in own else 'unknown'}")
    for key, value in tensors.items():
        if own[key].shape != value.shape:
            raise ArtefactError(f"{folder}: tensor {key!r} is {tuple(value.shape)}, expected {tuple(own[key].shape)}")
    model.load_state_dict(tensors, strict=False)
    return model


def _load_base(config: NumberModelConfig, model: bool, tokenizer: bool, options: dict[str, Any]) -> tuple[Any, Any]:
    import transformers

    name = checked_base(config.base_model)
    classes = {task: getattr(transformers, auto) for task, auto in TASKS.items()}
    if config.base_task not in classes:
        raise ArtefactError(f"base task {config.base_task!r}: {near_names(config.base_task, list(TASKS))}")
    try:
        base = classes[config.base_task].from_pretrained(name, trust_remote_code=False, **options) if model else None
        words = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False) if tokenizer else None
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise ArtefactError(f"base model {name!r} cannot be loaded: {first}; pass backbone= and tokenizer=") from None
    return base, words


TASKS = {
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "question-answering": "AutoModelForQuestionAnswering",
    "encoder": "AutoModel",
}
"""Which Auto class loads the backbone again."""
