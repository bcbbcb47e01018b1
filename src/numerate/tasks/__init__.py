"""What is trained and measured: one file a task, each registered in `numerate.tasks`, and the texts that they need."""

from numerate.registry import answer_as_registry, tasks

answer_as_registry(__name__, tasks)
