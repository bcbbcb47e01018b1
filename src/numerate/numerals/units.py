"""Units and currencies beside a number: finding them in a text, and converting quantities with pint.

`unit_after` and `currency_before` are called for every number of a corpus. Both return None after one short match and
one table lookup if there is no unit. Possible units are then read word by word with patterns of bounded length, so the
time does not depend on the length of the text.
"""

from __future__ import annotations

import re
from typing import Any

from numerate.numerals import unit_tables as tables
from numerate.numerals.unit_tables import CURRENCIES, CURRENCY_SIGNS, SIMPLE_UNITS, UNITS, VETO, UnitError

__all__ = ["CURRENCIES", "CURRENCY_CUES", "UNIT_HEADS", "UnitError", "currency_before", "to_quantity", "unit_after"]

_SPACES = " \u00a0\u2009\u202f"
_LETTERS = "A-Za-zµμΩ\u2126Å\u212b"  # all letters that occur in unit spellings
_DEGREES = "°º˚℃℉"
_MARKS = "'\"’”′″"
_SIGNS = "".join(CURRENCY_SIGNS)

_next = re.compile(rf"[{_SPACES}\n-]?([{_LETTERS}]{{1,20}}|[{_DEGREES}{_MARKS}{re.escape(_SIGNS)}/])").match
# A one-word unit ends here: no power, division or multiplication follows.
_alone = re.compile(
    rf"(?![\w^/·⋅⁻−]|[{_SPACES}-](?:per|PER|squared|cubed)|[{_SPACES}]/|[{_SPACES}][{_LETTERS}]{{1,6}}[-−–⁻^])"
).match
_word = re.compile(rf"[{_LETTERS}]{{1,20}}|[{_DEGREES}]").match
_degree = re.compile(rf"[°º˚][{_SPACES}]?([CFK])(?!\w)|([℃℉])").match
_power = re.compile(r"\^(\{)?([-−]?[1-4])(?(1)\})|(⁻?[¹²³⁴])|(−[1-4])(?!\w|[.,]\d)|[ -](squared|cubed)").match
_digit_power = re.compile(r"([23])(?!\w)").match
_hyphen_power = re.compile(r"([-–][1-4])(?!\w|[.,]\d)").match
_per = re.compile(rf"[{_SPACES}]?/[{_SPACES}]?|[{_SPACES}-](?:per|PER)[{_SPACES}-]").match
_times = re.compile(rf"[·⋅]|[{_SPACES}](?=[{_LETTERS}]{{1,6}}[-−–⁻^])").match
_inverse_of = re.compile(rf"/|per[{_SPACES}-]").match
# A lone letter followed by this is a name: `the 5 s's`, `5 f(x)`, `175 t=1`, `50 N.Z. dlrs`, `2003 J. J. Liston`.
_named = re.compile(r"['’][a-z]|[(\[{=+<>]|\.[A-Z]|\. [A-Z]\.").match
# A lone letter attached to such a number belongs to a name or a plural: `W2V`, `F-14A`, `DC-10s`, `11-5/8s`,
# `under-19s`, `the 1990s`, `in his 20s`, `the 1970s and 80s`.
_part_of_name = re.compile(r"[A-Za-z][-–]?\d{1,6}$").search
_plural = re.compile(
    r"(?<!\d)[12]\d\d0$|/\d+$|[ (]\.\d+$|under[ -]\d+$|0s (?:and|or) \d0$"
    r"|(?:\b(?:his|her|their|my|your|our|the|mid|early|late)[ -]|['’])\d0$"
).search
_opening_quote = re.compile(r"(?<!\w)['‘’]").search
_after_degrees = re.compile(r"[°º˚] ?[\d.,'’′ ]{1,12}$").search
_after_feet = re.compile(r"\d['’′] ?[\d.½¼¾]{1,4}$").search
_dollar = re.compile(r"(?<![A-Za-z])([A-Za-z]{1,3})\$$").search

UNIT_HEADS = frozenset([*UNITS, *_DEGREES, *_MARKS, *_SIGNS, "/", "per"]).union(
    case for head in (*tables.PHRASES, *tables.POWER_WORDS) for case in (head, head.capitalize(), head.upper())
)
"""All words and marks that a unit can begin with."""
CURRENCY_CUES = frozenset([*tables.CODES, *_SIGNS, "Rs", "Rs.", *(f"{letters}$" for letters in tables.DOLLAR_SIGNS)])
"""All words and marks that can be a currency before a number."""
_PLACES = {"-": "hyphen", "\n": "wrapped"}
_TO_SPACE = str.maketrans(dict.fromkeys("-\u00a0\u2009\u202f", " "))
_TO_DIGITS = str.maketrans("⁻−–¹²³⁴", "---1234")


def unit_after(text: str, position: int, attached_only: bool = False) -> tuple[str, int, int] | None:
    """Finds the unit or currency that follows a number.

    The unit begins at `position` or after one space, line end or (before a letter) hyphen. The longest match wins, and
    it must not be followed by a letter or digit. Percent is not a unit.

    Args:
        text: The source.
        position: Offset after the number (and its scale word).
        attached_only: Whether only a unit directly at `position` counts, without space or hyphen.

    Returns:
        Normal spelling, start and end in `text`; None if there is no unit.

    Example:
        >>> unit_after("at 5 kilometres per hour", 4)
        ('km/h', 5, 24)
    """
    match = _next(text, position)
    if match is None:
        return None
    word = match[1]
    if word not in UNIT_HEADS:
        return None
    start = match.start(1)
    place = "attached" if start == position else _PLACES.get(text[position], "spaced")
    if (attached_only and place != "attached") or (word in VETO and VETO[word](text, start)):
        return None
    if word in SIMPLE_UNITS and _alone(text, match.end()):
        return SIMPLE_UNITS[word], start, match.end()
    if word in _MARKS:
        return _prime_mark(text, start) if place == "attached" else None
    if word in CURRENCY_SIGNS:
        return _currency_sign_after(text, start, place)
    if word == "/" or word == "per":
        return _inverse_unit(text, start, place)
    if len(word) == 1 and place == "attached":
        before = text[max(0, start - 12) : start].lower()
        if _part_of_name(before) or (word == "s" and _plural(before)):
            return None
    found = _compound(text, start, place)
    return (found[0], start, found[1]) if found else None


def currency_before(text: str, position: int) -> tuple[str, int, int] | None:
    """Finds the currency that ends at `position` or one space before it.

    Args:
        text: The source.
        position: Offset of the number.

    Returns:
        ISO code, start and end in `text`; None if there is no currency.

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
    if "A" <= last <= "Z":
        start = end - 3
        code = tables.CODES.get(text[start:end]) if start >= 0 else None
    elif last == "s" or last == ".":
        start = end - 2 - (last == ".")
        code = "INR" if start >= 0 and text[start:end] in ("Rs", "Rs.") else None
    elif last == "$":
        if text[end - 2 : end - 1].isalpha() and (match := _dollar(text[max(0, end - 6) : end])):
            known = tables.DOLLAR_SIGNS.get(match[1])
            return known or "USD", end - (len(match[0]) if known else 1), end
        spaced = text[end - 4 : end - 1] == "US " and not text[end - 5 : end - 4].isalnum()
        return "USD", end - (4 if spaced else 1), end
    elif last in CURRENCY_SIGNS and last != "¢":
        return CURRENCY_SIGNS[last], end - 1, end
    else:
        return None
    if code is None or (start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")):
        return None
    return code, start, end


def to_quantity(value: float, unit: str | None, target: str = "SI", text: str = "") -> Any:
    """Converts a quantity with `pint`.

    Args:
        value: The number.
        unit: The unit in its normal spelling, as `unit_after` returns it.
        target: `SI` for base units, or any unit in our spelling or pint's.
        text: The numeral as written, for the error message.

    Returns:
        A `pint.Quantity`.

    Raises:
        PintMissingError: `pint` is not installed.
        UnitError: There is no unit, it is money or has no fixed size, or `target` measures something else.
    """
    if unit is None:
        raise UnitError(f"{text!r} has no unit, so it cannot be converted to {target!r}")
    if unit in CURRENCIES:
        raise UnitError(f"{text!r} is money ({unit}), which has no fixed rate to {target!r}")
    quantity = tables.pint_registry().Quantity(value, tables.pint_unit(unit))
    wanted = None if target.upper() == "SI" else tables.pint_unit(target)
    try:
        return quantity.to_base_units() if wanted is None else quantity.to(wanted)
    except TypeError:  # base class of pint's dimension and offset errors
        raise UnitError(f"{text!r} is in {unit}, which cannot be converted to {target!r}") from None


def _compound(text: str, start: int, place: str) -> tuple[str, int] | None:
    """Reads a unit of one or more factors: `mg/dL`, `miles per hour`, `km s⁻¹`, `N·m`."""
    found = _term(text, start, place)
    if found is None or found[0] in CURRENCIES:
        return found
    normal, end = found
    for _ in range(3):
        step, mark = None, "/"
        if match := _per(text, end):
            step = _term(text, match.end(), "inner")
        elif match := _times(text, end):
            # After a space only with a negative power: in `5 m in` and `5 s h` the second word is not a factor.
            step, mark = _term(text, match.end(), "inner", negative=match[0] in _SPACES), "*"
        if step is None or step[0] in CURRENCIES:
            break
        factor, end = step
        normal += factor[1:] if factor.startswith("1/") else mark + factor
    return tables.SHORTER_SPELLINGS.get(normal, normal), end


def _term(text: str, start: int, place: str, negative: bool = False) -> tuple[str, int] | None:
    """Reads one unit with its power; with `negative`, only a unit with a negative power."""
    match = _word(text, start)
    if match is None:
        return None
    word, end = match[0], match.end()
    if word in _DEGREES:
        if degree := _degree(text, start):
            kind = degree[1] or ("C" if degree[2] == "℃" else "F")
            return ("K" if kind == "K" else "°" + kind), degree.end()
        return None if word == "º" else ("°", end)  # 1º is an ordinal; letters and digits may follow: 40°N, 40°26'
    lower = word.lower()
    normal = UNITS.get(word)
    if phrases := tables.PHRASES.get(lower):
        here = text[start : start + len(phrases[0][0])].lower().translate(_TO_SPACE)
        for phrase, meaning in phrases:
            if here.startswith(phrase) and _ends(text, start + len(phrase)):
                word, normal, end = phrase, meaning, start + len(phrase)
                break
    power = 1
    if lower in tables.POWER_WORDS:  # `square`, `sq.`, `cubic`: a length must follow
        end += text.startswith(".", end)
        end += text.startswith(tuple(_SPACES + "-"), end)
        match = _word(text, end)
        normal = UNITS.get(match[0]) if match else None
        if match is None or normal not in tables.LENGTHS:
            return None
        power, end = tables.POWER_WORDS[lower], match.end()
    elif normal is None or (len(word) == 1 and (word not in tables.LONE_LETTERS[place] or _named(text, end))):
        return None
    elif normal in CURRENCIES:
        pass
    elif raised := _power(text, end):
        digits = raised[2] or raised[3] or raised[4]
        power = int(digits.translate(_TO_DIGITS)) if digits else 2 if raised[5] == "squared" else 3
        end = raised.end()
    # `m2` is an area, but `s2` only in `m/s2`, and `s-1` only in `km s-1`.
    elif (normal in tables.LENGTHS or (normal == "s" and place == "inner")) and (raised := _digit_power(text, end)):
        power, end = int(raised[1]), raised.end()
    elif negative and (raised := _hyphen_power(text, end)):
        power, end = int(raised[1].translate(_TO_DIGITS)), raised.end()
    if (negative and power > 0) or not _ends(text, end):
        return None
    factor = f"{normal}^{abs(power)}" if abs(power) > 1 else str(normal)
    return (factor if power > 0 else "1/" + factor), end


def _ends(text: str, end: int) -> bool:
    """Whether a unit can end at `end`: no letter, digit, underscore or power follows."""
    return end >= len(text) or not (text[end].isalnum() or text[end] in "_^")


def _inverse_unit(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """Reads `/sq mi` and `/min` attached to the number, and ` per square mile` (areas and volumes only)."""
    match = _inverse_of(text, start)
    slash = text[start] == "/"
    if match is None or slash != (place == "attached"):
        return None
    found = _term(text, match.end(), "inner")
    if found is None or found[0] in CURRENCIES or found[0].startswith("1/"):
        return None
    # `per hour` after a count is a frequency, not a unit; of the lone letters only s, h and L are certain.
    if "^" in found[0] or (slash and (found[1] - match.end() > 1 or found[0] in ("s", "h", "L"))):
        return "1/" + found[0], start, found[1]
    return None


def _prime_mark(text: str, start: int) -> tuple[str, int, int] | None:
    """Reads feet and inches (`5'11"`) and minutes and seconds of arc (`40°26'46"`); None for quotation marks."""
    mark, follower = text[start], text[start + 1 : start + 2]
    before = text[max(0, start - 40) : start]
    angle = _after_degrees(before) is not None
    if mark in "'’′":
        # `5's` is a genitive; a mark with an opening mark shortly before it closes a quotation.
        quote = mark != "′" and not follower.isdigit() and _opening_quote(before)
        if not angle and (follower.isalpha() or quote):
            return None
        return ("arcmin" if angle else "ft"), start, start + 1
    # Inches only directly after feet: elsewhere `"` closes a quotation. A double prime is never a quotation mark.
    if mark != "″" and not _after_feet(before):
        return None
    return ("arcsec" if angle else "in"), start, start + 1


def _currency_sign_after(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """Reads `5 €` and `5€`; None where the sign belongs to the next number or ends a formula (`$n = 5$`)."""
    end = start + 1
    following = text[end : end + 2].lstrip(_SPACES if place == "spaced" else "")
    opening = text.rfind("$", max(0, start - 80), start) if text[start] == "$" else -1
    formula = opening >= 0 and not text[opening - 1 : opening].isdigit()
    if place == "hyphen" or following[:1].isdigit() or formula or not _ends(text, end):
        return None
    return CURRENCY_SIGNS[text[start]], start, end
