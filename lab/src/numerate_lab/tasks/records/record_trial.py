"""One cell of xVal's Tables 4 and 5: one encoding learns records of nature, with one rate, seed and budget.

Records are learnt by masking: a share of all numbers, and in a share of the records one of the things that tests ask
for, all of it at once. Both shares are the same for all encodings.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from torch.utils.data import Dataset

from numerate.config import ConfigError
from numerate.modeling.attaching import load_recipe
from numerate.processing.number_table import NumberTable
from numerate.processing.record_tokenizer import record_tokenizer
from numerate_lab.engine.encodings import Encoding, encoding_of
from numerate_lab.engine.trunk_trial import TrunkCell, attach_loud, fresh_trunk
from numerate_lab.tasks.planets.planet_systems import PlanetsConfig, PlanetsTask
from numerate_lab.tasks.records.record_arrays import Records, planet_records, temperature_records_of
from numerate_lab.tasks.records.record_rows import NumberWriter, Rows, encode_rows
from numerate_lab.tasks.temperature.forecasts import TemperatureConfig, TemperatureTask

if TYPE_CHECKING:
    from torch import Tensor

    from numerate.modeling.number_model import NumberModel

__all__ = ["IN_PLACE", "NatureCell", "NatureData", "Ready", "build", "encode_records", "nature_encoding"]

IN_PLACE = "in-place"
"""The recipe of that name: numbers stay as they are written, and carry a vector."""
_FITTED_ON = 500
"""Records of each shape, at most, that a head is fitted on."""


@dataclass(frozen=True, kw_only=True)
class NatureCell(TrunkCell):
    """What one cell is; for `encoding`, see `nature_encoding`.

    Attributes:
        task: `planets` or `temperature`.
        task_options: Of its config, such as `{"points": [30, 59]}`, or the `source` of temperatures.
        times: Of planets, how many times of each are told, the first ones; None for all.
        centred: Of temperatures, whether all of a record are told as differences from the mean of those that it tells.
        decimals: Of the numbers of planets; temperatures have an option of their own.
        ratio: Share of all numbers that are masked in training.
        asking: Share of the training records in which one of the tests' questions is masked besides.
    """

    kind: ClassVar[str] = "nature-cell"
    encoding: str = "xval+scalar"
    examples: int = 100_000
    amount: float = 300_000
    batch: int = 128
    dev: int = 500
    test: int = 2000
    looks: int = 0
    task: Literal["planets", "temperature"] = "planets"
    task_options: dict[str, Any] = field(default_factory=dict)
    times: int | None = None
    centred: bool = False
    decimals: int = 4
    ratio: float = 0.2
    asking: float = 0.0

    def __post_init__(self) -> None:
        nature_encoding(self.encoding)
        super().__post_init__()
        if self.task not in ("planets", "temperature"):
            raise ConfigError(f"task must be planets or temperature, got {self.task!r}")
        for name in ("ratio", "asking"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        if not self.ratio + self.asking > 0:
            raise ConfigError(f"nothing to learn: {self.ratio=}, {self.asking=}")
        if self.centred and self.task != "temperature":
            raise ConfigError(f"only temperatures can be centred, got task={self.task!r}")

    @property
    def name(self) -> str:
        """A file name that says which cell of a table it is."""
        what = f"-{self.budget}{'-centred' if self.centred else ''}"
        return f"{self.encoding}-rate{self.rate:g}-seed{self.seed}-{self.amount:g}{what}"

    def told(self) -> dict[str, Any]:
        """The settings as they are written: of a file the name, not where it was on this machine."""
        told: dict[str, Any] = json.loads(json.dumps(self.to_dict()))
        if "source" in self.task_options:
            told["task_options"]["source"] = Path(self.task_options["source"]).name
        return told

    @property
    def splits(self) -> dict[str, tuple[str, ...]]:
        """The test sets, and what is asked for in each."""
        if self.task == "temperature":
            return {"test": ("last",)}
        return {"test": ("stepsize", "a1", "e1", "m1"), "stepsize-between": ("stepsize",), "a1-gap": ("a1",)}


def nature_encoding(name: str) -> Encoding:
    """The encoding called so: those of `numerate_lab.engine.encodings` that write a number at once, and `in-place`.

    Example:
        >>> nature_encoding("in-place").options["notation"]["kind"], nature_encoding("p10").has_head
        ('keep', False)
    """
    if name == IN_PLACE:
        recipe = load_recipe(IN_PLACE)
        parts = {"notation": recipe.notation, "embedder": recipe.embedder, "head": recipe.head}
        return Encoding(name, options=parts | {"placement": recipe.placement, "gated": recipe.gated})
    found = encoding_of(name)
    if found.causal or name == "keep":
        raise ConfigError(f"records are filled in at once; {name!r} is said token by token or leaks its length")
    if found.options.get("embedder") == {"kind": "periodic"}:
        # Numbers of these records lie near 0: waves of the value itself, as in the run `records`.
        waves = {"kind": "periodic", "scale": "none", "sigma": 0.5}
        return dataclasses.replace(found, options=found.options | {"embedder": waves})
    return found


class NatureData:
    """A cell's records, made once and kept in a folder for other cells and processes.

    Args:
        cell: Any cell of a table: those that differ in nothing but encoding, training and budget share their records.
        folder: Where to keep them.
    """

    def __init__(self, cell: NatureCell, folder: str | Path) -> None:
        self.cell, self.folder = cell, Path(folder)

    @functools.cached_property
    def task(self) -> TemperatureTask:
        """Who makes records of temperatures."""
        return TemperatureTask(TemperatureConfig.from_dict(self.cell.task_options))

    def planets(self, count: int) -> PlanetsTask:
        """Who makes so many systems, and no more: blocks as large as training wants would be far too many for tests."""
        config = PlanetsConfig.from_dict(self.cell.task_options)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return PlanetsTask(dataclasses.replace(config, block=min(config.block, count)), device=device)

    def records(self, split: str) -> Records:
        """The records of a split, from the folder or made."""
        cell = self.cell
        count = {"train": cell.examples, "dev": cell.dev}.get(split, cell.test)
        path = self.folder / f"{split}-{count}{'-centred' if cell.centred else ''}.npz"
        if not path.is_file():
            if cell.task == "temperature":
                made = temperature_records_of(self.task, split, count, centred=cell.centred)
            else:
                made = planet_records(self.planets(count), split, count, cell.times, cell.decimals)
            made.save(path)
        return Records.load(path)

    def prepare(self) -> None:
        """Makes all that is not there yet."""
        for split in ("train", "dev", *self.cell.splits):
            self.records(split)


def build(cell: NatureCell, records: Records) -> NumberModel:
    """A fresh trunk with numbers written in the cell's way; what has to be fitted is fitted to training records."""
    encoding = nature_encoding(cell.encoding)
    texts = records.texts(1)
    tokenizer = record_tokenizer(texts)
    characters = max(len(text) for text in texts)
    numbers = max(part.shape[1] for part in records.numbers)
    # More digits before the point are all that can make a record longer than the first of its shape.
    backbone = fresh_trunk(cell, tokenizer, characters + 2 * numbers)
    model = attach_loud(
        cell,
        encoding,
        backbone,
        tokenizer,
        reader="records",
        # Kept as they are written, only the comma says where one number ends.
        implied_commas=cell.encoding != IN_PLACE,
        objective={"kind": "masked", "what": "numbers"},
    )
    values = torch.from_numpy(np.concatenate([part[:_FITTED_ON].reshape(-1) for part in records.numbers]))
    if model.embedder is not None:
        model.embedder.fit(values)
    if model.head is not None:
        model.head.fit(NumberTable.of_values(values[:: max(1, len(values) // 20_000)].tolist()))
    return model


def encode_records(model: NumberModel, records: Records, device: torch.device) -> list[Rows]:
    """The rows of all records, shape by shape, on a device."""
    writer = NumberWriter(model, records.decimals, device)
    return [
        encode_rows(model, shape, torch.from_numpy(numbers).to(device), writer)
        for shape, numbers in zip(records.shapes, records.numbers, strict=True)
    ]


class Ready(Dataset[dict[str, "Tensor"]]):
    """Training batches, each of one shape, with masks drawn when they are fetched; the same rows for all encodings.

    Args:
        parts: Rows by shape.
        cell: Batch size, shares and seed.
    """

    def __init__(self, parts: list[Rows], cell: NatureCell) -> None:
        self.parts, self.cell, self.batches = parts, cell, []
        order = torch.Generator().manual_seed(cell.seed)
        for index, part in enumerate(parts):
            pieces = torch.randperm(len(part), generator=order).split(cell.batch)
            # What is left over is a small batch only where there is no whole one.
            self.batches += [(index, piece) for piece in pieces if len(piece) == min(cell.batch, len(part))]
        device = parts[0].ids.device
        self._asks = {id(part): torch.stack([part.wanted(ask, 1)[0] for ask in part.asks]) for part in parts}
        self._draws = torch.Generator(device).manual_seed(cell.seed)

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        which, rows = self.batches[index]
        part = self.parts[which]
        return part.batch(rows) | {"number_wanted": self.masks(part, len(rows))}

    def masks(self, part: Rows, count: int) -> Tensor:
        """Which numbers of so many records are masked, (count, M) bool."""
        device = part.bits.device
        drawn = torch.rand(count, part.bits.shape[1], generator=self._draws, device=device)
        masks = drawn < self.cell.ratio
        asks = self._asks[id(part)]
        which = torch.randint(len(asks), (count,), generator=self._draws, device=device)
        asking = torch.rand(count, 1, generator=self._draws, device=device) < self.cell.asking
        return masks | (asks[which] & asking)

    @property
    def tokens_a_record(self) -> float:
        """Mean tokens of a record."""
        return float(torch.cat([part.lengths for part in self.parts]).double().mean())
