"""Wrong numbers for anomaly detection, as in Berg-Kirkpatrick & Spokoyny 2020.

A wrong number is that of another sentence, or the correct number with a digit added, dropped or exchanged.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from numerate.numerals.numeral import Numeral

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KINDS", "wrong_columns", "wrong_numbers"]

KINDS = ("swapped", "added", "dropped", "exchanged")


def wrong_numbers(numerals: Sequence[Numeral], kind: str, seed: int = 0) -> list[Numeral | None]:
    """A wrong number of another value for each correct number; None if there is none of this kind.

    Args:
        numerals: The correct numbers.
        kind: `swapped` for the number of another sentence; or one digit `added`, one `dropped`, or two neighbouring
            digits `exchanged`. No number gets an unusual leading zero.
        seed: Random seed.

    Example:
        >>> right = [Numeral("1,250", 0, 5, 1250.0), Numeral("7", 0, 1, 7.0)]
        >>> [wrong and wrong.text for wrong in wrong_numbers(right, "dropped")]
        ['150', None]
        >>> [wrong.value for wrong in wrong_numbers(right, "swapped")]
        [7.0, 1250.0]
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    rng = random.Random(f"{kind} {seed}")  # noqa: S311 (not for security)
    if kind == "swapped":
        return [_other(numerals, index, rng) for index in range(len(numerals))]
    long = [numeral.text for numeral in numerals if sum(map(str.isdigit, numeral.text.partition(".")[0])) > 3]
    # Numbers that become long get commas if most long numbers have them; otherwise the notation would reveal them.
    commas = 2 * sum("," in text for text in long) > len(long)
    return [_changed(numeral, kind, rng, commas) for numeral in numerals]


def wrong_columns(right: Sequence[Numeral], seed: int = 0) -> dict[str, tuple[list[Numeral], np.ndarray]]:
    """Wrong numbers by name of their column, `wrong_<kind>`, and a mask (N,): False where the correct one is left."""
    wrong = {f"wrong_{kind}": wrong_numbers(right, kind, seed) for kind in KINDS}
    known = {name: np.array([other is not None for other in some], dtype=bool) for name, some in wrong.items()}
    return {name: ([b or a for a, b in zip(right, some, strict=True)], known[name]) for name, some in wrong.items()}


def _other(numerals: Sequence[Numeral], index: int, rng: random.Random) -> Numeral | None:
    for _ in range(100):  # there may be none where nearly all numbers are equal
        other = numerals[rng.randrange(len(numerals))]
        if other.value != numerals[index].value:
            return other
    return None


def _changed(numeral: Numeral, kind: str, rng: random.Random, commas: bool) -> Numeral | None:
    text = numeral.text.replace(",", "")
    if numeral.point == "," or not text.isascii():
        return None
    places = [place for place, char in enumerate(text) if char.isdigit()]
    if kind == "added":
        made = [text[:at] + digit + text[at:] for at in (*places, places[-1] + 1) for digit in "0123456789"]
    elif kind == "dropped":
        made = [text[:at] + text[at + 1 :] for at in places]
    else:
        pairs = [(at, at + 1) for at in places if at + 1 in places]
        made = [text[:a] + text[b] + text[a] + text[b + 1 :] for a, b in pairs]
    # Zero is excluded: its logarithm alone would reveal it.
    good = [each for each in dict.fromkeys(made) if _is_written(each) and float(each) not in (0.0, numeral.written)]
    if not good:
        return None
    chosen = rng.choice(good)
    value = float(chosen) * 10.0**numeral.power
    if "," in numeral.text or (commas and len(text.partition(".")[0].lstrip("+-")) < 4):
        whole, point, rest = chosen.partition(".")
        sign = whole[: len(whole) - len(whole.lstrip("+-"))]
        chosen = f"{sign}{int(whole.lstrip('+-')):,}{point}{rest}"
    return Numeral(chosen, 0, len(chosen), value, power=numeral.power)


def _is_written(text: str) -> bool:
    """Whether the number has a usual form, without leading zeros."""
    bare = text.lstrip("+-")
    whole, point, rest = bare.partition(".")
    well_formed = whole.isdigit() and (not point or rest.isdigit())
    return well_formed and (whole == "0" or not whole.startswith("0"))
