"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = (ROOT / "src", ROOT / "lab" / "src")


def module_names() -> list[str]:
    """All modules of both packages that have an example."""
    found = []
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            if ">>>" in path.read_text("utf-8"):
                parts = path.relative_to(source).with_suffix("").parts
                found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


@pytest.mark.parametrize("name", module_names())
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0, f"{failed} examples of {name} are wrong; see the captured output"
