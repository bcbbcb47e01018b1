"""Tests without the default model: what they find must not depend on a model that comes with the repository."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMERATE_MODEL", "none")
