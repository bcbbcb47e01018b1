"""Worker processes that end with their parent, however it ends.

A worker of a process pool waits for jobs on a pipe that all workers hold open. If the parent is killed, nobody closes
the pipe: idle workers would wait for ever, and busy ones would compute to the end.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from multiprocessing.connection import wait

__all__ = ["end_with_parent"]


def end_with_parent() -> None:
    """Starts a thread that ends this process at once when its parent has ended; for the initializer of a pool.

    The parent's end is seen through a pipe that only the parent holds open, which works on all systems. Does nothing in
    a process that `multiprocessing` did not start.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)  # no clean-up: the main thread may be in the middle of anything

    threading.Thread(target=watch, name="end with parent", daemon=True).start()
