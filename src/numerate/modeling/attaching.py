"""`attach` gives a backbone a sense of numbers, from a recipe or from named parts; `detach` takes it off again."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

from numerate.modeling.fitting import fit_to_texts
from numerate.modeling.introspection import BackboneInfo, first_free_id
from numerate.modeling.number_model import NumberModel
from numerate.modeling.options import NEIGHBOUR_OPTIONS, AttachOptions, check_options
from numerate.modeling.recipe import Recipe, current_name, load_recipe, recipe_names
from numerate.modeling.saving import build_part, check_saveable
from numerate.modeling.tokenizer_checks import check_kind, check_tokenizer
from numerate.processing.processor import NumberProcessor
from numerate.reading import make_reader
from numerate.registry import embedders, heads, near_names, notations, objectives

if TYPE_CHECKING:
    from typing import Unpack

    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from numerate.modeling.options import AttachArguments
    from numerate.objectives.base import Objective
    from numerate.processing.scaling import Scaling

__all__ = ["Recipe", "attach", "detach", "from_pretrained", "load_recipe", "recipe_names"]

from_pretrained = NumberModel.from_pretrained
_USUAL_OBJECTIVES = {
    "masked-lm": "masked", "causal-lm": "causal", "multimodal-lm": "causal", "seq2seq-lm": "labelled",
}  # fmt: skip


def attach(
    backbone: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    recipe: str | Recipe | None = None,
    *,
    objective: str | dict[str, Any] | Objective | None = "auto",
    scaling: Scaling | None = None,
    implied_commas: bool = False,
    spelled_units: bool = False,
    freeze: bool = False,
    fit: Any = None,
    **options: Unpack[AttachArguments],
) -> NumberModel:
    """Gives a Hugging Face model a sense of numbers; neither the model nor its tokenizer is changed.

    Args:
        backbone: A masked, causal or encoder-decoder language model, a classifier, a question answerer, or a bare
            encoder.
        tokenizer: Its fast tokenizer.
        recipe: A recipe's name (`numerate.recipe_names()`); by default `in-place`, unless notation or embedder are
            given.
        objective: What `loss` means in training; "auto" is the usual one for the backbone: `masked`, `causal` or
            `labelled`.
        scaling: Fitted scalers, one for each field of the data.
        implied_commas: Leave out the comma between two numbers of a record, as xVal does; with `reader="records"`.
        spelled_units: Give the tokenizer the usual spelling of short unit words, as in newswires: `percent` for `pct`.
        freeze: Train only our own weights, not the backbone's.
        fit: Training texts, or numbers (floats, a tensor, numerals); head and embedder are fitted to the numbers of
            the first 5,000 texts, or to the first 50,000 numbers. `NumberTrainer` fits a model that is not fitted yet
            to its training data.
        **options: Each overrides one option of the recipe, such as `reader`, `notation`, `embedder`, `placement`,
            `reach` or `head`; `numerate.modeling.options.AttachOptions` lists and explains them all. A part is a name,
            a dict with its `kind` and options, or the object itself. `head=None` means no number head, and
            `head="recipe"` the recipe's, which is the default except for classifiers and question answerers: these get
            no number head unless asked.

    Example:
        >>> model = numerate.attach(backbone, tokenizer, recipe="luna")                        # doctest: +SKIP
        >>> model(**model.processor(["It cost $5."], return_tensors="pt")).loss                # doctest: +SKIP
        >>> numerate.attach(backbone, tokenizer, fit=["It cost $5.", "It cost $7."]).fitted    # doctest: +SKIP
        True
    """
    known = [field.name for field in dataclasses.fields(AttachOptions)]
    if unknown := [name for name in options if name not in known]:
        every = [name for name in inspect.signature(attach).parameters if name != "options"] + known
        raise TypeError(f"attach: unknown option {unknown[0]!r}: {near_names(unknown[0], every)}")
    if isinstance(backbone, NumberModel):
        raise TypeError("the backbone is a NumberModel already: use it as it is, or numerate.detach it first")
    check_kind(tokenizer)
    check_options(dict(options))
    if not isinstance(freeze, bool):
        raise TypeError(f"freeze must be True or False, got {freeze!r}")
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if "head" in options and options["head"] is None:
        changes["head"] = None
    elif changes.get("head") == "recipe":
        del changes["head"]
    info = BackboneInfo.of(backbone)
    check_tokenizer(backbone, tokenizer)
    plan = dataclasses.replace(_recipe(recipe, changes), **changes)
    if "head" not in options and not info.is_language_model and info.task not in ("encoder", "text-encoder"):
        plan = dataclasses.replace(plan, head=None)  # the loss of a model of labels would not train it
    embedder = build_part(plan.embedder, embedders, info.embedding_dim)
    narrow = embedder is None or embedder.width != info.embedding_dim
    late = info.has_encoder and info.reads_state
    unfit = NEIGHBOUR_OPTIONS if narrow or info.is_encoder_decoder else () if late else ("late_reach",)
    # Options of a recipe that do not fit the backbone or the embedder are left out; given ones are refused.
    dropped = [name for name in unfit if getattr(plan, name) and name not in changes]
    plan = dataclasses.replace(plan, **dict.fromkeys(dropped, 0))
    if plan.late_reach and not info.reads_state:
        raise ValueError(f"late_reach={plan.late_reach}: the head of {type(backbone).__name__} reads a pooled vector")
    reader_options = changes.get("reader_options") if "reader" in changes else plan.reader_options
    processor = NumberProcessor(
        tokenizer, make_reader(plan.reader or "standard", **reader_options or {}), build_part(plan.notation, notations),
        kinds=plan.kinds, written=bool(plan.written), scaling=scaling, implied_commas=implied_commas,
        spelled_units=spelled_units, first_id=first_free_id(backbone, tokenizer),
    )  # fmt: skip
    if objective == "auto":
        objective = _USUAL_OBJECTIVES.get(info.task)
        objective = None if objective == "masked" and tokenizer.mask_token_id is None else objective
    model = NumberModel(
        backbone, processor, options=plan, citation=plan.citation,
        embedder=embedder, head=build_part(plan.head, heads, info.hidden_dim),
        objective=build_part(objective, objectives),
        recipe=None if changes or isinstance(recipe, Recipe) else current_name(recipe or "in-place"),
    )  # fmt: skip
    check_saveable(model)
    if fit is not None:
        fit_to_texts(model, fit)
    return model.freeze_backbone() if freeze else model


def detach(model: NumberModel) -> PreTrainedModel:
    """Returns the backbone as it was before `attach`, apart from what training changed."""
    if not isinstance(model, NumberModel):
        kind = "None" if model is None else type(model).__name__
        raise TypeError(f"detach takes the NumberModel that attach returned, got {kind}")
    model.last_state.remove()
    return model.freeze_backbone(False).backbone


def _recipe(recipe: str | Recipe | None, changes: dict[str, Any]) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if recipe is not None and not isinstance(recipe, str):
        raise TypeError(f"recipe must be a name or a Recipe, got {recipe!r}")
    if recipe is None and ("notation" in changes or "embedder" in changes):
        return Recipe()
    return load_recipe(recipe or "in-place")
