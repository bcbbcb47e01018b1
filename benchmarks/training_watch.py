"""A watch over one side of a training benchmark: prints how far it is, and ends it after a time limit.

Compiling can take minutes without output. A thread prints a line every few seconds, and at the limit raises `TooSlow`
in the threads that run Python code of the training: also in the one of the backward pass, which compiles its own part.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Callable

_AGAIN = 2.0
"""Seconds after which `TooSlow` is raised again, in case that somebody caught it."""


class TooSlow(Exception):
    """A side did not finish within its time limit."""


class Watch(TrainerCallback):
    """A context that watches a training.

    Args:
        name: Name of the side, for the output.
        limit: Seconds until `TooSlow` is raised.
        graphs: Function that gives the number of graphs that were compiled so far.
        every: Seconds between two lines.

    Example:
        >>> with Watch("stock", limit=60, graphs=lambda: 0):
        ...     pass
    """

    def __init__(self, name: str, limit: float, graphs: Callable[[], int], every: float = 10.0) -> None:
        self.name, self.limit, self.graphs, self.every = name, limit, graphs, every
        self.step, self.late = 0, False
        self._done, self._main = threading.Event(), threading.get_ident()
        self._lock, self._thread = threading.Lock(), threading.Thread(target=self._run, daemon=True)
        self._begin = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Notes the step; the first ones are printed."""
        del args, control, kwargs
        self.step = state.global_step
        if self.step <= 2:
            self._say(f"step {self.step} done")

    def __enter__(self) -> Watch:
        self._begin = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with self._lock:  # nothing is raised from here on
            self._done.set()
            if self.late:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._main), None)
        self._thread.join()
        if self.late and error is not None:
            raise self._error() from error

    def _error(self) -> TooSlow:
        graphs = self.graphs()
        return TooSlow(f"{self.name} took more than {self.limit:.0f} s: {self.step} steps, {graphs} graphs compiled")

    def _run(self) -> None:
        while not self._done.wait(self._wait()):
            if time.monotonic() - self._begin < self.limit:
                self._say(f"{self.step} steps")
                continue
            with self._lock:
                if self._done.is_set():
                    return
                if not self.late:
                    self._say("too slow: ends it")
                self.late = True
                for thread in self._busy():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TooSlow))

    def _wait(self) -> float:
        left = self.limit - (time.monotonic() - self._begin)
        return _AGAIN if self.late else max(0.01, min(self.every, left))

    def _busy(self) -> list[int]:
        """The training's thread, and those of a backward pass that is being compiled."""
        found = [self._main]
        for thread, frame in sys._current_frames().items():
            place: Any = frame
            while place is not None and thread not in found and thread != threading.get_ident():
                if "_backward_impl" in place.f_code.co_name or "torch/autograd/function.py" in place.f_code.co_filename:
                    found.append(thread)
                place = place.f_back
        return found

    def _say(self, what: str) -> None:
        seconds = time.monotonic() - self._begin
        print(f"  {self.name}: {seconds:.0f} s, {what}, {self.graphs()} graphs", flush=True)
