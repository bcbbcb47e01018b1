"""Where the objects of a JSON text stand: their lines, which its decoder does not tell, and the lists they are in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["list_at", "object_lines", "uneven_lists"]

MOST_COLUMNS = 20
"""Objects of an even list that are columns of their record."""
MAX_DEPTH = 20

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


def uneven_lists(records: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists of objects in some records that are not equally long, or very long: their paths and all objects.

    Example:
        >>> orders = [{"items": [{"n": 2}, {"n": 3}], "to": {"lines": [{"a": 1}]}}, {"items": [{"n": 4}]}]
        >>> list(uneven_lists(orders))
        [('items', [{'n': 2}, {'n': 3}, {'n': 4}])]
    """
    found: dict[str, list[list[Any]]] = {}
    for record in records:
        for path, each in _lists(record, "", 0):
            found.setdefault(path, []).append(each)
    for path, lists in found.items():
        lengths = {len(each) for each in lists if each}
        is_uneven = len(lengths) > 1 or max(lengths, default=0) > MOST_COLUMNS
        objects = [each for some in lists for each in some]
        if path and is_uneven and all(isinstance(each, dict) for each in objects):
            yield path, objects


def list_at(record: Any, path: str) -> Sequence[Any]:
    """The list at a path of a record; an empty one if there is none."""
    return next((each for name, each in _lists(record, "", 0) if name == path), ())


def _lists(value: Any, path: str, depth: int) -> Iterator[tuple[str, list[Any]]]:
    """The lists of a record that are not inside of other lists, with their paths."""
    if isinstance(value, list):
        yield path, value
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        for key, each in value.items():
            if isinstance(each, dict | list):
                yield from _lists(each, f"{path}.{key}" if path else str(key), depth + 1)
