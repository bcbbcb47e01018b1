"""`generate`: goes on from prompts, in words and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from numerate.modeling.generation.rows import SaidNumber
from numerate.modeling.generation.search import by_beams, by_tokens
from numerate.modeling.generation.state import Plan, Speaker, Speech

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.processing.processor import NumberProcessor

__all__ = ["Generation", "generate"]


@dataclass(frozen=True)
class Generation:
    """What was generated, one entry a prompt.

    Attributes:
        texts: What follows each prompt (an encoder-decoder's whole answer), numbers written out.
        numbers: The numbers in it, with the distributions they were taken from.
        ids: The new tokens, the end of the text included.
        scores: The sum of their log-probabilities.
    """

    texts: list[str]
    numbers: list[list[SaidNumber]]
    ids: list[list[int]]
    scores: list[float]

    @property
    def values(self) -> list[list[float]]:
        """The numbers' values."""
        return [[number.value for number in row] for row in self.numbers]


@torch.no_grad()
def generate(
    model: Speaker,
    processor: NumberProcessor,
    prompts: str | Sequence[str],
    max_new_tokens: int = 64,
    *,
    do_sample: bool = False,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    num_beams: int = 1,
    length_penalty: float = 1.0,
    number: Literal["median", "mode", "mean", "sample"] | None = None,
    significant_digits: int = 6,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Generation:
    """Goes on from prompts, in words and numbers.

    Where [NUM] comes, the head gives its number: the text gets it written out, and the model reads it back, as written.
    In a notation with tokens of its own for digits, only tokens come that lead to a whole number. (The subwords of a
    number that a model writes without tokens of ours carry no number vector: it is whole only when they are all there.)

    Args:
        model: In evaluation mode; `NumberModel.generate` sees to that.
        processor: Its processor.
        prompts: One text or more; what an encoder-decoder's encoder reads.
        max_new_tokens: How many tokens come at most. A number that is begun is ended, be it with a few more.
        do_sample: Draw the tokens (and by default the numbers), instead of taking the most probable.
        temperature: For sampling; so are `top_k` and `top_p`, see `numerate.modeling.generation.sampling.warped`.
        top_k: See there.
        top_p: See there.
        num_beams: How many texts a prompt are followed, to find the most probable one. A number counts with its [NUM]
            there: densities of numbers cannot be set against probabilities of words.
        length_penalty: Beams are compared by score / length ** length_penalty.
        number: What is taken from the head's distribution; by default the median, or a sample with `do_sample`.
        significant_digits: How many digits a head's number is written with.
        bounds: What a head's number is held within.
        generator: For sampling; on the model's device.
        use_cache: Whether the backbone keeps what it has read; without, it reads all again for each token.
    """
    plan = Plan(
        max_new_tokens=max_new_tokens, do_sample=do_sample, temperature=temperature, top_k=top_k, top_p=top_p,
        num_beams=num_beams, length_penalty=length_penalty, number=number or ("sample" if do_sample else "median"),
        digits=significant_digits, bounds=bounds, use_cache=use_cache,
    )  # fmt: skip
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    if not texts or max_new_tokens == 0:
        return Generation([""] * len(texts), [[] for _ in texts], [[] for _ in texts], [0.0] * len(texts))
    speech = Speech(model, processor, texts, plan, generator)
    best = by_beams(speech) if num_beams > 1 else by_tokens(speech)
    written = [speech.text_of(row) for row in best]
    numbers = [row.numbers if speech.grammar.tells_numbers else _read(processor, text) for row, text in written]
    return Generation([text for _, text in written], numbers, [row.ids for row in best], [row.score for row in best])


def _read(processor: NumberProcessor, text: str) -> list[SaidNumber]:
    return [SaidNumber(numeral.text, numeral.value) for numeral in processor.reader.find(text)]
