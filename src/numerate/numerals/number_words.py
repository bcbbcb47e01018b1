"""Writes numbers in letters: English words, Roman numerals, and the names of NaN and infinity.

The words come from the table that `numerate.reading.words` reads, too, so that reading and writing agree.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from numerate.numerals.word_tables import word_table

__all__ = ["ORDINALS", "SCALES", "SMALL", "TENS", "render_roman", "render_special", "render_words"]


_TABLE = word_table("en")


def _first_words(key: str, powers: bool = False) -> dict[int, str]:
    """Value -> its first word in the table; of the scales, only the powers of a thousand, not lakh and crore."""
    return {int(value): words.split()[0] for value, words in _TABLE[key].items() if not powers or int(value) % 3 == 0}


_NUMBERS, _ORDINALS = _first_words("numbers"), _first_words("ordinals")
SMALL = [_TABLE["zero"].split()[0], *(_NUMBERS[value] for value in range(1, 20))]
TENS = [_NUMBERS[value] for value in range(20, 100, 10)]
SCALES = list(_first_words("scales", powers=True).values())
ORDINALS = (
    {SMALL[0]: _TABLE["zeroth"]}
    | {word: _ORDINALS[value] for value, word in _NUMBERS.items()}
    | {_TABLE["hundred"]: _TABLE["hundredth"]}
    | dict(zip(SCALES, _first_words("scale_ordinals").values(), strict=True))
)
"""Cardinal word -> ordinal word: `twenty` -> `twentieth`."""

_LIMIT = 10 ** (3 * len(SCALES) + 3)
_TINY = 1e-15
_DENOMINATORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16)
_ROMAN = {"M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10}
_ROMAN |= {"IX": 9, "V": 5, "IV": 4, "I": 1}


def render_words(value: float, form: str, power: int = 0) -> str:
    """Writes a number in English words.

    Args:
        value: Any float. Values from 1e66 and below 1e-15 are written in digits.
        form: `digits` to write digits, or a case (`lower`, `capital`, `upper`) followed by style marks: `-` for
            "twenty-one" or a space for "twenty one"; `&` for "one hundred and five"; `.` for "zero point five" instead
            of "one half"; `#` for ordinals.
        power: 6 to count in millions, 9 in billions, and so on: with 6, 2.5e6 is "two and a half million" instead of
            "two million five hundred thousand". Ignored for values below 1 or from 1000 in that unit.

    Example:
        >>> render_words(-121, "capital-&"), render_words(2.75, "lower-&"), render_words(1.3e9, "lower-.", 9)
        ('Minus one hundred and twenty-one', 'two and three quarters', 'one point three billion')
    """
    value = float(value)
    case = form.rstrip("-& .#")
    if not math.isfinite(value):
        return render_special("", value)
    if form == "digits":
        return _digits(value)
    # The cached function gets the absolute value only: as a cache key, -0.0 equals 0.0.
    words = _spell(abs(value), form[len(case) :], power)
    if words is None:
        return _digits(value)
    if math.copysign(1.0, value) < 0:
        words = "minus " + words
    return words.upper() if case == "upper" else words.capitalize() if case == "capital" else words


def render_roman(value: float, upper: bool) -> str:
    """Writes a Roman numeral; zero, negative numbers, fractions and values from 4000 are written in digits.

    Example:
        >>> render_roman(1984, True), render_roman(0.5, True)
        ('MCMLXXXIV', '0.5')
    """
    if not 1 <= value <= 3999 or value != int(value):
        return _digits(float(value))
    rest, letters = int(value), ""
    for sign, worth in _ROMAN.items():
        letters += sign * (rest // worth)
        rest %= worth
    return letters if upper else letters.lower()


def render_special(like: str, value: float) -> str:
    """Writes NaN or an infinity in the style of `like`, another spelling of one of them.

    Spellings come in families: programs that write `NaN` write `Infinity`, those that write `nan` write `inf`.

    Example:
        >>> render_special("NaN", -math.inf), render_special("inf", math.nan), render_special("inf", 3.0)
        ('-Infinity', 'nan', '3')
    """
    if math.isfinite(value):
        return _digits(value)
    meant = _special_value(like)
    if meant == value or (math.isnan(meant) and math.isnan(value) and like):
        return like
    body = like.lstrip("+-−")
    if math.isnan(value):
        return "NAN" if len(body) > 1 and body.isupper() else "nan" if body.islower() or not body else "NaN"
    if math.isinf(meant):
        name = body
    else:
        # `null` is JSON, whose dialects write `Infinity`.
        spelled_out = body == "null" or not (body.islower() or body.isupper() or not body)
        name = "Infinity" if spelled_out else "INF" if body.isupper() else "inf"
    minus = "−" if like.startswith("−") else "-"
    return (minus if value < 0 else "+" if like.startswith("+") else "") + name


def _special_value(like: str) -> float:
    try:
        return float(like.replace("−", "-").replace("∞", "inf"))
    except ValueError:
        return math.nan  # null, NA, n/a and other names for a missing number


def _digits(value: float) -> str:
    return repr(value).removesuffix(".0")


@lru_cache(maxsize=4096)
def _spell(value: float, joints: str, power: int) -> str | None:
    """Words of a non-negative value in lower case; None if it has to be written in digits."""
    # The shortest decimal, not the binary value: 1e23 is "one hundred sextillion", not "ninety-nine sextillion ...".
    decimal = Decimal(repr(value))
    if decimal >= _LIMIT or 0 < value < _TINY:
        return None
    if "#" in joints and decimal == decimal.to_integral_value():
        return _to_ordinal(_integer(int(decimal), joints))
    scale = SCALES[power // 3 - 1] if power % 3 == 0 and 0 < power // 3 <= len(SCALES) else ""
    if scale:
        mantissa = decimal.scaleb(-power)
        parts = None if "." in joints else _simple_fraction(value, power)
        if parts and parts[0] < 1000:
            return _fraction_of(*parts, scale, joints)
        if 1 <= mantissa < 1000:
            return f"{_plain(mantissa, joints)} {scale}"
    if "." not in joints and (parts := _simple_fraction(value, 0)):
        return _fraction_of(*parts, "", joints)
    return _plain(decimal, joints)


def _plain(number: Decimal, joints: str) -> str:
    integer, _, fraction = format(number, "f").partition(".")
    words = _integer(int(integer), joints)
    digits = fraction.rstrip("0")
    return f"{words} point {' '.join(SMALL[int(digit)] for digit in digits)}" if digits else words


def _simple_fraction(value: float, power: int) -> tuple[int, int, int] | None:
    """Whole part, numerator and denominator, if `value` is the float nearest to a simple fraction of 10**power."""
    scale = 10**power
    whole, rest = divmod(Fraction(repr(value)) / scale, 1)
    if rest == 0:
        return None
    if not power and whole and whole % 10**6 == 0 and rest.denominator in (2, 4):
        return None  # "two million and a half" is 2.5 million
    for denominator in _DENOMINATORS:
        numerator = round(rest * denominator)
        if 0 < numerator < denominator and (whole * denominator + numerator) * scale / denominator == value:
            return int(whole), numerator, denominator
    return None


def _fraction_of(whole: int, numerator: int, denominator: int, scale: str, joints: str) -> str:
    part = {2: "half", 4: "quarter"}.get(denominator) or ORDINALS[SMALL[denominator]]
    if whole:
        count = "a" if numerator == 1 and denominator <= 4 else SMALL[numerator]
        words = f"{_integer(whole, joints)} and {count} {part}{'s' * (numerator > 1)}"
        return f"{words} {scale}" if scale else words
    if scale and denominator == 2:
        return f"half a {scale}"
    # "one half", not "half" or "a half": those two are rarely numbers in running text, and the reader skips them.
    words = f"{SMALL[numerator]} {part}{'s' * (numerator > 1)}"
    return f"{words} of a {scale}" if scale else words


def _integer(number: int, joints: str) -> str:
    if number == 0:
        return SMALL[0]
    groups = []
    rest, position = number, 0
    while rest:
        rest, group = divmod(rest, 1000)
        if group:
            words = _group(group, joints)
            # "one thousand and five": a last group without hundreds gets its "and" here.
            alone = position == 0 and "&" in joints and group < 100 and rest
            groups.append(f"and {words}" if alone else f"{words} {SCALES[position - 1]}" if position else words)
        position += 1
    return " ".join(reversed(groups))


def _group(number: int, joints: str) -> str:
    hundreds, rest = divmod(number, 100)
    words = []
    if hundreds:
        words += [SMALL[hundreds], "hundred"]
        if rest and "&" in joints:
            words.append("and")
    if rest >= 20:
        ones = ("-" if "-" in joints else " ") + SMALL[rest % 10] if rest % 10 else ""
        words.append(TENS[rest // 10 - 2] + ones)
    elif rest:
        words.append(SMALL[rest])
    return " ".join(words)


def _to_ordinal(words: str) -> str:
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    return words[:cut] + ORDINALS[words[cut:]]
