"""Checkpoints that are whole or not there at all.

A checkpoint is written into a folder beside its place, gets a manifest of all its files (size and SHA-256), is flushed
to the disk, and takes its name in one step. So a run that is killed, or a disk that is full, leaves what was there.
What happens to a folder later, such as a flipped bit or a torn copy, shows when the manifest is checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = [
    "MANIFEST",
    "CheckpointError",
    "atomic",
    "newest_whole",
    "publish",
    "recover",
    "rotate",
    "staging",
    "trouble",
]

MANIFEST = "manifest.json"
_SAVING, _OLD = ".saving-", ".old-"
_NAME = re.compile(r"checkpoint-(\d+)")
_log = logging.getLogger(__name__)


class CheckpointError(RuntimeError):
    """A checkpoint could not be written, or is not whole."""


def staging(target: str | Path) -> Path:
    """Where a checkpoint is written until it is whole; its name is none that anybody takes for a checkpoint.

    Example:
        >>> staging("out/checkpoint-5").name
        '.saving-checkpoint-5'
    """
    return Path(target).with_name(f"{_SAVING}{Path(target).name}")


@contextlib.contextmanager
def atomic(target: str | Path) -> Iterator[Path]:
    """A folder to write files into, which becomes `target` when all went well, and vanishes otherwise.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with atomic(folder / "checkpoint-5") as inside:
        ...     _ = (inside / "weights").write_bytes(b"12345")
        >>> sorted(path.name for path in (folder / "checkpoint-5").iterdir())
        ['manifest.json', 'weights']
    """
    inside = staging(target)
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir(parents=True)
    try:
        yield inside
        publish(inside, target)
    except BaseException:
        shutil.rmtree(inside, ignore_errors=True)  # on a full disk, it would only stand in the way
        raise


def publish(inside: str | Path, target: str | Path) -> None:
    """Gives a folder its manifest, flushes it to the disk and moves it to `target`, in place of what was there."""
    inside, target = Path(inside), Path(target)
    files = {}
    for path in _files(inside):
        files[path.relative_to(inside).as_posix()] = {"size": path.stat().st_size, "sha256": _digest(path)}
        _flush(path)
    with (inside / MANIFEST).open("w", encoding="utf-8") as stream:
        json.dump({"version": 1, "files": files}, stream, indent=1)
    _flush(inside / MANIFEST)
    for folder in (*(path for path in inside.rglob("*") if path.is_dir()), inside):
        _flush(folder)
    old = target.with_name(f"{_OLD}{target.name}")
    if target.exists():  # a folder that holds files cannot be replaced in one step; `recover` knows of the gap
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    inside.rename(target)
    _flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def trouble(checkpoint: str | Path, *, quick: bool = False) -> str | None:
    """What is wrong with a checkpoint, in a few words; None if it is whole.

    Args:
        checkpoint: Its folder.
        quick: Compare the files' sizes only, not their contents.

    Example:
        >>> import tempfile
        >>> trouble(tempfile.mkdtemp())
        'it has no manifest.json'
    """
    checkpoint = Path(checkpoint)
    try:
        text = (checkpoint / MANIFEST).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return f"it has no {MANIFEST}" if isinstance(error, FileNotFoundError) else f"{MANIFEST}: {error}"
    try:
        files = {str(name): (int(row["size"]), str(row["sha256"])) for name, row in json.loads(text)["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"its {MANIFEST} cannot be read"
    try:
        for name, (size, _) in files.items():
            path = checkpoint / name
            if not path.is_file():
                return f"{name} is missing"
            if (found := path.stat().st_size) != size:
                return f"{name} has {found} bytes instead of {size}"
        if quick:
            return None
        return next(
            (f"{name} was altered" for name, (_, sha) in files.items() if _digest(checkpoint / name) != sha), None
        )
    except OSError as error:
        return f"it cannot be read: {error}"


def newest_whole(folder: str | Path) -> Path | None:
    """The checkpoint of the latest step that is whole; what is passed over, and why, goes to the log.

    Args:
        folder: Holds `checkpoint-<step>` folders; one that does not exist holds none.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for step in (5, 10):
        ...     with atomic(folder / f"checkpoint-{step}") as inside:
        ...         _ = (inside / "weights").write_bytes(b"12345")
        >>> newest_whole(folder).name
        'checkpoint-10'
        >>> _ = (folder / "checkpoint-10" / "weights").write_bytes(b"12346")
        >>> newest_whole(folder).name
        'checkpoint-5'
    """
    for checkpoint in sorted(_checkpoints(folder), key=_step, reverse=True):
        wrong = trouble(checkpoint)
        if wrong is None:
            return checkpoint
        _log.warning("%s is passed over: %s", checkpoint, wrong)
    return None


def rotate(folder: str | Path, limit: int | None, keep: Collection[str | Path] = ()) -> list[Path]:
    """Deletes the oldest checkpoints until `limit` are left.

    Never deleted are those of `keep`, the last one written, and the newest whole one (sizes are checked, contents not).

    Returns:
        The folders that were deleted.
    """
    if limit is None or limit <= 0:
        return []
    written = sorted(_checkpoints(folder), key=lambda path: (path.stat().st_mtime_ns, _step(path)))
    kept = {Path(path).resolve() for path in keep} | {path.resolve() for path in written[-1:]}
    whole = next((path for path in reversed(written) if trouble(path, quick=True) is None), None)
    if whole is not None:
        kept.add(whole.resolve())
    spare = [path for path in written if path.resolve() not in kept]
    gone = spare[: max(0, len(written) - max(limit, len(kept)))]
    for path in gone:
        _log.info("%s is deleted: there may be %d", path, limit)
        # Out of sight first: a folder that is half deleted must not be taken for a checkpoint.
        aside = path.with_name(f"{_OLD}{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    return gone


def recover(folder: str | Path) -> None:
    """Clears away what a killed run left half done; a whole folder that only lacked its name gets it.

    Only for the process that writes: it would delete what another one is writing.
    """
    for left in Path(folder).glob(f"{_SAVING}checkpoint-*"):
        target = left.with_name(left.name.removeprefix(_SAVING))
        inner = left / target.name  # a Trainer writes its checkpoints into a folder of its own there
        inside = inner if inner.is_dir() else left
        if not target.exists() and trouble(inside) is None:
            inside.rename(target)
        shutil.rmtree(left, ignore_errors=True)
    for left in Path(folder).glob(f"{_OLD}checkpoint-*"):
        target = left.with_name(left.name.removeprefix(_OLD))
        # Replaced by one that never came; but if others are there, it was being deleted.
        if not target.exists() and newest_whole(folder) is None and trouble(left) is None:
            left.rename(target)
        shutil.rmtree(left, ignore_errors=True)


def _checkpoints(folder: str | Path) -> list[Path]:
    folder = Path(folder)
    return [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there, and renames are flushed by the system
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
