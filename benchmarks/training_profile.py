"""Profile of some training steps of one side: host time, kernel launches, operations, and where the host waits.

Three times `count` steps follow the warm-up: the first ones are timed and nothing else, the next are profiled, and in
the last ones every synchronisation of the host with the accelerator is noted with its Python stack.
"""

from __future__ import annotations

import contextlib
import time
import traceback
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
FRAMES = 7
"""Innermost frames of a wait that are kept."""
_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx")
_COPIES = ("cudaMemcpyAsync", "cudaMemsetAsync", "cudaGraphLaunch")
_SYNCHRONISATIONS = ("cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize")


class Steps(TrainerCallback):
    """Times some steps after the warm-up, then profiles as many; on an accelerator, then notes the waits of as many."""

    def __init__(self, warm: int, cuda: bool, steps: int) -> None:
        kinds = [torch.profiler.ProfilerActivity.CPU]
        kinds += [torch.profiler.ProfilerActivity.CUDA] if cuda else []
        self.profiler = torch.profiler.profile(activities=kinds)
        self.warm, self.cuda, self.steps, self.waits = warm, cuda, steps, Counter[str]()
        self.times: tuple[float, float, float] = (0.0, 0.0, 0.0)
        self._stack = contextlib.ExitStack()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts and stops."""
        del args, kwargs
        done = state.global_step - self.warm
        if done in (0, self.steps, 2 * self.steps, 3 * self.steps) and self.cuda:
            torch.cuda.synchronize()
        now = time.perf_counter(), time.thread_time(), time.process_time()
        if done == 0:
            self.times = now
        elif done == self.steps:
            self.times = now[0] - self.times[0], now[1] - self.times[1], now[2] - self.times[2]
            self.profiler.start()
        elif done == 2 * self.steps:
            self.profiler.stop()
            if self.cuda:
                self.waits = self._stack.enter_context(noted_waits())
            else:
                control.should_training_stop = True
        elif done == 3 * self.steps:
            self._stack.close()
            control.should_training_stop = True


@contextlib.contextmanager
def noted_waits() -> Iterator[Counter[str]]:
    """A context that counts each synchronisation of the host with the accelerator under its Python stack.

    Those of the backward pass come from a thread of its own and have the stack of the call of `backward`, or none.
    """
    found: Counter[str] = Counter()

    def note(*_: Any, **__: Any) -> None:
        found[_calls()] += 1

    real = torch.cuda.Event.synchronize

    def synchronize(event: Any) -> None:
        found[f"Event.synchronize < {_calls()}"] += 1
        real(event)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = note
        torch.cuda.Event.synchronize = synchronize
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode("default")
            torch.cuda.Event.synchronize = real


def _calls() -> str:
    """The innermost frames of the caller, innermost first; the last parts of paths, without where packages are."""
    frames = [frame for frame in traceback.extract_stack() if Path(frame.filename).name != Path(__file__).name]
    inner = [frame for frame in frames[::-1] if "warnings" not in Path(frame.filename).name][:FRAMES]
    return " < ".join(f"{'/'.join(Path(f.filename).parts[-2:])}:{f.lineno} {f.name}" for f in inner)


def profile(side: Side, warm: int, count: int = 5) -> dict[str, Any]:
    """Times, operations and launches of a step, the most expensive operations, and the waits with their stacks."""
    cuda = side.setting.device == "cuda"
    trainer, steps = side.trainer(), Steps(warm, cuda, count)
    trainer.add_callback(steps)
    trainer.train()
    side.release(trainer)
    del trainer
    if cuda:
        side.model.to("cpu")
        torch.cuda.empty_cache()
    wall, thread, process = (1000 * each / count for each in steps.times)
    return {
        "step_ms": wall, "main_thread_cpu_ms": thread, "process_cpu_ms": process, "profiled_steps": count,
        **_figures(steps.profiler.key_averages(), count),
        "waits_per_step": sum(steps.waits.values()) / count,
        "waits": {stack: times / count for stack, times in steps.waits.most_common()},
    }  # fmt: skip


def _figures(events: Any, count: int) -> dict[str, Any]:
    """Counts and times of one step from the events of `count` profiled steps."""
    operations: dict[str, dict[str, float]] = {}
    kernels: dict[str, dict[str, float]] = {}
    for event in events:
        device = getattr(event, "self_device_time_total", 0) / 1000 / count
        if "CUDA" in str(event.device_type):
            if not getattr(event, "is_user_annotation", False):
                kernels[event.key] = {"count": event.count / count, "device_ms": device}
            continue
        host = event.self_cpu_time_total / 1000 / count
        operations[event.key] = {"count": event.count / count, "host_ms": host, "device_ms": device}

    def counted(names: tuple[str, ...]) -> float:
        return sum(operations[name]["count"] for name in names if name in operations)

    hosts = sorted(operations, key=lambda key: -operations[key]["host_ms"])[:ROWS]
    often = sorted(operations, key=lambda key: -operations[key]["count"])[:ROWS]
    lines = ["operation (by host time)                             count  host ms  device ms"]
    for key in hosts[:15]:
        row = operations[key]
        lines.append(f"{key[:50]:50} {row['count']:7.1f} {row['host_ms']:8.3f} {row['device_ms']:10.3f}")
    slowest = sorted(kernels, key=lambda key: -kernels[key]["device_ms"])[:ROWS]
    lines += [
        f"{key[:50]:50} {kernels[key]['count']:7.1f}          {kernels[key]['device_ms']:10.3f}" for key in slowest[:8]
    ]
    return {
        "launches_per_step": counted(_LAUNCHES), "copies_per_step": counted(_COPIES),
        "synchronisations_per_step": counted(_SYNCHRONISATIONS),
        "operations_per_step": sum(row["count"] for key, row in operations.items() if key.startswith("aten::")),
        "profiled_host_ms_per_step": sum(row["host_ms"] for row in operations.values()),
        "device_ms_per_step": sum(row["device_ms"] for row in kernels.values()),
        "copies_to_host_per_step": sum(row["count"] for key, row in kernels.items() if "DtoH" in key),
        "operations": {key: operations[key] for key in dict.fromkeys([*hosts, *often])},
        "kernels": {key: kernels[key] for key in slowest}, "table": "\n".join(lines),
    }  # fmt: skip
