"""Files: one YAML dialect, one atomic writer, one content hash."""

from __future__ import annotations

import contextlib
import filecmp
import functools
import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "YamlError", "check_writable", "content_hash", "file_hash", "flush", "json_hash", "read_yaml", "write_atomically",
]  # fmt: skip


def write_atomically(
    path: str | os.PathLike[str], content: bytes | Iterable[bytes], *, keep_equal: bool = False
) -> Path:
    """Writes a file atomically: readers see the old content or the new, never a part. Parent folders are created.

    Args:
        path: The file.
        content: All of it, or parts that are written one after the other.
        keep_equal: Leave a file that has this content already untouched, with its modification time.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        flush(beside)
        if not (keep_equal and target.is_file() and filecmp.cmp(target, beside, shallow=False)):
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return target


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Checks that files can be written into a folder, which need not exist yet; for before the work.

    Raises:
        OSError: They cannot; the message names the folder.

    Example:
        >>> check_writable("/dev/null/here")
        Traceback (most recent call last):
        NotADirectoryError: [Errno 20] Not a directory: '/dev/null/here'
    """
    target = Path(folder)
    existing = next(path for path in (target, *target.absolute().parents) if os.path.lexists(path))
    probe = existing / f".{os.getpid()}.part"
    try:
        with probe.open("wb") as file:
            file.write(b"0")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) from None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open folders, and flushes renames itself
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_IGNORED = (".md", ".lock")


def content_hash(place: str | Path) -> str | None:
    """Content hash of a file, or of the files directly inside a folder; None if `place` is neither.

    Of a folder that holds folders alone, all files below it count. File names count; location and modification time do
    not. Descriptions (`.md`) are ignored.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "one.txt").write_text("1")
        >>> content_hash(folder), content_hash(folder / "two.txt")
        ('8a34736ee4b1', None)
        >>> outer = Path(tempfile.mkdtemp())
        >>> (outer / "data").mkdir()
        >>> empty = content_hash(outer)
        >>> _ = (outer / "data" / "one.txt").write_text("1")
        >>> content_hash(outer) == empty
        False
    """
    root = Path(place)
    if root.is_file():
        return _cached_hash(str(root), *_state(root))[:12]
    if not root.is_dir():
        return None
    whole = hashlib.sha256()
    for files in (root.iterdir(), root.rglob("*")):
        found = sorted(file for file in files if file.is_file() and not file.name.endswith(_IGNORED))
        for file in found:
            whole.update(f"{file.relative_to(root).as_posix()} {_cached_hash(str(file), *_state(file))}\n".encode())
        if found:
            break
    return whole.hexdigest()[:12]


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_hash(value: Any) -> str:
    """Content hash of a value of plain JSON types, as 16 hexadecimal digits; the order of keys does not count."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _state(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=1 << 15)
def _cached_hash(path: str, size: int, changed: int) -> str:
    """Hash of one file, cached by size and modification time: a grid of trainings hashes the same files many times."""
    del size, changed
    return file_hash(path)


_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?)$"
)


MAX_YAML_DEPTH = 200
_BRACKET = re.compile(r"[\[\]{}]")

MAX_YAML_VALUES = 100_000
"""Values of a YAML document, where an alias counts as all that it stands for."""


class YamlError(NumerateError, ValueError):
    """A text that is not YAML; the message is one line that names file and line."""


def read_yaml(text: str, title: str) -> Any:
    """Parses YAML 1.2 without tags that run code.

    Args:
        text: The text.
        title: Name of the text in error messages.

    Raises:
        YamlError: The text is not YAML.

    Example:
        >>> read_yaml("{rate: 1e-4, strategy: no, on: true}", "here")
        {'rate': 0.0001, 'strategy': 'no', 'on': True}
    """
    import yaml

    _check_brackets(text, title)
    try:
        loader = _loader()(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_aliases(node, title)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except YamlError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{title}:{mark.line + 1}" if mark is not None else title
        raise YamlError(f"{where}: not YAML: {str(error.problem or error.context)[:200]}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlError(f"{title}: not YAML: {' '.join(str(error).split())[:200]}") from None


def _check_brackets(text: str, title: str) -> None:
    """Refuses thousands of open brackets, for which the parser needs quadratic time."""
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "[{" else -1
        if depth > MAX_YAML_DEPTH:
            raise YamlError(f"{title}: not YAML: more than {MAX_YAML_DEPTH} open brackets")


def _check_aliases(node: Any, title: str) -> None:
    """Refuses a document whose aliases repeat too much: a few lines can stand for billions of values, or for no end."""
    sizes: dict[int, int] = {}
    waiting = [(node, False)]
    open_nodes: set[int] = set()
    while waiting:
        here, is_done = waiting.pop()
        inner = () if isinstance(here.value, str) else here.value
        below = [each for item in inner for each in (item if isinstance(item, tuple) else (item,))]
        if is_done:
            open_nodes.discard(id(here))
            sizes[id(here)] = 1 + sum(sizes[id(each)] for each in below)
            if sizes[id(here)] > MAX_YAML_VALUES:
                raise YamlError(f"{title}: more than {MAX_YAML_VALUES} values; use fewer aliases (*name)")
        elif id(here) in open_nodes:
            raise YamlError(f"{title}:{here.start_mark.line + 1}: an alias stands for a value that contains it")
        elif id(here) not in sizes:
            open_nodes.add(id(here))
            waiting.append((here, True))
            waiting += [(each, False) for each in below]


@functools.cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Scalars of YAML 1.2 (in 1.1, `no` is false and `1e-4` a string); duplicate keys are errors."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    continue
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, (str, int, float, bool)) or key in seen:
                    what = "is given twice" if isinstance(key, (str, int, float, bool)) else "is not a plain value"
                    raise yaml.constructor.ConstructorError(None, None, f"key {key!r} {what}", key_node.start_mark)
                seen.add(key)
            return super().construct_mapping(node, deep)

    changed = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in rows if tag not in changed]
        for first, rows in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(changed[0], re.compile(r"(?:true|True|false|False)$"), list("tTfF"))
    Loader.add_implicit_resolver(changed[1], _FLOAT, list("-+0123456789."))
    return Loader
