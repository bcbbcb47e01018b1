"""Rows of tables as the input of `NumberRegressor`: what counts as rows, and each row as a text for the network."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.errors import BadInput
from numerate.records.cells import read_cell
from numerate.records.record_model import as_rows
from numerate.records.schema import bare_key, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["places", "row_text", "table_rows"]


def table_rows(data: Any) -> list[dict[str, Any]] | None:
    """The rows of a table as dicts; None if `data` are texts.

    Rows are a list of dicts, a DataFrame or a matrix, whose columns are then named `x0`, `x1`, ... A frame or a matrix
    that is one column of strings has texts.

    Example:
        >>> table_rows([{"a": 1}, {"a": None}]), table_rows(["5 km", "6 km"])
        ([{'a': 1}, {'a': None}], None)
        >>> table_rows(np.array([[1.5, 2.0]]))
        [{'x0': 1.5, 'x1': 2.0}]
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return None if _is_text_column(data.to_numpy()) else as_rows(data)
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or _is_text_column(data):
            return None
        return [{f"x{at}": value for at, value in enumerate(row)} for row in data.tolist()]
    if not isinstance(data, list | tuple) or not data or not any(isinstance(row, dict) for row in data):
        return None
    for at, row in enumerate(data):
        if not isinstance(row, dict):
            raise BadInput(f"rows must be dicts, got {type(row).__name__} at {at}: {str(row)[:40]!r}")
    return as_rows(data)


def row_text(row: dict[str, Any]) -> str:
    """A row as `key: value; key: value`, without missing values; numbers have six digits.

    Example:
        >>> row_text({"name": "Elm", "size (m)": 3.14159265, "leaves": None, "at": {"x": 2, "y": [1, True]}})
        'name: Elm; size (m): 3.14159; at.x: 2; at.y[0]: 1; at.y[1]: true'
    """
    cells = ((place, value, read_cell(value)) for place, value in places(row))
    return "; ".join(
        f"{bare_key(place)}: {f'{value:.6g}' if isinstance(value, float) else cell.text or value}"
        for place, value, cell in cells if cell.kind != "missing"
    )  # fmt: skip


def places(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The paths, with indices of lists, and the values of a row that are no dicts or lists.

    Example:
        >>> list(places({"a": [1, {"b": "x"}], "body mass": 5}))
        [('a[0]', 1), ('a[1].b', 'x'), ('["body mass"]', 5)]
    """
    stack = [(place, value)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((path_of(place, str(key)), each) for key, each in reversed(value.items()))
        elif isinstance(value, list | tuple):
            stack.extend((f"{place}[{at}]", each) for at, each in reversed(list(enumerate(value))))
        else:
            yield place, value


def _is_text_column(data: np.ndarray) -> bool:
    """Whether a matrix is one column with strings."""
    return data.ndim == 2 and data.shape[1] == 1 and any(isinstance(each, str) for each in data[:, 0])
