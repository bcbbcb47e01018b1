"""Progress of a training: throughput, and a bar on a terminal or lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
from transformers.trainer_callback import ProgressCallback, TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

__all__ = ["Lines", "Progress", "Throughput", "quiet_unless_terminal", "shown"]

_SHOWN = {
    "loss": "loss", "train_loss": "mean loss", "texts_per_second": "texts/s", "tokens_per_second": "tokens/s",
    "skipped_steps": "skipped",
    "eval_loss": "dev loss", "eval_log_mae": "log MAE", "eval_mdape": "MdAPE", "eval_coverage_90": "in 90 %",
}  # fmt: skip


def shown(logs: dict[str, Any]) -> dict[str, str]:
    """The figures of a log entry to show, as short texts.

    Example:
        >>> shown({"loss": 2.34567, "texts_per_second": 1234.5, "grad_norm": 0.1})
        {'loss': '2.346', 'texts/s': '1234'}
    """
    found = {name: logs[key] for key, name in _SHOWN.items() if isinstance(logs.get(key), (int, float))}
    return {name: f"{value:.0f}" if "/s" in name else f"{value:.4g}" for name, value in found.items()}


class Progress(ProgressCallback):
    """The stock progress bar with the latest figures; each evaluation writes a line."""

    def __init__(self) -> None:
        super().__init__()
        self.figures: dict[str, str] = {}

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Updates the figures."""
        del args, control, kwargs
        bar: Any = self.training_bar
        if not state.is_world_process_zero or bar is None:
            return
        self.figures |= shown(logs or {})
        bar.set_postfix(self.figures)
        if "eval_loss" in (logs or {}):
            bar.write(_line(state, logs), file=sys.stderr)


class Lines(TrainerCallback):
    """A callback that writes one line per log entry to standard error."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Writes the line."""
        del args, control, kwargs
        if state.is_world_process_zero and state.max_steps and shown(logs or {}):
            sys.stderr.write(_line(state, logs) + "\n")


def _line(state: Any, logs: dict[str, Any]) -> str:
    return f"step {state.global_step}/{state.max_steps}  " + "  ".join(f"{k} {v}" for k, v in shown(logs).items())


def quiet_unless_terminal() -> None:
    """Disables the progress bars of transformers (loading, saving) unless standard error is a terminal."""
    if not sys.stderr.isatty():
        from transformers.utils import logging

        logging.disable_progress_bar()


class Throughput:
    """Counts texts and tokens of `processes` equal processes since the last reading, without pauses.

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

    def add(self, batch: Mapping[str, Any], tokens: int | None = None) -> None:
        """Counts a batch, of so many `tokens`; by default those of its attention mask (B, T), or all of them."""
        ids: Tensor | None = batch.get("input_ids")
        if ids is None:
            return
        mask: Tensor | None = batch.get("attention_mask")
        self.texts += len(ids)
        # The count stays on the device until it is read: reading it synchronizes the device.
        if tokens is not None:
            self.tokens = self.tokens + tokens
            return
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
