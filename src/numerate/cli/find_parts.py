"""`numerate find` over folders and buckets: one output file for each part, written by whoever works on the part."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from numerate.cli.find import FindJob, read_for
from numerate.errors import BadInput, NumerateError
from numerate.training.engines.finished import RECORDS, Finished, remove_stale
from numerate.training.engines.local import Guarded
from numerate.training.engines.outputs import check_output
from numerate.training.engines.parts import cut_files, input_files
from numerate.training.engines.places import PlaceError, inside, state_of, write_place
from numerate.training.text_files import LongLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.training.engines.local import Engine
    from numerate.training.engines.parts import FilePart

__all__ = ["MANIFEST", "find_in_files", "find_to_stream"]

MANIFEST = "manifest.json"
"""File in the output folder: all parts with size and SHA-256 of input and output."""
_ENDINGS = {"json": "jsonl", "columns": "tsv"}


def find_to_stream(path: str, out: BinaryIO, job: FindJob, engine: Engine, part_bytes: int = 0) -> None:
    """Writes the numbers of a file to a stream, in order; the parts of the file are read by the engine's workers.

    Raises:
        BadInput: The input cannot be read; the output of all lines before the error has been written.
    """
    parts = cut_files([path], engine, part_bytes=part_bytes)
    for output, fault in engine.results(_InMemory(job), parts):
        out.write(output)
        if fault is not None:
            out.flush()
            raise BadInput(fault)
    out.flush()


def find_in_files(
    paths: list[str], folder: str, job: FindJob, engine: Engine, *,
    part_bytes: int = 0, on_fault: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:  # fmt: skip
    """Writes the numbers of many files into a folder, and returns what its manifest says.

    `a/b.txt` gives `a/b.txt.jsonl`; a large file gives several, `b.txt.00000-of-00004.jsonl`, which together are what
    `numerate find b.txt` writes. Parts that are there already are not made again.

    Args:
        paths: Files, folders or addresses.
        folder: Output folder or address.
        job: What to find.
        engine: Who does the work.
        part_bytes: Size of a part.
        on_fault: Called with the message of each part that failed; the others are still written.

    Raises:
        BadInput: The folder cannot be written, or a part failed.
    """
    check_output(folder, paths, engine)
    files = input_files(paths)
    parts = cut_files([path for path, _ in files], engine, part_bytes=part_bytes)
    work = _ToFile(job, folder, tuple(files))
    records = inside(folder, RECORDS)
    finished = Finished(work, records, {"find": asdict(job)}, _IsThere(folder))
    rows: list[dict[str, Any]] = []
    failed = 0
    for part, (result, fault) in zip(parts, engine.results(Guarded(finished), parts), strict=True):
        if result is not None:
            rows.append({"input": part.path, "start": part.start, "end": part.end, "lines_before": part.first} | result)
        else:
            failed += 1
            on_fault(str(fault))
    if failed:
        raise BadInput(f"{failed} of {len(parts)} parts failed; the others are in {folder}: correct them, start again")
    remove_stale(records, parts, lambda result: [inside(folder, result["output"])])
    manifest = {"kind": "find", "version": 1, "job": asdict(job), "parts": rows}
    write_place(inside(folder, MANIFEST), json.dumps(manifest, ensure_ascii=False, indent=1).encode() + b"\n")
    return manifest


@dataclass(frozen=True)
class _InMemory:
    """The output of a part as bytes, and the message of the line that it stopped at."""

    job: FindJob

    def __call__(self, part: FilePart) -> tuple[bytes, str | None]:
        collected = []
        for output, fault in _outputs(self.job, part):
            collected.append(output)
            if fault is not None:
                return b"".join(collected), fault
        return b"".join(collected), None


@dataclass(frozen=True)
class _ToFile:
    """Writes the output of a part into its file."""

    job: FindJob
    folder: str
    files: tuple[tuple[str, str], ...]

    def __call__(self, part: FilePart) -> dict[str, Any]:
        name = dict(self.files)[part.path]
        piece = f".{part.number:05d}-of-{part.parts:05d}" if part.parts > 1 else ""
        output = f"{name}{piece}.{_ENDINGS[self.job.form]}"
        size, found = 0, hashlib.sha256()

        def pieces() -> Iterator[bytes]:
            nonlocal size
            for data, fault in _outputs(self.job, part):
                if fault is not None:
                    raise BadInput(fault)  # nothing of the part is written
                size += len(data)
                found.update(data)
                yield data

        write_place(inside(self.folder, output), pieces())
        return {"output": output, "bytes": size, "sha256": found.hexdigest()}


@dataclass(frozen=True)
class _IsThere:
    """Whether the output of a finished part is still there, with its size."""

    folder: str

    def __call__(self, result: dict[str, Any]) -> bool:
        try:
            return state_of(inside(self.folder, result["output"])).size == result["bytes"]
        except PlaceError:
            return False


def _outputs(job: FindJob, part: FilePart) -> Iterator[tuple[bytes, str | None]]:
    try:
        for batch in read_for(job, part):
            if isinstance(batch, LongLine):
                yield from job.of_long_line(batch)
            else:
                yield job(batch)
    except NumerateError as error:  # all lines before it have been read
        yield b"", str(error)
