"""Settings of one trial of the probes, and the numbers that it asks about."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from numerate.config import Config, ConfigError
from numerate.files import content_hash, json_hash
from numerate.numerals.number_words import render_words
from numerate.training.text_files import SourceError
from numerate_lab.engine.paper_tables import check_name, load_yaml
from numerate_lab.engine.task import TrialConfig
from numerate_lab.tasks.probes.number_pools import NumberPool, generated_columns, harvested, table_files

if TYPE_CHECKING:
    from numerate_lab.engine.task import Figures

__all__ = ["ENCODINGS", "SCALES", "SETTINGS", "NumberRange", "ProbeTrial"]

_YAML = load_yaml("numerate_lab.tasks.probes", "settings.yaml")
ENCODINGS: dict[str, dict[str, Any]] = _YAML["encodings"]
"""Names of embedders with options: fields of the trial."""
SCALES: dict[str, dict[str, Any]] = _YAML["scales"]
_COLUMNS = 20_000
"""Generated columns of numbers, if there is no limit of tables; a table counts as five columns."""


@dataclass(frozen=True, kw_only=True)
class NumberRange(Config):
    """All numbers of a range, as in Wallace et al. (2019).

    Attributes:
        lowest: The lowest number.
        highest: The highest one.
        decimals: Digits after the point.
        words: Write them as words.
        beyond: The test numbers are those above `highest` up to this one; None for a fifth of the range, at random.
    """

    kind: ClassVar[str] = "number-range"
    lowest: float = 0
    highest: float = 99
    decimals: int = 0
    words: bool = False
    beyond: float | None = None

    def pool(self, seed: int = 0) -> NumberPool:
        """The numbers as one group; a tenth of those that are not for test is for dev.

        Example:
            >>> pool = NumberRange(highest=9, words=True, beyond=12).pool()
            >>> [pool.texts[i] for i in (pool.split == 2).nonzero()[0]]
            ['eleven', 'ten', 'twelve']
        """
        unit = Decimal(1).scaleb(-self.decimals)
        last = self.highest if self.beyond is None else self.beyond
        first, steps = Decimal(str(self.lowest)), round((last - self.lowest) * 10**self.decimals)
        values = [first + unit * step for step in range(steps + 1)]
        texts = [
            render_words(float(value), "lower-&") if self.words else f"{value:.{self.decimals}f}" for value in values
        ]

        def split(floats: np.ndarray) -> np.ndarray:
            order = np.random.default_rng(seed).permutation(len(floats))
            inside = order if self.beyond is None else order[floats[order] <= self.highest]
            found = np.full(len(floats), 2)
            known = inside[round(len(inside) / 5) :] if self.beyond is None else inside
            found[known] = 0
            found[known[: max(6, round(len(inside) / 10))]] = 1
            return found

        return NumberPool.of([texts], values=dict(zip(texts, values, strict=True)), split=split)


SETTINGS: dict[str, NumberRange | None] = {
    name: NumberRange.from_dict(fields) if fields else None for name, fields in _YAML["settings"].items()
}
"""Names of number ranges; None for the numbers of tables."""


@dataclass(frozen=True, kw_only=True)
class ProbeTrial(TrialConfig):
    """One embedder, or one pretrained model, under all probes.

    Attributes:
        encoding: Its name.
        setting: The numbers, one of `SETTINGS`.
        source: For the setting `tables`: `generated`, a file of tables, several by commas, or a folder of data.
        most_tables: Maximum number of tables of each file; None for all.
        embedder: The embedder; None for that of `model`, or for the model's pooled output.
        model: A model saved by numerate, whose embedder is taken; or any Hugging Face model: the mean of its last
            states over the tokens of the written number is the vector.
        frozen: Train the probes alone. Pooled outputs are always frozen.
        width: Size of the vectors of `embedder`.
        embedding_scale: Root mean square of the centred vectors before training, as fresh embedders differ a
            hundredfold in size, which would decide the comparison; 0 leaves them as they are, as in LUNA.
        hidden: Hidden units of the probes.
        examples: Training questions of each kind.
        dev: Questions that learning rates are chosen by.
        test: Test questions of each kind.
        batch: Questions of each kind in a step.
        steps: Training steps.
        warmup: Share of the steps in which the rate rises; then it falls to 0 along a cosine.
        weight_decay: AdamW's.
        data_seed: Seed of the questions, the same for all trials of a table.
    """

    kind: ClassVar[str] = "probes"
    paths: ClassVar[tuple[str, ...]] = ("source", "model")

    encoding: str = "log-fourier"
    setting: str = "tables"
    source: str = "generated"
    most_tables: int | None = 3000
    embedder: dict[str, Any] | None = None
    model: str | None = None
    frozen: bool = False
    width: int = 128
    embedding_scale: float = 1.0
    hidden: int = 128
    examples: int = 240_000
    dev: int = 4_000
    test: int = 10_000
    batch: int = 1024
    steps: int = 10_000
    warmup: float = 0.05
    weight_decay: float = 0.0
    data_seed: int = 0

    def __post_init__(self) -> None:
        try:
            check_name("setting", self.setting, list(SETTINGS))
        except ValueError as error:
            raise ConfigError(str(error)) from None
        for name in ("width", "hidden", "examples", "dev", "test", "batch", "steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.data_seed < 0:
            raise ConfigError(f"data_seed must not be negative, got {self.data_seed}")
        if not self.embedding_scale >= 0:
            raise ConfigError(f"embedding_scale must not be negative, got {self.embedding_scale}")
        if self.most_tables is not None and self.most_tables < 1:
            raise ConfigError(f"most_tables must be at least 1 or null, got {self.most_tables}")

    @property
    def name(self) -> str:
        """The trial's file name, without suffix."""
        setting = "" if self.setting == "tables" else f"-{self.setting}"
        return f"{self.encoding}{setting}-rate{self.rate:g}-seed{self.seed}-{self.steps}"

    def tried(self, rate: float, share: float) -> Self:
        """A training with a share of the steps."""
        return dataclasses.replace(self, rate=rate, seed=0, steps=max(1, round(share * self.steps)))

    def settings(self) -> Figures:
        """As `TrialConfig.settings`; the hash of the source is that of its files of tables."""
        found = super().settings()
        if self.scientific and self.source != "generated":
            found["source"] = ",".join(Path(part).name for part in self.source.split(","))
            with contextlib.suppress(SourceError):  # a result is read where its tables are missing
                hashes = {Path(file).name: content_hash(file) for file in table_files(self.source)}
                found["contents"] = found.get("contents", {}) | {"source": json_hash(hashes)[:12]}
        return found

    @property
    def scientific(self) -> bool:
        """Whether answers are significands and exponents (LUNA), and not plain numbers (Wallace et al.)."""
        return SETTINGS[self.setting] is None

    @property
    def length(self) -> int:
        """Numbers of a list: 3 in LUNA, 5 in Wallace et al."""
        return 3 if self.scientific else 5

    def pool(self) -> NumberPool:
        """The numbers, read or generated."""
        chosen = SETTINGS[self.setting]
        if chosen is not None:
            return chosen.pool(self.data_seed)
        if self.source == "generated":
            columns = _COLUMNS if self.most_tables is None else 5 * self.most_tables
            return NumberPool.of(generated_columns(columns, self.data_seed))
        pool = NumberPool.of(harvested(self.source, self.most_tables))
        if not pool.texts:
            raise SourceError(f"{self.source}: no cell of its tables has one number, and no more; give more tables")
        return pool
