"""Planting slips: a text in which one number is wrong, in the ways in which people get numbers wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from numerate.numerals.slips import OTHER_UNITS

if TYPE_CHECKING:
    import random

    from numerate.numerals.numeral import Numeral

KINDS = (
    "x10", "x0.1", "x1000", "exchanged", "first digit", "dropped", "doubled", "sign", "percent", "separator", "unit",
)  # fmt: skip
_DIGITS = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?|\.\d+")
_SPELLED = {
    "km": "km", "mi": "miles", "m": "m", "ft": "ft", "kg": "kg", "lb": "lb", "cm": "cm", "in": "inches", "mm": "mm",
    "km/h": "km/h", "mph": "mph", "km^2": "km²", "mi^2": "sq mi", "ha": "ha", "acre": "acres", "°C": "°C", "°F": "°F",
}  # fmt: skip


def planted(
    text: str, numeral: Numeral, kind: str, reader: Any, draw: random.Random
) -> tuple[str, Numeral | None] | None:
    """The text with a slip, and the number that a reader finds there (None if it finds none).

    None if the number cannot have this slip, or the slip changes nothing.
    """
    if kind == "unit":
        changed = _other_unit(text, numeral, draw)
    else:
        match = _DIGITS.search(numeral.text)
        written = None if match is None else _slipped(match[0], kind, numeral, draw)
        changed = None
        if match is not None and written is not None:
            new = numeral.text[: match.start()] + written + numeral.text[match.end() :]
            changed = text[: numeral.start] + new + text[numeral.end :]
    if changed is None or changed == text:
        return None
    place = numeral.start
    found = next((each for each in reader.find(changed) if each.start <= place + 1 and place < each.end), None)
    if found is not None and found.value == numeral.value and found.unit == numeral.unit:
        return None
    return changed, found


def _slipped(digits: str, kind: str, numeral: Numeral, draw: random.Random) -> str | None:
    """The written digits with a slip; None if they cannot have it."""
    grouped, (whole, _, decimals) = "," in digits, digits.replace(",", "").partition(".")
    if kind in ("x10", "x0.1", "x1000"):
        return _shifted(whole, decimals, {"x10": 1, "x0.1": -1, "x1000": 3}[kind], grouped)
    if kind == "percent":
        return _shifted(whole, decimals, -2, grouped) if numeral.kind == "percent" else None
    if kind == "separator":
        return digits.replace(",", ".") if re.fullmatch(r"\d{1,3},\d{3}", digits) else None
    if kind == "sign":
        return f"-{digits}" if numeral.kind == "percent" or numeral.unit in ("°C", "°F") else None
    places = list(range(len(whole)))
    if kind == "exchanged":
        places = [at for at in places[:-1] if whole[at] != whole[at + 1] and not (at == 0 and whole[1] == "0")]
    elif kind == "dropped":
        places = [at for at in places if len(whole) > 1 and not (at == 0 and whole[1] == "0")]
    elif kind == "first digit":
        places = [0] if whole and whole[0] != "0" else []
    if not places:
        return None
    at = draw.choice(places)
    if kind == "exchanged":
        whole = whole[:at] + whole[at + 1] + whole[at] + whole[at + 2 :]
    elif kind == "dropped":
        whole = whole[:at] + whole[at + 1 :]
    elif kind == "doubled":
        whole = whole[: at + 1] + whole[at:]
    else:
        whole = draw.choice([digit for digit in "123456789" if digit != whole[0]]) + whole[1:]
    return _joined(whole, decimals, grouped)


def _shifted(whole: str, decimals: str, power: int, grouped: bool) -> str:
    """Digits with the decimal point moved by some places to the right."""
    if power > 0:
        decimals = decimals.ljust(power, "0")
        whole, decimals = whole + decimals[:power], decimals[power:]
    else:
        whole = whole.rjust(1 - power, "0")
        whole, decimals = whole[:power], whole[power:] + decimals
        decimals = decimals.rstrip("0")
    return _joined(whole.lstrip("0") or "0", decimals, grouped)


def _joined(whole: str, decimals: str, grouped: bool) -> str:
    whole = f"{int(whole or '0'):,}" if grouped else whole
    return f"{whole}.{decimals}" if decimals else whole


def _other_unit(text: str, numeral: Numeral, draw: random.Random) -> str | None:
    """The text with a unit of another system behind the number."""
    others = [unit for unit, _, _ in OTHER_UNITS.get(numeral.unit or "", ()) if unit in _SPELLED]
    if not others or numeral.unit_span is None:
        return None
    start, end = numeral.unit_span
    return text[:start] + _SPELLED[draw.choice(others)] + text[end:]


def exchanged_at(right: str, wrong: str) -> str | None:
    """Which digits before the point were exchanged: `first`, `middle` or `last` two of several, or `only` two."""
    one, other = (re.sub(r"\D", "", text.partition(".")[0]) for text in (right, wrong))
    places = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) != len(other) or len(places) != 2:
        return None
    if len(one) == 2:
        return "only"
    return "first" if places[0] == 0 else "last" if places[1] == len(one) - 1 else "middle"
