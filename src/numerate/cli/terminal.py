"""Output of the commands: console, JSON lines and progress bars. Colours and bars appear only on a terminal."""

from __future__ import annotations

import contextlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console

__all__ = ["console", "on_terminal", "progress", "write_json"]

LONG_FILE = 8 * 1024 * 1024
"""Size in bytes from which a progress bar is shown."""


def console(*, stderr: bool = False) -> Console:
    """A console for tables and coloured text; plain text unless the stream is a terminal (FORCE_COLOR is ignored).

    Texts are data and not markup: `rate [/s]` is printed as it stands. Styles are given by `rich.text.Text`.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(highlight=False, markup=False, emoji=False, stderr=stderr, force_terminal=stream.isatty())


def on_terminal() -> bool:
    """Whether standard output is a terminal, not a file or pipe."""
    return sys.stdout.isatty()


def write_json(result: dict[str, Any]) -> None:
    """Writes one line of JSON to standard output.

    JSON has no NaN and no infinity: they become null, and standard error says so once for each key.
    """
    import json

    try:
        line = json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        line = json.dumps(_finite(result, ""), ensure_ascii=False, allow_nan=False) + "\n"
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


_told: set[str] = set()


def _finite(value: Any, key: str) -> Any:
    """The value with None for each float that is not finite."""
    if isinstance(value, dict):
        return {name: _finite(each, f"{key}.{name}".strip(".")) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each, key) for each in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if key not in _told:
        _told.add(key)
        sys.stderr.write(f"{key} is {value}, which JSON cannot hold: written as null\n")
    return None


@contextlib.contextmanager
def progress(paths: Iterable[str], *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error for long files, if standard error is a terminal.

    Yields:
        A function of the number of bytes read of the current file; a smaller number than before means the next file.
    """
    sizes = [Path(path).stat().st_size for path in paths if path != "-" and Path(path).is_file()]
    if quiet or sum(sizes) < LONG_FILE or not sys.stderr.isatty():
        yield lambda position: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True)) as bar:
        task = bar.add_task("reading", total=sum(sizes))
        last = 0

        def advance(position: int) -> None:
            nonlocal last
            bar.advance(task, position - last if position >= last else position)
            last = position

        yield advance
