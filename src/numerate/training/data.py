"""The texts of a run, raw and encoded."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.modeling.introspection import base_of
from numerate.modeling.tokenizer_checks import longest_text
from numerate.training.checkpoints import MANIFEST
from numerate.training.engines.local import LocalEngine
from numerate.training.engines.places import inside, is_remote, read_place, state_of
from numerate.training.shard_parts import encode_parts, text_parts, unfinished_folder
from numerate.training.shards import META, SHARD_TOKENS, Shards, ShardsError, check_folder, fingerprint
from numerate.training.sources import SPLITS, Texts, files_of

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.training.engines.local import Engine
    from numerate.training.run import Run

__all__ = ["RemoteShards", "encode", "given_folder", "is_prepared", "is_unfinished", "prepared_split", "texts_of"]


def texts_of(run: Run, split: str) -> Texts | None:
    """The texts of one split; None if the run has none, or has them encoded."""
    data = run.data
    paths = getattr(data, split)
    if paths is None and data.split is not None:
        paths = data.train
    if paths is None or (isinstance(paths, str) and is_prepared(paths)):
        return None
    limit = data.limit if split == "train" else data.dev_limit
    files = files_of((paths,) if isinstance(paths, str) else paths)
    return Texts(files, data.text, data.format, (data.split, split), limit, data.tables)


def prepared_split(run: Run, split: str) -> Path | None:
    """The folder of a split's encoded texts: that of the run for this split, or beside its training texts."""
    own = getattr(run.data, split)
    folder = Path(own) if isinstance(own, str) and is_prepared(own) else None if own is not None else given_folder(run)
    return folder / split if folder is not None and (folder / split / META).is_file() else None


def is_prepared(path: str | Path) -> bool:
    """Whether a path is a folder written by `prepare`."""
    return any((Path(path) / split / META).is_file() for split in SPLITS)


def is_unfinished(path: str | Path) -> bool:
    """Whether a path is a folder in which `prepare` was interrupted."""
    return any(unfinished_folder(Path(path) / split).is_dir() for split in SPLITS)


def given_folder(run: Run) -> Path | None:
    """The prepared folder of the run's training texts, or None."""
    train = run.data.train
    return Path(train) if isinstance(train, str) and is_prepared(train) else None


@dataclasses.dataclass(frozen=True)
class RemoteShards:
    """Encoded texts at an address: their description; `Shards` reads a copy on the disk."""

    folder: str
    meta: dict[str, Any]


def encode(
    texts: Texts, model: NumberModel, folder: str | Path, max_tokens: int | None = None,
    *, engine: Engine | None = None, part_bytes: int = 0,
) -> Shards | RemoteShards:  # fmt: skip
    """Encoded texts: those in the folder if processor and files are the same, or newly encoded ones.

    `folder` may be an address; parts of `part_bytes` that were finished by an earlier call are used again.
    """
    most = longest_text(base_of(model.backbone).config, model.processor.tokenizer)
    most = min((size for size in (max_tokens, most) if size is not None), default=None)
    states = [_state(path) for path in texts.files()]
    asked = json.loads(json.dumps(dataclasses.asdict(texts) | {"files": states, "max_tokens": most}))
    mark = fingerprint(model.processor)
    there = _there(folder)
    if there is not None and there.meta["asked"] == asked and there.meta["fingerprint"] == mark:
        return there
    check_folder(folder)
    engine = engine or LocalEngine()
    parts = text_parts(texts, engine, part_bytes)
    options: dict[str, Any] = {"max_tokens": most, "shard_tokens": SHARD_TOKENS, "asked": asked}
    meta = encode_parts(str(folder), parts, model.processor, engine, **options)
    return RemoteShards(str(folder), meta) if is_remote(str(folder)) else Shards(folder)


def _there(folder: str | Path) -> Shards | RemoteShards | None:
    if is_remote(str(folder)):
        raw = read_place(inside(str(folder), META)) if read_place(inside(str(folder), MANIFEST)) is not None else None
        return None if raw is None else RemoteShards(str(folder), json.loads(raw))
    try:
        return Shards(folder)
    except ShardsError:
        return None


def _state(path: str) -> list[Any] | None:
    """Size and time of change of a file, or size and tag of a remote one; None for a Hub data set."""
    if is_remote(path):
        state = state_of(path)
        return [state.size, state.version]
    file = Path(path)
    return [file.stat().st_size, file.stat().st_mtime_ns] if file.is_file() else None
