"""Numbers before texts: an embedder learns what its numbers are worth, before a model reads with it.

An embedder that spells (LUNA's character LSTM) starts without an idea of size, and masked numbers of a text teach it
slowly: it has first to say something before the model can learn to listen. LUNA asks such embedders for sizes only to
probe them (its Table 2). Here they are taught by it: one linear map has to find a number's sign, its order of magnitude
and where between two powers of ten it lies in the vector. The map is thrown away.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.batch import NumberTable
from numerate.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.embedders.base import Embedder

__all__ = ["lessons", "made_up_numbers", "school"]

PERIODS = (16, 8, 4, 2, 1)
"""Of the waves along log10 |x|: each halves what is still open, down to the place within a power of ten."""
_TINY = 1e-7
"""Added to sizes, as LUNA does, so that 0 has a logarithm."""


def lessons(values: Tensor) -> Tensor:
    """What is asked of float64 values (N,): size, sign, and waves along the size: (N, 2 + 2 * 5) float32.

    Example:
        >>> lessons(torch.tensor([-100.0], dtype=torch.float64))[0, :4]
        tensor([ 0.5000, -1.0000,  0.7071,  0.7071])
    """
    size = (values.abs() + _TINY).log10()
    angles = 2 * math.pi * size[:, None] / torch.tensor(PERIODS, dtype=torch.float64, device=values.device)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return torch.cat([size[:, None] / 4, values.sign()[:, None], waves], dim=1).float()


def made_up_numbers(count: int, seed: int) -> NumberTable:
    """Numerals of 1 to 7 digits with a point anywhere, some with commas, some negative, so that all sizes are met.

    Example:
        >>> made_up_numbers(3, seed=0).values().tolist() == made_up_numbers(3, seed=0).values().tolist()
        True
    """
    draw = np.random.default_rng(seed)
    numerals = []
    for _ in range(count):
        digits = "".join(map(str, draw.integers(0, 10, draw.integers(1, 8))))
        point = int(draw.integers(0, len(digits) + 1))
        whole, fraction = int(digits[:point] or 0), digits[point:]
        written = f"{whole:,}" if draw.random() < 0.3 else str(whole)
        text = ("-" if draw.random() < 0.1 else "") + written + (f".{fraction}" if fraction else "")
        numerals.append(Numeral(text, 0, len(text), float(text.replace(",", ""))))
    return NumberTable.of_numerals(numerals)


def school(embedder: Embedder, numbers: NumberTable, *, steps: int = 800, rate: float = 3e-3, seed: int = 0) -> float:
    """Teaches an embedder its numbers' values, in place.

    Args:
        embedder: One with weights; it stays on its device.
        numbers: A flat table of the numbers of the training texts. Two thirds of every batch are drawn from it, one
            third is made up.
        steps: Of 192 numbers.
        rate: Highest learning rate.
        seed: Of all that is drawn.

    Returns:
        The mean squared error of the last steps; guessing the mean gives about 0.5.

    Example:
        >>> from numerate.registry import embedders
        >>> spelling = embedders["char-lstm"].build(dim=8, size="0.1M")
        >>> school(spelling, NumberTable.of_values([1.0, 20.0, 300.0]), steps=3) > 0
        True
    """
    if not any(weight.requires_grad for weight in embedder.parameters()):
        raise ValueError(f"{embedder.config.kind} has no weights to teach: leave the schooling out")
    usable = numbers[numbers.values().isfinite()]
    if steps < 1 or not len(usable):
        raise ValueError(f"schooling needs steps and numbers, however: {steps=}, {len(usable)} numbers")
    device = next(embedder.parameters()).device
    with torch.random.fork_rng():  # whoever trains after this draws what it would have drawn without
        torch.manual_seed(seed)
        found = nn.Linear(embedder.width, 2 + 2 * len(PERIODS)).to(device)
    # A loop and not the Trainer: in a run of several processes, each fits its parts by itself, in turn.
    optimizer = torch.optim.Adam([*embedder.parameters(), *found.parameters()], lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=max(2, steps), pct_start=0.1)
    errors: list[Tensor] = []
    for step in range(steps):
        drawn = torch.randint(len(usable), (128,), generator=torch.Generator().manual_seed(seed + step))
        batch = _together(usable[drawn.to(usable.bits.device)].to(device), made_up_numbers(64, seed + step).to(device))
        vectors = embedder(batch).to(found.weight.dtype)
        error = (found(vectors) - lessons(batch.values())).square().mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        schedule.step()
        errors.append(error.detach())
    return float(torch.stack(errors[-20:]).mean())


def _together(*parts: NumberTable) -> NumberTable:
    """Flat tables one after the other; characters are padded to the longest."""
    return NumberTable(*(_joined([getattr(part, field.name) for part in parts]) for field in fields(NumberTable)))


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """Columns one after the other; characters (N, L) are padded to the longest."""
    if parts[0].dim() == 1:
        return torch.cat(list(parts))
    length = max(part.shape[1] for part in parts)
    return torch.cat([functional.pad(part, (0, length - part.shape[1])) for part in parts])
