"""Local paths and fsspec addresses (`s3://`, `gs://`, `memory://`): listed, read and written, with one-line errors.

Local paths need no fsspec. Whatever goes over a network has a time limit: an address that does not answer is an error
after `NUMERATE_ANSWER_SECONDS` (60 by default), and not a hang.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from numerate.errors import NumerateError
from numerate.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "PlaceError", "State", "answer_seconds", "delete_file", "files_below", "inside", "is_folder", "is_remote",
    "open_place", "read_place", "state_of", "write_place",
]  # fmt: skip

ANSWER_SECONDS = 60.0
BLOCK_BYTES = 4 << 20
"""Bytes of one request to a remote file."""
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs",
    "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp", "sftp": "paramiko", "ssh": "paramiko",
}  # fmt: skip
_STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss")
"""Stores of objects, which appear all at once."""
_NO_ACCESS = re.compile(
    r"credential|forbidden|access ?denied|permission|unauthori[sz]ed|anonymous caller|\b40[13]\b", re.I
)
_NO_ANSWER = re.compile(r"connect|timed? ?out|timeout|resolve|name or service|unreachable|\bdns\b", re.IGNORECASE)
_ABSENT = re.compile(r"no ?such|not ?found|does not exist|non key-like path|\b404\b", re.IGNORECASE)
Result = TypeVar("Result")


class PlaceError(NumerateError, OSError):
    """A path or address that cannot be read or written; the message is one line that names it."""


@dataclass(frozen=True, slots=True)
class State:
    """Size in bytes of a file, and a word that changes with its content: time of change, or the store's own tag."""

    size: int
    version: str


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address for fsspec.

    Example:
        >>> is_remote("s3://bucket/a.txt"), is_remote("texts/a.txt"), is_remote("-")
        (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def answer_seconds() -> float:
    """The time limit of one request, from the environment variable `NUMERATE_ANSWER_SECONDS`."""
    given = os.environ.get("NUMERATE_ANSWER_SECONDS", "")
    try:
        seconds = float(given) if given else ANSWER_SECONDS
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise PlaceError(f"NUMERATE_ANSWER_SECONDS={given!r}: give seconds, as 60")
    return seconds


def inside(folder: str, name: str) -> str:
    """The place of a file in a folder, which may be remote.

    Example:
        >>> inside("s3://bucket/out/", "a.jsonl"), inside("memory://", "a.jsonl"), inside("out", "a.jsonl")
        ('s3://bucket/out/a.jsonl', 'memory://a.jsonl', 'out/a.jsonl')
    """
    if not is_remote(folder):
        return str(Path(folder) / name)
    return f"{folder if folder.endswith('://') else folder.rstrip('/') + '/'}{name}"


def is_folder(path: str) -> bool:
    """Whether a path is a folder, or the beginning of the names of remote files.

    Raises:
        PlaceError: The place does not answer, or refuses, or the path is empty.
    """
    if not path:  # of an unset variable of a shell: `Path("")` would be the current folder
        raise PlaceError("'': an empty path; give a file or a folder")
    if not is_remote(path):
        return path != "-" and Path(path).is_dir()
    if path.endswith("/"):
        return True
    files, name = _file_system(path)
    return _asked(path, lambda: bool(files.isdir(name)))


def files_below(folder: str) -> list[str]:
    """All files in a folder and its folders, sorted by name; names that begin with a dot are left out.

    Raises:
        PlaceError: The folder does not exist, has no files, or cannot be listed.
    """
    if not is_remote(folder):
        kept = [str(path) for path in sorted(_below(folder))]
    else:
        files, name = _file_system(folder)
        names = _asked(folder, lambda: sorted(files.find(name)))
        # The addresses are those of the folder as it was given: a file system's own names lack the host of sftp://, or
        # begin with a slash that file:// needs and memory:// does not.
        start = len(str(name).strip("/"))
        below = [each.strip("/")[start:].strip("/") for each in names]
        kept = [inside(folder, each) for each in below if not any(map(_hidden, each.split("/")))]
        if not names and not _asked(folder, lambda: bool(files.exists(name))):
            raise PlaceError(f"{folder}: no such folder or bucket")
    if not kept:
        raise PlaceError(f"{folder}: the folder has no files")
    return kept


def _below(folder: str) -> Iterator[Path]:
    """The files of a local folder that are not hidden; a folder that cannot be listed is an error, not an empty one."""

    def refuse(error: OSError) -> None:
        raise PlaceError(f"{str(error.filename)!r}: {error.strerror}")

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not _hidden(name)]
        for name in names:
            if not _hidden(name) and (path := Path(place) / name).is_file():
                yield path


def state_of(path: str) -> State:
    """Size and version of a file, without reading it.

    Raises:
        PlaceError: There is no such file.
    """
    if not is_remote(path):
        try:
            found = Path(path).stat()
        except (OSError, ValueError) as error:
            said = "no such file" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or error
            raise PlaceError(f"{path!r}: {said}") from None
        return State(found.st_size, str(found.st_mtime_ns))
    files, name = _file_system(path)
    about = _asked(path, lambda: files.info(name))
    tag = next(
        (about[key] for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified", "created") if key in about), ""
    )
    return State(int(about.get("size") or 0), str(tag).strip('"'))


def open_place(path: str) -> IO[bytes]:
    """Opens a file for reading, as a seekable stream.

    Raises:
        PlaceError: The remote file cannot be opened.
        OSError, ValueError: The local one cannot.
    """
    if not is_remote(path):
        return Path(path).open("rb")
    files, name = _file_system(path)
    return io.BufferedReader(
        _Remote(path, _asked(path, lambda: files.open(name, "rb", cache_type="none"))), BLOCK_BYTES
    )


def read_place(path: str) -> bytes | None:
    """All bytes of a small file; None if there is no such file."""
    if not is_remote(path):
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None
    files, name = _file_system(path)
    try:
        return _asked(path, lambda: files.cat_file(name))
    except PlaceError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


def write_place(path: str, content: bytes | Iterable[bytes]) -> None:
    """Writes a file atomically: readers see all of it or none. The parts of `content` are written one after the other.

    Raises:
        PlaceError: The remote file cannot be written; nothing is left of it.
    """
    if not is_remote(path):
        write_atomically(path, content)
        return
    files, name = _file_system(path)
    # Object stores show a file when it is committed, by hand here: closing it after an error would publish a part of
    # it. Other systems show it when it is opened: it gets its name when it is whole.
    is_store = path.partition("://")[0].lower() in _STORES
    folder, _, last = name.rpartition("/")
    beside = name if is_store else f"{folder}/.{last}.{os.getpid()}.part"
    file: Any = None
    try:
        if not is_store:
            _asked(path, lambda: files.makedirs(folder, exist_ok=True))
        file = _asked(path, lambda: files.open(beside, "wb", autocommit=not is_store))
        for piece in [content] if isinstance(content, bytes) else content:
            _asked(path, lambda piece=piece: file.write(piece))
        _asked(path, file.close)
        _asked(path, file.commit if is_store else lambda: files.mv(beside, name))
    except BaseException:
        with contextlib.suppress(Exception):
            file.discard() if is_store else files.rm_file(beside)
        raise


def delete_file(path: str) -> None:
    """Deletes a file, if it is there."""
    if not is_remote(path):
        Path(path).unlink(missing_ok=True)
        return
    files, name = _file_system(path)
    with contextlib.suppress(FileNotFoundError):
        files.rm_file(name)


class _Remote(io.RawIOBase):
    """A remote file whose reads have a time limit and one-line errors."""

    def __init__(self, path: str, file: Any) -> None:
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any, /) -> int:
        data = _asked(self._path, lambda: self._file.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._file.close()
        super().close()


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _file_system(path: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and the address inside of it."""
    protocol = path.partition("://")[0].lower()
    try:
        import fsspec
    except ImportError:
        raise PlaceError(f"{path}: {protocol}:// needs the package fsspec: pip install 'numerate[ray]'") from None
    options: dict[str, Any] = {}
    if protocol in ("s3", "s3a"):
        limit = answer_seconds()
        options["config_kwargs"] = {"connect_timeout": limit / 3, "read_timeout": limit, "retries": {"max_attempts": 1}}
    try:
        return _asked(path, lambda: fsspec.core.url_to_fs(path, **options))
    except PlaceError as error:
        if isinstance(error.__cause__, ImportError):
            package = _PACKAGES.get(protocol, f"of {protocol}://")
            raise PlaceError(f"{path}: {protocol}:// needs the package {package}: pip install {package}") from None
        if isinstance(error.__cause__, ValueError):
            raise PlaceError(f"{path}: {' '.join(str(error.__cause__).split())[:200]}") from None
        raise


def _asked(path: str, request: Callable[[], Result]) -> Result:
    """The answer to a request; after the time limit, or with any error of a storage library, `PlaceError`."""
    answers: list[Result] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(request())
        except BaseException as error:
            errors.append(error)

    limit = answer_seconds()
    thread = threading.Thread(target=ask, name=f"request to {path}", daemon=True)  # never waited for at the end
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        raise PlaceError(f"{path}: no answer within {limit:g} s; check address and network")
    if errors:
        raise PlaceError(f"{path}: {_said(errors[0])}") from errors[0]
    return answers[0]


def _said(error: BaseException) -> str:
    """What a storage library means with an error, in a few words."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:240]
    if isinstance(error, PermissionError) or _NO_ACCESS.search(text):
        return f"no access; check the credentials ({text})"
    if isinstance(error, FileNotFoundError) or _ABSENT.search(text):
        return "no such file, folder or bucket"
    if isinstance(error, TimeoutError | ConnectionError) or _NO_ANSWER.search(text):
        return f"no answer; check address and network ({text})"
    return text
