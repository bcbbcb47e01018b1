"""Two small models trained alike, one without and one with number values, so that only the values make a difference.

Both have the recipe's reader, notation and slots, the same head and objective, the same initial weights wherever they
share them, the same texts in the same order with the same masks, and the same number of steps. The number-blind model
has no embedder: it reads numbers only as the sub-words that they are written with. An optional third model sees no
values at all: every number is the same token to it. A number that is predicted is one [NUM] in all models, so that none
sees its digits or its length. Its percent sign or scale word is hidden with it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from numerate import metrics
from numerate.config import Config
from numerate.embedders.option_checks import check_option, check_positive
from numerate.modeling.attaching import attach, load_recipe
from numerate.modeling.fitting import fit_parts
from numerate.objectives.hiding import hide_numbers
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import NumberTable
from numerate.training.evaluation import asked_alone, asked_numbers
from numerate.training.run import TokenizerPlan
from numerate.training.scratch import train_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.heads.distribution import NumberDistribution
    from numerate.modeling.number_model import NumberModel

__all__ = [
    "BLIND", "SENSE", "VALUELESS", "ComparisonConfig", "Outcome", "WithAndWithout", "ask_model", "compare_models",
    "measure_model", "train_model",
]  # fmt: skip

BLIND, SENSE, VALUELESS = "number-blind", "number sense", "no values"
"""Names of the models: without number values, with number values, and with the same token for every number."""


@dataclass(frozen=True, kw_only=True)
class ComparisonConfig(Config):
    """Sizes of the models and settings of their training.

    Attributes:
        recipe: Recipe of the model with number values; the number-blind model is the same without its embedder, its
            `reach`, `late_reach` and `relations`.
        embedder: Replaces the recipe's embedder.
        head: Number head of all models.
        gated: Whether the number vectors start behind a zero gate; replaces the recipe's setting.
        vocabulary: Maximum number of sub-words.
        backbone: "bert", or "modernbert", which finds neighbouring words in far fewer steps: its positions are relative
            and its first layer sees two tokens on each side.
        layers: Number of layers of the backbone, which starts from random weights.
        width: Width of its states, a multiple of 32 (the width of an attention head); inner layers are twice as wide.
        steps: Optimizer steps.
        batch: Texts per step.
        rate: Peak learning rate; it rises over the first tenth of the steps and falls to 0.
        number_rate: Peak learning rate of embedder and head; by default the same.
        number_ratio: Share of the numbers that are hidden in training.
        word_ratio: Share of the words that are masked.
        length: Maximum number of tokens of a text.
        number_weight: Weight of the number loss relative to the token loss.
        evaluations: Number of evaluations during training, for the learning curve.
        seed: Seed of weights, masks and order.
        valueless: Whether to add the third model, which sees no values.
    """

    kind: ClassVar[str] = "number-comparison"
    recipe: str = "in-place"
    embedder: dict[str, Any] | None = None
    head: dict[str, Any] = field(default_factory=lambda: {"kind": "mixture"})
    gated: bool = False
    vocabulary: int = 1000
    backbone: str = "bert"
    layers: int = 2
    width: int = 64
    steps: int = 1200
    batch: int = 64
    rate: float = 3e-3
    number_rate: float | None = None
    number_ratio: float = 0.3
    word_ratio: float = 0.25
    length: int = 96
    evaluations: int = 6
    number_weight: float = 1.0
    seed: int = 0
    valueless: bool = False

    def __post_init__(self) -> None:
        check_positive(self, "vocabulary", "layers", "width", "steps", "batch", "length", "evaluations")
        check_option(self.backbone in ("bert", "modernbert"), self, "backbone must be bert or modernbert", "backbone")
        check_option(self.width % 32 == 0, self, "width must be a multiple of 32", "width")


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions of one model for the N numbers and W masked words of the held-out texts.

    Attributes:
        median: (N,) float64, median of the predicted distribution.
        low: (N,) float64, lower end of the 90 % interval.
        high: (N,) float64, upper end of the 90 % interval.
        gold: (N,) float64, true values.
        unit: Unit of each number as the reader found it, "" for none.
        surprise: (W,) negative log-likelihood of each masked word; sub-words of numbers are not counted.
        hit: (W,) whether the true word was the most probable one.
        is_unit: (W,) whether the word is a unit.
    """

    median: Tensor
    low: Tensor
    high: Tensor
    gold: Tensor
    unit: list[str]
    surprise: Tensor
    hit: Tensor
    is_unit: Tensor

    def figures(self) -> dict[str, float]:
        """Metrics `log_mae`, `mdape`, `coverage_90` (numbers), `nll`, `hit` (words), `unit_nll`, `unit_hit` (units)."""
        words, units = ~self.is_unit, self.is_unit
        found = {
            "log_mae": metrics.log_mae(self.median, self.gold), "mdape": metrics.mdape(self.median, self.gold),
            "coverage_90": metrics.coverage(self.low, self.high, self.gold),
            "nll": self.surprise[words].mean(), "hit": self.hit[words].double().mean(),
            "unit_nll": self.surprise[units].mean(), "unit_hit": self.hit[units].double().mean(),
        }  # fmt: skip
        return {name: float(value) for name, value in found.items()}


@torch.no_grad()
def _set_sinusoidal(weight: Tensor) -> None:
    """Sets position embeddings (T, D) to sines and cosines: from random ones, models find neighbours only late."""
    length, width = weight.shape
    pace = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * pace
    weight.copy_(torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width] * (2 / width) ** 0.5)


def _new_backbone(config: ComparisonConfig, vocabulary: int) -> Any:
    """A masked language model with random weights."""
    import transformers

    inner: dict[str, Any]
    # The usual initial scale, 0.02, is made for states of width 768; a model as narrow as this hardly learns from it.
    shape: dict[str, Any] = {
        "vocab_size": vocabulary, "hidden_size": config.width, "num_hidden_layers": config.layers,
        "num_attention_heads": config.width // 32, "max_position_embeddings": config.length, "pad_token_id": 0,
        "initializer_range": config.width**-0.5,
    }  # fmt: skip
    if config.backbone == "bert":
        inner = {"intermediate_size": 2 * config.width, "hidden_act": "relu"}
        none: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        bert: Any = transformers.BertForMaskedLM(transformers.BertConfig(**shape, **inner, **none))
        _set_sinusoidal(bert.bert.embeddings.position_embeddings.weight)
        return bert
    kinds = ["sliding_attention", *["full_attention"] * (config.layers - 1)]
    special: dict[str, Any] = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"))
    inner = {"intermediate_size": config.width * 3 // 2, "local_attention": 4, "layer_types": kinds}
    return transformers.ModernBertForMaskedLM(transformers.ModernBertConfig(**shape, **inner, **special))


class WithAndWithout:
    """A model without and a model with number values, with equal shared weights, and their texts, encoded once.

    `train` are the training texts, `test` the held-out ones. `unit_words` are the words that the metrics count as
    units; only those in the tokenizer's vocabulary are found.

    Attributes:
        models: Models by name: `BLIND`, `SENSE`, and `VALUELESS` if the config asks for it.
        rows: Encoded training texts of each model; `BLIND` and `SENSE` share theirs.
        held_out: Encoded held-out texts of each model.
        numerals: Numerals of each held-out text that are left after truncation, for each model.
        numbers: All numbers of the training texts, and `units` the unit of each.
    """

    def __init__(
        self, train: Sequence[str], test: Sequence[str], config: ComparisonConfig, unit_words: Sequence[str] = ()
    ) -> None:
        self.config = config
        self.tokenizer: Any = train_tokenizer(TokenizerPlan(vocabulary=config.vocabulary), train)
        recipe = load_recipe(config.recipe)
        recipe = replace(recipe, head=config.head, gated=config.gated, embedder=config.embedder or recipe.embedder)
        objective = {
            "kind": "masked", "number_ratio": config.number_ratio, "ratio": config.word_ratio,
            "number_weight": config.number_weight, "seed": config.seed,
        }  # fmt: skip
        self.models: dict[str, NumberModel] = {}
        blind = replace(recipe, embedder=None, gated=False, reach=0, late_reach=0, relations=0)
        if recipe.head and recipe.head.get("ratios"):  # these components are made of the other numbers' values
            blind = replace(blind, head=recipe.head | {"ratios": False})
        recipes = {BLIND: blind, SENSE: recipe}
        if config.valueless:
            recipes[VALUELESS] = replace(blind, notation={"kind": "marker"})
        for name, one in recipes.items():
            torch.manual_seed(config.seed)
            backbone = _new_backbone(config, len(self.tokenizer))
            self.models[name] = attach(backbone, self.tokenizer, one, objective=objective)
        self.models[SENSE].load_state_dict(self.models[BLIND].state_dict(), strict=False)
        rows, numerals = self._encoded(SENSE, train)
        held_out, kept = self._encoded(SENSE, test, first=len(train))
        self.rows, self.held_out = {BLIND: rows, SENSE: rows}, {BLIND: held_out, SENSE: held_out}
        self.numerals = {BLIND: kept, SENSE: kept}
        if config.valueless:
            self.rows[VALUELESS] = self._encoded(VALUELESS, train)[0]
            self.held_out[VALUELESS], more = self._encoded(VALUELESS, test, first=len(train))
            self.numerals[VALUELESS] = more  # its numbers are shorter, so truncation leaves more of them
        flat = [numeral for row in numerals for numeral in row]
        self.numbers, self.units = NumberTable.of_numerals(flat), [numeral.unit or "" for numeral in flat]
        for model in self.models.values():
            fit_parts(model, self.numbers)
        ids = {self.tokenizer.convert_tokens_to_ids(word.lower()) for word in unit_words}
        self.unit_ids = torch.tensor(sorted(ids - {self.tokenizer.unk_token_id}), dtype=torch.int64)

    def _encoded(self, name: str, texts: Sequence[str], first: int = 0) -> tuple[list[dict[str, Any]], list[Any]]:
        """Texts as rows of a data set, each with the id that its masks are drawn from, and their numerals."""
        batch = self.models[name].processor(list(texts), truncation=True, max_length=self.config.length)
        keys = [key for key in batch if key != "number_scale"]  # so that signs and scale words are hidden, too
        rows = [{key: batch[key][row] for key in keys} | {"sample_id": first + row} for row in range(len(texts))]
        return rows, [list(row) for row in batch.numerals]

    def baselines(self, gold: Tensor, unit: Sequence[str]) -> dict[str, dict[str, float]]:
        """Metrics of two constant guesses: the median of all training numbers, and of those with the same unit."""
        values = self.numbers.values()
        middle = values.median()
        of_unit = {name: values[torch.tensor([own == name for own in self.units])].median() for name in set(self.units)}
        guesses = {"median": middle.expand_as(gold)}
        if len(of_unit) > 1:
            guesses["unit's median"] = torch.stack([of_unit.get(name, middle) for name in unit])
        return {
            name: {"log_mae": float(metrics.log_mae(guess, gold)), "mdape": float(metrics.mdape(guess, gold))}
            for name, guess in guesses.items()
        }


def train_model(
    pair: WithAndWithout, name: str, *, device: str = "cpu", callbacks: Sequence[Any] = ()
) -> list[dict[str, float]]:
    """Trains the model called `name` with `NumberTrainer`, on the device "cpu" or "cuda".

    Returns:
        The Trainer's log: losses, throughput, and `eval_log_mae` of each evaluation.
    """
    from transformers import PrinterCallback, TrainingArguments

    from numerate.training import NumberTrainer
    from numerate.training.device_batches import BatchesByLength, the_batch

    config, model = pair.config, pair.models[name]
    every = max(1, config.steps // config.evaluations)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            folder, max_steps=config.steps, per_device_train_batch_size=1, learning_rate=config.rate,
            warmup_steps=config.steps // 10, lr_scheduler_type="linear", seed=config.seed, use_cpu=device == "cpu",
            report_to=[], save_strategy="no", logging_steps=max(1, min(20, every)), disable_tqdm=True,
            eval_strategy="steps", eval_steps=every, per_device_eval_batch_size=1, dataloader_pin_memory=False,
            weight_decay=0.01, remove_unused_columns=False,
        )  # fmt: skip
        # Texts of a batch have similar lengths, which saves padding; the order of batches is random.
        collate = NumberCollator(model.processor.tokenizer)
        trainer = NumberTrainer(
            model, args, data_collator=the_batch, callbacks=list(callbacks),
            number_learning_rate=config.number_rate or "same",
            train_dataset=BatchesByLength(pair.rows[name], collate, config.batch),
            eval_dataset=BatchesByLength(pair.held_out[name][:256], collate, 128),
        )  # fmt: skip
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return [dict(entry) for entry in trainer.state.log_history]


def compare_models(
    train: Sequence[str], test: Sequence[str], config: ComparisonConfig, unit_words: Sequence[str] = (),
    device: str = "cpu", callbacks: Sequence[Any] = (), names: Sequence[str] = (),
) -> dict[str, dict[str, float]]:  # fmt: skip
    """Trains and measures the models; returns the metrics of each model and each baseline by name.

    Arguments are those of `WithAndWithout` and `train_model`. With `names`, only these models are trained; the results
    are the same as in a run of all models.
    """
    pair = WithAndWithout(train, test, config, unit_words)
    outcomes: dict[str, Outcome] = {}
    for name in names or pair.models:
        train_model(pair, name, device=device, callbacks=callbacks)
        outcomes[name] = measure_model(pair, name)
    one = next(iter(outcomes.values()))
    return pair.baselines(one.gold, one.unit) | {name: found.figures() for name, found in outcomes.items()}


def _batches(model: NumberModel, rows: Sequence[dict[str, Any]], size: int) -> Iterator[dict[str, Any]]:
    collate = NumberCollator(model.processor.tokenizer)
    for start in range(0, len(rows), size):
        yield {key: value.to(model.device) for key, value in collate(rows[start : start + size]).items()}


@torch.no_grad()
def measure_model(pair: WithAndWithout, name: str, size: int = 128) -> Outcome:
    """Collects the predictions of one model for the held-out texts.

    Each number is asked for alone, with all words and all other numbers in sight. Words are masked, with the same masks
    for every model.
    """
    model = pair.models[name].eval()
    objective: Any = model.objective
    numbers: list[Tensor] = []
    words: list[list[Tensor]] = []
    unit: list[str] = []
    for part, batch in enumerate(_batches(model, pair.held_out[name], size)):
        numbers.append(asked_alone(model, batch).cpu())
        at, places = (index.tolist() for index in asked_numbers(batch))
        kept = pair.numerals[name][part * size : (part + 1) * size]
        unit += [kept[row][place].unit or "" for row, place in zip(at, places, strict=True)]
        objective.epoch = 0
        task: Any = model.task(batch, None, return_loss=True)
        output = model(**{key: value for key, value in task.inputs.items() if value is not None}, return_loss=False)
        hidden = (task.labels != -100) & (task.inputs["number_slots"] == 0)
        gold, scores = task.labels[hidden], output.logits[hidden].float().log_softmax(-1)
        surprise = -scores.gather(1, gold[:, None])[:, 0]
        is_unit = torch.isin(gold.cpu(), pair.unit_ids)
        words.append([surprise.cpu(), (scores.argmax(1) == gold).cpu(), is_unit])
    surprise, hit, is_unit = (torch.cat(column) for column in zip(*words, strict=True))
    median, low, high, gold = torch.cat(numbers).unbind(1)
    return Outcome(median, low, high, gold, unit, surprise, hit, is_unit)


@torch.no_grad()
def ask_model(pair: WithAndWithout, name: str, text: str, place: int) -> tuple[NumberDistribution, float]:
    """The distribution of one number of a text with only this number hidden, and its true value.

    The text has all its numbers; `place` is the index of the hidden one among those that have a slot.
    """
    model = pair.models[name].eval()
    batch = dict(model.processor([text], return_tensors="pt").to(model.device))
    batch.pop("number_scale", None)
    values = batch["number_bits"].view(torch.float64)[0]
    if not 0 <= place < len(values):
        raise ValueError(f"place must be an index below {len(values)}, the count of numbers in {text!r}, got {place=}")
    wanted = torch.zeros_like(batch["number_given"], dtype=torch.bool)
    wanted[0, place] = True
    output = model(**hide_numbers(batch, wanted, model.vocabulary).inputs, return_loss=False)
    return output.numbers, float(values[place])
