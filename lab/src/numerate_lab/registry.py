"""The registry of tasks."""

from __future__ import annotations

from typing import Any

from numerate.registry import Registry

__all__ = ["tasks"]

tasks: Registry[Any] = Registry("task", "numerate_lab.tasks")
