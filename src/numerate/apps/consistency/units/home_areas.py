"""Areas and lengths far too large for a home or a room: `a two-room flat, 68 square kilometres`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import UNIT, slot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["home_areas"]

_CUES = ("flat", "partment", "tudio", "room", "itchen", "alcony", "ungalow", "office", "garage", "terrace", "carpet")
_HOME = regex(
    r"\b(?:(?:room|bedroom|furnished|bright|this|our|their|his|her|my|the|an?|rented|top|floor|new|modern|spacious"
    r"|small|sunny|quiet|cosy|student|council) flat(?= (?:on|with|in|of|for|has|is|measures|near|at|we|to)\b|[,:(])"
    r"|apartment|(?:bed|living |bath|dining |class|meeting |guest |hotel )room|kitchen|balcony|bungalow|office space"
    r"|studio flat|roof terrace|garage)\b"
)
_Q = slot("q", UNIT)
_PLACE = regex(
    r"\b(?:island|country|city|town|park|district|state|county|region|forest|lake|reserve|municipality|population"
    r"|province|parish|valley|estate|resort|village|campus|complexes|buildings?|basin|territory|desert|plain|density"
    r"|away|radius|surround\w*|across|apartments|flats)\b"
)
_LARGE = frozenset(("km^2", "km2", "km²", "mi^2", "mi2", "ha", "acre"))


def home_areas(sentence: Sentence) -> Iterator[Finding]:
    """The one area of a sentence about a home or a room, in a unit for land."""
    if not any(cue in sentence.text for cue in _CUES):
        return
    areas = [each for each in sentence.quantities if each.unit in _LARGE]
    if len(areas) != 1 or not 2 <= areas[0].value < 5000 or any(n.confidence != "certain" for n in areas[0].numerals):
        return
    words = sentence.skeleton
    homes = [*_HOME.finditer(words)]
    if not homes or _PLACE.search(words):
        return
    place = words.find(UNIT + chr(0xE100 + sentence.quantities.index(areas[0])))
    near = min(min(abs(place - match.end()), abs(match.start() - place)) for match in homes)
    if near > 60 or re.match(r" (?:of (?:land|garden|grounds?|woods?|meadow)|plot|garden|site)", words[place + 2 :]):
        return
    unit = areas[0].unit
    message = f"{areas[0].text} is too large for a home or a room: is it another unit than {unit}?"
    yield finding_at("unit", areas[0], message, unit=unit, probability=0.86)
