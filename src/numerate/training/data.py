"""The texts of a run, raw and encoded."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from numerate.modeling.introspection import base_of
from numerate.modeling.tokenizer_checks import longest_text
from numerate.training.shards import META, Shards, ShardsError, fingerprint, write_shards
from numerate.training.sources import SPLITS, Texts

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.training.run import Run

__all__ = ["encode", "given_folder", "is_prepared", "prepared_split", "texts_of"]


def texts_of(run: Run, split: str) -> Texts | None:
    """The texts of one split; None if the run has none, or has them encoded."""
    data = run.data
    paths = getattr(data, split)
    if paths is None and data.split is not None:
        paths = data.train
    if paths is None or (isinstance(paths, str) and is_prepared(paths)):
        return None
    limit = data.limit if split == "train" else data.dev_limit
    files = (paths,) if isinstance(paths, str) else paths
    return Texts(files, data.text, data.format, (data.split, split), limit, data.tables)


def prepared_split(run: Run, split: str) -> Path | None:
    """The folder of a split's encoded texts: that of the run for this split, or beside its training texts."""
    own = getattr(run.data, split)
    folder = Path(own) if isinstance(own, str) and is_prepared(own) else None if own is not None else given_folder(run)
    return folder / split if folder is not None and (folder / split / META).is_file() else None


def is_prepared(path: str | Path) -> bool:
    """Whether a path is a folder written by `prepare`."""
    return any((Path(path) / split / META).is_file() for split in SPLITS)


def given_folder(run: Run) -> Path | None:
    """The prepared folder of the run's training texts, or None."""
    train = run.data.train
    return Path(train) if isinstance(train, str) and is_prepared(train) else None


def encode(texts: Texts, model: NumberModel, folder: str | Path, max_tokens: int | None = None) -> Shards:
    """Encoded texts: those in the folder if processor and files are the same, or newly encoded ones."""
    most = longest_text(base_of(model.backbone).config, model.processor.tokenizer)
    most = min((size for size in (max_tokens, most) if size is not None), default=None)
    files = [Path(path) for path in texts.files()]
    states = [[file.stat().st_size, file.stat().st_mtime_ns] if file.is_file() else None for file in files]
    asked = json.loads(json.dumps(dataclasses.asdict(texts) | {"files": states, "max_tokens": most}))
    try:
        there = Shards(folder)
    except ShardsError:
        there = None
    if there is not None and there.meta["asked"] == asked and there.meta["fingerprint"] == fingerprint(model.processor):
        return there
    return write_shards(folder, texts, model.processor, max_tokens=most, asked=asked)
