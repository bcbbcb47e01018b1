"""Rows of distributions: indices as tensors take them, and moving fields to a device."""

from __future__ import annotations

import copy
import dataclasses
import operator
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["moved", "row_index"]


def row_index(index: Any, rows: int) -> slice | Tensor:
    """An index of rows as a slice or tensor that keeps the row dimension.

    Example:
        >>> row_index(-1, rows=3), row_index([True, False, True], rows=3)
        (slice(2, 3, None), tensor([ True, False,  True]))
    """
    if isinstance(index, slice):
        return index
    if index is Ellipsis:
        return slice(None)
    if not isinstance(index, Tensor) and isinstance(index, bool | tuple | str):
        raise TypeError(f"rows have one dimension: give an index, slice, mask or list, got {index!r}")
    if isinstance(index, Tensor) and index.dim() > 0:
        return index
    if hasattr(index, "__len__") and not isinstance(index, Tensor) and getattr(index, "ndim", 1) > 0:
        chosen = torch.as_tensor(index)
        return chosen if len(chosen) else chosen.to(torch.int64)
    place = operator.index(index)
    if not -rows <= place < rows:
        raise IndexError(f"there are {rows} rows, got index {place}")
    first = place % rows
    return slice(first, first + 1)


def moved(value: Any, device: torch.device | str) -> Any:
    """A field of a distribution on a device; a module is copied unless it is there, as it belongs to a head."""
    if isinstance(value, nn.Module):
        wanted = torch.device(device)
        found = {tensor.device for tensor in (*value.parameters(), *value.buffers())}
        there = all(each.type == wanted.type and wanted.index in (None, each.index) for each in found)
        return value if there else copy.deepcopy(value).to(device)
    if hasattr(value, "to"):  # tensors, distributions, number tables
        return value.to(device)
    if isinstance(value, tuple):
        parts = [moved(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        tensors = {name: part.to(device) for name, part in held.items() if isinstance(part, Tensor)}
        return dataclasses.replace(value, **tensors) if tensors else value
    return value
