"""Numbers written in letters: English words, Roman numerals, and the names of what is no finite number.

The word lists stand here, so that the writer below and the reader in `numerate.reading.words` cannot disagree.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

__all__ = ["ORDINALS", "SCALES", "SMALL", "TENS", "render_roman", "render_special", "render_words"]


def _list(words: str) -> list[str]:
    return words.split()


SMALL = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")
SCALES = _list(
    "thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion "
    "undecillion duodecillion tredecillion quattuordecillion quindecillion sexdecillion septendecillion octodecillion "
    "novemdecillion vigintillion"
)
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
ORDINALS = {
    word: _IRREGULAR.get(word) or (word[:-1] + "ieth" if word.endswith("y") else word + "th")
    for word in (*SMALL, *TENS, "hundred", *SCALES)
}
"""Each cardinal word with its ordinal: `twenty` with `twentieth`."""

_LIMIT = 10 ** (3 * len(SCALES) + 3)
_TINY = 1e-15
_DENOMINATORS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16)
_ROMAN_WORTHS = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN = tuple(zip(_ROMAN_WORTHS, _list("M CM D CD C XC L XL X IX V IV I"), strict=True))


def render_words(value: float, form: str, power: int = 0) -> str:
    """Writes a number in English words.

    Args:
        value: Any float. Where words would not help (1e66 and more, less than 1e-15), digits are written.
        form: A case (`lower`, `capital`, `upper`) and after it the joints: `-` for twenty-one or a space for twenty
            one; `&` for one hundred and five; `.` for point five where one half would do; `#` for the ordinal.
        power: 6 for a number of millions, 9 of billions ...: 2.5e6 is "two and a half million" then, where else it is
            "two million five hundred thousand". Values that read badly so are written without.

    Example:
        >>> render_words(-121, "capital-&"), render_words(2.75, "lower-&"), render_words(1.3e9, "lower-.", 9)
        ('Minus one hundred and twenty-one', 'two and three quarters', 'one point three billion')
    """
    value = float(value)
    case = form.rstrip("-& .#")
    if not math.isfinite(value):
        return render_special("", value)
    # The cache sees no negative zero, which is equal to zero and would get its words.
    words = _spell(abs(value), form[len(case) :], power)
    if words is None:
        return _digits(value)
    if math.copysign(1.0, value) < 0:
        words = "minus " + words
    return words.upper() if case == "upper" else words.capitalize() if case == "capital" else words


def render_roman(value: float, upper: bool) -> str:
    """Writes a Roman numeral; what Rome had no letters for (zero, fractions, 4000 and more) is written in digits.

    Example:
        >>> render_roman(1984, True), render_roman(0.5, True)
        ('MCMLXXXIV', '0.5')
    """
    if not 1 <= value <= 3999 or value != int(value):
        return _digits(float(value))
    rest, letters = int(value), ""
    for worth, sign in _ROMAN:
        letters += sign * (rest // worth)
        rest %= worth
    return letters if upper else letters.lower()


def render_special(like: str, value: float) -> str:
    """Writes nan or an infinity in the manner of `like`, another spelling of one of them.

    Programs agree within themselves: who writes `NaN` writes `Infinity`, who writes `nan` writes `inf`.

    Example:
        >>> render_special("NaN", -math.inf), render_special("inf", math.nan), render_special("inf", 3.0)
        ('-Infinity', 'nan', '3')
    """
    if math.isfinite(value):
        return _digits(value)
    meant = _meaning(like)
    if meant == value or (math.isnan(meant) and math.isnan(value) and like):
        return like
    body = like.lstrip("+-−")
    if math.isnan(value):
        return "NAN" if len(body) > 1 and body.isupper() else "nan" if body.islower() or not body else "NaN"
    if math.isinf(meant):
        name = body
    else:
        # `null` is JSON's, whose dialects spell infinity out.
        spelled_out = body == "null" or not (body.islower() or body.isupper() or not body)
        name = "Infinity" if spelled_out else "INF" if body.isupper() else "inf"
    minus = "−" if like.startswith("−") else "-"
    return (minus if value < 0 else "+" if like.startswith("+") else "") + name


def _meaning(like: str) -> float:
    try:
        return float(like.replace("−", "-").replace("∞", "inf"))
    except ValueError:
        return math.nan  # null, NA, n/a: whatever stands for a missing number


def _digits(value: float) -> str:
    return repr(value).removesuffix(".0")


@lru_cache(maxsize=4096)
def _spell(value: float, joints: str, power: int) -> str | None:
    """Words of a value that is not negative, in lower case; None where digits are better."""
    # The shortest decimal, not the binary value: 1e23 is one hundred sextillion, not 99 sextillion and so on.
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
    """Whole, numerator and denominator, if `value` is the float nearest to such a fraction of 10**power."""
    scale = 10**power
    whole, rest = divmod(Fraction(repr(value)) / scale, 1)
    if rest == 0:
        return None
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
    # "one half", not "half" or "a half": those two are seldom numbers in running text, and the reader skips them.
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
            # "one thousand and five": the last group has an 'and' of its own only if it has hundreds.
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
