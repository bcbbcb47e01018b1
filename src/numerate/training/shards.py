"""Encoded texts on the disk: flat arrays that are memory-mapped, for corpora larger than memory.

A folder of shards has a `meta.json` (format, processor, counts), a `manifest.json` (size and SHA-256 of every file) and
a folder for each shard, named in `meta.json`, with these `.npy` files:

| file | type | content |
|---|---|---|
| `ids` | uint16 or uint32 | token ids, row after row |
| `starts` | int64, rows + 1 | start of each row's tokens |
| `slots` | int8 to int32 | `number_slots` |
| `types` | uint8 | `token_type_ids`, if any is not 0 |
| `scales` | int16 | `number_scale`, if any is not 0 |
| `number_starts` | int64, rows + 1 | start of each row's numbers |
| `bits`, `precision`, `given` | int64, int16, uint8 | the number table |
| `char_starts` | int64, numbers + 1 | start of each number's characters |
| `chars` | uint8 | `number_chars`, without padding |

The attention mask is not stored: rows are not padded.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import Dataset

from numerate.errors import NumerateError
from numerate.files import file_hash, json_hash
from numerate.processing.flat_rows import FlatRows, places_of_rows
from numerate.training.checkpoints import CheckpointError, atomic, damage, read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.processing.processor import NumberProcessor

__all__ = [
    "META",
    "ShardRows",
    "Shards",
    "ShardsError",
    "check_folder",
    "encoded_shards",
    "fingerprint",
    "write_rows",
    "write_shards",
]

META = "meta.json"
VERSION = 1
NEWEST = 2
"""Version of shards that many workers wrote (`numerate.training.shard_parts`): `meta.json` has their names."""
SHARD_TOKENS = 1 << 22
"""Tokens of a shard, which are in memory until the shard is written."""
BATCH = 256
"""Texts per call of the processor."""
_TOKEN_FIELDS = ("input_ids", "token_type_ids", "attention_mask", "number_slots", "number_scale")
_TABLE_FIELDS = ("number_bits", "number_chars", "number_precision", "number_given")


class ShardsError(NumerateError, ValueError):
    """A folder that has no shards, damaged shards, or shards of another processor; the message is one line."""


def fingerprint(processor: NumberProcessor) -> str:
    """Hash of all that determines the encoding of texts: tokenizer, reader, notation, scaling, own ids."""
    words = json.loads(processor.tokenizer.backend_tokenizer.to_str())
    words = {key: value for key, value in words.items() if key not in ("padding", "truncation")}  # of the last call
    fields = processor.tokenizer.model_input_names
    return json_hash([words, fields, processor.config(), processor.first_id])


def write_shards(
    folder: str | Path, texts: Iterable[str], processor: NumberProcessor,
    *, max_tokens: int | None = None, shard_tokens: int = SHARD_TOKENS, asked: Any = None,
) -> Shards:  # fmt: skip
    """Encodes a stream of texts into a folder of shards, which is written atomically and replaces existing shards.

    Texts longer than `max_tokens` are truncated; `shard_tokens` is the size of a shard, and `asked` a description of
    the texts for `meta.json`.

    Raises:
        ShardsError: The folder contains other files, or no text has a token.
    """
    check_folder(folder)
    counts: dict[str, Any] = {"rows": 0, "tokens": 0, "numbers": 0, "empty": 0, "fields": []}
    made = encoded_shards(texts, processor, counts, max_tokens=max_tokens, shard_tokens=shard_tokens)
    return _written(Path(folder), made, counts, processor, max_tokens, asked)


def write_rows(
    folder: str | Path, rows: Iterable[dict[str, Any]], processor: NumberProcessor,
    *, shard_tokens: int = SHARD_TOKENS, asked: Any = None,
) -> Shards:  # fmt: skip
    """Writes rows that are encoded already, such as pairs of texts, as `write_shards` writes texts."""
    check_folder(folder)
    counts: dict[str, Any] = {"rows": 0, "tokens": 0, "numbers": 0, "empty": 0, "fields": []}
    return _written(Path(folder), _shards_of(rows, counts, shard_tokens), counts, processor, None, asked)


def _written(
    folder: Path, made: Iterable[ShardRows], counts: dict[str, Any], processor: NumberProcessor,
    max_tokens: int | None, asked: Any,
) -> Shards:  # fmt: skip
    shards: list[dict[str, Any]] = []
    with atomic(folder) as inside:
        for shard in made:
            name = f"shard-{len(shards):05d}"
            shards.append(shard.write(inside / name) | {"name": name})
        if not shards:
            raise ShardsError(f"{folder}: no text has a token; {counts['empty']} are empty")
        for name in ("rows", "tokens", "numbers"):
            counts[name] = sum(each[name] for each in shards)
        meta = {
            "kind": "shards", "version": VERSION,
            "fingerprint": fingerprint(processor), "processor": processor.config(),
            "max_tokens": max_tokens, **counts, "asked": asked, "shards": shards,
        }  # fmt: skip
        (inside / META).write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")
    return Shards(folder)


def check_folder(folder: str | Path) -> None:
    """Checks that a folder is new, is empty or has shards; addresses are not looked at.

    Raises:
        ShardsError: The folder contains other files.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / META).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ShardsError(f"{folder}: contains files that are not shards; give another folder")


def encoded_shards(
    texts: Iterable[str], processor: NumberProcessor, counts: dict[str, Any],
    *, max_tokens: int | None, shard_tokens: int,
) -> Iterator[ShardRows]:  # fmt: skip
    """Encodes texts, and gives the rows of one shard after the other, in memory.

    `counts["empty"]` is raised by the number of texts without a token, and `counts["fields"]` set to the names of a
    row's fields.
    """
    yield from _shards_of(_encoded(texts, processor, max_tokens), counts, shard_tokens)


def _shards_of(rows: Iterable[dict[str, Any]], counts: dict[str, Any], shard_tokens: int) -> Iterator[ShardRows]:
    shard = ShardRows()
    for row in rows:
        counts["fields"] = counts["fields"] or sorted(row)
        if not len(row["input_ids"]):
            counts["empty"] += 1
            continue
        shard.add(row)
        if shard.tokens >= shard_tokens:
            yield shard
            shard = ShardRows()
    if shard.rows:
        yield shard


class Shards(Dataset[dict[str, Any]]):
    """A folder of shards as a data set: `shards[i]` is the i-th text as encoded by the processor, with `sample_id` i.

    Rows are read on access; a worker process receives only the folder's name and the counts. The hashes of a shard's
    files are compared when the first row of the shard is read, in every process.

    Args:
        folder: Written by `write_shards`.
        processor: If given, it must be the processor that encoded the texts.
        verify: Compare the hashes of all files now; otherwise only their sizes, and the hash of `meta.json`.

    Raises:
        ShardsError: The folder has no shards, damaged shards, or shards of another processor.
    """

    def __init__(self, folder: str | Path, processor: NumberProcessor | None = None, *, verify: bool = False) -> None:
        self.folder = Path(folder)
        try:
            self.meta: dict[str, Any] = json.loads((self.folder / META).read_text(encoding="utf-8"))
            version, made = int(self.meta["version"]), str(self.meta["fingerprint"])
            rows = [int(shard["rows"]) for shard in self.meta["shards"]]
            plain = (f"shard-{place:05d}" for place in range(len(rows)))
            self._names = [str(shard.get("name", name)) for shard, name in zip(self.meta["shards"], plain, strict=True)]
            self.fields: tuple[str, ...] = tuple(self.meta["fields"])
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            raise ShardsError(f"{folder}: no shards ({META}: {error}); `numerate prepare` writes them") from None
        if version > NEWEST:
            raise ShardsError(f"{folder}: version {version} is newer than {NEWEST}; please update numerate")
        wrong = damage(self.folder, quick=not verify)
        if wrong is not None:
            raise self._damaged(wrong)
        self._check_hashes(META)
        if processor is not None and made != fingerprint(processor):
            raise ShardsError(
                f"{folder}: encoded by another processor ({made}, this one is {fingerprint(processor)}): "
                f"tokenizer, reader, notation or scaling differ; prepare it again"
            )
        self._ends = np.cumsum(rows)
        self._open: dict[int, dict[str, np.ndarray]] = {}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> FlatRows:
        """Several rows at once, as a `DataLoader` asks for a batch; `NumberCollator` pads them with few operations."""
        size = len(self)
        index = np.asarray(indices, dtype=np.int64)
        wrong = (index < -size) | (index >= size)
        if wrong.any():
            raise IndexError(f"row {int(index[wrong.argmax()])} of {size}")
        index = index % size
        which = np.searchsorted(self._ends, index, side="right")
        first = np.concatenate([np.zeros(1, dtype=np.int64), self._ends[:-1]])
        parts, grouped = [], np.argsort(which, kind="stable")
        for shard in np.unique(which).tolist():
            rows = index[which == shard]
            parts.append(self._rows(self._arrays(shard), rows - first[shard], rows))
        return FlatRows.joined(parts, np.argsort(grouped, kind="stable"))

    def _rows(self, arrays: dict[str, np.ndarray], rows: np.ndarray, ids: np.ndarray) -> FlatRows:
        """Some rows of one shard; `ids` are their indices in the data set."""
        at, lengths = places_of_rows(arrays["starts"], rows)
        tokens: dict[str, np.ndarray | None] = {"input_ids": arrays["ids"][at]}
        for field, name in (("token_type_ids", "types"), ("number_scale", "scales")):
            if field in self.fields:
                tokens[field] = arrays[name][at] if name in arrays else None
        if "attention_mask" in self.fields:
            tokens["attention_mask"] = np.ones(len(at), dtype=np.int64)
        tokens["number_slots"] = arrays["slots"][at]
        which, counts = places_of_rows(arrays["number_starts"], rows)
        table = {f"number_{name}": np.asarray(arrays[name][which]) for name in ("bits", "precision", "given")}
        letters, char_lengths = places_of_rows(arrays["char_starts"], which)
        return FlatRows(lengths, tokens, counts, table, char_lengths, arrays["chars"][letters], ids)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each row, without reading the rows: (rows,) int64."""
        return np.concatenate([np.diff(self._arrays(shard)["starts"]) for shard in range(len(self._ends))])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_open": {}}  # every process opens the files itself

    def _arrays(self, shard: int) -> dict[str, np.ndarray]:
        if shard not in self._open:
            name = self._names[shard]
            files = self._check_hashes(f"{name}/")
            try:
                found = {Path(file).stem: _mapped(self.folder / file) for file in files}
            except (OSError, ValueError) as error:
                raise self._damaged(f"{name}: {error}") from None
            self._open[shard] = found
        return self._open[shard]

    def _check_hashes(self, prefix: str) -> list[str]:
        """The files whose path starts with `prefix`, after their hashes: a flipped bit would train wrong weights."""
        try:
            files = {path: sha for path, (_, sha) in read_manifest(self.folder).items() if path.startswith(prefix)}
            wrong = [path for path, sha in files.items() if file_hash(self.folder / path) != sha]
        except (CheckpointError, OSError) as error:
            raise self._damaged(str(error)) from None
        if wrong or not files:
            raise self._damaged(f"{wrong[0]} was changed" if wrong else f"its manifest has no {prefix}")
        return sorted(files)

    def _damaged(self, wrong: str) -> ShardsError:
        return ShardsError(f"{self.folder}: damaged: {wrong}; delete the folder and prepare it again")


def _mapped(file: Path) -> np.ndarray:
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError:  # an empty array cannot be mapped
        return np.load(file, allow_pickle=False)


class ShardRows:
    """The rows of one shard before it is written."""

    def __init__(self) -> None:
        self.rows = self.tokens = 0
        self._parts: dict[str, list[np.ndarray]] = {
            name: []
            for name in ("ids", "slots", "types", "scales", "bits", "precision", "given", "chars", "char_lengths")
        }
        self._lengths: list[int] = []
        self._counts: list[int] = []

    def add(self, row: dict[str, Any]) -> None:
        """Adds one encoded text."""
        ids = np.asarray(row["input_ids"], dtype=np.uint32)
        characters = row["number_chars"]
        written = characters != 0
        columns = {
            "ids": ids,
            "slots": np.asarray(row["number_slots"], dtype=np.int32),
            "types": np.asarray(row.get("token_type_ids", ()), dtype=np.uint8),
            "scales": np.asarray(row.get("number_scale", ()), dtype=np.int16),
            **{name: row[f"number_{name}"] for name in ("bits", "precision", "given")},
            "chars": characters[written],
            "char_lengths": written.sum(axis=1),
        }
        if not np.all(row.get("attention_mask", 1)):
            raise ShardsError("a padded row cannot be stored")
        for name, column in columns.items():
            self._parts[name].append(column)
        self.rows, self.tokens = self.rows + 1, self.tokens + len(ids)
        self._lengths.append(len(ids))
        self._counts.append(len(row["number_bits"]))

    def write(self, folder: Path) -> dict[str, int]:
        """Writes each array in the smallest type that holds it, and returns the shard's counts."""
        columns = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        ids, slots = columns["ids"], columns["slots"]
        columns["ids"] = ids.astype(np.uint16) if ids.max(initial=0) < 1 << 16 else ids
        columns["slots"] = slots.astype(np.min_scalar_type(-int(np.abs(slots).max(initial=1))))
        for name in ("types", "scales"):
            if not columns[name].any():
                del columns[name]
        columns["starts"], columns["number_starts"] = _starts(self._lengths), _starts(self._counts)
        columns["char_starts"] = _starts(columns.pop("char_lengths"))
        folder.mkdir()
        for name, column in columns.items():
            np.save(folder / f"{name}.npy", column, allow_pickle=False)
        return {"rows": self.rows, "tokens": self.tokens, "numbers": sum(self._counts)}


def _starts(lengths: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _encoded(texts: Iterable[str], processor: NumberProcessor, max_tokens: int | None) -> Iterator[dict[str, Any]]:
    """The encoded row of each text."""
    options = {} if max_tokens is None else {"truncation": True, "max_length": max_tokens}
    waiting = iter(texts)
    while some := list(islice(waiting, BATCH)):
        batch = processor(some, **options)
        fields = [key for key in batch if key in (*_TOKEN_FIELDS, *_TABLE_FIELDS)]
        for index in range(len(some)):
            yield {key: batch[key][index] for key in fields}
