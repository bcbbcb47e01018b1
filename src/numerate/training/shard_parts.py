"""Encoded texts made by many workers: each part of the texts becomes shards of its own, which are not made twice.

The shards of a part are written into the folder first, then its record (`.parts/00007.json`), with the hashes of input
and output. Last come `meta.json` and the manifest, and the folder gets its name. So a killed command leaves whole
parts, and the next one makes only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.files import file_hash, flush
from numerate.training.checkpoints import MANIFEST, publish
from numerate.training.engines.finished import RECORDS, input_record, is_same_input
from numerate.training.engines.parts import FilePart, check_unchanged, cut_files, part_size
from numerate.training.engines.places import inside, is_remote, open_place, read_place, state_of, write_place
from numerate.training.shards import META, NEWEST, VERSION, ShardsError, encoded_shards, fingerprint
from numerate.training.sources import Texts, format_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.processing.processor import NumberProcessor
    from numerate.training.engines.local import Engine

__all__ = ["TextPart", "encode_parts", "text_parts", "unfinished_folder"]

_CHUNK = 4 << 20


def unfinished_folder(folder: str | Path) -> Path:
    """The folder of the finished parts of a folder of shards that is not yet complete."""
    return Path(folder).with_name(f".parts-{Path(folder).name}")


@dataclass(frozen=True)
class TextPart:
    """Some of the texts: whole files, or a byte range of one."""

    number: int
    parts: int
    texts: Texts

    @property
    def files(self) -> list[FilePart]:
        """The parts of files that the texts are read from; those of Hub data sets are left out."""
        return [path for path in self.texts.paths if isinstance(path, FilePart)]

    def shard_name(self, shard: int) -> str:
        """The name of one of the part's shards."""
        return f"shard-{shard:05d}" if self.parts == 1 else f"shard-{self.number:05d}-{shard:05d}"


def text_parts(texts: Texts, engine: Engine, part_bytes: int = 0) -> list[TextPart]:
    """Cuts texts into parts of about `part_bytes`: ranges of lines of large files, several small files together.

    Texts with a limit, and Hub data sets, are one part: only the whole stream says where they end.
    """
    part_bytes = part_size(part_bytes)
    kinds = {path: texts.format or format_of(path) for path in map(str, texts.paths)}
    if texts.limit is not None or "hub" in kinds.values():
        places = [
            FilePart(path, state=state_of(path)) if kinds[path] != "hub" else path for path in map(str, texts.paths)
        ]
        return [TextPart(0, 1, replace(texts, paths=tuple(places)))]
    by_line = {path for path, kind in kinds.items() if kind in ("txt", "jsonl") and not path.endswith(".gz")}
    cut = cut_files(list(kinds), engine, part_bytes=part_bytes, splittable=lambda path: path in by_line)
    groups: list[list[FilePart]] = []
    size = part_bytes
    for part in cut:
        if part.parts > 1 or size + part.size > part_bytes:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += part_bytes if part.parts > 1 else part.size
    return [TextPart(number, len(groups), replace(texts, paths=tuple(group))) for number, group in enumerate(groups)]


def encode_parts(
    place: str, parts: Sequence[TextPart], processor: NumberProcessor, engine: Engine, *,
    max_tokens: int | None, shard_tokens: int, asked: Any,
) -> dict[str, Any]:  # fmt: skip
    """Encodes parts of texts into a folder or address of shards, and returns what its `meta.json` says.

    Raises:
        ShardsError: No text has a token.
    """
    mark = fingerprint(processor)
    waiting = place if is_remote(place) else str(unfinished_folder(place))
    work = _Encode(waiting, place, processor, {"fingerprint": mark, "max_tokens": max_tokens, "shard": shard_tokens})
    records = list(engine.results(work, parts))
    shards = [shard for record in records for shard in record["shards"]]
    counts = {name: sum(shard[name] for shard in shards) for name in ("rows", "tokens", "numbers")}
    counts["empty"] = sum(record["empty"] for record in records)
    if not shards:
        raise ShardsError(f"{place}: no text has a token; {counts['empty']} are empty")
    meta = {
        "kind": "shards", "version": VERSION if len(parts) == 1 else NEWEST,
        "fingerprint": mark, "processor": processor.config(), "max_tokens": max_tokens,
        "fields": next(record["fields"] for record in records if record["fields"]),
        **counts, "asked": asked, "shards": shards,
    }  # fmt: skip
    _publish(waiting, place, meta, records)
    return meta


def _publish(waiting: str, place: str, meta: dict[str, Any], records: list[dict[str, Any]]) -> None:
    """Writes meta and manifest last, and gives a local folder its name."""
    known = {path: tuple(row) for record in records for path, row in record["files"].items()}
    written = json.dumps(meta, indent=1).encode() + b"\n"
    if is_remote(place):
        files = {path: {"size": size, "sha256": sha} for path, (size, sha) in sorted(known.items())}
        files[META] = {"size": len(written), "sha256": hashlib.sha256(written).hexdigest()}
        write_place(inside(place, META), written)
        write_place(inside(place, MANIFEST), json.dumps({"version": 1, "files": files}, indent=1).encode())
        return
    folder = Path(waiting)
    kept = {shard["name"] for shard in meta["shards"]} | {RECORDS}
    for left in [path for path in folder.iterdir() if path.name not in kept]:  # of another run into this folder
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    names = {f"{record['part']:05d}.json" for record in records}
    for left in [path for path in (folder / RECORDS).iterdir() if path.name not in names]:
        left.unlink()
    (folder / META).write_bytes(written)
    publish(folder, place, known={path: sha for path, (_, sha) in known.items()})


@dataclass(frozen=True)
class _Encode:
    """Encodes one part; its record says what was written."""

    waiting: str
    place: str
    processor: NumberProcessor
    job: dict[str, Any]

    def __call__(self, part: TextPart) -> dict[str, Any]:
        for file in part.files:
            check_unchanged(file)
        name = f"{RECORDS}/{part.number:05d}.json"
        for folder in dict.fromkeys((self.waiting, self.place)):
            record = self._known(inside(folder, name), folder, part)
            if record is not None:
                if folder != self.waiting:
                    self._link(folder, record)
                    write_place(inside(self.waiting, name), _json(record))
                return record
        about = [input_record(file) for file in part.files]
        record = self._made(part) | {"part": part.number, "parts": part.parts, "job": self.job, "input": about}
        for file in part.files:
            check_unchanged(file)
        write_place(inside(self.waiting, name), _json(record))
        return record

    def _made(self, part: TextPart) -> dict[str, Any]:
        """Writes the shards of a part."""
        near = None if is_remote(self.waiting) else self.waiting
        if near is not None:
            Path(near).mkdir(parents=True, exist_ok=True)
        files: dict[str, list[Any]] = {}
        counts: dict[str, Any] = {"empty": 0, "fields": []}
        shards = []
        with tempfile.TemporaryDirectory(prefix=".encoding-", dir=near) as made:
            options = {"max_tokens": self.job["max_tokens"], "shard_tokens": self.job["shard"]}
            for shard in encoded_shards(part.texts, self.processor, counts, **options):
                name = part.shard_name(len(shards))
                shards.append(shard.write(Path(made) / name) | {"name": name})
                for file in sorted((Path(made) / name).iterdir()):
                    files[f"{name}/{file.name}"] = [file.stat().st_size, file_hash(file)]
                self._move(Path(made) / name, name)
        return {"shards": shards, "files": files, **counts}

    def _move(self, folder: Path, name: str) -> None:
        if is_remote(self.waiting):
            for file in sorted(folder.iterdir()):
                write_place(inside(self.waiting, f"{name}/{file.name}"), _chunks(str(file)))
            shutil.rmtree(folder)
            return
        target = Path(self.waiting) / name
        shutil.rmtree(target, ignore_errors=True)  # of a part whose input has changed
        for file in folder.iterdir():
            flush(file)
        folder.rename(target)

    def _link(self, folder: str, record: dict[str, Any]) -> None:
        """Takes the shards of a part over from the folder that is being replaced."""
        for shard in record["shards"]:
            target = Path(self.waiting) / shard["name"]
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            for file in (Path(folder) / shard["name"]).iterdir():
                try:
                    os.link(file, target / file.name)
                except OSError:  # a file system without links
                    shutil.copyfile(file, target / file.name)

    def _known(self, place: str, folder: str, part: TextPart) -> dict[str, Any] | None:
        """The record of a part if its input, its job and its files are the same."""
        try:
            record = json.loads(read_place(place) or b"")
            if [record["job"], record["part"], record["parts"]] != [self.job, part.number, part.parts]:
                return None
            if len(record["input"]) != len(part.files) or not part.files:
                return None
            if not all(map(is_same_input, record["input"], part.files)):
                return None
            if any(state_of(inside(folder, file)).size != size for file, (size, _) in record["files"].items()):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return record


def _json(record: dict[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode() + b"\n"


def _chunks(path: str) -> Iterator[bytes]:
    with open_place(path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk
