"""Settings of one trial of the next numeral, and the language models of words that it trains."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from numerate.backbones.lstm import NumerateLSTMConfig, NumerateLSTMForCausalLM, use_word_vectors
from numerate.config import check_names
from numerate_lab.engine.task import TrialConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["NextNumeralTrial", "sized_head", "time_limit", "word_backbone"]


@dataclass(frozen=True, kw_only=True)
class NextNumeralTrial(TrialConfig):
    """Settings of one model on one corpus; defaults are as published.

    Attributes:
        source: The corpus, see `numerate_lab.tasks.next_numeral.corpora.read_corpus`.
        vocabulary: Number of known types, words and numerals together.
        head: The number head; a `size` of None in it or its members becomes the number of numerals in the vocabulary.
        embedder: The number embedder.
        backbone: `lstm`, as in the paper, or `transformer`, a GPT-2.
        width: Size of vectors and states.
        layers: Number of layers.
        dropout: On input and output of the LSTM; everywhere in the transformer.
        word_vectors: File `.npz` with initial word vectors of the LSTM, if any.
        batch: Texts per batch; texts of a batch have similar lengths.
        rate: Learning rate of Adam.
        schedule: Learning-rate schedule over all `epochs`, a name of `TrainingArguments`; constant in the paper.
        warmup: Share of steps with a rising rate.
        weight_decay: Weight decay of AdamW; none in the paper.
        epochs: Maximum number of epochs; fewer in the try of a rate.
        patience: Training stops after this many epochs without a better dev loss.
        seconds: Time limit of training, if any.
        bf16: Train in mixed precision on an accelerator.
        most_texts: Maximum number of texts of each split, if any.
        share: Share of the epochs in the try of a rate; 1 for a final training.
    """

    kind: ClassVar[str] = "next-numeral"
    paths: ClassVar[tuple[str, ...]] = ("source", "word_vectors")
    unchecked: ClassVar[tuple[str, ...]] = ("seconds",)
    max_tokens: ClassVar[int] = 1024
    """Longer texts are truncated."""
    source: str
    vocabulary: int = 5000
    head: dict[str, Any] = field(default_factory=lambda: {"kind": "h-softmax", "size": None})
    embedder: dict[str, Any] = field(default_factory=lambda: {"kind": "gated-chars"})
    backbone: Literal["lstm", "transformer"] = "lstm"
    width: int = 50
    layers: int = 1
    dropout: float = 0.1
    word_vectors: str | None = None
    batch: int = 50
    schedule: str = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    epochs: int = 500
    patience: int = 5
    seconds: float | None = None
    bf16: bool = False
    most_texts: int | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        check_names(self)

    @property
    def name(self) -> str:
        """File name of the result: the encoding, the rate of a try, and the seed of further trainings."""
        tried = f"-rate{self.rate:g}-share{self.share:g}" if self.share < 1 else ""
        return f"{self.encoding}{tried}{f'-seed{self.seed}' if self.seed else ''}"

    def tried(self, rate: float, share: float) -> Self:
        """A training for a share of the epochs."""
        trial = super().tried(rate, share)
        return dataclasses.replace(trial, share=share, epochs=max(1, round(share * self.epochs)))


def word_backbone(config: NextNumeralTrial, tokenizer: Any) -> PreTrainedModel:
    """A fresh language model of words."""
    if config.backbone == "transformer":
        from transformers import GPT2Config, GPT2LMHeadModel

        settings = GPT2Config(
            vocab_size=len(tokenizer), n_embd=config.width, n_layer=config.layers, n_head=max(1, config.width // 64),
            resid_pdrop=config.dropout, embd_pdrop=config.dropout, attn_pdrop=config.dropout,
            n_positions=config.max_tokens, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        )  # fmt: skip
        return GPT2LMHeadModel(settings)
    sizes = NumerateLSTMConfig(
        vocab_size=len(tokenizer), hidden_size=config.width, num_hidden_layers=config.layers, dropout=config.dropout
    )
    backbone = NumerateLSTMForCausalLM(sizes)
    if config.word_vectors is not None:
        use_word_vectors(backbone, tokenizer, config.word_vectors, config.seed)
    return backbone


def time_limit(seconds: float) -> Any:
    """A Trainer callback that ends training at the end of an epoch after a time limit."""
    import transformers

    class TimeLimit(transformers.TrainerCallback):
        end = time.monotonic() + seconds

        def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            control.should_training_stop |= time.monotonic() > self.end

    return TimeLimit()


def sized_head(head: dict[str, Any], known: int) -> dict[str, Any]:
    """Head settings with the vocabulary size filled in, also in members."""
    filled: dict[str, Any] = {key: known if key == "size" and value is None else value for key, value in head.items()}
    if "members" in filled:
        filled["members"] = [sized_head(member, known) for member in filled["members"]]
    return filled
