"""`generate`: continues prompts in words and numbers."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from numerate.modeling.asking import text_list
from numerate.modeling.generation.rows import GeneratedNumber
from numerate.modeling.generation.search import beam_search, token_search
from numerate.modeling.generation.state import GenerationOptions, GenerationState
from numerate.modeling.generation.stepping import check_can_generate
from numerate.modeling.introspection import evaluating
from numerate.registry import near_names

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
    generator: torch.Generator | None = None,
    **options: Any,
) -> Generation:
    """Continues prompts in words and numbers, in evaluation mode.

    At [NUM], the head predicts the number: it is written out in the text, and the model reads it back as written. With
    a notation that has tokens for digits, only tokens are allowed that lead to a complete number. (A number that a
    model writes in ordinary subwords gets no number vector: it is not complete before its last subword.)

    Args:
        model: A model of a causal or encoder-decoder language model.
        prompts: One text or more; the encoder's input for an encoder-decoder.
        max_new_tokens: The largest number of new tokens; a number that has begun is completed even if it takes more.
        generator: Random generator for sampling, on the model's device.
        **options: The fields of `GenerationOptions`: `do_sample`, `temperature`, `top_k`, `top_p`, `num_beams`,
            `length_penalty`, `number`, `significant_digits`, `bounds`, `use_cache`.
    """
    check_can_generate(model)
    known = [field.name for field in dataclasses.fields(GenerationOptions)]
    if unknown := [name for name in options if name not in known]:
        hint = near_names(unknown[0], [*known, "generator"])
        raise TypeError(f"generate: unknown option {unknown[0]}={options[unknown[0]]!r:.60}: {hint}")
    chosen = GenerationOptions(max_new_tokens=max_new_tokens, **options)
    texts = text_list(prompts, "generate", Mapping)
    if not texts or max_new_tokens == 0:
        return Generation([""] * len(texts), [[] for _ in texts], [[] for _ in texts], [0.0] * len(texts))
    if model.info.pads_left or len(texts) == 1:
        return _generated(model, texts, chosen, generator)
    groups: dict[int, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        example = model.processor(text) if isinstance(text, str) else text
        groups[len(example["input_ids"])].append(index)
    parts = [_generated(model, [texts[index] for index in group], chosen, generator) for group in groups.values()]
    place = {index: at for at, index in enumerate(index for group in groups.values() for index in group)}
    columns = ([row for part in parts for row in getattr(part, field.name)] for field in dataclasses.fields(Generation))
    return Generation(*([column[place[index]] for index in range(len(texts))] for column in columns))


def _generated(
    model: NumberModel, texts: list[str], options: GenerationOptions, generator: torch.Generator | None
) -> Generation:
    """Continues prompts that are padded to one batch."""
    with evaluating(model):
        state = GenerationState(model, texts, options, generator)
        best = beam_search(state) if options.num_beams > 1 else token_search(state)
    written = [state.text_of(row) for row in best]
    if state.grammar.tells_numbers:
        numbers = [row.numbers for row in best]
    else:
        found = (model.processor.reader.find(text) for text in written)
        numbers = [[GeneratedNumber(numeral.text, numeral.value) for numeral in numerals] for numerals in found]
    return Generation(written, numbers, [row.ids for row in best], [row.score for row in best])
