"""Language models that predict the next numeral (Spithourakis & Riedel 2018).

Words go through a word-level model, numbers are [NUM] with a vector of their own, and a head predicts them. Figures are
perplexities of words and numerals, plain and adjusted for unknown types, and errors on the number line.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from numerate import metrics
from numerate.backbones.word_tokenizer import WordVocabulary, count_types, is_numeral
from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate.modeling.fitting import fit_parts
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import NumberTable
from numerate.processing.slot_positions import first_tokens
from numerate.registry import heads
from numerate.training.device_batches import BatchesByLength, the_batch
from numerate.training.results import Result
from numerate_lab.engine.encodings import encoding_names, encoding_of
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Answers, Column, Task, TrialConfig
from numerate_lab.registry import tasks
from numerate_lab.tasks.next_numeral import number_line_errors as number_line
from numerate_lab.tasks.next_numeral.corpora import SPLITS, corpus_statistics, read_corpus
from numerate_lab.tasks.next_numeral.numeral_trial import NextNumeralTrial, sized_head, time_limit, word_backbone

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.engine.task import Columns, Figures, Log

__all__ = ["Corpus", "NextNumeral"]


class Corpus:
    """Texts of a corpus and what all models on it share.

    Attributes:
        texts: Texts by split.
        numerals: Count of each numeral in the training texts.
        vocabulary: Known words and numerals.
        tokenizer: Tokenizer of words, with numbers as [NUM].
        candidates: Candidate numbers of the number line.
        rows: Processed texts by split.
    """

    def __init__(self, source: str, vocabulary: int, most_texts: int | None = None) -> None:
        self.texts = {
            split: [record["text"] for record in itertools.islice(read_corpus(source, split), most_texts)]
            for split in SPLITS
        }
        counts = count_types(self.texts["train"])
        self.numerals = {text: count for text, count in counts.items() if is_numeral(text)}
        self.vocabulary = WordVocabulary.of(counts, vocabulary)
        self.tokenizer = self.vocabulary.tokenizer(numerals=False)
        candidates = number_line.candidates(self.numerals, self.vocabulary.numerals)
        self.candidates = number_line.table_of_texts(candidates)
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def train_numbers(self) -> NumberTable:
        """All numerals of the training texts, with repeats."""
        return number_line.table_of_texts(Counter(self.numerals).elements())


_corpus = functools.lru_cache(maxsize=2)(Corpus)


@tasks.register("next-numeral")
class NextNumeral(Task):
    """One model on one corpus."""

    Trial = NextNumeralTrial
    config: NextNumeralTrial
    tolerance = 1e-4
    """Stored predictions of earlier versions are float32."""
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("next-numeral")

    @classmethod
    def trial(cls, name: str, options: Mapping[str, Any]) -> TrialConfig:
        """The trial of a comparison; the synthetic clinical reports by default."""
        return super().trial(name, {"source": "clinical"} | dict(options))

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Head and embedder of an encoding: a name of `numerate_lab.engine.encodings`, or a head alone."""
        if name.partition("+")[0] not in encoding_names() and name in heads:
            sized = "size" in {each.name for each in dataclasses.fields(heads[name].Config)}
            return {"head": {"kind": name} | ({"size": None} if sized else {})}
        found = encoding_of(name)
        embedder = found.options.get("embedder")
        if found.scaled or not found.has_head or embedder is None or embedder["kind"] == "scaled-value":
            raise ConfigError(
                f"next-numeral needs vectors of unscaled numbers and a head, got {name!r}: try mog or float"
            )
        return {"head": found.options["head"], "embedder": embedder}

    @property
    def corpus(self) -> Corpus:
        """The corpus, read once per process."""
        return _corpus(self.config.source, self.config.vocabulary, self.config.most_texts)

    def splits(self, final: bool) -> tuple[str, ...]:
        """`test` for final trainings; tries of a rate have the dev loss of training."""
        return ("test",) if final else ()

    def examples(self, split: str) -> list[str]:
        """Texts of a split."""
        return self.corpus.texts[split]

    def prepare(self, log: Log) -> None:
        """Writes `corpus.json` with the statistics of Table 1 of the paper for each split."""
        file = Path(self.workspace.results) / "corpus.json"
        if not file.is_file():
            kind = {"kind": "corpus-statistics", "version": 1}
            texts, vocabulary = self.corpus.texts, self.corpus.vocabulary
            found = {split: kind | corpus_statistics(some, vocabulary) for split, some in texts.items()}
            settings = {"source": Path(self.config.source).name, "vocabulary": self.config.vocabulary}
            Result(settings, found).write(file)

    def build(self) -> NumberModel:
        """A fresh model, with parts fitted to the training numbers."""
        config, corpus = self.config, self.corpus
        torch.manual_seed(config.seed)
        backbone = word_backbone(config, corpus.tokenizer)
        known, embedder = len(corpus.vocabulary.numerals), config.embedder
        if embedder == {"kind": "gated-chars"}:
            embedder = embedder | {"known": known, "hidden": config.width}
        model = attach(
            backbone, corpus.tokenizer, reader="plain", notation="marker", embedder=embedder, placement="replace",
            head=sized_head(config.head, known), objective={"kind": "causal", "per_token": True},
        )  # fmt: skip
        fit_parts(model, corpus.train_numbers())
        return model

    def batches(self, model: NumberModel, split: str, size: int) -> BatchesByLength:
        """Batches of a split; the processed texts are the same for all models."""
        rows, texts = self.corpus.rows, self.examples(split)
        if split not in rows:
            batch = model.processor(texts, truncation=True, max_length=self.config.max_tokens)
            rows[split] = [{key: batch[key][row] for key in batch} for row in range(len(texts))]
        return BatchesByLength(rows[split], NumberCollator(self.corpus.tokenizer), size)

    def train(self, model: NumberModel, log: Log | None = None, **options: Any) -> Figures:
        """Trains with early stopping by the dev loss, and keeps the best weights; `options` are `TrainingArguments`.

        Returns:
            Number of epochs, the best dev loss, the dev loss after each epoch, and seconds.
        """
        import transformers

        from numerate.training import NumberTrainer

        config, begin = self.config, time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                output_dir=folder, per_device_train_batch_size=1, per_device_eval_batch_size=1,
                num_train_epochs=config.epochs, learning_rate=config.rate, weight_decay=config.weight_decay,
                lr_scheduler_type=config.schedule, warmup_steps=config.warmup,
                max_grad_norm=0.0 if config.backbone == "lstm" else 1.0,
                eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True,
                metric_for_best_model="eval_loss", greater_is_better=False, logging_strategy="no", report_to="none",
                disable_tqdm=True, seed=config.seed, remove_unused_columns=False, save_only_model=True,
                dataloader_pin_memory=False, bf16=config.bf16 and torch.cuda.is_available(), **options,
            )  # fmt: skip
            stops: list[Any] = [transformers.EarlyStoppingCallback(config.patience)]
            stops += [] if config.seconds is None else [time_limit(config.seconds)]
            trainer = NumberTrainer(
                model, arguments, data_collator=the_batch, number_metrics=False, callbacks=stops,
                number_learning_rate="same",
                train_dataset=self.batches(model, "train", config.batch).to(arguments.device),
                eval_dataset=self.batches(model, "dev", config.batch).to(arguments.device),
            )  # fmt: skip
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.train()
        losses = [entry["eval_loss"] for entry in trainer.state.log_history if "eval_loss" in entry]
        early = len(losses) - 1 - losses.index(min(losses)) >= config.patience
        found = {"epochs": len(losses), "stopped_early": early, "dev_loss": min(losses), "dev_losses": losses}
        return found | {"seconds": round(time.perf_counter() - begin, 1)}

    @torch.no_grad()
    def ask(self, model: NumberModel, split: str, size: int = 64) -> Columns:
        """Columns (N,) over the numerals of a split, and sums over its words by batch."""
        head: Any = model.eval().head
        device, candidates = model.device, self.corpus.candidates.to(model.device)
        columns: dict[str, list[Tensor]] = {}
        closed = not head.is_open and hasattr(head, "is_oov")
        made = self.batches(model, split, size)
        for part, batch in zip(made.parts, made.batches, strict=True):
            inputs = {key: value.to(device) for key, value in batch.items()}
            output = model(**inputs, return_loss=False, every_number=True)
            labels, real = inputs["input_ids"][:, 1:], inputs["attention_mask"][:, 1:].bool()
            logs = output.logits[:, :-1].float().log_softmax(-1)
            nll = -logs.gather(-1, labels[..., None])[..., 0].double()
            words = real & (labels != model.processor.num_id)
            unknown = labels.eq(self.corpus.tokenizer.unk_token_id)[words]  # type: ignore[arg-type]
            sums = torch.stack([nll[words].sum(), words.sum().double(), unknown.sum().double()])
            found = {"words": sums[None]}  # one row per batch: all that the perplexity of words needs
            if output.numbers is not None and len(output.numbers):
                rows, places = output.number_index.unbind(1)
                numbers = NumberTable(*(inputs[f"number_{name}"] for name in ("bits", "chars", "precision", "given")))
                numbers = numbers[rows, places]
                tokens = first_tokens(inputs["number_slots"], inputs["number_bits"].shape[1])[rows, places] - 1
                found |= {
                    "text": torch.as_tensor(part, dtype=torch.int32, device=device)[rows],
                    "gold": numbers.values(),
                    "precision": numbers.precision,
                    "class_nll": nll[rows, tokens],
                    "nll": -output.numbers.log_prob(numbers),
                    "unknown": head.is_oov(numbers) if closed else torch.zeros_like(rows, dtype=torch.bool),
                }
                if not head.is_open and not closed:  # a vocabulary and copies: only a part of the mass is shared
                    found["adjusted"] = -output.numbers.log_prob_adjusted(numbers)
                found |= number_line.estimates(output.numbers, candidates)
                if hasattr(output.numbers, "chosen"):  # posterior of each member of a combination
                    found["chosen"] = output.numbers.chosen(numbers)
            for name, column in found.items():
                columns.setdefault(name, []).append(column.cpu())
        types = torch.tensor([self.corpus.vocabulary.unknown_words, int(head.oov_types) if closed else 1])
        whole = {name: torch.cat(parts) for name, parts in columns.items()} | {"unknown_types": types}
        return {name: column.numpy() for name, column in whole.items()}

    def score(self, split: str, columns: Columns) -> Figures:
        """`perplexity` of words, numerals and all tokens, and errors on the `number_line`."""
        predictions = {name: torch.from_numpy(np.asarray(column)) for name, column in columns.items()}
        total, words, strange = predictions["words"].double().sum(0).tolist()
        words, numbers = round(words), len(predictions["gold"])
        # Only sums count: every word gets the mean loss, and the right number of words is unknown.
        each = torch.full((words,), total / max(words, 1))

        def perplexities(column: str) -> dict[str, metrics.Perplexity]:
            return metrics.perplexities(
                torch.cat([each, predictions["class_nll"] + predictions[column]]),
                torch.cat([torch.zeros(words), torch.ones(numbers)]).long(),
                torch.cat([torch.arange(words) < round(strange), predictions["unknown"]]),
                predictions["unknown_types"].tolist(),
            )

        plain, adjusted = perplexities("nll"), perplexities("adjusted" if "adjusted" in predictions else "nll")
        gold = predictions["gold"]
        errors = {name: number_line.errors(predictions[name], gold) for name in ("candidate", "mean", "median")}
        always = number_line.baselines(self.corpus.train_numbers().values(), gold)
        errors |= {f"always the {name}": row for name, row in always.items()}
        shown = {name: {"pp": row.pp, "app": adjusted[name].app, "tokens": row.count} for name, row in plain.items()}
        lines = {name: {error: score.to_dict() for error, score in row.items()} for name, row in errors.items()}
        return {"perplexity": shown, "number_line": lines}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Best dev loss."""
        return figures["training"]["dev_loss"]

    def shown(self) -> Sequence[Column]:
        """Adjusted perplexities, and the error of the median on the number line."""
        return (
            Column("perplexity", "numerals app", "numeral APP", ".2f"),
            Column("perplexity", "words app", "word APP", ".2f"),
            Column("number_line", "candidate MdAPE value", "MdAPE %", ".2f"),
            Column("number_line", "median MdAPE value", "MdAPE by the median %", ".2f"),
        )

    def answers(self, split: str, columns: Columns) -> Answers | None:
        """Medians and correct numbers."""
        return Answers(columns["median"].astype(np.float64), columns["gold"], columns["precision"].astype(np.int64))
