"""One small typed registry for everything that has a name: readers, notations, embedders, heads, objectives, tasks.

A new part is one new file in its package with a `register` decorator in it; no list is edited anywhere. The files of a
package are imported when a name is first looked up, so that `import numerate` stays light.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Registry",
    "UnknownNameError",
    "embedders",
    "heads",
    "near_names",
    "notations",
    "objectives",
    "readers",
]

T = TypeVar("T")


class UnknownNameError(KeyError):
    """A name that no part carries; the message lists the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def near_names(name: str, known: list[str]) -> str:
    """Says which known names look like `name`, for error messages.

    Example:
        >>> near_names("standart", ["luna", "standard"])
        "did you mean 'standard'?"
    """
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(repr(n) for n in near)}?"
    return f"known: {', '.join(known)}" if known else "none is known"


class Registry(Generic[T]):
    """Named parts of one kind.

    Args:
        what: What the parts are called in error messages, e.g. "reader".
        package: The package whose files register the parts; imported at the first look-up.

    Example:
        >>> shapes = Registry[type]("shape")
        >>> @shapes.register("circle", "disc")
        ... class Circle: ...
        >>> shapes["disc"] is Circle, shapes.names()
        (True, ['circle'])
    """

    def __init__(self, what: str, package: str | None = None) -> None:
        self.what = what
        self._package = package
        self._parts: dict[str, T] = {}
        self._aliases: dict[str, str] = {}

    def register(self, name: str, *aliases: str) -> Callable[[T], T]:
        """Returns a decorator that registers a part under `name`, and under `aliases` for those who look there."""

        def decorate(part: T) -> T:
            for key in (name, *aliases):
                taken = self._parts.get(self._aliases.get(key, key))
                if taken is not None and not _same_definition(taken, part):
                    raise ValueError(f"{self.what} {key!r} is registered twice: {taken!r} and {part!r}")
            self._parts[name] = part
            self._aliases.update(dict.fromkeys(aliases, name))
            return part

        return decorate

    def names(self) -> list[str]:
        """All names in alphabetical order, without aliases."""
        self._load()
        return sorted(self._parts)

    def name_of(self, name: str) -> str:
        """The canonical name behind a name or alias."""
        self[name]
        return self._aliases.get(name, name)

    def create(self, name: str, **options: Any) -> Any:
        """Builds the part called `name` with `options`."""
        return self[name](**options)  # type: ignore[operator]

    def __getitem__(self, name: str) -> T:
        self._load()
        try:
            return self._parts[self._aliases.get(name, name)]
        except (KeyError, TypeError):
            raise UnknownNameError(f"unknown {self.what} {name!r}: {near_names(str(name), self.names())}") from None

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._parts or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _load(self) -> None:
        """Imports every file of the package, once."""
        if self._package is None:
            return
        package, self._package = importlib.import_module(self._package), None
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)


def _same_definition(one: Any, other: Any) -> bool:
    """Whether two parts are one class or function, imported twice (as `importlib.reload` does)."""
    return all(getattr(one, key, one) == getattr(other, key, other) for key in ("__module__", "__qualname__"))


readers: Registry[Any] = Registry("reader", "numerate.reading")
notations: Registry[Any] = Registry("notation", "numerate.notation")
embedders: Registry[Any] = Registry("embedder", "numerate.embedders")
heads: Registry[Any] = Registry("head", "numerate.heads")
objectives: Registry[Any] = Registry("objective", "numerate.objectives")
