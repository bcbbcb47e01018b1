"""A typed registry of named parts: readers, notations, embedders, heads, objectives, tasks.

A new part is one new file in its package with a `register` decorator; no list has to be edited. The files of a package
are imported when a name is first looked up, so that `import numerate` stays light. Other packages add parts by entry
points of the group `numerate.plugins`, each the name of a module; users by files, see `load_plugin`.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numerate.errors import NumerateError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from types import ModuleType

__all__ = [
    "PluginError", "Registry", "UnknownNameError", "embedders", "heads", "load_plugin", "loaded_plugins", "near_names",
    "notations", "objectives", "readers",
]  # fmt: skip

T = TypeVar("T")


class UnknownNameError(NumerateError, KeyError):
    """A name that is not registered; the message lists similar names."""

    def __str__(self) -> str:
        return str(self.args[0])


class PluginError(NumerateError, ImportError):
    """A plugin file that cannot be imported."""


def near_names(name: str, known: list[str]) -> str:
    """A hint for error messages: the known names that are similar to `name`.

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
        what: Name of a part in error messages, e.g. "reader".
        package: The package whose files register the parts; its files are imported at the first look-up.

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
        """A decorator that registers a part under `name` and `aliases`."""

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
        """Imports every file of the package, and the plugins of other packages, once."""
        if self._package is None:
            return
        package, self._package = importlib.import_module(self._package), None
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            importlib.import_module(module.name)
        _import_entry_points()


@functools.cache
def _import_entry_points() -> None:
    """Imports the modules of the entry-point group `numerate.plugins`; one that cannot be imported gives a warning."""
    from importlib import metadata

    for entry in metadata.entry_points(group="numerate.plugins"):
        try:
            entry.load()
        except Exception as error:  # a broken package may raise anything
            warnings.warn(f"plugin {entry.value} is missing: {_one_line(error)}", stacklevel=4)


_plugins: dict[str, ModuleType] = {}


def load_plugin(path: str | os.PathLike[str]) -> ModuleType:
    r"""Imports a Python file under a unique module name, so that its `register` decorators run.

    The file is code of the user and runs with all rights. It is imported once, however often it is loaded.

    Raises:
        PluginError: There is no such file, or it cannot be imported.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "mine.py"
        >>> _ = file.write_text("from numerate.registry import readers\nreaders.register('mine')(print)")
        >>> load_plugin(file) is load_plugin(file), "mine" in readers
        (True, True)
        >>> del readers._parts["mine"]
    """
    file = str(Path(path).resolve())
    if file not in _plugins:
        name = f"numerate_plugin_{Path(file).stem}_{hashlib.sha256(file.encode()).hexdigest()[:8]}"
        if not Path(file).is_file() or not file.endswith(".py"):
            raise PluginError(f"plugin {str(path)!r}: no such Python file")
        spec = importlib.util.spec_from_file_location(name, file)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        try:
            spec.loader.exec_module(module)  # type: ignore[union-attr]
        except Exception as error:  # the user's code may raise anything
            del sys.modules[name]
            raise PluginError(f"plugin {str(path)!r} cannot be imported: {_one_line(error)}") from error
        _plugins[file] = module
    return _plugins[file]


def loaded_plugins() -> list[str]:
    """The files of all loaded plugins; worker processes have to load them again."""
    return list(_plugins)


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _same_definition(one: Any, other: Any) -> bool:
    """Whether two parts are the same class or function, imported twice (as by `importlib.reload`)."""
    return all(getattr(one, key, one) == getattr(other, key, other) for key in ("__module__", "__qualname__"))


readers: Registry[Any] = Registry("reader", "numerate.reading")
notations: Registry[Any] = Registry("notation", "numerate.notation")
embedders: Registry[Any] = Registry("embedder", "numerate.embedders")
heads: Registry[Any] = Registry("head", "numerate.heads")
objectives: Registry[Any] = Registry("objective", "numerate.objectives")
