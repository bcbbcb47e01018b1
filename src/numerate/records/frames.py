"""Conversion of records and predictions from and to DataFrames; pandas is never imported here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from numerate.records.schema import FieldError

__all__ = ["as_rows", "is_frame", "like"]


def is_frame(rows: Any) -> bool:
    """Whether `rows` is a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def as_rows(rows: Any) -> list[dict[str, Any]]:
    """Records as a list of dicts.

    Example:
        >>> as_rows([{"x": 1}])
        [{'x': 1}]
        >>> as_rows({"x": 1})
        Traceback (most recent call last):
        numerate.records.schema.FieldError: give a list of records or a DataFrame, got a dict
    """
    if is_frame(rows):
        return [dict(zip(map(str, rows.columns), row, strict=True)) for row in rows.itertuples(index=False, name=None)]
    if isinstance(rows, str | bytes | dict) or not hasattr(rows, "__iter__"):
        raise FieldError(f"give a list of records or a DataFrame, got a {type(rows).__name__}")
    return list(rows)


def like(rows: Any, values: np.ndarray, columns: list[Any], *, is_time: bool) -> Any:
    """Values (N, Q) as an array, or as a DataFrame with the index of `rows`; with `is_time`, seconds become times."""
    if is_time:
        micro = np.clip(np.nan_to_num(values) * 1e6, -6e16, 2e17)  # years 69 to 8307, the range of datetime64
        values = np.round(micro).astype(np.int64).astype("datetime64[us]")
    if not is_frame(rows):
        return values
    return sys.modules["pandas"].DataFrame(values, index=rows.index, columns=columns)
