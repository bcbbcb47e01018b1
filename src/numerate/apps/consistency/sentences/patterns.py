"""Patterns that are compiled when they are first used.

The rules have some 900 patterns, most of which a short text never needs. To compile all of them takes about as long as
to check 5,000 numbers.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["regex"]


class _Waiting:
    """A pattern that is not compiled yet; its methods replace themselves by those of the compiled one."""

    def __init__(self, source: str, flags: int) -> None:
        self.pattern, self.flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for each in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    r"""A pattern as of `re.compile`, compiled at its first use. The `re` of its matches is another object.

    Example:
        >>> regex(r"\d+").findall("28 km (27 mi)")
        ['28', '27']
    """
    return _Waiting(source, flags)  # type: ignore[return-value]
