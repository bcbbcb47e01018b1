"""Static shapes for steps that do not wait for the accelerator, or are recorded once and then replayed (CUDA graphs).

The number of predicted numbers and tokens comes from the data: to know it, the host has to wait for the accelerator,
which is impossible in a CUDA graph. On an accelerator and in compiled code there is therefore a fixed number of places
for them (`uses_capacity`), more than will be needed. If all batches have the same counts, these can be set beforehand.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

__all__ = ["Counts", "LaterCounts", "capacities", "chosen_rows", "first_numbers", "first_places", "fixed_counts",
           "has_fixed_shapes", "is_recorded", "labelled_places", "may_wait", "no_waits", "numbers_where",
           "tokens_where", "uses_capacity"]  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """Predicted numbers and tokens, the same for every batch; `tokens` is None if batches differ in them."""

    numbers: int
    tokens: int | None = None

    def times(self, rows: int) -> Counts:
        """The counts of a batch of `rows` rows with these counts each."""
        return Counts(self.numbers * rows, None if self.tokens is None else self.tokens * rows)


# A module variable, because `torch.compile` does not support a ContextVar.
_counts: Counts | None = None
_everywhere = False
_waits = True


@contextmanager
def fixed_counts(counts: Counts) -> Iterator[None]:
    """A context in which every batch has these counts; they are not checked, which would need the data."""
    global _counts
    before, _counts = _counts, counts
    try:
        yield
    finally:
        _counts = before


def is_recorded() -> bool:
    """Whether `fixed_counts` is active."""
    return _counts is not None


@contextmanager
def no_waits() -> Iterator[None]:
    """A context in which the host does not wait for the accelerator, as in a step that is being recorded."""
    global _waits
    before, _waits = _waits, False
    try:
        yield
    finally:
        _waits = before


def may_wait() -> bool:
    """Whether the host may wait for the accelerator: not within `no_waits` and `fixed_counts`."""
    return _waits and not is_recorded()


def has_fixed_shapes() -> bool:
    """Whether no shape may depend on the data: within `fixed_counts`, and in compiled code."""
    return is_recorded() or torch.compiler.is_compiling()


@contextmanager
def capacities() -> Iterator[None]:
    """A context in which a CPU, too, has a fixed number of places: for tests, and to count operations."""
    global _everywhere
    before, _everywhere = _everywhere, True
    try:
        yield
    finally:
        _everywhere = before


def uses_capacity(wanted: Tensor, share: float) -> bool:
    """Whether a mask's places are a fixed number of them, for an expected `share`: see `first_places`."""
    if is_recorded():
        return False
    return torch.compiler.is_compiling() or (share < 1 and (_everywhere or wanted.device.type != "cpu"))


class LaterCounts:
    """How often masks are true, copied to the host while the accelerator works on.

    `mask.nonzero()` waits until the accelerator has done all its work. If the counts are made before the backbone runs
    and read after it was started, the host waits only for the work before the masks, and the accelerator never idles.

    Args:
        *masks: Boolean tensors on one device.

    Example:
        >>> LaterCounts(torch.tensor([True]))[0] is None  # without an accelerator, `nonzero` does not wait
        True
    """

    def __init__(self, *masks: Tensor) -> None:
        self._copied: torch.Event | None = None
        if masks and masks[0].is_cuda and not has_fixed_shapes():
            counts = torch.stack([mask.count_nonzero() for mask in masks])
            self._counts = counts.to("cpu", non_blocking=True)
            self._copied = torch.cuda.current_stream(counts.device).record_event()

    def __getitem__(self, index: int) -> int | None:
        """The count of one mask; None if it is not needed to find its places."""
        if self._copied is None:
            return None
        self._copied.synchronize()
        return int(self._counts[index])


def numbers_where(wanted: Tensor, count: int | None = None) -> tuple[Tensor, Tensor]:
    """The rows and columns where a mask (B, M) of numbers is true, as `wanted.nonzero(as_tuple=True)`.

    With their `count`, the host does not wait for the mask.

    Example:
        >>> with fixed_counts(Counts(numbers=2)):
        ...     numbers_where(torch.tensor([[True, False], [False, True]]))
        (tensor([0, 1]), tensor([0, 1]))
    """
    return _places(wanted, count if _counts is None else _counts.numbers)


def first_numbers(wanted: Tensor, share: float = 1.0) -> tuple[Tensor, Tensor]:
    """The rows and columns of the numbers of a mask (B, M), in a fixed number of places: for compiled code.

    The places are filled with the wanted numbers in order, then with others, so that all are distinct.

    Args:
        wanted: (B, M) which numbers are wanted.
        share: The expected share of wanted numbers. Below 1 there are places for a quarter more than expected plus 64:
            eight standard deviations, if each number is drawn by itself. Wanted numbers without a place are left out.

    Example:
        >>> first_numbers(torch.tensor([[False, True], [False, True]]))
        (tensor([0, 1, 0, 1]), tensor([1, 1, 0, 0]))
    """
    found = first_places(wanted, share)
    return found // wanted.shape[1], found % wanted.shape[1]


def first_places(wanted: Tensor, share: float = 1.0) -> Tensor:
    """`first_numbers` as places in the flattened mask.

    Example:
        >>> first_places(torch.tensor([[False, True], [False, True]]))
        tensor([1, 3, 0, 2])
    """
    mask = wanted.flatten()
    total = mask.numel()
    if torch.compiler.is_compiling():  # operations that can be fused, no sort
        behind, index = mask.cumsum(0), torch.arange(total, device=mask.device)
        place = torch.where(mask, behind - 1, behind[-1:] + index - behind)
        found = torch.zeros_like(index).scatter(0, place, index)
    else:  # one operation
        found = mask.view(torch.uint8).sort(descending=True, stable=True).indices
    if share < 1:
        found = found[: total * math.ceil(1280 * share) // 1024 + 64]  # whole numbers, linear in symbolic shapes
    return found


def labelled_places(wanted: Tensor, share: float = 1.0) -> Tensor:
    """The places of the labelled tokens of a mask (B, T) in the flattened mask; on an accelerator without waiting.

    There, and in compiled code, they are a fixed number of places if their `share` is known: those of `first_places`,
    some of which have no label.

    Example:
        >>> labelled_places(torch.tensor([[False, True], [False, True]]), share=0.5)
        tensor([1, 3])
    """
    return first_places(wanted, share) if uses_capacity(wanted, share) else wanted.flatten().nonzero()[:, 0]


def tokens_where(wanted: Tensor, count: int | None = None) -> Tensor | None:
    """The places in the flattened mask where a mask (B, T) of tokens is true; None if their count must be known."""
    if has_fixed_shapes() and (_counts is None or _counts.tokens is None):
        return None
    mask, count = wanted.flatten(), count if _counts is None else _counts.tokens
    return (mask.nonzero() if count is None else torch.nonzero_static(mask, size=count))[:, 0]


def _places(wanted: Tensor, count: int | None) -> tuple[Tensor, Tensor]:
    found = wanted.nonzero() if count is None else torch.nonzero_static(wanted, size=count)
    rows, columns = found.unbind(1)
    return rows, columns


def chosen_rows(states: Tensor, rows: Tensor, columns: Tensor | None = None) -> Tensor:
    """`states[rows, columns]` of (B, T, D) states: (N, D), with a gradient that needs no sort.

    Without `columns`, `rows` are places among all tokens.
    """
    places = rows if columns is None else rows * states.shape[1] + columns
    return states.flatten(0, 1).index_select(0, places)
