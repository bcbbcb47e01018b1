"""Numbers for probes: harvested from tables, generated, or all numbers of a range."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.files import write_atomically
from numerate.numerals.numeral import Numeral
from numerate.registry import readers
from numerate.training.sources import tables_of
from numerate.training.tables import TableIds
from numerate.training.text_files import SourceError, parsed_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.training.tables import Table

__all__ = ["SPLITS", "NumberPool", "generated_columns", "harvested", "split_of", "table_files", "value_of"]

SPLITS = ("train", "dev", "test")
_SHARES = (0.8, 0.1, 0.1)
_LAYOUT = ("tables/*.jsonl.gz", "tables/*.jsonl", "tabfact/tables.jsonl*", "tatqa/*dev*.json*")
"""Files of tables in a folder of data."""
_LONGEST = 18
"""Longer numbers, 0.01 % of those in tables, are mostly phone numbers and identifiers."""


def value_of(text: str) -> Decimal:
    """The exact value of a number as LUNA's reader finds it.

    Example:
        >>> value_of("1,234.50"), value_of("-2.5%")
        (Decimal('1234.50'), Decimal('-0.025'))
    """
    bare = text.replace(",", "")
    return Decimal(bare[:-1]).scaleb(-2) if bare.endswith("%") else Decimal(bare)


def split_of(values: np.ndarray) -> np.ndarray:
    """The split of each number, (N,) int64 into `SPLITS`, by its size alone: -5, 5, 5.0 and 500% are in one split.

    Example:
        >>> split_of(np.array([5.0, -5.0])).tolist()
        [0, 0]
    """
    bits = np.abs(values).astype(np.float64).view(np.uint64)
    with np.errstate(over="ignore"):  # SplitMix64: all bits of the value count
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits = bits ^ (bits >> np.uint64(31))
    return np.searchsorted(np.cumsum(_SHARES)[:-1], bits / 2.0**64, side="right")


@dataclass(frozen=True, eq=False)
class NumberPool:
    """Different written numbers, and the groups (columns or rows of tables) that they stand in.

    Attributes:
        texts: The written numbers; no two are the same.
        decimals: Their exact values.
        values: (N,) float64.
        split: (N,) int64, places in `SPLITS`.
        members: (M,) int64: the numbers of all groups, one group after the other; a group has numbers of one split.
        starts: (G + 1,) int64: where each group begins, and the end.
    """

    texts: list[str]
    decimals: list[Decimal]
    values: np.ndarray
    split: np.ndarray
    members: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(
        cls, groups: Iterable[Sequence[str]], *, values: dict[str, Decimal] | None = None, split: Any = split_of
    ) -> NumberPool:
        """The pool of groups of written numbers.

        Args:
            groups: Written numbers that stand together.
            values: Their values, where they are not written as LUNA's reader expects them (number words).
            split: The split of float64 values (N,).
        """
        known = [list(group) for group in groups]
        texts = sorted({text for group in known for text in group})  # the same order in every process
        ids = {text: place for place, text in enumerate(texts)}
        numbered = [[ids[text] for text in group] for group in known]
        decimals = [values[text] if values else value_of(text) for text in texts]
        floats = np.array([float(value) for value in decimals], dtype=np.float64)
        places = np.asarray(split(floats), dtype=np.int64)
        own = places.tolist()
        parts = [[i for i in group if own[i] == part] for group in numbered for part in range(len(SPLITS))]
        parts = [part for part in parts if part]
        members = np.fromiter((i for part in parts for i in part), np.int64)
        return cls(texts, decimals, floats, places, members, np.cumsum([0, *map(len, parts)]))

    def numerals(self) -> list[Numeral]:
        """The numbers as numerals."""
        pairs = zip(self.texts, self.values.tolist(), strict=True)
        return [Numeral(text, 0, len(text), value) for text, value in pairs]

    def train_values(self) -> np.ndarray:
        """The training numbers of all groups, with repeats, for embedders that are fitted: (M,) float64."""
        return self.values[self.members[self.split[self.members] == 0]]

    def write(self, file: Path) -> None:
        """Writes the texts of the groups as JSON, for other processes; `of` makes the same pool from them."""
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        groups = [[self.texts[i] for i in self.members[begin:end].tolist()] for begin, end in ends]
        write_atomically(file, json.dumps(groups).encode())


def table_files(source: str) -> list[str]:
    """The files of tables that a source names: a file, several by commas, or a folder of data.

    A folder holds `tables/*.jsonl.gz`, `tabfact/tables.jsonl.gz` and `tatqa/dev.json.gz`, or some of them.

    Raises:
        SourceError: There is no such file, or the folder has none.
    """
    if Path(source).is_dir():
        found = [str(file) for pattern in _LAYOUT for file in sorted(Path(source).glob(pattern))]
        if not found:
            raise SourceError(f"{source}: no file of tables found; a folder of data has {', '.join(_LAYOUT)}")
        return found
    files = source.split(",")
    for file in files:
        if not Path(file).is_file():
            raise SourceError(f"{file}: no such file of tables; give a file or a folder of data")
    return files


def _test_tables(file: str) -> TableIds:
    """The official test tables beside a file of TabFact's tables, which no probe may see."""
    ids = Path(file).parent / "ids.json"
    if not ids.is_file():
        return TableIds()
    found = parsed_json(ids.read_text(encoding="utf-8"), str(ids))
    if not isinstance(found, dict) or not isinstance(found.get("test"), list):
        raise SourceError(f"{ids}: field 'test' is missing; it lists the test tables")
    return TableIds(names=found["test"])


def harvested(source: str, most_tables: int | None = None) -> Iterator[list[str]]:
    """The numbers of each column of the tables of a source; of TAT-QA's, whose columns are years, of each row.

    Numbers with a percent sign and without one are groups of their own. A cell with several numbers is left out.

    Args:
        source: See `table_files`.
        most_tables: Maximum number of tables of each file, the first ones; None for all.
    """
    reader = readers["luna"]()
    for file in table_files(source):
        left_out = _test_tables(file)
        chosen = (table for table in tables_of(file) if table not in left_out)
        for table in islice(chosen, most_tables):
            for line in _lines(table):
                found = [numerals[0].text for cell in line if len(numerals := reader.find(cell)) == 1]
                usable = [text for text in found if len(text) <= _LONGEST]
                for group in ([t for t in usable if t.endswith("%")], [t for t in usable if not t.endswith("%")]):
                    if group:
                        yield group


def _lines(table: Table) -> Iterable[Sequence[str]]:
    return table.columns() if table.header else [row[1:] for row in table.rows]


def generated_columns(count: int, seed: int = 0) -> Iterator[list[str]]:
    """Columns of numbers of the kinds that tables have: years, ranks, counts, amounts, decimals and percentages.

    Example:
        >>> [len(column) >= 3 for column in generated_columns(2)]
        [True, True]
    """
    draws = np.random.default_rng(seed)
    kinds = list(_KINDS)
    weights = np.array([_KINDS[kind] for kind in kinds])
    for _ in range(count):
        kind, size = kinds[draws.choice(len(kinds), p=weights / weights.sum())], int(draws.integers(3, 21))
        yield _column(kind, size, draws)


_KINDS = {"year": 25, "rank": 20, "count": 25, "large": 10, "grouped": 8, "decimal": 8, "percent": 3, "signed": 1}
"""Kinds of columns, and how often they occur, as in tables of Wikipedia and of reports."""


def _column(kind: str, size: int, draws: np.random.Generator) -> list[str]:
    if kind == "year":
        last = int(draws.integers(1900, 2026))
        return [str(last - year) for year in range(size)]
    if kind == "rank":
        return [str(rank) for rank in range(1, size + 1)]
    if kind == "percent":
        places = int(draws.integers(0, 3))
        return [f"{draws.uniform(0, 100):.{places}f}%" for _ in range(size)]
    low, high = {"count": (0.0, 2.7), "large": (3.0, 7.0), "grouped": (3.0, 8.0)}.get(kind, (-2.0, 4.0))
    centre = draws.uniform(low, high)
    sizes = 10 ** np.clip(draws.normal(centre, 0.5, size), low, high)
    if kind in ("count", "large"):
        return [str(math.floor(one)) for one in sizes]
    places = 0 if kind == "grouped" else int(draws.integers(1, 4))
    comma = "," if kind in ("grouped", "signed") else ""
    signs = np.where(draws.random(size) < (0.5 if kind == "signed" else 0.0), -1, 1)
    return [f"{value:{comma}.{places}f}" for value in (sizes * signs).tolist()]
