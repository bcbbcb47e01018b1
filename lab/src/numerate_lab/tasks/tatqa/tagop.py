"""TagOp: an encoder with heads for tags, operator, scale and the order of operands, and its training."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from numerate.modeling.introspection import evaluating
from numerate.training.learning_rates import number_rate
from numerate_lab.tasks.finetuning.compiled_layers import compile_layers
from numerate_lab.tasks.finetuning.recorded_steps import RecordedSteps, learn, rated_optimizer
from numerate_lab.tasks.tatqa.operators import OPERATORS
from numerate_lab.tasks.tatqa.question_rows import TABLE, TEXT
from numerate_lab.tasks.tatqa.report_file import SCALES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.tatqa.question_rows import Rows

__all__ = ["Predicted", "TagOp", "fit", "predict"]

_LENGTHS = 64
"""Recorded steps have lengths that are multiples of this, so that there are few sizes."""
_GROUP = 8
"""Batches whose questions are sorted by length together, so that little padding is computed."""


def _head(width: int, classes: int, dropout: float, inputs: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Dropout(dropout), nn.Linear(inputs * width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, classes)
    )


class TagOp(nn.Module):
    """Tags the units of a context, and chooses an operator and a scale.

    Args:
        numbers: The encoder.
        dropout: Before each head.

    Shape:
        Batches are those of `Rows.batch`: B questions of T tokens, with at most U units.
    """

    def __init__(self, numbers: NumberModel, dropout: float = 0.1) -> None:
        super().__init__()
        self.numbers = numbers
        width = numbers.info.hidden_dim
        self.tag = _head(width, 2, dropout)
        self.operator = _head(width, len(OPERATORS), dropout)
        self.scale = _head(width, len(SCALES), dropout, 3)
        self.order = _head(width, 2, dropout, 2)  # both operands, one after the other: their mean has no order

    def states(self, fields: dict[str, Tensor]) -> Tensor:
        """Last hidden states (B, T, hidden)."""
        output: Any = self.numbers(**fields, return_loss=False)
        return output.last_hidden_state

    def loss(self, batch: dict[str, Any]) -> Tensor:
        """Mean over questions of the cross-entropies of operator, scale, order, and of all tags of tokens, summed."""
        states = self.states(batch["fields"])
        count = len(states)
        tags = functional.cross_entropy(
            self.tag(states).float().flatten(0, 1), batch["tags"].flatten(), ignore_index=-100, reduction="sum"
        )
        operator, scale = self._classes(states, batch["part"])
        order = self.order(_operands(states, batch["unit"], batch["pair"])).float()
        for logits, wanted in ((operator, "operator"), (scale, "scale"), (order, "turned")):
            tags = tags + functional.cross_entropy(logits, batch[wanted], ignore_index=-100, reduction="sum")
        return tags / count

    def _classes(self, states: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of operator and scale."""
        first = states[:, 0]
        means = [_mean(states, part == which) for which in (TABLE, TEXT)]
        return self.operator(first).float(), self.scale(torch.cat([first, *means], dim=-1)).float()

    def forward(self, batch: dict[str, Any]) -> Predicted:
        """Predictions for a batch."""
        states = self.states(batch["fields"])
        likely = self.tag(states).float().softmax(-1)[..., 1]
        shape = len(states), batch["numeric"].shape[1] + 1
        # A unit is as likely as the likeliest of its tokens.
        scores = likely.new_zeros(shape).scatter_reduce(1, batch["unit"], likely, "amax")[:, 1:]
        counted = torch.where(batch["numeric"], scores, -1.0)
        best = counted.topk(min(2, counted.shape[1]), dim=1)
        pair = torch.where(best.values >= 0, best.indices + 1, 0)
        pair = functional.pad(pair, (0, 2 - pair.shape[1])).sort(dim=1).values
        turned = self.order(_operands(states, batch["unit"], pair)).float().argmax(-1) == 1
        operator, scale = self._classes(states, batch["part"])
        return Predicted(scores, operator.argmax(-1), scale.argmax(-1), pair, turned)

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters that are trained, and of all."""
        counts = [(weight.numel(), weight.requires_grad) for weight in self.parameters()]
        return sum(n for n, trained in counts if trained), sum(n for n, _ in counts)

    def save_pretrained(self, folder: str | Path, backbone: bool | None = True) -> None:
        """Writes the encoder as a `NumberModel`, and the heads in `tagop.safetensors`."""
        self.numbers.save_pretrained(folder, backbone=backbone)
        heads = {key: value.contiguous() for key, value in self.state_dict().items() if not key.startswith("numbers.")}
        save_file(heads, Path(folder) / "tagop.safetensors")


class Predicted(NamedTuple):
    """What a model says of B questions.

    Attributes:
        scores: (B, U) the probability that a unit is tagged; 0 for units that are not shown.
        operator: (B,) int64.
        scale: (B,) int64.
        pair: (B, 2) the likeliest units with a number, in reading order, counted from 1; 0 for none.
        turned: (B,) bool.
    """

    scores: Tensor
    operator: Tensor
    scale: Tensor
    pair: Tensor
    turned: Tensor


def _mean(states: Tensor, chosen: Tensor) -> Tensor:
    """The mean state of chosen tokens (B, T): (B, hidden), 0 for none."""
    weights = chosen.to(states.dtype)
    return torch.einsum("bt,bth->bh", weights, states) / weights.sum(1, keepdim=True).clamp_min(1)


def _operands(states: Tensor, unit: Tensor, pair: Tensor) -> Tensor:
    """Mean states of two units (B, 2), one behind the other: (B, 2 hidden)."""
    return torch.cat([_mean(states, (unit == pair[:, k, None]) & (unit > 0)) for k in (0, 1)], dim=-1)


def fit(model: TagOp, rows: Rows, index: np.ndarray, config: Any, lengths: np.ndarray) -> dict[str, Any]:
    """Trains on the rows of `index` that have labels: `steps`, `losses` by epoch, and `seconds`.

    Batches are drawn anew in each epoch, of questions of similar `lengths`, which are the same for all encodings: so
    are the batches.
    """
    begin = time.perf_counter()
    device = model.numbers.device
    index = index[(rows.operator[torch.from_numpy(index).to(rows.operator.device)] >= 0).cpu().numpy()]
    steps = config.epochs * math.ceil(len(index) / config.batch)
    recorded = config.recorded and device.type == "cuda"
    optimizer, schedule = rated_optimizer(
        model.named_parameters(), backbone="numbers.backbone.", rate=config.rate,
        new_rate=number_rate(config.rate, config.head_rate), weight_decay=config.weight_decay, warmup=config.warmup,
        steps=steps, recorded=recorded,
    )  # fmt: skip
    if config.compiled and device.type == "cuda":
        compile_layers(model.numbers.backbone)
    bf16 = config.bf16 and device.type == "cuda"

    def step(size: tuple[int, int, int], chosen: Tensor) -> Tensor:
        return learn(lambda: model.loss(rows.take(chosen, *size[1:])), optimizer, config.clip, bf16, device)

    run = RecordedSteps(step, enabled=recorded)
    draws, losses, done = np.random.default_rng(config.seed), [], 0
    model.train()
    for _ in range(config.epochs):
        total = torch.zeros((), device=device)
        for part in _batches(index, lengths, config.batch, draws):
            size = rows.sizes(part)
            if recorded:
                size = _few_sizes(rows, size[0])
            total += run((len(part), *size), rows.places(part)) * len(part)
            schedule.step()
            done += 1
        losses.append(total / max(1, len(index)))
    model.eval()
    found = [round(float(loss), 4) for loss in losses]
    if not all(map(math.isfinite, found)):
        raise FloatingPointError(f"the loss is not finite ({found[-1]}): give a smaller rate than {config.rate:g}")
    return {"steps": done, "losses": found, "questions": len(index), "seconds": round(time.perf_counter() - begin, 2)}


def _few_sizes(rows: Rows, length: int) -> tuple[int, int]:
    """A length that is one of few, and the most numbers of all rows up to it: each length is recorded once."""
    length = -(-length // _LENGTHS) * _LENGTHS
    return length, int(rows.numbers[rows.tokens <= length].max(initial=0))


def _batches(index: np.ndarray, lengths: np.ndarray, size: int, draws: np.random.Generator) -> Iterator[np.ndarray]:
    drawn = draws.permutation(index)
    groups = [drawn[start : start + _GROUP * size] for start in range(0, len(drawn), _GROUP * size)]
    ordered = [group[np.argsort(lengths[group], kind="stable")] for group in groups]
    found = [group[start : start + size] for group in ordered for start in range(0, len(group), size)]
    return (found[place] for place in draws.permutation(len(found)))


def predict(model: TagOp, rows: Rows, index: np.ndarray, size: int) -> list[Predicted]:
    """Predictions for the rows of `index`, in that order, on the CPU; in batches of `size`, in float32."""
    found = []
    with evaluating(model), torch.no_grad(), torch.compiler.set_stance("force_eager"):
        for start in range(0, len(index), size):
            made = model(rows.batch(index[start : start + size]))
            found.append(Predicted(*(column.cpu() for column in made)))
    return found
