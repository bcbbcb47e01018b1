"""Analyses of a number encoding without training, and a baseline without any language model.

xVal's Fig. 2 (how a number's embedding leaves the first layer norm), continuity from the number that goes in to the one
that comes out, and gradient boosting on the operands alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from numerate.modeling.introspection import evaluating
from numerate.processing.slot_positions import first_tokens
from numerate_lab.tasks.asked_number.asked_number import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from numerate.metrics import Score
    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.arithmetic.problems import ArithmeticProblems, Samples

__all__ = ["Continuity", "EmbeddingCurve", "boosting_baseline", "continuity", "embedding_curve", "response"]

_BATCH = 256


@dataclass(frozen=True)
class EmbeddingCurve:
    """A number's vector behind the first layer norm, as the number changes.

    Attributes:
        values: (N,) float64, the numbers.
        vectors: (N, D) what leaves the norm at the number's token.
    """

    values: Tensor
    vectors: Tensor

    @property
    def norm(self) -> Tensor:
        """(N,) length of each vector."""
        return self.vectors.norm(dim=1)

    @property
    def cosine(self) -> Tensor:
        """(N,) cosine between each vector and the last one."""
        return torch.nn.functional.cosine_similarity(self.vectors, self.vectors[-1:], dim=1)

    @property
    def projection(self) -> Tensor:
        """(N,) place of each vector on the way from the first (0) to the last (1)."""
        way = self.vectors[-1] - self.vectors[0]
        return (self.vectors - self.vectors[0]) @ way / way.square().sum().clamp_min(1e-30)


@torch.no_grad()
def embedding_curve(
    model: NumberModel, values: Sequence[float], text: str = "{}", slot: int = 0, layer: nn.Module | None = None
) -> EmbeddingCurve:
    """How the embedding of a number leaves the first layer norm (xVal, Fig. 2).

    With xVal's encoding that is norm(x u + p): for large |x| the direction of u alone, so that values much larger than
    |p| / |u| can hardly be told apart, nor values much smaller from 0.

    Args:
        model: An attached model whose notation has a slot for numbers.
        values: The numbers.
        text: A text with `{}` where they stand.
        slot: Which of the text's numbers that is.
        layer: The layer to listen to; by default the backbone's norm that is the first to run.
    """
    found: list[Tensor] = []
    norms = [layer] if layer is not None else [m for m in model.backbone.modules() if type(m).__name__.endswith("Norm")]
    if not norms:
        raise ValueError(f"{type(model.backbone).__name__} has no layer norm: pass layer=")
    current: list[Tensor] = []

    def listen(module: nn.Module, inputs: Any, output: Tensor) -> None:
        if not current:
            current.append(output)

    handles = [norm.register_forward_hook(listen) for norm in norms]
    try:
        with evaluating(model):
            for start in range(0, len(values), _BATCH):
                texts = [text.format(_written(value)) for value in values[start : start + _BATCH]]
                batch = model.processor(texts, padding=True, return_tensors="pt").to(model.device)
                current.clear()
                model(**batch, return_loss=False)
                slots: Tensor = batch["number_slots"]
                tokens = first_tokens(slots, max(int(slots.max()), slot + 1))[:, slot]
                if bool((tokens == slots.shape[1]).any()):
                    raise ValueError(
                        f"no slot to number {slot} of {texts[0][:60]!r}: see the model's notation and reader"
                    )
                found.append(current[0][torch.arange(len(texts), device=tokens.device), tokens].double().cpu())
    finally:
        for handle in handles:
            handle.remove()
    return EmbeddingCurve(torch.tensor(list(values), dtype=torch.float64), torch.cat(found))


def response(model: Any, text: str, values: Sequence[float], estimate: str = "median") -> Tensor:
    """What a model answers as one number of its text changes: (N,) float64, in the units of its head.

    Args:
        model: An attached model with a head.
        text: With `{}` where the number stands and `[NUM]` where one is asked for: `"{} * 3.5 = [NUM]"`.
        values: The numbers.
        estimate: What is taken of the distribution: `median`, `mean` or `mode`.
    """
    if "{}" not in text or text.count("[NUM]") != 1:
        raise ValueError(f"text needs {{}} for the number given and one [NUM] for the one asked, got {text!r}")
    texts = [text.format(_written(value)) for value in values]
    parts = [model.predict(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
    return torch.cat([getattr(part, estimate)().double().cpu() for part in parts])


@dataclass(frozen=True)
class Continuity:
    """How the answer follows the number, by differences.

    Attributes:
        values: (N,) evenly spaced numbers.
        answers: (N,) what the model answers.
        largest_step: The largest difference of two neighbours' answers,
        halving: and its ratio to the largest one on a grid twice as wide: 1/2 where the answer follows smoothly, 1
            where it jumps; NaN where it does not change at all.
    """

    values: Tensor
    answers: Tensor
    largest_step: float
    halving: float

    @property
    def slopes(self) -> Tensor:
        """(N - 1,) finite differences."""
        return self.answers.diff() / self.values.diff()


def continuity(
    model: Any, text: str, low: float, high: float, points: int = 65, estimate: str = "median"
) -> Continuity:
    """Whether a model's answer is continuous in a number of its text, from end to end.

    Args:
        model: An attached model with a head, or whatever has its `predict`.
        text: See `response`.
        low: The first number,
        high: and the last.
        points: How many, an odd number: every other makes the grid twice as wide.
        estimate: See `response`.
    """
    if points < 3 or points % 2 == 0 or not low < high:
        raise ValueError(f"an odd number of points, at least 3, from low to high, got {points=}, {low=}, {high=}")
    values = torch.linspace(low, high, points, dtype=torch.float64)
    answers = response(model, text, values.tolist(), estimate)
    fine, wide = (float(answers[::step].diff().abs().max()) for step in (1, 2))
    return Continuity(values, answers, fine, fine / wide if wide > 0 else float("nan"))


def boosting_baseline(
    task: ArithmeticProblems, train: int = 20_000, test: int = 5_000, seed: int = 0, split: str = "test", **options: Any
) -> dict[str, Score]:
    """What gradient-boosted trees make of operands and operation, by the task's own measures.

    Args:
        task: The exercise; of trees, only the operands are known.
        train: How many exercises they learn from,
        test: and how many they are measured on.
        seed: Of the exercises and of the trees.
        split: What they are measured on.
        **options: More of scikit-learn's `HistGradientBoostingRegressor`.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise ImportError('the boosting baseline needs scikit-learn: pip install "numerate[eval]"') from None
    learnt = task.samples("train", train, seed)
    booster = HistGradientBoostingRegressor(random_state=seed, **options)
    booster.fit(_features(task, learnt), learnt.values)
    predicted = booster.predict(_features(task, task.samples(split, test, seed)))
    return measure(np.asarray(predicted), task.truth(split, test, seed))


def _features(task: ArithmeticProblems, samples: Samples) -> np.ndarray:
    """(N, K + 1): operands, NaN where there is none, and which operation it is."""
    kinds = [*task.config.operations, "tree"]
    return np.column_stack([samples.operands, [kinds.index(name) for name in samples.operations.tolist()]])


def _written(value: float) -> str:
    """The shortest decimal that is this float64, without an exponent."""
    return np.format_float_positional(value, trim="-")
