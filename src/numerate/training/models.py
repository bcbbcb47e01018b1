"""Builds a run's model before training: checkpoint or scratch, parts fitted to the texts, frozen weights."""

from __future__ import annotations

import dataclasses
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.attaching import attach
from numerate.modeling.introspection import TASKS, base_of
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling
from numerate.registry import UnknownNameError
from numerate.training.checkpoints import atomic
from numerate.training.data import given_folder, texts_of
from numerate.training.run import RunError
from numerate.training.scratch import fetched, new_backbone, set_dropout, train_tokenizer

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.training.run import Run
    from numerate.training.sources import Texts

__all__ = ["build_model"]

MOST_NUMERALS = 1_000_000
"""Maximum number of numerals for fitting a scaling."""


def build_model(run: Run, start: str | Path, *, backbone: Any = None, tokenizer: Any = None) -> NumberModel:
    """A run's model before training.

    The folder `start` holds the tokenizer and scaling fitted to the texts; it is reused if it exists. `backbone` and
    `tokenizer` are used instead of the run's checkpoint.
    """
    plan, start = run.model, Path(start)
    learnt = _learnt(run, start)
    if tokenizer is None:
        if plan.checkpoint is not None:
            tokenizer = fetched("AutoTokenizer", plan.checkpoint)
        elif learnt:
            tokenizer = fetched("AutoTokenizer", str(start / "tokenizer"))
        else:
            tokenizer = train_tokenizer(plan.scratch.tokenizer, _first_texts(run))  # type: ignore[union-attr]
    if backbone is None:
        backbone = _backbone(run, tokenizer)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # GPT-2 has none; padding is masked
    try:
        model = attach(
            backbone, tokenizer, plan.recipe, objective=plan.objective, implied_commas=plan.implied_commas,
            **plan.arguments(),
        )  # fmt: skip
        scaling = None if plan.scaling is None else Scaling.from_dict(learnt.get("scaling") or plan.scaling)
    except (UnknownNameError, ValueError, TypeError) as error:
        raise RunError(f"model: {error}") from None
    if scaling is not None:
        scaling = scaling if scaling.fields else _fitted(scaling, run, model.processor)
        config = model.processor.config() | {"scaling": scaling.to_dict()}
        model.processor = NumberProcessor.from_config(tokenizer, config, first_id=model.processor.first_id)
    if not learnt and (plan.scratch is not None or scaling is not None):
        _remember(run, start, tokenizer, scaling)
    return _frozen(model, run)


def _first_texts(run: Run) -> Texts:
    texts = texts_of(run, "train")
    if texts is None:
        raise RunError("tokenizer or scaling are fitted to the training texts: give --data")
    return dataclasses.replace(texts, limit=min(run.data.sample, texts.limit or run.data.sample))


def _backbone(run: Run, tokenizer: Any) -> Any:
    plan = run.model
    if plan.scratch is not None:
        return new_backbone(plan.scratch, tokenizer, plan.dropout)
    name = str(plan.checkpoint)
    config = fetched("AutoConfig", name)
    if getattr(config, "is_encoder_decoder", False):
        raise RunError(
            f"checkpoint {name!r} is an encoder-decoder, and a run has no targets for it: attach it in Python and "
            "train it with NumberTrainer on model.processor(text, text_target=...)"
        )
    if plan.dropout is not None:
        set_dropout(config, plan.dropout)
    said = " ".join(config.architectures or ())
    task = plan.task or ("causal-lm" if "CausalLM" in said or "LMHead" in said else "masked-lm")
    return fetched(TASKS[task], name, config=config, dtype=torch.float32)


def _fitted(scaling: Scaling, run: Run, processor: NumberProcessor) -> Scaling:
    found = (numeral for text in _first_texts(run) for numeral in processor.reader.find(text))
    kept = [n for n in islice(found, MOST_NUMERALS) if processor.kinds is None or n.kind in processor.kinds]
    try:
        return scaling.fit(kept, [n.written for n in kept] if processor.written else None)
    except ValueError as error:
        raise RunError(f"model.scaling: {error}") from None


def _learnt(run: Run, start: Path) -> dict[str, Any]:
    """The fitted parts of an earlier start of the same run; empty if it was another run."""
    try:
        found = json.loads((start / "start.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if start.parent == given_folder(run) or found["from"] == _source(run) else {}


def _remember(run: Run, start: Path, tokenizer: Any, scaling: Scaling | None) -> None:
    with atomic(start) as inside:
        tokenizer.save_pretrained(inside / "tokenizer")
        found = {"from": _source(run), "scaling": None if scaling is None else scaling.to_dict()}
        (inside / "start.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _source(run: Run) -> dict[str, Any]:
    """The settings and files that tokenizer and scaling depend on."""
    model, data = run.model.to_dict(), run.data.to_dict()
    files = [run.data.train] if isinstance(run.data.train, str) else list(run.data.train or ())
    states = [[Path(file).stat().st_size, Path(file).stat().st_mtime_ns] for file in files if Path(file).is_file()]
    return {
        "model": {key: model[key] for key in ("scratch", "recipe", "reader", "kinds", "scaling")},
        "data": {key: data[key] for key in ("train", "text", "tables", "format", "split", "limit", "sample")},
        "files": states,
    }


def _frozen(model: NumberModel, run: Run) -> NumberModel:
    plan = run.model
    whole: Any = base_of(model.backbone)
    inside = {id(weight) for weight in whole.base_model.parameters()}
    if plan.reset_head:
        for module in whole.modules():
            own = list(module.parameters(recurse=False))
            if own and hasattr(module, "reset_parameters") and not any(id(weight) in inside for weight in own):
                module.reset_parameters()
    if plan.freeze != "no":
        model.freeze_backbone()
    if plan.freeze == "encoder":
        for weight in whole.parameters():
            if id(weight) not in inside:
                weight.requires_grad_(True)
    return model
