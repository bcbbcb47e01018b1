"""Other spellings of units, percent signs, scale words and currencies for a share of the training texts.

Encyclopaedias write `55%`, `$3.2 million` and `120 km`; a newswire writes `55 pct` and `3.2 mln dlrs`. A model that
never saw `pct` expects 0.5 there as well as 50: with these texts it learns that the spellings of a unit mean one thing.
Values and units stay what they were: a text whose numbers would be read otherwise is not changed.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerate.numerals.numeral import Numeral

SHARE = 0.4
"""Share of the texts with a word that can be spelled otherwise in which it is."""
PERCENT = ("%", " %", " percent", " per cent", " pct", " pct")
SCALES = {
    "million": (" million", " mln", " mln", " mn", "m", "mn", " mio"),
    "billion": (" billion", " bn", " bln", "bn"),
    "trillion": (" trillion", " trn", "tn"),
    "thousand": (" thousand", "k"),
}
MONEY = {
    "USD": (("$", ""), ("US$", ""), ("USD ", ""), ("", " USD"), ("", " dollars"), ("", " dlrs"), ("", " dlrs")),
    "EUR": (("€", ""), ("EUR ", ""), ("", " EUR"), ("", " euros"), ("", " euro")),
    "GBP": (("£", ""), ("GBP ", ""), ("", " GBP"), ("", " stg")),
    "JPY": (("¥", ""), ("JPY ", ""), ("", " yen")),
    "cent": (("", " cents"), ("", " cts")),
}
"""What stands in front of an amount and its scale word, and behind them."""
UNITS = {
    "km": ("km", "kilometers", "kilometres", "kms"), "mi": ("miles", "mi"), "m": ("m", "meters", "metres"),
    "ft": ("ft", "feet"), "cm": ("cm", "centimeters", "centimetres"), "mm": ("mm", "millimeters", "millimetres"),
    "kg": ("kg", "kilograms", "kgs"), "lb": ("lb", "lbs", "pounds"), "g": ("g", "grams"), "t": ("t", "tonnes"),
    "oz": ("oz", "ounces"), "ha": ("ha", "hectares"), "acre": ("acres",), "l": ("l", "liters", "litres"),
    "km^2": ("km²", "km2", "sq km", "square kilometers", "square kilometres"),
    "mi^2": ("sq mi", "square miles", "sq. miles", "mi²"), "km/h": ("km/h", "kph", "kmh", "kilometers per hour"),
    "mph": ("mph", "miles per hour"), "MW": ("MW", "megawatts"), "°C": ("°C", "degrees Celsius", "deg C"),
    "°F": ("°F", "degrees Fahrenheit"), "h": ("hours", "hrs", "h"), "min": ("minutes", "min", "mins"),
    "s": ("seconds", "s", "secs"), "year": ("years", "yrs"), "month": ("months", "mths", "mos"),
}  # fmt: skip
_SCALE = re.compile(rf"\s?({'|'.join(SCALES)})$")
_SIGN = re.compile(r"\s?(?:%|per ?cent)$")


def respelled(text: str, reader: Any) -> str:
    """The text, for some texts with its units and signs in another spelling; always the same for a text.

    Example:
        >>> from numerate.reading import make_reader
        >>> texts = [f"It rose by {each}%." for each in range(100)]
        >>> any(respelled(text, make_reader("standard")).endswith(" pct.") for text in texts)
        True
    """
    draw = random.Random(text)
    if draw.random() >= SHARE:
        return text
    numerals = list(reader.find(text))
    changed, chosen = text, {}
    for numeral in reversed(numerals):
        changed = _written(changed, numeral, draw, chosen)
    if changed == text or _meaning(reader.find(changed)) != _meaning(numerals):
        return text
    return changed


def _meaning(numerals: Any) -> list[tuple[float, str | None]]:
    return [(float(f"{each.value:.12g}"), each.unit) for each in numerals]


def _written(text: str, numeral: Numeral, draw: random.Random, chosen: dict[str, Any]) -> str:
    """The text with one number's words in another spelling, the same one for all of a kind in the text."""

    def one_of(name: str, spellings: Any) -> Any:
        return chosen.setdefault(name, draw.choice(spellings))

    start, end, body = numeral.start, numeral.end, numeral.text
    if numeral.kind == "percent" and (sign := _SIGN.search(body)):
        return text[:start] + body[: sign.start()] + one_of("%", PERCENT) + text[end:]
    scale = _SCALE.search(body)
    if numeral.unit in MONEY and numeral.unit_span is not None:
        first, last = numeral.unit_span
        between = text[last:start] if last <= start else text[end:first]
        if between.strip():
            return text
        before, behind = one_of(numeral.unit, MONEY[numeral.unit])
        word = body[: scale.start()] + one_of(scale[1], SCALES[scale[1]]) if scale else body
        return text[: min(start, first)] + before + word + behind + text[max(end, last) :]
    if scale and numeral.unit is None:
        spellings = [each for each in SCALES[scale[1]] if each not in ("m", "k")]
        return text[:start] + body[: scale.start()] + one_of(scale[1], spellings) + text[end:]
    if numeral.unit in UNITS and numeral.unit_span is not None and numeral.unit_span[0] >= end:
        first, last = numeral.unit_span
        if text[end:first] not in ("", " "):
            return text
        return text[:end] + " " + one_of(numeral.unit, UNITS[numeral.unit]) + text[last:]
    return text
