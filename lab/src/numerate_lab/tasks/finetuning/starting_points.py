"""Models that a fine-tuning starts from: a plain model's folder with a recipe attached, or a saved `NumberModel`."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from numerate.config import ConfigError
from numerate.modeling.artefact import CONFIG_FILE
from numerate.modeling.attaching import attach, load_recipe
from numerate.modeling.introspection import BackboneInfo, base_of, first_free_id
from numerate.modeling.number_model import NumberModel
from numerate.modeling.options import PlacementOptions
from numerate.modeling.saving import own_state
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling
from numerate.reading import make_reader
from numerate_lab.tasks.finetuning.probed_embedder import holds_probes, kind_of, load_probed_embedder, member_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BARE", "check_untouched", "is_causal", "is_number_model", "load_tokenizer", "needs_scaling", "plain_config",
    "start_classifier", "start_encoder", "start_language_model", "start_misfit",
]  # fmt: skip

BARE = "subwords"
"""The recipe of a model without numbers: the backbone as it is."""
_PARTS = ("own_rows", "embedder.", "gate.", "reach.", "late_reach.", "relations.")
_DESCRIPTIONS = ("run.json", "run.yaml", CONFIG_FILE, "README.md", "config.json")
_NOT_DATA = frozenset({"base_model", "_name_or_path", "output_dir", "leave_out"})


def is_number_model(folder: str | Path) -> bool:
    """Whether a folder holds a saved `NumberModel`."""
    return (Path(folder) / CONFIG_FILE).is_file()


def start_misfit(folder: str | Path, fields: Mapping[str, Any]) -> str | None:
    """Why a row cannot start from a folder; None if it can: a saved `NumberModel` needs its notation and embedder.

    Args:
        folder: Of a start; one that is no saved `NumberModel` fits all rows.
        fields: `recipe` and `parts` of the row.
    """
    if not is_number_model(folder) or fields["recipe"] == BARE:
        return None
    saved = json.loads((Path(folder) / CONFIG_FILE).read_text(encoding="utf-8"))
    notation = saved["processor"]["notation"]["kind"]
    return _misfit(str(folder), notation, saved["embedder"], fields["recipe"], fields.get("parts", {}))


def _misfit(
    folder: str, notation: str, embedder: Mapping[str, Any] | None, recipe: str, parts: Mapping[str, Any]
) -> str | None:
    """How a saved notation and embedder (its description) differ from those of a row."""
    plan = load_recipe(recipe)
    wanted = parts.get("embedder", plan.embedder)
    kinds = (parts.get("notation", plan.notation)["kind"], None if wanted is None else kind_of(wanted))
    found = (notation, None if embedder is None else kind_of(embedder))
    if found != kinds:
        return f"{folder} has notation and embedder {found}, the row of recipe {recipe!r} has {kinds}"
    own = {} if embedder is None else member_of(embedder)
    for key, value in (parts.get("embedder") or {}).items():
        if key != "kind" and own.get(key, value) != value:
            return f"{folder} has an embedder with {key}={own[key]!r}, the row has {value!r}"
    return None


def check_untouched(
    folder: str | Path, names: Sequence[str], data: Sequence[Path] = (), *, only_paths: bool = False
) -> None:
    """Refuses a model whose own files say that it was trained on the data that it is to be tested on.

    A model folder tells it in `run.json`, which `numerate train` writes, or in its model card. What a folder does not
    tell cannot be found out.

    Args:
        folder: Folder of the model; other names are not checked.
        names: Spellings of the data set's name, in lower case.
        data: Files or folders of the data.
        only_paths: Whether only the paths in `run.json` count, by the folder and file that they end with, and not the
            checkpoint's; for data whose name may stand in a model card or in an outer folder for other reasons.

    Raises:
        ConfigError: A file of the folder names the data.
    """
    if not Path(folder).is_dir():
        return
    ignored = _NOT_DATA | ({"checkpoint"} if only_paths else set())
    wanted = [*names, *(str(path.resolve()).lower() for path in data)]
    for place in (Path(folder), Path(folder).parent):
        for name in _DESCRIPTIONS[:1] if only_paths else _DESCRIPTIONS:
            file = place / name
            if not file.is_file() or (place != Path(folder) and not name.startswith("run.")):
                continue
            text = file.read_text(encoding="utf-8", errors="replace")
            own = list(_strings(text, ignored)) if file.suffix == ".json" else [text]
            own = ["/".join(Path(one).parts[-2:]) for one in own] if only_paths else own
            if found := next((name for name in wanted for one in own if name in one.lower()), None):
                raise ConfigError(
                    f"{file} names {found!r}: a model trained on these tables cannot be tested on them; start from a "
                    "model without them"
                )


def _strings(text: str, ignored: frozenset[str]) -> Iterator[str]:
    """All strings of a JSON text except those below ignored keys; the text itself if it is not JSON."""
    try:
        todo: list[Any] = [json.loads(text)]
    except ValueError:
        yield text
        return
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            todo += [one for key, one in value.items() if key not in ignored]
        elif isinstance(value, list):
            todo += value


def needs_scaling(recipe: str, parts: Mapping[str, Any]) -> bool:
    """Whether vectors are multiplied by the value, which then has to lie near 0: what a row reads depends on a fit."""
    return parts.get("placement", load_recipe(recipe).placement) == "scale"


def load_tokenizer(folder: str) -> Any:
    """The tokenizer of a model; byte-level ones put a space before each segment, and a missing padding token is set."""
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    if getattr(tokenizer, "add_prefix_space", None) is False:
        tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def start_classifier(
    folder: str, recipe: str, parts: Mapping[str, Any], *, labels: int = 2, layers: int | None = None,
    base: str | None = None,
) -> NumberModel:  # fmt: skip
    """A sequence classifier with a fresh head that reads numbers, in float32.

    Args:
        folder: Folder or Hub name of a plain model, or the folder of a saved `NumberModel`, whose encoder and number
            parts are then used, or of saved probes, whose embedder is put on `base`.
        recipe: The recipe; `subwords` uses the encoder alone, also that of a saved `NumberModel`.
        parts: Further options of `attach`; for a saved `NumberModel` they are in the folder.
        labels: Number of classes.
        layers: Use the first so many layers only; None for all.
        base: Folder or Hub name of the plain model for an embedder of probes.
    """
    from transformers import AutoModelForSequenceClassification

    folder, parts, probed = _base_and_parts(folder, recipe, parts, base)
    if not is_number_model(folder):
        plain_config(folder)
        few = {} if layers is None else {"num_hidden_layers": layers}
        with _quiet():
            backbone = AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=torch.float32, num_labels=labels, **few
            )
        tokenizer = load_tokenizer(folder)
        backbone.config.pad_token_id = tokenizer.pad_token_id
        return _attached(backbone, tokenizer, recipe, parts, objective=None, probed=probed)
    saved = NumberModel.from_pretrained(folder, dtype=torch.float32).float()
    inner = base_of(saved.backbone)
    config = type(inner.config).from_dict(inner.config.to_dict() | {"num_labels": labels})
    if layers is not None:
        config.num_hidden_layers = layers
    backbone = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    report = backbone.base_model.load_state_dict(inner.base_model.state_dict(), strict=False)
    missing = [name for name in report.missing_keys if "pooler" not in name]
    if missing or (report.unexpected_keys and layers is None):
        wrong = [*missing, *report.unexpected_keys][0]
        raise ConfigError(f"{folder}: its encoder and that of a classifier differ in {wrong!r}")
    tokenizer = saved.processor.tokenizer
    backbone.config.pad_token_id = tokenizer.pad_token_id
    if recipe == BARE:
        return _attached(backbone, tokenizer, recipe, _reading(parts), objective=None)
    return _with_parts(backbone, saved, recipe, parts, folder)


def start_encoder(
    folder: str, recipe: str, parts: Mapping[str, Any], texts: Sequence[str] = (), base: str | None = None
) -> NumberModel:
    """An encoder that reads numbers, without a head, in float32.

    Args:
        folder: As in `start_classifier`.
        recipe: As in `start_classifier`.
        parts: As in `start_classifier`; a head among them is left out.
        texts: Training texts that scalers of values are fitted to, where `needs_scaling`.
        base: As in `start_classifier`.

    Raises:
        ConfigError: A saved model has another notation or embedder than the recipe.
    """
    folder, parts, probed = _base_and_parts(folder, recipe, parts, base)
    if is_number_model(folder):
        saved = NumberModel.from_pretrained(folder, dtype=torch.float32).float()
        saved.last_state.remove()
        encoder: Any = base_of(saved.backbone).base_model
        if recipe == BARE:
            options = _reading(parts) | {"head": None}
            return _attached(encoder, saved.processor.tokenizer, recipe, options, objective=None)
        return _with_parts(encoder, saved, recipe, parts, folder)
    from transformers import AutoModel, AutoModelForMaskedLM

    config = plain_config(folder)
    masked = any(str(name).endswith("ForMaskedLM") for name in getattr(config, "architectures", None) or ())
    # A masked language model's encoder has no pooling layer, which would be drawn at random and never trained.
    loaded: Any = (AutoModelForMaskedLM if masked else AutoModel).from_pretrained(folder, dtype=torch.float32)
    scaling = None
    if needs_scaling(recipe, parts):
        reader = make_reader(str(parts.get("reader") or load_recipe(recipe).reader or "standard"))
        scaling = Scaling(by="none", scaler="log").fit([numeral for text in texts for numeral in reader.find(text)])
    encoder = loaded.base_model if masked else loaded
    options = {**parts, "head": None}
    return _attached(encoder, load_tokenizer(folder), recipe, options, objective=None, scaling=scaling, probed=probed)


def is_causal(folder: str) -> bool:
    """Whether the config of a plain model says that it is a causal language model.

    Raises:
        ConfigError: There is no model, or it is a saved `NumberModel`.
    """
    if is_number_model(folder):
        raise ConfigError(f"{folder} is a saved NumberModel: give the folder of a plain language model")
    config = plain_config(folder)
    return any("CausalLM" in str(name) or "LMHead" in str(name) for name in config.architectures or ())


def plain_config(folder: str) -> Any:
    """The config of a plain model.

    Raises:
        ConfigError: There is no model of that name, here or on the Hub.
    """
    from transformers import AutoConfig

    if folder.startswith((".", "/", "~")) and not Path(folder).is_dir():  # the Hub would be asked, again and again
        raise ConfigError(f"{folder}: no such folder; give the folder of a model, or its name on the Hub")
    try:
        return AutoConfig.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{folder}: no model there: {' '.join(str(error).split())[:200]}") from None


def start_language_model(
    folder: str, recipe: str, parts: Mapping[str, Any], *, words: bool, objective: Any, layers: int | None = None,
    scaling: Any = None,
) -> NumberModel:  # fmt: skip
    """A plain masked or causal language model with a recipe, in float32.

    Arguments are those of `start_classifier`, and the objective and scaling of `attach`. Without `words`, of a masked
    language model there is the encoder alone, for a number head.
    """
    import transformers

    causal = is_causal(folder)
    made: Any = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForMaskedLM
    few = {} if layers is None else {"num_hidden_layers": layers}
    try:
        with _quiet():
            backbone: Any = made.from_pretrained(folder, dtype=torch.float32, **few)
    except ValueError as error:
        said = " ".join(str(error).split())[:200]
        kind = "causal" if causal else "masked"
        raise ConfigError(f"{folder} cannot be loaded as a {kind} language model: {said}") from None
    # Logits of words would dominate the cost of a step that predicts numbers.
    whole = backbone if words or causal else backbone.base_model
    return _attached(whole, load_tokenizer(folder), recipe, parts, objective=objective, scaling=scaling)


def _base_and_parts(
    folder: str, recipe: str, parts: Mapping[str, Any], base: str | None
) -> tuple[str, Mapping[str, Any], str | None]:
    """The model's folder, its parts without a head, and the folder of probes whose embedder it gets, if any."""
    if not holds_probes(folder):
        return folder, parts, None
    if base is None:
        raise ConfigError(f"{folder} holds probes: an embedder alone; name the model that it is for")
    return base, parts, folder


def _reading(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that say how numbers are read, for a model without an embedder."""
    return {key: value for key, value in parts.items() if key in ("reader", "reader_options", "notation", "kinds")}


def _attached(
    backbone: Any, tokenizer: Any, recipe: str, parts: Mapping[str, Any], *, objective: Any, scaling: Any = None,
    probed: str | None = None,
) -> NumberModel:  # fmt: skip
    """Attaches a recipe; the standard reader takes segments for table cells, LUNA's knows none."""
    options: dict[str, Any] = dict(parts)
    plan = load_recipe(recipe)
    if options.get("reader", plan.reader or "standard") == "standard":
        given = plan.reader_options if "reader" not in options else None
        options |= {"reader": "standard", "reader_options": (given or {}) | {"cell": True}}
    if probed is not None:
        found = load_probed_embedder(probed, backbone.get_input_embeddings().weight.shape[1])
        wanted = options.get("embedder", plan.embedder)
        if wanted is None or kind_of(wanted) != kind_of(found):
            own = None if wanted is None else kind_of(wanted)
            raise ConfigError(f"{probed} has the embedder {kind_of(found)!r}, the row has {own!r}")
        options["embedder"] = found
    model = attach(backbone, tokenizer, recipe, objective=objective, scaling=scaling, **options)
    model.fitted = probed is not None  # fitting would change the trained embedder's scale
    return model


def _with_parts(backbone: Any, saved: NumberModel, recipe: str, parts: Mapping[str, Any], folder: str) -> NumberModel:
    """A model of another backbone with the number parts of a saved one, without its head."""
    config = saved.processor.config()
    embedder = None if saved.embedder is None else saved.embedder.config.to_dict()
    if misfit := _misfit(folder, config["notation"]["kind"], embedder, recipe, parts):
        raise ConfigError(misfit)
    if config["reader"]["kind"] == "standard":
        config = config | {"reader": config["reader"] | {"cell": True}}
    tokenizer = saved.processor.tokenizer
    options = PlacementOptions(
        **{field.name: getattr(saved.options, field.name) for field in dataclasses.fields(PlacementOptions)}
    )
    if not BackboneInfo.of(backbone).reads_state:
        options = dataclasses.replace(options, late_reach=0)
    processor = NumberProcessor.from_config(tokenizer, config, first_free_id(backbone, tokenizer))
    model = NumberModel(
        backbone, processor, embedder=saved.embedder, options=options, recipe=saved.recipe, citation=saved.citation
    )
    state, own = own_state(saved.state_dict()), own_state(model.state_dict())
    kept = {key: value for key, value in state.items() if key.startswith(_PARTS) and key in own}
    if lost := sorted(key for key in own if key not in kept):
        raise ConfigError(f"{folder} has no weights for {lost[0]!r} of the model that starts from it")
    model.load_state_dict(kept, strict=False)
    model.fitted = True
    return model


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No list of the weights that a new head has and a checkpoint has not."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
