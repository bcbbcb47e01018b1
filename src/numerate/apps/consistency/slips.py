"""How two values differ when one is a slip of the other."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.paragraphs import slip_bits

if TYPE_CHECKING:
    from numerate.apps.consistency.sentences.quantities import Quantity

__all__ = ["is_slip", "is_typo", "rounded_slip_bits", "sorted_digits"]


@lru_cache(maxsize=10_000)
def sorted_digits(value: float) -> str:
    """The digits of a value other than 0, sorted: an exchange or a factor of ten does not change them.

    Example:
        >>> sorted_digits(3.24), sorted_digits(3420)
        ('234', '234')
    """
    return "".join(sorted(f"{abs(value):.10g}".partition("e")[0].replace(".", "").replace("0", "")))


def is_slip(one_: float, other: float) -> bool:
    """Whether two values differ as slips do: a factor of ten, or two neighbouring digits exchanged.

    Example:
        >>> is_slip(1.5e9, 1.5e6), is_slip(324, 342), is_slip(324, 325), is_slip(10, 100)
        (True, True, False, False)
    """
    if one_ == other or one_ <= 0 or other <= 0:
        return False
    first, second = (f"{value:.12e}".split("e") for value in (one_, other))
    digits = [part[0].replace(".", "").rstrip("0") for part in (first, second)]
    if digits[0] == digits[1]:
        # 10 and 100 differ by a factor of ten by chance: round numbers prove nothing, unless it is a scale word.
        return len(digits[0]) > 1 and abs(int(first[1]) - int(second[1])) in (1, 2, 3, 6)
    if first[1] != second[1] or len(digits[0]) < 2:
        return False
    width = max(map(len, digits))
    left, right = (each.ljust(width, "0") for each in digits)
    differing = [index for index in range(width) if left[index] != right[index]]
    return (
        len(differing) == 2
        and differing[1] == differing[0] + 1
        and left[differing[0]] == right[differing[1]]
        and left[differing[1]] == right[differing[0]]
    )


def rounded_slip_bits(said: Quantity, real: float) -> float:
    """The bits of a slip where zeros at the end count nothing: 15,000 and 35,000 are like 15 and 35."""
    sizes = [len(f"{value:.6g}".partition("e")[0].replace(".", "").strip("0")) for value in (said.value, real)]
    if min(sizes) < 2:
        return 0.0  # round numbers are like each other by chance
    bits = slip_bits(said, real)
    return bits if is_slip(said.value, real) else min(bits, math.log2(10 ** (max(sizes) - 1) / max(sizes)))


def is_typo(said: Quantity, real: float) -> bool:
    """Whether a value is written as the real one but for one digit or two exchanged ones; small numbers prove nothing.

    So near a miss of a relation that all numbers of a sentence take part in is hardly chance, whatever its words are.
    """
    step = 2 * said.half
    if step <= 0 or real <= 0 or not math.isfinite(real):
        return False
    if said.unit is not None or said.value >= 1000:
        step = max(step, said.last_place / 10)  # `$2,300` against `$2,200`
    one, other = (f"{round(value / step)}" for value in (said.value, real))
    if len(one) != len(other) or abs(round(real / step) * step - real) > 0.02 * real:
        return False
    differing = [index for index in range(len(one)) if one[index] != other[index]]
    if len(differing) == 1:
        return len(one) > 2 or (len(one) == 2 and abs(int(one) - int(other)) == 10)
    return (
        len(differing) == 2
        and differing[1] == differing[0] + 1
        and one[differing[0]] == other[differing[1]]
        and one[differing[1]] == other[differing[0]]
    )
