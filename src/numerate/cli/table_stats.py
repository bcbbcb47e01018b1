"""`numerate stats --tables`: the statistics of tables and their texts, as in LUNA's Appendix B."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numerate.cli.source import checked_reader
from numerate.cli.tally import share
from numerate.training.sources import tables_of
from numerate.training.text_files import title_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.numerals.numeral import Numeral
    from numerate.reading.base import Reader
    from numerate.training.tables import Table

__all__ = ["TableStats", "stats_of_tables"]


@dataclass
class _Numbers:
    """Counts of numbers by their written form."""

    count: int = 0
    negative: int = 0
    whole: int = 0
    percent: int = 0
    grouped: int = 0

    def add(self, numerals: Iterable[Numeral]) -> None:
        for numeral in numerals:
            self.count += 1
            self.negative += math.copysign(1.0, numeral.value) < 0
            self.whole += numeral.decimals == 0
            self.percent += "%" in numeral.text
            self.grouped += "," in numeral.text


@dataclass
class TableStats:
    """Counts of tables, rows, columns, cells and numbers, in constant memory.

    A header counts as a row, since TAT-QA does not tell it apart. A share of tables, rows, columns or cells is that of
    those with at least one number. Captions, paragraphs, questions and statements are `texts`.

    Example:
        >>> from numerate.reading.luna import LunaReader
        >>> from numerate.training.tables import Table
        >>> stats = TableStats(LunaReader())
        >>> stats.add(Table("", "", ("year", "team"), (("1999", "Ajax"), ("2000", ""))))
        >>> [stats.result()[key] for key in ("tables", "rows", "columns", "cells", "numbers")]
        [1, 3, 2, 5, 2]
    """

    reader: Reader
    tables: int = 0
    rows: int = 0
    columns: int = 0
    cells: int = 0
    tables_with: int = 0
    rows_with: int = 0
    columns_with: int = 0
    cells_with: int = 0
    cells_with_several: int = 0
    texts: int = 0
    words: int = 0
    text_numbers: int = 0
    numbers: _Numbers = field(default_factory=_Numbers)

    def add(self, table: Table) -> None:
        """Counts one table and its texts."""
        counts = []
        for row in [*([table.header] if table.header else []), *table.rows]:
            found = [self.reader.find(cell) for cell in row]
            counts.append([len(each) for each in found])
            for each in found:
                self.numbers.add(each)
            self.cells += sum(bool(cell.strip()) for cell in row)
        width = max(map(len, counts))
        flat = [count for row in counts for count in row]
        self.tables += 1
        self.rows += len(counts)
        self.columns += width
        self.tables_with += any(flat)
        self.rows_with += sum(map(any, counts))
        self.columns_with += sum(any(row[place] for row in counts if place < len(row)) for place in range(width))
        self.cells_with += sum(count > 0 for count in flat)
        self.cells_with_several += sum(count > 1 for count in flat)
        for text in (table.caption, *table.texts):
            if text.strip():
                self.texts += 1
                self.words += len(text.split())
                self.text_numbers += len(self.reader.find(text))

    def result(self) -> dict[str, Any]:
        """All figures; shares lie between 0 and 1 and are None where nothing was counted."""
        numbers = self.numbers
        return {
            "tables": self.tables, "rows": self.rows, "columns": self.columns, "cells": self.cells,
            "rows_per_table": share(self.rows, self.tables), "columns_per_table": share(self.columns, self.tables),
            "cells_per_table": share(self.cells, self.tables),
            "share_tables": share(self.tables_with, self.tables), "share_rows": share(self.rows_with, self.rows),
            "share_columns": share(self.columns_with, self.columns), "share_cells": share(self.cells_with, self.cells),
            "share_cells_with_several": share(self.cells_with_several, self.cells),
            "numbers": numbers.count, "share_negative": share(numbers.negative, numbers.count),
            "share_integers": share(numbers.whole, numbers.count),
            "share_percent": share(numbers.percent, numbers.count),
            "share_comma": share(numbers.grouped, numbers.count),
            "texts": self.texts, "words": self.words, "words_per_text": share(self.words, self.texts),
            "numbers_in_texts": self.text_numbers, "approximate": [],
        }  # fmt: skip


def stats_of_tables(path: str, reader: str = "luna") -> dict[str, Any]:
    """The statistics of the tables of one JSON file, see `numerate.training.tables`."""
    stats = TableStats(checked_reader(reader, {}))
    for table in tables_of(path):
        stats.add(table)
    return {"file": title_of(path), "reader": reader, **stats.result()}
