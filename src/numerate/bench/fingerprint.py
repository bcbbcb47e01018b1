"""What files hold, as a short word: two folders of one name are not taken for one another."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

__all__ = ["fingerprint"]

_UNREAD = (".md", ".lock")


def fingerprint(place: str | Path) -> str | None:
    """A word for the contents of a file, or of the files of a folder (not of those below it); None if it is neither.

    Names of files count, their place and time do not. Descriptions (`.md`) may change.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "one.txt").write_text("1")
        >>> fingerprint(folder), fingerprint(folder / "two.txt")
        ('8a34736ee4b1', None)
    """
    root = Path(place)
    if root.is_file():
        return _of_file(str(root), *_state(root))[:12]
    if not root.is_dir():
        return None
    whole = hashlib.sha256()
    for file in sorted(root.iterdir()):
        if file.is_file() and not file.name.endswith(_UNREAD):
            whole.update(f"{file.name} {_of_file(str(file), *_state(file))}\n".encode())
    return whole.hexdigest()[:12]


def _state(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=256)
def _of_file(path: str, size: int, changed: int) -> str:
    """Of a file as it is now; a grid asks for the same ones again and again."""
    del size, changed
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
