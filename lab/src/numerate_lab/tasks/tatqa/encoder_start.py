"""The encoder that TagOp starts from: a plain model folder with a recipe attached, or a saved `NumberModel`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.config import ConfigError
from numerate.modeling.artefact import CONFIG_FILE
from numerate.modeling.attaching import attach, load_recipe
from numerate.modeling.introspection import base_of
from numerate.modeling.number_model import NumberModel
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BARE", "check_start", "needs_scaling", "start_encoder"]

BARE = "subwords"
"""The recipe of a model without numbers: the encoder as it is."""
_RUN_FILE = "run.json"
"""What `numerate train` writes beside a model, or above its checkpoints."""
_FORBIDDEN = ("tatqa", "tat-qa", "tat_qa")
_NOT_DATA = frozenset({"output_dir", "checkpoint", "base_model", "_name_or_path"})


def check_start(folder: str | Path) -> None:
    """Refuses a model whose `run.json` says that it was trained on TAT-QA: its tables would be in training and test.

    What a folder does not tell cannot be found out.

    Raises:
        ConfigError: The file names TAT-QA.
    """
    for file in (Path(folder) / _RUN_FILE, Path(folder).parent / _RUN_FILE):
        if not Path(folder).is_dir() or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            said = list(_strings(json.loads(text)))
        except ValueError:
            said = [text]
        # Only the last two parts of a path: the folder of a data set and its file.
        for one in ("/".join(Path(value).parts[-2:]).lower() for value in said):
            if found := next((name for name in _FORBIDDEN if name in one), None):
                raise ConfigError(
                    f"{file} names {found!r}: a model that was trained on TAT-QA's tables cannot be tested on them; "
                    "start from a model without them"
                )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in _NOT_DATA:
                yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def needs_scaling(recipe: str, parts: dict[str, Any]) -> bool:
    """Whether vectors are multiplied by the value, which then has to lie near 0: what a row reads depends on a fit."""
    return parts.get("placement", load_recipe(recipe).placement) == "scale"


def start_encoder(folder: str, recipe: str, parts: dict[str, Any], texts: Sequence[str] = ()) -> NumberModel:
    """An encoder that reads numbers, without a head, in float32.

    Args:
        folder: Folder or Hub name of a plain model, or the folder of a saved `NumberModel`, whose encoder and number
            parts are then used.
        recipe: The recipe; `subwords` uses the encoder alone, also that of a saved `NumberModel`.
        parts: Further options of `attach`; for a saved `NumberModel` they are in the folder.
        texts: Training texts that scalers of values are fitted to, where `needs_scaling`.

    Raises:
        ConfigError: A saved model has another notation or embedder than the recipe.
    """
    if (Path(folder) / CONFIG_FILE).is_file():
        saved = NumberModel.from_pretrained(folder, dtype=torch.float32).float()
        saved.last_state.remove()
        encoder: Any = base_of(saved.backbone).base_model
        if recipe == BARE:
            return _attached(encoder, saved.processor.tokenizer, recipe, {}, texts)
        return _with_parts(encoder, saved, recipe, folder)
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

    config = AutoConfig.from_pretrained(folder)
    masked = any(str(name).endswith("ForMaskedLM") for name in getattr(config, "architectures", None) or ())
    # A masked language model's encoder has no pooling layer, which would be drawn at random and never trained.
    loaded: Any = (AutoModelForMaskedLM if masked else AutoModel).from_pretrained(folder, dtype=torch.float32)
    return _attached(loaded.base_model if masked else loaded, _tokenizer(folder), recipe, parts, texts)


def _tokenizer(folder: str) -> Any:
    """The tokenizer of a model; byte-level ones put a space before each cell."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    if getattr(tokenizer, "add_prefix_space", None) is False:
        tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    return tokenizer


def _attached(encoder: Any, tokenizer: Any, recipe: str, parts: dict[str, Any], texts: Sequence[str]) -> NumberModel:
    """Attaches a recipe. The standard reader reads cells as cells, so that `(5)` is negative; LUNA's does not."""
    options = {key: value for key, value in parts.items() if key != "head"}
    reader = str(options.get("reader") or load_recipe(recipe).reader or "standard")
    if reader == "standard":
        options |= {"reader": reader, "reader_options": {"cell": True}}
    if needs_scaling(recipe, parts):
        numerals = [numeral for text in texts for numeral in make_reader(reader).find(text)]
        options["scaling"] = Scaling(by="none", scaler="log").fit(numerals)
    return attach(encoder, tokenizer, recipe, head=None, objective=None, **options)


def _with_parts(encoder: Any, saved: NumberModel, recipe: str, folder: str) -> NumberModel:
    """The encoder of a saved model with its number parts, without its head."""
    plan, config = load_recipe(recipe), saved.processor.config()
    found = (config["notation"]["kind"], None if saved.embedder is None else saved.embedder.config.kind)
    wanted = (plan.notation["kind"], None if plan.embedder is None else plan.embedder["kind"])
    if found != wanted:
        raise ConfigError(f"{folder} has notation and embedder {found}, recipe {recipe!r} has {wanted}")
    if config["reader"]["kind"] == "standard":
        config = config | {"reader": config["reader"] | {"cell": True}}
    processor = NumberProcessor.from_config(saved.processor.tokenizer, config, saved.processor.first_id)
    model = NumberModel(
        encoder, processor, embedder=saved.embedder, options=saved.options, recipe=saved.recipe, citation=saved.citation
    )
    for name in ("gate", "reach", "late_reach", "relations"):
        setattr(model, name, getattr(saved, name))
    model.own_rows, model.fitted = saved.own_rows, True
    return model
