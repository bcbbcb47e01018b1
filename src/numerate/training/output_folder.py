"""Output folders: found writable before the work, and locked, so that two trainings never write into one folder.

The lock is a lock of the operating system on a file in the folder. It ends with the process that holds it, however that
process ends, so that nothing is left to clean up after a kill. The file says which process holds it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LOCK_FILE", "OutputFolderError", "holds_files", "output_folder"]

LOCK_FILE = ".numerate.lock"
_held: dict[Path, tuple[int, int]] = {}
"""The open lock file and the thread of each folder that this process holds."""
_log = logging.getLogger(__name__)


class OutputFolderError(NumerateError, OSError):
    """A folder that cannot be written to, or that another process writes into; the message names the process."""


@contextlib.contextmanager
def output_folder(folder: str | Path, *, holds: bool = True) -> Iterator[Path]:
    """Makes a folder, checks that files can be written there, and locks it until the end of the `with` block.

    The same thread may enter it several times. A folder that was made here and stayed empty is removed again.

    Args:
        folder: The folder.
        holds: False for all processes of a distributed run but the first: they do nothing.

    Raises:
        OutputFolderError: The folder cannot be written to, or another process holds it.

    Example:
        >>> import tempfile
        >>> with output_folder(Path(tempfile.mkdtemp()) / "out") as folder:
        ...     folder.name, [path.name for path in folder.iterdir()]
        ('out', ['.numerate.lock'])
        >>> folder.exists()
        False
    """
    folder = Path(folder)
    try:
        place, thread = folder.resolve(), threading.get_ident()
    except (OSError, RuntimeError) as error:  # links in a circle: RuntimeError before Python 3.13
        raise OutputFolderError(f"{folder} cannot be written to: {error}") from None
    if not holds or _held.get(place, (0, 0))[1] == thread:
        yield folder
        return
    is_new = not folder.exists()
    handle = _locked(folder)
    _held[place] = handle, thread
    try:
        yield folder
    finally:
        del _held[place]
        _unlock(place / LOCK_FILE, handle)
        if is_new:
            with contextlib.suppress(OSError):
                folder.rmdir()


def holds_files(folder: str | Path) -> bool:
    """Whether a folder has files besides the lock, which a killed process leaves."""
    return any(path.name != LOCK_FILE for path in Path(folder).iterdir())


def _locked(folder: Path) -> int:
    """The open lock file of a folder; this process holds the lock."""
    path = folder / LOCK_FILE
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileExistsError:
            raise OutputFolderError(f"{folder} is a file; give a folder") from None
        except OSError as error:
            raise OutputFolderError(f"{folder} cannot be written to: {error.strerror or error}") from None
        try:
            if not _try_lock(handle):
                holder = os.pread(handle, 500, 0).decode("utf-8", "replace") if hasattr(os, "pread") else ""
                said = " ".join(holder.split()) or "another process"
                raise OutputFolderError(f"{folder} is in use by {said}: wait until it ends, or give another folder")
            if not _is_current(path, handle):  # its last holder has just removed it
                os.close(handle)
                continue
            os.ftruncate(handle, 0)
            since = time.strftime("%Y-%m-%d %H:%M:%S")
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()} since {since}\n".encode())
        except OutputFolderError:
            os.close(handle)
            raise
        except OSError as error:
            os.close(handle)
            raise OutputFolderError(f"{folder} cannot be written to: {error.strerror or error}") from None
        return handle


def _is_current(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _unlock(path: Path, handle: int) -> None:
    if sys.platform == "win32":  # an open file cannot be removed there
        os.close(handle)
    with contextlib.suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        os.close(handle)


def _try_lock(handle: int) -> bool:
    """Whether this process got the lock; it is released when the file is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 1 << 20, os.SEEK_SET)  # the bytes before stay readable for others
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:  # some network file systems have no locks
        _log.warning("the output folder is not locked: %s", error)
    return True


def _forget() -> None:
    """Closes the lock files in a forked process, which would hold the locks after the death of this one."""
    for handle, _ in _held.values():
        with contextlib.suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
