"""The probing models of DICE (2020) as LUNA uses them, on the vectors of any embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate_lab.tasks.probes.probe_examples import EXPONENTS

if TYPE_CHECKING:
    from numerate.embedders.base import Embedder
    from numerate.processing.number_table import NumberTable

__all__ = ["KINDS", "Probes"]

KINDS = ("decoding", "addition", "subtraction")
"""Questions whose answer is a number."""


class _Perceptrons(nn.Module):
    """Several networks with one hidden layer on one input, computed as one: the hidden layers stand side by side.

    Shape: (N, columns) to one (N, width) for each width.
    """

    def __init__(self, columns: int, hidden: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.hidden = hidden
        self.first = nn.Linear(columns, hidden * len(widths))
        self.second = nn.ModuleList(nn.Linear(hidden, width) for width in widths)

    def forward(self, inputs: Tensor) -> list[Tensor]:
        parts = self.first(inputs).relu().split(self.hidden, dim=-1)
        return [layer(part) for layer, part in zip(self.second, parts, strict=True)]


class Probes(nn.Module):
    """Probes of number vectors: what number it is, sum and difference of two, the largest of a list.

    Each answer has a network of its own with one hidden layer: `hidden` units for a number, twice as many for a pair,
    whose vectors are concatenated. A list goes through a bidirectional LSTM; the mean of its last two states goes
    through a network with one hidden layer that says the place of the largest.

    With `scientific`, an answer is a significand and the logits of the exponents in `EXPONENTS`, as in LUNA; without,
    it is one number, as in Wallace et al. (2019), in units of `scale` around `centre`.

    Args:
        embedder: Gives the vectors; None if vectors are given.
        dim: Size of the vectors.
        hidden: Hidden units.
        length: Numbers of a list.
        scientific: Whether answers are significands and exponents.
    """

    def __init__(self, embedder: Embedder | None, dim: int, hidden: int, length: int, scientific: bool = True) -> None:
        super().__init__()
        self.embedder, self.scientific = embedder, scientific
        widths = (1, EXPONENTS[1] - EXPONENTS[0] + 1) if scientific else (1,)
        self.single = _Perceptrons(dim, hidden, widths)
        self.pair = _Perceptrons(2 * dim, 2 * hidden, widths * 2)
        self.order = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.place = _Perceptrons(hidden, hidden, (length,))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.single.first.weight.device

    def trainable_parameters(self) -> tuple[int, int]:
        """How many parameters are trained, and how many there are."""
        sizes = [(weight.numel(), weight.requires_grad) for weight in self.parameters()]
        return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)

    def save_pretrained(self, folder: Any, **options: Any) -> None:
        """Writes the weights of probes and embedder as safetensors, and the embedder's config."""
        from numerate_lab.tasks.finetuning.probed_embedder import save_probes

        del options
        save_probes(self, self.embedder, folder)

    def vectors(self, numbers: NumberTable) -> Tensor:
        """The vectors of a flat table of numbers: (N, dim)."""
        assert self.embedder is not None, "vectors of a pretrained model are computed beforehand"  # noqa: S101
        return self.embedder(numbers)

    def forward(self, singles: Tensor, pairs: Tensor, lists: Tensor) -> dict[str, list[Tensor]]:
        """The answers from vectors: (N, dim), (P, 2, dim), (L, K, dim).

        Returns:
            By kind, [(N,) significands, (N, exponents) logits], or [(N,) numbers]; by `maximum`, [(L, K) logits].
        """
        answers = [*self.single(singles), *self.pair(pairs.flatten(1))]
        each = len(answers) // len(KINDS)
        found = {
            kind: [answers[place * each][:, 0], *answers[place * each + 1 : (place + 1) * each]]
            for place, kind in enumerate(KINDS)
        }
        last = self.order(lists)[1][0].mean(0)
        return found | {"maximum": self.place(last)}
