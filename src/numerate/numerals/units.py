"""Units and currencies beside a number: finding them in a text, and converting with them.

`unit_after` and `currency_before` are called for every number of a corpus, so each says no after one look:
one short match or one character, and one lookup. What can be a unit is then read word by word with bounded
patterns, so the time does not depend on the length of the text.
"""

from __future__ import annotations

import re
from typing import Any

from numerate.numerals.unit_tables import (
    CODES,
    CURRENCIES,
    CURRENCY_SIGNS,
    DOLLAR_SIGNS,
    LENGTHS,
    LONE_LETTERS,
    PHRASES,
    PLAIN,
    POWER_WORDS,
    SAME,
    UNITS,
    VETO,
    pint_registry,
    pint_unit,
)

__all__ = ["CURRENCIES", "CURRENCY_CUES", "UNIT_HEADS", "currency_before", "to_quantity", "unit_after"]

_SPACES = " \u00a0\u2009\u202f"
_LETTERS = "A-Za-zµμΩ\u2126Å\u212b"  # every letter that some unit is spelled with
_DEGREES = "°º˚℃℉"
_MARKS = "'\"’”′″"
_SIGNS = "".join(CURRENCY_SIGNS)

_next = re.compile(rf"[{_SPACES}\n-]?([{_LETTERS}]{{1,20}}|[{_DEGREES}{_MARKS}{re.escape(_SIGNS)}/])").match
# Behind a one-word unit: nothing that raises, divides or multiplies it.
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
# A lone letter with this behind it is a name: `the 5 s's`, `5 f(x)`, `175 t=1`, `50 N.Z. dlrs`, `2003 J. J. Liston`.
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
    case for head in (*PHRASES, *POWER_WORDS) for case in (head, head.capitalize(), head.upper())
)
CURRENCY_CUES = frozenset([*CODES, *_SIGNS, "Rs", "Rs.", *(f"{country}$" for country in DOLLAR_SIGNS)])
_PLACES = {"-": "hyphen", "\n": "wrapped"}
_TO_SPACE = str.maketrans(dict.fromkeys("-\u00a0\u2009\u202f", " "))
_TO_DIGITS = str.maketrans("⁻−–¹²³⁴", "---1234")


def unit_after(text: str, position: int, attached_only: bool = False) -> tuple[str, int, int] | None:
    """Finds the unit or currency that stands at `position`, behind a number.

    It stands there directly, or after one space or line end, or, if it begins with a letter, after one hyphen.
    The longest unit wins, and no letter or digit follows it. Percent is no unit.

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
    if word not in UNIT_HEADS:
        return None
    start = match.start(1)
    place = "attached" if start == position else _PLACES.get(text[position], "spaced")
    if (attached_only and place != "attached") or (word in VETO and VETO[word](text, start)):
        return None
    if word in PLAIN and _alone(text, match.end()):
        return PLAIN[word], start, match.end()
    if word in _MARKS:
        return _mark(text, start) if place == "attached" else None
    if word in CURRENCY_SIGNS:
        return _sign_after(text, start, place)
    if word == "/" or word == "per":
        return _inverse(text, start, place)
    if len(word) == 1 and place == "attached":
        before = text[max(0, start - 12) : start].lower()
        if _part_of_name(before) or (word == "s" and _plural(before)):
            return None
    found = _compound(text, start, place)
    return (found[0], start, found[1]) if found else None


def currency_before(text: str, position: int) -> tuple[str, int, int] | None:
    """Finds the currency that ends right before `position`, or one space before it.

    Args:
        text: The source.
        position: Offset of the number.

    Returns:
        ISO code, start and end in `text`; None if no currency is there.

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
        code = CODES.get(text[start:end]) if start >= 0 else None
    elif last == "s" or last == ".":
        start = end - 2 - (last == ".")
        code = "INR" if start >= 0 and text[start:end] in ("Rs", "Rs.") else None
    elif last == "$":
        if text[end - 2 : end - 1].isalpha() and (match := _dollar(text[max(0, end - 6) : end])):
            return DOLLAR_SIGNS.get(match[1], "USD"), end - (len(match[0]) if match[1] in DOLLAR_SIGNS else 1), end
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
    """
    if unit is None:
        raise ValueError(f"{text!r} has no unit, so it cannot be converted to {target!r}")
    if unit in CURRENCIES:
        raise ValueError(f"{text!r} is money ({unit}), which has no fixed rate to {target!r}")
    quantity = pint_registry().Quantity(value, pint_unit(unit))
    wanted = None if target.upper() == "SI" else pint_unit(target)
    try:
        return quantity.to_base_units() if wanted is None else quantity.to(wanted)
    except TypeError:  # what pint's errors of dimension and offset derive from
        raise ValueError(f"{text!r} is in {unit}, which cannot be converted to {target!r}") from None


def _compound(text: str, start: int, place: str) -> tuple[str, int] | None:
    """One term, then what divides or multiplies it: `mg/dL`, `miles per hour`, `km s⁻¹`, `N·m`."""
    found = _term(text, start, place)
    if found is None or found[0] in CURRENCIES:
        return found
    normal, end = found
    for _ in range(3):
        step, mark = None, "/"
        if match := _per(text, end):
            step = _term(text, match.end(), "inner")
        elif match := _times(text, end):
            # After a space only with a negative power: in `5 m in` and `5 s h` the second word is no factor.
            step, mark = _term(text, match.end(), "inner", negative=match[0] in _SPACES), "*"
        if step is None or step[0] in CURRENCIES:
            break
        factor, end = step
        normal += factor[1:] if factor.startswith("1/") else mark + factor
    return SAME.get(normal, normal), end


def _term(text: str, start: int, place: str, negative: bool = False) -> tuple[str, int] | None:
    """One unit with its power; with `negative`, only one that has a negative power."""
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
    if lower in PHRASES:
        here = text[start : start + len(PHRASES[lower][0][0])].lower().translate(_TO_SPACE)
        for phrase, meaning in PHRASES[lower]:
            if here.startswith(phrase) and _ends(text, start + len(phrase)):
                word, normal, end = phrase, meaning, start + len(phrase)
                break
    power = 1
    if lower in POWER_WORDS:
        # `square`, `sq.`, `cubic`: a length follows.
        end += text.startswith(".", end)
        end += text.startswith(tuple(_SPACES + "-"), end)
        match = _word(text, end)
        normal = UNITS.get(match[0]) if match else None
        if match is None or normal not in LENGTHS:
            return None
        power, end = POWER_WORDS[lower], match.end()
    elif normal is None or (len(word) == 1 and (word not in LONE_LETTERS[place] or _named(text, end))):
        return None
    elif normal in CURRENCIES:
        pass
    elif raised := _power(text, end):
        digits = raised[2] or raised[3] or raised[4]
        power = int(digits.translate(_TO_DIGITS)) if digits else 2 if raised[5] == "squared" else 3
        end = raised.end()
    # `m2` is an area, but `s2` only in `m/s2`, and `s-1` only in `km s-1`.
    elif (normal in LENGTHS or (normal == "s" and place == "inner")) and (raised := _digit_power(text, end)):
        power, end = int(raised[1]), raised.end()
    elif negative and (raised := _hyphen_power(text, end)):
        power, end = int(raised[1].translate(_TO_DIGITS)), raised.end()
    if (negative and power > 0) or not _ends(text, end):
        return None
    factor = f"{normal}^{abs(power)}" if abs(power) > 1 else str(normal)
    return (factor if power > 0 else "1/" + factor), end


def _ends(text: str, end: int) -> bool:
    """Whether a unit can end here: no letter, digit, underscore or power follows."""
    return end >= len(text) or not (text[end].isalnum() or text[end] in "_^")


def _inverse(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """`34.5/sq mi` and `60/min` attached to the number, ` per square mile` for areas and volumes only."""
    match = _inverse_of(text, start)
    slash = text[start] == "/"
    if match is None or slash != (place == "attached"):
        return None
    found = _term(text, match.end(), "inner")
    if found is None or found[0] in CURRENCIES or found[0].startswith("1/"):
        return None
    # `per hour` after a count says how often something happens; lone letters are sure only for s, h and L.
    if "^" in found[0] or (slash and (found[1] - match.end() > 1 or found[0] in ("s", "h", "L"))):
        return "1/" + found[0], start, found[1]
    return None


def _mark(text: str, start: int) -> tuple[str, int, int] | None:
    """Feet and inches (`5'11"`), minutes and seconds of arc (`40°26'46"`); else it is a quotation mark."""
    mark, follower = text[start], text[start + 1 : start + 2]
    before = text[max(0, start - 40) : start]
    angle = _after_degrees(before) is not None
    if mark in "'’′":
        # `5's` is a genitive; a mark that closes what was opened shortly before is a quote.
        quote = mark != "′" and not follower.isdigit() and _opening_quote(before)
        if not angle and (follower.isalpha() or quote):
            return None
        return ("arcmin" if angle else "ft"), start, start + 1
    # Inches only right behind feet: elsewhere `"` closes a quotation. The double prime is no quote.
    if mark != "″" and not _after_feet(before):
        return None
    return ("arcsec" if angle else "in"), start, start + 1


def _sign_after(text: str, start: int, place: str) -> tuple[str, int, int] | None:
    """`5 €`, `5€`; a sign with a number behind it belongs to that number, and in `$n = 5$` it ends a formula."""
    end = start + 1
    following = text[end : end + 2].lstrip(_SPACES if place == "spaced" else "")
    opening = text.rfind("$", max(0, start - 80), start) if text[start] == "$" else -1
    formula = opening >= 0 and not text[opening - 1 : opening].isdigit()
    if place == "hyphen" or following[:1].isdigit() or formula or not _ends(text, end):
        return None
    return CURRENCY_SIGNS[text[start]], start, end
