"""Heads: hidden states to distributions over numbers. One file for each family, registered in `numerate.heads`.

Example:
    >>> import numerate
    >>> numerate.heads.registry["scalar"].build(dim=8).dim
    8
"""

from numerate.registry import heads as registry

__all__ = ["create", "names", "register", "registry"]

create, names, register = registry.create, registry.names, registry.register
