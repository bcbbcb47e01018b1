"""Embedders: number table to vectors. One file for each family, registered in `numerate.embedders`.

Example:
    >>> import numerate
    >>> numerate.embedders.registry["num"].build(dim=8).width
    8
"""

from numerate.registry import embedders as registry

__all__ = ["create", "names", "register", "registry"]

create, names, register = registry.create, registry.names, registry.register
