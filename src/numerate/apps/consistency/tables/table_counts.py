"""Cells such as `12 (8.0)` below a head such as `Drug (n = 150)`: counts with their percentages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_in_cell, plain, rules
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["CountedShares"]

_CELL = regex(r"(?P<n>\d[\d,]*)(?: ?/ ?(?P<of>\d[\d,]*))? ?[(\[] ?(?P<p>\d{1,3}(?:\.\d+)?) ?%? ?[)\]]")
_HEAD = regex(r"\b[nN] ?= ?(?P<n>\d[\d,]*)")
_SIZES = regex(
    r"(?:n|N|total|no\.? of (?:patients|participants|subjects)|patients|participants|sample size|all)\.?(?: ?\(n\))?",
    re.IGNORECASE,
)
LEAST_RIGHT = 2


@rules.register("counted-shares")
class CountedShares(Rule):
    """A count with its percentage in one cell must fit the number of cases that the head of the column names."""

    title = "count with percentage"
    help = "A cell such as `12 (18.0)` does not fit the number of cases of its column."

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Compares all cells of columns with a number of cases in their head, in a row named n, or in the cells."""
        if document.first_row or not document.is_last or len(document.rows) > 400:
            return
        for column, head in enumerate(document.header):
            cells = [
                (row, match)
                for row, each in enumerate(document.rows)
                if column < len(each) and (match := _CELL.fullmatch(each[column].strip().rstrip("*†‡")))
            ]
            if len(cells) < LEAST_RIGHT + 1:
                continue
            sizes = self._sizes(document, column, head)
            right = 0
            wrong: list[tuple[int, re.Match[str], float]] = []
            for row, match in cells:
                of = float(match["of"].replace(",", "")) if match["of"] else None
                count, said = float(match["n"].replace(",", "")), float(match["p"])
                half = 0.5 * 10.0 ** -len(match["p"].partition(".")[2])
                reals = [100 * count / size for size in ((of,) if of else sizes) if size and count <= size]
                if any(abs(each - said) <= 1.05 * half + 1e-9 for each in reals):
                    right += 1
                elif reals and any(abs(each - said) > 2.1 * half for each in reals):
                    wrong.append((row, match, reals[0]))
            if len(wrong) == 1 and right >= LEAST_RIGHT and right >= 0.6 * (len(cells) - 1):
                row, match, real = wrong[0]
                written = document.rows[row][column].strip()
                digits = len(match["p"].partition(".")[2])
                meant = f"{written[: match.start('p')]}{real:.{digits}f}{written[match.end('p') :]}"
                size = match["of"] or plain(sizes[0])
                message = f"{match['n']} of {size} are {real:.{digits}f} %, not {match['p']} %."
                yield finding_in_cell(
                    "counted-shares", document, row, column, message, meant=meant, probability=0.92, expected=real
                )

    @staticmethod
    def _sizes(document: Document, column: int, head: str) -> list[float]:
        match = _HEAD.search(head)
        if match is not None:
            return [float(match["n"].replace(",", ""))]
        for row in document.rows:
            if (
                row
                and _SIZES.fullmatch(row[0].strip())
                and column < len(row)
                and row[column].strip().replace(",", "").isdecimal()
            ):
                return [float(row[column].strip().replace(",", ""))]
        return []
