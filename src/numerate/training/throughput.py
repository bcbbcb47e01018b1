"""Training throughput in texts and tokens per second."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

__all__ = ["Throughput"]


class Throughput:
    """Counts texts and tokens since the last reading; pauses for evaluation and saving are not counted.

    Args:
        processes: Number of processes with the same throughput.

    Example:
        >>> rates = Throughput()
        >>> rates.add({"input_ids": torch.zeros(2, 3), "attention_mask": torch.tensor([[1, 1, 1], [1, 0, 0]])})
        >>> rates.texts, int(rates.tokens)
        (2, 4)
        >>> sorted(rates.read())
        ['texts_per_second', 'tokens_per_second']
    """

    def __init__(self, processes: int = 1) -> None:
        self.processes = processes
        self.restart()

    def restart(self) -> None:
        """Resets the counts and the clock."""
        self.texts, self.tokens = 0, 0
        self._start: float = time.perf_counter()

    def add(self, batch: Mapping[str, Any]) -> None:
        """Counts a batch; padding is not counted if there is an attention mask (B, T)."""
        ids: Tensor | None = batch.get("input_ids")
        if ids is None:
            return
        mask: Tensor | None = batch.get("attention_mask")
        self.texts += len(ids)
        # The count stays on the device until it is read: reading it synchronizes the device.
        self.tokens = self.tokens + (ids.numel() if mask is None else torch.count_nonzero(mask))

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """A context manager whose time is not counted."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._start += time.perf_counter() - start

    def read(self) -> dict[str, float]:
        """The rates since the last reading, rounded to a tenth."""
        seconds = max(time.perf_counter() - self._start, 1e-9)
        counts = {"texts_per_second": self.texts, "tokens_per_second": int(self.tokens)}
        self.restart()
        return {name: round(count * self.processes / seconds, 1) for name, count in counts.items()}
