"""Files that several processes need and one of them makes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["made_once"]


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """A file or folder that is made by the first process that asks for it, while the others wait.

    Args:
        place: The file or folder.
        make: Makes it, and makes it appear whole, as `write_atomically` and `checkpoints.atomic` do.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> place = Path(tempfile.mkdtemp()) / "words.txt"
        >>> for text in ("first", "second"):
        ...     _ = made_once(place, lambda file: file.write_text(text))
        >>> place.read_text()
        'first'
    """
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with _locked(place.with_name(f".{place.name}.lock")):
            if not place.exists():
                make(place)
    return place


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Holds a lock that ends with the process; where the system has none, several processes may make the file."""
    with file.open("w") as handle:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
