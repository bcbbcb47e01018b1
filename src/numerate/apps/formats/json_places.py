"""Lines of the objects of a JSON text, which its decoder does not tell."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["object_lines"]

_STRING_OR_OBJECT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"|\{', re.DOTALL)


def object_lines(text: str, value: Any) -> dict[int, int]:
    r"""The line where each object of a value begins, by the object's `id`; empty if they cannot be told.

    The objects of the text and those of the value have the same order, unless a key is there twice.

    Args:
        text: A JSON text.
        value: What a decoder made of it.

    Example:
        >>> value = {"rows": [{"a": 1}, {"a": 2}]}
        >>> lines = object_lines('{"rows": [{"a": 1},\n {"a": 2}]}', value)
        >>> [lines[id(row)] for row in value["rows"]]
        [1, 2]
    """
    starts = [found.start() for found in _STRING_OR_OBJECT.finditer(text) if found[0] == "{"]
    objects: list[dict[str, Any]] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            objects.append(each)
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list):
            waiting.extend(reversed(each))
    if len(objects) != len(starts):
        return {}
    lines: dict[int, int] = {}
    line, counted = 1, 0
    for each, start in zip(objects, starts, strict=True):
        line += text.count("\n", counted, start)
        counted = start
        lines[id(each)] = line
    return lines
