"""The `Numeral` class: a number as it is written in a text, and its value."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from numerate.numerals.style import Style, render
from numerate.numerals.style_inference import style_of
from numerate.numerals.word_tables import LANGUAGES, word_table, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONFIDENCES", "KINDS", "MAX_EXACT_DIGITS", "MAX_EXACT_EXPONENT", "Numeral", "make_numeral", "render"]

KINDS = (
    "quantity", "percent", "money", "year", "date", "time", "ordinal", "ratio", "range", "version", "identifier",
)  # fmt: skip
"""All kinds of numeral; the position of a kind is its code in `find_columns`."""

CONFIDENCES = ("certain", "likely", "guess")
"""`certain`: no other reading is plausible. `likely`: rules compete and one has clear evidence. `guess`: another
reading is as plausible."""

MAX_EXACT_DIGITS = 1_000
MAX_EXACT_EXPONENT = 10_000
_DIGIT_WORDS = frozenset(
    word
    for language in LANGUAGES
    for value, words in word_table(language)["numbers"].items()
    if int(value) < 10
    for word in words.split()
).union(*(words_of(language, "zero", "spoken_zero", "end_ones") for language in LANGUAGES))
_POINT_WORDS = frozenset().union(*(words_of(language, "point") for language in LANGUAGES))
# English last: its "billion" is 10^9, the French one 10^12.
_SCALE_POWERS = {
    word: int(power)
    for language in reversed(LANGUAGES)
    for power, words in word_table(language)["scales"].items()
    for word in words.split()
} | {"hundred": 2}


@dataclass(frozen=True, slots=True)
class Numeral:
    """One number in a text: its characters, position and value.

    Attributes:
        text: The numeral as written: `source[start:end]`.
        start: Offset of its first character.
        end: Offset after its last character.
        value: The float64 nearest to the meaning: 1.5e9 for `1.5 billion`, 0.032 for `3.2%`.
        kind: One of `KINDS`.
        unit: Normal spelling of the unit, or ISO code of the currency, next to the numeral; None without a unit.
        unit_span: Start and end of the unit in the source.
        power: Power of ten of the scale word or percent sign: 9 for `billion`, -2 for `%`.
        point: The decimal mark (empty if every mark in the text separates groups of digits).
        special: "nan", "inf" or "-inf" for a written NaN or infinity, else None.
        path: Key path of the value in a record, such as `description.planet0.m`; empty outside records.
        shared: Whether its scale, percent sign or unit stands at another number: both numbers of `$43-65 million` are
            millions of dollars, and `shared` is true for 43.
        uncertainty: The written uncertainty: 0.04 for `1.23(4)` and `1.23 ± 0.04`; None without one.
        confidence: How sure the value, kind and unit are: one of `CONFIDENCES`.

    Example:
        >>> n = Numeral("1.5 billion", 9, 20, 1.5e9, power=9)
        >>> n.written, n.decimals, n.precision, n.exact
        (1.5, 1, 8, Fraction(1500000000, 1))
        >>> render(n.style, 2.25e9)
        '2.2 billion'
    """

    text: str
    start: int
    end: int
    value: float
    kind: str = "quantity"
    unit: str | None = None
    unit_span: tuple[int, int] | None = None
    power: int = 0
    point: str = "."
    special: str | None = None
    path: str = ""
    shared: bool = False
    uncertainty: float | None = None
    confidence: str = "certain"
    _style: Style | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def style(self) -> Style:
        """The writing style; `render(style, value)` returns `text`."""
        if self._style is None:
            ordinal = self.kind == "ordinal"
            style = style_of(self.text, self.value, point=self.point, power=self.power, ordinal=ordinal)
            object.__setattr__(self, "_style", style)
        return self._style  # type: ignore[return-value]

    @property
    def overflow(self) -> bool:
        """Whether the written number is finite but too large for float64, so that `value` is infinite."""
        return self.special is None and math.isinf(self.value)

    @property
    def written(self) -> float:
        """The number without its scale word or percent sign: 1.5 for `1.5 billion`, 3.2 for `3.2%`."""
        if self.power == 0 or self.special is not None:
            return self.value
        style = self.style
        if style.family == "fraction":
            exact = self.exact
            return float(exact / Fraction(10) ** self.power) if exact is not None else self.value
        sign = "-" if math.copysign(1.0, self.value) < 0 else ""
        if style.family == "decimal" and style.anchor is not None and style.anchor[0] == abs(self.value):
            _, integer, fraction, exponent = style.anchor
            return float(f"{sign}{integer or '0'}.{fraction or '0'}e{exponent or '0'}")
        # Shift the exponent of the shortest decimal instead of dividing: 0.07 / 0.01 is 7.000000000000001.
        digits, _, exponent = repr(abs(self.value)).partition("e")
        return float(f"{sign}{digits}e{int(exponent or 0) - self.power}")

    @property
    def decimals(self) -> int:
        """Number of digits after the decimal point, as written."""
        style = self.style
        return style.decimals if style.family != "words" else _words_decimals(self.text)

    @property
    def precision(self) -> int:
        """Power of ten of the last written digit, relative to `value`: 8 for `1.5 billion`, -3 for `3.2%`.

        For fractions, the number of digits of the denominator decides: -1 for `3/4`, -2 for `5/16`.
        """
        style = self.style
        if style.family == "fraction":
            return self.power - len(str(style.denominator - 1))
        if style.family == "words":
            return self._words_precision()
        return self.power - style.decimals + self._exponent

    @property
    def exact(self) -> Fraction | None:
        """The value as an exact fraction; None for NaN, infinity, more than 1,000 digits or exponents over 10,000."""
        if self.special is not None:
            return None
        style = self.style
        anchor = style.anchor
        if style.family == "radix":
            text = self.text.lower().removesuffix(")").removesuffix(style.suffix.lower())
            digits = text.partition("0" + style.slash.lower())[2]
            return None if len(digits) > MAX_EXACT_DIGITS else self._signed(Fraction(int(f"0{style.slash}{digits}", 0)))
        if style.family == "fraction":
            scaled = Fraction(repr(abs(self.value))) / Fraction(10) ** self.power
            nearest = Fraction(round(scaled * style.denominator), style.denominator)
            return self._signed(nearest * Fraction(10) ** self.power)
        if style.family == "words":
            return _words_exact(self.value)
        if style.family != "decimal" or anchor is None:
            return Fraction(repr(self.value)) if math.isfinite(self.value) else None
        _, integer, fraction, _ = anchor
        exponent = self._exponent
        if len(integer) + len(fraction) > MAX_EXACT_DIGITS or abs(exponent) > MAX_EXACT_EXPONENT:
            return None
        # The digits before the exponent of 10^6 are the base and not a mantissa.
        bare = style.exponent is not None and style.exponent.bare
        mantissa = Fraction(1 if bare else int(integer + fraction or "0"))
        return self._signed(mantissa * Fraction(10) ** (exponent + self.power - len(fraction)))

    def to(self, unit: str = "SI") -> Any:
        """Converts the quantity with `pint` (extra `units`) to SI base units or to any unit that pint knows.

        Returns:
            A `pint.Quantity`.

        Raises:
            UnitError: The numeral has no unit, or its unit measures something else than `unit`.
        """
        from numerate.numerals.units import to_quantity

        return to_quantity(self.value, self.unit, unit, self.text)

    def to_dict(self) -> Mapping[str, Any]:
        """The numeral as JSON types: span, text, value, written, decimals, kind and unit; NaN and infinity as strings.

        `path`, `shared`, `uncertainty` and `confidence` are there if they are not the default.
        """
        names = ["start", "end", "text", "value", "written", "decimals", "kind", "unit"]
        defaults = {"path": "", "shared": False, "uncertainty": None, "confidence": "certain"}
        names += [name for name, default in defaults.items() if getattr(self, name) != default]
        row = {name: getattr(self, name) for name in names}
        return row | {k: repr(v) for k, v in row.items() if isinstance(v, float) and not math.isfinite(v)}

    @property
    def _exponent(self) -> int:
        """The written exponent (6 in `3.2×10^6`), without the scale word; capped so that it stays a small integer."""
        style = self.style
        if style.exponent is None:
            return 0
        if style.anchor is not None and style.anchor[0] == abs(self.value):
            digits = style.anchor[3]
            sign = -1 if digits.startswith("-") else 1
            return sign * int(digits.lstrip("-")[-400:] or 0) if len(digits) < 400 else sign * 10**400
        exact = Fraction(repr(abs(self.value))) / Fraction(10) ** self.power
        return 0 if exact == 0 else _adjusted(exact) - style.exponent.lead

    def _words_precision(self) -> int:
        text = self.text.removesuffix(self.style.outer)
        power = min(self.power, 0) + _words_scale(text)
        decimals, exact = _words_decimals(text), self.exact
        if decimals or exact is None:
            return power - decimals
        parts = (exact / Fraction(10) ** power).denominator
        return power - len(str(parts - 1)) if parts > 1 else power

    def _signed(self, magnitude: Fraction) -> Fraction:
        return -magnitude if math.copysign(1.0, self.value) < 0 else magnitude


class _Draft:
    """Builds a `Numeral` four times as fast as the `__init__` of a frozen dataclass, for readers that build millions.

    It has the slots of `Numeral`, assigns them without the guard of a frozen class, and then becomes a `Numeral`.
    """

    __slots__ = tuple(Numeral.__slots__)

    def __init__(
        self,
        text: str,
        start: int,
        end: int,
        value: float,
        kind: str = "quantity",
        unit: str | None = None,
        unit_span: tuple[int, int] | None = None,
        power: int = 0,
        point: str = ".",
        special: str | None = None,
        path: str = "",
        shared: bool = False,
        uncertainty: float | None = None,
        confidence: str = "certain",
    ) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.value = value
        self.kind = kind
        self.unit = unit
        self.unit_span = unit_span
        self.power = power
        self.point = point
        self.special = special
        self.path = path
        self.shared = shared
        self.uncertainty = uncertainty
        self.confidence = confidence
        self._style = None
        self.__class__ = Numeral  # type: ignore[assignment]


make_numeral: type[Numeral] = _Draft  # type: ignore[assignment]
"""Same arguments and result as `Numeral(...)`, in a quarter of the time."""


def _adjusted(positive: Fraction) -> int:
    """Power of ten of the first significant digit."""
    guess = len(str(positive.numerator)) - len(str(positive.denominator))
    return guess if positive >= Fraction(10) ** guess else guess - 1


def _words_scale(text: str) -> int:
    """Power of ten of the scale words at the end: 6 for "two and a half million", 0 for "five"."""
    power = 0
    for word in reversed(text.lower().split()):
        if word not in _SCALE_POWERS:
            break
        power += _SCALE_POWERS[word]
    return power


def _words_decimals(text: str) -> int:
    """Number of digits after "point": 1 for "one point five billion"."""
    words = text.lower().replace("-", " ").split()
    point = next((i for i, word in enumerate(words) if word in _POINT_WORDS), len(words))
    digits = sum(word in _DIGIT_WORDS for word in words[point + 1 :])
    others = [word for word in words[point + 1 :] if word not in _DIGIT_WORDS and word not in _SCALE_POWERS]
    return 2 if others else digits  # "three point twenty-five"


def _words_exact(value: float) -> Fraction | None:
    """The simple fraction behind the value; None if the words have more digits than a float can hold."""
    if not math.isfinite(value):
        return None
    decimal = Fraction(repr(value))
    if len(repr(abs(value)).partition("e")[0].replace(".", "").strip("0")) <= 15:
        return decimal
    simple = decimal.limit_denominator(10_000)
    return simple if simple.denominator > 1 and float(simple) == value else None
