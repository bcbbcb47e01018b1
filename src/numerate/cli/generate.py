"""`numerate generate`: texts that go on in words and numbers."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from numerate.cli.source import read_texts
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.processing.scaling import Scaling

__all__ = ["continuations", "prompts_of"]

BATCH = 32


def prompts_of(prompt: tuple[str, ...], file: str | None) -> Iterable[str]:
    """The prompts of a command line: given one by one, or a file's lines."""
    if bool(prompt) == (file is not None):
        raise BadInput("give prompts, or a file of them with --file, one of the two")
    return prompt if file is None else read_texts(file)


def continuations(folder: str, prompts: Iterable[str], max_new_tokens: int, **options: Any) -> Iterator[dict[str, Any]]:
    """What a saved model makes of each prompt: prompt, text, and the numbers in it with their 90 % intervals.

    Args:
        folder: What `save_pretrained` wrote, or a Hub id.
        prompts: Texts; a batch of them at a time is read.
        max_new_tokens: How many tokens at most.
        **options: As `numerate.modeling.generation.generate` takes them.
    """
    from numerate.modeling.artefact import ArtefactError
    from numerate.modeling.attaching import from_pretrained

    quiet_unless_terminal()
    try:
        model = from_pretrained(folder)
        waiting, scaling = iter(prompts), model.processor.scaling
        while some := list(islice(waiting, BATCH)):
            said = model.generate(some, max_new_tokens, **options)
            for prompt, text, numbers in zip(some, said.texts, said.numbers, strict=True):
                yield {"prompt": prompt, "text": text, "numbers": [_described(number, scaling) for number in numbers]}
    except (ArtefactError, ValueError) as error:
        raise BadInput(str(error)) from None


def _described(number: Any, scaling: Scaling | None) -> dict[str, Any]:
    found: dict[str, Any] = {"text": number.text, "value": number.value}
    if number.distribution is not None:
        ends = [float(end[0]) for end in number.distribution.interval(0.9)]
        # A head speaks of scaled numbers, where they are: back to those of the text, as the number itself.
        found["interval_90"] = ends if scaling is None else scaling.invert(["", ""], ends).tolist()
    return found
