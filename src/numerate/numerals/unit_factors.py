"""Conversion of common units without other packages: dimension and size of a unit in its normal spelling.

`Numeral.to` converts with pint, which knows every unit and needs 100 ms to be imported. Checks of millions of numbers
need only the usual ones, fast: a unit is a factor to the SI unit and the powers of its base dimensions. A test
compares all factors with pint's.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from numerate.numerals.unit_tables import CURRENCIES, PREFIXED

__all__ = ["DIMENSION_NAMES", "Measure", "converted", "dimension_name", "measure_of", "system_of"]

Powers = tuple[tuple[str, int], ...]
"""Base dimensions and their powers, sorted: `(("length", 1), ("time", -1))`."""


class Measure(NamedTuple):
    """What a unit measures.

    Attributes:
        factors: Its sizes in SI units; several for units of several sizes, as the US and the imperial gallon.
        powers: Base dimensions with their powers.
        zero: What its zero is in kelvin, for °C and °F.
    """

    factors: tuple[float, ...]
    powers: Powers
    zero: float = 0.0


_PREFIXES = {
    "a": -18, "f": -15, "p": -12, "n": -9, "µ": -6, "m": -3, "c": -2, "d": -1, "": 0, "h": 2, "k": 3, "M": 6, "G": 9,
    "T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24,
}  # fmt: skip

_L, _M, _T = (("length", 1),), (("mass", 1),), (("time", 1),)
_AREA, _VOLUME = (("length", 2),), (("length", 3),)
_SPEED = (("length", 1), ("time", -1))
_FORCE = (("length", 1), ("mass", 1), ("time", -2))
_PRESSURE = (("length", -1), ("mass", 1), ("time", -2))
_ENERGY = (("length", 2), ("mass", 1), ("time", -2))
_POWER = (("length", 2), ("mass", 1), ("time", -3))
_VOLT = (("current", -1), ("length", 2), ("mass", 1), ("time", -3))
_OHM = (("current", -2), ("length", 2), ("mass", 1), ("time", -3))
_KELVIN, _AMPERE, _MOLE = (("temperature", 1),), (("current", 1),), (("amount", 1),)
_DATA, _RATE, _ANGLE = (("data", 1),), (("time", -1),), (("angle", 1),)

_YEAR = 31557600.0
_UNITS: dict[str, tuple[float | tuple[float, ...], Powers]] = {
    "m": (1.0, _L), "in": (0.0254, _L), "ft": (0.3048, _L), "yd": (0.9144, _L), "mi": (1609.344, _L),
    "nmi": (1852.0, _L), "fathom": (1.8288, _L), "furlong": (201.168, _L), "Å": (1e-10, _L),
    "au": (149597870700.0, _L), "ly": (9.4607304725808e15, _L), "pc": (3.0856775814913673e16, _L),
    "acre": (4046.8564224, _AREA), "ha": (1e4, _AREA),
    "L": (1e-3, _VOLUME), "gal": ((0.003785411784, 0.00454609), _VOLUME), "imp gal": (0.00454609, _VOLUME),
    "pt": ((0.000473176473, 0.00056826125), _VOLUME), "imp pt": (0.00056826125, _VOLUME),
    "qt": ((0.000946352946, 0.0011365225), _VOLUME), "fl oz": ((2.95735295625e-5, 2.84130625e-5), _VOLUME),
    "cup": (0.0002365882365, _VOLUME), "tbsp": (1.478676478125e-5, _VOLUME), "tsp": (4.92892159375e-6, _VOLUME),
    "bbl": (0.158987294928, _VOLUME), "bu": ((0.03523907016688, 0.03636872), _VOLUME),
    "g": (1e-3, _M), "t": (1e3, _M), "lb": (0.45359237, _M), "stone": (6.35029318, _M),
    "oz": ((0.028349523125, 0.0311034768), _M), "ozt": (0.0311034768, _M), "cwt": ((45.359237, 50.80234544), _M),
    "ton": ((907.18474, 1016.0469088, 1000.0), _M), "long ton": (1016.0469088, _M), "grain": (6.479891e-5, _M),
    "carat": (2e-4, _M), "Da": (1.66053906660e-27, _M),
    "s": (1.0, _T), "min": (60.0, _T), "h": (3600.0, _T), "d": (86400.0, _T), "week": (604800.0, _T),
    "fortnight": (1209600.0, _T), "month": (_YEAR / 12, _T), "year": (_YEAR, _T), "decade": (10 * _YEAR, _T),
    "century": (100 * _YEAR, _T), "millennium": (1000 * _YEAR, _T), "kyr": (1e3 * _YEAR, _T),
    "Myr": (1e6 * _YEAR, _T), "Gyr": (1e9 * _YEAR, _T),
    "mph": (0.44704, _SPEED), "kn": (1852 / 3600, _SPEED),
    "N": (1.0, _FORCE), "lbf": (4.4482216152605, _FORCE), "kgf": (9.80665, _FORCE), "dyn": (1e-5, _FORCE),
    "Pa": (1.0, _PRESSURE), "bar": (1e5, _PRESSURE), "psi": (6894.757293168361, _PRESSURE),
    "ksi": (6894757.293168361, _PRESSURE), "atm": (101325.0, _PRESSURE), "Torr": (101325 / 760, _PRESSURE),
    "mmHg": (133.322387415, _PRESSURE), "cmHg": (1333.22387415, _PRESSURE), "inHg": (3386.388640341, _PRESSURE),
    "J": (1.0, _ENERGY), "cal": ((4.184, 4184.0), _ENERGY), "Wh": (3600.0, _ENERGY), "BTU": (1055.05585262, _ENERGY),
    "eV": (1.602176634e-19, _ENERGY), "erg": (1e-7, _ENERGY), "therm": (105505585.262, _ENERGY),
    "W": (1.0, _POWER), "hp": ((745.6998715822702, 735.49875), _POWER), "Wp": (1.0, _POWER),
    "K": (1.0, _KELVIN), "A": (1.0, _AMPERE), "V": (1.0, _VOLT), "Ω": (1.0, _OHM), "mol": (1.0, _MOLE),
    "Ah": (3600.0, (("current", 1), ("time", 1))),
    "bit": (1.0, _DATA), "B": (8.0, _DATA), "KiB": (8.0 * 2**10, _DATA), "MiB": (8.0 * 2**20, _DATA),
    "GiB": (8.0 * 2**30, _DATA), "TiB": (8.0 * 2**40, _DATA),
    "Hz": (1.0, _RATE), "rpm": (1 / 60, _RATE), "bpm": (1 / 60, _RATE), "fps": (1.0, _RATE),
    "°": (0.017453292519943295, _ANGLE), "rad": (1.0, _ANGLE), "arcmin": (0.0002908882086657216, _ANGLE),
    "arcsec": (4.84813681109536e-06, _ANGLE),
}  # fmt: skip
"""Normal spelling -> size in SI units (kg, not g) and dimension; several sizes where usage differs."""

DIMENSION_NAMES = {
    _L: "length", _AREA: "area", _VOLUME: "volume", _M: "mass", _T: "time", _SPEED: "speed", _FORCE: "force",
    _PRESSURE: "pressure", _ENERGY: "energy", _POWER: "power", _KELVIN: "temperature", _VOLT: "voltage",
    _AMPERE: "current", _DATA: "data", _RATE: "frequency", _ANGLE: "angle",
}  # fmt: skip
"""Powers -> the quantity's name."""

_IMPERIAL = frozenset((
    "in", "ft", "yd", "mi", "acre", "gal", "pt", "qt", "cup", "tbsp", "tsp", "bu", "lb", "stone", "oz", "cwt", "ton",
    "mph", "lbf", "psi", "ksi", "inHg", "BTU", "therm", "hp", "°F", "imp gal", "imp pt", "fl oz", "long ton", "fathom",
    "furlong", "bbl", "nmi", "kn",
))  # fmt: skip
_FACTOR = re.compile(r"([*/]?)([^*/^]+)(?:\^(-?\d))?")


@lru_cache(maxsize=4096)
def measure_of(unit: str) -> Measure | None:
    """Size and dimension of a unit in its normal spelling; None if it is money or not known.

    Example:
        >>> measure_of("km/h").powers
        (('length', 1), ('time', -1))
        >>> measure_of("gal").factors
        (0.003785411784, 0.00454609)
        >>> measure_of("USD") is None
        True
    """
    if unit in CURRENCIES:
        return None
    if unit in ("°C", "°F"):
        return Measure((1.0 if unit == "°C" else 5 / 9,), _KELVIN, 273.15 if unit == "°C" else 459.67 * 5 / 9)
    simple = _simple(unit)
    if simple is not None:
        return simple
    factors, powers, end = (1.0,), {}, 0
    for match in _FACTOR.finditer(unit):
        if match.start() != end:
            return None
        end = match.end()
        part = _simple(match[2].strip("()"))
        if match[2] == "1" and not match[1]:
            continue
        if part is None:
            return None
        power = int(match[3] or 1) * (-1 if match[1] == "/" else 1)
        factors = tuple(whole * each**power for whole in factors for each in part.factors)
        for name, exponent in part.powers:
            powers[name] = powers.get(name, 0) + exponent * power
    if end != len(unit):
        return None
    return Measure(factors, tuple(sorted((name, power) for name, power in powers.items() if power)))


def converted(value: float, unit: str, target: str, *, difference: bool = False) -> tuple[float, ...]:
    """The value in another unit, once for each size that the units may have; empty if they cannot be compared.

    Args:
        value: The value.
        unit: Its unit.
        target: The other unit.
        difference: The value is a difference: 5 °C are 9 °F, not 41 °F.

    Example:
        >>> [round(each, 2) for each in converted(28, "km", "mi")], converted(3, "kg", "mi")
        ([17.4], ())
        >>> [round(each, 2) for each in converted(100, "°C", "°F")]
        [212.0]
    """
    one, other = measure_of(unit), measure_of(target)
    if one is None or other is None or one.powers != other.powers:
        return ()
    shift = 0.0 if difference else one.zero
    back = 0.0 if difference else other.zero
    return tuple((value * size + shift - back) / to for size in one.factors for to in other.factors)


def dimension_name(unit: str) -> str | None:
    """The name of what a unit measures, such as `length`; None if it has none.

    Example:
        >>> dimension_name("km^2"), dimension_name("mg/L")
        ('area', None)
    """
    measure = measure_of(unit)
    return DIMENSION_NAMES.get(measure.powers) if measure is not None else None


def system_of(unit: str) -> str:
    """`imperial` or `metric`; a unit that belongs to both, such as a second, is `metric`.

    Example:
        >>> system_of("ft/s"), system_of("km/h")
        ('imperial', 'metric')
    """
    return "imperial" if any(part in _IMPERIAL for part in re.split(r"[*/]|\^\d", unit)) else "metric"


def _simple(unit: str) -> Measure | None:
    found, scale = _UNITS.get(unit), 1.0
    if found is None and unit in PREFIXED:
        prefix, base = PREFIXED[unit]
        found, scale = _UNITS.get(base), 10.0 ** _PREFIXES[prefix]
    if found is None:
        return None
    sizes = found[0] if isinstance(found[0], tuple) else (found[0],)
    return Measure(tuple(size * scale for size in sizes), found[1])
