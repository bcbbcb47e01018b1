"""Figures 3 to 6 of Spithourakis & Riedel (2018), and calibration plots, of trained models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from numerate import metrics
from numerate.report.first_digit_plots import first_digit_shares, first_digits
from numerate.report.number_lines import number_line
from numerate.report.reliability_plots import pit_histogram, reliability
from numerate.report.similarity_maps import cosine_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from numerate.modeling.number_model import NumberModel
    from numerate_lab.tasks.next_numeral.next_numeral import NextNumeral

__all__ = ["figures"]

CONTEXTS = 2000
"""Maximum number of test numbers for calibration, from a fifth as many texts."""


@torch.no_grad()
def figures(task: NextNumeral, models: Mapping[str, NumberModel]) -> dict[str, Figure]:
    """Figures by file name, from a trial on the corpus and trained models by name.

    `h-softmax` or `softmax` is needed for vectors of numerals, `d-rnn` for vectors of digits.
    """
    found: dict[str, Figure] = {}
    if words := models.get("h-softmax") or models.get("softmax"):
        found["numerals-cosine"] = _numerals(words)
    if "d-rnn" in models:
        head: Any = models["d-rnn"].head
        symbols = head.spelling.symbols.weight.detach()
        found["digits-cosine"] = cosine_map(symbols[:10], [*"0123456789"], "Digits of the d-rnn (Fig. 4)")
    shares = {}
    for name, model in models.items():
        texts = task.examples("test")[: CONTEXTS // 5]
        batch = model.processor(texts, padding=True, truncation=True, max_length=512, return_tensors="pt")
        predicted, numbers = model.numbers_of(dict(batch))
        predicted, numbers = predicted[:CONTEXTS], numbers[:CONTEXTS]
        gold = numbers.values()
        found[f"number-line-{name}"] = number_line(
            predicted, row=0, gold=float(gold[0]), low=0, high=max(2 * float(gold[0]), 20.0), title=f"{name} (Fig. 5)"
        )
        if name == "d-rnn":
            shares = {"test numbers from 1": first_digit_shares(gold[gold >= 1]), name: first_digit_shares(predicted)}
        if not predicted.is_written or hasattr(predicted, "chosen") or name == "mog":
            places = metrics.pit(predicted, gold, precision=numbers.precision.tolist())
            found[f"reliability-{name}"] = reliability(places, title=f"{name}, {task.config.source.split('/')[-1]}")
            found[f"pit-{name}"] = pit_histogram(places, title=name)
    if shares:
        found["first-digits"] = first_digits(shares, title="First significant digit (Fig. 6)")
    return found


def _numerals(model: NumberModel) -> Figure:
    """Cosines of the output vectors of whole numbers up to 100 in the vocabulary, or of its first 60 numerals."""
    head: Any = model.head
    texts = head.known.texts()
    vectors = head.out.weight.detach()[: len(texts)]
    small = [place for place, text in enumerate(texts) if text.isdigit() and int(text) <= 100]
    kept = (small or list(range(len(texts))))[:60]
    return cosine_map(vectors[kept], [texts[place] for place in kept], "Numerals of the vocabulary (Fig. 3)")
