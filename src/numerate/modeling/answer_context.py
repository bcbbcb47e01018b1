"""Predicted numbers in the units and in the style of the texts that ask for them."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

from numerate.heads.arguments import NumberContext
from numerate.heads.rescaled import RescaledDistribution
from numerate.notation.base import NUM
from numerate.numerals.style import shared_style
from numerate.processing.number_table import has_scale_elsewhere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel
    from numerate.numerals.numeral import Numeral
    from numerate.processing.processor import NumberProcessor

__all__ = ["in_context"]

_ASKED = re.compile(re.escape(NUM))
_NO_STYLE = frozenset(["date", "time", "version", "identifier", "year"])
"""Kinds of numeral that do not show how a text writes quantities."""


def in_context(
    model: NumberModel, numbers: NumberDistribution, index: Tensor, texts: Sequence[str], found: Sequence[Any]
) -> NumberDistribution:
    """Predicted numbers in the units and in the style of their texts.

    Args:
        model: The model.
        numbers: N distributions of the numbers that texts ask for, as the head predicts them (scaled or not).
        index: (N, 2) int64, the text and the place in its table of each number.
        texts: The texts, with a literal `[NUM]` for each number.
        found: The numerals in the table of each text, None for a number that is asked for.
    """
    processor = model.processor
    asked = [_asked_numerals(processor, text) for text in texts]
    keys, contexts = [], []
    for row, place in index.tolist():
        wanted = [at for at, numeral in enumerate(found[row]) if numeral is None]
        # A text that was cut has lost its last numbers, or the first ones.
        lost = len(asked[row]) - len(wanted) if processor.tokenizer.truncation_side == "left" else 0
        at = wanted.index(place) + lost
        own, others = asked[row][at] if at < len(asked[row]) else (None, [])
        keys.append(_key(processor, own))
        written = processor.written or (processor.scaling is None and processor.shows_scale)
        written = written or (own is not None and has_scale_elsewhere(own))
        power = own.power if own is not None and written else 0
        contexts.append(NumberContext(shared_style(numeral.style for numeral in others), power))
    if processor.scaling is not None:
        numbers = RescaledDistribution(numbers, processor.scaling, tuple(keys))
    return dataclasses.replace(numbers, contexts=tuple(contexts))


def _asked_numerals(processor: NumberProcessor, text: str) -> list[tuple[Numeral | None, list[Numeral]]]:
    """The numeral that the reader finds at each `[NUM]` if a digit stands there, and the given ones, nearest first."""
    places = [match.start() - (len(NUM) - 1) * at for at, match in enumerate(_ASKED.finditer(text))]
    numerals = processor.reader.find(_ASKED.sub("0", text))  # one digit for each [NUM]
    own = [next((each for each in numerals if each.start <= place < each.end), None) for place in places]
    given = [each for each in numerals if each not in own and each.kind not in _NO_STYLE]
    return [
        (each, sorted(given, key=lambda other: abs(other.start - place)))
        for each, place in zip(own, places, strict=True)
    ]


def _key(processor: NumberProcessor, numeral: Numeral | None) -> str:
    """The path or unit that names the scaler of a number."""
    if processor.scaling is None or numeral is None:
        return ""
    return numeral.path if processor.scaling.by == "path" else numeral.unit or ""
