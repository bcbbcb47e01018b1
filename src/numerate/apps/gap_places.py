"""What the words and marks beside a `[NUM]` demand of its number: `[NUM]th`, `1/[NUM]`, `the [NUM]s`, `$[NUM]bn`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from numerate.notation.base import NUM
from numerate.numerals.style import ordinal_suffix

if TYPE_CHECKING:
    from numerate.reading.base import Reader

__all__ = ["Place", "places_of", "spelled_out"]

_SCALES = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
_SUFFIX = re.compile(r"(st|nd|rd|th)\b", re.IGNORECASE)
_CENTURY = re.compile(r"(?: ?(?:and|or|to|[–-]) ?(?:\d{1,2}|\[NUM\])(?:st|nd|rd|th)?)?[ -]centur(?:y|ies)\b")
_DECADE = re.compile(r"['’]?s\b")
_THE = re.compile(r"\b(?:the|early|mid|late)[ -]['’]?$|['’]$", re.IGNORECASE)
_FRACTION = re.compile(r"(?:\d|\[NUM\])/$")
_MINUTES = re.compile(r"(?:\d|\[NUM\]):$")
_CLOCK = re.compile(
    r"\b(?:at|from|until|till|by|before|after|around|since|between|to|and) (?:\d{1,2}|\[NUM\]):$", re.IGNORECASE
)
_MINUS = re.compile(r"(?<![\w)\]])[-−]$")


class Place(NamedTuple):
    """What a gap demands of its number.

    Attributes:
        suffix: Ending of an ordinal that stands behind it, such as `th`.
        is_century: Whether it counts a century and has no ordinal ending.
        is_decade: Whether it is a decade, `the [NUM]s`.
        is_denominator: Whether it stands behind a slash.
        is_minutes: Whether it stands behind a number and a colon.
        is_clock: Whether a preposition before them says that they are a time of the day, `at 9:[NUM]`.
        is_negated: Whether it has a minus of its own.

    Example:
        >>> place, = places_of("It was her [NUM]th win.")
        >>> [number for number in range(15) if place.fits(number)]
        [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    """

    suffix: str = ""
    is_century: bool = False
    is_decade: bool = False
    is_denominator: bool = False
    is_minutes: bool = False
    is_clock: bool = False
    is_negated: bool = False

    @property
    def is_free(self) -> bool:
        """Whether any number fits."""
        return self == Place()

    def fits(self, value: float) -> bool:
        """Whether a number can stand there."""
        if self.suffix and (value != int(value) or ordinal_suffix(f"{abs(value):.0f}") != self.suffix):
            return False
        if value < 0 if self.is_negated else value <= 0 if self.is_denominator or self.is_century else False:
            return False
        return not self.is_minutes or 0 <= value < 60

    def written(self, text: str) -> str:
        """A number as it is written there: `18th` of `the [NUM] century`, `05` of `9:[NUM]`."""
        if self.is_century and text.isdecimal():
            return text + ordinal_suffix(text)
        return text


def places_of(text: str) -> list[Place]:
    """What each `[NUM]` of a text demands, in reading order."""
    found, parts = [], text.split(NUM)
    start = 0
    for part in parts[:-1]:
        end = start + len(part)
        before, after = text[:end], text[end + len(NUM) :]
        suffix = _SUFFIX.match(after)
        found.append(
            Place(
                suffix=suffix[1].lower() if suffix else "",
                is_century=_CENTURY.match(after) is not None,
                is_decade=_DECADE.match(after) is not None and _THE.search(before) is not None,
                is_denominator=_FRACTION.search(before) is not None,
                is_minutes=_MINUTES.search(before) is not None,
                is_clock=_CLOCK.search(before) is not None,
                is_negated=_MINUS.search(before) is not None,
            )
        )
        start = end + len(NUM)
    return found


def spelled_out(reader: Reader | Any, text: str) -> str:
    """The text with the scale words behind its gaps spelled out, as models know them: `[NUM] billion` of `[NUM]bn`.

    Example:
        >>> from numerate.reading import make_reader
        >>> spelled_out(make_reader("standard"), "Revenue was $[NUM]bn, up from $3.2bn, and weighs [NUM]m.")
        'Revenue was $[NUM] billion, up from $3.2bn, and weighs [NUM]m.'
    """
    parts = text.split(NUM)
    numerals = {each.start: each for each in reader.find("0".join(parts))} if len(parts) > 1 else {}
    found, place = [parts[0]], len(parts[0])
    for part in parts[1:]:
        numeral = numerals.get(place)
        suffix = numeral.text[1:] if numeral is not None and numeral.text.startswith("0") else ""
        scale = _SCALES.get(numeral.power) if numeral is not None else None
        if scale and suffix and part.startswith(suffix) and suffix.strip().lower() not in (scale, f"{scale}s"):
            found.append(f" {scale}{part[len(suffix) :]}")
        else:
            found.append(part)
        place += 1 + len(part)
    return NUM.join(found)
