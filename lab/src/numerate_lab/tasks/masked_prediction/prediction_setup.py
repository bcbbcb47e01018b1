"""Settings, data and models that the tasks of masked words and masked numbers share."""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch

from numerate.config import ConfigError, check_names
from numerate.embedders.option_checks import check_option, check_positive
from numerate.modeling.attaching import attach, load_recipe, recipe_names
from numerate.modeling.fitting import fit_parts
from numerate.modeling.introspection import base_of
from numerate.modeling.recipe import current_name
from numerate.processing.number_table import NumberTable
from numerate.processing.scaling import Scaling
from numerate.registry import UnknownNameError, embedders, heads, near_names, notations
from numerate.training.sources import SourceError, Texts
from numerate_lab.engine.encodings import encoding_names, encoding_of
from numerate_lab.engine.paper_tables import load_scales, load_yaml
from numerate_lab.engine.task import Task, TrialConfig
from numerate_lab.tasks.masked_prediction.number_sentences import plain_sentences, read_number_sentences
from numerate_lab.tasks.masked_prediction.wider_encoder import widen
from numerate_lab.tasks.masked_prediction.word_positions import WordPositions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence

__all__ = [
    "PLAIN", "PredictionTask", "PredictionTrial", "build", "encoding_fields", "load_split", "read_split", "split_key",
]  # fmt: skip

_ENCODINGS = load_yaml("numerate_lab.tasks.masked_prediction", "encodings.yaml")
PLAIN = "plain"
"""Name of the split of texts without numbers."""
DEV_ROWS = 1500
"""Maximum number of dev sentences in a try of a learning rate."""


@dataclass(frozen=True, kw_only=True)
class PredictionTrial(TrialConfig):
    """Settings of one trial on a masked language model; subclasses add the settings of words and of numbers.

    Attributes:
        source: Sentences with numbers, see `read_number_sentences`.
        model: Folder or Hub name of a masked language model.
        recipe: Recipe of `attach`.
        parts: More options of `attach`: `embedder`, `notation`, `placement`, `head`, `reach`, ...
        numbers: Numbers to encode: the `annotated` one of a sentence, as in the papers, or `all`.
        train: `head` trains our parts and the masked-LM head on a frozen encoder, as in the papers; `all` all weights.
        scaler: Scaler of values, fitted on the training numbers; None is `log` for recipes that scale by the value.
        batch: Sentences per batch.
        number_rate: Learning rate of the embedder and of all other parts that see its vectors; None for `rate`.
        backbone_rate: Learning rate of the encoder if all weights are trained; None for `rate`.
        epochs: Number of epochs.
        schedule: Learning-rate schedule, a name of `TrainingArguments`.
        warmup: Share of steps with a rising rate.
        weight_decay: Weight decay of AdamW.
        bf16: Train in mixed precision on an accelerator; evaluation then uses float32 with TF32 products.
        most_train: Maximum number of training sentences; None for all.
        most_eval: Maximum number of sentences of each measured split.
        lengths: Keep sentences with more characters than the first and fewer than the second value; papers: (15, 150).
        values: Keep sentences with numbers between these two values; papers: (1e-4, 1e6).
        max_tokens: Longer sentences are truncated.
        rendered: Rewrite annotated numbers as the papers' code does: `10,000` as 10000, 0.125 as 0.12.
        more_weights: Weights of a trained layer on the last states that sees no number; see `widen`. None for no layer.
        measure_dev: Measure final trainings on dev, too, so that a try of a rate may be a final training.
        embedded: `twice` passes all tokens except numbers through the embedding layer twice, as Thawani's code does.
    """

    kind: ClassVar[str] = "masked-prediction"
    paths: ClassVar[tuple[str, ...]] = ("source", "model")
    source: str
    model: str
    recipe: str = "in-place"
    parts: dict[str, Any] = field(default_factory=dict)
    numbers: Literal["annotated", "all"] = "annotated"
    train: Literal["head", "all"] = "head"
    scaler: Literal["standard", "range", "log", "none"] | None = None
    batch: int = 256
    number_rate: float | None = None
    backbone_rate: float | None = None
    epochs: int = 8
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    bf16: bool = False
    most_train: int | None = None
    most_eval: int | None = None
    lengths: tuple[int, int] | None = None
    values: tuple[float, float] | None = None
    max_tokens: int = 128
    rendered: bool = False
    more_weights: int | None = None
    measure_dev: bool = False
    embedded: Literal["once", "twice"] = "once"

    def __post_init__(self) -> None:
        object.__setattr__(self, "recipe", current_name(self.recipe))  # stored results have old names
        check_names(self)
        check_positive(self, "batch", "epochs", "max_tokens", "most_train", "most_eval", "more_weights")
        check_positive(self, "rate", "number_rate", "backbone_rate")
        for name in ("rate", "number_rate", "backbone_rate"):
            check_option(getattr(self, name) != math.inf, self, f"{name} must be finite", name)

    @property
    def name(self) -> str:
        """File name of the trial's result."""
        rate = self.rate if self.train == "head" or self.backbone_rate is None else self.backbone_rate
        return f"{self.encoding}-rate{rate:g}-seed{self.seed}-epochs{self.epochs}"

    def final(self, rate: float, seed: int) -> Self:
        """A final training; if all weights are trained, the rate is that of the encoder."""
        which = "rate" if self.train == "head" else "backbone_rate"
        return dataclasses.replace(self, seed=seed, **{which: rate})

    def tried(self, rate: float, share: float) -> Self:
        """A training for a share of the epochs, measured on part of dev; a share of 1 is a final training."""
        if share == 1 and self.measure_dev:
            return self.final(rate, 0)
        epochs = max(1, round(share * self.epochs))
        if epochs >= self.epochs:
            raise ConfigError(
                f"a try of a rate takes all {self.epochs} epochs: give one rate, more epochs, or a smaller rate_share "
                f"than {share}"
            )
        most = DEV_ROWS if self.most_eval is None else min(DEV_ROWS, self.most_eval)
        return dataclasses.replace(self.final(rate, 0), epochs=epochs, most_eval=most)


class PredictionTask(Task):
    """Base class of the tasks on sentences with one annotated number."""

    config: Any
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("masked-prediction")

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe and parts of an encoding."""
        return encoding_fields(name)

    def splits(self, final: bool) -> tuple[str, ...]:
        """`dev` for tries of a rate, `test` for final trainings, and both if `measure_dev` says so."""
        return ("dev",) if not final else ("dev", "test") if self.config.measure_dev else ("test",)

    def build(self) -> NumberModel:
        """A fresh model."""
        return build(self.config)

    def examples(self, split: str) -> tuple[list[NumberSentence], WordPositions]:
        """Sentences of a split and the words to predict in them."""
        return load_split(self.config, split)


def encoding_fields(name: str, others: Sequence[str] = ()) -> dict[str, Any]:
    """Trial fields of an encoding: a name in `encodings.yaml` or of the engine, and a head after a `+`.

    `others` are names that the caller knows besides; an error suggests them, too.

    Example:
        >>> encoding_fields("log-fourier+mixture")
        {'recipe': 'exponent', 'parts': {'embedder': {'kind': 'log-fourier'}, 'head': {'kind': 'mixture'}}}
    """
    first, plus, head = name.partition("+")
    known, options = _ENCODINGS["encodings"], _ENCODINGS["heads"]
    if first in known:
        found: dict[str, Any] = dict(known[first])
    elif first in recipe_names() or first == "scaled-value":
        found = {"recipe": "xval" if first == "scaled-value" else first}
    elif first in embedders:
        found = {"recipe": "exponent", "parts": {"embedder": {"kind": first}}}
    elif first in notations:
        found = {"recipe": "subwords", "parts": {"notation": {"kind": first}}}
    elif first in encoding_names():  # a notation with options
        found = {"recipe": "subwords", "parts": {"notation": encoding_of(first).options["notation"]}}
    else:
        names = near_names(first, [*dict.fromkeys([*others, *known, *encoding_names()])])
        raise UnknownNameError(f"unknown encoding {first!r}: {names}")
    if plus:
        if head not in heads and head not in options:
            raise UnknownNameError(f"unknown head {head!r}: {near_names(head, [*heads.names(), *options])}")
        found["parts"] = dict(found.get("parts", {})) | {"head": options.get(head, {"kind": head})}
    return found


@functools.lru_cache(maxsize=4)
def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)


def split_key(config: Any, split: str) -> tuple[Any, ...]:
    """The settings that determine a split and its word positions."""
    plain = split == PLAIN
    source = config.plain if plain else config.source
    if source is None:
        raise ConfigError("split 'plain' needs a file of texts, got plain=None")
    most = {"train": config.most_train, PLAIN: getattr(config, "most_plain", None)}.get(split, config.most_eval)
    own = getattr(config, "words", "shared") == "own"
    filters = (config.plain_split,) if plain else (config.lengths, config.values)
    return source, split, most, config.model, own, config.rendered, filters


def load_split(config: Any, split: str) -> tuple[list[NumberSentence], WordPositions]:
    """Sentences of a split and the words to predict in them, read once per process; no sentence is a `SourceError`."""
    return read_split(split_key(config, split))


@functools.lru_cache(maxsize=16)
def read_split(key: tuple[Any, ...]) -> tuple[list[NumberSentence], WordPositions]:
    """The split of a `split_key`."""
    source, split, most, model, own, rendered, filters = key
    if split == PLAIN:
        (column,) = filters
        sentences = plain_sentences(Texts((source,), split=(column, "train" if column is None else "test")), most)
    else:
        lengths, values = filters
        sentences = list(read_number_sentences(source, split, most=most, lengths=lengths, values=values))
    if not sentences:
        wanted = "give other texts" if split == PLAIN else "give a folder with rows in each of its three files"
        raise SourceError(f"{source}: there is no sentence in the split {split!r}; {wanted}")
    if rendered:
        sentences = [sentence.rendered() for sentence in sentences]
    return sentences, WordPositions.of(sentences, _tokenizer(model), own=own)


def build(config: PredictionTrial, what: Literal["words", "numbers"] = "words") -> NumberModel:
    """A fresh model that predicts words or numbers, with parts fitted to the annotated training numbers."""
    from transformers import AutoModelForMaskedLM

    torch.manual_seed(config.seed)
    # Many checkpoints have half precision, which loses small steps and small differences.
    backbone = AutoModelForMaskedLM.from_pretrained(config.model, dtype=torch.float32)
    numerals = [sentence.numeral for sentence in load_split(config, "train")[0] if sentence.numeral is not None]
    placement = config.parts.get("placement", load_recipe(config.recipe).placement)
    scaler = config.scaler or ("log" if placement == "scale" else None)
    scaling = Scaling(by="none", scaler=scaler).fit(numerals) if scaler not in (None, "none") else None
    if what == "numbers":
        backbone = backbone.base_model  # logits of words would dominate the cost of a step
    options: dict[str, Any] = {"objective": {"kind": "masked", "what": what, "seed": config.seed}}
    model = attach(backbone, _tokenizer(config.model), config.recipe, scaling=scaling, **(options | config.parts))
    table = NumberTable.of_numerals(numerals)
    if scaling is not None:
        table = dataclasses.replace(table, bits=torch.from_numpy(scaling.apply(numerals)).view(torch.int64))
    fit_parts(model, table)
    if config.train == "head":
        _freeze_encoder(model)
    if config.embedded == "twice":
        _embed_twice(model)
    if config.more_weights is not None:
        widen(model, config.more_weights)
    return model


def _embed_twice(model: NumberModel) -> None:
    """Applies the whole embedding layer to word embeddings, so that positions, types, ... act twice on words only."""
    whole = base_of(model.backbone)
    layer = getattr(whole.base_model, "embeddings", None)
    if layer is None:
        raise ConfigError(f"embedded='twice' needs an encoder with an embedding layer, got {type(whole)}")
    # With `inputs_embeds` the layer does not look words up, so that the hook does not call itself.
    whole.get_input_embeddings().register_forward_hook(lambda module, ids, words: layer(inputs_embeds=words))


def _freeze_encoder(model: NumberModel) -> None:
    """Freezes the backbone except its masked-LM head; a decoder tied to the word embeddings is frozen, too."""
    model.freeze_backbone()
    whole = base_of(model.backbone)
    encoder = {id(weight) for weight in whole.base_model.parameters()}
    for weight in whole.parameters():
        if id(weight) not in encoder:
            weight.requires_grad_(True)
