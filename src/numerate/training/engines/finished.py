"""Finished parts: the result of each part is kept in a folder, so that a restarted command does not make it again.

A record is one JSON file beside the results: the job, the part with size, version and SHA-256 of its input, and the
result. It is written last and atomically, so that a record without a result cannot exist. A part is made again if its
input, the job or the result has changed. An input with the same size and another version (copied, or touched) is
compared by its hash.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numerate.files import json_hash
from numerate.training.engines.parts import FilePart, check_unchanged, content_of
from numerate.training.engines.places import delete_file, files_below, inside, is_folder, read_place, write_place

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["RECORDS", "Finished", "input_record", "is_same_input", "record_name", "remove_stale"]

RECORDS = ".parts"
"""Folder of the records in an output folder."""
VERSION = 1


def record_name(part: FilePart) -> str:
    """The name of a part's record: readable, and different for files of the same name."""
    name = part.path.rstrip("/").rpartition("/")[2][-80:]
    return f"{name}-{json_hash(part.path)[:8]}-{part.number:05d}-of-{part.parts:05d}.json"


@dataclass(frozen=True)
class Finished:
    """A function of a part that looks first whether its result is there.

    Attributes:
        work: The function; its result has JSON types.
        folder: Folder or address of the records.
        job: All that determines the result besides the input, as JSON types.
        is_whole: Whether the files that a result names are still there; None if it names none.
    """

    work: Callable[[FilePart], Any]
    folder: str
    job: Any
    is_whole: Callable[[Any], bool] | None = None

    def __call__(self, part: FilePart) -> Any:
        """The result of a part, made now or before."""
        check_unchanged(part)
        place = inside(self.folder, record_name(part))
        known = self._known(place, part)
        if known is not None:
            return known
        about = input_record(part)
        result = self.work(part)
        check_unchanged(part)
        record = {"version": VERSION, "job": self.job, "input": about, "result": result}
        write_place(place, json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        return result

    def _known(self, place: str, part: FilePart) -> Any:
        raw = read_place(place)
        if raw is None:
            return None
        try:
            record = json.loads(raw.decode("utf-8", "surrogatepass"))
            if record["version"] != VERSION or record["job"] != json.loads(json.dumps(self.job)):
                return None
            about, result = record["input"], record["result"]
        except (ValueError, KeyError, TypeError):
            return None  # a damaged record: the part is made again
        if not is_same_input(about, part) or (self.is_whole is not None and not self.is_whole(result)):
            return None
        return result


def input_record(part: FilePart) -> dict[str, Any]:
    """A part and what it was read from, as JSON types; reads the part once, for its hash."""
    return {
        "path": part.path, "start": part.start, "end": part.end, "first": part.first,
        "size": part.state.size if part.state else None, "version": part.state.version if part.state else None,
        "sha256": content_of(part),
    }  # fmt: skip


def is_same_input(about: dict[str, Any], part: FilePart) -> bool:
    """Whether a part has the content that was recorded; it is read only if its version has changed."""
    if [about.get(key) for key in ("path", "start", "end", "first")] != [part.path, part.start, part.end, part.first]:
        return False
    if part.state is not None and part.state.version and about.get("version") == part.state.version:
        return about.get("size") == part.state.size
    return about.get("sha256") == content_of(part)


def remove_stale(folder: str, parts: Sequence[FilePart], outputs: Callable[[Any], Collection[str]]) -> None:
    """Removes records and files of parts that their input no longer has, such as the last part of a file that shrank.

    Only files of the same inputs are removed; `outputs` gives those that a result names.
    """
    kept = {record_name(part) for part in parts}
    paths = {part.path for part in parts}
    if not is_folder(folder):
        return
    for place in files_below(folder):
        if place.rpartition("/")[2] in kept:
            continue
        try:
            record = json.loads(read_place(place) or b"")
            mine = record["input"]["path"] in paths
        except (ValueError, KeyError, TypeError):
            continue
        if mine:
            for output in outputs(record["result"]):
                delete_file(output)
            delete_file(place)
