"""The grammar of units: factors with powers, joined to products and quotients.

    unit    = group (divide group)*
    group   = factor (times factor)*       the factors after a division may stand in parentheses
    factor  = [square | cubic] prefix? unit power?
    divide  = "/" | "per" | a negative power
    times   = "·" | "*" | "." | "-" | space | nothing

The marks of multiplication mean something else in most texts (`5 m in`, `10 m-wide`, `2 s. The`), so that each has a
condition. Every pattern has a bounded length and a unit at most 6 factors: the time does not depend on the text.
"""

from __future__ import annotations

import re

from numerate.numerals import unit_tables as tables
from numerate.numerals.unit_tables import BOUND, CURRENCIES, LONE_LETTERS, PARTS, PREFIXED, UNITS

__all__ = ["DEGREES", "LETTERS", "SPACES", "compound_at", "factor_at", "names_follow", "unit_ends"]

SPACES = " \u00a0\u2009\u202f"
LETTERS = "A-Za-zµμΩ\u2126Å\u212błŁčČ"
"""All letters that occur in unit spellings, as part of a pattern."""
DEGREES = "°º˚℃℉"
_word = re.compile(rf"[{LETTERS}]{{1,20}}|[{DEGREES}]").match
_after_square = re.compile(rf" ?\.?[{SPACES}-]?([{LETTERS}]{{1,20}})").match
_degree = re.compile(
    rf"[°º˚][{SPACES}]?([CFKcf])(?:(?<=[Cc])(?:elsius|entigrade)|(?<=[Ff])ahrenheit)?(?!\w)|([℃℉])"
).match
_MINUS = "-−–"
_power = re.compile(
    rf"(?:\^|\*\*)(?:\{{([{_MINUS}]?[1-4])\}}|\(([{_MINUS}]?[1-4])\)|([{_MINUS}]?[1-4])(?!\d))"
    r"|(⁻?[¹²³⁴])|(−[1-4])(?!\w|[.,]\d)|[ -](squared|cubed)(?!\w)"
).match
_digit_power = re.compile(r"([2-4])(?![\d.]\d|\d)").match
_hyphen_power = re.compile(r"([-–][1-4])(?!\w|[.,]\d)").match
_same_unit = re.compile(r" ?([A-Za-zµμ]{1,3})").match
_per = re.compile(rf"[{SPACES}]?/[{SPACES}]?|[{SPACES}-](?:per|PER)[{SPACES}-]").match
_an = re.compile(
    r"[ \n](?:a[ \n](?:second|minute|day|week|month|year)|an[ \n]hour)(?!\w|[ \n](?:ago|earlier|later|before))"
).match
_dot = re.compile(rf"[{SPACES}]?[·⋅•∙][{SPACES}]?|\*(?!\*)|\.(?=[{LETTERS}]{{1,3}}\^?[{_MINUS}⁻])").match
_hundred = re.compile(rf"100[{SPACES}]?(?=[{LETTERS}])").match
_root = re.compile(rf"√([{LETTERS}]{{1,4}})(?!\w)|([{LETTERS}]{{1,4}})\^?(?:1/2|½|0\.5)(?!\w)").match
_is_letters = re.compile(r"[A-Z]/[A-Z]").fullmatch
# A lone letter followed by this is a name: `the 5 s's`, `5 f(x)`, `175 t=1`, `50 N.Z. dlrs`, `2003 J. J. Liston`.
names_follow = re.compile(r"['’][a-z]|[(\[{=+<>]|\.[A-Z]|\. [A-Z]\.").match
_TO_SPACE = str.maketrans(dict.fromkeys("-\u00a0\u2009\u202f", " "))
_TO_DIGITS = str.maketrans("⁻−–¹²³⁴", "---1234")
_HYPHEN_POWERS = dict.fromkeys(["m", "cm", "mm", "µm", "nm", "km"], "123") | dict.fromkeys(
    ["s", "h", "min", "d", "year", "kg", "g", "L", "mL", "ha", "mol", "K", "M", "J", "Pa"], "1"
)
"""Units that are read with an ASCII hyphen and this power after a number: `1650 cm-1`, `0.3 s-1`."""
_GLUED = frozenset("Kshm")
"""Last letters of two factors without a mark between them, in a denominator: `cm2/Vs`, `J/kgK`."""
_TIMES = frozenset(["s", "min", "h", "d", "week", "month", "year", "decade", "century", "°", "K", "°C", "°F"])
"""Units without a rate: in `8 hours a day`, the unit is the hour."""
MAX_FACTORS = 6


class Factor:
    """One factor of a unit: normal spelling, power, end in the text, and whether a symbol and not a word."""

    __slots__ = ("end", "normal", "power", "symbol")

    def __init__(self, normal: str, power: int, end: int, symbol: bool) -> None:
        self.normal, self.power, self.end, self.symbol = normal, power, end, symbol

    @property
    def spelled(self) -> str:
        """The factor without the sign of its power: `m^2`."""
        return self.normal if abs(self.power) == 1 else f"{self.normal}^{abs(self.power)}"


def unit_ends(text: str, end: int) -> bool:
    """Whether a unit can end at `end`: no letter, digit, underscore or power follows."""
    return end >= len(text) or not (text[end].isalnum() or text[end] in "_^")


def compound_at(text: str, start: int, place: str) -> tuple[str, int] | None:
    """Reads a unit of one or more factors: `mg/dL`, `miles per hour`, `km s⁻¹`, `W/(m²·K)`.

    Returns:
        Normal spelling and end in `text`; None if there is no unit.
    """
    first = factor_at(text, start, place)
    if first is None:
        return None
    if first.normal in CURRENCIES:
        return first.normal, first.end
    end, last, count = first.end, first, 1
    normal = first.spelled if first.power > 0 else "1/" + first.spelled
    while count < MAX_FACTORS:
        if match := _per(text, end):
            found = _denominator(text, match.end(), normal)
            if found is None:
                break
            below, last, end = found
            repeated = normal.endswith("/" + below) and "^" not in below  # metres per second per second
            normal += "^2" if repeated else "/" + below
        elif (found := _next_factor(text, end, last)) is not None:
            last, end = found, found.end
            normal += ("*" if last.power > 0 else "/") + last.spelled
        elif count == 1 and normal not in _TIMES and (match := _an(text, end)):
            normal, end = f"{normal}/{UNITS[match[0].split()[1]]}", match.end()
            break
        else:
            break
        count += 1
    if (normal != "°" and not unit_ends(text, end)) or (count == 1 and not _stands_alone(text, start, first, place)):
        return None
    if count == 2 and _is_letters(normal):
        return (normal, end) if normal in tables.LETTER_QUOTIENTS else None  # not in `N/A`, `2 F/A-18 jets`
    return tables.SHORTER_SPELLINGS.get(normal, normal), end


def factor_at(text: str, start: int, place: str, glued: bool = False) -> Factor | None:
    """Reads one factor with its power; `glued` allows letters directly after it, as in `m²K`."""
    match = _word(text, start)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word in DEGREES:
        if degree := _degree(text, start):
            kind = (degree[1] or ("C" if degree[2] == "℃" else "F")).upper()
            return Factor("K" if kind == "K" else "°" + kind, 1, degree.end(), True)
        # 1º is an ordinal; letters and digits may follow: 40°N, 40°26'
        return None if word == "º" or place in ("inner", "space") else Factor("°", 1, end, False)
    lower = word.lower()
    normal = PARTS.get(word)
    if phrases := tables.PHRASES.get(lower):
        here = text[start : start + len(phrases[0][0])].lower().translate(_TO_SPACE)
        for phrase, meaning in phrases:
            if here.startswith(phrase) and unit_ends(text, start + len(phrase)):
                return Factor(meaning, 1, start + len(phrase), False)
    if lower in tables.POWER_WORDS:  # `square`, `sq.`, `cubic`: a length must follow, or a second
        match = _after_square(text, end)
        normal = UNITS.get(match[1]) if match else None
        if match is None or not (normal in tables.LENGTHS or (normal == "s" and place == "inner")):
            return None
        return Factor(str(normal), tables.POWER_WORDS[lower], match.end(), False)
    if normal is None:
        return None
    if len(word) == 1 and names_follow(text, end):
        return None
    if normal in CURRENCIES:
        return Factor(normal, 1, end, False) if unit_ends(text, end) else None
    return _with_power(text, start, word, normal, end, place, glued)


def _with_power(text: str, start: int, word: str, normal: str, end: int, place: str, glued: bool) -> Factor | None:
    """The factor `word`, which ends at `end`, with the power after it."""
    power, inner = 1, place in ("inner", "space")
    symbol = len(word) < 5 and not (word.isascii() and word.islower() and len(word) > 3)
    if raised := _power(text, end):
        digits = raised[raised.lastindex or 0]
        power = {"squared": 2, "cubed": 3}.get(digits) or int(digits.translate(_TO_DIGITS))
        end = raised.end()
    # `m2` is an area, but `s2` only in `m/s2`, and `s-1` only in `km s-1`.
    elif (raised := _digit_power(text, end)) and symbol and (inner or (normal in tables.LENGTHS and raised[1] != "4")):
        power, end = int(raised[1]), raised.end()
    elif (raised := _hyphen_power(text, end)) and (place == "space" or _may_be_inverse(normal, raised[1], place)):
        again = _same_unit(text, raised.end())  # `3 m-2 m` is a range
        if again is None or again[1] != word:
            power, end = int(raised[1].translate(_TO_DIGITS)), raised.end()
    if not glued and power == 1 and not unit_ends(text, end):
        return None
    return Factor(normal, power, end, symbol)


def _may_be_inverse(normal: str, power: str, place: str) -> bool:
    """Whether the first factor may have a power with an ASCII hyphen."""
    return place == "spaced" and power[1] in _HYPHEN_POWERS.get(normal, "")


def _stands_alone(text: str, start: int, factor: Factor, place: str) -> bool:
    """Whether a factor is a unit without another one: not `dm`, `cells` or most letters."""
    word = text[start : factor.end]
    if len(word) == 1:
        return word in LONE_LETTERS[place] or word in DEGREES
    if factor.power == 1:
        return word not in BOUND
    lone = factor.symbol and len(factor.normal) == 1 and not text[start + 1 : start + 2].isalpha()
    return not lone or text[start] in LONE_LETTERS[place] or (factor.power < 0 and factor.normal in "MK")


def _next_factor(text: str, end: int, last: Factor) -> Factor | None:
    """The next factor of a product: after a mark, a space or hyphen, or directly after a power."""
    if match := _dot(text, end):
        found = factor_at(text, match.end(), "space", glued=True)
        return found if found and found.normal not in CURRENCIES and _inner(text, match.end(), found) else None
    mark = text[end : end + 1]
    if mark and mark in SPACES + "-":
        found = factor_at(text, end + 1, "space")
        if found is None or found.normal in CURRENCIES or not _inner(text, end + 1, found):
            return None
        # In `5 m in` and `5 s h` the second word is not a factor.
        if found.power < 0:
            return found if mark != "-" else None
        if found.power == 1 and (_base(last), _base(found)) in tables.PRODUCTS and last.power == 1:
            return found
        divided = found.power > 1 or text[found.end : found.end + 1] == "/"  # `kg m²`, `kg m/s`
        known = last.symbol and found.symbol and last.normal in PREFIXED and found.normal in PREFIXED
        return found if divided and known and mark != "-" else None
    if abs(last.power) > 1 and mark.isalpha():
        found = factor_at(text, end, "inner", glued=True)
        return found if found and found.symbol and found.normal in PREFIXED and _inner(text, end, found) else None
    return None


def _denominator(text: str, start: int, above: str) -> tuple[str, Factor, int] | None:
    """Reads what follows a division: normal spelling, last factor and end."""
    if match := _root(text, start):
        word = match[1] or match[2]
        return (f"{UNITS[word]}^0.5", Factor(UNITS[word], 2, match.end(), True), match.end()) if word in UNITS else None
    if text[start : start + 1] == "(":
        return _bracket(text, start + 1)
    spelled = ""
    if match := _hundred(text, start):
        spelled, start = "100*", match.end()
    factors = _glued_pair(text, start, above) or _one(text, start)
    if factors is None:
        return None
    while len(factors) < 4:
        end = factors[-1].end
        match = _dot(text, end)
        if match or text[end : end + 1] == "-":
            begin = match.end() if match else end + 1
            found = factor_at(text, begin, "inner")
        elif text[end : end + 1] in ("°", "º", "˚") or (factors[-1].power > 1 and text[end : end + 1].isalpha()):
            begin, found = end, factor_at(text, end, "inner", glued=True)
        elif not factors[-1].symbol and text[end : end + 1] == " ":  # joules per kilogram kelvin
            begin, found = end + 1, factor_at(text, end + 1, "inner")
            found = found if found and not found.symbol and found.normal == "K" else None
        else:
            break
        if found is None or found.power < 1 or found.normal in CURRENCIES or not _inner(text, begin, found):
            break
        factors.append(found)
    return _below(factors, spelled)


def _one(text: str, start: int) -> list[Factor] | None:
    found = factor_at(text, start, "inner", glued=True)
    if found is None or found.normal in CURRENCIES or found.power < 0 or not _inner(text, start, found):
        return None
    return [found]


def _bracket(text: str, start: int) -> tuple[str, Factor, int] | None:
    """Reads the factors in parentheses after a division: `(kg·K)`, `(m² K)`."""
    factors: list[Factor] = []
    while len(factors) < MAX_FACTORS:
        found = factor_at(text, start, "inner", glued=True)
        if found is None or found.power < 0 or found.normal in CURRENCIES or not _inner(text, start, found):
            return None
        factors.append(found)
        end = found.end
        if text[end : end + 1] == ")":
            last = Factor(found.normal, 1, end + 1, True)
            spelled, _, _ = _below(factors)
            return spelled, last, end + 1
        match = _dot(text, end)
        start = match.end() if match else end + (text[end : end + 1] in tuple(SPACES + "-"))
    return None


def _glued_pair(text: str, start: int, above: str) -> list[Factor] | None:
    """Two factors without a mark between them: `cm2/Vs`, `J/kgK`; in `W/mK`, m is a metre."""
    match = _word(text, start)
    word = match[0] if match else ""
    metre = word == "mK" and PREFIXED.get(above, ("", ""))[1] == "W"
    if match is None or not 1 < len(word) < 5 or (word in PARTS and not metre) or word[-1] not in _GLUED:
        return None
    first = UNITS.get(word[:-1])
    if first is None or first in CURRENCIES or not unit_ends(text, match.end()):
        return None
    return [Factor(first, 1, match.end() - 1, True), Factor(word[-1], 1, match.end(), True)]


def _below(factors: list[Factor], spelled: str = "") -> tuple[str, Factor, int]:
    spelled += "*".join(factor.spelled for factor in factors)
    return (f"({spelled})" if "*" in spelled else spelled), factors[-1], factors[-1].end


def _inner(text: str, start: int, factor: Factor) -> bool:
    """Whether a factor may stand after another one: not every letter may."""
    letter = text[start]
    one = len(factor.normal) == 1 and not text[start + 1 : start + 2].isalpha()
    return not one or letter in LONE_LETTERS["inner"] or letter in DEGREES


def _base(factor: Factor) -> str:
    """The unit without its prefix."""
    return PREFIXED.get(factor.normal, ("", factor.normal))[1]
