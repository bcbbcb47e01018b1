"""The passages around the gaps of a text that is longer than a model reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from numerate.modeling.asking import most_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["passages_of"]

_WORD = re.compile(r"\S+")
_WHOLE = 1 << 30
_LEAST = 8
"""Tokens that a passage has at least, or the text is left to the model, which refuses it."""


def passages_of(model: Any, text: str, gaps: Sequence[str]) -> list[str]:
    """The text if the model reads all of it; else passages of it, in which each gap stands once, in reading order.

    Args:
        model: A `NumberModel`.
        text: A text with gaps.
        gaps: What a gap looks like: `[NUM]`, the mask token.
    """
    most = most_tokens(model)
    # No token is shorter than a character.
    if most is None or len(text) + 2 < most or _tokens(model, text) <= most:
        return [text]
    words = [match.span() for match in _WORD.finditer(text)]
    wanted = [at for at, (start, end) in enumerate(words) if any(each in text[start:end] for each in gaps)]
    # Only words near a gap are counted: each takes a token or more of a passage, so that others are out of reach.
    near = {each for at in wanted for each in range(max(0, at - most), min(len(words), at + most + 1))}
    sizes = [1] * len(words)
    for at in near:
        sizes[at] = max(1, _tokens(model, text[slice(*words[at])]) - 2)
    room = most - 2
    while room >= _LEAST:
        found = [text[words[first][0] : words[last][1]] for first, last in _windows(sizes, wanted, room)]
        if all(_tokens(model, each) <= most for each in found):
            return found
        room -= max(1, room // 8)
    return [text]


def _tokens(model: Any, text: str) -> int:
    # With a limit, transformers does not warn of long texts.
    return len(model.processor(text, truncation=True, max_length=_WHOLE)["input_ids"])


def _windows(sizes: Sequence[int], wanted: Sequence[int], room: int) -> list[tuple[int, int]]:
    """First and last words of passages that share no word, in which wanted words have others beside them.

    Example:
        >>> _windows([1] * 100, [5, 7, 90], 20)
        [(0, 19), (80, 99)]
    """
    groups: list[list[int]] = []
    for at in wanted:
        if groups and sum(sizes[groups[-1][0] : at + 1]) <= room // 2:
            groups[-1].append(at)
        else:
            groups.append([at])
    found = []
    for index, group in enumerate(groups):
        first, last = group[0], group[-1]
        low = found[-1][1] + 1 if found else 0
        high = groups[index + 1][0] if index + 1 < len(groups) else len(sizes)
        left = room - sum(sizes[first : last + 1])
        is_open = True
        while is_open:
            is_open = False
            if first > low and sizes[first - 1] <= left:
                first, left, is_open = first - 1, left - sizes[first - 1], True
            if last + 1 < high and sizes[last + 1] <= left:
                last, left, is_open = last + 1, left - sizes[last + 1], True
        found.append((first, last))
    return found
