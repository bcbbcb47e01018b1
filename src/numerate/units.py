"""Units and currencies beside a number: finding them in a text, and converting with them.

`unit_after` and `currency_before` are called for every number of a corpus, so each says no after one look:
one match of a short pattern or one character, and one lookup. What can be a unit is then read word by word
with bounded patterns, so the time never depends on the length of the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from numerate.unit_tables import (
    CODES,
    CURRENCIES,
    CURRENCY_SIGNS,
    DOLLAR_SIGNS,
    LENGTHS,
    PHRASES,
    PINT,
    POWER_WORDS,
    SAME,
    UNITS,
)

__all__ = ["CURRENCIES", "currency_before", "to_quantity", "unit_after"]

_SPACES = " \u00a0\u2009\u202f"
_LETTERS = "A-Za-zµμΩ\u2126Å\u212b"  # every letter that some unit is spelled with
_DEGREES = "°º˚℃℉"
_MARKS = "'\"’”′″"
_SIGNS = "".join(CURRENCY_SIGNS)

# Lone letters mean too many things: each place where a unit can stand has its own short list.
# Never a unit: A after a space (article), C F (20C, 70F), B M G T k (scale, 5G), D (3D), K attached (thousand).
_LONE = {
    "attached": frozenset("mgshlLVWANJ"),
    "spaced": frozenset("mgshtlLKVWNJ"),
    "hyphen": frozenset("mgshLVW"),
    "inner": frozenset("mgshdtlLKVWNJAy"),  # behind `/` and `per`, after `square`, inside a product
}
_ALWAYS = frozenset("ΩΩÅÅ")

_next = re.compile(rf"[{_SPACES}-]?([{_LETTERS}]{{1,20}}|[{_DEGREES}{_MARKS}{re.escape(_SIGNS)}/])").match
_word = re.compile(rf"[{_LETTERS}]{{1,20}}|[{_DEGREES}]").match
_degree = re.compile(rf"[°º˚][{_SPACES}]?([CFK])(?!\w)|([℃℉])").match
_power = re.compile(r"\^(\{)?([-−]?[1-4])(?(1)\})|(⁻?[¹²³⁴])|(−[1-4])|[ -](squared|cubed)").match
_digit_power = re.compile(r"[23](?!\w)").match
_hyphen_power = re.compile(r"[-–]([1-4])(?![\w.,]*\d)").match
_per = re.compile(rf"[{_SPACES}]?/[{_SPACES}]?|[{_SPACES}-]per[{_SPACES}-]", re.IGNORECASE).match
_times = re.compile(rf"[·⋅{_SPACES}]").match
_decade = re.compile(
    r"(?<!\d)[12]\d\d0$|(?:\b(?:his|her|their|my|your|our|the|mid|early|late)[ -]|['’])\d0$", re.IGNORECASE
).search
_opening_quote = re.compile(r"(?<!\w)['‘]").search

_HEADS = frozenset(
    [
        *UNITS,
        *(case for head in (*PHRASES, *POWER_WORDS) for case in (head, head.capitalize(), head.upper())),
        *_DEGREES,
        *_MARKS,
        *_SIGNS,
        "/",
        "per",
    ]
)
_PHRASE_SPACES = str.maketrans(dict.fromkeys("-\u00a0\u2009\u202f", " "))
_EXPONENTS = str.maketrans("⁻−¹²³⁴", "--1234")


def unit_after(text: str, position: int, attached_only: bool = False) -> tuple[str, int, int] | None:
    """Finds the unit or currency that stands at `position`, behind a number.

    It stands there directly, or after one space, or, if it begins with a letter, after one hyphen. The longest unit
    wins, and no letter or digit follows it. Percent is no unit.

    Args:
        text: The source.
        position: Offset behind the number (and its scale word).
        attached_only: Accept no space and no hyphen.

    Returns:
        Normal spelling, start and end in `text`; None if no unit is there.

    Example:
        >>> unit_after("at 5 kilometres per hour", 4)
        ('km/h', 5, 24)
    """
    match = _next(text, position)
    if match is None:
        return None
    word = match[1]
    if word not in _HEADS:
        return None
    start = match.start(1)
    if start == position:
        place = "attached"
    elif attached_only:
        return None
    else:
        place = "hyphen" if text[position] == "-" else "spaced"
    if word in _MARKS:
        return _mark(text, start) if place == "attached" else None
    if word in CURRENCY_SIGNS:
        return _sign_after(text, start, place)
    if word == "/" or word == "per":
        return _inverse(text, start, place)
    found = _compound(text, start, place)
    if found is None:
        return None
    normal, end = found
    # `in` (a preposition) and `us` (a pronoun) are units if attached, as part of a compound, or as `in.`.
    if (
        place != "attached"
        and end - start == 2
        and word in ("in", "us")
        and not (word == "in" and text[end : end + 1] == "." and not text[end + 1 : end + 2].isalpha())
    ):
        return None
    # The s of a decade: `the 1990s`, `in his 20s`.
    if word == "s" and place == "attached" and end == start + 1 and _decade(text[max(0, start - 12) : start]):
        return None
    return normal, start, end


def currency_before(text: str, position: int) -> tuple[str, int, int] | None:
    """Finds the currency that ends right before `position`, or one space before it.

    Args:
        text: The source.
        position: Offset of the number.

    Returns:
        ISO code (or `cent`), start and end in `text`; None if no currency is there.

    Example:
        >>> currency_before("for US$5", 7)
        ('USD', 4, 7)
    """
    end = position
    if end > 0 and text[end - 1] in _SPACES:
        end -= 1
    if end <= 0:
        return None
    last = text[end - 1]
    if last in CURRENCY_SIGNS:
        if last != "$":
            return (CURRENCY_SIGNS[last], end - 1, end) if last != "¢" else None
        return _dollar_before(text, end)
    if "A" <= last <= "Z":
        start = end - 3
        code = CODES.get(text[start:end]) if start >= 0 else None
    elif last == "s" or last == ".":  # Rs 5, Rs. 5
        start = end - 2 - (last == ".")
        code = "INR" if start >= 0 and text[start:end] in ("Rs", "Rs.") else None
    else:
        return None
    if code is None or (start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")):
        return None
    return code, start, end


def to_quantity(value: float, unit: str | None, target: str = "SI", text: str = "") -> Any:
    """Converts `value` in one of our units with `pint`.

    Args:
        value: The number.
        unit: A normal spelling as `unit_after` gives it.
        target: `SI` for base units, or any unit, in our spelling or pint's.
        text: The numeral as written, for the message.

    Returns:
        A `pint.Quantity`.

    Raises:
        ImportError: `pint` is not installed.
        ValueError: There is no unit, it is money or of no fixed size, or it does not measure what `target` does.

    Example:
        >>> round(to_quantity(36, "km/h", "m/s").magnitude, 9)
        10.0
    """
    if unit is None:
        raise ValueError(f"{text!r} has no unit, so it cannot be converted to {target!r}")
    if unit in CURRENCIES:
        raise ValueError(f"{text!r} is money ({unit}): it has no fixed rate to {target!r}")
    registry = _registry()
    quantity = registry.Quantity(value, _pint_unit(unit))
    try:
        if target.upper() == "SI":
            return quantity.to_base_units()
        return quantity.to(_pint_unit(target))
    except registry_errors():
        raise ValueError(f"{text!r} is in {unit}, which cannot be converted to {target!r}") from None


def _compound(text: str, start: int, place: str) -> tuple[str, int] | None:
    """One term, then what divides or multiplies it: `mg/dL`, `miles per hour`, `km s⁻¹`, `N·m`."""
    found = _term(text, start, place)
    if found is None or found[0] in CURRENCIES:
        return found
    normal, end = found
    for _ in range(3):
        step = None
        if match := _per(text, end):
            step, mark = _term(text, match.end(), "inner"), "/"
        elif match := _times(text, end):
            # After a space only with a negative power: in `5 m in` and `5 s h` the second word is no factor.
            step, mark = _term(text, match.end(), "inner", negative=match[0] in _SPACES), "*"
        if step is None or step[0] in CURRENCIES:
            break
        factor, end = step
        # A negative power divides; a reciprocal behind a slash (`5 m/s^-1`) is kept as it was written.
        normal += factor[1:] if factor.startswith("1/") else mark + factor
    return SAME.get(normal, normal), end


def _term(text: str, start: int, place: str, negative: bool = False) -> tuple[str, int] | None:
    """One unit with its power. With `negative`, only one that has a negative power."""
    match = _word(text, start)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word in _DEGREES:
        if degree := _degree(text, start):
            kind = degree[1] or ("C" if degree[2] == "℃" else "F")
            return ("K" if kind == "K" else "°" + kind), degree.end()
        # A bare º is an ordinal (1º); letters and digits may follow a degree: 40°N, 40°26'.
        return None if word == "º" else ("°", end)
    lower = word.lower()
    normal = None
    if lower in PHRASES:
        normal, end = _phrase(text, start, end, lower)
    if normal is None and lower in POWER_WORDS:
        return _area(text, end, POWER_WORDS[lower])
    if normal is None:
        # `degrees of freedom` are counted, not measured.
        if lower in ("degree", "degrees") and text[end : end + 4] == " of ":
            return None
        normal = UNITS.get(word)
        if normal is None or (len(word) == 1 and word not in _LONE[place] and word not in _ALWAYS):
            return None
        # A lone letter is a name in `5 f(x)`, `5 m_e`, `the 5 s's`.
        if len(word) == 1 and (text[end : end + 1] in ("(", "[") or re.match(r"['’][a-z]", text[end : end + 2])):
            return None
    power = 1
    if normal not in CURRENCIES:
        if raised := _power(text, end):
            digits = raised[2] or raised[3] or raised[4]
            power = int(digits.translate(_EXPONENTS)) if digits else {"squared": 2, "cubed": 3}[raised[5].lower()]
            end = raised.end()
        elif raised := (normal in LENGTHS or (normal == "s" and place == "inner")) and _digit_power(text, end):
            power, end = int(raised[0]), raised.end()
        elif raised := negative and _hyphen_power(text, end):
            power, end = -int(raised[1]), raised.end()
    if (negative and power > 0) or not _ends(text, end):
        return None
    if power == 1:
        return normal, end
    factor = f"{normal}^{abs(power)}" if abs(power) > 1 else normal
    return (factor if power > 0 else "1/" + factor), end


def _phrase(text: str, start: int, end: int, head: str) -> tuple[str | None, int]:
    """The longest spelling of several words that begins with `head` here; the given end if there is none."""
    rows = PHRASES[head]
    here = text[start : start + len(rows[0][0])].lower().translate(_PHRASE_SPACES)
    for phrase, normal in rows:
        if here.startswith(phrase) and _ends(text, start + len(phrase)):
            return normal, start + len(phrase)
    return None, end


def _area(text: str, end: int, power: int) -> tuple[str, int] | None:
    """What follows `square`, `sq.` or `cubic`: a length."""
    end += text[end : end + 1] == "."
    end += text[end : end + 1] in tuple(_SPACES + "-")
    match = _word(text, end)
    normal = UNITS.get(match[0]) if match else None
    if match is None or normal not in LENGTHS or not _ends(text, match.end()):
        return None
    return f"{normal}^{power}", match.end()


def _ends(text: str, end: int) -> bool:
    """Whether a word can end here: no letter, digit, underscore or power follows."""
    return end >= len(text) or not (text[end].isalnum() or text[end] in "_^")


def _inverse(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """`34.5/sq mi`, `60/min` attached to the number; ` per square mile` in words, for areas and volumes only."""
    word = text[start] == "/"
    match = re.compile(rf"/|per[{_SPACES}-]").match(text, start)
    if match is None or (word and place != "attached") or (not word and place == "attached"):
        return None
    found = _term(text, match.end(), "inner")
    if found is None or found[0] in CURRENCIES or found[0].startswith("1/"):
        return None
    # `per hour` after a count says how often something happens; lone letters are sure only for s, h and L.
    if "^" in found[0] or (word and (len(text[match.end() : found[1]]) > 1 or found[0] in ("s", "h", "L"))):
        return "1/" + found[0], start, found[1]
    return None


def _mark(text: str, start: int) -> tuple[str, int, int] | None:
    """Feet and inches (`5'11"`), minutes and seconds of arc (`40°26'46"`); else it is a quotation mark."""
    mark = text[start]
    angle = any(degree in text[max(0, start - 14) : start] for degree in "°º˚")
    if mark in "'’′":
        follower = text[start + 1 : start + 2]
        # `'s` is a genitive, and a mark that closes what was opened shortly before is a quote.
        if mark != "′" and not angle and not follower.isdigit():
            if follower.isalpha() or _opening_quote(text[max(0, start - 40) : start]):
                return None
        elif follower.isalpha() and not angle:
            return None
        return ("arcmin" if angle else "ft"), start, start + 1
    # Inches only right behind feet: elsewhere `"` closes a quotation. The double prime is no quote.
    if mark != "″" and not any(feet in text[max(0, start - 4) : start] for feet in "'’′"):
        return None
    return ("arcsec" if angle else "in"), start, start + 1


def _sign_after(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """`5 €`, `5€`; a sign with a number behind it belongs to that number."""
    end = start + 1
    following = text[end : end + 2].lstrip(_SPACES) if place == "spaced" else text[end : end + 1]
    if place == "hyphen" or following[:1].isdigit() or not _ends(text, end):
        return None
    return CURRENCY_SIGNS[text[start]], start, end


def _dollar_before(text: str, end: int) -> tuple[str, int, int]:
    """The dollar whose sign ends at `end`: `US$`, `US $`, `HK$`, `$`."""
    match = re.compile(r"(?:.*[^\w$])?([A-Za-z]{1,3})( ?)\$$", re.DOTALL).match(text[max(0, end - 6) : end])
    if match and (code := DOLLAR_SIGNS.get(match[1].upper())) and (not match[2] or match[1] == "US"):
        return code, end - 1 - len(match[1]) - len(match[2]), end
    return "USD", end - 1, end


@cache
def _registry() -> Any:
    """The one registry: quantities of different numerals can be added and compared."""
    try:
        import pint
    except ImportError:
        raise ImportError('converting units needs pint: pip install "numerate[units]"') from None
    return pint.UnitRegistry()
