"""Profile of some training steps of one side: its most expensive operations, and where the host waits."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from training_contest import Side

ROWS = 25
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")


class Steps(TrainerCallback):
    """Profiles some steps after the warm-up; on an accelerator, then notes the waits of as many more."""

    def __init__(self, warm: int, cuda: bool, steps: int) -> None:
        kinds = [torch.profiler.ProfilerActivity.CPU]
        kinds += [torch.profiler.ProfilerActivity.CUDA] if cuda else []
        self.profiler = torch.profiler.profile(activities=kinds)
        self.warm, self.cuda, self.steps, self.waits = warm, cuda, steps, Counter[str]()
        self._caught: Any = None
        self._stack = contextlib.ExitStack()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts and stops."""
        del args, kwargs
        done = state.global_step - self.warm
        if done == 0:
            if self.cuda:
                torch.cuda.synchronize()
            self.profiler.start()
        elif done == self.steps:
            if self.cuda:
                torch.cuda.synchronize()
            self.profiler.stop()
            if not self.cuda:
                control.should_training_stop = True
            else:
                self._caught = self._stack.enter_context(noted_waits())
        elif done == 2 * self.steps:
            for each in self._caught:
                self.waits[f"{_short(each.filename)}:{each.lineno}"] += 1
            self._stack.close()
            control.should_training_stop = True


@contextlib.contextmanager
def noted_waits() -> Iterator[list[warnings.WarningMessage]]:
    """A context in which each synchronisation of the host with the accelerator is a warning in a list."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield caught
        finally:
            torch.cuda.set_sync_debug_mode("default")


def _short(file: str) -> str:
    """The last parts of a path: no result tells where a machine keeps its packages."""
    return "/".join(Path(file).parts[-3:])


def profile(side: Side, warm: int, count: int = 10) -> dict[str, Any]:
    """Operations a step (all, and launches on the accelerator), a table of the most expensive ones, and the waits."""
    cuda = side.setting.device == "cuda"
    trainer, steps = side.trainer(), Steps(warm, cuda, count)
    trainer.add_callback(steps)
    trainer.train()
    trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
    side.model.zero_grad(set_to_none=True)
    del trainer
    if cuda:
        side.model.to("cpu")
        torch.cuda.empty_cache()
    events = steps.profiler.key_averages()
    times = {
        event.key: {
            "count": event.count / count, "host_ms": event.self_cpu_time_total / 1000 / count,
            "device_ms": getattr(event, "self_device_time_total", 0) / 1000 / count,
        }
        for event in events
    }  # fmt: skip
    by = "device_ms" if cuda else "host_ms"
    order = sorted(times, key=lambda key: -times[key][by])[:ROWS]
    hosts = sorted(times, key=lambda key: -times[key]["host_ms"])[:ROWS]
    waits = {place: count / count for place, count in steps.waits.most_common(ROWS)}
    copies = sum(times[key]["count"] for key in times if "Memcpy DtoH" in key)
    lines = ["operation                                            count  host ms  device ms"]
    for key in dict.fromkeys([*order[:15], *hosts[:15]]):
        row = times[key]
        lines.append(f"{key[:50]:50} {row['count']:7.1f} {row['host_ms']:8.3f} {row['device_ms']:10.3f}")
    return {
        "launches_per_step": sum(times[key]["count"] for key in times if key in _LAUNCHES),
        "operations_per_step": sum(row["count"] for key, row in times.items() if key.startswith("aten::")),
        "host_ms_per_step": sum(row["host_ms"] for row in times.values()),
        "device_ms_per_step": sum(row["device_ms"] for key, row in times.items() if not key.startswith("aten::")),
        "copies_to_host_per_step": copies, "waits": waits, "waits_per_step": sum(steps.waits.values()) / count,
        "operations": {key: times[key] for key in dict.fromkeys([*order, *hosts])}, "table": "\n".join(lines),
    }  # fmt: skip
