"""What is learnt: masking and losses as functions of tensors, each registered in `numerate.objectives`."""

from numerate.registry import answer_as_registry, objectives

answer_as_registry(__name__, objectives)
