"""The registries of tasks and of papers' tables."""

from __future__ import annotations

from typing import Any

from numerate.registry import Registry

__all__ = ["tables", "tasks"]

tasks: Registry[Any] = Registry("task", "numerate_lab.tasks")
"""Name -> a subclass of `numerate_lab.engine.task.Task`."""
tables: Registry[Any] = Registry("table", "numerate_lab.papers")
"""Name of a paper's table -> a subclass of `numerate_lab.engine.paper_tables.Paper`."""
