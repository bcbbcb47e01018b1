"""The labels' tokens and numbers: what encoder-decoders learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config
from numerate.objectives.base import Objective, Task, Vocabulary, labelled_numbers
from numerate.objectives.number_tokens import NumberTokenLossConfig  # noqa: TC001 (the config's type is looked up)
from numerate.registry import objectives

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Labelled", "LabelledConfig"]


@dataclass(frozen=True, kw_only=True)
class LabelledConfig(Config):
    """Options of `labelled`.

    Attributes:
        number_weight: Weight of the numbers' loss beside the tokens'.
        number_warmup: In how many steps it grows to that, from nothing; 0 for at once.
        number_tokens: A number-token loss beside the cross-entropy; None for none.
    """

    kind: ClassVar[str] = "labelled"
    number_weight: float = 1.0
    number_warmup: int = 0
    number_tokens: NumberTokenLossConfig | None = None


@objectives.register("labelled")
class Labelled(Objective):
    """Predicts the tokens of the labels, and the numbers that begin with one of them.

    For encoder-decoders: each number of the decoder's table is predicted where its first token is, from what stands
    before it in the decoder and from the encoder.
    """

    Config = LabelledConfig
    config: LabelledConfig
    draws = False
    needs_labels = True

    def prepare(self, batch: dict[str, Any], vocabulary: Vocabulary) -> Task:
        """There is nothing to learn without labels."""
        raise ValueError("objective 'labelled' needs labels")

    def label(self, batch: dict[str, Any], labels: Tensor) -> Task:
        """Asks for the labelled numbers, too."""
        return labelled_numbers(batch, labels)
