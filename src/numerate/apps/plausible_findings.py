"""What is reported of a number that a model finds implausible: its place, its message, and what was probably meant."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from numerate.apps.findings import Finding
from numerate.modeling.plausibility import UNIT
from numerate.numerals.slips import SLIPS
from numerate.numerals.style import render

if TYPE_CHECKING:
    from numerate.apps.documents import Document
    from numerate.apps.plausible import Judgement
    from numerate.apps.shown_texts import Unit
    from numerate.numerals.numeral import Numeral

__all__ = ["finding_of"]

RULE, SLIP_RULE = "implausible", "plausible-slip"
_FACTORS = {2: SLIPS["hundred"], 3: SLIPS["thousands"], 6: "a factor of a million", 9: "a factor of a billion"}
"""What a slip by a power of ten is called, where it is not ten itself."""
_LARGE, _HUGE = 1e4, 1e6
"""From where numbers are grouped and rounded to three digits, and from where they keep an exponent."""


def finding_of(each: Judgement, unit: Unit, document: Document) -> Finding | None:
    """What is reported of a number; None for one that is not inside of a cell."""
    numeral = each.numeral
    place: dict[str, Any]
    if unit.cells is not None and unit.row is not None:
        cell = unit.cells.cell_at(numeral.start, numeral.end)
        if cell is None:  # in the caption or a header
            return None
        column, start, end = cell
        key = document.header[column] if column < len(document.header) else None
        place = {"cell": (unit.row, column), "span": (start, end), "key": key}
        after = document.rows[unit.row - document.first_row][column][end:]
    else:
        place = {"span": (unit.start + numeral.start, unit.start + numeral.end)}
        after = unit.text[numeral.end :]
    low, high = each.interval
    # A correction that the model itself finds unusual is none, nor one to next to nothing.
    least = 0.0 if abs(numeral.written) < UNIT else UNIT
    usual = [
        (reading, ratio)
        for reading, ratio in each.slips
        if reading.unit is not None or (low <= reading.written <= high and abs(reading.written) >= least)
    ]
    best = usual[0] if usual else None
    meant = None if best is None else best[0].text(numeral)
    if low <= numeral.written <= high and not math.isnan(each.median):  # it is not its size alone that is unusual
        usually = f"about {_shown(numeral, each.median)} is expected"
    else:
        usually = f"{_shown(numeral, low)} to {_shown(numeral, high)} would be usual"
    if best is None:
        said = f"{numeral.text} is unusual here: {usually}."
    else:
        slip = _FACTORS.get(abs(best[0].power), SLIPS["factor"]) if best[0].slip == "factor" else SLIPS[best[0].slip]
        said = f"{numeral.text} looks like {slip}: {meant} fits better, and {usually}."
    evidence = {
        "p": each.p, "tail": each.tail, "bits": round(each.bits, 2), "slip_bits": round(each.slip, 2),
        **({} if math.isnan(each.odds) else {"odds_bits": round(each.odds, 2)}),
        "median": each.median, "interval_90": list(each.interval),
        "slips": [
            {"slip": reading.slip, "meant": reading.text(numeral), "ratio": ratio} for reading, ratio in usual
        ],
    }  # fmt: skip
    if each.density is not None:
        evidence |= {"density": dict(each.density), "value": float(numeral.written)}
    if best is not None and best[0].unit is None:
        evidence["expected"] = float(best[0].written)
    rule, written = RULE if best is None else SLIP_RULE, numeral.text
    if best is not None and best[0].unit is not None:
        # The correction has a unit, so that what it replaces has one, too; in a table it may stand in the header alone.
        size = max(numeral.unit_span[1] - numeral.end, 0) if numeral.unit_span is not None else 0
        written += after[:size]
        place["span"] = (place["span"][0], place["span"][1] + size)
    return Finding(
        rule=rule, message=said, written=written, meant=meant, probability=each.probability, evidence=evidence,
        **place,
    )  # fmt: skip


def _shown(numeral: Numeral, value: float) -> str:
    """What would be usual, in the style of the number; what is next to 0 is 0."""
    style = _short(numeral, value)
    is_nothing = abs(value) < UNIT or (style.family == "decimal" and round(value, style.decimals) == 0)  # no -0.0
    value = value if numeral.kind == "year" or abs(value) < _LARGE else float(f"{value:.3g}")
    return render(style, 0.0 if is_nothing else value * 10.0**numeral.power)


def _short(numeral: Numeral, value: float) -> Any:
    """The style of a number without digits that an estimate does not have; long numbers are grouped."""
    style = numeral.style
    if style.family != "decimal":
        return style
    exponent, decimals, group = style.exponent, min(style.decimals, 3), style.group
    if exponent is not None and UNIT <= abs(value) < _HUGE:
        exponent, decimals = None, 2 if abs(value) < 10 else 1  # 51.8, and not 51.8 x 10^0
    elif exponent is not None:
        exponent = dataclasses.replace(exponent, lead=0)
    if exponent is None and abs(value) >= 100:
        decimals = 0
    if abs(value) < 10 and decimals == 0 and numeral.kind not in ("year", "ordinal"):
        decimals = 1 if value != round(value) else 0
    if not group and exponent is None and abs(value) >= _LARGE and numeral.kind != "year":
        group = "," if style.point == "." else "."
    return dataclasses.replace(style, decimals=decimals, exponent=exponent, group=group, anchor=None)
