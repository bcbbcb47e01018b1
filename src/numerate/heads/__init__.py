"""Hidden states to distributions over numbers: one file a family, each registered in `numerate.heads`.

Example:
    >>> import numerate
    >>> numerate.heads["scalar"].build(dim=8).dim
    8
"""

from numerate.registry import answer_as_registry, heads

answer_as_registry(__name__, heads)
