"""Language models that predict the next numeral (Spithourakis & Riedel 2018): training and evaluation.

Words go through a word-level model, numbers are [NUM] with a gated token-character vector, and any head predicts them.
Reported are the perplexities of words and numerals, plain and adjusted for unknown types, and the number line.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from numerate import metrics
from numerate.backbones.lstm import NumerateLSTMConfig, NumerateLSTMForCausalLM, use_word_vectors
from numerate.backbones.word_tokenizer import WordVocabulary, count_types, is_numeral
from numerate.config import Config
from numerate.modeling.attaching import attach
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import NumberTable
from numerate.processing.slot_positions import first_tokens
from numerate.training.device_batches import BatchesByLength, the_batch
from numerate_lab.registry import tasks
from numerate_lab.tasks.next_numeral import number_line_errors as number_line
from numerate_lab.tasks.next_numeral.corpora import SPLITS, read_corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transformers import PreTrainedModel

    from numerate.metrics import Perplexity, Score
    from numerate.modeling.number_model import NumberModel

__all__ = ["BatchesByLength", "Evaluation", "NextNumeral", "NextNumeralConfig"]

MAX_TOKENS = 1024
"""Texts are cut here."""


@dataclass(frozen=True, kw_only=True)
class NextNumeralConfig(Config):
    """One model on one corpus; the defaults are what was published.

    Attributes:
        source: The corpus: see `numerate_lab.tasks.next_numeral.corpora.read_corpus`.
        vocabulary: How many types are known, words and numerals together.
        head: The number head; a `size` of None in it (or in a member) becomes the number of numerals in the vocabulary.
        backbone: `lstm`, the paper's, or `transformer`, a GPT-2 of the given sizes.
        width: Of vectors and states.
        layers: How many.
        dropout: On input and output of the LSTM; everywhere in the transformer.
        word_vectors: An `.npz` to start the LSTM's words from; None for none.
        batch: Texts a batch; those of a batch are about equally long.
        rate: Adam's learning rate.
        schedule: How the rate falls over all `epochs`, as `TrainingArguments` names it; the paper's is constant.
        warmup: The share of all steps in which the rate rises.
        weight_decay: Of AdamW; the paper has none.
        epochs: At most.
        patience: Epochs without a better dev loss (no dropout) after which training stops.
        seconds: Training stops after so long, too; None for no limit.
        bf16: Train in mixed precision, on an accelerator.
        seed: Of weights, order and dropout.
        most_texts: Of each split; None for all.
    """

    kind: ClassVar[str] = "next-numeral"
    source: str
    vocabulary: int = 5000
    head: dict[str, Any] = field(default_factory=lambda: {"kind": "h-softmax", "size": None})
    backbone: str = "lstm"
    width: int = 50
    layers: int = 1
    dropout: float = 0.1
    word_vectors: str | None = None
    batch: int = 50
    rate: float = 1e-3
    schedule: str = "constant"
    warmup: float = 0.0
    weight_decay: float = 0.0
    epochs: int = 500
    patience: int = 5
    seconds: float | None = None
    bf16: bool = False
    seed: int = 0
    most_texts: int | None = None

    def __post_init__(self) -> None:
        if self.backbone not in ("lstm", "transformer"):
            raise ValueError(f"backbone must be 'lstm' or 'transformer', got {self.backbone!r}")


@dataclass(frozen=True)
class Evaluation:
    """What was measured on one split.

    Attributes:
        perplexities: Of `words`, `numerals` and `all`.
        errors: Of the number line: by `candidate`, `mean` and `median`, and the two baselines.
        predictions: What every cell can be computed from again: columns (N,) over the numerals of the split, and the
            sums over its words.
    """

    perplexities: dict[str, Perplexity]
    errors: dict[str, dict[str, Score]]
    predictions: dict[str, Tensor]


@tasks.register("next-numeral")
class NextNumeral:
    """The task on one corpus; several models can be trained on it.

    Args:
        config: Corpus, vocabulary and limits are taken from here; each model brings its own config.
    """

    Config = NextNumeralConfig
    version = 1

    def __init__(self, config: NextNumeralConfig) -> None:
        self.config = config
        self.texts = {split: list(self._read(split)) for split in SPLITS}
        counts = count_types(self.texts["train"])
        self.numerals = {text: count for text, count in counts.items() if is_numeral(text)}
        self.vocabulary = WordVocabulary.of(counts, config.vocabulary)
        self.tokenizer = self.vocabulary.tokenizer(numerals=False)
        known = self.vocabulary.numerals
        self.candidates = number_line.table_of_texts(number_line.candidates(self.numerals, known))
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def _read(self, split: str) -> Iterator[str]:
        for index, record in enumerate(read_corpus(self.config.source, split)):
            if self.config.most_texts is not None and index >= self.config.most_texts:
                return
            yield record["text"]

    def train_numbers(self) -> NumberTable:
        """Every numeral of the training texts, with repeats."""
        return number_line.table_of_texts(Counter(self.numerals).elements())

    def build(self, config: NextNumeralConfig) -> NumberModel:
        """A fresh model, its fitted parts fitted to the training numbers."""
        torch.manual_seed(config.seed)
        backbone = _backbone(config, self.tokenizer)
        known = len(self.vocabulary.numerals)
        embedder = {"kind": "gated-chars", "known": known, "hidden": config.width}
        model = attach(
            backbone, self.tokenizer, reader="plain", notation="marker", embedder=embedder, placement="replace",
            head=_sized(config.head, known), objective={"kind": "causal", "per_token": True},
        )  # fmt: skip
        numbers = self.train_numbers()
        assert model.embedder is not None and model.head is not None  # noqa: S101 (for the type checker)
        model.embedder.fit(numbers.values())
        model.head.fit(numbers)
        return model

    def batches(self, model: NumberModel, split: str, size: int) -> BatchesByLength:
        """A split as batches for a model of this task; texts are cut at `MAX_TOKENS`."""
        if split not in self._rows:  # models of one task differ in their heads alone
            batch = model.processor(self.texts[split], truncation=True, max_length=MAX_TOKENS)
            keys = list(batch)
            self._rows[split] = [{key: batch[key][row] for key in keys} for row in range(len(self.texts[split]))]
        return BatchesByLength(self._rows[split], NumberCollator(self.tokenizer), size)

    def train(self, model: NumberModel, config: NextNumeralConfig, folder: str | None = None, **options: Any) -> dict:
        """Trains with `NumberTrainer` until the dev loss has not fallen for some epochs; the best weights stay.

        Args:
            model: What `build` gave.
            config: Its config.
            folder: For checkpoints; by default a temporary one.
            **options: More `TrainingArguments`.

        Returns:
            Epochs run, the best dev loss, and the dev loss after each epoch.
        """
        import transformers

        from numerate.training import NumberTrainer

        with tempfile.TemporaryDirectory() as temporary:
            arguments = transformers.TrainingArguments(
                output_dir=folder or temporary, per_device_train_batch_size=1, per_device_eval_batch_size=1,
                num_train_epochs=config.epochs, learning_rate=config.rate, weight_decay=config.weight_decay,
                lr_scheduler_type=config.schedule, warmup_steps=config.warmup,
                max_grad_norm=0.0 if config.backbone == "lstm" else 1.0,
                eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True,
                metric_for_best_model="eval_loss", greater_is_better=False, logging_strategy="no", report_to="none",
                disable_tqdm=True, seed=config.seed, remove_unused_columns=False, save_only_model=True,
                dataloader_pin_memory=False, bf16=config.bf16 and torch.cuda.is_available(), **options,
            )  # fmt: skip
            stops: list[Any] = [transformers.EarlyStoppingCallback(config.patience)]
            if config.seconds is not None:
                stops.append(_time_limit(config.seconds))
            trainer = NumberTrainer(
                model, arguments, data_collator=the_batch, number_metrics=False, callbacks=stops,
                train_dataset=self.batches(model, "train", config.batch).to(arguments.device),
                eval_dataset=self.batches(model, "dev", config.batch).to(arguments.device),
            )  # fmt: skip
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.train()
        losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
        early = len(losses) - 1 - losses.index(min(losses)) >= config.patience
        return {"epochs": len(losses), "stopped_early": early, "dev_loss": min(losses), "dev_losses": losses}

    @torch.no_grad()
    def evaluate(self, model: NumberModel, split: str = "test", size: int = 64) -> Evaluation:
        """Perplexities and the number line on one split."""
        head: Any = model.eval().head
        device, candidates = model.device, self.candidates.to(model.device)
        columns: dict[str, list[Tensor]] = {}
        for batch in self.batches(model, split, size).batches:
            inputs = {key: value.to(device) for key, value in batch.items()}
            output = model(**inputs, return_loss=False, every_number=True)
            labels, real = inputs["input_ids"][:, 1:], inputs["attention_mask"][:, 1:].bool()
            logs = output.logits[:, :-1].float().log_softmax(-1)
            nll = -logs.gather(-1, labels[..., None])[..., 0].double()
            words = real & (labels != model.processor.num_id)
            unknown = labels.eq(self.tokenizer.unk_token_id)[words]  # type: ignore[arg-type]
            sums = torch.stack([nll[words].sum(), words.sum().double(), unknown.sum().double()])
            found = {"words": sums[None]}  # one row a batch: all that the perplexity of words needs
            if output.numbers is not None and len(output.numbers):
                rows, places = output.number_index.unbind(1)
                numbers = NumberTable(*(inputs[f"number_{name}"] for name in ("bits", "chars", "precision", "given")))
                numbers = numbers[rows, places]
                tokens = first_tokens(inputs["number_slots"], inputs["number_bits"].shape[1])[rows, places] - 1
                named = number_line.estimates(output.numbers, candidates)
                found |= {
                    "gold": numbers.values(),
                    "precision": numbers.precision,
                    "class_nll": nll[rows, tokens],
                    "nll": -output.numbers.log_prob(numbers),
                    "unknown": torch.zeros_like(rows, dtype=torch.bool) if head.is_open else head.is_oov(numbers),
                    "candidate": named.candidate,
                    "mean": named.mean,
                    "median": named.median,
                }
                if hasattr(output.numbers, "chosen"):  # which member of a combination explains each
                    found["chosen"] = output.numbers.chosen(numbers)
            for name, column in found.items():
                columns.setdefault(name, []).append(column.cpu())
        types = torch.tensor([self.vocabulary.unknown_words, 1 if head.is_open else int(head.oov_types)])
        return self.measure({name: torch.cat(parts) for name, parts in columns.items()} | {"unknown_types": types})

    def measure(self, predictions: dict[str, Tensor]) -> Evaluation:
        """All figures from the predictions alone."""
        total, words, strange = predictions["words"].double().sum(0).tolist()
        words, numbers = round(words), len(predictions["gold"])
        # Every word with the mean of all, and as many of them unknown: sums are all that counts.
        perplexities = metrics.perplexities(
            torch.cat([torch.full((words,), total / max(words, 1)), predictions["class_nll"] + predictions["nll"]]),
            torch.cat([torch.zeros(words), torch.ones(numbers)]).long(),
            torch.cat([torch.arange(words) < round(strange), predictions["unknown"]]),
            predictions["unknown_types"].tolist(),
        )
        gold = predictions["gold"]
        errors = {name: number_line.errors(predictions[name], gold) for name in ("candidate", "mean", "median")}
        always = number_line.baselines(self.train_numbers().values(), gold)
        return Evaluation(perplexities, errors | {f"always the {k}": v for k, v in always.items()}, predictions)


def _backbone(config: NextNumeralConfig, tokenizer: Any) -> PreTrainedModel:
    """A fresh language model of words."""
    size = len(tokenizer)
    if config.backbone == "transformer":
        from transformers import GPT2Config, GPT2LMHeadModel

        settings = GPT2Config(
            vocab_size=size, n_embd=config.width, n_layer=config.layers, n_head=max(1, config.width // 64),
            n_positions=MAX_TOKENS, resid_pdrop=config.dropout, embd_pdrop=config.dropout, attn_pdrop=config.dropout,
            bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        )  # fmt: skip
        return GPT2LMHeadModel(settings)
    sizes = NumerateLSTMConfig(
        vocab_size=size, hidden_size=config.width, num_hidden_layers=config.layers, dropout=config.dropout
    )
    backbone = NumerateLSTMForCausalLM(sizes)
    if config.word_vectors is not None:
        use_word_vectors(backbone, tokenizer, config.word_vectors, config.seed)
    return backbone


def _time_limit(seconds: float) -> Any:
    """A Trainer's callback that ends training at the end of an epoch once so much time has passed."""
    import transformers

    class TimeLimit(transformers.TrainerCallback):
        end = time.monotonic() + seconds

        def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            del args, state, kwargs
            control.should_training_stop |= time.monotonic() > self.end

    return TimeLimit()


def _sized(head: dict[str, Any], known: int) -> dict[str, Any]:
    """A head's description with its vocabulary's size filled in, in its members, too."""
    filled: dict[str, Any] = {key: known if key == "size" and value is None else value for key, value in head.items()}
    if "members" in filled:
        filled["members"] = [_sized(member, known) for member in filled["members"]]
    return filled
