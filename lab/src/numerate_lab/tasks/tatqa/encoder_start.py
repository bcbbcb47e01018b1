"""The encoder that TagOp starts from: a plain model folder with a recipe attached, or a saved `NumberModel`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.config import ConfigError
from numerate.modeling.artefact import CONFIG_FILE
from numerate.modeling.attaching import attach, load_recipe
from numerate.modeling.fitting import fit_to_texts
from numerate.modeling.introspection import base_of
from numerate.modeling.number_model import NumberModel
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["attached_encoder", "check_start", "needs_scaling", "saved_encoder", "starts_from_numbers"]

_DESCRIPTIONS = (".json", ".yaml", ".yml", ".md")
_LARGEST = 1 << 20
_FORBIDDEN = ("tatqa", "tat-qa", "tat_qa")


def starts_from_numbers(folder: str | Path) -> bool:
    """Whether a folder holds a saved `NumberModel`."""
    return (Path(folder) / CONFIG_FILE).is_file()


def check_start(folder: str | Path) -> None:
    """Refuses a model whose own files say that it was trained on TAT-QA: its tables would be in training and test.

    Raises:
        ConfigError: A description in the folder names TAT-QA.
    """
    files = sorted(Path(folder).glob("*")) if Path(folder).is_dir() else []
    for file in files:
        if file.suffix not in _DESCRIPTIONS or not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        text = file.read_text(encoding="utf-8", errors="replace").lower()
        if found := next((name for name in _FORBIDDEN if name in text), None):
            raise ConfigError(
                f"{file} names {found!r}: a model that was trained on TAT-QA's tables cannot be tested on them; start "
                "from a model without them"
            )


def _reader_options(name: str) -> dict[str, Any]:
    """The standard reader reads cells as cells, so that `(5)` is negative; LUNA's does not, as in the paper."""
    return {"reader": name, "reader_options": {"cell": True}} if name == "standard" else {}


def needs_scaling(recipe: str, parts: dict[str, Any]) -> bool:
    """Whether vectors are multiplied by the value, which then has to lie near 0: what a row reads depends on a fit."""
    return parts.get("placement", load_recipe(recipe).placement) == "scale"


def attached_encoder(folder: str, recipe: str, parts: dict[str, Any], texts: Sequence[str]) -> NumberModel:
    """An encoder with numbers in a recipe's notation; embedders that depend on data are fitted to training texts."""
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoTokenizer

    config = AutoConfig.from_pretrained(folder)
    masked = any(str(name).endswith("ForMaskedLM") for name in getattr(config, "architectures", None) or ())
    # A masked language model's encoder has no pooling layer, which would be drawn at random and never trained.
    loaded: Any = (AutoModelForMaskedLM if masked else AutoModel).from_pretrained(folder, dtype=torch.float32)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    plan = load_recipe(recipe)
    reader = str(parts.get("reader") or plan.reader or "standard")
    options = _reader_options(reader) | {key: value for key, value in parts.items() if key != "head"}
    if needs_scaling(recipe, parts):
        numerals = [numeral for text in texts for numeral in make_reader(reader).find(text)]
        options["scaling"] = Scaling(by="none", scaler="log").fit(numerals)
    model = attach(loaded.base_model if masked else loaded, tokenizer, recipe, head=None, objective=None, **options)
    if model.embedder is not None:
        fit_to_texts(model, texts)
    return model


def saved_encoder(folder: str, recipe: str) -> NumberModel:
    """The encoder of a saved `NumberModel`, with its number parts, without its heads.

    Raises:
        ConfigError: The model has another notation or embedder than the recipe that the row is named after.
    """
    loaded = NumberModel.from_pretrained(folder, dtype=torch.float32)
    wanted, found = load_recipe(recipe), loaded.processor.config()
    kinds = (found["notation"]["kind"], None if loaded.embedder is None else loaded.embedder.config.kind)
    expected = (wanted.notation["kind"], None if wanted.embedder is None else wanted.embedder["kind"])
    if kinds != expected:
        raise ConfigError(f"{folder} has notation and embedder {kinds}, not {expected} of recipe {recipe!r}")
    loaded.last_state.remove()
    loaded.float()
    if found["reader"]["kind"] == "standard":
        found = found | {"reader": found["reader"] | {"cell": True}}
    processor = NumberProcessor.from_config(loaded.processor.tokenizer, found, loaded.processor.first_id)
    encoder: Any = base_of(loaded.backbone).base_model
    model = NumberModel(
        encoder, processor, embedder=loaded.embedder, options=loaded.options,
        recipe=loaded.recipe, citation=loaded.citation,
    )  # fmt: skip
    for name in ("gate", "reach", "late_reach", "relations"):
        setattr(model, name, getattr(loaded, name))
    model.own_rows, model.fitted = loaded.own_rows, True
    return model
