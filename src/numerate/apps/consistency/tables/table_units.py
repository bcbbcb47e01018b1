"""Two columns with one quantity in two units: `Area (km²)` and `Area (sq mi)`, `temp °C` and `temp °F`."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_style import like_cell
from numerate.numerals.unit_factors import converted, dimension_name
from numerate.reading import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["unit_findings", "unit_of_name"]

LEAST_RIGHT = 2
MOST_ROWS = 5_000
_BRACKET = regex(r"^(?P<name>.*?)[ _]?[(\[](?:in )?(?P<unit>[^()\[\]]{1,16})[)\]]\s*$")
_IN = regex(r"^(?P<name>.*?)(?:,| in|[ _/]) ?(?P<unit>[^ ,_]{1,12}|(?:sq|square|cubic)\.? [a-z]{1,10})$", re.IGNORECASE)
_CELSIUS = {"c": "°C", "f": "°F", "celsius": "°C", "fahrenheit": "°F"}


@lru_cache(maxsize=4096)
def unit_of_name(header: str) -> tuple[str, str] | None:
    """The name of a column without its unit, and the unit; None if it has none.

    Example:
        >>> unit_of_name("Area (sq mi)"), unit_of_name("km"), unit_of_name("Name")
        (('area', 'mi^2'), ('', 'km'), None)
    """
    tries = [match for pattern in (_BRACKET, _IN) if (match := pattern.match(header.strip()))]
    pairs = [(match["name"], match["unit"]) for match in tries] + [("", header.strip())]
    for name, unit in pairs:
        if name and unit.strip().lower() in _CELSIUS and re.search(r"temp|deg|°", name, re.IGNORECASE):
            return name.strip().lower(), _CELSIUS[unit.strip().lower()]
        if len(unit) > 24 or not unit.strip():
            continue
        read = find(f"1 {unit.strip()}")
        if (
            len(read) == 1
            and read[0].unit is not None
            and read[0].unit_span is not None
            and read[0].unit_span[1] == 2 + len(unit.strip())
        ):
            return name.strip().lower(), read[0].unit
    return None


def unit_findings(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows in which the two columns do not agree, where all others do."""
    if document.first_row or not document.is_last or not LEAST_RIGHT < len(document.rows) <= MOST_ROWS:
        return
    named = [(column, found) for column in table.numeric if (found := unit_of_name(table.header[column])) is not None]
    for (a, (name, unit)), (b, (other, target)) in itertools.permutations(named, 2):
        if (
            a > b
            or name != other
            or unit == target
            or dimension_name(unit) is None
            or dimension_name(unit) != dimension_name(target)
        ):
            continue
        right = 0
        wrong: list[tuple[int, float]] = []
        for row in range(len(document.rows)):
            value, said = float(table.values[row, a]), float(table.values[row, b])
            reals = converted(value, unit, target) if value == value and said == said else ()
            if not reals or not value:
                continue
            step = (
                abs(converted(1.0, unit, target, difference=True)[0])
                if dimension_name(unit) == "temperature"
                else abs(reals[0] / value)
            )
            slack = 1.05 * table.steps[row, b] + 0.55 * table.steps[row, a] * step + 0.004 * abs(reals[0])
            if min(abs(each - said) for each in reals) <= slack:
                right += 1
            else:
                wrong.append((row, reals[0]))
        if len(wrong) == 1 and right >= LEAST_RIGHT:
            row, real = wrong[0]
            written = document.rows[row][b].strip()
            meant = like_cell(document.rows, row, b, real)
            message = f"{document.rows[row][a].strip()} {unit} are {meant} {target}, not {written}."
            evidence = {"kind": "units", "expected": real, "share": 1.0}
            yield finding_in_cell("relation", document, row, b, message, meant=meant, probability=0.93, **evidence)
