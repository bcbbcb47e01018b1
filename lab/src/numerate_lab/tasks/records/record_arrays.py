"""Many records of few shapes: all of one shape have the same text between their numbers, and only the numbers differ.

Planets and temperatures come as arrays; as text they would be written, read and cut again for every encoding. Here a
shape's text is written once, and numbers stay numbers, rounded to some decimals and written with all of them and with
their sign: `+1.0000`. So the length of a number that is masked in its place tells nothing about it.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.reading.records import RecordsReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Records", "Shape", "record_text", "rounded"]


@dataclass(frozen=True)
class Shape:
    """What records of one shape share.

    Attributes:
        sections: M + 1 texts, before, between and behind the M numbers.
        asks: What can be asked for, and which numbers that are, counted from 0.
    """

    sections: tuple[str, ...]
    asks: dict[str, tuple[int, ...]]

    @staticmethod
    def of(text: str, asks: dict[str, Sequence[int]]) -> Shape:
        """The shape of one record.

        Example:
            >>> Shape.of("{'m':1.5,'data':[1,2]}", {"m": [0]}).sections
            ("{'m':", ",'data':[", ',', ']}')
        """
        spans = RecordsReader().spans(text)
        ends, starts = [0, *(end for _, end, *_ in spans)], [*(start for start, *_ in spans), len(text)]
        sections = tuple(text[end:start] for end, start in zip(ends, starts, strict=True))
        return Shape(sections, {name: tuple(map(int, slots)) for name, slots in asks.items()})

    def text(self, numbers: Sequence[float], decimals: int) -> str:
        """The record of this shape with some numbers, each with its sign and all its decimals.

        Example:
            >>> Shape.of("{'m':1.5,'data':[1,2]}", {}).text([1.0, -0.25, 0.0], 4)
            "{'m':+1.0000,'data':[-0.2500,+0.0000]}"
        """
        written = [f"{value:+.{decimals}f}" for value in numbers]
        return "".join(part for pair in zip(self.sections, [*written, ""], strict=True) for part in pair)


@dataclass(frozen=True, eq=False)
class Records:
    """N records, shape by shape.

    Attributes:
        shapes: S of them.
        numbers: For each shape (n, M) float64, rounded.
        rows: For each shape (n,) int64, where its records stand among all.
        decimals: With which all numbers are written.
        guesses: For each shape (n, A) float64 that the A numbers asked for are told as differences from; or none.
    """

    shapes: tuple[Shape, ...]
    numbers: tuple[np.ndarray, ...]
    rows: tuple[np.ndarray, ...]
    decimals: int = 4
    guesses: tuple[np.ndarray, ...] = field(default=())

    @staticmethod
    def grouped(keys: Sequence[Any], decimals: int, make: Callable[[np.ndarray], tuple[Any, ...]]) -> Records:
        """Records grouped by shape.

        Args:
            keys: Of each record, a tuple that is the same for records of one shape; shapes are sorted by it.
            decimals: Decimals of all numbers.
            make: Takes the indices (n,) of the records of one shape, and returns the text of the first one, its
                questions as for `Shape.of`, numbers (n, M), and guesses (n, A) or None.
        """
        rows: dict[Any, list[int]] = {}
        for index, key in enumerate(keys):
            rows.setdefault(key, []).append(index)
        places = tuple(np.array(rows[key], dtype=np.int64) for key in sorted(rows))
        made = [make(some) for some in places]
        shapes = tuple(Shape.of(text, asks) for text, asks, _, _ in made)
        numbers = tuple(rounded(some, decimals) for _, _, some, _ in made)
        return Records(shapes, numbers, places, decimals, tuple(one for *_, one in made if one is not None))

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def texts(self, most: int | None = None) -> list[str]:
        """The records as text, shape by shape; of each shape no more than `most`."""
        found = []
        for shape, numbers in zip(self.shapes, self.numbers, strict=True):
            found += [shape.text(row, self.decimals) for row in numbers[:most].tolist()]
        return found

    def gold(self, ask: str) -> np.ndarray:
        """What is asked for, in the order of all records, one behind the other, guesses added: (K,) float64."""
        parts = [n[:, list(s.asks[ask])] for s, n in zip(self.shapes, self.numbers, strict=True)]
        return self.in_order(self.with_guesses(parts))

    def with_guesses(self, parts: list[np.ndarray]) -> list[np.ndarray]:
        """Values by shape, (n, A) each, with the guesses added that they are differences from."""
        return [part + guess for part, guess in zip(parts, self.guesses, strict=True)] if self.guesses else parts

    def in_order(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Values by shape, (n, A) each, in the order of all records: (K,)."""
        rows = np.concatenate([place.repeat(part.shape[1]) for place, part in zip(self.rows, parts, strict=True)])
        return np.concatenate([part.reshape(-1) for part in parts])[np.argsort(rows, kind="stable")]

    def save(self, path: Path) -> None:
        """Writes them as npz to a temporary file beside the path, then renames it: readers never see a part."""
        header = json.dumps({"decimals": self.decimals, "shapes": [dataclasses.asdict(shape) for shape in self.shapes]})
        columns = {"header": np.array(header)}
        for name in ("numbers", "rows", "guesses"):
            columns |= {f"{name}{index}": column for index, column in enumerate(getattr(self, name))}
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        with beside.open("wb") as file:
            np.savez(file, **columns)  # type: ignore[arg-type]
        beside.replace(path)

    @staticmethod
    def load(path: Path) -> Records:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as kept:
            header: dict[str, Any] = json.loads(str(kept["header"]))
            shapes = tuple(
                Shape(tuple(one["sections"]), {ask: tuple(slots) for ask, slots in one["asks"].items()})
                for one in header["shapes"]
            )
            names = ("numbers", "rows", "guesses")
            columns = [tuple(kept[f"{n}{i}"] for i in range(len(shapes)) if f"{n}{i}" in kept) for n in names]
        return Records(shapes, columns[0], columns[1], header["decimals"], columns[2])


def record_text(record: Mapping[str, Any], quote: str) -> str:
    """A record in one line and without spaces, numbers as Python writes them.

    Example:
        >>> record_text({"data": [[0.5, 2.0]]}, '"')
        '{"data":[[0.5,2.0]]}'
    """
    return str(record).replace(" ", "").replace("'", quote)


def rounded(numbers: np.ndarray, decimals: int) -> np.ndarray:
    """Numbers of so many decimals, without a negative zero.

    Example:
        >>> rounded(np.array([1.23456, -0.00001]), 3).tolist()
        [1.235, 0.0]
    """
    return np.round(numbers, decimals) + 0.0
