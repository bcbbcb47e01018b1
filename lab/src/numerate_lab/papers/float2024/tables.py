"""Tables of the floating-point paper: masked words with its embedding, beside other encodings."""

from __future__ import annotations

from typing import Any, ClassVar

from numerate_lab.engine.paper_tables import load_yaml, paper
from numerate_lab.papers.literacy2021.tables import PredictionPaper

__all__ = ["FloatEmbedding"]

_TABLES = load_yaml("numerate_lab.papers.float2024")["tables"]


@paper(*_TABLES)
class FloatEmbedding(PredictionPaper):
    """Tables of the floating-point embedding (2024)."""

    tables: ClassVar[dict[str, Any]] = _TABLES
