"""Progress of a training: a bar with loss, throughput and number metrics on a terminal, otherwise lines."""

from __future__ import annotations

import sys
from typing import Any

from transformers.trainer_callback import ProgressCallback, TrainerCallback

__all__ = ["Lines", "Progress", "quiet_unless_terminal", "shown"]

_SHOWN = {
    "loss": "loss", "texts_per_second": "texts/s", "tokens_per_second": "tokens/s", "skipped_steps": "skipped",
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
