"""`generate`: continues prompts in words and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from numerate.modeling.generation.rows import GeneratedNumber
from numerate.modeling.generation.search import beam_search, token_search
from numerate.modeling.generation.state import GenerationOptions, GenerationState
from numerate.modeling.generation.stepping import check_can_generate
from numerate.modeling.introspection import evaluating

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.modeling.number_model import NumberModel

__all__ = ["Generation", "generate"]


@dataclass(frozen=True)
class Generation:
    """Generated texts, one entry for each prompt.

    Attributes:
        texts: The text after each prompt (an encoder-decoder's whole answer), with numbers written out.
        numbers: The numbers in it, with the distributions they were taken from.
        ids: The new token ids, including the end of the text.
        scores: The sum of their log-probabilities.
    """

    texts: list[str]
    numbers: list[list[GeneratedNumber]]
    ids: list[list[int]]
    scores: list[float]

    @property
    def values(self) -> list[list[float]]:
        """The numbers' values."""
        return [[number.value for number in row] for row in self.numbers]


@torch.no_grad()
def generate(
    model: NumberModel,
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
    """Continues prompts in words and numbers, in evaluation mode.

    At [NUM], the head predicts the number: it is written out in the text, and the model reads it back as written. With
    a notation that has tokens for digits, only tokens are allowed that lead to a complete number. (A number that a
    model writes in ordinary subwords gets no number vector: it is not complete before its last subword.)

    Args:
        model: A model of a causal or encoder-decoder language model.
        prompts: One text or more; the encoder's input for an encoder-decoder.
        max_new_tokens: The largest number of new tokens; a number that has begun is completed even if it takes more.
        do_sample: Sample the tokens (and by default the numbers), instead of taking the most probable.
        temperature: Sampling temperature.
        top_k: Sample among this many most probable tokens.
        top_p: Sample among the fewest most probable tokens that have this probability together.
        num_beams: Number of beams. A number counts with the probability of its [NUM]: the density of a number cannot be
            compared with the probability of a word.
        length_penalty: Beams are compared by score / length ** length_penalty.
        number: What is taken from the head's distribution; by default the median, or a sample with `do_sample`.
        significant_digits: How many digits a predicted number is written with.
        bounds: The smallest and largest value of a predicted number.
        generator: Random generator for sampling, on the model's device.
        use_cache: Whether to use the backbone's key-value cache; otherwise all tokens are read again at each step.
    """
    check_can_generate(model)
    options = GenerationOptions(
        max_new_tokens=max_new_tokens, do_sample=do_sample, temperature=temperature, top_k=top_k, top_p=top_p,
        num_beams=num_beams, length_penalty=length_penalty, number=number or ("sample" if do_sample else "median"),
        digits=significant_digits, bounds=bounds, use_cache=use_cache,
    )  # fmt: skip
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    if not texts or max_new_tokens == 0:
        return Generation([""] * len(texts), [[] for _ in texts], [[] for _ in texts], [0.0] * len(texts))
    with evaluating(model):
        state = GenerationState(model, texts, options, generator)
        best = beam_search(state) if num_beams > 1 else token_search(state)
    written = [state.text_of(row) for row in best]
    if state.grammar.tells_numbers:
        numbers = [row.numbers for row in best]
    else:
        found = (model.processor.reader.find(text) for text in written)
        numbers = [[GeneratedNumber(numeral.text, numeral.value) for numeral in numerals] for numerals in found]
    return Generation(written, numbers, [row.ids for row in best], [row.score for row in best])
