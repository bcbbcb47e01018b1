"""Objective `labelled`: predicts the tokens and numbers of the labels, for encoder-decoders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.objectives.base import Objective, ObjectiveConfig, Task, Vocabulary, labelled_numbers
from numerate.registry import objectives

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Labelled", "LabelledConfig"]


@dataclass(frozen=True, kw_only=True)
class LabelledConfig(ObjectiveConfig):
    """Options of `labelled`: those of every objective."""

    kind: ClassVar[str] = "labelled"


@objectives.register("labelled")
class Labelled(Objective):
    """Predicts the tokens of the labels, and the numbers that start with one of them.

    In an encoder-decoder, each number of the decoder's table is predicted at its first token, from the encoder and the
    decoder tokens before it.
    """

    Config = LabelledConfig
    config: LabelledConfig
    draws = False
    needs_labels = True

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """Raises an error: this objective has no task without labels."""
        raise ValueError("objective 'labelled' needs labels in the batch, got none")

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Predicts the labelled tokens and their numbers."""
        return labelled_numbers(batch, labels)
