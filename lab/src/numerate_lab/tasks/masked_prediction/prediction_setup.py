"""What masked words and masked numbers share: the config of one cell of a grid, its data and its model."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from numerate.config import Config, ConfigError, check_names
from numerate.modeling.attaching import attach, load_recipe
from numerate.modeling.introspection import base_of
from numerate.processing.number_table import NumberTable
from numerate.processing.processor import NumberProcessor
from numerate.processing.scaling import Scaling
from numerate.training.sources import SourceError, Texts
from numerate_lab.tasks.masked_prediction.number_sentences import plain_sentences, read_number_sentences
from numerate_lab.tasks.masked_prediction.word_positions import WordPositions, encode

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.masked_prediction.number_sentences import NumberSentence
    from numerate_lab.tasks.masked_prediction.word_positions import Encoded

__all__ = [
    "PLAIN",
    "LiteracyConfig",
    "build",
    "encoded_split",
    "key_of",
    "load_split",
    "processor_of",
    "split_of",
    "written_as",
]

PLAIN = "plain"
"""The name of the split that is the number-free texts."""


@dataclass(frozen=True, kw_only=True)
class LiteracyConfig(Config):
    """One encoder on one masked language model, one seed, one learning rate.

    Attributes:
        source: Sentences with numbers, see `read_number_sentences`.
        model: Folder or Hub name of a masked language model.
        recipe: How numbers are encoded.
        parts: What else `attach` is told: `embedder`, `notation`, `placement`, `gated`, `reach`,
            `late_reach`, `relations`, `head`.
        numbers: Which numbers are encoded: the `annotated` one of a sentence, as in the papers, or `all`.
        predict: What is trained and measured: masked `words`, masked `numbers`, or numbers `spelled` token by token by
            a model without a number head.
        train: `head` for our parts and the masked-LM head on a frozen encoder, as in the papers, or `all` weights.
        scaler: Of the values, fitted on the training numbers; None is `log` for recipes that scale by the value.
        ratio: Share of the words that are masked in training.
        next_ratio: The same for the token right behind the annotated number, mostly its unit; None for `ratio`.
        batch: Sentences a batch.
        rate: Of AdamW, for what is ours and the masked-LM head.
        number_rate: For the embedder of numbers, its gate, reach (late, too) and relations; None for `rate`.
        backbone_rate: For the encoder, where all weights are trained; None for `rate`.
        epochs: How many.
        schedule: How the rate falls, as `TrainingArguments` names it.
        warmup: The share of all steps in which it rises.
        weight_decay: Of AdamW.
        bf16: Train in mixed precision, on an accelerator; evaluation is in float32, by TF32 products then.
        seed: Of weights, order, masks and dropout.
        most_train: Rows of the training split; None for all.
        most_eval: Rows of each split that is measured.
        lengths: Only sentences of more characters than the first and fewer than the second; the papers' is (15, 150).
        values: Only sentences whose number lies between these two; the papers' is (1e-4, 1e6).
        max_tokens: Sentences are cut here.
        words: Which words are asked for: those that are no part of any number, the `shared` ones, or each encoder's
            `own` tokens, commas within its subwords of a number among them, as in the papers.
        rendered: Write each annotated number anew first, as the papers' code does: `10,000` as 10000, 0.125 as 0.12.
        embedded: `twice` sends all but the number through the encoder's embedding layer twice, as Thawani's code does.
        splits: What is measured.
        plain: A file of texts, of which those without any number are measured, too.
        plain_split: Its field that says of which split a text is, if only those of `test` are meant.
        most_plain: How many texts without any number.
        shift: Measure how far each word's prediction moves when the number is multiplied by this; None for not at all.
        output: A folder for the predictions; None writes none.
        save: A folder for the trained model, backbone and all, as `numerate fill` takes it; None keeps none.
    """

    kind: ClassVar[str] = "literacy"
    source: str
    model: str
    recipe: str = "in-place"
    parts: dict[str, Any] = field(default_factory=dict)
    numbers: Literal["annotated", "all"] = "annotated"
    predict: Literal["words", "numbers", "spelled"] = "words"
    train: Literal["head", "all"] = "head"
    scaler: Literal["standard", "range", "log", "none"] | None = None
    ratio: float = 0.15
    next_ratio: float | None = None
    batch: int = 256
    rate: float = 1e-3
    number_rate: float | None = None
    backbone_rate: float | None = None
    epochs: int = 8
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    bf16: bool = False
    seed: int = 0
    most_train: int | None = None
    most_eval: int | None = None
    lengths: tuple[int, int] | None = None
    values: tuple[float, float] | None = None
    max_tokens: int = 128
    words: Literal["shared", "own"] = "shared"
    rendered: bool = False
    embedded: Literal["once", "twice"] = "once"
    splits: tuple[str, ...] = ("dev", "test")
    plain: str | None = None
    plain_split: str | None = None
    most_plain: int | None = None
    shift: float | None = None
    output: str | None = None
    save: str | None = None

    def __post_init__(self) -> None:
        check_names(self)
        for name in ("ratio", "next_ratio"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, got {value}")
        for name in ("batch", "epochs", "max_tokens", "most_train", "most_eval", "most_plain"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be positive, got {value}")
        for name in ("rate", "number_rate", "backbone_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ConfigError(f"{name} must be positive, got {value}")

    def most(self, split: str) -> int | None:
        """How many rows of a split are read."""
        return {"train": self.most_train, PLAIN: self.most_plain}.get(split, self.most_eval)


@functools.lru_cache(maxsize=4)
def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)


@functools.lru_cache(maxsize=16)
def split_of(
    source: str,
    split: str,
    most: int | None,
    model: str,
    words: str,
    rendered: bool,
    column: str | None,
    lengths: tuple[int, int] | None = None,
    values: tuple[float, float] | None = None,
) -> tuple[list[NumberSentence], WordPositions]:
    """The sentences that a key of `written_as` names, and the words in them that are predicted.

    Raises:
        SourceError: There is none: nothing could be learnt from it, or measured.
    """
    if split == PLAIN:
        sentences = plain_sentences(Texts((source,), split=(column, "train" if column is None else "test")), most)
    else:
        sentences = list(read_number_sentences(source, split, most=most, lengths=lengths, values=values))
    if not sentences:
        wanted = "give other texts" if split == PLAIN else "give a folder with rows in each of its three files"
        raise SourceError(f"{source}: there is no sentence in the split {split!r}; {wanted}")
    if rendered:
        sentences = [sentence.rendered() for sentence in sentences]
    return sentences, WordPositions.of(sentences, _tokenizer(model), own=words == "own")


def key_of(config: LiteracyConfig, split: str) -> tuple[Any, ...]:
    """What tells a split from all others."""
    source = config.plain if split == PLAIN else config.source
    if source is None:
        raise ConfigError(f"split {split!r} needs a file: plain=None")
    shown = config.model, config.words, config.rendered, config.plain_split
    return source, split, config.most(split), *shown, config.lengths, config.values


def load_split(config: LiteracyConfig, split: str) -> tuple[list[NumberSentence], WordPositions]:
    """The sentences of a split and the words in them that are predicted; read once for all cells of a process."""
    return split_of(*key_of(config, split))


@functools.lru_cache(maxsize=16)
def _encoded(key: tuple[Any, ...], plan: str) -> Encoded:
    options = json.loads(plan)
    return encode(processor_of(key, plan), *split_of(*key), options["numbers"], options["max_tokens"])


def encoded_split(config: LiteracyConfig, model: NumberModel, split: str) -> Encoded:
    """A split as the model writes it; made once for all cells of a process with this encoder."""
    return _encoded(*written_as(config, model, split))


def written_as(config: LiteracyConfig, model: NumberModel, split: str) -> tuple[tuple[Any, ...], str]:
    """What tells a split as a model writes it from all others: the key of what is made of it once for all cells."""
    processor = model.processor
    plan = {"processor": processor.config(), "first_id": processor.first_id}
    plan |= {"numbers": config.numbers, "max_tokens": config.max_tokens}
    return key_of(config, split), json.dumps(plan, sort_keys=True)


def processor_of(key: tuple[Any, ...], plan: str) -> NumberProcessor:
    """The processor that `written_as` names."""
    options = json.loads(plan)
    return NumberProcessor.from_config(_tokenizer(key[3]), options["processor"], options["first_id"])


def build(config: LiteracyConfig) -> NumberModel:
    """A fresh model, its fitted parts fitted to the annotated numbers of the training sentences."""
    from transformers import AutoModelForMaskedLM

    torch.manual_seed(config.seed)
    # Many a checkpoint is of half precision, in which neither small steps nor small differences survive.
    backbone = AutoModelForMaskedLM.from_pretrained(config.model, dtype=torch.float32)
    numerals = [sentence.numeral for sentence in load_split(config, "train")[0] if sentence.numeral is not None]
    placement = config.parts.get("placement", load_recipe(config.recipe).placement)
    scaler = config.scaler or ("log" if placement == "scale" else None)
    scaling = Scaling(by="none", scaler=scaler).fit(numerals) if scaler not in (None, "none") else None
    what = "numbers" if config.predict == "numbers" else "words"
    if what == "numbers":
        backbone = backbone.base_model  # nobody asks for words: logits of all of them are most of a step
    options: dict[str, Any] = {"objective": {"kind": "masked", "what": what, "seed": config.seed}}
    model = attach(backbone, _tokenizer(config.model), config.recipe, scaling=scaling, **(options | config.parts))
    table = NumberTable.of_numerals(numerals)
    if scaling is not None:
        table = NumberTable(
            torch.from_numpy(scaling.apply(numerals)).view(torch.int64), table.characters, table.precision, table.given
        )
    if model.embedder is not None:
        model.embedder.fit(table.values())
    if model.head is not None and config.predict == "numbers":
        model.head.fit(table)
    if config.train == "head":
        _freeze_encoder(model)
    if config.embedded == "twice":
        _embed_twice(model)
    return model


def _embed_twice(model: NumberModel) -> None:
    """Makes word embeddings what the encoder's whole embedding layer makes of them: it is gone through once more later.

    Positions, types, normalisation and dropout are applied twice to words and once to a number in their place.
    """
    whole = base_of(model.backbone)
    layer = getattr(whole.base_model, "embeddings", None)
    if layer is None:
        raise ConfigError(f"embedded='twice' needs an encoder with a layer of embeddings, got {type(whole)}")
    # Given vectors, the layer does not look words up, so that this does not call itself.
    whole.get_input_embeddings().register_forward_hook(lambda module, ids, words: layer(inputs_embeds=words))


def _freeze_encoder(model: NumberModel) -> None:
    """Freezes the backbone but for its masked-LM head; a decoder tied to the word embeddings is frozen with them."""
    model.freeze_backbone()
    whole = base_of(model.backbone)
    encoder = {id(weight) for weight in whole.base_model.parameters()}
    for weight in whole.parameters():
        if id(weight) not in encoder:
            weight.requires_grad_(True)
