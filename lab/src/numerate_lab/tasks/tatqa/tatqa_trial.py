"""Settings of one trial of TAT-QA, its folds, and the encodings that it can be run with."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from numerate.config import ConfigError
from numerate.embedders.option_checks import check_option, check_positive
from numerate_lab.tasks.finetuning.started_trial import StartedTrial
from numerate_lab.tasks.finetuning.starting_points import check_untouched
from numerate_lab.tasks.tatqa.question_rows import examples_of
from numerate_lab.tasks.tatqa.report_file import read_contexts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numerate_lab.tasks.tatqa.question_rows import Example
    from numerate_lab.tasks.tatqa.report_file import Context

__all__ = ["Parts", "TatqaTrial", "check_answers", "check_start", "folds_of", "learnt_questions", "parts_of"]

_FOLD_SEED = 27
_LONG = 60
"""Characters from which a paragraph that two contexts share keeps them in one fold."""
_DEV_SHARE = 10
"""One of so many training contexts is dev, where files are given and none for dev."""


@dataclass(frozen=True, kw_only=True)
class TatqaTrial(StartedTrial):
    """Settings of one trial: TagOp on one encoder, cross-validated over contexts, or trained and tested on given files.

    Attributes:
        source: A file of contexts in the official format: all data of a cross-validation, or the training file.
        test: The test file (gold); None for cross-validation over the contexts of `source`.
        dev: The dev file by which rates are chosen; None for a part of the training contexts. It needs `test`.
        folds: Folds of the cross-validation.
        model: Folder or Hub name of an encoder; see `StartedTrial` for other models to start from. None of them may
            have been trained on TAT-QA's tables.
        spelled: Whether numbers are written as words.
        prompts: Embedder of number prompts; None for none. A row sets it.
        batch: Questions per step.
        epochs: Number of epochs.
        rate: The highest learning rate of the encoder.
        head_rate: That of all other weights, the number parts among them; None for ten times `rate`, at most 1e-3.
        warmup: Share of steps with a rising rate; it then falls linearly.
        weight_decay: Weight decay of AdamW, not of biases and norms.
        clip: Largest norm of the gradient.
        dropout: Before each head.
        max_tokens: Tokens of question, table and paragraphs together; what is behind is cut.
        bf16: Train in mixed precision on an accelerator; evaluation then uses float32 with TF32 products.
        most: Maximum number of contexts of each file, to try things out; None for all.
        trying: Whether this is the try of a learning rate: one fold, measured on dev.
    """

    kind: ClassVar[str] = "tatqa"
    paths: ClassVar[tuple[str, ...]] = ("source", "dev", "test", "model")
    test: str | None = None
    dev: str | None = None
    folds: int = 5
    spelled: bool = False
    prompts: dict[str, Any] | None = None
    batch: int = 32
    epochs: int = 25
    rate: float = 1e-4
    head_rate: float | None = None
    warmup: float = 0.06
    weight_decay: float = 0.01
    clip: float = 1.0
    dropout: float = 0.1
    max_tokens: int = 512
    bf16: bool = True
    most: int | None = None
    trying: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "batch", "epochs", "max_tokens", "most", "rate", "head_rate", "clip")
        check_option(self.dev is None or self.test is not None, self, "dev needs a test file beside it", "dev")
        check_option(math.isfinite(self.rate), self, "rate must be finite", "rate")
        check_option(self.folds > 1, self, "folds must be at least 2", "folds")
        check_option(0 <= self.dropout < 1, self, "dropout must lie in [0, 1)", "dropout")
        check_option(0 <= self.warmup < 1, self, "warmup must lie in [0, 1)", "warmup")

    @property
    def name(self) -> str:
        """File name of the trial's result."""
        tried = "-try" if self.trying else ""
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-epochs{self.epochs}{tried}"

    def tried(self, rate: float, share: float) -> Self:
        """A training on the first fold for a share of the epochs, measured on dev contexts."""
        epochs = max(1, round(share * self.epochs))
        return dataclasses.replace(self.final(rate, 0), epochs=epochs, trying=True)


def check_start(folder: str | Path) -> None:
    """Refuses a model whose `run.json` says that it was trained on TAT-QA: its tables would be in training and test.

    Raises:
        ConfigError: The file names TAT-QA.
    """
    check_untouched(folder, ("tatqa", "tat-qa", "tat_qa"), only_paths=True)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The examples of a trial and which of them each fold uses.

    Attributes:
        examples: All questions.
        contexts: (N,) the context of each, as a cluster of the intervals.
        train: Rows to train on, for each model.
        asked: Rows to ask each model for, by split.
        by_split: The rows of each split, in order; those of all models together.
    """

    examples: list[Example]
    contexts: np.ndarray
    train: tuple[np.ndarray, ...]
    asked: dict[str, tuple[np.ndarray, ...]]
    by_split: dict[str, np.ndarray]


def check_answers(config: TatqaTrial, parts: Parts) -> None:
    """Refuses a training without answers to learn from, and a try of a rate without answers to judge it by.

    Raises:
        ConfigError: There are none, as in the official test file.
    """
    if not all(any(parts.examples[index].labels is not None for index in rows) for rows in parts.train):
        raise ConfigError(f"{config.source}: no question has an answer to learn from; give a file with answers")
    if config.trying and any(parts.examples[index].question.answers is None for index in parts.by_split["dev"]):
        file = config.source if config.dev is None else config.dev
        raise ConfigError(f"{file}: its questions have no answers to choose a rate by; give answers, or one rate")


def learnt_questions(parts: Parts, split: str) -> int:
    """How many questions of a split are, by their uid, among those that a model which answers them has learnt from."""
    found = 0
    for learnt, asked in zip(parts.train, parts.asked[split], strict=True):
        uids = {parts.examples[index].question.uid for index in learnt}
        found += sum(parts.examples[index].question.uid in uids for index in asked)
    return found


def folds_of(contexts: Sequence[Context], folds: int) -> np.ndarray:
    """The fold of each context; contexts that share a long paragraph are in the same fold.

    Example:
        >>> from numerate_lab.tasks.tatqa.report_file import Context
        >>> both = (1, "A paragraph of more than sixty characters, which two contexts of one report share.")
        >>> contexts = [Context("", (("a",),), (both,) if index < 2 else (), ()) for index in range(6)]
        >>> found = folds_of(contexts, 3).tolist()
        >>> found[0] == found[1], sorted(np.bincount(found).tolist())
        (True, [2, 2, 2])
    """
    leader = list(range(len(contexts)))

    def first(index: int) -> int:
        while leader[index] != index:
            leader[index] = index = leader[leader[index]]
        return index

    seen: dict[str, int] = {}
    for index, context in enumerate(contexts):
        for _, text in context.paragraphs:
            if len(text) >= _LONG:
                leader[first(index)] = first(seen.setdefault(" ".join(text.split()), index))
    groups: dict[int, list[int]] = {}
    for index in range(len(contexts)):
        groups.setdefault(first(index), []).append(index)
    order = list(groups.values())
    random.Random(_FOLD_SEED).shuffle(order)  # noqa: S311 (no secret)
    found, sizes = np.zeros(len(contexts), dtype=np.int64), [0] * folds
    for group in sorted(order, key=len, reverse=True):
        smallest = sizes.index(min(sizes))
        found[group] = smallest
        sizes[smallest] += len(group)
    return found


def parts_of(config: TatqaTrial) -> Parts:
    """The examples and folds of a trial, read once per process."""
    return _parts(config.source, config.dev, config.test, config.folds, config.most, config.trying)


@functools.lru_cache(maxsize=4)
def _parts(source: str, dev: str | None, test: str | None, folds: int, most: int | None, trying: bool) -> Parts:
    files = [source, *(file for file in (dev, test) if file is not None)]
    loaded = [list(read_contexts(file))[:most] for file in files]
    contexts = [context for part in loaded for context in part]
    examples = examples_of(contexts)
    clusters = np.array([one.context for one in examples])
    begin = np.cumsum([0, *map(len, loaded)])
    fold = folds_of(loaded[0], folds) if test is None else np.arange(len(loaded[0])) % _DEV_SHARE
    if test is None and len(loaded[0]) < folds:
        raise ConfigError(f"{source}: {len(loaded[0])} contexts are too few for {folds} folds; give fewer folds")

    def rows(chosen: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.isin(clusters, chosen))

    every = np.arange(len(loaded[0]))
    if test is not None:
        tested = rows(np.arange(begin[-2], begin[-1]))
        held = rows(np.arange(begin[1], begin[2])) if dev is not None else rows(every[fold == 0])
        learnt = rows(every[fold > 0] if dev is None and trying else every)
        train, asked = (learnt,), {"dev": (held,), "test": (tested,)}
    elif trying:
        train, asked = (rows(every[fold > 1]),), {"dev": (rows(every[fold == 1]),), "test": (rows(every[fold == 0]),)}
    else:
        train = tuple(rows(every[fold != one]) for one in range(folds))
        asked = {"test": tuple(rows(every[fold == one]) for one in range(folds))}
    by_split = {split: np.sort(np.concatenate(parts)) for split, parts in asked.items()}
    return Parts(examples, clusters, train, asked, by_split)
