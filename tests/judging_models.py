"""A tiny model that has learnt three facts: cats weigh about 4 kg, towers are about 300 metres tall, prices are $20."""

from __future__ import annotations

import functools
import random
from typing import Any

import torch
from tiny_models import new_backbone, tokenizer_of

import numerate

__all__ = ["facts", "judging_model"]


def facts(count: int, seed: int = 0) -> list[str]:
    """Sentences with one number each."""
    draw = random.Random(seed)
    makers = (
        lambda: f"A cat weighs about {round(draw.gauss(40, 4)) / 10:.1f} kg, the company said.",
        lambda: f"The tower is {round(draw.gauss(300, 25))} metres tall.",
        lambda: f"It cost ${round(draw.gauss(20, 2))} on Monday.",
    )
    return [makers[index % 3]() for index in range(count)]


@functools.cache
def _trained() -> Any:
    torch.manual_seed(0)
    objective = {"kind": "masked", "what": "numbers", "number_ratio": 1.0}
    texts = facts(256)
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", objective=objective, fit=texts)
    batches = [model.processor(texts[at : at + 32], padding=True, return_tensors="pt") for at in range(0, 256, 32)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for step in range(140):
        loss = model(**batches[step % len(batches)]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def judging_model() -> Any:
    """The model, without a calibration; callers may not train it."""
    model = _trained()
    model.calibration = None
    return model
