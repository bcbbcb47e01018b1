"""What masked words and masked numbers share: the config of one cell of a grid, its data, model and training."""

from __future__ import annotations

import functools
import json
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch

from numerate.attach import attach, load_recipe
from numerate.batch import NumberTable
from numerate.config import Config, ConfigError
from numerate.doors import base_of
from numerate.processor import NumberProcessor
from numerate.scaling import Scaling
from numerate.tasks.number_sentences import plain_sentences, read_number_sentences
from numerate.tasks.word_positions import WordPositions, encode
from numerate.training.sources import Texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.utils.data import Dataset

    from numerate.model import NumberModel
    from numerate.tasks.number_sentences import NumberSentence
    from numerate.tasks.word_positions import Encoded

__all__ = ["PLAIN", "LiteracyConfig", "build", "encoded_split", "fit", "load_split"]

PLAIN = "plain"
"""The name of the split that is the number-free texts."""


@dataclass(frozen=True, kw_only=True)
class LiteracyConfig(Config):
    """One encoder on one masked language model, one seed, one learning rate.

    Attributes:
        source: Sentences with numbers, see `read_number_sentences`.
        model: Folder or Hub name of a masked language model.
        recipe: How numbers are encoded.
        parts: What else `attach` is told: `embedder`, `notation`, `placement`, `gated`, `head`.
        numbers: Which numbers are encoded: the `annotated` one of a sentence, as in the papers, or `all`.
        predict: What is trained and measured: masked `words` or masked `numbers`.
        train: `head` for our parts and the masked-LM head on a frozen encoder, as in the papers, or `all` weights.
        scaler: Of the values, fitted on the training numbers; None is `log` for recipes that scale by the value.
        ratio: Share of the words that are masked in training.
        next_ratio: The same for the token right behind the annotated number, mostly its unit; None for `ratio`.
        batch: Sentences a batch.
        rate: Of AdamW, for what is ours and the masked-LM head.
        backbone_rate: For the encoder, where all weights are trained; None for `rate`.
        epochs: How many.
        schedule: How the rate falls, as `TrainingArguments` names it.
        warmup: The share of all steps in which it rises.
        weight_decay: Of AdamW.
        bf16: Train in mixed precision, on an accelerator; evaluation is in float32.
        seed: Of weights, order, masks and dropout.
        most_train: Rows of the training split; None for all.
        most_eval: Rows of each split that is measured.
        max_tokens: Sentences are cut here.
        splits: What is measured.
        plain: A file of texts, of which those without any number are measured, too.
        shift: Measure how far each word's prediction moves when the number is multiplied by this; None for not at all.
        output: A folder for the predictions; None writes none.
    """

    kind: ClassVar[str] = "literacy"
    source: str
    model: str
    recipe: str = "in-place"
    parts: dict[str, Any] = field(default_factory=dict)
    numbers: Literal["annotated", "all"] = "annotated"
    predict: Literal["words", "numbers"] = "words"
    train: Literal["head", "all"] = "head"
    scaler: Literal["standard", "range", "log", "none"] | None = None
    ratio: float = 0.15
    next_ratio: float | None = None
    batch: int = 256
    rate: float = 1e-3
    backbone_rate: float | None = None
    epochs: int = 8
    schedule: str = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.01
    bf16: bool = False
    seed: int = 0
    most_train: int | None = None
    most_eval: int | None = None
    max_tokens: int = 128
    splits: tuple[str, ...] = ("dev", "test")
    plain: str | None = None
    shift: float | None = None
    output: str | None = None

    def __post_init__(self) -> None:
        for name in ("ratio", "next_ratio"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, however: {value}")
        for name in ("batch", "epochs", "max_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be positive, however: {getattr(self, name)}")

    def most(self, split: str) -> int | None:
        """How many rows of a split are read."""
        return self.most_train if split == "train" else self.most_eval


@functools.lru_cache(maxsize=4)
def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(model)


@functools.lru_cache(maxsize=16)
def _split(source: str, split: str, most: int | None, model: str) -> tuple[list[NumberSentence], WordPositions]:
    if split == PLAIN:
        sentences = plain_sentences(Texts((source,), limit=most))
    else:
        sentences = list(read_number_sentences(source, split, most=most))
    return sentences, WordPositions.of(sentences, _tokenizer(model))


def load_split(config: LiteracyConfig, split: str) -> tuple[list[NumberSentence], WordPositions]:
    """The sentences of a split and the words in them that are predicted; read once for all cells of a process."""
    source = config.plain if split == PLAIN else config.source
    if source is None:
        raise ConfigError(f"split {split!r} needs a file: plain=None")
    return _split(source, split, config.most(split), config.model)


@functools.lru_cache(maxsize=16)
def _encoded(source: str, split: str, most: int | None, model: str, plan: str) -> Encoded:
    options = json.loads(plan)
    processor = NumberProcessor.from_config(_tokenizer(model), options["processor"], options["first_id"])
    sentences, positions = _split(source, split, most, model)
    return encode(processor, sentences, positions, options["numbers"], options["max_tokens"])


def encoded_split(config: LiteracyConfig, model: NumberModel, split: str) -> Encoded:
    """A split as the model writes it; made once for all cells of a process with this encoder."""
    processor = model.processor
    plan = {"processor": processor.config(), "first_id": processor.first_id}
    plan |= {"numbers": config.numbers, "max_tokens": config.max_tokens}
    source = config.plain if split == PLAIN else config.source
    return _encoded(str(source), split, config.most(split), config.model, json.dumps(plan, sort_keys=True))


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
    options: dict[str, Any] = {"objective": {"kind": "masked", "what": config.predict, "seed": config.seed}}
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
    return model


def _freeze_encoder(model: NumberModel) -> None:
    """Freezes the backbone but for its masked-LM head; a decoder tied to the word embeddings is frozen with them."""
    model.freeze_backbone()
    whole = base_of(model.backbone)
    encoder = {id(weight) for weight in whole.base_model.parameters()}
    for weight in whole.parameters():
        if id(weight) not in encoder:
            weight.requires_grad_(True)


def _groups(model: NumberModel, config: LiteracyConfig) -> list[dict[str, Any]]:
    """What is trained, with the encoder's own learning rate."""
    encoder = {id(weight) for weight in base_of(model.backbone).base_model.parameters()}
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    slow = config.rate if config.backbone_rate is None else config.backbone_rate
    ours = [weight for weight in trained if id(weight) not in encoder]
    theirs = [weight for weight in trained if id(weight) in encoder]
    return [{"params": some, "lr": rate} for rate, some in ((config.rate, ours), (slow, theirs)) if some]


def fit(
    model: NumberModel,
    config: LiteracyConfig,
    batches: Callable[[torch.device], Dataset[Any]],
    collate: Callable[[list[Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Trains for some epochs with `NumberTrainer` on ready batches that lie on the device; no checkpoints.

    Args:
        model: What `build` gave.
        config: Rates, epochs and seed.
        batches: Gives the batches on a device.
        collate: Makes a batch what the model takes.

    Returns:
        `steps` and the mean `train_loss`.
    """
    import transformers

    from numerate.training import NumberTrainer

    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, per_device_train_batch_size=1, num_train_epochs=config.epochs,
            learning_rate=config.rate, weight_decay=config.weight_decay, lr_scheduler_type=config.schedule,
            warmup_steps=config.warmup, save_strategy="no", logging_strategy="no", report_to="none",
            disable_tqdm=True, seed=config.seed, remove_unused_columns=False, dataloader_pin_memory=False,
            bf16=config.bf16 and torch.cuda.is_available(),
        )  # fmt: skip
        optimizer = torch.optim.AdamW(_groups(model.to(arguments.device), config), weight_decay=config.weight_decay)
        trainer = NumberTrainer(
            model, arguments, data_collator=collate, train_dataset=batches(arguments.device), number_metrics=False,
            optimizers=(optimizer, None),
        )  # fmt: skip
        trainer.remove_callback(transformers.PrinterCallback)
        result = trainer.train()
    return {"steps": result.global_step, "train_loss": result.training_loss}
