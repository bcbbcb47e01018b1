"""Number table to vectors: one file a family, each registered in `numerate.embedders`.

Example:
    >>> import numerate
    >>> numerate.embedders["num"].build(dim=8).width
    8
"""

from numerate.registry import answer_as_registry, embedders

answer_as_registry(__name__, embedders)
