"""Functions of parts for tests of the engines: worker processes must be able to import them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from numerate.errors import BadInput


def doubled(number: int) -> int:
    if number < 0:
        raise BadInput(f"{number} is negative")
    return 2 * number


def dies_once(job: tuple[str, int]) -> int:
    """Twice a number; the process that gets number 3 first is killed."""
    folder, number = job
    mark = Path(folder) / "killed"
    if number == 3 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def always_dies(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def waits(job: tuple[str, int]) -> tuple[int, int]:
    """A number and the process that took it, after a wait; the process is written down first."""
    folder, number = job
    (Path(folder) / f"{number}-{os.getpid()}").touch()
    time.sleep(0.3)
    return number, os.getpid()


def process_of(part: object) -> int:
    return os.getpid()
