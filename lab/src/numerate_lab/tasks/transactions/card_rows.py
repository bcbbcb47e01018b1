"""Card transactions in memory, and the reader and writer of IBM's CSV format (TabFormer, Padhi et al. 2021).

The text of a file is never held: a row takes 45 bytes, so that IBM's 24 million rows take 1.1 gigabytes.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.files import write_atomically
from numerate.training.text_files import SourceError, batches, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

__all__ = ["COLUMNS", "NO_ZIP", "TEXT_FIELDS", "CardRows", "load_arrays", "read_rows", "save_arrays", "write_rows"]

COLUMNS = (
    "User", "Card", "Year", "Month", "Day", "Time", "Amount", "Use Chip", "Merchant Name", "Merchant City",
    "Merchant State", "Zip", "MCC", "Errors?", "Is Fraud?",
)  # fmt: skip
"""The columns of the format; a file may have them in any order, and others besides."""
TEXT_FIELDS = {
    "chip": "Use Chip", "merchant": "Merchant Name", "city": "Merchant City", "state": "Merchant State",
    "errors": "Errors?",
}  # fmt: skip
"""Fields of `CardRows` that are codes of texts, and their columns."""
NO_ZIP = -1
"""The zip code of a row without one: online, or abroad."""
_FRAUD = {"Yes": True, "No": False}
_MOST_CENTS = 2**31 - 1
_MOST_ZIP = 99_999
_GROUPED = re.compile(r"[-+$\s]*[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?\s*")
"""An amount with commas. In `1.234,50` and `12,5` the comma is a decimal one: 1.23 and 125 would be wrong."""
_WRITTEN_AT_ONCE = 50_000
_LONGEST = 100_000
"""Characters of a line; one of the true file has some 100."""


@dataclass(frozen=True, eq=False)
class CardRows:
    """Transactions, sorted by user, in the order of the file within each user.

    Shape: all (N,). Texts are codes, whose texts are in `names`.

    Attributes:
        user: int32.
        card: int32, the index of the user's card.
        minute: int32, minutes since 1970.
        cents: int32, the amount in cents; negative for refunds.
        chip: int32, code.
        merchant: int32, code.
        city: int32, code.
        state: int32, code.
        zip: int32, `NO_ZIP` for none.
        mcc: int32, the merchant's category.
        errors: int32, code; the text is empty for no error.
        fraud: bool.
        names: Field of `TEXT_FIELDS` -> its texts, by code.
    """

    user: np.ndarray
    card: np.ndarray
    minute: np.ndarray
    cents: np.ndarray
    chip: np.ndarray
    merchant: np.ndarray
    city: np.ndarray
    state: np.ndarray
    zip: np.ndarray
    mcc: np.ndarray
    errors: np.ndarray
    fraud: np.ndarray
    names: dict[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.user)

    def __getitem__(self, index: Any) -> CardRows:
        arrays = {name: getattr(self, name)[index] for name in _ARRAYS}
        return CardRows(**arrays, names=self.names)

    def by_user(self) -> CardRows:
        """The rows sorted by user; rows of one user keep their order."""
        if len(self) < 2 or bool((self.user[1:] >= self.user[:-1]).all()):
            return self
        return self[np.argsort(self.user, kind="stable")]


_ARRAYS = tuple(field.name for field in dataclasses.fields(CardRows) if field.name != "names")


def read_rows(path: str | Path, *, most: int | None = None) -> CardRows:
    """Reads a CSV file of IBM's format, `*.gz` or plain, in pieces of 2,000 lines.

    Args:
        path: The file.
        most: Maximum number of rows; None for all.

    Raises:
        SourceError: The file is empty or has no rows, a column is missing, or a cell cannot be read; one line names the
            file and the line.
    """
    codes: dict[str, dict[str, int]] = {name: {} for name in TEXT_FIELDS}
    parts: list[dict[str, np.ndarray]] = []
    places: list[int] | None = None
    width, count, title = 0, 0, title_of(path)
    for batch in batches(path):
        lines = [(number, line) for number, line in batch.decoded() if line]
        rows = _cells(lines, title)
        numbers = [number for number, _ in lines]
        if places is None and rows:
            places, width = _places(rows[0], f"{title}:{numbers[0]}"), len(rows[0])
            rows, numbers = rows[1:], numbers[1:]
        if most is not None:
            rows = rows[: most - count]
        if rows and places is not None:
            for number, row in zip(numbers, rows, strict=False):
                if len(row) != width:
                    raise SourceError(f"{title}:{number}: {len(row)} cells, the header has {width}; correct the row")
            columns = list(zip(*rows, strict=True))
            cells = {name: columns[place] for name, place in zip(COLUMNS, places, strict=True)}
            parts.append(_parsed(cells, codes, lambda at, seen=numbers: f"{title}:{seen[at]}"))
            count += len(rows)
        if most is not None and count >= most:
            break
    if places is None:
        raise SourceError(f"{title}: the file is empty; give a CSV file with the columns {', '.join(COLUMNS)}")
    if not parts:
        raise SourceError(f"{title}: there is a header and no row; give a file with transactions")
    arrays = {name: np.concatenate([part.pop(name) for part in parts]) for name in _ARRAYS}  # freed column by column
    return CardRows(**arrays, names={name: tuple(table) for name, table in codes.items()}).by_user()


def _cells(lines: Sequence[tuple[int, str]], title: str) -> list[list[str]]:
    """The cells of numbered lines, a row in each."""
    for number, line in lines:
        if len(line) > _LONGEST:  # the limit of `csv` is one for the whole process, and others raise it
            raise SourceError(f"{title}:{number}: {len(line):,} characters, a row has some 100; correct the row")
    try:
        rows = list(csv.reader([line for _, line in lines]))
    except csv.Error:
        rows = []
    if len(rows) == len(lines):
        return rows
    for number, line in lines:  # which of them is it?
        try:
            found = list(csv.reader([line, ""]))  # an open quote would take the next line
        except csv.Error as error:
            raise SourceError(f"{title}:{number}: not a row of CSV: {error}; correct the row") from None
        if len(found) != 2:
            raise SourceError(f"{title}:{number}: a quoted cell goes on in the next line; write a row in each line")
    raise SourceError(f"{title}:{lines[0][0]}: not rows of CSV; write a row in each line")


def _places(header: Sequence[str], where: str) -> list[int]:
    names = [name.strip() for name in header]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        if len(names) == 1 and (other := next((mark for mark in ";\t|" if mark in names[0]), None)):
            raise SourceError(f"{where}: the cells are separated by {other!r}; write the file with commas")
        found = ", ".join(names)[:200]
        raise SourceError(f"{where}: the column {missing[0]!r} is missing; the header has {found}")
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise SourceError(f"{where}: there are {names.count(twice[0])} columns {twice[0]!r}; leave one")
    return [names.index(name) for name in COLUMNS]


def _parsed(
    cells: dict[str, tuple[str, ...]], codes: dict[str, dict[str, int]], where: Callable[[int], str]
) -> dict[str, np.ndarray]:
    """The columns of some rows as arrays; `where` names a row by its index."""

    def converted(name: str, convert: Callable[[Any], np.ndarray], wanted: str) -> np.ndarray:
        """A whole column at once; if that fails, cell by cell, to name the first bad one."""
        try:
            return convert(cells[name])
        except (ValueError, KeyError, OverflowError):
            for at, cell in enumerate(cells[name]):
                try:
                    convert((cell,))
                except (ValueError, KeyError, OverflowError):
                    raise SourceError(f"{where(at)}: {name!r} is {cell[:40]!r}, expected {wanted}") from None
            raise

    found = {"user": converted("User", _whole, "a whole number"), "card": converted("Card", _whole, "a whole number")}
    year = converted("Year", lambda some: _within(_whole(some), 1900, 2200), "a year")
    month = converted("Month", lambda some: _within(_whole(some), 1, 12), "1 to 12")
    day = converted("Day", lambda some: _within(_whole(some), 1, 31), "1 to 31")
    found["minute"] = _minutes(year, month, day, converted("Time", _clock, "HH:MM"), where)
    found["cents"] = converted("Amount", _cents, "an amount such as $12.34")
    for field, name in TEXT_FIELDS.items():
        table = codes[field]
        found[field] = np.array([table.setdefault(cell, len(table)) for cell in cells[name]], dtype=np.int32)
    found["zip"] = converted("Zip", _zips, "a zip code, or nothing")
    found["mcc"] = converted("MCC", _whole, "a whole number")
    found["fraud"] = converted(
        "Is Fraud?", lambda some: np.array([_FRAUD[cell.strip()] for cell in some]), "'Yes' or 'No'"
    )
    return found


def _whole(cells: Sequence[str]) -> np.ndarray:
    values = np.array(list(map(int, _plain(cells))), dtype=np.int64)
    return _within(values, 0, _MOST_CENTS).astype(np.int32)


def _plain(cells: Sequence[str]) -> Sequence[str]:
    """The cells, without underscores: Python reads `1_000` as a number."""
    if any("_" in cell for cell in cells):
        raise ValueError("not a number")
    return cells


def _within(values: np.ndarray, low: int, high: int) -> np.ndarray:
    if ((values < low) | (values > high)).any():
        raise ValueError("out of range")
    return values


def _clock(cells: Sequence[str]) -> np.ndarray:
    return np.array([_CLOCK[cell.strip()] for cell in cells], dtype=np.int64)


_CLOCK = {f"{minute // 60:02d}:{minute % 60:02d}": minute for minute in range(24 * 60)}


def _cents(cells: Sequence[str]) -> np.ndarray:
    if any("," in cell and _GROUPED.fullmatch(cell) is None for cell in cells):
        raise ValueError("not an amount")
    amounts = np.array([float(cell.replace("$", "").replace(",", "")) for cell in _plain(cells)])
    cents = np.rint(100 * amounts)
    if not (np.abs(cents) <= _MOST_CENTS).all():  # also NaN
        raise ValueError("out of range")
    return cents.astype(np.int32)


def _zips(cells: Sequence[str]) -> np.ndarray:
    values = np.array([float(cell or NO_ZIP) for cell in _plain(cells)])
    if not ((values == np.rint(values)) & (values >= NO_ZIP) & (values <= _MOST_ZIP)).all():  # also NaN
        raise ValueError("not a zip code")
    return values.astype(np.int32)


def _minutes(
    year: np.ndarray, month: np.ndarray, day: np.ndarray, clock: np.ndarray, where: Callable[[int], str]
) -> np.ndarray:
    months = (12 * (year.astype(np.int64) - 1970) + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1).astype("timedelta64[D]")
    wrong = days.astype("datetime64[M]") != months
    if wrong.any():
        at = int(wrong.argmax())
        raise SourceError(f"{where(at)}: there is no day {year[at]}-{month[at]}-{day[at]}; correct the date")
    return (24 * 60 * days.astype(np.int64) + clock).astype(np.int32)


def write_rows(rows: CardRows, path: str | Path) -> Path:
    """Writes a CSV file of IBM's format, whole or not at all."""
    return write_atomically(path, _written(rows))


def _written(rows: CardRows) -> Iterator[bytes]:
    yield (",".join(COLUMNS) + "\n").encode()
    for start in range(0, len(rows), _WRITTEN_AT_ONCE):
        some = rows[start : start + _WRITTEN_AT_ONCE]
        days = (some.minute // (24 * 60)).astype("datetime64[D]")
        clock = list(_CLOCK)
        dates = [day.split("-") for day in days.astype(str).tolist()]
        texts = {name: [rows.names[name][code] for code in getattr(some, name).tolist()] for name in TEXT_FIELDS}
        size = np.abs(some.cents)
        amounts = [
            f"${'-' if cents < 0 else ''}{whole}.{part:02d}"
            for cents, whole, part in zip(
                some.cents.tolist(), (size // 100).tolist(), (size % 100).tolist(), strict=True
            )
        ]
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(
            zip(
                some.user.tolist(), some.card.tolist(), [int(d[0]) for d in dates], [int(d[1]) for d in dates],
                [int(d[2]) for d in dates], [clock[at] for at in (some.minute % (24 * 60)).tolist()], amounts,
                texts["chip"], texts["merchant"], texts["city"], texts["state"],
                ["" if code == NO_ZIP else f"{code}.0" for code in some.zip.tolist()], some.mcc.tolist(),
                texts["errors"], ["Yes" if fraud else "No" for fraud in some.fraud.tolist()], strict=True,
            )
        )  # fmt: skip
        yield file.getvalue().encode()


def save_arrays(rows: CardRows, path: Path) -> None:
    """Keeps rows as an `.npz` file, which is read in seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = {f"names_{name}": np.array(some) for name, some in rows.names.items()}
    with path.open("wb") as file:
        np.savez(file, **{name: getattr(rows, name) for name in _ARRAYS}, **texts)  # type: ignore[arg-type]


def load_arrays(path: Path) -> CardRows:
    """The rows of `save_arrays`."""
    with np.load(path, allow_pickle=False) as file:
        names = {name: tuple(file[f"names_{name}"].tolist()) for name in TEXT_FIELDS}
        return CardRows(**{name: file[name] for name in _ARRAYS}, names=names)
