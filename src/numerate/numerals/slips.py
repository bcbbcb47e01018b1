"""Slips of a writer's hand: what a number may have been before somebody mistyped it.

The usual slips are undone: a factor of ten, exchanged, dropped, doubled or mistyped digits, a lost sign, a percentage
that is a fraction, a thousands separator that is a decimal mark, and a unit of another system. `slip_readings` gives
all readings of a number in a text with their shares, which a model's densities are weighed by; `slips_of` the
corrections of a table's cell, of which the best one is named. Whether one of them is more probable than what stands
there is the business of a model or of the column's distribution.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.numerals.style import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.numerals.numeral import Numeral

__all__ = ["OTHER_UNITS", "SLIPS", "Slip", "SlipReading", "slip_chance", "slip_readings", "slips_of"]

SLIPS = {
    "factor": "a factor of ten",
    "hundred": "a factor of a hundred",
    "thousands": "a factor of a thousand",
    "separator": "a thousands separator read as a decimal mark, or the other way round",
    "percent": "a percentage written as a fraction, or the other way round",
    "exchanged": "two digits exchanged",
    "dropped": "a digit left out",
    "doubled": "a digit typed twice",
    "added": "a digit too many",
    "digit": "a wrong digit",
    "sign": "a wrong sign",
    "unit": "a wrong unit",
}
"""Names of the slips and what they mean."""

_POWERS = {1: 0.3, -1: 0.3, 3: 0.1, -3: 0.1, 2: 0.06, -2: 0.06, 6: 0.03, -6: 0.03, 9: 0.01, -9: 0.01}
"""Powers of ten that a number may be off by, and their share of such slips."""
_WEIGHTS = {
    "factor": 0.3, "separator": 0.05, "percent": 0.05, "exchanged": 0.15, "dropped": 0.12, "doubled": 0.08,
    "digit": 0.17, "sign": 0.04, "unit": 0.04,
}  # fmt: skip
"""Share of each slip. Rough guesses: they only decide between readings that are about equally probable."""
_PRIORS = {
    "factor": 1.0, "hundred": 0.5, "thousands": 0.5, "percent": 0.5, "exchanged": 0.5, "doubled": 0.7, "dropped": 0.2,
    "sign": 0.5,
}  # fmt: skip
"""How common the slips of a cell are; unlike shares, these are of single corrections, of which only the best counts."""
_CELL_POWERS = {
    1: "factor", -1: "factor", 2: "hundred", -2: "hundred", 3: "thousands", -3: "thousands",
}  # fmt: skip
OTHER_UNITS: dict[str, tuple[tuple[str, float, float], ...]] = {
    "m": (("ft", 0.3048, 0), ("cm", 0.01, 0), ("km", 1000.0, 0)),
    "ft": (("m", 3.28084, 0), ("in", 1 / 12, 0)),
    "km": (("mi", 1.609344, 0), ("m", 0.001, 0)),
    "mi": (("km", 0.621371, 0),),
    "cm": (("in", 2.54, 0), ("mm", 0.1, 0), ("m", 100.0, 0)),
    "mm": (("cm", 10.0, 0), ("in", 25.4, 0)),
    "in": (("cm", 0.393701, 0), ("ft", 12.0, 0)),
    "kg": (("lb", 0.453592, 0), ("g", 0.001, 0), ("t", 1000.0, 0)),
    "lb": (("kg", 2.20462, 0),),
    "g": (("kg", 1000.0, 0), ("oz", 28.3495, 0)),
    "t": (("kg", 0.001, 0),),
    "km/h": (("mph", 1.609344, 0),),
    "mph": (("km/h", 0.621371, 0),),
    "km^2": (("mi^2", 2.58999, 0), ("ha", 0.01, 0)),
    "mi^2": (("km^2", 0.386102, 0), ("acre", 0.0015625, 0)),
    "ha": (("acre", 0.404686, 0), ("km^2", 100.0, 0)),
    "acre": (("ha", 2.47105, 0),),
    "L": (("gal", 3.78541, 0), ("mL", 0.001, 0)),
    "°C": (("°F", 5 / 9, -160 / 9),),
    "°F": (("°C", 1.8, 32.0),),
    "MW": (("kW", 0.001, 0), ("GW", 1000.0, 0)),
    "kW": (("MW", 1000.0, 0),),
    "MB": (("GB", 1000.0, 0), ("kB", 0.001, 0)),
    "GB": (("MB", 0.001, 0), ("TB", 1000.0, 0)),
    "h": (("min", 1 / 60, 0), ("d", 24.0, 0)),
    "min": (("s", 1 / 60, 0), ("h", 60.0, 0)),
    "s": (("min", 60.0, 0), ("ms", 0.001, 0)),
}
"""Units that are taken for each other, with factor and offset: 5 mi are 1.609 · 5 + 0 km."""
_DIGITS = re.compile(r"[0-9]+(?:[,'\u00a0\u202f ][0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+")
_COMMA = re.compile(r"([0-9]+(?:[. '\u00a0\u202f][0-9]{3})*),([0-9]+)(?![0-9,])")
_SEPARATED = re.compile(r"\d{1,3}[.,]\d{3}")
_MOST_DIGITS = 12
_MOST_CELL_DIGITS = 14
_LEADING = 3
"""Only the first digits are exchanged or mistyped in ways that a distribution can tell."""


class Slip(NamedTuple):
    """A correction of a table's cell.

    Attributes:
        name: A key of `SLIPS`.
        text: The cell as it was probably meant.
        value: Its value.
        prior: How common the slip is, relative to the others.
    """

    name: str
    text: str
    value: float
    prior: float


class SlipReading(NamedTuple):
    """What a number may have been.

    Attributes:
        slip: One of `SLIPS`.
        written: The number that was meant, without scale word or percent sign, as `Numeral.written`.
        share: How usual this slip is among all readings of the number; they do not add up to 1.
        power: For a factor, the power of ten from what was meant to what stands there.
        unit: The unit that was meant; None for the one that stands there.
    """

    slip: str
    written: float
    share: float
    power: int = 0
    unit: str | None = None

    def text(self, numeral: Numeral) -> str:
        """What was meant, in the style of what stands there.

        Example:
            >>> from numerate.numerals.numeral import Numeral
            >>> SlipReading("factor", 123.4, 0.3, power=1).text(Numeral("1,234", 0, 5, 1234.0))
            '123.4'
        """
        if self.unit is not None:
            return f"{numeral.text} {self.unit}"
        style = numeral.style
        if self.power:
            shown = f"{self.written:.{max(0, min(style.decimals + self.power, 12))}f}"
            decimals = len(shown.rstrip("0").partition(".")[2])
            style = dataclasses.replace(style, decimals=decimals, point=style.point or ".")
        return render(dataclasses.replace(style, anchor=None), self.written * 10.0**numeral.power)


def slip_readings(numeral: Numeral) -> list[SlipReading]:
    """What a number may have been before a slip; empty for numbers that are not written in decimal digits.

    Readings that equal what stands there are left out: `11` with its digits exchanged is `11`.

    Example:
        >>> from numerate.numerals.numeral import Numeral
        >>> found = slip_readings(Numeral("45", 0, 2, 45.0, unit="km"))
        >>> [(each.slip, each.written) for each in found if each.slip in ("exchanged", "sign", "factor")][:4]
        [('factor', 4.5), ('factor', 450.0), ('factor', 0.045), ('factor', 45000.0)]
        >>> [each.text(Numeral("45", 0, 2, 45.0)) for each in found if each.slip in ("exchanged", "unit")]
        ['54', '45 mi', '45 m']
    """
    style = numeral.style
    if numeral.special or numeral.overflow or style.family != "decimal" or style.exponent is not None:
        return []
    written = numeral.written
    if written == 0:
        return []
    found = [*_scaled(numeral, written), *_digit_slips(numeral, written)]
    if written < 0 or "+" in numeral.text or numeral.unit in ("°C", "°F") or numeral.kind == "percent":
        found.append(SlipReading("sign", -written, _WEIGHTS["sign"]))
    others = OTHER_UNITS.get(numeral.unit or "", ())
    share = _WEIGHTS["unit"] / max(1, len(others))
    found += [SlipReading("unit", factor * written + more, share, unit=unit) for unit, factor, more in others]
    if numeral.kind == "ordinal":  # nothing is the 0.3rd
        found = [each for each in found if each.written >= 1 and each.written.is_integer()]
    return [each for each in found if each.written != written]


def slip_chance(reading: SlipReading, digits: int) -> float:
    """The chance that a slip of this sort, made in the number that was meant, gives what stands there.

    Unlike `share`, it says nothing of how usual the slip is, and is not divided among the readings.

    Args:
        reading: A reading of a number.
        digits: How many digits stand there.

    Example:
        >>> [slip_chance(SlipReading(slip, 1.0, 0.1), 4) for slip in ("exchanged", "dropped", "sign")]
        [0.333..., 0.2, 1.0]
    """
    pairs = max(digits - 1, 1)
    chances = {"exchanged": 1 / pairs, "dropped": 1 / (digits + 1), "doubled": 1 / pairs, "digit": 1 / (9 * digits)}
    if reading.slip == "factor":
        return _POWERS.get(reading.power, 0.01)
    return chances.get(reading.slip, 0.5 if reading.slip in ("percent", "unit") else 1.0)


def slips_of(written: str, value: float) -> Iterator[Slip]:
    """The cells that one slip turns into the written one; none for a cell without digits, and for 0.

    Args:
        written: A cell that holds one number, perhaps with unit or currency, which the corrections keep.
        value: The cell's value.

    Example:
        >>> sorted({(slip.name, slip.text) for slip in slips_of("1780", 1780.0) if slip.value in (178.0, 1870.0)})
        [('exchanged', '1870'), ('factor', '178')]
        >>> [slip.text for slip in slips_of("-5.2", -5.2) if slip.name == "sign"]
        ['5.2']
        >>> [slip.text for slip in slips_of("(53,780)", -53780.0) if slip.name == "factor"]
        ['(537,800)', '(5,378)']
    """
    match = _DIGITS.search(written)
    if match is None or value == 0:
        return
    if (pointed := _with_point(written, value)) is not None:
        yield from (slip._replace(text=slip.text.replace(".", ",")) for slip in slips_of(pointed, value))
        return
    prefix, suffix = written[: match.start()], written[match.end() :]
    bare = re.sub(r"[,'\u00a0\u202f ]", "", match[0])
    unit = abs(value) / float(bare) if float(bare) else 1.0
    sign = -1.0 if value < 0 else 1.0
    found = [(name, _shifted(bare, power)) for power, name in _CELL_POWERS.items()]
    found += [(name, text) for name, at, text in _edits(bare) if _is_cell_slip(name, at, text, bare)]
    for name, text in found:
        meant = unit * float(text)
        if name == "hundred" and ("%" in written or min(meant, abs(value)) <= 1):
            name = "percent"
        yield Slip(name, f"{prefix}{_grouped(text, match[0])}{suffix}", sign * meant, _PRIORS[name])
    flipped = written.replace("-", "").replace("−", "").strip("()") if value < 0 else f"-{written}"
    yield Slip("sign", flipped, -value, _PRIORS["sign"])


def _grouped(digits: str, like: str) -> str:
    """Digits with the separators of thousands of another number: `5,378` like `53,780`."""
    separator = next((mark for mark in like if mark in ",'\u00a0\u202f "), "")
    whole, point, decimals = digits.partition(".")
    if not separator or len(whole) < 4 or whole.startswith("0"):
        return digits
    return f"{int(whole):,}".replace(",", separator) + point + decimals


def _with_point(written: str, value: float) -> str | None:
    """The cell with a decimal point in place of its decimal comma; None if its value has none.

    Example:
        >>> _with_point("1.234,5 kg", 1234.5), _with_point("1,234", 1234.0)
        ('1234.5 kg', None)
    """
    match = _COMMA.search(written)
    if match is None:
        return None
    pointed = re.sub(r"[. '\u00a0\u202f]", "", match[1]) + "." + match[2]
    if not math.isclose(float(pointed), abs(value), rel_tol=1e-9):
        return None
    return written[: match.start()] + pointed + written[match.end() :]


def _is_cell_slip(name: str, at: int, meant: str, bare: str) -> bool:
    """Whether a digit slip is one of those that cells are searched for: no number begins with a zero."""
    if name == "doubled":
        return len(bare) > 2
    if name == "dropped" and not (bare.isdecimal() and len(bare) <= _MOST_CELL_DIGITS):
        return False
    return name != "digit" and (at > 0 or meant[0] != "0")


def _shifted(digits: str, power: int) -> str:
    """Decimal digits times a power of ten, with all digits kept but zeros at the end."""
    whole, _, fraction = digits.partition(".")
    if power >= 0:
        fraction = fraction.ljust(power, "0")
        whole, fraction = whole + fraction[:power], fraction[power:]
    else:
        whole = whole.rjust(1 - power, "0")
        whole, fraction = whole[:power], whole[power:] + fraction
    # No more zeros at the end than were written: 2500.0 is a hundred times 25.0.
    kept = len(digits.partition(".")[2])
    fraction = fraction[:kept] + fraction[kept:].rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{fraction}" if fraction else whole.lstrip("0") or "0"


def _edits(digits: str) -> Iterator[tuple[str, int, str]]:
    """Digits that one slip of typing turns into the given ones: the slip, where it was made, and what was meant.

    A decimal point among the digits stays where it is. A dropped digit is put back before `at`, also behind the end.
    """
    for at, (digit, following) in enumerate(itertools.pairwise(digits)):
        if digit == following:
            yield "doubled", at + 1, digits[:at] + digits[at + 1 :]
        elif "." not in (digit, following):
            yield "exchanged", at, digits[:at] + following + digit + digits[at + 2 :]
    for at, digit in enumerate(digits):
        if digit != ".":
            yield from (("digit", at, digits[:at] + other + digits[at + 1 :]) for other in "0123456789")
    for at in range(len(digits) + 1):
        yield from (("dropped", at, digits[:at] + other + digits[at:]) for other in "0123456789")


def _scaled(numeral: Numeral, written: float) -> Iterator[SlipReading]:
    taken: set[int] = set()
    if _SEPARATED.fullmatch(numeral.text.strip("-−+")):
        power = 3 if numeral.decimals == 0 else -3
        taken.add(power)
        yield SlipReading("separator", written / 10.0**power, _WEIGHTS["separator"], power)
    if numeral.kind == "percent":
        for power in (-2, 2):
            taken.add(power)
            yield SlipReading("percent", written / 10.0**power, _WEIGHTS["percent"] / 2, power)
    for power, share in _POWERS.items():
        if power not in taken:
            yield SlipReading("factor", written / 10.0**power, _WEIGHTS["factor"] * share, power)


def _digit_slips(numeral: Numeral, written: float) -> Iterator[SlipReading]:
    decimals = numeral.decimals
    whole = round(abs(written) * 10**decimals)
    digits = str(whole).zfill(decimals + 1)
    if len(digits) > _MOST_DIGITS:
        return
    before = len(digits) - decimals
    unit, sign = 10.0**-decimals, -1.0 if written < 0 else 1.0
    first = len(digits) - len(digits.lstrip("0"))
    leading = range(first, first + _LEADING)
    # Only digits before the point: one more or less behind it hardly changes the value.
    places = {"exchanged": leading, "doubled": range(before), "digit": leading, "dropped": range(before + 1)}
    edits: dict[str, set[str]] = {slip: set() for slip in places}
    for slip, at, other in _edits(digits):
        if at in places[slip]:
            edits[slip].add(other)
    for slip, others in edits.items():
        values = {int(other) for other in others} - {whole, 0}
        values = {each for each in values if len(str(each)) == len(str(whole))} if slip == "exchanged" else values
        for value in sorted(values):
            yield SlipReading(slip, sign * value * unit, _WEIGHTS[slip] / len(values))
