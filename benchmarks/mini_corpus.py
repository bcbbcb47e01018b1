"""Texts of the model `numerate-mini`, encoded once into small arrays that a training reads without a tokenizer.

Only texts under CC BY-SA: passages of Wikipedia (`wiki`, `units`) and tables from Wikipedia (`tables`, `tabfact`),
whose rows become texts as `numerate check` shows them. Nothing of a dev or test passage is in it: tables with a cell
or a title that names such a passage are left out (`whole`), or only the rows that do (`rows`).
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import itertools
import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from numerate.apps.documents import Document, sentence_spans
from numerate.apps.shown_texts import units_of
from numerate.records.row_text import row_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numerate.apps.shown_texts import Unit

MOST_TOKENS = 126
"""Tokens of a text without [CLS] and [SEP]; what is longer is cut."""
SHARD_BYTES = 26 << 20
"""Largest size of a file of arrays."""
TABLES = ("tables/wikitables", "tables/wikitablequestions", "tabfact/tables")
_WORDS = range(5, 90)
_BATCH = 4000


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a packed file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def sentences_of(text: str) -> list[str]:
    """The sentences of a passage that are neither fragments nor lists."""
    parts = [text[start:end] for start, end in sentence_spans(text)]
    return [part for part in parts if len(part.split()) in _WORDS]


def name_of(text: str) -> str:
    """A title without case, brackets and punctuation, as titles of passages and cells are compared."""
    return re.sub(r"[^a-z0-9]+", " ", re.sub(r"\(.*?\)", "", text.lower())).strip()


def title_of(url: str) -> str:
    """The name of the passage of an address."""
    return name_of(unquote(url.removeprefix("/wiki/")).replace("_", " "))


@functools.cache
def held_out_titles(data: Path) -> set[str]:
    """Names of the dev and test passages; those of up to three letters are too common to tell anything."""
    passages = lines_of(data / "wiki" / "passages.jsonl.gz")
    names = {title_of(each["url"]) for each in passages if each["split"] != "train"}
    return {name for name in names if len(name) > 3}


def passages(data: Path, split: str, most: int | None = None) -> Iterator[list[str]]:
    """The sentences of each passage of a split."""
    count = 0
    for each in lines_of(data / "wiki" / "passages.jsonl.gz"):
        if each["split"] == split:
            yield sentences_of(each["text"])
            count += 1
            if count == most:
                return


def drawn_passages(data: Path, split: str, most: int | None = None, seed: int = 0) -> list[list[str]]:
    """Sentences of passages that are drawn from the whole split: neighbours in the file have the same subject."""
    every = list(passages(data, split))
    random.Random(seed).shuffle(every)
    return every[:most]


def table_rows(data: Path, held: set[str], leave_out: str, most: int | None = None) -> Iterator[list[str]]:
    """The rows, as texts, of each table; tables (or rows) that name a passage of `held` are left out."""
    for source in TABLES:
        count = 0
        for table in lines_of(data / f"{source}.jsonl.gz"):
            title = table.get("title") or table.get("caption") or ""
            named = [any(name_of(cell) in held for cell in row) for row in table["rows"]]
            if name_of(title) in held or (leave_out == "whole" and any(named)):
                continue
            caption = _caption(title, table.get("section_title") or "")
            rows = [row for row, is_named in zip(table["rows"], named, strict=True) if not is_named]
            texts = [part.text for row in rows for part in row_texts(table["header"], row, caption)]
            yield [text for text in texts if any(char.isdigit() for char in text)]
            count += 1
            if count == most:
                break


def held_out_tables(
    data: Path, split: str, most: int | None = None, rows_of_each: int = 4
) -> list[tuple[Document, list[Unit]]]:
    """Whole tables that no training saw (`leave_out` whole), drawn, each with some rows as a model is shown them.

    They name a dev or test passage in a cell or in their title. `dev` and `test` are apart by a hash of the cells, so
    that copies of a table are on the same side, and are given once. Tables of less than four rows are left out.
    """
    held, seen, found = held_out_titles(data), set(), []
    for source in TABLES:
        for table in lines_of(data / f"{source}.jsonl.gz"):
            title = table.get("title") or table.get("caption") or ""
            names = [[name_of(cell) for cell in row] for row in table["rows"]]
            if len(names) < 4 or not (name_of(title) in held or any(name in held for row in names for name in row)):
                continue
            key = hashlib.sha256(json.dumps(names).encode()).hexdigest()
            if key in seen or (int(key[:8], 16) % 2 == 0) != (split == "dev"):
                continue
            seen.add(key)
            caption = _caption(title, table.get("section_title") or "")
            rows = [tuple(row) for row in table["rows"]]
            header = tuple(table["header"])
            found.append(Document(kind="table", header=header, rows=rows, caption=caption, source=key[:12]))
    random.Random(0).shuffle(found)
    return [(each, _some_rows(each, rows_of_each, seed)) for seed, each in enumerate(found[:most])]


def _some_rows(table: Document, most: int, seed: int) -> list[Unit]:
    units = list(units_of(table))
    rows = sorted({unit.row for unit in units if unit.row is not None})
    kept = set(random.Random(seed).sample(rows, min(len(rows), most)))
    return [unit for unit in units if unit.row in kept and any(char.isdigit() for char in unit.text)]


def _caption(title: str, section: str) -> str:
    return f"{title} - {section}" if section and section != title else title


def corpus(data: Path, leave_out: str, most: int | None) -> Iterator[tuple[str, list[str]]]:
    """All training texts in groups (a passage, a table), with the name of their part.

    Texts that are repeated are left out, and sentences that dev or test have, too: some are the same in many passages.
    """
    held = itertools.chain(passages(data, "dev"), passages(data, "test"))
    seen = {hash(text) for texts in held for text in texts}

    def new(texts: Iterable[str]) -> list[str]:
        fresh = [text for text in texts if hash(text) not in seen]
        seen.update(map(hash, fresh))
        return fresh

    for texts in passages(data, "train", most):
        yield "wiki", new(texts)
    units = (each["comment"] for each in lines_of(data / "units" / "train.jsonl.gz"))
    for at, text in enumerate(units):
        if most is not None and at >= most:
            break
        yield "units", new([text])
    if leave_out != "all":
        for texts in table_rows(data, held_out_titles(data), leave_out, most):
            yield "tables", new(texts)


@dataclass
class Arrays:
    """Encoded texts, one after the other, as flat arrays.

    `ids` (tokens), with the number slots and scales of `numerate.processing.number_table` beside them; `lengths`,
    `first` (begins a group) and `counts` (numbers) for each text; `bits` and `precision` for each number.
    """

    ids: np.ndarray
    slots: np.ndarray
    scales: np.ndarray
    lengths: np.ndarray
    first: np.ndarray
    counts: np.ndarray
    bits: np.ndarray
    precision: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Arrays]) -> Arrays:
        """Several as one."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def save(self, path: Path) -> None:
        """Writes the arrays, packed: slots and scales are nearly all 0, and the two bytes of ids apart pack better."""
        sparse = {}
        for name in ("slots", "scales"):
            values = getattr(self, name)
            (at,) = values.nonzero()
            sparse |= {f"{name}_at": np.diff(at, prepend=0).astype(np.uint32), f"{name}_value": values[at]}
        low, high = (self.ids & 255).astype(np.uint8), (self.ids >> 8).astype(np.uint8)
        rest = {name: getattr(self, name) for name in ("lengths", "first", "counts", "bits", "precision")}
        np.savez_compressed(path, low=low, high=high, **sparse, **rest)

    @classmethod
    def load(cls, path: Path) -> Arrays:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as data:
            ids = data["low"].astype(np.int32) | data["high"].astype(np.int32) << 8
            dense = {}
            for name in ("slots", "scales"):
                dense[name] = np.zeros(len(ids), dtype=np.int8)
                dense[name][np.cumsum(data[f"{name}_at"], dtype=np.int64)] = data[f"{name}_value"]
            rest = {name: data[name] for name in ("lengths", "first", "counts", "bits", "precision")}
            return cls(ids=ids, **dense, **rest)


def encode(processor: Any, groups: Iterable[list[str]]) -> Iterator[Arrays]:
    """Arrays of some thousand texts each."""
    texts: list[str] = []
    first: list[bool] = []
    for group in groups:
        texts += group
        first += [index == 0 for index in range(len(group))]
        if len(texts) >= _BATCH:
            yield _encoded(processor, texts, first)
            texts, first = [], []
    if texts:
        yield _encoded(processor, texts, first)


def _encoded(processor: Any, texts: list[str], first: list[bool]) -> Arrays:
    batch = processor(texts, add_special_tokens=False, truncation=True, max_length=MOST_TOKENS)
    rows = batch["input_ids"]
    scales = batch.get("number_scale") or [[0] * len(row) for row in rows]
    flat = {
        "ids": (rows, np.int32), "slots": (batch["number_slots"], np.int8), "scales": (scales, np.int8),
        "bits": (batch["number_bits"], np.int64), "precision": (batch["number_precision"], np.int16),
    }  # fmt: skip
    counts = [len(row) for row in batch["number_bits"]]
    if max(counts, default=0) > 127:
        raise ValueError(f"a text has {max(counts)} numbers, more than slots of one byte can name")
    return Arrays(
        **{name: np.concatenate([np.asarray(row, dtype=kind) for row in rows]) for name, (rows, kind) in flat.items()},
        lengths=np.array([len(row) for row in rows], dtype=np.uint8), first=np.array(first),
        counts=np.array(counts, dtype=np.uint8),
    )  # fmt: skip


def write_shards(folder: Path, arrays: Iterable[Arrays]) -> list[Path]:
    """Writes arrays into files of at most `SHARD_BYTES`; older ones are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("data-*.npz"):
        old.unlink()
    waiting: list[Arrays] = []
    paths: list[Path] = []
    # About 1.05 bytes for each token after packing.
    for part in arrays:
        waiting.append(part)
        if sum(len(each.ids) for each in waiting) * 1.2 > SHARD_BYTES:
            paths.append(_written(folder, len(paths), waiting))
            waiting = []
    if waiting:
        paths.append(_written(folder, len(paths), waiting))
    return paths


def _written(folder: Path, index: int, parts: list[Arrays]) -> Path:
    path = folder / f"data-{index}.npz"
    Arrays.joined(parts).save(path)
    return path


def read_shards(folder: Path) -> Arrays:
    """All arrays of a folder."""
    paths = sorted(folder.glob("data-*.npz"), key=lambda path: int(path.stem.partition("-")[2]))
    if not paths:
        raise FileNotFoundError(f"{folder} has no data-0.npz: run the stage `prepare` first")
    return Arrays.joined([Arrays.load(path) for path in paths])
