"""Number table to vectors: one file a family, each registered in `numerate.registry.embedders`.

Python binds this package to `numerate.embedders` as soon as one of its files is imported, over the registry of the same
name; so the package answers as its registry does.

Example:
    >>> import numerate
    >>> numerate.embedders["num"].build(dim=8).width
    8
"""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

from numerate.registry import embedders as _registry

if TYPE_CHECKING:
    from collections.abc import Iterator


class _RegistryPackage(types.ModuleType):
    """A package that can be asked like its registry: `names()`, `[name]`, `in`, iteration."""

    def __getattr__(self, name: str) -> Any:
        if name in ("names", "name_of", "create", "register"):
            return getattr(_registry, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __getitem__(self, name: str) -> Any:
        return _registry[name]

    def __contains__(self, name: object) -> bool:
        return name in _registry

    def __iter__(self) -> Iterator[str]:
        return iter(_registry)


sys.modules[__name__].__class__ = _RegistryPackage
