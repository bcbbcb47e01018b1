"""Slips of writing a number: what may have been meant by a number that looks wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SLIP_NAMES", "Slip", "slips_of"]

SLIP_NAMES = {
    "factor": "a factor of ten",
    "thousands": "a factor of a thousand",
    "percent": "a percentage written as a fraction, or the reverse",
    "exchanged": "two digits exchanged",
    "doubled": "a digit doubled",
    "dropped": "a digit dropped",
    "sign": "the wrong sign",
}
"""Slip -> what it is, for messages."""
_DIGITS = re.compile(r"[0-9]+(?:[,'\u00a0\u202f ][0-9]{3})*(?:\.[0-9]+)?|\.[0-9]+")
_PRIORS = {
    "factor": 1.0,
    "thousands": 0.5,
    "percent": 0.5,
    "exchanged": 0.5,
    "doubled": 0.7,
    "dropped": 0.2,
    "sign": 0.5,
}


class Slip(NamedTuple):
    """A correction of a number.

    Attributes:
        name: A key of `SLIP_NAMES`.
        text: The number as it was probably meant.
        value: Its value.
        prior: How common the slip is, relative to the others.
    """

    name: str
    text: str
    value: float
    prior: float


def slips_of(written: str, value: float) -> Iterator[Slip]:
    """All numbers that one slip turns into the written one.

    Example:
        >>> sorted({(slip.name, slip.text) for slip in slips_of("1780", 1780.0) if slip.value in (178.0, 1870.0)})
        [('exchanged', '1870'), ('factor', '178')]
        >>> [slip.text for slip in slips_of("-5.2", -5.2) if slip.name == "sign"]
        ['5.2']
    """
    match = _DIGITS.search(written)
    if match is None or value == 0:
        return
    prefix, digits, suffix = written[: match.start()], match[0], written[match.end() :]
    bare = re.sub(r"[,'\u00a0\u202f ]", "", digits)
    unit = abs(value) / float(bare) if float(bare) else 1.0
    sign = -1.0 if value < 0 else 1.0

    def slip(name: str, text: str) -> Slip:
        return Slip(name, f"{prefix}{text}{suffix}", sign * unit * float(text), _PRIORS[name])

    for power, name in (
        (1, "factor"),
        (-1, "factor"),
        (2, "percent"),
        (-2, "percent"),
        (3, "thousands"),
        (-3, "thousands"),
    ):
        yield slip(name, _shifted(bare, power))
    for index in range(len(bare) - 1):
        left, right = bare[index], bare[index + 1]
        if left.isdecimal() and right.isdecimal():
            if left != right and not (index == 0 and right == "0"):
                yield slip("exchanged", bare[:index] + right + left + bare[index + 2 :])
            elif left == right and len(bare) > 2:
                yield slip("doubled", bare[:index] + bare[index + 1 :])
    if bare.isdecimal() and len(bare) < 15:
        for index in range(len(bare) + 1):
            for digit in "0123456789" if index else "123456789":
                yield slip("dropped", bare[:index] + digit + bare[index:])
    flipped = written.replace("-", "").replace("−", "") if value < 0 else f"-{written}"
    yield Slip("sign", flipped.strip("()") if value < 0 else flipped, -value, _PRIORS["sign"])


def _shifted(digits: str, power: int) -> str:
    """Decimal digits times a power of ten, with all digits kept."""
    whole, _, fraction = digits.partition(".")
    if power >= 0:
        fraction = fraction.ljust(power, "0")
        whole, fraction = whole + fraction[:power], fraction[power:]
    else:
        whole = whole.rjust(1 - power, "0")
        whole, fraction = whole[:power], whole[power:] + fraction
    text = f"{whole.lstrip('0') or '0'}.{fraction}" if fraction else whole.lstrip("0") or "0"
    return text.rstrip("0").rstrip(".") if "." in text and "." not in digits else text
