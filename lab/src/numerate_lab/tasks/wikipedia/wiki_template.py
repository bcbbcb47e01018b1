"""Text of a unit conversion template in the language of its page: `{{convert|20|ft|adj=on}}` becomes `20-foot`."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from numerate_lab.engine.paper_tables import load_yaml

__all__ = ["DECIMALS", "NAMES", "UNITS", "Conversion", "Wording", "conversion_of"]

_DATA = load_yaml("numerate_lab.tasks.wikipedia", "templates.yaml")
NAMES = tuple(_DATA["names"])
"""Names of the template in several languages, case-insensitive."""
UNITS = ("name", "code")
DECIMALS = ("point", "comma")
_POINT = re.compile(r"[+\-−]?[0-9]++(?>,[0-9]{3})*+(?>\.[0-9]++)?+")
_GROUPED = re.compile(r"[+\-−]?[1-9][0-9]{0,2}([. '\u00a0\u202f])[0-9]{3}(?>\1[0-9]{3})*+(?>,[0-9]++)?+")
_COMMA = re.compile(r"[+\-−]?[0-9]++(?>[.,][0-9]++)?+")
"""A point that does not group thousands is a decimal point, which many templates require in any language."""
_POWER = re.compile(r"e(3|6|9|12)([^\W\d].*)")
_LONGEST = 300
"""Maximum number of characters of a number."""
RANGE = "not one plain number, such as a range or a fraction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """Notation of numbers and units.

    Attributes:
        units: `name` writes English names (kilometres), `code` the code of the template (km).
        decimal: `point` reads 1.200 as 1.2 and 1,200 as 1200; `comma` reads them the other way round.
    """

    units: str = "name"
    decimal: str = "point"

    @classmethod
    def of(cls, language: str, units: str | None = None, decimal: str | None = None) -> Wording:
        """Notation of a language code; an empty code means English.

        Example:
            >>> Wording.of("es"), Wording.of("ja", units="name")
            (Wording(units='code', decimal='comma'), Wording(units='name', decimal='point'))
        """
        base = language.replace("_", "-").partition("-")[0].casefold() or "en"
        usual = "comma" if base in _DATA["comma_languages"] else "point"
        return cls(units=units or ("name" if base == "en" else "code"), decimal=decimal or usual)


@dataclass(frozen=True, slots=True)
class Conversion:
    """Number and unit of a template.

    Attributes:
        written: The number as written in the text; None for anything but one number and a unit, such as a range.
        number: The number with a decimal point and without thousands separators.
        unit: The unit as written in the text.
        joint: Text between number and unit.
        behind: Text after the unit, such as `tall` in `40-foot tall`.
        why: Reason why `written` is None.
    """

    written: str | None
    number: str = ""
    unit: str = ""
    joint: str = " "
    behind: str = ""
    why: str = ""

    @property
    def text(self) -> str:
        """The full text of the conversion."""
        return f"{self.written or ''}{self.joint}{self.unit}{self.behind}"


def conversion_of(parts: list[str], wording: Wording | None = None) -> Conversion:
    """Reads a template from its name and arguments; the wording is English by default.

    Example:
        >>> conversion_of(["convert", "2", "e6USgal"]).text
        '2 million US gallons'
        >>> conversion_of(["convert", "40", "ft", "m", "adj=mid", "tall"]).text
        '40-foot tall'
        >>> conversion_of(["convertir", "1.200", "kg"], Wording.of("es"))
        Conversion(written='1.200', number='1200', unit='kg', joint=' ', behind='', why='')
    """
    wording = wording or Wording()
    named = {key.strip(): value.strip() for key, mark, value in (part.partition("=") for part in parts[1:]) if mark}
    values = [_clean(part) for part in parts[1:] if "=" not in part]
    if len(values) < 2 or not values[1] or len(values[0]) > _LONGEST:
        return Conversion(None, why=RANGE)
    # A range, `5|to|10|km`, or two units, `6|ft|2|in`.
    if any(_number(value, decimal) for value in values[1:3] for decimal in DECIMALS):
        return Conversion(None, why=RANGE)
    number, code = _number(values[0], wording.decimal), values[1]
    if number is None:
        other = any(_number(values[0], decimal) for decimal in DECIMALS)
        return Conversion(None, why="a number of another notation; see --decimal" if other else RANGE)
    written = values[0] if wording.decimal == "comma" else _grouped(number, named.get("comma") != "off")
    behind = _behind(parts, values, wording.decimal) if named.get("adj") == "mid" else ""
    symbols = _DATA["everywhere"] | (_DATA["symbols"] if wording.units == "name" else {})
    short = parts[0].strip().casefold() == "cvt" or named.get("abbr") in ("on", "in", "values", "~", "mos")
    if short or wording.units == "code":
        if _POWER.fullmatch(code):
            return Conversion(None, why="a power such as e6USgal that is not spelled out")
        unit, hyphens = symbols.get(code, code), False
    else:
        unit, hyphens = _named(code, number == "1", adjective=named.get("adj") in ("on", "mid"))
    joint = "-" if hyphens else "" if unit.startswith("°") else " "
    return Conversion(written, number, unit, joint, behind)


def _clean(part: str) -> str:
    """An argument with its entities resolved: `&minus;40` is a number, too."""
    return " ".join(html.unescape(part).split())


def _number(text: str, decimal: str) -> str | None:
    """A number in Python's notation; None if the text is no number in the given notation."""
    if decimal == "point":
        if not _POINT.fullmatch(text):
            return None
        plain = text.replace(",", "")
    elif match := _GROUPED.fullmatch(text):
        plain = text.replace(match[1], "").replace(",", ".")
    elif _COMMA.fullmatch(text):
        plain = text.replace(",", ".")
    else:
        return None
    return plain.replace("−", "-").lstrip("+")


def _grouped(number: str, commas: bool) -> str:
    """A number in English notation."""
    whole, point, rest = number.lstrip("-").partition(".")
    return ("-" if number.startswith("-") else "") + (f"{int(whole):,}" if commas else whole) + point + rest


def _named(code: str, one: bool, adjective: bool) -> tuple[str, bool]:
    """The English name of a unit, and whether a hyphen joins it to its number."""
    power = _POWER.fullmatch(code)
    base = power[2] if power else code
    singular, plural = _DATA["units"].get(base, [base, base])
    # Plural after a power: `1 million US gallons`, but `a 1-million-US-gallon tank`.
    name = singular if adjective or (one and not power) else plural
    text = f"{_DATA['powers'][power[1]]} {name}" if power else name
    # Symbols such as PS or °C are never joined; words such as million always are.
    hyphens = adjective and (power is not None or (plural != base and not plural.startswith("°")))
    return (text.replace(" ", "-") if hyphens else text), hyphens


def _behind(parts: list[str], values: list[str], decimal: str) -> str:
    """The words of `adj=mid`: after the target unit, or right after `adj=mid` if there is none."""
    rest = [value for value in values[2:] if value and _number(value, decimal) is None]
    words = rest[1] if len(rest) > 1 else ""
    if len(rest) == 1 and rest[0] not in _DATA["units"]:
        marks = ["".join(part.split()) for part in parts]
        at = marks.index("adj=mid") + 1
        words = rest[0] if at < len(parts) and _clean(parts[at]) == rest[0] else ""
    return words if words.startswith("-") or not words else f" {words}"
