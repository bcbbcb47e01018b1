"""`numerate generate`: prompts continued with words and numbers."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from numerate.cli.source import one_line_errors, read_texts
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.processing.scaling import Scaling

__all__ = ["continuations", "prompts_of"]

BATCH = 32


def prompts_of(prompt: tuple[str, ...], file: str | None) -> Iterable[str]:
    """Prompts given as arguments, or the lines of a file."""
    if bool(prompt) == (file is not None):
        raise BadInput("give either prompts or a file of prompts with --file")
    return prompt if file is None else read_texts(file)


def continuations(folder: str, prompts: Iterable[str], max_new_tokens: int, **options: Any) -> Iterator[dict[str, Any]]:
    """Continuations of a saved model: `prompt`, `text`, and `numbers` with values and 90 % intervals.

    Args:
        folder: A folder written by `save_pretrained`, or a Hub id.
        prompts: Texts; they are read in batches.
        max_new_tokens: Maximum number of new tokens.
        **options: Options of `numerate.modeling.generation.generate`.
    """
    from numerate.modeling.attaching import from_pretrained

    quiet_unless_terminal()
    with one_line_errors():
        model = from_pretrained(folder)
        waiting, scaling = iter(prompts), model.processor.scaling
        while some := list(islice(waiting, BATCH)):
            said = model.generate(some, max_new_tokens, **options)
            for prompt, text, numbers in zip(some, said.texts, said.numbers, strict=True):
                yield {"prompt": prompt, "text": text, "numbers": [_described(number, scaling) for number in numbers]}


def _described(number: Any, scaling: Scaling | None) -> dict[str, Any]:
    found: dict[str, Any] = {"text": number.text, "value": number.value}
    if number.distribution is not None:
        ends = [float(end[0]) for end in number.distribution.interval(0.9)]
        # The head predicts scaled numbers: back to the units of the text.
        found["interval_90"] = ends if scaling is None else scaling.invert(["", ""], ends).tolist()
    return found
