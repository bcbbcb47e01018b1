"""Hidden states to distributions over numbers: one file a family, each registered in `numerate.heads`."""

from numerate.registry import answer_as_registry, heads

answer_as_registry(__name__, heads)
