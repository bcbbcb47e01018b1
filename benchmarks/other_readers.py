"""Other libraries that find numbers in English text, behind one function each: text -> list of `Found`.

Neither is a dependency: `pip install quantulum3`, `pip install recognizers-text-suite "emoji<2"` (it imports a name
that emoji 2 removed).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numerate

if TYPE_CHECKING:
    from collections.abc import Callable

    Finder = Callable[[str, bool], list["Found"]]
    """A function of a text and whether it is a table cell."""


class Found(NamedTuple):
    """A number that a reader found: its span, the values that it may stand for, and its unit in our spelling.

    `values` has more than one element where a library reads both ends of a range as one number with an uncertainty.
    """

    start: int
    end: int
    values: tuple[float, ...]
    unit: str | None


QUANTULUM_UNITS = {
    "kilometre": "km", "metre": "m", "centimetre": "cm", "millimetre": "mm", "mile": "mi", "foot": "ft", "inch": "in",
    "acre": "acre", "hectare": "ha", "square kilometre": "km^2", "square metre": "m^2", "square mile": "mi^2",
    "square foot": "ft^2", "tonne": "t", "short ton": "ton", "long ton": "long ton", "kilogram": "kg",
    "pound-mass": "lb", "ounce": "oz", "millisecond": "ms", "second": "s", "minute": "min", "day": "d", "week": "week",
    "month": "month", "year": "year", "hertz": "Hz", "bit": "bit", "megabyte": "MB", "gigabyte": "GB", "megawatt": "MW",
    "bushel": "bu", "barrel": "bbl", "degree Celsius": "°C", "degree fahrenheit": "°F", "degree angle": "°",
    "minute of arc": "arcmin", "dollar": "USD", "cent": "cent", "penny": "penny", "pound sterling": "GBP",
    "japanese yen": "JPY", "swiss franc": "CHF", "indian rupee": "INR",
}  # fmt: skip
"""Names of quantulum3 0.10 for the units of the sample; what it has no name for is not counted against it."""

MICROSOFT_UNITS = {
    "Kilometer": "km", "Meter": "m", "Centimeter": "cm", "Millimeter": "mm", "Mile": "mi", "Foot": "ft", "Inch": "in",
    "Acre": "acre", "Square kilometer": "km^2", "Square meter": "m^2", "Square mile": "mi^2", "Square foot": "ft^2",
    "Metric ton": "t", "Ton": "t", "Kilogram": "kg", "Pound": "lb", "Ounce": "oz", "Bit": "bit", "Megabyte": "MB",
    "Gigabyte": "GB", "C": "°C", "F": "°F", "Degree": "°", "Dollar": "USD", "United States dollar": "USD",
    "Cent": "cent", "Franc": "FRF", "French franc": "FRF", "Swiss franc": "CHF", "Indian rupee": "INR",
    "Japanese yen": "JPY", "South African rand": "ZAR", "Thai baht": "THB", "Swedish krona": "SEK",
    "British pound": "GBP",
}  # fmt: skip
"""Names of recognizers-text 1.0.2a2, where `Ton` stands for tons and tonnes. Durations are read by its date models."""


def cell_options() -> dict[str, Any]:
    """The option that makes the `standard` reader read a table cell; empty where the reader does not have it."""
    options: dict[str, Any] = {"cell": True}
    try:
        numerate.find("(5)", **options)
    except (TypeError, ValueError):
        return {}
    return options


def numerate_finder() -> Finder:
    """The `standard` reader; cells are read as cells where the reader can."""
    options = cell_options()

    def find(text: str, cell: bool) -> list[Found]:
        found = numerate.find(text, **options) if cell else numerate.find(text)
        return [Found(n.start, n.end, (n.value,), n.unit) for n in found]

    return find


def quantulum_finder() -> Finder:
    """quantulum3 with its classifier off, as it is installed by default."""
    from quantulum3 import classifier, parser

    classifier.USE_CLF = False

    def find(text: str, cell: bool) -> list[Found]:
        del cell  # it has no such option
        found = []
        for quantity in parser.parse(text):
            name, spread = quantity.unit.name, quantity.uncertainty
            values = (
                [quantity.value] if not spread else [quantity.value - spread, quantity.value, quantity.value + spread]
            )
            scale = 0.01 if name == "percentage" else 1
            values = tuple(float(value) * scale for value in values)
            found.append(Found(*quantity.span, values, QUANTULUM_UNITS.get(name)))
        return found

    find("5 km", False)  # loads its units
    return find


def microsoft_finder() -> Finder:
    """All number models of recognizers-text; where several read a number, the most specific one counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from recognizers_number import NumberRecognizer
        from recognizers_number_with_unit import NumberWithUnitRecognizer
        from recognizers_text import Culture

        plain, united = NumberRecognizer(Culture.English), NumberWithUnitRecognizer(Culture.English)
        models = [  # the most specific first
            plain.get_percentage_model(),
            united.get_dimension_model(),
            united.get_currency_model(),
            united.get_temperature_model(),
            united.get_age_model(),
            plain.get_ordinal_model(),
            plain.get_number_model(),
        ]

    def find(text: str, cell: bool) -> list[Found]:
        del cell  # it has no such option
        found: list[Found] = []
        for model in models:
            for result in model.parse(text):
                start, end = result.start, result.end + 1
                written = str((result.resolution or {}).get("value"))
                if any(other.start < end and start < other.end for other in found):
                    continue
                try:
                    value = float(written.removesuffix("%")) / (100 if written.endswith("%") else 1)
                except ValueError:  # no value
                    continue
                found.append(Found(start, end, (value,), MICROSOFT_UNITS.get((result.resolution or {}).get("unit"))))
        return found

    find("5 km", False)  # compiles its patterns
    return find
