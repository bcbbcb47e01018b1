"""Runs: a training described by one YAML file, see docs/runs.md.

A run has a model, its data and the Trainer's arguments. `scales` are named sets of changes (`tiny` for a laptop). Any
value can be changed by its dotted key. Everything is checked before anything heavy is loaded.
"""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numerate.config import Config, ConfigError
from numerate.errors import NumerateError
from numerate.files import YamlError, read_yaml
from numerate.modeling.options import AttachOptions
from numerate.modeling.recipe import recipe_names
from numerate.registry import near_names
from numerate.training.tables import TableTexts  # noqa: TC001 (configs evaluate their types)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "OWN_TRAINING", "DataPlan", "ModelPlan", "Run", "RunError", "Scratch", "TokenizerPlan", "load_run", "merged",
    "resolved", "run_names",
]  # fmt: skip

OWN_TRAINING = (
    "cuda_graphs", "eval_seed", "labelled_logits", "nonfinite_limit", "number_learning_rate", "number_metrics",
)  # fmt: skip
"""Options of `NumberTrainer` in the section `training`, beside the arguments of the stock Trainer."""
_TABLES = ("literacy", "numerals-2018", "xval-nature", "xval-tables")
"""Files beside the runs that are for `numerate reproduce`."""


class RunError(NumerateError, ValueError):
    """A run that cannot be read or is inconsistent; the message is one line that names file, line and key."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) <= 600 else message[:597] + "...")


@dataclass(frozen=True, kw_only=True)
class TokenizerPlan(Config):
    """A tokenizer for a model from scratch.

    Attributes:
        checkpoint: Folder or Hub name of a tokenizer; by default one is trained on the training texts.
        method: `wordpiece` (as BERT's), `bytes` (byte-level BPE, as GPT-2's), `words` (as the 2018 models') or
            `records` (keys and brackets of records, `numerate.processing.record_tokenizer`).
        vocabulary: Number of tokens.
        lowercase: Lowercase texts, for `wordpiece`.
    """

    kind: ClassVar[str] = "tokenizer"
    checkpoint: str | None = None
    method: Literal["wordpiece", "bytes", "words", "records"] = "wordpiece"
    vocabulary: int = 30_522
    lowercase: bool = True

    def __post_init__(self) -> None:
        if self.vocabulary < 1:
            raise ConfigError(f"tokenizer config: vocabulary must be positive, got {self.vocabulary}")


@dataclass(frozen=True, kw_only=True)
class Scratch(Config):
    """A backbone with random weights.

    Attributes:
        architecture: Model type of transformers (`bert`, `gpt2`, `llama`), or one of numerate (`numerate-lstm`).
        task: `masked-lm` or `causal-lm`.
        sizes: Options of its config; the vocabulary's size and the special tokens come from the tokenizer.
        tokenizer: Its tokenizer.
    """

    kind: ClassVar[str] = "scratch"
    architecture: str = "bert"
    task: Literal["masked-lm", "causal-lm"] = "masked-lm"
    sizes: dict[str, Any] = field(default_factory=dict)
    tokenizer: TokenizerPlan = field(default_factory=TokenizerPlan)


@dataclass(frozen=True, kw_only=True)
class ModelPlan(AttachOptions):
    """Which model is trained: a checkpoint or one from scratch, and the options of `numerate.attach`.

    The fields of `AttachOptions` (`reader`, `notation`, `embedder`, `placement`, `head`, ...) override the recipe's.

    Attributes:
        checkpoint: A folder or Hub name of a language model.
        scratch: A backbone with random weights, instead of a checkpoint.
        task: What a checkpoint is loaded for: `masked-lm` or `causal-lm`; by default the task in its own config.
        recipe: A recipe's name.
        objective: What is learnt; "auto" is `masked` or `causal`.
        scaling: Options of `numerate.processing.scaling.Scaling`, which is fitted on the training texts.
        implied_commas: Leave out the comma between two numbers of a record.
        freeze: "backbone" trains only our own weights; "encoder" also the language-model head (a head that is tied to
            the embeddings is frozen except for its bias).
        reset_head: Initialise the language-model head of the backbone with new random weights.
        dropout: Dropout of the whole backbone, instead of its config's.
    """

    kind: ClassVar[str] = "model"
    checkpoint: str | None = None
    scratch: Scratch | None = None
    task: Literal["masked-lm", "causal-lm"] | None = None
    recipe: str | None = None
    objective: str | dict[str, Any] | None = "auto"
    scaling: dict[str, Any] | None = None
    implied_commas: bool = False
    freeze: Literal["no", "backbone", "encoder"] = "no"
    reset_head: bool = False
    dropout: float | None = None

    def __post_init__(self) -> None:
        if (self.checkpoint is None) == (self.scratch is None):
            both = "both" if self.scratch is not None else "neither"
            raise ConfigError(
                f"model config: give a checkpoint or a model from scratch, one of the two; {both} is given"
            )
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise ConfigError(f"model config: dropout must lie from 0 to below 1, got {self.dropout}")


@dataclass(frozen=True, kw_only=True)
class DataPlan(Config):
    """The texts, see `numerate.training.sources`.

    Attributes:
        train: One or several files, a Hub data set, or a folder written by `numerate prepare` (which also has `dev`).
        dev: Texts for evaluation during training; optional.
        test: Texts for `numerate eval`; optional.
        text: Name or dotted path of the field with the text; null for the whole line (records).
        records: Each row is a record, which is normalised by `numerate.records`; `text` must be null.
        leave_out: Fields of records that the model does not see, such as row numbers.
        tables: How rows that are tables become texts (`numerate.training.tables.TableTexts`), beside rows with a text.
        format: `jsonl`, `json`, `txt`, `csv`, `tsv`, `parquet` or `hub`; by default from the file's ending.
        split: A field with `train`, `dev` (or `validation`) or `test`; then only `train` has to be given.
        max_tokens: Longer texts are truncated; by default at the model's maximum length.
        limit: Maximum number of training texts.
        dev_limit: Maximum number of dev and of test texts.
        sample: Number of training texts for training a tokenizer and fitting a scaling.
        group_by_length: Batches of texts of similar length, which need less padding.
    """

    kind: ClassVar[str] = "data"
    train: str | tuple[str, ...] | None = None
    dev: str | tuple[str, ...] | None = None
    test: str | tuple[str, ...] | None = None
    text: str | None = "text"
    records: bool = False
    leave_out: tuple[str, ...] = ()
    tables: TableTexts | None = None
    format: Literal["jsonl", "json", "txt", "csv", "tsv", "parquet", "hub"] | None = None
    split: str | None = None
    max_tokens: int | None = None
    limit: int | None = None
    dev_limit: int | None = None
    sample: int = 100_000
    group_by_length: bool = False

    def __post_init__(self) -> None:
        for name in ("max_tokens", "limit", "dev_limit", "sample"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ConfigError(f"data config: {name} must be positive, got {value}")
        if self.leave_out and not self.records:
            raise ConfigError(f"data config: leave_out needs records: true, got {self.leave_out}")


@dataclass(frozen=True, kw_only=True)
class Run(Config):
    """A training.

    Attributes:
        about: Short description.
        citation: Paper that it follows.
        model: See `ModelPlan`.
        data: See `DataPlan`.
        training: Arguments of `transformers.TrainingArguments`, and options of `OWN_TRAINING`.
        scales: Named sets of changes.

    Example:
        >>> run = load_run("exponent", scale="tiny", changes=["training.max_steps=3"])
        >>> run.model.freeze, run.training["max_steps"]
        ('encoder', 3)
        >>> load_run("exponent", changes=["model.recip=luna"])
        Traceback (most recent call last):
        numerate.training.run.RunError: exponent: model config: unknown key 'recip': did you mean 'recipe' or 'reach'?
    """

    kind: ClassVar[str] = "run"
    about: str = ""
    citation: str = ""
    model: ModelPlan
    data: DataPlan = field(default_factory=DataPlan)
    training: dict[str, Any] = field(default_factory=dict)
    scales: dict[str, dict[str, Any]] = field(default_factory=dict)

    def with_data(self, **paths: str | tuple[str, ...] | None) -> Run:
        """A copy with other `train`, `dev` or `test` texts; None keeps those of the run."""
        given = {name: path for name, path in paths.items() if path is not None}
        return dataclasses.replace(self, data=dataclasses.replace(self.data, **given))  # type: ignore[arg-type]


def run_names() -> list[str]:
    """The names of all runs in the package."""
    folder = resources.files("numerate") / "runs"
    names = (entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))
    return sorted(name for name in names if name not in _TABLES)


def load_run(name: str | Path, *, scale: str | None = None, changes: Iterable[str] = ()) -> Run:
    """Loads a run by its name or file, applies a scale and changes.

    Args:
        name: `luna`, or a path that ends in `.yaml` or `.yml`.
        scale: One of the run's `scales`.
        changes: Each `key.sub=value`, with the value as YAML.

    Raises:
        RunError: The run, the scale or a change is wrong.
    """
    text, title = _text_of(name)
    try:
        plan = read_yaml(text, title)
    except YamlError as error:
        raise RunError(str(error)) from None
    if not isinstance(plan, dict):
        raise RunError(f"{title}: a run has the sections model, data and training, got {str(plan)[:40]!r}")
    if scale is not None:
        scales = plan.get("scales") or {}
        if not isinstance(scales, dict) or scale not in scales:
            raise RunError(f"{title}: unknown scale {scale!r}: {near_names(scale, [str(key) for key in scales])}")
        plan = merged(plan, scales[scale])
    return resolved(plan, changes, title)


def resolved(plan: Any, changes: Iterable[str], title: str) -> Run:
    """A run from its mapping, with changes; `title` is its name in error messages."""
    try:
        for change in changes:
            plan = merged(plan, _change(change))
        return Run.from_dict(plan)
    except (ConfigError, RecursionError) as error:
        raise RunError(f"{title}: {error}") from None


def merged(one: Mapping[str, Any], other: Any) -> dict[str, Any]:
    """Merges two mappings recursively; a part with another `kind` replaces the part as a whole.

    Example:
        >>> plan = {"a": {"b": 1, "c": 2}, "head": {"kind": "bits", "width": 3}}
        >>> merged(plan, {"a": {"b": 7}, "head": {"kind": "mog"}})
        {'a': {'b': 7, 'c': 2}, 'head': {'kind': 'mog'}}
    """
    if not isinstance(other, dict):
        raise RunError(f"expected keys and values, got {str(other)[:60]!r}")
    result = copy.deepcopy(dict(one))
    for key, value in other.items():
        old = result.get(key)
        joins = (
            isinstance(old, dict) and isinstance(value, dict) and value.get("kind", old.get("kind")) == old.get("kind")
        )
        result[key] = merged(old, value) if joins else copy.deepcopy(value)  # type: ignore[arg-type]
    return result


def _text_of(name: str | Path) -> tuple[str, str]:
    """A run's text, and its name in error messages."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        try:
            return path.read_text(encoding="utf-8"), str(name)
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if str(name) not in run_names():
        hint = near_names(str(name), run_names())
        if str(name) in recipe_names():
            hint = f"it is a recipe, write a file with `model: {{checkpoint: ..., recipe: {name}}}`"
        raise RunError(f"unknown run {str(name)!r}: {hint}; or give a file that ends in .yaml")
    return (resources.files("numerate") / "runs" / f"{name}.yaml").read_text(encoding="utf-8"), str(name)


def _change(change: str) -> dict[str, Any]:
    """`key.sub=value` as nested mappings."""
    key, equals, value = change.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise RunError(f"{change!r}: write a change as key.sub=value, e.g. training.learning_rate=1e-4")
    try:
        plan: Any = read_yaml(value, change)
    except YamlError as error:
        raise RunError(str(error)) from None
    for part in reversed(parts):
        plan = {part: plan}
    return plan
