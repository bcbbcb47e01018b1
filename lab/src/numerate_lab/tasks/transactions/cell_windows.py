"""Rows as windows of cells for TabBERT: quantised and label-encoded fields, numbers of cells, and splits.

Amounts and times are quantised as TabFormer does: ln(max(1, amount)) and time in 10 bins of equal frequency; all other
fields have one token for each value. Unlike TabFormer, whose vocabularies and bins know the test rows, both are fitted
to the training rows; other values are [UNK].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from numerate.backbones.tabbert import SPECIAL_TOKENS, UNK
from numerate.config import ConfigError
from numerate.processing.number_table import GIVEN, NumberTable, Written, bit_patterns
from numerate_lab.tasks.transactions.card_rows import NO_ZIP, CardRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

__all__ = [
    "BINS", "FIELDS", "NUMBER_FIELDS", "SPLITS", "CellWindows", "Vocabularies", "cell_windows", "quantile_bins",
    "quantised", "split_windows",
]  # fmt: skip

FIELDS = ("user", "card", "minute", "cents", "chip", "merchant", "city", "state", "zip", "mcc", "errors")
"""TabFormer's fields, in its order."""
NUMBER_FIELDS = ("minute", "cents", "zip", "mcc")
"""Fields that LUNA reads as numbers: timestamp, amount, zip code and merchant category."""
SPLITS = ("train", "dev", "test")
BINS = 10
_SHARES = (0.6, 0.8)
"""Up to which share of the windows or users training and dev go, as published."""
TimeUnit = Literal["minutes", "nanoseconds"]


def quantile_bins(values: np.ndarray, bins: int = BINS) -> np.ndarray:
    """Edges of bins of equal frequency: (bins + 1,).

    Example:
        >>> quantile_bins(np.arange(11.0), 2)
        array([ 0.,  5., 10.])
    """
    return np.quantile(values, np.arange(bins + 1) / bins)


def quantised(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each value, from 0; values outside belong to the first or last bin.

    Example:
        >>> quantised(np.array([-1.0, 0.0, 4.9, 5.0, 10.0, 99.0]), np.array([0.0, 5.0, 10.0]))
        array([0, 0, 0, 1, 1, 1])
    """
    return np.clip(np.digitize(values, edges), 1, len(edges) - 1) - 1


def _continuous(rows: CardRows, field: str) -> np.ndarray:
    """What is quantised: the time, or the logarithm of an amount of at least 1 dollar."""
    return rows.minute.astype(float) if field == "minute" else np.log(np.maximum(1.0, rows.cents / 100))


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """The values of each field: bin edges of quantised fields, sorted values of the others.

    Attributes:
        edges: Field -> (BINS + 1,) bin edges.
        values: Field -> (V,) sorted values.
    """

    edges: dict[str, np.ndarray]
    values: dict[str, np.ndarray]

    @classmethod
    def fit(cls, rows: CardRows) -> Vocabularies:
        """The vocabularies of training rows."""
        edges = {field: quantile_bins(_continuous(rows, field)) for field in ("minute", "cents")}
        return cls(edges, {field: np.unique(getattr(rows, field)) for field in FIELDS if field not in edges})

    @property
    def sizes(self) -> list[int]:
        """Number of tokens of each field."""
        return [BINS if field in self.edges else len(self.values[field]) for field in FIELDS]

    def ids(self, rows: CardRows) -> np.ndarray:
        """Global ids of TabBERT: (N, F) int32, [UNK] for values that training rows do not have."""
        found = np.empty((len(rows), len(FIELDS)), dtype=np.int32)
        start = len(SPECIAL_TOKENS)
        for at, (field, size) in enumerate(zip(FIELDS, self.sizes, strict=True)):
            if field in self.edges:
                found[:, at] = start + quantised(_continuous(rows, field), self.edges[field])
            else:
                known, own = self.values[field], getattr(rows, field)
                place = np.minimum(np.searchsorted(known, own), len(known) - 1)
                found[:, at] = np.where(known[place] == own, start + place, UNK)
            start += size
        return found


@dataclass(frozen=True, eq=False)
class CellWindows:
    """Windows of rows, ready for a device; rows and numbers are stored once, however windows overlap.

    Attributes:
        ids: (N, F) int32, global ids of the rows.
        numbers: (N, K) int32, index into `table` of each row's numbers; -1 for none.
        table: The distinct numbers.
        starts: Split -> (W,) int64, the first row of each window; `pretrain` has the windows of pre-training.
        fraud: (N,) bool.
        user: (N,) int32.
        length: Rows of a window.
        vocabularies: Of the fields.
    """

    ids: Tensor
    numbers: Tensor
    table: NumberTable
    starts: dict[str, np.ndarray]
    fraud: np.ndarray
    user: np.ndarray
    length: int
    vocabularies: Vocabularies

    def labels(self, split: str) -> np.ndarray:
        """Whether a window has a fraudulent row: (W,) bool."""
        return np.asarray(self._windows(self.fraud, split).any(1))

    def users(self, split: str) -> np.ndarray:
        """The user of each window: (W,)."""
        return self.user[self.starts[split]]

    def _windows(self, rows: np.ndarray, split: str) -> np.ndarray:
        return rows[self.starts[split][:, None] + np.arange(self.length)]


def split_windows(
    user: np.ndarray, by: Literal["random", "user"], *, length: int = 10, stride: int = 10, seed: int = 0
) -> dict[str, np.ndarray]:
    """The first rows of windows by split: `train`, `dev`, `test`, and `pretrain`, those that a model is pre-trained on.

    Windows of the three splits do not overlap and do not leave their user; 60 % are for training, 20 % for dev, 20 %
    for test. `random` draws windows, as published: the same user is on all sides. `user` draws users. Windows of
    pre-training begin every `stride` rows and have training rows only.

    Raises:
        ConfigError: A split would have no window.

    Example:
        >>> found = split_windows(np.repeat(np.arange(5), 40), "user", stride=5)
        >>> [len(found[name]) for name in ("train", "dev", "test", "pretrain")]
        [12, 4, 4, 21]
    """
    first = np.searchsorted(user, np.unique(user))
    count = np.diff(np.append(first, len(user)))
    starts = _every(first, count, length, length)
    draws = np.random.default_rng(seed)
    if by == "random":
        order = draws.permutation(len(starts))
        bounds = [round(share * len(starts)) for share in _SHARES]
        parts = [np.sort(starts[part]) for part in np.split(order, bounds)]
    else:
        users = draws.permutation(user[first])
        bounds = [round(share * len(users)) for share in _SHARES]
        parts = [starts[np.isin(user[starts], part)] for part in np.split(users, bounds)]
    found = dict(zip(SPLITS, parts, strict=True))
    empty = [name for name, part in found.items() if not len(part)]
    if empty:
        what = f"{len(starts)} windows of {length} rows of one user each (users: {len(first)})"
        more = "give more users, or split='random'" if by == "user" and len(starts) >= len(parts) else "give more rows"
        if not len(starts):
            more = f"give users with at least {length} rows"
        raise ConfigError(f"split={by!r} leaves no window for {empty[0]} among {what}: {more}")
    trained = np.zeros(len(user) + 1, dtype=np.int64)
    trained[1:][(found["train"][:, None] + np.arange(length)).ravel()] = 1
    trained = np.cumsum(trained)
    shifted = _every(first, count, length, stride)
    return found | {"pretrain": shifted[trained[shifted + length] - trained[shifted] == length]}


def _every(first: np.ndarray, count: np.ndarray, length: int, stride: int) -> np.ndarray:
    """First rows of windows, every `stride` rows of each user."""
    windows = np.maximum(0, (count - length) // stride + 1)
    step = np.arange(windows.sum()) - np.repeat(np.cumsum(windows) - windows, windows)
    return np.repeat(first, windows) + stride * step


def cell_windows(
    rows: CardRows, starts: dict[str, np.ndarray], numbers: Sequence[str] = NUMBER_FIELDS, *, length: int = 10,
    time_unit: TimeUnit = "minutes", known_users: bool = True,
) -> CellWindows:  # fmt: skip
    """Encodes rows once for all windows; vocabularies and bins are those of the rows in training windows.

    Args:
        rows: The transactions.
        starts: From `split_windows`.
        numbers: Fields whose numbers are kept, some of `NUMBER_FIELDS`.
        length: Rows of a window.
        time_unit: Unit of the timestamp's number; LUNA's is nanoseconds, which adds ten zeros.
        known_users: False to show [UNK] for all users, also in training: test windows of a split by user would
            otherwise have a token that no training has seen.
    """
    seen = np.unique(starts["train"][:, None] + np.arange(length))
    vocabularies = Vocabularies.fit(rows[seen])
    index, table = _numbers(rows, numbers, time_unit)
    ids = torch.from_numpy(vocabularies.ids(rows))
    if not known_users:
        ids[:, FIELDS.index("user")] = UNK
    return CellWindows(ids, torch.from_numpy(index), table, starts, rows.fraud, rows.user, length, vocabularies)


def _numbers(rows: CardRows, fields: Sequence[str], time_unit: TimeUnit) -> tuple[np.ndarray, NumberTable]:
    """(N, K) indices of numbers, and the table of distinct numbers; a missing zip code is no number."""
    index = np.full((len(rows), len(fields)), -1, dtype=np.int32)
    values: list[np.ndarray] = [np.zeros(0)]
    precisions: list[np.ndarray] = [np.zeros(0, np.int16)]
    texts: list[str] = []
    for at, field in enumerate(fields):
        distinct, place = np.unique(getattr(rows, field), return_inverse=True)
        known = distinct != NO_ZIP if field == "zip" else np.ones(len(distinct), dtype=bool)
        index[:, at] = np.where(known, len(texts) + np.cumsum(known) - 1, -1)[place]
        whole = distinct[known].astype(np.int64)
        zeros = "0" * 10 if field == "minute" and time_unit == "nanoseconds" else ""
        if field == "cents":
            texts += [
                f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}" for cents in whole.tolist()
            ]
            values.append(whole / 100)
        else:
            factor = 6 if zeros else 1  # a minute has 6 with ten zeros of nanoseconds
            texts += [f"{factor * number}{zeros}" for number in whole.tolist()]
            values.append(whole * float(factor * 10 ** len(zeros)))
        precisions.append(np.full(len(whole), -2 if field == "cents" else 0, dtype=np.int16))
    bits = bit_patterns(np.concatenate(values))
    given = np.full(len(bits), GIVEN, dtype=np.uint8)
    characters = Written.of(texts).character_rows() if texts else np.zeros((0, 1), np.uint8)
    return index, NumberTable(*map(torch.from_numpy, (bits, characters, np.concatenate(precisions), given)))
