"""`kept`: an attribute that is made at its first use, for objects that are made by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as kept
else:

    class kept:  # noqa: N801 - it stands where `functools.cached_property` would
        """`functools.cached_property` without its lock, which costs more than most of what is kept.

        Example:
            >>> class Text:
            ...     @kept
            ...     def words(self):
            ...         return ["It", "is"]
            >>> text = Text()
            >>> text.words is text.words
            True
        """

        def __init__(self, made: Callable[[Any], Any]) -> None:
            self.made, self.name, self.__doc__ = made, made.__name__, made.__doc__

        def __get__(self, owner: Any, kind: Any = None) -> Any:
            if owner is None:
                return self
            value = owner.__dict__[self.name] = self.made(owner)
            return value


__all__ = ["kept"]
