"""Atomic checkpoint folders: complete or absent, never partly written.

A checkpoint is written into a temporary folder, gets a manifest of all its files (size and SHA-256), is flushed to the
disk, and is renamed in one step. So a killed run or a full disk leaves the older checkpoints intact. Later damage, such
as a flipped bit or an incomplete copy, is found when the manifest is checked.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.errors import NumerateError
from numerate.files import file_hash, flush, write_atomically

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

__all__ = [
    "CheckpointError",
    "atomic",
    "damage",
    "newest_whole",
    "publish",
    "read_manifest",
    "recover",
    "rotate",
    "staging",
]

MANIFEST = "manifest.json"
_SAVING, _OLD = ".saving-", ".old-"
_NAME = re.compile(r"checkpoint-(\d+)")
_log = logging.getLogger(__name__)


class CheckpointError(NumerateError, RuntimeError):
    """A checkpoint could not be written, or is damaged."""


def staging(target: str | Path) -> Path:
    """The temporary folder of a checkpoint that is being written; its name is not the name of a checkpoint."""
    return Path(target).with_name(f"{_SAVING}{Path(target).name}")


@contextlib.contextmanager
def atomic(target: str | Path) -> Iterator[Path]:
    """A context manager of a temporary folder, which becomes `target` on success and is deleted on an error.

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
        shutil.rmtree(inside, ignore_errors=True)  # frees space on a full disk
        raise


def publish(inside: str | Path, target: str | Path, *, known: Mapping[str, str] | None = None) -> None:
    """Writes the manifest of a folder, flushes the folder to the disk and renames it to `target`, which is replaced.

    `known` has SHA-256 of files that were hashed and flushed already, by their path in the folder.
    """
    inside, target = Path(inside), Path(target)
    files = {}
    for path in sorted(path for path in inside.rglob("*") if path.is_file() and path != inside / MANIFEST):
        name = path.relative_to(inside).as_posix()
        sha = (known or {}).get(name)
        files[name] = {"size": path.stat().st_size, "sha256": sha or file_hash(path)}
        if sha is None:
            flush(path)
    write_atomically(inside / MANIFEST, json.dumps({"version": 1, "files": files}, indent=1).encode())
    for folder in (*(path for path in inside.rglob("*") if path.is_dir()), inside):
        flush(folder)
    old = target.with_name(f"{_OLD}{target.name}")
    if target.exists():  # a folder with files cannot be replaced in one step; `recover` handles a crash in between
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
    inside.rename(target)
    flush(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def damage(checkpoint: str | Path, *, quick: bool = False) -> str | None:
    """The damage of a checkpoint folder in a few words; None if it is complete. `quick` compares no hashes, only sizes.

    Example:
        >>> import tempfile
        >>> damage(tempfile.mkdtemp())
        'it has no manifest.json'
    """
    checkpoint = Path(checkpoint)
    try:
        files = read_manifest(checkpoint)
    except CheckpointError as error:
        return str(error)
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
            (f"{name} was changed" for name, (_, sha) in files.items() if file_hash(checkpoint / name) != sha), None
        )
    except OSError as error:
        return f"it cannot be read: {error}"


def read_manifest(checkpoint: str | Path) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of each file of a folder, by its path in the folder.

    Raises:
        CheckpointError: There is no manifest, or it is damaged; the message is a few words.
    """
    try:
        text = (Path(checkpoint) / MANIFEST).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        no_file = isinstance(error, FileNotFoundError)
        raise CheckpointError(f"it has no {MANIFEST}" if no_file else f"{MANIFEST}: {error}") from None
    try:
        return {str(name): (int(row["size"]), str(row["sha256"])) for name, row in json.loads(text)["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(f"its {MANIFEST} cannot be read") from None


def newest_whole(folder: str | Path) -> Path | None:
    """The complete `checkpoint-<step>` of the latest step in a folder, or None; damaged ones are logged and skipped.

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
        wrong = damage(checkpoint)
        if wrong is None:
            return checkpoint
        _log.warning("%s is skipped: %s", checkpoint, wrong)
    return None


def rotate(folder: str | Path, limit: int | None, keep: Collection[str | Path] = ()) -> list[Path]:
    """Deletes the oldest checkpoints until `limit` are left, and returns the deleted folders.

    Kept in any case: those of `keep`, the last one written, and the newest complete one (only sizes are checked).
    """
    if limit is None or limit <= 0:
        return []
    written = sorted(_checkpoints(folder), key=lambda path: (path.stat().st_mtime_ns, _step(path)))
    kept = {Path(path).resolve() for path in keep} | {path.resolve() for path in written[-1:]}
    whole = next((path for path in reversed(written) if damage(path, quick=True) is None), None)
    if whole is not None:
        kept.add(whole.resolve())
    spare = [path for path in written if path.resolve() not in kept]
    gone = spare[: max(0, len(written) - max(limit, len(kept)))]
    for path in gone:
        _log.info("%s is deleted: the limit is %d", path, limit)
        # Renamed first: a partly deleted folder must not look like a checkpoint.
        aside = path.with_name(f"{_OLD}{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    return gone


def recover(folder: str | Path) -> None:
    """Deletes temporary folders of a killed run; a complete one that was not yet renamed is renamed.

    Only the writing process may call it: it would delete a folder that another process is writing.
    """
    for left in Path(folder).glob(f"{_SAVING}checkpoint-*"):
        target = left.with_name(left.name.removeprefix(_SAVING))
        inner = left / target.name  # the Trainer writes into a subfolder
        inside = inner if inner.is_dir() else left
        if not target.exists() and damage(inside) is None:
            inside.rename(target)
        shutil.rmtree(left, ignore_errors=True)
    for left in Path(folder).glob(f"{_OLD}checkpoint-*"):
        target = left.with_name(left.name.removeprefix(_OLD))
        # It was to be replaced by one that is missing; but if there are others, it was being deleted.
        if not target.exists() and newest_whole(folder) is None and damage(left) is None:
            left.rename(target)
        shutil.rmtree(left, ignore_errors=True)


def _checkpoints(folder: str | Path) -> list[Path]:
    folder = Path(folder)
    return [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])
