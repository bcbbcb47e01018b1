"""Units of the wrong dimension beside a thing or an activity: `stores 4 square metres of water`, `gusts of 118 hPa`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import UNIT, slot
from numerate.apps.consistency.units.unit_rows import HEDGE, rows_for
from numerate.numerals.unit_factors import dimension_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["unit_nouns"]

_CONCENTRATION = regex(r"(?:[kmµunp]?(?:g|mol)|IU|U)/[dmµc]?(?:L|l|m\^3)$")
_BABY = regex(
    r"\b(?:baby|newborn|infant|birth ?weight|mother and (?:child|baby|daughter|son)|delivered (?:at|by)|gave birth"
    r"|born at|maternity|little (?:girl|boy)|welcome|ca?esarean|c-section|apgar|neonate|midwi[fv]es?|delivery room"
    r"|healthy (?:boy|girl|son|daughter)|weeks.? gestation|labour ward|labor ward)\b",
    re.IGNORECASE,
)
_WEIGHED = regex(
    rf"\b(?:weigh(?:s|ed|ing)?(?: in)?(?: at)?|(?:birth ?)?weight(?: of| was| is| at birth|:"
    rf"|,)*) {HEDGE}{slot('q', UNIT)}"
)
_CONTINUED = regex(
    r"['’]| ?(?:per |a (?:year|day|second|minute|hour|week|month)|/|\([^)]*\) ?(?:per|a|/)|[×x] |by [\ue000-\ue009])"
)
_ANIMAL = regex(
    r"\b(?:zoo|elephants?|calf|calves|whales?|hippos?|rhinos?|giraffes?|animals?|foals?|dolphins?|walrus|ship"
    r"|car|engine|grown)\b"
)
_PRONOUN = regex(r"(?:(?:he|she|it|the (?:baby|child|boy|girl|newborn|infant)) |(?:birth )?weight\b|weighing )")
_WHOLE_BABY = {"kg": (0.4, 8.0), "g": (300.0, 8000.0), "lb": (1.0, 18.0)}


@lru_cache(maxsize=1_000)
def _measured(unit: str) -> str | None:
    return dimension_name(unit) or ("concentration" if _CONCENTRATION.search(unit) else None)


def unit_nouns(sentence: Sentence, before: str = "") -> Iterator[Finding]:
    """Units that cannot measure what they stand beside; `before` is the text before it."""
    text, words = sentence.text.lower(), sentence.skeleton
    dimensions = {_measured(each.unit) for each in sentence.numerals if each.unit is not None}
    for cues, pattern, wrong, what in rows_for(text):
        # Heights have a limit, too.
        if wrong.isdisjoint(dimensions) and (what != "a height" or "above sea" not in text):
            continue
        if not any(map(text.__contains__, cues)):
            continue
        for match in pattern.finditer(words):
            name = "q" if match["q"] else "r"
            quantity = sentence.get(match, name)
            unit = quantity.unit or ""
            measured = _measured(unit)
            if measured == "length" and what in ("an amount of water", "an amount of it") and unit not in ("km", "mi"):
                continue  # `20 cm of water`
            if what == "a height" and unit == "km" and quantity.value > 9 and "above sea" in text:
                message = f"Nothing lies {quantity.text} above sea level: is it another unit?"
                yield finding_at("unit", quantity, message, unit=unit, probability=0.88)
            if unit in ("kt", "Mt") or (measured == "length" and re.search(r"\b(?:gas|oil|crude)\b", text)):
                continue  # explosions and layers
            if measured not in wrong or any(each.confidence != "certain" for each in quantity.numerals):
                continue
            if _CONTINUED.match(words, match.end(name)) or any(each.shared for each in quantity.numerals):
                continue
            message = f"{quantity.text} cannot be {what}: {quantity.unit} is a unit of {measured}."
            yield finding_at("unit", quantity, message, unit=quantity.unit, measures=measured, probability=0.9)
    whole = f"{before} {text}" if "weigh" in text and _PRONOUN.match(text) else text
    if "weigh" in text and _BABY.search(whole) and not _ANIMAL.search(whole):
        for match in _WEIGHED.finditer(words):
            quantity = sentence.get(match, "q")
            least, most = _WHOLE_BABY.get(quantity.unit or "", (0.0, 1e300))
            if not least <= quantity.value <= most and quantity.value > 0:
                message = f"A newborn child does not weigh {quantity.text}: is it another unit?"
                yield finding_at("unit", quantity, message, unit=quantity.unit, probability=0.88)
