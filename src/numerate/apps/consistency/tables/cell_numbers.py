"""The number in a cell of a table, however it is grouped and whatever currency stands beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.quantities import is_extreme
from numerate.numerals.unit_tables import CODES, CURRENCY_ABBREVIATIONS, CURRENCY_SIGNS, DOLLAR_SIGNS, UNITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CLOCK", "CURRENCY", "GROUP", "GROUPED", "cell_number", "grouped", "has_decimal_commas", "header_unit"]


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_SIGNS = re.escape("".join(CURRENCY_SIGNS))
_WORDS = rf"(?:{_any_of([*CODES, *CURRENCY_ABBREVIATIONS, 'Fr.', 'Rs'])})(?![A-Za-z])"
CURRENCY = rf"(?:(?:{_any_of(DOLLAR_SIGNS)})?\$|[{_SIGNS}]|{_WORDS})"
"""A currency before a number: a sign, a code or an abbreviation."""
GROUP = r"[,'’\u00a0\u2009\u202f ]"
"""What stands between groups of digits."""
GROUPED = rf"(?:\d{{1,3}}(?:{GROUP}\d{{3}})+|\d{{1,2}}(?:,\d{{2}})+,\d{{3}})"
"""Digits in groups of three, or as in India: `12,34,567`."""
_NUMBER = regex(
    rf"[~≈]?\s*(?P<front>{CURRENCY}\s*(?=\())?(?P<open>\()?\s*(?P<sign>[-+−–]?)\s*(?P<currency>{CURRENCY})?\s*"
    rf"(?P<sign2>[-−]?)(?P<digits>{GROUPED}(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:(?P<exponent>[eE][-+]?\d{1,3})|\s?[x×·]\s?10(?:\^(?P<power>[-−]?\d{1,2})|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})))?"
    r"(?P<behind>[-−](?=$|\s))?\s*(?P<suffix>%|‰"
    rf"|[A-Za-zµ°/²³{_SIGNS}]{{1,12}})?\s*(?P<close>\))?\s*(?:\[\w{{1,3}}\]|[*†‡])*"
)
_EUROPEAN = regex(
    rf"(?:{CURRENCY}\s?)?\(?[-+−]?(?:\d{{1,3}}(?:\.\d{{3}})+(?:,\d+)?|\d+,\d{{1,2}}|\d+,\d{{4,}}"
    rf"|\d{{1,3}}(?:['’\u00a0\u2009\u202f ]\d{{3}})+,\d{{1,2}})-?(?:\s?(?:[%‰{_SIGNS}]|[A-Za-zµ°]{{1,4}}[²³]?))?\)?"
)
_INDIAN = regex(r"\d{1,2}(?:,\d{2})+,\d{3}")
_YEAR = regex(r"[12]\d{3}")
CLOCK = regex(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_GROUPS = regex(GROUP)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_UNIT = regex(r"[(\[,] ?([^()\[\],]{1,12})[)\]]?\s*$|\bin ([a-zµ°/²³0-9]{1,12})\s*$")


def cell_number(text: str) -> tuple[float, float, str] | None:
    """Value, worth of the last digit, and suffix of a cell; None if it is not one number. `12%` is 12.

    Example:
        >>> cell_number("1,234.50"), cell_number("(317)"), cell_number("12%"), cell_number("n/a")
        ((1234.5, 0.01, ''), (-317.0, 1.0, ''), (12.0, 1.0, '%'), None)
        >>> cell_number("8:10"), cell_number("₹12,34,567"), cell_number("CHF 1’250")
        ((490.0, 1.0, 'clock'), (1234567.0, 1.0, '₹'), (1250.0, 1.0, 'CHF'))
        >>> cell_number("$(317)"), cell_number("317-"), cell_number("6.2 × 10^3")
        ((-317.0, 1.0, '$'), (-317.0, 1.0, ''), (6200.0, 100.0, ''))
    """
    text = text.strip()
    try:  # plain decimals, most cells
        value = float(text)
    except ValueError:
        pass
    else:
        whole, _, fraction = text.partition(".")
        if (fraction.isdecimal() or not fraction) and whole.lstrip("-").isdecimal() and text.isascii():
            if is_extreme(value):
                return None
            return value, 10.0 ** -len(fraction), ""
    match = _NUMBER.fullmatch(text)
    if match is None:
        clock = CLOCK.fullmatch(text)
        if clock is None or int(clock[2]) > 59:
            return None
        return 60.0 * int(clock[1]) + int(clock[2]) + int(clock[3] or 0) / 60, 1.0, "clock"
    signs = [match["sign"] in ("-", "−", "–"), bool(match["sign2"]), bool(match["behind"])]
    if bool(match["open"]) != bool(match["close"]) or sum(signs) > 1:
        return None
    digits = _GROUPS.sub("", match["digits"])
    if match["behind"] and _YEAR.fullmatch(match["digits"]):
        return None  # since then: `2019-`
    power = int((match["exponent"] or "e0")[1:]) + int((match["power"] or match["raised"] or "0").translate(_RAISED))
    value = float(f"{digits}e{power}")
    if is_extreme(value):
        return None
    negative = any(signs) or bool(match["open"])
    decimals = len(digits.partition(".")[2]) - power
    return (
        (-value if negative else value),
        10.0**-decimals if abs(decimals) < 300 else 0.0,
        match["suffix"] or match["currency"] or (match["front"] or "").strip(),
    )


def grouped(whole: str, like: str) -> str:
    """Digits in groups as those of another number; without separators where it has none.

    Example:
        >>> grouped("1234567", "5 000"), grouped("1234567", "4,56,789"), grouped("1234567", "5000")
        ('1 234 567', '12,34,567', '1234567')
    """
    mark = _GROUPS.search(like)
    if mark is None:
        return whole
    if _INDIAN.fullmatch(like) and len(whole) > 3:
        return re.sub(r"(?<=\d)(?=(?:\d\d)+$)", ",", whole[:-3]) + "," + whole[-3:]
    return f"{int(whole):,}".replace(",", mark[0])


def header_unit(header: str) -> str | None:
    """Normal spelling of the unit in a column's name: `Distance (km)` -> `km`.

    Example:
        >>> header_unit("Distance (km)"), header_unit("Weight [lb]"), header_unit("Name")
        ('km', 'lb', None)
    """
    match = _UNIT.search(header)
    return UNITS.get((match[1] or match[2]).strip()) if match else None


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether the cells of a column are written with decimal commas; the first 200 tell.

    Example:
        >>> has_decimal_commas(["3,50 €", "1.250,00 €"]), has_decimal_commas(["1,250", "3.50"])
        (True, False)
    """
    some = [cell for cell in cells[:200] if "," in cell]
    if any("." in cell and cell.find(",") < cell.find(".") for cell in some):
        return False
    european = sum(_EUROPEAN.fullmatch(cell.strip()) is not None for cell in some)
    return european > 0 and european >= 0.8 * len(some)
